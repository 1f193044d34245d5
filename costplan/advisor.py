"""States of an idle box, what each costs over an absence, and when to change state.

A state bills by the hour and costs something on the way back. Going down is free or nearly, and
what the way back costs depends only on the state one comes back to: the additive multislope
ski-rental problem (Lotker, Patt-Shamir, Rawitz, SIDMA 2012). Costs are exact decimals; times are
hours as floats.
"""

from __future__ import annotations

import math
from decimal import Decimal
from itertools import pairwise
from typing import TYPE_CHECKING, Final, NamedTuple

from costplan.absence import Law, clamped, leave_times
from costplan.errors import InputError
from costplan.units import decimal

if TYPE_CHECKING:
    from collections.abc import Sequence

Action = str
"""keep, destroy, keep-data, a kind of stop, or the name of a further state."""

BISECTIONS: Final = 200
PARTS: Final = 4_000
PARTS_LIVES: Final = 40
LONGEST_H: Final = 1e5
"""Eleven years: no border beyond it is printed."""


def rebuild_usd(
    *,
    running_usd_per_hour: Decimal,
    setup_hours: Decimal,
    ingress_gb: Decimal,
    ingress_usd_per_gb: Decimal,
) -> Decimal:
    """Return what a new box costs before it is where the old one was.

    >>> from decimal import Decimal
    >>> round(rebuild_usd(running_usd_per_hour=Decimal("3.482778"), setup_hours=Decimal("0.25"),
    ...     ingress_gb=Decimal(43), ingress_usd_per_gb=Decimal("0.003")), 6)
    Decimal('0.999694')
    """
    return running_usd_per_hour * setup_hours + ingress_gb * ingress_usd_per_gb


def border_hours(*, one_off_usd: Decimal, saved_usd_per_hour: Decimal) -> Decimal:
    """Return the hours after which saving by the hour outweighs a cost paid once.

    With a rebuild and the stopped rate: for how long stop beats destroy. With a rebuild and the
    running rate: for how long keep beats destroy (the ski-rental border, Karlin et al. 1988).

    Raises:
        InputError: The saving is not above zero.
    """
    if saved_usd_per_hour <= 0:
        raise InputError(f"nothing is saved at {saved_usd_per_hour} $/h")
    return one_off_usd / saved_usd_per_hour


class Option(NamedTuple):
    """A state in which the box can wait."""

    action: Action
    usd_per_hour: Decimal
    wake_usd: Decimal
    """Paid at the return: restart, rebuild, what the waiting person's time is worth."""
    undo: bool = True
    """Whether what is on the box is still there afterwards."""
    fading_usd: Decimal = Decimal(0)
    """What the way back costs more once the GPU is surely gone."""
    half_life_h: float | None = None
    """Hours in which half of the GPUs left behind are taken."""
    until_h: float | None = None
    """After this the provider deletes the box, or nothing is left to pay for it."""

    def cost_usd(self, away_h: float) -> Decimal:
        """Return what an absence of `away_h` costs in this state."""
        cost = self.usd_per_hour * decimal(away_h) + self.wake_usd
        if self.half_life_h is not None:
            cost += self.fading_usd * decimal(1 - 2 ** (-away_h / self.half_life_h))
        return cost

    def holds(self, away_h: float) -> bool:
        """Return whether the box is still there after `away_h`."""
        return self.until_h is None or away_h <= self.until_h


class Step(NamedTuple):
    """From `from_h` hours away on, the box is in this state."""

    from_h: float
    option: Option


def cheapest(options: Sequence[Option], away_h: float) -> Option:
    """Return the cheapest state for a known absence; of equal ones the one that can be undone."""
    valid = [option for option in options if option.holds(away_h)] or list(options)
    return min(valid, key=lambda o: (o.cost_usd(away_h), not o.undo, o.usd_per_hour))


def envelope(options: Sequence[Option]) -> tuple[Step, ...]:
    """Return the states that are cheapest for some absence, in order, with where each begins.

    The lower envelope of the cost lines; keeping each state until its successor becomes cheaper
    never costs more than twice the best in hindsight.
    """
    steps: list[Step] = []
    for option in sorted(options, key=lambda o: (-o.usd_per_hour, o.wake_usd)):
        start = 0.0
        while steps:
            start = _meets(steps[-1].option, option)
            if start > steps[-1].from_h:
                break
            steps.pop()
            start = 0.0
        if start < LONGEST_H:
            steps.append(Step(start, option))
    return tuple(steps)


