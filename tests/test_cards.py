"""The cards of the price folder: figures, relations between figures, and names."""

from __future__ import annotations

import csv
import functools
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from costplan import catalog, yamlfile
from costplan.errors import InputError
from costplan.records.cards import CardFile

if TYPE_CHECKING:
    from costplan.records.cards import Card

DATA = Path(__file__).parent / "data"

# Key of the table of sources -> key of the card.
KEYS = {
    "rtx2080ti": "RTX-2080-TI",
    "titanrtx": "TITAN-RTX",
    "quadrortx5000": "QUADRO-RTX-5000",
    "quadrortx6000": "QUADRO-RTX-6000",
    "quadrortx8000": "QUADRO-RTX-8000",
    "gtx1080ti": "GTX-1080-TI",
    "titanxp": "TITAN-XP",
    "titanv": "TITAN-V",
    "p4": "P4",
    "rtx3060": "RTX-3060",
    "rtx3060ti": "RTX-3060-TI",
    "rtx3070": "RTX-3070",
    "rtx3070ti": "RTX-3070-TI",
    "rtx3080": "RTX-3080",
    "rtx3080ti": "RTX-3080-TI",
    "rtx3090": "RTX-3090",
    "rtx3090ti": "RTX-3090-TI",
    "rtx4060ti16": "RTX-4060-TI-16GB",
    "rtx4070": "RTX-4070",
    "rtx4070super": "RTX-4070-SUPER",
    "rtx4070ti": "RTX-4070-TI",
    "rtx4070tisuper": "RTX-4070-TI-SUPER",
    "rtx4080": "RTX-4080",
    "rtx4080super": "RTX-4080-SUPER",
    "rtx4090": "RTX-4090",
    "rtx4090d": "RTX-4090-D",
    "rtx5060ti16": "RTX-5060-TI-16GB",
    "rtx5070": "RTX-5070",
    "rtx5070ti": "RTX-5070-TI",
    "rtx5080": "RTX-5080",
    "rtx5090": "RTX-5090",
    "a2000": "RTX-A2000-6GB",
    "a2000_12": "RTX-A2000-12GB",
    "a4000": "RTX-A4000",
    "a4500": "RTX-A4500",
    "a5000": "RTX-A5000",
    "a5500": "RTX-A5500",
    "a6000": "RTX-A6000",
    "rtx2000ada": "RTX-2000-ADA",
    "rtx4000ada": "RTX-4000-ADA",
    "rtx4500ada": "RTX-4500-ADA",
    "rtx5000ada": "RTX-5000-ADA",
    "rtx6000ada": "RTX-6000-ADA",
    "rtxpro4500": "RTX-PRO-4500",
    "rtxpro5000": "RTX-PRO-5000",
    "rtxpro6000": "RTX-PRO-6000",
    "rtxpro6000maxq": "RTX-PRO-6000-MAXQ",
    "rtxpro6000srv": "RTX-PRO-6000-SERVER",
    "t4": "T4",
    "v100_pcie16": "V100-PCIE-16GB",
    "v100_pcie32": "V100-PCIE-32GB",
    "v100_sxm16": "V100-SXM-16GB",
    "v100_sxm32": "V100-SXM-32GB",
    "p100_pcie16": "P100-PCIE-16GB",
    "p100_sxm": "P100-SXM",
    "l4": "L4",
    "l40": "L40",
    "l40s": "L40S",
    "a10": "A10",
    "a10g": "A10G",
    "a16": "A16",
    "a30": "A30",
    "a40": "A40",
    "a100_pcie40": "A100-PCIE-40GB",
    "a100_sxm40": "A100-SXM-40GB",
    "a100_pcie80": "A100-PCIE-80GB",
    "a100_sxm80": "A100-SXM-80GB",
    "h100_pcie": "H100-PCIE",
    "h100_sxm": "H100-SXM",
    "h100_nvl": "H100-NVL",
    "gh200_96": "GH200-96GB",
    "h200_sxm": "H200-SXM",
    "h200_nvl": "H200-NVL",
    "b200": "B200",
    "b300": "B300",
    "mi100": "MI100",
    "mi210": "MI210",
    "mi250": "MI250",
    "mi300x": "MI300X",
    "mi325x": "MI325X",
}
ALL_KEYS = sorted([*KEYS.values(), "GB200", "QUADRO-P6000"])


@functools.cache
def card_file() -> CardFile:
    path = catalog.folder() / catalog.CARDS_NAME
    text = yamlfile.read_text(path)
    return yamlfile.build(
        CardFile, yamlfile.parse(text, where=str(path)), where=str(path), text=text
    )


@functools.cache
def cards() -> catalog.Catalog:
    file = card_file()
    return catalog.Catalog(
        cards={card.key: card for card in file.cards},
        unstated={card.key: card for card in file.unstated},
        files=(),
    )


