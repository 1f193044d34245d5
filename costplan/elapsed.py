"""An absence that has begun already: what it has cost, and what is left of its plan.

What is spent is spent: money decides over the hours from now on. A schedule counts from the day
somebody left, and so do the clock of a stopped box and the share of GPUs taken meanwhile.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from costplan.advisor import Step
from costplan.boxcosts import lasts_h
from costplan.records.idle import SoFar
from costplan.units import decimal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from costplan.absence import Law
    from costplan.advisor import Option
    from costplan.boxcosts import Costs
    from costplan.records.idle import Elapsed, IdleBox


class StillAway(NamedTuple):
    """The law of what is left of an absence that has lasted `gone_h` hours."""

    law: Law
    gone_h: float

    def held_h(self, t: float) -> float:
        """Return E[min(T, t)] of the hours left."""
        more = self.law.held_h(self.gone_h + t) - self.law.held_h(self.gone_h)
        return more / self._away()

    def back(self, t: float) -> float:
        """Return P(T <= t) of the hours left."""
        return (self.law.back(self.gone_h + t) - self.law.back(self.gone_h)) / self._away()

    def leave_h(self, bound_h: float) -> float:
        """Return what is left of the time after which to leave: the rule is consistent in time."""
        return max(0.0, self.law.leave_h(bound_h) - self.gone_h)

    def _away(self) -> float:
        return 1 - self.law.back(self.gone_h)


def still_away(law: Law | None, elapsed: Elapsed | None) -> Law | None:
    """Return the law of what is left; None where nobody has ever been away for so long."""
    if law is None or elapsed is None:
        return law
    return StillAway(law, elapsed.hours) if law.back(elapsed.hours) < 1 else None


def waiting(options: Sequence[Option], elapsed: Elapsed | None) -> tuple[Option, ...]:
    """Return the states left to choose from: a stopped box is not kept on."""
    if elapsed is None or elapsed.state == "idle":
        return tuple(options)
    return tuple(option for option in options if option.action != "keep")


def from_now(option: Option, box: IdleBox, elapsed: Elapsed | None) -> Option:
    """Return a state as it costs and lasts from now on."""
    if elapsed is None or elapsed.state == "idle" or option.action != box.stop:
        return option
    if option.half_life_h is not None:
        taken = option.fading_usd * decimal(1 - 2 ** (-elapsed.hours / option.half_life_h))
        option = option._replace(
            wake_usd=option.wake_usd + taken, fading_usd=option.fading_usd - taken
        )
    if box.stop_expires_hours is None:
        return option
    ends = [max(0.0, box.stop_expires_hours - elapsed.hours), lasts_h(box, option.usd_per_hour)]
    return option._replace(until_h=min(hours for hours in ends if hours is not None))


def rest(
    plan: Sequence[Step], options: Sequence[Option], elapsed: Elapsed | None
) -> tuple[Step, ...]:
    """Return what is left of a plan: the state it is in by now, and the steps still to come."""
    if elapsed is None:
        return tuple(plan)
    current = {option.action: option for option in options}
    begun = [step for step in plan if step.from_h <= elapsed.hours]
    ahead = [step for step in plan if step.from_h > elapsed.hours]
    return (
        Step(0.0, current[begun[-1].option.action]),
        *(Step(step.from_h - elapsed.hours, current[step.option.action]) for step in ahead),
    )


def so_far(
    box: IdleBox, money: Costs, elapsed: Elapsed | None, border_h: float | None
) -> SoFar | None:
    """Return what the hours until now have cost, and what destroying at the border would have."""
    if elapsed is None:
        return None
    rate = box.usd_per_hour if elapsed.state == "idle" else money.stopped_usd_per_hour
    if rate is None:
        return None
    destroy = next(option for option in money.options if option.action == "destroy")
    return SoFar(
        state=elapsed.state,
        hours=elapsed.hours,
        usd=rate * decimal(elapsed.hours),
        border_h=border_h,
        destroyed_usd=destroy.wake_usd,
    )
