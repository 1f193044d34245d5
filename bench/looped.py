#!/usr/bin/env python3
"""A loop of tests/loops that times itself: whole epochs, or turns in which other programs stand.

    python looped.py --timed 2 --slow spin --workers 2     # prints the seconds of each epoch
    python looped.py --led SOCKET:NAME [--traced] --slow spin

It knows nothing of costplan. What is slow is told by the flags of tests/loops/loop.py.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import socket
import sys
import time
from itertools import chain, repeat
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "loops"))

import loop
from costs import Costs, small_files
from samples import training_loader, validation_loader

if TYPE_CHECKING:
    from collections.abc import Iterator

    from loop import Trainer


def made(words: list[str]) -> tuple[argparse.Namespace, Trainer, Any]:
    """Return the flags of a loop, its trainer and its loader."""
    torch.manual_seed(0)
    args = loop.asked(words)
    costs = Costs(args.slow, small_files(args.files) if args.slow == "files" else [])
    costs.units = args.units
    trainer = loop.Trainer(args, costs)
    trainer.prepare()
    return args, trainer, training_loader(args, costs)


def epochs(args: argparse.Namespace, trainer: Trainer, loader: Any) -> Iterator[float]:
    """Train for ever; yield the seconds of each epoch, its validation among them."""
    looked = validation_loader(args, Costs("none", []))
    while True:
        began_s = time.perf_counter()
        for number, batch in enumerate(loader):
            trainer.step(batch)
            if args.epochs == "validation" and number % loop.VALIDATED == loop.VALIDATED - 1:
                trainer.validate(looked)
        if args.epochs == "short":
            trainer.validate(looked)
        yield time.perf_counter() - began_s


class Turns:
    """The clock of a loop that others stop and let go; it runs while the loop does."""

    def __init__(self, place: str, *, traced: bool) -> None:
        path, _, name = place.rpartition(":")
        self.line = socket.socket(socket.AF_UNIX)
        self.line.connect(path)
        self.file = self.line.makefile("rw")
        self.traced = traced
        self.began_s, self.until_s, self.laps = 0.0, 0.0, -1
        self.tracer: Any = None
        self._say(name)

    def lap(self) -> bool:
        """Note that a step ended; return whether there is another."""
        self.laps += 1
        now_s = time.perf_counter()
        if now_s < self.until_s:
            return True
        if self.tracer is not None:
            self.tracer.stop()
            self.tracer = None
        if self.laps:
            self._say({"laps": self.laps, "seconds": now_s - self.began_s})
        asked = self.file.readline()
        if not asked:
            return False
        if self.traced:
            self.tracer = torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU])
            self.tracer.start()
        self.laps, self.began_s = 0, time.perf_counter()
        self.until_s = self.began_s + float(asked)
        return True

    def _say(self, what: object) -> None:
        self.file.write(json.dumps(what) + "\n")
        self.file.flush()


def led(trainer: Trainer, loader: Any, turns: Turns) -> None:
    """Train in turns; a step is from one batch to the next."""
    for batch in chain.from_iterable(repeat(loader)):
        if not turns.lap():
            return
        trainer.step(batch)


def main() -> None:
    """Train as asked."""
    parser = argparse.ArgumentParser(description="A loop that times itself.", allow_abbrev=False)
    parser.add_argument("--timed", type=int, metavar="N", help="end after so many")
    parser.add_argument("--led", metavar="SOCKET:NAME", help="train when told to there")
    parser.add_argument("--traced", action="store_true", help="under torch.profiler, with --led")
    mine, words = parser.parse_known_args()
    torch.set_num_threads(1)
    args, trainer, loader = made(words)
    if mine.led:
        turns = Turns(mine.led, traced=mine.traced)
        with contextlib.suppress(BrokenPipeError):
            led(trainer, loader, turns)
        return
    for number, epoch_s in enumerate(epochs(args, trainer, loader), start=1):
        sys.stdout.write(json.dumps({"epoch_s": epoch_s}) + "\n")
        sys.stdout.flush()
        if number == mine.timed:
            return


if __name__ == "__main__":
    main()
