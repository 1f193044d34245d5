"""What ranks wrote of their bursts, by hand: a loader that holds up an RTX 4090."""

from __future__ import annotations

from typing import Any

from costplan.profiler.answering import profile_of
from costplan.profiler.parts import Here
from costplan.records.checks import CpuFacts, MemoryFacts
from costplan.records.profiles import Profile
from costplan.records.ranks import RankTaken

HERE = Here(
    CpuFacts(reported=32, affinity=32, quota_cores=8.0),
    MemoryFacts(total_bytes=128_000_000_000, limit_bytes=32_000_000_000),
    "Made-up CPU",
)


def rank(*phases: tuple[str, list[float], float], **facts: Any) -> RankTaken:
    """Return a rank: each phase with its steps and the wait in each of them."""
    told = {
        "samples": 16, "batches_per_epoch": 2250, "workers": 4, "prefetch": 2,
        "device": "NVIDIA GeForce RTX 4090", "gpus": 1, "threads": 8, "startup_s": 9.5,
        "peak_memory_bytes": 11_400_000_000, "finished": True,
        "python": "3.12.3", "torch": "2.11.0+cu128", "cuda": "12.8",
    }  # fmt: skip
    return RankTaken.model_validate({
        "pid": 1, "rank": 0, "world": 1, "optimizer_steps": 99, "facts": told | facts,
        "phases": [
            {"name": name, "steps_s": steps, "waits_s": [wait_s] * len(steps)}
            for name, steps, wait_s in phases
        ],
    })  # fmt: skip


def slow_loader(**facts: Any) -> RankTaken:
    """Return a step of 100 ms: 80 of loader, 16 of device, 4 of host; 8 workers give a batch in 50.

    Steps of 99 and of 101 ms in turn, so that the mean has an interval.
    """
    tried = [{"workers": 4, "batches": 30, "first_s": 0.4, "batches_per_s": 10.0},
             {"workers": 8, "batches": 30, "first_s": 0.6, "batches_per_s": 20.0}]  # fmt: skip
    return rank(
        ("real", [0.099, 0.101] * 7, 0.08),
        ("replay", [0.020] * 10, 0.0), ("half", [0.012] * 10, 0.0),
        ("real", [0.099, 0.101] * 8, 0.08),
        ("replay", [0.020] * 10, 0.0), ("half", [0.012] * 10, 0.0),
        ("replay", [0.020] * 10, 0.0), ("double", [0.036] * 10, 0.0), **({"loader": tried} | facts),
    )  # fmt: skip


def profiled(*ranks: RankTaken) -> Profile:
    """Return the profile of ranks, on a box with 8 usable CPUs."""
    return profile_of(ranks, code=0, spent_s=74.0, here=HERE)
