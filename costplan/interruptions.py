"""What interruptions of a spot machine cost a run: checkpoints, lost work, restarts.

Interval: J. T. Daly, "A higher order estimate of the optimum checkpoint interval for restart
dumps", FGCS 22 (2006), eq. 37; its first term is J. W. Young, CACM 17 (1974).
"""

from __future__ import annotations

import math
from itertools import accumulate
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from costplan.work import Guess

WRITE_GB_PER_S: Final = 0.3
"""Checkpoint to a rented disk. Chosen: a network block device of a small box."""
WRITE_LEAST_S: Final = 1.0
UNSTATED_MEAN_S: Final = (None, 24 * 3_600.0, 4 * 3_600.0)
"""Mean time between interruptions where nobody states it, for low (none come), expected and high.
Chosen: no public data for these markets."""
LEAST_MEAN_PER_RESTART: Final = 4.0
"""An unstated mean is never taken so short that restarts eat a quarter of it: nobody would go on
renting there."""
RESTART_PAUSED_S: Final = 120.0
"""Until a paused machine that keeps its disk trains again. Chosen."""


class Interrupted(NamedTuple):
    """What a run of given length turns into; seconds, and a count."""

    interval_s: float
    """Between checkpoints."""
    writing_s: float
    lost_s: float
    restarts_s: float
    times: float
    """Expected interruptions."""


def daly_interval_s(write_s: float, mean_s: float) -> float:
    """Return the checkpoint interval that wastes least, with `mean_s` between interruptions.

    >>> round(daly_interval_s(30, 4 * 3600) / 60, 1)
    15.2
    """
    if write_s >= 2 * mean_s:
        return mean_s
    ratio = write_s / (2 * mean_s)
    return math.sqrt(2 * write_s * mean_s) * (1 + math.sqrt(ratio) / 3 + ratio / 9) - write_s


def interrupted(
    work_s: float, *, write_s: float, mean_s: float, restart_s: float, interval_s: float | None
) -> Interrupted | None:
    """Return what `work_s` of training costs on top, or None where it would never end.

    Each interruption loses half an interval on average and the restart; interruptions arrive over
    the whole stretched run, so wall = work (1 + write/interval) / (1 - loss/mean).
    """
    interval = min(interval_s or daly_interval_s(write_s, mean_s), work_s)
    writing = work_s * write_s / interval
    lost_each = (interval + write_s) / 2
    burden = (lost_each + restart_s) / mean_s
    if burden >= 1:
        return None
    wall = (work_s + writing) / (1 - burden)
    count = wall / mean_s
    return Interrupted(interval, writing, count * lost_each, count * restart_s, count)


def three_ways(
    trained_s: Guess,
    *,
    write_s: float,
    restart_s: Guess,
    stated_mean_s: float | None,
    interval_s: float | None,
) -> tuple[Interrupted | None, ...] | None:
    """Return what interruptions cost at low, expected and high; None where it would never end.

    Each of the three is None where no interruption is expected.
    """
    found: list[Interrupted | None] = []
    for work, restart, unstated in zip(trained_s, restart_s, UNSTATED_MEAN_S, strict=True):
        mean_s = stated_mean_s
        if stated_mean_s is None and unstated is not None:
            mean_s = max(unstated, LEAST_MEAN_PER_RESTART * restart)
        if mean_s is None:
            found.append(None)
            continue
        each = interrupted(
            work, write_s=write_s, mean_s=mean_s, restart_s=restart, interval_s=interval_s
        )
        if each is None:
            return None
        found.append(each)
    return tuple(found)


def rising(found: Iterable[Interrupted | None], field: str) -> Iterator[float]:
    """Yield `field` for low, expected and high, never less than before.

    A longer restart can mean rarer interruptions (see `LEAST_MEAN_PER_RESTART`), and less lost.
    """
    return accumulate((0.0 if each is None else getattr(each, field) for each in found), max)
