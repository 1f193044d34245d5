"""A box may wait in any number of states, each with a rate, a way back and a place in the plan."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from costplan.idling import Clocks, advise
from costplan.records.idle import Absence, Deadline, IdleBox
from costplan.records.record import ValidationError

# 45 GB at 0.07 $/GB-month of 720 h, 5 min to come back: 0.004375 $/h and 0.290233 $.
VOLUME: dict[str, Any] = {
    "name": "volume",
    "undo": False,
    "usd_per_hour": Decimal("0.004375"),
    "back_minutes": 5.0,
}


def founding(**more: Any) -> IdleBox:
    """Return the founding box: stopped 0.069444 $/h and 0.116093 back, destroyed 0.9807 back."""
    fields: dict[str, Any] = {
        "usd_per_hour": Decimal("3.4828"),
        "disk_gb": Decimal(250),
        "storage_usd_per_gb_month": Decimal("0.20"),
        "month_hours": Decimal(720),
        "setup_minutes": 15.0,
        "restart_minutes": 2.0,
        "search_usd": Decimal("0.11"),
    }
    return IdleBox.model_validate(fields | more)


def test_a_further_state_takes_its_place_in_the_plan() -> None:
    """Facts: run, 2 min, stop, 2.7 h, volume, 158 h, nothing."""
    advice = advise(founding(states=(VOLUME,)), Absence())
    assert [step.action for step in advice.plan] == ["keep", "stop", "volume", "destroy"]
    # stop to volume: (0.290233 - 0.116093) / (0.069444 - 0.004375) = 2.676 h
    assert advice.plan[2].from_h == pytest.approx(2.676, abs=0.001)
    # volume to nothing: (0.9807 - 0.290233) / 0.004375 = 157.8 h
    assert advice.plan[3].from_h == pytest.approx(157.8, abs=0.1)
    assert [step.undo for step in advice.plan] == [True, True, False, False]


def test_states_may_be_many_and_each_is_priced() -> None:
    parked = {"name": "hibernate", "undo": True, "usd_per_hour": Decimal("0.5"),
              "back_minutes": 1.0}  # fmt: skip
    store = {"name": "object store", "undo": False, "usd_per_hour": Decimal("0.001"),
             "back_minutes": 9.0, "back_gb": Decimal(45), "back_usd_per_gb": Decimal("0.01"),
             "search_usd": Decimal("0.11")}  # fmt: skip
    advice = advise(founding(states=(parked, VOLUME, store)), Absence(hours=1.0))
    cost = {option.action: option.cost_usd for option in advice.options}
    assert list(cost) == ["keep", "stop", "hibernate", "volume", "object store", "destroy"]
    # 0.5 + 1/60 x 3.4828; 0.001 + 9/60 x 3.4828 + 45 x 0.01 + 0.11
    assert cost["hibernate"] == pytest.approx(Decimal("0.558047"), abs=Decimal("1e-6"))
    assert cost["object store"] == pytest.approx(Decimal("1.08342"), abs=Decimal("1e-6"))
    assert advice.advice == "stop"


@pytest.mark.parametrize(
    ("states", "said"),
    [
        ([VOLUME, VOLUME], "there is a state 'volume' already"),
        ([VOLUME | {"name": "stop"}], "there is a state 'stop' already"),
        ([VOLUME | {"name": "destroy"}], "there is a state 'destroy' already"),
        ([VOLUME | {"name": "No!"}], "pattern"),
        ([{k: v for k, v in VOLUME.items() if k != "undo"}], "undo"),
        ([{k: v for k, v in VOLUME.items() if k != "usd_per_hour"}], "usd_per_hour"),
    ],
)
def test_a_state_says_all_of_itself_and_only_once(states: list[Any], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        founding(states=states)


def test_a_state_that_expires_is_left_in_time() -> None:
    advice = advise(founding(states=(VOLUME | {"expires_hours": 48.0},)), Absence())
    assert (advice.plan[-1].action, advice.plan[-1].from_h) == ("destroy", 47.0)


def test_a_deadline_knows_the_way_back_from_a_further_state() -> None:
    due = Clocks(deadline=Deadline(hours=10.0, remaining_hours=5.0, reserve_hours=0.5))
    advice = advise(founding(states=(VOLUME,)), Absence(), clocks=due)
    start_h = {option.action: option.latest_start_h for option in advice.options}
    assert start_h["volume"] == pytest.approx(4.5 - 5 / 60)
