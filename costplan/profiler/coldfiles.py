"""Files read from the disk against the same files in memory: a few batches, each fetched again.

All of it happens in a worker of a loader made for it. The program's own process opens nothing,
keeps no hook that listens for files, and draws no random number.
"""

from __future__ import annotations

import contextlib
import os
import random
import stat
import sys
import time
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from costplan.profiler import sweep

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

SHARE: Final = 0.25
"""Of the time of the loader alone; its workers are tried in the rest."""
LEAST_BATCHES: Final = 3
MOST_BATCHES: Final = 32
MOST_DRAWN: Final = 10_000
"""Batches of an epoch among which those are chosen that are read."""
DRAWING_SHARE: Final = 0.1
"""Of the time: drawing a long epoch in full would take all of it."""
MOST_FILE_BYTES: Final = 2**30
"""Of a file that memory is made to forget: an archive of many GB is not read anew for a test."""
PATIENCE: Final = 2
"""Times its time that the least number of batches may take."""
LEAST_PATIENCE_S: Final = 10
"""After which a worker that gives nothing is given up: one that is spawned imports first."""
CODE: Final = (".py", ".pyc", ".so")
"""What a first call imports is no sample."""
WRITING: Final = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
PROBLEMS: Final = (*sweep.PROBLEMS, ArithmeticError, EOFError, LookupError, Warning)

STREAM: Final = "the data set is a stream, of which no batch can be asked for twice"
UNCOUNTED: Final = "this system does not count what is read from its disk"


def alone(loader: Any, budget_s: float) -> dict[str, Any]:
    """Return the facts of a loader alone: its files cold and warm, then other numbers of workers.

    In this order: trying workers reads files, of which the first tells how the bursts had them.
    """
    began_s = time.perf_counter()
    files_read = cold_and_warm(loader, SHARE * budget_s)
    left_s = budget_s - (time.perf_counter() - began_s)
    return {"files_read": files_read, "loader": sweep.sweep(loader, max(left_s, budget_s / 2))}


def cold_and_warm(loader: Any, budget_s: float) -> dict[str, Any]:
    """Return what a few batches took with their files on the disk, then in memory.

    Times are one per batch, in order; of the bytes those that came from the disk are told apart by
    what the system counts for the worker. `problem` says why something is not known.
    """
    try:
        return _taken(loader, budget_s)
    except PROBLEMS as error:
        return {"problem": f"{type(error).__name__}: {error}"[:200]}


def _taken(loader: Any, budget_s: float) -> dict[str, Any]:
    from torch.utils.data import IterableDataset

    if isinstance(loader.dataset, IterableDataset):
        return {"problem": STREAM}
    if disk_bytes() is None or not hasattr(os, "posix_fadvise"):
        return {"problem": UNCOUNTED}
    began_s = time.perf_counter()
    chosen = some_batches(loader, DRAWING_SHARE * budget_s)
    found: list[dict[str, Any]] = []
    iterator = iter(_reading(loader, chosen, budget_s))
    try:
        while len(found) < len(chosen):
            found.append(sweep.real_next(iterator))
            passed_s = time.perf_counter() - began_s
            if not found[0]["sizes"] or is_over(len(found), passed_s, budget_s):
                break
    finally:
        sweep.end(iterator)
    return _summed(found) | {"memory_bytes": available_bytes()}


def is_over(count: int, passed_s: float, budget_s: float) -> bool:
    """Return whether no more batches are read: time is up, or they are too slow for the least."""
    if count >= LEAST_BATCHES:
        return passed_s > budget_s
    return passed_s / count * LEAST_BATCHES > PATIENCE * budget_s


def _reading(loader: Any, chosen: list[Any], budget_s: float) -> Any:
    """Return the loader whose one worker reads the chosen batches."""
    import torch
    from torch.utils.data import DataLoader

    return DataLoader(
        Reread(loader.dataset, loader.collate_fn, batched=loader.batch_sampler is not None),
        batch_size=None, sampler=chosen, num_workers=1, prefetch_factor=1,
        worker_init_fn=loader.worker_init_fn,
        multiprocessing_context=loader.multiprocessing_context,
        timeout=max(LEAST_PATIENCE_S, PATIENCE * budget_s),
        generator=torch.Generator(),  # else it would draw from the program's
    )  # fmt: skip


def _summed(found: list[dict[str, Any]]) -> dict[str, Any]:
    sizes: dict[str, int] = {}
    for each in found:
        sizes |= each["sizes"]
    return {
        "cold_s": [each["cold_s"] for each in found],
        "warm_s": [each["warm_s"] for each in found],
        "samples": sum(each["samples"] for each in found),
        "files": len(sizes),
        "size_bytes": sum(sizes.values()),
        **{
            name: sum(each[name] for each in found)
            for name in ("opened_again", "found_bytes", "cold_bytes", "warm_bytes", "large")
        },
    }


# --- which batches ------------------------------------------------------------------------------


def some_batches(loader: Any, longest_s: float) -> list[Any]:
    """Return the indices of a few batches, from all over an epoch and always the same of it."""
    source = loader.sampler if loader.batch_sampler is None else loader.batch_sampler
    ends_s, drawn = time.perf_counter() + longest_s, []
    with undrawn(loader):
        for batch in islice(iter(source), MOST_DRAWN):
            drawn.append(batch)
            if time.perf_counter() > ends_s and len(drawn) >= LEAST_BATCHES:
                break
    return random.Random(0).sample(drawn, min(MOST_BATCHES, len(drawn)))


