"""From what the ranks of a command measured to the profile that is told."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from costplan.errors import UnknownError
from costplan.profiler.rules import judge
from costplan.profiler.taken import bursts, loaders, measured, slowest
from costplan.profiler.whatif import what_if
from costplan.records.profiles import Burst, Profile, Range

if TYPE_CHECKING:
    from collections.abc import Sequence

    from costplan.profiler.series import Mean
    from costplan.records.ranks import RankFacts, RankTaken

BYTES_PER_GB: Final = 1e9
FEW: Final = 20
"""Steady steps below which a verdict is only a first word."""


def profile_of(
    ranks: Sequence[RankTaken],
    *,
    code: int | None,
    spent_s: float,
    redirected: Sequence[str] = (),
    made: Sequence[str] = (),
) -> Profile:
    """Return the profile of a command, by its slowest rank.

    Raises:
        UnknownError: No rank has measured enough steps.
    """
    rank = slowest(ranks) if ranks else None
    taken = None if rank is None else bursts(rank)
    real = None if taken is None else taken.mean("real")
    if rank is None or taken is None or real is None:
        raise UnknownError(
            "no steps of training were seen",
            hint="a torch DataLoader and a torch optimizer must be at work; give it more time with "
            "--budget, or run the command alone to see that it trains",
        )
    facts = rank.facts
    loader = loaders(facts, workers=facts.workers)
    verdict = judge(measured(rank), few_steps_ok=True)
    return Profile(
        verdict=verdict,
        step_s=Range(low=real.low, expected=real.value, high=_finite(real.high)),
        samples_per_s=_rate(real, facts.samples, len(ranks)),
        tokens_per_s=_rate(real, facts.tokens, len(ranks)),
        epoch_s=_times(real, facts.batches_per_epoch),
        what_if=what_if(taken, loader, workers=facts.workers),
        device=facts.device,
        threads=facts.threads,
        ranks=len(ranks),
        batch=facts.samples,
        accumulation=facts.accumulation,
        workers=facts.workers,
        startup_s=max(0.0, facts.startup_s),
        spent_s=spent_s,
        peak_memory_gb=_gb(facts.peak_memory_bytes),
        program_exit_code=code,
        bursts=tuple(
            Burst(
                name=phase.name,
                steps_s=phase.steps_s,
                waits_s=phase.waits_s,
                why_short=phase.why_short,
            )
            for phase in rank.phases
        ),
        redirected=tuple(redirected),
        made=tuple(made),
        notices=tuple(_notices(real, facts)),
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


def _times(step: Mean, count: int | None) -> Range | None:
    if not count:
        return None
    high = _finite(step.high)
    return Range(
        low=count * step.low,
        expected=count * step.value,
        high=None if high is None else count * high,
    )


def _finite(value: float) -> float | None:
    return value if value < float("inf") else None


def _gb(size_bytes: int | None) -> float | None:
    return None if size_bytes is None else size_bytes / BYTES_PER_GB


def _notices(real: Mean, facts: RankFacts) -> list[str]:
    found = []
    if real.steps < FEW:
        found.append(
            f"only {real.steps} steps were timed: the step takes {real.low:.3g} to {real.high:.3g} "
            "s; --budget buys more"
        )
    if facts.device == "cpu":
        found.append("no GPU was in use: the word gpu means the device that computes, here the CPU")
    for name, why in facts.refused.items():
        found.append(f"no {name} batch could be made: {why}")
    return found
