"""What a meter that nobody has priced probably costs: known prices of its kind.

Its kind is the same meter at the same provider, else at providers of the same class, else
anywhere. Expected is the median, high the maximum; nothing enters low, because nobody has stated
it. Where nothing of its kind is known there is no answer.
"""

from __future__ import annotations

from collections import defaultdict
from decimal import Decimal
from typing import TYPE_CHECKING, Final, NamedTuple

from costplan.billing import hourly_usd, hours_in
from costplan.units import GB_PER

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from costplan.records.offers import Offer
    from costplan.records.providers import Meter, MeterKind, Provider, ProviderKind


class Likely(NamedTuple):
    """Median and maximum of known prices, and whose they are."""

    median: Decimal
    maximum: Decimal
    whose: str


_ANY_STATE: Final = frozenset({"public_ip", "fee"})
"""Priced by the hour alike whatever the machine does; storage is dearer in some states."""


def comparable_usd(meter: Meter) -> Decimal | None:
    """Return the meter's price per hour and GB (or core, or piece), or per GB moved."""
    if meter.kind in ("ingress", "egress", "inter_region"):
        each = meter.tiers[0].usd if meter.tiers else meter.usd
        return None if each is None else each / GB_PER[meter.per]
    one = meter.sizes_gb[0] if meter.sizes_gb else Decimal(1)
    # Without the free part: that the first TB is free at one place is no price of 0 elsewhere.
    price = hourly_usd(meter.model_copy(update={"free": None}), one)
    if price is None:
        return None
    unit = meter.per.split("_", 1)[0]
    return price[1] / one / GB_PER.get(unit, Decimal(1))


class KnownPrices:
    """Every stated price of the secondary meters, in comparable units."""

    def __init__(self, offers: Iterable[Offer], providers: Mapping[str, Provider]) -> None:
        self._providers = providers
        self._known: defaultdict[tuple[MeterKind, str], list[Decimal]] = defaultdict(list)
        self._likely: dict[tuple[MeterKind, str], Likely | None] = {}
        for provider in providers.values():
            for meter in provider.meters:
                usd = comparable_usd(meter)
                if usd is not None and ("running" in meter.states or meter.kind in _ANY_STATE):
                    self._add(meter.kind, provider.key, usd)
        for offer in offers:
            provider_of = providers.get(offer.provider)
            if offer.storage_usd_per_gb_month is not None:
                disk = provider_of.meter("disk") if provider_of else None
                month = offer.month_hours or (hours_in(disk) if disk else Decimal(730))
                self._add("disk", offer.provider, offer.storage_usd_per_gb_month / month)
            if offer.ingress_usd_per_gb is not None:
                self._add("ingress", offer.provider, offer.ingress_usd_per_gb)
            if offer.egress_usd_per_gb is not None:
                self._add("egress", offer.provider, offer.egress_usd_per_gb)

    def _add(self, kind: MeterKind, provider: str, usd: Decimal) -> None:
        self._known[kind, provider].append(usd)

    def likely(self, kind: MeterKind, provider: str) -> Likely | None:
        """Return the likely price of `kind` at `provider`; None where nothing is known anywhere."""
        key = (kind, provider)
        if key not in self._likely:
            self._likely[key] = self._search(kind, provider)
        return self._likely[key]

    def _search(self, kind: MeterKind, provider: str) -> Likely | None:
        own = self._known.get((kind, provider))
        if own:
            return _likely(own, f"known prices of {provider}")
        about = self._providers.get(provider)
        same = [
            usd
            for (k, p), prices in self._known.items()
            if k == kind and about is not None and self._kind_of(p) == about.kind
            for usd in prices
        ]
        if same and about is not None:
            return _likely(same, f"known prices of {about.kind} offers")
        anywhere = [usd for (k, _), prices in self._known.items() if k == kind for usd in prices]
        return _likely(anywhere, "known prices anywhere") if anywhere else None

    def _kind_of(self, key: str) -> ProviderKind | None:
        provider = self._providers.get(key)
        return None if provider is None else provider.kind


def _likely(prices: list[Decimal], whose: str) -> Likely:
    ordered = sorted(prices)
    middle = len(ordered) // 2
    median = ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2
    return Likely(median, ordered[-1], f"median of {len(ordered)} {whose}")
