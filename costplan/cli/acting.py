"""Carries out `--act`: shows the command, or runs it with all that guards it."""

from __future__ import annotations

import os
import re
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Final

from costplan.box import actions, audit, commands, gpus, orders
from costplan.box.gate import gate, look_refuses
from costplan.cli import act_asked, looks
from costplan.cli.meter import meter
from costplan.cli.streams import talk
from costplan.errors import LimitError, UnconfirmedError, UnknownError
from costplan.ledger import open_ledger
from costplan.records.acting import Outcome
from costplan.render.figures import visible
from costplan.windows import default_window_s

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from costplan.box.gate import Gate
    from costplan.cli.act_asked import ActAsked
    from costplan.cli.idle_asked import Answered
    from costplan.records.acting import ActName, BoxState, Order
    from costplan.records.idle import Advice
    from costplan.records.providers import Provider
    from costplan.records.signals import Snapshot

MAY: Final = ("idle", "crashed")
RENTED: Final = {"RUNPOD_POD_ID", "CONTAINER_API_KEY", "VAST_CONTAINERLABEL"}
"""What rented boxes tell their programs of themselves, also those without a GPU."""


def acted(
    asked: ActAsked, answered: Answered, provider: Provider | None, *,
    runs: Sequence[str], ssh: str | None,
) -> Outcome:  # fmt: skip
    """Return what came of `--act`: only shown, unless the id was repeated.

    Raises:
        LimitError: A safety rule says no.
        UnknownError: The state of the box, or whether it is idle, is not known.
        InputError: A word cannot be used as it stands.
    """
    (action,) = act_asked.actions(asked)
    box = answered.box
    order = act_asked.order(asked, action, provider=provider, usd_per_hour=box.usd_per_hour)
    talk("".join(f"note: {text}\n" for text in remarks(order, answered.advice)))
    if order.consent is None:
        return shown(order, asked)
    window_s = act_asked.window_s(asked.window, default_window_s(box))
    if window_s is None:
        raise LimitError("--window off: nothing is ever done", hint="leave --window out")
    if runs or ssh:
        talk(f"looking for {window_s:g} s before anything is called (--window)\n")
    return performed(
        asked, order, advice=answered.advice, runs=runs, ssh=ssh,
        first_look=lambda: looks.settled(runs, ssh, window_s=window_s),
    )  # fmt: skip


def performed(
    asked: ActAsked, order: Order, *, advice: Advice, runs: Sequence[str], ssh: str | None,
    first_look: Callable[[], looks.Seen], forced: bool = False,
    last_look: Callable[[], Snapshot | None] = lambda: None,
) -> Outcome:  # fmt: skip
    """Return what came of an order, carried out.

    Args:
        asked: The words, with those of the copy.
        order: What to do.
        advice: For the log.
        runs: Run folders of this machine.
        ssh: Or the folder of another.
        first_look: Says whether the box is idle; before the call two quick looks say it again.
        forced: By the cap: a stop that does not ask what the box does.
        last_look: The last one that a watch had before the box was stopped.

    Raises:
        LimitError: A safety rule says no.
        UnknownError: The state of the box, or whether it is idle, is not known.
    """
    again, told = [first_look], list[str]()

    def why_not(state: BoxState) -> list[str]:
        snapshot = None
        if (runs or ssh) and state == "running" and not forced:
            found = again.pop()()
            again.append(lambda: looks.seen(runs, ssh))
            _refuse_unless_idle(found)
            snapshot = found.snapshot
        elif ssh and not forced:
            _refuse_if_it_answers(looks.looker((), ssh)(), state)
        told.append(state)
        return copy_reasons(
            order.action, asked, snapshot, last_look=last_look(),
            looked_here=bool(runs), running=state == "running", tell=len(told) == 1,
        )  # fmt: skip

    def since(state: BoxState) -> list[str]:
        if not (runs or ssh) or state != "running" or forced:
            return []
        found = looks.seen(runs, ssh)
        _refuse_unless_idle(found)
        return later_work(order.action, asked, found.snapshot, looked_here=bool(runs))

    with open_ledger() as ledger:
        means = actions.Means(
            ledger=ledger,
            log=audit.default_path(),
            clock=actions.REAL,
            why_not=why_not,
            tell=lambda text: talk(f"note: {text}\n"),
            evidence={"advice": advice.advice, "why": advice.why, "looked": bool(runs or ssh)},
            forced=forced,
            since=since,
            answers=lambda: _answers(runs, ssh),
        )
        return actions.perform(order, means)


def shown(order: Order, asked: ActAsked) -> Outcome:
    """Return the command, not run, with what would refuse it."""
    why = _next(order)
    if order.action == "destroy":
        found = copy_gate(asked, None, looked_here=False, running=True)
        if found.refusals:
            why += f"; it would be refused: {visible('; '.join(found.refusals[:3]))}"
        else:
            why += f"; the copy holds: {found.verified_files} files, {found.verified_bytes} bytes"
        talk("".join(f"note: {visible(note)}\n" for note in found.notes))
    return Outcome(
        action=order.action,
        box=order.box,
        result="shown",
        command=orders.command_of(order),
        why=why,
    )


