"""Numbers as people read them; the only place where anything is rounded."""

from __future__ import annotations

from decimal import Decimal
from typing import Final

SMALL_USD: Final = Decimal("0.1")
HOUR_BORDER: Final = 10.0


def usd(amount: Decimal) -> str:
    """Return dollars to the cent, small ones to three significant digits.

    >>> usd(Decimal("12.345")), usd(Decimal("0.00312"))
    ('12.35', '0.00312')
    """
    if amount == 0 or abs(amount) >= SMALL_USD:
        return f"{amount + Decimal('1e-12'):,.2f}"
    return f"{amount:.3g}" if abs(amount) >= Decimal("0.0001") else f"{amount:.1e}"


def usd_range(low: Decimal, expected: Decimal, high: Decimal) -> str:
    """Return low, expected and high, with one number where they print the same."""
    texts = [usd(low), usd(expected), usd(high)]
    return texts[1] if len(set(texts)) == 1 else " - ".join(texts)


def hours(value: float) -> str:
    """Return hours with one digit behind the point, two below ten.

    >>> hours(3.456), hours(24.71)
    ('3.46', '24.7')
    """
    return f"{value:,.1f}" if value >= HOUR_BORDER else f"{value:.2f}"


def hours_range(low: float, expected: float, high: float) -> str:
    """Return low, expected and high hours, with one number where they print the same."""
    texts = [hours(low), hours(expected), hours(high)]
    return texts[1] if len(set(texts)) == 1 else " - ".join(texts)


def quantity(amount: Decimal) -> str:
    """Return an amount with four significant digits, never in powers of ten.

    >>> quantity(Decimal("5.800510652")), quantity(Decimal("12345.6"))
    ('5.801', '12,346')
    """
    if amount == 0:
        return "0"
    digits = max(0, 3 - amount.adjusted())
    return f"{amount:,.{digits}f}"


def price(amount: Decimal) -> str:
    """Return a unit price with as many digits as it needs, six at most.

    >>> price(Decimal("0.20")), price(Decimal("0.0000131"))
    ('0.2', '0.0000131')
    """
    shown = amount.quantize(Decimal(1).scaleb(min(-4, amount.adjusted() - 3)))
    text = f"{shown:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def visible(text: str) -> str:
    r"""Return `text` with what a terminal would act on, or not show, written as escapes.

    >>> visible("Zürich" + chr(27) + "[2J")
    'Zürich\\x1b[2J'
    """
    if text.isprintable():
        return text
    return "".join(
        c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text
    )


def age(days: int, precision: str) -> str:
    """Return how long ago a price was checked, `~` where only month or year are known."""
    about = "" if precision == "day" else "~"
    return "today" if days == 0 and not about else f"{about}{days} d ago"
