"""Stops and destroys one box, when told, once, and looks whether it took effect.

Order of things: state read, copy checked, intent logged and on disk, before-hook, state and copy
once more, claim in the ledger, call, state read until it holds. Whatever cannot be known ends it
before the call; what cannot be seen after it is said, never taken for done.
"""

from __future__ import annotations

import json
import time
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from costplan.box import audit, calls, commands, orders
from costplan.box.processes import uptime_s
from costplan.errors import InputError, LimitError, UnknownError
from costplan.records.acting import Outcome

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from costplan.ledger import Ledger, Step
    from costplan.records.acting import BoxState, Order

CALL_TIMEOUT_S: Final = 300.0
STATE_TIMEOUT_S: Final = 60.0
FIRST_WAIT_S: Final = 1.0
LONGEST_WAIT_S: Final = 10.0
REFUSED_S: Final = 10.0
"""A call that failed may still have been taken: so long the state is read all the same."""
SOON_S: Final = 60.0
"""What was checked longer ago than this is looked at once more before a call."""
MOST_REASONS: Final = 10
AWAY: Final = ("stopped", "gone")
WANTED: Final[dict[str, tuple[BoxState, ...]]] = {"stop": ("stopped", "gone"), "destroy": ("gone",)}
PAST: Final = {"stop": "stopped", "destroy": "destroyed"}


class Clock(NamedTuple):
    """Where time comes from: a test has its own."""

    now: Callable[[], datetime]
    passed_s: Callable[[], float]
    """Seconds that never run back and do not stand still while this machine sleeps."""
    sleep: Callable[[float], None]


REAL: Final = Clock(lambda: datetime.now(tz=timezone.utc), uptime_s, time.sleep)


class Means(NamedTuple):
    """What an action needs from outside."""

    ledger: Ledger
    log: Path
    clock: Clock
    why_not: Callable[[BoxState], list[str]]
    """Reasons against it now, asked twice: the copy, the look at the box."""
    tell: Callable[[str], None]
    evidence: dict[str, Any]
    forced: bool = False
    """By a spending cap: a stop that a failing before-hook does not hold up."""
    since: Callable[[BoxState], list[str]] = lambda _: []
    """Reasons that a quick look shows, where the copy took long to read and somebody may work."""
    answers: Callable[[], bool] = lambda: False
    """Whether somebody can look at the box; asked where its provider says that it is away."""


def read_state(words: Sequence[str], box: str) -> tuple[BoxState | None, str]:
    """Return what the state command says of a box, or None and why not."""
    done = commands.run(commands.filled(words, id=box), timeout_s=STATE_TIMEOUT_S)
    if not done.ok:
        return None, done.why
    lines = [line.strip() for line in done.out.splitlines() if line.strip()]
    last = lines[-1] if lines else ""
    said = last.lower()
    if said == "running":
        return "running", ""
    if said == "stopped":
        return "stopped", ""
    if said == "gone":
        return "gone", ""
    return None, f"it printed {commands.masked(last)[:40]!r}, not running, stopped or gone"


def perform(order: Order, means: Means) -> Outcome:
    """Return what came of an order, carried out.

    Raises:
        LimitError: A safety rule says no.
        UnknownError: The state of the box is not known: nothing was called.
        InputError: There is no command, or nothing can be logged.
    """
    orders.check_consent(order)
    orders.check_commands(order)
    state = _known_state(order, means)
    if state in WANTED[order.action]:
        return _already(order, means, state)
    _check(order, means, means.why_not(state))
    claim = means.ledger.record_action(order.box, order.action, "asked", means.clock.now())
    if claim.step == "confirmed":
        raise UnknownError(
            f"{order.box} was destroyed and confirmed before, and now it is {state}: "
            "look which box this id is"
        )
    if claim.step == "called":
        return _followed(order, means)
    _log(order, means, "asked", state=state, evidence=means.evidence)
    _before(order, means)
    state = _last_checked(order, means)
    if state in WANTED[order.action]:
        return _already(order, means, state)
    with calls.held(means.ledger.path, order.box, order.action) as free:
        called_at = means.clock.now()
        if free and _claimed(order, means, called_at):
            return _called(order, means, called_at)
    return _followed(order, means)


