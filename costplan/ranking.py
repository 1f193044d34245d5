"""Any number of priced offers -> the ones to show, in order; memory grows with those shown only."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from costplan.estimate import LeftOutOffer, Priced

if TYPE_CHECKING:
    from collections.abc import Iterable
    from decimal import Decimal

SortBy = Literal["total", "hours"]

_SLACK: Final = 1_000
"""Offers collected beyond those wanted before the rest is dropped: sorting now and then is cheaper
than keeping order all the time."""


class Reason(NamedTuple):
    """Why offers are not in the answer."""

    text: str
    offers: int
    limit: bool
    """True where one of the person's own limits said no."""
    example: str
    detail: str | None


class Ranking(NamedTuple):
    """Priced offers in order, and what was left out."""

    shown: list[Priced]
    ranks: list[int]
    """Place of each shown one among all, from 1."""
    total: int
    front: Front
    left_out: list[Reason]
    """Most frequent first."""
    pinned_out: list[LeftOutOffer]
    """The pinned ones among those left out."""


class Front:
    """The offers that no other beats on both cost and time, as (dollars, hours)."""

    def __init__(self) -> None:
        self._points: list[tuple[Decimal, float]] = []  # dollars rise, hours fall

    def add(self, usd: Decimal, hours: float) -> None:
        """Take in one offer."""
        points = self._points
        place = bisect_left(points, (usd, hours))
        if place and points[place - 1][1] <= hours:
            return
        end = place
        while end < len(points) and points[end][1] >= hours:
            end += 1
        points[place:end] = [(usd, hours)]

    def __contains__(self, point: tuple[Decimal, float]) -> bool:
        place = bisect_left(self._points, point)
        return place < len(self._points) and self._points[place] == point


def key(priced: Priced, by: SortBy) -> tuple[object, ...]:
    """Return what `priced` is sorted by: the number shown, then the other, then the sku."""
    usd, hours = priced.total.expected, priced.hours[1]
    first = (usd, hours) if by == "total" else (hours, usd)
    return (*first, priced.machine.offer.sku, priced.machine.pricing)


def rank(
    offers: Iterable[Priced | LeftOutOffer],
    *,
    by: SortBy = "total",
    limit: int = 0,
    pinned: frozenset[str] = frozenset(),
) -> Ranking:
    """Return the best `limit` offers (0: all) in order, those with a pinned sku in any case."""
    best: list[tuple[tuple[object, ...], Priced]] = []
    kept: list[tuple[tuple[object, ...], Priced]] = []
    reasons: Counter[str] = Counter()
    examples: dict[str, LeftOutOffer] = {}
    pinned_out: list[LeftOutOffer] = []
    front = Front()
    ahead: list[tuple[object, ...]] = []
    total = 0
    for item in offers:
        if isinstance(item, LeftOutOffer):
            reasons[item.reason] += 1
            examples.setdefault(item.reason, item)
            if item.sku in pinned:
                pinned_out.append(item)
            continue
        total += 1
        front.add(item.total.expected, item.hours[1])
        entry = (key(item, by), item)
        if pinned:
            ahead.append(entry[0])
            if item.machine.offer.sku in pinned:
                kept.append(entry)
        best.append(entry)
        if limit and len(best) > limit + _SLACK:
            best = _first(best, limit)
    best = _first(best, limit)
    places = {id(priced): place for place, (_, priced) in enumerate(best, 1)}
    ahead.sort()
    for entry_key, priced in kept:
        if id(priced) not in places:
            best.append((entry_key, priced))
            places[id(priced)] = bisect_left(ahead, entry_key) + 1
    return Ranking(
        shown=[priced for _, priced in best],
        ranks=[places[id(priced)] for _, priced in best],
        total=total,
        front=front,
        left_out=[
            Reason(text, count, examples[text].limit, examples[text].sku, examples[text].detail)
            for text, count in reasons.most_common()
        ],
        pinned_out=pinned_out,
    )


def _first(
    entries: list[tuple[tuple[object, ...], Priced]], limit: int
) -> list[tuple[tuple[object, ...], Priced]]:
    ordered = sorted(entries, key=lambda entry: entry[0])
    return ordered[:limit] if limit else ordered