def card(key: str) -> Card:
    return cards().cards[key]


@functools.cache
def rows() -> dict[str, dict[str, str]]:
    with (DATA / "gpus.tsv").open(newline="", encoding="utf-8") as file:
        return {row["key"]: row for row in csv.DictReader(file, delimiter="\t")}


def number(cell: str) -> float | None:
    return float(cell) if cell else None


def tensor(of: Card) -> float:
    """The highest 16-bit rate, or the vector rate of a card without tensor cores."""
    peak = of.peak_tflops
    return max(peak.fp16_fp16_accumulate or 0, peak.fp16_fp32_accumulate or 0) or peak.fp32


def test_the_folder_lists_exactly_these_cards() -> None:
    assert sorted(cards().cards) == ALL_KEYS


def test_the_table_of_sources_holds_exactly_these_cards() -> None:
    assert set(rows()) == set(KEYS)


def test_cards_and_shared_names_are_sorted_by_key() -> None:
    for keys in ([c.key for c in card_file().cards], [c.key for c in card_file().unstated]):
        assert keys == sorted(keys)


@pytest.mark.parametrize("source_key", KEYS, ids=list(KEYS.values()))
def test_a_card_equals_its_row_in_the_table_of_sources(source_key: str) -> None:
    row, found = rows()[source_key], card(KEYS[source_key])
    peak = found.peak_tflops
    assert {
        "name": found.name,
        "arch": found.architecture,
        "cc": found.compute_capability,
        "vram_gb": found.memory_gb,
        "mem_bw_gbs": found.bandwidth_gb_per_s,
        "fp32_tflops": peak.fp32,
        "tf32_tc_tflops": peak.tf32,
        "fp16_bf16_tc_tflops_fp32acc": peak.fp16_fp32_accumulate,
        "fp16_tc_tflops_fp16acc": peak.fp16_fp16_accumulate,
        "fp8_tc_tflops": peak.fp8,
        "sms": found.sm_count,
        "l2_mb": found.l2_mb,
        "boost_mhz_used": found.boost_mhz,
        "tdp_w": found.power_watts,
        "bf16": "yes" if found.bf16 else "no",
        "tensor_source": peak.source,
        "spec_source": found.source,
    } == {
        "name": row["name"],
        "arch": row["arch"],
        "cc": row["cc"],
        "vram_gb": float(row["vram_gb"]),
        "mem_bw_gbs": float(row["mem_bw_gbs"]),
        "fp32_tflops": float(row["fp32_tflops"]),
        "tf32_tc_tflops": number(row["tf32_tc_tflops"]),
        "fp16_bf16_tc_tflops_fp32acc": number(row["fp16_bf16_tc_tflops_fp32acc"]),
        "fp16_tc_tflops_fp16acc": number(row["fp16_tc_tflops_fp16acc"]),
        "fp8_tc_tflops": number(row["fp8_tc_tflops"]),
        "sms": number(row["sms"]),
        "l2_mb": number(row["l2_mb"]),
        "boost_mhz_used": float(row["boost_mhz_used"]),
        "tdp_w": float(row["tdp_w"]),
        "bf16": row["bf16"],
        "tensor_source": row["tensor_source"],
        "spec_source": row["spec_source"],
    }
    assert found.vendor == ("AMD" if row["cc"].startswith("gfx") else "NVIDIA")


@pytest.mark.parametrize("source_key", KEYS)
def test_a_remark_of_the_table_of_sources_becomes_a_note(source_key: str) -> None:
    if rows()[source_key]["note"]:
        assert card(KEYS[source_key]).note


# Known by heart, so that a slip in the copied table cannot hide in its copy.
# key: memory GB, bandwidth GB/s, fp32, fp16 with fp32 sums, fp8, watts
BY_HEART = {
    "RTX-3090": (24, 936.2, 35.6, 71.2, None, 350),
    "RTX-4090": (24, 1008, 82.6, 165.2, 330.3, 450),
    "RTX-5090": (32, 1792, 104.8, 209.5, 419, 575),
    "RTX-A6000": (48, 768, 38.7, 154.8, None, 300),
    "RTX-6000-ADA": (48, 960, 91.1, 364.2, 728.5, 300),
    "T4": (16, 320, 8.1, 65.1, None, 70),
    "V100-SXM-16GB": (16, 900, 15.7, 125.3, None, 300),
    "A10G": (24, 600.2, 35, 70, None, 150),
    "L4": (24, 300.1, 30.3, 121, 242, 72),
    "L40S": (48, 864, 91.6, 362, 733, 350),
    "A100-SXM-80GB": (80, 2039, 19.5, 311.9, None, 400),
    "H100-PCIE": (80, 2039, 51.2, 756, 1513, 350),
    "H100-SXM": (80, 3352, 66.9, 989.4, 1978.9, 700),
    "H200-SXM": (141, 4800, 66.9, 989.4, 1978.9, 700),
    "B200": (180, 7700, 75, 2250, 4500, 1000),
    "B300": (288, 8000, 75, 2250, 4500, 1400),
    "GB200": (186, 8000, 80, 2500, 5000, 1200),
    "QUADRO-P6000": (24, 432, 12.6, None, None, 250),
    "MI300X": (192, 5300, 163.4, 1307.4, 2614.9, 750),
    "MI325X": (256, 6000, 163.4, 1307.4, 2614.9, 1000),
}


