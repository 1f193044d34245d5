"""Commands that a person gives: taken apart once, filled with an id, run without any shell."""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import signal
import subprocess
from typing import TYPE_CHECKING, Final, NamedTuple

from costplan.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

SHORT: Final = 300
LONGEST_S: Final = 1_000_000.0
"""Eleven days; the system cannot wait for more than 24."""
ID: Final = re.compile(r"[A-Za-z0-9][\w.:/@+-]{0,199}")
"""No space, no option, nothing that a shell or a web address reads in its own way."""
MASK: Final = "***"
SECRET_LEAST: Final = 8
"""Shorter values are words, such as `true`, that must not be masked wherever they stand."""
_SECRET_NAME = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL", re.IGNORECASE)
_SECRET_FLAG = re.compile(
    r"((?:api[-_]?key|token|secret|password|passwd|authorization|bearer)[\"']?\s*[=: ]\s*"
    r"(?:bearer\s+|basic\s+)?[\"']?)([^\s\"'&]+)",
    re.IGNORECASE,
)
_IN_ADDRESS = re.compile(r"(://[^/\s:@]*:)[^/\s@]+(?=@)")


class Done(NamedTuple):
    """How a command ended."""

    code: int | None
    """None: it could not be started, or had to be ended."""
    out: str
    why: str
    """In one line, why it failed; empty where it did not."""

    @property
    def ok(self) -> bool:
        """Return whether it ended well."""
        return self.code == 0


def words(template: str, *, flag: str) -> tuple[str, ...]:
    """Return the arguments of a command; quotes group, nothing is expanded.

    Raises:
        InputError: There is none, or a quote is never closed.
    """
    try:
        found = tuple(shlex.split(template))
    except ValueError as err:
        raise InputError(f"{flag}: {err}", hint="quote it as in a shell") from None
    if not found:
        raise InputError(f"{flag} holds no command")
    return found


def checked_id(text: str, *, flag: str) -> str:
    """Return an id that can stand in any command.

    Raises:
        InputError: It is empty, could be taken for an option, or holds a space or sign.
    """
    if not ID.fullmatch(text):
        raise InputError(f"{flag} {text!r} is no id", hint="letters, digits and . : / @ + - _")
    return text


def filled(template: Sequence[str], **values: str) -> tuple[str, ...]:
    """Return the arguments with `{id}` and the like replaced; other braces stay as they are."""
    found = []
    for word in template:
        for name, value in values.items():
            word = word.replace("{" + name + "}", value)
        found.append(word)
    return tuple(found)


def shown(arguments: Sequence[str]) -> str:
    """Return a command as it would be typed, without secrets."""
    # Values first: quoting could hide one.
    return masked(shlex.join([_without_values(word) for word in arguments]))


def masked(text: str) -> str:
    """Return `text` without values of secret variables and what stands where secrets do.

    >>> masked("curl -H 'Authorization: Bearer abc123' api_key=xyz")
    "curl -H 'Authorization: Bearer ***' api_key=***"
    """
    text = _IN_ADDRESS.sub(rf"\1{MASK}", _without_values(text))
    return _SECRET_FLAG.sub(rf"\1{MASK}", text)


def _without_values(text: str) -> str:
    # The longest first: one value may be the beginning of another.
    for name, value in sorted(os.environ.items(), key=lambda each: -len(each[1])):
        if len(value) >= SECRET_LEAST and _SECRET_NAME.search(name):
            text = text.replace(value, MASK)
    return text


def run(
    arguments: Sequence[str],
    *,
    timeout_s: float,
    given: str = "",
    variables: Mapping[str, str] | None = None,
) -> Done:
    """Return how a command ended that was run as a process of its own, with `given` to read.

    When its time is up, it is ended with all that it started.
    """
    try:
        process = subprocess.Popen(
            list(arguments),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, **(variables or {})},
            start_new_session=True,
        )
    except (OSError, ValueError) as err:
        why = getattr(err, "strerror", None) or err
        return Done(None, "", masked(f"{arguments[0]} cannot be run: {why}"))
    try:
        out, err_bytes = process.communicate(
            given.encode("utf-8", "backslashreplace"), timeout=min(timeout_s, LONGEST_S)
        )
    except subprocess.TimeoutExpired:
        return Done(None, "", masked(f"{arguments[0]} did not end within {timeout_s:g} s"))
    finally:
        if process.poll() is None:  # too slow, or Ctrl-C: what was started must not live on
            _end(process)
    text = out.decode("utf-8", "replace")
    if process.returncode == 0:
        return Done(0, text, "")
    said = _last_line(err_bytes.decode("utf-8", "replace")) or _last_line(text)
    why = f"{arguments[0]} ended with {process.returncode}" + (f": {said}" if said else "")
    return Done(process.returncode, text, masked(why))


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return masked(lines[-1])[:SHORT] if lines else ""  # cut first, half a secret would be left


def _end(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(OSError):
        os.killpg(process.pid, signal.SIGKILL)
    process.kill()
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.communicate(timeout=1)
