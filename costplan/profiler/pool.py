"""Batches kept of those that a loader gave, so that a few of them cost what all do on the mean."""

from __future__ import annotations

import random
from statistics import fmean
from typing import TYPE_CHECKING, Any, Final

from costplan.profiler import batches

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

SAME: Final = 2
"""Batches given again of a loader whose batches are all of one shape."""
VARIED: Final = 16
"""Where shapes differ from batch to batch: one for each sixteenth of them, by their size."""
MOST: Final = 48
"""Batches kept, of which those are chosen."""
MOST_BYTES: Final = 2_000_000_000
"""Of kept batches, on the host."""


class Pool:
    """What one loader gave: the size of each batch, and some of the batches."""

    def __init__(self) -> None:
        self.kept: list[Any] = []
        self._sizes: list[int] = []
        """Of those, in elements of all tensors."""
        self._seen: list[int] = []
        """Sizes of all batches that were offered."""
        self._offered = 0
        """So many of them for a copy."""
        self._shapes: set[tuple[object, ...]] = set()
        self._bytes = 0
        self._dice = random.Random(0)  # its own: the program's numbers stay as they are

    def offer(self, batch: Any, *, may_copy: bool) -> None:
        """Keep a batch, where it tells more than those before: each is as likely to be kept.

        Args:
            batch: That the program gets.
            may_copy: Whether there is time for a copy now. Else its size alone is noted.
        """
        held = list(batches.tensors(batch))
        size = sum(each.numel() for each in held)
        self._seen.append(size)
        self._shapes.add(tuple(each.shape for each in held))
        most = MOST if len(self._shapes) > 1 else SAME
        if not may_copy:
            return
        self._offered += 1
        if len(self.kept) < most and self._bytes < MOST_BYTES:
            self._bytes += sum(each.numel() * each.element_size() for each in held)
            self.kept.append(batches.cloned(batch))
            self._sizes.append(size)
        elif most == MOST and (place := self._dice.randrange(self._offered)) < len(self.kept):
            self.kept[place], self._sizes[place] = batches.cloned(batch), size

    def chosen(self) -> list[Any]:
        """Return the batches that stand for all that were offered, in an order of chance.

        Of many shapes one for each equal part of them by size, of which the kept one that is
        nearest to its middle: so few taken at random would miss the mean by a tenth.
        """
        if len(self._shapes) <= 1:
            return self.kept
        places = [nearest(self._sizes, size) for size in middles(self._seen, VARIED)]
        random.Random(0).shuffle(places)
        return [self.kept[place] for place in places]

    def mean(self, count: Callable[[Any], int | None]) -> int | None:
        """Return how many of something a batch has on the mean; None where one does not tell."""
        counts = [count(each) for each in self.chosen()]
        known = [each for each in counts if each is not None]
        return round(fmean(known)) if known and len(known) == len(counts) else None


def middles(sizes: Sequence[int], parts: int) -> list[int]:
    """Return the size in the middle of each of so many equal parts of them, smallest first.

    >>> middles([5, 1, 2, 6, 3, 4], 3)
    [2, 4, 6]
    >>> middles([7], 2)
    [7, 7]
    """
    ordered = sorted(sizes)
    return [ordered[(2 * part + 1) * len(ordered) // (2 * parts)] for part in range(parts)]


def nearest(sizes: Sequence[int], size: int) -> int:
    """Return the place of the size that is nearest to another, the first of equals.

    >>> nearest([1, 9, 5], 6), nearest([1, 9, 5], 7), nearest([4], 90)
    (2, 1, 0)
    """
    return min(range(len(sizes)), key=lambda place: (abs(sizes[place] - size), place))
