"""How long calls hold the host until the device is done: wrapped in a burst of their own."""

from __future__ import annotations

import threading
import time
from typing import Any, Final

import torch

from costplan.profiler import device
from costplan.profiler.wrapping import Wrapped

READS: Final = (
    *("item", "tolist", "nonzero", "is_nonzero", "masked_select", "unique"),
    *("__bool__", "__int__", "__float__", "__index__"),
)
"""Of a tensor: they wait where it lies on a device."""
MOVES: Final = ("cpu", "to", "cuda")
"""Of a tensor: they wait where it leaves a device, or comes there from pageable memory."""
WAITS: Final = ("synchronize",)
"""Of torch.cuda, its streams and its events."""


class Syncs:
    """The seconds that calls of the thread that began it have held the host.

    Functions of torch that are no methods (`torch.nonzero`), and tensors indexed by a mask, wait
    unseen.
    """

    def __init__(self) -> None:
        self.held_s = 0.0
        self._thread: int | None = None
        self._wrapped = Wrapped()

    def on(self) -> None:
        """Begin to count."""
        self._thread = threading.get_ident()
        for name in READS:
            self._wrapped.put(torch.Tensor, name, self._reads)
        for name in MOVES:
            self._wrapped.put(torch.Tensor, name, self._moves)
        for owner in device.waits_of():
            for name in WAITS:
                self._wrapped.put(owner, name, self._waits)

    def off(self) -> None:
        """Let all calls be as they were."""
        self._wrapped.off()

    def taken_s(self) -> float:
        """Return the seconds since the last time that this was asked."""
        held_s, self.held_s = self.held_s, 0.0
        return held_s

    def _reads(self, real: Any) -> Any:
        def call(tensor: Any, *args: Any, **kwargs: Any) -> Any:
            began_s = time.perf_counter()
            found = real(tensor, *args, **kwargs)
            if on_device(tensor):
                self._add(time.perf_counter() - began_s)
            return found

        return call

    def _moves(self, real: Any) -> Any:
        def call(tensor: Any, *args: Any, **kwargs: Any) -> Any:
            began_s = time.perf_counter()
            found = real(tensor, *args, **kwargs)
            if on_device(tensor) != on_device(found):
                self._add(time.perf_counter() - began_s)
            return found

        return call

    def _waits(self, real: Any) -> Any:
        def call(*args: Any, **kwargs: Any) -> Any:
            began_s = time.perf_counter()
            found = real(*args, **kwargs)
            self._add(time.perf_counter() - began_s)
            return found

        return call

    def _add(self, held_s: float) -> None:
        if threading.get_ident() == self._thread:
            self.held_s += held_s


def on_device(value: Any) -> bool:
    """Return whether a value is a tensor that lies on a device."""
    return isinstance(value, torch.Tensor) and value.device.type != "cpu"
