"""Which looks at a box belong together: unseen time is never quiet time.

Any doubt about the clock, a restart, a failed look or a gap starts the time line anew; what came
before it decides nothing any more.
"""

from __future__ import annotations

import itertools
from statistics import median
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from costplan.records.signals import Clock, Machine, RunSeen, Snapshot

JUMP_S: Final = 120.0
"""A wall clock that steps by more than this has jumped."""
GAP_INTERVALS: Final = 2.0
"""Looks further apart than this many usual intervals have a gap between them."""
MOST_APART_S: Final = 300.0
"""Further apart than this nobody has looked, whatever the interval: a GPU shows only its last
second."""
FUTURE_S: Final = 5.0
"""A file may be this far ahead of the box: file servers have clocks of their own."""
MINUTE_S: Final = 60


class Look(NamedTuple):
    """A snapshot that could be read."""

    clock: Clock
    machine: Machine
    runs: tuple[RunSeen, ...]

    def run(self, path: str) -> RunSeen | None:
        """Return the run of that path in this look."""
        return next((run for run in self.runs if run.path == path), None)


class Timeline(NamedTuple):
    """The looks since the last break, oldest first, and why the line starts there."""

    looks: tuple[Look, ...]
    broken: str | None

    @property
    def now(self) -> Clock:
        """The clocks at the latest look."""
        return self.looks[-1].clock

    def age_s(self, look: Look) -> float:
        """Return how long ago a look was."""
        return self.now.uptime_s - look.clock.uptime_s


def timeline(snapshots: Sequence[Snapshot], *, interval_s: float | None = None) -> Timeline:
    """Return the unbroken looks up to the latest one; none where that one failed.

    Args:
        snapshots: Oldest first.
        interval_s: How far apart looks are meant to be; the median where left out.
    """
    found = [_look(each) for each in snapshots]
    if not found or found[-1] is None:
        return Timeline((), snapshots[-1].problem if snapshots else "nobody has looked yet")
    usual_s = interval_s or usual_interval_s(found)
    looks = [found[-1]]
    reason = None if (late := from_the_future(found[-1])) is None else late
    for before in reversed(found[:-1]):
        reason = reason or _break(before, looks[0], usual_s)
        if reason is not None or before is None:
            break
        looks.insert(0, before)
    return Timeline(tuple(looks), reason)


def _look(snapshot: Snapshot) -> Look | None:
    if snapshot.problem is not None or snapshot.clock is None or snapshot.machine is None:
        return None
    return Look(snapshot.clock, snapshot.machine, snapshot.runs)


def usual_interval_s(looks: Sequence[Look | None]) -> float:
    """Return the median time between looks, or the longest that is allowed where none is known."""
    pairs = itertools.pairwise(looks)
    gaps_s = [b.clock.uptime_s - a.clock.uptime_s for a, b in pairs if a and b]
    return median(gaps_s) if gaps_s else MOST_APART_S


def _break(before: Look | None, after: Look, usual_s: float) -> str | None:
    """Return why two looks do not belong together, or None."""
    if before is None:
        return "a look failed"
    if before.clock.boot_id != after.clock.boot_id:
        return "the box has restarted"
    apart_s = after.clock.uptime_s - before.clock.uptime_s
    jump_s = after.clock.wall_s - before.clock.wall_s - apart_s
    if apart_s <= 0:
        return "the clock of the box stood still or ran back"
    if abs(jump_s) > JUMP_S:
        return f"the wall clock of the box jumped by {span(jump_s)}"
    if apart_s > min(GAP_INTERVALS * usual_s, MOST_APART_S):
        return f"nobody looked for {span(apart_s)}"
    return from_the_future(before)


def from_the_future(look: Look) -> str | None:
    """Return which run has a file or a time that the clock of the box has not reached."""
    for run in look.runs:
        times_s = (run.newest_at_s, run.updated_at_s, run.started_at_s, run.eta_at_s)
        newest_s = max((each for each in times_s if each is not None), default=None)
        if newest_s is not None and newest_s - look.clock.wall_s > FUTURE_S:
            return f"{run.path} holds a time {span(newest_s - look.clock.wall_s)} in the future"
    return None


def span(duration_s: float) -> str:
    """Return a duration as people say it, with its sign where it is negative.

    >>> span(41), span(130), span(-7200), span(200_000)
    ('41 s', '2 min', '-2.0 h', '2.3 days')
    """
    size_s, sign = abs(duration_s), "-" if duration_s < 0 else ""
    if size_s < 2 * MINUTE_S:
        return f"{sign}{size_s:.0f} s"
    if size_s < 100 * MINUTE_S:
        return f"{sign}{size_s / MINUTE_S:.0f} min"
    if size_s < 48 * 60 * MINUTE_S:
        return f"{sign}{size_s / (60 * MINUTE_S):.1f} h"
    return f"{sign}{size_s / (24 * 60 * MINUTE_S):.1f} days"
