"""What can be slow in a training loop, in whole units: microseconds, files, operations, layers.

Spinning is counted in time of the processor, so that a busy machine does not make it shorter.
"""

from __future__ import annotations

import time
from pathlib import Path
from statistics import median
from typing import Any

import torch

BATCH = 16
"""Samples of a batch for which units are counted."""
WIDTH = 256
CHANNELS = 4
US = 1e-6

LOADER = ("spin", "sleep", "files", "collate")
HOST = ("python", "tiny", "optimizer")
DEVICE = ("matmul", "conv")


def burn(seconds: float) -> None:
    """Keep the processor busy in Python."""
    until_s = time.thread_time() + seconds
    while time.thread_time() < until_s:
        pass


def small_files(folder: Path) -> list[Path]:
    """Return 64 files of 64 KiB, made where they are missing."""
    found = [folder / f"{number:02}.raw" for number in range(64)]
    for number, path in enumerate(found):
        if not path.exists():
            path.write_bytes(bytes([number]) * 65_536)
    return found


class Costs:
    """One slow thing, and how many units of it a batch costs."""

    def __init__(self, slow: str, files: list[Path]) -> None:
        self.slow, self.files = slow, files
        self.units = 0
        self.read = 0
        self.scalars: list[Any] = []
        self.weight = torch.randn(WIDTH, WIDTH) / WIDTH**0.5
        self.kernel = torch.randn(CHANNELS, CHANNELS, 3, 3) / (9 * CHANNELS) ** 0.5
        self.widen = torch.randn(64, WIDTH) / 8

    def of_sample(self) -> None:
        """Spend what loading one sample costs."""
        each = self.units / BATCH
        if self.slow == "spin":
            burn(each * US)
        elif self.slow == "sleep":
            time.sleep(each * US)
        elif self.slow == "files":
            for _ in range(round(each)):
                self.read += 1
                content = bytearray(self.files[self.read % len(self.files)].read_bytes())
                torch.frombuffer(content, dtype=torch.uint8).float().mean()

    def of_collate(self, samples: int) -> None:
        """Spend what putting a batch together costs."""
        if self.slow == "collate":
            burn(self.units * US * samples / BATCH)

    def of_step(self) -> None:
        """Spend what the loop itself costs, however large the batch."""
        if self.slow == "python":
            burn(self.units * US)
        elif self.slow == "tiny":
            value = torch.ones(8)
            for _ in range(self.units):
                value = value * 0.5

    def of_device(self, x: Any) -> Any:
        """Return something small that took large operations on a batch to compute."""
        with torch.no_grad():
            if self.slow == "matmul":
                wide = x @ self.widen
                for _ in range(self.units):
                    wide = wide @ self.weight
                return wide.mean() * 1e-6
            if self.slow == "conv":
                image = x.unsqueeze(1).expand(-1, CHANNELS, -1, -1)
                for _ in range(self.units):
                    image = torch.nn.functional.conv2d(image, self.kernel, padding=1)
                return image.mean() * 1e-6
        return 0.0

    def parameters(self, every: int) -> list[Any]:
        """Return the many small parameters of a slow optimizer that steps each `every` batches."""
        if self.slow == "optimizer" and not self.scalars:
            self.scalars = [torch.nn.Parameter(torch.ones(4)) for _ in range(self.units * every)]
        return self.scalars

    def of_parameters(self) -> Any:
        """Return a loss that gives each of the many small parameters a gradient."""
        return torch.stack(self.scalars).mean() * 1e-6 if self.scalars else 0.0


def unit_s(costs: Costs, x: Any) -> float:
    """Return how long one unit takes here."""
    slow = costs.slow
    if slow in ("spin", "sleep", "collate", "python", "none"):
        return US
    tried = {"files": 64 * BATCH, "tiny": 500, "optimizer": 200, "matmul": 4, "conv": 4}[slow]
    trial = Costs(slow, costs.files)
    trial.units = tried
    if slow == "optimizer":
        return timed(_adam(trial.parameters(1))) / tried
    if slow == "files":
        return timed(trial.of_sample) / (tried / BATCH)
    return timed(trial.of_step if slow == "tiny" else lambda: trial.of_device(x)) / tried


def _adam(parameters: list[Any]) -> Any:
    for each in parameters:
        each.grad = torch.ones_like(each)
    return slow_adam(parameters).step


def slow_adam(parameters: list[Any]) -> Any:
    """Return an Adam that goes through its parameters one by one."""
    return torch.optim.Adam(parameters, 1e-3, foreach=False)


def timed(call: Any, *, times: int = 15) -> float:
    """Return the median of the seconds that a call takes."""
    call()
    found = []
    for _ in range(times):
        began_s = time.perf_counter()
        call()
        found.append(time.perf_counter() - began_s)
    return median(found)
