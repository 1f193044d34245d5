"""From the step times of all bursts to the measurements that the rules judge."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING, Final, NamedTuple

from costplan.profiler.series import Mean, mean_of
from costplan.records.verdicts import Measured

if TYPE_CHECKING:
    from collections.abc import Sequence

    from costplan.records.ranks import RankFacts, RankTaken

LEAST_STEPS: Final = 3
"""Fewer steps of a burst say nothing."""


class Bursts(NamedTuple):
    """The bursts of one process, by what they fed it."""

    steps_s: dict[str, tuple[tuple[float, ...], ...]]
    waits_s: tuple[float, ...]
    ready: tuple[float, ...]

    def mean(self, name: str) -> Mean | None:
        """Return the mean step of all bursts of a name together; None where there is none."""
        every = [step for steps in self.steps_s.get(name, ()) for step in steps]
        return mean_of(every) if len(every) >= LEAST_STEPS else None


def bursts(rank: RankTaken) -> Bursts:
    """Return the bursts of a rank as it wrote them."""
    found: dict[str, list[tuple[float, ...]]] = {}
    waits: list[float] = []
    ready: list[float] = []
    for phase in rank.phases:
        found.setdefault(phase.name, []).append(phase.steps_s)
        if phase.name == "real":
            waits += phase.waits_s
            ready += phase.ready
    steps = {name: tuple(parts) for name, parts in found.items()}
    return Bursts(steps, tuple(waits), tuple(ready))


def measured(rank: RankTaken) -> Measured:
    """Return what the rules need; what was not measured is None."""
    taken, facts = bursts(rank), rank.facts
    real, replay = taken.mean("real"), taken.mean("replay")
    half, double = taken.mean("half"), taken.mean("double")
    loader = loaders(facts, workers=facts.workers)
    return Measured(
        step_s=None if real is None else real.value,
        steps=None if real is None else real.steps,
        step_error_share=None if real is None else min(real.half_share, 1e6),
        orders_agree=orders_agree(taken),
        wait_s=sum(taken.waits_s) / len(taken.waits_s) if taken.waits_s else None,
        loader_seen=True,
        replay_s=None if replay is None else replay.value,
        half_s=None if half is None else half.value,
        double_s=None if double is None else double.value,
        ready_batches=sum(taken.ready) / len(taken.ready) if taken.ready else None,
        loader_s=loader.now_s,
        loader_more_workers_s=loader.best_s,
        workers=facts.workers,
    )


def orders_agree(taken: Bursts) -> bool | None:
    """Return whether each round says the same of the loader: that it costs a tenth, or does not."""
    pairs = zip(taken.steps_s.get("real", ()), taken.steps_s.get("replay", ()), strict=False)
    gains = [1 - median(b) / median(a) for a, b in pairs
             if len(a) >= LEAST_STEPS and len(b) >= LEAST_STEPS]  # fmt: skip
    if len(gains) < 2:
        return None
    return max(gains) - min(gains) < 0.3 or min(gains) > 0.1 or max(gains) < 0.1


class Loaders(NamedTuple):
    """Seconds of a batch from the loader alone."""

    now_s: float | None
    best_s: float | None
    best_workers: int | None


def loaders(facts: RankFacts, *, workers: int) -> Loaders:
    """Return what the sweep gave: with the present number of workers, and with the best other."""
    rates = {each.workers: each.batches_per_s for each in facts.loader if each.batches_per_s}
    others = {count: rate for count, rate in rates.items() if count != workers}
    best = max(others, key=lambda count: others[count], default=None)
    return Loaders(
        1 / rates[workers] if workers in rates else None,
        None if best is None else 1 / others[best],
        best,
    )


def slowest(ranks: Sequence[RankTaken]) -> RankTaken:
    """Return the rank that waits longest for its batches: it sets the pace of all."""

    def waits(rank: RankTaken) -> float:
        found = bursts(rank).waits_s
        return sum(found) / len(found) if found else 0.0

    return max(ranks, key=waits)
