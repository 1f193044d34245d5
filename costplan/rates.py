"""What one machine bills by the hour and by the GB, stated or taken from others, with ranges."""

from __future__ import annotations

from decimal import Decimal
from itertools import accumulate
from typing import TYPE_CHECKING, Final, NamedTuple

from costplan.billing import billed_amount, data_usd, hourly_usd, unit_amount
from costplan.phases import counting
from costplan.records.offers import STANDARD_MONTH_HOURS
from costplan.spans import NOTHING, Span, exactly
from costplan.units import decimal

if TYPE_CHECKING:
    from datetime import date

    from costplan.records.offers import Offer, Pricing
    from costplan.records.providers import Meter, MeterKind, Provider, State
    from costplan.unpriced import KnownPrices

OLD_DAYS: Final = 30
"""Prices older than this are said; prices that a market sets are no longer believed exactly."""
WIDENED: Final = Span(Decimal("0.5"), Decimal(1), Decimal("1.5"))
"""A market's price older than `OLD_DAYS`: vast.ai's A100 median moved 49.8 % in one step
(2026-10-29)."""
ZERO: Final = Decimal(0)
ONE: Final = exactly(Decimal(1))


class Price(NamedTuple):
    """A price with its range and where it comes from."""

    usd: Span
    source: str
    as_of: date | None
    stated: bool = True
    """False where it is the price of others (see `unpriced`)."""


class Meters(NamedTuple):
    """One provider's meters by kind, found once."""

    provider: Provider
    gpu: Meter | None
    disk: Meter | None
    cpu: Meter | None
    ram: Meter | None
    ingress: Meter | None
    egress: Meter | None
    pieces: tuple[Meter, ...]
    """Addresses and fees, by the hour."""
    volume: Meter | None
    known: KnownPrices
    gpu_counts: dict[State, int]
    """See `phases.counting`."""
    disk_counts: dict[State, int]
    beside_counts: dict[MeterKind, dict[State, int]]
    """Of CPU, RAM, addresses and fees, where they bill beside the GPU."""
    traffic: dict[object, tuple[Span, Span, Price | None, Price | None]]
    """GB in and out and their prices worked out so far, by what moves (see `itemise.common`)."""

    def unknown(self, meter: Meter) -> bool:
        """Return whether neither the provider nor anyone else states the price of `meter`."""
        return meter.usd is None and not meter.tiers and self.likely(meter.kind) is None

    def likely(self, kind: MeterKind) -> Price | None:
        """Return what `kind` costs elsewhere, or None where nobody says."""
        found = self.known.likely(kind, self.provider.key)
        if found is None:
            return None
        usd = Span(Decimal(0), found.median, found.maximum)
        return Price(usd, f"not stated: {found.whose}", None, stated=False)


def meters_of(provider: Provider, known: KnownPrices) -> Meters:
    """Return the meters of `provider` that a running machine meets."""
    cpu = None if "cpu" in provider.included else provider.meter("cpu")
    ram = None if "ram" in provider.included else provider.meter("ram")
    pieces = tuple(m for m in (provider.meter("public_ip"), provider.meter("fee")) if m is not None)
    return Meters(
        provider=provider,
        gpu=provider.meter("gpu"),
        disk=provider.meter("disk"),
        cpu=cpu,
        ram=ram,
        ingress=provider.meter("ingress"),
        egress=provider.meter("egress"),
        pieces=pieces,
        volume=provider.meter("network_volume") or provider.meter("volume"),
        known=known,
        gpu_counts=counting(provider.meter("gpu")),
        disk_counts=counting(provider.meter("disk")),
        beside_counts={m.kind: counting(m) for m in (cpu, ram, *pieces) if m is not None},
        traffic={},
    )


class Machine(NamedTuple):
    """One offer sold one way, with the size of what bills beside the GPU."""

    offer: Offer
    meters: Meters
    pricing: Pricing
    disk_gb: Decimal
    cores: float
    ram_gb: float
    on: date


class Rates(NamedTuple):
    """Prices of one machine."""

    gpu: Price
    """Per hour, without what bills beside it."""
    disk: Price
    """Per GB and hour; zero where the hourly price contains the disk."""
    month_hours: Decimal
    """In which the disk is quoted."""


class Refused(NamedTuple):
    """Why an offer cannot be priced."""

    reason: str


