"""A program with a way of loading of its own: bounded by what lies outside, never measured."""

from __future__ import annotations

from typing import Any

import pytest
from ranked import profiled, rank

from costplan.profiler.gains import own_loading_gain
from costplan.profiler.rules import judge
from costplan.profiler.taken import measured, waiting_s
from costplan.records.ranks import RankTaken
from costplan.records.verdicts import Measured, Verdict


def of(**more: Any) -> Verdict:
    """Judge a step of one second in a program without torch's loader."""
    good = {"step_s": 1.0, "steps": 30, "step_error_share": 0.02, "loader_seen": False}
    return judge(Measured(**{**good, **more}))


@pytest.mark.parametrize(
    ("more", "word", "why"),
    [
        ({"outside_s": 0.7}, "inconclusive", "dataloader or host: own loading and the like take"),
        ({"outside_s": 0.10}, "inconclusive", "dataloader or host: own loading and the like take"),
        ({"outside_s": 0.09}, "inconclusive", "not the loader, which takes at most 9% of the step"),
        ({}, "inconclusive", "neither busy share nor growth"),
        # a device that idles: for the host where own loading is excluded, or nobody looked
        ({"busy_share": 0.2}, "host", "the device is busy 20%"),
        ({"busy_share": 0.2, "outside_s": 0.09}, "host", "the device is busy 20%"),
        ({"busy_share": 0.2, "outside_s": 0.10}, "inconclusive", "dataloader or host"),
        # a busy one is the device's, whatever lies outside: waits for it do
        ({"busy_share": 0.9, "outside_s": 0.80}, "gpu", "the device is busy 90%"),
    ],
)
def test_the_word(more: dict[str, Any], word: str, why: str) -> None:
    found = of(**more)
    assert found.word == word
    assert why in found.why


@pytest.mark.parametrize(
    ("more", "share"),
    [
        ({"outside_s": 0.7}, 0.7),
        ({"outside_s": 1.3}, 1.0),
        ({"outside_s": 0.7, "busy_share": 0.6}, 0.4),  # the work of the device stays
        ({"outside_s": 0.7, "loader_seen": True}, None),
        ({"outside_s": 0.7, "step_s": None}, None),
        ({}, None),
    ],
)
def test_own_loading_costs_at_most_what_lies_outside(
    more: dict[str, Any], share: float | None
) -> None:
    gain = own_loading_gain(Measured(**{"step_s": 1.0, "loader_seen": False, **more}))
    assert (None if gain is None else gain.share) == pytest.approx(share)
    assert gain is None or gain.basis == "at most"


def test_a_bound_is_told_with_what_would_prove_it_and_is_no_advice() -> None:
    slow = of(outside_s=0.7)
    assert [(each.of, each.share, each.basis) for each in slow.gains] == [
        ("dataloader", 0.7, "at most")
    ]
    assert slow.advice == ()
    (outside,) = [each for each in slow.evidence if each.name == "outside"]
    assert (outside.value, outside.says) == (
        "70% of the step: own loading is no more", "dataloader",
    )  # fmt: skip
    assert any("train on it again and again" in each for each in slow.unknown)


def test_excluded_loading_needs_no_proof() -> None:
    fast = of(outside_s=0.04)
    (outside,) = [each for each in fast.evidence if each.name == "outside"]
    assert outside.says == "inconclusive"
    assert not any("again and again" in each for each in fast.unknown)
    assert not any("counts as the host's" in each for each in fast.unknown)
    assert any("counts as the host's" in each for each in of().unknown)


def test_what_lies_outside_takes_nothing_from_what_the_host_may_cost() -> None:
    (host,) = [each for each in of(outside_s=0.7, busy_share=0.2).gains if each.of == "host"]
    assert host.share == pytest.approx(0.8)  # all that the device idles


# --- as it comes from a program -------------------------------------------------------------------


def own(outside_s: float, **facts: Any) -> RankTaken:
    told = {"loader_seen": False, "outside_seen": True, "device": "cpu", "workers": 0,
            "batches_per_epoch": None}  # fmt: skip
    return rank(("real", [0.1] * 30, outside_s), **(told | facts))


def test_a_wait_without_a_loader_is_what_lies_outside() -> None:
    found = measured(own(0.07))
    assert found.outside_s == pytest.approx(0.07)
    assert found.wait_s is None
    with_loader = measured(own(0.07, loader_seen=True))
    assert with_loader.outside_s is None
    assert with_loader.wait_s == pytest.approx(0.07)
    assert measured(own(0.07, outside_seen=False)).outside_s is None


def test_a_rank_without_a_loader_waits_for_none() -> None:
    assert waiting_s(own(0.07)) == 0.0
    assert waiting_s(own(0.07, loader_seen=True)) == pytest.approx(0.07)


def test_the_steps_outside_are_kept_and_are_no_waits() -> None:
    (burst,) = profiled(own(0.07)).bursts
    assert (burst.waits_s, burst.outside_s) == ((), (0.07,) * 30)
    (waited,) = profiled(own(0.07, loader_seen=True)).bursts
    assert (waited.waits_s, waited.outside_s) == ((0.07,) * 30, ())


def test_a_forward_pass_that_could_not_be_told_apart_is_said() -> None:
    said = "the forward pass counts as outside: no module with trained parameters was called"
    why = "no module with trained parameters was called"
    assert said in profiled(own(0.07, why_no_forward=why)).notices
    assert not any("counts as outside" in each for each in profiled(own(0.07)).notices)
