"""Starts a training command with the hooks in it, and leaves nothing of it running."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from costplan.box.gpusampler import Sampler
from costplan.errors import InputError
from costplan.profiler import holding, spared
from costplan.profiler.gpuside import Seen
from costplan.profiler.tracing import trace_facts
from costplan.profiler.trackers import tracker_variables
from costplan.records.ranks import RankTaken

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

GRACE_S: Final = 60.0
"""After the last burst the program has so long to clean up."""
OVERDUE: Final = 2.0
"""Times the budget after which a program is ended that has not come to its last burst: it validates
for that long, or trains from something that cannot be fed."""
POLL_S: Final = 0.2
END_S: Final = 5.0
"""For a program to end that was asked to."""
HELD_S: Final = 1.0
"""The same where scripts are held: they cannot, and what else they started needs no more."""


class Ran(NamedTuple):
    """What a command did under the bursts."""

    code: int | None
    """None where it had to be ended."""
    ranks: tuple[RankTaken, ...]
    """What each process that trained has measured."""
    spared: spared.Spared
    refused: dict[str, object] | None
    spent_s: float
    seen: Seen
    """Of the GPU, from outside the program and in a trace."""


def run(
    command: Sequence[str],
    *,
    budget_s: float,
    allow_writes: bool,
    keep_going: bool,
    kernels: bool = False,
    tell: Callable[[RankTaken], None],
) -> Ran:
    """Return what a command measured of itself; its own output goes to standard error.

    Args:
        command: As it would be typed.
        budget_s: For the bursts, from the first step on.
        allow_writes: Let it write over the user's files.
        keep_going: Measure the real burst only, and let it train on.
        kernels: Trace a few steps of the device's work too.
        tell: Told now and then what the first rank has so far.

    Raises:
        InputError: The command cannot be started.
    """
    began_s = time.perf_counter()
    # Beside the run: twins of checkpoints are renamed, and a rename wants one disk.
    with tempfile.TemporaryDirectory(prefix=".costplan-profile-", dir=_place()) as folder:
        settings = {
            "folder": folder, "budget_s": budget_s, "began_s": began_s, "started_s": time.time(),
            "started_by": os.getpid(),
            "allow_writes": allow_writes or keep_going, "keep_going": keep_going,
            "kernels": kernels,
        }  # fmt: skip
        process = _started(command, settings)
        sampler = Sampler()
        try:
            sampler.start()
            code = _watched(process, Path(folder), budget_s, keep_going=keep_going, tell=tell)
        finally:
            ranks = _ranks(Path(folder))
            _end(process, HELD_S if held(ranks) else END_S)
            sampler.stop()
        ranks = _ranks(Path(folder))
        return Ran(
            code=code,
            ranks=ranks,
            spared=spared.spared(folder),
            refused=spared.refused(folder),
            spent_s=time.perf_counter() - began_s,
            seen=_seen(Path(folder), ranks, sampler),
        )


def _seen(folder: Path, ranks: Sequence[RankTaken], sampler: Sampler) -> Seen:
    """Return what the driver said, and what the trace shows where a burst made one."""
    problem = next((each.facts.untraced for each in ranks if each.facts.untraced), None)
    for path in sorted(folder.glob("*.trace")):
        try:
            return Seen(sampler.samples, trace_facts(path), problem)
        except InputError as error:
            problem = problem or str(error)
    return Seen(sampler.samples, None, problem)


def _place() -> str | None:
    return "." if os.access(".", os.W_OK) else None


def _started(command: Sequence[str], settings: dict[str, Any]) -> subprocess.Popen[bytes]:
    inject = str(Path(__file__).parent / "inject")
    paths = [inject, *filter(None, [os.environ.get("PYTHONPATH")])]
    variables = {
        **os.environ,
        **tracker_variables(),
        "COSTPLAN_PROFILE": json.dumps(settings),
        "PYTHONPATH": os.pathsep.join(paths),
    }
    try:
        return subprocess.Popen(
            list(command), env=variables, stdin=subprocess.DEVNULL, stdout=sys.stderr.fileno(),
            start_new_session=True,
        )  # fmt: skip
    except (OSError, ValueError) as err:
        why = getattr(err, "strerror", None) or err
        raise InputError(f"{command[0]} cannot be started: {why}") from None


def _watched(
    process: subprocess.Popen[bytes], folder: Path, budget_s: float, *, keep_going: bool,
    tell: Callable[[RankTaken], None],
) -> int | None:  # fmt: skip
    """Return the exit code; None where the program had to be ended after its bursts."""
    patience = Patience(budget_s)
    stamps: dict[str, int] = {}
    ranks: tuple[RankTaken, ...] = ()
    while True:
        with contextlib.suppress(subprocess.TimeoutExpired):
            return process.wait(POLL_S)
        if (folder / "refused.json").exists():
            return None
        now = _stamps(folder)
        if now != stamps:  # reading them takes a processor that the program may want
            stamps, ranks = now, _ranks(folder)
            if ranks:
                tell(ranks[0])
        waited_for = held(ranks)
        if waited_for and all(map(holding.has_ended, waited_for)):
            return holding.exit_code(waited_for[0])
        if not keep_going and patience.is_over(ranks, time.perf_counter()):
            return None


def held(ranks: Sequence[RankTaken]) -> list[int]:
    """Return the processes that held scripts wait for; none where no script is held."""
    pids = [each.facts.waited_for for each in ranks]
    return [pid for pid in pids if pid is not None]


class Patience:
    """How long a program may go on: to clean up after its bursts, or without ending them."""

    def __init__(self, budget_s: float) -> None:
        self.budget_s = budget_s
        self.stepped_s: float | None = None
        self.finished_s: float | None = None

    def is_over(self, ranks: Sequence[RankTaken], now_s: float) -> bool:
        """Return whether a program that has written this by now must be ended."""
        if ranks and self.stepped_s is None:
            self.stepped_s = now_s
        if ranks and self.finished_s is None and all(each.facts.finished for each in ranks):
            self.finished_s = now_s
        if self.finished_s is not None:
            return now_s - self.finished_s > GRACE_S
        longest_s = OVERDUE * self.budget_s + GRACE_S
        return self.stepped_s is not None and now_s - self.stepped_s > longest_s


def _stamps(folder: Path) -> dict[str, int]:
    """Return when each file of the processes was written last."""
    return {path.name: path.stat().st_mtime_ns for path in folder.glob("*.json")}


def _ranks(folder: Path) -> tuple[RankTaken, ...]:
    """Return what each training process has written, the first rank first."""
    found = []
    for path in sorted(folder.glob("*.json")):
        if not path.stem.isdigit():
            continue
        with contextlib.suppress(OSError, ValueError):
            found.append(RankTaken.model_validate_json(path.read_bytes()))
    return tuple(sorted(found, key=lambda each: (each.rank, -each.optimizer_steps)))


def _end(process: subprocess.Popen[bytes], longest_s: float) -> None:
    """End whatever of the command still lives, with all that it started."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(OSError):
            os.killpg(process.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(longest_s)
