"""Every price of the table of sources stands in the price folder, once and rightly."""

from __future__ import annotations

import csv
import functools
import re
from calendar import monthrange
from collections import Counter
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

from costplan import catalog

if TYPE_CHECKING:
    from costplan.records.offers import OfferEntry

TABLE = Path(__file__).parent / "data" / "offers.tsv"
COMPILED_ON = date(2026, 11, 30)


class Line(NamedTuple):
    """A price, in the table or in the folder."""

    provider: str
    card: str | None
    gpus: int
    since: date
    date_precision: str
    usd: Decimal | None
    spot: Decimal | None


with TABLE.open(newline="", encoding="utf-8") as _file:
    ROWS = dict(enumerate(csv.DictReader(_file, delimiter="\t"), start=1))

PROVIDERS = {"vastai": "vast", "beam-serverless": "beam"}

# Card names whose card is not their spelling with - for each blank. {} is the memory column.
CARDS: dict[str, str | None] = {
    "A10 1/6": "A10",
    "A100 40GB PCIe": "A100-PCIE-40GB",
    "A100 80GB PCIe": "A100-PCIE-80GB",
    "A100 80GB SXM": "A100-SXM-80GB",
    "A100 PCIe": "A100-PCIE-{}GB",
    "A100 PCIe 80GB": "A100-PCIE-80GB",
    "A100 SXM": "A100-SXM-{}GB",
    "A100 SXM4": "A100-SXM-{}GB",
    "A100 SXM4 40GB": "A100-SXM-40GB",
    "A100 SXM4 80GB": "A100-SXM-80GB",
    "B200 SXM": "B200",
    "H100 NVLink": "H100-PCIE",
    "H200": "H200-SXM",
    "HGX B200": "B200",
    "HGX H100": "H100-SXM",
    "HGX H200": "H200-SXM",
    "P6000": "QUADRO-P6000",
    "RTX 6000": "QUADRO-RTX-6000",
    "RTX PRO 6000 S": "RTX-PRO-6000-SERVER",
    "RTX PRO 6000 SE": "RTX-PRO-6000-SERVER",
    "V100": "V100-{}GB",
    "cheapest GPU droplet": None,
}

# Rows whose card the source leaves open: PCIe, SXM or NVL.
OPEN = {
    *(15, 39, 68, 82, 84, 85, 94, 96, 103, 104, 105, 106, 111, 112, 113, 114, 115, 118, 119),
    *(121, 140, 141, 142, 143, 147, 148, 155, 174, 176, 188, 189, 192, 194, 199, 209, 210, 215),
    *(216, 217, 218, 222, 228, 229, 230, 231, 233, 235, 237, 239),
}

# Rows that nobody can rent as they stand.
REFERENCES = {
    **dict.fromkeys(range(13, 18), "lowest-listed"),
    117: "fraction",
    **dict.fromkeys(range(164, 175), "from-price"),
    195: "from-price",
    **dict.fromkeys(range(211, 217), "from-price"),
    **dict.fromkeys(range(228, 241), "average"),
}

# Rows that state the price of one GPU of a box that is sold whole.
SOLD_BY_8 = {107: (Decimal("113.92"), None), 108: (Decimal("63.28"), Decimal("18.32"))}


def card_of(row: dict[str, str]) -> str | None:
    name = re.sub(r" (\(.*\)|\+ .*)", "", row["gpu"])
    key = CARDS.get(name, name.upper().replace(" ", "-"))
    return key.format(row["vram_gb"]) if key else None


def day_of(text: str) -> tuple[date, str]:
    """A missing day is the last of its month, a missing month 30 June."""
    numbers = [int(part) for part in text.split(" ")[0].split("-")]
    if len(numbers) == 3:
        return date(*numbers), "day"
    if len(numbers) == 2:
        year, month = numbers
        return date(year, month, monthrange(year, month)[1]), "month"
    return date(numbers[0], 6, 30), "year"


def amount(cell: str) -> Decimal | None:
    return None if cell in ("unknown", "na") else Decimal(cell)


