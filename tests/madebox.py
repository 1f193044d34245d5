"""A box in which everything is in order, to be spoiled one thing at a time."""

from __future__ import annotations

from typing import Any, Final

from costplan.records.checks import (
    BoxFacts,
    CacheFacts,
    CpuFacts,
    DeviceFacts,
    DiskFacts,
    GpuFacts,
    KernelTry,
    MemoryFacts,
    Needs,
    Promised,
    RunFacts,
    ShmFacts,
    TorchFacts,
)

GB: Final = 1_000_000_000
PRECISIONS: Final = ("fp32", "tf32", "fp16", "bf16")


def gpu(index: int = 0, **fields: Any) -> GpuFacts:
    """One RTX 4090 at rest."""
    made = {
        "index": index,
        "name": "NVIDIA GeForce RTX 4090",
        "driver": "570.86.10",
        "compute_capability": "8.9",
        "memory_total_mb": 24_564,
        "memory_used_mb": 4,
        "util_percent": 0,
        "pcie_width": 16,
        "pcie_width_max": 16,
        "pcie_gen_max": 4,
        "power_limit_watts": 450,
        "power_default_watts": 450,
        "clock_max_mhz": 3105,
        "slowed_by": (),
        "cards": ("RTX-4090",),
    }
    return GpuFacts(**{**made, **fields})


def tries(device: int | None = 0, **fields: Any) -> tuple[KernelTry, ...]:
    """A right kernel in each precision."""
    made = {"device": device, "worst_relative": 1e-7, **fields}
    return tuple(KernelTry(precision=each, **made) for each in PRECISIONS)


def torch(**fields: Any) -> TorchFacts:
    """A build for CUDA on which every kernel is right."""
    made: dict[str, Any] = {
        "python": "/usr/bin/python",
        "installed": True,
        "version": "2.7.1+cu126",
        "cuda": "12.6",
        "available": True,
        "arches": ("sm_50", "sm_80", "sm_86", "sm_89", "sm_90"),
        "devices": (DeviceFacts(index=0, name="NVIDIA GeForce RTX 4090", capability="8.9"),),
        "tries": tries(),
    }
    return TorchFacts(**{**made, **fields})


def run(**fields: Any) -> RunFacts:
    """A training run on a terminal that ssh opened."""
    made = {
        "pid": 42,
        "name": "train.py",
        "holds_gpu": True,
        "on_terminal": True,
        "ignores_hangup": False,
        "under_ssh": True,
        "cpu_s": 0.0,
    }
    return RunFacts(**{**made, **fields})


def disk(**fields: Any) -> DiskFacts:
    """A local disk of 100 GB."""
    made = {
        "path": "/workspace",
        "total_bytes": 100 * GB,
        "free_bytes": 90 * GB,
        "fstype": "ext4",
        "cold_mb_per_s": 1500,
        "warm_mb_per_s": 5000,
    }
    return DiskFacts(**{**made, **fields})


def cpu(**fields: Any) -> CpuFacts:
    """Sixteen cores, all usable."""
    made = {"reported": 16, "affinity": 16, "million_steps_per_s": 9.0}
    return CpuFacts(**{**made, **fields})


def box(**fields: Any) -> BoxFacts:
    """A box in order; a field given replaces it whole."""
    made: dict[str, Any] = {
        "age_s": 264,
        "gpus": (gpu(),),
        "gpu_present": True,
        "torch": torch(),
        "cpu": cpu(),
        "memory": MemoryFacts(total_bytes=64 * GB),
        "shm": ShmFacts(total_bytes=8 * GB, free_bytes=8 * GB),
        "disk": disk(),
        "caches": (CacheFacts(name="HF_HOME", path="/data/hf", fstype="ext4", mount="/data"),),
        "runs": (),
    }
    return BoxFacts(**{**made, **fields})


def needs(**fields: Any) -> Needs:
    """A job that needs 40 GB of disk, 10 of them for its environment."""
    made = {
        "name": "job",
        "needed_gb": 40,
        "wanted_gb": 52,
        "environment_gb": 10,
        "incoming_gb": 19,
    }
    return Needs(**{**made, **fields})


def promised(**fields: Any) -> Promised:
    """What the box in order keeps, whatever is not given."""
    return Promised(**fields)
