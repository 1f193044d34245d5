"""How much longer or shorter the same work takes on another card, or on several: rough.

The range of one card to another is the 10th to 90th percentile error of this rule on public
training measurements; it is wide on purpose. Same card and count: nothing is scaled.
"""

from __future__ import annotations

import math
from itertools import product
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from costplan.records.cards import Card, Precision

TIME_LOW: Final = 0.65
"""-35 % of the predicted time (see `rough_factor`)."""
TIME_HIGH: Final = 1.52
"""+52 % of the predicted time."""

# How many times one GPU's throughput several of one box reach: measured range and median of
# public runs in the same container (lambdal/deeplearning-benchmark, tests/data/lambda_train.tsv).
SPEEDUP: Final = {1: (1.0, 1.0, 1.0), 2: (1.6, 1.92, 2.0), 4: (2.9, 3.73, 4.0), 8: (4.5, 7.31, 8.0)}


class Factor(NamedTuple):
    """Times the measured duration: low, expected, high."""

    low: float
    expected: float
    high: float


SAME: Final = Factor(1.0, 1.0, 1.0)


class Limit(NamedTuple):
    """What of a measured step another card cannot change: a profile found more than the GPU."""

    word: str
    """What sets the pace."""
    faster_share: float | None
    """Of the step, at most: what a card that takes no time would save; None where not known."""
    slower_share: float | None
    """Of the step, at most: what grows where the card is slower; None where not known."""
    adds: bool
    """Whether the device waits meanwhile, so that its part comes on top: as where the process that
    trains loads its own batches. Otherwise both run side by side, and the slower one is seen."""


def peak_tflops(card: Card, precision: Precision) -> float:
    """Return the dense peak that `precision` can reach on `card`, in 10^12 per second.

    The tensor peak is the one with fp16 accumulation: the halved rate that consumer cards have on
    paper with fp32 accumulation does not show in measured training.
    """
    peaks = card.peak_tflops
    if precision == "fp32":
        return peaks.fp32
    if precision == "tf32":
        return peaks.tf32 or peaks.fp32
    if precision == "bf16" and not card.bf16:
        return peaks.fp32
    return peaks.fp16_fp16_accumulate or peaks.fp16_fp32_accumulate or peaks.fp32


def rough_factor(measured: Card, wanted: Card, precision: Precision) -> Factor:
    """Return the time on `wanted` over the time on `measured`: sqrt(FLOP/s x bandwidth ratio)."""
    if measured.key == wanted.key:
        return SAME
    flops = peak_tflops(measured, precision) / peak_tflops(wanted, precision)
    bandwidth = measured.bandwidth_gb_per_s / wanted.bandwidth_gb_per_s
    expected = math.sqrt(flops * bandwidth)
    return Factor(TIME_LOW * expected, expected, TIME_HIGH * expected)


def card_factor(measured: Sequence[Card], wanted: Sequence[Card], precision: Precision) -> Factor:
    """Return the factor where either name may stand for several cards.

    The slowest variant gives `high`, the fastest `low`, their geometric mean what is expected.
    """
    found = [rough_factor(a, b, precision) for a, b in product(measured, wanted)]
    logs = [math.log(factor.expected) for factor in found]
    return Factor(
        min(factor.low for factor in found),
        math.exp(sum(logs) / len(logs)),
        max(factor.high for factor in found),
    )


def limited(card: Factor, limit: Limit | None) -> Factor:
    """Return the factor of another card where it can change a part of the step only.

    A part that comes on top shrinks and grows with the card. Of parts side by side a faster card
    saves nothing, and on a slower one the device's own part may become the longer one.

    >>> limited(Factor(0.4, 0.5, 8.0), Limit("dataloader", 0.0, 0.25, adds=False))
    Factor(low=1.0, expected=1.0, high=2.0)
    >>> limited(Factor(0.25, 0.5, 2.0), Limit("dataloader", 0.5, 0.75, adds=True))
    Factor(low=0.625, expected=0.75, high=1.75)
    """
    if limit is None or card == SAME:
        return card
    if limit.adds:
        return Factor(*(_on_top(each, limit) for each in card))
    return Factor(1.0, _beside(card.expected, limit), _beside(card.high, limit))


def _on_top(factor: float, limit: Limit) -> float:
    share = limit.faster_share if factor < 1 else limit.slower_share
    return factor if share is None else 1 - share + share * factor


def _beside(factor: float, limit: Limit) -> float:
    share = 1.0 if limit.slower_share is None else limit.slower_share
    return max(1.0, share * factor)


def pace(card: Factor, limit: Limit | None) -> str:
    """Return what sets the pace of training on another card: `gpu` where nothing else does.

    >>> pace(Factor(1.3, 2.0, 3.0), Limit("dataloader", 0.0, 0.25, adds=False))
    'dataloader'
    >>> pace(Factor(1.3, 8.0, 9.0), Limit("dataloader", 0.0, 0.25, adds=False))
    'gpu'
    """
    if limit is None:
        return "gpu"
    return limit.word if card.expected <= 1 or _beside(card.expected, limit) <= 1 else "gpu"


def speedup(count: int) -> Factor:
    """Return how many times one GPU's throughput `count` GPUs of one machine reach.

    Between and beyond the measured counts: straight lines in the logarithms.
    """
    if count in SPEEDUP:
        return Factor(*SPEEDUP[count])
    known = sorted(SPEEDUP)
    upper = next((c for c in known if c > count), known[-1])
    lower = known[known.index(upper) - 1]
    share = math.log(count / lower) / math.log(upper / lower)
    low, expected, high = (
        a * (b / a) ** share for a, b in zip(SPEEDUP[lower], SPEEDUP[upper], strict=True)
    )
    return Factor(low, expected, min(high, float(count)))


def count_factor(measured: int, wanted: int) -> Factor:
    """Return the time on `wanted` GPUs over the time on `measured` of the same card."""
    if measured == wanted:
        return SAME
    a, b = speedup(measured), speedup(wanted)
    # The two ranges are of one law on one job, so only the part beyond the smaller count varies.
    ratios = (a.low / b.low, a.expected / b.expected, a.high / b.high)
    return Factor(min(ratios), a.expected / b.expected, max(ratios))


def time_factor(
    *,
    measured: Sequence[Card],
    measured_count: int,
    wanted: Sequence[Card],
    wanted_count: int,
    precision: Precision,
    limit: Limit | None = None,
) -> Factor:
    """Return the time on the wanted machine over the time on the measured one."""
    card = limited(card_factor(measured, wanted, precision), limit)
    count = count_factor(measured_count, wanted_count)
    return Factor(card.low * count.low, card.expected * count.expected, card.high * count.high)