def _known_state(order: Order, means: Means) -> BoxState:
    state, why = read_state(order.state or (), order.box)
    if state in AWAY and means.answers():
        state, why = None, f"its provider says {state}, but the box answers"
    if state is not None:
        return state
    if means.forced:
        means.tell(f"the state of {order.box} is not known ({why}): the cap stops it all the same")
        return "running"
    raise UnknownError(f"the state of {order.box} is not known: {why}", hint="nothing was called")


def _last_checked(order: Order, means: Means) -> BoxState:
    """Return the state of the box right before the call; one that is wanted needs no reasons.

    Raises:
        LimitError: Something speaks against the call, or changed while the copy was read.
        UnknownError: The state of the box is not known: nothing was called.
    """
    began_s = means.clock.passed_s()
    state = _known_state(order, means)
    if state in WANTED[order.action]:
        return state
    _check(order, means, means.why_not(state))
    if means.clock.passed_s() - began_s <= SOON_S:
        return state
    now = _known_state(order, means)
    if now not in WANTED[order.action]:
        changed = [f"it was {state} and is {now} now"] if now != state else []
        _check(order, means, changed or means.since(state))
    return now


def _check(order: Order, means: Means, reasons: list[str]) -> None:
    if not reasons:
        return
    _log(order, means, "refused", reasons=reasons)
    shown = "; ".join(reasons[:MOST_REASONS])
    if len(reasons) > MOST_REASONS:
        shown += f"; and {len(reasons) - MOST_REASONS} more"
    raise LimitError(f"{order.action} of {order.box} refused: {shown}", hint="nothing was called")


def _already(order: Order, means: Means, state: BoxState) -> Outcome:
    """Return that there is nothing to do, and close a claim that a crash left open."""
    claim = means.ledger.record_action(order.box, order.action, "asked", means.clock.now())
    was_called = claim.step == "called"
    # What nobody called is not destroyed by us: a state that was wrong once locks nobody out.
    step: Step = "confirmed" if was_called or order.action == "stop" else "released"
    means.ledger.record_action(order.box, order.action, step, means.clock.now())
    _log(order, means, "confirmed", state=state, called_here=False)
    why = f"{order.box} is {state}" + (": the call made before took effect" if was_called else
                                       " already: nothing was called")  # fmt: skip
    return _outcome(order, "already", state, why)


def _before(order: Order, means: Means) -> None:
    """Run the before-hook; when it fails nothing is called, but for a stop by the cap.

    Raises:
        LimitError: It failed, or took too long.
    """
    if order.before is None:
        return
    done = _hook(order, order.before, "before", "")
    if done.ok:
        return
    if means.forced:
        means.tell(f"the before-hook failed ({done.why}): the cap stops {order.box} all the same")
        return
    means.ledger.record_action(order.box, order.action, "released", means.clock.now())
    _log(order, means, "blocked", why=done.why)
    raise LimitError(f"the before-hook failed: {done.why}", hint="nothing was called")


def _hook(order: Order, hook: tuple[str, ...], when: str, result: str) -> commands.Done:
    fields = {"when": when, "action": order.action, "id": order.box, "result": result}
    return commands.run(
        commands.filled(hook, id=order.box),
        timeout_s=order.hook_timeout_s,
        given=json.dumps(fields),
        variables={f"COSTPLAN_{key.upper()}": value for key, value in fields.items()},
    )


def _claimed(order: Order, means: Means, at: datetime) -> bool:
    """Return whether this run may call.

    Raises:
        LimitError: Another run was blocked since, by a hook or a log that it could not write.
    """
    claim = means.ledger.record_action(order.box, order.action, "called", at)
    if claim.step == "released":
        raise LimitError(
            f"another run gave up its {order.action} of {order.box} meanwhile",
            hint="nothing was called",
        )
    return claim.is_new


