"""Trackers hear nothing of a burst, and models still load."""

from __future__ import annotations

from costplan.profiler.trackers import tracker_variables


def test_no_variable_keeps_a_model_from_loading() -> None:
    assert not {"HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", "HF_TOKEN"} & set(tracker_variables())


def test_the_trackers_of_the_field_are_off() -> None:
    names = " ".join(tracker_variables())
    for tracker in (
        *("WANDB", "MLFLOW", "COMET", "CLEARML", "NEPTUNE", "TRACKIO", "SWANLAB", "DVCLIVE"),
        *("CODECARBON", "YOLO"),
    ):
        assert tracker in names


def test_each_answer_is_the_callers_own() -> None:
    tracker_variables().clear()
    assert tracker_variables()
