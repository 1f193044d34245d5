"""Where a path really leads: to the user's file, or to the twin that stands for it in this run.

A twin is made when a kept file is opened for writing, and found by the device and inode of the file
it stands for: links, relative paths and other spellings of the name lead to the same twin.
"""

from __future__ import annotations

import errno
import os
import shutil
import stat
import threading
from contextlib import suppress
from typing import Final

from costplan.profiler import kept
from costplan.profiler.journal import FILE, GONE, Journal, append
from costplan.profiler.refusal import refuse, stop

NEW_FILES: Final = "new.txt"
TWINS: Final = "twins"
MOST_COPIED_BYTES: Final = 2 << 30
"""A longer file would stall the burst, and is a data set opened for writing rather than a log."""
SPARE_BYTES: Final = 1 << 30
"""What a copy leaves free: filling the user's disk would end their other runs."""

_stat: Final = os.stat  # as they were before anything was wrapped: called at every file operation
_lstat: Final = os.lstat


def found_at(path: str, *, follow: bool = True) -> os.stat_result | None:
    """Return what lies at `path` on disk, or None where nothing does."""
    try:
        return _stat(path) if follow else _lstat(path)
    except (OSError, ValueError):
        return None


def missing(path: str) -> FileNotFoundError:
    """Return the error of a path that leads nowhere."""
    return FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)


class Twins:
    """The files that stand for the user's files in this run."""

    def __init__(self, ground: kept.Ground) -> None:
        self.ground = ground
        self.folder = ground.folder
        self.journal = Journal(os.path.join(self.folder, FILE))
        self._told: set[str] = set()

    def refresh(self) -> None:
        """Learn what other processes of the run did."""
        self.journal.refresh()
        if self.journal.refused:
            stop("costplan: another process of this run was refused")

    def led(self, path: str) -> str | None:
        """Return where the run has led this name, `GONE`, or None where it is what it was."""
        if os.path.basename(path.rstrip("/")) not in self.journal.bases:
            return None
        return self.journal.names.get(kept.canonical(path))

    def seen(self, path: str, *, follow: bool = True) -> str:
        """Return where to read what the program calls `path`.

        Raises:
            FileNotFoundError: The run has deleted it.
        """
        self.refresh()
        if not self.journal.names and not self.journal.twins:
            return path
        to = self.led(path)
        if to == GONE:
            raise missing(path)
        path = to or path
        found = found_at(path, follow=follow)
        return path if found is None else self._twin(found) or path

    def _twin(self, found: os.stat_result) -> str | None:
        return self.journal.twins.get((found.st_dev, found.st_ino))

    def written(self, path: str, flags: int) -> str:
        """Return the file to open, with `flags`, for writing what the program calls `path`.

        Raises:
            FileNotFoundError: The run has deleted it, and the flags do not make it anew.
        """
        self.refresh()
        to = self.led(path)
        if to == GONE:
            if not flags & os.O_CREAT:
                raise missing(path)
            return self.fresh(path)
        path = to or path
        found = found_at(path)
        if found is None:
            if flags & os.O_CREAT:
                self.tell(path)
            return path
        if flags & os.O_EXCL:  # the system itself refuses to open it
            return path
        return self.standing_for(path, found, empty=bool(flags & os.O_TRUNC))

    def holds(self, path: str, found: os.stat_result) -> bool:
        """Return whether the entry `found` at `path` must not be changed."""
        return self._twin(found) is not None or kept.is_kept(self.ground, path, found)

    def standing_for(self, path: str, found: os.stat_result, *, empty: bool) -> str:
        """Return the twin of a kept file, made where there is none, or the path of any other."""
        twin = self._twin(found)
        if twin is None and kept.is_kept(self.ground, path, found):
            twin = self._make(path, found, empty=empty)
        return twin or path

    def place(self, path: str, found: os.stat_result) -> str:
        """Return where the twin of the entry `found` belongs; its name says what it is."""
        folder = os.path.join(self.folder, TWINS, f"{found.st_dev}-{found.st_ino}")
        os.makedirs(folder, exist_ok=True)
        return os.path.join(folder, os.path.basename(path))

    def _make(self, path: str, found: os.stat_result, *, empty: bool) -> str:
        twin = self.place(path, found)
        draft = f"{twin}.{os.getpid()}-{threading.get_ident()}"
        if empty:
            os.close(os.open(draft, os.O_CREAT | os.O_WRONLY, stat.S_IMODE(found.st_mode)))
        else:
            self.copy(path, draft)
        # Of two ranks that make the same twin, the first decides: a link never replaces.
        with suppress(FileExistsError):
            os.link(draft, twin)
        os.unlink(draft)
        self.journal.add_twin((found.st_dev, found.st_ino), twin, os.path.abspath(path))
        return twin

    def fresh(self, path: str) -> str:
        """Return where to write anew what the program calls `path`: nothing of it is left there.

        The entry at `path` is on disk still; the run no longer sees it.
        """
        found = _lstat(path)
        twin = self.place(path, found)
        with suppress(FileNotFoundError):
            os.unlink(twin)
        name = kept.canonical(path)
        if stat.S_ISREG(found.st_mode):
            self.journal.add_twin((found.st_dev, found.st_ino), twin, os.path.abspath(path))
            self.journal.back(name)
        else:  # a link or a folder stood here: its inode says nothing about what replaces it
            self.journal.lead(name, twin)
        return twin

    def copy(self, path: str, to: str) -> None:
        """Copy a file of the user's, or end the run where that would cost too much."""
        size_bytes = found.st_size if (found := found_at(path)) else 0
        free = os.statvfs(os.path.dirname(to) or ".")
        left_bytes = free.f_bavail * free.f_frsize - size_bytes
        if size_bytes > MOST_COPIED_BYTES or left_bytes < SPARE_BYTES:
            refuse(self.folder, path, "writes into a file too long to copy")
        shutil.copy(path, to, follow_symlinks=False)

    def tell(self, path: str) -> None:
        """Note a file that the run makes where the user will find it."""
        name = os.path.abspath(path)
        if name in self._told or name.startswith(self.folder + "/"):
            return
        self._told.add(name)
        if not kept.is_outside(self.ground, name):
            append(os.path.join(self.folder, NEW_FILES), name)
