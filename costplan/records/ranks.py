"""What one process of a training command wrote of its bursts."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from costplan.records.record import Number, Record, Truth, Whole


class LoaderTried(Record):
    """The loader alone, with some number of workers."""

    workers: Whole
    batches: Whole = 0
    first_s: Number | None = None
    batches_per_s: Number | None = None
    cpu_share: Number | None = None
    """Of the usable processors, workers included."""
    problem: str | None = None


class FilesRead(Record):
    """A few batches, fetched again and again in one process: from the disk, then from memory."""

    cold_s: tuple[Annotated[Number, Field(ge=0)], ...] = ()
    """Of each batch, in order, with its files dropped from memory."""
    warm_s: tuple[Annotated[Number, Field(ge=0)], ...] = ()
    """Of the same batches, right after."""
    samples: Whole = 0
    files: Whole = 0
    """Of the samples, each counted once."""
    size_bytes: Whole = 0
    opened_again: Whole = 0
    """Opened for the second time a batch was fetched."""
    large: Whole = 0
    """Files too large to be dropped from memory for a test."""
    found_bytes: Whole = 0
    """From the disk with the files as the bursts had left them; the next two likewise."""
    cold_bytes: Whole = 0
    warm_bytes: Whole = 0
    memory_bytes: Whole | None = None
    """That files and programs could still have."""
    problem: str | None = None
    """Why nothing was read."""


class RankFacts(Record):
    """What is true of the whole process."""

    workers: Whole = 0
    prefetch: Whole = 0
    accumulation: Whole = 1
    batches_per_epoch: Whole | None = None
    first_batch_s: Number | None = None
    """From the start of new workers to their first batch, before anything was measured; None where
    they start once for all epochs."""
    pin_memory: Truth = False
    startup_s: Number = 0.0
    device: str = "cpu"
    threads: Whole = 1
    samples: Whole | None = None
    tokens: Whole | None = None
    loader: tuple[LoaderTried, ...] = ()
    files_read: FilesRead | None = None
    """None where nobody came to it."""
    loader_seen: Truth = True
    """False where the program trains without a loader of torch's."""
    outside_seen: Truth = False
    """Without such a loader: a wait is what lies outside forward, backward and optimizer."""
    why_no_forward: str | None = None
    """Why the forward pass counts as outside."""
    refused: dict[str, str] = Field(default_factory=dict)
    """Bursts that could not be made, and why."""
    dropped: dict[str, float] = Field(default_factory=dict)
    """Bursts that the budget could not pay, with the seconds that were missing."""
    finished: Truth = False
    held: tuple[str, ...] = ()
    """Scripts that started the program and must not go on, by the names of what runs them."""
    waited_for: Whole | None = None
    """The process whose end the last of them waits for."""
    phase: str | None = None
    """The burst that feeds the program now, or did as it ended."""
    error: str | None = None
    """Type and first line of what ended the program, where Python could tell."""
    untraced: str | None = None
    """Why no trace was made, where one was to be."""
    gpu_uuid: str | None = None
    peak_memory_bytes: Whole | None = None
    gpus: Whole | None = None
    """On which this process has had memory."""
    python: str | None = None
    torch: str | None = None
    cuda: str | None = None
    """That torch was built for; ROCm's where it is that."""
    room_bytes: Whole | None = None
    """What the process could have of the device."""


class PhaseTaken(Record):
    """One burst, step by step."""

    name: str
    steps_s: tuple[Annotated[Number, Field(ge=0)], ...] = ()
    waits_s: tuple[Number, ...] = ()
    windows_s: tuple[Annotated[Number, Field(ge=0)], ...] | None = None
    """Mean steps from one optimizer step to the next; None where each step is one."""
    ready: tuple[Number, ...] = ()
    groups: Whole = 0
    """Optimizer steps."""
    spent_s: Number = 0.0
    cpu_s: Number = 0.0
    """Of the process, all threads."""
    main_s: Number = 0.0
    """Of the main thread on a processor."""
    workers_cpu_s: Annotated[Number, Field(ge=0)] | None = None
    """Of the loader's workers in `spent_s`; None where nobody knows, or others took their place."""
    leads_s: tuple[Number, ...] = ()
    """By which the device was behind the host at the end of each step."""
    blocked_s: tuple[Number, ...] = ()
    """Of each step, in calls that hold the host until the device is done."""
    began_s: Number | None = None
    ended_s: Number | None = None
    """By the clock that all processes of a machine share."""
    peak_memory_bytes: Whole | None = None
    allocations: Whole | None = None
    """During the counted steps, as are the next two."""
    retries: Whole | None = None
    compiles: Whole | None = None
    why_short: str = ""

    @property
    def means_s(self) -> tuple[float, ...]:
        """What is averaged: whole windows of accumulated batches."""
        return self.steps_s if self.windows_s is None else self.windows_s


class Gap(Record):
    """A step into which something else than training fell."""

    what: Literal["start", "epoch", "loader start", "other loader"]
    step_s: Annotated[Number, Field(ge=0)]
    phase: str


class RankTaken(Record):
    """One process."""

    pid: Whole
    rank: Whole
    world: Whole
    optimizer_steps: Whole
    facts: RankFacts
    phases: tuple[PhaseTaken, ...]
    gaps: tuple[Gap, ...] = ()
