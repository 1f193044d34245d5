#!/usr/bin/env python3
"""What a burst costs the program it measures: loops in turns, bare and under costplan.

    python bench/overhead.py                     # every loop, 24 starts each; half an hour
    python bench/overhead.py --loop host --starts 1 --into rows.jsonl    # one start, kept
    python bench/overhead.py --read rows.jsonl   # the table of what was kept

Needs torch. Four programs that train alike are started together, and train in turns of 0.3 s: bare,
measured by `costplan profile --keep-going`, after it has dropped its hooks, and under
torch.profiler. Each says by its own clock how long its steps took.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from statistics import fmean
from typing import IO, TYPE_CHECKING, Any, Final, NamedTuple

from costplan.profiler.series import mean_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from costplan.profiler.series import Mean

LOOPED: Final = Path(__file__).resolve().parent / "looped.py"
ENDLESS: Final = ("--batches", "20000")
LOOPS: Final = {
    "net alone": ("--slow", "none", "--units", "0", "--batch", "2"),
    "host": ("--slow", "tiny", "--units", "300", "--batch", "2"),
    "loader": ("--slow", "spin", "--units", "8000", "--workers", "2"),
    "compute": ("--slow", "matmul", "--units", "8"),
}
"""What is slow in each, by the flags of tests/loops/loop.py."""
SAID: Final = {
    "net alone": "a small net and nothing else",
    "host": "300 tiny operations to a step",
    "loader": "a slow loader with 2 workers",
    "compute": "large matrices",
}
BARE: Final = "bare"
KINDS: Final = {
    "on": ("--budget", "120"),
    "dropped": ("--budget", "1"),
}
"""Runs under costplan: with the default budget, which lasts longer than the bench, and one that is
over before it begins."""
COLUMNS: Final = {"on": "hooks on", "dropped": "hooks dropped", "traced": "torch.profiler"}
STARTS: Final = 24
ROUNDS: Final = 20
TRACED: Final = 5
"""The tracer takes a turn in every fifth round: what it does after a turn takes longer than it."""
TURN_S: Final = 0.1
"""Short, for a machine that is shared is not as fast in one second as in the next."""
WARM_S: Final = 1.5
"""The first turn of each, which does not count: costplan's own warm-up ends in it, and the budget
of the burst that is to be over."""
STILL_ON: Final = 0.9
"""Of all steps are in bursts where the hooks were on all the time; the rest are warm-up."""
US: Final = 1e6
MOST: Final = 1.03


class Turn(NamedTuple):
    """Of one program: steps and their seconds."""

    laps: int
    seconds: float


class Compared(NamedTuple):
    """A way of running a loop against the bare one, over all starts."""

    ratio: Mean
    more_us: Mean
    """Of a step."""


class Program:
    """A loop that trains when it is told to; what watches it stands still with it."""

    def __init__(self, process: subprocess.Popen[bytes], line: IO[str], *, watched: bool) -> None:
        self.process, self.line, self.watched = process, line, watched

    def turn(self, seconds: float) -> Turn:
        """Let it train for a while."""
        if self.watched:
            os.kill(self.process.pid, signal.SIGCONT)
        self.line.write(f"{seconds}\n")
        self.line.flush()
        told = json.loads(self.line.readline())
        if self.watched:
            os.kill(self.process.pid, signal.SIGSTOP)
        return Turn(told["laps"], told["seconds"])

    def end(self) -> None:
        """Let it end by itself."""
        if self.watched:
            os.kill(self.process.pid, signal.SIGCONT)
        self.line.close()
        self.process.wait(60)


def commands(loop: str, place: str, folder: Path) -> dict[str, list[str]]:
    """Return how each kind of run is started."""
    program = [sys.executable, "-W", "ignore", str(LOOPED), *LOOPS[loop], *ENDLESS, "--led"]
    found = {BARE: [*program, f"{place}:{BARE}"], "traced": [*program, f"{place}:traced"]}
    found["traced"].append("--traced")
    for kind, budget in KINDS.items():
        profile = [sys.executable, "-m", "costplan", "profile", "--keep-going", *budget]
        profile += ["-o", str(folder / f"{kind}.json"), "--"]
        found[kind] = [*profile, *program, f"{place}:{kind}"]
    return found


def started(loop: str, folder: Path, stack: ExitStack) -> dict[str, Program]:
    """Start a loop in every kind of run."""
    place = str(folder / "turns")
    server = stack.enter_context(socket.socket(socket.AF_UNIX))
    server.bind(place)
    server.listen()
    server.settimeout(120)
    processes = {}
    with (folder / "said").open("wb") as said:
        for kind, command in commands(loop, place, folder).items():
            processes[kind] = subprocess.Popen(
                command, cwd=folder, stdout=said, stderr=said, stdin=subprocess.DEVNULL,
                env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore"},
            )  # fmt: skip
            stack.callback(processes[kind].kill)
    programs = {}
    for _ in processes:
        # Each end is closed by the program that it belongs to.
        line = server.accept()[0].makefile("rw")
        kind = json.loads(line.readline())
        programs[kind] = Program(processes[kind], line, watched=kind in KINDS)
    return programs


def one_start(loop: str) -> dict[str, list[Turn]]:
    """Return the turns of every kind of run.

    Raises:
        RuntimeError: A burst was on that should have been over, or the other way round.
    """
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        folder = Path(name)
        programs = started(loop, folder, stack)
        turns: dict[str, list[Turn]] = {kind: [] for kind in programs}
        warm = {
            kind: program.turn(WARM_S if kind in KINDS else TURN_S).laps
            for kind, program in programs.items()
        }
        order = list(programs)
        for number in range(ROUNDS):
            for kind in order[number % len(order) :] + order[: number % len(order)]:
                if kind != "traced" or number % TRACED == 0:
                    turns[kind].append(programs[kind].turn(TURN_S))
        for program in programs.values():
            program.end()
        for kind in KINDS:
            profile = json.loads((folder / f"{kind}.json").read_text("utf-8"))
            _check(kind, warm[kind], turns[kind], profile)
    return turns


def _check(kind: str, warm: int, turns: Sequence[Turn], profile: dict[str, Any]) -> None:
    counted = sum(len(burst["steps_s"]) for burst in profile["bursts"])
    every = warm + sum(turn.laps for turn in turns)
    if not (counted > STILL_ON * every if kind == "on" else counted <= warm):
        raise RuntimeError(f"{kind}: {counted} of {every} steps are in bursts, {warm} came first")


def compared(starts: Sequence[dict[str, list[Turn]]], kind: str) -> Compared:
    """Return how one kind of run compares with the bare one; a start is one value."""
    steps = [(_step_s(each[kind]), _step_s(each[BARE])) for each in starts]
    return Compared(
        mean_of([one / bare for one, bare in steps]),
        # Shifted, for `mean_of` knows no times below 0; and back.
        _shifted([US * (one - bare) for one, bare in steps]),
    )


def _shifted(values: Sequence[float]) -> Mean:
    least = min(values)
    mean = mean_of([value - least for value in values])
    half = mean.high - mean.value
    value = mean.value + least
    return mean._replace(value=value, low=value - half, high=value + half)


def _step_s(turns: Sequence[Turn]) -> float:
    return sum(turn.seconds for turn in turns) / sum(turn.laps for turn in turns)


def table(rows: dict[str, list[dict[str, list[Turn]]]]) -> str:
    """Return the Markdown table of all loops."""
    lines = [
        f"| loop | starts | bare step | {' | '.join(COLUMNS.values())} |",
        f"|---|--:|--:|{'--:|' * len(COLUMNS)}",
    ]
    for loop, starts in rows.items():
        bare_ms = 1e3 * fmean(_step_s(each[BARE]) for each in starts)
        cells = [_cell(compared(starts, kind)) for kind in COLUMNS]
        name = f"{loop}: {SAID[loop]}"
        lines.append(f"| {name} | {len(starts)} | {bare_ms:.2f} ms | {' | '.join(cells)} |")
    return "\n".join(lines)


def _cell(found: Compared) -> str:
    ratio, more = found
    half_us = more.high - more.value
    return (f"{ratio.value:.4f}, at most {ratio.high:.4f} "
            f"({more.value:+.0f} ± {half_us:.0f} us)")  # fmt: skip


def read(path: Path) -> dict[str, list[dict[str, list[Turn]]]]:
    """Return the starts that a file holds, by their loops."""
    found: dict[str, list[dict[str, list[Turn]]]] = {loop: [] for loop in LOOPS}
    for line in path.read_text("utf-8").splitlines():
        row = json.loads(line)
        found[row["loop"]].append(
            {kind: [Turn(*turn) for turn in turns] for kind, turns in row["turns"].items()}
        )
    return {loop: starts for loop, starts in found.items() if starts}


def main() -> None:
    """Run what is asked for, and print the table."""
    parser = argparse.ArgumentParser(description="What a burst costs the program it measures.")
    parser.add_argument("--loop", choices=LOOPS, action="append", help="this one; again for more")
    parser.add_argument("--starts", type=int, default=STARTS)
    parser.add_argument("--into", type=Path, metavar="FILE", help="add the turns to it as well")
    parser.add_argument("--read", type=Path, metavar="FILE", help="run nothing")
    args = parser.parse_args()
    if args.read:
        print(table(read(args.read)))
        return
    rows = {}
    for loop in args.loop or LOOPS:
        rows[loop] = [one_start(loop) for _ in range(args.starts)]
        if args.into:
            with args.into.open("a", encoding="utf-8") as file:
                file.writelines(json.dumps({"loop": loop, "turns": turns}) + "\n"
                                for turns in rows[loop])  # fmt: skip
    print(table(rows))


if __name__ == "__main__":
    main()
