"""From an idle box and what is known of the absence to advice in money."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import TYPE_CHECKING, Final

from costplan.absence import Exponential, history
from costplan.advisor import (
    Option,
    Step,
    cheapest,
    envelope,
    expected_usd,
    learned,
)
from costplan.borders import (
    TIE_MOST_USD,
    TIE_SHARE,
    begins,
    break_even,
    destroy_after_h,
    keep_until_h,
    near_tie,
    with_expiries,
)
from costplan.boxcosts import Costs, costs
from costplan.records.idle import Advice, OptionCost, PlanStep
from costplan.units import decimal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from costplan.absence import Law
    from costplan.records.idle import Absence, IdleBox
    from costplan.records.results import Notice

FEW, MANY = 10, 20
CLAMP_FEW: Final = 0.25
"""Fewer than 10 recorded absences: no time below a quarter of its border or above four times."""
CLAMP_SOME: Final = 0.125
TWICE: Final = 2.0
NOT_STOPS: Final = ("keep", "keep-data", "destroy")
MOVES_SHARE: Final = 0.2
"""A border that moves by less is not worth a line."""


def law_of(absence: Absence) -> Law | None:
    """Return the law of the absence, where more is known than nothing or the very hours."""
    if absence.recorded_hours:
        return history(absence.recorded_hours, away=absence.away_hours, never=absence.never)
    if absence.mean_hours is not None and absence.never:
        return Exponential(absence.mean_hours, absence.never)
    return None


def advise(
    box: IdleBox, absence: Absence, *, assumed: Sequence[str] = (), notices: Sequence[Notice] = ()
) -> Advice:
    """Return what to do with the box now and later, in money."""
    money = costs(box)
    steps = envelope(money.options)
    law = law_of(absence)
    plan, guarantee = _plan(steps, money.options, absence, law)
    plan = with_expiries(plan, money.options)
    known_h = absence.hours
    tie = near_tie(money, steps)
    stop = next((o for o in money.options if o.action not in NOT_STOPS), None)
    expired = stop is not None and known_h is not None and not stop.holds(known_h)
    tie = None if expired else tie
    now, why = _verdict(money, plan, absence, tie)
    if now.action != plan[0].option.action:  # a near tie: what can be undone
        plan = (Step(0.0, now),)
    return Advice(
        advice=now.action,
        why=why,
        options=tuple(_option(o, absence, law) for o in money.options),
        away_h=known_h,
        keep_until_h=keep_until_h(money.options),
        destroy_after_h=destroy_after_h(money.options, steps),
        near_tie_h=tie,
        stopped_usd_per_hour=money.stopped_usd_per_hour,
        rebuild_usd=money.rebuild_usd,
        saved_usd_per_hour=(
            None
            if money.stopped_usd_per_hour is None
            else box.usd_per_hour - money.stopped_usd_per_hour
        ),
        gpu_gone_break_even=None
        if expired
        else break_even(
            box,
            money,
            absence.mean_hours if known_h is None else known_h,
            begins(steps, "destroy"),
        ),
        wiped=box.wiped,
        plan=tuple(PlanStep(from_h=s.from_h, action=s.option.action) for s in plan),
        plan_usd=None if law is None else _finite(expected_usd(plan, law)),
        guarantee=guarantee,
        flips=flips(box, absence, now),
        assumed=tuple(assumed),
        notices=tuple(notices),
    )


def _plan(
    steps: tuple[Step, ...], options: Sequence[Option], absence: Absence, law: Law | None
) -> tuple[tuple[Step, ...], float | None]:
    """Return the schedule for what is known, and its guarantee where it has one."""
    if absence.hours is not None:
        return (Step(0.0, cheapest(options, absence.hours)),), None
    if law is not None:
        share = None
        if absence.recorded_hours:
            recorded = len(absence.recorded_hours) + len(absence.away_hours)
            share = CLAMP_FEW if recorded < FEW else CLAMP_SOME if recorded < MANY else None
        return learned(steps, law, clamp_share=share), None
    if absence.mean_hours is not None:
        # Only the mean: a fixed state costs the same under every law with that mean.
        return (Step(0.0, cheapest(options, absence.mean_hours)),), None
    plain = all(o.half_life_h is None and o.until_h is None for o in options)
    return steps, TWICE if plain else None


def _verdict(
    money: Costs, plan: Sequence[Step], absence: Absence, tie: tuple[float, float] | None
) -> tuple[Option, str]:
    first = plan[0].option
    hours = absence.hours if absence.hours is not None else absence.mean_hours
    if hours is None or absence.never:
        if first.action == "keep" and len(plan) > 1 and plan[1].from_h > 0:
            minutes = plan[1].from_h * 60
            text = f"{minutes:.1f} min" if minutes < 60 else f"{plan[1].from_h:.1f} h"
            return first, f"for the first {text}"
        return first, "from now on"
    if tie is not None and not first.undo and tie[0] <= hours <= tie[1]:
        undone = [o for o in money.options if o.undo and o.holds(hours)]
        best = min(undone, key=lambda o: o.cost_usd(hours), default=first)
        if best.cost_usd(hours) - first.cost_usd(hours) <= min(
            TIE_SHARE * money.rebuild_usd, TIE_MOST_USD
        ):
            other = first.action.replace("-", " ")
            return best, f"{hours:g} h away is a near tie: this can be undone, {other} cannot"
    return first, f"{hours:g} h away"


def _finite(usd: float) -> float | None:
    return usd if math.isfinite(usd) else None


def _option(option: Option, absence: Absence, law: Law | None) -> OptionCost:
    cost: Decimal | None = None
    if absence.hours is not None:
        cost = option.cost_usd(absence.hours)
    elif law is not None:
        mean = expected_usd((Step(0.0, option),), law)
        cost = decimal(mean) if math.isfinite(mean) else None
    elif absence.mean_hours is not None:
        cost = option.cost_usd(absence.mean_hours)
    return OptionCost(
        action=option.action,
        usd_per_hour=option.usd_per_hour,
        back_usd=option.wake_usd,
        cost_usd=cost,
        undo=option.undo,
        until_h=option.until_h,
    )


def flips(box: IdleBox, absence: Absence, now: Option) -> tuple[str, ...]:
    """Return which single changes of the inputs change the advice."""
    changes: list[tuple[str, dict[str, object]]] = [
        ("restart of 10 minutes", {"restart_minutes": 10.0}),
        ("your waiting time at $30/h", {"waiting_usd_per_hour": Decimal(30)}),
        ("a GPU gone 3 times in 10", {"gone_share": 0.3}),
        ("an hour of set-up", {"setup_minutes": 60.0}),
        ("half the disk", {"disk_gb": box.disk_gb / 2}),
    ]
    found = []
    here = begins(envelope(costs(box).options), "destroy")
    for text, update in changes:
        other = costs(box.model_copy(update=update))
        steps = envelope(other.options)
        plan, _ = _plan(steps, other.options, absence, law_of(absence))
        plan = with_expiries(plan, other.options)
        then = _verdict(other, plan, absence, near_tie(other, steps))[0].action
        border = begins(steps, "destroy")
        if then != now.action:
            found.append(f"{text}: {then}")
        elif (
            absence.hours is None
            and border is not None
            and here is not None
            and abs(border - here) > MOVES_SHARE * here
        ):
            found.append(f"{text}: destroy after {border:.1f} h instead of {here:.1f} h")
    return tuple(found)


def seen_as(advice: Advice, state: str) -> Advice:
    """Return the advice for a box that was looked at: money decides only over an idle one."""
    if state in ("idle", "crashed"):
        return advice
    stops = [o.action for o in advice.options if o.action not in NOT_STOPS]
    now, why = {
        "busy": ("keep", "the box is busy"),
        "hung": (stops[0] if stops else "keep", "it bills and does not move: look at it first"),
    }.get(state, ("unknown", "whether the box is idle is not known: no reason to act"))
    return advice.model_copy(
        update={"advice": now, "why": why, "plan": (), "once_idle": advice.advice, "flips": ()}
    )
