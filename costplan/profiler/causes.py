"""Why the loader, the host or the device takes its time, by evidence alone; None where none is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from costplan.profiler.gains import competes
from costplan.profiler.limits import (
    BLOCKED_SHARE,
    COLD_RATIO,
    FULL_SHARE,
    LAUNCH_S,
    LAUNCH_SHARE,
    LOADER_SHARE,
    MEMORY_CALLS,
    MEMORY_RETRIES,
    OPTIMIZER_SHARE,
    SAVED_RATIO,
    WEAK_POWER_SHARE,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from costplan.records.verdicts import Measured, Word

Rule = tuple[str, "Callable[[Measured, float], bool]"]


def cause(measured: Measured, word: Word) -> str | None:
    """Return the first cause that the evidence shows for this verdict."""
    rules = {"dataloader": _LOADER, "host": _HOST, "gpu": _GPU}.get(word, ())
    step_s = measured.step_s
    if step_s is None:
        return None
    return next((name for name, shows in rules if shows(measured, step_s)), None)


def _copies(measured: Measured, step_s: float) -> bool:
    if measured.replay_s is None or measured.replay_host_s is None:
        return False
    copied_s = measured.replay_host_s - measured.replay_s
    return copied_s > 0.5 * (step_s - measured.replay_s)


def from_disk(measured: Measured) -> bool:
    """Return whether the files came from the disk while it was measured, and were slower for it."""
    cold_s, warm_s = measured.loader_cold_s, measured.loader_warm_s
    if cold_s is None or warm_s is None:
        return False
    # Files that lay in memory while the bursts ran did not slow them down, however slow the disk.
    share = 1.0 if measured.loader_disk_share is None else measured.loader_disk_share
    return warm_s + share * (cold_s - warm_s) >= COLD_RATIO * warm_s


def _storage(measured: Measured, step_s: float) -> bool:
    return from_disk(measured)


def _competes(measured: Measured, step_s: float) -> bool:
    # More than half of what a perfect loader saves is not waited for.
    if measured.replay_s is None or measured.wait_s is None or not competes(measured):
        return False
    return measured.wait_s < 0.5 * (step_s - measured.replay_s)


def _collate(measured: Measured, step_s: float) -> bool:
    return bool(measured.workers) and (measured.ready_batches or 0.0) >= 1


def _workers(measured: Measured, step_s: float) -> bool:
    now_s, best_s = measured.loader_s, measured.loader_more_workers_s
    return now_s is not None and best_s is not None and best_s <= SAVED_RATIO * now_s


def _cpus(measured: Measured, step_s: float) -> bool:
    return (measured.loader_cpu_share or 0.0) >= FULL_SHARE


def _launches(measured: Measured, step_s: float) -> bool:
    return (measured.launches_per_step or 0.0) * LAUNCH_S >= LAUNCH_SHARE * step_s


def _syncs(measured: Measured, step_s: float) -> bool:
    return (measured.blocked_s or 0.0) >= BLOCKED_SHARE * step_s


def _optimizer(measured: Measured, step_s: float) -> bool:
    return (measured.optimizer_host_s or 0.0) >= OPTIMIZER_SHARE * step_s


def _recompiles(measured: Measured, step_s: float) -> bool:
    return (measured.recompiles_per_step or 0.0) > 0


def _python(measured: Measured, step_s: float) -> bool:
    return (measured.main_cpu_share or 0.0) >= FULL_SHARE


def _communication(measured: Measured, step_s: float) -> bool:
    scaled = measured.one_gpu_s is not None and 1 - measured.one_gpu_s / step_s >= LOADER_SHARE
    return scaled or (measured.communication_share or 0.0) >= LOADER_SHARE


def _throttled(measured: Measured, step_s: float) -> bool:
    return measured.throttled is True


def _memory(measured: Measured, step_s: float) -> bool:
    calls, retries = measured.allocations_per_step or 0.0, measured.retries_per_step or 0.0
    return calls >= MEMORY_CALLS or retries >= MEMORY_RETRIES


def _kernels(measured: Measured, step_s: float) -> bool:
    tried = any(each.of == "gpu" and each.step_s <= SAVED_RATIO * step_s for each in measured.tried)
    power = measured.power_share
    full = (measured.util_share or measured.busy_share or 0.0) >= FULL_SHARE
    return tried or (full and power is not None and power < WEAK_POWER_SHARE)


_LOADER: Final[tuple[Rule, ...]] = (
    ("host-to-device copy", _copies),
    ("storage", _storage),
    ("CPU capacity", _competes),
    ("collate or pinning in the main process", _collate),
    ("workers", _workers),
    ("CPU capacity", _cpus),
)
_HOST: Final[tuple[Rule, ...]] = (
    ("recompiles", _recompiles),
    ("launches", _launches),
    ("optimizer", _optimizer),
    ("synchronising calls", _syncs),
    ("Python in the main process", _python),
)
_GPU: Final[tuple[Rule, ...]] = (
    ("communication", _communication),
    ("power or heat", _throttled),
    ("memory pressure", _memory),
    ("kernel choice", _kernels),
)
