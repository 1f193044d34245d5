"""Meters that are easily missed, months and steps that differ, and rate cards that are wrong."""

from __future__ import annotations

from decimal import Decimal

import pytest

from bills.samples import check, meter, one, provider, rounding, shipped
from costplan.advisor import border_hours
from costplan.billing import billed_us, held_usd, hourly_usd, minimum_charge, unit_amount
from costplan.states import Usage, hourly_lines, total_usd_per_hour
from costplan.units import gigabytes, hours, microseconds

SIXTY_FOUR_GIB = gigabytes(Decimal(64), "gib")


def machine_hours(usd_per_hour: str, held_hours: Decimal) -> Decimal:
    """Return the price of one machine held for so long."""
    return held_usd(meter("gpu", usd=usd_per_hour), Decimal(1), held_hours)


def test_five_pods_that_never_booted_cost_24_minutes() -> None:
    # case 53: 25.00 - 16.35 = 8.65 $ at 21.52 $/h = 0.40195 h = 24.1 min; / 5 = 4.8 min each;
    # 8.65 of 25.00 = 35 % of the balance
    source = "github.com/openai/parameter-golf/issues/821"
    lost = Decimal("25.00") - Decimal("16.35")
    held = border_hours(one_off_usd=lost, saved_usd_per_hour=Decimal("21.52"))
    check(held * 60, "24.1", source=source)
    check(held * 60 / 5, "4.8", source=source)
    each_us = microseconds(289.405)  # 8.65 / 21.52 x 3600 / 5
    check(5 * machine_hours("21.52", hours(each_us)), "8.65", source=source)
    # billed by the started second, five times 290 s: 5 x 290/3600 x 21.52
    by_second = hours(billed_us(each_us, rounding(step_s="1")))
    check(5 * machine_hours("21.52", by_second), "8.668", source=source)


def test_probing_boxes_that_do_not_boot_costs_cents() -> None:
    # case 54: 1 / (1 - 0.58) = 2.38 attempts; 1.38 of them wasted, 3 min each, at 0.40:
    # 1.38 x 0.05 h x 0.40 = 0.0276
    source = "notes of the package run-farm, one data set"
    boot = shipped("vast").boot
    assert boot is not None
    attempts = 1 / (1 - Decimal(str(boot.failure_share)))
    check(attempts, "2.38", source=source)
    wasted_hours = (attempts - 1) * Decimal(str(boot.probe_minutes)) / 60
    check(machine_hours("0.40", wasted_hours), "0.0276", source=source)


@pytest.mark.parametrize(
    ("usd_per_hour", "held_hours", "expected"),
    [
        ("0.74", "5.5", "4.07"),  # the whole rental of an RTX 4090
        ("0.74", "2.5", "1.85"),  # of which no GPU was needed
        ("0.74", "1.25", "0.925"),  # 75 min idle after the end
        ("0.25", "2.5", "0.625"),  # the same work on an A4000
    ],
)
def test_work_that_needs_no_gpu_is_paid_at_the_price_of_one(
    usd_per_hour: str, held_hours: str, expected: str
) -> None:
    # case 55: 0.74 x 5.5, 0.74 x 2.5, 0.74 x 1.25, 0.25 x 2.5
    source = "github.com/eellak/gsoc2026-opencouncil-stt/issues/46"
    check(machine_hours(usd_per_hour, Decimal(held_hours)), expected, source=source)


@pytest.mark.parametrize(
    ("held_hours", "expected"),
    [("5", "17.45"), ("0.5", "1.745")],
    ids=["found-at-8", "with-a-rule-of-30-minutes"],
)
def test_a_crash_at_three_that_is_found_at_eight(held_hours: str, expected: str) -> None:
    # case 57: H100 at 3.49: 5 x 3.49 and 0.5 x 3.49
    source = "luminoai.co.in, 2026-04-22"
    check(machine_hours("3.49", Decimal(held_hours)), expected, source=source)


