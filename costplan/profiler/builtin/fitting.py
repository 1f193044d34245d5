"""The largest batch that fits, by powers of two, found by doing it.

Of the device that is to be rented nobody knows beforehand what a step takes: kernels choose their
own workspace, the allocator its own blocks. So each batch is tried with whole training steps.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

MOST: Final = 65_536
"""Samples: nobody trains such small models with more."""
MOST_ON_CPU: Final = 32
"""Samples: a CPU has its full speed long before, and more only make the steps longer."""
LONGEST_STEP_S: Final = 1.0
"""On a CPU the search ends at such steps: a budget of two minutes must hold a hundred."""


class Fit(NamedTuple):
    """The largest batch that fits, and what ended the search."""

    batch: int | None
    """None where not even one sample fits."""
    ended: str


def largest(why_not: Callable[[int], str], *, most: int) -> Fit:
    """Return the largest power of two that fits: doubled from 1 until one does not.

    From below, so that nothing more than twice as large as what fits is ever asked for.

    Args:
        why_not: Told a batch; why it does not fit, or nothing where it does.
        most: A power of two that ends the search.

    >>> largest(lambda batch: "" if batch <= 6 else "no memory for 8", most=64)
    Fit(batch=4, ended='no memory for 8')
    """
    fits = None
    batch = 1
    while batch <= most:
        why = why_not(batch)
        if why:
            return Fit(fits, why)
        fits, batch = batch, 2 * batch
    return Fit(fits, f"the search ends at {most}")


class HostMemory:
    """Says of each batch whether it will fit into main memory, by what the smaller ones took.

    A CPU has no error to catch: the kernel ends a process that takes too much. So twice the memory
    of the last batch must be free before the next one is tried.
    """

    def __init__(self, free_bytes: int | None) -> None:
        """Take what is free before the first try; None where the system does not tell."""
        self.free_bytes = free_bytes
        self.taken_bytes = 0

    def why_not(self, batch: int) -> str:
        """Return why a batch will not fit, or nothing."""
        needs = 2 * self.taken_bytes
        if self.free_bytes is None or needs <= self.free_bytes:
            return ""
        return f"{batch} would need {needs / 1e9:.1f} of {self.free_bytes / 1e9:.1f} GB free"
