"""From an idle box and what is known of the absence to advice in money."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import TYPE_CHECKING, Final, NamedTuple

from costplan.absence import Exponential, History, history
from costplan.advisor import (
    Option,
    Step,
    cheapest,
    envelope,
    expected_usd,
    learned,
)
from costplan.borders import (
    LONG_RESTART_MINUTES,
    TIE_MOST_USD,
    TIE_SHARE,
    asks,
    begins,
    break_even,
    destroy_after_h,
    ends_h,
    keep_until_h,
    near_tie,
    shown_h,
    with_expiries,
    within_balance,
)
from costplan.boxcosts import Costs, costs
from costplan.deadlines import latest_starts_h, reach, until_start
from costplan.elapsed import from_now, rest, so_far, still_away, waiting
from costplan.owntimers import compared, timer_steps
from costplan.records.idle import Advice, OptionCost, PlanStep
from costplan.units import decimal

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from costplan.absence import Law
    from costplan.records.idle import Absence, Deadline, Elapsed, IdleBox
    from costplan.records.results import Notice

SOON_H: Final = 5 / 60
"""Nobody is sure of an idle box in less (the shortest window of `costplan.windows`): a plan that
leaves it on for no longer is a plan to leave it now."""
FEW, MANY = 10, 20
CLAMP_FEW: Final = 0.25
"""Fewer than 10 recorded absences: no time below a quarter of its border or above four times."""
CLAMP_SOME: Final = 0.125
TWICE: Final = 2.0
MOVES_SHARE: Final = 0.2
"""A border that moves by less is not worth a line."""


def law_of(absence: Absence) -> Law | None:
    """Return the law of the absence, where more is known than nothing or the very hours."""
    if absence.still_away:
        recorded = len(absence.recorded_hours) + len(absence.away_hours)
        return History(absence.still_away, recorded, absence.never)
    if absence.recorded_hours:
        return history(absence.recorded_hours, away=absence.away_hours, never=absence.never)
    if absence.mean_hours is not None and absence.never:
        return Exponential(absence.mean_hours, absence.never)
    return None


class Clocks(NamedTuple):
    """What else runs: a deadline, and hours that have passed."""

    deadline: Deadline | None = None
    elapsed: Elapsed | None = None
    timer: tuple[tuple[float, str], ...] = ()
    """The person's own: hours away, and the state from then on."""


NO_CLOCKS: Final = Clocks()


class Decided(NamedTuple):
    """What to do, and what it was decided from."""

    money: Costs
    options: tuple[Option, ...]
    """The states left to choose from, from now on."""
    steps: tuple[Step, ...]
    plan: tuple[Step, ...]
    guarantee: float | None
    tie: tuple[float, float] | None
    now: Option
    why: str
    start_by_h: float | None


def advise(
    box: IdleBox,
    absence: Absence,
    *,
    assumed: Sequence[str] = (),
    notices: Sequence[Notice] = (),
    clocks: Clocks = NO_CLOCKS,
) -> Advice:
    """Return what to do with the box now and later, in money."""
    found = decided(box, absence, clocks)
    money, elapsed, deadline = found.money, clocks.elapsed, clocks.deadline
    law = still_away(law_of(absence), elapsed)
    latest = latest_starts_h(box, found.options, deadline)
    border_h = begins(envelope(money.options), "destroy")
    stopped, on = money.stopped_usd_per_hour, elapsed is None or elapsed.state == "idle"
    plan = [
        PlanStep(from_h=s.from_h, action=s.option.action, undo=s.option.undo) for s in found.plan
    ]
    if found.start_by_h is not None:
        plan.append(PlanStep(from_h=found.start_by_h, action="start", undo=True))
    return Advice(
        advice=found.now.action,
        why=found.why,
        options=tuple(_option(o, absence, law, latest) for o in found.options),
        away_h=absence.hours,
        keep_until_h=keep_until_h(money.options) if on else 0.0,
        destroy_after_h=destroy_after_h(found.options, found.steps),
        near_tie_h=found.tie,
        stopped_usd_per_hour=stopped,
        rebuild_usd=money.rebuild_usd,
        saved_usd_per_hour=box.usd_per_hour - stopped if stopped is not None and on else None,
        gpu_gone_break_even=_break_even(box, absence, found, None if elapsed else border_h),
        wiped=box.wiped if on else (),
        deadline_h=None if deadline is None else deadline.hours,
        remaining_h=None if deadline is None else deadline.remaining_hours,
        reserve_h=None if deadline is None else deadline.reserve_hours,
        start_by_h=found.start_by_h,
        so_far=so_far(box, money, elapsed, border_h),
        compared=(
            compared(
                money.options, timer_steps(money.options, clocks.timer), found.plan, absence, law
            )
            if clocks.timer
            else None
        ),
        asks=asks(box),
        plan=tuple(plan),
        plan_usd=(
            None
            if law is None or found.start_by_h is not None
            else _finite(expected_usd(found.plan, law))
        ),
        guarantee=found.guarantee,
        flips=flips(box, absence, found, clocks),
        assumed=tuple(assumed),
        notices=tuple(notices),
    )


