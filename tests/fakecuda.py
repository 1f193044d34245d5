"""A CUDA with a queue and a clock of its own, in the form that torch.cuda has."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest

GB = 10**9


class Clock:
    """The host's, moved by hand."""

    def __init__(self) -> None:
        self.now_s = 100.0

    def perf_counter(self) -> float:
        return self.now_s


class Event:
    """Reached when all that was put before it is done."""

    def __init__(self, cuda: Cuda) -> None:
        self.cuda, self.at_s = cuda, float("nan")

    def record(self, stream: object) -> None:
        self.at_s = max(self.cuda.clock.now_s, self.cuda.done_s) + self.cuda.launch_s

    def elapsed_time(self, later: Event) -> float:
        if self.cuda.done_s > self.cuda.clock.now_s:
            raise RuntimeError("Both events must be completed before calculating elapsed time.")
        return (later.at_s - self.at_s) * 1_000


class Properties(NamedTuple):
    uuid: object


class Cuda:
    """What `torch.cuda` is to a program that uses it."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.done_s = 0.0
        self.launch_s = 5e-6
        self.stats = {
            "num_device_alloc": 3, "num_device_free": 1, "num_alloc_retries": 2, "num_ooms": 1,
        }  # fmt: skip
        self.peak_bytes, self.free_bytes, self.reserved_bytes = 6 * GB, 10 * GB, 8 * GB
        self.synchronized: list[Any] = []

    def launch(self, takes_s: float) -> None:
        """Put work into the queue, as a program does."""
        self.done_s = max(self.clock.now_s, self.done_s) + takes_s

    # --- in the form of torch.cuda --------------------------------------------------------------

    def is_initialized(self) -> bool:
        return True

    def is_available(self) -> bool:
        return True

    def device_count(self) -> int:
        return 1

    def synchronize(self, place: object = None) -> None:
        self.synchronized.append(place)
        self.clock.now_s = max(self.clock.now_s, self.done_s)

    def Event(self, *, enable_timing: bool) -> Event:  # noqa: N802
        assert enable_timing
        return Event(self)

    def current_stream(self, place: object = None) -> object:
        return object()

    def get_device_name(self, place: object = None) -> str:
        return "NVIDIA GeForce RTX 4090"

    def get_device_properties(self, place: object = None) -> Properties:
        return Properties("8f3c0a9e-0000-0000-0000-000000000000")

    def max_memory_allocated(self, place: object = None) -> int:
        return self.peak_bytes

    def reset_peak_memory_stats(self, place: object = None) -> None:
        self.peak_bytes = 0

    def mem_get_info(self, place: object = None) -> tuple[int, int]:
        return self.free_bytes, 24 * GB

    def memory_reserved(self, place: object = None) -> int:
        return self.reserved_bytes

    def memory_stats(self, place: object = None) -> dict[str, int]:
        return dict(self.stats)


class Broken:
    """A CUDA after an error that stays: every call fails."""

    def is_initialized(self) -> bool:
        return True

    def __getattr__(self, name: str) -> Any:
        def fails(*_: object, **__: object) -> Any:
            raise RuntimeError("CUDA error: device-side assert triggered")

        return fails


def use(monkeypatch: pytest.MonkeyPatch, device: Any) -> tuple[Cuda, Clock]:
    """Let the adapter find this CUDA, and the host live by its clock."""
    clock = Clock()
    cuda = Cuda(clock)
    monkeypatch.setattr(device.torch, "cuda", cuda)
    monkeypatch.setattr(device._USED, "places", ())
    monkeypatch.setattr(device, "time", SimpleNamespace(perf_counter=clock.perf_counter))
    return cuda, clock
