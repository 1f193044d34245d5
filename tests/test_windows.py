"""How long a quiet box is watched: the published table, the least cost, the default."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_idling import box

from costplan.errors import InputError, UnknownError
from costplan.windows import default_window_s, window_cost_usd, window_s

SAVED = 3.413356  # 3.4828 - 0.069444 $/h
FALSE_STOP = 2.5


@pytest.mark.parametrize(
    ("gap_min", "percent", "minutes"),
    [
        # g ln[(1 - pi) 2.5 / (pi g/60 3.413356)]; for g = 1, pi = 1 %: ln(2.475/0.000568893)
        (1, 1, 8), (1, 5, 7), (1, 20, 5),  # 8.378, 6.728, 5.168
        (3, 1, 22), (3, 5, 17), (3, 20, 12),  # 21.84, 16.89, 12.21
        (10, 1, 61), (10, 5, 44), (10, 20, 29),  # 60.75, 44.25, 28.65
    ],
)  # fmt: skip
def test_the_window_grows_with_the_gap_and_shrinks_with_the_chance_of_the_end(
    gap_min: float, percent: float, minutes: int
) -> None:
    found = window_s(gap_min * 60, percent / 100, FALSE_STOP, SAVED) / 60
    assert round(found) == minutes


def test_three_minutes_and_one_end_in_fifty_make_twenty_minutes() -> None:
    # 3 ln(0.98 x 2.5 / (0.02 x 0.05 x 3.413356)) = 3 ln 717.768 = 3 x 6.57614
    assert window_s(180, 0.02, FALSE_STOP, SAVED) / 60 == pytest.approx(19.7284, abs=1e-3)


@pytest.mark.parametrize(
    ("minutes", "usd"),
    [
        # 0.02 w/60 3.413356 + 2.45 e^(-w/3)
        (0, 2.45),
        (5, 0.47),  # 0.005689 + 2.45 x 0.188876 = 0.468434
        (10, 0.10),  # 0.011378 + 2.45 x 0.035674 = 0.098779
        (20, 0.026),  # 0.022756 + 2.45 x 0.001273 = 0.025874
        (60, 0.068),  # 0.068267 + 5e-9
    ],
)
def test_a_quiet_period_costs_false_stops_first_and_watching_later(
    minutes: float, usd: float
) -> None:
    found = cost(minutes * 60)
    assert round(found, 3 if usd < 0.1 else 2) == usd


def cost(watched_s: float, gap_s: float = 180, end_share: float = 0.02) -> float:
    return window_cost_usd(
        watched_s,
        gap_s=gap_s,
        end_share=end_share,
        false_stop_usd=FALSE_STOP,
        saved_usd_per_hour=SAVED,
    )


@given(st.floats(10, 7_200), st.floats(0.001, 0.9), st.floats(0, 36_000))
def test_no_other_window_costs_less(gap_s: float, end_share: float, other_s: float) -> None:
    best = window_s(gap_s, end_share, FALSE_STOP, SAVED)
    assert cost(best, gap_s, end_share) <= cost(other_s, gap_s, end_share) + 1e-12


def test_the_least_cost_on_a_grid_of_seconds_is_the_window() -> None:
    best = min(range(3_600), key=cost)
    assert best == pytest.approx(window_s(180, 0.02, FALSE_STOP, SAVED), abs=1)


def test_where_a_false_stop_costs_next_to_nothing_nobody_watches() -> None:
    # 0.8 x 0.01 = 0.008 $ and 0.2 x 180/3600 x 3.413356 = 0.034134 $
    assert window_s(180, 0.2, 0.01, SAVED) == 0
    assert window_s(180, 0.2, 0, SAVED) == 0


@pytest.mark.parametrize(
    "words",
    [
        (0, 0.02, 2.5, 3), (-1, 0.02, 2.5, 3), (math.inf, 0.02, 2.5, 3), (math.nan, 0.02, 2.5, 3),
        (180, 0, 2.5, 3), (180, 1, 2.5, 3), (180, -0.1, 2.5, 3), (180, 0.02, -1, 3),
        (180, 0.02, math.inf, 3), (180, 0.02, 2.5, 0), (180, 0.02, 2.5, -1),
    ],
)  # fmt: skip
def test_what_is_no_length_chance_or_price_is_refused(words: tuple[float, ...]) -> None:
    with pytest.raises(InputError):
        window_s(*words)


def test_a_window_below_nothing_has_no_cost() -> None:
    with pytest.raises(InputError, match="window of -1"):
        cost(-1)


# --- the default of a box ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("interval_s", "minutes"),
    [
        # a false stop: 0.116093 + 0.7 x 3.4828 = 2.554053 $
        # 3 ln(0.98 x 2.554053 / (0.02 x 0.05 x 3.413356)) = 3 ln 733.287 = 3 x 6.59754
        (None, 19.79), (60, 19.79), (180, 19.79),
        (360, 35.43),  # 6 ln 366.644 = 6 x 5.90439
        (1_200, 94.01),  # 20 ln 109.993 = 20 x 4.70042
        (1_800, 120),  # 30 ln 73.3287 = 128.8: two hours are the most
        (86_400, 120),
    ],
)  # fmt: skip
def test_the_founding_box_is_watched_twenty_minutes_or_longer_with_slow_epochs(
    interval_s: float | None, minutes: float
) -> None:
    assert default_window_s(box(), interval_s) / 60 == pytest.approx(minutes, abs=0.01)


@pytest.mark.parametrize(
    ("changed", "minutes"),
    [
        # no stop: a destroy saves the whole rate: 3 ln(2.502972/0.0034828) = 3 x 6.57740
        ({"stop": None}, 19.73),
        # a stop that bills more than running saves nothing
        ({"stopped_storage_usd_per_gb_month": Decimal(20)}, 120),
        # waiting at 1,000 $/h: (2/60 x 1003.4828 + 2.43796) x 0.98 / 0.0034134 = 10303.4
        ({"waiting_usd_per_hour": Decimal(1000)}, 27.72),
    ],
)
def test_what_is_saved_and_what_is_risked_move_the_default(
    changed: dict[str, Any], minutes: float
) -> None:
    assert default_window_s(box(**changed)) / 60 == pytest.approx(minutes, abs=0.01)


def test_a_disk_of_unknown_price_gives_no_window() -> None:
    with pytest.raises(UnknownError, match="no stated price"):
        default_window_s(box(storage_usd_per_gb_month=None))


@given(st.floats(1, 100_000), st.floats(1, 100_000))
def test_a_slower_run_is_never_watched_shorter_and_always_within_its_limits(
    one_s: float, other_s: float
) -> None:
    low, high = sorted((one_s, other_s))
    assert 300 <= default_window_s(box(), low) <= default_window_s(box(), high) <= 7_200
