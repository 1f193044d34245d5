"""What is read beside the step times of one burst: the device's clock, its memory, its counters.

Runs inside the training program. On a CPU nothing is read but what torch.compile counts.
"""

from __future__ import annotations

import time
from typing import Any, Final

from costplan.profiler import device
from costplan.profiler.syncs import Syncs
from costplan.profiler.tracer import Tracer

STEADY: Final = 3
"""Steps in which nothing was compiled and no memory taken from the driver, before any counts."""
MOST_EXTRA: Final = 30
"""Steps by which a burst waits for that at most: some programs never get there."""
OUT_OF_MEMORY: Final = "out of memory, which the program survived"


class Gauges:
    """Those of one burst, from `begin` to `end`; none of them stops the program."""

    def __init__(self, name: str, *, trace: str | None = None, resets: bool = True) -> None:
        self.name, self.resets = name, resets
        self.marks = device.Marks()
        self.syncs = Syncs() if name == "syncs" else None
        self.tracer = Tracer(trace) if trace is not None else None
        self.counted: list[tuple[int | None, int | None]] = []
        self.blocked_s: list[float] = []
        self.began_s = 0.0
        self.before: device.Counts | None = None
        self.unchanged = STEADY
        self.extra = 0
        self._last: int | None = None

    def begin(self) -> None:
        """Begin to read; the device has nothing to do at this moment."""
        device.settle()
        if self.resets:  # a program that trains on may ask for the peak itself
            device.forget_peak()
        self.before = device.counts()
        if self.tracer is not None:
            self.tracer.start()
        if self.syncs is not None:
            self.syncs.on()
        self.marks.start()
        self.began_s = time.perf_counter()
        self._last = self.marks.mark(self.began_s)

    def border(self, host_s: float, *, counts: bool) -> None:
        """Note the end of a step, and whether it counts."""
        mark = self.marks.mark(host_s)
        if counts:
            self.counted.append((self._last, mark))
        else:
            self._settling()
        if self.syncs is not None:
            held_s = self.syncs.taken_s()
            if counts:
                self.blocked_s.append(held_s)
        if self.tracer is not None:
            self.tracer.step()
        self._last = mark

    def _settling(self) -> None:
        now = device.counts()
        same = self.before is None or now[:2] + now[3:] == self.before[:2] + self.before[3:]
        self.unchanged = self.unchanged + 1 if same else 0
        self.before = now

    def is_steady(self) -> bool:
        """Return whether steps may count by now; asked once for each that might."""
        if self.unchanged >= STEADY or self.extra >= MOST_EXTRA:
            return True
        self.extra += 1
        return False

    def traced(self) -> bool:
        """Return whether a burst that is there to be traced has been."""
        return self.tracer is not None and (self.tracer.written or self.tracer.problem is not None)

    def untraced(self) -> dict[str, str]:
        """Return why no trace was made, by its name in `RankFacts`; nothing where one was."""
        problem = None if self.tracer is None else self.tracer.problem
        return {} if problem is None else {"untraced": problem}

    def drop(self) -> None:
        """Leave the program as it was; a device that has failed is not asked for anything."""
        if self.syncs is not None:
            self.syncs.off()

    def end(self) -> dict[str, Any]:
        """Return what was read, by the names of `PhaseTaken`; steps by the device's clock.

        Where the host runs ahead, what it takes for a step says nothing: the device is what a step
        waits for in the end. A step that the device's clock cannot tell keeps the host's time, and
        `steps_s` is missing.
        """
        self.drop()
        after = device.counts()
        times_s, leads_s = self.marks.times_s(), self.marks.leads_s()
        if self.tracer is not None:
            self.tracer.stop()
        found: dict[str, Any] = {
            "began_s": self.began_s,
            "ended_s": time.perf_counter(),
            "blocked_s": self.blocked_s,
            "peak_memory_bytes": device.peak_memory_bytes(),
            **self._counters(after),
        }
        pairs = [(a, b) for a, b in self.counted if a is not None and b is not None]
        if times_s is not None and leads_s is not None and len(pairs) == len(self.counted):
            found["steps_s"] = [max(0.0, times_s[b] - times_s[a]) for a, b in pairs]
            found["leads_s"] = [leads_s[b] for _, b in pairs]
        return found

    def _counters(self, after: device.Counts) -> dict[str, Any]:
        if self.before is None or not self.counted:
            return {}
        grown = [
            None if now is None else max(0, now - (was or 0))
            for now, was in zip(after, self.before, strict=True)
        ]
        allocations, retries, failures, compiles = grown
        found = {"allocations": allocations, "retries": retries, "compiles": compiles}
        return {**found, "why_short": OUT_OF_MEMORY} if failures else found
