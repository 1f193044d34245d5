"""The answer's fields, each by hand: rates, timeouts, what a stop costs, commands to rent."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest
from bills.samples import check, meter
from makes import (
    HERE,
    ON,
    asked_of_all,
    listed,
    nobody_knows,
    offer,
    others,
    owner,
    priced,
    question,
    serverless,
    ways,
    work,
)

from costplan.answer import answer, limited_by, result
from costplan.disk import disk_for
from costplan.estimate import Priced
from costplan.ranking import rank

if TYPE_CHECKING:
    from costplan.estimate import Question
    from costplan.records.offers import Offer
    from costplan.records.results import Estimate, Result

FREE = {"included": ("cpu", "ram", "disk")}


def answered(asked: Question, *offers: Offer, limit: int = 0) -> Estimate:
    ranking = rank(ways(asked, *offers), limit=limit)
    return answer(asked, ranking, disk_for(asked.work, step_gb=Decimal(1)))


def only(asked: Question, rented: Offer) -> Result:
    (found,) = answered(asked, rented).results
    return found


def sold_as(pricing: str, asked: Question, rented: Offer) -> Result:
    (found,) = (each for each in answered(asked, rented).results if each.pricing == pricing)
    return found


# --- one offer ------------------------------------------------------------------------------------


def test_a_bare_offer_is_answered_with_its_own_figures() -> None:
    rented = offer("2", region="here", vcpus=16, ram_gb=64, reliability=0.99)
    found = only(question(work()), rented)
    wanted = {
        "sku": "sample/1x-rtx-4090",
        "rank": 1,
        "provider": "sample",
        "region": "here",
        "pricing": "on-demand",
        "card": "RTX-4090",
        "count": 1,
        "usd_per_hour": Decimal("2.01"),  # 2 + 100 x 0.0001
        "hours": {"low": 10, "expected": 10, "high": 10},
        "total_usd": dict.fromkeys(("low", "expected", "high"), Decimal("20.10")),
        "at_least": False,
        "disk_gb": Decimal(100),
        "limited_by": "gpu",
        "checked": ON,
        "date_precision": "day",
        "age_days": 0,
        "unbeaten": True,
        "vcpus": 16,
        "ram_gb": 64,
        "reliability": 0.99,
        "stopped_usd_per_hour": None,
        "night_usd": Decimal("29.145"),  # 14.5 x 2.01
        "weekend_usd": Decimal("126.63"),  # 63 x 2.01
        "timeout_s": None,
        "hung_usd": None,
        "balance_hours": None,
        "balance": None,
        "checkpoint_interval_s": None,
        "interruptions": None,
        "staging_saves_usd": None,
        "rent_command": None,
    }
    assert found.model_dump(include=set(wanted)) == wanted


def test_the_lines_carry_quantity_price_and_source() -> None:
    found = only(question(work()), offer("2"))
    training, disk = found.lines
    assert training.model_dump() == {
        "name": "training",
        "quantity": 10,
        "unit": "h",
        "unit_price_usd": 2,
        "cost_usd": 20,
        "cost_low_usd": 20,
        "cost_high_usd": 20,
        "part": "training",
        "source": "a test",
        "as_of": ON,
    }
    assert (disk.name, disk.unit, disk.part) == ("disk", "GB-month", "storage")
    assert disk.source == "the case of this test"


def test_the_lines_add_up_to_the_total_that_is_shown() -> None:
    asked = asked_of_all(work(dataset_gb=19, image_gb=9, idle_after_hours=1))
    for found in answered(asked, listed("vast/8x-rtx-4090"), listed("aws/1x-l4")).results:
        shown = found.total_usd
        added = sum(line.cost_usd for line in found.lines)
        assert abs(added - shown.expected) <= shown.expected * Decimal("1e-18")


def test_what_nobody_beats_is_marked_though_it_is_not_the_cheapest() -> None:
    offers = [
        offer("1", sku="sample/slow"),  # 10 h, 10.10 $
        offer("9", sku="sample/fast", count=8),  # 10/7.31 h, 12.44 $
        offer("9.1", sku="sample/beaten", count=8),
        offer("1", sku="sample/tie"),
    ]
    found = answered(question(work()), *offers)
    marks = [(each.sku, each.unbeaten) for each in found.results]
    assert marks == [
        ("sample/slow", True),
        ("sample/tie", True),
        ("sample/fast", True),
        ("sample/beaten", False),
    ]
    assert [each.rank for each in found.results] == [1, 2, 3, 4]


def test_the_estimate_says_how_many_there_are_and_what_was_left_out() -> None:
    offers = [
        offer("1", sku="sample/a"),
        offer("2", sku="sample/b"),
        offer("1", sku="sample/c", card="T4"),  # 16 GB
        offer("1", sku="sample/d", max_disk_gb=1),
    ]
    asked = question(work(memory_gb=20, disk_gb=None, environment_gb=10, checkpoint_gb=1))
    found = answered(asked, *offers, limit=1)
    assert (found.job, found.priced_on, found.offers_total) == ("bare", ON, 2)
    assert [each.sku for each in found.results] == ["sample/a"]
    assert [(gone.reason, gone.count, gone.example) for gone in found.left_out] == [
        ("card has or may have less than 20 GB of memory", 1, "sample/c"),
        ("host has too little disk", 1, "sample/d"),
    ]
    assert found.offers_total + sum(gone.count for gone in found.left_out) == len(offers)
    parts = {part.name: part.gb for part in found.disk_parts}
    assert parts == {"dataset, packed": 0, "unpacked": 0, "checkpoints": 2, "environment": 10}
    assert (found.disk_headroom, found.disk_given) == (0.3, False)
    assert found.results[0].disk_gb == 16  # 12 x 1.3 = 15.6
    assert found.assumed == asked.work.assumed


# --- what takes the time --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "name"),
    [
        ({}, "gpu"),
        ({"setup_minutes": 599}, "gpu"),
        ({"setup_minutes": 601}, "set-up"),
        ({"overhead_s": 36_001}, "overhead"),
        # 36001 s of transfer: 4500.125 GB at 1 Gbit/s
        ({"dataset_gb": 4_500.125}, "transfer"),
        ({"dataset_gb": 4_499}, "gpu"),
        # idling comes after the end
        ({"idle_after_hours": 100}, "gpu"),
        # training and validation are one
        ({"setup_minutes": 601, "validation_s": 10}, "gpu"),
    ],
)
def test_what_takes_the_most_time_is_named(fields: dict[str, Any], name: str) -> None:
    item = priced(question(work(**fields)), offer(inet_down_mbit_per_s=1_000))
    assert limited_by(item) == name


def test_interruptions_may_take_more_time_than_the_training() -> None:
    terms = owner(spot={"offered": True, "disk_kept": False, **HERE})
    settled = work(interruption_hours=1, setup_minutes=40, checkpoint_minutes=5)
    assert limited_by(priced(question(settled, terms), offer(None, "1"))) == "interruptions"


# --- functions ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("train_s", "timeout_s"),
    [
        (36_000, 54_000),  # x 1.5
        (1, 60),
        (40, 60),
        (41, 120),  # 61.5 s
        (80, 120),
    ],
)
def test_a_function_gets_a_timeout_of_half_as_much_again(train_s: float, timeout_s: int) -> None:
    settled = work(throughput={"card": "RTX-4090", "seconds_per_epoch": train_s}, epochs=1)
    found = only(question(settled, serverless()), offer())
    assert found.timeout_s == timeout_s
    assert found.hung_usd == Decimal("1.01") * timeout_s / 3_600


def test_a_hung_call_of_modal_bills_gpu_cores_and_memory_until_its_timeout() -> None:
    settled = work(
        throughput={"card": "H100-SXM", "seconds_per_epoch": 3_600},
        vcpus=8,
        ram_gb=64 * 1.073741824,
    )
    rented = listed("modal/1x-h100").model_copy(update={"card": "H100-SXM"})
    found = only(asked_of_all(settled), rented)
    # 10 h and a cold start of 20 s: 36020 x 1.5 = 54030 -> 54060 s; x 4.837968/3600
    assert found.timeout_s == 54_060
    check(found.hung_usd, "72.6502")


# --- stopped --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sku", "own", "usd"),
    [
        # 100 GB x 0.20/720
        ("vast/8x-rtx-4090", {}, "0.0277778"),
        # its stopped price wins over its running one
        ("vast/8x-rtx-4090", {"stopped_storage_usd_per_gb_month": Decimal("0.36")}, "0.0500000"),
        # the offer's own month: 100 x 0.20/730
        ("vast/8x-rtx-4090", {"month_hours": Decimal(730)}, "0.0273973"),
        # a price of storage that nobody states
        ("vast/1x-h100-sxm-median", {}, None),
        # a stopped volume costs twice a running one: 100 x 0.20/730
        ("runpod-secure/1x-a40", {}, "0.0273973"),
        ("aws/1x-l4", {}, "0.0109589"),  # 100 x 0.08/730
        # there is no stop
        ("lambda/1x-a10", {}, None),
        ("modal/1x-h100", {}, None),
        # stopped and nothing left that bills
        ("salad/1x-rtx-3060-low", {}, "0"),
    ],
)
def test_a_stopped_machine_costs_what_bills_on(
    sku: str, own: dict[str, Any], usd: str | None
) -> None:
    rented = listed(sku).model_copy(update=own)
    found = sold_as(
        "serverless" if sku.startswith("modal") else "on-demand", asked_of_all(work()), rented
    )
    if usd is None:
        assert found.stopped_usd_per_hour is None
    else:
        check(found.stopped_usd_per_hour, usd)
    # of an address that bills on, nobody read a price
    assert found.stopped_unpriced == (("public_ip",) if sku.startswith("aws/") else ())


@pytest.mark.parametrize(
    ("disk_usd", "ip_usd", "known", "unpriced"),
    [
        ("0.073", "0.005", "0.015", ()),  # 100 x 0.073/730 + 0.005
        ("0.073", None, "0.01", ("public_ip",)),
        (None, "0.005", "0.005", ("disk",)),
        (None, None, None, ()),  # nothing of it has a price
    ],
)
def test_what_bills_unpriced_beside_a_stopped_machine_is_named(
    disk_usd: str | None, ip_usd: str | None, known: str | None, unpriced: tuple[str, ...]
) -> None:
    states = ("running", "stopped_released")
    terms = owner(
        meter("disk", usd=disk_usd, per="gb_month", states=states),
        meter("public_ip", usd=ip_usd, states=states),
        stop={"supported": True, "action": "api_stop", **HERE},
        actions={"api_stop": {"state": "stopped_released", **HERE}},
    )
    others_ask = others(meter("disk", usd="1", per="gb_month"), meter("public_ip", usd="1"))
    found = only(question(work(), terms, known=others_ask), offer("2"))
    assert found.stopped_usd_per_hour == (None if known is None else Decimal(known))
    assert found.stopped_unpriced == unpriced


def test_a_stopped_crusoe_machine_pays_its_disk_and_no_compute() -> None:
    """Case 33: Crusoe support article, 2026-04-27: on-demand, a stopped H100 at 3.90 computes free.

    24 h stopped: 0 of compute; only under a commitment it would be 24 x 3.90 = 93.60 (tests/bills).
    """
    rented = offer("3.90", provider="crusoe", card="H100-SXM", storage_usd_per_gb_month="0.073")
    found = only(asked_of_all(work()), rented)
    check(found.stopped_usd_per_hour, "0.010000")  # 100 x 0.073/730, nothing of 3.90
    (term,) = priced(asked_of_all(work()), rented).machine.meters.provider.commitments
    assert term.billed_when_stopped


@pytest.mark.parametrize(("spot_supported", "usd"), [(None, "0.01"), (True, "0.01"), (False, None)])
def test_a_spot_machine_that_cannot_be_stopped_has_no_stopped_price(
    spot_supported: bool | None, usd: str | None
) -> None:
    """Case 38, on the estimate's side: github.com/skypilot-org/skypilot/issues/257."""
    terms = owner(
        meter("disk", usd="0.073", per="gb_month", states=("running", "stopped_released")),
        stop={
            "supported": True,
            "action": "api_stop",
            "spot_supported": spot_supported,
            **HERE,
        },
        actions={"api_stop": {"state": "stopped_released", **HERE}},
        spot={"offered": True, "disk_kept": True, **HERE},
    )
    asked, rented = question(work(), terms), offer("2", "1")
    on_demand = sold_as("on-demand", asked, rented).stopped_usd_per_hour
    spot = sold_as("spot", asked, rented).stopped_usd_per_hour
    assert on_demand == Decimal("0.01")
    assert spot == (None if usd is None else Decimal(usd))


