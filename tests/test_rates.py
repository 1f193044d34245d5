"""What a machine bills by the hour and by the GB: headline, disk, cores, traffic, by hand."""

from __future__ import annotations

from datetime import date, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest
from bills.samples import check, meter
from makes import (
    HERE,
    ON,
    asked_of_all,
    by_name,
    left,
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

from costplan.estimate import Priced
from costplan.rates import core_prices, data_price, meters_of, moves, usd_per_hour
from costplan.spans import Span, exactly

if TYPE_CHECKING:
    from costplan.unpriced import KnownPrices

GIB_64 = 64 * 1.073741824  # 68.719476736 GB


def prices(found: Span) -> tuple[str, str, str]:
    low, expected, high = (f"{value:.6f}" for value in found)
    return low, expected, high


def rate(item: Priced) -> Decimal:
    return usd_per_hour(item.machine, item.rates)


# --- the headline and its disk --------------------------------------------------------------------


def test_a_bare_machine_bills_its_gpu_and_its_disk() -> None:
    item = priced(question(work()), offer("2"))
    assert item.rates.gpu.usd == exactly(Decimal(2))
    assert item.rates.disk.usd == exactly(Decimal("0.0001"))  # 0.073/730
    assert item.rates.month_hours == 730
    assert rate(item) == Decimal("2.01")  # 2 + 100 x 0.0001


@pytest.mark.parametrize(
    ("disk_gb", "running"),
    [
        # 3.482778 holds 250 GB at 0.20: 250 x 0.20/720 = 0.069444; the GPUs 3.413334
        (250, "3.482778"),
        (251, "3.483056"),  # + 0.000278
        (249, "3.482500"),
        (1_000, "3.691111"),  # 3.413334 + 0.277778
        (1, "3.413611"),
    ],
)
def test_the_founding_offer_is_requoted_for_the_disk_of_the_job(disk_gb: int, running: str) -> None:
    item = priced(asked_of_all(work(disk_gb=disk_gb)), listed("vast/8x-rtx-4090"))
    check(item.rates.gpu.usd.expected, "3.413334")
    check(rate(item), running)


def test_at_its_own_disk_the_founding_offer_bills_exactly_its_headline() -> None:
    item = priced(asked_of_all(work(disk_gb=250)), listed("vast/8x-rtx-4090"))
    assert abs(rate(item) - Decimal("3.482778")) < Decimal("1e-20")


@pytest.mark.parametrize(
    ("quoted", "gpu"),
    [
        (None, "1.000000"),  # the disk bills beside the price
        (0, "1.000000"),
        (100, "0.990000"),
        (9_999, "0.000100"),
    ],
)
def test_the_disk_in_the_price_is_taken_out_of_it(quoted: int | None, gpu: str) -> None:
    item = priced(question(work()), offer("1", quoted_disk_gb=quoted))
    assert prices(item.rates.gpu.usd) == (gpu, gpu, gpu)


@pytest.mark.parametrize("quoted", [10_000, 20_000])
def test_a_price_that_does_not_even_pay_its_disk_is_not_believed(quoted: int) -> None:
    gone = left(question(work()), offer("1", quoted_disk_gb=quoted))
    assert gone.reason == "the disk in the quote costs more than the quote"
    assert not gone.limit


@pytest.mark.parametrize(
    ("own_month", "meter_month", "each"),
    [
        (None, "730", "0.000274"),  # 0.20/730
        (None, "720", "0.000278"),  # 0.20/720
        (720, "730", "0.000278"),
        (730, "720", "0.000274"),
    ],
)
def test_an_offers_own_month_wins_over_its_providers(
    own_month: int | None, meter_month: str, each: str
) -> None:
    disk = meter("disk", usd="9", per="gb_month", month_hours=meter_month)
    rented = offer(storage_usd_per_gb_month="0.20", month_hours=own_month)
    item = priced(question(work(), owner(disk)), rented)
    assert prices(item.rates.disk.usd) == (each, each, each)


@pytest.mark.parametrize(
    ("disk", "disk_gb", "each"),
    [
        # 100 GB are 93.1323 GiB: x 0.0001/100
        ({"usd": "0.073", "per": "gib_month"}, 100, ("0.000093", "0.000093", "0.000093")),
        ({"usd": "0.0002", "per": "gb_hour"}, 100, ("0.000200", "0.000200", "0.000200")),
        # sold in 100 and 200: 101 GB pay 200 x 0.0001/101
        (
            {
                "usd": "0.073",
                "per": "gb_month",
                "basis": "tier_rounded",
                "sizes_gb": ("100", "200"),
            },
            101,
            ("0.000198", "0.000198", "0.000198"),
        ),
        # two readings of the tiers: 200 x 0.05 = 10, or 100 x 0.10 + 100 x 0.05 = 15, /730/200
        (
            {
                "per": "gb_month",
                "tiers": ({"above": 0, "usd": "0.10"}, {"above": 100, "usd": "0.05"}),
                "tier_mode": "unknown",
            },
            200,
            ("0.000068", "0.000103", "0.000103"),
        ),
    ],
)
def test_the_disk_meter_says_what_a_gigabyte_hour_costs(
    disk: dict[str, Any], disk_gb: int, each: tuple[str, str, str]
) -> None:
    item = priced(question(work(disk_gb=disk_gb), owner(meter("disk", **disk))), offer())
    assert prices(item.rates.disk.usd) == each


def test_a_disk_that_the_price_includes_costs_nothing() -> None:
    item = priced(question(work(), owner(included=("cpu", "ram", "disk"))), offer())
    assert item.rates.disk.usd == exactly(Decimal(0))
    assert rate(item) == 1


# --- what nobody states ---------------------------------------------------------------------------

UNPRICED = meter("disk", per="gb_month")
THREE = others(
    meter("disk", usd="0.073", per="gb_month"),
    meter("disk", usd="0.146", per="gb_month"),
    meter("disk", usd="0.365", per="gb_month"),
)


def test_a_disk_of_unstated_price_is_taken_at_what_others_ask() -> None:
    # nothing in low, the median of 0.0001, 0.0002 and 0.0005 expected, the greatest in high
    item = priced(question(work(), owner(UNPRICED), known=THREE), offer())
    assert prices(item.rates.disk.usd) == ("0.000000", "0.000200", "0.000500")
    assert not item.rates.disk.stated
    assert "median of 3" in item.rates.disk.source


@pytest.mark.parametrize(
    ("kind", "per", "reason"),
    [
        ("disk", "gb_month", "no price of disk is known anywhere"),
        ("ingress", "gb", "no price of ingress is known anywhere"),
        ("egress", "gb", "no price of egress is known anywhere"),
        ("public_ip", "hour", "no price of public_ip is known anywhere"),
        ("cpu", "core_hour", "no price of cpu is known anywhere"),
        ("ram", "gib_hour", "no price of ram is known anywhere"),
    ],
)
def test_what_has_no_price_anywhere_is_refused_and_never_free(
    kind: str, per: str, reason: str
) -> None:
    unpriced = owner(meter(kind, per=per), included=())
    found = left(question(work(), unpriced, known=nobody_knows()), offer())
    assert found.reason == reason


def test_an_offer_without_any_price_is_left_out_and_not_forgotten() -> None:
    (found,) = ways(question(work()), offer(None))
    assert not isinstance(found, Priced)
    assert "price" in found.reason


# --- prices of markets, too old -------------------------------------------------------------------

MARKET = {"prices_set_by": "market"}
LIST = {"prices_set_by": "list"}


def spot_terms(price: str | None) -> dict[str, Any]:
    return {"spot": {"offered": True, "price": price, "disk_kept": True, **HERE}}


@pytest.mark.parametrize(
    ("terms", "sold", "days", "widened"),
    [
        (MARKET, "on-demand", 0, False),
        (MARKET, "on-demand", 30, False),
        (MARKET, "on-demand", 31, True),
        (LIST, "on-demand", 31, False),
        (LIST, "on-demand", 400, False),
        # spot is a market's price unless the provider prints a list
        (LIST | spot_terms("bid"), "spot", 30, False),
        (LIST | spot_terms("bid"), "spot", 31, True),
        (LIST | spot_terms("market"), "spot", 31, True),
        (LIST | spot_terms(None), "spot", 31, True),
        (LIST, "spot", 31, True),
        (LIST | spot_terms("list"), "spot", 31, False),
        (MARKET | spot_terms("list"), "spot", 31, True),
        (LIST | spot_terms("bid"), "on-demand", 31, False),
    ],
)
def test_a_markets_price_is_believed_exactly_for_thirty_days(
    terms: dict[str, Any], sold: str, days: int, *, widened: bool
) -> None:
    checked = ON - timedelta(days=days)
    rented = offer(
        "2" if sold == "on-demand" else None, "2" if sold == "spot" else None, checked=checked
    )
    item = priced(question(work(), owner(**terms)), rented)
    assert moves(item.machine) is widened
    # 2 x 0.5, 2 x 1.5
    gpu = ("1.000000", "2.000000", "3.000000") if widened else ("2.000000",) * 3
    assert prices(item.rates.gpu.usd) == gpu


def test_a_price_checked_tomorrow_is_not_old() -> None:
    item = priced(question(work(), owner(**MARKET)), offer(checked=ON + timedelta(days=1)))
    assert not moves(item.machine)


def test_the_disk_widens_where_its_price_is_the_offers_own() -> None:
    old: dict[str, Any] = {"checked": ON - timedelta(days=31)}
    own = priced(question(work(), owner(**MARKET)), offer(storage_usd_per_gb_month="0.073", **old))
    assert prices(own.rates.disk.usd) == ("0.000050", "0.000100", "0.000150")
    theirs = priced(question(work(), owner(**MARKET)), offer(**old))
    assert prices(theirs.rates.disk.usd) == ("0.000100", "0.000100", "0.000100")


@pytest.mark.parametrize(
    ("on", "gpu"),
    [
        # stated on 2026-07-31; 30 days later is 2026-08-30. 3.413334 x 0.5 = 1.706667, x 1.5
        (date(2026, 8, 30), ("3.413334", "3.413334", "3.413334")),
        (date(2026, 8, 31), ("1.706667", "3.413334", "5.120000")),
    ],
)
def test_the_founding_offer_is_exact_for_thirty_days(on: date, gpu: tuple[str, str, str]) -> None:
    item = priced(asked_of_all(work(disk_gb=250), on=on), listed("vast/8x-rtx-4090"))
    assert prices(item.rates.gpu.usd) == gpu


# --- CPU and RAM ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ram_gb", "running"),
    [
        # 0.001097 x 3600 = 3.9492; 8 x 0.0000131 x 3600 = 0.37728;
        # 64 x 0.00000222 x 3600 = 0.511488
        (GIB_64, "4.83797"),
        # 64 GB are 59.6046 GiB: 3.9492 + 0.37728 + 0.47636
        (64, "4.80284"),
    ],
)
def test_modal_bills_cores_and_memory_beside_the_gpu(ram_gb: float, running: str) -> None:
    settled = work(vcpus=8, ram_gb=ram_gb)
    check(rate(priced(asked_of_all(settled), listed("modal/1x-h100"))), running)


