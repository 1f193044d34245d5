"""What a profile tells an estimate: a throughput with its range, and what another card changes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from costplan.errors import UnknownError
from costplan.predict import Limit
from costplan.records.results import Notice, ProfileTaken
from costplan.work import Guess

if TYPE_CHECKING:
    from collections.abc import Iterator

    from costplan.records.jobs import Job
    from costplan.records.profiles import Profile
    from costplan.work import Work

ONLY_HERE: Final = "the profile is inconclusive: nothing is said of another card or count"


class Taken(NamedTuple):
    """A profile from a file, and the card that it was taken on."""

    file: str
    profile: Profile
    card: str


def throughput_of(job: Job, taken: Taken) -> dict[str, object]:
    """Return the fields of the throughput, with the one rate that fits the amount of work.

    Raises:
        UnknownError: The profile has no rate of what the job counts.
    """
    rate = _rate(job, taken)
    return {"card": taken.card, "count": taken.profile.box.gpu_count, "source": taken.file, **rate}


def _rate(job: Job, taken: Taken) -> dict[str, float]:
    profile = taken.profile
    if job.tokens is not None:
        if profile.tokens_per_s is None:
            raise UnknownError(
                f"the job counts tokens, and {taken.file} has no tokens/s",
                hint="say samples instead",
            )
        return {"tokens_per_s": profile.tokens_per_s.expected}
    stepped = job.steps_per_epoch is not None
    if (job.samples is not None or (stepped and job.batch is not None)) and profile.samples_per_s:
        return {"samples_per_s": profile.samples_per_s.expected}
    if stepped or (job.samples is not None and job.batch is not None):
        # A step of a job is one of the optimizer, that of a profile one batch.
        return {"step_s": profile.accumulation * profile.step_s.expected}
    if job.samples is not None:
        raise UnknownError(
            f"the job counts samples, and {taken.file} has no samples/s",
            hint="say steps_per_epoch, or batch too",
        )
    if profile.epoch_s is None:
        raise UnknownError(
            f"neither the job nor {taken.file} says how much an epoch is",
            hint="add samples to the job (per epoch)",
        )
    return {"seconds_per_epoch": profile.epoch_s.expected}


def work_with(work: Work, taken: Taken) -> Work:
    """Return settled work with the range of the measured step, and what limits it elsewhere.

    Raises:
        UnknownError: The step has no upper bound.
    """
    step, verdict = taken.profile.step_s, taken.profile.verdict
    if step.high is None or step.low is None:
        raise UnknownError(
            f"{taken.file} has too few steps to say how long one takes",
            hint="profile again with a larger --budget",
        )
    measured = Guess(step.low / step.expected, 1.0, step.high / step.expected)
    return work._replace(
        amount=Guess(*(a * b for a, b in zip(work.amount, measured, strict=True))),
        limit=limit_of(taken.profile),
        only_here=ONLY_HERE if verdict.word == "inconclusive" else None,
    )


def limit_of(profile: Profile) -> Limit | None:
    """Return what sets the pace where it is not the GPU, and how far a card can change it."""
    verdict = profile.verdict
    word = verdict.parts[0] if verdict.parts else verdict.word
    if word == "inconclusive":
        return Limit("not known", None, None, adds=True)
    if word == "gpu":
        return None
    faster, loader = _faster_gpu_share(profile), profile.shares.dataloader
    alone = word == "dataloader" and profile.workers == 0 and faster is not None
    # Two parts that both would save something come one after the other.
    adds = alone or verdict.word == "mixed"
    return Limit(word, faster, None if loader is None else 1 - loader, adds=adds)


def _faster_gpu_share(profile: Profile) -> float | None:
    if profile.verdict.word == "inconclusive":
        return None
    gains = profile.verdict.gains
    return next((each.share for each in gains if each.of == "a faster GPU"), None)


def record_of(taken: Taken) -> ProfileTaken:
    """Return what an answer says of the profile that it rests on."""
    profile = taken.profile
    return ProfileTaken(
        file=taken.file,
        device=profile.box.device,
        card=taken.card,
        count=profile.box.gpu_count,
        step_s=profile.step_s,
        samples_per_s=profile.samples_per_s,
        tokens_per_s=profile.tokens_per_s,
        verdict=profile.verdict.word,
        confidence=profile.verdict.confidence,
        faster_gpu_at_most_share=_faster_gpu_share(profile),
    )


def said(job: Job, taken: Taken) -> Iterator[Notice]:
    """Yield what a reader must know of the profile, and where the job says otherwise.

    Args:
        job: As it was asked, with its own throughput if it has one.
        taken: The profile that is used instead.
    """
    profile = taken.profile
    if job.throughput is not None:
        yield Notice(kind="profile", text=f"the throughput of the job, on {job.throughput.card}, "
                     f"is not used: {taken.file} was measured")  # fmt: skip
    seen = (profile.batch or 0) * profile.ranks * profile.accumulation
    if job.batch is not None and seen and job.batch != seen:
        yield Notice(kind="profile", text=f"the job's batch is {job.batch:,}, the profile's "
                     f"{seen:,}{_whole(profile)}: its rate is taken")  # fmt: skip
    limit = limit_of(profile)
    if profile.verdict.word == "inconclusive":
        yield Notice(kind="profile", text=f"{taken.file} is inconclusive: "
                     f"{profile.verdict.why}; nothing is said of other cards")  # fmt: skip
    elif limit is not None:
        helps = "a faster card shortens the GPU's part alone"
        if not limit.adds:
            helps = "a faster card is not expected to be faster"
        yield Notice(
            kind="profile",
            text=f"limited by the {limit.word} where it was measured: {helps}, and the same card "
            "with other CPUs or disks may be faster or slower; more GPUs need more CPUs too",
            what_to_do=f"costplan profile --from {taken.file} says what would help",
        )


def _whole(profile: Profile) -> str:
    """Return how a global batch is made up, nothing where it is the program's own."""
    parts = [f"{profile.ranks} ranks"] if profile.ranks > 1 else []
    parts += [f"accumulation {profile.accumulation}"] if profile.accumulation > 1 else []
    return f" ({profile.batch} x {' x '.join(parts)})" if parts else ""
