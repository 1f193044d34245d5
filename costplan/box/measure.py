"""Measures this box without root: cores, memory, `/dev/shm`, the disk, a single-thread score.

What cannot be read is None with its reason where one is kept, never 0.
"""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

from costplan.records.checks import CacheFacts, CpuFacts, DiskFacts, MemoryFacts, ShmFacts

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

PROC: Final = Path("/proc")
CGROUP: Final = Path("/sys/fs/cgroup")
SHM: Final = Path("/dev/shm")
NO_LIMIT_BYTES: Final = 1 << 60
"""Version 1 writes about 2^63 where there is no limit."""
MIB: Final = 1 << 20
TEST_MIB: Final = 256
BLOCK_BYTES: Final = 4 * MIB
SPARE: Final = 4
"""The test file is written only where this many of it are free."""
PROBES: Final = 8
STEPS: Final = 200_000
ROUNDS: Final = 7


def cpu(*, proc: Path = PROC, cgroup: Path = CGROUP, steps: int = STEPS) -> CpuFacts:
    """Return what cores there are, which may be used, and how fast one of them is."""
    found = cores(proc=proc, cgroup=cgroup)
    return found.model_copy(update={"million_steps_per_s": score(steps=steps)})


def cores(*, proc: Path = PROC, cgroup: Path = CGROUP) -> CpuFacts:
    """Return what cores there are and which may be used, without timing one."""
    affinity = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else None
    quota, source = quota_cores(proc=proc, cgroup=cgroup)
    return CpuFacts(
        reported=os.cpu_count(), affinity=affinity, quota_cores=quota, quota_from=source
    )


def cpu_model(proc: Path = PROC) -> str | None:
    """Return what the kernel calls the processor; None where it tells no name, as on ARM."""
    for line in (_text(proc / "cpuinfo") or "").splitlines():
        key, _, value = line.partition(":")
        if key.strip() == "model name" and value.strip():
            return value.strip()
    return None


def groups(proc: Path, cgroup: Path, controller: str) -> list[tuple[Path, int]]:
    """Return the folders of this process's groups, its own first, with their version.

    Each parent limits too. A container often shows its own group as the root: the path that the
    process is told does not exist there, and the root speaks.
    """
    try:
        lines = (proc / "self/cgroup").read_text("utf-8").splitlines()
    except OSError:
        lines = []
    found = []
    for line in lines:
        _, names, path = [*line.split(":", 2), "", ""][:3]
        if not names:
            tops, version = [cgroup, cgroup / "unified"], 2
        elif controller in names.split(","):
            tops, version = [cgroup / names, cgroup / controller], 1
        else:
            continue
        below = [part for part in path.split("/") if part not in ("", "..")]
        for top in tops:
            for deep in range(len(below), -1, -1):
                found.append((top.joinpath(*below[:deep]), version))
    return found


def quota_cores(*, proc: Path = PROC, cgroup: Path = CGROUP) -> tuple[float | None, str | None]:
    """Return the smallest quota of the processor, in cores, and the file that sets it."""
    least: tuple[float, str] | None = None
    for folder, version in groups(proc, cgroup, "cpu"):
        file = folder / ("cpu.max" if version == 2 else "cpu.cfs_quota_us")
        period = folder / "cpu.cfs_period_us"
        words = f"{_text(file)} {'' if version == 2 else _text(period)}".split()
        if len(words) == 2 and all(word.isdigit() for word in words) and int(words[1]):
            cores = int(words[0]) / int(words[1])
            if cores and (least is None or cores < least[0]):
                least = cores, f"cgroup v{version}"
    return least or (None, None)


def memory(*, proc: Path = PROC, cgroup: Path = CGROUP) -> MemoryFacts:
    """Return the main memory and the smallest limit on it."""
    total = _meminfo(proc, "MemTotal:")
    limits = []
    for folder, version in groups(proc, cgroup, "memory"):
        text = _text(folder / ("memory.max" if version == 2 else "memory.limit_in_bytes")) or ""
        if text.isdigit() and int(text) < NO_LIMIT_BYTES:
            limits.append(int(text))
    return MemoryFacts(total_bytes=total, limit_bytes=min(limits, default=None))


def memory_available(*, proc: Path = PROC) -> int | None:
    """Return how many bytes of the main memory new work could have; None where nobody tells."""
    return _meminfo(proc, "MemAvailable:")


def _meminfo(proc: Path, name: str) -> int | None:
    found = None
    for line in (_text(proc / "meminfo") or "").splitlines():
        words = line.split()
        if words[:1] == [name] and len(words) > 1 and words[1].isdigit():
            found = int(words[1]) * 1024
    return found


def shm(path: Path = SHM) -> ShmFacts:
    """Return the size of the shared memory."""
    try:
        found = os.statvfs(path)
    except OSError as error:
        return ShmFacts(problem=f"{path}: {error.strerror}")
    return ShmFacts(
        total_bytes=found.f_blocks * found.f_frsize, free_bytes=found.f_bavail * found.f_frsize
    )


