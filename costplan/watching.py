"""What a watcher says and does after each look at a box: one state in, one state and words out.

Pure: a look and two clocks come in. The wall clock is only shown; time is counted on the one that
never runs back. Money decides when the box is idle or crashed for the whole window; hung and
unknown are told and never acted on, but for a stop at the spending cap that the person set.
"""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from costplan.box.timeline import span
from costplan.units import decimal

if TYPE_CHECKING:
    from datetime import datetime

    from costplan.records.acting import ActName, BoxState
    from costplan.records.idle import PlanStep
    from costplan.records.signals import Verdict

HOUR_S: Final = 3_600.0
UNKNOWN_TELL_S: Final = 1_800.0
"""Unknown for longer than this is worth waking somebody."""
RETRY_S: Final = 300.0
"""After a refusal, or a state that could not be read, an action is tried again no sooner."""
SETTLED: Final = ("idle", "crashed")

Due = Literal["stop", "destroy", "start"]
Kind = Literal[
    "began", "changed", "stop-due", "destroy-due", "start-due", "hung", "unknown", "cap",
    "heartbeat", "acted", "refused", "ended",
]  # fmt: skip
DUE: Final[dict[Due, Kind]] = {
    "stop": "stop-due", "destroy": "destroy-due", "start": "start-due",
}  # fmt: skip
NOTIFIED: Final[set[Kind]] = {
    "stop-due", "destroy-due", "start-due", "hung", "unknown", "cap", "acted", "refused",
}  # fmt: skip


class Rules(NamedTuple):
    """What holds for the whole watch."""

    usd_per_hour: Decimal
    stopped_usd_per_hour: Decimal
    """The running rate where no stop ends the bill."""
    plan: tuple[PlanStep, ...]
    window_s: float | None
    """None: nothing is ever due."""
    cap_usd: Decimal | None = None
    may: frozenset[ActName] = frozenset()
    """What the person has said yes to."""
    start_by_s: float | None = None
    """When the way back must begin, for a deadline; on the clock that never runs back."""
    stopped_before_h: float = 0.0
    """How long the box had been left already, where it is stopped when the watch begins."""


class Sample(NamedTuple):
    """One look."""

    at: datetime
    passed_s: float
    verdict: Verdict | None
    """None where the box is stopped or gone."""
    box_state: BoxState | None = None


class Event(NamedTuple):
    """Something to say."""

    kind: Kind
    text: str


class Watch(NamedTuple):
    """What a watcher remembers."""

    began_at: datetime
    last_s: float
    state: str = ""
    since_s: float = 0.0
    away_at_stop_h: float = 0.0
    spent_usd: Decimal = Decimal(0)
    idle_usd: Decimal = Decimal(0)
    """Spent since the box was last at work."""
    beat_s: float = 0.0
    told_due: str = ""
    told_since: str = ""
    """The state, hung or unknown, that has been told as such."""
    told_cap: bool = False
    tried_s: float | None = None
    away_s: float = 0.0
    """For how long nobody has used the box, as far as that was seen."""
    is_off: bool = False
    """It was stopped, and nobody has seen it running since."""


class Next(NamedTuple):
    """What follows from a look."""

    watch: Watch
    events: tuple[Event, ...]
    act: ActName | None = None
    forced: bool = False


def observe(watch: Watch, sample: Sample, rules: Rules) -> Next:
    """Return what follows from a look: the new memory, what to say, and what to do now."""
    state = state_of(sample)
    watch = _started(_paid(watch, sample, rules), sample)
    events: list[Event] = []
    if state != watch.state:
        watch, event = _changed(watch, sample, rules, state)
        events.append(event)
    beat = sample.passed_s - watch.beat_s >= HOUR_S
    due = due_now(watch, sample, rules)
    if due is not None and (watch.told_due != due or beat):
        events.append(Event(DUE[due], _due_text(due, watch, sample, rules)))
        watch = watch._replace(told_due=due)
    told = _standing(watch, sample, again=beat)
    if told is not None:
        events.append(told)
        watch = watch._replace(told_since=state)
    capped = rules.cap_usd is not None and watch.spent_usd >= rules.cap_usd
    if capped and state not in ("stopped", "gone") and (not watch.told_cap or beat):
        events.append(Event("cap", f"the cap of ${rules.cap_usd} is reached: {spent(watch)}"))
        watch = watch._replace(told_cap=True)
    if beat:
        watch = watch._replace(beat_s=sample.passed_s)
        events.append(Event("heartbeat", f"{state} for {_lasting(watch, sample)}; {spent(watch)}"))
    watch = watch._replace(away_s=_away_s(watch, sample))
    act, forced = _to_do(due, watch, sample, rules, capped=capped)
    if act is not None:
        watch = watch._replace(tried_s=sample.passed_s)
    return Next(watch, tuple(events), act, forced)


def state_of(sample: Sample) -> str:
    """Return busy, idle, hung, crashed, unknown, stopped or gone."""
    if sample.verdict is not None:
        return sample.verdict.state
    return sample.box_state or "unknown"


