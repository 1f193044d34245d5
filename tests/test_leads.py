"""Who waits for whom, by the queue of the device, on both sides of each line."""

from __future__ import annotations

from typing import Any

import pytest

from costplan.profiler.leads import lead_s, queue
from costplan.profiler.rules import judge
from costplan.records.verdicts import Measured, Verdict


def of(**more: Any) -> Verdict:
    """Judge a step of 100 ms whose loader is not in the way."""
    known = {"step_s": 0.1, "steps": 30, "step_error_share": 0.02, "replay_s": 0.1, "wait_s": 0.0}
    return judge(Measured.model_validate({**known, **more}))


@pytest.mark.parametrize(
    ("leads", "behind"),
    [
        ([], None),
        ([0.3, 0.3, 0.3], None),
        ([0.0, 0.0, 0.1, 0.3], 0.2),  # of the second half 0.1 and 0.3
        ([0.0, 0.1, 0.2, 0.3, 0.4], 0.3),  # 0.2, 0.3, 0.4
    ],
)
def test_the_lead_is_that_of_the_second_half(leads: list[float], behind: float | None) -> None:
    assert lead_s(leads) == (None if behind is None else pytest.approx(behind))


@pytest.mark.parametrize(
    ("measured", "word"),
    [
        # a quarter of the step behind, whatever the calls do
        ({"lead_s": 0.0251}, "gpu"),
        ({"lead_s": 0.0251, "blocked_s": 0.0}, "gpu"),
        ({"lead_s": 0.024}, "inconclusive"),
        ({"lead_s": 0.024, "blocked_s": 0.0}, "inconclusive"),
        # caught up: below 5 % of the step, and no call holds the host for a tenth of it
        ({"lead_s": 0.004, "blocked_s": 0.009}, "host"),
        ({"lead_s": 0.0051, "blocked_s": 0.009}, "inconclusive"),
        ({"lead_s": 0.004, "blocked_s": 0.0101}, "inconclusive"),
        ({"lead_s": 0.004}, "inconclusive"),  # a call at each step may have let it catch up
        # held for half of the step
        ({"lead_s": 0.0, "blocked_s": 0.0501}, "gpu"),
        ({"lead_s": 0.0, "blocked_s": 0.049}, "inconclusive"),
        # what the queue does not tell, growth with the batch does
        ({"lead_s": 0.010, "blocked_s": 0.0, "half_s": 0.098}, "host"),
        ({"lead_s": 0.0, "half_s": 0.050}, "gpu"),
        # a step so short that an event's own delay is a quarter of it
        ({"step_s": 4e-4, "replay_s": 4e-4, "lead_s": 2e-4, "blocked_s": 0.0}, "host"),
        ({"step_s": 4e-4, "replay_s": 4e-4, "lead_s": 1e-3, "blocked_s": 0.0}, "gpu"),
        # a busy share that was traced says more
        ({"lead_s": 0.030, "busy_share": 0.5}, "host"),
    ],
)
def test_the_word_by_the_queue(measured: dict[str, Any], word: str) -> None:
    assert of(**measured).word == word


def test_host_by_the_queue_needs_a_loader_that_is_known_not_to_be_it() -> None:
    caught_up = Measured(step_s=0.1, steps=30, lead_s=0.0, blocked_s=0.0)
    assert judge(caught_up).word == "inconclusive"
    assert judge(caught_up.model_copy(update={"loader_seen": False})).word == "host"


def test_growth_that_says_the_opposite_makes_it_unsure() -> None:
    sure = of(lead_s=0.08, half_s=0.06, step_error_share=0.01, replay_error_share=0.01)
    assert (sure.word, sure.confidence) == ("gpu", "high")
    unsure = of(lead_s=0.08, half_s=0.099, step_error_share=0.01, replay_error_share=0.01)
    assert (unsure.word, unsure.confidence) == ("gpu", "low")


def test_the_queue_is_told_in_words() -> None:
    found = of(lead_s=0.0761, blocked_s=0.0)
    assert found.why == "at the end of a step the device is 76.10 ms behind the host"
    assert ("queue", "gpu") in {(each.name, each.says) for each in found.evidence}
    assert of(lead_s=0.0, blocked_s=0.08).why == (
        "calls that wait for the device hold the host 80% of the step"
    )
    assert queue(Measured(step_s=0.1)) is None


def test_calls_that_hold_the_host_are_its_cause() -> None:
    found = of(lead_s=0.0, blocked_s=0.02, half_s=0.098)
    assert (found.word, found.cause) == ("host", "synchronising calls")


@pytest.mark.parametrize(
    ("measured", "cause"),
    [
        ({"retries_per_step": 0.05}, "memory pressure"), ({"retries_per_step": 0.04}, None),
        ({"allocations_per_step": 5}, "memory pressure"), ({"allocations_per_step": 4.9}, None),
    ],
)  # fmt: skip
def test_memory_pressure_by_calls_and_by_retries(
    measured: dict[str, Any], cause: str | None
) -> None:
    assert of(lead_s=0.09, **measured).cause == cause
