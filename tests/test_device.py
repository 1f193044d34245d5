"""What the profiler asks of CUDA, against one that is made up and one that always fails."""

from __future__ import annotations

import subprocess
import sys
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import fakecuda
import pytest

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch")
device = pytest.importorskip("costplan.profiler.device")
ASKED = (
    *("is_initialized", "synchronize", "Event", "current_stream", "get_device_name"),
    *("get_device_properties", "max_memory_allocated", "reset_peak_memory_stats"),
    *("mem_get_info", "memory_reserved", "memory_stats"),
)


@pytest.mark.parametrize("name", ASKED)
def test_torch_has_what_the_made_up_cuda_has(name: str) -> None:
    assert callable(getattr(torch.cuda, name))
    assert callable(getattr(fakecuda.Cuda(fakecuda.Clock()), name))


def test_the_counters_that_are_read_are_those_that_torch_names() -> None:
    source = torch.cuda.memory.memory_stats.__doc__
    for name in ("num_alloc_retries", "num_device_alloc", "num_device_free", "num_ooms"):
        assert f'"{name}"' in source


def test_without_cuda_nothing_is_known_and_nothing_is_started() -> None:
    marks = device.Marks()
    marks.start()
    assert (marks.mark(1.0), marks.times_s(), marks.leads_s()) == (None, None, None)
    assert (device.name(), device.uuid(), device.in_use()) == ("cpu", None, False)
    assert (device.peak_memory_bytes(), device.room_bytes()) == (None, None)
    assert device.counts()[:3] == (None, None, None)
    device.settle()
    device.forget_peak()
    assert not torch.cuda.is_initialized()


def test_asking_never_starts_cuda_nor_loads_the_compiler() -> None:
    """A process where any start of CUDA, and any look for devices, would be seen."""
    text = (
        "import sys, torch\n"
        "torch.cuda.init = torch.cuda._lazy_init = torch.cuda.device_count = "
        "torch.cuda.is_available = lambda *a: sys.exit('started')\n"
        "before = 'torch._dynamo' in sys.modules\n"
        "from costplan.profiler import device\n"
        "marks = device.Marks(); marks.start(); marks.mark(0.0); marks.leads_s()\n"
        "tensor = torch.ones(2)\n"
        "device.settle(), device.name(), device.uuid(), device.threads(), device.counts()\n"
        "device.forget_peak(), device.peak_memory_bytes(), device.room_bytes()\n"
        "device.pinned(tensor), device.is_pinned(tensor)\n"
        "assert ('torch._dynamo' in sys.modules) == before\n"
    )
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", text], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_a_cuda_that_fails_at_every_call_stops_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    fakecuda.use(monkeypatch, device)
    monkeypatch.setattr(device.torch, "cuda", fakecuda.Broken())
    marks = device.Marks()
    marks.start()
    assert (marks.mark(1.0), marks.leads_s()) == (None, None)
    assert (device.name(), device.uuid()) == ("gpu", None)
    assert (device.peak_memory_bytes(), device.room_bytes()) == (None, None)
    assert device.counts()[:3] == (None, None, None)
    device.settle()
    device.forget_peak()


def marked(cuda: fakecuda.Cuda, clock: fakecuda.Clock, *, host_s: float, device_s: float) -> Any:
    """Return the marks of ten steps, each so long on the host and on the device."""
    marks = device.Marks()
    marks.start()
    for _ in range(10):
        marks.mark(clock.now_s)
        clock.now_s += host_s
        cuda.launch(device_s)
    return marks


def test_a_device_that_waits_for_its_host_is_not_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    cuda, clock = fakecuda.use(monkeypatch, device)
    leads_s = marked(cuda, clock, host_s=0.010, device_s=0.002).leads_s()
    # Both clocks were set with one launch of 5 us, so that it falls out; the 2 ms that the last
    # launch of a step takes are the lead at its end.
    assert leads_s[0] == pytest.approx(0.0, abs=1e-5)
    assert leads_s[1:] == pytest.approx([0.002] * 9, abs=1e-5)