CORES = serverless(
    meter("cpu", usd="0.01", per="core_hour"),
    meter("ram", usd="0.001", per="gb_hour"),
    included=(),
)


@pytest.mark.parametrize(
    ("fields", "own", "amounts"),
    [
        ({}, {}, (8, 32)),  # where nobody says
        ({"vcpus": 4, "ram_gb": 10}, {}, (4, 10)),
        ({"vcpus": 4, "ram_gb": 10}, {"count": 2}, (8, 20)),  # for each GPU
        ({"vcpus": 4, "ram_gb": 10}, {"vcpus": 16, "ram_gb": 64}, (16, 64)),  # the offer's own
        ({"vcpus": 4, "ram_gb": 10}, {"vcpus": 16, "ram_gb": 64, "count": 2}, (16, 64)),
    ],
)
def test_cores_and_memory_are_the_offers_or_the_jobs_for_each_gpu(
    fields: dict[str, Any], own: dict[str, Any], amounts: tuple[int, int]
) -> None:
    item = priced(question(work(**fields), CORES), offer(**own))
    found = {name: (amount, price.usd) for name, amount, _, price in core_prices(item.machine)}
    assert found == {
        "CPU": (Decimal(amounts[0]), exactly(Decimal("0.01"))),
        "RAM": (Decimal(amounts[1]), exactly(Decimal("0.001"))),
    }


