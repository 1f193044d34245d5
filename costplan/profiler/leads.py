"""Who waits for whom, by how far the device is behind the host and how long calls hold the host.

A device that is far behind has work enough: it sets the pace. One that has caught up waits for the
host, unless the host waits for it: a call such as `loss.item()` lets it catch up at every step.
"""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING, NamedTuple

from costplan.profiler.limits import (
    AHEAD_SHARE,
    BLOCKED_GPU_SHARE,
    BLOCKED_SHARE,
    CAUGHT_UP_SHARE,
    LEAST_LEAD_S,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from costplan.records.verdicts import Measured, Part

LEAST_LEADS = 4
"""Fewer marks are no burst."""


class Queue(NamedTuple):
    """What the queue of the device speaks for, and why; nothing where it does not tell."""

    says: Part | None
    why: str


def lead_s(leads_s: Sequence[float]) -> float | None:
    """Return how far the device is behind: in the second half, as a queue takes time to fill.

    >>> lead_s([0.0, 0.01, 0.02, 0.02]), lead_s([0.02] * 3)
    (0.02, None)
    """
    if len(leads_s) < LEAST_LEADS:
        return None
    return median(leads_s[len(leads_s) // 2 :])


def queue(measured: Measured) -> Queue | None:
    """Return what the queue says of a step that the loader does not hold up; None if unmeasured."""
    base_s = measured.replay_s or measured.step_s
    behind_s, blocked_s = measured.lead_s, measured.blocked_s
    if behind_s is None or base_s is None:
        return None
    shown = f"at the end of a step the device is {behind_s * 1e3:.2f} ms behind the host"
    if behind_s >= LEAST_LEAD_S and behind_s >= AHEAD_SHARE * base_s:
        return Queue("gpu", shown)
    if blocked_s is None:
        return Queue(None, shown)
    held = f"calls that wait for the device hold the host {min(blocked_s / base_s, 1.0):.0%}"
    if blocked_s >= BLOCKED_GPU_SHARE * base_s:
        return Queue("gpu", f"{held} of the step")
    caught_up = behind_s < LEAST_LEAD_S or behind_s < CAUGHT_UP_SHARE * base_s
    if caught_up and blocked_s < BLOCKED_SHARE * base_s:
        return Queue("host", shown)
    return Queue(None, shown)
