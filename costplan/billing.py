"""Meters x state x usage -> money: rounding, minimums, tiers, month lengths, states.

Exact Decimal arithmetic without rounding; the clock and the disk are other rooms' business. The
month length, the rounding step and the unit are fields of a price, because providers differ in
each of them (see `pricing/README.md`).
"""

from __future__ import annotations

from decimal import ROUND_CEILING, Decimal
from typing import TYPE_CHECKING, Final

from costplan.errors import InputError, UnknownError
from costplan.records.offers import STANDARD_MONTH_HOURS
from costplan.units import GB_PER, SECONDS_PER_HOUR, US_PER_HOUR, US_PER_S

if TYPE_CHECKING:
    from costplan.records.providers import (
        Meter,
        Rounding,
        SpotTerms,
    )

ZERO: Final = Decimal(0)
MICROSECOND_S: Final = Decimal("0.000001")

# Units of a price: what it counts, and for how long.
DATA_UNIT: Final = {
    "gb_hour": "gb",
    "gib_hour": "gib",
    "gb_second": "gb",
    "gib_second": "gib",
    "gb_month": "gb",
    "gib_month": "gib",
    "gb": "gb",
    "gib": "gib",
    "tb": "tb",
    "tb1024": "tb1024",
    "tib": "tib",
}
_PER_SECOND: Final = frozenset({"second", "core_second", "gb_second", "gib_second"})
_PER_MONTH: Final = frozenset({"month", "gb_month", "gib_month"})


