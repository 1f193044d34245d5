"""What a command leaves behind: processes, shared memory, temporary folders."""

from __future__ import annotations

import contextlib
import fnmatch
import os
import signal
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

MARK = "COSTPLAN_TRAINERS_JOB"
"""An environment variable that every process of a job inherits, whatever session it is in."""
ALSO_PLAIN = ("torchelastic_*", "torchinductor_*", "matplotlib-*")
"""What torchrun, torch and matplotlib leave in the temporary folder without costplan as well."""
ENDING_S = 3.0
"""A process that has been told to end is given so long."""


def processes(mark: str) -> list[str]:
    """Return the command lines of the processes that carry a mark."""
    found = []
    wanted = f"{MARK}={mark}".encode()
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        with contextlib.suppress(OSError):  # of another user, or gone
            if wanted in (folder / "environ").read_bytes().split(b"\0"):
                words = (folder / "cmdline").read_bytes().replace(b"\0", b" ")
                found.append(f"{folder.name} {words.decode(errors='replace')[:100]}")
    return found


def end(mark: str) -> None:
    """Kill what still carries a mark."""
    for line in processes(mark):
        with contextlib.suppress(OSError):
            os.kill(int(line.split()[0]), signal.SIGKILL)


def shared_memory() -> set[str]:
    """Return the names of all segments of shared memory."""
    with contextlib.suppress(OSError):
        return {path.name for path in Path("/dev/shm").iterdir()}
    return set()


def in_use(name: str) -> bool:
    """Return whether a living process has a segment mapped or open."""
    for folder in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if folder.name.isdigit() and name in (folder / "maps").read_text(errors="replace"):
                return True
    return False


def left(mark: str, shared_before: set[str], job: Path) -> list[str]:
    """Return what a job has left, each with a word on it; nothing where it ended clean."""
    until(lambda: not processes(mark))
    found = [f"still running: {line}" for line in processes(mark)]
    found += [
        f"shared memory: {name}" for name in shared_memory() - shared_before if not in_use(name)
    ]
    found += [
        f"temporary: {path.name}"
        for path in (job / "tmp").iterdir()
        if not any(fnmatch.fnmatch(path.name, pattern) for pattern in ALSO_PLAIN)
    ]
    found += [f"temporary: {path.name}" for path in job.glob(".costplan-profile-*")]
    return found


def until(is_so: Callable[[], bool]) -> None:
    """Wait until something is so, or the time for an ending is over."""
    over_s = time.monotonic() + ENDING_S
    while not is_so() and time.monotonic() < over_s:
        time.sleep(0.1)
