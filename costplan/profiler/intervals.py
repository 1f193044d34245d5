"""Sets of time as sorted, disjoint intervals: what is covered once, both times, or not at all."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

Interval = tuple[float, float]


def union(intervals: Iterable[Interval]) -> list[Interval]:
    """Return what any of the intervals covers; those without length cover nothing.

    >>> union([(5, 7), (0, 2), (1, 3), (3, 3)])
    [(0, 3), (5, 7)]
    """
    found: list[Interval] = []
    for start, end in sorted(each for each in intervals if each[1] > each[0]):
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], end))
        else:
            found.append((start, end))
    return found


def length(covered: Iterable[Interval]) -> float:
    """Return the total length of disjoint intervals."""
    return sum(end - start for start, end in covered)


def within(covered: list[Interval], span: Interval) -> list[Interval]:
    """Return the part of sorted, disjoint intervals that lies in `span`.

    >>> within([(0, 3), (5, 7), (9, 10)], (2, 6))
    [(2, 3), (5, 6)]
    """
    start, end = span
    first = bisect_right(covered, start, key=lambda each: each[1])
    last = bisect_left(covered, end, key=lambda each: each[0])
    return [(max(low, start), min(high, end)) for low, high in covered[first:last]]


def both(one: list[Interval], other: list[Interval]) -> list[Interval]:
    """Return what two lists of sorted, disjoint intervals both cover.

    >>> both([(0, 4), (6, 9)], [(3, 7)])
    [(3, 4), (6, 7)]
    """
    found: list[Interval] = []
    for span in other:
        found += within(one, span)
    return found


def without(one: list[Interval], other: list[Interval]) -> float:
    """Return how long `one` covers what `other` does not.

    >>> without([(0, 4), (6, 9)], [(3, 7)])
    5
    """
    return max(length(one) - length(both(one, other)), 0)
