"""What the guard did in a run, read by the program that started it."""

from __future__ import annotations

import json
import os
from typing import NamedTuple

from costplan.profiler import journal, refusal, twins


class Spared(NamedTuple):
    """What became of the writes of one run."""

    redirected: tuple[str, ...]
    """Files of the user's that the run thinks it wrote."""
    deleted: tuple[str, ...]
    """Names of the user's that the run thinks it deleted, and never made again."""
    new: tuple[str, ...]
    """Files and folders that the run made, and that are there now.

    A checkpoint among them that lies in yesterday's run folder is what a later resume would take
    for the latest one: the user must hear of it, or it goes.
    """
    refused: dict[str, object] | None
    """Why the run was ended: `path`, `why`, `command` and `pid`."""


def spared(folder: str) -> Spared:
    """Return what the guard did in the run that kept its things in `folder`."""
    redirected: dict[str, None] = {}
    names: dict[str, str] = {}
    for text in _lines(os.path.join(folder, journal.FILE)):
        line = json.loads(text)
        if "twin" in line:
            redirected[line["path"]] = None
        elif "name" in line:
            names[line["name"]] = line["to"]
        elif "back" in line:
            names.pop(line["back"], None)
    new = dict.fromkeys(_lines(os.path.join(folder, twins.NEW_FILES)))
    return Spared(
        redirected=tuple(redirected),
        deleted=tuple(name for name, to in names.items() if to == journal.GONE),
        new=tuple(path for path in new if os.path.lexists(path)),
        refused=refused(folder),
    )


def kept(done: Spared) -> tuple[str, ...]:
    """Return what of the user's is as it was though the run wrote to it, or deleted it."""
    return tuple(dict.fromkeys((*done.redirected, *outermost(done.deleted))))


def outermost(paths: tuple[str, ...]) -> tuple[str, ...]:
    """Return the paths that lie in none of the others: what to remove to be rid of all.

    >>> outermost(("/out/checkpoint-9", "/out/checkpoint-9/model.bin", "/out/log.txt"))
    ('/out/checkpoint-9', '/out/log.txt')
    """
    known = set(paths)
    return tuple(path for path in paths if os.path.dirname(path) not in known)


def outside(paths: tuple[str, ...], folder: str | None) -> tuple[str, ...]:
    """Return the paths that do not lie in a folder, which is removed with all that is in it.

    >>> outside(("/data/0.png", "/database.db"), "/data"), outside(("/a",), None)
    (('/database.db',), ('/a',))
    """
    if folder is None:
        return paths
    return tuple(path for path in paths if not path.startswith(f"{folder.rstrip('/')}/"))


def refused(folder: str) -> dict[str, object] | None:
    """Return why the run was ended, or None where it was not."""
    for text in _lines(os.path.join(folder, refusal.FILE)):
        record: dict[str, object] = json.loads(text)
        return record
    return None


def _lines(path: str) -> list[str]:
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            return file.read().splitlines()
    except FileNotFoundError:
        return []