@pytest.mark.parametrize("key", BY_HEART)
def test_a_well_known_card_has_its_well_known_figures(key: str) -> None:
    found = card(key)
    peak = found.peak_tflops
    assert (
        found.memory_gb,
        found.bandwidth_gb_per_s,
        peak.fp32,
        peak.fp16_fp32_accumulate,
        peak.fp8,
        found.power_watts,
    ) == BY_HEART[key]


PRINTED = {
    *("A10G", "L4", "L40", "L40S", "H100-PCIE", "H100-SXM", "H100-NVL", "GH200-96GB"),
    *("H200-SXM", "H200-NVL", "B200", "B300", "GB200"),
    *("MI100", "MI210", "MI250", "MI300X", "MI325X"),
}

# Operations per clock and SM by compute capability: vector fp32, and fp16 in tensor cores.
OPERATIONS = {
    "6.0": (128, None),
    "6.1": (256, None),
    "7.0": (128, 1024),
    "7.5": (128, 1024),
    "8.0": (128, 2048),
    "8.6": (256, 1024),
    "8.9": (256, 1024),
    "12.0": (256, 1024),
}


@pytest.mark.parametrize("key", [key for key in ALL_KEYS if key not in PRINTED])
def test_a_derived_peak_is_sms_times_clock_times_operations(key: str) -> None:
    found = card(key)
    assert found.sm_count is not None
    vector, matrix = OPERATIONS[found.compute_capability]
    clocks = found.sm_count * found.boost_mhz / 1_000_000
    assert found.peak_tflops.fp32 == pytest.approx(clocks * vector, rel=0.02)
    if matrix is None:
        assert found.peak_tflops.fp16_fp32_accumulate is None
    else:
        assert tensor(found) == pytest.approx(clocks * matrix, rel=0.02)


@pytest.mark.parametrize("key", ALL_KEYS)
def test_a_card_says_whether_its_peaks_are_derived_or_printed(key: str) -> None:
    assert card(key).peak_tflops.origin == ("datasheet" if key in PRINTED else "derived")


# Highest 16-bit rate over the vector rate, by architecture and compute capability.
TENSOR_OVER_VECTOR = {
    "6.0": 1.0,
    "6.1": 1.0,
    "7.0": 8.0,
    "7.5": 8.0,
    "8.0": 16.0,
    "8.6": 4.0,
    "8.9": 4.0,
    "9.0": 14.8,
    "10.0": 30.0,
    "10.3": 30.0,
    "12.0": 4.0,
    "gfx908": 8.0,
    "gfx90a": 8.0,
    "gfx942": 8.0,
}
# The sheet of A10G halves the tensor rate; NVL cards print a vector rate at another clock.
TENSOR_OVER_VECTOR_OF = {"A10G": 2.0, "H100-NVL": 13.9, "H200-NVL": 13.9, "GB200": 31.25}


@pytest.mark.parametrize("key", ALL_KEYS)
def test_the_tensor_rate_fits_the_vector_rate_of_the_architecture(key: str) -> None:
    found = card(key)
    wanted = TENSOR_OVER_VECTOR_OF.get(key) or TENSOR_OVER_VECTOR[found.compute_capability]
    assert tensor(found) / found.peak_tflops.fp32 == pytest.approx(wanted, rel=0.02)


# Cards for games keep half the rate for fp32 sums.
HALF_RATE = {
    *("RTX-2080-TI", "L40"),
    *("RTX-3060", "RTX-3060-TI", "RTX-3070", "RTX-3070-TI", "RTX-3080", "RTX-3080-TI"),
    *("RTX-3090", "RTX-3090-TI", "RTX-4060-TI-16GB", "RTX-4070", "RTX-4070-SUPER"),
    *("RTX-4070-TI", "RTX-4070-TI-SUPER", "RTX-4080", "RTX-4080-SUPER", "RTX-4090"),
    *("RTX-4090-D", "RTX-5060-TI-16GB", "RTX-5070", "RTX-5070-TI", "RTX-5080", "RTX-5090"),
}


