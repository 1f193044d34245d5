"""Leads the bursts inside a training program, from one batch to the next.

A step is one batch through the loop: from one call for a batch of the training loader to the next.
The training loader is the one whose batches are followed by optimizer steps. Each phase feeds the
program other batches and times what it does with them; nothing is traced while the clock runs.
Under several ranks the first announces each change some steps ahead, and all change at one step.
"""

from __future__ import annotations

import atexit
import json
import os
import sys
import time
from typing import Any

from costplan.profiler import batches, device, series, sweep
from costplan.profiler.bursts import Phase
from costplan.profiler.following import Ranks

FIRST_STEPS = 2
"""Optimizer steps after which a loader is taken for the training loader."""
SETTLING = 3
"""Steps after each change that are not counted."""
LAST_RANK_S = 2.0
"""Before a rank ends: one that is still in the last collective must not lose its peer."""
AGAIN = 3
"""Times that a program may catch its end; then its process is ended."""


Key = tuple[object, ...]
"""What tells one loader from another, and a loader made anew for each epoch not from the last."""

_conductors: dict[int, Any] = {}


def of_process(settings: dict[str, Any]) -> Any:
    """Return the conductor of this process; a forked one has none."""
    if not _conductors:
        _conductors[os.getpid()] = Conductor(settings)
    return _conductors.get(os.getpid())


class Ended(SystemExit):
    """Ends the program as if it had called exit(0): its own clean-up runs."""


