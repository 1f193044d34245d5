"""Plan x rates -> money: the total of an offer, and the lines that make it up.

`total` is the cheap pass over every offer, `lines` the itemised bill of those that are shown; the
lines of an offer add up to its total.
"""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Final, NamedTuple

from costplan.billing import billed_amount, billed_us, hourly_usd, minimum_charge, unit_amount
from costplan.phases import counted_us
from costplan.rates import (
    ONE,
    ZERO,
    Price,
    Rates,
    Refused,
    core_prices,
    data_price,
    hourly_price,
)
from costplan.spans import NOTHING, Span, exactly
from costplan.units import decimal, hours

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from costplan.phases import Frame, Micros, Moved, Part, Phase, Plan
    from costplan.rates import Machine, Meters
    from costplan.records.providers import Meter, MeterKind, Rounding, State


_CORES: Final[dict[str, MeterKind]] = {"CPU": "cpu", "RAM": "ram"}


class Kept(NamedTuple):
    """Data on the provider's own volume."""

    gb: Decimal
    hours: Decimal


class Common(NamedTuple):
    """What offers of one card, count, provider and way of being sold bill alike."""

    meters: Meters
    frame: Frame
    gpu_us: Micros
    """Of the fixed phases."""
    disk_us: Micros
    beside_us: dict[MeterKind, Micros]
    """Of CPU, RAM, addresses and fees."""
    in_gb: Span
    out_gb: Span
    ingress: Price | None
    """The provider's; None where nobody anywhere states one."""
    egress: Price | None


class Line(NamedTuple):
    """Quantity times price, each with its range."""

    name: str
    quantity: Span
    unit: str
    price: Price
    part: Part

    def cost(self) -> Span:
        """Return quantity times price, low with low and high with high."""
        return self.quantity.times(self.price.usd)


class Total(NamedTuple):
    """What the job costs, and how much of high nobody has stated."""

    usd: Span
    unpriced_usd: Decimal


def common(meters: Meters, frame: Frame) -> Common:
    """Return what all offers of this kind share."""
    key = (frame.incoming, frame.outgoing)
    if key not in meters.traffic:
        into, out = _all_gb(key[0], meters.ingress), _all_gb(key[1], meters.egress)
        prices = (data_price(meters, "ingress", into), data_price(meters, "egress", out))
        meters.traffic[key] = (into, out, *prices)
    in_gb, out_gb, ingress, egress = meters.traffic[key]
    return Common(
        meters=meters,
        frame=frame,
        gpu_us=counted_us(frame.fixed, meters.gpu_counts),
        disk_us=counted_us(frame.fixed, meters.disk_counts),
        beside_us={
            kind: counted_us(frame.fixed, counts) for kind, counts in meters.beside_counts.items()
        },
        in_gb=in_gb,
        out_gb=out_gb,
        ingress=ingress,
        egress=egress,
    )


def _counted_gb(item: Moved, meter: Meter | None) -> Span:
    """Return the GB that `meter` counts; where nobody says whether it does, not in low."""
    gb = Span(*(decimal(size) for size in item.gb))
    if meter is None or item.state in meter.states:
        return gb
    return Span(Decimal(0), gb.expected, gb.high) if item.state in meter.states_unknown else NOTHING


def _all_gb(moved: Iterable[Moved], meter: Meter | None) -> Span:
    total = NOTHING
    for item in moved:
        total = total.plus(_counted_gb(item, meter))
    return total


def _together(fixed: Micros, moving: Sequence[Phase], counts: dict[State, int]) -> Micros:
    more = counted_us(moving, counts)
    return fixed[0] + more[0], fixed[1] + more[1], fixed[2] + more[2]


def _in_hours(us: Micros) -> Span:
    return Span(hours(us[0]), hours(us[1]), hours(us[2]))


def total(
    machine: Machine, found: Rates, shared: Common, plan: Plan, kept: Kept
) -> Total | Refused:
    """Return the cost of the job on `machine`, without itemising it."""
    meters = machine.meters
    used = _together(shared.gpu_us, plan.moving, meters.gpu_counts)
    held = _in_hours(_together(shared.disk_us, plan.moving, meters.disk_counts))
    disk = held.times(found.disk.usd).times(exactly(machine.disk_gb))
    moved = _moved(machine, shared, plan)
    if isinstance(moved, Refused):
        return moved
    usd = _gpu_usd(used, found, meters.provider.rounding).plus(disk).plus(moved.usd)
    unpriced = moved.unpriced_usd if found.disk.stated else moved.unpriced_usd + disk.high
    if meters.cpu or meters.ram or meters.pieces or kept.gb:
        beside = _beside(
            machine,
            {
                kind: _in_hours(_together(shared.beside_us[kind], plan.moving, counts))
                for kind, counts in meters.beside_counts.items()
            },
            kept,
        )
        if isinstance(beside, Refused):
            return beside
        for line in beside:
            usd = usd.plus(line.cost())
            unpriced += ZERO if line.price.stated else line.cost().high
    return Total(usd, unpriced)


def _gpu_usd(used: Micros, found: Rates, rounding: Rounding) -> Span:
    """Return what the GPU bills for one start, rounded and at least the least charge."""
    low, expected, high = (billed_us(us, rounding) for us in used)
    usd = _in_hours((low, expected, high)).times(found.gpu.usd)
    if rounding.minimum_usd is None:
        return usd
    return Span(*(minimum_charge(cost, rounding) for cost in usd))


