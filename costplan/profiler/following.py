"""Several ranks that change their bursts at one step: the first announces it, the others follow.

A step ends with all ranks together, so that a change some steps ahead is read by all in time.
"""

from __future__ import annotations

import os

AHEAD = 3
"""Optimizer steps by which the first rank announces a change."""


class Ranks:
    """This process among those that train together."""

    def __init__(self, folder: str) -> None:
        self.rank = int(os.environ.get("RANK", "0") or 0)
        self.world = int(os.environ.get("WORLD_SIZE", "1") or 1)
        self.place = os.path.join(folder, "change")
        self.number = 0
        self.announced: int | None = None

    def changes(self, micro: int, *, is_over: bool, accumulation: int) -> bool:
        """Return whether all change at this step."""
        if self.world == 1:
            return is_over
        if self.announced is None and is_over:
            self.announced = micro + AHEAD * accumulation
            self._write()
        elif self.announced is None and self.rank:
            self.announced = self._read()
        return self.announced is not None and micro >= self.announced

    def changed(self) -> None:
        """Forget the change that was made."""
        self.number += 1
        self.announced = None

    def _write(self) -> None:
        with open(f"{self.place}.part", "w", encoding="ascii") as file:
            file.write(f"{self.number} {self.announced}")
        os.replace(f"{self.place}.part", self.place)

    def _read(self) -> int | None:
        try:
            with open(self.place, encoding="ascii") as file:
                number, micro = file.read().split()
        except (OSError, ValueError):
            return None
        return int(micro) if int(number) == self.number else None
