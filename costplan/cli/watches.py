"""`costplan idle --watch`: one box watched until it is gone, in lines of what changed."""

from __future__ import annotations

import contextlib
import json
import signal
import socket
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Final, NamedTuple

import typer

from costplan import __version__
from costplan.box import audit, commands, heartbeats, watcher
from costplan.box.actions import REAL, read_state
from costplan.box.orders import check_commands, command_of
from costplan.box.timeline import span
from costplan.cli import act_asked, acting, looks
from costplan.cli.streams import talk, write
from costplan.errors import CostplanError, InputError
from costplan.ledger import open_ledger
from costplan.render.figures import visible
from costplan.render.watch import Force, in_force
from costplan.units import decimal
from costplan.watching import NOTIFIED, Event, Rules, Watch
from costplan.windows import default_window_s

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from costplan.cli.act_asked import ActAsked
    from costplan.cli.idle_asked import Answered
    from costplan.records.acting import ActName, BoxState, Order
    from costplan.records.idle import Advice, IdleBox
    from costplan.records.providers import Provider

# /1 2026-11: first form, one object a line.
WATCH_SCHEMA: Final = "costplan.watch/1"
HOURS: Final = 3_600


class Watched(NamedTuple):
    """What is watched, and how it is told."""

    name: str
    asked: ActAsked
    box: IdleBox
    advice: Advice
    orders: dict[ActName, Order]
    runs: Sequence[str]
    ssh: str | None
    as_json: bool


def watched(
    asked: ActAsked,
    answered: Answered,
    provider: Provider | None,
    *,
    runs: Sequence[str],
    ssh: str | None,
    as_json: bool,
) -> None:
    """Watch a box until it is gone, or until told to end.

    Raises:
        InputError: There is nothing to look at, or a word cannot be used.
        LimitError: What is called a stop does not end the bill there.
    """
    if not runs and ssh is None:
        raise InputError("--watch looks at a box", hint="give --run DIR or --ssh HOST:DIR")
    box, advice = answered.box, answered.advice
    name = visible(asked.id or ssh or socket.gethostname())
    orders = {
        action: act_asked.order(
            asked._replace(id=asked.id or "ID"),
            action,
            provider=provider,
            usd_per_hour=box.usd_per_hour,
        )
        for action in act_asked.ACTIONS
        if act_asked.call(asked, action) is not None or action in act_asked.actions(asked)
    }
    for each in orders.values():
        if each.consent is not None:
            check_commands(each)  # now: in the night when it is due nobody can mend it
    what = Watched(name, asked, box, advice, orders, runs, ssh, as_json)
    look, last_look = looks.remembering(looks.looker(runs, ssh))
    slowest_s = max((run.interval_s or 0.0 for run in look().runs), default=0.0)
    usual_s = default_window_s(box, slowest_s or None)
    window_s = act_asked.window_s(asked.window, usual_s)
    rules = rules_of(what, window_s)
    every_s = looks.interval_s(window_s or usual_s)
    now = datetime.now(tz=timezone.utc)
    memory = remembered(what, now)
    for line in [*predecessors(name, now), *in_force(rules, force_of(what), every_s=every_s)]:
        tell(what, Event("began", line))
    parts = watcher.Parts(
        look=look,
        box_state=state_reader(asked),
        act=lambda action, forced: acting.performed(
            asked,
            orders[action],
            advice=advice,
            runs=runs,
            ssh=ssh,
            first_look=lambda: looks.seen(runs, ssh),
            forced=forced,
            last_look=last_look,
        ),
        tell=lambda event: tell(what, event),
        beat=keeper(what, every_s),
        clock=REAL,
    )
    signal.signal(signal.SIGTERM, _end)
    try:
        watcher.watch(rules, parts, window_s=window_s or usual_s, interval_s=every_s, memory=memory)
    finally:
        heartbeats.end(name)
        with contextlib.suppress(InputError, typer.Exit):
            tell(what, Event("ended", "the watch has ended"))


def _end(*_: object) -> None:
    raise SystemExit(128 + signal.SIGTERM)


def state_reader(asked: ActAsked) -> Callable[[], BoxState | None] | None:
    """Return what asks the provider for the state of the box, None where nobody can.

    Raises:
        InputError: No id was given to ask for.
    """
    if asked.state_cmd is None:
        return None
    words, box = commands.words(asked.state_cmd, flag="--state-cmd"), asked.id
    if box is None:
        raise InputError("--state-cmd needs --id ID: the box to ask for")
    commands.checked_id(box, flag="--id")
    return lambda: read_state(words, box)[0]


def rules_of(what: Watched, window_s: float | None) -> Rules:
    """Return what holds for the whole watch."""
    stopped, by_h = what.advice.stopped_usd_per_hour, what.advice.start_by_h
    consented = frozenset(name for name, each in what.orders.items() if each.consent is not None)
    return Rules(
        usd_per_hour=what.box.usd_per_hour,
        stopped_usd_per_hour=what.box.usd_per_hour if stopped is None else stopped,
        plan=tuple(step for step in what.advice.plan if step.action != "start"),
        window_s=window_s,
        cap_usd=act_asked.cap_usd(what.asked.cap),
        may=consented,
        start_by_s=None if by_h is None else REAL.passed_s() + by_h * HOURS,
        stopped_before_h=stopped_before_h(what.name),
    )


