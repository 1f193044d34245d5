"""How long the job's data takes over the machine's line, each way."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from costplan.units import MBIT_PER_GB
from costplan.work import Guess

if TYPE_CHECKING:
    from costplan.records.offers import OwnTerms
    from costplan.work import Work

# Lines that nobody states, in Mbit/s: (slow, expected, fast). Chosen; an offer's own figure and
# the job's own line win.
DOWN_MBIT: Final = Guess(200.0, 500.0, 1000.0)
UP_MBIT: Final = Guess(100.0, 200.0, 500.0)
ORIGIN_MBIT: Final = Guess(50.0, 100.0, 400.0)
"""A data set's own site."""


def line(known: float | None, assumed: Guess) -> Guess:
    """Return the Mbit/s of a line: as the offer states them, else as assumed."""
    return assumed if known is None else Guess(known, known, known)


def over_s(size_gb: Guess, line: Guess) -> Guess:
    """Return the seconds of a transfer: the fast line gives low."""
    return Guess(
        size_gb.low * MBIT_PER_GB / line.high,
        size_gb.expected * MBIT_PER_GB / line.expected,
        size_gb.high * MBIT_PER_GB / line.low,
    )


def slower(a: Guess, b: Guess) -> Guess:
    """Return the slower of two lines that follow each other."""
    return Guess(min(a.low, b.low), min(a.expected, b.expected), min(a.high, b.high))


def dataset_s(work: Work, down: Guess) -> Guess:
    """Return the seconds of the dataset's way in."""
    if work.dataset_from == "volume":
        return Guess(0.0, 0.0, 0.0)
    if work.dataset_from == "hub":
        return over_s(work.dataset_gb, down)
    line = work.home_mbit_per_s if work.dataset_from == "home" else ORIGIN_MBIT
    return over_s(work.dataset_gb, slower(line, down))


def staging_saves_s(work: Work, own: OwnTerms) -> float:
    """Return the rented seconds that staging the data on a hub would save over a slow line."""
    down = line(own.inet_down_mbit_per_s, DOWN_MBIT)
    staged = work._replace(dataset_from="hub")
    return max(0.0, dataset_s(work, down).expected - dataset_s(staged, down).expected)
