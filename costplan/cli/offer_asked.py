"""An offer of the price folder as the box that one has."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

from costplan import catalog as catalogs
from costplan.errors import InputError, UnknownError, nearest
from costplan.stopping import per_gb_month

if TYPE_CHECKING:
    from pathlib import Path

    from costplan.records.offers import DatedPrice, OfferEntry


def listed(sku: str, pricing: Path | None, *, serverless: str) -> tuple[OfferEntry, DatedPrice]:
    """Return an offer of the price folder and its latest price, on demand and in dollars.

    Args:
        sku: Of the offer.
        pricing: The price folder, where not the usual one.
        serverless: What an offer that is no box cannot be used for.

    Raises:
        InputError: There is no such offer, or it is no box.
        UnknownError: It has no on-demand price, or none in dollars.
    """
    catalog = catalogs.load(catalogs.folder(pricing))
    entry = next((e for e in catalog.entries if e.sku == sku), None)
    if entry is None:
        raise InputError(
            f"no offer {sku!r} in the price folder",
            hint=nearest(sku, [e.sku for e in catalog.entries]),
        )
    price, provider = entry.prices[-1], catalog.providers[sku.split("/", 1)[0]]
    if provider.kind == "serverless":
        raise InputError(f"{sku} is serverless: {serverless}")
    if price.usd_per_hour is None:
        raise UnknownError(f"{sku} has no on-demand price", hint="state it with --rate")
    if provider.currency != "USD":
        raise UnknownError(
            f"{sku} is priced in {provider.currency}", hint="say dollars with --rate"
        )
    return entry, price


def take_offer(sku: str, pricing: Path | None, fields: dict[str, Any]) -> None:
    """Put the prices of an offer of the price folder into the fields of a box.

    Raises:
        InputError: There is no such offer, or it is no box.
        UnknownError: It has no on-demand price, or none in dollars.
    """
    entry, price = listed(sku, pricing, serverless="there is no box to keep or stop")
    fields["usd_per_hour"] = price.usd_per_hour
    fields["quoted_disk_gb"] = price.quoted_disk_gb or Decimal(0)
    if price.quoted_disk_gb is not None:
        fields.setdefault("disk_gb", price.quoted_disk_gb)
    for key in ("storage_usd_per_gb_month", "ingress_usd_per_gb"):
        value = getattr(entry, key)
        if value is not None:
            fields.setdefault(key, value)


def add_disk(sku: str, pricing: Path | None, fields: dict[str, Any], assumed: list[str]) -> None:
    """Put the running disk into the rate of an offer: `--rate` has it inside, a price list not."""
    quoted = fields.pop("quoted_disk_gb", Decimal(0))
    provider = catalogs.load(catalogs.folder(pricing)).providers[sku.split("/", 1)[0]]
    disk = provider.meter("disk")
    if "disk" in provider.included or disk is None or "disk_gb" not in fields:
        return
    price = fields.get("storage_usd_per_gb_month", per_gb_month(disk))
    if price is None:
        assumed.append("the running disk, whose price nobody states, is not in the rate")
        return
    month = fields.get("month_hours", disk.month_hours)
    more = (Decimal(fields["disk_gb"]) - quoted) * Decimal(price) / Decimal(month)
    fields["usd_per_hour"] += more
    assumed.append(f"running rate ${fields['usd_per_hour']:.4f}/h with the disk inside")