def stopped_before_h(name: str) -> float:
    """Return how long ago a stop of this box was confirmed, by the log; 0 where none holds."""
    at = audit.stopped_at(audit.default_path(), name)
    if at is None:
        return 0.0
    return max(0.0, (datetime.now(tz=timezone.utc) - at) / timedelta(hours=1))


def remembered(what: Watched, now: datetime) -> Watch:
    """Return the memory of a predecessor that did not end by itself, or an empty one."""
    passed_s = REAL.passed_s()
    beat = heartbeats.read(heartbeats.place(what.name))
    if beat is None:
        return Watch(began_at=now.astimezone(), last_s=passed_s, beat_s=passed_s)
    # Nobody looked since: the box is taken to have billed as when it was last seen.
    hours = decimal(max(0.0, (now - beat.last_at).total_seconds() / HOURS))
    stopped = what.advice.stopped_usd_per_hour
    rate = stopped if beat.state == "stopped" and stopped is not None else what.box.usd_per_hour
    return Watch(
        began_at=beat.began_at.astimezone(),
        last_s=passed_s,
        beat_s=passed_s,
        spent_usd=beat.spent_usd + rate * hours,
    )


def predecessors(name: str, now: datetime) -> list[str]:
    """Return which watchers have died, each in one line, and one of this box that may live."""
    lines = [heartbeats.death(beat, now.astimezone()) for beat in heartbeats.left(now)]
    mine = heartbeats.read(heartbeats.place(name))
    if mine is not None and not heartbeats.is_dead(mine, now):
        ago = span(max(0.0, (now - mine.last_at).total_seconds()))
        lines.insert(
            0, f"a watcher of {name} did not end by itself: its last sign is {ago} old; it has "
               "died, or watches beside this one",
        )  # fmt: skip
    return lines


def force_of(what: Watched) -> Force:
    """Return what the rules are told with."""
    return Force(
        name=what.name,
        commands={action: command_of(each) for action, each in what.orders.items()},
        completed_window_s=watcher.COMPLETED_WINDOW_S,
        notifies=what.asked.notify is not None,
    )


# --- what is told and kept ----------------------------------------------------------------------


def tell(what: Watched, event: Event) -> None:
    """Say something, log it, and call whoever shall know."""
    at = datetime.now().astimezone()
    text = visible(_with_command(what, event))
    fields = {"schema": WATCH_SCHEMA, "costplan": __version__, "at": at.isoformat(),
              "box": what.name, "event": event.kind, "text": text}  # fmt: skip
    line = json.dumps(fields, ensure_ascii=False) if what.as_json else f"{at:%a %H:%M:%S}  {text}"
    try:
        write(f"{line}\n")
    except (InputError, typer.Exit):
        # A full disk or a reader that went away must not end the guard; idle words may end.
        if not _guards(what):
            raise
    _logged(what, event.kind, text)
    if event.kind in NOTIFIED and what.asked.notify is not None:
        words = commands.words(what.asked.notify, flag="--notify")
        why = acting.notify(words, event.kind, text, what.name)
        if why:
            talk(f"note: --notify failed: {why}\n")


def _guards(what: Watched) -> bool:
    """Return whether the watch does more than talk."""
    consented = any(order.consent is not None for order in what.orders.values())
    return consented or what.asked.notify is not None


def _with_command(what: Watched, event: Event) -> str:
    action: ActName | None = (
        "stop" if event.kind == "stop-due" else "destroy" if event.kind == "destroy-due" else None
    )
    if action is None:
        return event.text
    order = what.orders.get(action)
    if order is None or order.call is None:
        return event.text
    run = "running" if order.consent is not None else "not run"
    return f"{event.text}; {run}: {command_of(order)}"


def _logged(what: Watched, event: str, text: str) -> None:
    try:
        audit.append(
            audit.default_path(), event, datetime.now(tz=timezone.utc), box=what.name, text=text
        )
    except InputError as err:
        talk(f"note: {err}\n")


def keeper(what: Watched, every_s: float) -> Callable[[Watch], None]:
    """Return what keeps the sign of life, and records when the box was left and used again."""
    last, was_stopped, failed = "", False, False

    def keep(memory: Watch) -> None:
        nonlocal last, was_stopped, failed
        now = datetime.now(tz=timezone.utc)
        beat = heartbeats.Beat(
            what.name, memory.began_at, now, every_s, memory.state, memory.spent_usd
        )
        try:
            heartbeats.write(beat)
            failed = False
        except OSError as err:
            if not failed:
                talk(f"note: no sign of life can be kept: {err.strerror or err}\n")
            failed = True
        was_stopped = memory.state == "stopped" or (was_stopped and memory.state != "busy")
        if memory.state != last:
            last = memory.state
            with contextlib.suppress(CostplanError):
                record_absence(what.name, memory, now, was_stopped=was_stopped)

    return keep


def record_absence(name: str, memory: Watch, now: datetime, *, was_stopped: bool) -> None:
    """Record that a box was left when it is idle, and that it is used again when it works.

    Raises:
        InputError: The ledger cannot be written, or knows better.
    """
    with open_ledger() as ledger:
        if memory.state == "idle":
            ledger.leave(name, now - timedelta(seconds=memory.away_s))
        elif memory.state == "busy" and ledger.is_away(name):
            ledger.back(name, now, restarted=was_stopped)
