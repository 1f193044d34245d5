"""What of a box is in no verified copy: told before anything is stopped or destroyed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from costplan.box.uncopied import only_here
from costplan.box.wording import first, size
from costplan.cli.acting import copy_gate
from costplan.errors import InputError

if TYPE_CHECKING:
    from costplan.cli.act_asked import ActAsked
    from costplan.records.copies import Left
    from costplan.records.signals import RunSeen, Snapshot


def unsaved(asked: ActAsked, snapshot: Snapshot, *, here: bool) -> tuple[str, ...] | None:
    """Return what no verified copy holds of the runs that were looked at; None where none was."""
    if not snapshot.runs or asked.yes_destroy is not None:
        return None  # a destroy that was said yes to reads the whole copy twice itself
    if asked.copy is not None and asked.copied_to is not None:
        found = copy_gate(asked, snapshot, looked_here=here, running=True)
        return tuple(first(found.refusals))
    texts = [text for run in snapshot.runs for text in (_files(run) if here else _there(run))]
    return tuple(first(texts))


def _files(run: RunSeen) -> list[str]:
    try:
        return [_text(each) for each in only_here(Path(run.path))]
    except InputError as err:
        return [f"{run.path}: what is in it cannot be listed: {err}"]


def _text(left: Left) -> str:
    many = f"{left.count} file{'s' if left.count > 1 else ''}, " if left.kind == "folder" else ""
    return f"{left.name} ({many}{size(left.size_bytes)})"


def _there(run: RunSeen) -> list[str]:
    kept = f", {size(run.checkpoints_bytes)} of checkpoints" if run.checkpoints_bytes else ""
    return [f"all of {run.path} on the box{kept}"]
