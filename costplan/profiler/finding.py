"""Finds the loader that a program trains from, by what follows its batches.

A loader trains where optimizer steps come right after its batches; validation has none. Others that
give as many batches between two optimizer steps train beside it: two data sets zipped together.
"""

from __future__ import annotations

from collections import Counter, deque
from typing import Final

Key = tuple[object, ...]
"""What tells one loader from another, and a loader made anew for each epoch not from the last."""

FIRST_STEPS: Final = 2
"""Optimizer steps in a row after which a loader is taken for the training loader."""
SHORT_EPOCH: Final = 4
"""Batches of an epoch up to which its end belongs to the steps."""
RECENT: Final = 20
"""Optimizer steps that tell the accumulation: some programs raise it while they warm up."""
IDLE_STEPS: Final = 16
"""So many steps' batches without a step are an evaluation: a gradient scaler skips fewer."""
SUCCESSION_STEPS: Final = 8
"""Optimizer steps after batches of another loader alone, after which it trains in its place."""
NO_LOADER_STEPS: Final = 8
"""Optimizer steps without any batch of a torch loader, after which there is none."""


class Finder:
    """What is known of the loaders of a program from its batches and optimizer steps."""

    def __init__(self) -> None:
        self.main: Key | None = None
        self.beside: set[Key] = set()
        self.stepped_since = False
        """Whether an optimizer stepped since the latest batch of the training loader."""
        self.without_loader = 0
        self._also: set[Key] = set()
        self._without_main = 0
        self._since: dict[Key, int] = {}
        self._last: Key | None = None
        self._before: tuple[Key, dict[Key, int]] | None = None
        self.accumulation = 1
        """Batches to an optimizer step: the most common number of late, the smaller of equals.

        A step that a gradient scaler skipped shows twice the number, the end of an epoch less.
        """
        self._counts: deque[int] = deque(maxlen=RECENT)
        self._first: int | None = None
        self._others: set[int] = set()

    @property
    def has_no_loader(self) -> bool:
        """Whether the program trains, and none of torch's loaders gives it batches."""
        return self.main is None and self.without_loader >= NO_LOADER_STEPS

    @property
    def is_idle(self) -> bool:
        """Whether the training loader gave far more batches than a step takes, and none came."""
        taken = 0 if self.main is None else self._since.get(self.main, 0)
        return taken > IDLE_STEPS * self.accumulation

    def named(self, key: Key) -> Key:
        """Return the key that a loader goes by: one that took the place of another has its key.

        A resumed program trains from a shorter loader at first, and a later stage from a new one.
        """
        return self.main if self.main is not None and key in self._also else key

    def asked(self, key: Key) -> None:
        """Note a batch that the loader gave."""
        self._since[key] = self._since.get(key, 0) + 1
        self._last = key
        self.without_loader = 0
        if key == self.main:
            self.stepped_since = False

    def stepped(self, who: int = 0) -> bool:
        """Note an optimizer step; return whether it was the first optimizer's.

        A second one after the same batches belongs to the first: some programs have an optimizer
        for each parameter.
        """
        self.stepped_since = True
        # One that steps twice with no step of the first between goes its own way.
        if self._first is None or who in self._others:
            self._first = who
        is_first = who == self._first
        if is_first:
            self._others.clear()
        else:
            self._others.add(who)
        if self._last is None or not self._since:
            self.without_loader += is_first
            return is_first
        before, since, last = self._before, self._since, self._last
        self._before, self._since = (last, since), {}
        if before is None:
            return is_first
        if self.main is None and before[0] == last:
            self.main = last
        if self.main is not None:
            self._compare(before[1], since, self.main)
            self._succeed(last, since, self.main)
        return is_first

    def _succeed(self, last: Key, since: dict[Key, int], main: Key) -> None:
        self._without_main = 0 if main in since else self._without_main + 1
        if self._without_main >= SUCCESSION_STEPS:
            self._also.add(last)

    def _compare(self, before: dict[Key, int], since: dict[Key, int], main: Key) -> None:
        if main in since:
            self._counted(since[main])
        if len(since) > 1:
            self.beside |= {
                key for key, count in since.items()
                if key != main and count == since.get(main) and before.get(key) == before.get(main)
            }  # fmt: skip

    def _counted(self, batches: int) -> None:
        self._counts.append(batches)
        if batches != self.accumulation:  # one more of the most common ones changes nothing
            counts = Counter(self._counts)
            self.accumulation = min(counts, key=lambda count: (-counts[count], count))


class Epochs:
    """How long the epochs of a program are, by the batches that it took."""

    def __init__(self) -> None:
        self.taken = 0
        """Batches since the latest epoch began."""
        self.length: int | None = None

    @property
    def are_short(self) -> bool:
        """Whether hardly a step has no end of an epoch in it: then all of it is the step."""
        return self.length is not None and self.length <= SHORT_EPOCH

    @property
    def is_over(self) -> bool:
        """Whether a short epoch has had all its batches: replayed ones must end as well."""
        return self.are_short and self.taken >= (self.length or 0)

    def ended(self) -> None:
        """Note that the loader had no more."""
        self.length, self.taken = self.taken, 0
