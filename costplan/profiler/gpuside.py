"""The GPU's side of a profile: what its clock, its driver and a trace of it add to step times."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from costplan.profiler.merged import kernel_evidence, no_device, with_trace
from costplan.profiler.ondevice import with_device
from costplan.profiler.traced import pageable
from costplan.profiler.watched import drift, watched, with_gpu

if TYPE_CHECKING:
    from collections.abc import Sequence

    from costplan.records.gpus import GpuSample, GpuWatched
    from costplan.records.ranks import RankTaken
    from costplan.records.traces import TraceFacts
    from costplan.records.verdicts import Measured, Verdict


class Seen(NamedTuple):
    """What was seen of the GPU from outside the program, and in a trace of it."""

    samples: Sequence[GpuSample] = ()
    """Of all GPUs of the machine."""
    trace: TraceFacts | None = None
    problem: str | None = None
    """Why there is no trace, where one was to be made."""


NOTHING: Seen = Seen()


def gpu_of(rank: RankTaken, seen: Seen) -> GpuWatched | None:
    """Return how the GPU of a rank did during its bursts; None without one, or unseen."""
    if rank.facts.device == "cpu":
        return None
    spans = [
        (each.began_s, each.ended_s)
        for each in rank.phases
        if each.began_s is not None and each.ended_s is not None
    ]
    return watched(seen.samples, uuid=rank.facts.gpu_uuid, spans=spans)


def with_gpu_side(measured: Measured, rank: RankTaken, seen: Seen) -> Measured:
    """Return the measurements with everything that is known of the GPU."""
    found = with_gpu(with_device(measured, rank.phases), gpu_of(rank, seen))
    return found if seen.trace is None else with_trace(found, seen.trace)


def with_evidence(verdict: Verdict, seen: Seen) -> Verdict:
    """Return the verdict with what a trace shows beside the busy share."""
    if seen.trace is None:
        return verdict
    more = (*kernel_evidence(seen.trace), *pageable(seen.trace))
    return verdict.model_copy(update={"evidence": (*verdict.evidence, *more)})


def notices(rank: RankTaken, seen: Seen) -> list[str]:
    """Return what must be said of the GPU: what could not be seen, and what did not hold still."""
    if rank.facts.device == "cpu":
        return []
    gpu = gpu_of(rank, seen)
    found = [None if gpu is None else drift(gpu)]
    if seen.problem is not None:
        found.append(f"no trace was made: {seen.problem}")
    if seen.trace is not None:
        found.append(no_device(seen.trace))
    return [text for text in found if text is not None]
