"""By when the way back must begin, so that the work is done in time."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_idling import BOXES, VOLUME, box, plan_of

from costplan.boxcosts import costs
from costplan.deadlines import in_time, latest_starts_h, way_back_h
from costplan.idling import Clocks, advise
from costplan.records.idle import Absence, Advice, Deadline, IdleBox

RESTART_H = 2 / 60
SETUP_H = 0.25


def due(hours: float, remaining: float = 10, reserve: float = 1) -> Clocks:
    return Clocks(Deadline(hours=hours, remaining_hours=remaining, reserve_hours=reserve))


def advice(hours: float, absence: Absence | None = None, **changed: Any) -> Advice:
    return advise(box(**changed), absence or Absence(), clocks=due(hours))


def latest_of(found: Advice) -> dict[str, float | None]:
    return {option.action: option.latest_start_h for option in found.options}


# --- by when -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changed", "action", "hours"),
    [
        ({}, "keep", 0),
        # a stopped box may not come back, and that is found out only then
        ({}, "stop", RESTART_H + SETUP_H),
        ({"gone_share": 0.1}, "stop", RESTART_H + SETUP_H),
        ({"gone_share": 0.0}, "stop", RESTART_H),
        ({"gone_share": 0.0, "gone_half_life_hours": 24.0}, "stop", RESTART_H + SETUP_H),
        ({"restart_minutes": None}, "stop", RESTART_H + SETUP_H),  # 2 minutes are assumed
        ({"restart_minutes": 10.0}, "stop", 10 / 60 + SETUP_H),
        ({}, "destroy", SETUP_H),
        ({"kept_data": VOLUME}, "keep-data", 5 / 60),
        ({"stop": "pause"}, "pause", RESTART_H + SETUP_H),
    ],
)
def test_the_way_back_takes_what_it_may_take(
    changed: dict[str, Any], action: str, hours: float
) -> None:
    assert way_back_h(box(**changed), action) == pytest.approx(hours)


def test_the_latest_start_is_the_deadline_less_work_reserve_and_way_back() -> None:
    # 36 - 10 - 1 = 25 h
    found = advice(36)
    assert latest_of(found) == pytest.approx(
        {"keep": 25, "stop": 25 - RESTART_H - SETUP_H, "destroy": 24.75}
    )
    assert (found.deadline_h, found.remaining_h, found.reserve_h) == (36, 10, 1)
    assert advise(box(), Absence()).deadline_h is None
    assert set(latest_of(advise(box(), Absence())).values()) == {None}


# --- the plan ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("hours", "plan"),
    [
        (36, [(0, "keep"), (0.034, "stop"), (12.45, "destroy"), (24.75, "start")]),
        # 23.70 - 11 - 0.25 = 12.45 h: a destroy at 12.4503 h could not be undone in time
        (23.70, [(0, "keep"), (0.034, "stop"), (12.417, "start")]),
        # 23.74 - 11 = 12.74 h: destroy by 12.49 h, and stop until 12.4567 h is past 12.4503 h
        (23.74, [(0, "keep"), (0.034, "stop"), (12.45, "destroy"), (12.49, "start")]),
        # 11.30 - 11 - 0.2833 = 0.0167 h: stop would come at 0.034 h
        (11.30, [(0, "keep"), (0.3, "start")]),
        (11.10, [(0, "keep"), (0.1, "start")]),
    ],
)
def test_the_plan_ends_with_the_moment_to_begin_the_way_back(
    hours: float, plan: list[tuple[float, str]]
) -> None:
    found = advice(hours)
    assert plan_of(found) == plan
    assert found.start_by_h == pytest.approx(plan[-1][0], abs=5e-4)
    assert found.guarantee is None  # who comes back later pays for more than the plan


def test_the_way_back_begins_before_a_clock_ends_the_last_state() -> None:
    # The stopped box is deleted after 10 h, so it is left an hour before that.
    # 20.05 - 11 = 9.05 h: destroy would have to be left by 8.80 h, stop (sure) by 9.0167 h
    found = advice(20.05, stop_expires_hours=10.0, gone_share=0.0)
    assert plan_of(found) == [(0, "keep"), (0.034, "stop"), (9, "start")]


def test_a_deadline_that_is_far_changes_nothing_but_the_guarantee() -> None:
    far, none = advice(10_000), advise(box(), Absence())
    assert far.plan[:-1] == none.plan
    assert (far.advice, far.why, far.flips) == (none.advice, none.why, none.flips)
    assert (far.guarantee, none.guarantee) == (None, 2)


def test_an_expectation_is_not_claimed_of_a_plan_that_is_cut_short() -> None:
    absence = Absence(mean_hours=8, never=0.05)
    assert advise(box(), absence).plan_usd is not None
    assert advice(36, absence).plan_usd is None


# --- a known absence -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("away_h", "advised", "late"),
    [
        (10, "stop", {}),
        (24.716, "destroy", {}),  # in time from all: stop until 25 - 0.28333 = 24.71667 h
        (24.717, "destroy", {"stop": 0.00033}),
        (24.75, "destroy", {"stop": 0.03333}),
        (24.76, "keep", {"stop": 0.04333, "destroy": 0.01}),
        (25, "keep", {"stop": 0.28333, "destroy": 0.25}),
    ],
)
def test_a_state_that_misses_the_deadline_is_not_advised_where_another_meets_it(
    away_h: float, advised: str, late: dict[str, float]
) -> None:
    found = advice(36, Absence(hours=away_h))
    assert found.advice == advised
    missed = {o.action: o.late_h for o in found.options if o.late_h is not None}
    assert missed == pytest.approx(late, abs=1e-5)
    assert ("meets the deadline" in found.why) == bool(late)


def test_a_near_tie_never_leads_to_a_state_that_is_too_late() -> None:
    # 13 h away: destroy is cheaper by 0.038 $, so stop is advised, which can be undone.
    assert advice(36, Absence(hours=13)).advice == "stop"
    # 24.26 - 11 = 13.26 h: stop by 12.977 h, destroy by 13.01 h
    assert advice(24.26, Absence(hours=13)).advice == "destroy"


@pytest.mark.parametrize(
    ("away_h", "advised", "how"),
    [
        # 36 - 10 = 26 h without the reserve; keep until then, destroy until 25.75 h
        (25.01, "destroy", "by using up the reserve"),
        (25.75, "destroy", "by using up the reserve"),
        (25.76, "keep", "by using up the reserve"),
        (26, "keep", "by using up the reserve"),
        (26.01, "destroy", "no state meets the deadline"),
    ],
)
def test_where_nothing_keeps_the_reserve_it_is_used_up_and_then_all_is_lost(
    away_h: float, advised: str, how: str
) -> None:
    found = advice(36, Absence(hours=away_h))
    assert (found.advice, how in found.why) == (advised, True)
    assert all(option.late_h is not None for option in found.options)
    assert (found.start_by_h is None) == ("no state" in how)


@pytest.mark.parametrize(("hours", "met"), [(11.01, True), (10.01, True), (10, False), (9, False)])
def test_of_an_unknown_absence_a_start_now_decides_whether_it_can_be_met(
    hours: float, met: bool
) -> None:
    found = advice(hours)
    assert ("no state meets the deadline" in found.why) is not met
    assert ("start" in [step.action for step in found.plan]) is met


DEADLINES = st.builds(
    Deadline,
    hours=st.floats(0, 200),
    remaining_hours=st.floats(0, 100),
    reserve_hours=st.floats(0, 10),
)


@given(BOXES, DEADLINES, st.floats(0, 100))
def test_a_later_deadline_never_moves_a_latest_start_earlier(
    idle: IdleBox, deadline: Deadline, more_h: float
) -> None:
    later = deadline.model_copy(update={"hours": deadline.hours + more_h})
    options = costs(idle).options
    now, then = (latest_starts_h(idle, options, each) for each in (deadline, later))
    assert all(now[action] <= then[action] for action in now)
    assert len(in_time(options, now, 5)) <= len(in_time(options, then, 5))


@given(BOXES, DEADLINES, st.one_of(st.none(), st.floats(0, 300)))
def test_what_is_advised_is_in_time_wherever_anything_is(
    idle: IdleBox, deadline: Deadline, away_h: float | None
) -> None:
    found = advise(idle, Absence(hours=away_h), clocks=Clocks(deadline))
    late = {option.action: option.late_h for option in found.options}
    if away_h is not None and None in late.values():
        assert late[found.advice] is None
    times = [step.from_h for step in found.plan]
    assert times == sorted(times)
    latest = latest_of(found)
    steps = list(found.plan)
    if steps[-1].action == "start" and None in late.values():
        # the way back begins in time from the state that the plan is in by then
        assert steps[-1].from_h <= (latest[steps[-2].action] or 0) + 1e-9


def test_keeping_on_takes_no_way_back_whatever_the_box() -> None:
    found = latest_starts_h(
        box(setup_minutes=600.0),
        costs(box(setup_minutes=600.0)).options,
        Deadline(hours=5, remaining_hours=1, reserve_hours=0),
    )
    # 4 h; a set-up of 10 h is 6 h too late already
    assert found == pytest.approx({"keep": 4, "stop": -6 - RESTART_H, "destroy": -6})


def test_a_mean_keeps_its_state_until_the_way_back_begins() -> None:
    found = advice(36, Absence(mean_hours=4))
    assert plan_of(found) == [(0, "stop"), (24.717, "start")]
    assert found.options[1].cost_usd == pytest.approx(Decimal("0.39387"), abs=Decimal("0.00001"))
