"""The only unit conversions, and the only place where physics (float) becomes money (Decimal).

Durations cross as whole microseconds, so that a sum of phases and the phases of a sum are the
same number, whichever is computed first.
"""

from __future__ import annotations

import math
import re
from decimal import Decimal
from typing import Final

from costplan.errors import InputError

US_PER_S: Final = 1_000_000
US_PER_HOUR: Final = 3_600 * US_PER_S
SECONDS_PER_HOUR: Final = 3_600
HOURS_PER_DAY: Final = 24
MBIT_PER_GB: Final = 8_000

GB_PER: Final[dict[str, Decimal]] = {
    "gb": Decimal(1),
    "gib": Decimal("1.073741824"),
    "tb": Decimal(1000),
    "tb1024": Decimal(1024),
    "tib": Decimal("1099.511627776"),
}
"""Gigabytes (10^9 bytes) in one unit. `tb1024` is the terabyte of 1,024 gigabytes that vast.ai
bills (see `pricing/README.md`); `tib` is 2^40 bytes."""

_DURATION = re.compile(r"(\d+(?:\.\d+)?)(s|m|h|d)", re.ASCII)
_SECONDS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}


def microseconds(duration_s: float) -> int:
    """Convert measured seconds to whole microseconds.

    Raises:
        InputError: The duration is negative, infinite or not a number.

    >>> microseconds(95.5)
    95500000
    """
    if not math.isfinite(duration_s) or duration_s < 0:
        raise InputError(f"a duration of {duration_s} s cannot be billed")
    return round(duration_s * US_PER_S)


def hours(duration_us: int) -> Decimal:
    """Convert whole microseconds to billable hours.

    >>> hours(microseconds(900))
    Decimal('0.25')
    """
    return Decimal(duration_us) / US_PER_HOUR


def decimal(value: float) -> Decimal:
    """Convert a measured quantity to the Decimal that prints the same.

    >>> decimal(0.1)
    Decimal('0.1')
    """
    return Decimal(repr(float(value)))


def gigabytes(amount: Decimal, unit: str) -> Decimal:
    """Convert `amount` of `unit` (a key of `GB_PER`) to gigabytes of 10^9 bytes.

    >>> gigabytes(Decimal(1), "tib")
    Decimal('1099.511627776')
    """
    return amount * GB_PER[unit]


def transfer_s(size_gb: float, *, mbit_per_s: float) -> float:
    """Return the seconds that `size_gb` takes over a line of `mbit_per_s`.

    >>> transfer_s(9, mbit_per_s=500)
    144.0
    """
    return size_gb * MBIT_PER_GB / mbit_per_s


def parse_duration_s(text: str) -> float:
    """Return the seconds of `90s`, `15m`, `1h30m` or `2d`.

    Raises:
        InputError: The text has another form.

    >>> parse_duration_s("1h30m")
    5400.0
    """
    cleaned = text.strip().lower().replace(" ", "")
    parts = _DURATION.findall(cleaned)
    if not parts or "".join(number + unit for number, unit in parts) != cleaned:
        raise InputError(f"{text!r} is not a duration", hint="write 90s, 15m, 1h30m or 2d")
    duration_s = float(sum(float(number) * _SECONDS[unit] for number, unit in parts))
    if not math.isfinite(duration_s):
        raise InputError(f"{text[:20]!r}... is no duration that ends")
    return duration_s