def decided(box: IdleBox, absence: Absence, clocks: Clocks = NO_CLOCKS) -> Decided:
    """Return what to do with the box now and later, from now on."""
    money = costs(box)
    left = waiting(money.options, clocks.elapsed)
    every = tuple(from_now(option, box, clocks.elapsed) for option in left)
    timely = reach(box, every, clocks.deadline, absence.hours)
    options = timely.options or every
    allowed = {option.action for option in options}
    steps = envelope([option for option in left if option.action in allowed])
    plan, guarantee = _plan(steps, options, absence, law_of(absence))
    plan = with_expiries(rest(plan, options, clocks.elapsed), options)
    plan = within_balance(plan, options, box.balance_usd)
    tie = None if _expired(options, absence) else near_tie(money, steps)
    now, why = _verdict(money, options, plan, absence, tie)
    if now not in [step.option for step in plan[:2]]:  # a near tie: what can be undone
        plan = (Step(0.0, now),)
    start_by_h = None
    if timely.latest_h and timely.options:
        plan, start_by_h = until_start(plan, timely.latest_h)
        start_by_h = min(start_by_h, ends_h(plan[-1].option))
    if clocks.deadline is not None or clocks.elapsed is not None:
        guarantee = None  # it counts from the start, and to the end
    return Decided(
        money, every, envelope(left), plan, guarantee, tie, now, why + timely.how, start_by_h
    )


def _expired(options: Sequence[Option], absence: Absence) -> bool:
    """Return whether the stopped box will be gone by the known return."""
    stop = next((o for o in options if o.undo and o.action != "keep"), None)
    return stop is not None and absence.hours is not None and not stop.holds(absence.hours)


def _plan(
    steps: tuple[Step, ...], options: Sequence[Option], absence: Absence, law: Law | None
) -> tuple[tuple[Step, ...], float | None]:
    """Return the schedule for what is known, and its guarantee where it has one."""
    if absence.hours is not None:
        return (Step(0.0, cheapest(options, absence.hours)),), None
    if law is not None:
        recorded = len(absence.recorded_hours) + len(absence.away_hours)
        # Other people's absences do the clamp's work, and better: see bench/README.md.
        alone = recorded and not absence.still_away
        return learned(steps, law, clamp_share=clamp_share(recorded) if alone else None), None
    if absence.mean_hours is not None:
        # Only the mean: a fixed state costs the same under every law with that mean.
        return (Step(0.0, cheapest(options, absence.mean_hours)),), None
    plain = all(o.half_life_h is None and o.until_h is None for o in options)
    return steps, TWICE if plain else None


def clamp_share(recorded: int) -> float | None:
    """Return how near to the borders the plan stays that so many own absences alone make."""
    return CLAMP_FEW if recorded < FEW else CLAMP_SOME if recorded < MANY else None


