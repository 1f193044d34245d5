"""The command that `costplan profile` starts: the user's own, or a builtin with its data folder."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from costplan.box import measure
from costplan.cli.streams import talk
from costplan.errors import InputError, UnknownError
from costplan.profiler.builtin.names import BUILTINS, PRECISIONS, REFUSAL, command, found
from costplan.usable import usable_cores

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

MOST_WORKERS: Final = 8
"""Unless asked otherwise: as many as there are usable cores, and no more than this, which is what
Ultralytics starts."""


class Options(NamedTuple):
    """The flags that only a builtin has, as typed; None where they were not given."""

    batch: str | None = None
    workers: int | None = None
    precision: str | None = None


class Program(NamedTuple):
    """What is to be run."""

    line: list[str]
    asked: dict[str, Any]
    """As JSON tells it."""
    folder: str | None = None
    """Where a builtin makes its data; gone afterwards."""


@contextlib.contextmanager
def program(words: Sequence[str] | None, name: str | None, options: Options) -> Iterator[Program]:
    """Give what is to be run; the data of a builtin is gone afterwards, also after Ctrl-C.

    Raises:
        InputError: A flag cannot be used as it stands, or there is no torch.
        UnknownError: Not even one sample fits, or the search for a batch failed.
    """
    if name is None:
        yield Program(list(words or ()), {"command": list(words or ())})
        return
    chosen = found(name)
    if importlib.util.find_spec("torch") is None:
        raise InputError(
            f"--builtin {name}: there is no torch beside this Python ({sys.executable})",
            hint='install costplan beside the torch that you train with; where there is none: '
            'pip install "costplan[profile]"',
        )  # fmt: skip
    precision = options.precision or PRECISIONS[0]
    workers = _workers() if options.workers is None else options.workers
    with tempfile.TemporaryDirectory(
        prefix="costplan-builtin-", ignore_cleanup_errors=True
    ) as folder:
        batch = chosen.batch
        if options.batch == "auto":
            batch = fitting(name, folder, precision)
        elif options.batch is not None:
            batch = int(options.batch)
        line = command(name, folder, ["--batch", str(batch), "--workers", str(workers),
                                      "--precision", precision])  # fmt: skip
        asked = {"builtin": name, "batch": batch, "batch_asked": options.batch,
                 "workers": workers, "precision": precision, "command": line}  # fmt: skip
        try:
            yield Program(line, asked, folder)
        except UnknownError:
            _tell_refusal(folder)
            raise


def check(name: str | None, options: Options) -> None:
    """Refuse flags that cannot be used as they stand.

    Raises:
        InputError: It says which and why.
    """
    given = [f"--{flag}" for flag, value in options._asdict().items() if value is not None]
    if name is None and given:
        raise InputError(
            f"{', '.join(given)}: only with --builtin", hint="those of a command go after --"
        )
    batch = options.batch
    if batch not in (None, "auto") and not (batch.isascii() and batch.isdigit() and int(batch)):
        raise InputError(f"--batch {batch}: not a number of samples", hint="write 32 or auto")
    if options.workers is not None and options.workers < 0:
        raise InputError(f"--workers {options.workers}: below 0")
    if options.precision not in (None, *PRECISIONS):
        raise InputError(
            f"--precision {options.precision}: not known", hint=f"one of {', '.join(PRECISIONS)}"
        )


def _workers() -> int:
    return min(MOST_WORKERS, max(1, int(usable_cores(measure.cores()) or 1)))


def fitting(name: str, folder: str, precision: str) -> int:
    """Return the largest power of two that fits, by a process that trains with it; tell it too.

    The process is its own: what it took of the device is free again, and no hook counts its steps.

    Raises:
        InputError: The builtin cannot run in this precision here.
        UnknownError: Nothing fits, or the search failed.
    """
    line = command(name, folder, ["--fit", "--precision", precision])
    done = subprocess.run(line, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=False)
    _tell_refusal(folder)
    try:
        answer = json.loads(done.stdout)
        batch, ended = answer["batch"], answer["ended"]
    except (ValueError, KeyError, TypeError):
        raise UnknownError(
            f"--batch auto: the search ended with exit code {done.returncode}",
            hint=f"what it said stands above; --batch {BUILTINS[name].batch} does without",
        ) from None
    if batch is None:
        raise UnknownError(
            f"--batch auto: not even one sample of {name} fits: {ended}",
            hint="end what else uses the device, or take another of: " + ", ".join(BUILTINS),
        )
    talk(f"batch {batch}, the largest power of two that fits; {ended}\n")
    return int(batch)


def _tell_refusal(folder: str) -> None:
    """Raise what a builtin said before it could train, if it did.

    Raises:
        InputError: It cannot run as it was asked to.
    """
    refused = Path(folder) / REFUSAL
    if refused.exists():
        said = json.loads(refused.read_text(encoding="utf-8"))
        raise InputError(said["error"], hint=said["hint"])
