"""What a profile says: how long a step takes, why, and what would change it."""

from __future__ import annotations

from typing import Annotated, Final, Literal

from pydantic import Field

from costplan.records.gpus import GpuWatched
from costplan.records.record import Number, Record, Truth, Whole
from costplan.records.traces import TraceFacts
from costplan.records.verdicts import Share, Verdict

# /1 2026-11: first form.
PROFILE_SCHEMA: Final = "costplan.profile/1"

Seconds = Annotated[Number, Field(ge=0)]
Taken = Annotated[Number, Field(gt=0)]


class Range(Record):
    """A mean with its 95 % interval; a bound that is not known is None."""

    low: Seconds | None
    expected: Taken
    high: Seconds | None


class Burst(Record):
    """One burst, step by step."""

    name: str
    steps_s: tuple[Seconds, ...]
    waits_s: tuple[Seconds, ...] = ()
    outside_s: tuple[Seconds, ...] = ()
    """Without a loader of torch's: of each step, outside forward, backward and optimizer."""
    leads_s: tuple[Number, ...] = ()
    blocked_s: tuple[Seconds, ...] = ()
    peak_memory_gb: Number | None = None
    why_short: str = ""


class WhatIf(Record):
    """One change and the step time that it would give."""

    change: str
    step_s: Seconds
    low_s: Seconds | None
    high_s: Seconds | None
    basis: Literal["measured", "bounded"]


class Epoch(Record):
    """One epoch; what was not seen is None."""

    total_s: Range
    steps_s: Seconds
    between_s: Seconds | None
    """From its last step to the first of the next: validation, checkpoints, the end of workers."""
    loader_start_s: Seconds | None
    """Until the first batch of new workers."""
    inside_s: Seconds
    """Validation and the like in the middle."""
    ends_seen: Whole


class Shares(Record):
    """What of a step the loader, the host and the device account for; an unknown one is None."""

    dataloader: Share | None = None
    """That a loader which costs nothing would save."""
    host: Share | None = None
    """The rest: what does not grow with the batch, or in which the device idles."""
    device: Share | None = None
    """In which the device works; where nobody saw that, what grows with the batch."""


class Box(Record):
    """Where it was measured, as far as it told."""

    device: str
    """As its driver calls it; `cpu` where no GPU was in use."""
    gpu_count: Whole
    """At work for the program; 0 on a CPU."""
    usable_cpus: Number | None = None
    """The least of what is there, allowed and paid out, as `costplan check` counts them."""
    cpu_model: str | None = None
    memory_gb: Number | None = None
    """Main memory that may be used."""
    python: str | None = None
    torch: str | None = None
    cuda: str | None = None
    """That torch was built for; ROCm's where it is that, None for a build without."""


class Storage(Record):
    """Files from the disk against files in memory; what is not known is None."""

    cold_s: Seconds | None = None
    """One batch in one process, its files dropped from memory first."""
    warm_s: Seconds | None = None
    """The same batch right after."""
    batches: Whole = 0
    """That were read so."""
    disk_share: Share | None = None
    """Of what they hold, that came from the disk with the files as the bursts had left them."""
    step_cold_s: Seconds | None = None
    """The step with all files from the disk, where that gives all workers what it gives one."""
    step_warm_s: Seconds | None = None
    """The step with all files in memory."""
    dataset_gb: Number | None = None
    """About, by the files that were read."""
    memory_gb: Number | None = None
    """That they could have."""
    fits: Truth | None = None
    """Whether later epochs find the files in memory."""
    first_epoch_s: Seconds | None = None
    """On a box that has not read the files yet."""
    later_epoch_s: Seconds | None = None
    why_unknown: str | None = None


class Profile(Record):
    """The answer to `costplan profile`."""

    verdict: Verdict
    step_s: Range
    shares: Shares
    samples_per_s: Range | None
    tokens_per_s: Range | None
    epoch_s: Range | None
    """Steps, and of validation, checkpoints and loader starts what was seen."""
    epoch: Epoch | None = None
    storage: Storage | None = None
    """None where nobody came to it."""
    what_if: tuple[WhatIf, ...]
    box: Box
    device: str
    threads: Whole
    ranks: Whole
    batch: Whole | None
    """Samples of one batch of one rank."""
    accumulation: Whole
    workers: Whole
    startup_s: Seconds
    spent_s: Seconds
    """By the profile, start of the program included."""
    peak_memory_gb: Number | None
    program_exit_code: int | None
    lead_s: Number | None = None
    """By which the GPU was behind the host at the end of a step, with least in the way."""
    blocked_s: Seconds | None = None
    """Of a step, in calls that hold the host until the GPU is done."""
    gpu: GpuWatched | None = None
    """As the driver saw it during the bursts."""
    trace: TraceFacts | None = None
    """Of a burst under a tracer, whose step times say nothing."""
    bursts: tuple[Burst, ...]
    redirected: tuple[str, ...] = ()
    """Files of the user's that the program wrote to or deleted, kept as they were."""
    made: tuple[str, ...] = ()
    """New files that the program left."""
    notices: tuple[str, ...] = ()
