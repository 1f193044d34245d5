"""Commands that only shut down the system inside a box: at most providers the bill goes on."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

HALTS: Final = {"shutdown", "poweroff", "halt"}
INITS: Final = {"init", "telinit"}
UNITS: Final = {"poweroff", "halt", "suspend", "hibernate"}
"""What `systemctl` is told."""
WRAPPERS: Final = {
    *("sudo", "doas", "env", "nohup", "nice", "timeout", "setsid", "time", "exec", "command"),
    *("busybox", "stdbuf", "ionice", "su", "runuser"),
}
"""Programs that run the rest of their words."""
SHELLS: Final = {"sh", "bash", "dash", "zsh", "ash", "ksh", "fish"}
REMOTE: Final = {"ssh", "autossh", "mosh", "tsh", "docker", "podman", "kubectl", "nsenter"}
"""Programs that run words elsewhere, after options of their own that nobody need know here."""
_SEPARATORS = re.compile(r"[;&|\n]+")
_ASSIGNMENT = re.compile(r"\w+=.*")


def is_guest_shutdown(words: Sequence[str]) -> bool:
    """Return whether a command shuts down a system from inside, here or over ssh.

    What a script does that the command calls, nobody can see from its name.

    >>> is_guest_shutdown(["sudo", "shutdown", "-h", "now"])
    True
    >>> is_guest_shutdown(["ssh", "-p", "22", "box", "sudo poweroff"])
    True
    >>> is_guest_shutdown(["linode-cli", "linodes", "shutdown", "7"])
    False
    """
    names = [_name(word) for word in words]
    if any(name in REMOTE for name in names):
        inner = " ".join(words).split()
        return any(_halts(inner[at:]) for at in range(len(inner)))
    rest = _unwrapped(words)
    if rest and _name(rest[0]) in SHELLS:
        pieces = [piece for word in rest[1:] for piece in _SEPARATORS.split(word)]
        return any(is_guest_shutdown(piece.split()) for piece in pieces if piece.strip())
    return _halts(rest)


def _unwrapped(words: Sequence[str]) -> Sequence[str]:
    """Return the words from the first program on that is no wrapper."""
    wrapped = False
    for at, word in enumerate(words):
        if _name(word) in WRAPPERS:
            wrapped = True
        elif _ASSIGNMENT.fullmatch(word):
            continue
        elif not wrapped or _halts(words[at:]) or _name(word) in SHELLS:
            return words[at:]
        # After a wrapper its own options and their values come first: `timeout 60 shutdown`.
    return words


def _halts(words: Sequence[str]) -> bool:
    if not words:
        return False
    name, rest = _name(words[0]), words[1:]
    return (
        name in HALTS
        or (name in INITS and rest[:1] in (["0"], ("0",)))
        or (name == "systemctl" and bool(UNITS & set(rest)))
    )


def _name(word: str) -> str:
    return word.strip("'\"").rsplit("/", 1)[-1]
