"""Writing to standard output and standard error, whoever reads them."""

from __future__ import annotations

import os
import sys

import typer


def write(text: str) -> None:
    """Write the answer; a reader that has closed the pipe has what it wanted: exit 0."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        # Nothing more can be written, not even what Python flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(0) from None


def talk(text: str) -> None:
    """Write what is said beside the answer; nobody listening is no error."""
    try:
        sys.stderr.write(text)
        sys.stderr.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())
