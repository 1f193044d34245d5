"""Job x offer -> what the job costs there, or why it cannot be had there."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import TYPE_CHECKING, Final, NamedTuple

from costplan.disk import Disk, disk_for
from costplan.glimpse import Glimpse, Kind, glimpse, kind_of
from costplan.itemise import Common, Kept, Line, common, lines, total
from costplan.phases import Plan, frame, plan
from costplan.predict import Factor, time_factor
from costplan.rates import Machine, Meters, Rates, Refused, meters_of, rates, usd_per_hour
from costplan.units import US_PER_HOUR, decimal

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import date

    from costplan.catalog import Catalog
    from costplan.records.offers import Offer, Pricing
    from costplan.records.results import Notice, ProfileTaken
    from costplan.spans import Span
    from costplan.unpriced import KnownPrices
    from costplan.work import Work

NOT_SOLD_SO: Final = "not sold as asked (--spot or --no-spot)"
NEARLY: Final = 1e-6
"""Within this share of a limit the exact total decides, not the cheap pass."""
NOTICEABLE: Final = Decimal("0.02")
"""Share of the total that an unpriced part must reach for the row to say "at least"."""


class Question(NamedTuple):
    """What is asked of every offer."""

    work: Work
    on: date
    catalog: Catalog
    known: KnownPrices
    max_hours: float | None = None
    max_usd: Decimal | None = None
    balance_usd: Decimal | None = None
    interruptible: bool | None = None
    """True: spot only; False: no spot; None: both."""
    strict: bool = False
    """Leave out what is marked "at least"."""
    said: tuple[Notice, ...] = ()
    """About the question itself."""
    profile: ProfileTaken | None = None
    """Whose throughput is taken."""


class Priced(NamedTuple):
    """One offer sold one way, priced: enough to rank it and to itemise it again."""

    machine: Machine
    rates: Rates
    shared: Common
    plan: Plan
    kept: Kept
    total: Span
    hours: tuple[float, float, float]
    unpriced_usd: Decimal

    @property
    def at_least(self) -> bool:
        """Whether the unpriced part could move the total by more than `NOTICEABLE`."""
        return self.unpriced_usd > NOTICEABLE * self.total.expected


class LeftOutOffer(NamedTuple):
    """An offer that is not in the answer, and why."""

    sku: str
    reason: str
    """The same words for every offer that it leaves out, so that they can be counted."""
    limit: bool = False
    """True where one of the person's own limits says no."""
    detail: str | None = None
    """This offer's own figures."""


