"""The device that trains: waited for, named, its memory and its clock read. All that knows CUDA.

Runs inside the training program, after it has imported torch. Nothing here starts a device that
the program does not use, and nothing stops the program: what cannot be asked is None.
"""

from __future__ import annotations

import platform
import sys
import time
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import torch

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

FAILS: Final = (
    *(ArithmeticError, AssertionError, AttributeError, ImportError, LookupError, OSError),
    *(RuntimeError, TypeError, ValueError, Warning),
)
"""What a call of torch may raise; an error of CUDA is a RuntimeError, and a program may have made
warnings errors."""
MS_PER_S: Final = 1_000


class Counts(NamedTuple):
    """What was counted since the program began; None where it is not counted."""

    allocations: int | None
    """Calls of the driver that took or gave back device memory."""
    retries: int | None
    """Of them those that failed, so that the cache was emptied first."""
    failures: int | None
    """Times that the device had no memory left for the program."""
    compiles: int | None
    """Functions that torch.compile compiled, again or for the first time."""


class _Used:
    """The devices of the parameters that are trained, the first in use most; none until seen."""

    places: tuple[Any, ...] = ()


_USED = _Used()


def _cuda() -> Any:
    """Return torch.cuda where the program has started it, else None: asking must not start it."""
    cuda = getattr(torch, "cuda", None)
    return cuda if cuda is not None and cuda.is_initialized() else None


def _asked(call: Callable[..., Any], *given: Any) -> Any:
    """Return what a call gives; None where it fails."""
    try:
        return call(*given)
    except FAILS:
        return None


def _places() -> Sequence[Any]:
    """Return the devices in use: those of the parameters, else the present one."""
    return _USED.places or (None,)


def trains(optimizer: Any) -> None:
    """Note on which devices an optimizer's parameters lie."""
    groups = getattr(optimizer, "param_groups", None) or ()
    try:
        found = dict.fromkeys(
            each.device for group in groups for each in group["params"] if each.is_cuda
        )
    except FAILS:
        return
    _USED.places = tuple(dict.fromkeys([*_USED.places, *found]))


def in_use() -> bool:
    """Return whether the program computes on a GPU."""
    return _cuda() is not None


def settle() -> None:
    """Wait until the device has done all that was asked of it."""
    cuda = _cuda()
    if cuda is not None:
        for place in _places():
            _asked(cuda.synchronize, place)


def waits_of() -> tuple[Any, ...]:
    """Return what has a `synchronize` that a program may call; nothing without a device."""
    cuda = _cuda()
    found = () if cuda is None else (cuda, _asked(getattr, cuda, "Stream"), cuda.Event)
    return tuple(each for each in found if each is not None)


def name() -> str:
    """Return the name of the device, `cpu` where none is in use."""
    cuda = _cuda()
    if cuda is None:
        return "cpu"
    return str(_asked(cuda.get_device_name, _places()[0]) or "gpu")


def uuid() -> str | None:
    """Return what the driver calls the device; None without one, or where torch cannot say."""
    cuda = _cuda()
    about = None if cuda is None else _asked(cuda.get_device_properties, _places()[0])
    found = getattr(about, "uuid", None)
    return None if found is None else "GPU-" + str(found).removeprefix("GPU-")


def threads() -> int:
    """Return how many threads one operation may use on the CPU."""
    return int(torch.get_num_threads())


def is_pinned(tensor: Any) -> bool:
    """Return whether a tensor lies in memory that a device copies from without the host."""
    return _cuda() is not None and tensor.device.type == "cpu" and bool(_asked(tensor.is_pinned))


def pinned(tensor: Any) -> Any:
    """Return a tensor in pinned memory, or itself where there is none to be had."""
    found = _asked(tensor.pin_memory) if _cuda() is not None else None
    return tensor if found is None else found


# --- memory -------------------------------------------------------------------------------------


def peak_memory_bytes() -> int | None:
    """Return the most memory that tensors held since `forget_peak`, on the fullest device."""
    return _most(lambda cuda, place: cuda.max_memory_allocated(place))


def forget_peak() -> None:
    """Count the peak from here on."""
    cuda = _cuda()
    if cuda is not None:
        for place in _places():
            _asked(cuda.reset_peak_memory_stats, place)


