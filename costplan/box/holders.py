"""Looks for training runs on this box: who holds a GPU, and whose terminal ends with ssh."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from costplan.box import processes
from costplan.records.checks import RunFacts

if TYPE_CHECKING:
    from collections.abc import Mapping

PROC: Final = Path("/proc")
DEVICES: Final = ("/dev/nvidia", "/dev/kfd", "/dev/dxg")
NOT_WORK: Final = {"/dev/nvidiactl", "/dev/nvidia-modeset"}
SSH: Final = {"sshd", "sshd-session", "dropbear"}
KEEPERS: Final = {
    *("tmux", "tmux: server", "screen", "SCREEN", "zellij", "dtach", "abduco", "mosh-server"),
    *("byobu", "shpool", "nohup"),
}
"""What keeps a terminal when ssh goes."""
HANGUP_BIT: Final = 1
"""SIGHUP is signal 1, the lowest bit."""


def age_s(proc: Path = PROC) -> float | None:
    """Return how long this box has been up.

    A container shows its host's uptime; its own first process tells when it was started.
    """
    first = processes.one(proc / "1", 0.0)
    return None if first is None else max(0.0, processes.uptime_s() - first["started_at_s"])


def runs(proc: Path = PROC) -> tuple[list[RunFacts] | None, str | None]:
    """Return what may be training here, this program and those that started it left out."""
    table = processes.table(proc)
    if table is None:
        return None, "the process table cannot be read in full"
    by_pid = {each["pid"]: each for each in table}
    mine = {os.getpid(), *(each["pid"] for each in above(os.getpid(), by_pid))}
    found = []
    for each in table:
        if each["pid"] in mine or each["zombie"]:
            continue
        holds = holds_gpu(proc / str(each["pid"]))
        if not holds and not processes.INTERPRETERS.fullmatch(each["name"]):
            continue
        names = [parent["name"] for parent in above(each["pid"], by_pid)]
        found.append(
            RunFacts(
                pid=each["pid"],
                name=each["program"] or each["name"],
                holds_gpu=holds,
                on_terminal=each["on_terminal"],
                ignores_hangup=ignores_hangup(proc / str(each["pid"])),
                under_ssh=under_ssh(names),
                cpu_s=each["cpu_s"],
            )
        )
    return found, None


def above(pid: int, by_pid: Mapping[int, dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the parents of a process, the nearest first."""
    found: list[dict[str, Any]] = []
    seen = {pid}
    while pid in by_pid:
        pid = by_pid[pid]["parent_pid"]
        if pid in seen or pid not in by_pid:
            break
        seen.add(pid)
        found.append(by_pid[pid])
    return found


def under_ssh(names: list[str]) -> bool:
    """Return whether ssh stands above a process, with nothing between that keeps its terminal.

    >>> under_ssh(["bash", "sshd"]), under_ssh(["bash", "tmux: server", "sshd"])
    (True, False)
    """
    for name in names:
        if name in KEEPERS:
            return False
        if name in SSH:
            return True
    return False


def holds_gpu(folder: Path) -> bool:
    """Return whether a process has a GPU's device open; what may not be looked at has not."""
    try:
        with os.scandir(folder / "fd") as entries:
            targets = [_target(entry.path) for entry in entries]
    except OSError:
        return False
    return any(each.startswith(DEVICES) and each not in NOT_WORK for each in targets)


def _target(path: str) -> str:
    try:
        return str(Path(path).readlink())
    except OSError:
        return ""


def ignores_hangup(folder: Path) -> bool:
    """Return whether a process ignores the signal that a closing terminal sends."""
    try:
        lines = (folder / "status").read_text("utf-8", "replace").splitlines()
    except OSError:
        return False
    masks = [line.split()[1] for line in lines if line.startswith("SigIgn:")]
    return bool(masks) and bool(int(masks[0], 16) & HANGUP_BIT)
