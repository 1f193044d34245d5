"""Understands LibreYOLO's `status.json`: written at the start, after each epoch and at the end.

It is data from elsewhere: what has the wrong type counts as not told. `completed` is written
before the results are uploaded, and `running` survives a killed process: who reads it must also
look for the process.
"""

from __future__ import annotations

from datetime import datetime, timezone
from typing import TYPE_CHECKING, Final

from costplan.box.tables import mapping, number, whole
from costplan.records.signals import Counter, RunSeen, RunState

if TYPE_CHECKING:
    from costplan.box.tables import Row
    from costplan.records.signals import FileSeen, FolderSeen

STATES: Final[dict[str, RunState]] = {
    "running": "running",
    "completed": "completed",
    "failed": "failed",
}
SHORT: Final = 120


def told(folder: FolderSeen, file: FileSeen) -> RunSeen:
    """Return what `status.json` tells; a torn file or an unknown state is a problem."""
    row = mapping(folder.texts.get("status.json"))
    if row is None:
        return RunSeen(path=folder.path, kind="libreyolo", problem="status.json cannot be read")
    state = STATES.get(str(row.get("state")))
    if state is None:
        return RunSeen(path=folder.path, kind="libreyolo", problem="status.json states no state")
    done, updated_at_s = number(row.get("completed_epochs")), time_s(row.get("updated_at"))
    counters = []
    if done is not None:
        counters.append(
            Counter(name="epoch", value=done, changed_at_s=file.changed_at_s, of_training=True)
        )
    return RunSeen(
        path=folder.path,
        kind="libreyolo",
        state=state,
        error=_error(row),
        names_process=True,
        pid=whole(row.get("pid")),
        started_at_s=time_s(row.get("started_at")),
        updated_at_s=updated_at_s,
        counters=tuple(counters),
        interval_s=_longest(row.get("epoch_seconds"), row.get("mean_epoch_seconds")),
        total=number(row.get("total_epochs")),
        eta_s=_not_negative(number(row.get("eta_seconds"))),
        eta_at_s=updated_at_s if updated_at_s is not None else file.changed_at_s,
    )


def _longest(*values: object) -> float | None:
    known = [found for found in map(number, values) if found is not None and found > 0]
    return max(known, default=None)


def _not_negative(value: float | None) -> float | None:
    return None if value is None or value < 0 else value


def _error(row: Row) -> str | None:
    """Return the kind of error that ended the run; its message may hold anything."""
    error = row.get("error")
    kind = error.get("type") if isinstance(error, dict) else None
    return kind[:SHORT] if isinstance(kind, str) else None


def time_s(value: object) -> float | None:
    """Return the seconds since 1970 of a time in ISO form, UTC where no zone is given.

    >>> time_s("2026-03-01T00:00:00Z"), time_s(12)
    (1772323200.0, None)
    """
    if not isinstance(value, str):
        return None
    try:
        found = datetime.fromisoformat(value.replace("Z", "+00:00"))
        return (found if found.tzinfo else found.replace(tzinfo=timezone.utc)).timestamp()
    except (ValueError, OverflowError):
        return None
