"""Conversions: exact where they can be, and refused where they cannot."""

from __future__ import annotations

import math
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from costplan.errors import InputError
from costplan.units import (
    GB_PER,
    decimal,
    gigabytes,
    hours,
    microseconds,
    parse_duration_s,
    transfer_s,
)

HOUR_US = 3_600_000_000


@pytest.mark.parametrize(
    ("duration_s", "expected_us"),
    [
        (0, 0),
        (1, 1_000_000),
        (95.5, 95_500_000),
        (0.000001, 1),
        # Half a microsecond goes to the even neighbour, more than half goes up.
        (0.0000004, 0),
        (0.0000005, 0),
        (0.0000006, 1),
        (0.0000015, 2),
        (0.1, 100_000),  # no binary number is 0.1, and no microsecond is lost
        (3_600, HOUR_US),
        (31_536_000, 8_760 * HOUR_US),  # a year of 365 days
    ],
)
def test_seconds_become_whole_microseconds(duration_s: float, expected_us: int) -> None:
    assert microseconds(duration_s) == expected_us


@pytest.mark.parametrize("duration_s", [-1e-9, -1, math.inf, -math.inf, math.nan])
def test_a_duration_that_cannot_be_billed_is_an_input_error(duration_s: float) -> None:
    with pytest.raises(InputError, match="cannot be billed"):
        microseconds(duration_s)


def test_minus_zero_is_no_time() -> None:
    assert microseconds(-0.0) == 0


@pytest.mark.parametrize(
    ("duration_us", "expected"),
    [
        (0, "0"),
        (HOUR_US, "1"),
        (900_000_000, "0.25"),  # 15 of 60 minutes
        (36, "0.00000001"),  # 36 of 3.6 x 10^9
        (1_000 * HOUR_US, "1000"),
    ],
)
def test_microseconds_become_hours_exactly(duration_us: int, expected: str) -> None:
    assert hours(duration_us) == Decimal(expected)


def test_a_third_of_an_hour_is_cut_far_below_a_cent() -> None:
    # 20 minutes = 0.333... h; at $100 an hour the digits beyond the 28th are worth 10^-26 dollars.
    assert abs(hours(20 * 60 * 1_000_000) * 3 - 1) < Decimal("1e-27")


whole_us = st.integers(0, 10 * 8_766 * HOUR_US)  # ten years


@given(whole_us)
def test_law_whole_microseconds_survive_as_seconds(duration_us: int) -> None:
    assert microseconds(duration_us / 1_000_000) == duration_us


@given(whole_us)
def test_law_hours_hold_every_microsecond(duration_us: int) -> None:
    # 28 digits hold 3.2 x 10^14 microseconds with 13 digits to spare.
    assert abs(hours(duration_us) * HOUR_US - duration_us) < Decimal("1e-12")


@given(st.lists(st.floats(0, 100_000), max_size=20))
def test_law_the_phases_of_a_sum_are_the_sum_of_its_phases(phases_s: list[float]) -> None:
    parts_us = [microseconds(phase) for phase in phases_s]
    # In whichever order and grouping: whole numbers, so equal and not nearly equal.
    assert sum(reversed(parts_us)) == sum(parts_us)
    half = len(parts_us) // 2
    assert sum(parts_us[:half]) + sum(parts_us[half:]) == sum(parts_us)
    # And no phase is off by more than half a microsecond, nor by what floats lose in adding up.
    lost = abs(sum(parts_us) - math.fsum(phases_s) * 1_000_000)
    assert lost <= 0.5 * len(phases_s) + 0.001


@given(whole_us, whole_us)
def test_law_the_hours_of_a_sum_are_the_sum_of_the_hours(first: int, second: int) -> None:
    assert abs(hours(first) + hours(second) - hours(first + second)) < Decimal("1e-20")


@pytest.mark.parametrize(
    ("value", "expected"),
    [(0.1, "0.1"), (0.3, "0.3"), (380, "380"), (1e-7, "0.0000001"), (1e22, "1e22")],
)
def test_a_float_becomes_the_decimal_that_prints_the_same(value: float, expected: str) -> None:
    assert decimal(value) == Decimal(expected)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_law_a_float_comes_back_from_its_decimal(value: float) -> None:
    assert float(decimal(value)) == value


