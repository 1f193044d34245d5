"""From the words of a command line to the question, and from the question to the answer."""

from __future__ import annotations

import re
from datetime import date, datetime, timezone
from decimal import Decimal
from itertools import chain
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from costplan import catalog as catalogs
from costplan.answer import answer
from costplan.cli.taken_profile import job_with, take
from costplan.disk import disk_for
from costplan.errors import InputError, LimitError, UnknownError, nearest
from costplan.estimate import Estimator, LeftOutOffer, Question
from costplan.jobfile import read_job
from costplan.profiled import record_of, said, work_with
from costplan.ranking import Ranked, Ranking, SortBy, exactly, offer_of, rank
from costplan.seen import SKU as SEEN
from costplan.seen import neutral_provider, seen_offer
from costplan.unpriced import KnownPrices
from costplan.work import settle

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from costplan.catalog import Catalog
    from costplan.records.jobs import Job
    from costplan.records.offers import Offer
    from costplan.records.results import Estimate
    from costplan.work import Work


LEAST_RATE: Final = Decimal("0.0001")
MOST_RATE: Final = 100_000
"""Dollars an hour; see `records.offers.HourlyPrice`."""
MOST_USD: Final = 1_000_000_000
_DAY: Final = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_PLAIN: Final = re.compile(r"\$?\d+(\.\d+)?", re.ASCII)


class Asked(NamedTuple):
    """A command line of `costplan estimate`; texts stay texts until they are checked."""

    job: str | None = None
    settings: tuple[str, ...] = ()
    gpus: tuple[str, ...] = ()
    gpu_count: int | None = None
    providers: tuple[str, ...] = ()
    spot: bool | None = None
    max_hours: float | None = None
    max_usd: str | None = None
    balance_usd: str | None = None
    disk_gb: str | None = None
    rate_usd_per_hour: str | None = None
    storage_usd_per_gb_month: str | None = None
    ingress_usd_per_gb: str | None = None
    quoted_disk_gb: str | None = None
    offers: str | None = None
    on: str | None = None
    sort: SortBy = "total"
    limit: int = 10
    profile: str | None = None
    strict: bool = False
    explain: str | None = None
    pricing: Path | None = None

    def echoed(self) -> dict[str, Any]:
        """Return what was asked, without what was not."""
        found = self._asdict()
        return {key: value for key, value in found.items() if value not in (None, ())}


def estimated(asked: Asked) -> Estimate:
    """Return the answer to a command line.

    Raises:
        InputError: Something in it cannot be used as it stands.
        UnknownError: Nobody sells what is asked for, or the job does not say how fast it is.
        LimitError: A limit leaves nothing.
    """
    if asked.offers == "-" and asked.job == "-":
        raise InputError("job and offers cannot both come from standard input")
    today = datetime.now(tz=timezone.utc)
    on = _day(asked.on) or today.date()
    catalog = catalogs.load(catalogs.folder(asked.pricing))
    job = read_job(asked.job, settings=asked.settings, flags=_job_flags(asked))
    taken = None if asked.profile is None else take(asked.profile, catalog)
    work = _keyed(settle(job if taken is None else job_with(job, taken)), catalog)
    if taken is not None:
        work = work_with(work, taken)
    seen, catalog = _seen(asked, catalog, on)
    listed = catalog.offers_on(on)
    question = _question(asked, job, work, catalog, on, KnownPrices(listed, catalog.providers))
    if taken is not None:
        question = question._replace(said=tuple(said(job, taken)), profile=record_of(taken))
    found: Iterable[Offer | LeftOutOffer]
    if asked.offers is not None:
        from costplan.offerfile import read_offers  # only where a file is read

        found = read_offers(asked.offers, catalog=catalog, now=today)
    else:
        found = listed
    wanted = _matching(found, asked, catalog, filtered=seen is None)
    estimator = Estimator(question)
    pinned = frozenset([*([SEEN] if seen else []), *([asked.explain] if asked.explain else [])])
    ranking = rank(
        _priced(chain([seen] if seen else [], wanted), estimator, many=asked.offers is not None),
        by=asked.sort,
        limit=asked.limit,
        pinned=pinned,
    )
    ranking = exactly(ranking, lambda seen: estimator.sold(seen.offer, seen.pricing))
    if not ranking.total:
        raise _nothing(ranking, asked)
    if asked.explain is not None:
        ranking = _only(ranking, asked.explain, listed if asked.offers is None else [])
    step = min(provider.disk_step_gb for provider in catalog.providers.values())
    return answer(question, ranking, disk_for(work, step_gb=step))


