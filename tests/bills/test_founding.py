"""The founding example: 8x RTX 4090, 250 GB, $3.4828/h running and $0.0694/h stopped, invoiced."""

from __future__ import annotations

import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from typing import NamedTuple

import pytest

from bills.samples import check, meter, one, shipped
from costplan.advisor import border_hours, rebuild_usd
from costplan.billing import hourly_usd, requote
from costplan.errors import InputError
from costplan.states import Usage, hourly_lines, total_usd_per_hour

EXAMPLE = Path(__file__).parents[2] / "examples" / "founding.py"
# 8 x 0.32 x 4/3 = 3.413333: the host's 0.32 and the market's third.
EIGHT_GPUS_USD_PER_HOUR = Decimal("10.24") / 3


class Month(NamedTuple):
    hours: str
    stopped: str
    running: str
    setup: str
    rebuild: str
    stop_border_h: str
    keep_border_h: str
    keep_border_min: str


MONTHS = [
    # 50 / 720 = 0.069444; 3.413333 + 0.069444 = 3.482778 (invoiced 3.4828); a quarter = 0.870694;
    # + 43 x 0.003 = 0.129 -> 0.999694; / 0.069444 = 14.396; / 3.482778 = 0.28704 h = 17.2 min
    Month("720", "0.069444", "3.482778", "0.870694", "0.999694", "14.396", "0.28704", "17.2"),
    # 50 / 730 = 0.068493; 3.413333 + 0.068493 = 3.481826; a quarter = 0.870457; + 0.129 =
    # 0.999457; / 0.068493 = 14.592; / 3.481826 = 0.28705 h
    Month("730", "0.068493", "3.481826", "0.870457", "0.999457", "14.592", "0.28705", "17.2"),
]


def rebuild(running: Decimal, ingress_usd_per_gb: str = "0.003") -> Decimal:
    return rebuild_usd(
        running_usd_per_hour=running,
        setup_hours=Decimal("0.25"),
        ingress_gb=Decimal(43),
        ingress_usd_per_gb=Decimal(ingress_usd_per_gb),
    )


