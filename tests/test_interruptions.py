"""What interruptions add, by hand, and laws over intervals and lengths."""

from __future__ import annotations

import itertools
from math import isclose

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from costplan.interruptions import Interrupted, daly_interval_s, interrupted

HOUR = 3_600.0


# --- how often to write ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("write_s", "mean_h", "minutes"),
    [
        # sqrt(2 x 30 x 14400) = 929.52 s; ratio 30/28800 = 0.00104167;
        # x (1 + 0.0322749/3 + 0.00104167/9) = x 1.0108741 = 939.62; - 30 = 909.62 s
        (30, 4, 15.160),
        # sqrt(2 x 60 x 28800) = 1859.03 s (31.0 min: Young's first term); the same ratio:
        # x 1.0108741 = 1879.25; - 60 = 1819.25 s
        (60, 8, 30.321),
        # sqrt(2 x 1 x 86400) = 415.69; x (1 + 0.00240563/3 + 0.0000057870/9) = 416.03; - 1
        (1, 24, 6.917),
    ],
)
def test_dalys_interval_by_hand(write_s: float, mean_h: float, minutes: float) -> None:
    assert daly_interval_s(write_s, mean_h * HOUR) / 60 == pytest.approx(minutes, abs=0.001)


@pytest.mark.parametrize(("write_s", "mean_h", "minutes"), [(30, 4, 15.49), (60, 8, 30.98)])
def test_dalys_interval_is_near_youngs(write_s: float, mean_h: float, minutes: float) -> None:
    # sqrt(2 x write x mean): sqrt(864000) = 929.5 s, sqrt(3456000) = 1859.0 s
    assert daly_interval_s(write_s, mean_h * HOUR) / 60 == pytest.approx(minutes, rel=0.03)


@pytest.mark.parametrize(
    ("write_s", "interval_s"),
    [
        # just below twice the mean: sqrt(2 x 19.999 x 10) x (1 + 1/3 + 1/9) - 19.999 = 8.889
        (19.999, 8.889),
        (20.0, 10.0),
        (20.001, 10.0),
        (1_000.0, 10.0),
    ],
)
def test_where_writing_takes_two_lives_the_interval_is_one_life(
    write_s: float, interval_s: float
) -> None:
    assert daly_interval_s(write_s, 10) == pytest.approx(interval_s, abs=0.001)


@given(st.floats(0.01, 1_000), st.floats(60, 10**7))
def test_an_interval_is_never_nothing(write_s: float, mean_s: float) -> None:
    assert daly_interval_s(write_s, mean_s) > 0


@given(st.floats(1, 100), st.floats(4 * HOUR, 1_000 * HOUR), st.floats(0.1, 10))
def test_no_other_interval_ends_noticeably_sooner(
    write_s: float, mean_s: float, times: float
) -> None:
    def wall_s(interval_s: float | None) -> float:
        found = interrupted(
            1e6, write_s=write_s, mean_s=mean_s, restart_s=60, interval_s=interval_s
        )
        assert found is not None
        return 1e6 + found.writing_s + found.lost_s + found.restarts_s

    other_s = times * daly_interval_s(write_s, mean_s)
    assume(other_s < mean_s)
    assert wall_s(None) <= 1.01 * wall_s(other_s)


# --- what they add --------------------------------------------------------------------------------


def test_ten_hours_with_an_interruption_every_hundred_minutes_by_hand() -> None:
    # 36000 s, 10 s written every 1000 s: 360 s. Each of them loses (1000 + 10)/2 = 505 s and
    # restarts for 95 s: 600 of 6000 s are lost. Wall (36000 + 360)/0.9 = 40400 s, 6.73333 times:
    # lost 6.73333 x 505 = 3400.333, restarts 6.73333 x 95 = 639.667; with 360 that makes 4400
    found = interrupted(36_000, write_s=10, mean_s=6_000, restart_s=95, interval_s=1_000)
    assert found == pytest.approx((1_000, 360, 3_400.333, 639.667, 6.73333), rel=1e-5)


def test_an_interval_that_nobody_states_is_dalys() -> None:
    found = interrupted(36_000, write_s=30, mean_s=4 * HOUR, restart_s=0, interval_s=None)
    assert found is not None
    assert found.interval_s / 60 == pytest.approx(15.160, abs=0.001)


@pytest.mark.parametrize(
    ("restart_s", "ends"),
    [
        # half of 1000 + 10 is lost, 505 s; with 5495 s of restart that is the whole life of 6000 s
        (5_494, True),
        (5_495, False),
        (5_496, False),
    ],
)
def test_a_machine_that_lives_no_longer_than_its_restart_never_ends(
    restart_s: float, ends: bool
) -> None:
    found = interrupted(36_000, write_s=10, mean_s=6_000, restart_s=restart_s, interval_s=1_000)
    assert (found is not None) is ends


def test_a_run_shorter_than_its_interval_loses_no_more_than_itself() -> None:
    # ten minutes with a checkpoint every eight hours, taken back every four: at most 600 s are
    # there to be lost, so it ends
    found = interrupted(600, write_s=10, mean_s=4 * HOUR, restart_s=60, interval_s=8 * HOUR)
    assert found is not None
    assert found.lost_s <= found.times * 610


@st.composite
def runs(draw: st.DrawFn) -> dict[str, float]:
    return {
        "work_s": draw(st.floats(60, 10**6)),
        "write_s": draw(st.floats(1, 100)),
        "mean_s": draw(st.floats(4 * HOUR, 100 * HOUR)),
        "restart_s": draw(st.floats(0, HOUR)),
        "interval_s": draw(st.floats(60, HOUR)),
    }


def ends(run: dict[str, float]) -> Interrupted:
    work_s = run["work_s"]
    rest = {key: value for key, value in run.items() if key != "work_s"}
    found = interrupted(work_s, **rest)
    assert found is not None
    return found


def added_s(run: dict[str, float]) -> float:
    found = ends(run)
    return found.writing_s + found.lost_s + found.restarts_s


@settings(max_examples=40)
@given(runs())
def test_interruptions_come_over_the_whole_stretched_run(run: dict[str, float]) -> None:
    assert isclose(ends(run).times * run["mean_s"], run["work_s"] + added_s(run))


@settings(max_examples=40)
@given(runs(), st.sampled_from(("work_s", "restart_s")), st.floats(1, 3))
def test_a_longer_run_or_restart_never_adds_less(
    run: dict[str, float], key: str, times: float
) -> None:
    assert added_s(run) <= added_s({**run, key: times * run[key]}) * (1 + 1e-12)


@settings(max_examples=40)
@given(runs(), st.floats(1, 3))
def test_rarer_interruptions_never_add_more(run: dict[str, float], times: float) -> None:
    rarer = {**run, "mean_s": times * run["mean_s"]}
    assert added_s(rarer) <= added_s(run) * (1 + 1e-12)


@settings(max_examples=40)
@given(runs())
def test_every_part_is_positive(run: dict[str, float]) -> None:
    assert all(value >= 0 for value in ends(run))
    assert all(a <= b for a, b in itertools.pairwise((0, ends(run).times)))