# --- balance and staging --------------------------------------------------------------------------


def test_a_balance_is_told_in_hours_and_in_words() -> None:
    """Case 42: RunPod docs, 2026-08. 6/0.74 = 8.108 h until the data are gone."""
    pod = offer("0.74", provider="runpod-secure", storage_usd_per_gb_month=0)
    found = only(asked_of_all(work(epochs=2), balance_usd=Decimal(6)), pod)
    assert found.balance_hours == pytest.approx(8.108, abs=0.0005)
    assert str(found.balance).startswith("lasts 8.108 h at $0.7400/h; then: at $0 a pod without")
    assert "terminated" in str(found.balance)


def test_a_balance_where_nobody_says_what_happens_ends_with_the_rate() -> None:
    found = only(question(work(), balance_usd=Decimal("20.2")), offer("2"))
    assert found.balance == "lasts 10.050 h at $2.0100/h"  # 20.2/2.01


@pytest.mark.parametrize(
    ("home_mbit", "saved_usd"),
    [
        (20, "4.0736"),  # 7600 - 304 = 7296 s x 2.01/3600
        (499, None),  # 304.6 - 304 = 0.6 s
        (498, "0.000558"),  # 305.2 - 304 = 1.2 s, rounded to 1
        (500, None),
        (2_000, None),
    ],
)
def test_staging_saves_the_rented_time_of_the_slow_line(
    home_mbit: float, saved_usd: str | None
) -> None:
    settled = work(dataset_gb=19, dataset_from="home", home_mbit_per_s=home_mbit)
    found = only(question(settled), offer("2", inet_down_mbit_per_s=500))
    if saved_usd is None:
        assert found.staging_saves_usd is None
    else:
        check(found.staging_saves_usd, saved_usd)