def line_of(number: int) -> Line:
    row = ROWS[number]
    count, usd, spot = (
        int(row["gpu_count"]),
        *map(amount, (row["usd_per_hour"], row["spot_usd_per_hour"])),
    )
    if number in SOLD_BY_8:
        count, (usd, spot) = 8, SOLD_BY_8[number]
    since, precision = day_of(row["as_of"])
    provider = PROVIDERS.get(row["provider"], row["provider"])
    return Line(provider, card_of(row), count, since, precision, usd, spot)


@functools.cache
def folder() -> catalog.Catalog:
    return catalog.load_yaml(catalog.folder())


def lines_of(entry: OfferEntry) -> list[Line]:
    return [
        Line(
            entry.sku.split("/")[0],
            entry.card,
            entry.count,
            price.since,
            price.date_precision,
            price.usd_per_hour,
            price.spot_usd_per_hour,
        )
        for price in entry.prices
    ]


@functools.cache
def offer_lines() -> Counter[Line]:
    return Counter(line for entry in folder().entries for line in lines_of(entry))


@functools.cache
def reference_lines() -> Counter[tuple[Line, str]]:
    return Counter(
        (
            Line(
                file.provider.key,
                line.card,
                line.count,
                line.as_of,
                line.date_precision,
                line.usd_per_hour,
                line.spot_usd_per_hour,
            ),
            line.what,
        )
        for file in folder().files
        for line in file.references
    )


def row_ids(numbers: list[int]) -> list[str]:
    return [f"{number}-{ROWS[number]['gpu']}" for number in numbers]


OFFER_ROWS = [number for number in ROWS if number not in REFERENCES]
REFERENCE_ROWS = sorted(REFERENCES)


@pytest.mark.parametrize("number", OFFER_ROWS, ids=row_ids(OFFER_ROWS))
def test_a_price_that_can_be_rented_stands_in_one_offer(number: int) -> None:
    assert offer_lines()[line_of(number)] == 1


@pytest.mark.parametrize("number", REFERENCE_ROWS, ids=row_ids(REFERENCE_ROWS))
def test_a_price_that_cannot_be_rented_is_a_reference_and_no_offer(number: int) -> None:
    line = line_of(number)
    assert reference_lines()[line, REFERENCES[number]] == 1
    assert offer_lines()[line] == 0


def test_every_row_carries_a_price() -> None:
    assert len(ROWS) == 240
    assert all(line_of(number).usd or line_of(number).spot for number in ROWS)


def test_the_folder_never_guesses_the_variant_of_49_rows() -> None:
    assert len(OPEN) == 49
    unstated = set(folder().unstated)
    assert {number for number in ROWS if line_of(number).card in unstated} == OPEN


@pytest.mark.parametrize("number", sorted(OPEN), ids=row_ids(sorted(OPEN)))
def test_a_row_without_a_variant_has_a_card_of_the_stated_memory(number: int) -> None:
    key = line_of(number).card
    assert key is not None
    stated = float(ROWS[number]["vram_gb"])
    assert stated in {card.memory_gb for card in folder().variants(key)}


@pytest.mark.parametrize("number", sorted(SOLD_BY_8))
def test_a_price_per_gpu_of_a_box_sold_whole_is_multiplied(number: int) -> None:
    usd, spot = SOLD_BY_8[number]
    assert usd == 8 * Decimal(ROWS[number]["usd_per_hour"])
    if spot is not None:
        assert spot == 8 * Decimal(ROWS[number]["spot_usd_per_hour"])


