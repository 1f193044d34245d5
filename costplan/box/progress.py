"""What one run is doing: its counters against time, and its process against its files.

A counter that moves is work, whatever the GPU shows. A fresh file proves nothing about a process
that is gone, and an old file nothing about one that lives.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from costplan.box.owners import is_notebook, owner
from costplan.box.timeline import Look, Timeline, span
from costplan.records.signals import Evidence, RunSeen, Says

if TYPE_CHECKING:
    from costplan.box.owners import Owner
    from costplan.records.signals import Counter

WRITING_S: Final = 60.0
"""A checkpoint must be this old, and unchanged, before it counts as whole."""
HUNG_INTERVALS: Final = 3.0
HUNG_LEAST_S: Final = 30 * 60.0
STALE_INTERVALS: Final = 3.0
STALE_LEAST_S: Final = 15 * 60.0
FULL_FREE_BYTES: Final = 1_000_000
"""Below this much room no file grows: frozen files then prove nothing."""
INTERRUPTED: Final = "KeyboardInterrupt"

Kind = Literal[
    "moving", "writing", "finishing", "alive", "starting", "hung",
    "over", "crashed", "quiet", "fresh", "unknown",
]  # fmt: skip
SAYS: Final[dict[Kind, Says]] = {
    "moving": "busy", "writing": "busy", "finishing": "busy", "alive": "busy", "hung": "hung",
    "over": "idle", "quiet": "idle", "crashed": "crashed",
    "starting": "unknown", "fresh": "unknown", "unknown": "unknown",
}  # fmt: skip
"""`alive` is within its own rhythm; `starting` has none yet, and `fresh` names no process:
both need other evidence to be busy."""


class Progress(NamedTuple):
    """What a run is doing."""

    run: RunSeen
    kind: Kind
    value: str
    frozen_s: float | None
    """At least this long no counter has moved; None where there is no counter."""
    gone_looks: int = 0
    """Latest looks in which its process was missing."""
    steps_stood_s: float | None = None
    """How long its steps have stood beyond their limit, while other counters may move."""

    def evidence(self) -> Evidence:
        """Return the run as a piece of evidence."""
        name = f"run {self.run.path}"
        return Evidence(name=name, value=self.value, age_s=self.frozen_s, verdict=SAYS[self.kind])


def progress(run: RunSeen, line: Timeline, *, window_s: float) -> Progress:
    """Return what a run of the latest look is doing."""
    if run.problem is not None or (run.names_process and run.state is None):
        return Progress(run, "unknown", run.problem or "its state cannot be read", None)
    latest = line.looks[-1]
    whose = owner(run, latest)
    gone = _gone_looks(run, line) if whose in ("gone", "reused") else 0
    frozen_s = frozen_for_s(run, line)
    kind, value = _alone(run, line, window_s, gone) or _by_process(run, line, whose, frozen_s)
    if kind in ("over", "quiet"):
        kind, value = _settled(run, line, window_s) or (kind, value)
    return Progress(run, kind, value, frozen_s, gone, _steps_stood_s(run, line))


def _settled(run: RunSeen, line: Timeline, window_s: float) -> tuple[Kind, str] | None:
    """Return that a run's files have changed within the window: perhaps somebody still works."""
    if run.newest_at_s is None:
        return "unknown", "the times of its files are not known"
    age_s = line.now.wall_s - run.newest_at_s
    return ("fresh", f"its files changed {span(max(age_s, 0.0))} ago") if age_s < window_s else None


def _gone_looks(run: RunSeen, line: Timeline) -> int:
    """Return in how many of the latest looks the process of the run was missing."""
    count = 0
    for look in reversed(line.looks):
        then = look.run(run.path)
        if then is None or owner(then, look) not in ("gone", "reused"):
            break
        count += 1
    return count


def _alone(run: RunSeen, line: Timeline, window_s: float, gone: int) -> tuple[Kind, str] | None:
    """Return what the files settle by moving, or None."""
    looks = line.looks[-gone:] if gone else line.looks
    moved = moved_ago(run, looks, line, only_training=gone > 0)
    limit_s = hung_limit_s(run)
    recent_s = window_s if limit_s is None else min(window_s, limit_s)
    if moved is not None and moved[1] <= recent_s:
        counter, age_s = moved
        away = " although its process is not on this box" if gone else ""
        return "moving", f"{counter.name} moved {span(age_s)} ago{away}"
    if gone and run.state == "running":
        return None
    writing = writing_checkpoint(run, line)
    return None if writing is None else ("writing", writing)


def _by_process(
    run: RunSeen, line: Timeline, whose: Owner, frozen_s: float | None
) -> tuple[Kind, str]:
    """Return what a run is doing whose files stand still, by its process."""
    if whose == "unknown":
        return "unknown", "its process cannot be looked up"
    if whose == "doubtful":
        return "unknown", f"process {run.pid} started after the run: perhaps another one"
    if run.state in ("completed", "failed"):
        return _over(run, line, whose)
    if whose in ("gone", "reused"):
        why = "is gone" if whose == "gone" else "is another program now"
        return "crashed", f"says running, but process {run.pid} {why}"
    if frozen_s is None and whose != "alive":
        return "unknown", "shows no counter"
    if whose == "alive":
        return _living(run, line, frozen_s)
    if frozen_s is not None and frozen_s > stale_limit_s(run):
        return "quiet", f"nothing has moved for {span(frozen_s)}"
    return "fresh", f"last moved {span(frozen_s or 0)} ago, and may be at work"


