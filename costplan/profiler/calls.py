"""What stands in the place of `open` and of the functions of `os` in a guarded process.

Each takes the real function first, then what the program gave; `replace_all` binds the two. A bound
function is used on purpose: put into a class, as libraries do, it stays what it is.
"""

from __future__ import annotations

import builtins
import io
import os
import shutil
import sys
from types import MethodType
from typing import TYPE_CHECKING, Any, Final

from costplan.profiler import moves
from costplan.profiler.inside import INSIDE
from costplan.profiler.journal import GONE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from costplan.profiler.twins import Twins

WRITING: Final = os.O_WRONLY | os.O_RDWR | os.O_TRUNC | os.O_CREAT
MODES: Final = {
    "w": os.O_WRONLY | os.O_CREAT | os.O_TRUNC,
    "a": os.O_WRONLY | os.O_CREAT | os.O_APPEND,
    "x": os.O_WRONLY | os.O_CREAT | os.O_EXCL,
    "+": os.O_RDWR,
}
TWINS: Final[list[Twins]] = []
"""The one of this process, once it is guarded."""


def place(path: Any, flags: int, dir_fd: int | None = None, *, follow: bool = True) -> Any:
    """Return where `path` leads, or `path` itself, untouched, where it leads there."""
    if INSIDE.on or not isinstance(path, (str, bytes, os.PathLike)):
        return path
    INSIDE.on = True
    try:
        given = _text(path, dir_fd)
        if flags & WRITING:
            there = TWINS[0].written(given, flags)
        else:
            there = TWINS[0].seen(given, follow=follow)
    finally:
        INSIDE.on = False
    if there == given:
        return path
    return os.fsencode(there) if isinstance(path, bytes) else there


def _text(path: Any, dir_fd: int | None = None) -> str:
    """Return a path as text; one that starts at an open folder, from the root."""
    text = os.fsdecode(path)
    if dir_fd is None or dir_fd == -1 or text.startswith("/"):
        return text
    return os.path.join(os.readlink(f"/proc/self/fd/{dir_fd}"), text)


def _acting(does: Callable[..., None], *paths: tuple[Any, int | None], **more: Any) -> None:
    """Let `does` act on paths, each with the open folder that it starts at."""
    INSIDE.on = True
    try:
        does(TWINS[0], *(_text(path, dir_fd) for path, dir_fd in paths), **more)
    finally:
        INSIDE.on = False


def _open(real: Any, file: Any, mode: Any = "r", *args: Any, **kwargs: Any) -> Any:
    flags = 0
    for letter in mode if isinstance(mode, str) else "":
        flags |= MODES.get(letter, 0)
    return real(place(file, flags), mode, *args, **kwargs)


def _os_open(real: Any, path: Any, flags: int, mode: int = 0o777, *, dir_fd: Any = None) -> Any:
    return real(place(path, flags, dir_fd), flags, mode, dir_fd=dir_fd)


def _look(real: Any, path: Any, *args: Any, **kwargs: Any) -> Any:
    follow = kwargs.get("follow_symlinks", True)
    there = place(path, os.O_RDONLY, kwargs.get("dir_fd"), follow=follow)
    return real(there, *args, **kwargs)


def _access(real: Any, path: Any, mode: int, **kwargs: Any) -> bool:
    try:
        return bool(_look(real, path, mode, **kwargs))
    except FileNotFoundError:  # deleted by the run: this function says no instead of raising
        return False


def _look_at_entry(real: Any, path: Any, **kwargs: Any) -> Any:
    return real(place(path, os.O_RDONLY, kwargs.get("dir_fd"), follow=False), **kwargs)


def _readlink(real: Any, path: Any, *, dir_fd: int | None = None) -> Any:
    there = place(path, os.O_RDONLY, dir_fd, follow=False)
    # A link made anew is remembered as where it leads, and may well lead to no link.
    return real(path, dir_fd=dir_fd) if there is path else there


def _change(real: Any, path: Any, *args: Any, **kwargs: Any) -> Any:
    """Change times, rights or length: of the twin, which starts as a copy."""
    return real(place(path, os.O_RDWR, kwargs.get("dir_fd")), *args, **kwargs)


def _remove(real: Any, path: Any, *, dir_fd: int | None = None) -> None:
    if INSIDE.on:
        real(path, dir_fd=dir_fd)
    else:
        _acting(moves.remove, (path, dir_fd))


def _rmdir(real: Any, path: Any, *, dir_fd: int | None = None) -> None:
    if INSIDE.on:
        real(path, dir_fd=dir_fd)
    else:
        _acting(moves.remove_folder, (path, dir_fd))


def _mkdir(real: Any, path: Any, mode: int = 0o777, *, dir_fd: int | None = None) -> None:
    if INSIDE.on:
        real(path, mode, dir_fd=dir_fd)
    else:
        _acting(moves.make_folder, (path, dir_fd), mode=mode)


