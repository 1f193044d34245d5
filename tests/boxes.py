"""Looks at a box that never was: one call a look, minutes between them, hours in no time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from costplan.records.signals import (
    Clock,
    Counter,
    FileSeen,
    GpuSeen,
    Machine,
    ProcessSeen,
    RunSeen,
    Snapshot,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

START_S = 1_800_000_000.0
"""Wall clock of the box at second 0 of a test."""
UP_S = 1_000_000.0
MINUTE = 60.0
HOUR = 3_600.0
WINDOW_S = 20 * MINUTE
GB = 10**9
TRAINER = 4242


def gpu(index: int = 0, util: float | None = 0, **more: Any) -> GpuSeen:
    """A GPU with its memory released; `watts` is power of 450."""
    given: dict[str, Any] = {"memory_used_mb": 10.0, "memory_total_mb": 24_564.0, "pids": ()}
    if "watts" in more:
        given |= {"power_watts": more.pop("watts"), "power_limit_watts": 450.0}
    return GpuSeen(index=index, name="RTX 4090", util_percent=util, **(given | more))


def process(pid: int, name: str = "python3", **more: Any) -> ProcessSeen:
    """A process that started an hour before second 0 and has used no CPU."""
    given: dict[str, Any] = {"parent_pid": 1, "started_at_s": START_S - HOUR, "cpu_s": 0.0}
    return ProcessSeen(pid=pid, name=name, **(given | more))


INIT = process(1, "init", parent_pid=0)


def run(path: str = "/runs/one", **more: Any) -> RunSeen:
    """A run that says running, names the trainer's process, and times its epochs at a minute."""
    given: dict[str, Any] = {
        "kind": "libreyolo",
        "state": "running",
        "names_process": True,
        "pid": TRAINER,
        "started_at_s": START_S - HOUR,
        "interval_s": 60.0,
    }
    more.setdefault(
        "newest_at_s", max((c.changed_at_s for c in more.get("counters", ())), default=None)
    )
    return RunSeen(path=path, **(given | more))


def log(path: str = "/runs/train.log", **more: Any) -> RunSeen:
    """A run that names no process and no rhythm."""
    given = {"kind": "log", "state": None, "names_process": False, "pid": None,
             "started_at_s": None, "interval_s": None}  # fmt: skip
    return run(path, **(given | more))


def counter(value: float, at_s: float = 0.0, name: str = "epoch") -> Counter:
    """A counter whose file was last written at second `at_s` of the test."""
    training = name in ("epoch", "step", "metrics")
    return Counter(name=name, value=value, changed_at_s=START_S + at_s, of_training=training)


def checkpoint(at_s: float, size_bytes: int = 1000) -> FileSeen:
    return FileSeen(path="weights/last.pt", size_bytes=size_bytes, changed_at_s=START_S + at_s)


def look(at_s: float = 0.0, **more: Any) -> Snapshot:
    """A look at second `at_s` at a quiet box with one GPU, no run and every source readable."""
    clock = Clock(
        wall_s=START_S + at_s + more.pop("jump_s", 0.0),
        uptime_s=UP_S + at_s,
        boot_id=more.pop("boot_id", "first"),
    )
    runs = tuple(more.pop("runs", ()))
    machine: dict[str, Any] = {
        "gpus": (gpu(),),
        "processes": (INIT,),
        "network_bytes": GB,
        "disk_used_bytes": 50 * GB,
        "disk_total_bytes": 100 * GB,
    }
    return Snapshot(clock=clock, machine=Machine(**(machine | more)), runs=runs)


def watch(
    until_s: float,
    each: Callable[[float], dict[str, Any]] | None = None,
    *,
    every_s: float = MINUTE,
    since_s: float = 0.0,
    **more: Any,
) -> list[Snapshot]:
    """Looks from `since_s` to `until_s`; `each` gives what changes with time."""
    count = round((until_s - since_s) / every_s)
    times_s: Sequence[float] = [since_s + n * every_s for n in range(count + 1)]
    return [look(at_s, **(more | (each(at_s) if each else {}))) for at_s in times_s]
