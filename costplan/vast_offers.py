"""What `vastai search offers ... --raw` prints, as offers.

Field meanings: vast-ai/vast-cli @5567983 and vast-ai/docs @c624622. `dph_total` holds the disk of
the search (5 GB unless asked otherwise), so the GPU's own price is taken and the disk billed
beside it. A price of 0 stands for a missing one.
"""

from __future__ import annotations

from decimal import Decimal, DecimalException
from typing import TYPE_CHECKING, Any, Final

from costplan.errors import InputError
from costplan.estimate import LeftOutOffer
from costplan.records.offers import Offer

if TYPE_CHECKING:
    from datetime import datetime

    from costplan.catalog import Catalog

PROVIDER: Final = "vast"
MB_PER_GB: Final = 1000
"""The CLI multiplies its GB filters by 1,000."""
MIB_PER_GIB: Final = 1024
SEARCH_DISK_GB: Final = Decimal(5)
MONTH_HOURS: Final = Decimal(720)
MOST: Final = Decimal(10) ** 100
MEMORY_MATCHES: Final = 0.12
"""Two memory sizes within 12 % are the same card: 24,564 MiB is sold as 24 GB, 46,068 as 48."""


def is_vast(item: dict[str, Any]) -> bool:
    """Return whether `item` looks like one of the market's offers."""
    return "gpu_name" in item and ("dph_total" in item or "dph_base" in item)


def vast_offer(item: dict[str, Any], *, catalog: Catalog, now: datetime) -> Offer | LeftOutOffer:
    """Return one host's offer, or why it cannot be used.

    Raises:
        pydantic.ValidationError: A figure is out of every range.
    """
    number = str(item.get("id") or item.get("ask_contract_id") or "")
    name = str(item["gpu_name"])
    count = _count(item)
    if count is None:
        return LeftOutOffer(f"vast/{number}", "no count of GPUs in the offer")
    memory_gb = _float(item, "gpu_ram", MIB_PER_GIB)
    try:
        card = _card(name, memory_gb, catalog)
    except InputError as err:
        return LeftOutOffer(f"vast/{number}", str(err))
    sku = f"{PROVIDER}/{count}x-{card.lower()}-{number}"
    storage = _amount(item, "storage_cost")
    base = _base(item, storage)
    bid = _amount(item, "min_bid")
    if base is None and bid is None:
        return LeftOutOffer(sku, "no price in the offer")
    nominal = min(variant.memory_gb for variant in catalog.variants(card))
    return Offer(
        sku=sku,
        provider=PROVIDER,
        card=card,
        count=count,
        id=number or None,
        usd_per_hour=base,
        spot_usd_per_hour=bid,
        quoted_disk_gb=Decimal(0),
        storage_usd_per_gb_month=storage,
        ingress_usd_per_gb=_traffic(item, "inet_down_cost", "internet_down_cost_per_tb"),
        egress_usd_per_gb=_traffic(item, "inet_up_cost", "internet_up_cost_per_tb"),
        inet_down_mbit_per_s=_float(item, "inet_down"),
        inet_up_mbit_per_s=_float(item, "inet_up"),
        memory_gb=None if _same(memory_gb, nominal) else memory_gb,
        vcpus=_float(item, "cpu_cores_effective"),
        ram_gb=_float(item, "cpu_ram", MB_PER_GB),
        max_disk_gb=_float(item, "disk_space"),
        reliability=_float(item, "reliability2") or _float(item, "reliability"),
        available_hours=_hours_left(item, now),
        region=_text(item, "geolocation"),
        checked=now.date(),
        source="vast.ai search",
    )


def _count(item: dict[str, Any]) -> int | None:
    """Return the number of GPUs, 1 where it is not said; None where it is no whole number."""
    value = item.get("num_gpus")
    if value is None or value == "":
        return 1
    amount = _amount(item, "num_gpus")
    return int(amount) if amount is not None and amount == amount.to_integral_value() else None


def _card(name: str, memory_gb: float | None, catalog: Catalog) -> str:
    """Return the card's key; where the name leaves the memory open, the memory decides."""
    key = catalog.card_key(name)
    fitting = [c.key for c in catalog.variants(key) if _same(memory_gb, c.memory_gb)]
    return fitting[0] if len(fitting) == 1 else key


def _same(memory_gb: float | None, nominal: float) -> bool:
    return memory_gb is None or abs(memory_gb / nominal - 1) <= MEMORY_MATCHES


def _base(item: dict[str, Any], storage: Decimal | None) -> Decimal | None:
    """Return the hourly price without any disk."""
    base = _amount(item, "dph_base")
    if base is not None:
        return base
    whole = _amount(item, "dph_total")
    if whole is None:
        return None
    disk = _amount(item, "storage_total_cost")
    if disk is None and storage is not None:
        disk = SEARCH_DISK_GB * storage / MONTH_HOURS
    without = whole - (disk or Decimal(0))
    return without if without > 0 else None


def _amount(item: dict[str, Any], key: str) -> Decimal | None:
    """Return a price; None where it is missing, 0 (which stands for missing) or no number."""
    value = item.get(key)
    if isinstance(value, bool) or value is None:
        return None
    try:
        amount = Decimal(str(value))
    except DecimalException:
        return None
    # Beyond MOST stands no figure, and 10^1000000 would end the arithmetic.
    return min(amount, MOST) if amount.is_finite() and amount > 0 else None


def _traffic(item: dict[str, Any], per_gb: str, per_tb: str) -> Decimal | None:
    """Return a price per GB; here 0 is a price: many hosts ask nothing for traffic."""
    for key, parts in ((per_gb, 1), (per_tb, 1024)):
        value = item.get(key)
        if value is not None and not isinstance(value, bool):
            try:
                amount = min(Decimal(str(value)), MOST) / parts
            except DecimalException:
                continue
            if amount.is_finite() and amount >= 0:
                return amount
    return None


def _float(item: dict[str, Any], key: str, parts: float = 1) -> float | None:
    amount = _amount(item, key)
    return None if amount is None else float(amount) / parts


def _text(item: dict[str, Any], key: str) -> str | None:
    value = item.get(key)
    return value.strip() or None if isinstance(value, str) else None


def _hours_left(item: dict[str, Any], now: datetime) -> float | None:
    """Return the hours until the contract that can be had today ends."""
    end = _float(item, "end_date")
    if end is not None:
        return max(0.0, (end - now.timestamp()) / 3_600)
    left_s = _float(item, "duration")
    return None if left_s is None else left_s / 3_600
