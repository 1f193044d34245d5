"""Other people's absences, kept as a prior for somebody's next one, and who and what is alike.

Of each person is kept how often they left in which cell (weekday, two hours of the day, and pace:
whether the absences before were short or long) and for how long.
"""

from __future__ import annotations

import math
import operator
from bisect import bisect_left
from collections import Counter
from itertools import islice
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

SEEN_FROM_H: Final = 1 / 3
"""Other people's absences are known from 20 minutes on; shorter ones do not age one's own."""
GROWTH: Final = 1.05
LENGTHS_H: Final = tuple(SEEN_FROM_H * GROWTH**i for i in range(180))
"""To these hours, up to 2060, other people's absences are rounded."""
LIKENESS_EDGES_H: Final = (0.5, 1, 2, 4, 8, 12, 16, 20, 30, 48, 72, 120, 200, 400)
"""Hours that part absences into lengths, to see who is like whom."""
PACE_EDGES_H: Final = (1.6, 2.7, 4.5, 7.4, 12, 20, 33, 55, 90)
"""Between two of these other people's pace is not told apart."""
BLOCK_H: Final = 2
"""Nor is the hour at which they left within two hours."""
DAY_H: Final = 24
LEAST_SHARE: Final = 0.002
"""People less alike than this move no plan: left out to save time."""


class Moment(NamedTuple):
    """When somebody leaves, in local time."""

    weekday: int
    """Monday is 0."""
    hour: float


class Past(NamedTuple):
    """One recorded absence."""

    hours: float
    ended: bool = True
    left: Moment | None = None


class Weighing(NamedTuple):
    """What counts how much."""

    prior_absences: float = 40.0
    """Other people's absences count together as so many of one's own."""
    short_absences: float = 5.0
    """So many of these are taken to have lasted 20 minutes; of the others nobody knows it."""
    own_half_life: float = 150.0
    """After so many further absences one's own counts half: habits change."""
    likeness_half_life: float = 12.0
    """The same, where it says whom one is like: who one is like these days."""
    unseen: float = 5.0
    """Added to how often another person was away for each length."""
    hour_width_h: float = 3.0
    """Of the bell over the hour of leaving."""
    other_day: float = 0.1
    """What the same hour of another weekday counts."""
    own_floor: float = 0.05
    """What one's own absence counts at least, however different the moment."""
    unknown_moment: float = 0.2
    """What it counts where nobody knows when it began: the others count that much in the mean."""
    others_floor: float = 0.01
    """The same of another person's."""
    pace_half_life: float = 5.0
    """Of the absences before, in the mean that is the pace."""
    pace_width: float = 0.5
    """Of the bell over the logarithm of the pace."""
    pace_floor: float = 0.03


WEIGHING: Final = Weighing()


class Cell(NamedTuple):
    """A moment and a pace, as coarse as they are kept of other people; None is unknown."""

    weekday: int | None
    block: int | None
    pace: int | None


class Person(NamedTuple):
    """Another person: how often they left in which cell for which place in `LENGTHS_H`."""

    counts: Mapping[Cell, Mapping[int, int]]
    log_shares: tuple[float, ...]
    """Of each length between `LIKENESS_EDGES_H` among their absences."""


Row = tuple[tuple[int, float], ...]
"""Places in `LENGTHS_H` with their shares, of one person's absences from one cell."""


def cell_of(past: Sequence[Past], leaving: Moment | None, weighing: Weighing = WEIGHING) -> Cell:
    """Return the cell of an absence that begins at `leaving` after `past`."""
    hours = pace_h(past, weighing.pace_half_life)
    pace = None if hours is None else bisect_left(PACE_EDGES_H, hours)
    if leaving is None:
        return Cell(None, None, pace)
    return Cell(leaving.weekday, int(leaving.hour / BLOCK_H), pace)


def pace_h(past: Sequence[Past], half_life: float) -> float | None:
    """Return the fading geometric mean of the absences of 20 minutes and more, None without one."""
    fade = 0.5 ** (1 / half_life)
    weight, total, weights = 1.0, 0.0, 0.0
    long = (each.hours for each in reversed(past) if each.ended and each.hours >= SEEN_FROM_H)
    for hours in islice(long, math.ceil(8 * half_life)):  # what is older counts less than 1/256
        total += weight * math.log(hours)
        weights += weight
        weight *= fade
    return math.exp(total / weights) if weights else None


def person_of(past: Sequence[Past], weighing: Weighing = WEIGHING) -> Person:
    """Return what is kept of a person for others: ended absences of 20 minutes and more."""
    counts: dict[Cell, dict[int, int]] = {}
    for i, each in enumerate(past):
        if each.ended and each.hours >= SEEN_FROM_H:
            row = counts.setdefault(cell_of(past[:i], each.left, weighing), {})
            place = nearest_length(each.hours)
            row[place] = row.get(place, 0) + 1
    return person_with(counts, weighing)


