"""From what was counted and marked in the bursts of a GPU to what the rules need."""

from __future__ import annotations

from typing import Any

import pytest

from costplan.profiler.ondevice import with_device
from costplan.records.ranks import PhaseTaken
from costplan.records.verdicts import Measured


def phase(name: str, step_s: float = 0.1, steps: int = 10, **more: Any) -> PhaseTaken:
    return PhaseTaken.model_validate({"name": name, "steps_s": [step_s] * steps, **more})


def of(*phases: PhaseTaken) -> Measured:
    return with_device(Measured(step_s=0.1, replay_s=0.1, steps=30, wait_s=0.0), phases)


def test_without_a_device_nothing_changes() -> None:
    assert of(phase("real"), phase("replay")) == of()


def test_the_lead_is_that_of_the_bursts_with_least_in_the_way() -> None:
    real, replay = phase("real", leads_s=[0.0] * 8), phase("replay", leads_s=[0.03] * 8)
    assert of(real).lead_s == 0.0
    assert of(real, replay).lead_s == 0.03
    # each round by itself: its queue begins empty
    again = phase("replay", leads_s=[0.0] * 4 + [0.05] * 4)
    assert of(real, replay, again).lead_s == pytest.approx(0.04)
    assert of(real, phase("resident", leads_s=[0.09] * 8), replay).lead_s == 0.09
    assert of(real, phase("resident", leads_s=[0.09] * 3)).lead_s == 0.0  # too few of them


def test_an_event_that_seems_early_is_not_behind() -> None:
    assert of(phase("real", leads_s=[-2e-6] * 8)).lead_s == 0.0


def test_what_holds_the_host_is_a_mean_per_step() -> None:
    assert of(phase("syncs", blocked_s=[0.01, 0.02, 0.06])).blocked_s == pytest.approx(0.03)
    assert of(phase("syncs", blocked_s=[0.01, 0.02])).blocked_s is None


def test_counters_are_divided_by_the_steps_in_which_they_were_read() -> None:
    found = of(
        phase("real", allocations=20, retries=1, compiles=0),
        phase("replay", allocations=10),
        phase("half", allocations=900),  # another batch: other sizes are allocated
    )
    # 30 in 20 steps; 1 and 0 in the 10 of the real burst
    assert (found.allocations_per_step, found.retries_per_step) == (1.5, 0.1)
    assert found.recompiles_per_step == 0.0
    assert of(phase("real", steps=2, allocations=99)).allocations_per_step is None
