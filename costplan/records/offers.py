"""Rentable things: as the price folder lists them, and as one of them stands on a given day."""

import itertools
import re
from datetime import date
from decimal import Decimal
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from costplan.records.providers import Provider
from costplan.records.record import (
    Amount,
    DatePrecision,
    Gigabytes,
    Number,
    Price,
    Record,
    Sourced,
    Whole,
)

Count = Annotated[Whole, Field(ge=1, le=1024)]
HourlyPrice = Annotated[Amount, Field(ge=Decimal("0.0001"), le=100_000)]
"""Nobody rents a GPU below a hundredth of a cent an hour."""


def _zero_is_missing(value: Any) -> Any:
    """Take a price of 0 for a missing one, as markets write it."""
    if isinstance(value, float | int):  # what JSON holds, for large files
        return value if value or isinstance(value, bool) else None
    try:
        return None if Decimal(str(value)) == 0 else value
    except ArithmeticError:
        return value


SeenPrice = Annotated[HourlyPrice | None, BeforeValidator(_zero_is_missing)]
Pricing = Literal["on-demand", "spot", "serverless"]


class DatedPrice(Record):
    """A price that holds until the next one of the same offer begins; never edited."""

    usd_per_hour: HourlyPrice | None = None
    """The whole offer, all its GPUs; the disk of `quoted_disk_gb` inside."""
    spot_usd_per_hour: HourlyPrice | None = None
    quoted_disk_gb: Price | None = None
    """GB of disk that the hourly prices already contain; left out where the disk is billed
    beside them."""
    since: date
    checked: date | None = None
    """Last day on which the source still said so; `since` where left out."""
    date_precision: DatePrecision = "day"
    source: str = Field(min_length=4)
    note: str | None = None

    @model_validator(mode="after")
    def _priced(self) -> "DatedPrice":
        if self.usd_per_hour is None and self.spot_usd_per_hour is None:
            raise ValueError("a price needs usd_per_hour or spot_usd_per_hour")
        if self.checked is not None and self.checked < self.since:
            raise ValueError("checked lies before since")
        return self


class OwnTerms(Record):
    """Prices and facts that hold for one offer and win over its provider's."""

    region: str | None = None
    instance: str | None = None
    """The provider's own name of the type."""
    memory_gb: Annotated[Number, Field(gt=0, le=100_000)] | None = None
    """Of each GPU, where it differs from the card's: some RTX 4090 have 48 GB."""
    vcpus: Annotated[Number, Field(gt=0, le=10_000)] | None = None
    ram_gb: Gigabytes | None = None
    storage_usd_per_gb_month: Price | None = None
    stopped_storage_usd_per_gb_month: Price | None = None
    month_hours: Annotated[Amount, Field(ge=600, le=760)] | None = None
    ingress_usd_per_gb: Price | None = None
    egress_usd_per_gb: Price | None = None
    inet_down_mbit_per_s: Annotated[Number, Field(gt=0, le=1_000_000)] | None = None
    inet_up_mbit_per_s: Annotated[Number, Field(gt=0, le=1_000_000)] | None = None
    max_disk_gb: Gigabytes | None = None


class OfferEntry(OwnTerms):
    """One offer of the price folder with its price history."""

    sku: str
    """`provider/COUNTx-card[-region|-tag]`, lower case."""
    card: str
    count: Count = 1
    tag: str | None = None
    prices: tuple[DatedPrice, ...] = Field(min_length=1)
    """Oldest first."""
    note: str | None = None

    @model_validator(mode="after")
    def _consistent(self) -> "OfferEntry":
        days = [price.since for price in self.prices]
        if days != sorted(set(days)):
            raise ValueError("prices must be dated, oldest first, one a day")
        tail = f"/{self.count}x-{self.card.lower()}"
        if self.tag:
            tail += f"-{self.tag}"
        if not self.sku.endswith(tail) and not re.search(re.escape(tail) + r"-", self.sku):
            raise ValueError(f"sku {self.sku} does not end with {tail}")
        return self

    def price_on(self, day: date) -> DatedPrice | None:
        """Return the price in force on `day`, or None before the first one."""
        held = [price for price in self.prices if price.since <= day]
        return held[-1] if held else None


class Reference(Sourced):
    """A published price that cannot be rented as such: a minimum, an average, a fraction."""

    card: str | None = None
    count: Count = 1
    what: Literal["lowest-listed", "from-price", "average", "fraction"]
    usd_per_hour: HourlyPrice | None = None
    spot_usd_per_hour: HourlyPrice | None = None
    note: str | None = None


class Offer(OwnTerms):
    """One offer at its price of one day: from the price folder, a file, or flags."""

    sku: str = Field(min_length=1)
    provider: str
    card: str
    count: Count = 1
    usd_per_hour: SeenPrice = None
    spot_usd_per_hour: SeenPrice = None
    quoted_disk_gb: Price | None = None
    checked: date
    date_precision: DatePrecision = "day"
    source: str = "seen"
    id: str | None = None
    """What the provider's rent command takes."""
    reliability: Annotated[Number, Field(ge=0, le=1)] | None = None
    available_hours: Annotated[Number, Field(ge=0)] | None = None
    """Until the contract that can be had today ends."""


class ProviderFile(Record):
    """`pricing/providers/NAME.yaml`."""

    provider: Provider
    offers: tuple[OfferEntry, ...] = ()
    references: tuple[Reference, ...] = ()

    @model_validator(mode="after")
    def _sorted_and_unique(self) -> "ProviderFile":
        skus = [entry.sku for entry in self.offers]
        for before, after in itertools.pairwise(skus):
            if before >= after:
                raise ValueError(f"offers must be sorted by sku and unique: move {after}")
        key = self.provider.key
        for sku in skus:
            if not sku.startswith(f"{key}/"):
                raise ValueError(f"sku {sku} does not start with {key}/")
        return self


STANDARD_MONTH_HOURS = Decimal(730)
"""365 x 24 / 12: what most clouds bill and what holds where nothing is stated."""
