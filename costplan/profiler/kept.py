"""Which files are the user's to lose: they existed before the start, and no cache can remake them.

The age of a file decides, not its name: yesterday's log, table or picture is as much a loss as
yesterday's checkpoint. Names decide only in caches and temporary folders, where libraries rewrite
their own files all the time and only a checkpoint or a result is worth keeping.
"""

from __future__ import annotations

import ctypes
import os
import stat
import struct
from typing import Final, NamedTuple

SUFFIXES: Final = (
    *(".pt", ".pth", ".ckpt", ".safetensors", ".bin", ".npz", ".h5", ".hdf5", ".pkl", ".joblib"),
    *(".onnx", ".msgpack", ".keras", ".engine", ".gguf"),
)
NAMES: Final = frozenset(
    {
        *("trainer_state.json", "results.csv", "metrics.csv", "metrics.jsonl", "status.json"),
        *("summary.json", "args.yaml"),
    }
)
LOOSE: Final = ("/tmp", "/var/tmp", "/dev/shm", "~/.cache", "~/.triton", "~/.nv")
LOOSE_VARIABLES: Final = (
    *("TMPDIR", "TEMP", "TMP", "XDG_CACHE_HOME", "HF_HOME", "HF_HUB_CACHE", "HF_DATASETS_CACHE"),
    *(
        "HF_XET_CACHE",
        "TORCH_HOME",
        "TORCHINDUCTOR_CACHE_DIR",
        "TRITON_CACHE_DIR",
        "CUDA_CACHE_PATH",
    ),
    *("MPLCONFIGDIR", "NUMBA_CACHE_DIR", "PIP_CACHE_DIR"),
)
NOT_FILES: Final = ("/proc/", "/sys/", "/dev/")

# From the kernel's statx(2): a buffer of 256 bytes, the mask first, the time of birth at 80.
AT_FDCWD: Final = -100
AT_SYMLINK_NOFOLLOW: Final = 0x100
STATX_BTIME: Final = 0x800
STATX_BYTES: Final = 256
STATX_BIRTH_AT: Final = 80


class Ground(NamedTuple):
    """What decides whether a file is the user's."""

    folder: str
    """Where this profile keeps its own things, as a real path."""
    started_s: float
    loose: tuple[str, ...]
    """Folders where only checkpoints and results count, each with a slash at its end."""


def ground(folder: str, started_s: float) -> Ground:
    """Return what decides on this machine, for a profile that began at `started_s`."""
    here = os.path.realpath(os.getcwd()) + "/"
    named = (*LOOSE, *(os.environ.get(name, "") for name in LOOSE_VARIABLES))
    places = {os.path.realpath(os.path.expanduser(place)) + "/" for place in named if place}
    # A cache that holds the working folder (HF_HOME=/workspace) says nothing about the work in it.
    loose = tuple(sorted(place for place in places if not here.startswith(place)))
    return Ground(os.path.realpath(folder), started_s, loose)


def canonical(path: str) -> str:
    """Return the one name of a directory entry: links above it are followed, itself it is not."""
    above, name = os.path.split(path.rstrip("/") or "/")
    if name in {"", ".", ".."}:
        return os.path.realpath(path)
    return os.path.join(os.path.realpath(above or "."), name)


def is_result(path: str) -> bool:
    """Return whether a name is that of a checkpoint or a result.

    >>> is_result("/tmp/run/last.pt"), is_result("/tmp/tokens.json")
    (True, False)
    """
    name = os.path.basename(path)
    return name.endswith(SUFFIXES) or name in NAMES or name.startswith("events.out.tfevents")


def is_outside(ground: Ground, path: str) -> bool:
    """Return whether nothing at the canonical `path` is the user's to lose."""
    if path.startswith(ground.loose):
        return not is_result(path)
    # A lock is shared with programs that do not run here: a twin of it would lock nothing.
    return path.startswith(NOT_FILES) or path.endswith(".lock") or "/__pycache__/" in path


def is_kept(ground: Ground, path: str, found: os.stat_result) -> bool:
    """Return whether the entry `found` at `path` must not be changed."""
    if not stat.S_ISREG(found.st_mode) and not stat.S_ISLNK(found.st_mode):
        return False
    if not existed(ground, path, found):
        return False
    where = canonical(path) if stat.S_ISLNK(found.st_mode) else os.path.realpath(path)
    return not where.startswith(ground.folder + "/") and not is_outside(ground, where)


def existed(ground: Ground, path: str, found: os.stat_result) -> bool:
    """Return whether the entry `found` at `path` was there before the start.

    No program can set the time of the last change back, so an old one is proof. A young one is
    none: someone else's run may write the file right now. Then the time of birth decides, where
    the file system keeps one.
    """
    if found.st_ctime < ground.started_s:
        return True
    born_s = _born_s(path, found)
    return born_s is not None and born_s < ground.started_s


def _born_s(path: str, found: os.stat_result) -> float | None:
    """Return when the entry was made, or None where nobody knows."""
    known: float | None = getattr(found, "st_birthtime", None)
    if known is not None:
        return known
    statx = getattr(ctypes.CDLL(None), "statx", None)
    if statx is None:
        return None
    answer = ctypes.create_string_buffer(STATX_BYTES)
    flags = AT_SYMLINK_NOFOLLOW if stat.S_ISLNK(found.st_mode) else 0
    if statx(AT_FDCWD, os.fsencode(path), flags, STATX_BTIME, answer) != 0:
        return None
    (mask,) = struct.unpack_from("I", answer, 0)
    seconds, nanoseconds = struct.unpack_from("qI", answer, STATX_BIRTH_AT)
    return float(seconds + nanoseconds / 1e9) if mask & STATX_BTIME else None


def holds_kept(ground: Ground, folder: str) -> str | None:
    """Return one file below `folder` that must not be changed, or None where there is none."""
    for above, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(above, name)
            if is_kept(ground, path, os.lstat(path)):
                return path
    return None
