"""Reads what was promised: one offer of vast.ai as its tool prints it, or one in our own fields."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from costplan import yamlfile
from costplan.errors import InputError, nearest
from costplan.records.checks import Promised
from costplan.records.offers import Offer
from costplan.records.record import ValidationError
from costplan.vast_offers import MB_PER_GB, MIB_PER_GIB, is_vast

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import date

    from costplan.catalog import Catalog

ONE: Final = "save the one that you rented: `vastai search offers ... --raw`, then its entry alone"


def read_promised(source: str, *, catalog: Catalog, today: date) -> Promised:
    """Return what the offer in the file `source` promises.

    Raises:
        InputError: The file cannot be read, or holds no offer or more than one.
    """
    item = _item(yamlfile.read_text(Path(source)), source)
    if is_vast(item):
        return _keyed(_vast(item), catalog)
    try:
        Offer.model_validate({"checked": today, **item})
    except ValidationError as err:
        first = err.errors(include_url=False)[0]
        name = ".".join(str(part) for part in first["loc"])
        hint = nearest(name, Offer.model_fields) if first["type"] == "extra_forbidden" else None
        raise InputError(f"{source}: {name}: {first['msg'].lower()}", hint=hint or ONE) from None
    return _keyed(_own(item), catalog)


def _item(text: str, source: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as err:
        raise InputError(f"{source} is not JSON: {err}", hint=ONE) from None
    if isinstance(found, list):
        if len(found) != 1:
            raise InputError(f"{source} holds {len(found)} offers, not one", hint=ONE)
        (found,) = found
    if not isinstance(found, dict):
        raise InputError(f"{source} holds no offer", hint=ONE)
    return found


def _keyed(given: Promised, catalog: Catalog) -> Promised:
    if given.gpu_name is None:
        return given
    return given.model_copy(update={"cards": cards_of(given.gpu_name, catalog)})


def cards_of(name: str, catalog: Catalog) -> tuple[str, ...]:
    """Return the cards that a name may stand for; none where the catalog does not know it."""
    try:
        return tuple(card.key for card in catalog.variants(catalog.card_key(name)))
    except InputError:
        return ()


def _vast(item: Mapping[str, Any]) -> Promised:
    # `cpu_ram` is the whole machine's, `gpu_frac` the share of it that is rented.
    share = min(_number(item, "gpu_frac") or 1.0, 1.0)
    ram_mb, memory_mib = _number(item, "cpu_ram"), _number(item, "gpu_ram")
    return Promised(
        gpu_name=_text(item, "gpu_name"),
        gpu_count=_whole(item, "num_gpus"),
        gpu_memory_gb=None if memory_mib is None else memory_mib / MIB_PER_GIB,
        cores=_number(item, "cpu_cores_effective"),
        ram_gb=None if ram_mb is None else ram_mb * share / MB_PER_GB,
        down_mbit_per_s=_number(item, "inet_down"),
        up_mbit_per_s=_number(item, "inet_up"),
        disk_mb_per_s=_number(item, "disk_bw"),
        pcie_width=_whole(item, "gpu_lanes"),
        pcie_gen=_whole(item, "pci_gen"),
    )


def _own(item: Mapping[str, Any]) -> Promised:
    return Promised(
        gpu_name=_text(item, "card"),
        gpu_count=_whole(item, "count"),
        gpu_memory_gb=_number(item, "memory_gb"),
        cores=_number(item, "vcpus"),
        ram_gb=_number(item, "ram_gb"),
        down_mbit_per_s=_number(item, "inet_down_mbit_per_s"),
        up_mbit_per_s=_number(item, "inet_up_mbit_per_s"),
    )


def _text(item: Mapping[str, Any], key: str) -> str | None:
    value = item.get(key)
    return value.strip() or None if isinstance(value, str) else None


def _number(item: Mapping[str, Any], key: str) -> float | None:
    """Return a figure; 0 and what is no number stand for a missing one, as markets write it."""
    value = item.get(key)
    if value is None or isinstance(value, bool):
        return None
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return number if math.isfinite(number) and number > 0 else None


def _whole(item: Mapping[str, Any], key: str) -> int | None:
    number = _number(item, key)
    return None if number is None or number != int(number) else int(number)