def _moved(machine: Machine, shared: Common, plan: Plan) -> Total | Refused:
    """Return what the traffic bills, both ways."""
    ingress = _own_or(machine, "ingress", shared)
    egress = _own_or(machine, "egress", shared)
    if ingress is None or egress is None:
        kind = "egress" if ingress else "ingress"
        return Refused(f"no price of {kind} is known anywhere")
    incoming = shared.in_gb.times(_anew(plan)).times(ingress.usd)
    outgoing = shared.out_gb.times(egress.usd)
    unpriced = (ZERO if ingress.stated else incoming.high) + (
        ZERO if egress.stated else outgoing.high
    )
    return Total(incoming.plus(outgoing), unpriced)


def _anew(plan: Plan) -> Span:
    """Return how many times what comes in comes in: once, and again on each new machine."""
    return Span(*(1 + decimal(times) for times in plan.again))


def _own_or(machine: Machine, kind: str, shared: Common) -> Price | None:
    """Return the offer's own price per GB, else its provider's, else what others ask."""
    offer = machine.offer
    own = offer.ingress_usd_per_gb if kind == "ingress" else offer.egress_usd_per_gb
    if own is not None:
        return Price(exactly(own), offer.source, offer.checked)
    return shared.ingress if kind == "ingress" else shared.egress


def lines(
    machine: Machine, found: Rates, shared: Common, plan: Plan, kept: Kept
) -> list[Line] | Refused:
    """Return every cost line of the job on `machine`; they add up to `total`."""
    meters, phases = machine.meters, plan.phases()
    result = [
        Line(phase.name, _in_hours(counted), "h", found.gpu, phase.part)
        for phase in phases
        if (counted := counted_us((phase,), meters.gpu_counts))[2]
    ]
    result += _rounding_lines(machine, found, counted_us(phases, meters.gpu_counts))
    if found.disk.usd.high:
        held = _in_hours(counted_us(phases, meters.disk_counts))
        month = exactly(found.month_hours)
        quantity = held.times(exactly(machine.disk_gb / found.month_hours))
        price = found.disk._replace(usd=found.disk.usd.times(month))
        result.append(Line(_disk_name(machine), quantity, "GB-month", price, "storage"))
    billing = {
        kind: _in_hours(counted_us(phases, counts)) for kind, counts in meters.beside_counts.items()
    }
    beside = _beside(machine, billing, kept)
    if isinstance(beside, Refused):
        return beside
    result += beside
    for kind, moved, meter in (
        ("ingress", plan.frame.incoming, meters.ingress),
        ("egress", plan.frame.outgoing, meters.egress),
    ):
        price_of = _own_or(machine, kind, shared)
        if price_of is None:
            return Refused(f"no price of {kind} is known anywhere")
        if price_of.usd.high:
            times = _anew(plan) if kind == "ingress" else ONE
            found_gb = ((item.name, _counted_gb(item, meter).times(times)) for item in moved)
            result += [
                Line(name, gb, "GB", price_of, "traffic") for name, gb in found_gb if gb.high
            ]
    return result


def _disk_name(machine: Machine) -> str:
    """Return the name of the disk's line, with the size sold where that is larger."""
    meter = machine.meters.disk
    if meter is None or not meter.sizes_gb or machine.offer.storage_usd_per_gb_month is not None:
        return "disk"
    sold = billed_amount(meter, unit_amount(meter, machine.disk_gb))
    return f"disk, billed as {sold.normalize():f} {meter.per.split('_', 1)[0].upper()}"


def _rounding_lines(machine: Machine, found: Rates, used: Micros) -> list[Line]:
    """Return what rounding and a least charge add (a monthly cap takes away)."""
    rounding = machine.meters.provider.rounding
    result = []
    billed = tuple(billed_us(us, rounding) for us in used)
    more = Span(*(hours(b - u) for b, u in zip(billed, used, strict=True)))
    price = found.gpu._replace(source=rounding.source, as_of=rounding.as_of)
    if any(more):
        name = "rounding up" if min(more) >= 0 else "monthly cap"
        result.append(Line(name, more, "h", price, "rounding"))
    if rounding.minimum_usd is not None:
        costs = [hours(us) * usd for us, usd in zip(billed, found.gpu.usd, strict=True)]
        least = Span(*(minimum_charge(cost, rounding) - cost for cost in costs))
        if any(least):
            result.append(Line("least charge", least, "$", price._replace(usd=ONE), "rounding"))
    return result


def _beside(
    machine: Machine, billing: Mapping[MeterKind, Span], kept: Kept
) -> list[Line] | Refused:
    """Return CPU, RAM, addresses, fees and kept volumes, where they bill beside the GPU."""
    meters = machine.meters
    result = [
        Line(name, billing[_CORES[name]].times(exactly(amount)), unit, price, "machine")
        for name, amount, unit, price in core_prices(machine)
    ]
    for meter in meters.pieces:
        price = hourly_price(meters, meter, Decimal(1), each_of=Decimal(1))
        if price is None:
            return Refused(f"no price of {meter.kind} is known anywhere")
        name = "public IP" if meter.kind == "public_ip" else "fee"
        result.append(Line(name, billing[meter.kind], "h", price, "machine"))
    if kept.gb:
        volume = _volume_price(meters, kept.gb)
        if volume is None:
            return Refused("no price of a volume is known anywhere")
        result.append(Line("volume", exactly(kept.gb * kept.hours), "GB-h", volume, "storage"))
    return result


def _volume_price(meters: Meters, gb: Decimal) -> Price | None:
    if meters.volume is None:
        return meters.likely("network_volume")
    size = unit_amount(meters.volume, gb)
    price = hourly_price(meters, meters.volume, size, each_of=gb)
    full = hourly_usd(meters.volume.model_copy(update={"free": None}), size)
    if price is None or full is None:
        return price
    return price._replace(usd=price.usd._replace(high=full[1] / gb))


def summed(itemised: Iterable[Line]) -> Span:
    """Return the total of the lines."""
    usd = NOTHING
    for line in itemised:
        usd = usd.plus(line.cost())
    return usd