@pytest.mark.parametrize("key", ALL_KEYS)
def test_only_cards_for_games_and_the_l40_halve_the_rate_with_fp32_sums(key: str) -> None:
    peak = card(key).peak_tflops
    if peak.fp16_fp16_accumulate is None or peak.fp16_fp32_accumulate is None:
        assert key in {*PASCAL, "T4"}
        return
    share = peak.fp16_fp32_accumulate / peak.fp16_fp16_accumulate
    assert share == pytest.approx(0.5 if key in HALF_RATE else 1.0, rel=0.005)


# Older AMD cards have no tf32: the column holds their fp32 matrices at a quarter of fp16.
TF32_SHARE = {"MI100": 0.25, "MI210": 0.25, "MI250": 0.25, "B200": 0.489}


@pytest.mark.parametrize("key", ALL_KEYS)
def test_tf32_runs_at_half_the_rate_of_fp16(key: str) -> None:
    peak = card(key).peak_tflops
    if peak.tf32 is None:
        assert card(key).architecture in WITHOUT_BF16
        return
    assert peak.fp16_fp32_accumulate is not None
    share = peak.tf32 / peak.fp16_fp32_accumulate
    assert share == pytest.approx(TF32_SHARE.get(key, 0.5), rel=0.02)


@pytest.mark.parametrize("key", ALL_KEYS)
def test_fp8_runs_at_twice_the_rate_of_fp16_and_exists_from_ada_and_cdna_3_on(key: str) -> None:
    found = card(key)
    old = {"Pascal", "Volta", "Turing", "Ampere", "CDNA 1.0", "CDNA 2.0"}
    if found.architecture in old:
        assert found.peak_tflops.fp8 is None
        return
    assert found.peak_tflops.fp8 is not None
    assert found.peak_tflops.fp16_fp32_accumulate is not None
    twice = 2 * found.peak_tflops.fp16_fp32_accumulate
    assert found.peak_tflops.fp8 == pytest.approx(twice, rel=0.02)


WITHOUT_BF16 = {"Pascal", "Volta", "Turing"}
PASCAL = {"GTX-1080-TI", "TITAN-XP", "P4", "P100-PCIE-16GB", "P100-SXM", "QUADRO-P6000"}


@pytest.mark.parametrize("key", ALL_KEYS)
def test_bf16_is_missing_exactly_before_ampere(key: str) -> None:
    found = card(key)
    assert found.bf16 is (found.architecture not in WITHOUT_BF16)


@pytest.mark.parametrize("key", ALL_KEYS)
def test_only_pascal_has_no_tensor_cores(key: str) -> None:
    assert (card(key).peak_tflops.fp16_fp32_accumulate is None) is (key in PASCAL)


@pytest.mark.parametrize("key", ALL_KEYS)
def test_no_figure_is_off_by_a_power_of_ten(key: str) -> None:
    found = card(key)
    assert 10 <= tensor(found) * 1000 / found.bandwidth_gb_per_s <= 500
    assert 100 <= found.bandwidth_gb_per_s <= 10_000
    assert 6 <= found.memory_gb <= 300
    assert 1000 <= found.boost_mhz <= 2700
    assert 60 <= found.power_watts <= 1500


# Slowest first.
FAMILIES = {
    "GeForce 30": (
        "RTX-3060 RTX-3060-TI RTX-3070 RTX-3070-TI RTX-3080 RTX-3080-TI RTX-3090 RTX-3090-TI"
    ),
    "GeForce 40": (
        "RTX-4060-TI-16GB RTX-4070 RTX-4070-SUPER RTX-4070-TI RTX-4070-TI-SUPER RTX-4080"
        " RTX-4080-SUPER RTX-4090-D RTX-4090"
    ),
    "GeForce 50": "RTX-5060-TI-16GB RTX-5070 RTX-5070-TI RTX-5080 RTX-5090",
    "GeForce flagships": "RTX-2080-TI RTX-3090 RTX-4090 RTX-5090",
    "Pascal for desks": "GTX-1080-TI TITAN-XP",
    "Turing": "T4 QUADRO-RTX-5000 TITAN-RTX",
    "workstation Ampere": ("RTX-A2000-6GB RTX-A4000 RTX-A4500 RTX-A5000 RTX-A5500 RTX-A6000"),
    "workstation Ada": "RTX-2000-ADA RTX-4000-ADA RTX-4500-ADA RTX-5000-ADA RTX-6000-ADA",
    "workstation Blackwell": "RTX-PRO-4500 RTX-PRO-5000 RTX-PRO-6000-MAXQ RTX-PRO-6000",
    "workstation flagships": "QUADRO-RTX-8000 RTX-A6000 RTX-6000-ADA RTX-PRO-6000",
    "server Ampere without HBM": "A16 A10 A40",
    "server Ada": "L4 L40 L40S",
    "PCIe training": (
        "P100-PCIE-16GB V100-PCIE-32GB A100-PCIE-40GB A100-PCIE-80GB H100-PCIE H100-NVL H200-NVL"
    ),
    "SXM training": (
        "P100-SXM V100-SXM-16GB A100-SXM-40GB A100-SXM-80GB H100-SXM GH200-96GB H200-SXM B200"
        " B300 GB200"
    ),
    "Hopper": "A100-SXM-80GB H100-PCIE H100-SXM H200-SXM B200",
    "P100": "P4 P100-PCIE-16GB P100-SXM",
    "Instinct": "MI100 MI250 MI300X MI325X",
    "Instinct PCIe": "MI210 MI250",
}
STEPS = [
    pytest.param(slow, fast, id=f"{slow} < {fast}")
    for family in FAMILIES.values()
    for slow, fast in zip(family.split(), family.split()[1:], strict=False)
]


