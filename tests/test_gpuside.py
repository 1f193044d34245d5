"""The GPU's side of a profile, put together: bursts, driver and trace."""

from __future__ import annotations

from typing import Any

import pytest

from costplan.profiler.gpuside import (
    NOTHING,
    Seen,
    gpu_of,
    notices,
    with_evidence,
    with_gpu_side,
)
from costplan.records.gpus import GpuSample
from costplan.records.ranks import RankTaken
from costplan.records.traces import Copies, KernelClass, TraceFacts
from costplan.records.verdicts import Measured, Verdict


def rank(**facts: Any) -> RankTaken:
    """Return a rank whose only burst ran from 10 to 20 s, the device 40 ms behind."""
    return RankTaken.model_validate({
        "pid": 1, "rank": 0, "world": 1, "optimizer_steps": 9,
        "facts": {"device": "H100", "gpu_uuid": "GPU-0"} | facts,
        "phases": [{"name": "replay", "steps_s": [0.1] * 9, "leads_s": [0.04] * 9,
                    "began_s": 10.0, "ended_s": 20.0}],
    })  # fmt: skip


def samples(*clocks: float) -> list[GpuSample]:
    return [
        GpuSample(at_s=10.0 + n, uuid="GPU-0", clock_mhz=clock, util_percent=100)
        for n, clock in enumerate(clocks)
    ]


BARE = Measured(step_s=0.1, replay_s=0.1)
TRACE = TraceFacts(
    step_s=0.2,
    busy_share=0.45,
    kernel_classes=(KernelClass(name="gemm/conv", count=9, kernel_s=1, share=1),),
    copies=(Copies(direction="HtoD", host_memory="pageable", count=6, copy_s=0.012),),
)


def test_bursts_driver_and_trace_each_add_their_own() -> None:
    seen = Seen(samples(1900, 1900, 1900), TRACE)
    found = with_gpu_side(BARE, rank(), seen)
    assert (found.lead_s, found.util_share) == (0.04, 1.0)
    assert found.busy_share == pytest.approx(0.9)  # 0.45 x 0.2 s of 0.1 s
    names = [each.name for each in with_evidence(Verdict(word="gpu", why="-"), seen).evidence]
    assert names == ["kernels", "copies"]


def test_without_any_of_them_nothing_is_added() -> None:
    bare = rank().model_copy(update={"phases": ()})
    assert with_gpu_side(BARE, bare, NOTHING) == BARE
    assert with_evidence(Verdict(word="gpu", why="-"), NOTHING).evidence == ()
    assert notices(rank(), NOTHING) == []


def test_a_gpu_that_the_program_does_not_use_says_nothing() -> None:
    seen = Seen(samples(1900, 1500, 1000), None, "refused")
    assert gpu_of(rank(device="cpu"), seen) is None
    assert notices(rank(device="cpu"), seen) == []


def test_what_could_not_be_seen_and_what_did_not_hold_still_is_said() -> None:
    fell, refused = notices(rank(), Seen(samples(1900, 1500, 1000), None, "refused"))
    assert fell.startswith("the GPU's clock fell from 1900 to 1000 MHz")
    assert refused == "no trace was made: refused"
    (blind,) = notices(rank(), Seen((), TraceFacts(reasons={"busy_share": "no kernels"})))
    assert blind.startswith("the tracer saw no work of the GPU")
    assert notices(rank(), Seen((), TRACE)) == []
