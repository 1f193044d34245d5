"""The loader alone: how many batches a second it gives, as it is and with other workers.

Runs inside the training program, between two bursts.
"""

from __future__ import annotations

import os
import time
from typing import Any

SHORTEST_S = 0.5


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
        if rest_s < SHORTEST_S:
            break
        workers = left.pop(0)
        try:
            found.append(_timed(loader, workers, rest_s / (len(left) + 1)))
        except (TypeError, ValueError, AttributeError, RuntimeError, AssertionError) as error:
            found.append({"workers": workers, "problem": f"{type(error).__name__}: {error}"[:200]})
    return found


def _timed(loader: Any, workers: int, budget_s: float) -> dict[str, Any]:
    other = (
        loader if workers == getattr(loader, "num_workers", 0) else _with_workers(loader, workers)
    )
    skipped = max(1, workers * (getattr(other, "prefetch_factor", None) or 0))
    began_s = time.perf_counter()
    first_s, count, start_s = None, 0, began_s
    iterator = iter(other)
    real_next = type(iterator).__next__
    real_next = getattr(real_next, "_costplan_real", real_next)
    try:
        while time.perf_counter() - began_s < budget_s or count == 0:
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
    spent_s = time.perf_counter() - start_s
    del iterator
    return {
        "workers": workers,
        "batches": count,
        "first_s": first_s,
        "batches_per_s": count / spent_s if count else None,
    }


def _with_workers(loader: Any, workers: int) -> Any:
    """Return a loader of the same batches with another number of workers."""
    given: dict[str, Any] = {
        "num_workers": workers, "collate_fn": loader.collate_fn, "pin_memory": loader.pin_memory,
        "worker_init_fn": loader.worker_init_fn,
        "multiprocessing_context": loader.multiprocessing_context if workers else None,
    }  # fmt: skip
    from torch.utils.data import DataLoader

    if loader.batch_sampler is not None:
        return DataLoader(loader.dataset, batch_sampler=loader.batch_sampler, **given)
    if loader.sampler is not None and loader.batch_size is None:
        return DataLoader(loader.dataset, batch_size=None, sampler=loader.sampler, **given)
    return DataLoader(loader.dataset, batch_size=loader.batch_size, **given)


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


def length(loader: Any) -> int | None:
    """Return how many batches an epoch has; None where the loader cannot tell."""
    try:
        return len(loader)
    except TypeError:
        return None


def kind(loader: Any) -> tuple[object, ...]:
    """Return what tells a loader from others, and is the same for one made anew each epoch."""
    found = [type(loader).__qualname__]
    for name in ("dataset", "sampler", "batch_sampler"):
        found.append(type(getattr(loader, name, None)).__qualname__)
    sizes = [getattr(loader, name, None) for name in ("batch_size", "num_workers", "drop_last")]
    return (*found, *sizes, length(loader))
