"""What a profile says of files: the first epoch against later ones, and what memory would save."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from costplan.profiler.limits import SMALLEST_SHARE
from costplan.profiler.storage import Steps, cold_warm, dataset_bytes, matters, steps, why_unknown
from costplan.profiler.taken import loaders
from costplan.records.profiles import Storage, WhatIf

if TYPE_CHECKING:
    from collections.abc import Sequence

    from costplan.profiler.taken import Taken
    from costplan.records.profiles import Epoch
    from costplan.records.ranks import RankTaken
    from costplan.records.verdicts import Verdict

BYTES_PER_GB: Final = 1e9
IN_MEMORY: Final = "all files in memory"


def storage_of(rank: RankTaken, found: Taken, epoch: Epoch | None) -> Storage | None:
    """Return what was measured of cold and warm files, and what epochs take by it."""
    files = rank.facts.files_read
    if files is None:
        return None
    known = cold_warm(files)
    if known is None:
        return Storage(batches=len(files.cold_s), why_unknown=why_unknown(files))
    size = dataset_bytes(files, rank.facts.batches_per_epoch)
    memory = files.memory_bytes
    fits = None if size is None or memory is None else size <= memory
    would = _steps(rank, found)
    first_s, later_s = _epochs_s(would, epoch, rank.facts.batches_per_epoch, fits=fits)
    return Storage(
        cold_s=known.cold_s,
        warm_s=known.warm_s,
        batches=len(files.cold_s),
        disk_share=known.disk_share,
        step_cold_s=None if would is None else would.cold_s,
        step_warm_s=None if would is None else would.warm_s,
        dataset_gb=None if size is None else size / BYTES_PER_GB,
        memory_gb=None if memory is None else memory / BYTES_PER_GB,
        fits=fits,
        first_epoch_s=first_s,
        later_epoch_s=later_s,
    )


def _steps(rank: RankTaken, found: Taken) -> Steps | None:
    facts = rank.facts
    files, real, replay = cold_warm(facts.files_read), found.real(), found.step("replay", "real")
    if files is None or real is None or replay is None:
        return None
    return steps(
        files, real_s=real.value, replay_s=replay.value, workers=facts.workers,
        waits=found.ready is not None and found.ready < 1 and replay.value < real.value,
        loader_s=loaders(facts, workers=facts.workers).now_s,
    )  # fmt: skip


def _epochs_s(
    would: Steps | None, epoch: Epoch | None, batches: int | None, *, fits: bool | None
) -> tuple[float | None, float | None]:
    """Return the seconds of the first epoch and of later ones."""
    if would is None or epoch is None or batches is None:
        return None, None
    more_s = epoch.total_s.expected - epoch.steps_s
    first_s, warm_s = batches * would.cold_s + more_s, batches * would.warm_s + more_s
    return first_s, None if fits is None else warm_s if fits else first_s


def with_memory(
    changes: Sequence[WhatIf], storage: Storage | None, real_s: float
) -> tuple[WhatIf, ...]:
    """Return the changes with that of files in memory, where that pays and they may fit."""
    if storage is None or storage.step_warm_s is None or storage.fits is False:
        return tuple(changes)
    if storage.step_warm_s > (1 - SMALLEST_SHARE) * real_s:
        return tuple(changes)
    more = WhatIf(change=IN_MEMORY, step_s=storage.step_warm_s, low_s=None, high_s=None,
                  basis="bounded")  # fmt: skip
    return tuple(sorted((*changes, more), key=lambda each: each.step_s))


def storage_notices(storage: Storage | None, verdict: Verdict, real_s: float) -> list[str]:
    """Return what to say of where the files lie."""
    if storage is None:
        return []
    if storage.why_unknown is not None:
        concerned = "dataloader" in (verdict.word, *verdict.parts)
        return [f"cold against warm files: not known: {storage.why_unknown}"] if concerned else []
    cold_s, warm_s, share = storage.step_cold_s, storage.step_warm_s, storage.disk_share
    if cold_s is None or warm_s is None or share is None:
        return []
    if not matters(Steps(cold_s, warm_s), real_s):
        return []
    if share < SMALLEST_SHARE:
        seen = "the bursts saw files that lay in memory already"
    else:
        seen = f"the bursts had {share:.0%} of what they read from the disk"
    text = f"{seen}: with all of it from the disk, as in the first epoch on a new box, a step takes"
    text += f" about {cold_s:.3g} s, with all in memory {warm_s:.3g} s"
    if storage.first_epoch_s is not None:
        text += f" (the first epoch about {storage.first_epoch_s:.3g} s"
        later = storage.later_epoch_s
        text += ")" if later is None else f", later ones {later:.3g} s)"
    return [f"{text}; {_room(storage)}"]


def _room(storage: Storage) -> str:
    """Return whether later epochs find the files in memory."""
    size, memory = storage.dataset_gb, storage.memory_gb
    if size is None or memory is None:
        return "whether all files fit into memory is not known"
    fit = "fit" if storage.fits else "do not fit"
    return f"about {size:.3g} GB of files {fit} into {memory:.3g} GB of memory"
