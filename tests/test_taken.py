"""From what a program wrote of its bursts to measurements, what-ifs and a profile."""

from __future__ import annotations

from typing import Any

import pytest

from costplan.errors import UnknownError
from costplan.profiler.answering import profile_of
from costplan.profiler.taken import bursts, loaders, measured, orders_agree, slowest
from costplan.profiler.whatif import what_if
from costplan.records.ranks import RankTaken


def rank(*phases: tuple[str, list[float]], wait_s: float = 0.0, **facts: Any) -> RankTaken:
    """Return what a rank wrote: each phase with its steps, real ones with their waits."""
    return RankTaken.model_validate({
        "pid": 1, "rank": 0, "world": 1, "optimizer_steps": 99,
        "facts": {"samples": 16, "batches_per_epoch": 100} | facts,
        "phases": [
            {"name": name, "steps_s": steps, "waits_s": [wait_s] * len(steps)}
            for name, steps in phases
        ],
    })  # fmt: skip


def slow_loader(**facts: Any) -> RankTaken:
    """Return a step of 100 ms of which a loader that costs nothing would save 80."""
    return rank(
        ("real", [0.1] * 30), ("replay", [0.02] * 30), ("half", [0.011] * 30),
        ("real", [0.1] * 30), ("replay", [0.02] * 30), ("half", [0.011] * 30),
        ("double", [0.036] * 10), wait_s=0.08, **facts,
    )  # fmt: skip


def test_bursts_of_one_name_count_together() -> None:
    taken = measured(slow_loader())
    assert (taken.step_s, taken.replay_s, taken.half_s) == pytest.approx((0.1, 0.02, 0.011))
    assert (taken.steps, taken.orders_agree) == (60, True)
    assert taken.wait_s == pytest.approx(0.08)


def test_what_was_not_measured_is_unknown_and_not_nothing() -> None:
    taken = measured(rank(("real", [0.1] * 30)))
    assert (taken.replay_s, taken.half_s, taken.double_s, taken.loader_s) == (None,) * 4
    assert taken.orders_agree is None


def test_two_steps_are_no_burst() -> None:
    assert measured(rank(("real", [0.1] * 30), ("half", [0.1] * 2))).half_s is None


@pytest.mark.parametrize(
    ("second", "agrees"),
    [(0.05, True), (0.095, False)],  # gains of 50 % and 50 %; 50 % and 5 %
)
def test_rounds_that_contradict_each_other_are_told(second: float, agrees: bool) -> None:
    found = bursts(rank(
        ("real", [0.1] * 9), ("replay", [0.05] * 9), ("real", [0.1] * 9), ("replay", [second] * 9)
    ))  # fmt: skip
    assert orders_agree(found) is agrees


def test_the_sweep_gives_the_present_loader_and_the_best_other() -> None:
    tried = [
        {"workers": 0, "batches_per_s": 10.0}, {"workers": 1, "batches_per_s": 9.0},
        {"workers": 2, "batches_per_s": 20.0}, {"workers": 4, "problem": "no memory"},
    ]  # fmt: skip
    found = loaders(slow_loader(loader=tried).facts, workers=0)
    assert found == (0.1, 0.05, 2)


def test_the_rank_that_waits_longest_sets_the_pace() -> None:
    fast, slow = slow_loader(), rank(("real", [0.1] * 30), wait_s=0.09)
    assert slowest([fast, slow]) is slow


def test_each_change_is_priced_in_step_time() -> None:
    tried = [{"workers": 0, "batches_per_s": 12.5}, {"workers": 2, "batches_per_s": 25.0}]
    taken = slow_loader(loader=tried)
    found = {
        each.change: each
        for each in what_if(bursts(taken), loaders(taken.facts, workers=0), workers=0)
    }
    assert found["a loader that costs nothing"].step_s == pytest.approx(0.02)
    assert found["2 workers instead of 0"].step_s == pytest.approx(0.04)  # 1/25
    # by sample: 80 ms of loader, and half of 36
    assert found["twice the batch, by sample"].step_s == pytest.approx(0.098)
    # 80 of loader, 2 x 11 - 20 = 2 of the host, 18 of the device halved
    assert found["a GPU twice as fast"].step_s == pytest.approx(0.091)
    assert found["a GPU twice as fast"].basis == "bounded"


def test_a_profile_says_the_word_the_rates_and_the_epoch() -> None:
    found = profile_of([slow_loader()], code=0, spent_s=60.0)
    assert found.verdict.word == "dataloader"
    assert found.samples_per_s is not None
    assert found.samples_per_s.expected == pytest.approx(160)  # 16 / 0.1
    assert found.epoch_s is not None
    assert found.epoch_s.expected == pytest.approx(10)  # 100 x 0.1
    assert any("no GPU was in use" in text for text in found.notices)


def test_the_samples_of_all_ranks_count() -> None:
    found = profile_of([slow_loader(), slow_loader()], code=0, spent_s=60.0)
    assert found.samples_per_s is not None
    assert found.samples_per_s.expected == pytest.approx(320)


@pytest.mark.parametrize("ranks", [[], [rank()], [rank(("real", [0.1] * 2))]])
def test_without_steps_there_is_no_profile(ranks: list[RankTaken]) -> None:
    with pytest.raises(UnknownError, match="no steps of training were seen"):
        profile_of(ranks, code=1, spent_s=1.0)


def test_few_steps_are_judged_and_said() -> None:
    found = profile_of([rank(("real", [0.1] * 10), ("replay", [0.02] * 10), wait_s=0.08)],
                       code=0, spent_s=9.0)  # fmt: skip
    assert found.verdict.word == "dataloader"
    assert any("only 10 steps were timed" in text for text in found.notices)