def _meets(now: Option, then: Option) -> float:
    """Return the absence from which `then` is no dearer than `now`."""
    if now.half_life_h is None and then.half_life_h is None:
        saved = now.usd_per_hour - then.usd_per_hour
        more = then.wake_usd - now.wake_usd
        if saved <= 0:
            return 0.0 if more <= 0 else math.inf
        return max(0.0, float(more / saved))
    low, high = 0.0, LONGEST_H
    if then.cost_usd(low) <= now.cost_usd(low):
        return 0.0
    if then.cost_usd(high) > now.cost_usd(high):
        return math.inf
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        if then.cost_usd(middle) <= now.cost_usd(middle):
            high = middle
        else:
            low = middle
    return high


def schedule_usd(steps: Sequence[Step], away_h: float) -> Decimal:
    """Return what an absence of `away_h` costs when the box goes through `steps`."""
    total = Decimal(0)
    current = steps[0]
    ends = [step.from_h for step in steps[1:]] + [math.inf]
    for step, end in zip(steps, ends, strict=True):
        if step.from_h > away_h or (step.from_h == away_h and step is not steps[0]):
            break
        current = step
        total += step.option.usd_per_hour * decimal(min(end, away_h) - step.from_h)
    return total + current.option.cost_usd(away_h) - current.option.usd_per_hour * decimal(away_h)


def learned(
    steps: Sequence[Step], law: Law, *, clamp_share: float | None = None
) -> tuple[Step, ...]:
    """Return the steps of the envelope, each left when `law` says so.

    Args:
        steps: The lower envelope.
        law: Of the absence.
        clamp_share: Keep each time within this share of its border, and one over it: a law
            learnt from few absences is not believed further.
    """
    bounds = [step.from_h for step in steps[1:]]
    saved = [float(a.option.usd_per_hour - b.option.usd_per_hour) for a, b in pairwise(steps)]
    times = leave_times(law, bounds, saved)
    if clamp_share is not None:
        times = clamped(times, bounds, clamp_share)
    result = [Step(0.0, steps[0].option)]
    for step, at in zip(steps[1:], times, strict=True):
        if at == math.inf:
            break
        if at <= result[-1].from_h:
            result[-1] = Step(result[-1].from_h, step.option)
        else:
            result.append(Step(at, step.option))
    return tuple(result)


def expected_usd(steps: Sequence[Step], law: Law) -> float:
    """Return the mean cost of going through `steps` under `law`; infinite if a wait never ends.

    C = sum of rate x (held(end) - held(start)) + wake x (back(end) - back(start)).
    """
    total = 0.0
    ends = [step.from_h for step in steps[1:]] + [math.inf]
    for step, end in zip(steps, ends, strict=True):
        rate, wake = float(step.option.usd_per_hour), float(step.option.wake_usd)
        if rate:
            total += rate * (law.held_h(end) - law.held_h(step.from_h))
        before = law.back(step.from_h) if step.from_h else 0.0
        total += wake * (law.back(end) - before)
        if step.option.half_life_h is not None:
            total += float(step.option.fading_usd) * _faded(step, end, law)
    return total


def _faded(step: Step, end: float, law: Law) -> float:
    """Return the integral of 1 - 2^(-t/half-life) over the returns of a step, by small parts."""
    last = min(end, step.from_h + PARTS_LIVES * (step.option.half_life_h or 0))
    width = (last - step.from_h) / PARTS
    total, before = 0.0, law.back(step.from_h) if step.from_h else 0.0
    for part in range(1, PARTS + 1):
        t = step.from_h + part * width
        back = law.back(t)
        total += (back - before) * (1 - 2 ** (-(t - width / 2) / (step.option.half_life_h or 1)))
        before = back
    return total + law.back(end) - before  # beyond it the GPU is surely gone


def gone_break_even(
    *,
    stopped_usd_per_hour: Decimal,
    restart_usd: Decimal,
    rebuild: Decimal,
    gone_usd: Decimal,
    away_h: float,
) -> float | None:
    """Return the chance that the GPU is gone at which stop and destroy cost the same.

    q* = (rebuild - restart - stopped rate x hours) / (rebuild - restart + extra); None where stop
    loses even with a sure restart, or wins even without one.
    """
    gain = rebuild - restart_usd - stopped_usd_per_hour * decimal(away_h)
    loss = rebuild - restart_usd + gone_usd
    if loss <= 0:
        return None
    share = float(gain / loss)
    return share if 0 <= share <= 1 else None


def worst_ratio(alpha: float, s: float) -> float:
    """Return the least worst-case ratio of any fixed schedule with keep, stop and destroy.

    rho = 1 + [(1 - alpha) + sqrt((1 - alpha)^2 + 4 alpha (1 - s))] / 2 with alpha = wake(stop) /
    wake(destroy) and s = stopped rate / running rate.
    """
    return 1 + ((1 - alpha) + math.sqrt((1 - alpha) ** 2 + 4 * alpha * (1 - s))) / 2
