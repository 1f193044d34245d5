"""What the reader of an estimate must know beside the numbers, once each."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Final

from costplan.estimate import NOT_SOLD_SO
from costplan.predict import TIME_HIGH, TIME_LOW
from costplan.rates import OLD_DAYS
from costplan.records.results import Notice
from costplan.seen import SKU as SEEN

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from costplan.estimate import Question
    from costplan.ranking import Ranking
    from costplan.records.results import Result

FLAGGED_DAYS: Final = 180
"""Prices older than this are named one by one."""


def notices(question: Question, ranking: Ranking, results: Sequence[Result]) -> tuple[Notice, ...]:
    """Return the notices of an answer, the most important first."""
    return tuple(
        notice
        for part in (
            question.said,
            _set_up(results),
            _seen(ranking, results),
            _left_out(ranking),
            _ages(results),
            _rough(question, results),
            _unstated(question, results),
            _unpriced(results),
            _spot(question, results),
            _staging(results),
            _serverless(question, results),
            _balance(question, results),
            _taxes(question, results),
        )
        for notice in part
    )


def _set_up(results: Sequence[Result]) -> Iterator[Notice]:
    """Yield that getting ready costs more than training, where it does on the first offer."""
    if not results:
        return
    first = results[0]
    set_up, training = (
        sum((line.cost_usd for line in first.lines if line.part in parts), Decimal(0))
        for parts in (("set-up", "transfer"), ("training",))
    )
    if set_up > training:
        yield Notice(
            kind="set-up",
            text=f"set-up costs more than training on {first.sku}: "
            f"${set_up:.3f} against ${training:.3f} of ${first.total_usd.expected:.3f}",
            what_to_do="several runs on one set-up (runs: N) share it",
        )


def _seen(ranking: Ranking, results: Sequence[Result]) -> Iterator[Notice]:
    for result in results:
        if result.sku == SEEN:
            yield Notice(kind="seen", text=f"seen is number {result.rank} of {ranking.total}")
    for gone in ranking.pinned_out:
        if gone.sku == SEEN:
            detail = f" ({gone.detail})" if gone.detail else ""
            yield Notice(kind="seen", text=f"seen is left out: {gone.reason}{detail}")


def _left_out(ranking: Ranking) -> Iterator[Notice]:
    for reason in ranking.left_out:
        if reason.text == NOT_SOLD_SO:
            continue  # a filter that was asked for; counted in left_out, not worth a line
        yield Notice(
            kind="left-out",
            text=f"{reason.offers} left out: {reason.text} (for example {reason.example}"
            + (f": {reason.detail})" if reason.detail else ")"),
        )


def _ages(results: Sequence[Result]) -> Iterator[Notice]:
    old = [result for result in results if result.age_days > OLD_DAYS]
    if old:
        moved = any(result.widened for result in old)
        oldest = max(old, key=lambda result: result.age_days)
        yield Notice(
            kind="old-price",
            text=f"{len(old)} of {len(results)} prices shown are older than {OLD_DAYS} days, "
            f"the oldest {oldest.age_days} days ({oldest.sku})"
            + ("; market-set ones are taken at -50 % to +50 %" if moved else ""),
            what_to_do="state the price you see with --rate, or bring today's with --offers",
        )
    flagged = sorted({result.sku for result in old if result.age_days > FLAGGED_DAYS})
    if flagged:
        yield Notice(
            kind="old-price",
            text=f"older than {FLAGGED_DAYS} days, believe with care: {', '.join(flagged)}",
        )


def _rough(question: Question, results: Sequence[Result]) -> Iterator[Notice]:
    work = question.work
    other = [r for r in results if (r.card, r.count) != (work.card, work.gpu_count)]
    if other:
        yield Notice(
            kind="rough",
            text=f"measured on {work.gpu_count}x {work.card}; hours elsewhere are rough "
            f"({TIME_LOW - 1:+.0%} to {TIME_HIGH - 1:+.0%} on another card)",
            what_to_do="time a few steps there and state its throughput",
        )


def _unstated(question: Question, results: Sequence[Result]) -> Iterator[Notice]:
    for key in sorted({r.card for r in results} & set(question.catalog.unstated)):
        names = ", ".join(card.key for card in question.catalog.variants(key))
        yield Notice(
            kind="card",
            text=f"{key}: the source does not say which of {names}; "
            "the slowest gives the high hours, the fastest the low ones",
        )


def _unpriced(results: Sequence[Result]) -> Iterator[Notice]:
    marked = [result for result in results if result.at_least]
    if marked:
        yield Notice(
            kind="unpriced",
            text=f"{len(marked)} of the totals shown are marked `at least`: a meter that bills has "
            "no stated price and is taken at what others ask (median expected, maximum high)",
            what_to_do="--strict leaves them out",
        )


def _spot(question: Question, results: Sequence[Result]) -> Iterator[Notice]:
    spots = [
        result
        for result in results
        if result.pricing == "spot" and not _stated(question, result.provider)
    ]
    if spots and question.work.interruption_s is None:
        yield Notice(
            kind="spot",
            text="nobody states how often spot machines are taken back: none in low, one a day "
            "expected, one in 4 h in high; waiting for a machine is not in the hours",
            what_to_do="state interruption_hours in the job if you know it",
        )


def _stated(question: Question, key: str) -> bool:
    """Return whether the provider says how often it takes spot machines back."""
    provider = question.catalog.providers.get(key)
    return bool(provider and provider.spot and provider.spot.hours_between_interruptions)


def _staging(results: Sequence[Result]) -> Iterator[Notice]:
    if results and results[0].staging_saves_usd:
        first = results[0]
        yield Notice(
            kind="staging",
            text=f"the line at the data's home is slow and the machine waits for it ({first.sku})",
            what_to_do=f"staging the tar on a hub first saves ${first.staging_saves_usd:.2f}",
        )


def _serverless(question: Question, results: Sequence[Result]) -> Iterator[Notice]:
    for result in results:
        provider = question.catalog.providers.get(result.provider)
        if result.timeout_s is None or provider is None or provider.serverless is None:
            continue
        most = provider.serverless.max_timeout_hours
        if most is not None and result.hours.expected > most:
            yield Notice(
                kind="timeout",
                text=f"{result.sku}: one call may last {most:g} h, the job takes "
                f"{result.hours.expected:.1f} h",
                what_to_do="train in pieces that resume from a checkpoint",
            )


def _balance(question: Question, results: Sequence[Result]) -> Iterator[Notice]:
    told: set[str] = set()
    for result in results:
        if question.balance_usd is None or result.balance is None:
            continue
        if result.provider not in told:
            told.add(result.provider)
            text = f"{result.sku}: ${question.balance_usd} {result.balance}"
            if result.total_usd.high > question.balance_usd:
                text += f"; the high end of the total, ${result.total_usd.high:.2f}, is above it"
            yield Notice(kind="balance", text=text)


def _taxes(question: Question, results: Sequence[Result]) -> Iterator[Notice]:
    for tax, text in (
        ("excluded", "prices without VAT"),
        ("added", "sales tax comes on top"),
    ):
        names = sorted(
            {
                result.provider
                for result in results
                if (p := question.catalog.providers.get(result.provider)) and p.tax == tax
            }
        )
        if names:
            yield Notice(kind="tax", text=f"{text}: {', '.join(names)}")
