"""Which burst comes next, and for how long: two ways of feeding a program, turn about.

A machine changes from minute to minute, a shared one from second to second. So each comparison is
made of short visits in turn, each held against its neighbours; what is compared is their ratio.
What the budget cannot pay is dropped, but first what no verdict needs.
"""

from __future__ import annotations

import math
from collections import Counter
from statistics import fmean, stdev
from typing import TYPE_CHECKING, Final, NamedTuple

from costplan.profiler.series import Mean, mean_of, t_95
from costplan.profiler.stages import HELD

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from costplan.profiler.stages import Stage


LEAST_STEPS: Final = 3
"""Batches of a visit at least, and no optimizer step in part."""
SETTLING_STEPS: Final = 2
"""Batches after each change that are not counted, likewise."""
LEAST_PAIRS: Final = 3
MOST_PAIRS: Final = 40
ENOUGH: Final = 0.03
"""A stage ends when its ratio, and the mean of the real step, are known to 3 %."""
ROUGHLY: Final = 0.08
"""A stage that knows its ratio no better goes on for its time once more, at the cost of others."""
VISITS: Final = 24
"""Into which the time of a stage is parted, where steps are short enough for it."""
LONGEST_S: Final = 2.5
"""Of a visit: longer ones see the machine change."""
STARTS: Final = 2
"""Of workers while the loader is alone, at least: for its files, and to see how fast it is."""
LIKELY: Final = {"half": 0.7, "double": 2.0}
"""Time of a step against that of the whole batch, before it was seen."""


class Visit(NamedTuple):
    """One way of feeding the program for a while, and the mean step that it gave."""

    name: str
    step_s: float
    group_s: float
    """From one optimizer step to the next."""


class Wanted(NamedTuple):
    """What the program shall be fed next."""

    name: str
    longest_s: float
    least: int
    """Optimizer steps."""
    most: int | None = None
    """The same; where the host runs ahead of its device, its clock says little of a visit."""


def ratios(visits: Sequence[Visit], base: str, other: str) -> list[float]:
    """Return each visit of `other` over the mean of the `base` visits right before and after it."""
    found = []
    for place, visit in enumerate(visits):
        if visit.name != other:
            continue
        beside = [visits[n].step_s for n in (place - 1, place + 1)
                  if 0 <= n < len(visits) and visits[n].name == base]  # fmt: skip
        if beside and min(beside) > 0:
            found.append(visit.step_s / fmean(beside))
    return found


def typical(values: Sequence[float]) -> Mean:
    """Return the 20 % trimmed mean with its 95 % interval (Yuen, Biometrika 61 (1974), sec. 2).

    A moment in which something else ran on the machine moves one ratio far: it shall not decide.

    Raises:
        ValueError: There are no values.
    """
    if not values:
        raise ValueError("no values")
    count, cut = len(values), len(values) // 5
    ordered = sorted(values)
    kept = ordered[cut : count - cut]
    value = fmean(kept)
    if len(kept) < 2:
        return Mean(value, 0.0, math.inf, count)
    pulled = [min(max(each, kept[0]), kept[-1]) for each in ordered]
    spread = stdev(pulled) * math.sqrt((count - 1) / (len(kept) * (len(kept) - 1)))
    half = t_95(len(kept) - 1) * spread
    return Mean(value, max(0.0, value - half), value + half, count)


