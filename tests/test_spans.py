"""Sums and products of ranges."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from costplan.spans import NOTHING, Span, exactly

AMOUNTS = st.decimals(0, 1_000_000, places=6)


@st.composite
def spans(draw: st.DrawFn) -> Span:
    return Span(*sorted(draw(st.tuples(AMOUNTS, AMOUNTS, AMOUNTS))))


def span(low: str, expected: str, high: str) -> Span:
    return Span(Decimal(low), Decimal(expected), Decimal(high))


@pytest.mark.parametrize(
    ("a", "b", "total", "product"),
    [
        (span("1", "2", "4"), span("10", "20", "30"), ("11", "22", "34"), ("10", "40", "120")),
        (span("0", "0.5", "1"), span("3", "3", "3"), ("3", "3.5", "4"), ("0", "1.5", "3")),
        (span("0", "0", "0"), span("1", "2", "3"), ("1", "2", "3"), ("0", "0", "0")),
    ],
)
def test_low_goes_with_low_and_high_with_high(
    a: Span, b: Span, total: tuple[str, str, str], product: tuple[str, str, str]
) -> None:
    assert a.plus(b) == span(*total)
    assert a.times(b) == span(*product)


def test_an_exact_value_has_no_range() -> None:
    assert exactly(Decimal("0.1")) == (Decimal("0.1"), Decimal("0.1"), Decimal("0.1"))
    assert exactly(Decimal(0)) == NOTHING


@settings(max_examples=30)
@given(spans(), spans())
def test_a_sum_and_a_product_of_ordered_spans_are_ordered(a: Span, b: Span) -> None:
    for found in (a.plus(b), a.times(b)):
        assert found.low <= found.expected <= found.high


@settings(max_examples=30)
@given(spans(), spans())
def test_the_order_of_the_parts_does_not_matter(a: Span, b: Span) -> None:
    assert a.plus(b) == b.plus(a)
    assert a.times(b) == b.times(a)


@settings(max_examples=30)
@given(spans())
def test_nothing_adds_nothing_and_one_time_is_the_same(a: Span) -> None:
    assert a.plus(NOTHING) == a
    assert a.times(exactly(Decimal(1))) == a
    assert a.times(NOTHING) == NOTHING
