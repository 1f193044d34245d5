"""From what the ranks of a command measured to the profile that is told."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from costplan.errors import UnknownError
from costplan.profiler.doubts import doubts
from costplan.profiler.endings import ended_by_burst
from costplan.profiler.epochs import epoch_of
from costplan.profiler.filecosts import storage_notices, storage_of, with_memory
from costplan.profiler.gpuside import NOTHING, Seen, gpu_of, notices, with_evidence, with_gpu_side
from costplan.profiler.parts import box_of, shares
from costplan.profiler.rules import judge
from costplan.profiler.taken import drift, is_outside, loaders, measured, skew, slowest, taken
from costplan.profiler.whatif import what_if, within
from costplan.records.profiles import Burst, Profile, Range
from costplan.usable import usable_cores

if TYPE_CHECKING:
    from collections.abc import Sequence

    from costplan.profiler.parts import Here
    from costplan.profiler.series import Mean
    from costplan.profiler.taken import Taken
    from costplan.records.profiles import Epoch
    from costplan.records.ranks import RankFacts, RankTaken

BYTES_PER_GB: Final = 1e9
SKEW_SHARE: Final = 0.10
"""TraceML's line for a straggler among the ranks."""
STAGES_SAID: Final = {
    "replay": "the step without its loader", "half": "half the batch", "loader": "the loader alone",
    "workers": "other numbers of workers", "double": "twice the batch",
    "resident": "a batch on the device already", "syncs": "waits for the device",
    "kernels": "a trace of the device's work",
}  # fmt: skip
MADE: Final = ("replay", "half", "double")
"""Bursts that need a batch that is made first."""
FEW: Final = 20
"""Steady steps below which a verdict is only a first word."""


def profile_of(
    ranks: Sequence[RankTaken],
    *,
    code: int | None,
    spent_s: float,
    redirected: Sequence[str] = (),
    made: Sequence[str] = (),
    here: Here | None = None,
    seen: Seen = NOTHING,
) -> Profile:
    """Return the profile of a command, by its slowest rank.

    Args:
        ranks: What each process wrote.
        code: The command's exit code; None where it had to be ended.
        spent_s: By all of the profile.
        redirected: Files of the user's that it wrote to.
        made: New files that it left.
        here: This box, as costplan itself sees it.
        seen: Of the GPU, from outside and in a trace.

    Raises:
        UnknownError: No rank has measured enough steps.
    """
    rank = slowest(ranks) if ranks else None
    found = None if rank is None else taken(rank)
    real = None if found is None else found.real()
    if rank is None or found is None or real is None:
        raise UnknownError(
            "no steps of training were seen",
            hint="a torch optimizer must be at work; give it more time with --budget, or run the "
            "command alone to see that it trains",
        )
    facts = rank.facts
    loader = loaders(facts, workers=facts.workers)
    epoch = epoch_of(rank, real)
    cpus = None if here is None else usable_cores(here.cpu)
    mine = measured(rank, usable_cpus=None if cpus is None else cpus / len(ranks))
    facing = with_gpu_side(mine, rank, seen)
    verdict = judge(facing, few_steps_ok=True)
    ended = ended_by_burst(ranks, code)
    is_unsure = doubts(facing, few_steps_ok=True) is not None
    storage = storage_of(rank, found, epoch)
    changes = with_memory(what_if(found, loader, workers=facts.workers), storage, real.value)
    return Profile(
        verdict=with_evidence(verdict, seen),
        step_s=Range(low=real.low, expected=real.value, high=_finite(real.high)),
        shares=shares(facing, verdict.word),
        samples_per_s=_rate(real, facts.samples, len(ranks)),
        tokens_per_s=_rate(real, facts.tokens, len(ranks)),
        epoch_s=None if epoch is None else epoch.total_s,
        epoch=epoch,
        storage=storage,
        what_if=within(changes, verdict, real.value),
        box=box_of(ranks, rank, here),
        device=facts.device,
        threads=facts.threads,
        ranks=len(ranks),
        batch=facts.samples,
        accumulation=facts.accumulation,
        workers=facts.workers,
        startup_s=max(0.0, facts.startup_s),
        spent_s=spent_s,
        peak_memory_gb=_gb(peak_bytes(rank)),
        # What a burst did to the program is no crash of its own.
        program_exit_code=code if ended is None else None,
        lead_s=facing.lead_s,
        blocked_s=facing.blocked_s,
        gpu=gpu_of(rank, seen),
        trace=seen.trace,
        bursts=tuple(
            Burst(
                name=phase.name,
                steps_s=phase.steps_s,
                waits_s=phase.waits_s if facts.loader_seen else (),
                outside_s=phase.waits_s if is_outside(facts) else (),
                leads_s=phase.leads_s,
                blocked_s=phase.blocked_s,
                peak_memory_gb=_gb(phase.peak_memory_bytes),
                why_short=phase.why_short,
            )
            for phase in rank.phases
        ),
        redirected=tuple(redirected),
        made=tuple(made),
        notices=(
            *([] if ended is None else [ended]),
            *_notices(real, facts, epoch, is_unsure=is_unsure),
            *storage_notices(storage, verdict, real.value),
            *_seen(found, ranks),
            *notices(rank, seen),
        ),
    )