@pytest.mark.parametrize(("slow", "fast"), STEPS)
def test_within_a_family_peak_and_bandwidth_never_fall(slow: str, fast: str) -> None:
    first, second = card(slow), card(fast)
    before = (
        first.peak_tflops.fp16_fp32_accumulate or first.peak_tflops.fp32,
        first.bandwidth_gb_per_s,
    )
    after = (
        second.peak_tflops.fp16_fp32_accumulate or second.peak_tflops.fp32,
        second.bandwidth_gb_per_s,
    )
    assert before[0] <= after[0]
    assert before[1] <= after[1]
    assert before != after


@pytest.mark.parametrize(
    ("slow", "fast"),
    [("RTX-3060", "RTX-3060-TI"), ("RTX-4060-TI-16GB", "RTX-4070"), ("RTX-3060", "RTX-3080")],
)
def test_memory_may_fall_within_a_family(slow: str, fast: str) -> None:
    assert card(slow).memory_gb > card(fast).memory_gb


@pytest.mark.parametrize("key", ["A100-SXM-40GB", "A100-PCIE-40GB", "A100-PCIE-80GB"])
def test_every_a100_has_the_same_peak(key: str) -> None:
    assert card(key).peak_tflops == card("A100-SXM-80GB").peak_tflops


UNSTATED = {
    "A100": "A100-PCIE-40GB A100-PCIE-80GB A100-SXM-40GB A100-SXM-80GB",
    "A100-40GB": "A100-PCIE-40GB A100-SXM-40GB",
    "A100-80GB": "A100-PCIE-80GB A100-SXM-80GB",
    "A100-PCIE": "A100-PCIE-40GB A100-PCIE-80GB",
    "A100-SXM": "A100-SXM-40GB A100-SXM-80GB",
    "H100": "H100-NVL H100-PCIE H100-SXM",
    "H100-80GB": "H100-PCIE H100-SXM",
    "P100": "P100-PCIE-16GB P100-SXM",
    "RTX-5000": "QUADRO-RTX-5000 RTX-5000-ADA",
    "RTX-6000": "QUADRO-RTX-6000 RTX-6000-ADA",
    "RTX-A2000": "RTX-A2000-12GB RTX-A2000-6GB",
    "V100": "V100-PCIE-16GB V100-PCIE-32GB V100-SXM-16GB V100-SXM-32GB",
    "V100-16GB": "V100-PCIE-16GB V100-SXM-16GB",
    "V100-32GB": "V100-PCIE-32GB V100-SXM-32GB",
    "V100-PCIE": "V100-PCIE-16GB V100-PCIE-32GB",
    "V100-SXM": "V100-SXM-16GB V100-SXM-32GB",
}


def test_the_folder_lists_exactly_these_shared_names() -> None:
    assert sorted(cards().unstated) == sorted(UNSTATED)


@pytest.mark.parametrize("key", UNSTATED)
def test_a_shared_name_stands_for_every_card_of_that_name(key: str) -> None:
    assert sorted(variant.key for variant in cards().variants(key)) == UNSTATED[key].split()


@pytest.mark.parametrize("key", ["A100-40GB", "A100-80GB", "V100-16GB", "V100-32GB"])
def test_a_shared_name_with_a_memory_size_holds_only_cards_of_that_size(key: str) -> None:
    size = float(key.rsplit("-", 1)[1].removesuffix("GB"))
    assert {variant.memory_gb for variant in cards().variants(key)} == {size}


