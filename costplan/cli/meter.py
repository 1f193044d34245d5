"""How far a long reading is: one line on standard error, for a person who waits there."""

from __future__ import annotations

import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from costplan.cli.streams import is_terminal, talk

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from costplan.box.manifests import Progress

EVERY_S: Final = 0.2
"""Faster than this nobody reads, and a slow terminal would hold the reading up."""


@contextmanager
def meter(
    doing: str, *, clock: Callable[[], float] = time.monotonic
) -> Iterator[Callable[[Progress], None] | None]:
    """Give what shows how far `doing` is, or None where standard error is no terminal.

    The line is rewritten in place and wiped at the end, however that comes.
    """
    if not is_terminal(sys.stderr):
        yield None
        return
    shown, next_s = "", float("-inf")

    def show(progress: Progress) -> None:
        nonlocal shown, next_s
        if clock() < next_s:
            return
        next_s = clock() + EVERY_S
        line = f"{doing}: {far(progress)}"
        talk(f"\r{line.ljust(len(shown))}")
        shown = line

    try:
        yield show
    finally:
        if shown:
            talk(f"\r{' ' * len(shown)}\r")


def far(progress: Progress) -> str:
    """Return how far a reading is; never a name, which could act on the terminal."""
    done_gb, total_gb = progress.bytes_done / 1e9, progress.bytes_total / 1e9
    files = f"{progress.files_done} of {progress.files_total} files"
    return f"{files}, {done_gb:.2f} of {total_gb:.2f} GB"
