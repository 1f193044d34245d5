"""The loop of a watcher: look, let `costplan.watching` think, say, act, show life, wait."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from costplan.box.load import SAME_START_S
from costplan.box.verdict import judge
from costplan.errors import CostplanError
from costplan.watching import Event, Sample, Watch, observe

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from costplan.box.actions import Clock
    from costplan.records.acting import ActName, BoxState, Outcome
    from costplan.records.signals import ProcessSeen, Snapshot, Verdict
    from costplan.watching import Rules

COMPLETED_WINDOW_S: Final = 120.0
"""Enough once every run says completed, its process is gone and its files are quiet."""
KEPT_S: Final = 13 * 3_600.0
"""Looks kept: an hour more than the patience of `judge`."""
MOST_LOOKS: Final = 1_000
"""More of them, as a short window makes, take longer to judge than the time between two."""


class Parts(NamedTuple):
    """What a watcher does its work with."""

    look: Callable[[], Snapshot]
    box_state: Callable[[], BoxState | None] | None
    """What the provider says; None where nobody asks it."""
    act: Callable[[ActName, bool], Outcome]
    tell: Callable[[Event], None]
    beat: Callable[[Watch], None]
    clock: Clock


def watch(
    rules: Rules, parts: Parts, *, window_s: float, interval_s: float, memory: Watch
) -> Watch:
    """Watch until the box is gone, and was at the look before; return what was seen last.

    Args:
        rules: What may be done when.
        parts: What to do it with.
        window_s: For which everything must be quiet; also where `rules` never act.
        interval_s: From one look to the next.
        memory: Of a predecessor, or an empty one.
    """
    looks: list[tuple[float, Snapshot]] = []
    was_gone = False
    while True:
        began_s = parts.clock.passed_s()
        sample = _sample(looks, parts, window_s=window_s, interval_s=interval_s)
        following = observe(memory, sample, rules)
        memory = following.watch
        for event in following.events:
            parts.tell(event)
        if following.act is not None:
            _act(following.act, following.forced, parts)
        parts.beat(memory)
        # Once may be an empty answer of its provider while the network is down.
        if was_gone and memory.state == "gone":
            return memory
        was_gone = memory.state == "gone"
        parts.clock.sleep(max(0.0, interval_s - (parts.clock.passed_s() - began_s)))


def _sample(
    looks: list[tuple[float, Snapshot]], parts: Parts, *, window_s: float, interval_s: float
) -> Sample:
    box_state = parts.box_state() if parts.box_state is not None else None
    snapshot = parts.look()
    passed_s = parts.clock.passed_s()
    looks.append((passed_s, shared(looks[-1][1], snapshot) if looks else snapshot))
    looks[:] = [each for each in looks[-MOST_LOOKS:] if each[0] >= passed_s - KEPT_S]
    if box_state in ("stopped", "gone") and snapshot.problem is not None:
        return Sample(parts.clock.now(), passed_s, None, box_state)
    verdict = judged(looks, window_s=window_s, interval_s=interval_s, box_state=box_state)
    return Sample(parts.clock.now(), passed_s, verdict, box_state)


def shared(before: Snapshot, after: Snapshot) -> Snapshot:
    """Return the later look with the earlier one's processes where they are the same.

    A day of looks at some hundred processes would take hundreds of megabytes otherwise.
    """
    if before.machine is None or after.machine is None or after.machine.processes is None:
        return after
    earlier = {each.pid: each for each in before.machine.processes or ()}
    found = [_earlier(earlier.get(each.pid), each) for each in after.machine.processes]
    machine = after.machine.model_copy(update={"processes": tuple(found)})
    return after.model_copy(update={"machine": machine})


def _earlier(earlier: ProcessSeen | None, process: ProcessSeen) -> ProcessSeen:
    """Return the earlier one where it tells the same; its start is never read twice alike."""
    if earlier is None or abs(earlier.started_at_s - process.started_at_s) > SAME_START_S:
        return process
    same = earlier == process.model_copy(update={"started_at_s": earlier.started_at_s})
    return earlier if same else process


def judged(
    looks: Sequence[tuple[float, Snapshot]],
    *,
    window_s: float,
    interval_s: float,
    box_state: BoxState | None = None,
) -> Verdict:
    """Return what looks mean, each with when it was made on a clock that never runs back.

    The short window holds where all along it every run said completed and its process was gone.
    """
    snapshots = [snapshot for _, snapshot in looks]
    since_s = looks[-1][0] - COMPLETED_WINDOW_S
    late = [each for at_s, each in looks if at_s >= since_s]
    is_over = looks[0][0] <= since_s and all(map(_is_over, late))
    if is_over and window_s > COMPLETED_WINDOW_S:
        short = judge(
            snapshots, window_s=COMPLETED_WINDOW_S, interval_s=interval_s, provider_state=box_state
        )
        if short.state == "idle":
            return short
    return judge(snapshots, window_s=window_s, interval_s=interval_s, provider_state=box_state)


def _is_over(snapshot: Snapshot) -> bool:
    """Return whether every run says that it is completed, and its process is seen to be gone."""
    table = None if snapshot.machine is None else snapshot.machine.processes
    if table is None or not snapshot.runs:
        return False
    living = {process.pid for process in table}
    return all(
        run.state == "completed" and run.pid is not None and run.pid not in living
        for run in snapshot.runs
    )


def _act(action: ActName, forced: bool, parts: Parts) -> None:
    """Act, and say what came of it; a refusal is said, and the watch goes on."""
    try:
        outcome = parts.act(action, forced)
    except CostplanError as err:
        parts.tell(Event("refused", f"{err}" + (f" ({err.hint})" if err.hint else "")))
    else:
        parts.tell(Event("acted", f"{outcome.result}: {outcome.why}"))
