"""The loader alone: how many batches a second it gives, as it is and with other workers.

Runs inside the training program, between two bursts.
"""

from __future__ import annotations

import os
import time
from typing import Any, NamedTuple

SHORTEST_S = 0.5
LEAST_BATCHES = 3
WORTH_RATIO = 1.1
"""Less than a tenth more is within what a repeated sweep differs by."""
MOST_READY = 256
MOST_SAMPLERS = 8
"""One within another: a sampler that holds itself must not hold up the program."""
PROBLEMS = (TypeError, ValueError, AttributeError, RuntimeError, AssertionError, OSError)
"""What a loader raises that cannot be made anew, or not with so many workers."""


def usable_cpus() -> int:
    """Return how many processors this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:
        return os.cpu_count() or 1


def counts(now: int, cpus: int) -> list[int]:
    """Return numbers of workers to try: the present one first, then upwards to the processors."""
    powers = [2**n for n in range(10) if 2**n < cpus]
    return [now, *(n for n in [*powers, cpus] if n != now)]


def sweep(loader: Any, budget_s: float) -> list[dict[str, Any]]:
    """Return what each number of workers gives, in batches per second, until the time is used."""
    found: list[dict[str, Any]] = []
    left = counts(getattr(loader, "num_workers", 0), usable_cpus())
    began_s = time.perf_counter()
    while left:
        rest_s = budget_s - (time.perf_counter() - began_s)
        # Workers that are spawned import the program again: that can take seconds each time.
        start_s = max((each.get("first_s") or 0.0 for each in found), default=0.0)
        if found and rest_s < max(SHORTEST_S, 1.5 * start_s):
            break
        workers = left.pop(0)
        try:
            found.append(_timed(loader, workers, rest_s / (len(left) + 1)))
        except PROBLEMS as error:
            found.append({"workers": workers, "problem": f"{type(error).__name__}: {error}"[:200]})
    return found


def worth(tried: list[dict[str, Any]], now: int) -> int | None:
    """Return the number of workers that gives the most, if that is worth a visit.

    >>> worth([{"workers": 0, "batches_per_s": 9.0}, {"workers": 2, "batches_per_s": 17.0}], now=0)
    2
    """
    rates: dict[int, float] = {each["workers"]: each.get("batches_per_s") or 0 for each in tried}
    best = max((n for n in rates if n != now), key=lambda n: rates[n], default=None)
    if best is None or rates[best] <= WORTH_RATIO * rates.get(now, 0.0):
        return None
    return best


def _timed(loader: Any, workers: int, budget_s: float) -> dict[str, Any]:
    other = with_workers(loader, workers)
    skipped = max(1, workers * (getattr(other, "prefetch_factor", None) or 0))
    began_s, cpu_s = time.perf_counter(), _cpu_s()
    first_s, count, start_s = None, 0, began_s
    iterator = iter(other)
    try:
        while time.perf_counter() - began_s < budget_s or count < LEAST_BATCHES:
            real_next(iterator)
            now_s = time.perf_counter()
            if first_s is None:
                first_s = now_s - began_s
            if skipped > 0:
                skipped -= 1
                start_s = now_s
            else:
                count += 1
            if now_s - began_s > 4 * budget_s:
                break
    except StopIteration:
        pass
    finally:
        end_s = time.perf_counter()
        end(iterator)  # and the time of its workers on the processors is known
    whole_s = max(end_s - began_s, 1e-9)
    return {
        "workers": workers,
        "batches": count,
        "first_s": first_s,
        "batches_per_s": count / (end_s - start_s) if count else None,
        "cpu_share": min(1.0, (_cpu_s() - cpu_s) / whole_s / usable_cpus()),
    }


def _cpu_s() -> float:
    """Return the processor time of this process and of its children that have ended."""
    return sum(os.times()[:4])


def end(iterator: Any) -> None:
    """End the workers of an iterator, here and now: one that failed lives on in what it raised."""
    ends = getattr(iterator, "_shutdown_workers", None)
    if ends is not None:
        ends()


def real_next(iterator: Any) -> Any:
    """Return the next batch of an iterator, past the conductor."""
    real = type(iterator).__next__
    return getattr(real, "_costplan_real", real)(iterator)


def with_workers(loader: Any, workers: int) -> Any:
    """Return a new loader of the same batches with a number of workers.

    Also for the present number: an iterator of the program's own loader would reset one that keeps
    its workers from epoch to epoch.
    """
    from torch.utils.data import DataLoader

    given: dict[str, Any] = {
        "num_workers": workers, "collate_fn": loader.collate_fn, "pin_memory": loader.pin_memory,
        "worker_init_fn": loader.worker_init_fn,
        "multiprocessing_context": loader.multiprocessing_context if workers else None,
        "prefetch_factor": loader.prefetch_factor if workers else None,
    }  # fmt: skip
    if loader.batch_sampler is not None:
        return DataLoader(loader.dataset, batch_sampler=loader.batch_sampler, **given)
    if loader.sampler is not None and loader.batch_size is None:
        return DataLoader(loader.dataset, batch_size=None, sampler=loader.sampler, **given)
    return DataLoader(loader.dataset, batch_size=loader.batch_size, **given)


class Other:
    """The batches of the program's loader, from another number of workers."""

    def __init__(self, loader: Any, workers: int) -> None:
        self.loader, self.workers = with_workers(loader, workers), workers
        self.iterator: Any = None
        self.settle = 2 + workers * (self.loader.prefetch_factor or 0)
        """Batches until its full queue hides nothing any more."""

    def next_batch(self) -> Any:
        """Return its next batch, of the next epoch where one has ended."""
        if self.iterator is None:
            self.iterator = iter(self.loader)
        try:
            return real_next(self.iterator)
        except StopIteration:
            self.iterator = iter(self.loader)
            return real_next(self.iterator)

    def close(self) -> None:
        """End its workers."""
        self.iterator = None


