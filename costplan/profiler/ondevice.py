"""What the bursts of a program on a GPU tell beyond their step times."""

from __future__ import annotations

from statistics import fmean, median
from typing import TYPE_CHECKING, Final

from costplan.profiler.leads import lead_s

if TYPE_CHECKING:
    from collections.abc import Sequence

    from costplan.records.ranks import PhaseTaken
    from costplan.records.verdicts import Measured

TIMED: Final = ("resident", "replay", "real")
"""Bursts of the program as it is, those without a loader or a copy in the way first."""
LEAST_STEPS: Final = 3
"""Fewer steps of a burst say nothing."""


def with_device(measured: Measured, phases: Sequence[PhaseTaken]) -> Measured:
    """Return the measurements with what the device, its allocator and torch.compile tell."""
    found = {
        "lead_s": behind_s(phases),
        "blocked_s": blocked_s(phases),
        "allocations_per_step": per_step(phases, "allocations"),
        "retries_per_step": per_step(phases, "retries"),
        "recompiles_per_step": per_step(phases, "compiles"),
    }
    known = {name: value for name, value in found.items() if value is not None}
    return measured.model_copy(update=known)


def behind_s(phases: Sequence[PhaseTaken]) -> float | None:
    """Return how far the device is behind the host, by the bursts with least in the way."""
    for name in TIMED:
        found = [lead_s(each.leads_s) for each in named(phases, name)]
        known = [each for each in found if each is not None]
        if known:
            return max(0.0, median(known))
    return None


def blocked_s(phases: Sequence[PhaseTaken]) -> float | None:
    """Return for how long calls hold the host, per step."""
    found = [held for each in phases for held in each.blocked_s]
    return fmean(found) if len(found) >= LEAST_STEPS else None


def per_step(phases: Sequence[PhaseTaken], counter: str) -> float | None:
    """Return how often something was counted, per step of the bursts that were counted."""
    counted = [
        (getattr(each, counter), len(each.steps_s))
        for name in TIMED
        for each in named(phases, name)
        if getattr(each, counter) is not None
    ]
    steps = sum(count for _, count in counted)
    return sum(value for value, _ in counted) / steps if steps >= LEAST_STEPS else None


def named(phases: Sequence[PhaseTaken], name: str) -> list[PhaseTaken]:
    """Return the bursts of one name."""
    return [each for each in phases if each.name == name]
