"""The cheap pass: what is expected of one offer among many, in floats, with nothing itemised.

Only the expected case, and only where an offer differs from its kind by prices and line speed. Its
microseconds are the exact ones; its dollars agree with `itemise.total` to a billionth, and those
that are shown are priced exactly.
"""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, NamedTuple

from costplan.billing import unit_amount
from costplan.phases import plan
from costplan.rates import Machine, Refused, hourly_price, rates
from costplan.transfers import DOWN_MBIT, ORIGIN_MBIT, UP_MBIT
from costplan.units import MBIT_PER_GB, US_PER_HOUR, US_PER_S

if TYPE_CHECKING:
    from costplan.itemise import Common
    from costplan.records.offers import Offer, Pricing
    from costplan.records.providers import MeterKind, State
    from costplan.work import Work


class Glimpse(NamedTuple):
    """One offer sold one way, as the cheap pass sees it."""

    offer: Offer
    pricing: Pricing
    usd: float
    hours: float
    """Until the result is uploaded."""


class Beside(NamedTuple):
    """CPU, RAM, an address or a fee that bills beside the GPU."""

    kind: MeterKind
    us: int
    """Without transfers."""
    moving: bool
    """Whether it bills during them; `pull`: during that of the image."""
    pull: bool
    usd_per_hour: float
    """Of one core, GB or piece."""


class Kind(NamedTuple):
    """What offers of one card, count, provider and way of being sold have in common."""

    gpu_us: int
    disk_us: int
    useful_us: int
    pull_gb: float
    pull_bills_gpu: bool
    pull_bills_disk: bool
    dataset_gb: float
    dataset_mbit_per_s: float
    """Of the line at the data's home; the machine's own may be slower."""
    upload_gb: tuple[float, ...]
    step_us: int
    minimum_us: int
    in_gb: float
    out_gb: float
    ingress_usd_per_gb: float
    egress_usd_per_gb: float
    disk_usd_per_gb_hour: float
    """The provider's, or what others ask."""
    month_hours: float
    disk_gb: float
    beside: tuple[Beside, ...]
    cores: float
    """Where the offer states none; as is the next."""
    ram_gb: float


def kind_of(machine: Machine, shared: Common, work: Work) -> Kind | None:
    """Return the kind of `machine`, or None where its offers must be priced in full.

    In full: where least charges, caps, tiers or volumes hold, or where interruptions cost what the
    line makes them cost.
    """
    meters, provider, frame = shared.meters, shared.meters.provider, shared.frame
    rounding = provider.rounding
    plain = not (
        rounding.minimum_usd
        or rounding.month_cap_hours
        or (frame.interruptible and not (provider.spot and provider.spot.disk_kept))
        or work.dataset_from == "volume"
        or (work.keep_gb and work.keep_hours)
    )
    ingress, egress = shared.ingress, shared.egress
    # A price that depends on the offer is taken out: what is left is the provider's own.
    bare = machine.offer.model_copy(
        update={"storage_usd_per_gb_month": None, "month_hours": None, "quoted_disk_gb": None}
    )
    found = rates(machine._replace(offer=bare))
    done = plan(work, frame, provider, machine.offer)
    if not plain or ingress is None or egress is None or isinstance(found, Refused) or done is None:
        return None
    extra = [p for p in done.moving if p.part == "interruptions"]
    stretched = sum(p.us[1] for p in extra)
    pull = next((p for p in done.moving if p.name == "image pull"), None)
    beside = _beside(shared, stretched, pull.state if pull else None)
    if beside is None:
        return None
    uploads = [work.checkpoint_gb.scaled(n).expected for n in (work.pushes, work.runs) if n]
    line = {"hub": float("inf"), "home": work.home_mbit_per_s.expected}
    return Kind(
        gpu_us=shared.gpu_us[1] + stretched,
        disk_us=shared.disk_us[1] + stretched,
        useful_us=frame.useful_us[1] + stretched,
        pull_gb=work.image_gb.expected if pull is not None else 0.0,
        pull_bills_gpu=pull is not None and pull.state in meters.gpu_counts,
        pull_bills_disk=pull is not None and pull.state in meters.disk_counts,
        dataset_gb=work.dataset_gb.expected,
        dataset_mbit_per_s=line.get(work.dataset_from, ORIGIN_MBIT.expected),
        upload_gb=tuple(uploads),
        step_us=int((rounding.step_s or 0) * US_PER_S),
        minimum_us=int((rounding.minimum_s or 0) * US_PER_S),
        in_gb=float(shared.in_gb.expected),
        out_gb=float(shared.out_gb.expected),
        ingress_usd_per_gb=float(ingress.usd.expected),
        egress_usd_per_gb=float(egress.usd.expected),
        disk_usd_per_gb_hour=float(found.disk.usd.expected),
        month_hours=float(found.month_hours),
        disk_gb=float(machine.disk_gb),
        beside=beside,
        cores=work.cores * machine.offer.count,
        ram_gb=work.ram_gb * machine.offer.count,
    )