# provider: offers, prices, references
COUNTS = {
    "akash": (0, 0, 6),
    "aws": (10, 10, 0),
    "azure": (6, 6, 1),
    "barrack-ai": (5, 5, 0),
    "beam": (9, 9, 0),
    "civo": (0, 0, 2),
    "coreweave": (4, 4, 0),
    "crusoe": (8, 8, 0),
    "digitalocean": (0, 0, 2),
    "fly": (1, 1, 0),
    "fptcloud": (1, 1, 0),
    "gcp": (7, 7, 0),
    "hyperstack": (11, 11, 0),
    "jarvislabs": (9, 10, 0),
    "lambda": (12, 12, 0),
    "lium": (11, 11, 1),
    "massedcompute": (0, 0, 1),
    "modal": (10, 10, 0),
    "nebius": (8, 9, 2),
    "openrelay": (4, 4, 0),
    "ovh": (0, 0, 1),
    "paperspace": (5, 5, 0),
    "replicate": (4, 4, 0),
    "runpod-community": (7, 8, 0),
    "runpod-secure": (12, 18, 0),
    "salad": (1, 1, 0),
    "scaleway": (0, 0, 1),
    "tensordock": (0, 0, 11),
    "together": (0, 0, 2),
    "vast": (34, 36, 7),
    "verda": (13, 13, 0),
}


def test_the_counts_cover_every_row_and_every_provider_of_the_table() -> None:
    assert sum(prices + references for _, prices, references in COUNTS.values()) == 240
    assert set(COUNTS) == {line_of(number).provider for number in ROWS}


@pytest.mark.parametrize("provider", COUNTS)
def test_a_provider_has_as_many_offers_prices_and_references_as_were_found(provider: str) -> None:
    (file,) = [f for f in folder().files if f.provider.key == provider]
    prices = sum(len(entry.prices) for entry in file.offers)
    assert (len(file.offers), prices, len(file.references)) == COUNTS[provider]


def test_no_price_is_dated_after_the_table_was_compiled() -> None:
    for entry in folder().entries:
        for price in entry.prices:
            assert price.since <= COMPILED_ON
            assert price.checked is None or price.since <= price.checked <= COMPILED_ON
    for file in folder().files:
        assert all(line.as_of <= COMPILED_ON for line in file.references)


def test_a_month_ends_on_its_last_day_and_a_year_is_its_30_june() -> None:
    assert day_of("2026-05") == (date(2026, 5, 31), "month")
    assert day_of("2026 (snapshot undated)") == (date(2026, 6, 30), "year")
    for entry in folder().entries:
        for price in entry.prices:
            if price.date_precision == "month":
                last = monthrange(price.since.year, price.since.month)[1]
                assert price.since.day == last
            if price.date_precision == "year":
                assert (price.since.month, price.since.day) == (6, 30)


# sku: price by the hour, GB of disk inside, disk price, ingress price
HOSTS = {
    "vast/8x-rtx-4090": ("3.482778", "250", "0.2", "0.003"),
    "vast/8x-rtx-5090-host1": ("4", None, "0.2", "0.003"),
    "vast/2x-a100-sxm-80gb-host1": ("2.0896", "5", "1", None),
    "vast/2x-a100-sxm-80gb-host2": ("2.356", "5", "0.2", None),
    "vast/1x-rtx-4090-bid1": ("0.202722", "80", "0.2", None),
    "vast/1x-rtx-3090-host1": ("0.32", None, "0.2", "0.03"),
    "vast/1x-rtx-3090-bid1": ("0.10667", None, None, None),
    "vast/1x-l4-bid1": ("0.32", None, None, None),
    "vast/1x-rtx-a6000-host1": ("0.45556", None, None, "0.026"),
}


@pytest.mark.parametrize("sku", HOSTS)
def test_a_measured_host_keeps_its_own_prices(sku: str) -> None:
    (entry,) = [entry for entry in folder().entries if entry.sku == sku]
    (price,) = entry.prices
    hourly = price.spot_usd_per_hour if "-bid" in sku else price.usd_per_hour
    found = (
        hourly,
        price.quoted_disk_gb,
        entry.storage_usd_per_gb_month,
        entry.ingress_usd_per_gb,
    )
    assert found == tuple(None if value is None else Decimal(value) for value in HOSTS[sku])
    assert entry.stopped_storage_usd_per_gb_month == entry.storage_usd_per_gb_month


def test_only_measured_hosts_have_prices_of_their_own_for_disk_and_bytes() -> None:
    own = {
        entry.sku
        for entry in folder().entries
        if entry.storage_usd_per_gb_month is not None
        or entry.stopped_storage_usd_per_gb_month is not None
        or entry.ingress_usd_per_gb is not None
        or entry.egress_usd_per_gb is not None
    }
    assert own <= set(HOSTS)