def test_interruptions_are_told_with_the_interval_that_fits_them() -> None:
    # 3 GB at 0.3 GB/s take 10 s; every 4 h: sqrt(2 x 10 x 14400) = 536.66;
    # ratio 10/28800: x (1 + 0.0186339/3 + 0.000347222/9) = 540.01; - 10
    terms = owner(spot={"offered": True, "disk_kept": True, **HERE})
    settled = work(checkpoint_gb=3, interruption_hours=4)
    found = sold_as("spot", question(settled, terms), offer("2", "1"))
    assert found.checkpoint_interval_s == pytest.approx(530.01, abs=0.01)
    # 36000 x (1 + 10/530.01)/(14400 - 270.0 - 120) = 2.618080
    assert found.interruptions == pytest.approx(2.61808, rel=1e-4)


# --- the command to rent --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sku", "own", "command"),
    [
        (
            "vast/8x-rtx-4090",
            {"id": "12345"},
            "vastai create instance 12345 --disk 100 --image IMAGE",
        ),
        # without an id, the command that finds one
        (
            "vast/8x-rtx-4090",
            {},
            "vastai search offers 'gpu_name=RTX_4090 num_gpus=8' --raw "
            "| costplan estimate JOB --offers -",
        ),
        (
            "aws/1x-l4",
            {},
            "aws ec2 run-instances --instance-type g6.xlarge --image-id AMI --region us-east-1",
        ),
        (
            "runpod-secure/1x-a40",
            {},
            'runpodctl pod create --image IMAGE --gpu-id "NVIDIA A40" --gpu-count 1 '
            "--volume-in-gb 100 --cloud-type SECURE",
        ),
        ("lambda/1x-a10", {}, None),
        ("aws/1x-l4", {"instance": None}, None),
    ],
)
def test_the_providers_own_command_is_filled_in(
    sku: str, own: dict[str, Any], command: str | None
) -> None:
    rented = listed(sku).model_copy(update=own)
    assert sold_as("on-demand", asked_of_all(work()), rented).rent_command == command


