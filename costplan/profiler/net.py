"""Ends the run where something would reach the user's files round the wrapped functions.

Python tells its audit hooks of every opening and every change by name, also of functions that a
module took before the guard started. A hook cannot redirect, so what it sees is refused. It costs
a quarter of a microsecond at every `id()` as well, which Python tells of too.
"""

from __future__ import annotations

import os
import stat
import sys
from typing import TYPE_CHECKING, Any, Final

from costplan.profiler import kept
from costplan.profiler.commands import harm
from costplan.profiler.inside import INSIDE
from costplan.profiler.refusal import refuse
from costplan.profiler.twins import found_at

if TYPE_CHECKING:
    from collections.abc import Callable

    from costplan.profiler.twins import Twins

CHANGING: Final = os.O_WRONLY | os.O_RDWR | os.O_TRUNC
LINKS: Final = frozenset({"os.remove", "os.rename"})
"""What acts on a symbolic link itself."""
FIRST_PATH: Final = (
    *("os.remove", "os.truncate", "os.chmod", "os.chown", "os.utime", "os.setxattr"),
    *("os.removexattr", "os.link", "os.chflags", "sqlite3.connect"),
)
"""Events whose first argument is the path that would change."""
COMMANDS: Final = ("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn")


def install_net(twins: Twins) -> None:
    """Watch this process for what goes round the wrapped functions."""
    handlers: dict[str, Callable[[Twins, str, tuple[Any, ...]], None]] = {
        "open": _opened,
        "os.rename": _renamed,
        **dict.fromkeys(FIRST_PATH, _changed),
        **dict.fromkeys(COMMANDS, _started),
    }
    handler_of = handlers.get

    def net(event: str, args: tuple[Any, ...]) -> None:
        handler = handler_of(event)
        if handler is None:
            return
        before, INSIDE.on = INSIDE.on, True
        try:
            handler(twins, event, args)
        finally:
            INSIDE.on = before

    sys.addaudithook(net)


def _check(twins: Twins, path: Any, why: str, *, follow: bool = True) -> None:
    if not isinstance(path, (str, bytes, os.PathLike)):
        return
    text = os.fsdecode(path)
    found = found_at(text, follow=follow)
    if found is not None and kept.is_kept(twins.ground, text, found):
        refuse(twins.folder, os.path.abspath(text), why)


def _opened(twins: Twins, event: str, args: tuple[Any, ...]) -> None:
    path, _, flags = args
    if isinstance(flags, int) and flags & CHANGING and not flags & os.O_EXCL:
        _check(twins, path, "opens a file of yours for writing")


def _changed(twins: Twins, event: str, args: tuple[Any, ...]) -> None:
    if event == "sqlite3.connect" and os.fsdecode(args[0]).startswith("file:"):
        return  # an address, not a path: the wrapped `connect` has read it
    _check(twins, args[0], f"changes a file of yours ({event})", follow=event not in LINKS)


def _renamed(twins: Twins, event: str, args: tuple[Any, ...]) -> None:
    for path in args[:2]:
        _check(twins, path, "renames a file of yours", follow=False)
    source = os.fsdecode(args[0])
    found = found_at(source, follow=False)
    if found is None or not stat.S_ISDIR(found.st_mode):
        return
    if kept.existed(twins.ground, source, found):
        mine = kept.holds_kept(twins.ground, source)
        if mine is not None:
            refuse(twins.folder, mine, "renames a folder of yours")


def _started(twins: Twins, event: str, args: tuple[Any, ...]) -> None:
    words, folder = _words(event, args)
    found = harm(twins.ground, words, folder)
    if found is not None:
        refuse(twins.folder, *found)


def _words(event: str, args: tuple[Any, ...]) -> tuple[list[str], str]:
    """Return the words of a command, and the folder it starts in."""
    here = os.getcwd()
    if event == "os.system":
        return ["sh", "-c", os.fsdecode(args[0])], here
    given = args[1]
    words = [given] if isinstance(given, (str, bytes, os.PathLike)) else list(given)
    folder = args[2] if event == "subprocess.Popen" and args[2] is not None else here
    return [os.fsdecode(word) for word in words], os.path.join(here, os.fsdecode(folder))
