#!/usr/bin/env python3
"""How far the mean of a short burst lies from the rest of the run, over published step times.

    python bench/burst_length.py    # two Markdown tables, in a second

The product's rule is its own code, led through each log by a made-up clock.
"""

from __future__ import annotations

import math
from pathlib import Path
from statistics import fmean, median
from typing import TYPE_CHECKING, Final, NamedTuple

from costplan.profiler.bursts import WARMUP_SHARE, Phase
from costplan.profiler.rounds import ENOUGH, LEAST_PAIRS, LEAST_STEPS, Plan
from costplan.profiler.series import mean_of, warmup_steps
from costplan.profiler.stages import KEPT

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from costplan.profiler.rounds import Visit

DATA: Final = Path(__file__).resolve().parents[1] / "tests/data/validation/step_series.tsv"
MS_PER_S: Final = 1_000
IMAGES: Final = 100
"""The logs of ResNet-50 hold milliseconds of an image: so many are taken for a batch."""
LEAST_LEFT: Final = 10
"""Points after a burst, for their mean to be held against."""
WARMUP: Final = warmup_steps(0, 0)
FAMILIES: Final = {
    "resnet50": "ResNet-50",
    "transformerxl": "Transformer-XL (points are means of 10 steps)",
    "waveglow": "WaveGlow",
    "gnmt": "GNMT, variable length",
}


class Burst(NamedTuple):
    """What a rule took of a log: points from `skip` on, `take` of them."""

    skip: int
    take: int


class Scored(NamedTuple):
    """One rule on one log."""

    error_share: float
    take: int
    is_covered: bool
    """Whether the mean of the rest lies in the interval of the burst."""


def fixed(skip: int, take: int) -> Callable[[Sequence[float]], Burst | None]:
    """Return the rule that takes the same points of every log."""
    return lambda _: Burst(skip, take)


def interval_alone(steps_s: Sequence[float]) -> Burst | None:
    """Take points until the interval of their mean is within 3 %, however short they are."""
    for take in range(LEAST_PAIRS * LEAST_STEPS, len(steps_s) - WARMUP + 1):
        if mean_of(steps_s[WARMUP : WARMUP + take]).half_share <= ENOUGH:
            return Burst(WARMUP, take)
    return None


def product(budget_s: float) -> Callable[[Sequence[float]], Burst | None]:
    """Return the rule of `costplan profile --keep-going`: its own plan and visits."""
    return lambda steps_s: _led(steps_s, budget_s)


def _led(steps_s: Sequence[float], budget_s: float) -> Burst | None:
    plan = Plan(KEPT, budget_s=budget_s, can=lambda _: True)
    visits: list[Visit] = []
    real: list[float] = []
    left, now_s, clock = iter(steps_s), 0.0, [0.0]
    while (wanted := plan.next(visits, real, now_s)) is not None:
        settle = 0 if visits else WARMUP
        phase = Phase(wanted, settle, settle_s=WARMUP_SHARE * budget_s, clock=lambda: clock[0])
        if visits:
            phase.group(now_s)
        while not phase.is_over(now_s):
            step_s = next(left, None)
            if step_s is None:
                return None
            now_s += step_s
            clock[0] = now_s
            if not phase.settling:
                phase.add(step_s, 0.0)
                real.append(step_s)
            phase.group(now_s)
        visit = phase.visit()
        assert visit is not None
        visits.append(visit)
    place = len(steps_s) - len(list(left))
    return Burst(place - len(real), len(real))


RULES: Final = {
    "first 20": fixed(0, 20),
    "skip 5, take 5": fixed(5, 5),
    "skip 5, take 15": fixed(5, 15),
    "skip 5, until 3 %": interval_alone,
    "the product, 120 s": product(120.0),
    "the product, 20 s": product(20.0),
}
SHOWN: Final = ("skip 5, until 3 %", "the product, 120 s", "the product, 20 s")
"""Rules that choose their length, and give an interval."""


def logs() -> dict[str, list[list[float]]]:
    """Return the logs of each family in seconds of a step."""
    found: dict[str, list[list[float]]] = {name: [] for name in FAMILIES}
    for line in DATA.read_text(encoding="utf-8").splitlines():
        task, values = line.split("\t")[0], line.split("\t")[-1]
        family = next((name for name in FAMILIES if task.startswith(name)), None)
        if family is not None:
            factor = IMAGES if family == "resnet50" else 1
            found[family].append([factor * float(each) / MS_PER_S for each in values.split(",")])
    return found


def scored(steps_s: Sequence[float], burst: Burst | None) -> Scored | None:
    """Return how a burst did; None where too little of the log is left after it."""
    if burst is None:
        return None
    end = burst.skip + burst.take
    if len(steps_s) - end < LEAST_LEFT:
        return None
    rest_s, mean = fmean(steps_s[end:]), mean_of(steps_s[burst.skip : end])
    return Scored(abs(mean.value / rest_s - 1), burst.take, mean.low <= rest_s <= mean.high)


def share_below(values: Sequence[float], share: float) -> float:
    """Return the smallest value that so large a share of all does not exceed."""
    return sorted(values)[max(0, math.ceil(share * len(values)) - 1)]


def main() -> None:
    """Print the tables."""
    every = {
        family: {
            name: [found for steps_s in series if (found := scored(steps_s, rule(steps_s)))]
            for name, rule in RULES.items()
        }
        for family, series in logs().items()
    }
    counts = {family: len(series) for family, series in logs().items()}
    print("Error of the mean, median / 90th percentile in %; in brackets the logs that were long "
          "enough for the rule.\n")  # fmt: skip
    print(f"| job (logs) | {' | '.join(RULES)} |\n|---|{'--:|' * len(RULES)}")
    for family, by_rule in every.items():
        cells = [_error(found) for found in by_rule.values()]
        print(f"| {FAMILIES[family]} ({counts[family]}) | {' | '.join(cells)} |")
    print("\nPoints taken, median, and how often the rest of the run lies in the 95 % interval.\n")
    print(f"| job | {' | '.join(SHOWN)} |\n|---|{'--:|' * len(SHOWN)}")
    for family, by_rule in every.items():
        print(f"| {FAMILIES[family]} | {' | '.join(_length(by_rule[name]) for name in SHOWN)} |")


def _error(found: Sequence[Scored]) -> str:
    if not found:
        return "(0)"
    errors = [100 * each.error_share for each in found]
    return f"{median(errors):.2f} / {share_below(errors, 0.9):.2f} ({len(found)})"


def _length(found: Sequence[Scored]) -> str:
    if not found:
        return "-"
    covered = fmean(each.is_covered for each in found)
    return f"{median(each.take for each in found):.0f}, {covered:.0%}"


if __name__ == "__main__":
    main()
