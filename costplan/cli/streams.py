"""Writing to standard output and standard error, whoever reads them."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import typer

from costplan.errors import InputError

if TYPE_CHECKING:
    from typing import TextIO


def is_terminal(stream: TextIO | None) -> bool:
    """Return whether a person reads `stream`; a closed one has no reader."""
    return stream is not None and stream.isatty()


def write(text: str) -> None:
    """Write the answer; a reader that has closed the pipe has what it wanted: exit 0.

    Raises:
        InputError: Standard output is closed or full.
    """
    if sys.stdout is None:
        raise InputError("standard output is closed")
    try:
        sys.stdout.write(_encodable(text, sys.stdout))
        sys.stdout.flush()
    except BrokenPipeError:
        # Nothing more can be written, not even what Python flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(0) from None
    except OSError as err:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise InputError(f"standard output: {err.strerror or err}") from None


def talk(text: str) -> None:
    """Write what is said beside the answer; nobody listening is no error."""
    if sys.stderr is None:
        return
    try:
        sys.stderr.write(_encodable(text, sys.stderr))
        sys.stderr.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())


def _encodable(text: str, stream: TextIO) -> str:
    """Return `text` with what the stream's encoding lacks written as escapes."""
    encoding = stream.encoding or "utf-8"
    return text.encode(encoding, "backslashreplace").decode(encoding)
