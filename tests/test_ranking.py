"""The order of offers, the front that nobody beats, and what was left out: against brute force."""

from __future__ import annotations

import itertools
import random
from decimal import Decimal
from functools import cache
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from makes import asked_of_all, bundled_offers, offer, priced, question, ways, work

from costplan.estimate import LeftOutOffer, Priced
from costplan.ranking import Front, Ranked, offer_of, point, pricing_of, rank
from costplan.spans import exactly

if TYPE_CHECKING:
    from collections.abc import Sequence

    from costplan.rates import Machine
    from costplan.records.offers import Pricing

BASE = priced(question(work()), offer())


@cache
def machine(sku: str, pricing: Pricing) -> Machine:
    rented = BASE.machine.offer.model_copy(update={"sku": sku})
    return BASE.machine._replace(offer=rented, pricing=pricing)


def made(usd: int, hours: int, sku: str = "a/1", pricing: Pricing = "on-demand") -> Priced:
    """Return an offer that costs so much and takes so long."""
    return BASE._replace(
        machine=machine(sku, pricing),
        total=exactly(Decimal(usd)),
        hours=(float(hours), float(hours), float(hours)),
    )


def names(shown: Sequence[Ranked]) -> list[str]:
    return [offer_of(item).sku for item in shown]


# --- order ----------------------------------------------------------------------------------------


def test_the_cheapest_comes_first_and_of_two_as_cheap_the_sooner() -> None:
    offers = [made(5, 9, "dear"), made(3, 9, "late"), made(3, 7, "soon"), made(4, 1, "middle")]
    assert names(rank(offers).shown) == ["soon", "late", "middle", "dear"]


def test_the_soonest_comes_first_and_of_two_as_soon_the_cheaper() -> None:
    offers = [made(9, 5, "slow"), made(9, 3, "dear"), made(7, 3, "cheap"), made(1, 4, "middle")]
    assert names(rank(offers, by="hours").shown) == ["cheap", "dear", "middle", "slow"]


def test_of_two_equal_ones_the_name_and_then_the_way_of_being_sold_decides() -> None:
    offers = [made(1, 1, "b"), made(1, 1, "a", "spot"), made(1, 1, "a", "on-demand")]
    shown = rank(offers).shown
    assert [(offer_of(item).sku, pricing_of(item)) for item in shown] == [
        ("a", "on-demand"),
        ("a", "spot"),
        ("b", "on-demand"),
    ]


def test_the_same_offer_twice_has_two_places() -> None:
    found = rank([made(2, 1, "b"), made(1, 1, "a"), made(1, 1, "a")])
    assert names(found.shown) == ["a", "a", "b"]
    assert found.ranks == [1, 2, 3]
    assert found.total == 3


def test_of_nothing_nothing_is_shown() -> None:
    found = rank([])
    assert (found.shown, found.ranks, found.total, found.left_out) == ([], [], 0, [])


@pytest.mark.parametrize(("limit", "shown"), [(0, 5), (1, 1), (4, 4), (5, 5), (6, 5)])
def test_a_limit_is_the_number_of_rows_and_zero_is_none(limit: int, shown: int) -> None:
    found = rank([made(n, 1, str(n)) for n in range(5)], limit=limit)
    assert len(found.shown) == shown
    assert found.total == 5


# --- pinned ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pinned", "shown", "ranks"),
    [
        (frozenset[str](), ["0", "1"], [1, 2]),
        (frozenset({"0"}), ["0", "1"], [1, 2]),
        (frozenset({"2"}), ["0", "1", "2"], [1, 2, 3]),
        (frozenset({"4"}), ["0", "1", "4"], [1, 2, 5]),
        (frozenset({"4", "3"}), ["0", "1", "3", "4"], [1, 2, 4, 5]),
        (frozenset({"nowhere"}), ["0", "1"], [1, 2]),
    ],
)
@pytest.mark.parametrize("backwards", [False, True])
def test_a_pinned_offer_is_shown_with_its_place_in_any_case(
    pinned: frozenset[str], shown: list[str], ranks: list[int], *, backwards: bool
) -> None:
    offers = [made(n, 1, str(n)) for n in range(5)]
    found = rank(offers[::-1] if backwards else offers, limit=2, pinned=pinned)
    assert names(found.shown) == shown
    assert found.ranks == ranks


def test_a_pinned_offer_that_is_sold_two_ways_is_shown_in_both() -> None:
    offers = [made(n, 1, str(n)) for n in range(3)]
    offers += [made(8, 1, "mine", "on-demand"), made(5, 1, "mine", "spot")]
    found = rank(offers, limit=1, pinned=frozenset({"mine"}))
    assert names(found.shown) == ["0", "mine", "mine"]
    assert found.ranks == [1, 4, 5]  # the cheaper one first, whichever came first


def test_a_pinned_offer_that_is_left_out_is_kept_with_its_own_figures() -> None:
    gone = [LeftOutOffer(str(n), "too slow", limit=True, detail=f"{n} h") for n in range(5)]
    found = rank(gone, pinned=frozenset({"3"}))
    assert found.pinned_out == [gone[3]]


# --- left out -------------------------------------------------------------------------------------


