"""Deletions, renames and links, done to the user's files in name only."""

from __future__ import annotations

import errno
import os
import shutil
import stat
from typing import TYPE_CHECKING

from costplan.profiler import kept
from costplan.profiler.journal import GONE
from costplan.profiler.refusal import refuse
from costplan.profiler.twins import missing

if TYPE_CHECKING:
    from costplan.profiler.twins import Twins


def remove(twins: Twins, path: str) -> None:
    """Delete a file, or only its name where it is the user's."""
    twins.refresh()
    to = twins.led(path)
    if to == GONE:
        raise missing(path)
    found = os.lstat(path)
    if to is not None or twins.holds(path, found):
        twins.journal.lead(kept.canonical(path), GONE)
    else:
        os.unlink(path)


def names_in(twins: Twins, folder: str) -> list[str]:
    """Return the names in a folder that the run has not deleted."""
    names = os.listdir(folder)
    if not twins.journal.bases.intersection(names):
        return names
    above = os.path.realpath(folder)
    return [n for n in names if twins.journal.names.get(os.path.join(above, n)) != GONE]


def remove_folder(twins: Twins, path: str) -> None:
    """Delete an empty folder, or only its name where files of the user's are still in it."""
    twins.refresh()
    if twins.led(path) == GONE:
        raise missing(path)
    if names_in(twins, path):
        raise OSError(errno.ENOTEMPTY, os.strerror(errno.ENOTEMPTY), path)
    if os.listdir(path) or kept.existed(twins.ground, path, os.lstat(path)):
        twins.journal.lead(kept.canonical(path), GONE)
    else:
        os.rmdir(path)


def make_folder(twins: Twins, path: str, mode: int) -> None:
    """Make a folder, or show again the one that the run deleted in name only."""
    twins.refresh()
    to = twins.led(path)
    if to == GONE and stat.S_ISDIR(os.lstat(path).st_mode):
        twins.journal.back(kept.canonical(path))
        return
    if to == GONE:
        refuse(twins.folder, path, "makes a folder where a file of yours is")
    os.mkdir(path, mode)
    twins.tell(path)


def rename(twins: Twins, source: str, target: str) -> None:
    """Rename; what is the user's stays where it is, under both names."""
    twins.refresh()
    there = twins.seen(source, follow=False)
    if kept.canonical(source) == kept.canonical(target):
        return
    if stat.S_ISDIR(os.lstat(there).st_mode):
        _rename_folder(twins, source, target)
    elif not os.path.lexists(target):
        _move(twins, source, there, target)
        twins.tell(target)
    elif twins.holds(target, os.lstat(target)):
        _move(twins, source, there, twins.fresh(target))
    else:
        _move(twins, source, there, target)


def _move(twins: Twins, source: str, there: str, target: str) -> None:
    """Bring what the program calls `source`, and lies `there`, to `target`."""
    if twins.led(source) is None and not twins.holds(source, os.lstat(source)):
        _carry(there, target)
        return
    if os.path.lexists(target):
        os.unlink(target)
    twins.copy(there, target)
    twins.journal.lead(kept.canonical(source), GONE)


def _carry(source: str, target: str) -> None:
    """Rename, to another disk as well: the twins may lie on one."""
    try:
        os.rename(source, target)
    except OSError as err:
        if err.errno != errno.EXDEV or os.path.isdir(target):
            raise
        shutil.copy2(source, target, follow_symlinks=False)
        os.unlink(source)


def _rename_folder(twins: Twins, source: str, target: str) -> None:
    mine = kept.holds_kept(twins.ground, source)
    if mine is not None or twins.led(source) is not None:
        refuse(twins.folder, mine or source, f"renames a folder of yours to {target}")
    if twins.led(target) != GONE:
        os.rename(source, target)
        twins.tell(target)
        return
    make_folder(twins, target, 0o777)
    for name in os.listdir(source):
        rename(twins, os.path.join(source, name), os.path.join(target, name))
    os.rmdir(source)


def symlink(twins: Twins, to: str, path: str) -> None:
    """Make a symbolic link, in name only where one of the user's is on disk."""
    twins.refresh()
    if twins.led(path) == GONE:
        twins.journal.lead(kept.canonical(path), os.path.join(os.path.dirname(path), to))
        return
    os.symlink(to, path)
    twins.tell(path)


def link(twins: Twins, source: str, path: str) -> None:
    """Make a hard link; for a user's file one to its twin, since the file would count it."""
    twins.refresh()
    there = twins.seen(source, follow=False)
    gone = twins.led(path) == GONE
    if os.path.lexists(path) and not gone:
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), source, None, path)
    there = twins.standing_for(there, os.lstat(there), empty=False)
    target = twins.fresh(path) if gone else path
    try:
        os.link(there, target)
    except OSError as err:
        if err.errno != errno.EXDEV:
            raise
        twins.copy(there, target)  # the twin lies on another disk
    if not gone:
        twins.tell(path)
