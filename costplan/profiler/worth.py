"""What a profile means in hours and dollars: the run as it is, and with each change.

The steps alone: set-up, transfers, validation and idle time belong to `costplan estimate`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from costplan.profiler.limits import SMALLEST_SHARE
from costplan.records.profiles import Range
from costplan.records.worth import ChangeWorth, FasterGpu, Saving, Spell, Usd, Worth
from costplan.units import SECONDS_PER_HOUR, decimal
from costplan.usable import cost

if TYPE_CHECKING:
    from collections.abc import Sequence
    from decimal import Decimal

    from costplan.records.jobs import Job
    from costplan.records.profiles import Profile, WhatIf

OFF_SHARE: Final = 0.1
"""Job and loader may differ by so much before it is said: a last batch is cut or dropped."""


class Rate(NamedTuple):
    """What the whole box costs."""

    usd_per_hour: Decimal
    said_by: str


class Epoch(NamedTuple):
    """How long the steps of one epoch take as expected, and what says so."""

    time_s: float | None
    said_by: str | None
    why_not: str | None = None


def worth(profile: Profile, *, rate: Rate | None, job: Job | None) -> Worth:
    """Return what the run of a profile takes and costs, and what each change would save.

    Args:
        profile: Whose rates count all ranks together; its batch and steps are those of one rank.
        rate: Of the box with all GPUs that the ranks used.
        job: How much an epoch is and how many there are; its throughput is not looked at.
    """
    epoch = epoch_of(profile, job)
    left = None if job is None else (job.epochs or 1) * (job.runs or 1) - (job.done or 0)
    usd_per_hour = None if rate is None else rate.usd_per_hour
    scaled = Scaled(profile, epoch.time_s, left, usd_per_hour)
    changes = tuple(change_worth(profile, each, scaled) for each in profile.what_if)
    return Worth(
        usd_per_hour=usd_per_hour,
        rate_from=None if rate is None else rate.said_by,
        spent_usd=_usd(profile.spent_s, usd_per_hour),
        epoch_from=epoch.said_by,
        why_no_epoch=epoch.why_not,
        epochs=left,
        epochs_given=job is not None and job.epochs is not None,
        epoch=scaled.spell(1, profile.step_s),
        job=None if left is None else scaled.spell(left, profile.step_s),
        changes=changes,
        best=best(profile, changes),
        faster_gpu=faster_gpu(profile, scaled),
        notices=tuple(notices(profile, job)),
    )


class Scaled(NamedTuple):
    """Spells of the run, by the time of a step."""

    profile: Profile
    epoch_s: float | None
    epochs: int | None
    usd_per_hour: Decimal | None

    def spell(self, epochs: int, step_s: Range) -> Spell | None:
        """Return what so many epochs take with steps of this time; None where nobody knows."""
        if self.epoch_s is None:
            return None
        times = epochs * self.epoch_s / self.profile.step_s.expected

        def scaled(value: float | None) -> float | None:
            return None if value is None else times * value

        low, expected, high = scaled(step_s.low), times * step_s.expected, scaled(step_s.high)
        usd = _usd(expected, self.usd_per_hour)
        return Spell(
            time_s=Range(low=low, expected=expected, high=high),
            hours=Range(low=_hours(low), expected=expected / SECONDS_PER_HOUR, high=_hours(high)),
            usd=None if usd is None else Usd(
                low=_usd(low, self.usd_per_hour), expected=usd, high=_usd(high, self.usd_per_hour)
            ),
        )  # fmt: skip

    def saving(self, epochs: int | None, share: float) -> Saving | None:
        """Return what a share of the step is in so many epochs; negative for what costs."""
        if self.epoch_s is None or epochs is None:
            return None
        saved_s = epochs * self.epoch_s * share
        usd = _usd(abs(saved_s), self.usd_per_hour)
        signed = usd if usd is None or saved_s >= 0 else -usd
        return Saving(time_s=saved_s, hours=saved_s / SECONDS_PER_HOUR, usd=signed)


def epoch_of(profile: Profile, job: Job | None) -> Epoch:
    """Return what an epoch takes: by the job where it says how much that is, else by the loader."""
    asked = None if job is None else _job_epoch(profile, job)
    if asked is not None:
        return asked
    if profile.epoch_s is not None:
        return Epoch(profile.epoch_s.expected, "length of the loader")
    return Epoch(None, None, "the loader has no length; say samples, or tokens, with --job")


def _job_epoch(profile: Profile, job: Job) -> Epoch | None:
    if job.tokens is not None and profile.tokens_per_s is not None:
        return Epoch(job.tokens / profile.tokens_per_s.expected, "tokens of the job")
    samples, said_by = job.samples, "samples of the job"
    if samples is None and job.steps_per_epoch is not None:
        if job.batch is None:  # a step of a job is one of the optimizer
            step_s = profile.accumulation * profile.step_s.expected
            return Epoch(job.steps_per_epoch * step_s, "steps of the job")
        samples, said_by = job.steps_per_epoch * job.batch, "steps and batch of the job"
    if samples is not None and profile.samples_per_s is not None:
        return Epoch(samples / profile.samples_per_s.expected, said_by)
    return None


def change_worth(profile: Profile, change: WhatIf, scaled: Scaled) -> ChangeWorth:
    """Return one change in rates, hours and dollars."""
    step_s = Range(low=change.low_s, expected=change.step_s, high=change.high_s)
    left = 1 - change.step_s / profile.step_s.expected
    faster = profile.step_s.expected / change.step_s if change.step_s > 0 else None

    def rate(now: Range | None) -> float | None:
        return None if now is None or faster is None else now.expected * faster

    return ChangeWorth(
        change=change.change,
        basis=change.basis,
        times_as_fast=faster,
        samples_per_s=rate(profile.samples_per_s),
        tokens_per_s=rate(profile.tokens_per_s),
        epoch=scaled.spell(1, step_s),
        job=None if scaled.epochs is None else scaled.spell(scaled.epochs, step_s),
        saves_epoch=scaled.saving(1, left),
        saves_job=scaled.saving(scaled.epochs, left),
    )


def best(profile: Profile, changes: Sequence[ChangeWorth]) -> ChangeWorth | None:
    """Return what saves the most; None where nothing is worth a word, or the bursts disagree."""
    found = max(changes, key=lambda each: each.times_as_fast or 0.0, default=None)
    if found is None or found.times_as_fast is None or profile.verdict.word == "inconclusive":
        return None
    return found if 1 - 1 / found.times_as_fast >= SMALLEST_SHARE else None


def faster_gpu(profile: Profile, scaled: Scaled) -> FasterGpu:
    """Return the most that a faster GPU saves, or why that is not known."""
    share = next((each.share for each in profile.verdict.gains if each.of == "a faster GPU"), None)
    why = None
    if profile.verdict.word == "inconclusive":
        share, why = None, "the verdict is inconclusive"
    elif share is None:
        why = "no batch was replayed, and nobody saw how long the device works"
    most = None
    if share is not None and share < 1 and scaled.usd_per_hour is not None:
        most = scaled.usd_per_hour / (1 - decimal(share))
    return FasterGpu(
        at_most_share=share,
        why_unknown=why,
        worth_usd_per_hour=most,
        saves_job=None if share is None else scaled.saving(scaled.epochs, share),
    )


def notices(profile: Profile, job: Job | None) -> list[str]:
    """Return where the job and what was seen of the program do not fit."""
    if job is None:
        return []
    asked = _job_epoch(profile, job)
    if asked is None:
        if (job.samples or job.tokens or job.steps_per_epoch) is None:
            return []
        what = "tokens" if job.tokens is not None else "samples"
        return [f"the job counts {what}, of which the program's batches tell nothing"]
    seen = profile.epoch_s
    if seen is None or asked.time_s is None or seen.expected <= 0:
        return []
    times = asked.time_s / seen.expected
    if abs(times - 1) <= OFF_SHARE:
        return []
    return [f"an epoch of the job is {times:.3g} times as long as the program's loader: the job's "
            "is taken"]  # fmt: skip


def _usd(time_s: float | None, usd_per_hour: Decimal | None) -> Decimal | None:
    if time_s is None or usd_per_hour is None:
        return None
    return cost(usd_per_hour, time_s)


def _hours(time_s: float | None) -> float | None:
    return None if time_s is None else time_s / SECONDS_PER_HOUR
