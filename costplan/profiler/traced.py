"""The verdict that a trace alone gives, and what no trace can tell."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from costplan.profiler.limits import AHEAD_SHARE, LOADER_SHARE
from costplan.profiler.rules import judge
from costplan.profiler.tracefile import NO_LOADER
from costplan.records.verdicts import Finding, Measured, Verdict

if TYPE_CHECKING:
    from costplan.records.traces import TraceFacts
    from costplan.records.verdicts import Word

NOT_IN_A_TRACE: Final = (
    "how fast the loader is when nothing waits for it: it shows only once it is too slow",
    "the time of a step without the tracer",
    "whether another batch size, more workers or another card would help",
)


def trace_verdict(facts: TraceFacts) -> Verdict:
    """Return what slows down the steps of a trace."""
    missing = blocking_reason(facts)
    if missing is not None:
        return Verdict(word="inconclusive", why=missing, unknown=NOT_IN_A_TRACE)
    found = judge(measured(facts), few_steps_ok=True)
    told = {
        "evidence": (*found.evidence, *trace_evidence(facts)),
        "unknown": (*found.unknown, *facts.notes, *NOT_IN_A_TRACE),
    }
    return found.model_copy(update=told)


def blocking_reason(facts: TraceFacts) -> str | None:
    """Return why a trace allows no verdict at all, or None."""
    for name in ("step_s", "busy_share"):
        if getattr(facts, name) is None:
            return facts.reasons.get(name, f"{name} is not known")
    return None if facts.step_s else "the step markers take no time"


def measured(facts: TraceFacts) -> Measured:
    """Return what a trace says in the terms of the rules."""
    step_s = facts.step_s or None
    told = {
        "step_s": step_s,
        "steps": len(facts.steps),
        "traced": True,
        "wait_s": of_step(facts.loader_share, step_s),
        "loader_seen": False if facts.reasons.get("loader_share") == NO_LOADER.reason else None,
        "idle_in_loader_share": facts.idle_in_loader_share,
        "busy_share": facts.busy_share,
        "launches_per_step": facts.launches_per_step,
        "blocked_s": of_step(facts.blocked_share, step_s),
        "communication_share": facts.exposed_communication_share,
        "allocations_per_step": facts.allocations_per_step,
    }
    return Measured.model_validate(told)


def of_step(share: float | None, step_s: float | None) -> float | None:
    """Return a share of the step in seconds."""
    return None if share is None or step_s is None else share * step_s


def trace_evidence(facts: TraceFacts) -> list[Finding]:
    """Return what a trace shows beside the busy share."""
    found = []
    steps_s = [each.step_s for each in facts.steps]
    if len(steps_s) > 1:
        text = f"{len(steps_s)} take {min(steps_s) * 1e3:.2f} to {max(steps_s) * 1e3:.2f} ms"
        found.append(Finding(name="steps", value=text, says="inconclusive"))
    idle = facts.idle_in_loader_share
    if facts.loader_share is not None and idle is not None:
        text = f"{facts.loader_share:.0%} of the step, the device idle in {idle:.0%}"
        found.append(Finding(name="loader", value=text, says=says("dataloader", idle)))
    if facts.launch_delay_s is not None and facts.step_s:
        ahead = facts.launch_delay_s / facts.step_s >= AHEAD_SHARE
        text = f"kernels start {facts.launch_delay_s * 1e3:.2f} ms after their launch"
        found.append(Finding(name="queue", value=text, says="gpu" if ahead else "host"))
    waits = facts.host_wait_share
    if waits is not None:
        stream = str(facts.stream).removeprefix("stream ")
        text = f"stream {stream} waits for launches {waits:.0%} of the time"
        found.append(Finding(name="host wait", value=text, says=says("host", waits)))
    return found + pageable(facts)


def says(word: Word, share: float) -> Word:
    """Return what a share speaks for: nothing where it is small."""
    return word if share >= LOADER_SHARE else "inconclusive"


def pageable(facts: TraceFacts) -> list[Finding]:
    """Return what comes to the device from pageable memory, which holds the host."""
    return [
        Finding(
            name="copies",
            value=f"{each.count} from pageable memory take {each.copy_s * 1e3:.2f} ms",
            says="inconclusive",
        )
        for each in facts.copies or ()
        if each.direction == "HtoD" and each.host_memory == "pageable"
    ]
