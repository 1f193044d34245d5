"""A torch that fails in each way, as text: it is written beside a child that imports it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pathlib import Path

TORCH: Final = """\
# A torch that does what FAKE_TORCH says.

import os
import signal
import sys

MODE = os.environ.get("FAKE_TORCH", "right")
print("a package that talks on standard output")
if MODE == "broken":
    raise ImportError("libcudart.so.12: cannot open shared object file")
if MODE == "needs numpy":
    raise ModuleNotFoundError("No module named 'numpy'", name="numpy")
if MODE == "killed at import":
    os.kill(os.getpid(), signal.SIGKILL)

CUDA = None if MODE == "cpu" else "12.4"
__version__ = "2.5.1+cpu" if MODE == "cpu" else "2.5.1+cu124"
float64, float32, float16, bfloat16 = "float64", "float32", "float16", "bfloat16"


class Tensor:
    # One number that stands for all of a tensor, and where it lies.

    def __init__(self, value, dtype=float64, place="cpu"):
        self.value, self.dtype, self.place = value, dtype, place

    def to(self, where):
        if where in (float64, float32, float16, bfloat16):
            return Tensor(self.value, where, self.place)
        return Tensor(self.value, self.dtype, where)

    def _made(self, value):
        if self.place != "cpu":
            if MODE == "no kernel":
                raise RuntimeError(
                    "CUDA error: no kernel image is available for execution on the device\\n"
                    "Compile with `TORCH_USE_CUDA_DSA` to enable device-side assertions."
                )
            if MODE == "killed" and self.dtype == bfloat16:
                os.kill(os.getpid(), signal.SIGKILL)
            if MODE == "odd" and self.dtype == bfloat16:
                raise KeyError("not a failure that anybody foresaw")
            if MODE == "leaves" and self.dtype == float16:
                sys.exit(7)
            if MODE == "wrong" and self.dtype == float16:
                value = value * 1.5
            if MODE == "nan" and self.dtype == float16:
                value = float("nan")
        return Tensor(value, self.dtype, self.place)

    def __matmul__(self, other):
        return self._made(self.value * other.value)

    def __add__(self, other):
        return self._made(self.value + other.value)

    def __sub__(self, other):
        return Tensor(self.value - other.value, self.dtype, self.place)

    def abs(self):
        return Tensor(abs(self.value), self.dtype, self.place)

    def max(self):
        return self

    def item(self):
        return self.value


def manual_seed(seed):
    pass


def randn(*shape, dtype):
    return Tensor(2.0, dtype)


def relu(tensor):
    return tensor._made(tensor.value)


class _Namespace:
    def __init__(self, **names):
        self.__dict__.update(names)


class cuda:
    @staticmethod
    def is_available():
        return MODE not in ("cpu", "no driver")

    @staticmethod
    def init():
        if CUDA is None:
            raise AssertionError("Torch not compiled with CUDA enabled")
        raise RuntimeError("Found no NVIDIA driver on your system.\\nPlease check")

    @staticmethod
    def device_count():
        return 2 if MODE == "two" else 1

    @staticmethod
    def get_device_capability(index):
        if MODE == "lost":
            raise RuntimeError("CUDA unknown error")
        return (7, 5) if MODE == "turing" else (12, 0)

    @staticmethod
    def get_device_name(index):
        return "NVIDIA GeForce RTX 5090"

    @staticmethod
    def get_arch_list():
        return ["sm_50", "sm_90"]


version = _Namespace(cuda=CUDA, hip=None)
backends = _Namespace(cuda=_Namespace(matmul=_Namespace()), cudnn=_Namespace())
nn = _Namespace(functional=_Namespace(conv2d=lambda image, weight: image @ weight))
"""
VERSION: Final = """\
# Which build this is; read without importing the package.

import os

cpu = os.environ.get("FAKE_TORCH") == "cpu"
cuda = None if cpu else "12.4"
__version__ = "2.5.1+cpu" if cpu else "2.5.1+cu124"
"""


def put(folder: Path) -> Path:
    """Write the package into a folder, which belongs on the path of the child."""
    package = folder / "torch"
    package.mkdir(parents=True, exist_ok=True)
    (package / "__init__.py").write_text(TORCH, encoding="utf-8")
    (package / "version.py").write_text(VERSION, encoding="utf-8")
    return folder