def test_included_cores_do_not_bill_though_a_meter_names_their_price() -> None:
    terms = owner(meter("cpu", usd="0.01", per="core_hour"), included=("cpu", "ram"))
    assert core_prices(priced(question(work(), terms), offer()).machine) == []


# --- traffic --------------------------------------------------------------------------------------


def each_gb(kind: Any, sizes: tuple[str, str, str], **fields: object) -> tuple[str, str, str]:
    meters = meters_of(owner(meter(kind, **fields)), nobody_knows())
    found = data_price(meters, kind, Span(*(Decimal(size) for size in sizes)))
    assert found is not None
    return prices(found.usd)


@pytest.mark.parametrize(
    ("gb", "each"),
    [
        # 100 GB a month are free, in high they are used up already
        ("99", ("0.000000", "0.000000", "0.090000")),
        ("100", ("0.000000", "0.000000", "0.090000")),
        ("101", ("0.000891", "0.000891", "0.090000")),  # 1 x 0.09/101
        ("150", ("0.030000", "0.030000", "0.090000")),  # 50 x 0.09/150
        ("0", ("0.000000", "0.000000", "0.000000")),
    ],
)
def test_a_free_amount_may_be_used_up_already(gb: str, each: tuple[str, str, str]) -> None:
    assert each_gb("egress", (gb, gb, gb), usd="0.09", per="gb", free=100) == each


