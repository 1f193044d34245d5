"""What happened, kept: absences, restarts, actions on boxes, estimates.

What a method has returned is on disk: killed at any moment, nothing acknowledged is lost.
"""

from __future__ import annotations

import contextlib
import os
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from costplan import ledgerfile
from costplan.errors import InputError

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator

Step = Literal["asked", "called", "confirmed", "released"]

_NEXT: Final[dict[str, tuple[Step, ...]]] = {
    "asked": ("called", "confirmed", "released"),
    "called": ("confirmed", "released"),
}
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=timezone.utc)
_MICROSECOND: Final = timedelta(microseconds=1)
_HOUR_US: Final = 3_600_000_000


class Absences(NamedTuple):
    """How long people stayed away."""

    closed_h: tuple[float, ...]
    """Those that ended, oldest first."""
    open_h: tuple[float, ...]
    """Those that have not, so far."""


class Away(NamedTuple):
    """One absence: how long so far, or in all."""

    left: datetime
    hours: float
    ended: bool


class Restarts(NamedTuple):
    """How often a stopped box was asked to start, and how often it did not."""

    attempts: int
    failures: int


class Action(NamedTuple):
    """Where an action on a box stands."""

    box: str
    action: str
    step: Step
    is_new: bool
    """True for the one caller who made this step; of `called`, for the one who may call."""


class Estimated(NamedTuple):
    """An estimate as it was shown."""

    id: int
    at: datetime
    job: str
    sku: str
    total_usd: Decimal


def default_path() -> Path:
    """Return where the ledger lies: COSTPLAN_LEDGER, else the user's data folder (XDG).

    Raises:
        InputError: The user has no home folder.
    """
    if named := os.environ.get("COSTPLAN_LEDGER"):
        return Path(named)
    data = Path(os.environ.get("XDG_DATA_HOME", ""))
    try:
        folder = data if data.is_absolute() else Path.home() / ".local" / "share"
    except RuntimeError:
        raise InputError("no home folder for the ledger", hint="set COSTPLAN_LEDGER") from None
    return folder / "costplan" / "ledger.sqlite3"


def open_ledger(path: Path | None = None) -> Ledger:
    """Return the ledger in `path`, or in its usual place, made if it is not there.

    Raises:
        InputError: It cannot be opened or made, or is a file of another kind.
    """
    return Ledger(path or default_path())