def _priced(
    offers: Iterable[Offer | LeftOutOffer], estimator: Estimator, *, many: bool
) -> Iterator[Ranked | LeftOutOffer]:
    """Yield offers priced; of many of a kind only what ranks them (the price folder has few)."""
    for offer in offers:
        if isinstance(offer, LeftOutOffer):
            yield offer
        else:
            yield from estimator.glimpse(offer) if many else estimator.price(offer)


def _job_flags(asked: Asked) -> dict[str, tuple[str, Any]]:
    return {
        "--disk": ("disk_gb", _money(asked.disk_gb, "--disk")),
        "--max-hours": ("deadline_hours", asked.max_hours),
        "--max-usd": ("budget_usd", _money(asked.max_usd, "--max-usd")),
        "--spot": ("interruptible", asked.spot),
    }


def _keyed(work: Work, catalog: Catalog) -> Work:
    return work._replace(card=catalog.card_key(work.card))


def _question(
    asked: Asked, job: Job, work: Work, catalog: Catalog, on: date, known: KnownPrices
) -> Question:
    return Question(
        work=work,
        on=on,
        catalog=catalog,
        known=known,
        max_hours=job.deadline_hours,
        max_usd=job.budget_usd,
        balance_usd=_money(asked.balance_usd, "--balance"),
        interruptible=job.interruptible,
        strict=asked.strict,
    )


def _seen(asked: Asked, catalog: Catalog, on: date) -> tuple[Offer | None, Catalog]:
    """Return the offer that the flags describe, and the catalog with its provider."""
    if asked.rate_usd_per_hour is None:
        for value, flag in (
            (asked.storage_usd_per_gb_month, "--storage-price"),
            (asked.ingress_usd_per_gb, "--ingress-price"),
            (asked.quoted_disk_gb, "--quoted-disk"),
        ):
            if value is not None:
                raise InputError(f"{flag} describes an offer that you see", hint="add --rate")
        return None, catalog
    if len(asked.gpus) != 1:
        raise InputError("--rate describes one offer", hint="say its card with one --gpu")
    rate = _money(asked.rate_usd_per_hour, "--rate")
    if rate is None or not LEAST_RATE <= rate <= MOST_RATE:
        raise InputError(
            f"--rate {asked.rate_usd_per_hour}: not between {LEAST_RATE} and {MOST_RATE:,} $/h",
            hint="a price of nothing is a missing price",
        )
    if len(asked.providers) > 1:
        raise InputError("--rate describes one offer", hint="its rules are of one --provider")
    if asked.providers:
        provider = catalog.providers[catalog.provider_key(asked.providers[0])]
    else:
        provider = neutral_provider(on)
        catalog = catalog.with_provider(provider)
    offer = seen_offer(
        provider,
        card=catalog.card_key(asked.gpus[0]),
        count=1 if asked.gpu_count is None else asked.gpu_count,
        usd_per_hour=rate,
        storage_usd_per_gb_month=_money(asked.storage_usd_per_gb_month, "--storage-price"),
        ingress_usd_per_gb=_money(asked.ingress_usd_per_gb, "--ingress-price"),
        quoted_disk_gb=_money(asked.quoted_disk_gb, "--quoted-disk"),
        on=on,
    )
    return offer, catalog


