"""Any number of priced offers -> the ones to show, in order; memory grows with those shown only."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from decimal import Decimal
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from costplan.estimate import LeftOutOffer, Priced
from costplan.glimpse import Glimpse

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from costplan.records.offers import Offer, Pricing

SortBy = Literal["total", "hours"]

Key = tuple[Decimal | float, Decimal | float, str, str]
Ranked = Priced | Glimpse
Entry = tuple[Key, Ranked]

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

    shown: list[Ranked]
    unbeaten: list[bool]
    """Of each shown one: whether no other is both cheaper and sooner."""
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
        self._points: list[tuple[Decimal | float, float]] = []  # dollars rise, hours fall

    def add(self, usd: Decimal | float, hours: float) -> None:
        """Take in one offer."""
        points = self._points
        place = bisect_left(points, (usd, hours))
        if place and points[place - 1][1] <= hours:
            return
        end = place
        while end < len(points) and points[end][1] >= hours:
            end += 1
        points[place:end] = [(usd, hours)]

    def __contains__(self, point: tuple[Decimal | float, float]) -> bool:
        place = bisect_left(self._points, point)
        return place < len(self._points) and self._points[place] == point


def key(item: Ranked, by: SortBy) -> Key:
    """Return what `item` is sorted by: the number shown, then the other, then the sku."""
    usd, hours = point(item)
    sku, pricing = offer_of(item).sku, pricing_of(item)
    return (usd, hours, sku, pricing) if by == "total" else (hours, usd, sku, pricing)


def point(item: Ranked) -> tuple[Decimal | float, float]:
    """Return the expected dollars and hours."""
    if isinstance(item, Glimpse):
        return item.usd, item.hours
    return item.total.expected, item.hours[1]


def offer_of(item: Ranked) -> Offer:
    """Return whose price it is."""
    return item.offer if isinstance(item, Glimpse) else item.machine.offer


def pricing_of(item: Ranked) -> Pricing:
    """Return how it is sold."""
    return item.pricing if isinstance(item, Glimpse) else item.machine.pricing


class _Gone:
    """Offers that are not in the answer, counted by reason."""

    def __init__(self, pinned: frozenset[str]) -> None:
        self._pinned = pinned
        self._counts: Counter[str] = Counter()
        self._examples: dict[str, LeftOutOffer] = {}
        self.pinned: list[LeftOutOffer] = []

    def add(self, offer: LeftOutOffer) -> None:
        self._counts[offer.reason] += 1
        self._examples.setdefault(offer.reason, offer)
        if offer.sku in self._pinned:
            self.pinned.append(offer)

    def reasons(self) -> list[Reason]:
        found = ((self._examples[text], count) for text, count in self._counts.most_common())
        return [Reason(o.reason, count, o.limit, o.sku, o.detail) for o, count in found]


def rank(
    offers: Iterable[Ranked | LeftOutOffer],
    *,
    by: SortBy = "total",
    limit: int = 0,
    pinned: frozenset[str] = frozenset(),
) -> Ranking:
    """Return the best `limit` offers (0: all) in order, and those with a pinned sku or id."""
    best: list[Entry] = []
    kept: list[Entry] = []
    keys: list[Key] = []  # of all, only where a pinned offer needs its place
    gone, front, total = _Gone(pinned), Front(), 0
    for item in offers:
        if isinstance(item, LeftOutOffer):
            gone.add(item)
            continue
        total += 1
        front.add(*point(item))
        entry = (key(item, by), item)
        best.append(entry)
        if pinned:
            keys.append(entry[0])
            offer = offer_of(item)
            kept += [entry] if offer.sku in pinned or offer.id in pinned else []
        if limit and len(best) > limit + _SLACK:
            best = _first(best, limit)
    best = _first(best, limit)
    shown = {entry[0] for entry in best}
    late = sorted((e for e in kept if e[0] not in shown), key=lambda entry: entry[0])
    keys.sort()
    shown_items = [item for _, item in (*best, *late)]
    return Ranking(
        shown=shown_items,
        unbeaten=[point(item) in front for item in shown_items],
        ranks=[
            *range(1, len(best) + 1),
            *(bisect_left(keys, entry[0]) + 1 for entry in late),
        ],
        total=total,
        front=front,
        left_out=gone.reasons(),
        pinned_out=gone.pinned,
    )


def _first(entries: list[Entry], limit: int) -> list[Entry]:
    ordered = sorted(entries, key=lambda entry: entry[0])
    return ordered[:limit] if limit else ordered


def exactly(ranking: Ranking, full: Callable[[Glimpse], Priced | LeftOutOffer]) -> Ranking:
    """Return `ranking` with every glimpse in it priced in full, in the order of exact totals."""
    found = []
    for item, place, unbeaten in zip(ranking.shown, ranking.ranks, ranking.unbeaten, strict=True):
        priced = full(item) if isinstance(item, Glimpse) else item
        if isinstance(priced, Priced):
            found.append((place, priced, unbeaten))
    return ranking._replace(
        shown=[priced for _, priced, _ in found],
        ranks=[place for place, _, _ in found],
        unbeaten=[unbeaten for _, _, unbeaten in found],
    )