def _rate(step: Mean, count: int | None, ranks: int) -> Range | None:
    """Return how many a second pass through all ranks together."""
    if not count:
        return None
    total = count * ranks
    return Range(
        low=None if _finite(step.high) is None else total / step.high,
        expected=total / step.value,
        high=total / step.low if step.low > 0 else None,
    )


def _finite(value: float) -> float | None:
    return value if value < float("inf") else None


def peak_bytes(rank: RankTaken) -> int | None:
    """Return the most device memory of the program as it is, or of all of it where nothing tells.

    The last burst may have needed twice as much.
    """
    peaks = [each.peak_memory_bytes for each in rank.phases if each.name == "real"]
    known = [peak for peak in peaks if peak is not None]
    return max(known, default=rank.facts.peak_memory_bytes)


def _gb(size_bytes: int | None) -> float | None:
    return None if size_bytes is None else size_bytes / BYTES_PER_GB


def _of_loader(facts: RankFacts, epoch: Epoch | None) -> list[str]:
    """Return what is not known for want of a loader, its length or its end."""
    why = facts.why_no_forward
    if not facts.loader_seen:
        return [
            "no torch DataLoader was seen: a step is from one optimizer step to the next, and what "
            "the program's own way of loading costs cannot be told by replaying its batches",
            *([] if why is None else [f"the forward pass counts as outside: {why}"]),
        ]
    if epoch is None:
        return ["the loader does not tell how many batches an epoch has: its time is unknown"]
    if not epoch.ends_seen:
        return ["no end of an epoch was seen: validation and checkpoints come on top"]
    return []


def _notices(real: Mean, facts: RankFacts, epoch: Epoch | None, *, is_unsure: bool) -> list[str]:
    found = _of_loader(facts, epoch)
    for name, missing_s in facts.dropped.items():
        found.append(
            f"left out for lack of time: {STAGES_SAID.get(name, name)}; --budget with "
            f"{math.ceil(missing_s)} s more buys it"
        )
    if real.steps < FEW:
        what = "step" if facts.accumulation == 1 else "optimizer step"
        counted = f"{what} was" if real.steps == 1 else f"{what}s were"
        within = f"the step takes {real.low:.3g} to {real.high:.3g} s"
        if _finite(real.high) is None:
            within = "how far others differ is not known"
        found.append(f"only {real.steps} {counted} timed: {within}; --budget buys more")
    elif is_unsure:
        found.append("four times the --budget halves the interval that leaves no verdict")
    if facts.held:
        found.append(
            f"{facts.held[0]} started the program and was ended with it: what it would have done "
            "next has not run"
        )
    if facts.device == "cpu":
        found.append("no GPU was in use: the word gpu means the device that computes, here the CPU")
    for name, why in facts.refused.items():
        found.append(f"no {name} batch could be made: {why}" if name in MADE
                     else f"left out: {STAGES_SAID.get(name, name)}: {why}")  # fmt: skip
    return found


def _seen(found: Taken, ranks: Sequence[RankTaken]) -> list[str]:
    """Return what was seen of the machine and of the ranks beside each other."""
    told = []
    slower = drift(found.visits)
    if slower is not None:
        told.append(
            f"the program became {slower:.0%} slower while it was measured (heat, power, or a "
            "neighbour on the machine): a long run takes longer than its first minutes say"
        )
    apart = skew(ranks)
    if apart is not None and apart >= SKEW_SHARE:
        told.append(
            f"rank {slowest(ranks).rank} waits longest for its batches, {apart:.0%} of a step "
            "longer than the first: all ranks go at its pace"
        )
    return told