def test_a_device_with_a_full_queue_falls_behind_more_and_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cuda, clock = fakecuda.use(monkeypatch, device)
    marks = marked(cuda, clock, host_s=0.002, device_s=0.010)
    leads_s, times_s = marks.leads_s(), marks.times_s()
    # 8 ms more at each step: the first launch comes 2 ms after the clocks were set.
    assert leads_s == pytest.approx([0.0] + [0.010 + 0.008 * n for n in range(9)], abs=1e-4)
    # What the steps take is what the device takes, however fast the host asks.
    steps_s = [after - before for before, after in pairwise(times_s[1:])]
    assert steps_s == pytest.approx([0.010] * 8, abs=1e-5)


def test_a_mark_that_fails_makes_all_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    cuda, clock = fakecuda.use(monkeypatch, device)
    marks = marked(cuda, clock, host_s=0.01, device_s=0.002)
    monkeypatch.setattr(device.torch, "cuda", fakecuda.Broken())
    assert marks.mark(clock.now_s) is None
    monkeypatch.setattr(device.torch, "cuda", cuda)
    assert marks.leads_s() is None


def test_marks_that_are_started_again_begin_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    cuda, clock = fakecuda.use(monkeypatch, device)
    marks = marked(cuda, clock, host_s=0.002, device_s=0.010)
    marks.start()
    assert marks.mark(clock.now_s) == 0
    assert marks.leads_s() == pytest.approx([0.0], abs=1e-5)


def test_what_the_parameters_lie_on_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    cuda, _ = fakecuda.use(monkeypatch, device)
    parameters = [SimpleNamespace(device=f"cuda:{n}", is_cuda=True) for n in (1, 2, 1)]
    host = SimpleNamespace(device="cpu", is_cuda=False)
    device.trains(SimpleNamespace(param_groups=[{"params": [host, *parameters]}]))
    device.trains(SimpleNamespace())  # no optimizer of torch's form
    device.settle()
    assert cuda.synchronized == ["cuda:1", "cuda:2"]


def test_the_room_is_what_is_free_and_what_the_allocator_keeps(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fakecuda.use(monkeypatch, device)
    assert device.room_bytes() == 18 * fakecuda.GB  # 10 free + 8 kept
    assert device.peak_memory_bytes() == 6 * fakecuda.GB
    device.forget_peak()
    assert device.peak_memory_bytes() == 0
    assert device.uuid() == "GPU-8f3c0a9e-0000-0000-0000-000000000000"


def test_the_calls_to_the_driver_are_those_that_take_and_those_that_give_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cuda, _ = fakecuda.use(monkeypatch, device)
    assert device.counts()[:3] == (4, 2, 1)  # 3 + 1
    del cuda.stats["num_device_alloc"]  # an older torch
    assert device.counts()[:3] == (None, 2, 1)


@pytest.mark.parametrize(
    ("counters", "compiles"),
    [({}, None), ({"frames": {"total": 5, "ok": 4}}, 5), ({"stats": {}}, 0)],
)
def test_what_was_compiled_is_counted_by_frames(
    monkeypatch: pytest.MonkeyPatch, counters: Any, compiles: int | None
) -> None:
    monkeypatch.setitem(sys.modules, "torch._dynamo.utils", SimpleNamespace(counters=counters))
    assert device.compiles() == compiles


def test_torch_compile_counts_frames_where_they_are_looked_for() -> None:
    text = (
        "import torch\n"
        "from costplan.profiler import device\n"
        "assert device.compiles() is None\n"
        "def double(x): return x * 2\n"
        "made = torch.compile(double, backend='eager')\n"
        "made(torch.ones(2)); first = device.compiles()\n"
        "made(torch.ones(2)); assert device.compiles() == first == 1, first\n"
        "made(torch.ones(2, dtype=torch.int64)); assert device.compiles() == 2\n"
    )
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", text], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
