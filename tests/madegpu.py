"""A training program on a made-up CUDA, led by the conductor: its clock is moved by hand.

`meta` stands for the device: torch has it everywhere, and nothing comes back from it.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import sys
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import fakecuda
import pytest

from costplan.records.ranks import RankTaken

if TYPE_CHECKING:
    from pathlib import Path

torch = pytest.importorskip("torch")
bursts = pytest.importorskip("costplan.profiler.bursts")
conductor = pytest.importorskip("costplan.profiler.conductor")
device = pytest.importorskip("costplan.profiler.device")
ending = pytest.importorskip("costplan.profiler.ending")
gauges = pytest.importorskip("costplan.profiler.gauges")
syncs = pytest.importorskip("costplan.profiler.syncs")
visits = pytest.importorskip("costplan.profiler.visits")

BATCH = 8
MOST_EPOCHS = 200
MOST_STEPS = 100_000
"""In an epoch: replayed batches have no end."""


class Made:
    """A loop: what a batch of it costs where, and what it does with it."""

    loader_s, host_s, device_s = 0.0005, 0.001, 0.010
    copy_s = 0.0
    """Of a batch to the device; from pageable memory, so that the host waits for it."""
    moves, syncs, pins, reads = True, False, False, False
    loads = True
    """Whether it has a loader of torch's."""
    fixed_bytes, grows_bytes = 2 * fakecuda.GB, 2 * fakecuda.GB
    """On the device: of the model, and of a batch."""

    def __init__(self, **more: Any) -> None:
        for name, value in more.items():
            assert hasattr(type(self), name)
            setattr(self, name, value)

    def step(self, batch: list[Any], cuda: fakecuda.Cuda, clock: fakecuda.Clock) -> bool:
        """Train with a batch; return whether the optimizer stepped."""
        image, label = batch
        size = len(image) / BATCH
        if self.pins:
            image = image.pin_memory()
        if self.reads:
            label.tolist()
        if self.moves:
            image, label = image.to("meta"), label.to("meta")
        cuda.peak_bytes = max(cuda.peak_bytes, int(self.fixed_bytes + size * self.grows_bytes))
        cuda.launch(self.device_s * size)
        if self.syncs:
            cuda.synchronize()
        clock.now_s += self.host_s
        return True


def led(
    made: Made, folder: Path, monkeypatch: pytest.MonkeyPatch, *, on_gpu: bool = True,
    budget_s: float = 60.0, **settings: Any,
) -> RankTaken:  # fmt: skip
    """Return what a program writes of its bursts until they end it."""
    cuda, clock = fakecuda.use(monkeypatch, device)
    if not on_gpu:
        monkeypatch.setattr(cuda, "is_initialized", lambda: False)
    _clocked(clock, monkeypatch)
    _copying(made, cuda, clock, monkeypatch)
    monkeypatch.setattr(visits.coldfiles, "alone", lambda loader, longest_s: {})
    monkeypatch.setattr(ending, "_times", [0])
    leads = conductor.Conductor({
        "folder": str(folder), "budget_s": budget_s, "began_s": clock.now_s, "keep_going": False,
        **settings,
    })  # fmt: skip
    try:
        _trained(made, leads, cuda, clock)
    except ending.Ended:
        pass
    except RuntimeError as error:  # as Python does: it keeps what ends a program, then cleans up
        monkeypatch.setattr(sys, "last_value", error, raising=False)
        leads.finish()
    finally:
        atexit.unregister(leads.finish)
    (path,) = folder.glob("*.json")
    return RankTaken.model_validate(json.loads(path.read_text()))


def _clocked(clock: fakecuda.Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let everything live by one clock."""
    fake = SimpleNamespace(
        perf_counter=clock.perf_counter, process_time=lambda: 0.0, thread_time=lambda: 0.0
    )
    for module in (conductor, visits, bursts, gauges, syncs):
        monkeypatch.setattr(module, "time", fake)
    monkeypatch.setitem(bursts.Phase.__init__.__kwdefaults__, "clock", clock.perf_counter)


def _copying(
    made: Made, cuda: fakecuda.Cuda, clock: fakecuda.Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Let what comes to the device take its time, and the host wait for it."""
    real_to = torch.Tensor.to

    def to(tensor: Any, *args: Any, **kwargs: Any) -> Any:
        if tensor.device.type == "cpu" and "meta" in map(str, args) and tensor.dim() == 2:
            cuda.launch(made.copy_s * len(tensor) / BATCH)
            clock.now_s = max(clock.now_s, cuda.done_s)
        return real_to(tensor, *args, **kwargs)

    monkeypatch.setattr(torch.Tensor, "to", to)
    monkeypatch.setattr(torch.Tensor, "pin_memory", lambda tensor: tensor.clone())
    monkeypatch.setattr(torch.Tensor, "is_pinned", lambda tensor: False)


def _trained(made: Made, leads: Any, cuda: fakecuda.Cuda, clock: fakecuda.Clock) -> None:
    """Train until the bursts end it, or for too long."""
    data = torch.utils.data.TensorDataset(torch.zeros(4096, 4), torch.zeros(4096))
    loader = torch.utils.data.DataLoader(data, batch_size=BATCH)
    optimizer = SimpleNamespace(param_groups=[])

    def real_next(iterator: Any) -> Any:
        clock.now_s += made.loader_s
        return type(iterator).__next__(iterator)

    while not made.loads:
        made.step([torch.zeros(BATCH, 4), torch.zeros(BATCH)], cuda, clock)
        leads.stepped(optimizer)
    for _ in range(MOST_EPOCHS):
        iterator = iter(loader)
        iterator._costplan_loader = loader
        with contextlib.suppress(StopIteration):
            for _ in range(MOST_STEPS):
                if made.step(leads.next_batch(iterator, real_next), cuda, clock):
                    leads.stepped(optimizer)


def names(rank: RankTaken) -> list[str]:
    """Return the bursts in the order in which each first came."""
    return list(dict.fromkeys(each.name for each in rank.phases))