def _matching(
    offers: Iterable[Offer | LeftOutOffer], asked: Asked, catalog: Catalog, *, filtered: bool
) -> Iterator[Offer | LeftOutOffer]:
    """Yield the offers that the filters let through; with --rate, its flags filter nothing."""
    cards = {key for name in asked.gpus for key in catalog.keys_of(name)} if filtered else set()
    named = {catalog.provider_key(name) for name in asked.providers}
    providers = named if filtered else set()
    count = asked.gpu_count if filtered else None
    for offer in offers:
        if isinstance(offer, LeftOutOffer) or (
            (not cards or offer.card in cards)
            and (not providers or offer.provider in providers)
            and (count is None or offer.count == count)
        ):
            yield offer


def _nothing(ranking: Ranking, asked: Asked) -> LimitError | UnknownError:
    """Return the error of an answer without offers: a limit, or nobody sells it."""
    reasons = "; ".join(
        f"{r.offers}: {r.text}" + (f" ({r.example}: {r.detail})" if r.detail else "")
        for r in ranking.left_out
    )
    if any(reason.limit for reason in ranking.left_out):
        return LimitError(f"no offer is within the limits ({reasons})")
    if reasons:
        hint = "leave a filter out, or state an offer you see with --rate"
        return UnknownError(f"no offer fits this job ({reasons})", hint=hint)
    what = " ".join(
        text
        for text in (
            " or ".join(asked.gpus) or "anything",
            f"by {asked.gpu_count}" if asked.gpu_count else "",
            f"at {' or '.join(asked.providers)}" if asked.providers else "",
            f"on {asked.on}" if asked.on else "",
        )
        if text
    )
    where = "the price folder" if asked.offers is None else asked.offers
    return UnknownError(
        f"nobody in {where} sells {what} this way",
        hint="leave a filter out, or state an offer you see with --rate",
    )


def _only(ranking: Ranking, sku: str, listed: Iterable[Offer]) -> Ranking:
    """Return the ranking with only `sku` in it.

    Raises:
        InputError: There is no such offer.
        LimitError: A limit leaves it out.
        UnknownError: It cannot be priced.
    """
    keep = [
        each
        for each in zip(ranking.shown, ranking.ranks, ranking.unbeaten, strict=True)
        if sku in (offer_of(each[0]).sku, offer_of(each[0]).id)
    ]
    if keep:
        return ranking._replace(
            shown=[item for item, _, _ in keep],
            ranks=[place for _, place, _ in keep],
            unbeaten=[unbeaten for _, _, unbeaten in keep],
        )
    for gone in ranking.pinned_out:
        if gone.sku == sku:
            kind = LimitError if gone.limit else UnknownError
            detail = f" ({gone.detail})" if gone.detail else ""
            raise kind(f"{sku} is left out: {gone.reason}{detail}")
    skus = [offer.sku for offer in listed]
    if sku in skus:
        raise InputError(f"{sku} is not in this answer", hint="a filter leaves it out")
    raise InputError(f"no offer {sku!r} in this answer", hint=nearest(sku, skus))


def _money(text: str | None, flag: str) -> Decimal | None:
    """Return an amount from a flag.

    Raises:
        InputError: It is no plain number, negative, or absurd.
    """
    if text is None:
        return None
    if not _PLAIN.fullmatch(text):
        raise InputError(f"{flag} {text}: not a plain number", hint="write it as 2.49")
    amount = Decimal(text.removeprefix("$"))
    if amount > MOST_USD:
        raise InputError(f"{flag} {text}: above {MOST_USD:,}")
    return amount


def _day(text: str | None) -> date | None:
    if text is None:
        return None
    try:
        if not _DAY.fullmatch(text):
            raise ValueError
        return datetime.strptime(text, "%Y-%m-%d").replace(tzinfo=timezone.utc).date()
    except ValueError:
        raise InputError(f"--on {text}: not a day", hint="write YYYY-MM-DD") from None