def billed_us(used_us: int, rounding: Rounding | None, *, first: bool = True) -> int:
    """Return the microseconds billed for one start that lasted `used_us`.

    An unstated step or minimum rounds nothing: the caller says that it is unstated. Where the
    minimum holds once and not for each start, it is left out of all but the `first`.

    >>> billed_us(61_000_000, None)
    61000000
    """
    if rounding is None or used_us == 0:
        return used_us
    billed = used_us
    if rounding.minimum_s is not None and (first or rounding.minimum_each_start):
        billed = max(billed, int(rounding.minimum_s * US_PER_S))
    if rounding.step_s is not None:
        step_us = int(rounding.step_s * US_PER_S)
        billed = -(-billed // step_us) * step_us
    if rounding.month_cap_hours is not None:
        whole, rest = divmod(billed, int(STANDARD_MONTH_HOURS) * US_PER_HOUR)
        cap_us = int(rounding.month_cap_hours * US_PER_HOUR)
        billed = whole * cap_us + min(rest, cap_us)
    return billed


def minimum_charge(cost_usd: Decimal, rounding: Rounding) -> Decimal:
    """Return `cost_usd` of one start, raised to the provider's least charge where it has one."""
    if rounding.minimum_usd is None or cost_usd == 0:
        return cost_usd
    return max(cost_usd, rounding.minimum_usd)


def unit_amount(meter: Meter, size_gb: Decimal) -> Decimal:
    """Convert gigabytes to the meter's own data unit (GB, GiB, TB of 1,000 or of 1,024)."""
    return size_gb / GB_PER[DATA_UNIT[meter.per]]


def billed_amount(meter: Meter, amount: Decimal) -> Decimal:
    """Return what the meter counts for `amount`, in its own unit: the next size sold, or itself.

    Raises:
        InputError: No size sold is large enough.
    """
    if meter.basis != "tier_rounded" or amount == 0:
        return amount
    for size in meter.sizes_gb:
        if amount <= size:
            return size
    raise InputError(f"{amount} is above the largest size sold, {meter.sizes_gb[-1]}")


def tiered(
    meter: Meter, amount: Decimal, *, free: Decimal = ZERO
) -> tuple[Decimal, Decimal] | None:
    """Return the least and the greatest price of `amount`; None where the price is unknown.

    They differ only where two readings of the tiers exist (`tier_mode: unknown`). The `free` part
    uses up the first tiers: what lies above it is priced from where it ends, as the invoices of
    the big clouds do.
    """
    paid = max(ZERO, amount - free)
    if not meter.tiers:
        if meter.usd is None:
            return None
        return paid * meter.usd, paid * meter.usd
    reached = max(tier.above for tier in meter.tiers if amount >= tier.above)
    whole = paid * next(tier.usd for tier in meter.tiers if tier.above == reached)
    uppers = [tier.above for tier in meter.tiers[1:]] + [max(amount, reached)]
    marginal = sum(
        (
            max(ZERO, min(amount, upper) - max(free, tier.above)) * tier.usd
            for tier, upper in zip(meter.tiers, uppers, strict=True)
        ),
        ZERO,
    )
    if meter.tier_mode == "marginal":
        return marginal, marginal
    if meter.tier_mode == "whole":
        return whole, whole
    return min(whole, marginal), max(whole, marginal)


def data_usd(
    meter: Meter, size_gb: Decimal, *, free_left: Decimal | None = None
) -> tuple[Decimal, Decimal] | None:
    """Return the least and the greatest price of moving `size_gb`; None where it is unknown.

    Args:
        meter: Of kind ingress, egress or inter_region.
        size_gb: Gigabytes of 10^9 bytes.
        free_left: What is left of the free amount, in the meter's unit; all where not given.
    """
    free = (meter.free or ZERO) if free_left is None else free_left
    return tiered(meter, unit_amount(meter, size_gb), free=free)


def counted_gb(meter: Meter, *, in_gb: Decimal, out_gb: Decimal) -> Decimal:
    """Return the GB that a bandwidth meter counts: one direction's, or the larger of the two."""
    if meter.counts == "larger":
        return max(in_gb, out_gb)
    return in_gb if meter.kind == "ingress" else out_gb


def hours_in(meter: Meter) -> Decimal:
    """Return the hours that the meter's price pays for."""
    if meter.per in _PER_MONTH:
        return meter.month_hours
    return Decimal(1) / SECONDS_PER_HOUR if meter.per in _PER_SECOND else Decimal(1)


def hourly_usd(meter: Meter, amount: Decimal) -> tuple[Decimal, Decimal] | None:
    """Return the least and greatest price of `amount` (own unit) for an hour; None if unknown.

    Stopped rate = GB x price / month hours is this function on a monthly disk meter. An amount
    that is free each month comes off first.
    """
    price = tiered(meter, billed_amount(meter, amount), free=meter.free or ZERO)
    if price is None:
        return None
    if meter.per in _PER_SECOND:  # times 3,600, exactly, instead of divided by 1/3,600
        return price[0] * SECONDS_PER_HOUR, price[1] * SECONDS_PER_HOUR
    length = hours_in(meter)
    return price[0] / length, price[1] / length


def held_usd(meter: Meter, amount: Decimal, held_hours: Decimal) -> Decimal:
    """Return the price of holding `amount` (own unit) for `held_hours`, rounded by the meter.

    Raises:
        UnknownError: The meter has no price, or its tiers have two readings.
    """
    price = hourly_usd(meter, amount)
    if price is None:
        raise UnknownError(f"nobody states the price of {meter.kind} ({meter.source})")
    if price[0] != price[1]:
        raise UnknownError(f"the tiers of {meter.kind} have two readings ({meter.source})")
    return price[0] * rounded_hours(held_hours, meter.step_s)


def rounded_hours(held_hours: Decimal, step_s: Decimal | None) -> Decimal:
    """Return `held_hours` rounded up to whole steps; a step of a month is paid ahead."""
    if step_s is None:
        return held_hours
    # To the microsecond first: 7 minutes are no exact number of hours, but 7 whole minutes.
    held_s = (held_hours * SECONDS_PER_HOUR).quantize(MICROSECOND_S)
    steps = (held_s / step_s).to_integral_value(ROUND_CEILING)
    return steps * step_s / SECONDS_PER_HOUR


def requote(
    headline_usd_per_hour: Decimal,
    *,
    quoted_disk_gb: Decimal,
    disk_gb: Decimal,
    usd_per_gb_month: Decimal,
    month_hours: Decimal = STANDARD_MONTH_HOURS,
) -> Decimal:
    """Return the hourly price with a disk of `disk_gb` in place of the quoted one.

    >>> round(requote(Decimal("2.0896"), quoted_disk_gb=Decimal(5), disk_gb=Decimal(900),
    ...       usd_per_gb_month=Decimal(1), month_hours=Decimal(720)), 5)
    Decimal('3.33266')
    """
    return headline_usd_per_hour + (disk_gb - quoted_disk_gb) * usd_per_gb_month / month_hours


def machine_bid(spot: SpotTerms, bid_usd_per_hour: Decimal, count: int) -> Decimal:
    """Return what a bid costs for the whole machine of `count` GPUs.

    Raises:
        UnknownError: Nobody says whether the provider's bids are per GPU or per machine.
    """
    if spot.bid_scope is None:
        raise UnknownError(f"nobody says whether a bid is per GPU or per machine ({spot.source})")
    return bid_usd_per_hour * count if spot.bid_scope == "per_gpu" else bid_usd_per_hour