def _paid(watch: Watch, sample: Sample, rules: Rules) -> Watch:
    """Return the memory with the time since the last look paid for, at what it was then."""
    hours = decimal(max(0.0, sample.passed_s - watch.last_s) / HOUR_S)
    rate = {"stopped": rules.stopped_usd_per_hour, "gone": Decimal(0)}.get(
        watch.state, rules.usd_per_hour
    )
    idle_usd = Decimal(0) if watch.state == "busy" else watch.idle_usd + rate * hours
    return watch._replace(
        last_s=sample.passed_s, spent_usd=watch.spent_usd + rate * hours, idle_usd=idle_usd
    )


def _started(watch: Watch, sample: Sample) -> Watch:
    """Return the memory without the hours away where a stopped box runs: somebody came back."""
    if watch.is_off and sample.box_state == "running":
        return watch._replace(is_off=False, away_s=0.0)
    return watch._replace(is_off=watch.is_off or state_of(sample) == "stopped")


def _changed(watch: Watch, sample: Sample, rules: Rules, state: str) -> tuple[Watch, Event]:
    why = sample.verdict.why if sample.verdict is not None else f"its provider says {state}"
    before = f"{watch.state} -> " if watch.state else ""
    left_h = watch.away_s / HOUR_S if watch.state else rules.stopped_before_h
    watch = watch._replace(
        state=state, since_s=sample.passed_s, away_at_stop_h=left_h, told_due="", told_since="",
        tried_s=None,
    )  # fmt: skip
    return watch, Event("changed", f"{before}{state}: {why}")


def _away_s(watch: Watch, sample: Sample) -> float:
    """Return what to remember: hours of unknown are not hours away, and do not end them."""
    if watch.state in (*SETTLED, "stopped"):
        return away_h(watch, sample) * HOUR_S
    return watch.away_s if watch.state == "unknown" else 0.0


def away_h(watch: Watch, sample: Sample) -> float:
    """Return for how long nobody has used the box, as far as that was seen."""
    lasting_h = (sample.passed_s - watch.since_s) / HOUR_S
    if watch.state == "stopped":
        return watch.away_at_stop_h + lasting_h
    if watch.state == "idle" and sample.verdict is not None:
        return max(lasting_h, sample.verdict.quiet_s / HOUR_S)
    return lasting_h if watch.state == "crashed" else 0.0


def due_now(watch: Watch, sample: Sample, rules: Rules) -> Due | None:
    """Return what the plan wants now: over a box that has been seen idle for the whole window."""
    if rules.window_s is None or watch.state not in (*SETTLED, "stopped"):
        return None
    if rules.start_by_s is not None and sample.passed_s >= rules.start_by_s:
        return "start"
    hours = away_h(watch, sample)
    if watch.state == "crashed" and hours * HOUR_S < rules.window_s:
        return None
    begun = [step for step in rules.plan if step.from_h <= hours and step.action != "start"]
    if not begun or begun[-1].action == "keep":
        return None
    if not begun[-1].undo:
        return "destroy"
    return "stop" if watch.state != "stopped" else None


def _due_text(due: Due, watch: Watch, sample: Sample, rules: Rules) -> str:
    if due == "start":
        return f"{watch.state}, and the way back must begin now to meet the deadline"
    hours = away_h(watch, sample)
    more = rules.usd_per_hour - rules.stopped_usd_per_hour
    text = f"{due} due: {watch.state}, {span(hours * HOUR_S)} without work, "
    text += f"${watch.idle_usd:.2f} spent meanwhile"
    if due == "stop":
        text += f"; every hour on costs ${more:.2f} more than stopping"
    return text


def _standing(watch: Watch, sample: Sample, *, again: bool) -> Event | None:
    """Return that the box hangs, or has been unknown for too long."""
    if watch.told_since == watch.state and not again:
        return None
    why = sample.verdict.why if sample.verdict is not None else ""
    if watch.state == "hung":
        return Event("hung", f"hung, {why}; ${watch.idle_usd:.2f} spent meanwhile: look at it")
    if watch.state == "unknown" and sample.passed_s - watch.since_s >= UNKNOWN_TELL_S:
        return Event("unknown", f"unknown for {_lasting(watch, sample)}: {why}; nothing is done")
    return None


def _to_do(
    due: Due | None, watch: Watch, sample: Sample, rules: Rules, *, capped: bool
) -> tuple[ActName | None, bool]:
    if watch.tried_s is not None and sample.passed_s - watch.tried_s < RETRY_S:
        return None, False
    if "stop" in rules.may and watch.state not in ("stopped", "gone"):
        if capped:
            return "stop", True
        if due in ("stop", "destroy"):
            return "stop", False  # before a destroy too: it can be undone and needs no copy
    return ("destroy", False) if due == "destroy" and "destroy" in rules.may else (None, False)


def spent(watch: Watch) -> str:
    """Return what the watch has cost so far, in words."""
    return f"${watch.spent_usd:.2f} spent since {watch.began_at:%a %H:%M}"


def _lasting(watch: Watch, sample: Sample) -> str:
    return span(sample.passed_s - watch.since_s)
