"""A folder read to the last file: what is in it, and the hash of each file."""

from __future__ import annotations

import contextlib
import hashlib
import os
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from costplan.box import checkpoints
from costplan.errors import InputError
from costplan.records.copies import FileEntry, Skipped, is_checkpoint

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator
    from pathlib import Path

TEMPORARY: Final = ".part"
"""How the name of a file ends that is being written beside the one left out."""
CHUNK_BYTES: Final = 1 << 20
TICK_BYTES: Final = 64 << 20
RACY_NS: Final = 2_000_000_000
"""Disks date by ticks of up to two seconds (FAT): what changes twice within one looks the same."""


class Found(NamedTuple):
    """A file as its folder shows it."""

    path: str
    size_bytes: int
    mtime_ns: int
    ctime_ns: int


class Walked(NamedTuple):
    """What a folder shows, in order of path."""

    files: list[Found]
    skipped: list[Skipped]


def resolved(folder: Path) -> Path:
    """Return `folder` in full, links followed.

    Raises:
        InputError: It is missing or no folder.
    """
    with reading(str(folder)):
        root = folder.resolve(strict=True)
        if not root.is_dir():
            raise InputError(f"{folder} is not a directory")
    return root


def is_there(folder: Path) -> bool:
    """Return whether something is on this machine at `folder`, which must be written in full.

    A place that nobody may enter is another machine's: boxes keep runs below /root.

    Raises:
        OSError: The disk fails, which `Path.is_dir` takes for nothing there.
    """
    try:
        folder.stat()
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return False
    return folder.is_absolute()


def walk(root: Path, *, left_out: Collection[str] = ()) -> Walked:
    """Return every file below `root` but those `left_out`, and apart what is no file.

    Raises:
        InputError: A folder cannot be read, or a name is not UTF-8.
    """
    files, skipped, folders = [], [], [""]
    while folders:
        folder = folders.pop()
        for item in _items(root, folder):
            path = folder + item.name
            if _is_left_out(path, left_out):
                continue
            check_name(path)
            if item.is_symlink():
                skipped.append(_link(root, path))
            elif item.is_dir(follow_symlinks=False):
                folders.append(f"{path}/")
            elif item.is_file(follow_symlinks=False):
                files.append(_found(path, item))
            else:
                skipped.append(Skipped(path=path, kind="special"))
    return Walked(sorted(files), sorted(skipped, key=lambda each: each.path))


@contextlib.contextmanager
def reading(name: str) -> Iterator[None]:
    """Turn what the disk says while `name` is read into errors that people read."""
    try:
        yield
    except FileNotFoundError:
        raise InputError(f"{name} does not exist, or no longer") from None
    except (OSError, RuntimeError) as err:  # RuntimeError: a circle of links
        why = getattr(err, "strerror", None) or err
        raise InputError(f"{name} cannot be read: {why}") from None


def _items(root: Path, folder: str) -> list[os.DirEntry[str]]:
    with reading(str(root / folder)), os.scandir(root / folder) as items:
        return list(items)


def _is_left_out(path: str, left_out: Collection[str]) -> bool:
    folder, slash, name = path.rpartition("/")
    for each in left_out:
        its_folder, its_slash, its_name = each.rpartition("/")
        if (folder, slash) != (its_folder, its_slash):
            continue
        if name == its_name or (name.startswith(f".{its_name}.") and name.endswith(TEMPORARY)):
            return True
    return False


def check_name(path: str) -> None:
    """Refuse a name that a manifest cannot hold.

    Raises:
        InputError: It is not UTF-8.
    """
    try:
        path.encode("utf-8")
    except UnicodeEncodeError:
        raise InputError(
            f"{os.fsencode(path)!r} has a name that is not UTF-8", hint="rename it"
        ) from None


def _found(path: str, item: os.DirEntry[str] | Path) -> Found:
    with reading(path):
        stat = item.stat(follow_symlinks=False)
    return Found(path, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns)


def _link(root: Path, path: str) -> Skipped:
    target = os.fsencode((root / path).readlink()).decode("utf-8", "backslashreplace")
    try:
        real = (root / path).resolve(strict=True)
    except (OSError, RuntimeError):
        return Skipped(path=path, kind="link-broken", target=target)
    inside = real == root or root in real.parents
    return Skipped(path=path, kind="link-inside" if inside else "link-outside", target=target)


# --- hashes -------------------------------------------------------------------------------------


def digests(
    path: Path, names: Collection[str], *, tick: Callable[[int], None] | None = None
) -> dict[str, str]:
    """Return the hashes of the file at `path` by name; `git-sha1` as git names a plain file.

    Raises:
        OSError: It cannot be read.
    """
    sums = {name: _sum(name, path) for name in names}
    done_bytes = 0
    with path.open("rb") as file:
        while chunk := file.read(CHUNK_BYTES):
            for each in sums.values():
                each.update(chunk)
            done_bytes += len(chunk)
            if tick and done_bytes % TICK_BYTES == 0:
                tick(done_bytes)
    return {name: each.hexdigest() for name, each in sums.items()}


def _sum(name: str, path: Path) -> Any:
    if name == "git-sha1":
        start = b"blob %d\0" % path.stat().st_size
        return hashlib.sha1(start, usedforsecurity=False)
    return hashlib.new(name, usedforsecurity=False)


def entry(root: Path, found: Found, *, tick: Callable[[int], None] | None = None) -> FileEntry:
    """Return the entry of a file, opened if it is a checkpoint.

    Raises:
        InputError: It cannot be read, or changed since it was `found` or while it was read.
    """
    path = root / found.path
    opened = None
    with reading(str(path)):
        sha256 = digests(path, ["sha256"], tick=tick)["sha256"]
        if is_checkpoint(found.path):
            opened = checkpoints.look(path)
    if _found(found.path, path) != found:
        raise changed(path)
    return FileEntry(
        **found._asdict(),
        sha256=sha256,
        checkpoint=opened.state if opened else None,
        why=opened.why if opened else None,
    )


def changed(path: Path) -> InputError:
    """Return the error for what does not hold still."""
    return InputError(
        f"{path} changed while it was read", hint="wait until the run is over and its files quiet"
    )


def same_stamp(known: FileEntry, found: Found) -> bool:
    """Return whether `known` and `found` have the same size and times."""
    return found == Found(known.path, known.size_bytes, known.mtime_ns, known.ctime_ns)


def settled(known: FileEntry, *, read_ns: int) -> bool:
    """Return whether its times tell every later change: it was long quiet when it was read."""
    return known.ctime_ns < read_ns - RACY_NS