def _next(order: Order) -> str:
    """Return what is still wanted before the command is run."""
    if order.call is None:
        return f"no --{order.action}-cmd was given: there is nothing to run"
    if order.state is None:
        return (
            f"not run: --yes-{order.action} {order.box} runs it, with a --state-cmd that says "
            "whether it took effect"
        )
    return f"not run: --yes-{order.action} {order.box} runs it"


def remarks(order: Order, advice: Advice) -> list[str]:
    """Return what a person should know who says yes: whose box, and against which advice."""
    found = []
    if order.call is not None and not any(_names(word, order.box) for word in order.call):
        found.append(
            f"--{order.action}-cmd has neither {{id}} nor {order.box}: it acts on what it names"
        )
    wanted = next((o for o in advice.options if o.action == advice.advice), None)
    destroys = wanted is not None and not wanted.undo
    if (order.action == "destroy") != destroys or advice.advice == "keep":
        found.append(f"the advice was {advice.advice.replace('-', ' ')}, not {order.action}")
    return found


def _names(word: str, box: str) -> bool:
    return "{id}" in word or re.search(rf"(?<![\w-]){re.escape(box)}(?![\w-])", word) is not None


def _answers(runs: Sequence[str], ssh: str | None) -> bool:
    """Return whether the box can be looked at; False where nobody was told how."""
    return bool(runs or ssh) and looks.looker(runs, ssh)().problem is None


def _refuse_unless_idle(found: looks.Seen) -> None:
    """Raise unless the box is idle or crashed.

    Raises:
        UnknownError: Nobody can tell.
        LimitError: It works, or hangs.
    """
    verdict = found.verdict
    if verdict.state == "unknown":
        raise UnknownError(
            f"whether the box is idle is not known: {verdict.why}",
            hint="unknown is no reason to act",
        )
    if verdict.state not in MAY:
        raise LimitError(
            f"the box is {verdict.state}: {verdict.why}",
            hint="nothing was called; to stop it all the same, leave out --run and --ssh",
        )


def _refuse_if_it_answers(snapshot: Snapshot, state: BoxState) -> None:
    """Raise where a box answers that its provider calls stopped.

    Raises:
        UnknownError: It does.
    """
    if snapshot.problem is None:
        raise UnknownError(
            f"the provider says {state}, but the box answers",
            hint="nothing was called: look whether the id and the host are of one box",
        )


def copy_reasons(
    action: ActName, asked: ActAsked, snapshot: Snapshot | None, *,
    looked_here: bool, running: bool, tell: bool, last_look: Snapshot | None = None,
) -> list[str]:  # fmt: skip
    """Return why a destroy would lose something; nothing for a stop."""
    if action != "destroy":
        return []
    found = copy_gate(
        asked, snapshot, looked_here=looked_here, running=running, last_look=last_look
    )
    if tell:
        talk("".join(f"note: {visible(note)}\n" for note in found.notes))
    return list(found.refusals)


def later_work(
    action: ActName, asked: ActAsked, snapshot: Snapshot, *, looked_here: bool
) -> list[str]:
    """Return what a look shows that the copy, checked before it, cannot hold."""
    copy = act_asked.path(asked.copy)
    if action != "destroy" or copy is None:
        return []
    return look_refuses(copy, snapshot, looked_here=looked_here, now=datetime.now(tz=timezone.utc))


def copy_gate(
    asked: ActAsked, snapshot: Snapshot | None, *, looked_here: bool, running: bool,
    last_look: Snapshot | None = None,
) -> Gate:  # fmt: skip
    """Return what the copy says for and against a destroy."""
    with meter("checking the copy") as progress:
        return gate(
            act_asked.path(asked.copy),
            act_asked.path(asked.copied_to),
            snapshot=snapshot,
            looked_here=looked_here,
            box_running=running,
            now=datetime.now(tz=timezone.utc),
            leave_behind=asked.leave_behind,
            gpu_here=gpus.present() or bool(RENTED & set(os.environ)),
            last_look=last_look,
            progress=progress,
        )


def lines(outcome: Outcome) -> str:
    """Return what came of an action, in words."""
    if outcome.result == "shown":
        command = outcome.command or "(no command)"
        return f"to {outcome.action} {outcome.box}: {command}\n  {outcome.why}\n"
    return f"{outcome.action} {outcome.result}: {outcome.why}\n"


def ended(outcome: Outcome) -> None:
    """Raise where something was called and nobody saw it take effect.

    Raises:
        UnconfirmedError: It may bill on.
    """
    if outcome.result == "unconfirmed":
        raise UnconfirmedError(
            outcome.why,
            hint=f"look at {outcome.box} at its provider now; the command was: {outcome.command}",
        )


def notify(template: tuple[str, ...], kind: str, text: str, box: str) -> str:
    """Run the notify command; return why it failed, nothing where it did not."""
    fields = {"event": kind, "message": text, "id": box}
    done = commands.run(
        commands.filled(template, id=box, message=text),
        timeout_s=30.0,
        given=text + "\n",
        variables={f"COSTPLAN_{key.upper()}": value for key, value in fields.items()},
    )
    return done.why
