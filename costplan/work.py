"""The job settled: every quantity with its range, and what had to be assumed."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import TYPE_CHECKING, Final, NamedTuple

from costplan.errors import InputError, UnknownError

if TYPE_CHECKING:
    from costplan.predict import Limit
    from costplan.records.cards import Precision
    from costplan.records.jobs import DatasetFrom, Job, Throughput

HOUR_S: Final = 3_600.0
LONGEST_S: Final = 100 * 8_766 * HOUR_S
"""A century: no job that anyone prices takes longer on the machine it was measured on."""


class Guess(NamedTuple):
    """Low, expected and high of a physical quantity."""

    low: float
    expected: float
    high: float

    def scaled(self, factor: float) -> Guess:
        """Return each of the three times `factor`."""
        return Guess(self.low * factor, self.expected * factor, self.high * factor)


# What a left-out field is taken to be. Chosen, not measured: each is said in the answer and enters
# low at half and high at double.
DEFAULTS: Final[dict[str, tuple[float, str]]] = {
    "overhead_s": (60, "start of the script and of the loader"),
    "dataset_gb": (10, "size of the data set is not given"),
    "checkpoint_gb": (0.5, "size of a checkpoint is not given"),
    "image_gb": (8, "a CUDA and PyTorch image, compressed"),
    "environment_gb": (10, "PyTorch with CUDA is 5.5 GB installed; the rest and caches"),
    "setup_minutes": (15, "install and first look"),
    "warmup_s": (60, "compilation, autotuning"),
    "idle_after_hours": (1, "until someone notices the end"),
    "home_mbit_per_s": (20, "upload of a home line"),
}
AMOUNTS: Final = frozenset({"throughput", "samples", "steps_per_epoch", "tokens", "epochs", "runs"})
"""How much there is to do, and how fast: a guess of one of them makes the training one."""
_SAID_ELSEWHERE: Final = frozenset({*DEFAULTS, "validation_s"})
DEFAULT_KEPT: Final = 2
"""Checkpoints on disk: the last and the best."""
DEFAULT_HEADROOM: Final = 0.3
DEFAULT_CORES: Final = 8
DEFAULT_RAM_GB: Final = 32
DEFAULT_LINE: Final = (
    "line of a box whose offer states none: 500 Mbit/s down (200 to 1,000), 200 up (100 to 500)"
)
"""See `transfers.DOWN_MBIT` and `transfers.UP_MBIT`."""
VALIDATION_HIGH_SHARE: Final = 0.05
"""Left-out validation: nothing expected, up to this share of the training in high."""
PACKAGES_SHARE: Final = 0.5
"""Of the environment on disk, what comes over the line: wheels are about half as large packed."""


class Work(NamedTuple):
    """A job with nothing left open; seconds and GB of 10^9 bytes."""

    name: str
    card: str
    gpu_count: int
    precision: Precision
    train_s: float
    """All runs and epochs left, on the measured machine, without validation."""
    amount: Guess
    """Times `train_s`: half to double where how much or how fast is a guess."""
    validation_s: Guess
    overhead_s: Guess
    epochs: int
    runs: int
    memory_gb: float | None
    cores: float
    ram_gb: float
    image_gb: Guess
    packages_gb: Guess
    dataset_gb: Guess
    unpacked_gb: float
    environment_gb: float
    dataset_from: DatasetFrom
    home_mbit_per_s: Guess
    checkpoint_gb: Guess
    checkpoints_kept: int
    pushes: int
    headroom: float
    disk_gb: float | None
    setup_s: Guess
    warmup_s: Guess
    idle_s: Guess
    checkpoint_interval_s: float | None
    interruption_s: float | None
    keep_gb: float
    keep_hours: float
    assumed: tuple[str, ...]
    """One sentence each."""
    limit: Limit | None = None
    """What a profile found to set the pace beside the GPU."""
    only_here: str | None = None
    """Why nothing can be said of any other card or count; None where it can."""


def settle(job: Job) -> Work:
    """Return `job` with what it leaves out filled in and said.

    Raises:
        UnknownError: There is no throughput, or it does not fit the amount of work.
        InputError: The amounts are absurd together.
    """
    if job.throughput is None:
        raise UnknownError(
            "the job has no throughput: how long it takes is not known",
            hint="measure it: costplan profile -o profile.json -- python train.py, then --profile "
            "profile.json; or state it from a log: throughput: {card: RTX-4090, step_s: 0.2}",
        )
    said = _left_out(job) + _guessed(job)
    epochs = job.epochs or 1
    epochs_all = epochs * (job.runs or 1) - (job.done or 0)
    epoch_s = seconds_per_epoch(job, job.throughput)
    train_s = epoch_s * epochs_all
    if not 0 < train_s < LONGEST_S:
        raise InputError(
            f"training would take {train_s / HOUR_S / 8_766:.3g} years on {job.throughput.card}",
            hint="check samples, epochs and throughput",
        )

    def guess(field: str) -> Guess:
        return _guess(job, field, said)

    dataset = guess("dataset_gb")
    environment = guess("environment_gb")
    runs_left = math.ceil(epochs_all / epochs)
    said.append(DEFAULT_LINE)
    home = guess("home_mbit_per_s") if job.dataset_from == "home" else Guess(1, 1, 1)
    return Work(
        name=job.name or "job",
        card=job.throughput.card,
        gpu_count=job.throughput.count,
        precision=job.precision or "amp",
        train_s=train_s,
        amount=Guess(0.5, 1.0, 2.0) if AMOUNTS & set(job.assumed) else Guess(1.0, 1.0, 1.0),
        validation_s=_validation(job, epochs_all, train_s, said),
        overhead_s=guess("overhead_s").scaled(epochs_all / epochs),
        epochs=epochs_all,
        runs=runs_left,
        memory_gb=job.memory_gb,
        cores=job.vcpus or DEFAULT_CORES,
        ram_gb=job.ram_gb or DEFAULT_RAM_GB,
        image_gb=guess("image_gb"),
        packages_gb=environment.scaled(PACKAGES_SHARE),
        dataset_gb=dataset,
        unpacked_gb=dataset.expected if job.unpacked_gb is None else job.unpacked_gb,
        environment_gb=environment.expected,
        dataset_from=job.dataset_from or "hub",
        home_mbit_per_s=home,
        checkpoint_gb=guess("checkpoint_gb"),
        checkpoints_kept=DEFAULT_KEPT if job.checkpoints_kept is None else job.checkpoints_kept,
        pushes=epochs_all // job.push_every if job.push_every else 0,
        headroom=DEFAULT_HEADROOM if job.headroom is None else job.headroom,
        disk_gb=None if job.disk_gb is None else float(job.disk_gb),
        setup_s=guess("setup_minutes").scaled(60),
        warmup_s=guess("warmup_s").scaled(runs_left),
        idle_s=guess("idle_after_hours").scaled(HOUR_S),
        checkpoint_interval_s=job.checkpoint_minutes and job.checkpoint_minutes * 60,
        interruption_s=job.interruption_hours and job.interruption_hours * HOUR_S,
        keep_gb=job.keep_gb or 0.0,
        keep_hours=(job.keep_days or 0.0) * 24,
        assumed=tuple(said),
    )


def _left_out(job: Job) -> list[str]:
    """Return a sentence for each left-out field that has one value, not a range."""
    taken = {
        "epochs": "epochs 1: not given",
        "precision": "precision amp: not given",
        "unpacked_gb": "unpacked_gb as large as dataset_gb: not given",
        "dataset_from": "dataset_from hub: not given",
        "memory_gb": "memory_gb not given: no card is left out for its memory",
    }
    return [text for field, text in taken.items() if getattr(job, field) is None]


def _guessed(job: Job) -> list[str]:
    """Return a sentence for each guess that is not one of the quantities of `DEFAULTS`."""
    given = {field: getattr(job, field) for field in job.assumed if field not in _SAID_ELSEWHERE}
    return [
        f"{field}{_shown(value)}: {job.assumed[field]}"
        for field, value in given.items()
        if value is not None
    ]


def _shown(value: object) -> str:
    """Return a guessed value as it is said, nothing for what is no word or number."""
    if isinstance(value, float):
        return f" {value:g}"
    return f" {value}" if isinstance(value, str | int | Decimal) else ""


def _guess(job: Job, field: str, said: list[str]) -> Guess:
    value = getattr(job, field)
    if value is None:
        value, reason = DEFAULTS[field]
        said.append(f"{field} {value:g}: {reason}")
    elif field in job.assumed:
        said.append(f"{field} {value:g}: {job.assumed[field]}")
    else:
        return Guess(value, value, value)
    return Guess(value / 2, value, value * 2)


def _validation(job: Job, epochs: int, train_s: float, said: list[str]) -> Guess:
    if job.validation_s is None:
        said.append("validation_s not given: taken as part of the throughput")
        return Guess(0.0, 0.0, VALIDATION_HIGH_SHARE * train_s)
    return _guess(job, "validation_s", said).scaled(epochs)


def seconds_per_epoch(job: Job, throughput: Throughput) -> float:
    """Return the seconds of one epoch's training on the machine of `throughput`.

    Raises:
        UnknownError: The rate counts something that the job does not say how much of it has.
    """
    if throughput.seconds_per_epoch is not None:
        return throughput.seconds_per_epoch
    if throughput.tokens_per_s is not None:
        return _needed(job.tokens, "tokens", "tokens_per_s") / throughput.tokens_per_s
    if throughput.step_s is not None:
        return _steps(job) * throughput.step_s
    samples = job.samples
    if samples is None and job.steps_per_epoch is not None and job.batch is not None:
        samples = job.steps_per_epoch * job.batch
    if throughput.samples_per_s is None:  # pragma: no cover - the record has exactly one rate
        raise UnknownError("throughput has no rate")
    return _needed(samples, "samples", "samples_per_s") / throughput.samples_per_s


def _steps(job: Job) -> int:
    if job.steps_per_epoch is not None:
        return job.steps_per_epoch
    if job.samples is not None and job.batch is not None:
        return math.ceil(job.samples / job.batch)
    raise UnknownError(
        "throughput in step_s needs steps_per_epoch, or samples and batch",
        hint="add one of them to the job",
    )


def _needed(amount: int | None, field: str, rate: str) -> int:
    if amount is None:
        raise UnknownError(
            f"throughput in {rate} needs {field}", hint=f"add {field} to the job (per epoch)"
        )
    return amount
