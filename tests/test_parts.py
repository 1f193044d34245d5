"""What of a step is whose, and what a profile says of the box."""

from __future__ import annotations

from typing import Any

import pytest

from costplan.profiler.parts import Here, box_of, shares
from costplan.records.checks import CpuFacts, MemoryFacts
from costplan.records.ranks import RankTaken
from costplan.records.verdicts import Measured


def rank(**facts: Any) -> RankTaken:
    return RankTaken.model_validate({
        "pid": 1, "rank": 0, "world": 1, "optimizer_steps": 9, "facts": facts, "phases": [],
    })  # fmt: skip


def told(**known: float) -> tuple[float | None, float | None, float | None]:
    found = shares(Measured.model_validate(known), "mixed")
    return found.dataloader, found.host, found.device


def test_replay_gives_the_loader_and_half_the_batch_the_device() -> None:
    # 100 ms, 60 replayed, 40 with half: 40 of loader, 2 x (60 - 40) grow, 20 stay.
    assert told(step_s=0.1, replay_s=0.06, half_s=0.04) == pytest.approx((0.4, 0.2, 0.4))


def test_a_half_batch_that_takes_under_half_the_time_leaves_the_host_nothing() -> None:
    assert told(step_s=0.1, replay_s=0.06, half_s=0.02) == pytest.approx((0.4, 0.0, 0.6))


def test_a_replay_slower_than_the_step_is_no_negative_loader() -> None:
    assert told(step_s=0.1, replay_s=0.12, half_s=0.05) == pytest.approx((0.0, 0.0, 1.0))


def test_the_busy_share_goes_before_growth() -> None:
    found = told(step_s=0.1, replay_s=0.06, half_s=0.04, busy_share=0.5)
    assert found == pytest.approx((0.4, 0.1, 0.5))


def test_a_trace_tells_by_idle_time() -> None:
    found = told(step_s=0.1, busy_share=0.7, idle_in_loader_share=0.2)
    assert found == pytest.approx((0.2, 0.1, 0.7))


def test_what_was_not_measured_stays_unknown() -> None:
    assert told(step_s=0.1) == (None, None, None)
    loader, *others = told(step_s=0.1, replay_s=0.06)
    assert loader == pytest.approx(0.4)
    assert others == [None, None]
    assert told(step_s=0.1, half_s=0.06) == (None, None, None)


def test_an_inconclusive_verdict_has_no_shares() -> None:
    found = shares(Measured(step_s=0.1, replay_s=0.06, half_s=0.04), "inconclusive")
    assert set(found.model_dump().values()) == {None}


def test_the_box_is_what_the_program_and_this_machine_tell() -> None:
    one = rank(device="NVIDIA L4", gpus=2, python="3.12.1", torch="2.11.0", cuda="12.8")
    here = Here(
        CpuFacts(reported=64, affinity=16, quota_cores=7.5),
        MemoryFacts(total_bytes=64_000_000_000, limit_bytes=32_000_000_000),
        "Made-up CPU",
    )
    found = box_of([one], one, here)
    assert (found.device, found.gpu_count) == ("NVIDIA L4", 2)  # one process on two of them
    assert (found.usable_cpus, found.memory_gb, found.cpu_model) == (7.5, 32.0, "Made-up CPU")
    assert (found.python, found.torch, found.cuda) == ("3.12.1", "2.11.0", "12.8")


@pytest.mark.parametrize(
    ("count", "device", "gpus", "shown"),
    [(1, "cpu", None, 0), (2, "cpu", None, 0), (1, "NVIDIA L4", None, 1), (4, "NVIDIA L4", 2, 4)],
)
def test_several_ranks_have_a_gpu_each(count: int, device: str, gpus: int, shown: int) -> None:
    one = rank(device=device, gpus=gpus)
    found = box_of([one] * count, one, None)
    assert (found.gpu_count, found.usable_cpus, found.memory_gb) == (shown, None, None)
