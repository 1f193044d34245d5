"""Time on another card and on several: the rule by hand on real cards, and laws over them all."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from makes import bundled, card

from costplan.predict import (
    SAME,
    Factor,
    card_factor,
    count_factor,
    peak_tflops,
    rough_factor,
    speedup,
    time_factor,
)
from costplan.records.cards import Card, Precision

if TYPE_CHECKING:
    from collections.abc import Sequence


def made(key: str, *, peak: float = 100, bandwidth: float = 1_000) -> Card:
    """Return a card of which only the half-precision peak and the bandwidth matter."""
    return Card.model_validate(
        {
            "key": key,
            "name": key,
            "vendor": "NVIDIA",
            "architecture": "none",
            "compute_capability": "8.0",
            "memory_gb": 24,
            "bandwidth_gb_per_s": bandwidth,
            "peak_tflops": {
                "fp32": 10,
                "fp16_fp32_accumulate": peak,
                "origin": "datasheet",
                "source": "a test",
            },
            "boost_mhz": 1_000,
            "power_watts": 300,
            "bf16": True,
            "source": "a test",
        }
    )


def close(found: Factor, stated: Sequence[float]) -> None:
    assert found == pytest.approx(tuple(stated), rel=1e-5)


# --- one card to another --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("key", "precision", "peak"),
    [
        ("RTX-4090", "amp", 330.3),  # the peak with fp16 accumulation, not 165.2
        ("RTX-4090", "fp16", 330.3),
        ("RTX-4090", "bf16", 330.3),
        ("RTX-4090", "tf32", 82.6),
        ("RTX-4090", "fp32", 82.6),
        ("T4", "amp", 65.1),
        ("T4", "bf16", 8.1),  # has no bf16: the vector units do it
        ("T4", "tf32", 8.1),  # has no tf32
        ("GTX-1080-TI", "amp", 11.3),  # has no tensor units
        ("MI300X", "amp", 1307.4),
        ("MI300X", "tf32", 653.7),
    ],
)
def test_a_precision_runs_at_the_best_peak_that_the_card_has(
    key: str, precision: Precision, peak: float
) -> None:
    assert peak_tflops(card(key), precision) == peak


def test_a_3090_takes_158_percent_of_a_4090s_time() -> None:
    # sqrt(330.3/142.3 x 1008/936.2) = sqrt(2.321153 x 1.076693) = sqrt(2.499169) = 1.580876
    # low x 0.65 = 1.027569, high x 1.52 = 2.402932
    found = rough_factor(card("RTX-4090"), card("RTX-3090"), "amp")
    close(found, (1.027569, 1.580876, 2.402932))


def test_a_4090_takes_63_percent_of_a_3090s_time() -> None:
    # 1/1.580876 = 0.632561; x 0.65 = 0.411164; x 1.52 = 0.961492
    found = rough_factor(card("RTX-3090"), card("RTX-4090"), "amp")
    close(found, (0.411164, 0.632561, 0.961492))


def test_in_single_precision_the_vector_units_count() -> None:
    # sqrt(82.6/35.6 x 1008/936.2) = sqrt(2.320225 x 1.076693) = sqrt(2.498170) = 1.580560
    assert rough_factor(card("RTX-4090"), card("RTX-3090"), "fp32").expected == pytest.approx(
        1.580560, rel=1e-5
    )


@pytest.mark.parametrize("precision", get_args(Precision))
def test_the_same_card_is_not_scaled(precision: Precision) -> None:
    for each in bundled().cards.values():
        assert rough_factor(each, each, precision) == SAME == (1, 1, 1)


CARDS = st.sampled_from(sorted(bundled().cards.values(), key=lambda each: each.key))
PRECISIONS = st.sampled_from(get_args(Precision))


@settings(max_examples=60)
@given(CARDS, CARDS, PRECISIONS)
def test_there_and_back_is_the_same_time(a: Card, b: Card, precision: Precision) -> None:
    there, back = rough_factor(a, b, precision), rough_factor(b, a, precision)
    assert math.isclose(there.expected * back.expected, 1)


@settings(max_examples=60)
@given(CARDS, CARDS, PRECISIONS)
def test_another_card_has_a_range_and_the_same_one_has_none(
    a: Card, b: Card, precision: Precision
) -> None:
    low, expected, high = rough_factor(a, b, precision)
    if a.key == b.key:
        assert low == expected == high == 1
    else:
        assert 0 < low < expected < high
        assert low == pytest.approx(0.65 * expected)
        assert high == pytest.approx(1.52 * expected)


# --- names that leave the card open ---------------------------------------------------------------

ONE = made("one")
FAST = made("fast", peak=400)  # sqrt(100/400) = 0.5 of the time
SLOW = made("slow", peak=25)  # sqrt(100/25) = 2 times


@pytest.mark.parametrize(
    ("measured", "wanted", "factor"),
    [
        # fast gives low 0.65 x 0.5, slow gives high 1.52 x 2; expected sqrt(0.5 x 2)
        ([ONE], [FAST, SLOW], (0.325, 1.0, 3.04)),
        ([ONE], [SLOW, FAST], (0.325, 1.0, 3.04)),
        ([FAST, SLOW], [ONE], (0.325, 1.0, 3.04)),
        # one of the variants is the measured card itself: exactly 1 with it,
        # 0.325/0.5/0.76 with fast: expected sqrt(0.5)
        ([ONE], [ONE, FAST], (0.325, 0.707107, 1.0)),
        # the same, with a slower one: 1.3/2/3.04, expected sqrt(2)
        ([ONE], [ONE, SLOW], (1.0, 1.414214, 3.04)),
        # open on both sides, and the two may differ: 1, 1, 4 (fast to slow) and 0.25 (slow to fast)
        ([FAST, SLOW], [FAST, SLOW], (0.1625, 1.0, 6.08)),
        ([ONE], [ONE], (1.0, 1.0, 1.0)),
    ],
)
def test_the_slowest_variant_gives_high_and_the_fastest_low(
    measured: list[Card], wanted: list[Card], factor: tuple[float, float, float]
) -> None:
    close(card_factor(measured, wanted, "amp"), factor)


def test_an_h100_without_form_factor_spans_pcie_to_sxm() -> None:
    # from an RTX-4090 (330.3 and 1008):
    # SXM sqrt(330.3/989.4 x 1008/3352) = sqrt(0.333839 x 0.300716) = 0.316847
    # PCIE sqrt(330.3/756 x 1008/2039) = sqrt(0.436905 x 0.494360) = 0.464745
    # NVL sqrt(330.3/835 x 1008/3938) = sqrt(0.395569 x 0.255968) = 0.318204
    # low 0.65 x 0.316847 = 0.205951; high 1.52 x 0.464745 = 0.706412
    # expected (0.316847 x 0.464745 x 0.318204)^(1/3) = 0.0468564^(1/3) = 0.360515
    found = card_factor([card("RTX-4090")], bundled().variants("H100"), "amp")
    assert found == pytest.approx((0.205951, 0.360515, 0.706412), rel=1e-4)


@pytest.mark.parametrize("key", sorted(bundled().unstated))
def test_an_open_name_holds_each_of_its_variants(key: str) -> None:
    variants = bundled().variants(key)
    whole = card_factor([card("RTX-4090")], variants, "amp")
    for variant in variants:
        each = rough_factor(card("RTX-4090"), variant, "amp")
        assert whole.low <= each.low
        assert each.high <= whole.high


# --- several cards --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("count", "factor"),
    [
        (1, (1, 1, 1)),
        (2, (1.6, 1.92, 2.0)),
        (4, (2.9, 3.73, 4.0)),
        (8, (4.5, 7.31, 8.0)),
        # between 2 and 4, at ln(1.5)/ln(2) = 0.584963 of the way:
        # 1.6 x (2.9/1.6)^0.584963 = 1.6 x 1.416064; 1.92 x (3.73/1.92)^0.584963 = 1.92 x 1.474715
        (3, (2.265702, 2.831453, 3.0)),
        # beyond 8 as from 4 to 8: 4.5^2/2.9, 7.31^2/3.73, 8^2/4
        (16, (6.982759, 14.326032, 16.0)),
    ],
)
def test_gpus_of_one_machine_reach_the_measured_multiples(
    count: int, factor: tuple[float, float, float]
) -> None:
    close(speedup(count), factor)


@pytest.mark.parametrize(
    ("measured", "wanted", "factor"),
    [
        # 1/2.0, 1/1.92, 1/1.6
        (1, 2, (0.5, 0.520833, 0.625)),
        # 1/4.0, 1/3.73, 1/2.9
        (1, 4, (0.25, 0.268097, 0.344828)),
        # 1/8.0, 1/7.31, 1/4.5
        (1, 8, (0.125, 0.136799, 0.222222)),
        (2, 1, (1.6, 1.92, 2.0)),
        (8, 1, (4.5, 7.31, 8.0)),
        # 4.0/8.0, 3.73/7.31, 2.9/4.5
        (4, 8, (0.5, 0.510260, 0.644444)),
        # 4.5/2.9, 7.31/3.73, 8.0/4.0
        (8, 4, (1.551724, 1.959786, 2.0)),
    ],
)
def test_more_gpus_take_less_time_and_fewer_more(
    measured: int, wanted: int, factor: tuple[float, float, float]
) -> None:
    close(count_factor(measured, wanted), factor)


@pytest.mark.parametrize("count", [1, 2, 3, 4, 8, 16, 1024])
def test_the_same_count_is_not_scaled(count: int) -> None:
    assert count_factor(count, count) == (1, 1, 1)


@settings(max_examples=60)
@given(st.integers(1, 1024))
def test_n_gpus_are_as_fast_as_one_at_least_and_as_n_at_most(count: int) -> None:
    low, expected, high = speedup(count)
    assert 1 <= low <= expected <= high <= count


@settings(max_examples=60)
@given(st.integers(1, 1023))
def test_one_gpu_more_is_never_slower(count: int) -> None:
    for fewer, more in zip(speedup(count), speedup(count + 1), strict=True):
        assert fewer <= more * (1 + 1e-12)


@settings(max_examples=60)
@given(st.integers(1, 1024), st.integers(1, 1024))
def test_counts_there_and_back_are_the_same_time(a: int, b: int) -> None:
    there, back = count_factor(a, b), count_factor(b, a)
    assert there.low <= there.expected <= there.high
    assert math.isclose(there.expected * back.expected, 1)


# --- both -----------------------------------------------------------------------------------------


def test_card_and_count_multiply() -> None:
    # 1x 4090 to 2x 3090: 1.580876/1.92, 1.027569/2.0, 2.402932/1.6
    found = time_factor(
        measured=[card("RTX-4090")],
        measured_count=1,
        wanted=[card("RTX-3090")],
        wanted_count=2,
        precision="amp",
    )
    close(found, (0.513785, 0.823373, 1.501833))


@pytest.mark.parametrize(
    ("key", "count"), [*itertools.product(("RTX-4090", "T4", "MI300X"), (1, 3, 8))]
)
def test_the_measured_machine_itself_is_not_scaled(key: str, count: int) -> None:
    found = time_factor(
        measured=[card(key)],
        measured_count=count,
        wanted=[card(key)],
        wanted_count=count,
        precision="amp",
    )
    assert found == (1, 1, 1)
