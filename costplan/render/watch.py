"""The rules of a watch in words: exactly what is active."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from costplan.box.timeline import span

if TYPE_CHECKING:
    from collections.abc import Mapping

    from costplan.records.acting import ActName
    from costplan.watching import Rules

HOUR_S: Final = 3_600
ACTIONS: Final[tuple[ActName, ...]] = ("stop", "destroy")


class Force(NamedTuple):
    """What is said beside the rules."""

    name: str
    commands: Mapping[ActName, str]
    """As they would be typed; empty where one is missing."""
    completed_window_s: float
    notifies: bool


def in_force(rules: Rules, force: Force, *, every_s: float) -> list[str]:
    """Return exactly which rules are active, a line each."""
    return [
        f"watching {force.name} every {span(every_s)}; rules in force:",
        f"  idle: {_idle(rules, force)}",
        f"  then: {_plan(rules)}",
        *(f"  {action}: {_act(action, rules, force)}" for action in ACTIONS),
        f"  cap: {_cap(rules)}",
        f"  notify: {'by --notify' if force.notifies else 'nobody is called'}",
        "  unknown and hung: told, and nothing is done",
    ]


def _idle(rules: Rules, force: Force) -> str:
    if rules.window_s is None:
        return "--window off: nothing is ever due"
    text = f"everything quiet for {span(rules.window_s)} ({rules.window_s:g} s)"
    if rules.window_s > force.completed_window_s:
        short = span(force.completed_window_s)
        text += f", {short} once every run is completed and its process gone"
    return text


def _plan(rules: Rules) -> str:
    steps = []
    for step in rules.plan:
        when = f"after {span(step.from_h * HOUR_S)}" if step.from_h else "at once"
        steps.append(f"{step.action.replace('-', ' ')} {when}")
    text = f"{', '.join(steps)} (counted from the last sign of work)"
    return text if rules.start_by_s is None else f"{text}; start again in time for the deadline"


def _act(action: ActName, rules: Rules, force: Force) -> str:
    command = force.commands.get(action)
    if not command:
        return f"told when due; no --{action}-cmd is given"
    if action not in rules.may:
        return f"told when due, not run: {command}"
    guard = ", with a verified copy" if action == "destroy" else ""
    return f"run when due{guard}: {command}"


def _cap(rules: Rules) -> str:
    if rules.cap_usd is None:
        return "none"
    does = "stops the box, whatever it does" if "stop" in rules.may else "is told, nothing is run"
    return f"${rules.cap_usd} {does}"