class Conductor:
    """Everything that is known of the training loop of one process."""

    def __init__(self, settings: dict[str, Any]) -> None:
        self.pid = os.getpid()
        self.ranks = Ranks(settings["folder"])
        self.settings = settings
        self.steps_after: dict[Key, int] = {}
        self.nexts_of: dict[Key, int] = {}
        self.training: set[Key] = set()
        self.last: Key | None = None
        self.first_s: float | None = None
        self.called_s: float | None = None
        self.wait_s = 0.0
        self.optimizer_steps = 0
        self.micro = 0
        self.accumulation = 1
        self.warmup = SETTLING
        self.skip = True
        self.cached: list[Any] = []
        self.made: dict[str, Any] = {}
        self.phase: Phase | None = None
        self.left = [tuple(each) for each in settings["phases"]]
        self.done: list[Phase] = []
        self.facts: dict[str, Any] = {}
        self.endings = 0

    # --- what the hooks call --------------------------------------------------------------------

    def stepped(self) -> None:
        """Note an optimizer step: the loader of the latest batch is a training loader."""
        self.optimizer_steps += 1
        if self.last is None:
            return
        self.steps_after[self.last] = self.steps_after.get(self.last, 0) + 1
        if self.training:
            self.training.add(self.last)

    def next_batch(self, iterator: Any, real_next: Any) -> Any:
        """Return the next batch for the program, real or replayed."""
        key = sweep.kind(getattr(iterator, "_costplan_loader", iterator))
        called_s = time.perf_counter()
        if self.first_s is None:
            self.first_s = called_s
        if not self.training:
            return self._unknown(key, iterator, real_next)
        if key not in self.training:
            return self._other(key, iterator, real_next)
        return self._step(key, called_s, iterator, real_next)

    # --- finding the training loader ------------------------------------------------------------

    def _unknown(self, key: Key, iterator: Any, real_next: Any) -> Any:
        steps = self.steps_after.get(key, 0)
        if steps >= FIRST_STEPS:
            self.training.add(key)
            self.accumulation = max(1, round(self.nexts_of[key] / steps))
            self._know(getattr(iterator, "_costplan_loader", iterator))
        batch = real_next(iterator)
        self.nexts_of[key] = self.nexts_of.get(key, 0) + 1
        self.last = key
        return batch

    def _know(self, loader: Any) -> None:
        workers = getattr(loader, "num_workers", 0)
        prefetch = (getattr(loader, "prefetch_factor", None) or 0) if workers else 0
        self.warmup = series.warmup_steps(workers, prefetch)
        self.facts |= {
            "workers": workers,
            "prefetch": prefetch,
            "accumulation": self.accumulation,
            "batches_per_epoch": sweep.length(loader),
            "pin_memory": bool(getattr(loader, "pin_memory", False)),
            "startup_s": (self.first_s or 0.0) - self.settings["began_s"],
            "device": device.name(),
            "threads": device.threads(),
        }
        atexit.register(self.finish)
        self._begin(loader)

    # --- steps ----------------------------------------------------------------------------------

    def _other(self, key: Key, iterator: Any, real_next: Any) -> Any:
        """Serve another loader (validation, or a new epoch's): its steps are not counted."""
        self.skip = True
        self.last = key
        return real_next(iterator)

    def _step(self, key: Key, called_s: float, iterator: Any, real_next: Any) -> Any:
        self._count(called_s)
        if (
            self.phase is not None
            and self.micro % self.accumulation == 0
            and self._changes(called_s)
        ):
            self._change(getattr(iterator, "_costplan_loader", None))
            called_s = time.perf_counter()
        if self.phase is None:
            if self.settings["keep_going"]:
                return real_next(iterator)  # measured, and not disturbed any more
            self.end()
        batch = self._fed(iterator, real_next)
        self.wait_s = time.perf_counter() - called_s
        self.called_s = called_s
        self.micro += 1
        self.last = key
        return batch

    def end(self) -> None:
        """End the program: its weights have seen replayed and cut batches.

        Raises:
            Ended: Always, but for a program that caught it too often: its process is ended.
        """
        self.finish()
        if self.ranks.world > 1:
            time.sleep(LAST_RANK_S)
        self.endings += 1
        if self.endings > AGAIN:
            sys.stderr.flush()
            os._exit(0)
        raise Ended(0)

    def _count(self, called_s: float) -> None:
        """Put the step that ends now to its phase, unless something else fell into it."""
        phase = self.phase
        if phase is None or self.called_s is None:
            return
        if self.skip or phase.settle > 0:
            phase.settle -= 0 if self.skip else 1
            self.skip = False
            return
        phase.steps_s.append(called_s - self.called_s)
        phase.waits_s.append(self.wait_s)

    def _changes(self, now_s: float) -> bool:
        """Return whether the phase ends at this step: one process decides, the others follow."""
        phase = self.phase
        if phase is None:
            return False
        is_over = self.ranks.rank == 0 and phase.is_over(now_s, self.settings["budget_s"])
        return self.ranks.changes(self.micro, is_over=is_over, accumulation=self.accumulation)

    # --- batches --------------------------------------------------------------------------------

    def _fed(self, iterator: Any, real_next: Any) -> Any:
        assert self.phase is not None
        if self.phase.name != "real":
            return self._replayed(self.phase.name)
        ready = sweep.ready(iterator)
        try:
            batch = real_next(iterator)
        except StopIteration:
            self.skip = True  # the end of an epoch falls into this step
            raise
        if not getattr(iterator, "_costplan_seen", False):
            iterator._costplan_seen = True
            self.skip = True  # its workers have just been started
        if ready is not None:
            self.phase.ready.append(ready)
        if len(self.cached) < 2:
            self.cached.append(batches.cloned(batch))
        return batch

    def _replayed(self, name: str) -> Any:
        if name not in self.made:
            self.made[name] = self._make(name)
        source, versions = self.made[name]
        if versions is None:
            return batches.cloned(source)
        if batches.versions(source) != versions:
            # The program writes into its batches: give it a fresh one each time from now on.
            self.made[name] = (self._make(name)[0], None)
            return batches.cloned(self.made[name][0])
        return batches.same(source)

    def _make(self, name: str) -> tuple[Any, Any]:
        first = batches.cloned(self.cached[0])
        if name == "half":
            first = batches.cloned(batches.first_half(first))
        elif name == "double":
            first = batches.joined(first, batches.cloned(self.cached[-1]))
        return first, batches.versions(first)

    # --- phases ---------------------------------------------------------------------------------

    def _begin(self, loader: Any) -> None:
        self.phase = None
        while self.left and self.phase is None:
            name, share = self.left.pop(0)
            if name == "loader":
                self._loader_alone(loader, share * self.settings["budget_s"])
            elif self._can(name):
                self.phase = Phase(name, share, self.warmup if name == "real" else SETTLING)
        if self.phase is not None:
            device.settle()
            self.phase.began_s = time.perf_counter()
            self.skip = True

    def _can(self, name: str) -> bool:
        """Return whether a phase can be made from what was seen; keep why not."""
        if name == "real":
            return True
        if len(self.cached) < (2 if name == "double" else 1):
            return False
        try:
            self.made.setdefault(name, self._make(name))
        except batches.NoCutError as error:
            self.facts.setdefault("refused", {})[name] = str(error)
            return False
        return True

    def _loader_alone(self, loader: Any, budget_s: float) -> None:
        """Time the loader without the program, as it is set and with other numbers of workers."""
        if loader is not None and self.ranks.world == 1:
            self.facts["loader"] = sweep.sweep(loader, budget_s)

    def _change(self, loader: Any) -> None:
        assert self.phase is not None
        device.settle()
        self.done.append(self.phase)
        self.ranks.changed()
        if "samples" not in self.facts and self.cached:
            self.facts["samples"] = batches.samples(self.cached[0])
            self.facts["tokens"] = batches.tokens(self.cached[0])
        self._begin(loader)
        self.write()

    def finish(self) -> None:
        """Keep what was measured, also of a phase that the end of the program cut short."""
        if self.phase is not None and self.phase.steps_s:
            self.phase.why_short = "the program ended"
            self.done.append(self.phase)
            self.phase = None
        self.facts["finished"] = not self.left
        self.facts["peak_memory_bytes"] = device.peak_memory_bytes()
        self.write()

    def write(self) -> None:
        """Write everything measured so far, whole or not at all."""
        path = os.path.join(self.settings["folder"], f"{self.pid}.json")
        body = {
            "pid": self.pid, "rank": self.ranks.rank, "world": self.ranks.world,
            "optimizer_steps": self.optimizer_steps, "facts": self.facts,
            "phases": [phase.told() for phase in self.done],
        }  # fmt: skip
        with open(path + ".part", "w", encoding="utf-8") as file:
            json.dump(body, file)
        os.replace(path + ".part", path)
