#!/usr/bin/env python3
"""Policies for an idle box, walked forward over real absences, in dollars.

    python bench/absences.py             # one Markdown table per setting
    python bench/absences.py --quick     # the first 10 people
    python bench/absences.py --nested    # constants halved and doubled, people held out; 10 minutes

The learners are the library's own: one knows a person's earlier absences, the others know those of
the remaining people as well, never the person's own future. Money is in floats: rankings are what
counts here, not cents.
"""

from __future__ import annotations

import argparse
import csv
import math
import os
import random
import sys
from concurrent.futures import ProcessPoolExecutor
from decimal import Decimal
from functools import cache
from itertools import accumulate, chain, compress
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from costplan.absence import history
from costplan.advisor import Option, envelope, learned
from costplan.habits import law_with
from costplan.idling import clamp_share
from costplan.people import WEIGHING, Moment, Past, Person, Weighing, cell_of, person_of, rows_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from costplan.absence import Law
    from costplan.advisor import Step

DATA: Final = Path(__file__).resolve().parents[1] / "tests" / "data" / "return_gaps.tsv"
QUICK_PEOPLE: Final = 10
FIRST: Final = 100
SEED: Final = 20261130
SHORT_SHARE: Final = 0.45
SHORT_H: Final = (2 / 60, 0.5)
WAITING: Final = (0.0, 30.0)
PROCESSES: Final = min(4, os.cpu_count() or 1)

FOLDS: Final = 4
"""Parts into which people are put to choose constants on others than those they are tried on."""


class Prices(NamedTuple):
    """The founding example's box: dollars per hour, and dollars on the way back."""

    keep: float
    stop: float
    restart: float
    rebuild: float

    @property
    def borders(self) -> tuple[float, float]:
        """Return T1 and T2: up to where keep, and up to where stop is cheapest."""
        return self.restart / (self.keep - self.stop), (self.rebuild - self.restart) / self.stop


class Plan(NamedTuple):
    """Stop after so many hours, destroy after so many."""

    stop_h: float
    destroy_h: float


People = dict[str, list[Past]]


class Result(NamedTuple):
    """What a policy costs over all counted absences."""

    name: str
    mean: float
    worst: float
    worst_ratio: float


def founding(waiting: float) -> Prices:
    """Return the prices when the person's waiting hour is worth `waiting` dollars."""
    running = 3.4828
    hourly = running + waiting
    return Prices(running, 250 * 0.20 / 720, 2 / 60 * hourly, 0.25 * hourly + 43 * 0.003)


def people(path: Path = DATA, most: int | None = None) -> People:
    """Return each person's absences, in order."""
    found: People = {}
    with path.open(encoding="utf-8", newline="") as lines:
        for row in csv.DictReader(lines, delimiter="\t"):
            left = Moment(int(row["left_weekday"]) - 1, float(row["left_hour"]))
            each = Past(float(row["gap_hours"]), left=left)
            found.setdefault(row["person"], []).append(each)
    return dict(list(found.items())[:most])


def mixed(real: People, seed: int = SEED) -> People:
    """Return the same with short absences put in before, 45 % of all: out and back, then away."""
    rng = random.Random(seed)

    def between(each: Past) -> Iterator[Past]:
        short = []
        while rng.random() < SHORT_SHARE:
            short.append(rng.uniform(*SHORT_H))
        for i, hours in enumerate(short):
            yield Past(hours, left=earlier(each.left, sum(short[i:])))
        yield each

    return {name: [*chain(*map(between, past))] for name, past in real.items()}


