"""Signs of life of watchers, so that a dead one is noticed by whoever looks next.

Each watcher keeps one small file beside the ledger and removes it when it ends by itself; one that
is still there and old has died.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import os
import tempfile
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from costplan import ledger
from costplan.box.timeline import span

if TYPE_CHECKING:
    from collections.abc import Iterator

DEAD_INTERVALS: Final = 3
DEAD_LEAST_S: Final = 600.0
"""A look may wait for ssh, a hook or a call; after this long without a sign it has died."""
MOST_BYTES: Final = 10_000
YEARS: Final = range(2000, 9000)
LONGEST_S: Final = 1e6
MOST_USD: Final = 10**9


class Beat(NamedTuple):
    """The last sign of life of a watcher."""

    box: str
    began_at: datetime
    last_at: datetime
    interval_s: float
    state: str
    spent_usd: Decimal


def folder() -> Path:
    """Return where the signs of life lie: beside the ledger."""
    return ledger.default_path().with_suffix(".watchers")


def place(box: str) -> Path:
    """Return the file of the watcher of a box, whatever is in its name."""
    return folder() / f"{hashlib.sha256(box.encode()).hexdigest()[:20]}.json"


def write(beat: Beat) -> None:
    """Keep a sign of life, whole or not at all.

    Raises:
        OSError: The disk does not take it.
    """
    path = place(beat.box)
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    fields = {
        **beat._asdict(),
        "began_at": beat.began_at.isoformat(),
        "last_at": beat.last_at.isoformat(),
        "spent_usd": str(beat.spent_usd),
    }
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".beat-")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump(fields, file)
        Path(name).replace(path)
    finally:
        Path(name).unlink(missing_ok=True)


def end(box: str) -> None:
    """Remove the sign of life of a watcher that ends by itself."""
    with contextlib.suppress(OSError):
        place(box).unlink(missing_ok=True)


def read(path: Path) -> Beat | None:
    """Return the sign of life in `path`, None where it cannot be read as one."""
    try:
        fields = json.loads(path.read_bytes()[:MOST_BYTES])
        beat = Beat(
            box=str(fields["box"]),
            began_at=datetime.fromisoformat(fields["began_at"]),
            last_at=datetime.fromisoformat(fields["last_at"]),
            interval_s=float(fields["interval_s"]),
            state=str(fields["state"]),
            spent_usd=Decimal(fields["spent_usd"]),
        )
    except (OSError, ValueError, KeyError, TypeError, ArithmeticError, RecursionError):
        return None
    return beat if _can_be(beat) else None


def _can_be(beat: Beat) -> bool:
    """Return whether all of a sign of life can be reckoned with, whatever wrote it."""
    times = (beat.began_at, beat.last_at)
    if any(each.tzinfo is None or each.year not in YEARS for each in times):
        return False
    known = math.isfinite(beat.interval_s) and beat.spent_usd.is_finite()
    return known and 0 < beat.interval_s <= LONGEST_S and 0 <= beat.spent_usd <= MOST_USD


def left(now: datetime) -> Iterator[Beat]:
    """Yield the signs of life of watchers that have died without ending."""
    try:
        paths = sorted(folder().glob("*.json"))
    except OSError:
        return
    for path in paths:
        beat = read(path)
        if beat is not None and is_dead(beat, now):
            yield beat


def is_dead(beat: Beat, now: datetime) -> bool:
    """Return whether a watcher has been silent for too long."""
    limit_s = max(DEAD_INTERVALS * beat.interval_s, DEAD_LEAST_S)
    return now - beat.last_at > timedelta(seconds=limit_s)


def death(beat: Beat, now: datetime) -> str:
    """Return in one line that a watcher has died."""
    silent = span((now - beat.last_at).total_seconds())
    then = beat.last_at.astimezone(now.tzinfo)
    saw = f"the box was {beat.state}" if beat.state else "it had not looked yet"
    return (
        f"the watcher of {beat.box} has been dead for {silent}: its last sign is of "
        f"{then:%a %Y-%m-%d %H:%M}, {saw}"
    )
