"""One offer described by flags: its price was seen somewhere, its rules may be unknown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from costplan.records.offers import Offer
from costplan.records.providers import DestroyTerms, Meter, Provider, Rounding, StopTerms

if TYPE_CHECKING:
    from datetime import date
    from decimal import Decimal

    from costplan.records.providers import MeterKind, Unit

SKU: Final = "seen"


def neutral_provider(on: date) -> Provider:
    """Return a provider of which nothing is known but that GPU, disk and traffic bill."""

    def meter(kind: MeterKind, per: Unit) -> Meter:
        return Meter(
            kind=kind,
            per=per,
            states=("running",),
            states_unknown=("loading_image",),
            source="assumed",
            as_of=on,
        )

    return Provider(
        key=SKU,
        name="seen",
        kind="marketplace",
        site="not stated",
        prices_set_by="list",
        included=("cpu", "ram"),
        rounding=Rounding(source="assumed", as_of=on),
        meters=(
            meter("gpu", "hour"),
            meter("disk", "gb_month"),
            meter("ingress", "gb"),
            meter("egress", "gb"),
        ),
        stop=StopTerms(source="assumed", as_of=on),
        destroy=DestroyTerms(source="assumed", as_of=on),
        source="assumed",
        as_of=on,
    )


def seen_offer(
    provider: Provider,
    *,
    card: str,
    count: int,
    usd_per_hour: Decimal,
    storage_usd_per_gb_month: Decimal | None,
    ingress_usd_per_gb: Decimal | None,
    quoted_disk_gb: Decimal | None,
    on: date,
) -> Offer:
    """Return the offer; a disk that the price holds is the provider's default unless stated."""
    quoted = provider.default_quote_disk_gb if quoted_disk_gb is None else quoted_disk_gb
    return Offer(
        sku=SKU,
        provider=provider.key,
        card=card,
        count=count,
        usd_per_hour=usd_per_hour,
        storage_usd_per_gb_month=storage_usd_per_gb_month,
        ingress_usd_per_gb=ingress_usd_per_gb,
        quoted_disk_gb=quoted,
        checked=on,
        source="flags",
    )
