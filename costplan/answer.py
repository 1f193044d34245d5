"""Ranking -> the answer: records with lines, marks and notices, ready to be shown."""

from __future__ import annotations

import math
import shlex
from decimal import Decimal
from typing import TYPE_CHECKING, Final

from costplan import rates as prices
from costplan.estimate import Priced, Question, itemised, runs_out
from costplan.notices import notices
from costplan.predict import card_factor, pace
from costplan.records.results import (
    CostLine,
    DiskPart,
    Estimate,
    HoursRange,
    LeftOut,
    Result,
    UsdRange,
)
from costplan.states import Usage, hourly_lines
from costplan.transfers import staging_saves_s
from costplan.units import SECONDS_PER_HOUR

if TYPE_CHECKING:
    from costplan.disk import Disk
    from costplan.itemise import Line
    from costplan.ranking import Ranking
    from costplan.records.cards import Card

NIGHT_HOURS: Final = Decimal("14.5")
"""From leaving in the evening to coming back in the morning."""
WEEKEND_HOURS: Final = Decimal(63)
"""From Friday evening to Monday morning."""
TIMEOUT_MARGIN: Final = 1.5
"""Times the expected hours. Chosen, so that a slow but healthy run is not cut off."""
TIMEOUT_STEP_S: Final = 60


def answer(question: Question, ranking: Ranking, disk: Disk) -> Estimate:
    """Return everything that the reader of the estimate may want to see."""
    results = tuple(
        result(question, priced, rank, unbeaten=unbeaten)
        for priced, rank, unbeaten in zip(
            ranking.shown, ranking.ranks, ranking.unbeaten, strict=True
        )
        if isinstance(priced, Priced)
    )
    return Estimate(
        job=question.work.name,
        priced_on=question.on,
        results=results,
        offers_total=ranking.total,
        left_out=tuple(
            LeftOut(
                reason=r.text, count=r.offers, limit=r.limit, example=r.example, detail=r.detail
            )
            for r in ranking.left_out
        ),
        disk_parts=tuple(DiskPart(name=name, gb=gb) for name, gb in disk.parts),
        disk_headroom=disk.headroom,
        disk_given=disk.given,
        assumed=question.work.assumed,
        profile=question.profile,
        notices=notices(question, ranking, results),
    )


def result(question: Question, priced: Priced, rank: int, *, unbeaten: bool) -> Result:
    """Return one priced offer with its lines."""
    machine, offer = priced.machine, priced.machine.offer
    rate = prices.usd_per_hour(machine, priced.rates)
    low, expected, high = priced.hours
    spot = priced.plan.spot
    stopped, also = _stopped(priced)
    timeout_s = _timeout_s(priced) if machine.pricing == "serverless" else None
    return Result(
        sku=offer.sku,
        rank=rank,
        provider=offer.provider,
        region=offer.region,
        pricing=machine.pricing,
        card=offer.card,
        count=offer.count,
        usd_per_hour=rate,
        hours=HoursRange(low=low, expected=expected, high=high),
        total_usd=UsdRange(
            low=priced.total.low, expected=priced.total.expected, high=priced.total.high
        ),
        at_least=priced.at_least,
        disk_gb=machine.disk_gb,
        limited_by=_limited_by(question, priced),
        checked=offer.checked,
        date_precision=offer.date_precision,
        age_days=max(0, (question.on - offer.checked).days),
        widened=prices.moves(machine),
        unbeaten=unbeaten,
        vcpus=offer.vcpus,
        ram_gb=offer.ram_gb,
        reliability=offer.reliability,
        lines=tuple(_cost_line(line) for line in itemised(priced)),
        stopped_usd_per_hour=stopped,
        stopped_unpriced=also,
        survivors=machine.meters.provider.destroy.survivors,
        night_usd=rate * NIGHT_HOURS,
        weekend_usd=rate * WEEKEND_HOURS,
        timeout_s=timeout_s,
        hung_usd=None if timeout_s is None else rate * timeout_s / SECONDS_PER_HOUR,
        balance_hours=(
            None if question.balance_usd is None else float(question.balance_usd / rate)
        ),
        balance=None if question.balance_usd is None else runs_out(priced, question.balance_usd),
        checkpoint_interval_s=spot.interval_s if spot else None,
        interruptions=spot.times if spot else None,
        staging_saves_usd=_staging(question, priced, rate),
        rent_command=rent_command(priced, question.catalog.variants(offer.card)),
    )


