"""Offers as files: of vast.ai's tool, and in our own fields."""

from __future__ import annotations

import json
from datetime import date
from typing import TYPE_CHECKING

import pytest

from costplan.errors import InputError
from costplan.promisefile import read_promised
from costplan.records.checks import Promised

if TYPE_CHECKING:
    from pathlib import Path

    from costplan.catalog import Catalog

TODAY = date(2026, 11, 30)
VAST = {
    "id": 7,
    "gpu_name": "RTX 4090",
    "num_gpus": 2,
    "gpu_ram": 24_564,
    "gpu_frac": 0.5,
    "cpu_cores_effective": 16.0,
    "cpu_ram": 128_000,
    "inet_down": 800.0,
    "inet_up": 500.0,
    "disk_bw": 3_000.0,
    "gpu_lanes": 16,
    "pci_gen": 4.0,
    "dph_total": 0.82,
    "reliability2": 0.99,
}
OWN = {
    "sku": "vast/2x-rtx-4090",
    "provider": "vast",
    "card": "RTX-4090",
    "count": 2,
    "vcpus": 16,
    "ram_gb": 64,
    "inet_down_mbit_per_s": 800,
}


def read(tmp_path: Path, text: str, catalog: Catalog) -> Promised:
    file = tmp_path / "offer.json"
    file.write_text(text, encoding="utf-8")
    return read_promised(str(file), catalog=catalog, today=TODAY)


@pytest.mark.parametrize("many", [False, True])
def test_an_offer_of_vast_promises_what_can_be_measured(
    tmp_path: Path, shipped: Catalog, many: bool
) -> None:
    text = json.dumps([VAST] if many else VAST, indent=2)
    assert read(tmp_path, text, shipped) == Promised(
        gpu_name="RTX 4090",
        cards=("RTX-4090",),
        gpu_count=2,
        gpu_memory_gb=24_564 / 1024,
        cores=16,
        ram_gb=64,  # half of the machine, as half of its GPUs
        down_mbit_per_s=800,
        up_mbit_per_s=500,
        disk_mb_per_s=3_000,
        pcie_width=16,
        pcie_gen=4,
    )


def test_what_is_zero_or_no_number_was_not_promised(tmp_path: Path, shipped: Catalog) -> None:
    odd = {**VAST, "inet_down": 0, "inet_up": "fast", "disk_bw": None, "gpu_lanes": 7.5,
           "cpu_ram": True, "gpu_name": "Mystery 9", "pci_gen": float("inf")}  # fmt: skip
    found = read(tmp_path, json.dumps(odd), shipped)
    assert found == Promised(
        gpu_name="Mystery 9", gpu_count=2, gpu_memory_gb=24_564 / 1024, cores=16
    )


def test_an_offer_in_our_own_fields_promises_too(tmp_path: Path, shipped: Catalog) -> None:
    assert read(tmp_path, json.dumps(OWN), shipped) == Promised(
        gpu_name="RTX-4090",
        cards=("RTX-4090",),
        gpu_count=2,
        cores=16,
        ram_gb=64,
        down_mbit_per_s=800,
    )


def test_a_name_that_several_cards_share_stands_for_each(tmp_path: Path, shipped: Catalog) -> None:
    found = read(tmp_path, json.dumps({**VAST, "gpu_name": "A100_SXM4"}), shipped)
    assert found.cards == ("A100-SXM-40GB", "A100-SXM-80GB")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "is not JSON"),
        ("{", "is not JSON"),
        ("[]", "holds 0 offers, not one"),
        (json.dumps([VAST, VAST]), "holds 2 offers, not one"),
        ("7", "holds no offer"),
        ("[7]", "holds no offer"),
        (json.dumps({**OWN, "vcpu": 4}), "vcpu: extra inputs are not permitted"),
        (json.dumps({"card": "T4"}), "sku: field required"),
    ],
)
def test_what_is_no_offer_is_asked_wrongly(
    tmp_path: Path, shipped: Catalog, text: str, says: str
) -> None:
    with pytest.raises(InputError, match=says):
        read(tmp_path, text, shipped)


def test_a_missing_file_is_asked_wrongly(tmp_path: Path, shipped: Catalog) -> None:
    with pytest.raises(InputError, match="does not exist"):
        read_promised(str(tmp_path / "none.json"), catalog=shipped, today=TODAY)