class Ledger:
    """An open ledger; use it in a `with`, or `close` it."""

    def __init__(self, path: Path) -> None:
        """Open the ledger in `path`, made if it is not there."""
        self.path = path
        self.connection = ledgerfile.connect(path)
        self.file = ledgerfile.identity(path)

    def __enter__(self) -> Ledger:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close it; what was recorded is on disk already."""
        self.connection.close()

    # --- absences -------------------------------------------------------------------------------

    def leave(self, box: str, at: datetime) -> None:
        """Record that the box with this id was left at `at`.

        Raises:
            InputError: It was left already, or the person was still away at that time.
        """
        with self._writing(box) as cursor:
            at_us = _microseconds(at)
            last = _last(cursor, "SELECT * FROM absences WHERE box = ?", box)
            if last and last["back_us"] is None:
                raise InputError(
                    f"{box} was left already, at {_shown(last['left_us'])}",
                    hint=f"`costplan idle back {box}` first",
                )
            if last and at_us < last["back_us"]:
                raise InputError(
                    f"{box} cannot have been left at {_shown(at_us)}",
                    hint=f"its last absence ended at {_shown(last['back_us'])}",
                )
            cursor.execute("INSERT INTO absences (box, left_us) VALUES (?, ?)", (box, at_us))

    def back(
        self,
        box: str,
        at: datetime,
        *,
        failed: bool = False,
        provider: str | None = None,
        restarted: bool = True,
    ) -> None:
        """Record that the person is back at `at`, and whether the box started again.

        After a failed start, the next try is recorded the same way. With `restarted` False the
        box ran all the time: no start was tried.

        Raises:
            InputError: The box was not left, or only later.
        """
        with self._writing(box) as cursor:
            at_us = _microseconds(at)
            last = _last(cursor, "SELECT * FROM absences WHERE box = ?", box)
            start = _last(cursor, "SELECT * FROM restarts WHERE box = ?", box)
            if last and last["back_us"] is None:
                if at_us <= last["left_us"]:
                    raise InputError(f"{box} was left only at {_shown(last['left_us'])}")
                cursor.execute("UPDATE absences SET back_us = ? WHERE id = ?", (at_us, last["id"]))
            elif not start or start["ok"]:
                raise InputError(f"{box} was not left", hint=f"`costplan idle away {box}` first")
            if restarted or failed:
                cursor.execute(
                    "INSERT INTO restarts (box, provider, at_us, ok) VALUES (?, ?, ?, ?)",
                    (box, provider, at_us, int(not failed)),
                )

    def is_away(self, box: str) -> bool:
        """Return whether the box was left and nobody has come back."""
        asked = "SELECT 1 FROM absences WHERE box = ? AND back_us IS NULL"
        return bool(self._rows(asked, box))

    def absences(self, now: datetime) -> Absences:
        """Return all absences in hours; those that begin after `now` are not among them."""
        found = self.each_absence(now)
        return Absences(
            tuple(each.hours for each in found if each.ended),
            tuple(each.hours for each in found if not each.ended),
        )

    def each_absence(self, now: datetime) -> tuple[Away, ...]:
        """Return the same one by one, in the order of leaving."""
        now_us = _microseconds(now)
        rows = self._rows("SELECT left_us, back_us FROM absences ORDER BY left_us, id")
        return tuple(
            Away(_EPOCH + left * _MICROSECOND, (end - left) / _HOUR_US, back is not None)
            for left, back in rows
            if (end := now_us if back is None else back) >= left
        )

    def restarts(self, provider: str | None = None) -> Restarts:
        """Return tries and failures to start a stopped box, of one provider or of all."""
        (row,) = self._rows(
            "SELECT count(*) AS attempts, coalesce(sum(NOT ok), 0) AS failures FROM restarts"
            " WHERE ?1 IS NULL OR lower(provider) = lower(?1)",
            provider,
        )
        return Restarts(row["attempts"], row["failures"])

    # --- actions --------------------------------------------------------------------------------

    def record_action(self, box: str, action: str, step: Step, at: datetime) -> Action:
        """Record a step of an action and return where the action then stands.

        Ask; then read the state of the box; then record `called`, and call only if that is new:
        of any number of processes one gets it, and none after a crash between call and
        confirmation. `confirmed` and `released` (refused, or given up) end the claim. A step that
        does not follow changes nothing. What was destroyed cannot be claimed again.

        Raises:
            InputError: Nothing was asked, or the box or action has no name.
        """
        if not action.strip():
            raise InputError("an action needs a name")
        with self._writing(box) as cursor:
            at_us = _microseconds(at)
            asked = "SELECT * FROM actions WHERE box = ? AND action = ?"
            last = _last(cursor, asked, box, action)
            if step == "asked" and _is_free(last, action):
                values = (box, action, step, at_us)
                cursor.execute(
                    "INSERT INTO actions (box, action, step, asked_us) VALUES (?, ?, ?, ?)", values
                )
                return Action(box, action, step, is_new=True)
            if last is None:
                raise InputError(f"{action} of {box} was not asked for")
            if step not in _NEXT.get(last["step"], ()):
                return Action(box, action, last["step"], is_new=False)
            change = f"UPDATE actions SET step = ?, {step}_us = ? WHERE id = ?"
            cursor.execute(change, (step, at_us, last["id"]))
            return Action(box, action, step, is_new=True)

    # --- estimates ------------------------------------------------------------------------------

    def record_estimate(self, *, job: str, sku: str, total_usd: Decimal, at: datetime) -> int:
        """Record an estimate and return its number."""
        if not total_usd.is_finite():
            raise InputError(f"{total_usd} is no total")
        with self._writing(sku) as cursor:
            cursor.execute(
                "INSERT INTO estimates (at_us, job, sku, total_usd) VALUES (?, ?, ?, ?)",
                (_microseconds(at), job, sku, str(total_usd)),
            )
            number = cursor.lastrowid
        return number or 0

    def estimates(self) -> tuple[Estimated, ...]:
        """Return all estimates, oldest first."""
        return tuple(
            Estimated(
                row["id"],
                _EPOCH + row["at_us"] * _MICROSECOND,
                row["job"],
                row["sku"],
                Decimal(row["total_usd"]),
            )
            for row in self._rows("SELECT * FROM estimates ORDER BY id")
        )

    # --- the file -------------------------------------------------------------------------------

    @contextlib.contextmanager
    def _writing(self, name: str) -> Iterator[sqlite3.Cursor]:
        if not name.strip():
            raise InputError("a box needs an id")
        with ledgerfile.writing(self.connection, self.path) as cursor:
            if self.file is None or ledgerfile.identity(self.path) != self.file:
                raise InputError(
                    f"{self.path} was removed or replaced meanwhile: nothing was recorded",
                    hint="try again",
                )
            yield cursor

    def _rows(self, statement: str, *values: object) -> list[sqlite3.Row]:
        with ledgerfile.told(self.path):
            return self.connection.execute(statement, values).fetchall()


def _last(cursor: sqlite3.Cursor, statement: str, *values: str) -> sqlite3.Row | None:
    row: sqlite3.Row | None
    row = cursor.execute(f"{statement} ORDER BY id DESC LIMIT 1", values).fetchone()
    return row


def _is_free(last: sqlite3.Row | None, action: str) -> bool:
    """Return whether an action may be claimed: it never was, or its last claim ended."""
    if last is None or last["step"] == "released":
        return True
    return last["step"] == "confirmed" and action != "destroy"


def _microseconds(moment: datetime) -> int:
    if moment.tzinfo is None:
        raise InputError(f"{moment.isoformat()} has no zone")
    return (moment - _EPOCH) // _MICROSECOND


def _shown(microseconds: int) -> str:
    return (_EPOCH + microseconds * _MICROSECOND).isoformat(timespec="seconds")
