"""What interruptions of a spot machine cost a run: checkpoints, lost work, restarts.

Interval: J. T. Daly, "A higher order estimate of the optimum checkpoint interval for restart
dumps", FGCS 22 (2006), eq. 37; its first term is J. W. Young, CACM 17 (1974).
"""

from __future__ import annotations

import math
from typing import NamedTuple


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
