"""What `nvidia-smi` tells, and what is left when it refuses a question."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from fakesmi import GPU, on_path, put

from costplan.box import smi
from costplan.records.checks import GpuFacts

if TYPE_CHECKING:
    from pathlib import Path


def seen(folder: Path, monkeypatch: pytest.MonkeyPatch, *gpus: dict[str, str]) -> list[GpuFacts]:
    on_path(put(folder, *gpus), monkeypatch)
    found, problem = smi.seen()
    assert problem is None
    return [GpuFacts(**each) for each in found or []]


def test_every_figure_has_its_field(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = {**GPU, "index": "1", "clocks_throttle_reasons.hw_thermal_slowdown": "Active",
             "clocks_applications": "", "clocks.applications.graphics": "1200",
             "clocks.default_applications.graphics": "1410"}  # fmt: skip
    first, second = seen(tmp_path, monkeypatch, GPU, other)
    assert first == GpuFacts(
        index=0,
        name="NVIDIA GeForce RTX 4090",
        driver="570.86.10",
        compute_capability="8.9",
        memory_total_mb=24_564,
        memory_used_mb=4,
        util_percent=0,
        pcie_width=16,
        pcie_width_max=16,
        pcie_gen_max=4,
        power_limit_watts=450,
        power_default_watts=450,
        clock_max_mhz=3105,
        slowed_by=(),
    )
    assert second.slowed_by == ("heat",)
    assert (second.clock_set_mhz, second.clock_default_mhz) == (1200, 1410)


@pytest.mark.parametrize(
    ("lacking", "left"),
    [
        ("compute_cap", "compute_capability"),
        ("pcie.link.gen.max", "pcie_width"),
        ("power.default_limit", "power_limit_watts"),
        ("clocks.max.sm", "clock_max_mhz"),
        ("clocks_throttle_reasons.hw_slowdown", "slowed_by"),
    ],
)
def test_a_field_that_an_old_driver_lacks_leaves_only_its_group_unknown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lacking: str, left: str
) -> None:
    old = {key: value for key, value in GPU.items() if key != lacking}
    (found,) = seen(tmp_path, monkeypatch, old)
    assert getattr(found, left) is None
    assert found.memory_total_mb == 24_564


def test_what_the_driver_does_not_know_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone: dict[str, Any] = {
        **dict.fromkeys(GPU, "[N/A]"),
        "index": "0",
        "name": "NVIDIA GB10",
    }
    (found,) = seen(tmp_path, monkeypatch, gone)
    assert found == GpuFacts(index=0, name="NVIDIA GB10")


def test_a_driver_that_lists_nothing_lists_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert seen(tmp_path, monkeypatch) == []


def test_a_failure_is_a_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    on_path(tmp_path, monkeypatch)
    assert smi.seen() == (None, "nvidia-smi cannot be run")
    put(tmp_path, GPU, code=9)
    found, problem = smi.seen()
    assert found is None
    assert (problem or "").startswith("nvidia-smi ended with 9: ")


@pytest.mark.parametrize("change", [{"index": "first"}, {"name": "a, b"}])
def test_an_odd_answer_is_not_guessed_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: dict[str, str]
) -> None:
    on_path(put(tmp_path, {**GPU, **change}), monkeypatch)
    assert smi.seen() == (None, "nvidia-smi answered in a form that is not known")
