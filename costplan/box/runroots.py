"""Which runs a folder holds: itself, or those in the folders below it.

People name the folder above their runs: taken as one, an old file would speak for the newest run.
"""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING, Final

from costplan.records.signals import FolderSeen

if TYPE_CHECKING:
    from collections.abc import Iterable

MARKS: Final = {"status.json", "summary.json", "results.csv", "metrics.jsonl", "metrics.csv"}
"""Files that stand at the top of a run."""
STATE: Final = "trainer_state.json"
_CHECKPOINT: Final = re.compile(r"checkpoint-\d+")
_VERSION: Final = re.compile(r"version_\d+")
LOGS: Final = "lightning_logs"


def apart(folder: FolderSeen) -> tuple[FolderSeen, ...]:
    """Return the folders of the runs that `folder` holds, itself where it is one or holds none."""
    if folder.problem is not None:
        return (folder,)
    roots = sorted({root for each in folder.files if (root := root_of(each.path)) is not None})
    if not roots or roots == [""]:
        return (folder,)
    parts = [_part(folder, root, roots) for root in dict.fromkeys(["", *roots])]
    return tuple(part for part in parts if part.files)


def root_of(path: str) -> str | None:
    """Return the folder of the run that a file marks, None for any other file.

    >>> root_of("a/results.csv"), root_of("checkpoint-5/trainer_state.json"), root_of("a/b.txt")
    ('a', '', None)
    """
    folder, name = posixpath.split(path)
    if name == STATE:
        above, last = posixpath.split(folder)
        return above if _CHECKPOINT.fullmatch(last) else folder
    if name not in MARKS:
        return None
    if name == "metrics.csv":  # one logger's versions are one run, started again
        above, last = posixpath.split(folder)
        folder = above if _VERSION.fullmatch(last) else folder
        above, last = posixpath.split(folder)
        folder = above if last == LOGS else folder
    return folder


def _owner(path: str, roots: Iterable[str]) -> str:
    """Return the deepest run that a file lies in."""
    inside = [root for root in roots if root and path.startswith(f"{root}/")]
    return max(inside, key=len, default="")


def _part(folder: FolderSeen, root: str, roots: Iterable[str]) -> FolderSeen:
    """Return what of a folder belongs to one run, with paths below it."""
    cut = len(root) + 1 if root else 0
    return FolderSeen(
        path=posixpath.join(folder.path, root) if root else folder.path,
        files=tuple(
            each.model_copy(update={"path": each.path[cut:]})
            for each in folder.files
            if _owner(each.path, roots) == root
        ),
        skipped=tuple(each[cut:] for each in folder.skipped if _owner(each, roots) == root),
        texts={
            path[cut:]: text for path, text in folder.texts.items() if _owner(path, roots) == root
        },
    )
