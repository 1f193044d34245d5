"""What one process of a training command wrote of its bursts."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from costplan.records.record import Number, Record, Truth, Whole


class LoaderTried(Record):
    """The loader alone, with some number of workers."""

    workers: Whole
    batches: Whole = 0
    first_s: Number | None = None
    batches_per_s: Number | None = None
    problem: str | None = None


class RankFacts(Record):
    """What is true of the whole process."""

    workers: Whole = 0
    prefetch: Whole = 0
    accumulation: Whole = 1
    batches_per_epoch: Whole | None = None
    pin_memory: Truth = False
    startup_s: Number = 0.0
    device: str = "cpu"
    threads: Whole = 1
    samples: Whole | None = None
    tokens: Whole | None = None
    loader: tuple[LoaderTried, ...] = ()
    refused: dict[str, str] = Field(default_factory=dict)
    finished: Truth = False
    peak_memory_bytes: Whole | None = None


class PhaseTaken(Record):
    """One burst, step by step."""

    name: str
    steps_s: tuple[Annotated[Number, Field(ge=0)], ...] = ()
    waits_s: tuple[Number, ...] = ()
    ready: tuple[Number, ...] = ()
    why_short: str = ""


class RankTaken(Record):
    """One process."""

    pid: Whole
    rank: Whole
    world: Whole
    optimizer_steps: Whole
    facts: RankFacts
    phases: tuple[PhaseTaken, ...]
