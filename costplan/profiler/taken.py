"""From the step times of all visits to the measurements that the rules judge."""

from __future__ import annotations

import math
from collections import Counter
from statistics import fmean
from typing import TYPE_CHECKING, Final, NamedTuple

from costplan.profiler.rounds import LEAST_PAIRS, Visit, ratios, typical
from costplan.profiler.series import Mean, mean_of
from costplan.profiler.storage import cold_warm
from costplan.records.verdicts import Measured, Tried

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from costplan.records.ranks import RankFacts, RankTaken

LEAST_STEPS: Final = 3
"""Fewer batches of a burst say nothing."""
DRIFT_VISITS: Final = 6
"""Of the real program, before a trend can be told from chance."""
DRIFT_SHARE: Final = 0.05
"""A B200 loses 15 % from its 10th to its 80th iteration as its clock falls; less is not said."""


BATCHES: Final = {"half": 0.5, "double": 2.0}
"""How much is copied to the device, against the whole batch."""


class Taken(NamedTuple):
    """What one process measured: its steps, and each way of feeding against its base."""

    visits: tuple[Visit, ...]
    steps_s: dict[str, tuple[float, ...]]
    """Means from one optimizer step to the next."""
    batches: Mapping[str, int]
    """Behind those."""
    waits_s: tuple[float, ...]
    ready: float | None
    """Batches that lay ready on the mean."""

    def real(self) -> Mean | None:
        """Return the mean step of the program as it is; None where too few were seen."""
        steps_s = self.steps_s.get("real")
        return mean_of(steps_s) if steps_s and self.batches["real"] >= LEAST_STEPS else None

    def step(self, name: str, base: str) -> Mean | None:
        """Return the mean step of a way of feeding: its ratio to the base, times the base's.

        Each visit was held against the visits beside it, so that a machine that slowed down
        between them does not count.
        """
        found = ratios(self.visits, base, name)
        of = self.real() if base == "real" else self.step(base, "real")
        if not found or of is None or self.batches[name] < LEAST_STEPS:
            return None
        ratio, steps = typical(found), len(self.steps_s[name])
        value, half_s = ratio.value * of.value, (ratio.high - ratio.value) * of.value
        if len(found) < LEAST_PAIRS:
            # Two comparisons may agree by chance: steps of the program as it is tell how far the
            # means of so few of them differ.
            half_s = max(half_s, self._noise_share(steps) * value)
        return Mean(value, max(0.0, value - half_s), value + half_s, steps)

    def _noise_share(self, steps: int) -> float:
        """Return half of the 95 % interval of the ratio of two means of so many steps."""
        real = self.real()
        assert real is not None  # what is held against it is not known without
        return real.half_share * math.sqrt(2 * real.steps / steps)


def taken(rank: RankTaken) -> Taken:
    """Return what a rank wrote, in order."""
    visits = []
    steps: dict[str, list[float]] = {}
    batches: Counter[str] = Counter()
    waits: list[float] = []
    ready: list[float] = []
    for phase in rank.phases:
        steps.setdefault(phase.name, []).extend(phase.means_s)
        if phase.means_s:
            batches[phase.name] += len(phase.steps_s)
            visits.append(Visit(phase.name, fmean(phase.means_s), 0.0))
        if phase.name == "real":
            waits += phase.waits_s
            ready += phase.ready
    return Taken(
        tuple(visits), {name: tuple(each) for name, each in steps.items()}, batches, tuple(waits),
        fmean(ready) if ready else None,
    )  # fmt: skip


def copied_s(taken: Taken) -> float:
    """Return what the copy of a batch to the device costs a step, as a batch that lies there tells.

    Nothing where none was given so: what is not known to be the copy's stays the program's.
    """
    host, resident = taken.step("replay", "real"), taken.step("resident", "replay")
    if host is None or resident is None:
        return 0.0
    return max(0.0, host.value - resident.value)


def without_copy_s(taken: Taken, name: str, copy_s: float) -> float | None:
    """Return the step of another batch without its copy, which takes as long as the batch is large.

    None where noise leaves nothing of it.
    """
    step = taken.step(name, "replay")
    left_s = 0.0 if step is None else step.value - BATCHES[name] * copy_s
    return left_s if left_s > 0 else None