VAST_SEARCH = (
    "vastai search offers 'gpu_name=RTX_4090 num_gpus=1' --raw | costplan estimate JOB --offers -"
)


@pytest.mark.parametrize(
    ("pricing", "identity", "command"),
    [
        ("on-demand", "7", "vastai create instance 7 --disk 100 --image IMAGE"),
        ("spot", "7", "vastai create instance 7 --disk 100 --image IMAGE --bid_price 0.12"),
        ("on-demand", None, VAST_SEARCH),
        ("spot", None, VAST_SEARCH),
    ],
)
def test_a_spot_machine_is_rented_with_its_bid(
    pricing: str, identity: str | None, command: str
) -> None:
    rented = offer("0.30", "0.12", provider="vast", id=identity)
    assert sold_as(pricing, asked_of_all(work()), rented).rent_command == command


@pytest.mark.parametrize(
    ("templates", "on_demand", "spot"),
    [
        ({}, None, None),
        ({"rent_command": "rent"}, "rent", None),  # never the dear one for the cheap row
        ({"spot_rent_command": "bid {spot_usd_per_hour}"}, None, "bid 0.00012"),
        ({"rent_command": "rent", "search_command": "look"}, "rent", "look"),
    ],
)
def test_a_spot_row_never_shows_the_command_of_on_demand(
    templates: dict[str, str], on_demand: str | None, spot: str | None
) -> None:
    terms = owner(spot={"offered": True, "disk_kept": True, **HERE}, **templates)
    asked, rented = question(work(), terms), offer("2", "0.00012")
    assert sold_as("on-demand", asked, rented).rent_command == on_demand
    assert sold_as("spot", asked, rented).rent_command == spot