def test_twenty_seconds_at_digitalocean_are_billed_as_sixty() -> None:
    # case 30: from 2026 on by the second, at least 60 s or 0.01 $: 0.76 x 60/3600 = 0.0127
    source = "digitalocean.com/community/questions, rules of 2026-01-01"
    rule = shipped("digitalocean").rounding
    billed = billed_us(microseconds(20), rule)
    assert billed == 60_000_000, source
    cost = machine_hours("0.76", hours(billed))
    check(cost, "0.0127", source=source)
    check(minimum_charge(cost, rule), "0.0127", source=source)
    # 0.20 x 60/3600 = 0.0033 lies under the least charge
    check(minimum_charge(machine_hours("0.20", hours(billed)), rule), "0.01", source=source)


FPT = "fptcloud.com, GPU container billing"


def test_the_providers_own_example_is_wrong_by_a_factor_of_43() -> None:
    # case 65: 1000 GB x 0.00013 x 0.5 h = 0.065, where the page says 0.0015;
    # 1.155 + 0.065 = 1.22, where it says 1.1615
    disk = meter("disk", usd="0.00013", per="gb_hour")
    temporary = held_usd(disk, Decimal(1_000), Decimal("0.5"))
    assert temporary == Decimal("0.065"), FPT
    assert temporary > 43 * Decimal("0.0015")
    total = machine_hours("2.31", Decimal("0.5")) + temporary  # half an hour of GPU: 1.155
    assert total == Decimal("1.22"), FPT
    shop = shipped("fptcloud").meter("disk")
    assert shop is not None
    assert held_usd(shop, Decimal(1_000), Decimal("0.5")) == Decimal("0.065"), FPT


@pytest.mark.parametrize(
    ("step_s", "used_s", "billed_s"),
    [("60", 1, 60), ("60", 60, 60), ("60", 61, 120), ("1", 1, 1), ("1", 60, 60), ("1", 61, 61)],
)
def test_two_pages_of_one_provider_round_differently(
    step_s: str, used_s: int, billed_s: int
) -> None:
    # case 65: page A bills at least a minute, page B by the second
    rule = rounding(step_s=step_s)
    assert billed_us(microseconds(used_s), rule) == microseconds(billed_s), FPT


@pytest.mark.parametrize(("month", "expected"), [("720", "99.56"), ("730", "98.19")])
def test_the_month_of_a_price_is_stored_with_it(month: str, expected: str) -> None:
    # case 69: 10 TiB = 10,240 GiB at 0.07 for 100 h: 71,680/720 and 71,680/730
    source = "docs.coreweave.com storage page, two versions"
    files = meter("network_volume", usd="0.07", per="gib_month", month_hours=month)
    amount = unit_amount(files, gigabytes(Decimal(10), "tib"))
    assert amount == 10_240
    check(held_usd(files, amount, Decimal(100)), expected, source=source)


MODAL = "modal.com/pricing, 2026-07-01"


def modal(factor: int) -> Decimal | None:
    """Return the hourly price of an H100 with 8 cores and 64 GiB, CPU and RAM at `factor`."""
    cpu = meter("cpu", usd=Decimal("0.0000131") * factor, per="core_second")
    ram = meter("ram", usd=Decimal("0.00000222") * factor, per="gib_second")
    gpu = one(hourly_usd(meter("gpu", usd="0.001097", per="second"), Decimal(1)))
    usage = Usage(gpu_usd_per_hour=gpu, cores=Decimal(8), ram_gb=SIXTY_FOUR_GIB)
    return total_usd_per_hour(hourly_lines(provider(cpu, ram), "running", usage))