def _called(order: Order, means: Means, called_at: datetime) -> Outcome:
    assert order.call is not None
    arguments = commands.filled(order.call, id=order.box)
    try:
        _log(order, means, "called", command=commands.shown(arguments))
    except InputError:
        _ended(order, means, "released")  # nobody called: the next run need not wait for it
        raise
    done = commands.run(arguments, timeout_s=CALL_TIMEOUT_S)
    state = _confirmed(order, means, order.confirm_s if done.ok else REFUSED_S)
    if state is not None:
        _ended(order, means, "confirmed")
        why = f"{order.box} is {state}"
        if order.action == "stop" and state == "gone":
            why += ": this stop was a destroy, look what is left of it"
        outcome = _outcome(order, "confirmed", state, why)
    elif done.ok:
        why = (
            f"the call went through, but {order.box} is not {PAST[order.action]} after "
            f"{order.confirm_s:g} s: it may still bill {order.usd_per_hour}".rstrip()
        )
        outcome = _outcome(order, "unconfirmed", None, why)
    else:
        _ended(order, means, "released")
        why = f"{order.action} refused: {done.why}; still billing {order.usd_per_hour}".rstrip()
        outcome = _outcome(order, "unconfirmed", None, why)
    outcome = outcome.model_copy(update={"called_at": called_at, "called_here": True})
    _said_after(order, means, outcome)
    return outcome


def _followed(order: Order, means: Means) -> Outcome:
    """Return how the call of another run ended, or of one that was killed before it could see."""
    state = _confirmed(order, means, order.confirm_s)
    if state is not None:
        _ended(order, means, "confirmed")
        outcome = _outcome(order, "confirmed", state, f"{order.box} is {state}: called before")
    else:
        why = f"{_given_up(order, means)}: {order.box} may still bill {order.usd_per_hour}".rstrip()
        outcome = _outcome(order, "unconfirmed", None, why)
    _said_after(order, means, outcome)
    return outcome


def _given_up(order: Order, means: Means) -> str:
    """End the claim of a call that never took effect, unless somebody is still calling."""
    with calls.held(means.ledger.path, order.box, order.action) as free:
        if not free:
            return "another run is calling now and has not seen it take effect"
        _ended(order, means, "released")
    return "a call was recorded before and never took effect (the next run calls anew)"


def _confirmed(order: Order, means: Means, longest_s: float) -> BoxState | None:
    """Return the state once it is what was wanted; None where it is not in time."""
    began_s, wait_s = means.clock.passed_s(), FIRST_WAIT_S
    while True:
        state, _ = read_state(order.state or (), order.box)
        if state in WANTED[order.action]:
            return state
        left_s = longest_s - (means.clock.passed_s() - began_s)
        if left_s <= 0:
            return None
        means.clock.sleep(min(wait_s, left_s))
        wait_s = min(2 * wait_s, LONGEST_WAIT_S)


def _ended(order: Order, means: Means, step: Literal["confirmed", "released"]) -> None:
    """Record how a call ended; a ledger that fails now hides nothing of what was called."""
    try:
        means.ledger.record_action(order.box, order.action, step, means.clock.now())
    except InputError as err:
        means.tell(f"{order.action} of {order.box} was not recorded as {step}: {err}")


def _said_after(order: Order, means: Means, outcome: Outcome) -> None:
    """Log the end and run the after-hook; neither can undo what was called."""
    try:
        _log(order, means, outcome.result, state=outcome.state, why=outcome.why)
    except InputError as err:
        means.tell(str(err))
    if order.after is not None:
        done = _hook(order, order.after, "after", outcome.result)
        if not done.ok:
            means.tell(f"the after-hook failed: {done.why}")


def _outcome(order: Order, result: Any, state: BoxState | None, why: str) -> Outcome:
    return Outcome(
        action=order.action, box=order.box, result=result, command=orders.command_of(order),
        state=state, why=why,
    )  # fmt: skip


def _log(order: Order, means: Means, event: str, **more: Any) -> None:
    audit.append(means.log, event, means.clock.now(), box=order.box, action=order.action, **more)