def test_reasons_are_counted_the_most_frequent_first_with_their_first_example() -> None:
    found = rank(
        [
            LeftOutOffer("a", "too slow", limit=True, detail="9 h"),
            LeftOutOffer("b", "too small"),
            made(1, 1),
            LeftOutOffer("c", "too small"),
            LeftOutOffer("d", "too slow", limit=True, detail="8 h"),
            LeftOutOffer("e", "too small", detail="first has none"),
        ]
    )
    assert [tuple(reason) for reason in found.left_out] == [
        ("too small", 3, False, "b", None),
        ("too slow", 2, True, "a", "9 h"),
    ]
    assert found.total == 1


def test_what_is_kept_does_not_grow_with_what_is_left_out() -> None:
    gone = (LeftOutOffer(str(n), f"reason {n % 3}") for n in range(30_000))
    found = rank(itertools.chain(gone, [made(1, 1)]), limit=10)
    assert len(found.left_out) == 3
    assert [reason.offers for reason in found.left_out] == [10_000] * 3
    assert len(found.shown) == 1
    assert found.pinned_out == []


# --- laws -----------------------------------------------------------------------------------------

SMALL = st.integers(1, 6)  # few values: many ties
POINTS = st.lists(st.tuples(SMALL, SMALL), max_size=25)


@st.composite
def items(draw: st.DrawFn) -> list[Priced | LeftOutOffer]:
    points = draw(POINTS)
    found: list[Priced | LeftOutOffer] = [
        made(usd, hours, str(n)) for n, (usd, hours) in enumerate(points)
    ]
    gone = draw(st.lists(st.sampled_from(("too slow", "too small")), max_size=8))
    found += [LeftOutOffer(f"gone {n}", reason) for n, reason in enumerate(gone)]
    return draw(st.permutations(found))


@settings(max_examples=50)
@given(items(), st.sampled_from(("total", "hours")), st.integers(1, 30))
def test_a_limited_ranking_is_the_head_of_the_whole_one(
    found: list[Priced | LeftOutOffer], by: str, limit: int
) -> None:
    whole = rank(found, by="total" if by == "total" else "hours")
    head = rank(found, by="total" if by == "total" else "hours", limit=limit)
    assert head.shown == whole.shown[:limit]
    assert head.ranks == whole.ranks[:limit]
    assert (head.total, head.left_out) == (whole.total, whole.left_out)


@settings(max_examples=50)
@given(items(), st.randoms(use_true_random=False))
def test_the_order_in_which_offers_come_does_not_matter(
    found: list[Priced | LeftOutOffer], shuffler: random.Random
) -> None:
    other = list(found)
    shuffler.shuffle(other)
    assert rank(other).shown == rank(found).shown


@settings(max_examples=50)
@given(items())
def test_each_place_holds_nothing_dearer_than_the_next_and_all_are_counted(
    found: list[Priced | LeftOutOffer],
) -> None:
    ranking = rank(found)
    for before, after in itertools.pairwise(ranking.shown):
        assert point(before) <= point(after)
    assert ranking.ranks == list(range(1, ranking.total + 1))
    assert ranking.total + sum(reason.offers for reason in ranking.left_out) == len(found)


@settings(max_examples=60)
@given(POINTS)
def test_the_front_is_what_no_other_beats_on_both(points: list[tuple[int, int]]) -> None:
    front = Front()
    for usd, hours in points:
        front.add(Decimal(usd), float(hours))
    for usd, hours in itertools.product(range(1, 7), repeat=2):
        there = (usd, hours) in points
        beaten = any(u <= usd and h <= hours and (u, h) != (usd, hours) for u, h in points)
        assert ((Decimal(usd), float(hours)) in front) is (there and not beaten)


@settings(max_examples=20)
@given(POINTS, st.integers(0, 3))
def test_the_front_is_that_of_all_offers_and_not_of_those_shown(
    points: list[tuple[int, int]], limit: int
) -> None:
    offers = [made(usd, hours, str(n)) for n, (usd, hours) in enumerate(points)]
    front = rank(offers, limit=limit).front
    for usd, hours in points:
        beaten = any(u <= usd and h <= hours and (u, h) != (usd, hours) for u, h in points)
        assert ((Decimal(usd), float(hours)) in front) is not beaten


def test_thousands_of_offers_are_dropped_on_the_way_and_none_too_many() -> None:
    shuffler = random.Random(7)
    offers = [made(n // 2, n % 7, f"{n:05}") for n in range(4_000)]
    shuffler.shuffle(offers)
    whole, head = rank(offers), rank(offers, limit=3, pinned=frozenset({"03999", "00001"}))
    assert head.shown[:3] == whole.shown[:3]
    assert names(head.shown)[3:] == ["03999"]
    assert head.ranks == [1, 2, 3, whole.shown.index(head.shown[3]) + 1]
    assert head.total == 4_000


def test_the_folders_offers_keep_their_order_whatever_the_limit() -> None:
    found = ways(asked_of_all(work(dataset_gb=19)), *bundled_offers())
    whole = rank(found)
    for limit in (1, 10, 100):
        assert rank(found, limit=limit).shown == whole.shown[:limit]
    assert whole.total + sum(reason.offers for reason in whole.left_out) == len(found)