def rates(machine: Machine) -> Rates | Refused:
    """Return the machine's hourly prices, the quoted disk taken out of the headline."""
    offer, meters = machine.offer, machine.meters
    spot = machine.pricing == "spot"
    headline = offer.spot_usd_per_hour if spot else offer.usd_per_hour
    if headline is None:
        return Refused("no price sold this way")
    own = offer.storage_usd_per_gb_month is not None
    month = offer.month_hours or (meters.disk.month_hours if meters.disk else STANDARD_MONTH_HOURS)
    disk = _disk_price(machine, month)
    if isinstance(disk, Refused):
        return disk
    for meter in (meters.cpu, meters.ram):
        if meter is not None and meters.unknown(meter):
            return Refused(f"no price of {meter.kind} is known anywhere")
    gpu = exactly(headline)
    if offer.quoted_disk_gb:
        low, expected, high = exactly(offer.quoted_disk_gb).times(disk.usd)
        if headline <= expected:
            return Refused("the disk in the quote costs more than the quote")
        # A dear disk leaves little for the GPU: its high gives the GPU's low.
        gpu = Span(
            max(ZERO, headline - high), max(ZERO, headline - expected), max(ZERO, headline - low)
        )
    if moves(machine):
        gpu = gpu.times(WIDENED)
        disk = disk._replace(usd=disk.usd.times(WIDENED)) if own else disk
    return Rates(Price(gpu, offer.source, offer.checked), disk, month)


def moves(machine: Machine) -> bool:
    """Return whether the price is a market's and too old to be believed exactly."""
    if (machine.on - machine.offer.checked).days <= OLD_DAYS:
        return False
    provider = machine.meters.provider
    listed = provider.spot is not None and provider.spot.price == "list"
    return provider.prices_set_by == "market" or (machine.pricing == "spot" and not listed)


def _disk_price(machine: Machine, month: Decimal) -> Price | Refused:
    """Return the price per GB and hour."""
    offer, meter, sold = machine.offer, machine.meters.disk, Decimal(1)
    if offer.storage_usd_per_gb_month is not None:
        usd = exactly(offer.storage_usd_per_gb_month / month)
        return Price(usd, offer.source, offer.checked)
    if "disk" in machine.meters.provider.included:
        return Price(NOTHING, offer.source, offer.checked)
    if meter is not None and machine.disk_gb:
        size = unit_amount(meter, machine.disk_gb)
        if meter.sizes_gb and size > meter.sizes_gb[-1]:
            return Refused("no disk of that size is sold")
        sold = billed_amount(meter, size) / size
        found = hourly_usd(meter, size)
        if found is not None:
            each = Span(found[0], found[1], found[1]).times(exactly(1 / machine.disk_gb))
            return Price(each, meter.source, meter.as_of)
    likely = machine.meters.likely("disk")
    if likely is None:
        return Refused("no price of disk is known anywhere")
    return likely._replace(usd=likely.usd.times(exactly(sold)))


def core_prices(machine: Machine) -> list[tuple[str, Decimal, str, Price]]:
    """Return CPU and RAM where they bill beside the GPU: name, amount, unit, price of one hour."""
    found = []
    for name, meter, has, unit in (
        ("CPU", machine.meters.cpu, machine.cores, "core-h"),
        ("RAM", machine.meters.ram, machine.ram_gb, "GB-h"),
    ):
        if meter is None:
            continue
        amount = decimal(has)
        size = amount if meter.kind == "cpu" else unit_amount(meter, amount)
        price = hourly_price(machine.meters, meter, size, each_of=amount)
        if price is not None:
            found.append((name, amount, unit, price))
    return found


def hourly_price(meters: Meters, meter: Meter, size: Decimal, *, each_of: Decimal) -> Price | None:
    """Return the price of one of `each_of` for an hour, `size` being all of it in own units."""
    found = hourly_usd(meter, size)
    if found is None:
        return meters.likely(meter.kind)
    each = Span(found[0], found[1], found[1]).times(exactly(1 / each_of))
    return Price(each, meter.source, meter.as_of)


def data_price(meters: Meters, kind: MeterKind, gb: Span) -> Price | None:
    """Return the mean price per GB of moving `gb`; high takes the free amount as used up."""
    meter = meters.ingress if kind == "ingress" else meters.egress
    if meter is None or (meter.usd is None and not meter.tiers):
        return meters.likely(kind)
    costs = [
        ZERO if (cost := data_usd(meter, size, free_left=free_left)) is None else cost[reading]
        for size, free_left, reading in zip(gb, (None, None, ZERO), (0, 1, 1), strict=True)
    ]
    # A whole-volume tier can make more GB cheaper; then high is what the fewer cost.
    rising = accumulate(costs, max)
    each = Span(*(cost / size if size else ZERO for cost, size in zip(rising, gb, strict=True)))
    return Price(each, meter.source, meter.as_of)


def usd_per_hour(machine: Machine, found: Rates) -> Decimal:
    """Return the whole running rate that is expected: GPU, disk, CPU and RAM."""
    rate = found.gpu.usd.expected + found.disk.usd.expected * machine.disk_gb
    for _, amount, _, price in core_prices(machine):
        rate += amount * price.usd.expected
    return rate
