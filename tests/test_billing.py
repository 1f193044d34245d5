"""Meters, rounding, tiers, months, states: each border from both sides, and laws over all sizes."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, get_args

import pytest
from bills.samples import ORIGIN, check, meter, one, provider, rounding
from hypothesis import given, settings
from hypothesis import strategies as st

from costplan.billing import (
    billed_amount,
    billed_us,
    counted_gb,
    data_usd,
    held_usd,
    hourly_usd,
    hours_in,
    minimum_charge,
    requote,
    rounded_hours,
    tiered,
    unit_amount,
)
from costplan.errors import InputError, UnknownError
from costplan.records.providers import State
from costplan.states import (
    HourlyLine,
    Usage,
    hourly_lines,
    meters_in,
    state_after,
    total_usd_per_hour,
)
from costplan.units import hours

if TYPE_CHECKING:
    from costplan.records.providers import ActionName, Meter, MeterKind

SECOND = 1_000_000
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE


# --- time: steps, minimums, least charges -------------------------------------------------------


@pytest.mark.parametrize(
    ("step_s", "minimum_s", "used_us", "billed"),
    [
        ("0.000001", None, 1, 1),
        ("0.000001", None, 1_234_567, 1_234_567),
        ("1", None, 1, SECOND),
        ("1", None, SECOND - 1, SECOND),
        ("1", None, SECOND, SECOND),
        ("1", None, SECOND + 1, 2 * SECOND),
        ("60", None, MINUTE - 1, MINUTE),
        ("60", None, MINUTE, MINUTE),
        ("60", None, MINUTE + 1, 2 * MINUTE),
        ("900", None, 15 * MINUTE - 1, 15 * MINUTE),
        ("900", None, 15 * MINUTE, 15 * MINUTE),
        ("900", None, 15 * MINUTE + 1, 30 * MINUTE),
        ("3600", None, HOUR - 1, HOUR),
        ("3600", None, HOUR, HOUR),
        ("3600", None, HOUR + 1, 2 * HOUR),
        # by the second after a first minute
        ("1", "60", 1, MINUTE),
        ("1", "60", MINUTE - 1, MINUTE),
        ("1", "60", MINUTE, MINUTE),
        ("1", "60", MINUTE + 1, MINUTE + SECOND),
        # a minimum and no step
        (None, "60", MINUTE - 1, MINUTE),
        (None, "60", MINUTE, MINUTE),
        (None, "60", MINUTE + 1, MINUTE + 1),
        # a minimum of nothing
        ("1", "0", 1, SECOND),
        # neither is stated
        (None, None, MINUTE + 1, MINUTE + 1),
        # what was not used is not billed
        ("3600", "3600", 0, 0),
        ("3600", "3600", 1, HOUR),
    ],
)
def test_time_is_billed_in_whole_steps_and_from_the_minimum_on(
    step_s: str | None, minimum_s: str | None, used_us: int, billed: int
) -> None:
    assert billed_us(used_us, rounding(step_s=step_s, minimum_s=minimum_s)) == billed


@pytest.mark.parametrize(
    ("cap_hours", "used_hours", "billed_hours"),
    [
        ("672", 671, 671),
        ("672", 672, 672),
        ("672", 673, 672),
        ("672", 730, 672),  # the month is full
        ("672", 731, 673),  # the next one begins
        ("672", 1_460, 1_344),
        ("730", 729, 729),
        ("730", 731, 731),
    ],
)
def test_a_month_costs_no_more_than_its_cap(
    cap_hours: str, used_hours: int, billed_hours: int
) -> None:
    rule = rounding(step_s="3600", month_cap_hours=cap_hours)
    assert billed_us(used_hours * HOUR, rule) == billed_hours * HOUR


@pytest.mark.parametrize("used_us", [0, 1, MINUTE + 1])
def test_without_rounding_terms_time_is_billed_as_used(used_us: int) -> None:
    assert billed_us(used_us, None) == used_us


def test_the_minimum_applies_again_at_each_start() -> None:
    rule = rounding(step_s="1", minimum_s="60")
    assert billed_us(40 * SECOND, rule) == MINUTE
    assert 2 * billed_us(20 * SECOND, rule) == 2 * MINUTE


@pytest.mark.parametrize(
    ("cost", "least", "charged"),
    [
        ("0.0099", "0.01", "0.01"),
        ("0.01", "0.01", "0.01"),
        ("0.0101", "0.01", "0.0101"),
        ("0", "0.01", "0"),
        ("0.0099", None, "0.0099"),
        ("0.0099", "0", "0.0099"),
    ],
)
def test_a_start_costs_at_least_the_least_charge(
    cost: str, least: str | None, charged: str
) -> None:
    assert minimum_charge(Decimal(cost), rounding(minimum_usd=least)) == Decimal(charged)


@pytest.mark.parametrize(
    ("held_s", "step_s", "billed_s"),
    [
        (3_599, "3600", 3_600),
        (3_600, "3600", 3_600),
        (3_601, "3600", 7_200),
        (59, "60", 60),
        (60, "60", 60),
        (61, "60", 120),
        (899, "900", 900),
        (900, "900", 900),
        (901, "900", 1_800),
        # hours of these are no finite decimals; whole steps stay whole all the same
        (420, "60", 420),
        (3_660, "60", 3_660),
        (3_600, "300", 3_600),
        (1_500, "300", 1_500),
        (3_600, "1200", 3_600),
        (6, "1", 6),
        (37, "1", 37),
        # a month paid ahead
        (720 * 3_600 - 1, "2592000", 720 * 3_600),
        (720 * 3_600, "2592000", 720 * 3_600),
        (720 * 3_600 + 1, "2592000", 2 * 720 * 3_600),
        (0, "3600", 0),
    ],
)
def test_held_time_is_rounded_up_to_the_meters_own_steps(
    held_s: int, step_s: str, billed_s: int
) -> None:
    billed = rounded_hours(hours(held_s * SECOND), Decimal(step_s))
    check(billed * 3_600, f"{billed_s}.000000000")


def test_held_time_without_a_step_is_billed_as_held() -> None:
    assert rounded_hours(Decimal("1.234567"), None) == Decimal("1.234567")


# --- months -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("month_hours", "expected"),
    [
        ("720", "0.069444"),  # 50/720
        ("730", "0.068493"),  # 50/730
        ("672", "0.074405"),  # 50/672
    ],
)
def test_a_monthly_price_is_divided_by_its_own_month(month_hours: str, expected: str) -> None:
    disk = meter("disk", usd="0.20", per="gb_month", month_hours=month_hours)
    check(one(hourly_usd(disk, Decimal(250))), expected)
    assert hours_in(disk) == Decimal(month_hours)


def test_a_month_is_730_hours_where_nothing_is_stated() -> None:
    check(one(hourly_usd(meter("disk", usd="0.20", per="gb_month"), Decimal(250))), "0.068493")


@pytest.mark.parametrize(
    ("per", "expected"),
    [
        ("hour", "1"),
        ("core_hour", "1"),
        ("gb_hour", "1"),
        ("gib_hour", "1"),
        ("month", "720"),
        ("gb_month", "720"),
        ("gib_month", "720"),
        ("second", "0.00027778"),
        ("core_second", "0.00027778"),
        ("gb_second", "0.00027778"),
        ("gib_second", "0.00027778"),
    ],
)
def test_a_price_pays_for_the_time_of_its_unit(per: str, expected: str) -> None:
    check(hours_in(meter("fee", usd="1", per=per, month_hours="720")), expected)


@pytest.mark.parametrize(
    ("per", "usd", "expected"),
    [
        ("hour", "3.6", "3.6"),
        ("second", "0.001", "3.6"),  # 3,600 times, exactly
        ("month", "72", "0.1"),  # 72/720
    ],
)
def test_an_hour_costs_what_its_unit_makes_of_the_price(per: str, usd: str, expected: str) -> None:
    fee = meter("fee", usd=usd, per=per, month_hours="720")
    assert hourly_usd(fee, Decimal(1)) == (Decimal(expected), Decimal(expected))


@pytest.mark.parametrize(
    ("per", "least", "greatest"),
    [
        ("gb_hour", "7.2", "9"),
        ("gb_month", "0.01", "0.0125"),  # over 720
        ("gb_second", "25920", "32400"),  # times 3,600
    ],
)
def test_an_hour_keeps_both_readings_of_unclear_tiers(per: str, least: str, greatest: str) -> None:
    # 120 GB: all at 0.06 = 7.20; or 100 at 0.078 and 20 at 0.06 = 7.80 + 1.20 = 9.00
    unclear = ({"above": "0", "usd": "0.078"}, {"above": "100", "usd": "0.06"})
    volume = meter("volume", per=per, month_hours="720", tiers=unclear, tier_mode="unknown")
    assert hourly_usd(volume, Decimal(120)) == (Decimal(least), Decimal(greatest))


# --- units --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("per", "expected"),
    [
        ("gb", "1000"),
        ("gb_hour", "1000"),
        ("gb_second", "1000"),
        ("gb_month", "1000"),
        ("gib", "931.3226"),  # 10^12 / 2^30
        ("gib_hour", "931.3226"),
        ("gib_second", "931.3226"),
        ("gib_month", "931.3226"),
        ("tb", "1.0000000"),
        ("tb1024", "0.9765625"),  # 1000 / 1024
        ("tib", "0.9094947"),  # 10^12 / 2^40
    ],
)
def test_a_terabyte_of_data_in_the_unit_of_each_meter(per: str, expected: str) -> None:
    check(unit_amount(meter("disk", per=per), Decimal(1_000)), expected)


@pytest.mark.parametrize(
    ("per", "size_gb"),
    [
        ("gb", "1"),
        ("gib", "1.073741824"),
        ("tb", "1000"),
        ("tb1024", "1024"),
        ("tib", "1099.511627776"),
    ],
)
def test_one_unit_is_one_unit(per: str, size_gb: str) -> None:
    assert unit_amount(meter("egress", per=per), Decimal(size_gb)) == 1


# --- sizes and tiers ----------------------------------------------------------------------------

SIZES = meter("disk", usd="0.10", per="gib_month", basis="tier_rounded", sizes_gb=("32", "64"))


@pytest.mark.parametrize(
    ("amount", "billed"),
    [("0", "0"), ("1", "32"), ("31", "32"), ("32", "32"), ("33", "64"), ("63", "64"), ("64", "64")],
)
def test_a_size_is_rounded_up_to_the_next_one_sold(amount: str, billed: str) -> None:
    assert billed_amount(SIZES, Decimal(amount)) == Decimal(billed)
    monthly = one(hourly_usd(SIZES, Decimal(amount))) * 730
    check(monthly, f"{Decimal(billed) / 10}")


def test_above_the_largest_size_nothing_is_sold() -> None:
    with pytest.raises(InputError, match=r"64\.1 is above the largest size sold, 64"):
        billed_amount(SIZES, Decimal("64.1"))


@pytest.mark.parametrize("basis", ["allocated", "used"])
def test_where_no_sizes_are_sold_the_amount_is_billed_as_it_is(basis: str) -> None:
    assert billed_amount(meter("disk", usd="1", per="gb_month", basis=basis), Decimal(33)) == 33


THREE_TIERS = (
    {"above": "0", "usd": "0.09"},
    {"above": "100", "usd": "0.07"},
    {"above": "500", "usd": "0.05"},
)


def tiers(mode: str, **fields: object) -> Meter:
    return meter("egress", per="gb", tiers=THREE_TIERS, tier_mode=mode, **fields)


@pytest.mark.parametrize(
    ("amount", "marginal", "whole"),
    [
        ("0", "0", "0"),
        ("1", "0.09", "0.09"),
        ("99", "8.91", "8.91"),
        # the border itself: marginal still in the first tier, whole already in the second
        ("100", "9.00", "7.00"),
        ("101", "9.07", "7.07"),
        ("499", "36.93", "34.93"),  # 9.00 + 399 x 0.07; 499 x 0.07
        ("500", "37.00", "25.00"),  # 9.00 + 400 x 0.07; 500 x 0.05
        ("501", "37.05", "25.05"),
    ],
)
def test_tiers_are_read_as_the_provider_reads_them(amount: str, marginal: str, whole: str) -> None:
    size = Decimal(amount)
    assert tiered(tiers("marginal"), size) == (Decimal(marginal), Decimal(marginal))
    assert tiered(tiers("whole"), size) == (Decimal(whole), Decimal(whole))
    assert tiered(tiers("unknown"), size) == (Decimal(whole), Decimal(marginal))


def test_where_prices_rise_with_the_amount_the_greater_reading_is_still_second() -> None:
    # 150 x 0.08 = 12 whole; 100 x 0.05 + 50 x 0.08 = 9 marginal
    rising = ({"above": "0", "usd": "0.05"}, {"above": "100", "usd": "0.08"})
    unclear = meter("egress", per="gb", tiers=rising, tier_mode="unknown")
    assert tiered(unclear, Decimal(150)) == (Decimal(9), Decimal(12))


def test_more_can_cost_less_where_a_tier_prices_the_whole() -> None:
    # one gigabyte more and the bill falls from 34.93 to 25.00: no error, the provider's rule
    below, at = tiered(tiers("whole"), Decimal(499)), tiered(tiers("whole"), Decimal(500))
    assert one(below) == Decimal("34.93")
    assert one(at) == Decimal("25.00")


@pytest.mark.parametrize("amount", ["0", "1", "1000"])
def test_a_meter_without_a_price_stays_unknown_whatever_the_amount(amount: str) -> None:
    unpriced = meter("egress", per="gb", free="100")
    size = Decimal(amount)
    assert tiered(unpriced, size) is None
    assert hourly_usd(meter("disk", per="gb_month"), size) is None
    assert data_usd(unpriced, size) is None
    assert data_usd(unpriced, size, free_left=Decimal(0)) is None


def test_a_stated_price_of_zero_is_not_unknown() -> None:
    assert tiered(meter("ingress", usd="0", per="gb"), Decimal(70)) == (Decimal(0), Decimal(0))
    assert data_usd(meter("ingress", usd="0", per="gb"), Decimal(70)) == (Decimal(0), Decimal(0))


# --- bytes --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("size_gb", "free_left", "expected"),
    [
        # all of the 100 free ones are left
        ("0", None, "0"),
        ("99", None, "0"),
        ("100", None, "0"),
        ("101", None, "0.09"),
        # 40 are left
        ("39", "40", "0"),
        ("40", "40", "0"),
        ("41", "40", "0.09"),
        # none is left
        ("1", "0", "0.09"),
        ("101", "0", "9.09"),
    ],
)
def test_the_free_amount_is_free_and_what_lies_above_it_is_not(
    size_gb: str, free_left: str | None, expected: str
) -> None:
    egress = meter("egress", usd="0.09", per="gb", free="100")
    left = None if free_left is None else Decimal(free_left)
    assert one(data_usd(egress, Decimal(size_gb), free_left=left)) == Decimal(expected)


@pytest.mark.parametrize(
    ("size_gb", "expected"),
    [
        ("40", "0"),
        ("41", "0.09"),
        ("99", "5.31"),  # 59 x 0.09
        ("100", "5.40"),
        ("101", "5.47"),  # the second tier begins at 100, the free 40 counted
    ],
)
def test_the_free_amount_uses_up_the_first_tier(size_gb: str, expected: str) -> None:
    egress = tiers("marginal", free="40")
    assert one(data_usd(egress, Decimal(size_gb))) == Decimal(expected)


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        ("whole", ("5.00", "5.00")),  # 100 GB above the free 400, all at 0.05
        ("marginal", ("7.00", "7.00")),  # 400 to 500 at 0.07
        ("unknown", ("5.00", "7.00")),
    ],
)
def test_a_free_amount_takes_nothing_off_that_was_not_charged(
    mode: str, expected: tuple[str, str]
) -> None:
    least, greatest = expected
    price = data_usd(tiers(mode, free="400"), Decimal(500))
    assert price == (Decimal(least), Decimal(greatest))


@pytest.mark.parametrize(
    ("size_gb", "expected"),
    [("1073.741824", "0.00"), ("1074.815565824", "0.12")],  # 1,000 and 1,001 GiB
)
def test_the_free_amount_is_counted_in_the_unit_of_the_meter(size_gb: str, expected: str) -> None:
    egress = meter("egress", usd="0.12", per="gib", free="1000")
    check(one(data_usd(egress, Decimal(size_gb))), expected)


@pytest.mark.parametrize(
    ("kind", "counts", "in_gb", "out_gb", "counted"),
    [
        ("ingress", "sum", 30, 20, 30),
        ("egress", "sum", 30, 20, 20),
        ("inter_region", "sum", 30, 20, 20),
        ("egress", "larger", 30, 29, 30),
        ("egress", "larger", 30, 30, 30),
        ("egress", "larger", 30, 31, 31),
        ("ingress", "larger", 30, 31, 31),
    ],
)
def test_bytes_are_counted_one_way_or_by_the_larger_way(
    kind: str, counts: str, in_gb: int, out_gb: int, counted: int
) -> None:
    line = meter(kind, usd="1", per="gb", counts=counts)
    assert counted_gb(line, in_gb=Decimal(in_gb), out_gb=Decimal(out_gb)) == counted


# --- holding ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("step_s", "minutes", "expected"),
    [
        (None, 90, "0.15"),
        ("3600", 59, "0.10"),
        ("3600", 60, "0.10"),
        ("3600", 61, "0.20"),
        ("60", 7, "0.011667"),  # 0.10 x 7/60
    ],
)
def test_a_meter_held_is_rounded_by_its_own_step(
    step_s: str | None, minutes: int, expected: str
) -> None:
    volume = meter("network_volume", usd="0.72", per="gb_month", month_hours="720", step_s=step_s)
    # 100 GB x 0.72/720 = 0.10 an hour
    check(held_usd(volume, Decimal(100), hours(minutes * MINUTE)), expected)


def test_holding_what_nobody_prices_is_refused() -> None:
    with pytest.raises(UnknownError, match="nobody states the price of volume"):
        held_usd(meter("volume", per="gb_month"), Decimal(1), Decimal(1))


@pytest.mark.parametrize(("gb", "readings"), [(99, 1), (100, 2), (101, 2)])
def test_holding_at_two_readings_of_the_tiers_is_refused(gb: int, readings: int) -> None:
    fields = {"per": "gb_month", "month_hours": "720", "tiers": THREE_TIERS}
    volume = meter("network_volume", tier_mode="unknown", **fields)
    if readings == 1:
        # 99 x 0.09 = 8.91 for 720 h
        check(held_usd(volume, Decimal(gb), Decimal(720)), "8.91")
    else:
        with pytest.raises(UnknownError, match="tiers of network_volume have two readings"):
            held_usd(volume, Decimal(gb), Decimal(720))


@pytest.mark.parametrize(
    ("quoted", "rented", "expected"),
    [
        ("5", "4", "0.99990"),  # 1 - 0.072/720
        ("5", "5", "1.00000"),
        ("5", "6", "1.00010"),
        ("0", "5", "1.00050"),
        ("5", "0", "0.99950"),
    ],
)
def test_a_quote_holds_for_its_own_disk_and_moves_with_another(
    quoted: str, rented: str, expected: str
) -> None:
    price = requote(
        Decimal(1),
        quoted_disk_gb=Decimal(quoted),
        disk_gb=Decimal(rented),
        usd_per_gb_month=Decimal("0.072"),
        month_hours=Decimal(720),
    )
    assert price == Decimal(expected)


def test_a_quote_is_repeated_with_a_month_of_730_hours_where_none_is_stated() -> None:
    price = requote(
        Decimal(1),
        quoted_disk_gb=Decimal(0),
        disk_gb=Decimal(1),
        usd_per_gb_month=Decimal("0.73"),
    )
    assert price == Decimal("1.001")


# --- states -------------------------------------------------------------------------------------

ACTIONS = {
    "guest_shutdown": {"state": "stopped_allocated", **ORIGIN},
    "deallocate": {"state": "stopped_released", **ORIGIN},
}


@pytest.mark.parametrize(
    ("action", "state"),
    [("guest_shutdown", "stopped_allocated"), ("deallocate", "stopped_released")],
)
def test_an_action_leaves_the_state_that_the_provider_states(
    action: ActionName, state: str
) -> None:
    assert state_after(provider(actions=ACTIONS), action) == state


@pytest.mark.parametrize(
    ("actions", "hint"),
    [
        (ACTIONS, "its actions: deallocate, guest_shutdown"),
        ({}, "its actions: none"),
    ],
)
def test_an_action_that_does_not_exist_is_refused(actions: object, hint: str) -> None:
    with pytest.raises(UnknownError, match="Sample Cloud has no api stop") as refused:
        state_after(provider(actions=actions), "api_stop")
    assert refused.value.hint == hint


DISK = meter(
    "disk",
    usd="0.73",
    per="gb_month",
    states=("running", "stopped_released"),
    states_unknown=("booting",),
)


@pytest.mark.parametrize(
    ("state", "billing"),
    [
        ("running", [("gpu", True), ("disk", True)]),
        ("stopped_released", [("disk", True)]),
        ("booting", [("disk", False)]),
        ("destroyed", []),
    ],
)
def test_a_state_has_the_meters_that_name_it(
    state: State, billing: list[tuple[MeterKind, bool]]
) -> None:
    found = meters_in(provider(meter("gpu"), DISK), state)
    assert [(each.kind, certain) for each, certain in found] == billing
    lines = hourly_lines(
        provider(meter("gpu"), DISK),
        state,
        Usage(gpu_usd_per_hour=Decimal(2), disk_gb=Decimal(100)),
    )
    assert [(line.kind, line.certain) for line in lines] == billing


def test_nothing_bills_in_a_state_that_no_meter_names() -> None:
    usage = Usage(gpu_usd_per_hour=Decimal(1), disk_gb=Decimal(1))
    named = {"running": 2, "stopped_released": 1, "booting": 1}
    for state in get_args(State):
        lines = hourly_lines(provider(meter("gpu"), DISK), state, usage)
        assert len(lines) == named.get(state, 0), state


EVERYTHING = (
    meter("gpu"),
    meter("cpu", usd="0.01", per="core_hour"),
    meter("ram", usd="0.002", per="gib_hour"),
    meter("disk", usd="0.073", per="gb_month"),
    meter("volume", usd="0.146", per="gb_month"),
    meter("network_volume", usd="0.219", per="gb_month"),
    meter("snapshot", usd="0.292", per="gb_month"),
    meter("public_ip", usd="0.005"),
    meter("fee", usd="0.25"),
    meter("object", usd="1", per="gb_month"),
    meter("ingress", usd="1", per="gb"),
    meter("egress", usd="1", per="gb"),
    meter("inter_region", usd="1", per="gb"),
)


def test_each_meter_bills_what_the_machine_has_of_it() -> None:
    usage = Usage(
        gpu_usd_per_hour=Decimal("2.50"),
        disk_gb=Decimal(100),
        cores=Decimal(8),
        ram_gb=Decimal("68.719476736"),
        volume_gb=Decimal(10),
        snapshot_gb=Decimal(1),
        ips=2,
    )
    lines = hourly_lines(provider(*EVERYTHING), "running", usage)
    assert {line.kind: line.usd_per_hour for line in lines} == {
        "gpu": Decimal("2.50"),
        "cpu": Decimal("0.08"),  # 8 x 0.01
        "ram": Decimal("0.128"),  # 64 GiB x 0.002
        "disk": Decimal("0.01"),  # 100 x 0.073/730
        "volume": Decimal("0.002"),  # 10 x 0.146/730
        "network_volume": Decimal("0.003"),  # 10 x 0.219/730
        "snapshot": Decimal("0.0004"),  # 1 x 0.292/730
        "public_ip": Decimal("0.010"),  # 2 x 0.005
        "fee": Decimal("0.25"),
    }
    # 2.50 + 0.08 + 0.128 + 0.01 + 0.002 + 0.003 + 0.0004 + 0.01 + 0.25
    assert total_usd_per_hour(lines) == Decimal("2.9834")


def test_what_a_machine_has_not_makes_no_line() -> None:
    lines = hourly_lines(provider(*EVERYTHING), "running", Usage(gpu_usd_per_hour=Decimal(1)))
    assert [line.kind for line in lines] == ["gpu", "fee"]


@pytest.mark.parametrize(
    ("basis", "used_gb", "expected"),
    [
        ("used", "40", "0.04"),
        ("used", None, "0.10"),  # nobody measured it: as if all were used
        ("allocated", "40", "0.10"),
    ],
)
def test_a_disk_bills_what_is_used_or_what_is_allocated(
    basis: str, used_gb: str | None, expected: str
) -> None:
    disk = meter("disk", usd="0.73", per="gb_month", basis=basis)
    usage = Usage(
        gpu_usd_per_hour=Decimal(0),
        disk_gb=Decimal(100),
        used_gb=None if used_gb is None else Decimal(used_gb),
    )
    assert total_usd_per_hour(hourly_lines(provider(disk), "running", usage)) == Decimal(expected)


def test_an_empty_used_disk_makes_no_line() -> None:
    disk = meter("disk", usd="0.73", per="gb_month", basis="used")
    usage = Usage(disk_gb=Decimal(100), used_gb=Decimal(0))
    assert [line.kind for line in hourly_lines(provider(disk), "running", usage)] == ["gpu"]


def test_an_offers_own_prices_take_the_place_of_the_providers() -> None:
    own = meter("disk", usd="1.46", per="gb_month")
    usage = Usage(gpu_usd_per_hour=Decimal(0), disk_gb=Decimal(100))
    owner = provider(meter("gpu"), DISK)
    theirs = hourly_lines(owner, "running", usage)
    ours = hourly_lines(owner, "running", usage, meters=(meter("gpu"), own))
    assert total_usd_per_hour(theirs) == Decimal("0.10")
    assert total_usd_per_hour(ours) == Decimal("0.20")


def test_a_line_with_two_readings_shows_the_greater() -> None:
    # 100 GB: 7.00 or 9.00 a month
    volume = meter(
        "network_volume", per="gb_month", tiers=THREE_TIERS, tier_mode="unknown", month_hours="720"
    )
    usage = Usage(volume_gb=Decimal(100))
    (_, line) = hourly_lines(provider(volume), "running", usage)
    check(line.usd_per_hour, "0.0125")


def hourly(kind: MeterKind, usd: str | None, *, certain: bool = True) -> HourlyLine:
    return HourlyLine(kind, None if usd is None else Decimal(usd), certain, "a test")


@pytest.mark.parametrize(
    ("lines", "total"),
    [
        ([], "0"),
        ([hourly("gpu", "2")], "2"),
        ([hourly("gpu", "2"), hourly("disk", "0.5")], "2.5"),
        ([hourly("gpu", "2"), hourly("disk", None)], None),
        ([hourly("disk", None), hourly("gpu", "2")], None),
        # what may not bill at all is left out, priced or not
        ([hourly("gpu", "2"), hourly("disk", "0.5", certain=False)], "2"),
        ([hourly("gpu", "2"), hourly("disk", None, certain=False)], "2"),
    ],
)
def test_a_total_needs_every_certain_price(lines: list[HourlyLine], total: str | None) -> None:
    assert total_usd_per_hour(lines) == (None if total is None else Decimal(total))


# --- storage with a free part -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("gib", "expected"), [("1023", "0.00"), ("1024", "0.00"), ("1025", "0.09"), ("2024", "90.00")]
)
def test_a_volume_whose_first_part_is_free_bills_the_rest(gib: str, expected: str) -> None:
    # 0.09 a GiB and month, the first 1,024 GiB free
    volume = meter("network_volume", usd="0.09", per="gib_month", month_hours="720", free="1024")
    check(one(hourly_usd(volume, Decimal(gib))) * 720, expected)


# --- laws ---------------------------------------------------------------------------------------

law = settings(max_examples=40, deadline=None, derandomize=True, database=None)

times_us = st.integers(min_value=0, max_value=1_000 * HOUR)
sizes = st.decimals(min_value=0, max_value=50_000, places=3)
prices = st.decimals(min_value=0, max_value=10, places=4)
steps = st.one_of(st.none(), st.sampled_from(["0.000001", "1", "60", "300", "900", "3600"]))
minimums = st.one_of(st.none(), st.sampled_from(["0", "1", "60", "3600"]))
tier_lists = st.dictionaries(
    st.integers(min_value=1, max_value=60_000), prices, min_size=1, max_size=4
).map(
    lambda borders: [
        {"above": Decimal(above), "usd": usd}
        for above, usd in [(0, next(iter(borders.values()))), *sorted(borders.items())]
    ]
)


@law
@given(times_us, steps, minimums)
def test_law_billed_time_covers_used_time_by_less_than_step_and_minimum(
    used_us: int, step_s: str | None, minimum_s: str | None
) -> None:
    billed = billed_us(used_us, rounding(step_s=step_s, minimum_s=minimum_s))
    step_us = int(Decimal(step_s or "0.000001") * SECOND)
    minimum_us = int(Decimal(minimum_s or 0) * SECOND)
    assert used_us <= billed < used_us + step_us + minimum_us
    assert billed % step_us == 0
    assert billed == 0 or billed >= minimum_us


@law
@given(times_us, times_us, steps, minimums)
def test_law_more_time_is_never_billed_as_less(
    one_us: int, other_us: int, step_s: str | None, minimum_s: str | None
) -> None:
    rule = rounding(step_s=step_s, minimum_s=minimum_s)
    shorter, longer = sorted([one_us, other_us])
    assert billed_us(shorter, rule) <= billed_us(longer, rule)


@law
@given(times_us, times_us, steps, prices)
def test_law_more_hours_never_cost_less(
    one_us: int, other_us: int, step_s: str | None, usd: Decimal
) -> None:
    volume = meter("network_volume", usd=usd, per="gb_month", step_s=step_s)
    shorter, longer = sorted([one_us, other_us])
    cheap = held_usd(volume, Decimal(100), hours(shorter))
    assert cheap <= held_usd(volume, Decimal(100), hours(longer))


@law
@given(st.integers(min_value=0, max_value=100_000), st.sampled_from([1, 7, 60, 300, 900, 3_600]))
def test_law_whole_steps_stay_whole(count: int, step_s: int) -> None:
    held = hours(count * step_s * SECOND)
    assert abs(rounded_hours(held, Decimal(step_s)) - held) < Decimal("1e-12")
    # and a microsecond more is a step more
    more = rounded_hours(hours(count * step_s * SECOND + 1), Decimal(step_s))
    assert abs(more * 3_600 - (count + 1) * step_s) < Decimal("1e-9")


@law
@given(sizes, sizes, tier_lists, st.one_of(st.none(), sizes))
def test_law_more_gigabytes_never_cost_less_where_tiers_are_marginal(
    one_gb: Decimal, other_gb: Decimal, borders: object, free: Decimal | None
) -> None:
    egress = meter("egress", per="gb", tiers=borders, tier_mode="marginal", free=free)
    less, more = sorted([one_gb, other_gb])
    cheap, dear = one(data_usd(egress, less)), one(data_usd(egress, more))
    assert 0 <= cheap <= dear


@law
@given(sizes, tier_lists, st.sampled_from(["marginal", "whole", "unknown"]), sizes)
def test_law_bytes_never_earn_money(
    size_gb: Decimal, borders: object, mode: str, free: Decimal
) -> None:
    egress = meter("egress", per="gb", tiers=borders, tier_mode=mode, free=free)
    price = data_usd(egress, size_gb)
    assert price is not None
    least, greatest = price
    assert 0 <= least <= greatest


@law
@given(sizes, tier_lists)
def test_law_an_unknown_reading_lies_between_the_two_known_ones(
    amount: Decimal, borders: object
) -> None:
    readings = {
        mode: tiered(meter("egress", per="gb", tiers=borders, tier_mode=mode), amount)
        for mode in ("marginal", "whole", "unknown")
    }
    known = [one(readings["marginal"]), one(readings["whole"])]
    assert readings["unknown"] == (min(known), max(known))


@law
@given(
    st.lists(st.tuples(st.sampled_from(["gpu", "disk", "fee"]), prices, st.booleans()), max_size=6),
    st.booleans(),
)
def test_law_the_total_is_the_sum_of_its_lines_or_unknown(
    drawn: list[tuple[MeterKind, Decimal, bool]], one_more_is_unknown: bool
) -> None:
    lines = [HourlyLine(kind, usd, certain, "a test") for kind, usd, certain in drawn]
    if one_more_is_unknown:
        lines.append(HourlyLine("volume", None, True, "a test"))
        assert total_usd_per_hour(lines) is None
    else:
        assert total_usd_per_hour(lines) == sum(usd for _, usd, certain in drawn if certain)


@law
@given(prices, sizes, sizes, prices, st.sampled_from(["672", "720", "730"]))
def test_law_the_quoted_disk_gives_the_headline_and_there_and_back_is_nothing(
    headline: Decimal, quoted_gb: Decimal, disk_gb: Decimal, usd: Decimal, month: str
) -> None:
    def again(price: Decimal, before: Decimal, after: Decimal) -> Decimal:
        return requote(
            price,
            quoted_disk_gb=before,
            disk_gb=after,
            usd_per_gb_month=usd,
            month_hours=Decimal(month),
        )

    assert again(headline, quoted_gb, quoted_gb) == headline
    there = again(headline, quoted_gb, disk_gb)
    assert abs(again(there, disk_gb, quoted_gb) - headline) < Decimal("1e-15")
    assert (there >= headline) is (disk_gb >= quoted_gb or usd == 0)