def _verdict(
    money: Costs,
    options: Sequence[Option],
    plan: Sequence[Step],
    absence: Absence,
    tie: tuple[float, float] | None,
) -> tuple[Option, str]:
    first = plan[0].option
    hours = absence.hours if absence.hours is not None else absence.mean_hours
    if hours is None or absence.never:
        if first.action == "keep" and len(plan) > 1 and plan[1].from_h > 0:
            minutes = plan[1].from_h * 60
            text = f"{minutes:.1f} min" if minutes < 60 else f"{plan[1].from_h:.1f} h"
            if plan[1].from_h <= SOON_H:
                return plan[1].option, f"once it has been idle for {text}"
            return first, f"for the first {text}"
        return first, "from now on"
    if tie is not None and not first.undo and tie[0] <= hours <= tie[1]:
        undone = [o for o in options if o.undo and o.holds(hours)]
        best = min(undone, key=lambda o: o.cost_usd(hours), default=first)
        if best.cost_usd(hours) - first.cost_usd(hours) <= min(
            TIE_SHARE * money.rebuild_usd, TIE_MOST_USD
        ):
            other = first.action.replace("-", " ")
            return best, f"{shown_h(hours)} away is a near tie: this can be undone, {other} cannot"
    return first, f"{shown_h(hours)} away"


def _finite(usd: float) -> float | None:
    return usd if math.isfinite(usd) else None


def _option(
    option: Option, absence: Absence, law: Law | None, latest: Mapping[str, float]
) -> OptionCost:
    cost: Decimal | None = None
    if absence.hours is not None:
        cost = option.cost_usd(absence.hours)
    elif law is not None:
        mean = expected_usd((Step(0.0, option),), law)
        cost = decimal(mean) if math.isfinite(mean) else None
    elif absence.mean_hours is not None:
        cost = option.cost_usd(absence.mean_hours)
    start_h = latest.get(option.action)
    late_h = 0.0 if start_h is None else (absence.hours or 0.0) - start_h
    return OptionCost(
        action=option.action,
        usd_per_hour=option.usd_per_hour,
        back_usd=option.wake_usd,
        cost_usd=cost,
        undo=option.undo,
        until_h=option.until_h,
        latest_start_h=start_h,
        late_h=late_h if late_h > 0 else None,
    )


def _break_even(
    box: IdleBox, absence: Absence, found: Decided, border_h: float | None
) -> float | None:
    hours = absence.mean_hours if absence.hours is None else absence.hours
    expired = _expired(found.options, absence)
    return None if expired else break_even(box, found.money, hours, border_h)


def flips(box: IdleBox, absence: Absence, here: Decided, clocks: Clocks) -> tuple[str, ...]:
    """Return which single changes of the inputs change the advice."""
    changes: list[tuple[str, dict[str, object]]] = [
        (f"restart of {LONG_RESTART_MINUTES:g} minutes", {"restart_minutes": LONG_RESTART_MINUTES}),
        ("your waiting time at $30/h", {"waiting_usd_per_hour": Decimal(30)}),
        ("a GPU gone 3 times in 10", {"gone_share": 0.3}),
        ("an hour of set-up", {"setup_minutes": 60.0}),
        ("half the disk", {"disk_gb": box.disk_gb / 2}),
    ]
    asked = bool(asks(box))
    found = []
    for text, update in changes:
        then = decided(box.model_copy(update=update), absence, clocks)
        # Of a known absence a border is news only where it rests on a restart that nobody gave.
        borders = absence.hours is None if "restart" not in text else not asked
        if then.plan[0].option.action != here.plan[0].option.action:
            found.append(f"{text}: {then.now.action}")
        elif borders and (moved := _moved(here.steps, then.steps)) is not None:
            found.append(f"{text}: {moved}")
    return tuple(found)


def _moved(here: Sequence[Step], then: Sequence[Step]) -> str | None:
    """Return how the border of destroy moves, where it does by much."""
    now_h, then_h = begins(here, "destroy"), begins(then, "destroy")
    if now_h is None or then_h is None or abs(then_h - now_h) <= MOVES_SHARE * now_h:
        return None
    return f"destroy after {then_h:.1f} h instead of {now_h:.1f} h"


def seen_as(advice: Advice, state: str) -> Advice:
    """Return the advice for a box that was looked at: money decides only over an idle one."""
    if state in ("idle", "crashed"):
        return advice
    stops = [o.action for o in advice.options if o.undo and o.action != "keep"]
    now, why = {
        "busy": ("keep", "the box is busy"),
        "hung": (stops[0] if stops else "keep", "it bills and does not move: look at it first"),
    }.get(state, ("unknown", "whether the box is idle is not known: no reason to act"))
    return advice.model_copy(
        update={"advice": now, "why": why, "plan": (), "once_idle": advice.advice, "flips": ()}
    )
