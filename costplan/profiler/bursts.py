"""One visit: how a program is fed for a while, and the step times that it gives."""

from __future__ import annotations

import time
from statistics import fmean
from typing import TYPE_CHECKING, Any, Final

from costplan.profiler.gauges import OUT_OF_MEMORY, Gauges
from costplan.profiler.rounds import Visit, Wanted

if TYPE_CHECKING:
    from collections.abc import Callable

MOST: Final = 5000
"""Steps of a visit: what more of them would tell, the next visit tells better."""
WARMUP_SHARE: Final = 0.2
"""Of the budget: where steps are long, warming up ends with this much of it."""


class Phase:
    """One visit while it lasts."""

    def __init__(
        self, wanted: Wanted, settle: int, *, settle_s: float,
        clock: Callable[[], float] = time.perf_counter, gauges: Gauges | None = None,
    ) -> None:  # fmt: skip
        """Begin to settle.

        Args:
            wanted: Name, time and least number of optimizer steps.
            settle: Optimizer steps that are not counted, at most.
            settle_s: After this time settling is over too.
            clock: For tests.
            gauges: What is read of the device meanwhile.
        """
        self.name, self.wanted = wanted.name, wanted
        self.settle, self.settle_s, self.clock = settle, settle_s, clock
        self.steps_s: list[float] = []
        self.windows_s: list[float] = []
        """Mean steps from one optimizer step to the next: some programs fetch all batches of one
        first, and compute then."""
        self.spans: list[tuple[int, int]] = []
        """Which steps each of them is of."""
        self.first = 0
        """Step with which the present window begins."""
        self.is_spoilt = False
        """Whether something else fell into the present window."""
        self.waits_s: list[float] = []
        self.ready: list[float] = []
        self.groups = 0
        self.began_s = clock()
        self.counted_s: float | None = None
        self.cpu_s, self.main_s = 0.0, 0.0
        self.spent_s = 0.0
        self.workers_cpu_s: float | None = None
        self.why_short = ""
        self.gauges = gauges or Gauges(wanted.name)
        self.gauges.begin()
        self.read: dict[str, Any] = {}

    @property
    def settling(self) -> bool:
        """Whether its steps are not counted yet."""
        return self.counted_s is None

    def add(self, step_s: float, wait_s: float) -> None:
        """Count a step."""
        self.steps_s.append(step_s)
        self.waits_s.append(wait_s)

    def group(self, now_s: float, *, disturbed: bool = False) -> None:
        """Note the end of an optimizer step and all its batches.

        Args:
            now_s: When that was.
            disturbed: Workers are still busy with what the visit before left them to do; it does
                not settle meanwhile, for the time of a visit at most.
        """
        if self.counted_s is not None:
            self.groups += 1
            if len(self.steps_s) > self.first and not self.is_spoilt:
                self.spans.append((self.first, len(self.steps_s)))
            self.first, self.is_spoilt = len(self.steps_s), False
            return
        if disturbed and now_s - self.began_s < self.wanted.longest_s:
            return
        self.settle -= 1
        steady = self.settle <= 0 and self.gauges.is_steady()
        if steady or now_s - self.began_s > self.settle_s:
            self.counted_s = now_s
            self.cpu_s, self.main_s = -time.process_time(), -time.thread_time()

    def is_over(self, now_s: float) -> bool:
        """Return whether it was long enough; one that is traced is so once it has been."""
        if self.gauges.tracer is not None:
            return self.gauges.traced()
        if self.counted_s is None or self.groups < self.wanted.least:
            return False
        # What something else fell into tells nothing, and may fall into all of them.
        if len(self.spans) < self.wanted.least and self.groups < 2 * self.wanted.least:
            return False
        long_enough = now_s - self.counted_s >= self.wanted.longest_s
        many = self.wanted.most is not None and self.groups >= self.wanted.most
        return long_enough or many or len(self.steps_s) >= MOST

    def close(self, now_s: float) -> None:
        """Stop counting."""
        if self.counted_s is not None:
            self.spent_s = now_s - self.counted_s
            self.cpu_s += time.process_time()
            self.main_s += time.thread_time()
        # Where the host runs ahead its own clock says nothing of a step: the device's does.
        self.read = self.gauges.end()
        self.steps_s = self.read.pop("steps_s", self.steps_s)
        self.why_short = self.read.pop("why_short", self.why_short)
        if self.why_short == OUT_OF_MEMORY:
            self.steps_s, self.waits_s, self.spans = [], [], []
        self.windows_s = [fmean(self.steps_s[a:b]) for a, b in self.spans]

    def loader_share(self, *, workers: bool) -> float:
        """Return what the loader may have cost of it, at most: the wait, and what workers took."""
        if not self.spent_s or (workers and self.workers_cpu_s is None):
            return 1.0
        return (sum(self.waits_s) + (self.workers_cpu_s or 0.0)) / self.spent_s

    def visit(self) -> Visit | None:
        """Return what is planned by; None where nothing was counted."""
        if not self.windows_s:
            return None
        step_s = fmean(self.windows_s)
        return Visit(self.name, step_s, step_s * len(self.steps_s) / max(1, self.groups))

    def told(self) -> dict[str, Any]:
        """Return what is kept of it."""
        return {
            "name": self.name, "steps_s": self.steps_s, "waits_s": self.waits_s,
            "windows_s": self.windows_s,
            "ready": self.ready, "groups": self.groups, "spent_s": self.spent_s,
            "cpu_s": self.cpu_s, "main_s": self.main_s, "why_short": self.why_short,
            "workers_cpu_s": self.workers_cpu_s,
            **self.read,
        }  # fmt: skip
