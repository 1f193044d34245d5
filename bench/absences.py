#!/usr/bin/env python3
"""Policies for an idle box, walked forward over real absences, in dollars.

    python bench/absences.py            # one Markdown table per setting
    python bench/absences.py --quick    # the first 10 people

Each learner knows a person's earlier absences only; `people like you` knows other people's as well.
Money is in floats: rankings are what counts here, not cents.
"""

from __future__ import annotations

import argparse
import csv
import math
import random
from bisect import insort
from decimal import Decimal
from itertools import accumulate, chain
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from costplan.absence import history
from costplan.advisor import Option, envelope, learned

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

DATA: Final = Path(__file__).resolve().parents[1] / "tests" / "data" / "return_gaps.tsv"
QUICK_PEOPLE: Final = 10
FIRST: Final = 100
SEED: Final = 20261130
SHORT_SHARE: Final = 0.45
SHORT_H: Final = (2 / 60, 0.5)
WAITING: Final = (0.0, 30.0)

CLAMPS: Final = ((10, 0.25), (20, 0.125))
"""As in `costplan.idling`: with fewer absences than this, a share of the border and one over it."""

PRIOR_ABSENCES: Final = 40
"""Other people's absences together count as so many of one's own."""
HALF_LIFE: Final = 50
"""After so many further absences one counts half: habits change."""
LEAST_SHARE: Final = 0.004
"""People less alike than this are left out: it saves time and moves no plan."""
GRID: Final = (0.0, *(2 / 60 * 1.085**i for i in range(136)))
"""Hours at which a state may be left: at once, then from 2 minutes to 2000 hours."""
EDGES: Final = (0.5, 1, 2, 4, 8, 12, 16, 20, 30, 48, 72, 120, 200, 400)
"""Hours that part absences into lengths, to see who is like whom."""


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


People = dict[str, list[float]]


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
    """Return each person's hours away, in order."""
    found: People = {}
    with path.open(encoding="utf-8", newline="") as lines:
        for row in csv.DictReader(lines, delimiter="\t"):
            found.setdefault(row["person"], []).append(float(row["gap_hours"]))
    return dict(list(found.items())[:most])


def mixed(real: People, seed: int = SEED) -> People:
    """Return the same with short absences put in between, 45 % of all."""
    rng = random.Random(seed)

    def between(hours: float) -> Iterator[float]:
        while rng.random() < SHORT_SHARE:
            yield rng.uniform(*SHORT_H)
        yield hours

    return {name: [*chain(*map(between, gaps))] for name, gaps in real.items()}


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


def library_walk(prices: Prices, gaps: Sequence[float]) -> list[Plan]:
    """Return the plans of `costplan idle --history`: envelope, then clamped, then the history."""
    past: list[float] = []
    plans = []
    for gap in gaps:
        plan = best_plan(prices, past) if past else Plan(*prices.borders)
        share = next((share for most, share in CLAMPS if len(past) < most), None)
        if share is not None:
            pairs = zip(plan, prices.borders, strict=True)
            plan = Plan(*(min(max(t, share * b), b / share) for t, b in pairs))
        plans.append(plan)
        insort(past, gap)
    return plans


class Curve(NamedTuple):
    """Dollars lost by leaving each state at each hour of the grid."""

    stop: list[float]
    destroy: list[float]

    def plus(self, other: Curve, weight: float, mine: float = 1.0) -> Curve:
        """Return `mine` times this and `weight` times the other."""
        return Curve(
            [mine * a + weight * b for a, b in zip(self.stop, other.stop, strict=True)],
            [mine * a + weight * b for a, b in zip(self.destroy, other.destroy, strict=True)],
        )


FLAT: Final = Curve([0.0] * len(GRID), [0.0] * len(GRID))


def curve(prices: Prices, away_h: float) -> Curve:
    """Return the curve of one absence."""
    saved, restart, more = prices.keep - prices.stop, prices.restart, prices.rebuild
    back = saved * away_h
    stayed = prices.stop * away_h + restart
    return Curve(
        [back if away_h <= t else saved * t + restart for t in GRID],
        [stayed if away_h <= t else prices.stop * t + more for t in GRID],
    )


class Peer(NamedTuple):
    """Another person: the mean curve, and how surprising each length of absence would be."""

    curve: Curve
    log_shares: tuple[float, ...]


def length_of(away_h: float) -> int:
    """Return which of the lengths an absence has."""
    return sum(away_h > edge for edge in EDGES)


def peer(curves: Sequence[Curve], gaps: Sequence[float]) -> Peer:
    """Return what is learnt from one person for others."""
    n = len(gaps)
    counts = [0.5] * (len(EDGES) + 1)
    for gap in gaps:
        counts[length_of(gap)] += 1
    mean = Curve(
        [sum(column) / n for column in zip(*(c.stop for c in curves), strict=True)],
        [sum(column) / n for column in zip(*(c.destroy for c in curves), strict=True)],
    )
    return Peer(mean, tuple(math.log(count / sum(counts)) for count in counts))


