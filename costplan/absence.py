"""How long people stay away: laws of absence, and when to leave a state under each.

`held_h(t)` is E[min(T, t)], the hours that a state left at `t` is paid for; `back(t)` is P(T <= t).
`never` is the chance of not coming back at all: held grows by it for ever, back never reaches 1.
Rule: leaving a state for the next one at `t` costs, up to factors that do not depend on `t`,
held(t) - bound x back(t), where `bound` is the absence at which both states cost the same (Irani,
Shukla, Gupta, TECS 2003; with hazard h it says: stay while h(t) > 1/bound).
"""

from __future__ import annotations

import math
from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from costplan.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

FOREVER_H: Final = math.inf
SHORTEST_H: Final = 1e-4
LONGEST_H: Final = 1e6
"""A century of hours: beyond it nobody waits."""
GRID: Final = 2_000
ROUNDS: Final = 80
MOST_POWER: Final = 600
"""e to this is beyond any hours; a little more is beyond any float."""


class Law(Protocol):
    """A law of absence."""

    def held_h(self, t: float) -> float:
        """Return E[min(T, t)] in hours."""

    def back(self, t: float) -> float:
        """Return P(T <= t)."""

    def leave_h(self, bound_h: float) -> float:
        """Return when to leave a state whose border with the next is `bound_h`."""


class Exponential(NamedTuple):
    """Memoryless, with mean `mean_h` among those who come back."""

    mean_h: float
    never: float = 0.0

    def held_h(self, t: float) -> float:
        """Return E[min(T, t)] in hours."""
        returning = self.mean_h * -math.expm1(-t / self.mean_h) if t < math.inf else self.mean_h
        return _with_never(returning, t, self.never)

    def back(self, t: float) -> float:
        """Return P(T <= t)."""
        return (1 - self.never) * -math.expm1(-t / self.mean_h)

    def leave_h(self, bound_h: float) -> float:
        """Return now or never without `never`; with it, when its share has grown too large."""
        if self.mean_h >= bound_h:
            return 0.0
        if self.never == 0:
            return FOREVER_H
        if self.never >= 1:
            return 0.0
        odds = (1 - self.never) / self.never * (bound_h / self.mean_h - 1)
        return max(0.0, self.mean_h * math.log(odds)) if odds > 0 else 0.0


class Weibull(NamedTuple):
    """Shape below 1: the longer away, the longer still; scale in hours."""

    shape: float
    scale_h: float
    never: float = 0.0

    def held_h(self, t: float) -> float:
        """Return E[min(T, t)] in hours: (eta/k) gamma_lower(1/k, (t/eta)^k)."""
        a = 1 / self.shape
        share = 1.0 if t == math.inf else gamma_share(a, (t / self.scale_h) ** self.shape)
        return _with_never(self.scale_h * a * math.gamma(a) * share, t, self.never)

    def back(self, t: float) -> float:
        """Return P(T <= t)."""
        if t == math.inf:
            return 1 - self.never
        return (1 - self.never) * -math.expm1(-((t / self.scale_h) ** self.shape))

    def leave_h(self, bound_h: float) -> float:
        """Return eta (k bound/eta)^(1/(1-k)) for a falling hazard, else the better of two ends."""
        if self.never == 0 and self.shape < 1:
            inner = self.shape * bound_h / self.scale_h
            power = math.log(inner) / (1 - self.shape)
            return self.scale_h * math.exp(power) if power < MOST_POWER else FOREVER_H
        return best_leave_h(self, bound_h)


class Lognormal(NamedTuple):
    """Logarithm of the hours normal with mean `m` and deviation `s`."""

    m: float
    s: float
    never: float = 0.0

    def held_h(self, t: float) -> float:
        """Return e^(m+s^2/2) Phi((ln t - m - s^2)/s) + t Phi((m - ln t)/s)."""
        mean = math.exp(self.m + self.s**2 / 2)
        if t == math.inf:
            return _with_never(mean, t, self.never)
        if t <= 0:
            return 0.0
        z = (math.log(t) - self.m) / self.s
        return _with_never(mean * phi(z - self.s) + t * phi(-z), t, self.never)

    def back(self, t: float) -> float:
        """Return P(T <= t)."""
        if t <= 0:
            return 0.0
        z = math.inf if t == math.inf else (math.log(t) - self.m) / self.s
        return (1 - self.never) * phi(z)

    def leave_h(self, bound_h: float) -> float:
        """Return the best time found: the hazard rises first, so both ends are compared."""
        return best_leave_h(self, bound_h)


class History(NamedTuple):
    """Recorded absences; those still away count as longer than they are so far.

    Kaplan and Meier, JASA 53 (1958): the share still away steps down at each return.
    """

    steps: tuple[tuple[float, float], ...]
    """Hours of each return, ascending, and the share still away after it."""
    absences: int
    never: float = 0.0

    def held_h(self, t: float) -> float:
        """Return E[min(T, t)] in hours."""
        total, before, share = 0.0, 0.0, 1.0
        for hour, left in self.steps:
            if hour >= t:
                break
            total += (hour - before) * share
            before, share = hour, left
        rest = 0.0 if share == 0 else (t - before) * share
        return _with_never(total + rest, t, self.never)

    def back(self, t: float) -> float:
        """Return P(T <= t)."""
        share = next((left for hour, left in reversed(self.steps) if hour <= t), 1.0)
        return (1 - self.never) * (1 - share)

    def leave_h(self, bound_h: float) -> float:
        """Return the best of 0 and the recorded hours."""
        best, least, held, before, share = 0.0, 0.0, 0.0, 0.0, 1.0
        for hour, left in self.steps:
            held += (hour - before) * share
            back = (1 - self.never) * (1 - left)
            cost = _with_never(held, hour, self.never) - bound_h * back
            if cost < least:
                best, least = hour, cost
            before, share = hour, left
        # After the last return the record says nothing, of those still away neither. Unless a
        # chance of never is stated, the border of the money decides there: else a box would be
        # given up a minute after the longest absence so far.
        return max(best, bound_h) if self.never == 0 and 0 < best == before else best


