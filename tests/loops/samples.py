"""Samples, batches in every form, and the loaders that give them."""

from __future__ import annotations

import os
from collections import namedtuple
from itertools import chain, cycle, islice, repeat
from typing import TYPE_CHECKING, Any

import torch
from torch.utils.data import DataLoader, DistributedSampler, IterableDataset, get_worker_info

if TYPE_CHECKING:
    from collections.abc import Iterator

    from costs import Costs

LONGEST = 64
BUCKET = 32
"""Samples in a row of one length, where lengths vary."""
SHORT_EPOCH = 8
LONG_EPOCH = 400
"""Batches."""

Pair = namedtuple("Pair", ["x", "y"])


class Batch:
    """A batch of a class of its own."""

    def __init__(self, x: Any, y: Any) -> None:
        self.x, self.y = x, y
        self.source = "made"


def formed(form: str, x: Any, y: Any) -> Any:
    """Return inputs and labels in the form that a loop gets them in."""
    if form == "tuple":
        return x, y
    if form == "dict":
        return {"x": x, "y": y}
    if form == "namedtuple":
        return Pair(x, y)
    if form == "nested":
        return {"inputs": {"x": x}, "targets": [y, ("kept", y.shape[0])]}
    return Batch(x, y) if form == "own" else [x, y]


def parts(form: str, batch: Any) -> tuple[Any, Any]:
    """Return inputs and labels of a batch."""
    if form == "dict":
        return batch["x"], batch["y"]
    if form == "nested":
        return batch["inputs"]["x"], batch["targets"][0]
    if form in ("namedtuple", "own"):
        return batch.x, batch.y
    return batch[0], batch[1]


class Samples:
    """Samples by number; with `varies`, of many lengths, neighbours of the same."""

    def __init__(self, costs: Costs, size: int, *, varies: bool) -> None:
        self.costs, self.size, self.varies = costs, size, varies
        self.data = torch.randn(256, LONGEST, 64)

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, index: int) -> tuple[Any, int]:
        self.costs.of_sample()
        x = self.data[index % len(self.data)]
        return (x[: self.length(index)] if self.varies else x), index % 10

    def length(self, index: int) -> int:
        """Return 16, 24 ... 64, from a number that looks like chance."""
        return 16 + 8 * ((index // BUCKET * 2_654_435_761 >> 7) % 7)


class Stream(IterableDataset):  # type: ignore[misc]
    """The same samples without numbers, each worker of each rank its own share."""

    def __init__(self, samples: Samples) -> None:
        self.samples = samples
        self.rank, self.ranks = _rank(), _ranks()

    def __iter__(self) -> Iterator[tuple[Any, int]]:
        info = get_worker_info()
        workers, worker = (1, 0) if info is None else (info.num_workers, info.id)
        share = self.samples.size // workers
        first = (self.rank * workers + worker) * share
        return (self.samples[index] for index in range(first, first + share))


class Collate:
    """Puts samples together in one form."""

    def __init__(self, costs: Costs, form: str) -> None:
        self.costs, self.form = costs, form

    def __call__(self, samples: list[tuple[Any, int]]) -> Any:
        self.costs.of_collate(len(samples))
        x = torch.nn.utils.rnn.pad_sequence([each for each, _ in samples], batch_first=True)
        return formed(self.form, x, torch.tensor([label for _, label in samples]))


def epoch_of(args: Any) -> int:
    """Return the batches of an epoch."""
    return args.batches or (SHORT_EPOCH if args.epochs == "short" else LONG_EPOCH)


def training_loader(args: Any, costs: Costs) -> Any:
    """Return the loader that the flags ask for."""
    batches = epoch_of(args)
    samples = Samples(costs, batches * args.batch, varies=args.data == "lengths")
    ranks = _ranks()
    more: dict[str, Any] = {"batch_size": args.batch, "num_workers": args.workers}
    if args.batch_form != "list" or args.data == "lengths" or costs.slow == "collate":
        more["collate_fn"] = Collate(costs, args.batch_form)
    if args.workers:
        more["persistent_workers"] = args.persistent
    if args.data == "iterable":
        return DataLoader(Stream(samples), **more)
    samples.size *= ranks
    if ranks > 1:
        return DataLoader(samples, sampler=DistributedSampler(samples, shuffle=False), **more)
    return DataLoader(samples, shuffle=args.data == "map", **more)


def validation_loader(args: Any, costs: Costs) -> Any:
    """Return a loader of a few batches to look at the model with."""
    samples = Samples(costs, 4 * args.batch, varies=False)
    return DataLoader(samples, batch_size=args.batch, collate_fn=Collate(costs, args.batch_form))


class Preloaded:
    """Batches that were made before, again and again."""

    def __init__(self, loader: Any, batches: int, epoch: int) -> None:
        self.epoch = epoch
        self.kept = list(islice(chain.from_iterable(repeat(loader)), batches))

    def __iter__(self) -> Iterator[Any]:
        return islice(cycle(self.kept), self.epoch)


def _rank() -> int:
    return int(os.environ.get("RANK", "0"))


def _ranks() -> int:
    return int(os.environ.get("WORLD_SIZE", "1"))