# What drivers, markets, clouds and catalogs write -> key.
NAMES = {
    # nvidia-smi and rocm-smi; most of them are also what RunPod calls its cards
    "NVIDIA GeForce GTX 1080 Ti": "GTX-1080-TI",
    "NVIDIA GeForce RTX 2080 Ti": "RTX-2080-TI",
    "NVIDIA TITAN RTX": "TITAN-RTX",
    "TITAN V": "TITAN-V",
    "NVIDIA TITAN Xp": "TITAN-XP",
    "NVIDIA GeForce RTX 3060": "RTX-3060",
    "NVIDIA GeForce RTX 3060 Ti": "RTX-3060-TI",
    "NVIDIA GeForce RTX 3070": "RTX-3070",
    "NVIDIA GeForce RTX 3080": "RTX-3080",
    "NVIDIA GeForce RTX 3080 Ti": "RTX-3080-TI",
    "NVIDIA GeForce RTX 3090": "RTX-3090",
    "NVIDIA GeForce RTX 3090 Ti": "RTX-3090-TI",
    "NVIDIA GeForce RTX 4060 Ti": "RTX-4060-TI-16GB",
    "NVIDIA GeForce RTX 4070 SUPER": "RTX-4070-SUPER",
    "NVIDIA GeForce RTX 4070 Ti": "RTX-4070-TI",
    "NVIDIA GeForce RTX 4070 Ti SUPER": "RTX-4070-TI-SUPER",
    "NVIDIA GeForce RTX 4080": "RTX-4080",
    "NVIDIA GeForce RTX 4080 SUPER": "RTX-4080-SUPER",
    "NVIDIA GeForce RTX 4090": "RTX-4090",
    "NVIDIA GeForce RTX 4090 D": "RTX-4090-D",
    "NVIDIA GeForce RTX 5060 Ti": "RTX-5060-TI-16GB",
    "NVIDIA GeForce RTX 5070 Ti": "RTX-5070-TI",
    "NVIDIA GeForce RTX 5080": "RTX-5080",
    "NVIDIA GeForce RTX 5090": "RTX-5090",
    "NVIDIA RTX A2000": "RTX-A2000",
    "NVIDIA RTX A2000 12GB": "RTX-A2000-12GB",
    "NVIDIA RTX A4000": "RTX-A4000",
    "NVIDIA RTX A4500": "RTX-A4500",
    "NVIDIA RTX A5000": "RTX-A5000",
    "NVIDIA RTX A5500": "RTX-A5500",
    "NVIDIA RTX A6000": "RTX-A6000",
    "NVIDIA RTX 2000 Ada Generation": "RTX-2000-ADA",
    "NVIDIA RTX 4000 Ada Generation": "RTX-4000-ADA",
    "NVIDIA RTX 4500 Ada Generation": "RTX-4500-ADA",
    "NVIDIA RTX 5000 Ada Generation": "RTX-5000-ADA",
    "NVIDIA RTX 6000 Ada Generation": "RTX-6000-ADA",
    "NVIDIA RTX PRO 4500 Blackwell": "RTX-PRO-4500",
    "NVIDIA RTX PRO 5000 Blackwell": "RTX-PRO-5000",
    "NVIDIA RTX PRO 6000 Blackwell Workstation Edition": "RTX-PRO-6000",
    "NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition": "RTX-PRO-6000-MAXQ",
    "NVIDIA RTX PRO 6000 Blackwell Server Edition": "RTX-PRO-6000-SERVER",
    "Quadro P6000": "QUADRO-P6000",
    "Quadro RTX 5000": "QUADRO-RTX-5000",
    "Quadro RTX 6000": "QUADRO-RTX-6000",
    "NVIDIA Quadro RTX 8000": "QUADRO-RTX-8000",
    "Tesla P4": "P4",
    "Tesla P100-PCIE-16GB": "P100-PCIE-16GB",
    "Tesla P100-SXM2-16GB": "P100-SXM",
    "Tesla V100-PCIE-16GB": "V100-PCIE-16GB",
    "Tesla V100-PCIE-32GB": "V100-PCIE-32GB",
    "Tesla V100-SXM2-16GB": "V100-SXM-16GB",
    "Tesla V100-SXM2-32GB": "V100-SXM-32GB",
    "Tesla V100-SXM3-32GB": "V100-SXM-32GB",
    "Tesla T4": "T4",
    "NVIDIA L4": "L4",
    "NVIDIA L40": "L40",
    "NVIDIA L40S": "L40S",
    "NVIDIA A10": "A10",
    "NVIDIA A10G": "A10G",
    "NVIDIA A16": "A16",
    "NVIDIA A30": "A30",
    "NVIDIA A40": "A40",
    "NVIDIA A100-PCIE-40GB": "A100-PCIE-40GB",
    "NVIDIA A100-SXM4-40GB": "A100-SXM-40GB",
    "NVIDIA A100 80GB PCIe": "A100-PCIE-80GB",
    "NVIDIA A100-SXM4-80GB": "A100-SXM-80GB",
    "NVIDIA H100 PCIe": "H100-PCIE",
    "NVIDIA H100 80GB HBM3": "H100-SXM",
    "NVIDIA H100 NVL": "H100-NVL",
    "NVIDIA GH200 480GB": "GH200-96GB",
    "NVIDIA H200": "H200-SXM",
    "NVIDIA H200 NVL": "H200-NVL",
    "NVIDIA B200": "B200",
    "NVIDIA B300 SXM6 AC": "B300",
    "NVIDIA GB200": "GB200",
    "AMD Instinct MI100": "MI100",
    "AMD Instinct MI210": "MI210",
    "AMD Instinct MI250": "MI250",
    "AMD Instinct MI300X": "MI300X",
    "AMD Instinct MI325X": "MI325X",
    # vast.ai
    "RTX_4090": "RTX-4090",
    "RTX 4090D": "RTX-4090-D",
    "RTX 4070S": "RTX-4070-SUPER",
    "RTX 4070S Ti": "RTX-4070-TI-SUPER",
    "RTX 4080S": "RTX-4080-SUPER",
    "RTX 6000Ada": "RTX-6000-ADA",
    "RTX 5000Ada": "RTX-5000-ADA",
    "RTX PRO 6000 WS": "RTX-PRO-6000",
    "RTX PRO 6000 S": "RTX-PRO-6000-SERVER",
    "Q RTX 6000": "QUADRO-RTX-6000",
    "Q RTX 8000": "QUADRO-RTX-8000",
    "H100 SXM": "H100-SXM",
    "H100 PCIE": "H100-PCIE",
    "A100 PCIE": "A100-PCIE",
    "A100 SXM4": "A100-SXM",
    "Tesla V100": "V100",
    "GTX 1080 Ti": "GTX-1080-TI",
    # clouds and the catalogs of other tools
    "nvidia-tesla-t4": "T4",
    "nvidia-tesla-p100": "P100",
    "nvidia-tesla-v100": "V100",
    "nvidia-tesla-a100": "A100",
    "nvidia-a100-80gb": "A100-80GB",
    "nvidia-l4": "L4",
    "nvidia-h100-80gb": "H100-80GB",
    "nvidia-h100-mega-80gb": "H100-SXM",
    "nvidia-h200-141gb": "H200-SXM",
    "nvidia-b200": "B200",
    "nvidia-gb200": "GB200",
    "A100": "A100",
    "A100-40GB": "A100-40GB",
    "A100-80GB": "A100-80GB",
    "A100-80GB-SXM": "A100-SXM-80GB",
    "H100": "H100",
    "H100-80GB": "H100-80GB",
    "H100-SXM": "H100-SXM",
    "H100NVL": "H100-NVL",
    "H200NVL": "H200-NVL",
    "GH200": "GH200-96GB",
    "V100-32GB": "V100-32GB",
    "A6000": "RTX-A6000",
    "A4000": "RTX-A4000",
    "A2000": "RTX-A2000",
    "RTX6000-Ada": "RTX-6000-ADA",
    "RTX6000": "RTX-6000",
    "RTX5000": "RTX-5000",
    "RTX8000": "QUADRO-RTX-8000",
    "RTX4090": "RTX-4090",
    "RTX3060Ti": "RTX-3060-TI",
    "RTXPRO6000": "RTX-PRO-6000",
    "RTXPRO6000MaxQ": "RTX-PRO-6000-MAXQ",
    "P6000": "QUADRO-P6000",
    "MI300X": "MI300X",
}