def _beside(shared: Common, stretched_us: int, pull: State | None) -> tuple[Beside, ...] | None:
    """Return what bills beside the GPU, or None where its price depends on how much there is."""
    meters, found = shared.meters, []
    for meter in (meters.cpu, meters.ram, *meters.pieces):
        if meter is None:
            continue
        one = unit_amount(meter, Decimal(1)) if meter.kind == "ram" else Decimal(1)
        price = hourly_price(meters, meter, one, each_of=Decimal(1))
        if meter.tiers or meter.sizes_gb or meter.free or price is None:
            return None
        counts = meters.beside_counts[meter.kind]
        running = "running" in counts
        us = shared.beside_us[meter.kind][1] + (stretched_us if running else 0)
        usd = float(price.usd.expected)
        found.append(Beside(meter.kind, us, running, pull in counts, usd))
    return tuple(found)


def glimpse(kind: Kind, offer: Offer, pricing: Pricing) -> Glimpse | None:
    """Return what is expected of `offer`; None where only pricing in full can refuse it."""
    headline = offer.spot_usd_per_hour if pricing == "spot" else offer.usd_per_hour
    down = offer.inet_down_mbit_per_s or DOWN_MBIT.expected
    up = offer.inet_up_mbit_per_s or UP_MBIT.expected
    slow = min(kind.dataset_mbit_per_s, down)
    moving_us = round(kind.dataset_gb * MBIT_PER_GB / slow * US_PER_S)
    for gb in kind.upload_gb:
        moving_us += round(gb * MBIT_PER_GB / up * US_PER_S)
    pull_us = round(kind.pull_gb * MBIT_PER_GB / down * US_PER_S)
    used_us = kind.gpu_us + moving_us + (pull_us if kind.pull_bills_gpu else 0)
    billed_us = max(used_us, kind.minimum_us)
    if kind.step_us:
        billed_us = -(-billed_us // kind.step_us) * kind.step_us
    held_us = kind.disk_us + moving_us + (pull_us if kind.pull_bills_disk else 0)
    disk_usd = kind.disk_usd_per_gb_hour
    if offer.storage_usd_per_gb_month is not None:
        month = float(offer.month_hours) if offer.month_hours else kind.month_hours
        disk_usd = float(offer.storage_usd_per_gb_month) / month
    gpu_usd = float(headline or 0) - float(offer.quoted_disk_gb or 0) * disk_usd
    if gpu_usd <= 0:
        return None
    ingress, egress = offer.ingress_usd_per_gb, offer.egress_usd_per_gb
    usd = (
        gpu_usd * billed_us / US_PER_HOUR
        + disk_usd * kind.disk_gb * held_us / US_PER_HOUR
        + kind.in_gb * (kind.ingress_usd_per_gb if ingress is None else float(ingress))
        + kind.out_gb * (kind.egress_usd_per_gb if egress is None else float(egress))
    )
    for each in kind.beside:
        us = each.us + (moving_us if each.moving else 0) + (pull_us if each.pull else 0)
        amount = 1.0
        if each.kind == "cpu":
            amount = offer.vcpus or kind.cores
        elif each.kind == "ram":
            amount = offer.ram_gb or kind.ram_gb
        usd += us / US_PER_HOUR * amount * each.usd_per_hour
    hours = (kind.useful_us + moving_us + pull_us) / US_PER_HOUR
    return Glimpse(offer, pricing, usd, hours)
