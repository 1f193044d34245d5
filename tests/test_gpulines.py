"""Lines about the GPUs, at both sides of each border."""

from __future__ import annotations

from typing import Any

import pytest
from madebox import box, gpu, needs, run

from costplan import gpulines
from costplan.records.checks import BoxFacts, CheckLine


def detail(name: str, facts: BoxFacts) -> CheckLine:
    (found,) = [line for line in gpulines.details(facts) if line.name == name]
    return found


# --- which GPUs ---------------------------------------------------------------------------------


def test_gpus_are_counted_by_kind() -> None:
    line = gpulines.gpus(box(gpus=(gpu(0), gpu(1), gpu(2, name="T4", memory_total_mb=None))), None)
    assert line.says == "2 x NVIDIA GeForce RTX 4090, 24,564 MiB, 1 x T4, driver 570.86.10"


@pytest.mark.parametrize(
    ("needed_gb", "level"),
    [(24, "ok"), (25.7, "ok"), (25.8, "fail")],  # 24,564 MiB = 25.757 GB
)
def test_the_job_must_fit_into_the_smallest(needed_gb: float, level: str) -> None:
    facts = box(gpus=(gpu(0, memory_total_mb=81_559), gpu(1)))
    assert gpulines.gpus(facts, needs(memory_gb=needed_gb)).level == level


def test_memory_that_nobody_tells_is_unknown() -> None:
    facts = box(gpus=(gpu(memory_total_mb=None),))
    assert gpulines.gpus(facts, needs(memory_gb=1)).level == "unknown"


@pytest.mark.parametrize(
    ("present", "problem", "level"),
    [
        (False, "nvidia-smi cannot be run", "unknown"),
        (True, "nvidia-smi cannot be run", "unknown"),  # not in the image
        (True, "nvidia-smi ended with 9: driver mismatch", "fail"),
        (True, None, "fail"),
        (False, "nvidia-smi ended with 9: no driver", "unknown"),
    ],
)
def test_a_driver_that_shows_no_gpu_is_a_reason_to_go(
    present: bool, problem: str | None, level: str
) -> None:
    line = gpulines.gpus(box(gpus=None, gpus_problem=problem, gpu_present=present), None)
    assert line.level == level
    assert gpulines.details(box(gpus=None)) == []


# --- what holds them back -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("width", "most", "level"),
    [
        (16, 16, "ok"),
        (8, 8, "ok"),
        (8, None, "ok"),
        (8, 16, "warn"),
        (7, None, "warn"),
        (1, 1, "warn"),  # a riser of a machine that mined
        (None, 16, "unknown"),
    ],
)
def test_a_narrow_link_is_worth_a_word(width: int | None, most: int | None, level: str) -> None:
    facts = box(gpus=(gpu(0), gpu(1, pcie_width=width, pcie_width_max=most)))
    line = detail("pcie", facts)
    assert line.level == level
    assert ("GPU 1: " in line.says) is (level != "ok")


@pytest.mark.parametrize(
    ("limit", "default", "level"),
    [(405, 450, "ok"), (404, 450, "warn"), (None, 450, "unknown"), (450, None, "unknown")],
)
def test_a_power_cap_is_worth_a_word(
    limit: float | None, default: float | None, level: str
) -> None:
    facts = box(gpus=(gpu(power_limit_watts=limit, power_default_watts=default),))
    assert detail("power", facts).level == level


@pytest.mark.parametrize(
    ("fields", "level"),
    [
        ({}, "ok"),
        ({"slowed_by": ("heat",)}, "warn"),
        ({"slowed_by": None}, "unknown"),
        ({"clock_set_mhz": 950, "clock_default_mhz": 1000}, "ok"),
        ({"clock_set_mhz": 949, "clock_default_mhz": 1000}, "warn"),
        ({"clock_set_mhz": 949, "clock_default_mhz": 1000, "slowed_by": None}, "warn"),
    ],
)
def test_a_clock_that_is_held_down_is_worth_a_word(fields: dict[str, Any], level: str) -> None:
    assert detail("clocks", box(gpus=(gpu(**fields),))).level == level


def test_gpus_that_are_alike_share_a_line() -> None:
    facts = box(gpus=tuple(gpu(n, power_limit_watts=300) for n in range(3)))
    assert detail("power", facts).says == "GPU 0, 1, 2: limit 300 of 450 W"


# --- who else is there --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("used_mb", "percent", "runs", "level"),
    [
        (1024, 5, (), "ok"),
        (1025, 0, (), "warn"),
        (1025, 5, (), "warn"),
        (1025, 6, (), "fail"),
        (4, 6, (), "fail"),  # somebody outside computes
        (1025, 6, (run(),), "warn"),  # somebody inside does
        (1025, 6, (run(holds_gpu=False),), "fail"),
        (1025, 0, None, "unknown"),
        (None, 0, (), "ok"),
        (4, None, (), "ok"),
        (None, None, (), "unknown"),
    ],
)
def test_others_on_a_gpu_are_told_from_those_in_the_box(
    used_mb: float | None, percent: float | None, runs: Any, level: str
) -> None:
    facts = box(gpus=(gpu(memory_used_mb=used_mb, util_percent=percent),), runs=runs)
    line = detail("sharing", facts)
    assert line.level == level
    assert line.fault == ("box" if level == "fail" else None)


def test_the_last_of_many_gpus_counts_too() -> None:
    facts = box(gpus=(gpu(0), gpu(1, memory_used_mb=14_302, util_percent=99)))
    assert detail("sharing", facts).says == (
        "GPU 1: 14,302 MiB in use at 99 %, and by nobody in this box"
    )