def test_a_median_of_a_marketplace_says_so_in_its_sku() -> None:
    for entry in folder().entries:
        median = any("median" in price.source for price in entry.prices)
        assert median is (entry.tag == "median")


# Two prices of one offer in the order in which they held.
HISTORIES = {
    "vast/1x-rtx-4090-median": ["0.39", "0.4"],
    "vast/1x-h100-sxm-median": ["1.87", "2.4024"],
    "runpod-secure/1x-h100-sxm": ["3.29", "3.49", "3.99"],
    "runpod-secure/1x-a100-pcie-80gb": ["1.39", "1.59"],
    "runpod-secure/1x-a100-sxm-80gb": ["1.59", "1.79"],
    "runpod-secure/1x-b200": ["6.79", "6.79"],
    "runpod-secure/1x-b300": ["7.89", "7.89"],
    "runpod-community/1x-h100-sxm": ["2.69", "2.69"],
    "nebius/1x-h100": ["2.95", "3.85"],
    "jarvislabs/1x-h200-sxm": ["3.99", "4.59"],
}


def test_later_prices_of_one_offer_follow_in_its_history() -> None:
    found = {
        entry.sku: [str(price.usd_per_hour) for price in entry.prices]
        for entry in folder().entries
        if len(entry.prices) > 1
    }
    assert found == HISTORIES


# Names of types that the source states, or that price and shape leave no doubt about.
INSTANCES = {
    "aws/1x-t4": "g4dn.xlarge",
    "aws/1x-a10g": "g5.xlarge",
    "aws/1x-l4": "g6.xlarge",
    "aws/1x-l40s": "g6e.xlarge",
    "aws/1x-v100-16gb": "p3.2xlarge",
    "aws/8x-a100-40gb": "p4d.24xlarge",
    "aws/8x-a100-80gb": "p4de.24xlarge",
    "aws/8x-h100": "p5.48xlarge",
    "aws/8x-b200": "p6-b200.48xlarge",
    "aws/8x-h200-sxm": "p5en.48xlarge",
    "gcp/1x-t4": "n1-standard-4",
    "gcp/1x-l4": "g2-standard-4",
    "gcp/1x-a100-40gb": "a2-highgpu-1g",
    "gcp/1x-a100-80gb": "a2-ultragpu-1g",
    "gcp/8x-a100-40gb": "a2-highgpu-8g",
    "gcp/8x-h100": "a3-highgpu-8g",
    "gcp/1x-h100": "a3-highgpu-1g",
    "azure/1x-t4": "NC4as_T4_v3",
    "azure/1x-a100-80gb": "NC24ads_A100_v4",
    "azure/8x-a100-40gb": "ND96asr_v4",
    "azure/1x-h100-nvl": "NC40ads_H100_v5",
    "azure/2x-h100-nvl": "NC80adis_H100_v5",
    "azure/8x-h100": "ND96isr_H100_v5",
}


def test_the_large_clouds_name_their_types() -> None:
    found = {entry.sku: entry.instance for entry in folder().entries if entry.instance}
    assert found == INSTANCES


def shape_of(number: int) -> tuple[Decimal | None, Decimal | None]:
    return amount(ROWS[number]["vcpus"]), amount(ROWS[number]["ram_gb"])


@pytest.mark.parametrize("provider", COUNTS)
def test_an_offer_has_the_shape_that_one_of_its_rows_states_and_no_other(provider: str) -> None:
    by_line = {line_of(number): number for number in OFFER_ROWS}
    (file,) = [f for f in folder().files if f.provider.key == provider]
    for offer in file.offers:
        stated = {shape_of(by_line[line]) for line in lines_of(offer)} - {(None, None)}
        assert len(stated) <= 1
        vcpus, ram = stated.pop() if stated else (None, None)
        assert (offer.vcpus, offer.ram_gb) == (vcpus, ram)
