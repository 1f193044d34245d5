"""Bytes in and out: which unit, which tier, what is free, and how much of a bill they are."""

from __future__ import annotations

from decimal import Decimal

import pytest

from bills.samples import check, meter, one, shipped
from costplan.billing import counted_gb, data_usd, held_usd, unit_amount
from costplan.units import gigabytes


def test_forty_percent_of_a_bill_was_download() -> None:
    # case 46: 30 GB cost 0.868, so a GB costs 0.02893; 0.868 of 2.15 is 40.4 %; at 0.003 a GB a
    # plan would have said 0.09
    source = "github.com/ayutaz/LeapSinger, tools/vast.py"
    host = meter("ingress", usd="0.02893", per="gb")
    cost = one(data_usd(host, Decimal(30)))
    check(cost, "0.868", source=source)
    check(cost / Decimal("2.15") * 100, "40.4", source=source)
    cheap = meter("ingress", usd="0.003", per="gb")
    check(one(data_usd(cheap, Decimal(30))), "0.09", source=source)


@pytest.mark.parametrize(("hours", "expected"), [("1", "2.27556"), ("2", "2.73112")])
def test_seventy_gigabytes_of_weights_dominate_the_first_hour(hours: str, expected: str) -> None:
    # case 47: 70 x 0.026 = 1.82; A6000 0.45556 an hour; 1.82 / 2.27556 = 80 %
    source = "client test of a planner, A6000 at 0.45556 $/h with 70 GB of weights"
    weights = one(data_usd(meter("ingress", usd="0.026", per="gb"), Decimal(70)))
    check(weights, "1.82", source=source)
    total = weights + held_usd(meter("gpu", usd="0.45556"), Decimal(1), Decimal(hours))
    check(total, expected, source=source)
    if hours == "1":
        check(weights / total * 100, "80", source=source)


@pytest.mark.parametrize(
    ("amount", "unit", "expected"),
    [
        ("1", "tib", "122.88"),  # 1,024 GiB x 0.12
        ("1", "tb", "111.76"),  # 931.32 GiB x 0.12
        ("1", "gib", "0.12"),
        ("1", "gb", "0.1118"),
    ],
)
def test_a_tebibyte_is_not_a_terabyte(amount: str, unit: str, expected: str) -> None:
    # case 49: GCP to the internet at 0.12 a GiB
    source = "github.com/pangeo-data/pangeo/issues/628"
    egress = meter("egress", usd="0.12", per="gib")
    check(one(data_usd(egress, gigabytes(Decimal(amount), unit))), expected, source=source)


def test_google_counts_the_first_tebibyte_in_gibibytes() -> None:
    # case 49 with the price folder's own tier: 1,024 GiB x 0.12
    egress = shipped("gcp").meter("egress")
    assert egress is not None
    check(one(data_usd(egress, gigabytes(Decimal(1), "tib"))), "122.88", source="pangeo 628")


GARGANTUAN = "github.com/nelsonjchen/gargantuan-takeout-rocket/pull/9"


@pytest.mark.parametrize(
    ("gb", "free_left", "expected"),
    [
        ("264.37", "0", "23.00"),  # 264.37 x 0.087: any later day of the month
        ("264.37", "100", "14.30"),  # (264.37 - 100) x 0.087: the first day
        ("100", "100", "0.00"),
        ("101", "100", "0.087"),
    ],
)
def test_twenty_three_dollars_a_day_are_264_gigabytes(
    gb: str, free_left: str, expected: str
) -> None:
    # case 50: 23 / 0.087 = 264 GB a day, the month's first 100 GB free
    for egress in (
        meter("egress", usd="0.087", per="gb", free="100"),
        shipped("azure").meter("egress"),
    ):
        assert egress is not None
        price = data_usd(egress, Decimal(gb), free_left=Decimal(free_left))
        check(one(price), expected, source=GARGANTUAN)


def test_the_free_amount_is_taken_off_where_nothing_is_said_about_it() -> None:
    # case 50, first day: (264.37 - 100) x 0.087
    egress = meter("egress", usd="0.087", per="gb", free="100")
    check(one(data_usd(egress, Decimal("264.37"))), "14.30", source=GARGANTUAN)


def test_a_crash_loop_that_pulls_an_image_all_weekend_costs_a_thousand_dollars() -> None:
    # case 51: NAT processing at 0.045 a GB: 1000 / 0.045 = 22,222 GB
    source = "news.ai.kelsus.com 41500332, 2024-09"
    nat = meter("ingress", usd="0.045", per="gb")
    check(one(data_usd(nat, Decimal(22_222))), "1000", source=source)
    # 22,222 GB are 2,222 pulls of a 10 GB image
    assert one(data_usd(nat, Decimal(10))) * 2_222 < 1_000 < one(data_usd(nat, Decimal(10))) * 2_223


@pytest.mark.parametrize(
    ("usd_per_gb", "usd_per_1024_gb"),
    [
        # vast's host prices are round per 1,024 GB
        ("0.00390625", "4"),
        ("0.0026041667", "2.667"),
        ("0.0130208", "13.33"),
        ("0.015625", "16"),
        ("0.0169271", "17.33"),
    ],
)
def test_a_host_price_is_round_per_terabyte_of_1024_gigabytes(
    usd_per_gb: str, usd_per_1024_gb: str
) -> None:
    per_gb = meter("ingress", usd=usd_per_gb, per="gb")
    per_tb = meter("ingress", usd=usd_per_1024_gb, per="tb1024")
    size = gigabytes(Decimal(1), "tb1024")
    assert unit_amount(per_tb, size) == 1
    check(one(data_usd(per_gb, size)), usd_per_1024_gb, source="vast-ai offers, 2026")
    check(one(data_usd(per_tb, size)), usd_per_1024_gb, source="vast-ai offers, 2026")


@pytest.mark.parametrize(
    ("in_gb", "out_gb", "counted"), [("30", "29", "30"), ("30", "30", "30"), ("30", "31", "31")]
)
def test_vultr_counts_the_larger_direction(in_gb: str, out_gb: str, counted: str) -> None:
    egress = shipped("vultr").meter("egress")
    assert egress is not None
    assert egress.counts == "larger", "docs.vultr.com, 2025-09-15"
    assert counted_gb(egress, in_gb=Decimal(in_gb), out_gb=Decimal(out_gb)) == Decimal(counted)


@pytest.mark.parametrize("key", ["runpod-secure", "runpod-community", "lambda"])
def test_where_both_directions_are_free_the_price_is_a_stated_zero(key: str) -> None:
    # runpod/docs pods/pricing.mdx, docs.lambda.ai/public-cloud/billing: other pages claim 0.05,
    # 0.09 and 0.15 a GB, and the official ones contradict them
    for kind in ("ingress", "egress"):
        line = shipped(key).meter("ingress" if kind == "ingress" else "egress")
        assert line is not None
        assert data_usd(line, Decimal(5_000)) == (Decimal(0), Decimal(0))
