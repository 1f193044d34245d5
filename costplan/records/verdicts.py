"""What was measured of a training loop, and what slows it down.

None is never zero: what was not measured decides nothing and is named.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from costplan.records.record import Number, Record, Truth, Whole

Word = Literal["dataloader", "host", "gpu", "mixed", "inconclusive"]
Part = Literal["dataloader", "host", "gpu"]
Of = Literal["dataloader", "host", "gpu", "communication"]
Basis = Literal["measured", "at least", "at most"]
Confidence = Literal["high", "medium", "low"]

Seconds = Annotated[Number, Field(ge=0)]
Taken = Annotated[Number, Field(gt=0)]
Share = Annotated[Number, Field(ge=0, le=1)]
Count = Annotated[Number, Field(ge=0)]


class Tried(Record):
    """A change that was made for real, one at a time, and the step time with it."""

    fix: str
    of: Of
    step_s: Taken


class Measured(Record):
    """Seconds are means per step; all but the tried changes of the loop as the user wrote it."""

    step_s: Taken | None = None
    steps: Annotated[Whole, Field(ge=0)] | None = None
    """Steady ones behind the mean."""
    step_error_share: Count | None = None
    """Half of the 95 % interval of the mean, by the mean."""
    traced: Truth = False
    """A tracer was on while the clock ran: time on the host is inflated."""

    wait_s: Seconds | None = None
    """In the loader's next batch."""
    loader_seen: Truth | None = None
    """False where the program was seen to use no torch DataLoader."""
    outside_s: Seconds | None = None
    """Without such a loader: outside of forward and backward pass and optimizer. Its own way of
    loading takes no more, and may take nothing of it."""
    replay_s: Taken | None = None
    """The step with a batch that lies on the device already."""
    replay_error_share: Count | None = None
    """Half of its 95 % interval, by the step: replayed and real steps were measured in turn."""
    replay_host_s: Taken | None = None
    """The step with a batch that lies on the host already."""
    loader_s: Taken | None = None
    """One batch of the loader alone."""
    loader_more_workers_s: Taken | None = None
    """The same with the best other number of workers."""
    loader_cold_s: Taken | None = None
    """One batch in one process, its files read from the disk."""
    loader_warm_s: Taken | None = None
    """The same with its files in memory."""
    loader_disk_share: Share | None = None
    """Of what the loader read in the bursts, that came from the disk; None where nobody looked."""
    loader_cpu_share: Share | None = None
    """Of the usable CPUs, while the loader runs alone."""
    ready_batches: Count | None = None
    """That lay ready on the mean when the next was asked for."""
    idle_in_loader_share: Share | None = None
    """Of the step: the device idle while the host waits for a batch."""
    workers: Annotated[Whole, Field(ge=0)] | None = None
    workers_cpu_s: Seconds | None = None
    """That they compute, all of them together."""
    main_cpu_share: Share | None = None
    """Of the time in which the main thread computes rather than waits."""
    on_cpu: Truth | None = None
    """The device is the CPU: the step computes on the processors that its loader works on."""
    usable_cpus: Count | None = None
    """Of the box, for one of its ranks."""

    busy_share: Share | None = None
    """Of the step in which the device works, streams counted once."""
    util_share: Share | None = None
    """As the driver counts it: the busy share is no larger."""
    half_s: Taken | None = None
    """The step with half the batch; replayed where `replay_s` is given."""
    half_error_share: Count | None = None
    """Half of its 95 % interval, by the replayed step."""
    double_s: Taken | None = None
    batch_exponent: Number | None = None
    """By which step time grows with the batch, where other sizes than half and double tell it."""

    lead_s: Number | None = None
    """By which the device is behind the host at the end of a step, with no loader in the way."""
    launches_per_step: Count | None = None
    blocked_s: Seconds | None = None
    """In calls that hold the host until the device is done."""
    optimizer_host_s: Seconds | None = None
    recompiles_per_step: Count | None = None
    communication_share: Share | None = None
    """Of the step, not hidden by other work of the device."""
    one_gpu_s: Taken | None = None
    """The step of one GPU alone with the same batch per GPU."""
    throttled: Truth | None = None
    power_share: Share | None = None
    """Of the limit."""
    allocations_per_step: Count | None = None
    """Device memory taken from or given back to the driver."""
    retries_per_step: Count | None = None
    """Allocations that failed until the allocator's cache was emptied."""

    tried: tuple[Tried, ...] = ()


class Finding(Record):
    """One thing that was seen, and what it speaks for."""

    name: str
    value: str
    says: Word


class Gain(Record):
    """What would be saved, as a share of the step."""

    of: Literal["dataloader", "host", "communication", "a faster GPU"]
    share: Share
    basis: Basis


class Advice(Record):
    """What to do, with what it saves."""

    text: str
    gain_share: Share
    basis: Basis


class Verdict(Record):
    """What slows a training loop down."""

    word: Word
    why: str
    parts: tuple[Part, ...] = ()
    """Of `mixed`, the one with the larger gain first."""
    cause: str | None = None
    confidence: Confidence = "low"
    evidence: tuple[Finding, ...] = ()
    gains: tuple[Gain, ...] = ()
    advice: tuple[Advice, ...] = ()
    not_advised: tuple[str, ...] = ()
    """What was tried and does not help."""
    unknown: tuple[str, ...] = ()
    """What cannot be known from what was measured."""
