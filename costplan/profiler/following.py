"""Several ranks that change their bursts at one step: the first announces it, the others follow.

A step ends with all ranks together, so that a change some steps ahead is read by all in time.
"""

from __future__ import annotations

import json
import os
from typing import Final, NamedTuple

from costplan.profiler.rounds import Wanted

AHEAD: Final = 3
"""Optimizer steps by which the first rank announces a change."""


class Change(NamedTuple):
    """What all ranks do from one optimizer step on; nothing any more where None is wanted."""

    group: int
    wanted: Wanted | None


class Ranks:
    """This process among those that train together."""

    def __init__(self, folder: str) -> None:
        self.rank = int(os.environ.get("RANK", "0") or 0)
        self.world = int(os.environ.get("WORLD_SIZE", "1") or 1)
        self.place = os.path.join(folder, "change")
        self.number = 0
        self.announced: Change | None = None

    def forget(self) -> None:
        """Take back what was announced; all ranks do so at one step."""
        self.announced, self.number = None, self.number + 1

    def announce(self, group: int, wanted: Wanted | None) -> None:
        """Tell the others what comes next; alone, it comes at once."""
        if self.world == 1:
            self.announced = Change(group, wanted)
            return
        self.announced = Change(group + AHEAD, wanted)
        with open(f"{self.place}.part", "w", encoding="utf-8") as file:
            json.dump([self.number, self.announced.group, wanted], file)
        os.replace(f"{self.place}.part", self.place)

    def due(self, group: int) -> Change | None:
        """Return the change that is made at this optimizer step, once."""
        if self.announced is None and self.rank:
            self.announced = self._read()
        if self.announced is None or group < self.announced.group:
            return None
        change, self.announced = self.announced, None
        self.number += 1
        return change

    def _read(self) -> Change | None:
        try:
            with open(self.place, encoding="utf-8") as file:
                number, group, wanted = json.load(file)
        except (OSError, ValueError):
            return None
        if number != self.number:
            return None
        return Change(group, None if wanted is None else Wanted(*wanted))