@pytest.fixture(scope="module")
def printed() -> list[str]:
    """The lines of the example, run as a reader runs it."""
    done = subprocess.run([sys.executable, EXAMPLE], capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return done.stdout.splitlines()


@pytest.mark.parametrize("month", MONTHS, ids=lambda month: month.hours)
def test_the_example_prints_its_figures_to_the_cent(printed: list[str], month: Month) -> None:
    start = printed.index(f"month of {month.hours} hours")
    stopped, running, rebuilt, stop, keep = printed[start + 1 : start + 6]
    assert f" {month.stopped} $/h = 250 GB x 0.20 / {month.hours}" in stopped
    assert f" {month.running} $/h = 8 x 0.426667 + {month.stopped}" in running
    assert f" {month.rebuild} $ " in rebuilt
    assert stop.endswith(f" for {month.stop_border_h} h")
    assert keep.endswith(f" for {month.keep_border_min} min")


def test_the_example_prints_the_border_that_the_invoiced_rate_gives(printed: list[str]) -> None:
    # 0.25 x 3.4828 + 0.129 = 0.9997; / 0.068493 = 14.596
    assert printed[-1].startswith("month of 730 hours")
    assert printed[-1].endswith(" 3.4828 $/h taken as given: 14.596 h")


@pytest.mark.parametrize("month", MONTHS, ids=lambda month: month.hours)
def test_the_library_gives_the_same_figures(month: Month) -> None:
    disk = meter("disk", usd="0.20", per="gb_month", month_hours=month.hours)
    stopped = one(hourly_usd(disk, Decimal(250)))
    running = requote(
        EIGHT_GPUS_USD_PER_HOUR,
        quoted_disk_gb=Decimal(0),
        disk_gb=Decimal(250),
        usd_per_gb_month=Decimal("0.20"),
        month_hours=Decimal(month.hours),
    )
    check(stopped, month.stopped)
    check(running, month.running)
    check(running * Decimal("0.25"), month.setup)
    check(rebuild(running), month.rebuild)
    stop_border = border_hours(one_off_usd=rebuild(running), saved_usd_per_hour=stopped)
    check(stop_border, month.stop_border_h)
    keep_border = border_hours(one_off_usd=rebuild(running), saved_usd_per_hour=running)
    check(keep_border, month.keep_border_h)
    check(keep_border * 60, month.keep_border_min)


def test_a_month_of_730_hours_with_the_invoiced_rate_gives_its_own_border() -> None:
    given = rebuild(Decimal("3.4828"))
    check(given, "0.9997")
    stopped = Decimal(50) / 730
    check(border_hours(one_off_usd=given, saved_usd_per_hour=stopped), "14.596")


def test_only_a_month_of_720_hours_gives_the_invoiced_stopped_rate() -> None:
    vast = shipped("vast")
    disk = vast.meter("disk", "stopped_released")
    assert disk is not None
    assert disk.month_hours == 720
    priced = disk.model_copy(update={"usd": Decimal("0.20")})
    stopped = one(hourly_usd(priced, Decimal(250)))
    check(stopped, "0.0694")  # 730 hours would print 0.0685


def test_the_running_rate_holds_the_disk_once() -> None:
    disk = meter("disk", usd="0.20", per="gb_month", month_hours="720")
    usage = Usage(gpu_usd_per_hour=EIGHT_GPUS_USD_PER_HOUR, disk_gb=Decimal(250))
    lines = hourly_lines(shipped("vast"), "running", usage, meters=(meter("gpu"), disk))
    assert [line.kind for line in lines] == ["gpu", "disk"]
    check(total_usd_per_hour(lines), "3.4828")  # with the disk twice it would be 3.5522


@pytest.mark.parametrize(
    ("ingress_usd_per_gb", "rebuilt", "border_720", "border_730", "keep_h"),
    [
        # rebuild = 0.8707 + 43 x the price; / 0.0694444, / 0.0684932, / 3.4828
        ("0", "0.8707", "12.54", "12.71", "0.250"),
        ("0.00123", "0.9236", "13.30", "13.48", "0.265"),
        ("0.0026042", "0.9827", "14.15", "14.35", "0.282"),  # 2.667 $ per 1,024 GB
        ("0.003", "0.9997", "14.40", "14.60", "0.287"),
        ("0.0039063", "1.0387", "14.96", "15.16", "0.298"),  # 4 $ per 1,024 GB
        ("0.0130208", "1.4306", "20.60", "20.89", "0.411"),  # 13.33 $ per 1,024 GB
        ("0.015625", "1.5426", "22.21", "22.52", "0.443"),  # 16 $ per 1,024 GB
        ("0.026", "1.9887", "28.64", "29.04", "0.571"),
        ("0.03", "2.1607", "31.11", "31.55", "0.620"),
    ],
)
def test_the_border_moves_with_what_the_host_asks_for_ingress(
    ingress_usd_per_gb: str, rebuilt: str, border_720: str, border_730: str, keep_h: str
) -> None:
    running = Decimal("3.4828")
    cost = rebuild(running, ingress_usd_per_gb)
    check(cost, rebuilt)
    check(border_hours(one_off_usd=cost, saved_usd_per_hour=Decimal(50) / 720), border_720)
    check(border_hours(one_off_usd=cost, saved_usd_per_hour=Decimal(50) / 730), border_730)
    check(border_hours(one_off_usd=cost, saved_usd_per_hour=running), keep_h)


@pytest.mark.parametrize("saved", ["0", "-0.01"])
def test_where_nothing_is_saved_there_is_no_border(saved: str) -> None:
    with pytest.raises(InputError, match="nothing is saved"):
        border_hours(one_off_usd=Decimal(1), saved_usd_per_hour=Decimal(saved))