@contextlib.contextmanager
def undrawn(loader: Any) -> Iterator[None]:
    """Give the program its random numbers back: whoever draws the indices draws them too."""
    import torch

    numpy = sys.modules.get("numpy")
    state, of_numpy = random.getstate(), None if numpy is None else numpy.random.get_state()
    inner = getattr(loader.batch_sampler, "sampler", None)
    own = [getattr(each, "generator", None) for each in (loader, loader.sampler, inner)]
    generators = [torch.default_generator, *(each for each in own if each is not None)]
    states = [each.get_state() for each in generators]
    try:
        yield
    finally:
        random.setstate(state)
        if numpy is not None:
            numpy.random.set_state(of_numpy)
        for each, kept in zip(generators, states, strict=True):
            each.set_state(kept)


# --- in the worker ------------------------------------------------------------------------------


class _Opened:
    """Files that this process opens to read; None while nobody asks."""

    paths: dict[str, None] | None = None
    is_heard = False


_OPENED = _Opened()


def _hear(event: str, given: tuple[Any, ...]) -> None:
    if event != "open" or _OPENED.paths is None:
        return
    path, _, flags = given
    if isinstance(path, (str, bytes, os.PathLike)) and not (flags or 0) & WRITING:
        _OPENED.paths[os.fsdecode(path)] = None


@contextlib.contextmanager
def opened() -> Iterator[dict[str, None]]:
    """Give the paths of all files that are opened to read meanwhile, by Python at least."""
    if not _OPENED.is_heard:
        sys.addaudithook(_hear)  # for the rest of this process
        _OPENED.is_heard = True
    heard: dict[str, None] = {}
    _OPENED.paths = heard
    try:
        yield heard
    finally:
        _OPENED.paths = None


class Reread:
    """A data set whose sample is what it takes to fetch one batch of another."""

    def __init__(self, dataset: Any, collate: Any, *, batched: bool) -> None:
        self.dataset, self.collate, self.batched = dataset, collate, batched

    def __getattr__(self, name: str) -> Any:
        """Be the data set to a program's own start of a worker, but for what copies look for."""
        if name.startswith("__") or name == "dataset":
            raise AttributeError(name)
        return getattr(self.dataset, name)

    def __getitem__(self, indices: Any) -> dict[str, Any]:
        """Fetch a batch as it lies, from the disk, and from memory."""
        with opened() as paths:
            _, found_bytes = self._fetched(indices)
            heard = regular(paths)
            # What C code opens is not heard of: many data sets keep a list of their files.
            sizes = heard or regular(listed(self.dataset, indices))
            forget(sizes)
            paths.clear()
            cold_s, cold_bytes = self._fetched(indices)
            again = sum(path in heard for path in paths) if heard else len(sizes)
        warm_s, warm_bytes = self._fetched(indices)
        return {
            "cold_s": cold_s, "warm_s": warm_s,
            "samples": len(indices) if self.batched else 1,
            "sizes": sizes, "opened_again": again,
            "found_bytes": found_bytes, "cold_bytes": cold_bytes, "warm_bytes": warm_bytes,
            "large": sum(size > MOST_FILE_BYTES for size in sizes.values()),
        }  # fmt: skip

    def _fetched(self, indices: Any) -> tuple[float, int]:
        """Return the seconds that a batch takes, and its bytes from the disk."""
        draw_the_same()
        before_bytes, began_s = disk_bytes() or 0, time.perf_counter()
        if not self.batched:
            self.collate(self.dataset[indices])
        elif hasattr(self.dataset, "__getitems__"):
            self.collate(self.dataset.__getitems__(indices))
        else:
            self.collate([self.dataset[index] for index in indices])
        took_s = time.perf_counter() - began_s
        return took_s, (disk_bytes() or 0) - before_bytes


def draw_the_same() -> None:
    """Start all random numbers anew: the same augmentation, and the same files beside a sample."""
    import torch

    torch.manual_seed(0)
    random.seed(0)
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        numpy.random.seed(0)


def listed(dataset: Any, indices: Any) -> list[str]:
    """Return the files of some samples, where a data set keeps a list with one for each."""
    found = []
    for kept in vars(dataset).values() if hasattr(dataset, "__dict__") else ():
        if not isinstance(kept, (list, tuple)) or len(kept) != len(dataset):
            continue
        for index in indices if isinstance(indices, (list, tuple)) else [indices]:
            entry = kept[index] if isinstance(index, int) else None
            path = entry[0] if isinstance(entry, (list, tuple)) and entry else entry
            if isinstance(path, (str, os.PathLike)):
                found.append(os.fsdecode(path))
    return found


def regular(paths: Iterable[str]) -> dict[str, int]:
    """Return the size of each path that is a file with something in it, in bytes."""
    found = {}
    for path in paths:
        if path.endswith(CODE):
            continue
        with contextlib.suppress(OSError, ValueError):
            told = os.stat(path)
            if stat.S_ISREG(told.st_mode) and told.st_size:
                found[path] = told.st_size
    return found


def forget(sizes: dict[str, int]) -> None:
    """Ask the system to drop files from its memory; it may not, and nothing in them changes."""
    for path, size in sizes.items():
        if size > MOST_FILE_BYTES:
            continue
        with contextlib.suppress(OSError):
            handle = os.open(path, os.O_RDONLY)
            try:
                os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
            finally:
                os.close(handle)


def disk_bytes() -> int | None:
    """Return what this process has had read from disks; None where nobody counts that."""
    return _figure("/proc/self/io", "read_bytes:")


def available_bytes() -> int | None:
    """Return how much memory files and programs can still have."""
    found = _figure("/proc/meminfo", "MemAvailable:")
    return None if found is None else found * 1024


def _figure(path: str, name: str) -> int | None:
    try:
        with open(path, encoding="utf-8") as file:
            return next((int(line.split()[1]) for line in file if line.startswith(name)), None)
    except (OSError, ValueError, IndexError):
        return None
