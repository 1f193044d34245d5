"""Leads the bursts inside a training program, from one batch to the next.

A step is one batch through the loop: from one call for a batch of the training loader to the next.
Each visit feeds the program other batches and times what it does with them; nothing is traced while
the clock runs. Visits begin and end where an optimizer has stepped, so that accumulated batches
stay together; all ranks change at one step.
"""

from __future__ import annotations

import atexit
import os
import time
import weakref
from typing import Any, Final

from costplan.profiler import device, ending, rounds, series, sweep
from costplan.profiler.bursts import WARMUP_SHARE, Phase
from costplan.profiler.feeding import Feeds, queue_steps
from costplan.profiler.finding import Epochs, Finder, Key
from costplan.profiler.following import Change, Ranks
from costplan.profiler.gauges import Gauges
from costplan.profiler.notes import Notes
from costplan.profiler.rounds import Plan, Visit, Wanted

FIRST_OPTIMIZERS: Final = 8
"""Optimizer steps whose parameters tell which devices are in use."""
WORTH_SHARE: Final = 0.95
"""Of a step without its loader: above, other workers are not worth a visit."""

_conductors: dict[int, Any] = {}


def of_process(settings: dict[str, Any]) -> Any:
    """Return the conductor of this process; a forked one has none."""
    if not _conductors:
        _conductors[os.getpid()] = Conductor(settings)
    return _conductors.get(os.getpid())


