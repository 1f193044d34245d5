"""What files that come from the disk cost against files in memory: a batch, and an epoch."""

from __future__ import annotations

from statistics import fmean
from typing import TYPE_CHECKING, Final, NamedTuple

from costplan.profiler.limits import SMALLEST_SHARE

if TYPE_CHECKING:
    from costplan.records.ranks import FilesRead

LEAST_BATCHES: Final = 3
DROPPED_SHARE: Final = 0.2
"""Of what was read that must have come from the disk: some file systems pack it, none to a fifth
on the mean; one that keeps its files in memory reads nothing."""
KEPT_SHARE: Final = 0.1
"""Of it that may come from the disk again: beside the samples other files are read."""


class ColdWarm(NamedTuple):
    """One batch in one process: seconds with its files on the disk, and in memory."""

    cold_s: float
    warm_s: float
    disk_share: float
    """Of the bytes, that came from the disk as the bursts had left the files."""

    @property
    def seen_s(self) -> float:
        """The batch as the bursts had it: so much of it from the disk."""
        return self.warm_s + self.disk_share * (self.cold_s - self.warm_s)


def cold_warm(files: FilesRead | None) -> ColdWarm | None:
    """Return what was measured; None where it says nothing."""
    if files is None or why_unknown(files) is not None:
        return None
    share = min(1.0, files.found_bytes / files.cold_bytes)
    return ColdWarm(fmean(files.cold_s), fmean(files.warm_s), share)


def why_unknown(files: FilesRead) -> str | None:
    """Return why cold and warm files cannot be told apart; None where they can."""
    if files.problem is not None:
        return files.problem
    if not files.files:
        return "the loader opens no files that can be seen"
    if files.large:
        return "the samples lie in files too large to be read anew for a test"
    if not files.opened_again:
        return "the data set keeps the samples that it has read"
    if len(files.cold_s) < LEAST_BATCHES:
        return f"{len(files.cold_s)} batches were read in the time, {LEAST_BATCHES} are needed"
    if files.cold_bytes < DROPPED_SHARE * files.size_bytes:
        return "the files were not read from a disk, or it does not tell, or they are read in part"
    if files.warm_bytes > KEPT_SHARE * files.cold_bytes:
        return "the files came from the disk again right after they were read: nothing keeps them"
    return None


def dataset_bytes(files: FilesRead, batches_per_epoch: int | None) -> float | None:
    """Return about how large all files of an epoch are; None where several samples share one.

    >>> from costplan.records.ranks import FilesRead
    >>> of = FilesRead(cold_s=(1, 1), samples=8, files=8, size_bytes=800)
    >>> dataset_bytes(of, batches_per_epoch=50)
    20000.0
    """
    if not batches_per_epoch or not files.cold_s or files.files < files.samples:
        return None
    return files.size_bytes / len(files.cold_s) * batches_per_epoch


class Steps(NamedTuple):
    """A step where all files come from the disk, and where all lie in memory."""

    cold_s: float
    warm_s: float


def steps(
    files: ColdWarm, *, real_s: float, replay_s: float, workers: int, waits: bool,
    loader_s: float | None,
) -> Steps:  # fmt: skip
    """Return the steps that the program would have, from one process's reading.

    What a batch takes longer from the disk is shared by the workers, each with a batch of its own:
    on two cores and a local disk 3,000 files of 300 kB took 2 workers 1.11 s, 1.28 by this.

    Args:
        files: What one batch takes in one process.
        real_s: The step as the bursts had it.
        replay_s: The step without its loader: no step is shorter.
        workers: That load beside the step; without, the step itself takes longer.
        waits: Whether the step waits for its workers.
        loader_s: A batch of the loader alone with its workers, where that is known.
    """
    more_s = (files.cold_s - files.seen_s) / max(1, workers)
    less_s = (files.seen_s - files.warm_s) / max(1, workers)
    if workers and not waits:
        return Steps(max(real_s, (loader_s or 0.0) + more_s), real_s)
    warm_s = max(real_s - less_s, replay_s)
    return Steps(max(real_s, real_s + more_s), min(warm_s, real_s))


def matters(steps: Steps, real_s: float) -> bool:
    """Return whether where the files lie is worth a word."""
    return steps.cold_s - steps.warm_s >= SMALLEST_SHARE * real_s
