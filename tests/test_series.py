"""Step times as a sample."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from costplan.profiler.series import mean_of, part_means, t_95, warmup_steps

TIMES = st.lists(st.floats(1e-6, 1e3), min_size=2, max_size=200)


def test_the_mean_of_two_has_the_interval_of_one_degree_of_freedom() -> None:
    found = mean_of([1.0, 3.0])
    # 12.706 x sqrt(2) / sqrt(2)
    assert (found.value, found.steps) == (2.0, 2)
    assert found.high == pytest.approx(14.706)
    assert found.low == 0.0  # no step takes less than nothing


def test_equal_steps_are_known_exactly() -> None:
    found = mean_of([0.5] * 30)
    assert (found.low, found.value, found.high, found.half_share) == (0.5, 0.5, 0.5, 0.0)


def test_one_step_says_nothing_of_its_error() -> None:
    assert mean_of([0.5]).high == math.inf
    assert mean_of([0.5]).half_share == math.inf


def test_neighbours_that_agree_do_not_make_the_interval_too_narrow() -> None:
    """Slow and fast minutes: single steps would look like 200 witnesses, and are two."""
    waves = [1.0] * 100 + [2.0] * 100
    assert mean_of(waves).half_share > 2 * mean_of([1.0, 2.0] * 100).half_share


def test_parts_are_of_one_length_and_the_last_ones_are_kept() -> None:
    # 45 steps: 22 parts of 2, the first step left out.
    means = part_means([float(n) for n in range(45)])
    assert len(means) == 22
    assert (means[0], means[-1]) == (1.5, 43.5)


@pytest.mark.parametrize(
    ("workers", "prefetch", "steps"), [(0, 0, 5), (1, 2, 5), (2, 2, 6), (8, 4, 34)]
)
def test_a_full_queue_hides_a_slow_loader_for_so_long(
    workers: int, prefetch: int, steps: int
) -> None:
    assert warmup_steps(workers, prefetch) == steps


@given(TIMES)
def test_the_mean_lies_in_its_interval_and_between_the_extremes(times_s: list[float]) -> None:
    found = mean_of(times_s)
    assert found.low <= found.value <= found.high
    assert min(times_s) * (1 - 1e-9) <= found.value <= max(times_s) * (1 + 1e-9)


@given(TIMES, st.floats(0.01, 100))
def test_another_unit_changes_nothing_but_the_unit(times_s: list[float], factor: float) -> None:
    one, other = mean_of(times_s), mean_of([each * factor for each in times_s])
    assert other.value == pytest.approx(one.value * factor)
    assert other.half_share == pytest.approx(one.half_share, rel=1e-6, abs=1e-9)


def test_more_freedom_never_widens() -> None:
    values = [t_95(n) for n in range(1, 60)]
    assert values == sorted(values, reverse=True)
