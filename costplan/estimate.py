"""Job x offer -> what the job costs there, or why it cannot be had there."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Final, NamedTuple

from costplan.disk import Disk, disk_for
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
    from costplan.spans import Span
    from costplan.unpriced import KnownPrices
    from costplan.work import Work

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
        self._common: dict[tuple[str, int, str, Pricing], Common] = {}

    def price(self, offer: Offer) -> Iterator[Priced | LeftOutOffer]:
        """Yield `offer` priced in each way it is sold and asked for."""
        q = self.question
        work = q.work
        if offer.usd_per_hour is None and offer.spot_usd_per_hour is None:
            yield LeftOutOffer(offer.sku, "no price in the offer")
            return
        if work.memory_gb is not None:
            memory = offer.memory_gb or min(
                card.memory_gb for card in q.catalog.variants(offer.card)
            )
            if memory < work.memory_gb:
                yield LeftOutOffer(offer.sku, f"card has less than {work.memory_gb:g} GB of memory")
                return
        if offer.max_disk_gb is not None and offer.max_disk_gb < self._disk(offer).gb:
            yield LeftOutOffer(offer.sku, "host has too little disk")
            return
        if self._currency(offer) != "USD":
            yield LeftOutOffer(offer.sku, f"priced in {self._currency(offer)}")
            return
        for pricing in self._ways(offer):
            yield self._sold(offer, pricing)

    def _currency(self, offer: Offer) -> str:
        return self.question.catalog.providers[offer.provider].currency

    def _ways(self, offer: Offer) -> Iterator[Pricing]:
        provider = self.question.catalog.providers[offer.provider]
        asked = self.question.interruptible
        if offer.usd_per_hour is not None and asked is not True:
            yield "serverless" if provider.kind == "serverless" else "on-demand"
        if offer.spot_usd_per_hour is not None and asked is not False:
            yield "spot"

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
            )
        return self._factors[key]

    def _sold(self, offer: Offer, pricing: Pricing) -> Priced | LeftOutOffer:
        q, sku = self.question, offer.sku
        if (
            pricing == "spot"
            and offer.usd_per_hour is not None
            and offer.spot_usd_per_hour is not None
            and offer.spot_usd_per_hour >= offer.usd_per_hour
        ):
            return LeftOutOffer(sku, "spot price is not below on-demand: not believed")
        shared = self._shared(offer, pricing)
        machine = Machine(
            offer=offer,
            meters=shared.meters,
            pricing=pricing,
            disk_gb=self._disk(offer).gb,
            cores=offer.vcpus or q.work.cores * offer.count,
            ram_gb=offer.ram_gb or q.work.ram_gb * offer.count,
            on=q.on,
        )
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
