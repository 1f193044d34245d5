"""The batches that one loader gave, kept and given again: whole, cut in half or joined to double.

Whole ones also from the device, where the program was seen to move them.

Runs inside the training program, after it has imported torch.
"""

from __future__ import annotations

import contextlib
import weakref
from typing import TYPE_CHECKING, Any, Final

from costplan.profiler import batches, device, sweep
from costplan.profiler.placed import Placed
from costplan.profiler.pool import Pool
from costplan.profiler.series import LEAST_WARMUP

if TYPE_CHECKING:
    from collections.abc import Mapping

    from costplan.profiler.finding import Finder, Key

OWN: Final = ("real", "workers")
"""Visits in which loaders give the batches."""
WHOLE: Final = {"syncs": "replay", "kernels": "replay"}
"""Visits that watch the program rather than feed it otherwise, and what they feed it."""

Made = tuple[Any, "list[int] | None"]
"""A batch and how often each of its tensors was written; None where the program writes into it."""


class Feeder:
    """What one loader gave, and what is made of it."""

    def __init__(self, places: Mapping[int, Any]) -> None:
        """Begin with nothing.

        Args:
            places: Where the program moves which tensors of a batch, as far as that was seen.
        """
        self.places = places
        self.pool = Pool()
        self.cached: list[Any] = []
        """Those of the pool that are given again."""
        self.made: dict[str, list[Made]] = {}
        self.given = 0
        self._is_old = False
        """Whether the loader gave more batches since those were chosen."""

    def keep(self, batch: Any, *, may_copy: bool) -> None:
        """Keep a batch of the loader's own, or take its size into account."""
        self.pool.offer(batch, may_copy=may_copy)
        self._is_old = True

    def _choose(self) -> None:
        """Choose what is given again, where the loader gave more batches since."""
        if not self._is_old:
            return
        chosen = self.pool.chosen()
        if list(map(id, chosen)) != list(map(id, self.cached)):
            self.cached = chosen
            self.made.clear()
        self._is_old = False

    def can(self, name: str) -> str:
        """Return why batches of a kind cannot be made, or nothing where they can.

        Args:
            name: `replay`, `resident`, `half` or `double`.
        """
        self._choose()
        if not self.cached:
            return "the program has taken no batch"
        try:
            self._make(name)
        except batches.NoCutError as error:
            return str(error)
        except RuntimeError as error:  # no memory for it
            return str(error).partition("\n")[0]
        return ""

    def give(self, name: str) -> Any:
        """Return the next batch of a kind, fresh enough to be written into."""
        self._choose()
        if name != "resident":  # what others run beside has the device's memory for itself
            self.made.pop("resident", None)
        made = self._make(name)
        place = self.given % len(made)
        self.given += 1
        source, versions = made[place]
        if versions is not None and batches.versions(source) != versions:
            # The program writes into its batches: it gets a fresh one each time from now on.
            del self.made[name]
            self.made[name] = made = [(each, None) for each, _ in self._make(name)]
            source, versions = made[place]
        return batches.same(source) if versions is not None else batches.cloned(source)

    def _make(self, name: str) -> list[Made]:
        if name not in self.made:
            self.made[name] = [(each, batches.versions(each)) for each in self._new(name)]
        return self.made[name]

    def _new(self, name: str) -> list[Any]:
        if name == "resident":
            return [batches.resident(each, self.places) for each in self.cached]
        fresh = [batches.cloned(each) for each in self.cached]
        if name == "half":
            return [batches.cloned(batches.first_half(each)) for each in fresh]
        if name == "double":
            # With itself: two of different lengths cannot be one, and the work is the same.
            return [batches.joined(each, batches.cloned(each)) for each in fresh]
        return fresh


class Feeds:
    """All loaders that the program trains from, and the other ways of feeding it."""

    def __init__(self) -> None:
        self.feeders: dict[Key, Feeder] = {}
        self.loader: weakref.ref[Any] | None = None
        """That of the latest epoch; held weakly: its end must end its workers."""
        self.other: sweep.Other | None = None
        self.iterators: weakref.WeakSet[Any] = weakref.WeakSet()
        self.placed = Placed()
        self.fed: set[str] = set()
        """Kinds that the program was given."""

    def of_loader(
        self, key: Key, name: str, iterator: Any, real_next: Any, *, counts: bool = True,
        may_copy: bool = True,
    ) -> Any:  # fmt: skip
        """Return a batch of a loader, of the kind that a visit wants.

        Args:
            key: Of the loader.
            name: Of the visit.
            iterator: That the program asks.
            real_next: Gives its next batch.
            counts: Whether steps as this one's are counted: what is given again stands for those.
            may_copy: Whether this one is not counted, so that there is time for a copy.
        """
        feeder = self.feeders.get(key)
        if feeder is None:
            feeder = self.feeders[key] = Feeder(self.placed.places)
        if name in OWN:
            batch = real_next(iterator)
            if counts:
                feeder.keep(batch, may_copy=may_copy)
            return batch
        kind = WHOLE.get(name, name)
        # What holds the host, and what the device does, is held against a step without the copy
        # once that is known.
        if name in WHOLE and "resident" in self.fed:
            kind = "resident"
        batch = feeder.give(kind)
        self.fed.add(kind)
        if self.placed.is_on:
            self.placed.given(list(batches.tensors(batch)))
        return batch

    def sizes(self, finder: Finder) -> dict[str, int | None]:
        """Return the batches of an optimizer step, and samples and tokens of one once it came."""
        feeder = None if finder.main is None else self.feeders.get(finder.main)
        found: dict[str, int | None] = {"accumulation": finder.accumulation}
        if feeder is not None and feeder.pool.kept:
            pool = feeder.pool
            found |= {"samples": pool.mean(batches.samples), "tokens": pool.mean(batches.tokens)}
        return found

    def why_not(self, name: str) -> str:
        """Return why batches of a kind cannot be made, or nothing where they can."""
        if name == "resident":
            if len(self.feeders) > 1:
                return "the program trains from several loaders"
            if problem := self.placed.problem():
                return problem
        kind = WHOLE.get(name, name)
        return next(filter(None, (feeder.can(kind) for feeder in self.feeders.values())), "")

    def watch(self) -> None:
        """See what the program moves to a device, until `placed.off`; not once it is given there.

        A step that is timed runs as the program wrote it.
        """
        if device.in_use() and "resident" not in self.fed:
            self.placed.on()

    def take_other(self, tried: list[dict[str, Any]], now: int) -> bool:
        """Take the loader with the best other number of workers, where that is worth a visit."""
        workers = sweep.worth(tried, now=now)
        loader = None if self.loader is None else self.loader()
        if workers is None or loader is None:
            return False
        self.other = self.other or sweep.Other(loader, workers)
        return True

    def end_workers(self) -> None:
        """End the workers of loaders in use: Python's own way of ending them leaves their files."""
        if self.other is not None:
            self.other.close()
        for iterator in list(self.iterators):
            ends = getattr(iterator, "_shutdown_workers", None)
            if ends is not None:
                with contextlib.suppress(AttributeError, OSError, RuntimeError, ValueError):
                    ends()


def queue_steps(iterator: Any, *, hungry: bool, warmup: int) -> int:
    """Return how many optimizer steps the queue takes to be as it was before other visits.

    It filled meanwhile. Where it had been empty it is emptied, so that no ready batch hides a slow
    loader; where it had been full it is full again after the steps that warming up takes for it.
    """
    if hungry:
        sweep.drain(iterator)
        return 0
    return max(0, warmup - LEAST_WARMUP)
