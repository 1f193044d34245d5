"""One burst: how a program is fed for a while, and the step times that it gives."""

from __future__ import annotations

import time
from typing import Any

from costplan.profiler.series import mean_of

LEAST = 6
"""Steps of a phase at least: fewer have no interval worth a name."""
MOST = 2000
ENOUGH = 0.03
"""A phase ends when half of its 95 % interval is below this share of the mean ..."""
LONG_ENOUGH_S = 1.0
"""... and not before this: a shared machine has bad moments longer than a step."""


class Phase:
    """One way of feeding the program, and the step times that it gives."""

    def __init__(self, name: str, share: float, settle: int) -> None:
        self.name, self.share, self.settle = name, share, settle
        self.steps_s: list[float] = []
        self.waits_s: list[float] = []
        self.ready: list[float] = []
        self.began_s = time.perf_counter()
        self.why_short = ""

    def is_over(self, now_s: float, budget_s: float) -> bool:
        """Return whether enough is known, or the share of the budget used."""
        spent_s, share_s = now_s - self.began_s, self.share * budget_s
        if len(self.steps_s) < LEAST:
            if spent_s < 2 * share_s:
                return False
            self.why_short = "budget"
            return True
        if spent_s >= share_s or len(self.steps_s) >= MOST:
            return True
        return spent_s >= LONG_ENOUGH_S and mean_of(self.steps_s).half_share <= ENOUGH

    def told(self) -> dict[str, Any]:
        """Return what is kept of it."""
        return {
            "name": self.name,
            "steps_s": self.steps_s,
            "waits_s": self.waits_s,
            "ready": self.ready,
            "why_short": self.why_short,
        }
