"""What was done to boxes and why: a log that is only added to, on disk before anything is done."""

from __future__ import annotations

import errno
import json
import os
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from costplan import ledger
from costplan.box.commands import masked
from costplan.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ANSWERING: Final = ("busy", "idle", "hung", "crashed")
"""What only a box can be that answers."""


def default_path() -> Path:
    """Return where the log lies: beside the ledger."""
    return ledger.default_path().with_suffix(".actions.jsonl")


def append(path: Path, event: str, at: datetime, **more: Any) -> None:
    """Add one line, on disk when this returns; values that could be secrets are masked.

    Raises:
        InputError: It cannot be written.
    """
    entry = {"at": at.isoformat(timespec="milliseconds"), "event": event, **_without_secrets(more)}
    line = json.dumps(entry, ensure_ascii=True)
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        handle = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            # After a crash in the middle of a line the next one begins on a line of its own.
            data = f"{_line_end(handle)}{line}\n".encode()
            if os.write(handle, data) != len(data):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            os.fsync(handle)
        finally:
            os.close(handle)
    except OSError as err:
        raise InputError(
            f"{path} cannot be written: {err.strerror or err}",
            hint="nothing is done that cannot be logged; COSTPLAN_LEDGER names another place",
        ) from None


def _without_secrets(value: Any) -> Any:
    """Return `value` as JSON takes it, with every text in it masked but the name of the box."""
    if isinstance(value, dict):
        return {
            key: each if key == "box" else _without_secrets(each) for key, each in value.items()
        }
    if isinstance(value, list | tuple):
        return [_without_secrets(each) for each in value]
    return value if isinstance(value, int | float | bool | None) else masked(str(value))


def _line_end(handle: int) -> str:
    size = os.fstat(handle).st_size
    return "" if not size or os.pread(handle, 1, size - 1) == b"\n" else "\n"


def entries(path: Path, box: str) -> Iterator[dict[str, Any]]:
    """Yield what is logged of a box, oldest first; torn lines are left out."""
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return
    for line in text.splitlines():
        try:
            entry = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(entry, dict) and entry.get("box") == box:
            yield entry


def stopped_at(path: Path, box: str) -> datetime | None:
    """Return when a box was stopped, by the log; None where it was seen running since."""
    at: datetime | None = None
    for entry in entries(path, box):
        if entry.get("event") == "confirmed" and entry.get("action") == "stop":
            at = _moment(entry.get("at"))
        elif _shows_running(entry):
            at = None
    return at


def _shows_running(entry: dict[str, Any]) -> bool:
    """Return whether an entry tells of a box that runs: before an action, or seen by a watch."""
    became = str(entry.get("text")).split(":")[0].rsplit(" -> ")[-1]
    changed = entry.get("event") == "changed" and became in ANSWERING
    return changed or (entry.get("event") == "asked" and entry.get("state") == "running")


def _moment(text: object) -> datetime | None:
    try:
        found = datetime.fromisoformat(str(text))
    except ValueError:
        return None
    return found if found.tzinfo is not None else None
