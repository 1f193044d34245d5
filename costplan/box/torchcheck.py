"""Tries torch: a real kernel in each precision on each GPU, against the processor's result.

Runs alone, as the program of the interpreter that will train: the standard library and torch
only, Python 3.8 or newer. It prints a marked line after each step, so that whoever started it
knows how far it came if a kernel takes the process down.
"""

from __future__ import annotations

import importlib
import json
import math
import sys
import warnings
from typing import Any

MARK = "costplan-torch-1 "
SIDE = 256
"""Of the matrices: large enough for the kernels that training uses."""
PRECISIONS = ("fp32", "tf32", "fp16", "bf16")
DTYPES = {"fp32": "float32", "tf32": "float32", "fp16": "float16", "bf16": "bfloat16"}
AMPERE = 8
"""Major compute capability from which tf32 and bf16 are in hardware."""
SHORT = 300

Trouble = (RuntimeError, AssertionError, AttributeError, TypeError, ValueError, OSError)


def say(kind: str, **fields: Any) -> None:
    """Print one marked line."""
    print(MARK + json.dumps(dict(fields, kind=kind)), flush=True)  # noqa: T201


def short(error: BaseException) -> str:
    """Return the first line of an error."""
    lines = str(error).strip().splitlines()
    return (lines[0] if lines else type(error).__name__)[:SHORT]


def loaded() -> Any:
    """Return torch; None, and said, where it is not there or does not load."""
    say("begin", step="import torch")
    try:
        return importlib.import_module("torch")
    except ModuleNotFoundError as error:
        if error.name == "torch":
            say("missing")
        else:
            say("broken", why=short(error))
    except (ImportError, *Trouble) as error:
        say("broken", why=short(error))
    return None


def found(torch: Any) -> list[tuple[int, tuple[int, int]]]:
    """Say what torch is and sees; return its GPUs with their compute capabilities."""
    available, why = bool(torch.cuda.is_available()), None
    if not available:
        try:
            torch.cuda.init()
        except Trouble as error:
            why = short(error)
    say(
        "torch",
        version=str(torch.__version__),
        cuda=torch.version.cuda,
        hip=getattr(torch.version, "hip", None),
        available=available,
        unavailable=why,
        arches=list(torch.cuda.get_arch_list()) if available else [],
    )
    devices = []
    for index in range(torch.cuda.device_count() if available else 0):
        say("begin", step=f"GPU {index}")
        major, minor = torch.cuda.get_device_capability(index)
        name = torch.cuda.get_device_name(index)
        say("device", index=index, name=name, capability=f"{major}.{minor}")
        devices.append((index, (major, minor)))
    return devices


def gap(torch: Any, got: Any, want: Any) -> float:
    """Return the largest difference over the largest value."""
    off = (got.to("cpu").to(torch.float64) - want).abs().max().item()
    return float(off / want.abs().max().item())


def off_by(torch: Any, place: str, precision: str) -> float:
    """Return how far a device is off, by torch's own kernels, a matrix product and a convolution.

    Both sides get inputs that are rounded to the precision; the processor computes in double.
    """
    fast = precision == "tf32"
    torch.backends.cuda.matmul.allow_tf32 = fast
    torch.backends.cudnn.allow_tf32 = fast
    dtype, double = getattr(torch, DTYPES[precision]), torch.float64
    torch.manual_seed(1)

    def made(*shape: int) -> Any:
        return torch.randn(*shape, dtype=double).to(dtype)

    def both(compute: Any, *inputs: Any) -> float:
        want = compute(*(each.to(double) for each in inputs))
        return gap(torch, compute(*(each.to(place) for each in inputs)), want)

    product = both(
        lambda a, b, c: torch.relu(a @ b) + c, made(SIDE, SIDE), made(SIDE, SIDE), made(SIDE, SIDE)
    )
    conv = torch.nn.functional.conv2d
    each = (product, both(conv, made(4, 16, 32, 32), made(16, 16, 3, 3)))
    return next((gap for gap in each if not math.isfinite(gap)), max(each))


def attempt(torch: Any, device: int | None, precision: str) -> None:
    """Try one precision on one device and say what came out."""
    where = "the processor" if device is None else f"GPU {device}"
    say("begin", step=f"{precision} on {where}")
    worst, problem = None, None
    try:
        worst = off_by(torch, "cpu" if device is None else f"cuda:{device}", precision)
    except Trouble as error:
        problem = short(error)
    if worst is not None and not math.isfinite(worst):
        worst, problem = None, "the result is not a finite number"
    say("kernel", device=device, precision=precision, worst_relative=worst, problem=problem)


def kernels(torch: Any) -> None:
    """Try every precision that the hardware has on every GPU, or the processor where none is."""
    devices = found(torch)
    if not devices:
        attempt(torch, None, "fp32")
    for device, capability in devices:
        for precision in PRECISIONS:
            if capability[0] >= AMPERE or precision in ("fp32", "fp16"):
                attempt(torch, device, precision)


def main() -> None:
    """Try everything; the last line says that nothing is missing."""
    if sys.path and not sys.path[0]:
        del sys.path[0]  # no file of the folder one stands in is torch
    warnings.simplefilter("ignore")
    torch = loaded()
    if torch is not None:
        try:
            kernels(torch)
        except Trouble as error:
            say("broken", why=short(error))
    say("end")


if __name__ == "__main__":
    main()
