"""Looks at GPUs while a program runs: through the program or the library, and not for ever."""

from __future__ import annotations

import contextlib
import sys
import types
from typing import TYPE_CHECKING, Any

import pytest
from fakesmi import GPU, on_path, put

from costplan.box import gpus, gpusampler
from costplan.records.gpus import GpuSample

if TYPE_CHECKING:
    from pathlib import Path


def seen(folder: Path, monkeypatch: pytest.MonkeyPatch, *gpus: dict[str, str]) -> list[GpuSample]:
    on_path(put(folder, *gpus), monkeypatch)
    look = gpusampler.program()
    assert look is not None
    return [GpuSample.model_validate({"at_s": 1.0, **each}) for each in look()]


def test_every_figure_has_its_field(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = seen(
        tmp_path, monkeypatch, GPU, {**GPU, "uuid": "GPU-1", "power.draw": "[N/A]"}
    )
    assert first == GpuSample(
        at_s=1.0, uuid="GPU-0", name="NVIDIA GeForce RTX 4090", clock_mhz=2520, clock_max_mhz=3105,
        temperature_c=71, power_watts=445.1, power_limit_watts=450, util_percent=0, reasons=4,
        pcie_gen=4, pcie_width=16,
    )  # fmt: skip
    assert (second.uuid, second.power_watts) == ("GPU-1", None)


@pytest.mark.parametrize(
    ("field", "reasons"),
    [("clocks_event_reasons.active", 0x44), ("clocks_throttle_reasons.active", 0x44), (None, None)],
)
def test_new_drivers_old_drivers_and_older_ones_are_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, field: str | None, reasons: int | None
) -> None:
    gpu = {name: text for name, text in GPU.items() if name != "clocks_throttle_reasons.active"}
    if field is not None:
        gpu[field] = "0x0000000000000044"
    (found,) = seen(tmp_path, monkeypatch, gpu)
    assert (found.reasons, found.clock_mhz) == (reasons, 2520)


def test_a_driver_that_does_not_answer_is_not_asked_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    on_path(put(tmp_path, GPU, code=9), monkeypatch)
    assert gpusampler.program() is None
    on_path(tmp_path / "nothing here", monkeypatch)
    assert gpusampler.program() is None


def nvml(**without: bool) -> Any:
    """Return a library as nvidia-ml-py is one."""
    made: Any = types.ModuleType("pynvml")
    made.NVMLError = type("NVMLError", (Exception,), {})

    def refused(*_: object) -> None:
        raise made.NVMLError

    made.nvmlInit = made.nvmlShutdown = lambda: None
    made.nvmlDeviceGetCount = lambda: 1
    made.nvmlDeviceGetHandleByIndex = lambda index: index
    answers: dict[str, Any] = {
        "UUID": b"GPU-0", "Name": "H100", "ClockInfo": 1500, "MaxClockInfo": 1980,
        "Temperature": 66, "PowerUsage": 690_000, "EnforcedPowerLimit": 700_000,
        "UtilizationRates": types.SimpleNamespace(gpu=99), "CurrentClocksThrottleReasons": 4,
        "CurrPcieLinkGeneration": 5, "CurrPcieLinkWidth": 16,
    }  # fmt: skip
    for name, answer in answers.items():
        setattr(made, f"nvmlDeviceGet{name}", lambda *_, answer=answer: answer)
    for name in without:
        setattr(made, f"nvmlDeviceGet{name}", refused)
    return made


def looked(monkeypatch: pytest.MonkeyPatch, library: Any) -> GpuSample:
    monkeypatch.setitem(sys.modules, "pynvml", library)
    with contextlib.ExitStack() as held:
        found = gpusampler.library(held)
        assert found is not None
        (gpu,) = found[0]()
    return GpuSample.model_validate({"at_s": 1.0, **gpu})


def test_the_library_answers_in_the_same_terms(monkeypatch: pytest.MonkeyPatch) -> None:
    assert looked(monkeypatch, nvml()) == GpuSample(
        at_s=1.0, uuid="GPU-0", name="H100", clock_mhz=1500, clock_max_mhz=1980, temperature_c=66,
        power_watts=690, power_limit_watts=700, util_percent=99, reasons=4, pcie_gen=5,
        pcie_width=16,
    )  # fmt: skip
    bare = looked(monkeypatch, nvml(PowerUsage=True, CurrPcieLinkWidth=True, UtilizationRates=True))
    assert (bare.power_watts, bare.pcie_width, bare.util_percent) == (None, None, None)


def sampler(monkeypatch: pytest.MonkeyPatch, *looks: list[dict[str, Any]]) -> list[GpuSample]:
    """Return what a sampler keeps of these looks, and of none after them."""
    left = [*looks, []]
    now = iter(range(1_000))
    monkeypatch.setattr(gpusampler, "library", lambda held: (lambda: left.pop(0), 0.0))
    one = gpusampler.Sampler(clock=lambda: float(next(now)))
    one.run()
    return one.samples


def test_each_look_has_its_moment_and_the_last_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    gpu = {"uuid": "GPU-0"}
    found = sampler(monkeypatch, [gpu, {"uuid": "GPU-1"}], [gpu])
    # The clock is read before and after each look, and once to know how long to wait.
    assert [(each.uuid, each.at_s) for each in found] == [
        ("GPU-0", 0.5), ("GPU-1", 0.5), ("GPU-0", 3.5),
    ]  # fmt: skip


def test_an_answer_in_a_form_that_is_not_known_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    assert sampler(monkeypatch, [{"uuid": "GPU-0", "clock_mhz": "fast"}]) == []


def test_where_no_gpu_is_nothing_is_started(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpus, "present", lambda: False)
    one = gpusampler.Sampler()
    one.start()
    one.stop()
    assert (one.samples, one._thread) == ([], None)


def test_it_runs_beside_the_program_and_ends_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpus, "present", lambda: True)
    monkeypatch.setattr(gpusampler, "library", lambda held: (lambda: [{"uuid": "GPU-0"}], 0.001))
    one = gpusampler.Sampler()
    one.start()
    while not one.samples:
        pass
    one.stop()
    assert one._thread is not None
    assert not one._thread.is_alive()