def measured(rank: RankTaken, *, usable_cpus: float | None = None) -> Measured:
    """Return what the rules need; what was not measured is None.

    Where a batch on the device was given, half and double batches are without their copy too.

    Args:
        rank: What it wrote.
        usable_cpus: Of the box, for this rank.
    """
    found, facts = taken(rank), rank.facts
    real = found.real()
    replay, half = found.step("replay", "real"), found.step("half", "replay")
    resident, workers = found.step("resident", "replay"), found.step("workers", "real")
    base, copy_s = resident or replay, copied_s(found)
    loader, files = loaders(facts, workers=facts.workers), cold_warm(facts.files_read)
    main = [(each.main_s, each.spent_s) for each in rank.phases if each.name == "real"]
    main_s, main_of_s = sum(a for a, _ in main), sum(b for _, b in main)
    tried: tuple[Tried, ...] = ()
    if workers is not None and loader.best_workers is not None:
        tried = (Tried(fix=more_workers(loader.best_workers, facts.workers), of="dataloader",
                       step_s=workers.value),)  # fmt: skip
    return Measured(
        step_s=None if real is None else real.value,
        steps=None if real is None else real.steps,
        step_error_share=None if real is None else min(real.half_share, 1e6),
        wait_s=fmean(found.waits_s) if found.waits_s and facts.loader_seen else None,
        loader_seen=facts.loader_seen,
        outside_s=fmean(found.waits_s) if found.waits_s and is_outside(facts) else None,
        replay_s=None if base is None else base.value,
        replay_error_share=error_share(base, real),
        replay_host_s=None if resident is None or replay is None else replay.value,
        half_s=without_copy_s(found, "half", copy_s),
        half_error_share=error_share(half, base),
        double_s=without_copy_s(found, "double", copy_s),
        ready_batches=found.ready,
        loader_s=loader.now_s,
        loader_more_workers_s=loader.best_s,
        loader_cold_s=None if files is None else files.cold_s,
        loader_warm_s=None if files is None else files.warm_s,
        loader_disk_share=None if files is None else files.disk_share,
        loader_cpu_share=loader.cpu_share,
        workers=facts.workers,
        workers_cpu_s=None if real is None else workers_cpu_s(rank, real),
        main_cpu_share=min(1.0, max(0.0, main_s / main_of_s)) if main_of_s > 0 else None,
        on_cpu=facts.device == "cpu",
        usable_cpus=usable_cpus,
        tried=tried,
    )


def workers_cpu_s(rank: RankTaken, step: Mean) -> float | None:
    """Return what all workers of the loader compute in a step of the program as it is."""
    known = [(each.workers_cpu_s, each.spent_s) for each in rank.phases
             if each.name == "real" and each.workers_cpu_s is not None]  # fmt: skip
    spent_s = sum(spent_s for _, spent_s in known)
    if spent_s <= 0:
        return None
    return sum(cpu_s or 0.0 for cpu_s, _ in known) / spent_s * step.value


def is_outside(facts: RankFacts) -> bool:
    """Return whether a wait is no wait for a loader, but all that may be one."""
    return facts.outside_seen and not facts.loader_seen


def more_workers(count: int, now: int) -> str:
    """Return the name of a change."""
    return f"{count} workers instead of {now}"


def error_share(mean: Mean | None, of: Mean | None) -> float | None:
    """Return half of an interval as a share of another mean; None where one visit has none."""
    if mean is None or of is None or mean.high == float("inf"):
        return None
    return (mean.high - mean.low) / 2 / of.value


def drift(visits: Sequence[Visit]) -> float | None:
    """Return by which share the program as it is slowed down from its first visits to its last.

    None where it did not, by the Mann-Kendall test at 5 % (Kendall, Rank Correlation Methods,
    chapter 4): more pairs of visits rise than chance would have.
    """
    means = [visit.step_s for visit in visits if visit.name == "real"]
    count = len(means)
    if count < DRIFT_VISITS:
        return None
    pairs = [(means[a], means[b]) for a in range(count) for b in range(a + 1, count)]
    rises = sum((b > a) - (b < a) for a, b in pairs)
    spread = (count * (count - 1) * (2 * count + 5) / 18) ** 0.5
    third = count // 3
    share = fmean(means[-third:]) / fmean(means[:third]) - 1
    falls_by_chance = (rises - 1) / spread <= 1.96
    return None if falls_by_chance or share < DRIFT_SHARE else share


class Loaders(NamedTuple):
    """Seconds of a batch from the loader alone."""

    now_s: float | None
    best_s: float | None
    best_workers: int | None
    cpu_share: float | None = None


def loaders(facts: RankFacts, *, workers: int) -> Loaders:
    """Return what the sweep gave: with the present number of workers, and with the best other."""
    rates = {each.workers: each.batches_per_s for each in facts.loader if each.batches_per_s}
    shares = {each.workers: each.cpu_share for each in facts.loader}
    others = {count: rate for count, rate in rates.items() if count != workers}
    best = max(others, key=lambda count: others[count], default=None)
    return Loaders(
        1 / rates[workers] if workers in rates else None,
        None if best is None else 1 / others[best],
        best,
        shares.get(workers),
    )


def slowest(ranks: Sequence[RankTaken]) -> RankTaken:
    """Return the rank that waits longest for its batches: it sets the pace of all."""
    return max(ranks, key=lambda rank: waiting_s(rank))


def waiting_s(rank: RankTaken) -> float:
    """Return how long a rank waits for a batch on the mean."""
    waits_s = taken(rank).waits_s if rank.facts.loader_seen else ()
    return fmean(waits_s) if waits_s else 0.0


def skew(ranks: Sequence[RankTaken]) -> float | None:
    """Return how much longer the slowest rank waits for batches, as a share of the step."""
    reals = [taken(rank).real() for rank in ranks]
    steps_s = [each.value for each in reals if each is not None]
    if len(ranks) < 2 or not steps_s:
        return None
    waits_s = sorted(waiting_s(rank) for rank in ranks)
    return (waits_s[-1] - waits_s[0]) / max(steps_s)