def drain(iterator: Any) -> None:
    """Throw away what lies ready: it would hide a loader that is too slow."""
    for _ in range(MOST_READY):
        if not ready(iterator):
            return
        try:
            real_next(iterator)
        except StopIteration:
            return


def ready(iterator: Any) -> float | None:
    """Return how many batches lie ready before one is asked for; None without workers."""
    info = getattr(iterator, "_task_info", None)
    queue = getattr(iterator, "_data_queue", None)
    if info is None or queue is None:
        return None
    try:
        return float(sum(len(each) == 2 for each in info.values()) + queue.qsize())
    except (NotImplementedError, TypeError):
        return None


def is_filling(iterator: Any) -> bool:
    """Return whether workers are still busy with batches that nobody asks for yet."""
    found = ready(iterator)
    return found is not None and found < getattr(iterator, "_tasks_outstanding", 0)


class Worked(NamedTuple):
    """What the workers of an iterator have computed so far."""

    pids: tuple[int, ...]
    cpu_s: float

    def until(self, later: Worked | None) -> float | None:
        """Return what the same workers computed until later; None where others took over."""
        return None if later is None or later.pids != self.pids else later.cpu_s - self.cpu_s


def worked(iterator: Any) -> Worked | None:
    """Return the processor time of an iterator's workers; None without any, or off Linux."""
    pids = tuple(each.pid for each in getattr(iterator, "_workers", None) or ())
    if not pids:
        return None
    ticks = 0
    for pid in pids:
        try:
            with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
                fields = file.read().rpartition(")")[2].split()
        except OSError:
            return None
        ticks += int(fields[11]) + int(fields[12])  # proc(5): utime and stime, the 14th and 15th
    return Worked(pids, ticks / os.sysconf("SC_CLK_TCK"))


def length(loader: Any) -> int | None:
    """Return how many batches an epoch has; None where the loader cannot tell."""
    try:
        return len(loader)
    except TypeError:
        return None


def kind(loader: Any) -> tuple[object, ...]:
    """Return what tells a loader from others, and is the same for one made anew each epoch."""
    found = [type(loader).__qualname__]
    for name in ("dataset", "sampler"):
        found.append(type(getattr(loader, name, None)).__qualname__)
    # accelerate gives its loaders a sampler of batches, and torch's word for the rest: what draws
    # the samples lies deeper, and tells training from evaluation.
    inner = getattr(loader, "batch_sampler", None)
    while inner is not None and len(found) < MOST_SAMPLERS:
        found.append(type(inner).__qualname__)
        inner = getattr(inner, "sampler", None) or getattr(inner, "batch_sampler", None)
    sizes = [getattr(loader, name, None) for name in ("batch_size", "num_workers", "drop_last")]
    return (*found, *sizes, length(loader))
