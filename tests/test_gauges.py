"""What is read beside the step times of a burst, against a made-up CUDA and a clock by hand."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import fakecuda
import pytest

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch")
device = pytest.importorskip("costplan.profiler.device")
gauges = pytest.importorskip("costplan.profiler.gauges")


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> tuple[fakecuda.Cuda, fakecuda.Clock]:
    cuda, clock = fakecuda.use(monkeypatch, device)
    monkeypatch.setattr(gauges, "time", SimpleNamespace(perf_counter=clock.perf_counter))
    return cuda, clock


def run(machine: Any, gauge: Any, *, host_s: float, device_s: float, counts: str) -> None:
    """Run a step for each letter, `c` one that counts and `-` one that does not."""
    cuda, clock = machine
    for letter in counts:
        clock.now_s += host_s
        cuda.launch(device_s)
        gauge.border(clock.now_s, counts=letter == "c")


def test_steps_of_a_host_that_runs_ahead_are_what_the_device_takes(machine: Any) -> None:
    gauge = gauges.Gauges("replay")
    gauge.begin()
    run(machine, gauge, host_s=0.002, device_s=0.010, counts="-cc-cc")
    found = gauge.end()
    assert found["steps_s"] == pytest.approx([0.010] * 4, abs=1e-5)
    # Step n is done at 2 + 10 n ms, and asked for at 2 n: behind by 2 + 8 n.
    assert found["leads_s"] == pytest.approx([0.018, 0.026, 0.042, 0.050], abs=1e-4)
    assert (found["began_s"], found["ended_s"]) == (100.0, pytest.approx(100.062, abs=1e-4))


def test_steps_of_a_device_that_waits_are_what_the_host_takes(machine: Any) -> None:
    gauge = gauges.Gauges("replay")
    gauge.begin()
    run(machine, gauge, host_s=0.010, device_s=0.002, counts="ccc")
    assert gauge.end()["steps_s"] == pytest.approx([0.012, 0.010, 0.010], abs=1e-5)


def test_without_a_device_the_steps_are_left_to_the_host() -> None:
    gauge = gauges.Gauges("real")
    gauge.begin()
    for now_s in (1.0, 2.0):
        gauge.border(now_s, counts=True)
    found = gauge.end()
    assert "steps_s" not in found
    assert (found["peak_memory_bytes"], found["allocations"], found["retries"]) == (None,) * 3
    assert gauge.is_steady()


def test_a_clock_of_the_device_that_fails_leaves_the_steps_to_the_host(
    machine: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    gauge = gauges.Gauges("replay")
    gauge.begin()
    run(machine, gauge, host_s=0.002, device_s=0.010, counts="cc")
    monkeypatch.setattr(device.torch, "cuda", fakecuda.Broken())
    gauge.border(103.0, counts=True)
    found = gauge.end()
    assert "steps_s" not in found
    assert found["peak_memory_bytes"] is None


def test_counters_are_those_of_the_steps_that_count(machine: Any) -> None:
    cuda, _ = machine
    gauge = gauges.Gauges("real")
    cuda.stats["num_device_alloc"] += 100  # before
    gauge.begin()
    cuda.stats["num_device_alloc"] += 50
    run(machine, gauge, host_s=0.01, device_s=0.0, counts="-")  # while it settles
    cuda.stats["num_device_alloc"] += 3
    cuda.stats["num_alloc_retries"] += 1
    run(machine, gauge, host_s=0.01, device_s=0.0, counts="cc")
    found = gauge.end()
    assert (found["allocations"], found["retries"], found["compiles"]) == (3, 1, None)
    assert "why_short" not in found


def test_a_program_that_survives_a_lack_of_memory_is_told(machine: Any) -> None:
    cuda, _ = machine
    gauge = gauges.Gauges("double")
    gauge.begin()
    run(machine, gauge, host_s=0.01, device_s=0.0, counts="c")
    cuda.stats["num_ooms"] += 1
    assert gauge.end()["why_short"] == gauges.OUT_OF_MEMORY


def test_nothing_counts_until_the_counters_have_stood_still_for_three_steps(machine: Any) -> None:
    cuda, _ = machine
    gauge = gauges.Gauges("real")
    gauge.begin()
    assert gauge.is_steady()  # nothing has changed as yet
    seen = []
    for taken in (1, 0, 0, 1, 0, 0, 0):
        cuda.stats["num_device_alloc"] += taken
        run(machine, gauge, host_s=0.01, device_s=0.0, counts="-")
        seen.append(gauge.is_steady())
    assert seen == [False, False, False, False, False, False, True]


def test_a_program_that_never_stands_still_is_measured_in_the_end(machine: Any) -> None:
    cuda, _ = machine
    gauge = gauges.Gauges("real")
    gauge.begin()
    waited = 0
    while not gauge.is_steady() or waited == 0:
        cuda.stats["num_device_alloc"] += 1
        run(machine, gauge, host_s=0.01, device_s=0.0, counts="-")
        waited += 1
    assert waited == gauges.MOST_EXTRA + 1


def test_what_is_compiled_keeps_a_burst_from_counting_on_a_cpu_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    frames = {"total": 1}
    module = SimpleNamespace(counters={"frames": frames})
    monkeypatch.setitem(__import__("sys").modules, "torch._dynamo.utils", module)
    gauge = gauges.Gauges("half")
    gauge.begin()
    frames["total"] = 2
    gauge.border(1.0, counts=False)
    assert not gauge.is_steady()
    for now_s in (2.0, 3.0, 4.0):
        gauge.border(now_s, counts=False)
    assert gauge.is_steady()
    frames["total"] = 5
    gauge.border(5.0, counts=True)
    assert gauge.end()["compiles"] == 3


def test_only_the_burst_for_it_counts_what_holds_the_host(monkeypatch: pytest.MonkeyPatch) -> None:
    assert gauges.Gauges("replay").syncs is None
    gauge = gauges.Gauges("syncs")
    own = dict(vars(torch.Tensor))
    gauge.begin()
    gauge.syncs.held_s = 9.0
    gauge.border(1.0, counts=False)
    gauge.syncs.held_s = 0.25
    gauge.border(2.0, counts=True)
    assert gauge.end()["blocked_s"] == [0.25]
    assert dict(vars(torch.Tensor)) == own


def test_only_the_burst_for_it_is_traced(tmp_path: Path) -> None:
    gauge = gauges.Gauges("kernels", trace=str(tmp_path / "1.trace"))
    gauge.begin()
    borders = 0
    while not gauge.traced():
        torch.ones(4).sum()
        gauge.border(float(borders), counts=False)
        borders += 1
    gauge.end()
    assert borders == 7  # one to get ready, six traced
    assert (tmp_path / "1.trace").stat().st_size > 0
    assert not gauges.Gauges("replay").traced()