class Conductor:
    """Everything that is known of the training loop of one process."""

    def __init__(self, settings: dict[str, Any]) -> None:
        self.settings, self.budget_s = settings, float(settings["budget_s"])
        self.ranks = Ranks(settings["folder"])
        self.notes = Notes(settings["folder"], self.ranks)
        self.finder = Finder()
        self.feeds = Feeds()
        self.phase: Phase | None = None
        self.wait_s, self.warmup, self.hungry, self.is_over = 0.0, 0, False, False
        self.between = "start"
        """What fell into the present step beside training; nothing, mostly."""
        self._forget()
        self.epochs = Epochs()

    def _forget(self) -> None:
        """Be as before the first step."""
        if self.phase is not None:
            self.phase.gauges.drop()
        self.notes.forget()
        self.ranks.forget()
        self.phase = None
        self.plan: Plan | None = None
        self.visits: list[Visit] = []
        self.real_steps_s: list[float] = []
        self.first_s, self.called_s = None, None  # type: float | None, float | None
        self.group = 0

    # --- what the hooks call --------------------------------------------------------------------

    def stepped(self, optimizer: object) -> None:
        """Note an optimizer step; where no loader is seen, it is what a step ends with."""
        now_s = time.perf_counter()
        self.first_s = self.first_s or now_s
        if self.notes.optimizer_steps < FIRST_OPTIMIZERS:
            device.trains(optimizer)
        self.notes.optimizer_steps += 1
        if self.finder.stepped(id(optimizer)) and self.finder.has_no_loader:
            self._without_loader(now_s)

    def next_batch(self, iterator: Any, real_next: Any) -> Any:
        """Return the next batch for the program, real or replayed."""
        called_s = time.perf_counter()
        self.first_s = self.first_s or called_s
        self.feeds.iterators.add(iterator)
        key = self.finder.named(sweep.kind(getattr(iterator, "_costplan_loader", iterator)))
        if key == self.finder.main:
            return self._step(key, called_s, iterator, real_next)
        if key in self.finder.beside:
            batch = self._fed(key, iterator, real_next)
            self.wait_s += time.perf_counter() - called_s
        else:
            if self.finder.main is not None:
                self.between = self.between or "other loader"
            batch = real_next(iterator)
        self.finder.asked(key)
        return batch

    # --- steps ----------------------------------------------------------------------------------

    def _step(self, key: Key, called_s: float, iterator: Any, real_next: Any) -> Any:
        is_new = not getattr(iterator, "_costplan_seen", False)
        if is_new:
            self._take_up(iterator, called_s)
        self._count(called_s)
        if self.finder.stepped_since:
            called_s = self._boundary(called_s, iterator)
        if self.is_over:
            if self.settings["keep_going"]:
                return real_next(iterator)  # measured, and not disturbed any more
            self.end()
        ready = sweep.ready(iterator)
        if ready is not None and self.phase is not None and not self.phase.settling:
            self.phase.ready.append(ready)
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
            self._forget()
            self.first_s = now_s
        if self.plan is None:
            self._begin(loader)
        iterator._costplan_seen = True
        self.feeds.loader = weakref.ref(loader)
        self.notes.facts["batches_per_epoch"] = sweep.length(loader)
        self.between = self.between or "epoch"
        self.epochs.taken = 0

    def _count(self, called_s: float) -> None:
        """Put the step that ends now to its visit, unless something else fell into it."""
        phase = self.phase
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
        name = "real" if self.phase is None else self.phase.name
        other = self.feeds.other
        if name == "workers" and other is not None and key == self.finder.main:
            return other.next_batch()
        if name not in ("real", "workers") and self.epochs.is_over:
            raise StopIteration
        if self.phase is None or self.finder.is_idle:
            return real_next(iterator)  # replayed batches never end, and an evaluation must
        return self.feeds.of_loader(key, name, iterator, real_next)

    # --- visits ---------------------------------------------------------------------------------

    def _begin(self, loader: Any) -> None:
        """Take in what is known of the loader, and the plan."""
        workers = getattr(loader, "num_workers", 0)
        prefetch = (getattr(loader, "prefetch_factor", None) or 0) if workers else 0
        self.warmup = -(-series.warmup_steps(workers, prefetch) // self.finder.accumulation)
        self.notes.facts |= {
            "workers": workers, "prefetch": prefetch,
            "pin_memory": bool(getattr(loader, "pin_memory", False)),
        }  # fmt: skip
        self._plan(rounds.KEPT if self.settings["keep_going"] else rounds.STAGES)

    def _plan(self, stages: Any) -> None:
        self.notes.facts |= {
            "startup_s": (self.first_s or 0.0) - self.settings["began_s"],
            "device": device.name(), "threads": device.threads(), **device.versions(),
            "gpu_uuid": device.uuid(), "room_bytes": device.room_bytes(),
        }  # fmt: skip
        atexit.register(self.finish)
        self.plan = Plan(stages, budget_s=self.budget_s, can=self._can)
        self.finder.stepped_since = True

    def _boundary(self, called_s: float, iterator: Any) -> float:
        """Change to the next visit where it is time; return when the step begins."""
        assert self.plan is not None
        self.plan.accumulation = self.finder.accumulation
        self.group += 1
        if self.phase is not None:
            # Workers that fill their queue take processors from the steps that need no loader.
            filling = self.phase.name != "real" and sweep.is_filling(iterator)
            self.phase.group(called_s, disturbed=filling)
        is_over = self.ranks.rank == 0 and (self.phase is None or self.phase.is_over(called_s))
        if is_over and not self.ranks.announced:
            self._close(called_s)
            self.ranks.announce(self.group, self._next())
        change = self.ranks.due(self.group)
        if change is None:
            return called_s
        if self.ranks.rank:
            self._close(called_s)
        self._enter(self.plan, change, iterator)
        return time.perf_counter()

    def _next(self) -> Wanted | None:
        """Return the next visit; what the program is held for is done here and now."""
        assert self.plan is not None
        while True:
            spent_s = time.perf_counter() - (self.first_s or 0.0)
            wanted = self.plan.next(self.visits, self.real_steps_s, spent_s)
            self.notes.facts["dropped"] = self.plan.dropped
            if wanted is None or wanted.name != "loader":
                return wanted
            loader = None if self.feeds.loader is None else self.feeds.loader()
            if loader is not None:
                self.notes.facts["loader"] = sweep.sweep(loader, wanted.longest_s)
            self.plan.done()

    def _close(self, now_s: float) -> None:
        """Keep the visit that is over."""
        phase = self.phase
        if phase is None:
            return
        phase.close(now_s)
        self.notes.phases.append(phase.told())
        visit = phase.visit()
        if visit is not None:
            self.visits.append(visit)
        if phase.name == "real":
            self.real_steps_s += phase.windows_s
            self.hungry = sum(phase.ready) < len(phase.ready)
        self.notes.facts |= self.feeds.sizes(self.finder)

    def _enter(self, plan: Plan, change: Change, iterator: Any) -> None:
        """Begin the next visit, or none."""
        before = None if self.phase is None else self.phase.name
        if change.wanted is None:
            self.phase, self.is_over = None, True
            self.notes.facts["finished"] = True
            return
        settle, name = plan.settling, change.wanted.name
        if before is None:
            settle = self.warmup
        elif name == "real" and before != "real":
            settle += queue_steps(iterator, hungry=self.hungry, warmup=self.warmup)
        elif name == "workers" and self.feeds.other is not None:
            settle = self.feeds.other.settle
        elif name == before:
            settle = 0
        if before == "workers" != name and self.feeds.other is not None:
            self.feeds.other.close()
        self.notes.facts["phase"] = name
        longest_s = WARMUP_SHARE * self.budget_s
        gauges = Gauges(name, resets=not self.settings["keep_going"])
        self.phase = Phase(change.wanted, settle, settle_s=longest_s, gauges=gauges)
        if settle == 0:
            self.phase.group(time.perf_counter())
        self.notes.write()

    def _can(self, name: str) -> bool:
        """Return whether batches of a kind can be made, and are worth it; keep why not."""
        if name == "loader":
            return self.ranks.world == 1
        if name == "workers":
            tried, now = self.notes.facts.get("loader", []), self.notes.facts.get("workers", 0)
            costs = rounds.ratios(self.visits, "real", "replay")
            pays = bool(costs) and rounds.typical(costs).value <= WORTH_SHARE
            return pays and self.feeds.take_other(tried, now)
        why = self.feeds.why_not(name)
        if why:
            self.notes.facts.setdefault("refused", {})[name] = why
        return not why

    def _without_loader(self, now_s: float) -> None:
        """Take a step from one optimizer step to the next; only what is real can be measured."""
        if self.plan is None:
            self.warmup = series.LEAST_WARMUP
            self.notes.facts["loader_seen"] = False
            self._plan(rounds.KEPT)
        self._count(now_s)
        now_s = self._boundary(now_s, None)
        self.called_s, self.between = now_s, ""
        if self.is_over and not self.settings["keep_going"]:
            self.end()

    def end(self) -> None:
        """End the program, and the workers of its loaders."""
        self.finish()
        self.feeds.end_workers()
        ending.end(self.ranks.world)

    def finish(self) -> None:
        """Keep what was measured, also of a visit that the end of the program cut short."""
        phase, facts = self.phase, self.notes.facts
        facts["error"] = ending.ended_by()
        if phase is None:
            facts["phase"] = None
            facts |= {"peak_memory_bytes": device.peak_memory_bytes(), "gpus": device.used()}
        elif facts["error"] is None and self.ranks.world == 1 and phase.steps_s:
            phase.why_short = "the program ended"
            self._close(time.perf_counter())
        else:  # a device that failed, or waits for another rank, is not asked
            phase.gauges.drop()
        self.phase = None
        self.notes.facts |= self.feeds.sizes(self.finder)
        self.notes.write()
