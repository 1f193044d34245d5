"""How long to watch a quiet box before it is believed to be idle.

Gaps in a live run (validation, loading, an upload) last exponentially with a mean; a quiet period
is the real end with some chance, and then every minute of watching is paid for; stopping in a gap
costs what a false stop costs. Durations are seconds.
"""

from __future__ import annotations

import math
from decimal import Decimal
from typing import TYPE_CHECKING, Final

from costplan.boxcosts import costs
from costplan.errors import InputError, UnknownError
from costplan.units import SECONDS_PER_HOUR

if TYPE_CHECKING:
    from costplan.records.idle import IdleBox

GAP_S: Final = 180.0
"""Mean quiet gap of a live run of which no interval is known: 3 minutes."""
END_SHARE: Final = 0.02
"""One quiet period in 50 is the end of the run."""
FALSE_STOP_HOURS: Final = Decimal("0.7")
"""Of running that a false stop throws away: work since the last checkpoint, and somebody noticing.
With the restart it makes $2.55 on eight RTX 4090 at $3.48."""
SHORTEST_S: Final = 300.0
LONGEST_S: Final = 7_200.0


def window_s(
    gap_s: float, end_share: float, false_stop_usd: float, saved_usd_per_hour: float
) -> float:
    """Return the quiet seconds after which acting costs least: 0 where acting at once does.

    w = g ln[(1 - pi) C / (pi g saved)], where the last minute of watching an ended run costs as
    much as the stops it still prevents.

    Raises:
        InputError: A length, chance or price is none.

    >>> round(window_s(180, 0.02, 2.5, 3.4134) / 60, 1)
    19.7
    """
    _check(gap_s, end_share, false_stop_usd)
    if not 0 < saved_usd_per_hour < math.inf:
        raise InputError(f"nothing is saved at {saved_usd_per_hour} $/h")
    lost = (1 - end_share) * false_stop_usd
    watched = end_share * gap_s / SECONDS_PER_HOUR * saved_usd_per_hour
    return max(0.0, gap_s * math.log(lost / watched)) if lost > 0 else 0.0


def window_cost_usd(
    watched_s: float,
    *,
    gap_s: float,
    end_share: float,
    false_stop_usd: float,
    saved_usd_per_hour: float,
) -> float:
    """Return what a quiet period costs on average when it is believed after `watched_s`.

    Raises:
        InputError: A length or chance is none.
    """
    _check(gap_s, end_share, false_stop_usd)
    if watched_s < 0:
        raise InputError(f"a window of {watched_s} s is none")
    watching = end_share * watched_s / SECONDS_PER_HOUR * saved_usd_per_hour
    return watching + (1 - end_share) * false_stop_usd * math.exp(-watched_s / gap_s)


def default_window_s(box: IdleBox, slowest_interval_s: float | None = None) -> float:
    """Return how long to watch `box`, from 5 minutes to 2 hours.

    Args:
        box: What is saved by acting, and what a false stop costs.
        slowest_interval_s: Between two signs of life of the slowest run; a longer one than the
            3 minutes taken otherwise is the gap.

    Raises:
        UnknownError: What the stopped box bills is not known.
        InputError: The interval is none.
    """
    money = costs(box)
    if box.stop is not None and money.stopped_usd_per_hour is None:
        raise UnknownError(
            "what the stopped box bills is not known: its disk has no stated price",
            hint="give the price of the disk, or a window",
        )
    gap_s = GAP_S if slowest_interval_s is None else max(GAP_S, slowest_interval_s)
    saved = box.usd_per_hour - (money.stopped_usd_per_hour or Decimal(0))
    if saved <= 0:
        return LONGEST_S
    false_stop = money.restart_usd + FALSE_STOP_HOURS * box.usd_per_hour
    found = window_s(gap_s, END_SHARE, float(false_stop), float(saved))
    return min(max(found, SHORTEST_S), LONGEST_S)


def _check(gap_s: float, end_share: float, false_stop_usd: float) -> None:
    if not 0 < gap_s < math.inf:
        raise InputError(f"a quiet gap of {gap_s} s is none")
    if not 0 < end_share < 1:
        raise InputError(f"an end in {end_share} of the quiet periods: not between 0 and 1")
    if not 0 <= false_stop_usd < math.inf:
        raise InputError(f"a false stop of {false_stop_usd} $ is none")
