#!/usr/bin/env python3
"""A training loop that is slow where its flags say. It knows nothing of costplan.

    python loop.py --slow spin --workers 2              # trains until it is ended
    python loop.py --slow spin --units 9000 --steps 60  # prints its mean step, and ends

What is slow costs `--units` of it for each batch; without, as many as take `--times` as long as the
forward and backward pass of the net, which is timed first. One line of JSON says what was measured.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import sys
import time
from itertools import count
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

import torch
from costs import BATCH, DEVICE, HOST, LOADER, Costs, slow_adam, small_files, timed, unit_s
from samples import LONGEST, Preloaded, epoch_of, parts, training_loader, validation_loader
from torch import distributed, nn

if TYPE_CHECKING:
    from collections.abc import Iterator

ACCUMULATED = 4
"""Batches to an optimizer step, with accumulation."""
OVERFLOWS = 4
"""Of so many steps one has no finite gradient, with a scaler."""
VALIDATED = 40
"""Batches between two looks at the model."""
KEPT_BATCHES = 32
HIDDEN = 256
HIDDEN_BF16 = 24
"""Of the net: a step of some milliseconds, also on a CPU that has no instructions for bfloat16."""


def asked(words: list[str]) -> argparse.Namespace:
    """Return what the flags ask for."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--slow", choices=["none", *LOADER, *HOST, *DEVICE], default="none")
    parser.add_argument("--units", type=int, help="of what is slow, for a batch of 16")
    parser.add_argument("--times", type=float, default=3.0, help="without --units")
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--persistent", action="store_true")
    parser.add_argument("--batch", type=int, default=BATCH)
    forms = ["list", "tuple", "dict", "namedtuple", "nested", "own"]
    parser.add_argument("--batch-form", choices=forms, default="list")
    parser.add_argument("--data", choices=["map", "iterable", "lengths"], default="map")
    parser.add_argument("--epochs", choices=["long", "short", "validation"], default="long")
    parser.add_argument("--batches", type=int, help="of an epoch")
    parser.add_argument("--precision", choices=["full", "bf16", "scaler"], default="full")
    parser.add_argument("--accumulate", action="store_true")
    parser.add_argument("--gan", action="store_true")
    parser.add_argument("--compile", metavar="BACKEND", help="of torch.compile")
    parser.add_argument("--preloaded", action="store_true", help="take the batches from a list")
    parser.add_argument("--files", type=Path, default=Path(), help="a folder for what is read")
    parser.add_argument("--warmup", type=int, default=10, help="steps that are not counted")
    parser.add_argument("--steps", type=int, help="end after so many, and say their mean")
    parser.add_argument("--then", action="append", default=[], metavar="'FLAGS'",
                        help="the same once more, with more flags")  # fmt: skip
    parser.add_argument("--rounds", type=int, default=1, help="of it and all --then, in turn")
    return parser.parse_args(words)


