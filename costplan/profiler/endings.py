"""What to say of a program that ended while a burst fed it: its own crash, or the burst's doing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from costplan.records.ranks import RankTaken

FED: Final = {
    "replay": "with one batch again and again",
    "resident": "with a batch that lies on the device already",
    "half": "with half the batch",
    "double": "with twice the batch",
    "syncs": "while its waits for the device were counted",
    "kernels": "while it was traced",
}
"""What each burst does to a program that it would not do to itself."""
MEMORY: Final = ("OutOfMemory", "out of memory", "MemoryError", "can't allocate memory")
"""As torch, CUDA and Python say it."""


def ended_by_burst(ranks: Sequence[RankTaken], code: int | None) -> str | None:
    """Return how a burst ended the program; None where none did: it ended well, or by itself."""
    if code == 0:
        return None
    for rank in ranks:
        facts = rank.facts
        if facts.phase in FED and not facts.finished and (facts.error or code is not None):
            return _told(facts.phase, facts.error, code)
    return None


def _told(phase: str, error: str | None, code: int | None) -> str:
    if phase == "double" and any(sign in (error or "") for sign in MEMORY):
        return "twice the batch does not fit: out of memory"
    why = error or (f"exit code {code}" if code is None or code >= 0 else f"signal {-code}")
    return f"the program fails {FED[phase]}: {why}"