@pytest.mark.parametrize("name", NAMES)
def test_a_name_in_use_finds_its_card(name: str) -> None:
    assert cards().card_key(name) == NAMES[name]


# Every card name of the table of prices, as it stands there without its memory column.
OFFER_NAMES = {
    "A10": "A10",
    "A100 40GB": "A100-40GB",
    "A100 40GB PCIe": "A100-PCIE-40GB",
    "A100 80GB": "A100-80GB",
    "A100 80GB PCIe": "A100-PCIE-80GB",
    "A100 80GB SXM": "A100-SXM-80GB",
    "A100 PCIe": "A100-PCIE",
    "A100 PCIe 80GB": "A100-PCIE-80GB",
    "A100 SXM": "A100-SXM",
    "A100 SXM 40GB": "A100-SXM-40GB",
    "A100 SXM 80GB": "A100-SXM-80GB",
    "A100 SXM4": "A100-SXM",
    "A100 SXM4 40GB": "A100-SXM-40GB",
    "A100 SXM4 80GB": "A100-SXM-80GB",
    "A10G": "A10G",
    "A30": "A30",
    "A40": "A40",
    "B200": "B200",
    "B200 SXM": "B200",
    "B300": "B300",
    "GB200": "GB200",
    "H100": "H100",
    "H100 NVL": "H100-NVL",
    "H100 NVLink": "H100-PCIE",
    "H100 PCIe": "H100-PCIE",
    "H100 SXM": "H100-SXM",
    "H200": "H200-SXM",
    "H200 SXM": "H200-SXM",
    "HGX B200": "B200",
    "HGX H100": "H100-SXM",
    "HGX H200": "H200-SXM",
    "L4": "L4",
    "L40": "L40",
    "L40S": "L40S",
    "MI300X": "MI300X",
    "P6000": "QUADRO-P6000",
    "RTX 3060": "RTX-3060",
    "RTX 3090": "RTX-3090",
    "RTX 4060 Ti 16GB": "RTX-4060-TI-16GB",
    "RTX 4090": "RTX-4090",
    "RTX 5090": "RTX-5090",
    "RTX 6000": "RTX-6000",
    "RTX 6000 Ada": "RTX-6000-ADA",
    "RTX A4000": "RTX-A4000",
    "RTX A5000": "RTX-A5000",
    "RTX A6000": "RTX-A6000",
    "RTX PRO 6000": "RTX-PRO-6000",
    "RTX PRO 6000 S": "RTX-PRO-6000-SERVER",
    "RTX PRO 6000 SE": "RTX-PRO-6000-SERVER",
    "T4": "T4",
    "V100": "V100",
    "V100 16GB": "V100-16GB",
    "V100 32GB": "V100-32GB",
}
# Rows that name an instance, a fraction or nothing beside the card.
NO_CARD_NAME = ("(", "+", "1/6", "droplet")