class Trainer:
    """A small net, its optimizer or two, and one step of training."""

    def __init__(self, args: argparse.Namespace, costs: Costs) -> None:
        self.args, self.costs = args, costs
        self.every = ACCUMULATED if args.accumulate else 1
        hidden = HIDDEN_BF16 if args.precision == "bf16" else HIDDEN
        self.net = nn.Sequential(nn.Linear(64, hidden), nn.ReLU(), nn.Linear(hidden, hidden),
                                 nn.ReLU(), nn.Linear(hidden, 10))  # fmt: skip
        self.generator = nn.Sequential(nn.Linear(64, 64), nn.Tanh())
        self.scaler = torch.amp.GradScaler("cpu", enabled=args.precision == "scaler",
                                           growth_interval=2)  # fmt: skip
        self.batches = 0

    def prepare(self) -> None:
        """Make what depends on how slow it is to be, and on the other ranks."""
        extra = self.costs.parameters(self.every)
        if distributed.is_initialized():
            self.net = nn.parallel.DistributedDataParallel(self.net)
        if self.args.compile:
            self.net = torch.compile(self.net, backend=self.args.compile)
        self.optimizer = slow_adam([*self.net.parameters(), *extra])
        self.other = torch.optim.SGD(self.generator.parameters(), 1e-3)

    def loss(self, x: Any, y: Any) -> Any:
        """Return the loss of a batch."""
        with self.autocast():
            found = nn.functional.cross_entropy(self.net(x).mean(1), y)
            return found + self.costs.of_device(x) + self.costs.of_parameters()

    def autocast(self) -> Any:
        """Return where lower precision holds."""
        if self.args.precision != "bf16":
            return contextlib.nullcontext()
        return torch.autocast("cpu", dtype=torch.bfloat16)

    def bare(self, x: Any, y: Any) -> None:
        """Go forward and back, and leave everything as it was."""
        self._fool(x) if self.args.gan else None
        self.loss(x, y).backward()
        self.net.zero_grad()
        self.generator.zero_grad()

    def step(self, batch: Any) -> None:
        """Train on one batch."""
        x, y = parts(self.args.batch_form, batch)
        self.batches += 1
        self.costs.of_step()
        loss = self.loss(x, y) / self.every
        if self.args.precision == "scaler" and self.batches % (OVERFLOWS * self.every) == 0:
            loss = loss * float("inf")
        self.scaler.scale(loss).backward()
        if self.batches % self.every == 0:
            self.scaler.step(self.optimizer)
            self.scaler.update()
            self.optimizer.zero_grad()
        if self.args.gan:
            self._fool(x)
            self.other.step()
            self.other.zero_grad()
            self.optimizer.zero_grad()

    def _fool(self, x: Any) -> None:
        with self.autocast():
            made = self.generator(torch.randn_like(x))
            nn.functional.cross_entropy(
                self.net(made).mean(1), torch.zeros(x.shape[0], dtype=torch.int64)
            ).backward()

    def validate(self, loader: Any) -> None:
        """Look at the model."""
        with torch.no_grad():
            for batch in loader:
                self.loss(*parts(self.args.batch_form, batch))


def calibrated(args: argparse.Namespace, trainer: Trainer) -> int:
    """Return how many units take `--times` as long as the net alone, on every rank the same."""
    x, y = torch.randn(BATCH, LONGEST, 64), torch.zeros(BATCH, dtype=torch.int64)
    with trainer.autocast():
        one_s = unit_s(trainer.costs, x)
    units = args.times * timed(lambda: trainer.bare(x, y)) / one_s
    found = torch.tensor([max(1, round(units))])
    if distributed.is_initialized():
        distributed.broadcast(found, 0)
    return int(found)


def train(args: argparse.Namespace, trainer: Trainer, loader: Any, looked: Any) -> Iterator[float]:
    """Train for ever; yield the seconds from each batch to the next, but for what falls between."""
    for _ in count():
        last_s = None
        for number, batch in enumerate(loader):
            now_s = time.perf_counter()
            if last_s is not None:
                yield now_s - last_s
            last_s = now_s
            trainer.step(batch)
            if args.epochs == "validation" and number % VALIDATED == VALIDATED - 1:
                trainer.validate(looked)
                last_s = None


def run(args: argparse.Namespace, units: int | None) -> int:
    """Train as asked, `units` unless the flags say; return how many units a batch costs."""
    torch.manual_seed(0)
    costs = Costs(args.slow, small_files(args.files) if args.slow == "files" else [])
    trainer = Trainer(args, costs)
    costs.units = args.units if args.units is not None else units or calibrated(args, trainer)
    trainer.prepare()
    loader = training_loader(args, costs)
    if args.preloaded:
        loader = Preloaded(loader, KEPT_BATCHES, epoch_of(args))
    laps: list[float] = []
    for lap_s in train(args, trainer, loader, validation_loader(args, Costs("none", []))):
        laps += [lap_s] if args.steps else []
        if args.steps and len(laps) == args.warmup + args.steps:
            break
    told = {"units": costs.units, "step_s": fmean(laps[args.warmup :])}
    if os.environ.get("RANK", "0") == "0":
        sys.stdout.write(json.dumps(told) + "\n")
    return costs.units


def main() -> None:
    """Train as asked, and again for each `--then`."""
    args = asked(sys.argv[1:])
    torch.set_num_threads(1)
    if "RANK" in os.environ:
        distributed.init_process_group("gloo")
    units = args.units
    for _ in range(args.rounds):
        units = run(args, units)
        for words in args.then:
            run(asked([*sys.argv[1:], *words.split()]), units)


if __name__ == "__main__":
    main()
