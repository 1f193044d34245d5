"""From an idle box and what is known of the absence to advice in money."""

from __future__ import annotations

import math
from decimal import Decimal
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from costplan.absence import Exponential, history
from costplan.advisor import (
    Option,
    Step,
    cheapest,
    envelope,
    expected_usd,
    gone_break_even,
    learned,
)
from costplan.boxcosts import Costs, costs
from costplan.records.idle import Advice, OptionCost, PlanStep
from costplan.units import decimal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from costplan.absence import Law
    from costplan.records.idle import Absence, IdleBox
    from costplan.records.results import Notice

TIE_SHARE: Final = Decimal("0.1")
TIE_MOST_USD: Final = Decimal("0.30")
"""Within a tenth of the rebuild and 30 cents the choice that can be undone is advised."""
FEW, MANY = 10, 20
CLAMP_FEW: Final = 0.25
"""Fewer than 10 recorded absences: no time below a quarter of its border or above four times."""
CLAMP_SOME: Final = 0.125
TWICE: Final = 2.0
MARGIN_H: Final = 1.0
MARGIN_SHARE: Final = 0.1
"""Before a clock runs out there must be time to save what is on the box: an hour, or a tenth of
the clock where that is less."""
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
    plan = _with_expiries(plan, money.options)
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
        gpu_gone_break_even=None if expired else _break_even(box, money, absence, steps),
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


def _with_expiries(plan: tuple[Step, ...], options: Sequence[Option]) -> tuple[Step, ...]:
    """Return the plan with a step to destroy, in time, before a state ends by itself."""
    result: list[Step] = []
    destroy = next(option for option in options if option.action == "destroy")
    for place, step in enumerate(plan):
        end = plan[place + 1].from_h if place + 1 < len(plan) else math.inf
        at, option = step.from_h, step.option
        while _ends_h(option) < end:
            # Down to the next state that still holds the data, and only then to destroy.
            if at < _ends_h(option):
                result.append(Step(at, option))
                at = _ends_h(option)
            rate = option.usd_per_hour
            holding = [o for o in options if o.undo and o.usd_per_hour < rate and _ends_h(o) > at]
            option = min(holding, key=lambda o: o.usd_per_hour, default=destroy)
            if option is destroy:
                return (*result, Step(at, destroy))
        result.append(Step(at, option))
    return tuple(result)


def _ends_h(option: Option) -> float:
    """Return when a state must be left: before its clock runs out, in time to save what is there.

    A balance is taken as spent at this state's rate from the start: of what went before at a
    higher rate, the margin has to take care.
    """
    if option.until_h is None:
        return math.inf
    return option.until_h - min(MARGIN_H, MARGIN_SHARE * option.until_h)


def keep_until_h(options: Sequence[Option]) -> float:
    """Return the absence up to which keeping the box on is cheapest."""
    keep = options[0]
    return min(
        (float(max(Decimal(0), o.wake_usd) / (keep.usd_per_hour - o.usd_per_hour))
         for o in options[1:] if o.usd_per_hour < keep.usd_per_hour),
        default=math.inf,
    )  # fmt: skip


def destroy_after_h(options: Sequence[Option], steps: Sequence[Step]) -> float | None:
    """Return the absence from which destroy is the cheapest state that is still there."""
    places = [_begins(steps, "destroy"), *(o.until_h for o in options if o.until_h is not None)]
    destroy = next(o for o in options if o.action == "destroy")
    for hours in sorted(p for p in places if p is not None):
        later = hours * (1 + 1e-9)
        if cheapest(options, later) is destroy:
            return hours
    return None


def _begins(steps: Sequence[Step], action: str) -> float | None:
    return next((s.from_h for s in steps if s.option.action == action), None)


def near_tie(money: Costs, steps: Sequence[Step]) -> tuple[float, float] | None:
    """Return the hours between which the last two states of the envelope cost nearly the same."""
    pairs = [(a.option, b) for a, b in pairwise(steps) if a.option.undo and not b.option.undo]
    if not pairs or pairs[0][0].action == "keep":
        return None
    before, step = pairs[0]
    saved = before.usd_per_hour - step.option.usd_per_hour
    if saved <= 0:
        return None
    width = float(min(TIE_SHARE * money.rebuild_usd, TIE_MOST_USD) / saved)
    return max(0.0, step.from_h - width), step.from_h + width


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


def _break_even(
    box: IdleBox, money: Costs, absence: Absence, steps: Sequence[Step]
) -> float | None:
    """Return q* at the known hours, at the mean, or halfway to the destroy border."""
    if money.stopped_usd_per_hour is None:
        return None
    hours = absence.hours if absence.hours is not None else absence.mean_hours
    if hours is None:
        border = _begins(steps, "destroy")
        if border is None:
            return None
        hours = border / 2
    return gone_break_even(
        stopped_usd_per_hour=money.stopped_usd_per_hour,
        restart_usd=money.restart_usd + box.lost_usd,
        rebuild=money.rebuild_usd + box.upload_usd + box.lost_usd,
        gone_usd=box.gone_usd,
        away_h=hours,
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
    here = _begins(envelope(costs(box).options), "destroy")
    for text, update in changes:
        other = costs(box.model_copy(update=update))
        steps = envelope(other.options)
        plan, _ = _plan(steps, other.options, absence, law_of(absence))
        plan = _with_expiries(plan, other.options)
        then = _verdict(other, plan, absence, near_tie(other, steps))[0].action
        border = _begins(steps, "destroy")
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
