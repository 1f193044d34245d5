"""Bids, prices of nothing, storage sold in sizes, tiers with two readings."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Literal

import pytest

from bills.samples import check, meter, one, provider, shipped
from costplan.billing import (
    billed_amount,
    held_usd,
    hourly_usd,
    machine_bid,
    rounded_hours,
    tiered,
    unit_amount,
)
from costplan.errors import InputError, UnknownError
from costplan.records.offers import DatedPrice, OfferEntry
from costplan.records.providers import SpotTerms
from costplan.states import Usage, hourly_lines, total_usd_per_hour
from costplan.units import gigabytes


def test_controller_and_job_add_up_while_both_run() -> None:
    # case 13: the confirmation shows the controller's 0.38; the job's 12.8 comes on top
    source = "github.com/skypilot-org/skypilot/issues/2312"
    controller = meter("fee", usd="0.38")
    usage = Usage(gpu_usd_per_hour=Decimal("12.8"))
    lines = hourly_lines(provider(meter("gpu"), controller), "running", usage)
    check(total_usd_per_hour(lines), "13.18", source=source)


def test_a_gpu_without_a_price_makes_the_total_unknown_and_not_zero() -> None:
    # case 15: github.com/infracost/infracost/issues/2797 skipped the L4, 2437 printed $0
    disk = meter("disk", usd="0.10", per="gb_month")
    usage = Usage(gpu_usd_per_hour=None, disk_gb=Decimal(73))
    lines = hourly_lines(provider(meter("gpu"), disk), "running", usage)
    assert [line.usd_per_hour for line in lines] == [None, Decimal("0.01")]  # 73 x 0.10/730
    assert total_usd_per_hour(lines) is None


@pytest.mark.parametrize("field", ["usd_per_hour", "spot_usd_per_hour"])
def test_a_price_of_zero_is_refused_because_it_means_missing(field: str) -> None:
    # cases 15 and 61: github.com/infracost/infracost/issues/2437,
    # github.com/runpod/runpod-python/issues/438: cost fields of a running pod read 0
    fields = {"since": date(2026, 8, 1), "source": "infracost issue 2437"}
    for refused in ("0", "0.00009999"):  # and so is what nobody asks: less than 0.0001
        with pytest.raises(ValueError, match=r"greater than or equal to 0\.0001"):
            DatedPrice.model_validate({**fields, field: refused})
    found = DatedPrice.model_validate({**fields, field: "0.0001"})
    assert getattr(found, field) == Decimal("0.0001")


@pytest.mark.parametrize(
    ("usd_per_hour", "ten_hours"),
    [("3.673", "36.73"), ("0.67877", "6.7877")],
    ids=["on-demand", "spot"],
)
def test_spot_and_on_demand_differ_by_a_factor_of_five(usd_per_hour: str, ten_hours: str) -> None:
    # case 17: Azure NC24ads_A100_v4, 2026-05: 10 x 3.673 and 10 x 0.67877
    source = "github.com/infracost/infracost/issues/2359"
    cost = held_usd(meter("gpu", usd=usd_per_hour), Decimal(1), Decimal(10))
    check(cost, ten_hours, source=source)


@pytest.mark.parametrize(
    ("gb", "whole", "marginal"),
    [
        # below 1,000 GB the readings agree: 999 x 0.07
        ("999", "69.93", "69.93"),
        # at 1,000: all at 0.05, or all at 0.07
        ("1000", "50.00", "70.00"),
        # above: 1001 x 0.05, or 70 + 1 x 0.05
        ("1001", "50.05", "70.05"),
        # 2000 x 0.05, or 70 + 1000 x 0.05
        ("2000", "100.00", "120.00"),
    ],
)
def test_a_network_volume_above_a_terabyte_has_two_prices_until_a_bill_decides(
    gb: str, whole: str, marginal: str
) -> None:
    # runpod/docs pods/storage/types.mdx reads as marginal, dstack's code prices the whole volume
    tiers = ({"above": "0", "usd": "0.07"}, {"above": "1000", "usd": "0.05"})
    volume = meter("network_volume", per="gb_month", tiers=tiers, tier_mode="unknown")
    assert tiered(volume, Decimal(gb)) == (Decimal(whole), Decimal(marginal))
    shop = shipped("runpod-secure").meter("network_volume")
    assert shop is not None
    assert tiered(shop, Decimal(gb)) == (Decimal(whole), Decimal(marginal))


PAPERSPACE = "support.paperspace.com 360059200753"
# 5 $ a month for 50 GB, 10 $ for 100 GB: sizes at 0.10 a GB, in a month of 30 days
PAPERSPACE_DISK = meter(
    "disk",
    usd="0.10",
    per="gb_month",
    month_hours="720",
    basis="tier_rounded",
    sizes_gb=("50", "100", "250"),
)


def test_ten_days_of_a_storage_tier_cost_a_third_of_april() -> None:
    # case 66: 10 April to 20 April = 240 h of 720 h of a 10 $ tier = 3.33
    cost = held_usd(PAPERSPACE_DISK, Decimal(100), Decimal(240))
    check(cost, "3.33", source=PAPERSPACE)


@pytest.mark.parametrize(
    ("gb", "usd_per_month"), [("50", "5.00"), ("51", "10.00"), ("100", "10.00"), ("101", "25.00")]
)
def test_a_size_between_two_tiers_pays_the_next_tier(gb: str, usd_per_month: str) -> None:
    # case 66: 51 GB are 10.00, not 5.10
    price = one(hourly_usd(PAPERSPACE_DISK, Decimal(gb)))
    check(price * 720, usd_per_month, source=PAPERSPACE)
    shop = shipped("paperspace").meter("disk")
    assert shop is not None
    price = one(hourly_usd(shop, Decimal(gb)))
    check(price * shop.month_hours, usd_per_month, source=PAPERSPACE)


@pytest.mark.parametrize(("hours", "months"), [("1", 1), ("720", 1), ("721", 2)])
def test_storage_sold_by_the_month_ahead_bills_whole_months(hours: str, months: int) -> None:
    # older Paperspace pages: the month is paid ahead; 720 h x 3,600 s
    ahead = PAPERSPACE_DISK.model_copy(update={"step_s": Decimal(720 * 3_600)})
    assert rounded_hours(Decimal(hours), ahead.step_s) == 720 * months
    check(held_usd(ahead, Decimal(100), Decimal(hours)), f"{10 * months}.00", source=PAPERSPACE)


@pytest.mark.parametrize(
    ("gib", "billed"),
    [("4", "4"), ("31", "32"), ("32", "32"), ("33", "64"), ("64", "64"), ("65", "128")],
)
def test_azure_bills_the_next_disk_size(gib: str, billed: str) -> None:
    # case 67: 33 GiB is billed as 64 GiB
    disk = shipped("azure").meter("disk", "stopped_released")
    assert disk is not None
    amount = unit_amount(disk, gigabytes(Decimal(gib), "gib"))
    assert billed_amount(disk, amount) == Decimal(billed), "PSRule for Azure, DiskSizeAlignment"


def test_thirty_three_gibibytes_cost_almost_twice_their_size() -> None:
    # case 67: 64 / 33 = 1.939
    disk = meter("disk", usd="0.10", per="gib_month", basis="tier_rounded", sizes_gb=("32", "64"))
    flat = meter("disk", usd="0.10", per="gib_month")
    ratio = one(hourly_usd(disk, Decimal(33))) / one(hourly_usd(flat, Decimal(33)))
    check((ratio - 1) * 100, "93.9", source="PSRule for Azure, DiskSizeAlignment")


def test_a_disk_above_the_largest_size_is_refused() -> None:
    disk = shipped("azure").meter("disk", "running")
    assert disk is not None
    assert billed_amount(disk, Decimal(32_768)) == 32_768
    with pytest.raises(InputError, match="largest size sold, 32768"):
        billed_amount(disk, Decimal(32_769))


@pytest.mark.parametrize(
    ("day", "usd_per_hour", "one_day"),
    [("2026-10-28", "1.1378", "27.31"), ("2026-10-29", "1.7043", "40.90")],
)
def test_a_rebuild_is_paid_at_the_price_of_its_own_day(
    day: str, usd_per_hour: str, one_day: str
) -> None:
    # case 71: the median of vast's A100 SXM moved 49.8 % in one step: 24 x 1.1378, 24 x 1.7043
    source = "market tracker, 2026-10-29"
    prices = (
        {"usd_per_hour": "1.1378", "since": date(2026, 10, 1), "source": source},
        {"usd_per_hour": "1.7043", "since": date(2026, 10, 29), "source": source},
    )
    entry = OfferEntry.model_validate(
        {"sku": "vast/1x-a100-sxm-80gb", "card": "A100-SXM-80GB", "prices": prices}
    )
    price = entry.price_on(date.fromisoformat(day))
    assert price is not None
    assert price.usd_per_hour == Decimal(usd_per_hour)
    cost = held_usd(meter("gpu", usd=usd_per_hour), Decimal(1), Decimal(24))
    check(cost, one_day, source=source)
    check((Decimal("1.7043") / Decimal("1.1378") - 1) * 100, "49.8", source=source)


@pytest.mark.parametrize(
    ("scope", "expected"),
    [
        # dstackai/dstack issue 1890: 8x A4000, shown 1.28, billed 10.24 = 1.28 x 8
        ("per_gpu", "10.24"),
        ("per_machine", "1.28"),
    ],
)
def test_case_11_a_bid_is_for_one_gpu_or_for_the_machine(
    scope: Literal["per_gpu", "per_machine"], expected: str
) -> None:
    terms = SpotTerms(
        offered=True, bid_scope=scope, source="dstack issue 1890", as_of=date(2026, 6, 30)
    )
    assert machine_bid(terms, Decimal("1.28"), 8) == Decimal(expected)


def test_case_11_a_bid_of_unstated_scope_is_refused() -> None:
    terms = SpotTerms(offered=True, source="dstack issue 1890", as_of=date(2026, 6, 30))
    with pytest.raises(UnknownError):
        machine_bid(terms, Decimal("1.28"), 8)
