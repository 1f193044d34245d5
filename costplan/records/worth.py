"""What a training run takes and costs as it is, and what each change would save."""

from __future__ import annotations

from decimal import Decimal
from typing import Literal

from costplan.records.profiles import Range
from costplan.records.record import Number, Record, Truth, Whole


class Usd(Record):
    """Dollars; a bound that is not known is None."""

    low: Decimal | None
    expected: Decimal
    high: Decimal | None


class Spell(Record):
    """Steps of some amount of training: how long, and for how much."""

    time_s: Range
    hours: Range
    usd: Usd | None
    """None where no rate is known."""


class Saving(Record):
    """What is expected to be saved; negative where a change costs."""

    time_s: Number
    hours: Number
    usd: Decimal | None
    """At the same rate."""


class ChangeWorth(Record):
    """One change of the profile, in rates, time and money."""

    change: str
    basis: Literal["measured", "bounded"]
    """Bounded: no more is saved than this."""
    times_as_fast: Number | None
    samples_per_s: Number | None
    tokens_per_s: Number | None
    epoch: Spell | None
    job: Spell | None
    saves_epoch: Saving | None
    saves_job: Saving | None


class FasterGpu(Record):
    """The most that any faster GPU can save: what it does not wait for."""

    at_most_share: Number | None
    """Of the step; None where nothing bounds it."""
    why_unknown: str | None
    worth_usd_per_hour: Decimal | None
    """Above this rate for a box with a faster GPU the same work costs more than on this one."""
    saves_job: Saving | None


class Worth(Record):
    """What a verdict is worth."""

    usd_per_hour: Decimal | None
    """Of the whole box."""
    rate_from: str | None
    spent_usd: Decimal | None
    """By the profile itself, start of the program included."""
    epoch_from: str | None
    """What says how much an epoch is."""
    why_no_epoch: str | None
    epochs: Whole | None
    """Of the job, those left; None without a job."""
    epochs_given: Truth
    epoch: Spell | None
    job: Spell | None
    changes: tuple[ChangeWorth, ...]
    """As in the profile, in its order."""
    best: ChangeWorth | None
    """What saves the most of the step, from 5 % on; None where nothing does, or nobody knows."""
    faster_gpu: FasterGpu
    notices: tuple[str, ...] = ()