def test_the_table_of_prices_holds_exactly_these_card_names() -> None:
    with (DATA / "offers.tsv").open(newline="", encoding="utf-8") as file:
        names = {row["gpu"] for row in csv.DictReader(file, delimiter="\t")}
    assert {n for n in names if not any(mark in n for mark in NO_CARD_NAME)} == set(OFFER_NAMES)


@pytest.mark.parametrize("name", OFFER_NAMES)
def test_a_name_in_the_table_of_prices_finds_its_card(name: str) -> None:
    assert cards().card_key(name) == OFFER_NAMES[name]


@pytest.mark.parametrize("source_key", KEYS)
def test_the_keys_and_names_of_the_table_of_sources_find_their_card(source_key: str) -> None:
    wanted = "RTX-A2000" if source_key == "a2000" else KEYS[source_key]
    assert cards().card_key(source_key) == wanted
    assert cards().card_key(rows()[source_key]["name"]) == wanted


@pytest.mark.parametrize("key", [*ALL_KEYS, *UNSTATED])
def test_a_key_finds_itself_in_any_spelling(key: str) -> None:
    spaced = key.replace("-", " ")
    spellings = (key, key.lower(), spaced, key.replace("-", "_"), f" {spaced.title()} ")
    for spelling in (*spellings, key.replace("-", ""), f"NVIDIA {spaced}"):
        assert cards().card_key(spelling) == key


def plain(name: str) -> str:
    """Letters and digits after the maker: what the lookup compares, written anew."""
    words = name.lower().replace("-", " ").replace("_", " ").split()
    while words and words[0] in {"nvidia", "amd", "geforce", "tesla", "instinct", "radeon"}:
        words.pop(0)
    return "".join(letter for word in words for letter in word if letter.isalnum())


def test_no_name_belongs_to_two_cards_and_no_alias_repeats_another() -> None:
    owners: dict[str, str] = {}
    known = [(card.key, card.aliases) for card in card_file().cards]
    known += [(shared.key, shared.aliases) for shared in card_file().unstated]
    for key, aliases in known:
        for name in (key, *aliases):
            assert plain(name) not in owners, f"{name} of {key} repeats {owners[plain(name)]}"
            owners[plain(name)] = f"{name} of {key}"


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("RTX 4099", "RTX-4090"),
        ("RTX-409", "RTX-4090"),
        ("H1000", "H100"),
        ("A100-SMX-80GB", "A100-SXM-80GB"),
        ("rtx pro 600", "RTX-PRO-6000"),
        ("MI300", "MI300X"),
        ("RTX 3060Tii", "RTX-3060-TI"),
    ],
)
def test_an_unknown_card_is_an_input_error_that_names_the_nearest(name: str, near: str) -> None:
    with pytest.raises(InputError, match="unknown card") as caught:
        cards().card_key(name)
    assert caught.value.exit_code == 2
    assert caught.value.hint is not None
    assert near in caught.value.hint


@pytest.mark.parametrize("name", ["", "TPU v5e", "?"])
def test_a_name_near_to_nothing_is_an_input_error_that_says_where_cards_stand(name: str) -> None:
    with pytest.raises(InputError) as caught:
        cards().card_key(name)
    assert caught.value.exit_code == 2
    assert caught.value.hint