class Estimator:
    """Prices one question on any number of offers, remembering what repeats."""

    def __init__(self, question: Question) -> None:
        self.question = question
        self._factors: dict[tuple[str, int], Factor] = {}
        self._disks: dict[Decimal, Disk] = {}
        self._meters: dict[str, Meters] = {}
        self._memory_gb: dict[str, float] = {}
        self._common: dict[tuple[str, int, str, Pricing], Common] = {}
        self._kinds: dict[tuple[str, int, str, Pricing], Kind | None] = {}

    def price(self, offer: Offer) -> Iterator[Priced | LeftOutOffer]:
        """Yield `offer` priced in each way it is sold and asked for."""
        for way in self._asked(offer):
            yield self.sold(offer, way) if isinstance(way, str) else way

    def glimpse(self, offer: Offer) -> Iterator[Glimpse | Priced | LeftOutOffer]:
        """Yield the same at the expected total only, where that is enough to rank it."""
        for way in self._asked(offer):
            if isinstance(way, str):
                yield self._glimpsed(offer, way) or self.sold(offer, way)
            else:
                yield way

    def _glimpsed(self, offer: Offer, pricing: Pricing) -> Glimpse | None:
        """Return the cheap pass's result; None where a limit or rule needs the exact figures."""
        q = self.question
        key = (offer.card, offer.count, offer.provider, pricing)
        if key not in self._kinds:
            machine = self._machine(offer, pricing)
            self._kinds[key] = kind_of(machine, self._shared(offer, pricing), q.work)
        kind = self._kinds[key]
        if kind is None or q.strict or (pricing == "spot" and not _believed(offer)):
            return None
        found = glimpse(kind, offer, pricing)
        if found is None:
            return None
        most_usd = min(float(q.max_usd or math.inf), float(q.balance_usd or math.inf))
        most_hours = min(q.max_hours or math.inf, offer.available_hours or math.inf)
        near = found.usd >= most_usd * (1 - NEARLY) or found.hours >= most_hours
        return None if near or offer.available_hours == 0 else found

    def _asked(self, offer: Offer) -> Iterator[Pricing | LeftOutOffer]:
        """Yield each way `offer` is sold and asked for, or why it is left out."""
        q = self.question
        unfit = self._unfit(offer)
        if unfit is not None:
            yield LeftOutOffer(offer.sku, unfit)
            return
        spot, listed = q.interruptible is not False, q.interruptible is not True
        if listed and offer.usd_per_hour is not None:
            provider = q.catalog.providers[offer.provider]
            yield "serverless" if provider.kind == "serverless" else "on-demand"
        elif not (spot and offer.spot_usd_per_hour is not None):
            yield LeftOutOffer(offer.sku, NOT_SOLD_SO)
        if spot and offer.spot_usd_per_hour is not None:
            yield "spot"

    def _unfit(self, offer: Offer) -> str | None:
        """Return why the job cannot run on `offer` or be priced there, or None where it can."""
        work = self.question.work
        if offer.usd_per_hour is None and offer.spot_usd_per_hour is None:
            return "no price in the offer"
        here = (work.card, work.gpu_count)
        if work.only_here is not None and (offer.card, offer.count) != here:
            return work.only_here
        has_gb = offer.memory_gb or self._card_gb(offer.card)
        if work.memory_gb is not None and has_gb < work.memory_gb:
            return f"card has or may have less than {work.memory_gb:g} GB of memory"
        if offer.max_disk_gb is not None and offer.max_disk_gb < self._disk(offer).gb:
            return "host has too little disk"
        if self._currency(offer) != "USD":
            return f"priced in {self._currency(offer)}"
        return None

    def _card_gb(self, card: str) -> float:
        """Return the memory of the smallest card that `card` may be."""
        if card not in self._memory_gb:
            variants = self.question.catalog.variants(card)
            self._memory_gb[card] = min(variant.memory_gb for variant in variants)
        return self._memory_gb[card]

    def _currency(self, offer: Offer) -> str:
        return self.question.catalog.providers[offer.provider].currency

    def _disk(self, offer: Offer) -> Disk:
        step = self.question.catalog.providers[offer.provider].disk_step_gb
        if step not in self._disks:
            self._disks[step] = disk_for(self.question.work, step_gb=step)
        return self._disks[step]

    def factor(self, offer: Offer) -> Factor:
        """Return the time on `offer` over the time on the measured machine."""
        key = (offer.card, offer.count)
        if key not in self._factors:
            q = self.question
            self._factors[key] = time_factor(
                measured=q.catalog.variants(q.work.card),
                measured_count=q.work.gpu_count,
                wanted=q.catalog.variants(offer.card),
                wanted_count=offer.count,
                precision=q.work.precision,
                limit=q.work.limit,
            )
        return self._factors[key]

    def _machine(self, offer: Offer, pricing: Pricing) -> Machine:
        work = self.question.work
        return Machine(
            offer=offer,
            meters=self._shared(offer, pricing).meters,
            pricing=pricing,
            disk_gb=self._disk(offer).gb,
            cores=offer.vcpus or work.cores * offer.count,
            ram_gb=offer.ram_gb or work.ram_gb * offer.count,
            on=self.question.on,
        )

    def sold(self, offer: Offer, pricing: Pricing) -> Priced | LeftOutOffer:
        """Return `offer` priced in full as sold one way, or why it is left out."""
        q, sku = self.question, offer.sku
        if pricing == "spot" and not _believed(offer):
            return LeftOutOffer(sku, "spot price is not below on-demand: not believed")
        shared = self._shared(offer, pricing)
        machine = self._machine(offer, pricing)
        found = rates(machine)
        if isinstance(found, Refused):
            return LeftOutOffer(sku, found.reason)
        done = plan(q.work, shared.frame, shared.meters.provider, offer)
        if done is None:
            return LeftOutOffer(sku, "interrupted more often than it can restart")
        hours = finish_hours(done)
        kept = _kept(q.work, hours)
        cost = total(machine, found, shared, done, kept)
        if isinstance(cost, Refused):
            return LeftOutOffer(sku, cost.reason)
        return self._within(
            Priced(machine, found, shared, done, kept, cost.usd, hours, cost.unpriced_usd)
        )

    def _shared(self, offer: Offer, pricing: Pricing) -> Common:
        """Return what offers of this kind share, worked out once."""
        key = (offer.card, offer.count, offer.provider, pricing)
        if key not in self._common:
            q = self.question
            if offer.provider not in self._meters:
                provider = q.catalog.providers[offer.provider]
                self._meters[offer.provider] = meters_of(provider, q.known)
            meters = self._meters[offer.provider]
            framed = frame(
                q.work,
                self.factor(offer),
                meters.provider,
                interruptible=pricing == "spot",
            )
            self._common[key] = common(meters, framed)
        return self._common[key]

    def _within(self, priced: Priced) -> Priced | LeftOutOffer:
        """Return `priced`, or why one of the limits leaves it out."""
        q = self.question
        sku, expected = priced.machine.offer.sku, priced.total.expected
        ends = priced.machine.offer.available_hours
        if ends is not None and ends < priced.hours[1]:
            return LeftOutOffer(sku, "contract ends before the job")
        if q.strict and priced.at_least:
            return LeftOutOffer(sku, "a meter has no stated price (--strict)")
        if q.max_hours is not None and priced.hours[1] > q.max_hours:
            detail = f"{priced.hours[1]:.1f} h"
            return LeftOutOffer(sku, f"takes more than {q.max_hours:g} h", True, detail)
        if q.max_usd is not None and expected > q.max_usd:
            return LeftOutOffer(sku, f"costs more than ${q.max_usd}", True, f"${expected:.2f}")
        if q.balance_usd is not None and expected > q.balance_usd:
            reason = f"a balance of ${q.balance_usd} runs out first"
            return LeftOutOffer(sku, reason, True, runs_out(priced, q.balance_usd))
        return priced


