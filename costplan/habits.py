"""When somebody comes back from this absence: their own past, and other people's as a prior.

The law is that of Kaplan and Meier with weights (see `absence.History`): at each recorded hour the
share still away falls by the weight of those who then came back, over the weight of all who stayed
away at least so long. Those still away count as long as they are. What weighs how much:

- One's own absence counts 1 if it began at the same hour of the same weekday, less the less alike
  the moment, `unknown_moment` where nobody knows it; and half after `own_half_life` later ones.
- Other people's together count as `prior_absences` of one's own. They are shared out among those
  people by how likely each would be to stay away as this person has (a likelihood over lengths of
  absence, the latest counting most), and within one person by how alike the moment was, and the
  pace: whether the absences before it were short or long.

Nobody recorded other people's absences below 20 minutes. Before that, one's own count almost alone.
What the numbers are worth, also for people on whom they were not chosen: bench/README.md.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from costplan.absence import History
from costplan.errors import InputError
from costplan.people import (
    LEAST_SHARE,
    LENGTHS_H,
    SEEN_FROM_H,
    WEIGHING,
    above,
    cell_of,
    people_shares,
    rows_of,
    same_moment,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from costplan.people import Moment, Past, Person, Row, Weighing


def next_law(
    past: Sequence[Past],
    people: Sequence[Person] = (),
    *,
    leaving: Moment | None = None,
    never: float = 0.0,
    weighing: Weighing = WEIGHING,
) -> History:
    """Return the law of the absence that begins at `leaving`, after `past` (oldest first).

    Raises:
        InputError: Neither an absence that has ended nor other people are known, or one is not
            above 0 hours.
    """
    cell = cell_of(past, leaving, weighing)
    return law_with(past, people, rows_of(people, cell, weighing), leaving, never, weighing)


def law_with(
    past: Sequence[Past],
    people: Sequence[Person],
    rows: Sequence[Row],
    leaving: Moment | None,
    never: float = 0.0,
    weighing: Weighing = WEIGHING,
) -> History:
    """Return the same where the `rows_of` the people are at hand."""
    if not all(0 < each.hours < math.inf for each in past):
        raise InputError("a history needs absences of more than 0 hours")
    own = list(zip(past, own_weights(past, leaving, weighing), strict=True))
    others = others_weights(past, people, rows, weighing)
    if not others and not any(each.ended for each in past):
        raise InputError("neither an absence that has ended nor other people's are known")
    silent = min(1.0, weighing.short_absences / weighing.prior_absences)
    return History(_steps(own, others, silent), len(past), never)


def own_weights(
    past: Sequence[Past], leaving: Moment | None, weighing: Weighing = WEIGHING
) -> list[float]:
    """Return what each own absence counts."""
    weights, age = [], 0
    for each in reversed(past):
        moment = weighing.unknown_moment
        if leaving is not None and each.left is not None:
            moment = above(weighing.own_floor, same_moment(leaving, each.left, weighing))
        weights.append(moment * 0.5 ** (age / weighing.own_half_life))
        age += each.hours >= SEEN_FROM_H
    return weights[::-1]


def others_weights(
    past: Sequence[Past],
    people: Sequence[Person],
    rows: Sequence[Row],
    weighing: Weighing = WEIGHING,
) -> dict[float, float]:
    """Return by hours what other people's absences count."""
    weights = [0.0] * len(LENGTHS_H)
    for share, row in zip(people_shares(past, people, weighing), rows, strict=True):
        if share >= LEAST_SHARE:
            for place, part in row:
                weights[place] += share * part
    total = sum(weights)
    return {
        hours: weighing.prior_absences * weight / total
        for hours, weight in zip(LENGTHS_H, weights, strict=True)
        if weight
    }


def _steps(
    own: Iterable[tuple[Past, float]], others: Mapping[float, float], silent: float
) -> tuple[tuple[float, float], ...]:
    """Return the hours of return with the share still away after each.

    Before 20 minutes only the share `silent` of the others is known to be away.
    """
    back: dict[float, float] = {}
    gone: dict[float, float] = {}
    for each, weight in own:
        side = back if each.ended else gone
        side[each.hours] = side.get(each.hours, 0.0) + weight
    mine, theirs, chances = 0.0, 0.0, []
    for hours in sorted({*back, *gone, *others}, reverse=True):
        mine += back.get(hours, 0.0) + gone.get(hours, 0.0)
        theirs += others.get(hours, 0.0)
        returned = back.get(hours, 0.0) + others.get(hours, 0.0)
        if returned:
            known = 1.0 if hours >= SEEN_FROM_H else silent
            chances.append((hours, returned / (mine + known * theirs)))
    share, steps = 1.0, []
    for hours, chance in reversed(chances):
        share *= max(0.0, 1 - chance)
        steps.append((hours, share))
    return tuple(steps)
