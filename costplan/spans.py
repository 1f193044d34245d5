"""Low, expected and high of one quantity, kept together."""

from __future__ import annotations

from decimal import Decimal
from typing import Final, NamedTuple


class Span(NamedTuple):
    """Low, expected and high of a price, an amount or a cost."""

    low: Decimal
    expected: Decimal
    high: Decimal

    def plus(self, other: Span) -> Span:
        """Return the sum, low with low and high with high."""
        return Span(self.low + other.low, self.expected + other.expected, self.high + other.high)

    def times(self, other: Span) -> Span:
        """Return the product of two spans that are not negative."""
        return Span(self.low * other.low, self.expected * other.expected, self.high * other.high)


def exactly(value: Decimal) -> Span:
    """Return `value` without a range.

    >>> exactly(Decimal(2)).high
    Decimal('2')
    """
    return Span(value, value, value)


NOTHING: Final = exactly(Decimal(0))