def _over(run: RunSeen, line: Timeline, whose: Owner) -> tuple[Kind, str]:
    """Return what a run is doing that says it is over: it is when its process is gone."""
    if whose == "alive" and not is_notebook(run, line.looks[-1]):
        return "finishing", f"says {run.state}, but process {run.pid} lives: perhaps uploading"
    if run.state == "failed" and run.error != INTERRUPTED:
        return "crashed", f"failed{': ' + run.error if run.error else ''}"
    return "over", f"{run.state}, and its process is gone" if whose != "unnamed" else "completed"


def _living(run: RunSeen, line: Timeline, frozen_s: float | None) -> tuple[Kind, str]:
    """Return what a run is doing whose process lives while its counters stand still."""
    limit_s, disk = hung_limit_s(run), line.looks[-1].machine
    total, used = disk.disk_total_bytes, disk.disk_used_bytes
    if total is not None and used is not None and total - used < FULL_FREE_BYTES:
        return "unknown", "the disk is full: its files cannot move"
    if frozen_s is None or limit_s is None:
        since = "" if frozen_s is None else f", nothing written for {span(frozen_s)}"
        return "starting", f"process {run.pid} lives{since}; no step has been timed yet"
    if frozen_s > limit_s:
        return "hung", f"nothing has moved for {span(frozen_s)}, the limit is {span(limit_s)}"
    return "alive", f"process {run.pid} lives, last moved {span(frozen_s)} ago"


def hung_limit_s(run: RunSeen) -> float | None:
    """Return after how long without a move the run hangs; None where its rhythm is unknown.

    >>> hung_limit_s(RunSeen(path="r", interval_s=60)), hung_limit_s(RunSeen(path="r"))
    (1800.0, None)
    """
    if run.interval_s is None:
        return None
    return max(HUNG_INTERVALS * run.interval_s, HUNG_LEAST_S)


def stale_limit_s(run: RunSeen) -> float:
    """Return after how long without a move the files of a run without a process are old.

    >>> stale_limit_s(RunSeen(path="r", interval_s=600)), stale_limit_s(RunSeen(path="r"))
    (1800.0, 900.0)
    """
    return max(STALE_INTERVALS * (run.interval_s or 0.0), STALE_LEAST_S)


def frozen_for_s(run: RunSeen, line: Timeline) -> float | None:
    """Return for how long, at least, no counter of the run has moved."""
    found = [_still_s(counter, run, line) for counter in run.counters]
    if not found and run.started_at_s is not None:
        found = [max(line.now.wall_s - run.started_at_s, 0.0)]
    return min(found, default=None)


def _steps_stood_s(run: RunSeen, line: Timeline) -> float | None:
    """Return for how long the run's own counter has stood, where that is beyond its limit."""
    limit_s = hung_limit_s(run)
    stood = [_still_s(each, run, line) for each in run.counters if each.of_training]
    return min(stood) if stood and limit_s is not None and min(stood) > limit_s else None


def _still_s(counter: Counter, run: RunSeen, line: Timeline) -> float:
    """Return for how long, at least, a counter has stood: by its file, and by earlier looks."""
    still_s = max(line.now.wall_s - counter.changed_at_s, 0.0)
    for look in reversed(line.looks):
        then = _counter(look, run.path, counter.name)
        if then is None or then.value != counter.value:
            break
        still_s = max(still_s, line.age_s(look))
    return still_s


def moved_ago(
    run: RunSeen, looks: tuple[Look, ...], line: Timeline, *, only_training: bool
) -> tuple[Counter, float] | None:
    """Return the counter that was seen moving last, and how long ago that was seen."""
    for before, after in zip(looks[-2::-1], looks[::-1], strict=False):
        for counter in (after.run(run.path) or run).counters:
            then = _counter(before, run.path, counter.name)
            skipped = only_training and not counter.of_training
            if then is not None and then.value != counter.value and not skipped:
                return counter, line.age_s(after)
    return None


def _counter(look: Look, path: str, name: str) -> Counter | None:
    run = look.run(path)
    counters = () if run is None else run.counters
    return next((each for each in counters if each.name == name), None)


def writing_checkpoint(run: RunSeen, line: Timeline) -> str | None:
    """Return that a checkpoint is being written, or was a moment ago: a stop could tear it."""
    if run.checkpoint is None:
        return None
    age_s = line.now.wall_s - run.checkpoint.changed_at_s
    if age_s < WRITING_S:
        return f"{run.checkpoint.path} was written {span(max(age_s, 0.0))} ago: wait"
    before = line.looks[-2].run(run.path) if len(line.looks) > 1 else None
    if before is not None and before.checkpoints_bytes != run.checkpoints_bytes:
        return "its checkpoints are changing size: wait"
    return None
