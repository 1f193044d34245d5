"""Quotes that leave out the disk that will be rented."""

from __future__ import annotations

from decimal import Decimal
from typing import NamedTuple

import pytest

from bills.samples import check, meter, one, provider
from costplan.billing import data_usd, held_usd, hourly_usd, requote
from costplan.states import Usage, hourly_lines, total_usd_per_hour


class Quote(NamedTuple):
    case: str
    headline: str
    quoted_disk_gb: str
    disk_gb: str
    usd_per_gb_month: str
    month_hours: str
    expected: str
    billed: str | None
    source: str


MOSHI = "github.com/ayutaz/moshi-finetune, offer_check test, 2026"
RARE = "github.com/trimcrae/Rare-cancers, rate forensics, 2026-07-27, instance 46000463"
DSTACK_1553 = "github.com/dstackai/dstack/issues/1553"

QUOTES = [
    # 2x A100 quoted at 5 GB, disk 1.00: 2.0896 - 5 x 1.00/720 = 2.08266; + 900/720 = 3.33266
    Quote("1", "2.0896", "5", "900", "1.00", "720", "3.33266", "3.3327", MOSHI),
    # the GPUs alone: 2.0896 - 0.00694
    Quote("1-gpus", "2.0896", "5", "0", "1.00", "720", "2.08266", None, MOSHI),
    # other host: 2.3560 - 5 x 0.20/720 + 500 x 0.20/720 = 2.3560 - 0.001389 + 0.138889
    Quote("2", "2.3560", "5", "500", "0.20", "720", "2.49350", "2.4936", MOSHI),
    # the same at 900 GB: 2.3560 - 0.001389 + 0.25
    Quote("2-at-900", "2.3560", "5", "900", "0.20", "720", "2.60461", None, MOSHI),
    # bid 0.1805 without a disk, 80 GB rented: 0.1805 + 80 x 0.20/720 = 0.1805 + 0.022222
    Quote("3", "0.1805", "0", "80", "0.20", "720", "0.202722", "0.20272", RARE),
    # the quote of 0.17922 holds 8 GB: 0.17922 - 8 x 0.20/720 = 0.1770
    Quote("3-quote", "0.17922", "8", "0", "0.20", "720", "0.1770", None, RARE),
    # e2-highcpu-2 shown at 0.04947, 32,768 GB at 0.10: + 3276.8/730 = + 4.48877
    Quote("6", "0.04947", "0", "32768", "0.10", "730", "4.53824", "4.54", DSTACK_1553),
]


def requoted(quote: Quote) -> Decimal:
    return requote(
        Decimal(quote.headline),
        quoted_disk_gb=Decimal(quote.quoted_disk_gb),
        disk_gb=Decimal(quote.disk_gb),
        usd_per_gb_month=Decimal(quote.usd_per_gb_month),
        month_hours=Decimal(quote.month_hours),
    )


@pytest.mark.parametrize("quote", QUOTES, ids=lambda quote: f"case-{quote.case}")
def test_a_quote_is_repeated_for_the_disk_that_is_rented(quote: Quote) -> None:
    check(requoted(quote), quote.expected, source=quote.source)


BILLED = [quote for quote in QUOTES if quote.billed is not None]


@pytest.mark.parametrize("quote", BILLED, ids=lambda quote: f"case-{quote.case}")
def test_the_requote_meets_the_bill_within_a_tenth_of_a_percent(quote: Quote) -> None:
    billed = Decimal(str(quote.billed))
    residual = requoted(quote) - billed
    assert abs(residual) < billed / 1000, f"residual {residual:+} of {billed}; {quote.source}"


def test_the_first_host_bills_far_above_its_quote() -> None:
    # case 1: 3.33266 / 2.0896 = 1.5949
    quote = QUOTES[0]
    check((requoted(quote) / Decimal(quote.headline) - 1) * 100, "59.5", source=MOSHI)


def test_the_ranking_of_two_hosts_flips_at_the_disk_of_the_job() -> None:
    first, second = QUOTES[0], QUOTES[3]
    # cases 1 and 2: 2.3560 / 2.0896 = 1.1275: the second looks 12.7 % dearer;
    # 2.60461 / 3.33266 = 0.7815: at 900 GB it is 21.8 % cheaper
    check((Decimal(second.headline) / Decimal(first.headline) - 1) * 100, "12.7", source=MOSHI)
    check((1 - requoted(second) / requoted(first)) * 100, "21.8", source=MOSHI)


def test_the_gap_between_quote_and_bill_splits_into_bid_and_disk() -> None:
    # case 3: 0.202722 - 0.17922 = 0.0235 = (0.1805 - 0.1770) + 72 GB x 0.20/720;
    # 0.0235 / 0.17922 = 13.1 %
    billed, bare = requoted(QUOTES[4]), requoted(QUOTES[5])
    disk = meter("disk", usd="0.20", per="gb_month", month_hours="720")
    check(billed - Decimal("0.17922"), "0.0235", source=RARE)
    check(Decimal("0.1805") - bare, "0.0035", source=RARE)
    check(one(hourly_usd(disk, Decimal(80 - 8))), "0.0200", source=RARE)
    check((billed / Decimal("0.17922") - 1) * 100, "13.1", source=RARE)


def test_ten_hours_of_a_v100_cost_their_disk_too() -> None:
    # case 7: 10 x 3.06 = 30.60; 1000 x 0.08/730 x 10 = 1.0959; together 31.696, of which 3.5 %
    # is missing where the disk is left out
    source = "github.com/skypilot-org/skypilot/issues/353 and 1228"
    gpu = held_usd(meter("gpu", usd="3.06"), Decimal(1), Decimal(10))
    gp3 = meter("disk", usd="0.08", per="gb_month", month_hours="730")
    disk = held_usd(gp3, Decimal(1000), Decimal(10))
    check(gpu, "30.60", source=source)
    check(disk, "1.0959", source=source)
    check(gpu + disk, "31.696", source=source)
    check(disk / (gpu + disk) * 100, "3.5", source=source)


def test_gpu_disk_and_bandwidth_are_separate_lines_and_an_unpriced_one_stays_unknown() -> None:
    # case 9: 0.40 is known, 100 x 0.20/720 = 0.027778 is known, the bytes are not
    source = "github.com/dstackai/dstack/pull/760"
    disk = meter("disk", usd="0.20", per="gb_month", month_hours="720")
    market = provider(meter("gpu"), disk)
    usage = Usage(gpu_usd_per_hour=Decimal("0.40"), disk_gb=Decimal(100))
    lines = hourly_lines(market, "running", usage)
    assert [line.kind for line in lines] == ["gpu", "disk"]
    check(lines[0].usd_per_hour, "0.40", source=source)
    check(lines[1].usd_per_hour, "0.027778", source=source)
    check(total_usd_per_hour(lines), "0.427778", source=source)
    assert data_usd(meter("ingress", per="gb"), Decimal(30)) is None
