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
        self.phases: list[str] = []
        """In JSON each: the program waits while they are written, and all are, again and again."""
        self.gaps: list[dict[str, Any]] = []
        self.optimizer_steps = 0

    def forget(self) -> None:
        """Be as before the first step."""
        self.facts, self.phases, self.gaps, self.optimizer_steps = {}, [], [], 0

    def phase(self, told: dict[str, Any]) -> None:
        """Note a visit that is over."""
        self.phases.append(json.dumps(told))

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
            "gaps": self.gaps,
        }  # fmt: skip
        with open(path + ".part", "w", encoding="utf-8") as file:
            file.write(f'{json.dumps(body)[:-1]}, "phases": [{", ".join(self.phases)}]}}')
        os.replace(path + ".part", path)
