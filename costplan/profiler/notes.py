"""What one process writes down of its bursts, for the program that started it."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from costplan.profiler.following import Ranks

MOST_GAPS: Final = 1000


class Notes:
    """Everything measured so far."""

    def __init__(self, folder: str, ranks: Ranks) -> None:
        self.folder, self.ranks = folder, ranks
        self.facts: dict[str, Any] = {}
        self.phases: list[dict[str, Any]] = []
        self.gaps: list[dict[str, Any]] = []
        self.optimizer_steps = 0

    def forget(self) -> None:
        """Be as before the first step."""
        self.facts, self.phases, self.gaps, self.optimizer_steps = {}, [], [], 0

    def gap(self, what: str, step_s: float, phase: str) -> None:
        """Note a step into which something else than training fell."""
        if len(self.gaps) < MOST_GAPS:
            self.gaps.append({"what": what, "step_s": step_s, "phase": phase})

    def write(self) -> None:
        """Write it, whole or not at all."""
        pid = os.getpid()
        path = os.path.join(self.folder, f"{pid}.json")
        body = {
            "pid": pid, "rank": self.ranks.rank, "world": self.ranks.world,
            "optimizer_steps": self.optimizer_steps, "facts": self.facts,
            "phases": self.phases, "gaps": self.gaps,
        }  # fmt: skip
        with open(path + ".part", "w", encoding="utf-8") as file:
            json.dump(body, file)
        os.replace(path + ".part", path)
