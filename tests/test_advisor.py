"""Borders between keep, stop and destroy."""

from __future__ import annotations

from decimal import Decimal

import pytest
from bills.samples import check
from hypothesis import given, settings
from hypothesis import strategies as st

from costplan.advisor import border_hours, rebuild_usd
from costplan.errors import InputError

DOLLARS = st.decimals("0.0001", 1_000, places=4)


@pytest.mark.parametrize(
    ("running", "setup_hours", "ingress_gb", "per_gb", "usd"),
    [
        # 0.25 x 3.482778 + 43 x 0.003
        ("3.482778", "0.25", "43", "0.003", "0.999694"),
        # 0.25 x 31.92, ingress is free
        ("31.92", "0.25", "43", "0", "7.980000"),
        ("31.92", "0", "0", "0", "0.000000"),
        ("0", "1", "100", "0.03", "3.000000"),
    ],
)
def test_a_rebuild_is_the_set_up_at_the_running_rate_and_the_download(
    running: str, setup_hours: str, ingress_gb: str, per_gb: str, usd: str
) -> None:
    found = rebuild_usd(
        running_usd_per_hour=Decimal(running),
        setup_hours=Decimal(setup_hours),
        ingress_gb=Decimal(ingress_gb),
        ingress_usd_per_gb=Decimal(per_gb),
    )
    check(found, usd)


@pytest.mark.parametrize(
    ("one_off", "saved", "hours"),
    [
        # the founding example: 0.999694/0.069444 for the stop, 0.999694/3.482778 for the keep
        ("0.999694", "0.069444", "14.396"),
        ("0.999694", "3.482778", "0.287"),
        # eight H100 at 31.92 that take 15 min to set up again
        ("7.98", "31.92", "0.250"),
        ("0", "1", "0.000"),
    ],
)
def test_a_border_is_the_one_off_cost_over_what_an_hour_saves(
    one_off: str, saved: str, hours: str
) -> None:
    found = border_hours(one_off_usd=Decimal(one_off), saved_usd_per_hour=Decimal(saved))
    check(found, hours)


@pytest.mark.parametrize("saved", ["0", "-0.01"])
def test_where_an_hour_saves_nothing_there_is_no_border(saved: str) -> None:
    with pytest.raises(InputError, match="nothing is saved"):
        border_hours(one_off_usd=Decimal(1), saved_usd_per_hour=Decimal(saved))


@settings(max_examples=30)
@given(DOLLARS, DOLLARS)
def test_at_the_border_both_ways_cost_the_same(one_off: Decimal, saved: Decimal) -> None:
    hours = border_hours(one_off_usd=one_off, saved_usd_per_hour=saved)
    assert abs(hours * saved - one_off) <= one_off * Decimal("1e-20")


@settings(max_examples=30)
@given(DOLLARS, DOLLARS, st.integers(1, 100))
def test_a_dearer_rebuild_moves_the_border_out_and_a_larger_saving_in(
    one_off: Decimal, saved: Decimal, more: int
) -> None:
    border = border_hours(one_off_usd=one_off, saved_usd_per_hour=saved)
    assert border_hours(one_off_usd=one_off + more, saved_usd_per_hour=saved) > border
    assert border_hours(one_off_usd=one_off, saved_usd_per_hour=saved + more) < border
