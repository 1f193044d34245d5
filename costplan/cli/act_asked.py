"""From the words of `--act` and `--watch` to orders, rules and limits."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from costplan import falsestops
from costplan.box import commands
from costplan.box.guest import is_guest_shutdown
from costplan.cli.absence_asked import duration_s, number
from costplan.errors import InputError, LimitError
from costplan.records.acting import Order
from costplan.render.figures import usd

if TYPE_CHECKING:
    from collections.abc import Mapping
    from decimal import Decimal

    from costplan.records.acting import ActName
    from costplan.records.providers import Provider

ACTIONS: Final[tuple[ActName, ...]] = ("stop", "destroy")
HOOK_S: Final = 600.0
CONFIRM_S: Final = 240.0
"""A stop that is not seen after four minutes is reported as one that bills on."""
_MINUTES: Final = re.compile(r"(?<=\d)\s*min(?=\s*$)", re.ASCII)
"""A window of `5 min` has its unit."""


class ActAsked(NamedTuple):
    """The words; texts stay texts until they are checked."""

    act: list[str] | None = None
    id: str | None = None
    yes_stop: str | None = None
    yes_destroy: str | None = None
    stop_cmd: str | None = None
    destroy_cmd: str | None = None
    state_cmd: str | None = None
    copy: str | None = None
    copied_to: str | None = None
    leave_behind: bool = False
    before: str | None = None
    after: str | None = None
    hook_timeout: str | None = None
    confirm_within: str | None = None
    watch: bool = False
    window: str | None = None
    notify: str | None = None
    cap: str | None = None


def words_of(given: Mapping[str, object]) -> ActAsked:
    """Return the words among the arguments of the command."""
    return ActAsked(**{name: given[name] for name in ActAsked._fields})  # type: ignore[arg-type]


def checked(asked: ActAsked) -> None:
    """Refuse words that mean nothing together.

    Raises:
        InputError: One needs another that is missing.
        LimitError: A yes is for another box.
    """
    acts = actions(asked)
    if len(acts) > 1 and not asked.watch:
        raise InputError("one action at a time; --watch can do both, each when it is due")
    if acts and asked.id is None:
        raise InputError("--act needs --id ID: the box to act on")
    for name, yes in (("stop", asked.yes_stop), ("destroy", asked.yes_destroy)):
        if yes is not None and name not in acts:
            raise InputError(f"--yes-{name} needs --act {name}")
        if yes not in (None, asked.id):
            raise LimitError(f"--yes-{name} {yes} is not --id {asked.id}: nothing was called")
    for flag, word in (("--notify", asked.notify), ("--cap", asked.cap)):
        if word is not None and not asked.watch:
            raise InputError(f"{flag} needs --watch")
    window_lines(asked)


def actions(asked: ActAsked) -> tuple[ActName, ...]:
    """Return which actions are asked for.

    Raises:
        InputError: One is no action.
    """
    for word in asked.act or ():
        if word not in ACTIONS:
            raise InputError(f"--act {word}: there is no such action", hint="stop or destroy")
    return tuple(name for name in ACTIONS if name in (asked.act or ()))


def call(asked: ActAsked, action: ActName) -> str | None:
    """Return the command of an action, as it was given."""
    return asked.stop_cmd if action == "stop" else asked.destroy_cmd


def order(
    asked: ActAsked, action: ActName, *, provider: Provider | None, usd_per_hour: Decimal
) -> Order:
    """Return the order for one action, refused where its command is none.

    Raises:
        InputError: A word cannot be used as it stands.
        LimitError: What is called a stop does not end the bill there.
    """
    template = call(asked, action)
    words = None if template is None else commands.words(template, flag=f"--{action}-cmd")
    false = falsestops.why_false(action, words, provider)
    if false is not None:
        hint = "nothing was called"
        if words is not None and is_guest_shutdown(words):
            hint += "; use the API of the provider, or its command line"
        raise LimitError(f"this is no {action}: {false}", hint=hint)
    assert asked.id is not None
    return Order(
        action=action,
        box=commands.checked_id(asked.id, flag="--id"),
        consent=asked.yes_stop if action == "stop" else asked.yes_destroy,
        call=words,
        state=_words(asked.state_cmd, "--state-cmd"),
        before=_words(asked.before, "--before"),
        after=_words(asked.after, "--after"),
        hook_timeout_s=_positive_s(asked.hook_timeout, "--hook-timeout", HOOK_S),
        confirm_s=_positive_s(asked.confirm_within, "--confirm-within", CONFIRM_S),
        usd_per_hour=f"${usd(usd_per_hour)}/h",
    )


def _words(template: str | None, flag: str) -> tuple[str, ...] | None:
    return None if template is None else commands.words(template, flag=flag)


def _positive_s(text: str | None, flag: str, otherwise: float) -> float:
    if text is None:
        return otherwise
    found = duration_s(text, flag)
    if found <= 0:
        raise InputError(f"{flag} {text}: not a time above zero", hint="write 90s, 15m or 2h")
    return found


def window_s(text: str | None, otherwise: float) -> float | None:
    """Return the window in seconds, None for `off`: then nothing is ever due.

    Raises:
        InputError: It is no time above zero with its unit.
    """
    if text is not None and text.strip().lower() == "off":
        return None
    given = None if text is None else _MINUTES.sub("m", text)
    return _positive_s(given, "--window", otherwise)


def window_lines(asked: ActAsked) -> list[str]:
    """Return how the window was understood, where one was given.

    Raises:
        InputError: It is no time above zero with its unit.
    """
    if asked.window is None:
        return []
    found_s = window_s(asked.window, 0.0)
    text = "window off: nothing is ever done"
    if found_s is not None:
        text = f"window {asked.window.strip()}: {found_s:g} s"
    return [text if asked.watch or asked.act else f"{text}, for --watch and --act"]


def cap_usd(text: str | None) -> Decimal | None:
    """Return the spending cap.

    Raises:
        InputError: It is no sum above zero.
    """
    if text is None:
        return None
    found = number(text, "--cap")
    if found <= 0:
        raise InputError(f"--cap {text}: not a sum above zero", hint="leave it out for no cap")
    return found


def path(text: str | None) -> Path | None:
    """Return a path that was given."""
    return None if text is None else Path(text)
