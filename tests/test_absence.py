"""Laws of absence: closed forms against quadrature, leaving times against a search."""

from __future__ import annotations

import math
from itertools import combinations_with_replacement
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from costplan.absence import (
    Exponential,
    History,
    Law,
    Lognormal,
    Weibull,
    best_leave_h,
    clamped,
    gamma_share,
    history,
    leave_times,
    phi,
)
from costplan.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

# The founding box: 3.4828 $/h, 50 $ a month of 720 h, 2 minutes to restart, 0.9807 $ to rebuild.
# T1 = 0.116093/3.413356 and T2 = (0.9807 - 0.116093)/0.0694444
T1_H, T2_H = 0.0340115, 12.450336
HOURS = st.integers(1, 400).map(lambda quarter: quarter / 4)


def simpson(f: Callable[[float], float], low: float, high: float, parts: int = 2_000) -> float:
    """Integrate by Simpson's rule."""
    width = (high - low) / parts
    inner = sum((4 if i % 2 else 2) * f(low + i * width) for i in range(1, parts))
    return (f(low) + inner + f(high)) * width / 3


def away_h(law: Law, t: float) -> float:
    """Integrate P(T > u) over [0, t], with u = t x^4 because a Weibull starts too steeply."""
    return simpson(lambda x: (1 - law.back(t * x**4)) * 4 * t * x**3, 0, 1)


LAWS: list[Law] = [
    Exponential(4),
    Exponential(4, 0.05),
    Weibull(0.5, 4),
    Weibull(0.7, 12, 0.1),
    Weibull(1, 8),
    Weibull(2, 8),
    Lognormal(math.log(8), 1),
    Lognormal(math.log(3), 0.5, 0.05),
]


@pytest.mark.parametrize("law", LAWS, ids=repr)
@pytest.mark.parametrize("t", [0.01, 0.5, 4, 16, 100])
def test_the_hours_held_are_the_area_under_the_share_still_away(law: Law, t: float) -> None:
    assert law.held_h(t) == pytest.approx(away_h(law, t), rel=1e-6)


@pytest.mark.parametrize(
    ("law", "hours"),
    [
        (Lognormal(math.log(8), 1), 8.91096),
        (Weibull(0.5, 4), 4.75195),
        # 0.95 x 4 (1 - e^-4) + 0.05 x 16 = 3.73040 + 0.8
        (Exponential(4, 0.05), 4.53040),
    ],
)
def test_the_hours_held_at_sixteen_are_the_frozen_ones(law: Law, hours: float) -> None:
    assert law.held_h(16) == pytest.approx(hours, abs=5e-6)


@pytest.mark.parametrize(
    ("law", "mean_h"),
    [
        (Exponential(4), 4.0),
        (Weibull(0.5, 4), 8.0),  # 4 x Gamma(3) = 4 x 2
        (Weibull(1, 8), 8.0),
        (Lognormal(0, 1), 1.6487212707),  # e^(1/2)
        (history([2, 4, 9]), 5.0),
    ],
)
def test_without_a_border_the_hours_held_are_the_mean(law: Law, mean_h: float) -> None:
    assert law.held_h(math.inf) == pytest.approx(mean_h)
    assert law.back(math.inf) == pytest.approx(1)


@pytest.mark.parametrize(
    "law", [Exponential(4, 0.05), Weibull(0.5, 4, 0.05), Lognormal(0, 1, 0.05),
            history([1, 2], never=0.05)],
)  # fmt: skip
def test_who_may_never_come_back_is_held_for_ever_and_never_wholly_back(law: Law) -> None:
    assert law.held_h(math.inf) == math.inf
    assert law.back(math.inf) == pytest.approx(0.95)
    assert law.held_h(0) == 0
    assert law.back(0) == 0


# --- leaving times -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mean_h", "first_h", "then_h"),
    [
        # memoryless: below the border for ever, from it on at once; T1 = 2.04 min, T2 = 12.45 h
        (0.0340, math.inf, math.inf),
        (0.0341, 0, math.inf),
        (12.45, 0, math.inf),
        (12.4504, 0, 0),
    ],
)
def test_a_memoryless_absence_is_decided_at_once(
    mean_h: float, first_h: float, then_h: float
) -> None:
    assert Exponential(mean_h).leave_h(T1_H) == first_h
    assert Exponential(mean_h).leave_h(T2_H) == then_h