def test_a_sandbox_bills_cpu_and_ram_three_times() -> None:
    # case 74: GPU 0.001097 x 3600 = 3.9492; CPU 8 x 0.0000131 x 3600 = 0.37728; RAM
    # 64 x 0.00000222 x 3600 = 0.511488; sum 4.83797; with CPU and RAM x 3: 6.61550
    check(modal(1), "4.83797", source=MODAL)
    check(modal(3), "6.61550", source=MODAL)


def test_the_price_folder_bills_a_modal_function_like_its_rate_card() -> None:
    # case 74: 4.83797
    usage = Usage(gpu_usd_per_hour=Decimal("3.9492"), cores=Decimal(8), ram_gb=SIXTY_FOUR_GIB)
    lines = hourly_lines(shipped("modal"), "running", usage)
    check(total_usd_per_hour(lines), "4.83797", source=MODAL)


def test_ram_is_a_meter_of_its_own() -> None:
    # case 75: H200 2.668 + 16 cores x 0.012 + 200 GiB x 0.0032 = 2.668 + 0.192 + 0.64 = 3.500
    cpu = meter("cpu", usd="0.012", per="core_hour")
    ram = meter("ram", usd="0.0032", per="gib_hour")
    usage = Usage(
        gpu_usd_per_hour=Decimal("2.668"),
        cores=Decimal(16),
        ram_gb=gigabytes(Decimal(200), "gib"),
    )
    lines = hourly_lines(provider(cpu, ram), "running", usage)
    check(lines[1].usd_per_hour, "0.192", source="Nebius price page")
    check(lines[2].usd_per_hour, "0.640", source="Nebius price page")
    check(total_usd_per_hour(lines), "3.500", source="Nebius price page")


@pytest.mark.parametrize(
    ("gb", "usd_per_gb_month", "disk_per_hour"),
    [
        ("10", "0.14933", "0.002074"),  # sample of the documentation
        ("10", "0.2", "0.0027778"),  # public offer of 2022
        ("80", "0.20", "0.0222222"),  # live instance of 2026-07-27
    ],
)
def test_every_published_figure_of_vast_needs_a_month_of_720_hours(
    gb: str, usd_per_gb_month: str, disk_per_hour: str
) -> None:
    # 10 x 0.14933/720, 10 x 0.2/720, 80 x 0.20/720
    disk = shipped("vast").meter("disk")
    assert disk is not None
    own = disk.model_copy(update={"usd": Decimal(usd_per_gb_month)})
    check(one(hourly_usd(own, Decimal(gb))), disk_per_hour, source="vast-ai/docs; live instance")


@pytest.mark.parametrize(
    ("key", "step_s", "minimum_s", "used_s", "billed_s"),
    [
        # each provider's own step, one second on both sides of a border
        ("vast", "1", "0", 600, 600),  # 10 min rented are 10 min paid
        ("aws", "1", "60", 59, 60),
        ("aws", "1", "60", 61, 61),
        ("gcp", "1", "60", 59, 60),
        ("gcp", "1", "60", 61, 61),
        ("lambda", "60", None, 61, 120),
        ("hyperstack", "60", None, 61, 120),
        ("jarvislabs", "60", None, 60, 60),
        ("scaleway", "60", None, 61, 120),
        ("vultr", "3600", "3600", 3_600, 3_600),
        ("vultr", "3600", "3600", 3_601, 7_200),
        ("vultr", "3600", "3600", 1, 3_600),
    ],
)
def test_a_provider_rounds_as_its_documentation_says(
    key: str, step_s: str, minimum_s: str | None, used_s: int, billed_s: int
) -> None:
    rule = shipped(key).rounding
    assert rule.step_s == Decimal(step_s)
    if minimum_s is not None:
        assert rule.minimum_s == Decimal(minimum_s)
    assert billed_us(microseconds(used_s), rule) == microseconds(billed_s)


def test_tensordock_prorates_to_the_microsecond() -> None:
    # docs.tensordock.com: what was used is billed, to 1 microsecond
    assert billed_us(1_234_567, shipped("tensordock").rounding) == 1_234_567
