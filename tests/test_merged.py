"""What a traced burst adds: the device's time, over a step that no tracer slowed down."""

from __future__ import annotations

from typing import Any

import pytest

from costplan.profiler.merged import kernel_evidence, no_device, with_trace
from costplan.profiler.rules import judge
from costplan.records.traces import KernelClass, TraceFacts
from costplan.records.verdicts import Measured


def trace(**more: Any) -> TraceFacts:
    """Return a traced step of 150 ms, busy for 60 of them."""
    return TraceFacts.model_validate({"step_s": 0.15, "busy_share": 0.4, **more})


def test_the_device_is_busy_as_long_as_in_the_trace_of_a_step_as_long_as_without() -> None:
    found = with_trace(Measured(step_s=0.08), trace(exposed_communication_share=0.1))
    assert found.busy_share == pytest.approx(0.75)  # 60 of 80 ms
    assert found.communication_share == pytest.approx(0.1875)  # 15 of 80
    assert (found.step_s, found.traced) == (0.08, False)


def test_no_step_is_busier_than_it_is_long() -> None:
    assert with_trace(Measured(step_s=0.05), trace()).busy_share == 1.0


def test_what_the_trace_does_not_know_changes_nothing() -> None:
    known = Measured(step_s=0.08, allocations_per_step=2, launches_per_step=7)
    assert with_trace(known, TraceFacts()) == known
    assert with_trace(Measured(), trace()) == Measured()


@pytest.mark.parametrize(("counted", "kept"), [(2.0, 2.0), (0.0, 0.0), (None, 9.0)])
def test_allocations_that_the_allocator_counted_are_kept(
    counted: float | None, kept: float
) -> None:
    known = Measured(step_s=0.08, allocations_per_step=counted)
    assert with_trace(known, trace(allocations_per_step=9.0)).allocations_per_step == kept


@pytest.mark.parametrize(("step_s", "word"), [(0.07, "gpu"), (0.072, "host")])
def test_the_word_is_by_the_step_without_the_tracer(step_s: float, word: str) -> None:
    """60 ms of 70 are 86 %, of 72 are 83 %; of the traced 150 they would be 40."""
    bare = Measured(step_s=step_s, steps=30, replay_s=step_s, wait_s=0.0)
    assert judge(with_trace(bare, trace())).word == word


def test_the_kernels_that_take_most_time_are_named() -> None:
    classes = [
        KernelClass(name=name, count=1, kernel_s=share, share=share)
        for name, share in (("gemm/conv", 0.62), ("attention", 0.2), ("copy", 0.1), ("other", 0.08))
    ]
    (found,) = kernel_evidence(trace(kernel_classes=tuple(classes)))
    assert found.value == "gemm/conv 62%, attention 20%, copy 10%"
    assert kernel_evidence(TraceFacts()) == ()


def test_a_tracer_that_was_refused_is_said() -> None:
    assert no_device(trace()) is None
    told = no_device(TraceFacts(reasons={"busy_share": "no kernels"}))
    assert told is not None
    assert told.startswith("the tracer saw no work of the GPU (no kernels)")