def prior(peers: Sequence[Peer], likeness: Sequence[float]) -> Curve:
    """Return the mean curve of other people, by how likely each is to stay away like this."""
    top = max(likeness)
    weights = [math.exp(log - top) for log in likeness]
    least = LEAST_SHARE * sum(weights)
    kept = [(w, each) for w, each in zip(weights, peers, strict=True) if w >= least]
    total = sum(w for w, _ in kept)
    mean = FLAT
    for weight, each in kept:
        mean = mean.plus(each.curve, weight / total)
    return mean


def peers_walk(curves: Sequence[Curve], gaps: Sequence[float], peers: Sequence[Peer]) -> list[Plan]:
    """Return the plans of `people like you`: one's own past, fading, and others like oneself."""
    fade = 0.5 ** (1 / HALF_LIFE)
    own, likeness = FLAT, [0.0] * len(peers)
    plans = []
    for mine, gap in zip(curves, gaps, strict=True):
        known = own.plus(prior(peers, likeness), PRIOR_ABSENCES)
        plans.append(Plan(*(GRID[i] for i in _ordered_minimum(known.stop, known.destroy))))
        own = own.plus(mine, 1.0, fade)
        length = length_of(gap)
        likeness = [
            fade * log + each.log_shares[length] for log, each in zip(likeness, peers, strict=True)
        ]
    return plans


def learners(prices: Prices, everyone: People) -> dict[str, list[list[Plan]]]:
    """Return the plans of each learner, person by person."""
    curves = {name: [curve(prices, gap) for gap in gaps] for name, gaps in everyone.items()}
    known = {name: peer(curves[name], gaps) for name, gaps in everyone.items()}
    walks = []
    for name, gaps in everyone.items():
        others = [each for other, each in known.items() if other != name]
        walks.append(peers_walk(curves[name], gaps, others))
    return {
        LIBRARY: [library_walk(prices, gaps) for gaps in everyone.values()],
        LIKE_YOU: walks,
    }


LIBRARY: Final = "**own history, clamped** (the library)"
LIKE_YOU: Final = "**people like you**"
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
    prices: Prices, everyone: People, walks: dict[str, list[list[Plan]]], most: int | None = None
) -> list[Result]:
    """Return what every policy costs over the first `most` absences of each person."""
    counted = [gaps[:most] for gaps in everyone.values()]
    every = {
        name: [[plan] * len(gaps) for gaps in counted] for name, plan in rivals(prices).items()
    }
    fixed = [[best_plan(prices, sorted(gaps))] * len(gaps) for gaps in counted]
    every |= walks | {FIXED: fixed}
    floor = [hindsight(prices, gap) for gaps in counted for gap in gaps]
    found = []
    for name, lists in every.items():
        spent = [
            cost(prices, plan, gap)
            for each, gaps in zip(lists, counted, strict=True)
            for plan, gap in zip(each, gaps, strict=False)
        ]
        found.append(_result(name, spent, floor))
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
        f"{name.split('**')[1]} {mean[name] / mean[FIXED] - 1:+.1%}" for name in (LIBRARY, LIKE_YOU)
    )
    return "\n".join([*lines, "", f"Against the best fixed plan in hindsight, per person: {away}."])


def agrees(prices: Prices, gaps: Sequence[float]) -> bool:
    """Return whether the library's own plans cost the same as those that stand for them here."""
    keep, stop, restart, rebuild = (Decimal(repr(value)) for value in prices)
    options = [Option("keep", keep, Decimal(0)), Option("stop", stop, restart)]
    steps = envelope([*options, Option("destroy", Decimal(0), rebuild, undo=False)])
    plans = library_walk(prices, gaps)
    for n in (n for n in (1, 5, 15, 60) if n < len(gaps)):
        share = next((share for most, share in CLAMPS if n < most), None)
        law = history(gaps[:n])
        theirs = {s.option.action: s.from_h for s in learned(steps, law, clamp_share=share)}
        destroy_h = theirs.get("destroy", math.inf)
        ours = Plan(theirs.get("stop", destroy_h), destroy_h)
        both = [sum(cost(prices, plan, gap) for gap in gaps[:n]) for plan in (ours, plans[n])]
        if not math.isclose(*both, rel_tol=1e-9):
            return False
    return True


def settings(real: People) -> Iterator[tuple[str, list[Result]]]:
    """Return the results of every setting, each with its heading."""
    for what, everyone in (("absences as they are", real), ("45 % of 2-30 minutes", mixed(real))):
        for waiting in WAITING:
            prices = founding(waiting)
            first = next(iter(everyone.values()))
            if not agrees(prices, first):
                raise SystemExit("the library plans otherwise than this bench says")
            walks = learners(prices, everyone)
            for most in (FIRST, None):
                counted = "all" if most is None else f"first {most} of each"
                heading = f"{what}, {counted}, waiting at ${waiting:g}/h"
                yield heading, results(prices, everyone, walks, most)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--quick", action="store_true", help=f"the first {QUICK_PEOPLE} people")
    asked = parser.parse_args()
    for heading, found in settings(people(most=QUICK_PEOPLE if asked.quick else None)):
        print(f"## {heading[0].upper()}{heading[1:]}\n\n{table(found)}\n", flush=True)


if __name__ == "__main__":
    main()
