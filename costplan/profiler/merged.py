"""What a traced burst adds to bursts without a tracer.

A tracer slows the host down and leaves the device alone: how long kernels take is taken from it,
how long a step takes is not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from costplan.records.verdicts import Finding

if TYPE_CHECKING:
    from costplan.records.traces import TraceFacts
    from costplan.records.verdicts import Measured

MOST_CLASSES: Final = 3
"""Kinds of kernels that are named."""


def with_trace(measured: Measured, facts: TraceFacts) -> Measured:
    """Return the measurements with what the trace tells of the device; nothing that it does not."""
    step_s = measured.step_s
    if step_s is None:
        return measured
    found = {
        "busy_share": _of_step(facts.busy_share, facts.step_s, step_s),
        "communication_share": _of_step(facts.exposed_communication_share, facts.step_s, step_s),
        "launches_per_step": facts.launches_per_step,
        # What the allocator counted covers more steps.
        "allocations_per_step": facts.allocations_per_step
        if measured.allocations_per_step is None
        else None,
    }
    known = {name: value for name, value in found.items() if value is not None}
    return measured.model_copy(update=known)


def _of_step(share: float | None, traced_s: float | None, step_s: float) -> float | None:
    """Return a share of the traced step as one of the step without a tracer."""
    if share is None or traced_s is None:
        return None
    return min(share * traced_s / step_s, 1.0)


def kernel_evidence(facts: TraceFacts) -> tuple[Finding, ...]:
    """Return which kinds of kernels take the device's time."""
    named = [
        f"{each.name} {each.share:.0%}" for each in (facts.kernel_classes or ())[:MOST_CLASSES]
    ]
    if not named:
        return ()
    return (Finding(name="kernels", value=", ".join(named), says="inconclusive"),)


def no_device(facts: TraceFacts) -> str | None:
    """Return what to say where a GPU is in use and the trace shows none of its work."""
    if facts.busy_share is not None:
        return None
    why = facts.reasons.get("busy_share", "no reason given")
    return (
        f"the tracer saw no work of the GPU ({why}): some containers refuse it; the verdict rests "
        "on bursts alone"
    )
