"""Reads the process table, clocks and counters of a Linux box from `/proc`.

Runs alone: its source is also sent to other boxes, so it imports only the standard library and
keeps to Python 3.7. Arguments of processes are looked at, never kept: they may hold secrets.
"""

from __future__ import annotations

import os
import re
import subprocess
import time
from pathlib import Path
from typing import Any

PROC = Path("/proc")
LOGINS = Path("/run/utmp")
WHO_TIMEOUT_S = 5
INTERPRETERS = re.compile(r"(python|pypy|node|perl|ruby)[\d.]*")
KTHREADD = 2
"""The parent of all threads of the kernel, where it is not hidden."""


def clock() -> dict[str, Any]:
    """Return the clocks of the box as `Clock` describes them."""
    try:
        boot_id: str | None = (PROC / "sys/kernel/random/boot_id").read_text("ascii").strip()
    except OSError:
        boot_id = None
    return {"wall_s": time.time(), "uptime_s": uptime_s(), "boot_id": boot_id}


def uptime_s() -> float:
    """Return seconds since the box started, sleep included where the system counts it."""
    if hasattr(time, "CLOCK_BOOTTIME"):
        return time.clock_gettime(time.CLOCK_BOOTTIME)
    return time.monotonic()


def table(proc: Path = PROC) -> list[dict[str, Any]] | None:
    """Return every process but the kernel's threads; None where the table is not all there."""
    started_s = time.time() - uptime_s()
    found = []
    try:
        names = [entry.name for entry in os.scandir(proc) if entry.name.isdigit()]
    except OSError:
        return None
    if "1" not in names:  # mounted with hidepid: other people's processes do not show
        return None
    for name in names:
        process = one(proc / name, started_s)
        if process is not None:
            found.append(process)
    return found


def one(folder: Path, booted_at_s: float) -> dict[str, Any] | None:
    """Return one process as `ProcessSeen` describes it, or None where it has just ended."""
    try:
        text = (folder / "stat").read_bytes().decode("utf-8", "replace")
    except OSError:
        return None
    name = text[text.index("(") + 1 : text.rindex(")")]
    fields = text[text.rindex(")") + 2 :].split()
    if KTHREADD in (int(fields[1]), int(folder.name)) and is_kernel(folder):
        return None
    per_s = os.sysconf("SC_CLK_TCK")
    return {
        "pid": int(folder.name),
        "parent_pid": int(fields[1]),
        "name": name,
        "program": program(folder) if INTERPRETERS.fullmatch(name) else None,
        "started_at_s": booted_at_s + int(fields[19]) / per_s,
        "cpu_s": sum(map(int, fields[11:15])) / per_s,
        "on_terminal": int(fields[4]) != 0,
        "zombie": fields[0] in ("Z", "X"),
    }


def is_kernel(folder: Path) -> bool:
    """Return whether a process is a thread of the kernel: it has no command line."""
    try:
        return not (folder / "cmdline").read_bytes()
    except OSError:
        return True


def program(folder: Path) -> str | None:
    """Return the last name of the script or module that an interpreter runs."""
    try:
        words = (folder / "cmdline").read_bytes()[:4_000].decode("utf-8", "replace").split("\0")
    except OSError:
        return None
    after = iter(words[1:])
    for word in after:
        if word == "-c":
            return None
        if word == "-m":
            return next(after, "").split(".")[0] or None
        if word and not word.startswith("-"):
            return Path(word).name
    return None


def network_bytes(proc: Path = PROC) -> int | None:
    """Return bytes in and out of all interfaces but loopback."""
    try:
        lines = (proc / "net/dev").read_text("ascii").splitlines()[2:]
        rows = [line.split(":", 1) for line in lines]
        counts = [row[1].split() for row in rows if row[0].strip() != "lo"]
        return sum(int(each[0]) + int(each[8]) for each in counts)
    except (OSError, ValueError, IndexError):
        return None


def disk(path: Path) -> tuple[int | None, int | None]:
    """Return used and total bytes of the disk below `path`, as `df` counts them."""
    try:
        found = os.statvfs(path)
    except OSError:
        return None, None
    used = (found.f_blocks - found.f_bfree) * found.f_frsize
    return used, used + found.f_bavail * found.f_frsize


def logins(listed: Path = LOGINS) -> int | None:
    """Return how many people `who` lists; None where the box keeps no list."""
    try:
        if not listed.stat().st_size:
            return None
        done = subprocess.run(["who"], capture_output=True, timeout=WHO_TIMEOUT_S, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return len(done.stdout.splitlines())
