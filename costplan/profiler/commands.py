"""Which commands of other programs would change the user's files, as far as their words tell.

The guard sees only what Python does. A program started from Python acts unseen, so a command
whose words say that it would delete, overwrite or upload something of the user's is refused before
it starts. This reads words, it does not run a shell: what a script file does, or a variable that
only the shell knows, stays unseen.
"""

from __future__ import annotations

import glob
import os
import re
import shlex
from itertools import pairwise
from typing import TYPE_CHECKING, Final, NamedTuple

from costplan.profiler import kept

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

EVERY_WORD: Final = frozenset(
    {
        *("rm", "rmdir", "unlink", "mv", "shred", "truncate", "tee", "touch", "chmod", "chown"),
        *("gzip", "gunzip", "xz", "bzip2", "zstd"),
    }
)
"""Tools that change each file they are given."""
LAST_WORD: Final = frozenset({"cp", "rsync", "install", "ln", "scp"})
"""Tools that change what they are given last."""
COPIERS: Final = frozenset({"aws", "gsutil", "gcloud", "rclone", "azcopy", "s5cmd", "s3cmd"})
COPYING: Final = frozenset(
    {"cp", "copy", "copyto", "sync", "rsync", "mv", "move", "moveto", "put", "rm", "delete"}
)
"""What the tools of remote stores call a change; the last word says where."""
TO_A_HOST: Final = frozenset({"scp", "rsync", "sftp"})
PUSHERS: Final = frozenset({"hf", "huggingface-cli", "git", "dvc", "kaggle"})
PUSHING: Final = frozenset({"push", "upload", "upload-large-folder"})
REDIRECTIONS: Final = frozenset({">", ">>", ">|", "&>", "&>>"})
SHELLS: Final = frozenset({"sh", "bash", "dash", "zsh", "ksh"})
BEFORE_A_TOOL: Final = frozenset({"sudo", "exec", "nohup", "env", "command", "time"})
_ASSIGNED: Final = re.compile(r"[A-Za-z_]\w*=")
_ELSEWHERE: Final = re.compile(r"(?!/)[\w@.+-]+:")


class Harm(NamedTuple):
    """What a command would do, and to which path."""

    path: str
    why: str


def harm(ground: kept.Ground, words: Sequence[str], folder: str) -> Harm | None:
    """Return what a command, started in `folder`, would do to the user's files."""
    for command in _commands(list(words)):
        for path, below in _changed(command):
            mine = _kept_at(ground, path, folder, below=below)
            if mine is not None:
                return Harm(mine, f"lets `{command[0]}` change a file of yours")
        if _sends(command):
            return Harm(" ".join(command), "sends results of a burst away")
    return None


def _commands(words: list[str]) -> Iterator[list[str]]:
    """Yield the simple commands in the words of one, those of a shell's `-c` one by one."""
    while words and (os.path.basename(words[0]) in BEFORE_A_TOOL or _ASSIGNED.match(words[0])):
        words = words[1:]
    if not words:
        return
    if os.path.basename(words[0]) in SHELLS:
        for flag, text in pairwise(words[1:]):
            if flag.startswith("-") and flag.endswith("c"):
                yield from _in_shell(text)
        return
    yield [os.path.basename(words[0]), *words[1:]]


def _in_shell(text: str) -> Iterator[list[str]]:
    command: list[str] = []
    for token in [*_tokens(text), ";"]:
        if set(token) <= set("();|&\n"):
            yield from _commands(command)
            command = []
        else:
            command.append(token)


def _tokens(text: str) -> list[str]:
    reader = shlex.shlex(text.replace("\n", " ; "), posix=True, punctuation_chars=True)
    reader.whitespace_split = True
    try:
        return list(reader)
    except ValueError:  # an open quote: a shell would not run it either
        return []


def _changed(command: list[str]) -> Iterator[tuple[str, bool]]:
    """Yield the paths that a simple command changes, and whether all below them."""
    tool, *words = command
    for sign, word in pairwise(words):
        if sign in REDIRECTIONS:
            yield word, False
    named = [word for word in words if not word.startswith("-")]
    if tool in EVERY_WORD:
        yield from ((word, True) for word in named)
    elif tool in LAST_WORD and named:
        *sources, target = named
        yield target, tool == "rsync"
        yield from ((os.path.join(target, _last_part(source)), True) for source in sources)
    elif tool == "dd":
        yield from ((word[3:], False) for word in words if word.startswith("of="))


def _last_part(path: str) -> str:
    return os.path.basename(path.rstrip("/"))


def _kept_at(ground: kept.Ground, path: str, folder: str, *, below: bool) -> str | None:
    path = os.path.join(folder, os.path.expanduser(os.path.expandvars(path)))
    for match in glob.glob(path):
        if os.path.isfile(match) and kept.is_kept(ground, match, os.stat(match)):
            return match
        if below and (mine := kept.holds_kept(ground, match)):
            return mine
    return None


def _sends(command: list[str]) -> bool:
    tool, *words = command
    named = [word for word in words if not word.startswith("-")]
    elsewhere = bool(named) and _ELSEWHERE.match(named[-1]) is not None
    if tool in PUSHERS:
        return bool(PUSHING.intersection(named))
    return elsewhere and (tool in TO_A_HOST or (tool in COPIERS and bool(COPYING & set(named))))