def test_each_of_low_expected_and_high_has_its_own_mean_price() -> None:
    # 50: free; 200: 100 x 0.09/200; 400: all of it at 0.09
    assert each_gb("egress", ("50", "200", "400"), usd="0.09", per="gb", free=100) == (
        "0.000000",
        "0.045000",
        "0.090000",
    )


def test_traffic_per_gibibyte_costs_less_per_gigabyte() -> None:
    # 0.12/1.073741824
    same = ("0.111759", "0.111759", "0.111759")
    assert each_gb("egress", ("10", "10", "10"), usd="0.12", per="gib") == same


def test_a_stated_zero_is_a_price() -> None:
    assert each_gb("ingress", ("5", "5", "5"), usd="0", per="gb") == ("0.000000",) * 3


@pytest.mark.parametrize("has_meter", [True, False])
def test_traffic_that_nobody_prices_is_taken_at_what_others_ask(*, has_meter: bool) -> None:
    known: KnownPrices = others(
        meter("egress", usd="0.01", per="gb"), meter("egress", usd="0.03", per="gb")
    )
    terms = owner(*([meter("egress", per="gb")] if has_meter else []))
    if not has_meter:
        kept = tuple(each for each in terms.meters if each.kind != "egress")
        terms = terms.model_copy(update={"meters": kept})
    found = data_price(meters_of(terms, known), "egress", exactly(Decimal(10)))
    assert found is not None
    assert prices(found.usd) == ("0.000000", "0.020000", "0.030000")
    assert not found.stated


@pytest.mark.parametrize(
    ("sizes", "each"),
    [
        (("80", "99", "99"), ("0.100000", "0.100000", "0.100000")),
        # from 100 GB on all of it costs 0.05: 5 $, less than the 8 $ of 80 GB
        (("80", "100", "100"), ("0.100000", "0.080000", "0.080000")),
        (("80", "120", "120"), ("0.100000", "0.066667", "0.066667")),
        (("80", "120", "200"), ("0.100000", "0.066667", "0.050000")),  # 8, 8, 10 $
        (("0", "0", "120"), ("0.000000", "0.000000", "0.050000")),
    ],
)
def test_more_gb_in_a_cheaper_tier_never_cost_less(
    sizes: tuple[str, str, str], each: tuple[str, str, str]
) -> None:
    tiers = ({"above": 0, "usd": "0.10"}, {"above": 100, "usd": "0.05"})
    assert each_gb("egress", sizes, per="gb", tiers=tiers, tier_mode="whole") == each


# --- disks of fixed sizes -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("disk_gb", "usd", "name", "cost"),
    [
        # 60 GB are 55.9 GiB; 64 GiB x 0.073/730 x 10 h
        (60, "0.073", "disk, billed as 64 GIB", "0.064000"),
        (68.7, "0.073", "disk, billed as 64 GIB", "0.064000"),  # 63.98 GiB
        (68.8, "0.073", "disk, billed as 128 GIB", "0.128000"),  # 64.08 GiB
        # at what others ask for a GB, 0.0001 $/h, the size sold: 64 GiB are 68.719 GB
        (60, None, "disk, billed as 64 GIB", "0.068719"),
        (68.8, None, "disk, billed as 128 GIB", "0.137439"),
    ],
)
def test_a_disk_of_fixed_sizes_bills_the_size_sold_and_says_so(
    disk_gb: float, usd: str | None, name: str, cost: str
) -> None:
    disk = meter("disk", usd=usd, per="gib_month", basis="tier_rounded", sizes_gb=("64", "128"))
    known = others(meter("disk", usd="0.073", per="gb_month"))
    item = priced(question(work(disk_gb=disk_gb), owner(disk), known=known), offer())
    found = by_name(item)
    assert set(found) == {"training", name}
    assert f"{found[name].cost().expected:.6f}" == cost


def test_an_offers_own_price_of_disk_knows_no_sizes() -> None:
    disk = meter("disk", per="gib_month", basis="tier_rounded", sizes_gb=("64", "128"))
    rented = offer(storage_usd_per_gb_month="0.073")
    found = by_name(priced(question(work(disk_gb=60), owner(disk)), rented))
    assert f"{found['disk'].cost().expected:.6f}" == "0.060000"  # 60 x 0.0001 x 10