def room_bytes() -> int | None:
    """Return what this process can have of the device: what is free, and what it keeps."""

    def least(cuda: Any, place: Any) -> int:
        free_bytes, _ = cuda.mem_get_info(place)
        return int(free_bytes) + int(cuda.memory_reserved(place))

    found = _each(least)
    return min(found) if found else None


def _each(ask: Callable[[Any, Any], Any]) -> list[int]:
    cuda = _cuda()
    if cuda is None:
        return []
    found = [_asked(ask, cuda, place) for place in _places()]
    return [int(each) for each in found if each is not None]


def _most(ask: Callable[[Any, Any], Any]) -> int | None:
    return max(_each(ask), default=None)


# --- counters -----------------------------------------------------------------------------------


def counts() -> Counts:
    """Return what the allocator and torch.compile have counted; neither is started by asking."""
    return Counts(
        _sum(lambda stats: stats["num_device_alloc"] + stats["num_device_free"]),
        _sum(lambda stats: stats["num_alloc_retries"]),
        _sum(lambda stats: stats["num_ooms"]),
        compiles(),
    )


def _sum(of: Callable[[Any], Any]) -> int | None:
    found = _each(lambda cuda, place: of(cuda.memory_stats(place)))
    return sum(found) if found else None


def compiles() -> int | None:
    """Return how often torch.compile has compiled; None where the program does not use it."""
    module = sys.modules.get("torch._dynamo.utils")
    counters = getattr(module, "counters", None)
    if not counters:  # empty as well where the program has compiled nothing
        return None
    found = _asked(lambda: dict(counters).get("frames", {}).get("total", 0))
    return None if found is None else int(found)


# --- its clock ----------------------------------------------------------------------------------


class Marks:
    """When the device came to each of some moments, beside when the host did, on one clock.

    An event is put into the device's queue at each; the device reaches it once it has done what
    stood before it. Nothing waits while they are put.
    """

    def __init__(self) -> None:
        self.origin: Any = None
        self.origin_s = 0.0
        self.events: list[Any] = []
        self.hosts_s: list[float] = []
        self.problem = False

    def start(self) -> None:
        """Forget all marks, and set both clocks to one moment: the device has nothing to do."""
        self.origin, self.problem = None, False
        self.events, self.hosts_s = [], []
        if _cuda() is None:
            return
        _event()  # the first of a process takes longer
        settle()
        before_s = time.perf_counter()
        self.origin = _event()
        self.origin_s = (before_s + time.perf_counter()) / 2

    def mark(self, host_s: float) -> int | None:
        """Return the number of the mark that is put here; None where none can be."""
        if self.origin is None or self.problem:
            return None
        event = _event()
        if event is None:
            self.problem = True
            return None
        self.events.append(event)
        self.hosts_s.append(host_s)
        return len(self.events) - 1

    def times_s(self) -> list[float] | None:
        """Return when the device came to each mark, by the host's clock; waits for the last."""
        if self.origin is None or self.problem or not self.events:
            return None
        settle()
        now_s, found = self.origin_s, []
        before = self.origin
        for event in self.events:
            took_ms = _asked(before.elapsed_time, event)
            if took_ms is None:
                return None
            now_s += took_ms / MS_PER_S
            found.append(now_s)
            before = event
        return found

    def leads_s(self) -> list[float] | None:
        """Return by how much the device was behind the host at each mark."""
        times_s = self.times_s()
        if times_s is None:
            return None
        return [device_s - host_s for device_s, host_s in zip(times_s, self.hosts_s, strict=True)]


def _event() -> Any:
    """Return an event that was put into the queue of the present stream; None where it fails."""
    cuda, place = _cuda(), _places()[0]

    def put() -> Any:
        event = cuda.Event(enable_timing=True)
        event.record(cuda.current_stream(place))
        return event

    return None if cuda is None else _asked(put)


def used() -> int | None:
    """Return on how many GPUs this process has had memory; None where it uses none."""
    cuda = _cuda()

    def count() -> int:
        places = range(cuda.device_count())
        return sum(int(cuda.max_memory_allocated(place) > 0) for place in places)

    found = None if cuda is None else _asked(count)
    return None if found is None else int(found)


def versions() -> dict[str, str | None]:
    """Return the versions of Python, torch, and CUDA or ROCm, as the program has them."""
    build = torch.version
    return {
        "python": platform.python_version(),
        "torch": str(torch.__version__),
        "cuda": getattr(build, "cuda", None) or getattr(build, "hip", None),
    }
