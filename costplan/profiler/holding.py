"""Holds the scripts that started a training program: what stands after it in them must not run.

The end that the bursts give a program looks to a shell like one that went well, and the next line
may send weights away that replayed batches have trained. Needs `/proc`; elsewhere nothing is held.
"""

from __future__ import annotations

import contextlib
import os
import signal
from pathlib import Path
from typing import Any, Final

PROC: Final = Path("/proc")
ENDED: Final = ("Z", "X")
"""States of a process that has ended, and that nobody has asked about yet."""
PARENT, EXIT_CODE = 1, 49
"""Places in `/proc/PID/stat` behind the name and its bracket: proc(5), fields 4 and 52."""


def hold(started_by: int | None) -> dict[str, Any]:
    """Stop what started this process and is no Python; return its names, and whom it waits for.

    A launcher written in Python (torchrun, accelerate) must go on, to end well itself.

    Args:
        started_by: The process that started the whole command; nothing is held where it is not
            among those that this one comes from, and never that one or any above it.
    """
    found: list[str] = []
    waited_for: int | None = None
    with contextlib.suppress(OSError, ValueError, IndexError):
        child = os.getpid()
        for pid in between(child, started_by):
            if not is_python(pid):
                os.kill(pid, signal.SIGSTOP)
                found.append((PROC / str(pid) / "comm").read_text().strip())
                waited_for = waited_for or child
            child = pid
    return {"held": found, "waited_for": waited_for}


def between(pid: int, started_by: int | None) -> list[int]:
    """Return the processes that lie between one and another that it comes from, nearest first."""
    found: list[int] = []
    while (pid := int(_stat(pid)[PARENT])) != started_by:
        if pid <= 1:
            return []
        found.append(pid)
    return found


def is_python(pid: int) -> bool:
    """Return whether a process runs a Python interpreter."""
    return os.path.basename(os.readlink(PROC / str(pid) / "exe")).startswith(("python", "pypy"))


def has_ended(pid: int) -> bool:
    """Return whether a process is no more."""
    try:
        return _stat(pid)[0] in ENDED
    except (OSError, IndexError):
        return True


def exit_code(pid: int) -> int | None:
    """Return how a process ended that nobody has asked about, negative by a signal.

    None where this user may not know, or it is gone.
    """
    try:
        told = int(_stat(pid)[EXIT_CODE])
    except (OSError, ValueError, IndexError):
        return None
    return os.waitstatus_to_exitcode(told)


def _stat(pid: int) -> list[str]:
    return (PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
