"""Borders between the states of a box, and when a state must be left for another."""

from __future__ import annotations

import math
from decimal import Decimal
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from costplan.advisor import Step, cheapest, envelope, gone_break_even
from costplan.boxcosts import costs
from costplan.records.idle import GoneMoves
from costplan.units import decimal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from costplan.advisor import Option
    from costplan.boxcosts import Costs
    from costplan.records.idle import IdleBox

TIE_SHARE: Final = Decimal("0.1")
TIE_MOST_USD: Final = Decimal("0.30")
"""Within a tenth of the rebuild and 30 cents the choice that can be undone is advised."""
MARGIN_H: Final = 1.0
MARGIN_SHARE: Final = 0.1
"""Before a clock runs out there must be time to save what is on the box: an hour, or a tenth of
the clock where that is less."""
LONG_RESTART_MINUTES: Final = 10.0
"""A restart that includes relaunching the job, where only the box's was given."""


def with_expiries(plan: tuple[Step, ...], options: Sequence[Option]) -> tuple[Step, ...]:
    """Return the plan with a step to destroy, in time, before a state ends by itself."""
    result: list[Step] = []
    destroy = next((option for option in options if option.action == "destroy"), None)
    if destroy is None:  # it would miss a deadline: the way back begins before the state ends
        return plan
    for place, step in enumerate(plan):
        end = plan[place + 1].from_h if place + 1 < len(plan) else math.inf
        at, option = step.from_h, step.option
        while ends_h(option) < end:
            # Down to the next state that still holds the data, and only then to destroy.
            if at < ends_h(option):
                if not result or result[-1].option is not option:
                    result.append(Step(at, option))
                at = ends_h(option)
            rate = option.usd_per_hour
            holding = [o for o in options if o.undo and o.usd_per_hour < rate and ends_h(o) > at]
            option = min(holding, key=lambda o: o.usd_per_hour, default=destroy)
            if option is destroy:
                return (*result, Step(at, destroy))
        if not result or result[-1].option is not option:
            result.append(Step(at, option))
    return tuple(result)


def ends_h(option: Option) -> float:
    """Return when a state must be left: before its clock runs out, in time to save what is there.

    A balance is taken as spent at this state's rate from the start; `within_balance` knows what
    was spent before at another.
    """
    return math.inf if option.until_h is None else in_time_h(option.until_h)


def in_time_h(until_h: float) -> float:
    """Return when to act so that something can still be saved before `until_h`."""
    return until_h - min(MARGIN_H, MARGIN_SHARE * until_h)


def within_balance(
    plan: tuple[Step, ...], options: Sequence[Option], balance_usd: Decimal | None
) -> tuple[Step, ...]:
    """Return the plan ended by a destroy before the money for all its steps together is gone."""
    destroy = next((option for option in options if option.action == "destroy"), None)
    if balance_usd is None or destroy is None:
        return plan
    spent = Decimal(0)
    for place, step in enumerate(plan):
        end = plan[place + 1].from_h if place + 1 < len(plan) else math.inf
        rate = step.option.usd_per_hour
        lasts_h = math.inf if rate == 0 else float((balance_usd - spent) / rate)
        at = max(step.from_h, in_time_h(step.from_h + lasts_h)) if lasts_h < math.inf else lasts_h
        if at < end:
            kept = plan[: place + 1] if at > step.from_h else plan[:place]
            return (*kept, Step(at if kept else 0.0, destroy))
        if end < math.inf:
            spent += rate * decimal(end - step.from_h)
    return plan


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
    places = [begins(steps, "destroy"), *(o.until_h for o in options if o.until_h is not None)]
    destroy = next(o for o in options if o.action == "destroy")
    for hours in sorted(p for p in places if p is not None):
        later = hours * (1 + 1e-9)
        if cheapest(options, later) is destroy:
            return hours
    return None


def begins(steps: Sequence[Step], action: str) -> float | None:
    """Return where `action` begins; None where it is no step."""
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


def break_even(
    box: IdleBox, money: Costs, away_h: float | None, destroy_h: float | None
) -> float | None:
    """Return q* at the hours away, or halfway to the border of destroy."""
    hours = away_h if away_h is not None or destroy_h is None else destroy_h / 2
    if money.stopped_usd_per_hour is None or hours is None:
        return None
    return gone_break_even(
        stopped_usd_per_hour=money.stopped_usd_per_hour,
        restart_usd=money.restart_usd + box.lost_usd,
        rebuild=money.rebuild_usd + box.upload_usd + box.lost_usd,
        gone_usd=box.gone_usd,
        away_h=hours,
    )


def gone_moves(box: IdleBox) -> GoneMoves | None:
    """Return what the chance that the GPU is gone moves; None where none is given."""
    if not box.gone_share or box.stop is None:
        return None
    sure = costs(box.model_copy(update={"gone_share": None})).options
    options = costs(box).options
    backs = [o.wake_usd for each in (sure, options) for o in each if o.action == box.stop]
    if len(backs) < len((sure, options)):
        return None
    return GoneMoves(
        sure_back_usd=backs[0],
        back_usd=backs[1],
        sure_destroy_h=begins(envelope(sure), "destroy"),
        destroy_h=begins(envelope(options), "destroy"),
    )


def asks(box: IdleBox) -> tuple[str, ...]:
    """Return what a given restart may leave out: the job does not start by itself again."""
    minutes = box.restart_minutes
    if box.stop is None or minutes is None or minutes >= LONG_RESTART_MINUTES:
        return ()
    longer = box.model_copy(update={"restart_minutes": LONG_RESTART_MINUTES})
    now_h, then_h = (begins(envelope(costs(each).options), "destroy") for each in (box, longer))
    if now_h is None or then_h is None:
        return ()
    return (
        f"does the restart of {minutes:g} min include relaunching the job? destroy is cheapest "
        f"from {now_h:.1f} h; with {LONG_RESTART_MINUTES:g} min from {then_h:.1f} h",
    )


def shown_h(hours: float) -> str:
    """Return hours with no more digits than anybody reads.

    >>> shown_h(10.0), shown_h(12.75), shown_h(152.8741), shown_h(2160.0)
    ('10 h', '12.75 h', '152.9 h', '2160 h')
    """
    return f"{round(hours, 1 if hours >= 100 else 2):g} h"
