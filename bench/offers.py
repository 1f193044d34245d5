#!/usr/bin/env python3
"""Synthetic offers for the speed check: a market as it might be, the same for the same seed.

    python bench/offers.py 100000 > offers.jsonl

The shapes are a market's (many hosts, few clouds, prices around each card's usual one, lines from
slow to very fast); no number is anybody's price.
"""

from __future__ import annotations

import argparse
import csv
import json
import math
import random
import sys
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SEED: Final = 20261130
CHECKED: Final = "2026-11-30"
"""The day on which every offer stands."""


class Card(NamedTuple):
    """A card of the price folder: its memory, a usual price, and how common it is."""

    memory_gb: float
    usd_per_hour: float
    weight: int


CARDS: Final = {
    "RTX-3060": Card(12, 0.06, 4),
    "RTX-3090": Card(24, 0.16, 12),
    "RTX-4070-TI": Card(12, 0.12, 4),
    "RTX-4080": Card(16, 0.20, 4),
    "RTX-4090": Card(24, 0.35, 25),
    "RTX-5090": Card(32, 0.55, 15),
    "RTX-A5000": Card(24, 0.20, 5),
    "RTX-A6000": Card(48, 0.45, 6),
    "RTX-6000-ADA": Card(48, 0.70, 4),
    "L40S": Card(48, 0.80, 4),
    "A40": Card(48, 0.40, 3),
    "A100-PCIE-40GB": Card(40, 0.70, 2),
    "A100-SXM-80GB": Card(80, 1.10, 5),
    "H100-PCIE": Card(80, 1.90, 2),
    "H100-SXM": Card(80, 2.40, 6),
    "H200-SXM": Card(141, 3.00, 3),
    "B200": Card(180, 4.50, 1),
}
CLOUD_CARDS: Final = ("A100-SXM-80GB", "H100-SXM", "H200-SXM", "B200", "L40S", "A40", "RTX-A6000")

MARKETS: Final = {"vast": 70, "tensordock": 5, "runpod-community": 5, "lium": 3}
CLOUDS: Final = {"runpod-secure": 6, "lambda": 4, "aws": 3, "nebius": 2, "gcp": 2}
PROVIDERS: Final = {**MARKETS, **CLOUDS}
WITH_SPOT: Final = {"vast": 0.6, "aws": 0.5, "gcp": 0.5, "nebius": 0.3}
"""Share of the offers that can be had interruptibly too."""
COUNTS: Final = {1: 55, 2: 15, 4: 15, 8: 15}
REGIONS: Final = ("Sweden, SE", "Texas, US", "Quebec, CA", "Bulgaria, BG", "Japan, JP")
CLOUD_REGIONS: Final = ("us-east-1", "us-west-2", "eu-west-1", "eu-north-1", "ap-northeast-1")

Offer = dict[str, "str | int | float"]

# The columns of a catalog file of gpuhunt, which reads one row an offer.
GPUHUNT_COLUMNS: Final = (
    "instance_name", "location", "price", "cpu", "memory", "gpu_count", "gpu_name", "gpu_memory",
    "spot", "disk_size", "gpu_vendor", "flags", "cpu_arch", "provider_data",
)  # fmt: skip


def offers(count: int, *, seed: int = SEED) -> Iterator[Offer]:
    """Yield `count` offers; the first ones of a longer list are those of a shorter one."""
    rng = random.Random(seed)
    names, weights = list(PROVIDERS), list(PROVIDERS.values())
    for number in range(count):
        provider = rng.choices(names, weights)[0]
        yield _offer(rng, provider, number)


def _offer(rng: random.Random, provider: str, number: int) -> Offer:
    keys = CLOUD_CARDS if provider in CLOUDS else tuple(CARDS)
    card = rng.choices(keys, [CARDS[key].weight for key in keys])[0]
    count = rng.choices(list(COUNTS), list(COUNTS.values()))[0]
    usual = CARDS[card].usd_per_hour * count * (2.0 if provider in CLOUDS else 1.0)
    usd = round(usual * rng.lognormvariate(0.0, 0.25), 4)
    offer: Offer = {
        "sku": f"{provider}/{count}x-{card.lower()}-{10_000_000 + number}",
        "provider": provider,
        "card": card,
        "count": count,
        "usd_per_hour": usd,
        "checked": CHECKED,
        "source": "synthetic",
        "region": rng.choice(CLOUD_REGIONS if provider in CLOUDS else REGIONS),
        "vcpus": count * rng.choice((4, 6, 8, 12, 16, 24)),
        "ram_gb": count * rng.choice((16, 24, 32, 48, 64, 96)),
    }
    if rng.random() < WITH_SPOT.get(provider, 0.0):
        offer["spot_usd_per_hour"] = round(usd * rng.uniform(0.3, 0.8), 4)
    if provider == "vast":
        offer.update(_host(rng, number))
    return offer


def _host(rng: random.Random, number: int) -> Offer:
    """Return what a host on the market states beside its price."""
    down = min(9_000.0, rng.lognormvariate(math.log(700), 0.9))
    return {
        "id": str(10_000_000 + number),
        "quoted_disk_gb": 0,
        "storage_usd_per_gb_month": round(rng.uniform(0.05, 0.4), 3),
        "ingress_usd_per_gb": rng.choice((0, 0, 0.001, 0.003, 0.01, 0.02)),
        "egress_usd_per_gb": rng.choice((0, 0.001, 0.003, 0.01, 0.02)),
        "inet_down_mbit_per_s": round(down, 1),
        "inet_up_mbit_per_s": round(down * rng.uniform(0.2, 1.0), 1),
        "max_disk_gb": round(rng.lognormvariate(math.log(400), 0.9)) + 10,
        "reliability": round(1 - rng.uniform(0.0001, 0.08), 5),
        "available_hours": round(rng.uniform(2, 2_000), 1),
    }


def write_jsonl(path: Path, count: int, *, seed: int = SEED) -> None:
    """Write `count` offers to `path`, one JSON object a line, as `--offers` reads them."""
    with path.open("w", encoding="utf-8") as file:
        for offer in offers(count, seed=seed):
            file.write(json.dumps(offer) + "\n")


def write_gpuhunt(path: Path, count: int, *, seed: int = SEED) -> None:
    """Write the same offers, sold on demand, as a catalog file of gpuhunt."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, GPUHUNT_COLUMNS)
        writer.writeheader()
        for offer in offers(count, seed=seed):
            card = str(offer["card"])
            row: dict[str, object] = {
                "instance_name": offer["sku"],
                "location": offer["region"],
                "price": offer["usd_per_hour"],
                "cpu": offer["vcpus"],
                "memory": offer["ram_gb"],
                "gpu_count": offer["count"],
                "gpu_name": card.replace("-", ""),
                "gpu_memory": CARDS[card].memory_gb,
                "spot": False,
                "disk_size": offer.get("max_disk_gb", ""),
                "gpu_vendor": "nvidia",
                "cpu_arch": "x86",
                "provider_data": "{}",
            }
            writer.writerow(row)


def main() -> None:
    """Print offers."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("count", type=int, help="how many")
    parser.add_argument("--seed", type=int, default=SEED)
    asked = parser.parse_args()
    for offer in offers(asked.count, seed=asked.seed):
        sys.stdout.write(json.dumps(offer) + "\n")


if __name__ == "__main__":
    main()
