"""From one visit to the next inside a training program: what is fed for how long, and what it gave.

Visits begin and end where an optimizer has stepped, so that accumulated batches stay together; all
ranks change at one step.
"""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any, Final

from costplan.profiler import coldfiles, device, sweep
from costplan.profiler.bursts import WARMUP_SHARE, Phase
from costplan.profiler.feeding import queue_steps
from costplan.profiler.fits import too_large
from costplan.profiler.gauges import Gauges
from costplan.profiler.limits import LOADER_SHARE
from costplan.profiler.rounds import Plan, Visit, Wanted, ratios, typical
from costplan.profiler.stages import HELD

if TYPE_CHECKING:
    from collections.abc import Sequence

    from costplan.profiler.feeding import Feeds
    from costplan.profiler.finding import Finder
    from costplan.profiler.following import Change, Ranks
    from costplan.profiler.notes import Notes
    from costplan.profiler.stages import Stage

WORTH_SHARE: Final = 0.95
"""Of a step without its loader: above, other workers are not worth a visit."""


class Visits:
    """Those of one process: the present one, those before it, and the plan of those to come."""

    def __init__(
        self, settings: dict[str, Any], ranks: Ranks, notes: Notes, feeds: Feeds, finder: Finder
    ) -> None:
        self.settings, self.ranks, self.notes = settings, ranks, notes
        self.feeds, self.finder = feeds, finder
        self.phase: Phase | None = None
        self.warmup, self.hungry, self.is_over = 0, False, False
        self.forget()

    def forget(self) -> None:
        """Be as before the first step."""
        self.drop()
        self.notes.forget()
        self.ranks.forget()
        self.phase = None
        self.plan: Plan | None = None
        self.seen: list[Visit] = []
        self.peaks_bytes: dict[str, int | None] = {}
        """Of the device's memory, in the latest visit of each kind."""
        self.real_steps_s: list[float] = []
        self.first_s: float | None = None
        """When the program came to its first batch or step."""
        self.group = 0
        self.before: sweep.Worked | None = None
        """When the present visit began to count, of a real one with workers."""
        self.of_loader: list[float] = []
        """What a loader may have cost, at most: shares of the real visits."""
        self.was_held = False
        """Whether the program was held since the latest visit: queues filled, clocks fell."""

    def drop(self) -> None:
        """Leave the program as it was, and the device unasked: it may have failed."""
        self.feeds.placed.off()
        if self.phase is not None:
            self.phase.gauges.drop()

    def begin(self, stages: Sequence[Stage], *, warmup: int, start_s: float = 0.0) -> None:
        """Make the plan, and note what is known of the process by now.

        Args:
            stages: In their order.
            warmup: Optimizer steps of the first visit that are not counted.
            start_s: Until new workers of the loader give their first batch.
        """
        self.warmup = warmup
        self.notes.facts |= {
            "startup_s": (self.first_s or 0.0) - self.settings["began_s"],
            "device": device.name(), "threads": device.threads(), **device.versions(),
            "gpu_uuid": device.uuid(), "room_bytes": device.room_bytes(),
        }  # fmt: skip
        budget_s = float(self.settings["budget_s"])
        self.plan = Plan(stages, budget_s=budget_s, can=self._can, start_s=start_s)

    def boundary(self, called_s: float, iterator: Any) -> float:
        """Change to the next visit where it is time; return when the step begins."""
        assert self.plan is not None
        self.plan.accumulation = self.finder.accumulation
        self.group += 1
        if self.phase is not None:
            # Workers that fill their queue take processors from the steps that need no loader.
            filling = self.phase.name != "real" and sweep.is_filling(iterator)
            self.phase.group(called_s, disturbed=filling)
            if not self.phase.settling:
                self.feeds.placed.off()
                if self.phase.name == "real" and self.phase.groups == 0:
                    self.before = sweep.worked(iterator)
        is_over = self.ranks.rank == 0 and (self.phase is None or self.phase.is_over(called_s))
        if is_over and not self.ranks.announced:
            self.close(called_s, iterator)
            self.ranks.announce(self.group, self._next())
        change = self.ranks.due(self.group)
        if change is None:
            return called_s
        if self.ranks.rank:
            self.close(called_s, iterator)
        self._enter(self.plan, change, iterator)
        return time.perf_counter()

    def close(self, now_s: float, iterator: Any = None) -> None:
        """Keep the visit that is over."""
        phase = self.phase
        if phase is None:
            return
        self.feeds.placed.off()
        if phase.name == "real" and self.before is not None:
            phase.workers_cpu_s = self.before.until(sweep.worked(iterator))
        phase.close(now_s)
        told = phase.told()
        self.notes.phase(told)
        self.peaks_bytes[phase.name] = told.get("peak_memory_bytes")
        self.notes.facts |= {"gpus": device.used(), **phase.gauges.untraced()}
        visit = phase.visit()
        if visit is not None:
            self.seen.append(visit)
        if phase.name == "real":
            self.real_steps_s += phase.windows_s
            self.of_loader.append(phase.loader_share(workers=bool(self.notes.facts.get("workers"))))
            self.hungry = sum(phase.ready) < len(phase.ready)
        self.notes.facts |= self.feeds.sizes(self.finder)

    def _next(self) -> Wanted | None:
        """Return the next visit; what the program is held for is done here and now."""
        assert self.plan is not None
        while True:
            spent_s = time.perf_counter() - (self.first_s or 0.0)
            wanted = self.plan.next(self.seen, self.real_steps_s, spent_s)
            self.notes.facts["dropped"] = self.plan.dropped
            if wanted is None or wanted.name != HELD:
                return wanted
            loader = None if self.feeds.loader is None else self.feeds.loader()
            if loader is not None:
                self.notes.facts |= coldfiles.alone(loader, wanted.longest_s)
                self.was_held = True
            self.plan.done()

    def _enter(self, plan: Plan, change: Change, iterator: Any) -> None:
        """Begin the next visit, or none."""
        if change.wanted is None:
            self.phase, self.is_over = None, True
            self.notes.facts["finished"] = True
            return
        before, name = None if self.phase is None else self.phase.name, change.wanted.name
        settle = self._settle(plan, before, name, iterator)
        self.was_held = False
        if before == "workers" != name and self.feeds.other is not None:
            self.feeds.other.close()
        self.notes.facts["phase"] = name
        longest_s = WARMUP_SHARE * float(self.settings["budget_s"])
        gauges = Gauges(name, trace=self._trace_of(name), resets=not self.settings["keep_going"])
        self.phase = Phase(change.wanted, settle, settle_s=longest_s, gauges=gauges)
        if settle == 0:
            self.phase.group(time.perf_counter())
        if name == "replay":
            self.feeds.watch()
        self.notes.write()

    def _trace_of(self, name: str) -> str | None:
        """Return where a visit writes its trace; one rank does, for all."""
        if name != "kernels" or self.ranks.rank:
            return None
        return os.path.join(self.settings["folder"], f"{os.getpid()}.trace")

    def _settle(self, plan: Plan, before: str | None, name: str, iterator: Any) -> int:
        """Return how many optimizer steps of a visit are not counted."""
        if before is None:
            return self.warmup
        if name == before and not self.was_held:
            return 0
        if name == "real":
            return plan.settling + queue_steps(iterator, hungry=self.hungry, warmup=self.warmup)
        if name == "workers" and self.feeds.other is not None:
            return self.feeds.other.settle
        return plan.settling

    def _can(self, name: str) -> bool:
        """Return whether batches of a kind can be made, and are worth it; keep why not."""
        if name == HELD:
            return self.ranks.world == 1
        if name == "workers":
            tried, now = self.notes.facts.get("loader", []), self.notes.facts.get("workers", 0)
            costs = ratios(self.seen, "real", "replay")
            pays = bool(costs) and typical(costs).value <= WORTH_SHARE
            pays = pays and max(self.of_loader, default=1.0) >= LOADER_SHARE
            return pays and self.feeds.take_other(tried, now)
        why: str | None = self.feeds.why_not(name)
        if name == "double" and not why:
            why = too_large(self.peaks_bytes, self.notes.facts["room_bytes"])
        if why:
            self.notes.facts.setdefault("refused", {})[name] = why
        return not why