@pytest.mark.parametrize(
    ("law", "leave_h"),
    [
        # 4 ln(19 (12.4503/4 - 1)) = 4 ln 40.1391
        (Exponential(4, 0.05), 14.769),
        # 8 ln(19 (12.4503/8 - 1)) = 8 ln 10.5696
        (Exponential(8, 0.05), 18.864),
        (Exponential(12.4504, 0.05), 0),
        # 12 ln(1 x (12.4503/12 - 1)) is below 0
        (Exponential(12, 0.5), 0),
        (Exponential(4, 1), 0),
        # 4 (0.5 x 12.450336/4)^2 = 4 x 1.556292^2
        (Weibull(0.5, 4), 9.6882),
        (Weibull(1, 12.4), math.inf),
        (Weibull(1, 12.5), 0),
        # a rising hazard is waited for to the end, or not at all: mean 8 x Gamma(1.5) = 7.09
        (Weibull(2, 8), math.inf),
        (Weibull(2, 15), 0),  # mean 15 x 0.886227 = 13.29 > 12.45
    ],
)
def test_a_stopped_box_is_left_when_the_hazard_falls_below_the_border(
    law: Law, leave_h: float
) -> None:
    assert law.leave_h(T2_H) == pytest.approx(leave_h, abs=6e-4)


@pytest.mark.parametrize("law", LAWS, ids=repr)
@pytest.mark.parametrize("bound_h", [T1_H, 1.0, T2_H, 106.1])
def test_no_time_on_a_grid_is_better_than_the_leaving_time(law: Law, bound_h: float) -> None:
    def cost(t: float) -> float:
        return law.held_h(t) - bound_h * law.back(t)

    grid = [0.0, *(10 ** (i / 100 - 3) for i in range(700))]
    assert cost(law.leave_h(bound_h)) <= min(map(cost, grid)) + 1e-9


@pytest.mark.parametrize("bound_h", [2.0, 6.0, T2_H, 20.0])
def test_the_search_finds_what_the_closed_forms_say(bound_h: float) -> None:
    for law in (Exponential(4, 0.05), Weibull(0.5, 4), Weibull(0.7, 6)):
        assert best_leave_h(law, bound_h) == pytest.approx(law.leave_h(bound_h), rel=1e-3)


def test_a_lognormal_is_left_at_the_later_time_at_which_its_hazard_is_the_border() -> None:
    t = Lognormal(math.log(3), 1).leave_h(6)
    z = math.log(t / 3)
    density = math.exp(-(z**2) / 2) / math.sqrt(2 * math.pi)
    assert density / (t * phi(-z)) == pytest.approx(1 / 6, rel=1e-3)
    assert t > 3


def test_a_shape_hardly_below_one_is_left_like_a_memoryless_absence() -> None:
    assert Weibull(0.999, 4).leave_h(20) > 1e6  # 4 x 4.995^1000: beyond any number


@given(
    st.one_of(
        st.builds(Exponential, HOURS, st.sampled_from([0.0, 0.05, 0.5])),
        st.builds(Weibull, st.sampled_from([0.4, 0.7, 0.9]), HOURS),
        st.builds(history, st.lists(HOURS, min_size=1, max_size=8)),
    ),
    HOURS,
    HOURS,
)
def test_a_later_border_is_never_left_earlier(law: Law, one_h: float, other_h: float) -> None:
    low, high = sorted((one_h, other_h))
    assert law.leave_h(low) <= law.leave_h(high)


# --- recorded absences ---------------------------------------------------------------------


def test_those_still_away_count_as_longer_than_they_are() -> None:
    law = history([9, 2, 5, 5], away=[6, 3])
    # at 2 h one of 6 returns: 5/6; at 5 h two of the 4 left: 5/12; at 9 h the last one: 0
    assert [hour for hour, _ in law.steps] == [2, 5, 9]
    assert [share for _, share in law.steps] == pytest.approx([5 / 6, 5 / 12, 0])
    assert law.absences == 6
    # 2 + 3 x 5/6 + 4 x 5/12 = 37/6
    assert law.held_h(9) == pytest.approx(37 / 6)
    assert law.held_h(math.inf) == pytest.approx(37 / 6)
    # 2 + 2 x 5/6
    assert law.held_h(4) == pytest.approx(11 / 3)
    assert [law.back(t) for t in (1.99, 2, 4.99, 5, 9)] == pytest.approx(
        [0, 1 / 6, 1 / 6, 7 / 12, 1]
    )