def person_with(counts: Mapping[Cell, Mapping[int, int]], weighing: Weighing = WEIGHING) -> Person:
    """Return the person with these counts."""
    lengths = [weighing.unseen] * (len(LIKENESS_EDGES_H) + 1)
    for row in counts.values():
        for place, count in row.items():
            lengths[bisect_left(LIKENESS_EDGES_H, LENGTHS_H[place])] += count
    total = sum(lengths)
    return Person(counts, tuple(math.log(count / total) for count in lengths))


def kept(person: Person) -> dict[str, list[int]]:
    """Return a person as `pricing/habits.json` keeps one: cell, then a place for each absence."""
    return {
        ".".join("-" if part is None else str(part) for part in cell): [
            place for place, count in sorted(lengths.items()) for _ in range(count)
        ]
        for cell, lengths in sorted(person.counts.items(), key=lambda each: _sortable(each[0]))
    }


def _sortable(cell: Cell) -> tuple[int, ...]:
    return tuple(-1 if part is None else part for part in cell)


def kept_person(cells: Mapping[str, Sequence[int]]) -> Person:
    """Return the person of whom this is kept.

    Raises:
        ValueError: A cell has another form.
        IndexError: A length or pace is beyond the last.
    """
    counts = {}
    for name, places in cells.items():
        weekday, block, pace = (None if part == "-" else int(part) for part in name.split("."))
        if pace is not None:
            _middle(pace)
        counts[Cell(weekday, block, pace)] = Counter(places)
    return person_with(counts)


def nearest_length(hours: float) -> int:
    """Return the place in `LENGTHS_H` that is nearest on a scale of ratios."""
    place = round(math.log(hours / SEEN_FROM_H) / math.log(GROWTH))
    return min(max(place, 0), len(LENGTHS_H) - 1)


def people_shares(
    past: Sequence[Past], people: Sequence[Person], weighing: Weighing = WEIGHING
) -> list[float]:
    """Return how alike each of the people is to the one with this past, 1 in sum."""
    counts = [0.0] * (len(LIKENESS_EDGES_H) + 1)
    age = 0
    for each in reversed(past):
        if each.hours >= SEEN_FROM_H:
            if each.ended:
                length = bisect_left(LIKENESS_EDGES_H, each.hours)
                counts[length] += 0.5 ** (age / weighing.likeness_half_life)
            age += 1
    logs = [sum(map(operator.mul, counts, person.log_shares)) for person in people]
    top = max(logs, default=0.0)
    shares = [math.exp(log - top) for log in logs]
    total = sum(shares)
    return [share / total for share in shares]


def rows_of(people: Sequence[Person], cell: Cell, weighing: Weighing = WEIGHING) -> tuple[Row, ...]:
    """Return each person's absences as seen from a cell: alike ones count more, 1 in sum."""
    likeness: dict[Cell, float] = {}
    rows = []
    for person in people:
        row: dict[int, float] = {}
        for other, lengths in person.counts.items():
            weight = likeness.get(other)
            if weight is None:
                weight = likeness[other] = alike(cell, other, weighing)
            for place, count in lengths.items():
                row[place] = row.get(place, 0.0) + weight * count
        total = sum(row.values())  # nothing is divided where nothing was recorded
        rows.append(tuple((place, weight / total) for place, weight in row.items()))
    return tuple(rows)


def same_moment(one: Moment, other: Moment, weighing: Weighing) -> float:
    """Return how alike two moments of leaving are: 1 for the same hour of the same day."""
    apart = abs(one.hour - other.hour)
    apart = min(apart, DAY_H - apart) / weighing.hour_width_h
    return math.exp(-(apart**2) / 2) * (1.0 if one.weekday == other.weekday else weighing.other_day)


def alike(one: Cell, other: Cell, weighing: Weighing) -> float:
    """Return how alike two cells are; what is not known of one makes no difference."""
    moment, pace = 1.0, 1.0
    if one.weekday is not None and other.weekday is not None:
        moment = above(weighing.others_floor, same_moment(_moment(one), _moment(other), weighing))
    if one.pace is not None and other.pace is not None:
        apart = (_middle(one.pace) - _middle(other.pace)) / weighing.pace_width
        pace = above(weighing.pace_floor, math.exp(-(apart**2) / 2))
    return moment * pace


def above(floor: float, likeness: float) -> float:
    """Return `likeness` between `floor` and 1 instead of between 0 and 1."""
    return floor + (1 - floor) * likeness


def _moment(cell: Cell) -> Moment:
    return Moment(cell.weekday or 0, BLOCK_H * ((cell.block or 0) + 0.5))


def _middle(pace: int) -> float:
    """Return the logarithm of hours in the middle of a pace, of the outer ones near the edge."""
    edges = (PACE_EDGES_H[0] / 2, *PACE_EDGES_H, PACE_EDGES_H[-1] * 2)
    return math.log(edges[pace] * edges[pace + 1]) / 2
