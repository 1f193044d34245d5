"""Leads the bursts inside a training program, from one batch to the next.

A step is one batch through the loop: from one call for a batch of the training loader to the next.
Each visit feeds the program other batches and times what it does with them; nothing is traced while
the clock runs.
"""

from __future__ import annotations

import atexit
import os
import time
import weakref
from typing import TYPE_CHECKING, Any, Final

from costplan.profiler import device, ending, holding, outside, series, sweep
from costplan.profiler.feeding import OWN, Feeds
from costplan.profiler.finding import Epochs, Finder, Key
from costplan.profiler.following import Ranks
from costplan.profiler.notes import Notes
from costplan.profiler.stages import ASKED, KEPT, STAGES, WATCHED, chosen
from costplan.profiler.visits import Visits

if TYPE_CHECKING:
    from collections.abc import Sequence

    from costplan.profiler.stages import Stage

FIRST_OPTIMIZERS: Final = 8
"""Optimizer steps whose parameters tell which devices are in use."""
NO_DEVICE: Final = "no GPU is in use, so that there is no work of one to see"

_conductors: dict[int, Any] = {}


def of_process(settings: dict[str, Any]) -> Any:
    """Return the conductor of this process; a forked one has none."""
    if not _conductors:
        _conductors[os.getpid()] = Conductor(settings)
    return _conductors.get(os.getpid())


