"""Answers: itemised, with ranges, sources and notices."""

from datetime import date
from decimal import Decimal
from typing import Literal

from costplan.records.offers import Pricing
from costplan.records.profiles import Range
from costplan.records.record import DatePrecision, Number, Record, Whole
from costplan.records.verdicts import Confidence, Word

NoticeKind = Literal[
    "left-out",
    "old-price",
    "assumed",
    "unpriced",
    "rough",
    "spot",
    "staging",
    "balance",
    "disk",
    "timeout",
    "tax",
    "card",
    "set-up",
    "seen",
    "stop",
    "profile",
]


class Notice(Record):
    """Something about the answer that the reader must know, once."""

    kind: NoticeKind
    text: str
    what_to_do: str | None = None


class HoursRange(Record):
    """Hours."""

    low: float
    expected: float
    high: float


class UsdRange(Record):
    """Dollars."""

    low: Decimal
    expected: Decimal
    high: Decimal


class CostLine(Record):
    """Price times quantity of one meter in one phase, at what is expected."""

    name: str
    quantity: Decimal
    unit: str
    unit_price_usd: Decimal
    cost_usd: Decimal
    cost_low_usd: Decimal
    cost_high_usd: Decimal
    part: str
    """What it is for: set-up, transfer, training, overhead, interruptions, idle, rounding,
    storage, traffic or machine."""
    source: str
    as_of: date | None


class DiskPart(Record):
    """A part of the disk to rent."""

    name: str
    gb: float


class Result(Record):
    """What the job costs on one offer sold one way."""

    sku: str
    rank: int
    """Place among all offers that are ranked, from 1."""
    provider: str
    region: str | None
    pricing: Pricing
    card: str
    count: int
    usd_per_hour: Decimal
    """The whole running rate: disk, CPU and RAM inside."""
    hours: HoursRange
    """From renting until the result is uploaded."""
    total_usd: UsdRange
    at_least: bool
    """True where an unpriced part could move the total by more than 2 %."""
    disk_gb: Decimal
    limited_by: str
    checked: date
    date_precision: DatePrecision
    age_days: int
    widened: bool
    """True where the price is a market's and old: low and high are taken at -50 % and +50 %."""
    unbeaten: bool
    """True where no other offer is both cheaper and sooner."""
    vcpus: float | None
    ram_gb: float | None
    reliability: float | None
    lines: tuple[CostLine, ...]
    stopped_usd_per_hour: Decimal | None
    stopped_unpriced: tuple[str, ...]
    """What else bills then, at a price that nobody states."""
    survivors: tuple[str, ...]
    """What a destroy leaves behind, billing on."""
    night_usd: Decimal
    """What one forgotten night adds at the running rate."""
    weekend_usd: Decimal
    timeout_s: int | None
    """Serverless: the timeout to set."""
    hung_usd: Decimal | None
    """Serverless: what a run that hangs until the timeout bills."""
    balance_hours: float | None
    """Until the given balance is used up at the running rate."""
    balance: str | None
    """The same in words, and what the provider does then."""
    checkpoint_interval_s: float | None
    interruptions: float | None
    staging_saves_usd: Decimal | None
    """What staging the data on a hub first would save over sending it from where it is."""
    rent_command: str | None


class LeftOut(Record):
    """Offers that are not in the answer, by reason."""

    reason: str
    count: int
    limit: bool
    """True where one of the person's own limits said no."""
    example: str
    detail: str | None


class ProfileTaken(Record):
    """The profile whose throughput an estimate rests on."""

    file: str
    device: str
    """As its driver calls it."""
    card: str
    count: Whole
    """GPUs that were at work."""
    step_s: Range
    samples_per_s: Range | None
    tokens_per_s: Range | None
    verdict: Word
    confidence: Confidence
    faster_gpu_at_most_share: Number | None
    """Of the step, that any faster card can save; None where nothing bounds it."""


class Estimate(Record):
    """The ranked answer to `costplan estimate`."""

    job: str
    priced_on: date
    results: tuple[Result, ...]
    """Sorted; no more than asked for."""
    offers_total: int
    """Ranked ones, before the limit on rows."""
    left_out: tuple[LeftOut, ...]
    disk_parts: tuple[DiskPart, ...]
    disk_headroom: float
    disk_given: bool
    assumed: tuple[str, ...]
    profile: ProfileTaken | None = None
    notices: tuple[Notice, ...]
