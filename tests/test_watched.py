"""How a GPU did during the bursts, by what the driver says: on both sides of each line."""

from __future__ import annotations

from typing import Any

import pytest

from costplan.profiler.rules import judge
from costplan.profiler.watched import clock_share, drift, slowed_by, throttled, watched, with_gpu
from costplan.records.gpus import GpuSample, GpuWatched
from costplan.records.verdicts import Measured


def samples(*clocks: float, uuid: str = "GPU-0", **more: Any) -> list[GpuSample]:
    """Return a sample at 0, 1, 2 ... s for each clock."""
    return [
        GpuSample.model_validate({"at_s": float(n), "uuid": uuid, "clock_mhz": clock, **more})
        for n, clock in enumerate(clocks)
    ]


def gpu(**more: Any) -> GpuWatched:
    return GpuWatched.model_validate({"uuid": "GPU-0", "name": "B200", "samples": 9, **more})


def test_only_samples_of_the_gpu_in_use_and_of_a_burst_count() -> None:
    every = samples(100, 200, 300, 400, 500) + samples(*[9.0] * 5, uuid="GPU-1")
    found = watched(every, uuid="GPU-0", spans=[(0.5, 2.0), (4.0, 9.0)])
    assert found is not None
    assert (found.uuid, found.samples, found.clock_mhz) == ("GPU-0", 3, 300)  # 200, 300, 500
    assert watched(every, uuid="GPU-0", spans=[(0.5, 2.0)]) is None  # two are too few
    assert watched(every, uuid=None, spans=[(0.0, 9.0)]) is None  # which of the two?
    assert watched(every, uuid="MIG-7", spans=[(0.0, 9.0)]) is None
    assert watched([], uuid="GPU-0", spans=[(0.0, 9.0)]) is None


@pytest.mark.parametrize("uuid", [None, "MIG-7", "GPU-0"])
def test_the_only_gpu_is_the_one_in_use(uuid: str | None) -> None:
    assert watched(samples(1, 2, 3), uuid=uuid, spans=[(0.0, 9.0)]) is not None


def test_figures_are_medians_and_the_highest_temperature() -> None:
    every = [
        each.model_copy(update={"temperature_c": 60.0 + n, "pcie_gen": 1 + 3 * (n == 2)})
        for n, each in enumerate(samples(
            1965, 1900, 1600, 1580, util_percent=50, power_watts=350, power_limit_watts=700,
        ))
    ]  # fmt: skip
    found = watched(every, uuid=None, spans=[(0.0, 9.0)])
    assert found is not None
    assert (found.clock_mhz, found.clock_first_mhz, found.clock_last_mhz) == (1750, 1965, 1580)
    assert (found.temperature_c, found.util_share, found.pcie_gen) == (63, 0.5, 4)
    told = with_gpu(Measured(step_s=1), found)
    assert (told.util_share, told.power_share, told.throttled) == (0.5, 0.5, None)
    assert with_gpu(Measured(step_s=1), None) == Measured(step_s=1)


@pytest.mark.parametrize(
    ("reasons", "names"),
    [
        ([0x00] * 10, ()), ([0x01, 0x02, 0x10, 0x100], ()),  # idle, set clocks, sync, display
        ([0x20] + [0x00] * 9, ("heat",)), ([0x20] + [0x00] * 10, ()),  # 1 of 10, of 11
        ([0x84, 0x48], ("its power limit", "the hardware", "heat", "the power supply")),
        ([None, 0x04], ("its power limit",)), ([None, None], None), ([], None),
    ],
)  # fmt: skip
def test_what_held_the_clock_down(reasons: list[int | None], names: tuple[str, ...] | None) -> None:
    assert slowed_by(reasons) == names


@pytest.mark.parametrize(
    ("told", "held"),
    [
        ({}, None),
        ({"slowed_by": ()}, False),
        ({"slowed_by": ("heat",)}, True),
        ({"slowed_by": ("its power limit",)}, False),  # by how much is not known
        ({"slowed_by": ("its power limit",), "clock_mhz": 1580, "clock_max_mhz": 1965}, True),
        ({"slowed_by": ("its power limit",), "clock_mhz": 899, "clock_max_mhz": 1000}, True),
        ({"slowed_by": ("its power limit",), "clock_mhz": 900, "clock_max_mhz": 1000}, False),
        ({"slowed_by": (), "clock_mhz": 500, "clock_max_mhz": 1000}, False),
    ],
)
def test_a_power_limit_counts_where_it_costs(told: dict[str, Any], held: bool | None) -> None:
    assert throttled(gpu(**told)) is held


def test_the_cause_of_a_gpu_bound_step_that_is_held_down_is_power_or_heat() -> None:
    bound = Measured(step_s=1, steps=30, replay_s=1, wait_s=0, busy_share=0.95)
    held = gpu(slowed_by=("its power limit",), clock_mhz=1580, clock_max_mhz=1965)
    assert clock_share(held) == pytest.approx(0.804, abs=1e-3)
    assert judge(with_gpu(bound, held)).cause == "power or heat"
    assert judge(with_gpu(bound, gpu(slowed_by=()))).cause is None


@pytest.mark.parametrize(
    ("first", "last", "said"),
    [(1965, 1580, True), (1000, 950, True), (1000, 951, False), (1000, 1200, False),
     (None, 900, False), (1000, None, False)],
)  # fmt: skip
def test_a_clock_that_falls_is_said(first: float | None, last: float | None, said: bool) -> None:
    assert (drift(gpu(clock_first_mhz=first, clock_last_mhz=last)) is not None) is said