def _cost_line(line: Line) -> CostLine:
    cost = line.cost()
    return CostLine(
        name=line.name,
        quantity=line.quantity.expected,
        unit=line.unit,
        unit_price_usd=line.price.usd.expected,
        cost_usd=cost.expected,
        cost_low_usd=cost.low,
        cost_high_usd=cost.high,
        part=line.part,
        source=line.price.source,
        as_of=line.price.as_of,
    )


def limited_by(priced: Priced) -> str:
    """Return what takes the most time until the end: the GPU as it trains, or what surrounds it."""
    parts: dict[str, int] = {}
    for phase in priced.plan.phases():
        if phase.part == "idle":
            continue
        parts[phase.part] = parts.get(phase.part, 0) + phase.us[1]
    longest = max(parts, key=lambda part: parts[part], default="training")
    return "gpu" if longest == "training" else longest


def _limited_by(question: Question, priced: Priced) -> str:
    """Return the same, with what sets the pace of training where a profile found it."""
    longest, work = limited_by(priced), question.work
    if longest != "gpu":
        return longest
    measured = question.catalog.variants(work.card)
    wanted = question.catalog.variants(priced.machine.offer.card)
    return pace(card_factor(measured, wanted, work.precision), work.limit)


def _timeout_s(priced: Priced) -> int:
    """Return a timeout that lets a healthy run end: expected time x margin."""
    seconds = priced.hours[1] * SECONDS_PER_HOUR * TIMEOUT_MARGIN
    return math.ceil(seconds / TIMEOUT_STEP_S) * TIMEOUT_STEP_S


def _stopped(priced: Priced) -> tuple[Decimal | None, tuple[str, ...]]:
    """Return what an hour of the stopped machine costs, and what else bills unpriced then.

    None where it cannot stop, or where nothing of it has a price.
    """
    machine = priced.machine
    provider = machine.meters.provider
    action = provider.stop.action
    if not provider.stop.supported or action is None or action not in provider.actions:
        return None, ()
    if machine.pricing == "spot" and provider.stop.spot_supported is False:
        return None, ()
    state = provider.actions[action].state
    usage = Usage(gpu_usd_per_hour=priced.rates.gpu.usd.expected, disk_gb=machine.disk_gb, ips=1)
    lines = [line for line in hourly_lines(provider, state, usage) if line.certain]
    own = machine.offer.stopped_storage_usd_per_gb_month
    if own is None:
        own = machine.offer.storage_usd_per_gb_month
    disk = provider.meter("disk", state)
    known = [line.usd_per_hour for line in lines if line.kind != "disk" or own is None]
    unpriced = [li.kind for li in lines if li.usd_per_hour is None]
    if own is not None and disk is not None:
        known.append(machine.disk_gb * own / (machine.offer.month_hours or disk.month_hours))
        unpriced = [kind for kind in unpriced if kind != "disk"]
    stated = [usd for usd in known if usd is not None]
    if unpriced and not stated:
        return None, ()
    return sum(stated, Decimal(0)), tuple(unpriced)


def _staging(question: Question, priced: Priced, rate: Decimal) -> Decimal | None:
    """Return what staging the data on a hub saves on this machine, or None where nothing."""
    saved_s = staging_saves_s(question.work, priced.machine.offer)
    return rate * Decimal(round(saved_s)) / SECONDS_PER_HOUR if saved_s >= 1 else None


def rent_command(priced: Priced, variants: tuple[Card, ...]) -> str | None:
    """Return the provider's own command, filled in; None where the catalog knows none."""
    offer, provider = priced.machine.offer, priced.machine.meters.provider
    card = variants[0]
    known = {
        "id": offer.id and shlex.quote(offer.id),
        "instance": offer.instance and shlex.quote(offer.instance),
        "region": offer.region and shlex.quote(offer.region),
        "card": offer.card,
        "card_name": card.driver_name,
        "card_words": offer.card.replace("-", "_"),
        "count": str(offer.count),
        "spot_usd_per_hour": offer.spot_usd_per_hour and f"{offer.spot_usd_per_hour:f}",
        "disk_gb": f"{priced.machine.disk_gb.normalize():f}",
    }
    spot = priced.machine.pricing == "spot"
    rent = provider.spot_rent_command if spot else provider.rent_command
    for template in (rent, provider.search_command):
        if template is not None and all(
            value is not None for key, value in known.items() if "{" + key + "}" in template
        ):
            filled = template
            for key, value in known.items():
                filled = filled.replace("{" + key + "}", value or "")
            return filled
    return None