def groups(steps: int, accumulation: int) -> int:
    """Return the optimizer steps that take so many batches or more.

    >>> groups(3, 1), groups(3, 2), groups(3, 8)
    (3, 2, 1)
    """
    return -(-steps // accumulation)


class Plan:
    """Which burst comes next. Told the time: it has no clock."""

    def __init__(
        self, stages: Sequence[Stage], *, budget_s: float, can: Callable[[str], bool],
        start_s: float = 0.0,
    ) -> None:  # fmt: skip
        """Take the stages in their order.

        Args:
            stages: Best first.
            budget_s: For all of them.
            can: Told the name of a way of feeding; whether it can be made and is worth it.
            start_s: Until new workers of the loader give their first batch.
        """
        self.left = list(stages)
        self.budget_s, self.can, self.start_s = budget_s, can, start_s
        self.accumulation = 1
        """Batches to an optimizer step, as far as is known."""
        self.dropped: dict[str, float] = {}
        """Stages that the budget could not pay, each with the seconds that were missing."""
        self._stage_s: float | None = None
        self._ends_s = 0.0
        self._visits_before = 0
        self._was_held = False
        """Whether the program was held since the latest visit, for longer than one takes."""
        self._tries: Counter[str] = Counter()
        """Visits of the present stage by their name, also those that gave nothing."""

    @property
    def settling(self) -> int:
        """Optimizer steps after a change that are not counted."""
        return groups(SETTLING_STEPS, self.accumulation)

    @property
    def least(self) -> int:
        """Optimizer steps of a visit at least."""
        return groups(LEAST_STEPS, self.accumulation)

    def _visit(self, name: str, visits: Sequence[Visit]) -> Wanted:
        """Return a visit, now and then by an optimizer step longer.

        A program whose every fourth step is a short one would else have it in each visit of one
        kind, and in none of the other. The sequence is that of Thue and Morse, which repeats none
        of its parts three times.
        """
        assert self._stage_s is not None
        least = self.least + len(visits).bit_count() % 2
        longest_s, group_s = min(LONGEST_S, self._stage_s / VISITS), _group_s(name, visits)
        most = max(least, math.ceil(longest_s / group_s)) if group_s > 0 else None
        return Wanted(name, longest_s, least, most)

    def next(
        self, visits: Sequence[Visit], real_steps_s: Sequence[float], spent_s: float
    ) -> Wanted | None:
        """Return what to feed next; None after the last.

        Args:
            visits: All so far, in order.
            real_steps_s: Every counted step of the program as it is.
            spent_s: Of the budget.
        """
        while self.left:
            stage = self.left[0]
            if self._stage_s is None:
                self._begin(stage, len(visits), spent_s)
            wanted = self._of(stage, visits, real_steps_s, spent_s)
            if wanted is not None:
                self._tries[wanted.name] += 1
                self._was_held = wanted.name == HELD
                return wanted
            self.done()
        return None

    def done(self) -> None:
        """Go on to the next stage."""
        self.left.pop(0)
        self._stage_s = None

    def _begin(self, stage: Stage, seen: int, spent_s: float) -> None:
        shares = sum(each.share for each in self.left)
        self._stage_s = max(0.0, self.budget_s - spent_s) * stage.share / shares
        self._ends_s = spent_s + self._stage_s
        # The last visit counts for the new stage too, where its base was just fed.
        self._visits_before = seen if self._was_held else max(0, seen - 1)
        self._tries.clear()

    def _room_s(self, stage: Stage, visits: Sequence[Visit], *, times: int) -> float:
        """Return until when the present stage may last, of the budget.

        Args:
            stage: The present one.
            visits: All so far.
            times: Comparisons that it leaves the time for to each later stage that is needed.
        """
        needed = [each for each in self.left[1:] if each.needed]
        names = [name for each in needed for name in (each.base, each.other) if name is not None]
        return self.budget_s - times * sum(self._cost_s(name, visits) for name in names)

    def _of(
        self, stage: Stage, visits: Sequence[Visit], real_steps_s: Sequence[float], spent_s: float
    ) -> Wanted | None:
        """Return the next visit of a stage; None where it is over, or cannot be paid or made."""
        assert self._stage_s is not None
        mine = visits[self._visits_before :]
        if stage.other is None:
            return self._alone(stage, visits, real_steps_s, spent_s)
        found = ratios(mine, stage.base, stage.other)
        if len(found) >= MOST_PAIRS or (
            len(found) >= LEAST_PAIRS and _enough(found, real_steps_s, stage)
        ):
            return None
        last = mine[-1].name if mine else ""
        name = stage.other if last == stage.base else stage.base
        tried = any(visit.name == stage.other for visit in mine)
        is_over = spent_s >= self._ends_s
        is_late = is_over and spent_s >= self._ends_s + self._more_s(found)
        # Of less than three comparisons nobody can say how far they are to be trusted.
        if found and is_late and not (stage.needed and len(found) < LEAST_PAIRS):
            return None
        if not tried and (self._tries[stage.other] >= LEAST_PAIRS or not self.can(stage.other)):
            return None
        # A base alone says nothing: the other must be payable too.
        names = [name] if tried or name == stage.other else [name, stage.other]
        cost_s = sum(self._cost_s(each, visits) for each in names)
        times = 0 if stage.needed and not found else 1 + is_over
        room_s = self._room_s(stage, visits, times=times)
        if spent_s + cost_s > room_s and visits:
            if not tried:
                self.dropped[stage.name] = spent_s + cost_s - room_s
            return None
        return self._visit(name, visits)

    def _more_s(self, found: Sequence[float]) -> float:
        """Return how much longer a stage may take whose ratio is still uncertain."""
        if len(found) < 2:
            return 0.0  # steps are long: other stages need the time more
        mean = typical(found)
        return 0.0 if (mean.high - mean.low) / 2 <= ROUGHLY else self._stage_s or 0.0

    def _alone(
        self, stage: Stage, visits: Sequence[Visit], real_steps_s: Sequence[float], spent_s: float
    ) -> Wanted | None:
        assert self._stage_s is not None
        if stage.base == "real":
            counted = sum(visit.name == stage.base for visit in visits)
            known = len(real_steps_s) > LEAST_STEPS and mean_of(real_steps_s).half_share <= ENOUGH
            if counted >= LEAST_PAIRS and (known or spent_s >= self._ends_s):
                return None
            if counted and spent_s >= self.budget_s:
                return None
            return self._visit(stage.base, visits)
        if self._tries[stage.base] or not self.can(stage.base):
            return None
        is_held = stage.base == HELD
        least_s = self._cost_s(stage.base, visits)
        if is_held:
            least_s = STARTS * self.start_s + self.least * _group_s("real", visits)
        room_s = self._room_s(stage, visits, times=0 if stage.needed else 1)
        if spent_s + least_s > room_s:
            self.dropped[stage.name] = spent_s + least_s - room_s
            return None
        longest_s = min(self._stage_s, room_s - spent_s)
        return Wanted(stage.base, longest_s if is_held else min(LONGEST_S, longest_s), self.least)

    def _cost_s(self, name: str, visits: Sequence[Visit]) -> float:
        """Return the least time of a visit."""
        return (self.settling + self.least) * _group_s(name, visits)


def _enough(found: Sequence[float], real_steps_s: Sequence[float], stage: Stage) -> bool:
    mean = typical(found)
    if (mean.high - mean.low) / 2 > ENOUGH:
        return False
    return stage.base != "real" or mean_of(real_steps_s).half_share <= ENOUGH


def _group_s(name: str, visits: Sequence[Visit]) -> float:
    """Return how long an optimizer step takes when fed so: as seen last, else as is likely."""
    seen = [visit.group_s for visit in visits if visit.name == name]
    if seen:
        return seen[-1]
    whole = [visit.group_s for visit in visits if visit.name in ("real", "replay")]
    return LIKELY.get(name, 1.0) * whole[-1] if whole else 0.0