def history(hours: Iterable[float], *, away: Iterable[float] = (), never: float = 0.0) -> History:
    """Return the law of recorded absences: `hours` ended, `away` still last.

    Raises:
        InputError: There is none, or one is not above zero.
    """
    ended, open_ones = sorted(hours), sorted(away)
    everything = [*ended, *open_ones]
    if not ended or min(everything) <= 0 or not all(math.isfinite(h) for h in everything):
        raise InputError("a history needs absences of more than 0 hours, one of them ended")
    share, steps, at_risk = 1.0, [], len(everything)
    back, gone = Counter(ended), Counter(open_ones)
    for hour in sorted(set(everything)):
        if back[hour]:
            share *= 1 - back[hour] / at_risk
            steps.append((hour, share))
        at_risk -= back[hour] + gone[hour]
    return History(tuple(steps), len(everything), never)


def best_leave_h(law: Law, bound_h: float) -> float:
    """Return the time of least held(t) - bound x back(t), over 0, a fine grid, and never."""

    def cost(t: float) -> float:
        return law.held_h(t) - bound_h * law.back(t)

    ratio = (LONGEST_H / SHORTEST_H) ** (1 / GRID)
    grid = [0.0, *(SHORTEST_H * ratio**i for i in range(GRID + 1))]
    best: float = min(grid, key=cost)
    if best > 0:
        best = _narrowed(cost, best / ratio, best * ratio)
    for end in (0.0, FOREVER_H):
        if cost(end) <= cost(best):
            best = end
    return best


def _narrowed(cost: Callable[[float], float], low: float, high: float) -> float:
    """Return the least point of `cost` between two points around it: golden section."""
    golden: float = (math.sqrt(5) - 1) / 2
    for _ in range(ROUNDS):
        left, right = high - golden * (high - low), low + golden * (high - low)
        if cost(left) < cost(right):
            high = right
        else:
            low = left
    return (low + high) / 2


def leave_times(
    law: Law, bounds_h: Sequence[float], saved_per_hour: Sequence[float]
) -> list[float]:
    """Return when to leave each state in turn, never earlier than the one before.

    Args:
        law: Of the absence.
        bounds_h: Borders between consecutive states of the lower envelope, ascending.
        saved_per_hour: What each step down saves; weighs the steps where their optima cross.
    """
    alone = [law.leave_h(bound) for bound in bounds_h]
    if all(a <= b for a, b in pairwise(alone)):
        return alone
    # Wrong order: the separate optima cross. Try every point that matters, in order.
    points = sorted({0.0, *alone, *(h for h, _ in law.steps)} if isinstance(law, History)
                    else {0.0, *alone})  # fmt: skip
    best = [(0.0, list[float]())] * len(points)
    for bound, saved in zip(bounds_h, saved_per_hour, strict=True):
        cheapest, reached = (math.inf, list[float]()), []
        for point, before in zip(points, best, strict=True):
            cheapest = min(cheapest, before, key=lambda each: each[0])
            cost = cheapest[0] + saved * (law.held_h(point) - bound * law.back(point))
            reached.append((cost, [*cheapest[1], point]))
        best = reached
    return min(best, key=lambda each: each[0])[1]


def clamped(times_h: Sequence[float], bounds_h: Sequence[float], share: float) -> list[float]:
    """Return `times_h` kept within [share x bound, bound / share]."""
    return [
        min(max(t, share * bound), bound / share)
        for t, bound in zip(times_h, bounds_h, strict=True)
    ]


def _with_never(returning_h: float, t: float, never: float) -> float:
    return returning_h if never == 0 else (1 - never) * returning_h + never * t


def phi(z: float) -> float:
    """Return the standard normal distribution function at `z`."""
    return math.erfc(-z / math.sqrt(2)) / 2


def gamma_share(a: float, x: float) -> float:
    """Return gamma_lower(a, x) / Gamma(a): a series below a + 1, a continued fraction above.

    Abramowitz and Stegun 6.5.29 and 6.5.31.
    """
    if x <= 0:
        return 0.0
    front = math.exp(a * math.log(x) - x - math.lgamma(a))
    if x < a + 1:
        term = total = 1 / a
        n = a
        while abs(term) > abs(total) * 1e-16:
            n += 1
            term *= x / n
            total += term
        return front * total
    tiny = 1e-300
    b = x + 1 - a
    c, d = 1 / tiny, 1 / b
    result = d
    for i in range(1, 500):
        step = -i * (i - a)
        b += 2
        d = 1 / ((step * d + b) or tiny)
        c = (b + step / c) or tiny
        result *= c * d
        if abs(c * d - 1) < 1e-16:
            break
    return 1 - front * result