class Conductor:
    """Everything that is known of the training loop of one process."""

    def __init__(self, settings: dict[str, Any]) -> None:
        self.settings = settings
        self.ranks = Ranks(settings["folder"])
        self.notes = Notes(settings["folder"], self.ranks)
        self.finder, self.outside = Finder(), outside.Outside()
        self.feeds = Feeds()
        self.visits = Visits(settings, self.ranks, self.notes, self.feeds, self.finder)
        self.epochs = Epochs()
        self.called_s: float | None = None
        self.wait_s = 0.0
        self.is_done = False
        """Whether the program trains on, and nothing more of it will be measured."""
        self.between = "start"
        """What fell into the present step beside training; nothing, mostly."""

    # --- what the hooks call --------------------------------------------------------------------

    def stepped(self, optimizer: object) -> None:
        """Note an optimizer step; where no loader is seen, it is what a step ends with."""
        now_s = time.perf_counter()
        self.visits.first_s = self.visits.first_s or now_s
        if self.notes.optimizer_steps < FIRST_OPTIMIZERS:
            device.trains(optimizer)
        self.notes.optimizer_steps += 1
        if self.finder.stepped(id(optimizer)) and self.finder.has_no_loader:
            self._without_loader(now_s)

    def next_batch(self, iterator: Any, real_next: Any) -> Any:
        """Return the next batch for the program, real or replayed."""
        called_s = time.perf_counter()
        self.visits.first_s = self.visits.first_s or called_s
        key = self.finder.named(getattr(iterator, "_costplan_key", None) or self._met(iterator))
        if key == self.finder.main:
            return self._step(key, called_s, iterator, real_next)
        if key in self.finder.beside:
            batch = self._fed(key, iterator, real_next)
            self.wait_s += time.perf_counter() - called_s
        else:
            if self.finder.main is not None:
                self.between = self.between or "other loader"
            batch = real_next(iterator)
            if self.finder.main is None:
                self._first_batch(iterator)
        self.finder.asked(key)
        return batch

    def _first_batch(self, iterator: Any) -> None:
        """Leave at an iterator how long its workers took to give the first batch."""
        began_s = getattr(iterator, "_costplan_began_s", None)
        if began_s is not None:
            iterator._costplan_first_s = time.perf_counter() - began_s
            iterator._costplan_began_s = None

    def _met(self, iterator: Any) -> Key:
        """Return what tells the loader of a new iterator, and leave it there."""
        self.feeds.iterators.add(iterator)
        key = sweep.kind(getattr(iterator, "_costplan_loader", iterator))
        iterator._costplan_key = key
        return key

    # --- steps ----------------------------------------------------------------------------------

    def _step(self, key: Key, called_s: float, iterator: Any, real_next: Any) -> Any:
        is_new = not getattr(iterator, "_costplan_seen", False)
        if is_new:
            self._take_up(iterator, called_s)
        self._count(called_s)
        if self.finder.stepped_since:
            called_s = self.visits.boundary(called_s, iterator)
        if self.visits.is_over:
            if self.settings["keep_going"]:
                self.is_done = True
                return real_next(iterator)  # measured, and not disturbed any more
            self.end()
        ready = sweep.ready(iterator)
        if ready is not None and self.visits.phase is not None and not self.visits.phase.settling:
            self.visits.phase.ready.append(ready)
        before_s = time.perf_counter()
        try:
            batch = self._fed(key, iterator, real_next)
        except StopIteration:
            self.between = "epoch"
            self.epochs.ended()
            raise
        self.epochs.taken += 1
        self.wait_s = time.perf_counter() - before_s
        self.called_s = called_s
        # The first batch of a new iterator waits for its workers to start.
        self.between = "loader start" if is_new else ""
        self.finder.asked(key)
        return batch

    def _take_up(self, iterator: Any, now_s: float) -> None:
        """Note what is known of a new iterator; make the plan at the first."""
        loader = getattr(iterator, "_costplan_loader", iterator)
        if self.notes.facts.get("loader_seen") is False:
            # What stepped before its loader came was no training: a trial of the optimizer, say.
            self.outside.off()
            self.visits.forget()
            self.visits.first_s, self.called_s = now_s, None
        if self.visits.plan is None:
            self._begin(loader, iterator)
        iterator._costplan_seen = True
        self.feeds.loader = weakref.ref(loader)
        self.notes.facts["batches_per_epoch"] = sweep.length(loader)
        self.between = self.between or "epoch"
        self.epochs.taken = 0

    def _count(self, called_s: float) -> None:
        """Put the step that ends now to its visit, unless something else fell into it."""
        phase = self.visits.phase
        if phase is None or self.called_s is None:
            return
        between = self.between or ("other loader" if self.finder.is_idle else "")
        spoilt = bool(between) and not self.epochs.are_short
        phase.gauges.border(called_s, counts=not phase.settling and not spoilt)
        if phase.settling:
            return
        step_s = called_s - self.called_s
        if spoilt:
            self.notes.gap(between, step_s, phase.name)
            phase.is_spoilt = True
            return
        phase.add(step_s, self.wait_s)

    def _fed(self, key: Key, iterator: Any, real_next: Any) -> Any:
        name = "real" if self.visits.phase is None else self.visits.phase.name
        other = self.feeds.other
        if name == "workers" and other is not None and key == self.finder.main:
            return other.next_batch()
        if name not in OWN and self.epochs.is_over:
            raise StopIteration
        if self.visits.phase is None or self.finder.is_idle:
            return real_next(iterator)  # replayed batches never end, and an evaluation must
        length = self.notes.facts.get("batches_per_epoch")
        counts = self.epochs.are_short or self.epochs.taken + 1 != length
        return self.feeds.of_loader(
            key, name, iterator, real_next, counts=counts, may_copy=self.visits.phase.settling
        )

    def _begin(self, loader: Any, iterator: Any) -> None:
        """Take in what is known of the loader, and the plan."""
        workers = getattr(loader, "num_workers", 0)
        prefetch = (getattr(loader, "prefetch_factor", None) or 0) if workers else 0
        self.notes.facts |= {
            "workers": workers, "prefetch": prefetch,
            "pin_memory": bool(getattr(loader, "pin_memory", False)),
            # Workers that persist start once, and what starts none shows what is done once.
            "first_batch_s": None if not workers or getattr(loader, "persistent_workers", False)
            else getattr(iterator, "_costplan_first_s", None),
        }  # fmt: skip
        warmup = -(-series.warmup_steps(workers, prefetch) // self.finder.accumulation)
        start_s = getattr(iterator, "_costplan_first_s", None) if workers else None
        self._plan(STAGES, warmup, start_s=start_s or 0.0)

    def _plan(self, stages: Sequence[Stage], warmup: int, *, start_s: float = 0.0) -> None:
        on_gpu, asked = device.in_use(), bool(self.settings.get("kernels"))
        if asked and not on_gpu:
            self.notes.facts["refused"] = {ASKED: NO_DEVICE}
        if self.settings["keep_going"]:
            stages = KEPT
        atexit.unregister(self.finish)  # of a plan that was forgotten: it is told once
        atexit.register(self.finish)
        stages = chosen(stages, on_gpu=on_gpu, kernels=asked)
        self.visits.begin(stages, warmup=warmup, start_s=start_s)
        self.finder.stepped_since = True

    # --- programs without a loader --------------------------------------------------------------

    def _without_loader(self, now_s: float) -> None:
        """Take a step from one optimizer step to the next; only what is real can be measured."""
        if self.visits.plan is None:
            self.notes.facts["loader_seen"] = False
            self._plan(WATCHED, series.LEAST_WARMUP)
        self.wait_s = self.outside.rest_s(now_s, self.called_s, is_over=self.visits.is_over)
        self._count(now_s)
        now_s = self.visits.boundary(now_s, None)
        self.called_s, self.between = now_s, ""
        if self.visits.is_over and not self.settings["keep_going"]:
            self.end()

    def end(self) -> None:
        """End the program, and the workers of its loaders."""
        self.notes.facts |= holding.hold(self.settings.get("started_by"))
        self.finish()
        self.feeds.end_workers()
        ending.end(self.ranks.world)

    def finish(self) -> None:
        """Keep what was measured, also of a visit that the end of the program cut short."""
        phase, facts = self.visits.phase, self.notes.facts
        facts["error"] = ending.ended_by()
        if phase is None:
            facts["phase"] = None
            facts["peak_memory_bytes"] = device.peak_memory_bytes()
        elif facts["error"] is None and self.ranks.world == 1 and phase.steps_s:
            phase.why_short = "the program ended"
            self.visits.close(time.perf_counter())
        else:  # a device that failed, or waits for another rank, is not asked
            self.visits.drop()
        self.visits.phase = None
        self.notes.facts |= self.feeds.sizes(self.finder) | self.outside.told()
        self.notes.write()