@pytest.mark.parametrize(
    ("prices_set_by", "days", "widened"),
    [("market", 30, False), ("market", 31, True), ("list", 31, False), ("market", -1, False)],
)
def test_an_old_price_of_a_market_is_marked_and_no_age_is_negative(
    prices_set_by: str, days: int, *, widened: bool
) -> None:
    rented = offer(checked=ON - timedelta(days=days))
    found = only(question(work(), owner(prices_set_by=prices_set_by)), rented)
    assert found.widened is widened
    assert found.age_days == max(0, days)


@pytest.mark.parametrize(("disk_gb", "shown"), [("100", "100"), ("0.5", "0.5"), ("1000", "1000")])
def test_the_disk_in_a_command_is_a_plain_number(disk_gb: str, shown: str) -> None:
    terms = owner(rent_command="rent --disk {disk_gb}")
    found = only(question(work(disk_gb=disk_gb), terms), offer())
    assert found.rent_command == f"rent --disk {shown}"


def test_an_offers_own_text_cannot_bring_a_command_of_its_own() -> None:
    terms = owner(rent_command="rent {id} --region {region}")
    found = only(question(work(), terms), offer(id="7; rm -rf x", region="$(rm y)"))
    assert found.rent_command == "rent '7; rm -rf x' --region '$(rm y)'"


# --- odd ends -------------------------------------------------------------------------------------


def test_a_job_of_no_time_and_no_money_is_still_answered() -> None:
    # one sample at 10^12 a second: less than a microsecond
    settled = work(samples=1, throughput={"card": "RTX-4090", "samples_per_s": 10**12}, epochs=1)
    found = only(question(settled, known=nobody_knows()), offer())
    assert found.total_usd.expected == 0
    assert found.hours.expected == 0


def test_every_way_of_a_priced_offer_has_a_result() -> None:
    terms = owner(spot={"offered": True, "disk_kept": True, **HERE})
    asked = question(work(), terms)
    for item in ways(asked, offer("2", "1")):
        assert isinstance(item, Priced)
        found = result(asked, item, 3, unbeaten=False)
        assert (found.rank, found.unbeaten, found.pricing) == (3, False, item.machine.pricing)
