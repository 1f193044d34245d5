"""How long an epoch takes: its steps, and what falls between them.

Validation, checkpoints and the start of workers count where they were seen; where no end of an
epoch was seen they are not known, and not nothing.
"""

from __future__ import annotations

from statistics import fmean
from typing import TYPE_CHECKING

from costplan.records.profiles import Epoch, Range

if TYPE_CHECKING:
    from collections.abc import Sequence

    from costplan.profiler.series import Mean
    from costplan.records.ranks import Gap, PhaseTaken, RankTaken


def epoch_of(rank: RankTaken, real: Mean) -> Epoch | None:
    """Return what an epoch takes; None where nobody knows how many batches it has.

    Args:
        rank: With its gaps: steps into which something else fell.
        real: Mean step of the program as it is.
    """
    batches = rank.facts.batches_per_epoch
    if not batches:
        return None
    ends = _more_s(rank, ("epoch",))
    starts = _more_s(rank, ("loader start",))
    inside = _more_s(rank, ("other loader",))
    steps = sum(len(phase.steps_s) for phase in rank.phases)
    between_s = fmean(ends) if ends else None
    start_s = fmean(starts) if starts else _first_start_s(rank)
    # Validation in the middle comes as often as it was seen among the steps.
    inside_s = batches * sum(inside) / steps if inside and steps else 0.0
    more_s = (between_s or 0.0) + (start_s or 0.0) + inside_s
    high = None if real.high == float("inf") else batches * real.high + more_s
    return Epoch(
        total_s=Range(low=batches * real.low + more_s, expected=batches * real.value + more_s,
                      high=high),
        steps_s=batches * real.value,
        between_s=between_s,
        loader_start_s=start_s,
        inside_s=inside_s,
        ends_seen=len(ends),
    )  # fmt: skip


def _first_start_s(rank: RankTaken) -> float | None:
    """Return by how much the very first batch came later than others, where workers bring it.

    Epochs longer than the budget show no other start.
    """
    waits_s = [each for phase in rank.phases if phase.name == "real" for each in phase.waits_s]
    if rank.facts.first_batch_s is None or not waits_s:
        return None
    return max(0.0, rank.facts.first_batch_s - fmean(waits_s))


def _more_s(rank: RankTaken, kinds: Sequence[str]) -> list[float]:
    """Return by how much each gap of some kinds was longer than a step of its visit."""
    found = []
    for gap in rank.gaps:
        typical_s = _step_s(gap, rank.phases)
        if gap.what in kinds and typical_s is not None:
            found.append(max(0.0, gap.step_s - typical_s))
    return found


def _step_s(gap: Gap, phases: Sequence[PhaseTaken]) -> float | None:
    steps = [step for phase in phases if phase.name == gap.phase for step in phase.means_s]
    return fmean(steps) if steps else None
