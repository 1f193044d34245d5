"""What a kernel, a copy or a call is for, by its name: CUDA and ROCm, old and new."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from costplan.records.traces import Direction, HostMemory, KernelName

# The first that fits.
_CLASSES: Final[tuple[tuple[KernelName, str], ...]] = (
    ("communication", r"nccl|rccl|all_?reduce_kernel|one_shot_all|two_shot_all"),
    # Fused kernels name all that they fuse; what Triton generates says first what it is.
    ("elementwise", r"^triton_poi"),
    ("norm/reduce", r"^triton_(red|per)"),
    ("gemm/conv", r"^triton_(tem|mm)|splitk"),
    ("attention", r"flash|fmha|attention|attn|scaled_dot"),
    # Before gemm/conv: cuDNN and MIOpen put their own name into those too.
    ("copy", r"nchwtonhwc|nhwctonchw|transpose|permute"),
    ("norm/reduce", r"norm(?!al)|bn_[fb]w|softmax|reduce|reduction|welford"),
    ("gemm/conv", r"gemm|gemv|conv(?!ert)|cutlass|cublas|cudnn|cijk_|xmma|winograd|[wd]grad"),
    ("gemm/conv", r"miopen|884|1688|16816|mfma"),
    ("copy", r"copy|memcpy|memset|catarray|gather|scatter|index|embedding"),
    ("elementwise", r"elementwise|vectorized|pointwise|foreach|multi_tensor|fill|dropout"),
    ("elementwise", r"adam|sgd|relu|gelu|silu|sigmoid|tanh|arange|distribution"),
)
_DIRECTION: Final = re.compile(r"\b(HtoD|DtoH|DtoD|PtoP|HtoH)\b")
_SPELT: Final[tuple[tuple[str, Direction], ...]] = (
    ("hosttodevice", "HtoD"),
    ("devicetohost", "DtoH"),
    ("devicetodevice", "DtoD"),
)
_SYNC: Final = re.compile(r"^(cuda|hip|cu)\w*Synchronize|^(cuda|hip)Memcpy(WithStream)?$")
_ALLOCATION: Final = re.compile(r"^(cuda|hip)(Malloc|Free)(Async)?$|^(cu|hip)Mem(Create|Release)$")
_LOADER: Final = re.compile(r"DataLoader\S*__next__|DataLoader\)#|^step/dataload$|dataloader_next$")
_STEP: Final = re.compile(r"^ProfilerStep(#(\d+))?")
_OPTIMIZER: Final = re.compile(r"^Optimizer\.step#")


@lru_cache(maxsize=10_000)
def kernel_class(name: str) -> KernelName:
    """Return what kind of work a kernel does.

    >>> kernel_class("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevComm*)")
    'communication'
    >>> kernel_class("Cijk_Ailk_Bljk_SB_MT32x32x16")
    'gemm/conv'
    """
    folded = name.lower()
    return next((found for found, pattern in _CLASSES if re.search(pattern, folded)), "other")


def direction(name: str) -> Direction:
    """Return from where to where a copy goes.

    >>> direction("Memcpy HtoD (Pageable -> Device)"), direction("CopyDeviceToHost")
    ('HtoD', 'DtoH')
    """
    for found in _DIRECTION.findall(name):
        known: Direction = found
        return known
    folded = name.lower()
    return next((known for text, known in _SPELT if text in folded), "unknown")


def host_memory(name: str) -> HostMemory:
    """Return the kind of host memory of a copy; `unknown` where the trace does not say."""
    if direction(name) in ("DtoD", "PtoP"):
        return "none"
    if "Pageable" in name:
        return "pageable"
    return "pinned" if "Pinned" in name else "unknown"


def waits(name: str) -> bool:
    """Return whether a call of the runtime holds the host until the device is done.

    >>> waits("cudaStreamSynchronize"), waits("hipMemcpyWithStream"), waits("cudaMemcpyAsync")
    (True, True, False)
    """
    return _SYNC.match(name) is not None


def allocates(name: str) -> bool:
    """Return whether a call takes or gives back device memory; pinned host memory is none."""
    return _ALLOCATION.match(name) is not None


def is_loader(name: str) -> bool:
    """Return whether a range is the wait for the next batch."""
    return _LOADER.search(name) is not None


def is_step(name: str) -> bool:
    """Return whether a range is a step marker."""
    return _STEP.match(name) is not None


def is_optimizer(name: str) -> bool:
    """Return whether a range is one step of an optimizer."""
    return _OPTIMIZER.match(name) is not None
