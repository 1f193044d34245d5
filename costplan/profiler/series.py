"""Step times as a sample: their mean with an interval that is honest about its neighbours.

The mean says what a job takes, for total time is a sum; its interval comes from the means of equal
parts of the series, so that steps which depend on their neighbours do not make it too narrow.
"""

from __future__ import annotations

import math
from statistics import fmean, stdev
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

# Student's t, two-sided 95 %, for 1 to 30 degrees of freedom; above, the normal value is near.
# Source: any table, here from the NIST/SEMATECH handbook, section 1.3.6.7.2.
T_95: Final = (
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
    2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
    2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
)  # fmt: skip
NORMAL_95: Final = 1.96
MOST_PARTS: Final = 20
"""Of a series, whose means are compared: enough for t, few enough to be long."""
LEAST_WARMUP: Final = 5
"""Steps that are never counted: the first allocate and choose kernels, 10 to 18 times slower."""


class Mean(NamedTuple):
    """A mean with its 95 % interval."""

    value: float
    low: float
    high: float
    steps: int

    @property
    def half_share(self) -> float:
        """Half of the interval as a share of the mean; infinite where nothing is known."""
        return (self.high - self.low) / 2 / self.value if self.value > 0 else math.inf


def warmup_steps(workers: int, prefetch: int) -> int:
    """Return how many steps come first: a full queue hides a slow loader for that long.

    >>> warmup_steps(0, 0), warmup_steps(4, 2)
    (5, 10)
    """
    return max(LEAST_WARMUP, workers * prefetch + 2)


def mean_of(times_s: Sequence[float]) -> Mean:
    """Return the mean of step times with its interval: unbounded above from a single one."""
    value = fmean(times_s)
    if len(times_s) < 2:
        return Mean(value, 0.0, math.inf, len(times_s))
    parts = part_means(times_s)
    half = t_95(len(parts) - 1) * stdev(parts) / math.sqrt(len(parts))
    return Mean(value, max(0.0, value - half), value + half, len(times_s))


def part_means(times_s: Sequence[float]) -> list[float]:
    """Return the means of consecutive parts of equal length, of all single values where few."""
    size = max(1, len(times_s) // MOST_PARTS)
    count = len(times_s) // size
    first = len(times_s) - count * size
    return [fmean(times_s[first + n * size : first + (n + 1) * size]) for n in range(count)]


def t_95(freedom: int) -> float:
    """Return the two-sided 95 % value of Student's t.

    >>> t_95(1), t_95(30), t_95(31)
    (12.706, 2.042, 1.96)
    """
    return T_95[freedom - 1] if freedom <= len(T_95) else NORMAL_95
