"""The device that trains: waited for, named, its memory read. The only place that knows CUDA.

Runs inside the training program, after it has imported torch.
"""

from __future__ import annotations

import platform
from typing import Any

import torch


def _cuda() -> Any:
    """Return torch.cuda where the program uses it, else None: asking must not start a device."""
    return torch.cuda if torch.cuda.is_available() and torch.cuda.is_initialized() else None


def settle() -> None:
    """Wait until the device has done all that was asked of it."""
    cuda = _cuda()
    if cuda is not None:
        cuda.synchronize()


def name() -> str:
    """Return the name of the device, `cpu` where none is in use."""
    cuda = _cuda()
    return "cpu" if cuda is None else str(cuda.get_device_name())


def threads() -> int:
    """Return how many threads one operation may use on the CPU."""
    return int(torch.get_num_threads())


def peak_memory_bytes() -> int | None:
    """Return the most memory that was in use on the device; None without one."""
    cuda = _cuda()
    return None if cuda is None else int(cuda.max_memory_allocated())


def used() -> int | None:
    """Return on how many GPUs this process has had memory; None where it uses none."""
    cuda = _cuda()
    if cuda is None:
        return None
    return sum(int(cuda.max_memory_allocated(each) > 0) for each in range(cuda.device_count()))


def versions() -> dict[str, str | None]:
    """Return the versions of Python, torch, and CUDA or ROCm, as the program has them."""
    build = torch.version
    return {
        "python": platform.python_version(),
        "torch": str(torch.__version__),
        "cuda": getattr(build, "cuda", None) or getattr(build, "hip", None),
    }