def _believed(offer: Offer) -> bool:
    """Return whether the spot price is below the on-demand price of the same offer."""
    usual, spot = offer.usd_per_hour, offer.spot_usd_per_hour
    return usual is None or spot is None or spot < usual


def runs_out(priced: Priced, balance_usd: Decimal) -> str:
    """Return when the balance is used up on this offer, and what the provider then does."""
    rate = usd_per_hour(priced.machine, priced.rates)
    terms = priced.machine.meters.provider.balance
    after = f"; then: {terms.text}" if terms else ""
    return f"lasts {balance_usd / rate:.3f} h at ${rate:.4f}/h{after}"


def finish_hours(done: Plan) -> tuple[float, float, float]:
    """Return the hours from renting until the result is uploaded: all but the idle end."""
    low, expected, high = done.frame.useful_us
    for phase in done.moving:
        low += phase.us[0]
        expected += phase.us[1]
        high += phase.us[2]
    return low / US_PER_HOUR, expected / US_PER_HOUR, high / US_PER_HOUR


def _kept(work: Work, hours: tuple[float, float, float]) -> Kept:
    """Return what stays on a volume: the data set during the job, what is kept after it."""
    if work.dataset_from == "volume":
        gb = max(work.keep_gb, work.dataset_gb.expected)
        return Kept(decimal(gb), decimal(round(hours[1] + work.keep_hours, 6)))
    if work.keep_gb and work.keep_hours:
        return Kept(decimal(work.keep_gb), decimal(work.keep_hours))
    return Kept(Decimal(0), Decimal(0))


def itemised(priced: Priced) -> list[Line]:
    """Return the lines of an offer that has been priced."""
    found = lines(priced.machine, priced.rates, priced.shared, priced.plan, priced.kept)
    return [] if isinstance(found, Refused) else found