def disk(path: Path, *, mounts: Mapping[str, str], mib: int = TEST_MIB) -> DiskFacts:
    """Return the size of the disk below a folder and how fast a file of it is read."""
    try:
        found = os.statvfs(path)
    except OSError as error:
        return DiskFacts(path=str(path), problem=f"{path}: {error.strerror}")
    free = found.f_bavail * found.f_frsize
    _, fstype = mount_of(path, mounts)
    if free >= SPARE * mib * MIB:
        cold, warm, problem = read_speed(path, mib=mib)
    else:
        cold, warm, problem = None, None, f"less than {SPARE * mib} MiB free to write a test file"
    return DiskFacts(
        path=str(path.resolve()),
        total_bytes=found.f_blocks * found.f_frsize,
        free_bytes=free,
        fstype=fstype,
        cold_mb_per_s=cold,
        warm_mb_per_s=warm,
        speed_problem=problem,
    )


def read_speed(
    folder: Path, *, mib: int = TEST_MIB, clock: Callable[[], float] = time.perf_counter
) -> tuple[float | None, float | None, str | None]:
    """Return MB/s of a file just written, read cold and warm, and why one of them is unknown.

    The file has no name and goes with its handle, whatever happens meanwhile.
    """
    try:
        with tempfile.TemporaryFile(dir=folder, buffering=0) as file:
            handle = file.fileno()
            for _ in range(max(1, mib * MIB // BLOCK_BYTES)):
                file.write(os.urandom(BLOCK_BYTES))  # what packs well would read too fast
            os.fsync(handle)
            os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
            cached = is_cached(handle)
            cold, warm = timed_read(handle, clock), timed_read(handle, clock)
    except (OSError, AttributeError) as error:
        return None, None, f"{folder}: {getattr(error, 'strerror', None) or error}"
    if cached is None:
        return None, warm, "this disk does not tell whether it has forgotten a file"
    return (None, warm, "this disk keeps files in memory") if cached else (cold, warm, None)


def is_cached(handle: int) -> bool | None:
    """Return whether any of a few places of a file is in memory; None where nobody can tell."""
    size = os.fstat(handle).st_size
    for place in range(PROBES):
        try:
            if os.preadv(handle, [bytearray(4096)], size * place // PROBES, os.RWF_NOWAIT):
                return True
        except BlockingIOError:
            continue
        except (OSError, AttributeError):
            return None
    return False


def timed_read(handle: int, clock: Callable[[], float]) -> float | None:
    """Return MB/s of reading a file from its start to its end."""
    block, read = bytearray(BLOCK_BYTES), 0
    os.lseek(handle, 0, os.SEEK_SET)
    before = clock()
    while count := os.readv(handle, [block]):
        read += count
    took_s = clock() - before
    return read / 1e6 / took_s if took_s > 0 else None


def score(*, steps: int = STEPS, clock: Callable[[], float] = time.perf_counter) -> float | None:
    """Return millions of steps a second of a fixed loop in Python, the best of a few rounds."""
    best = float("inf")
    for _ in range(ROUNDS):
        before, value = clock(), 1
        for _ in range(steps):
            value = (value * 1_103_515_245 + 12_345) & 0x7FFF_FFFF
        best = min(best, clock() - before)
    return steps / 1e6 / best if best > 0 else None


def mounts(proc: Path = PROC) -> dict[str, str]:
    """Return the kind of file system by where it is mounted; the last of a place counts."""
    found = {}
    for line in (_text(proc / "self/mountinfo") or "").splitlines():
        before, _, after = line.partition(" - ")
        words, kind = before.split(), after.split()
        if len(words) > 4 and kind:
            found[words[4].replace("\\040", " ")] = kind[0]
    return found


def mount_of(path: Path, mounts: Mapping[str, str]) -> tuple[str | None, str | None]:
    """Return the mount that a path lies on and its kind; the path need not exist yet."""
    real = Path(os.path.realpath(path))
    for each in (real, *real.parents):
        if str(each) in mounts:
            return str(each), mounts[str(each)]
    return None, None


def caches(environment: Mapping[str, str], mounts: Mapping[str, str]) -> list[CacheFacts]:
    """Return where Hugging Face, torch and others keep what they download."""
    home = environment.get("HOME") or str(Path("~").expanduser())
    xdg = environment.get("XDG_CACHE_HOME") or f"{home}/.cache"
    places = {
        "HF_HOME": environment.get("HF_HOME") or f"{xdg}/huggingface",
        "TORCH_HOME": environment.get("TORCH_HOME") or f"{xdg}/torch",
        "XDG_CACHE_HOME": xdg,
    }
    found = []
    for name, path in places.items():
        mount, kind = mount_of(Path(path), mounts)
        found.append(CacheFacts(name=name, path=path, fstype=kind, mount=mount))
    return found


def _text(path: Path) -> str | None:
    try:
        return path.read_text("utf-8", "replace").strip()
    except OSError:
        return None
