"""A timer that somebody already has, in money beside the plan.

Both are priced by the same lines. Where nothing is known of the absence, what counts is the worst
case: the ratio to the best in hindsight, the dollars above it, and a night and a weekend.
"""

from __future__ import annotations

import math
from itertools import chain
from typing import TYPE_CHECKING, Final

from costplan.absence import Exponential
from costplan.advisor import Step, cheapest, envelope, expected_usd, schedule_usd
from costplan.errors import InputError
from costplan.records.idle import Compared, PlanStep, TimerCost

if TYPE_CHECKING:
    from collections.abc import Sequence
    from decimal import Decimal

    from costplan.absence import Law
    from costplan.advisor import Option
    from costplan.records.idle import Absence

NIGHT_H: Final = 14.5
"""From half past six in the evening to nine in the morning."""
SHORTEST_H: Final = 1e-9
"""Back at once: 4 microseconds."""
WEEKEND_H: Final = 63.0
"""From Friday at six to Monday at nine."""


def timer_steps(options: Sequence[Option], words: Sequence[tuple[float, str]]) -> tuple[Step, ...]:
    """Return the steps of a timer: hours and the name of a state of the box, in order.

    The box is on until the first of them. `stop` is whatever kind of stop the box has.

    Raises:
        InputError: The box has no such state, the hours do not rise, or a state cannot follow.
    """
    named: dict[str, Option] = {option.action: option for option in options}
    stop = next((o for o in options if o.undo and o.action != "keep"), None)
    if stop is not None:
        named["stop"] = stop
    steps = [Step(0.0, named["keep"])]
    for place, (from_h, name) in enumerate(words):
        option, before = named.get(name), steps[-1]
        if option is None:
            hint = f"it has {', '.join(named)}"
            raise InputError(f"--compare {name}: no state of this box", hint=hint)
        if place and from_h <= before.from_h:
            raise InputError(
                f"--compare {name}: not after {before.option.action}",
                hint="write the steps in order, as in 'stop 1h, destroy 7d'",
            )
        if place and not _follows(before.option, option):
            raise InputError(
                f"--compare {name}: nothing leads there from {before.option.action}",
                hint="a timer only goes down: stop, then keep-data, then destroy",
            )
        steps = [*(s for s in steps if s.from_h < from_h), Step(from_h, option)]
    return tuple(steps)


def _follows(before: Option, then: Option) -> bool:
    if then.action == "keep" or before.action in ("destroy", then.action):
        return False
    return before.undo or not then.undo


def compared(
    options: Sequence[Option],
    timer: Sequence[Step],
    plan: Sequence[Step],
    absence: Absence,
    law: Law | None,
) -> Compared:
    """Return the timer and the plan, priced by what is known of the absence."""
    if absence.hours is not None:
        costs = [_cost(usd=_at_usd(steps, absence.hours)) for steps in (timer, plan)]
        return _beside("absence", timer, costs)
    if law is not None or absence.mean_hours is not None:
        under = law or Exponential(absence.mean_hours or 0.0)
        costs = [_cost(usd=_mean_usd(steps, under)) for steps in (timer, plan)]
        return _beside("mean" if law is None else "law", timer, costs)
    return _beside("nothing", timer, [_worst(options, steps) for steps in (timer, plan)])


def _beside(basis: str, timer: Sequence[Step], costs: Sequence[TimerCost]) -> Compared:
    theirs, plan = costs
    steps = tuple(
        PlanStep(from_h=s.from_h, action=s.option.action, undo=s.option.undo) for s in timer
    )
    return Compared.model_validate({"timer": steps, "basis": basis, "theirs": theirs, "plan": plan})


def _cost(**values: float | None) -> TimerCost:
    endless = tuple(name for name, value in values.items() if value == math.inf)
    known = {name: value for name, value in values.items() if name not in endless}
    return TimerCost.model_validate({**known, "endless": endless})


def _at_usd(steps: Sequence[Step], away_h: float) -> float | None:
    """Return the cost of an absence; None where the box is gone by then, whatever that costs."""
    return float(schedule_usd(steps, away_h)) if _stands(steps, away_h) else None


def _mean_usd(steps: Sequence[Step], law: Law) -> float | None:
    return expected_usd(steps, law) if _stands(steps, math.inf) else None


def _stands(steps: Sequence[Step], away_h: float) -> bool:
    """Return whether every state is left, or the absence over, before it ends by itself."""
    ends = [*(step.from_h for step in steps[1:]), math.inf]
    return all(
        step.from_h >= away_h or step.option.holds(min(end, away_h))
        for step, end in zip(steps, ends, strict=True)
    )


def _worst(options: Sequence[Option], steps: Sequence[Step]) -> TimerCost:
    known = all(o.half_life_h is None and o.until_h is None for o in options)
    ratio, regret = worst_case(options, steps) if known else (None, None)
    return _cost(
        worst_ratio=ratio,
        regret_usd=regret,
        night_usd=_at_usd(steps, NIGHT_H),
        weekend_usd=_at_usd(steps, WEEKEND_H),
    )


def worst_case(options: Sequence[Option], steps: Sequence[Step]) -> tuple[float, float]:
    """Return the largest ratio to the best in hindsight, and the most dollars above it.

    Between two corners, of the schedule or of hindsight, both costs are straight lines: the worst
    is at a corner or just behind one.
    """
    if steps[-1].option.usd_per_hour > 0:  # and hindsight destroys
        return math.inf, math.inf
    corners = {step.from_h for step in chain(steps, envelope(options))}
    ratio, regret = 1.0, 0.0
    for at_h in sorted({*corners, *(math.nextafter(at_h, math.inf) for at_h in corners)}):
        if at_h == 0:
            continue
        cost, best = schedule_usd(steps, at_h), cheapest(options, at_h).cost_usd(at_h)
        regret = max(regret, float(cost - best))
        ratio = max(ratio, _ratio(cost, best) if at_h > SHORTEST_H else _at_once(steps))
    return ratio, regret


def _ratio(cost: Decimal, best: Decimal) -> float:
    if best == 0:
        return math.inf if cost > 0 else 1.0
    return float(cost / best)


def _at_once(steps: Sequence[Step]) -> float:
    """Return the ratio for somebody who is back at once: what is paid then has no bound to 0."""
    return math.inf if steps[0].option.wake_usd > 0 else 1.0
