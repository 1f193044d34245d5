#!/usr/bin/env python3
"""How near the epoch that `costplan profile` foretells comes to the epoch of the bare program.

    python bench/epoch_time.py                  # six jobs, five bursts each; some 12 minutes
    python bench/epoch_time.py --job host --into rows.jsonl    # one job, kept
    python bench/epoch_time.py --read rows.jsonl               # the tables of what was kept

Needs torch. Bursts and bare epochs take turns, each in a process of its own; a burst is held
against the mean of the epochs before and after it.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import fmean, median
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

LOOPED: Final = Path(__file__).resolve().parent / "looped.py"
BURSTS: Final = 5
BUDGET_S: Final = 8
MOST_S: Final = 120.0


class Job(NamedTuple):
    """A loop whose epochs are foretold."""

    flags: tuple[str, ...]
    epochs: int
    """That are timed at once: short ones many times, for some 10 s."""
    said: str


JOBS: Final = {
    "host": Job(("--slow", "tiny", "--units", "600", "--batches", "1120"), 1,
                "600 tiny operations to a step"),
    "compute": Job(("--slow", "matmul", "--units", "10", "--batches", "620"), 1,
                   "large matrices"),
    "loader": Job(("--slow", "spin", "--units", "20000", "--workers", "2", "--batches", "600"), 1,
                  "a slow loader with 2 workers"),
    "validation": Job(("--slow", "conv", "--units", "8", "--epochs", "validation", "--batches",
                       "420"), 1, "large convolutions, a validation after each 40 batches"),
    "short": Job(("--slow", "collate", "--units", "6000", "--workers", "1", "--epochs", "short",
                  "--batches", "60"), 9, "60 batches, new workers and a validation each time"),
    "accumulation": Job(("--slow", "optimizer", "--units", "60", "--accumulate", "--batches",
                         "900"), 1, "a heavy optimizer at each fourth batch"),
}  # fmt: skip
"""By the flags of tests/loops/loop.py; epochs of 10 s or more on the 2 cores they were sized on."""


class Foretold(NamedTuple):
    """The epoch by one burst, in seconds."""

    low: float
    expected: float
    high: float | None


class Row(NamedTuple):
    """What one job gave: an epoch before the first burst, and one after each."""

    job: str
    epochs_s: list[float]
    bursts: list[Foretold]


class Scored(NamedTuple):
    """A burst beside the epochs around it."""

    error: float
    """As a share: above 0 where too much was foretold."""
    is_covered: bool


def scored(row: Row) -> list[Scored]:
    """Return each burst against the mean of the epochs right before and after it."""
    found = []
    for before_s, after_s, burst in zip(
        row.epochs_s[:-1], row.epochs_s[1:], row.bursts, strict=True
    ):
        epoch_s = (before_s + after_s) / 2
        high = math.inf if burst.high is None else burst.high
        found.append(Scored(burst.expected / epoch_s - 1, burst.low <= epoch_s <= high))
    return found


def noise(epochs_s: Sequence[float]) -> list[float]:
    """Return how far each bare epoch lies from the mean of its neighbours, as a share.

    That is the error of a foreteller who knows the program, and not what the machine will do.
    """
    return [
        here_s / ((before_s + after_s) / 2) - 1
        for before_s, here_s, after_s in zip(epochs_s, epochs_s[1:], epochs_s[2:], strict=False)
    ]


def share_below(values: Sequence[float], share: float) -> float:
    """Return the smallest value that so large a share of all does not exceed."""
    return sorted(values)[max(0, math.ceil(share * len(values)) - 1)]


def epoch(job: Job, folder: Path) -> float:
    """Return the seconds of an epoch of the bare program, the mean where they are short."""
    words = [sys.executable, "-W", "ignore", str(LOOPED), "--timed", str(job.epochs), *job.flags]
    lines = _ran(words, folder).splitlines()
    return fmean(json.loads(line)["epoch_s"] for line in lines)


def burst(job: Job, folder: Path) -> Foretold:
    """Return what a burst says of an epoch."""
    body = json.loads(_ran(
        [sys.executable, "-m", "costplan", "profile", "--budget", str(BUDGET_S), "--format", "json",
         "--", sys.executable, "-W", "ignore", str(LOOPED), *job.flags],
        folder,
    ))  # fmt: skip
    told = body["epoch_s"]
    return Foretold(told["low"], told["expected"], told["high"])


def _ran(words: Sequence[str], folder: Path) -> str:
    done = subprocess.run(
        words, cwd=folder, capture_output=True, text=True, check=False, timeout=MOST_S,
        env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore"},
        stdin=subprocess.DEVNULL,
    )  # fmt: skip
    if done.returncode:
        raise RuntimeError(f"exit code {done.returncode}: {done.stderr[-2_000:]}")
    return done.stdout


def measured(name: str, count: int) -> Row:
    """Return so many bursts of a job, and the epochs before, between and after them."""
    job, bursts = JOBS[name], []
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        epochs_s = [epoch(job, folder)]
        for _ in range(count):
            bursts.append(burst(job, folder))
            epochs_s.append(epoch(job, folder))
    return Row(name, epochs_s, bursts)


def table(rows: Sequence[Row]) -> str:
    """Return the Markdown tables of all jobs."""
    lines = [
        "| job | epoch | errors of the bursts | median | covered | epochs among themselves |",
        "|---|--:|---|--:|--:|--:|",
    ]
    every: list[float] = []
    for name in dict.fromkeys(row.job for row in rows):
        mine = [row for row in rows if row.job == name]
        found = [each for row in mine for each in scored(row)]
        errors = [abs(each.error) for each in found]
        every += errors
        apart = [abs(each) for row in mine for each in noise(row.epochs_s)]
        epoch_s = fmean(each for row in mine for each in row.epochs_s)
        lines.append(
            f"| {name}: {JOBS[name].said} | {epoch_s:.2f} s "
            f"| {', '.join(f'{each.error:+.1%}' for each in found)} | {median(errors):.1%} "
            f"| {sum(each.is_covered for each in found)} of {len(found)} | {median(apart):.1%} |"
        )
    lines.append("")
    lines.append(f"All {len(every)} bursts: median error {median(every):.1%}, 90th percentile "
                 f"{share_below(every, 0.9):.1%}.")  # fmt: skip
    apart = [abs(each) for row in rows for each in noise(row.epochs_s)]
    lines.append(f"Bare epochs among themselves: median {median(apart):.1%}, 90th percentile "
                 f"{share_below(apart, 0.9):.1%}.")  # fmt: skip
    return "\n".join(lines)


def read(path: Path) -> list[Row]:
    """Return the rows that a file holds, by their jobs."""
    found = []
    for line in path.read_text("utf-8").splitlines():
        name, epochs_s, bursts = json.loads(line)
        found.append(Row(name, epochs_s, [Foretold(*each) for each in bursts]))
    return sorted(found, key=lambda row: list(JOBS).index(row.job))


def main() -> None:
    """Run what is asked for, and print the tables."""
    parser = argparse.ArgumentParser(description="Epochs foretold by bursts, and real ones.")
    parser.add_argument("--job", choices=JOBS, action="append", help="this one; again for more")
    parser.add_argument("--bursts", type=int, default=BURSTS, help="of each")
    parser.add_argument("--into", type=Path, metavar="FILE", help="add the figures to it as well")
    parser.add_argument("--read", type=Path, metavar="FILE", help="run nothing")
    args = parser.parse_args()
    if args.read:
        print(table(read(args.read)))
        return
    rows = []
    for name in args.job or JOBS:
        rows.append(measured(name, args.bursts))
        if args.into:
            with args.into.open("a", encoding="utf-8") as file:
                file.write(json.dumps(rows[-1]) + "\n")
    print(table(rows))


if __name__ == "__main__":
    main()