def test_who_is_still_away_at_the_hour_of_a_return_was_away_until_then() -> None:
    law = history([5], away=[5])
    assert law.steps == ((5, 0.5),)
    assert law.held_h(10) == pytest.approx(5 + 5 * 0.5)
    assert law.held_h(math.inf) == math.inf
    assert law.back(1e9) == 0.5


@given(st.lists(HOURS, min_size=1, max_size=20), HOURS)
def test_where_all_came_back_the_law_is_the_plain_count(hours: list[float], t: float) -> None:
    law = history(hours)
    assert law.back(t) == pytest.approx(sum(h <= t for h in hours) / len(hours), abs=1e-12)
    assert law.held_h(t) == pytest.approx(sum(min(h, t) for h in hours) / len(hours))


@pytest.mark.parametrize(
    ("hours", "away"),
    [([], []), ([], [3.0]), ([0.0], []), ([-1.0], []), ([1.0], [0.0]), ([math.inf], []),
     ([1.0, math.nan], [])],
)  # fmt: skip
def test_a_history_without_usable_absences_is_refused(
    hours: list[float], away: list[float]
) -> None:
    with pytest.raises(InputError, match="more than 0 hours"):
        history(hours, away=away)


def _brute_force(
    law: History, bounds: Sequence[float], saved: Sequence[float]
) -> tuple[float, Callable[[Sequence[float]], float]]:
    points = [0.0, *(hour for hour, _ in law.steps)]

    def cost(times: Sequence[float]) -> float:
        return sum(
            s * (law.held_h(t) - b * law.back(t))
            for s, b, t in zip(saved, bounds, times, strict=True)
        )

    return min(map(cost, combinations_with_replacement(points, len(bounds)))), cost


@given(
    st.lists(HOURS, min_size=1, max_size=7),
    st.lists(HOURS, max_size=3),
    st.lists(HOURS, min_size=1, max_size=3),
    st.lists(st.integers(1, 100).map(float), min_size=3, max_size=3),
    st.sampled_from([0.0, 0.05]),
)
def test_no_schedule_at_recorded_hours_is_better_than_the_one_found(
    ended: list[float], away: list[float], bounds: list[float], saved: list[float], never: float
) -> None:
    # Borders in any order: those that an envelope never has are the ones that cross.
    # Without a stated chance of never, what comes after the last return is unknown, not never.
    law = history(ended, away=away if never else [], never=never)
    least, cost = _brute_force(law, bounds, saved[: len(bounds)])
    times = leave_times(law, bounds, saved[: len(bounds)])
    assert times == sorted(times)
    assert cost(times) == pytest.approx(least, abs=1e-9)


@pytest.mark.parametrize(
    ("times", "share", "kept"),
    [
        # borders of 8 and 12 h: [2, 32] and [3, 48], or [1, 64] and [1.5, 96]
        ([0, math.inf], 0.25, [2, 48]),
        ([1.99, 2.99], 0.25, [2, 3]),
        ([2, 48], 0.25, [2, 48]),
        ([32.1, 48.1], 0.25, [32, 48]),
        ([0, math.inf], 0.125, [1, 96]),
    ],
)
def test_a_learnt_time_stays_near_its_border(
    times: list[float], share: float, kept: list[float]
) -> None:
    assert clamped(times, [8, 12], share) == pytest.approx(kept)


# --- functions -----------------------------------------------------------------------------


@pytest.mark.parametrize("x", [0.01, 0.5, 1.49, 1.51, 1.99, 2.01, 2.99, 3.01, 10, 50])
def test_the_gamma_share_is_right_on_both_sides_of_its_border(x: float) -> None:
    assert gamma_share(0.5, x) == pytest.approx(math.erf(math.sqrt(x)), rel=1e-12)
    assert gamma_share(1, x) == pytest.approx(-math.expm1(-x), rel=1e-12)
    assert gamma_share(2, x) == pytest.approx(1 - (1 + x) * math.exp(-x), rel=1e-10)


@pytest.mark.parametrize("x", [0, -1])
def test_the_gamma_share_begins_at_nothing(x: float) -> None:
    assert gamma_share(2, x) == 0


@pytest.mark.parametrize(("z", "share"), [(0, 0.5), (1.959964, 0.975), (-1.959964, 0.025)])
def test_the_normal_distribution_has_its_known_values(z: float, share: float) -> None:
    assert phi(z) == pytest.approx(share, abs=1e-6)
