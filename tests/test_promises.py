"""Promised against measured, at both sides of each border."""

from __future__ import annotations

from typing import Any

import pytest
from madebox import GB, box, cpu, disk, gpu, promised

from costplan import promises
from costplan.records.checks import CheckLine, DownloadFacts, MemoryFacts


def level(given: dict[str, Any], **fields: Any) -> str:
    (found,) = promises.compared(promised(**given), box(**fields))
    return found.level


@pytest.mark.parametrize(
    ("given", "fields", "expected"),
    [
        ({"gpu_count": 1}, {}, "ok"),
        ({"gpu_count": 2}, {}, "fail"),
        ({"gpu_count": 1}, {"gpus": ()}, "fail"),
        ({"gpu_count": 1}, {"gpus": None}, "unknown"),
        ({"gpu_memory_gb": 24}, {}, "ok"),
        ({"gpu_memory_gb": 27.2}, {}, "ok"),  # 23.988 GiB of at least 88 %
        ({"gpu_memory_gb": 27.3}, {}, "fail"),
        ({"gpu_memory_gb": 24}, {"gpus": (gpu(0), gpu(1, memory_total_mb=None))}, "unknown"),
        ({"pcie_width": 16}, {}, "ok"),
        ({"pcie_width": 16}, {"gpus": (gpu(0), gpu(1, pcie_width=8))}, "fail"),
        ({"pcie_gen": 4}, {}, "ok"),
        ({"pcie_gen": 5}, {}, "fail"),
        ({"cores": 17.7}, {}, "ok"),
        ({"cores": 17.8}, {}, "fail"),
        ({"cores": 16}, {"cpu": cpu(quota_cores=8)}, "fail"),
        ({"ram_gb": 71}, {}, "ok"),
        ({"ram_gb": 72}, {}, "fail"),
        ({"ram_gb": 64}, {"memory": MemoryFacts()}, "unknown"),
        ({"down_mbit_per_s": 800}, {}, "unknown"),
        ({"up_mbit_per_s": 800}, {}, "unknown"),
        ({"disk_mb_per_s": 3000}, {}, "ok"),
        ({"disk_mb_per_s": 3001}, {}, "warn"),
        ({"disk_mb_per_s": 6001}, {}, "fail"),
        ({"disk_mb_per_s": 1}, {"disk": disk(cold_mb_per_s=None)}, "unknown"),
    ],
)
def test_a_promise_is_compared_with_what_is_there(
    given: dict[str, Any], fields: dict[str, Any], expected: str
) -> None:
    assert level(given, **fields) == expected


def test_the_line_down_is_compared_in_mbit_per_s() -> None:
    came = DownloadFacts(host="h", received_bytes=112_500_000, over_s=10)
    (found,) = promises.compared(promised(down_mbit_per_s=800), box(download=came))
    assert (found.promised, found.measured, found.level) == (800, 90.0, "fail")


@pytest.mark.parametrize(
    ("cards", "fields", "expected"),
    [
        (("RTX-4090",), {}, "ok"),
        (("RTX-4090", "RTX-4090-D"), {}, "ok"),  # the name leaves it open
        (("RTX-4090-D",), {}, "fail"),
        ((), {}, "unknown"),  # a card that the catalog does not know
        (("RTX-4090",), {"gpus": (gpu(cards=()),)}, "unknown"),
        (("RTX-4090",), {"gpus": None}, "unknown"),
        (("RTX-4090",), {"gpus": (gpu(0), gpu(1, cards=("T4",)))}, "fail"),
    ],
)
def test_another_card_is_a_broken_promise(
    cards: tuple[str, ...], fields: dict[str, Any], expected: str
) -> None:
    assert level({"gpu_name": "RTX 4090", "cards": cards}, **fields) == expected


def test_nothing_promised_is_nothing_to_compare() -> None:
    assert promises.compared(promised(), box()) == []
    assert promises.lines([]) == []


def test_kept_promises_share_a_line_and_broken_ones_have_their_own() -> None:
    given = promised(
        gpu_name="RTX 5090",
        cards=("RTX-5090",),
        gpu_count=1,
        cores=32,
        ram_gb=60,
        up_mbit_per_s=500,
        disk_mb_per_s=9000,
        down_mbit_per_s=800,
    )
    facts = box(memory=MemoryFacts(total_bytes=64 * GB))
    assert promises.lines(promises.compared(given, facts)) == [
        CheckLine(name="promised", level="ok", says="kept: GPUs, main memory"),
        CheckLine(
            name="promised",
            level="fail",
            says="NVIDIA GeForce RTX 4090, and RTX 5090 was promised",
            todo="return it and rent another",
            fault="box",
        ),
        CheckLine(
            name="promised",
            level="fail",
            says="cores: 16 of 32 promised",
            todo="return it and rent another",
            fault="box",
        ),
        CheckLine(
            name="promised",
            level="unknown",
            says="line up: 500 Mbit/s promised, not measured",
        ),
    ]
