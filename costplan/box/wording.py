"""Sizes, times and lists of reasons, as the gate says them to people."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from costplan.records.copies import Left

MOST_NAMED: Final = 20
"""Reasons of one kind that are named; the rest are counted."""
BEGINNING_OF_TIME: Final = datetime(1970, 1, 1, tzinfo=timezone.utc)
_UNIT_BYTES: Final = {"GB": 10**9, "MB": 10**6, "kB": 10**3}


def size(size_bytes: int | None) -> str:
    """Return a size for people.

    >>> size(2_345_000_000), size(17), size(None)
    ('2.345 GB', '17 bytes', 'size unknown')
    """
    if size_bytes is None:
        return "size unknown"
    for name, unit_bytes in _UNIT_BYTES.items():
        if size_bytes >= unit_bytes:
            return f"{size_bytes / unit_bytes:.3f} {name}"
    return f"{size_bytes} bytes"


def moment(at: datetime) -> str:
    """Return a time for people, to the microsecond where two could differ by less than a second.

    >>> moment(datetime(2026, 8, 27, 9, tzinfo=timezone.utc))
    '2026-08-27 09:00:00 UTC'
    """
    return at.astimezone(timezone.utc).isoformat(sep=" ").replace("+00:00", " UTC")


def moment_of(at_s: float) -> str:
    """Return a time in seconds since 1970 for people, or as it is where no calendar has it."""
    try:
        return moment(BEGINNING_OF_TIME + timedelta(seconds=at_s))
    except (OverflowError, ValueError):
        return f"{at_s:g} s since 1970"


def first(reasons: Sequence[str]) -> list[str]:
    """Return the first reasons and the count of the rest."""
    more = len(reasons) - MOST_NAMED
    return [*reasons[:MOST_NAMED], *([f"and {more} more of the kind"] if more > 0 else [])]


def named(left: Left) -> str:
    """Return what goes with the box, with its size."""
    least = "at least " if left.at_least else ""
    many = f"{left.count} in all, " if left.count > 1 else ""
    return f"not in the copy: {left.name} ({left.kind}, {many}{least}{size(left.size_bytes)})"
