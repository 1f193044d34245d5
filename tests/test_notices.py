"""What the reader is told, once each, and from which border on."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest
from bills.samples import meter
from makes import (
    HERE,
    ON,
    asked_of_all,
    listed,
    nobody_knows,
    offer,
    others,
    owner,
    question,
    serverless,
    ways,
    work,
)

from costplan.answer import answer
from costplan.disk import disk_for
from costplan.ranking import rank
from costplan.seen import SKU as SEEN
from costplan.work import Guess

if TYPE_CHECKING:
    from costplan.estimate import Question
    from costplan.records.offers import Offer
    from costplan.records.results import Notice


def told(asked: Question, *offers: Offer, limit: int = 0) -> tuple[Notice, ...]:
    ranking = rank(ways(asked, *offers), limit=limit, pinned=frozenset({SEEN}))
    return answer(asked, ranking, disk_for(asked.work, step_gb=Decimal(1))).notices


def texts(kind: str, asked: Question, *offers: Offer, limit: int = 0) -> list[str]:
    return [each.text for each in told(asked, *offers, limit=limit) if each.kind == kind]


SPOT: dict[str, Any] = {"spot": {"offered": True, "price": "list", "disk_kept": True, **HERE}}


def test_a_bare_offer_has_nothing_to_be_said_about_it() -> None:
    assert told(question(work()), offer()) == ()


# --- the job --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("minutes", "said"), [(599, False), (600, False), (601, True)])
def test_a_set_up_that_costs_more_than_the_training_is_said(minutes: int, *, said: bool) -> None:
    # 10 h of training
    found = texts("set-up", question(work(setup_minutes=minutes)), offer())
    assert bool(found) is said
    if said:
        # 601/60 h against 10 h; with 20.0167 h x 0.01 of disk
        assert found == [
            "set-up costs more than training on sample/1x-rtx-4090: "
            "$10.017 against $10.000 of $20.217"
        ]


def test_the_set_up_is_that_of_the_first_offer_only() -> None:
    # an hour of set-up, ten hours of training on one GPU, ten minutes on 64
    settled = work(setup_minutes=60)
    offers = [offer("1"), offer("99", sku="sample/64x", count=64)]
    assert texts("set-up", question(settled), *offers) == []
    assert len(texts("set-up", question(settled), *offers[1:])) == 1


def test_a_slow_line_at_home_is_said_with_what_staging_saves() -> None:
    settled = work(dataset_gb=19, dataset_from="home", home_mbit_per_s=20)
    (found,) = (
        each
        for each in told(question(settled), offer("2", inet_down_mbit_per_s=500))
        if each.kind == "staging"
    )
    assert found.text == (
        "the line at the data's home is slow and the machine waits for it (sample/1x-rtx-4090)"
    )
    assert found.what_to_do == "staging the tar on a hub first saves $4.07"  # 7296 s x 2.01/3600


# --- the offers -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("days", "said", "flagged"),
    [
        (0, False, False),
        (30, False, False),
        (31, True, False),
        (180, True, False),
        (181, True, True),
    ],
)
def test_old_prices_are_said_and_very_old_ones_are_named(
    days: int, *, said: bool, flagged: bool
) -> None:
    found = texts("old-price", question(work()), offer(checked=ON - timedelta(days=days)))
    assert len(found) == said + flagged
    if said:
        assert found[0].startswith(
            f"1 of 1 prices shown are older than 30 days, the oldest {days} days"
        )
    if flagged:
        assert found[1] == "older than 180 days, believe with care: sample/1x-rtx-4090"


@pytest.mark.parametrize(
    ("kinds", "moved"),
    [(("list",), False), (("market",), True), (("list", "market"), True), (("market now",), False)],
)
def test_the_widening_is_said_where_a_price_shown_is_widened(
    kinds: tuple[str, ...], *, moved: bool
) -> None:
    terms = [owner(key="a", prices_set_by="list"), owner(key="b", prices_set_by="market")]
    days = {"list": ("a", 31), "market": ("b", 31), "market now": ("b", 30)}
    offers = [
        offer(sku=f"{key}/1", provider=key, checked=ON - timedelta(days=age))
        for key, age in (days[kind] for kind in kinds)
    ]
    found = texts("old-price", question(work(), *terms), *offers)
    assert any(text.endswith("market-set ones are taken at -50 % to +50 %") for text in found) is (
        moved
    )


def test_the_oldest_of_several_old_prices_is_named_once() -> None:
    offers = [
        offer(sku=f"sample/{days}", checked=ON - timedelta(days=days)) for days in (10, 40, 90, 50)
    ]
    (found,) = texts("old-price", question(work()), *offers)
    assert found.startswith(
        "3 of 4 prices shown are older than 30 days, the oldest 90 days (sample/90)"
    )


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({}, False),
        ({"count": 2}, True),
        ({"card": "RTX-3090"}, True),
    ],
)
def test_hours_on_another_machine_are_said_to_be_rough(
    fields: dict[str, Any], *, said: bool
) -> None:
    found = texts("rough", question(work()), offer(**fields))
    assert found == (
        [
            "measured on 1x RTX-4090; hours elsewhere are rough (-35% to +52% on another card)",
        ]
        if said
        else []
    )


def test_a_name_that_several_cards_share_is_said_with_them() -> None:
    offers = [offer(card="H100"), offer(card="H100", sku="sample/b"), offer(card="H100-SXM")]
    (found,) = texts("card", question(work()), *offers)
    assert found.startswith("H100: the source does not say which of H100-PCIE, H100-SXM, H100-NVL")


def test_totals_that_are_only_a_lower_bound_are_counted() -> None:
    known = others(meter("disk", usd="0.73", per="gb_month"))
    asked = question(work(), owner(meter("disk", per="gb_month")), known=known)
    stated = offer(sku="sample/b", storage_usd_per_gb_month="0.1")
    (found,) = texts("unpriced", asked, offer(), stated)
    assert found.startswith("1 of the totals shown are marked `at least`")
    assert texts("unpriced", asked, stated) == []


@pytest.mark.parametrize(
    ("fields", "terms", "said"),
    [
        ({}, None, True),
        ({"interruption_hours": 5}, None, False),
        ({}, 5, False),  # the provider states it
    ],
)
def test_interruptions_that_nobody_states_are_said(
    fields: dict[str, Any], terms: float | None, *, said: bool
) -> None:
    spot = {**SPOT["spot"], "hours_between_interruptions": terms}
    found = texts("spot", question(work(**fields), owner(spot=spot)), offer(None, "1"))
    assert bool(found) is said
    assert texts("spot", question(work(**fields), owner(spot=spot)), offer("1")) == []


@pytest.mark.parametrize(
    ("epochs", "said"),
    [
        (23, False),
        (24, False),
        (25, True),
    ],
)
def test_a_job_longer_than_one_call_may_last_is_said(epochs: int, *, said: bool) -> None:
    terms = {"cold_start_s": 0, "idle_timeout_s": 0, "max_timeout_hours": 24, **HERE}
    found = texts("timeout", question(work(epochs=epochs), serverless(serverless=terms)), offer())
    said_text = "sample/1x-rtx-4090: one call may last 24 h, the job takes 25.0 h"
    assert found == ([said_text] if said else [])


def test_a_balance_is_told_once_for_each_provider() -> None:
    asked = asked_of_all(work(epochs=1), balance_usd=Decimal(100))
    pods = [
        offer("0.74", sku=f"runpod-secure/{n}", provider="runpod-secure") for n in ("a", "b", "c")
    ]
    found = texts("balance", asked, *pods, listed("lambda/1x-a10"))
    assert [text.split(":")[0] for text in found] == ["runpod-secure/a", "lambda/1x-a10"]
    assert found[0].startswith("runpod-secure/a: $100 lasts")


@pytest.mark.parametrize(
    ("balance", "warned"),
    [
        # 10 h at 1 and 100 GB x 0.0001 an hour: 10.10; up to 1 h of overhead more in high: 11.11
        ("11.11", False),
        ("11.10", True),
    ],
)
def test_a_balance_below_the_high_end_is_said(balance: str, *, warned: bool) -> None:
    asked = question(work(memory_gb=1), balance_usd=Decimal(balance))
    rented = offer("1")
    settled = asked.work._replace(overhead_s=Guess(0.0, 0.0, 3_600.0))
    (found,) = texts("balance", asked._replace(work=settled), rented)
    tail = "; the high end of the total, $11.11, is above it"
    assert found.endswith(tail) is warned


@pytest.mark.parametrize(
    ("tax", "said"),
    [
        ("included", []),
        ("unknown", []),
        ("excluded", ["prices without VAT: sample"]),
        ("added", ["sales tax comes on top: sample"]),
    ],
)
def test_taxes_that_come_on_top_are_said(tax: str, said: list[str]) -> None:
    assert texts("tax", question(work(), owner(tax=tax)), offer(), offer(sku="sample/b")) == said


# --- what is not shown ----------------------------------------------------------------------------


def test_what_is_left_out_is_counted_by_reason_with_an_example() -> None:
    asked = question(work(), max_hours=6.0)
    found = texts(
        "left-out", asked, offer(sku="a"), offer(sku="b"), offer(sku="c", count=2),
        offer(sku="d", max_disk_gb=1),
    )  # fmt: skip
    assert found == [
        "2 left out: takes more than 6 h (for example a: 10.0 h)",
        "1 left out: host has too little disk (for example d)",
    ]


def test_the_offer_that_the_flags_describe_is_told_its_place() -> None:
    offers = [offer("1", sku=f"sample/{n}") for n in range(3)]
    seen = offer("2", sku=SEEN)
    assert texts("seen", question(work()), *offers, seen, limit=1) == ["seen is number 4 of 4"]
    assert texts("seen", question(work()), *offers, limit=1) == []


def test_the_offer_that_the_flags_describe_is_told_why_it_is_left_out() -> None:
    asked = question(work(), max_hours=9.0)
    other = offer(sku="sample/other", card="RTX-3090")
    # the other one is the example of the reason, the seen one has its own figures
    assert texts("seen", asked, other, offer(sku=SEEN)) == [
        "seen is left out: takes more than 9 h (10.0 h)"
    ]


def test_what_was_left_out_comes_before_ages_and_ages_before_taxes() -> None:
    offers = [
        offer(checked=ON - timedelta(days=99)),
        offer(sku="sample/x", max_disk_gb=1),
    ]
    found = told(question(work(), owner(tax="added"), known=nobody_knows()), *offers)
    assert [each.kind for each in found] == ["left-out", "old-price", "tax"]
