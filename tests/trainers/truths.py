"""What makes each job slow, by an experiment that costplan has no part in.

The plain command is timed as a whole, then with loading made free, then with the work of the device
doubled (`truth/` does both from outside, by environment). Whichever moves the time of the whole run
more is what it waits for, provided that it moves it at least twice as much as the other.
"""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

CLEAR: Final = 2.0
"""One of the two must win by this ratio, or the job says nothing."""

Word = Literal["dataloader", "gpu", "unclear"]


class Truth(NamedTuple):
    """Seconds of whole runs of one job."""

    job: str
    plain_s: float
    preloaded_s: float
    heavier_s: float
    word: str
    date: str
    machine: str


def word(plain_s: float, preloaded_s: float, heavier_s: float) -> Word:
    """Return what a job waits for.

    >>> word(20.0, 12.0, 22.0), word(20.0, 19.0, 28.0), word(20.0, 15.0, 26.0)
    ('dataloader', 'gpu', 'unclear')
    """
    loader_s, device_s = max(plain_s - preloaded_s, 0.0), max(heavier_s - plain_s, 0.0)
    if loader_s > CLEAR * device_s:
        return "dataloader"
    return "gpu" if device_s > CLEAR * loader_s else "unclear"


def read(path: Path) -> dict[str, Truth]:
    """Return the truth of each job in a file that `write` wrote."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    return {
        row["job"]: Truth(
            row["job"], float(row["plain_s"]), float(row["preloaded_s"]), float(row["heavier_s"]),
            row["word"], row["date"], row["machine"],
        )
        for row in rows
    }  # fmt: skip


def write(path: Path, truths: Sequence[Truth]) -> None:
    """Write them, one a line."""
    with path.open("w", encoding="utf-8", newline="") as file:
        out = csv.writer(file, delimiter="\t", lineterminator="\n")
        out.writerow(Truth._fields)
        out.writerows(truths)
