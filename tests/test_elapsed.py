"""An absence that has begun already: what is spent is spent, and its schedule goes on."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_idling import BOXES, box, plan_of

from costplan.absence import Exponential, history
from costplan.elapsed import StillAway, still_away
from costplan.idling import Clocks, advise
from costplan.records.idle import Absence, Advice, Deadline, Elapsed, IdleBox

STOPPED = 50 / 720  # $/h
T2_H = 12.450336  # 0.864607/0.0694444


def stopped(hours: float, absence: Absence | None = None, **changed: Any) -> Advice:
    clocks = Clocks(elapsed=Elapsed(state="stopped", hours=hours))
    return advise(box(**changed), absence or Absence(), clocks=clocks)


def idle(hours: float, absence: Absence | None = None, **changed: Any) -> Advice:
    clocks = Clocks(elapsed=Elapsed(state="idle", hours=hours))
    return advise(box(**changed), absence or Absence(), clocks=clocks)


# --- stopped -------------------------------------------------------------------------------


def test_three_weeks_stopped_have_cost_thirty_five_dollars_and_destroy_is_due() -> None:
    found = stopped(21 * 24)
    assert found.so_far is not None
    assert round(found.so_far.usd, 2) == Decimal("35.00")  # 504 x 0.0694444
    assert found.so_far.border_h == pytest.approx(T2_H)
    assert round(found.so_far.destroyed_usd, 4) == Decimal("0.9807")
    assert found.advice == "destroy"
    assert plan_of(found) == [(0, "destroy")]


@pytest.mark.parametrize(
    ("hours", "plan"),
    [
        (0, [(0, "stop"), (12.45, "destroy")]),
        (9, [(0, "stop"), (3.45, "destroy")]),
        (12.4503, [(0, "stop"), (0.0, "destroy")]),  # 0.13 s
        (12.4504, [(0, "destroy")]),
    ],
)
def test_hours_already_stopped_count_on_the_schedule(
    hours: float, plan: list[tuple[float, str]]
) -> None:
    found = stopped(hours)
    assert plan_of(found) == plan
    assert found.guarantee is None


@pytest.mark.parametrize("past_h", [0, 9, 504])
@pytest.mark.parametrize(
    ("more_h", "usd", "advised"),
    [(10, "0.810538", "stop"), (13.8, "1.074427", "stop"), (20, "1.504982", "destroy")],
)
def test_what_is_spent_does_not_count_over_a_known_rest(
    past_h: float, more_h: float, usd: str, advised: str
) -> None:
    # 0.0694444 x rest + 0.116093, however long it has been stopped; 13.8 h is a near tie
    found = stopped(past_h, Absence(hours=more_h))
    cost = {option.action: option.cost_usd or Decimal(0) for option in found.options}
    assert round(cost["stop"], 6) == Decimal(usd)
    assert found.advice == advised


def test_a_stopped_box_is_not_kept_on() -> None:
    found = stopped(1, Absence(hours=0))
    assert [option.action for option in found.options] == ["stop", "destroy"]
    assert (found.keep_until_h, found.saved_usd_per_hour) == (0, None)


@pytest.mark.parametrize(
    ("past_h", "left_h", "plan"),
    [
        # deleted 10 h after the stop: 10 - 4 = 6 h are left, and 0.6 h of them for saving
        (4, 6, [(0, "stop"), (5.4, "destroy")]),
        (9.5, 0.5, [(0, "stop"), (0.45, "destroy")]),
        (10, 0, [(0, "destroy")]),
        (11, 0, [(0, "destroy")]),
    ],
)
def test_the_providers_clock_runs_since_the_stop(
    past_h: float, left_h: float, plan: list[tuple[float, str]]
) -> None:
    found = stopped(past_h, stop_expires_hours=10.0)
    assert found.options[0].until_h == pytest.approx(left_h)
    assert plan_of(found) == plan


def test_what_a_stop_loses_is_lost_and_no_chance_is_named_for_a_time_that_is_past() -> None:
    changed: dict[str, Any] = {"wiped": ("container disk",)}
    assert advise(box(**changed), Absence()).wiped == ("container disk",)
    assert stopped(9, **changed).wiped == ()
    assert idle(9, **changed).wiped == ("container disk",)
    assert advise(box(), Absence()).gpu_gone_break_even == pytest.approx(0.5)
    assert stopped(504).gpu_gone_break_even is None
    assert stopped(504, Absence(hours=8)).gpu_gone_break_even == pytest.approx(0.35745, abs=1e-5)


def test_a_balance_pays_from_now_on() -> None:
    # 2/0.0694444 = 28.8 h; of the clock 720 - 700 = 20 h are left
    assert stopped(700, balance_usd=Decimal(2)).options[0].until_h == pytest.approx(28.8)
    both = stopped(700, balance_usd=Decimal(2), stop_expires_hours=720.0)
    assert both.options[0].until_h == pytest.approx(20)


def test_the_gpus_taken_so_far_are_taken() -> None:
    # half-life 6 h, 6 h gone: half is taken; 12 h after the stop 3/4 are: all as for a whole
    # absence of 12 h but for the 6 x 0.0694444 $ that are spent
    changed = {"gone_half_life_hours": 6.0, "gone_usd": Decimal("0.50")}
    rest = stopped(6, Absence(hours=6), **changed).options[0].cost_usd or Decimal(0)
    whole = advise(box(**changed), Absence(hours=12)).options[1].cost_usd or Decimal(0)
    assert float(whole - rest) == pytest.approx(6 * STOPPED)


# --- on and idle ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("hours", "plan"),
    [
        (0.03, [(0, "keep"), (0.004, "stop"), (12.42, "destroy")]),
        (6, [(0, "stop"), (6.45, "destroy")]),
        (12.5, [(0, "destroy")]),
    ],
)
def test_hours_already_idle_count_as_away(hours: float, plan: list[tuple[float, str]]) -> None:
    found = idle(hours)
    assert plan_of(found) == plan
    assert found.so_far is not None
    assert float(found.so_far.usd) == pytest.approx(hours * 3.4828)


def test_a_known_rest_is_decided_by_itself() -> None:
    found = idle(6, Absence(hours=10))
    assert [option.action for option in found.options] == ["keep", "stop", "destroy"]
    assert found.advice == "stop"
    assert found.options == advise(box(), Absence(hours=10)).options


# --- laws ----------------------------------------------------------------------------------


def test_memoryless_stays_what_it_was() -> None:
    law, later = Exponential(8), StillAway(Exponential(8), 5)
    for t in (0.5, 8, 100, math.inf):
        assert later.back(t) == pytest.approx(law.back(t))
        assert later.held_h(t) == pytest.approx(law.held_h(t))


def test_of_a_history_only_the_longer_absences_are_left() -> None:
    # 1, 2, 4, 10 h; after 3 h two of them are left, for 1 and for 7 more hours
    later = StillAway(history([1, 2, 4, 10]), 3)
    assert later.back(0.9) == 0
    assert later.back(1) == pytest.approx(0.5)
    assert later.back(7) == pytest.approx(1)
    assert later.held_h(math.inf) == pytest.approx(4)
    assert still_away(history([1, 2]), Elapsed(state="idle", hours=3)) is None
    assert still_away(None, Elapsed(state="idle", hours=3)) is None


def test_an_expectation_is_of_the_rest_alone() -> None:
    # 20 absences of 8 h, 5 h of them gone: 3 x 0.0694444 + 0.116093
    found = stopped(5, Absence(recorded_hours=(8.0,) * 20))
    assert float(found.options[0].cost_usd or 0) == pytest.approx(0.324426, abs=1e-6)
    assert found.plan_usd == pytest.approx(0.324426, abs=1e-6)


def test_when_to_leave_does_not_move_while_one_is_away() -> None:
    law = Exponential(8, never=0.05)
    assert StillAway(law, 5).leave_h(20) == pytest.approx(law.leave_h(20) - 5)
    assert StillAway(law, 500).leave_h(20) == 0


@given(BOXES, st.floats(0, 500), st.floats(0, 500))
def test_a_plan_looked_at_later_is_the_same_plan(
    idle_box: IdleBox, first_h: float, more_h: float
) -> None:
    """What is due after the longer wait was due, or planned, at the shorter one."""
    if idle_box.stop_expires_hours is not None or idle_box.balance_usd is not None:
        return  # a balance pays from now on, whenever now is
    plans = []
    for hours in (first_h, first_h + more_h):
        clocks = Clocks(elapsed=Elapsed(state="idle", hours=hours))
        found = advise(idle_box, Absence(), clocks=clocks)
        plans.append({step.action: hours + step.from_h for step in found.plan[1:]})
    assert plans[1] == pytest.approx({a: h for a, h in plans[0].items() if a in plans[1]})


ABSENCES = st.sampled_from(
    [Absence(), Absence(hours=0), Absence(hours=9), Absence(mean_hours=8),
     Absence(mean_hours=8, never=0.05), Absence(recorded_hours=(0.5, 3, 60), away_hours=(4,))]
)  # fmt: skip
CLOCKS = st.builds(
    Clocks,
    deadline=st.one_of(
        st.none(),
        st.builds(
            Deadline,
            hours=st.floats(0, 50),
            remaining_hours=st.floats(0, 30),
            reserve_hours=st.floats(0, 3),
        ),
    ),
    elapsed=st.one_of(
        st.none(),
        st.builds(Elapsed, state=st.sampled_from(["idle", "stopped"]), hours=st.floats(0, 1_000)),
    ),
)


@given(BOXES, ABSENCES, CLOCKS)
def test_any_mixture_of_clocks_gets_advice_that_is_a_plan_in_order(
    some: IdleBox, absence: Absence, clocks: Clocks
) -> None:
    found = advise(some, absence, clocks=clocks)
    times = [step.from_h for step in found.plan]
    assert times[0] == 0
    assert times == sorted(times)
    soon = [step.action for step in found.plan if step.from_h <= 5 / 60]
    assert found.advice == soon[0] or (soon[0] == "keep" and found.advice == soon[1])
    assert found.advice in [option.action for option in found.options]
    if clocks.deadline is not None or clocks.elapsed is not None:
        assert found.guarantee is None
