"""How sure measurements are: whether they are ground for a verdict, and within what."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from costplan.profiler.gains import most_of_loader
from costplan.profiler.limits import (
    LEAST_STEPS,
    LOADER_SHARE,
    MOST_ERROR_SHARE,
    NEAR_SHARE,
    SMALLEST_SHARE,
)

if TYPE_CHECKING:
    from costplan.records.verdicts import Measured


def doubts(measured: Measured, *, few_steps_ok: bool) -> str | None:
    """Return why what was measured is no ground for a verdict; None where it is.

    Args:
        measured: What is known.
        few_steps_ok: Fewer than 20 steps are no reason.
    """
    error = measured.step_error_share
    if measured.step_s is None:
        return "the time of a step is not known"
    # Beside replayed steps it matters only where it may move a saving over a line.
    if error is not None and error > MOST_ERROR_SHARE and measured.replay_s is None:
        return (
            f"the step time is uncertain by {error:.0%}" if error < 1 else "too few steps are known"
        )
    if measured.steps is not None and measured.steps < LEAST_STEPS and not few_steps_ok:
        return f"{measured.steps} steady steps, {LEAST_STEPS} are needed"
    return _of_loader(measured, measured.step_s)


def _of_loader(measured: Measured, step_s: float) -> str | None:
    """Return between what a perfect loader saves, where that may be nothing, or much."""
    error = compared_error_share(measured, measured.replay_error_share)
    if measured.replay_s is None or error is None or error <= NEAR_SHARE:
        return None
    saved = 1 - measured.replay_s / step_s
    bound = most_of_loader(measured)
    most = 1.0 if bound is None else max(bound, saved)
    low, high = max(saved - error, 0.0), min(saved + error, most)
    if not low < LOADER_SHARE <= high:
        return None
    return f"a perfect loader saves between {low:.0%} and {high:.0%}"


def compared_error_share(measured: Measured, error: float | None) -> float | None:
    """Return by how much a comparison errs: by its own interval, else as the mean step does.

    Args:
        measured: What is known.
        error: Of steps that were measured in turn; None where it was once, or not at all.
    """
    return measured.step_error_share if error is None else error


def growth_interval(measured: Measured, grows: float) -> tuple[float, float]:
    """Return the interval of the growth with the batch, as the half batch's leaves it."""
    base_s, half_s = measured.replay_s or measured.step_s, measured.half_s
    error = compared_error_share(measured, measured.half_error_share)
    if base_s is None or half_s is None or error is None:
        return grows, grows
    low, high = half_s / base_s + error, max(half_s / base_s - error, SMALLEST_SHARE)
    return -math.log2(low), -math.log2(high)