def earlier(moment: Moment | None, hours: float) -> Moment | None:
    """Return the moment so many hours before."""
    if moment is None:
        return None
    at = (moment.weekday * 24 + moment.hour - hours) % 168
    return Moment(int(at // 24), at % 24)


def hours_of(past: Sequence[Past]) -> list[float]:
    """Return the hours away, in order."""
    return [each.hours for each in past]


def cost(prices: Prices, plan: Plan, away_h: float) -> float:
    """Return what an absence costs under a plan."""
    on = min(plan.stop_h, away_h)
    off = max(0.0, min(plan.destroy_h, away_h) - on)
    back = prices.rebuild
    if away_h <= plan.stop_h:
        back = 0.0
    elif away_h <= plan.destroy_h:
        back = prices.restart
    return prices.keep * on + prices.stop * off + back


def hindsight(prices: Prices, away_h: float) -> float:
    """Return the cost of the best state for an absence known beforehand."""
    stopped = prices.stop * away_h + prices.restart
    return min(prices.keep * away_h, stopped, prices.rebuild)


def best_plan(prices: Prices, ordered: Sequence[float]) -> Plan:
    """Return the fixed plan that is cheapest over all of `ordered`, ascending hours."""
    n = len(ordered)
    points = [0.0, *ordered]
    sums = enumerate(accumulate(points))
    held = [total + (n - i) * points[i] for i, total in sums]
    leave, destroy = (
        [h - border * i for i, h in enumerate(held)] for border in prices.borders
    )  # fmt: skip
    saved = prices.keep - prices.stop
    return Plan(
        *(points[i] for i in _ordered_minimum([saved * x for x in leave], destroy, prices.stop))
    )


def _ordered_minimum(
    first: Sequence[float], second: Sequence[float], weight: float = 1.0
) -> tuple[int, int]:
    """Return i <= j of the least first[i] + weight x second[j]."""
    best, found, lowest = math.inf, (0, 0), 0
    for j, (a, b) in enumerate(zip(first, second, strict=True)):
        if a < first[lowest]:
            lowest = j
        total = first[lowest] + weight * b
        if total < best:
            best, found = total, (lowest, j)
    return found


# --- the library's own plans ------------------------------------------------------------------


def steps_of(prices: Prices) -> tuple[Step, ...]:
    """Return the lower envelope of the library for these prices."""
    keep, stop, restart, rebuild = (Decimal(repr(value)) for value in prices)
    options = [Option("keep", keep, Decimal(0)), Option("stop", stop, restart)]
    return envelope([*options, Option("destroy", Decimal(0), rebuild, undo=False)])


def planned(steps: tuple[Step, ...], law: Law, share: float | None = None) -> Plan:
    """Return what the library plans under a law."""
    theirs = {s.option.action: s.from_h for s in learned(steps, law, clamp_share=share)}
    destroy_h = theirs.get("destroy", math.inf)
    return Plan(theirs.get("stop", destroy_h), destroy_h)


def alone(past: Sequence[Past], boxes: Sequence[tuple[Step, ...]]) -> list[Plan]:
    """Return the plans of `--no-prior`, one for each box: the envelope, then the history."""
    if not past:
        return [Plan(*(step.from_h for step in steps[1:])) for steps in boxes]
    law = history(hours_of(past))
    return [planned(steps, law, clamp_share(len(past))) for steps in boxes]


class Asked(NamedTuple):
    """A walk over some people: all absences, what is kept of the others, and whose turn it is."""

    everyone: People
    prior: dict[str, Person]
    names: list[str]
    waiting: tuple[float, ...]
    weighing: Weighing = WEIGHING
    rivals: bool = True
    """Whether those that learn less are walked too."""


Walks = dict[tuple[str, float], dict[str, list[Plan]]]
"""Plans by policy and the worth of waiting, then by person."""


def walked(asked: Asked) -> Walks:
    """Return the plans of the learners, each made before the absence it is for."""
    boxes = [steps_of(founding(waiting)) for waiting in asked.waiting]
    people = list(asked.prior.values())
    rows = cache(lambda cell: rows_of(people, cell, asked.weighing))
    found: Walks = {}
    for name in asked.names:
        past = asked.everyone[name]
        kept = [other != name for other in asked.prior]
        others = [*compress(people, kept)]
        bare = [each._replace(left=None) for each in past]
        for i, each in enumerate(past):
            seen = [*compress(rows(cell_of(past[:i], each.left, asked.weighing)), kept)]
            plans = {}
            for policy, known in ((LIKE_YOU, past), (HOURS_ONLY, bare))[: 1 + asked.rivals]:
                law = law_with(known[:i], others, seen, each.left, weighing=asked.weighing)
                plans[policy] = [planned(steps, law) for steps in boxes]
            if asked.rivals:
                plans[ALONE] = alone(past[:i], boxes)
            for policy, made in plans.items():
                for waiting, plan in zip(asked.waiting, made, strict=True):
                    found.setdefault((policy, waiting), {}).setdefault(name, []).append(plan)
    return found


def learners(
    everyone: People,
    real: People,
    waiting: Sequence[float],
    weighing: Weighing = WEIGHING,
    *,
    processes: int = 1,
    rivals: bool = True,
) -> Walks:
    """Return the plans of the learners; the prior comes from the real absences of the others."""
    prior = {name: person_of(past, weighing) for name, past in real.items()}
    names = list(everyone)
    parts = [
        Asked(everyone, prior, names[i::processes], tuple(waiting), weighing, rivals)
        for i in range(processes)
    ]
    if processes == 1:
        return walked(parts[0])
    found: Walks = {}
    with ProcessPoolExecutor(processes) as pool:
        for part in pool.map(walked, parts):
            for key, plans in part.items():
                found.setdefault(key, {}).update(plans)
    return found


ALONE: Final = "own history alone, clamped (`--no-prior`)"
HOURS_ONLY: Final = "the library, a history without the times of leaving"
LIKE_YOU: Final = "**people like you** (the library)"
FIXED: Final = "best fixed plan in hindsight, per person"
HINDSIGHT: Final = "full hindsight"


def rivals(prices: Prices) -> dict[str, Plan]:
    """Return the plans that learn nothing."""
    t1, t2 = prices.borders
    return {
        "destroy after 5 minutes": Plan(5 / 60, 5 / 60),
        "keep 3 days, then destroy": Plan(72.0, 72.0),
        "stop now and forget (30 days)": Plan(0.0, 720.0),
        "stop now, destroy at T2": Plan(0.0, t2),
        "stop now, destroy at 4 h": Plan(0.0, 4.0),
        "stop now, destroy at 72 h": Plan(0.0, 72.0),
        "lower envelope": Plan(t1, t2),
    }


def results(
    waiting: float, everyone: People, walks: Walks, most: int | None = None
) -> list[Result]:
    """Return what every policy costs over the first `most` absences of each person."""
    prices = founding(waiting)
    counted = {name: hours_of(past[:most]) for name, past in everyone.items()}
    every = {
        policy: {name: [plan] * len(gaps) for name, gaps in counted.items()}
        for policy, plan in rivals(prices).items()
    }
    every |= {policy: plans for (policy, worth), plans in walks.items() if worth == waiting}
    every[FIXED] = {
        name: [best_plan(prices, sorted(gaps))] * len(gaps) for name, gaps in counted.items()
    }
    floor = [hindsight(prices, gap) for gaps in counted.values() for gap in gaps]
    found = []
    for policy, plans in every.items():
        spent = [
            cost(prices, plan, gap)
            for name, gaps in counted.items()
            for plan, gap in zip(plans[name], gaps, strict=False)
        ]
        found.append(_result(policy, spent, floor))
    return [*found, _result(HINDSIGHT, floor, floor)]


def _result(name: str, spent: Sequence[float], floor: Sequence[float]) -> Result:
    ratio = max(a / b for a, b in zip(spent, floor, strict=True))
    return Result(name, sum(spent) / len(spent), max(spent), ratio)


def table(found: Sequence[Result]) -> str:
    """Return a Markdown table, and how far the learners are from the best fixed plan."""
    mean = {each.name: each.mean for each in found}
    lines = [
        "| policy | mean $ | to hindsight | dearest $ | worst ratio |",
        "|---|--:|--:|--:|--:|",
    ]
    lines += [
        f"| {r.name} | {r.mean:.3f} | {r.mean / mean[HINDSIGHT]:.3f} | {r.worst:.2f} "
        f"| {r.worst_ratio:.1f} |"
        for r in found
    ]
    away = ", ".join(
        f"{name.replace('**', '')} {mean[name] / mean[FIXED] - 1:+.1%}"
        for name in (ALONE, HOURS_ONLY, LIKE_YOU)
    )
    return "\n".join([*lines, "", f"Against the best fixed plan in hindsight, per person: {away}."])


def settings(real: People) -> Iterator[tuple[str, People]]:
    """Return the absences of each setting, with its heading."""
    yield "absences as they are", real
    yield "45 % of 2-30 minutes", mixed(real)


def counted(most: int | None) -> str:
    """Return the words for which absences are counted."""
    return "all" if most is None else f"first {most} of each"


def show_tables(real: People) -> None:
    """Print a table for each setting."""
    for what, everyone in settings(real):
        walks = learners(everyone, real, WAITING, processes=PROCESSES)
        for waiting in WAITING:
            for most in (FIRST, None):
                heading = f"{what}, {counted(most)}, waiting at ${waiting:g}/h"
                found = results(waiting, everyone, walks, most)
                print(f"## {heading[0].upper()}{heading[1:]}\n\n{table(found)}\n", flush=True)


# --- constants, people held out ---------------------------------------------------------------

Costs = dict[tuple[str, float], dict[str, tuple[float, float]]]
"""Of the first absences, by setting and person: dollars of the library, and of the best fixed
plan in hindsight."""
VARIED: Final = (
    *("prior_absences", "own_half_life", "likeness_half_life", "unseen"),
    *("hour_width_h", "other_day", "pace_width", "pace_floor"),
)


def costs_of(real: People, weighing: Weighing) -> Costs:
    """Return what the library costs with these constants."""
    found: Costs = {}
    for what, everyone in settings(real):
        first = {name: past[:FIRST] for name, past in everyone.items()}
        walks = learners(first, real, WAITING, weighing, processes=PROCESSES, rivals=False)
        for waiting in WAITING:
            prices = founding(waiting)
            plans = walks[LIKE_YOU, waiting]
            found[what, waiting] = {
                name: (_usd(prices, plans[name], gaps), _fixed_usd(prices, gaps))
                for name, gaps in ((name, hours_of(past)) for name, past in first.items())
            }
    return found


def _usd(prices: Prices, plans: Sequence[Plan], gaps: Sequence[float]) -> float:
    return sum(cost(prices, plan, gap) for plan, gap in zip(plans, gaps, strict=True))


def _fixed_usd(prices: Prices, gaps: Sequence[float]) -> float:
    plan = best_plan(prices, sorted(gaps))
    return sum(cost(prices, plan, gap) for gap in gaps)


def over(costs: dict[str, tuple[float, float]], names: Sequence[str]) -> float:
    """Return how much more than the fixed plans some people pay, as a share."""
    spent = sum(costs[name][0] for name in names)
    return spent / sum(costs[name][1] for name in names) - 1


def alternatives() -> Iterator[Weighing]:
    """Return the shipped constants, and these with one halved or doubled."""
    yield WEIGHING
    for name in VARIED:
        for factor in (0.5, 2.0):
            yield WEIGHING._replace(**{name: factor * getattr(WEIGHING, name)})


def show_nested(real: People) -> None:
    """Print the distance of the library from the fixed plans, constants chosen on others."""
    tried: dict[Weighing, Costs] = {}
    for weighing in alternatives():
        tried[weighing] = costs_of(real, weighing)
        means = [over(costs, list(real)) for costs in tried[weighing].values()]
        changed = set(weighing._asdict().items()) - set(WEIGHING._asdict().items())
        print(f"{sum(means) / len(means):+.2%} {dict(changed)}", file=sys.stderr, flush=True)
    names = list(real)
    chosen: dict[str, Costs] = {}
    for fold in range(FOLDS):
        others = [name for i, name in enumerate(names) if i % FOLDS != fold]
        best = min(tried, key=lambda w: sum(over(costs, others) for costs in tried[w].values()))
        chosen |= dict.fromkeys(set(names) - set(others), tried[best])
    print("| setting | constants chosen on other people | the shipped constants |\n|---|--:|--:|")
    for key, shipped in tried[WEIGHING].items():
        nested = over({name: chosen[name][key][name] for name in names}, names)
        what, waiting = key
        heading = f"{what}, {counted(FIRST)}, waiting at ${waiting:g}/h"
        print(f"| {heading} | {nested:+.1%} | {over(shipped, names):+.1%} |")


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--quick", action="store_true", help=f"the first {QUICK_PEOPLE} people")
    parser.add_argument(
        "--nested", action="store_true", help="constants, people held out; in some 10 minutes"
    )
    asked = parser.parse_args()
    show = show_nested if asked.nested else show_tables
    show(people(most=QUICK_PEOPLE if asked.quick else None))


if __name__ == "__main__":
    main()