@pytest.mark.parametrize(
    ("unit", "expected"),
    [
        ("gb", "1"),
        ("gib", "1.073741824"),  # 1,024 x 1,024 x 1,024 = 1,073,741,824 bytes
        ("tb", "1000"),
        ("tb1024", "1024"),
        ("tib", "1099.511627776"),  # 1,024 times the GiB
    ],
)
def test_one_unit_has_these_gigabytes(unit: str, expected: str) -> None:
    assert gigabytes(Decimal(1), unit) == Decimal(expected)
    assert gigabytes(Decimal(0), unit) == 0
    assert gigabytes(Decimal("2.5"), unit) == Decimal(expected) * 5 / 2


def test_every_unit_has_a_row_in_the_table() -> None:
    assert set(GB_PER) == {"gb", "gib", "tb", "tb1024", "tib"}


def test_a_tebibyte_is_a_tenth_larger_than_a_terabyte() -> None:
    # 1.024 to the fourth = 1.0995; the terabyte that vast.ai bills lies between the two.
    assert GB_PER["tb"] < GB_PER["tb1024"] < GB_PER["tib"]
    assert GB_PER["tib"] == GB_PER["gib"] * 1024


@pytest.mark.parametrize(
    ("size_gb", "mbit_per_s", "expected_s"),
    [
        (0, 500, 0),
        (1, 8_000, 1),  # 8,000 Mbit are 1 GB
        (9, 500, 144),  # 72,000 Mbit / 500
        (100, 20, 40_000),  # 800,000 Mbit / 20: eleven hours of a home line
    ],
)
def test_a_transfer_takes_size_over_speed(
    size_gb: float, mbit_per_s: float, expected_s: float
) -> None:
    assert transfer_s(size_gb, mbit_per_s=mbit_per_s) == expected_s


@pytest.mark.parametrize(
    ("text", "expected_s"),
    [
        ("0s", 0),
        ("90s", 90),
        ("0.5s", 0.5),
        ("15m", 900),
        ("1h30m", 5_400),
        ("1.5h", 5_400),
        ("2d", 172_800),
        ("1d12h", 129_600),
        ("1d2h3m4s", 93_784),  # 86,400 + 7,200 + 180 + 4
        (" 1H 30M ", 5_400),
        ("30m1h", 5_400),
    ],
)
def test_a_duration_is_read_in_seconds(text: str, expected_s: float) -> None:
    assert parse_duration_s(text) == expected_s


@pytest.mark.parametrize(
    "text",
    [
        *("", " ", "5", "h", "h1", "-5m", "+5m", "1h30", "1.5.5h", ".5h", "1.h", "1,5h", "5ms"),
        *("5 minutes", "1e5s", "inf", "nan", "5m!", "1h\x00", "five minutes", "12:30"),
        *("\uff15m", "5 mi"),
    ],
)
def test_another_form_of_duration_is_an_input_error(text: str) -> None:
    with pytest.raises(InputError, match="is not a duration") as caught:
        parse_duration_s(text)
    assert caught.value.hint == "write 90s, 15m, 1h30m or 2d"


def test_a_duration_beyond_every_float_is_an_input_error() -> None:
    with pytest.raises(InputError):
        parse_duration_s("9" * 400 + "s")


@given(st.integers(0, 99), st.integers(0, 99), st.integers(0, 99), st.integers(0, 99))
def test_law_a_duration_is_the_sum_of_its_parts(d: int, h: int, m: int, s: int) -> None:
    parts = [f"{d}d", f"{h}h", f"{m}m", f"{s}s"]
    whole = parse_duration_s("".join(parts))
    assert whole == sum(parse_duration_s(part) for part in parts)
    assert whole == 86_400 * d + 3_600 * h + 60 * m + s


@given(st.text(max_size=12))
def test_law_any_text_is_a_duration_or_an_input_error(text: str) -> None:
    try:
        duration_s = parse_duration_s(text)
    except InputError:
        return
    assert duration_s >= 0