def _rename(
    real: Any, src: Any, dst: Any, *, src_dir_fd: int | None = None, dst_dir_fd: int | None = None
) -> None:
    if INSIDE.on:
        real(src, dst, src_dir_fd=src_dir_fd, dst_dir_fd=dst_dir_fd)
    else:
        _acting(moves.rename, (src, src_dir_fd), (dst, dst_dir_fd))


def _symlink(
    real: Any, src: Any, dst: Any, target_is_directory: bool = False, *, dir_fd: int | None = None
) -> None:
    if INSIDE.on:
        real(src, dst, target_is_directory, dir_fd=dir_fd)
    else:
        _acting(moves.symlink, (src, None), (dst, dir_fd))


def _link(
    real: Any,
    src: Any,
    dst: Any,
    *,
    src_dir_fd: int | None = None,
    dst_dir_fd: int | None = None,
    follow_symlinks: bool = True,
) -> None:
    if INSIDE.on:
        real(src, dst, src_dir_fd=src_dir_fd, dst_dir_fd=dst_dir_fd)
    else:
        _acting(moves.link, (src, src_dir_fd), (dst, dst_dir_fd))


def _gone(folder: Any) -> Callable[[Any], bool] | None:
    """Return whether a name in `folder` was deleted by the run, or None where none was."""
    names = TWINS[0].journal.names
    if INSIDE.on or not names:
        return None
    INSIDE.on = True
    try:
        start = (".", folder) if isinstance(folder, int) else (folder or ".", None)
        above = os.path.realpath(_text(*start))
    finally:
        INSIDE.on = False
    return lambda name: names.get(os.path.join(above, os.fsdecode(name))) == GONE


def _listdir(real: Any, path: Any = ".") -> Any:
    found = real(place(path, os.O_RDONLY))
    gone = _gone(path)
    return found if gone is None else [name for name in found if not gone(name)]


class Entries:
    """The entries of a folder, without those that the run deleted."""

    def __init__(self, entries: Any, gone: Callable[[Any], bool]) -> None:
        self._entries = entries
        self._gone = gone

    def __iter__(self) -> Iterator[os.DirEntry[Any]]:
        return self

    def __next__(self) -> os.DirEntry[Any]:
        for entry in self._entries:
            if not self._gone(entry.name):
                return entry  # type: ignore[no-any-return]
        raise StopIteration

    def __enter__(self) -> Entries:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the folder."""
        self._entries.close()


def _scandir(real: Any, path: Any = ".") -> Any:
    found = real(place(path, os.O_RDONLY))
    gone = _gone(path)
    return found if gone is None else Entries(found, gone)


REPLACED: Final[dict[str, Callable[..., Any]]] = {
    "open": _os_open,
    **dict.fromkeys(("stat", "getxattr", "listxattr", "statvfs", "chdir"), _look),
    "access": _access,
    "lstat": _look_at_entry,
    "readlink": _readlink,
    "listdir": _listdir,
    "scandir": _scandir,
    **dict.fromkeys(("chmod", "chown", "lchown", "utime", "truncate", "chflags"), _change),
    **dict.fromkeys(("setxattr", "removexattr"), _change),
    **dict.fromkeys(("remove", "unlink"), _remove),
    "rmdir": _rmdir,
    "mkdir": _mkdir,
    **dict.fromkeys(("rename", "replace"), _rename),
    "symlink": _symlink,
    "link": _link,
}


KEEPERS: Final = frozenset({"pathlib", "glob", "tarfile"})
"""Modules that keep a function of these under a name of their own, in one Python or another."""


def replace_all() -> None:
    """Put everything here in its place, for the rest of this process."""
    pairs = [(io.open, MethodType(_open, io.open))]
    io.open = builtins.open = pairs[0][1]
    for name, call in REPLACED.items():
        real = getattr(os, name, None)
        if real is None:  # not on this system
            continue
        pairs.append((real, MethodType(call, real)))
        setattr(os, name, pairs[-1][1])
        # Not in `supports_dir_fd`: shutil then walks by path, and the paths are what is guarded.
        for able in (os.supports_fd, os.supports_follow_symlinks):
            if real in able:
                able.add(pairs[-1][1])
    shutil._use_fd_functions = False  # type: ignore[attr-defined]
    for name in sorted(KEEPERS & set(sys.modules)):
        _replace_kept(sys.modules[name], pairs)


def _replace_kept(owner: Any, pairs: list[tuple[Any, Any]]) -> None:
    """Replace what a module, and the classes in it, took before the guard started."""
    for name, value in list(vars(owner).items()):
        if isinstance(value, type) and value.__module__ == owner.__name__:
            _replace_kept(value, pairs)
        held = getattr(value, "__func__", value)  # a static method holds it one level down
        for real, call in pairs:
            if held is real:
                setattr(owner, name, call)
