"""What slows a loop down, on both sides of each line."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from costplan.profiler.rules import judge
from costplan.records.verdicts import Measured, Tried, Verdict


def of(**more: Any) -> Verdict:
    """Judge a step of one second, 30 steady ones within 2 %."""
    return judge(Measured(**{"step_s": 1.0, "steps": 30, "step_error_share": 0.02, **more}))


# --- the words ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("measured", "word"),
    [
        # r from the replay, and the wait that must go with it
        ({"replay_s": 0.895, "wait_s": 0.05}, "dataloader"),
        ({"replay_s": 0.905, "wait_s": 0.05}, "inconclusive"),
        ({"replay_s": 0.895, "wait_s": 0.04, "busy_share": 0.88}, "gpu"),
        ({"replay_s": 0.875, "replay_host_s": 1.0, "wait_s": 0.0}, "dataloader"),
        # g = 0.81/0.95 = 0.853 and 0.80/0.95 = 0.842
        ({"replay_s": 0.95, "wait_s": 0, "busy_share": 0.81}, "gpu"),
        ({"replay_s": 0.95, "wait_s": 0, "busy_share": 0.80}, "host"),
        # without a device's own time: log2(1/0.812) = 0.300, log2(1/0.707) = 0.500
        ({"replay_s": 1.0, "half_s": 0.82}, "host"),
        ({"replay_s": 1.0, "half_s": 0.80}, "mixed"),
        ({"replay_s": 1.0, "half_s": 0.72}, "mixed"),
        ({"replay_s": 1.0, "half_s": 0.70}, "gpu"),
        ({"replay_s": 1.0, "double_s": 1.9}, "gpu"),
        ({"replay_s": 1.0, "double_s": 1.1}, "host"),
        # 40 % and 35 %: not told apart; 40 % and 30 %: are
        ({"replay_s": 0.60, "wait_s": 0.4, "busy_share": 0.25}, "mixed"),
        ({"replay_s": 0.60, "wait_s": 0.4, "busy_share": 0.31}, "dataloader"),
        # a wait alone bounds what a loader saves; 60 % idle elsewhere is more
        ({"wait_s": 0.15, "busy_share": 0.25}, "host"),
        ({"wait_s": 0.15, "busy_share": 0.75}, "dataloader"),
        # a loader that alone is as slow as the step
        ({"loader_s": 0.95, "workers": 4}, "dataloader"),
        ({"loader_s": 0.85, "workers": 4}, "inconclusive"),
        ({}, "inconclusive"),
    ],
)
def test_the_word(measured: dict[str, Any], word: str) -> None:
    assert of(**measured).word == word


@pytest.mark.parametrize(
    ("more", "word"),
    [
        # On the CPU any worker shares the processors with the step; without one, all is a wait.
        ({"on_cpu": True, "workers": 1}, "dataloader"),
        ({"on_cpu": True, "workers": 0}, "gpu"),
        ({"on_cpu": True, "workers": 1, "replay_s": 0.905}, "gpu"),
        ({"on_cpu": True, "workers": 1, "replay_s": None}, "gpu"),  # the wait alone: 4 %
        # Beside a GPU: 7 workers and half of the main thread on 7.25 processors, and on 7.5.
        ({"workers": 7, "main_cpu_share": 0.5, "usable_cpus": 7.25}, "dataloader"),
        ({"workers": 7, "main_cpu_share": 0.5, "usable_cpus": 7.5}, "gpu"),
        ({"workers": 7, "main_cpu_share": 0.25, "usable_cpus": 7.25}, "gpu"),
        ({"workers": 7, "usable_cpus": 2}, "gpu"),
        ({"workers": 7, "main_cpu_share": 1}, "gpu"),
        ({"on_cpu": False, "workers": 1}, "gpu"),
    ],
)
def test_workers_that_take_processors_away_need_no_wait(more: dict[str, Any], word: str) -> None:
    measured = {"replay_s": 0.895, "wait_s": 0.04, "busy_share": 0.88}
    assert of(**{**measured, **more}).word == word


def test_a_loader_that_half_of_a_step_on_the_cpu_goes_to_is_no_host() -> None:
    # As LibreYOLO was measured with mosaic, one worker and two cores: 54 % saved, 5 % waited for.
    libreyolo = {"replay_s": 0.46, "wait_s": 0.049, "half_s": 0.40, "workers": 1, "on_cpu": True}
    found = of(**libreyolo, replay_error_share=0.02)
    assert (found.word, found.why) == ("dataloader", "a perfect loader saves 54%")
    assert of(**{**libreyolo, "workers": 0}).word == "host"


def test_a_saving_within_its_interval_is_bounded_by_the_wait_only_without_such_workers() -> None:
    # 8 % saved, give or take 12 points: up to 20 %, but to 8 % where 5 % were waited for
    unsure = {"replay_s": 0.92, "wait_s": 0.05, "replay_error_share": 0.12, "half_s": 0.5}
    assert of(**unsure, workers=0, on_cpu=True).word == "gpu"
    found = of(**unsure, workers=1, on_cpu=True)
    assert (found.word, found.why) == ("inconclusive", "a perfect loader saves between 0% and 20%")


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"step_s": None}, "the time of a step is not known"),
        ({"steps": 19}, "19 steady steps, 20 are needed"),
        ({"step_error_share": 0.11, "replay_s": None}, "the step time is uncertain by 11%"),
        # 50 % saved, give or take 45 points; no more than the 50 % that were waited for
        ({"replay_error_share": 0.45}, "a perfect loader saves between 5% and 50%"),
        # replayed once: the error of the step itself counts
        ({"step_error_share": 0.45}, "a perfect loader saves between 5% and 50%"),
    ],
)
def test_what_is_no_ground_for_a_verdict(more: dict[str, Any], why: str) -> None:
    good = {"replay_s": 0.5, "wait_s": 0.5}
    assert of(**good).word == "dataloader"
    refused = of(**{**good, **more})
    assert (refused.word, refused.why, refused.confidence) == ("inconclusive", why, "low")


def test_an_uncertain_step_that_cannot_move_a_saving_over_the_line_has_a_word() -> None:
    # 50 % saved, give or take 35: 15 % at least
    found = of(replay_s=0.5, wait_s=0.5, step_error_share=0.35)
    assert (found.word, found.confidence) == ("dataloader", "low")
    # nothing was waited for; half the batch takes 0.55, give or take 0.22: powers of 0.38 to 1.6
    found = of(replay_s=0.99, wait_s=0.001, half_s=0.55, step_error_share=0.22)
    assert (found.word, found.confidence) == ("gpu", "low")


def test_workers_take_no_more_from_a_step_than_the_time_they_compute() -> None:
    # 8 % saved, give or take 12 points; 5 % waited for, and one worker takes 4 % or 6 % to load
    unsure = {"replay_s": 0.92, "wait_s": 0.05, "replay_error_share": 0.12, "half_s": 0.5}
    busy = {"workers": 1, "on_cpu": True}
    assert of(**unsure, **busy, loader_s=0.04).word == "gpu"
    found = of(**unsure, **busy, loader_s=0.06)
    assert (found.word, found.why) == ("inconclusive", "a perfect loader saves between 0% and 11%")
    # two workers that give a batch in 0.02 compute 0.04 for it: 15 % cannot be their doing
    exact = {"replay_s": 0.85, "wait_s": 0.05, "half_s": 0.5, "workers": 2, "on_cpu": True}
    assert of(**exact, loader_s=0.02).word == "gpu"
    assert of(**exact, loader_s=0.05).word == "mixed"
    assert of(**exact).word == "mixed"


def test_what_workers_were_seen_to_compute_counts_rather_than_what_they_would_alone() -> None:
    unsure = {"replay_s": 0.92, "wait_s": 0.05, "replay_error_share": 0.12, "half_s": 0.5}
    busy = {"workers": 1, "on_cpu": True, "loader_s": 0.06}
    assert of(**unsure, **busy, workers_cpu_s=0.04).word == "gpu"
    assert of(**unsure, **busy, workers_cpu_s=0.06).word == "inconclusive"


def test_on_the_cpu_a_loader_saves_no_more_than_its_wait_and_what_its_workers_compute() -> None:
    # 18 % by the replay; 4 % waited for, and 3 % or 7 % computed: 7 % and 11 % at most
    busy = {"replay_s": 0.82, "wait_s": 0.04, "half_s": 0.49, "workers": 2}
    assert of(**busy, workers_cpu_s=0.03, on_cpu=True).word == "gpu"
    found = of(**busy, workers_cpu_s=0.07, on_cpu=True)
    (gain,) = [each for each in found.gains if each.of == "dataloader"]
    assert gain.share == pytest.approx(0.11)
    # beside another device a kept batch saves its copy too
    (gain,) = [each for each in of(**busy, workers_cpu_s=0.07).gains if each.of == "dataloader"]
    assert gain.share == pytest.approx(0.18)


def test_few_steps_are_judged_when_that_is_said_with_low_confidence() -> None:
    few = Measured(step_s=1, steps=3, replay_s=0.5, wait_s=0.5, replay_error_share=0.01)
    assert judge(few).word == "inconclusive"
    found = judge(few, few_steps_ok=True)
    assert (found.word, found.confidence) == ("dataloader", "low")


def test_growth_with_the_batch_of_a_loop_that_was_not_replayed_may_be_the_loaders() -> None:
    found = of(half_s=0.5)
    assert found.word == "inconclusive"
    assert found.why == "dataloader or gpu: the wait for batches is not known"
    assert of(half_s=0.5, wait_s=0.01).word == "gpu"
    assert of(half_s=0.98).word == "host"  # neither a loader nor a device is as fast for twice


def test_a_low_busy_share_alone_is_host_or_loader_never_host_by_elimination() -> None:
    for low in ({"busy_share": 0.2}, {"util_share": 0.2}):
        found = of(**low)
        assert found.word == "inconclusive"
        assert found.why == "dataloader or host: the wait for batches is not known"
    assert of(busy_share=0.2, loader_seen=False).word == "host"


def test_a_driver_that_counts_the_device_as_in_use_is_no_proof() -> None:
    assert of(util_share=1.0).word == "inconclusive"


def test_mixed_names_the_larger_first() -> None:
    assert of(replay_s=0.6, wait_s=0.4, busy_share=0.25).parts == ("dataloader", "host")
    assert of(replay_s=0.6, wait_s=0.4, busy_share=0.15).parts == ("host", "dataloader")


def test_with_a_tracer_on_a_busy_share_just_below_the_line_is_mixed() -> None:
    assert of(busy_share=0.8, wait_s=0).word == "host"
    found = of(busy_share=0.8, wait_s=0, traced=True)
    assert (found.word, found.parts) == ("mixed", ("gpu", "host"))
    assert any("a tracer was on" in text for text in found.unknown)


def test_waits_for_other_gpus_near_the_hosts_are_mixed() -> None:
    assert of(communication_share=0.3, busy_share=0.9, wait_s=0).word == "gpu"
    near = of(communication_share=0.2, busy_share=0.8, wait_s=0)
    assert (near.word, near.parts, near.cause) == ("mixed", ("gpu", "host"), "communication")
    assert of(communication_share=0.2, busy_share=0.6, wait_s=0).word == "host"
    assert of(communication_share=0.09, busy_share=0.9, wait_s=0).cause is None


# --- how sure -------------------------------------------------------------------------------------


def test_high_takes_a_replay_enough_steps_and_a_narrow_interval() -> None:
    best = {"replay_s": 0.5, "wait_s": 0.5, "replay_error_share": 0.01}
    assert of(**best).confidence == "high"
    assert of(**{**best, "replay_error_share": None}).confidence == "medium"
    assert of(**{**best, "step_error_share": 0.04}).confidence == "medium"
    assert of(**{**best, "step_error_share": None}).confidence == "medium"
    assert of(wait_s=0.5, replay_error_share=0.01).confidence == "low"
    assert of(**best, traced=True).confidence == "low"


def test_busy_share_and_growth_that_contradict_each_other_leave_low_confidence() -> None:
    agreed = {"replay_s": 1.0, "wait_s": 0.0, "busy_share": 0.95, "replay_error_share": 0.01}
    assert of(**agreed, half_s=0.55).confidence == "high"
    assert of(**agreed, half_s=0.99).confidence == "low"


# --- causes ---------------------------------------------------------------------------------------

LOADER = {"replay_s": 0.5, "wait_s": 0.5}
COMPETING = {"replay_s": 0.5, "on_cpu": True, "workers": 1}
HOST = {"replay_s": 1.0, "wait_s": 0.0, "busy_share": 0.2}
GPU = {"replay_s": 1.0, "wait_s": 0.0, "busy_share": 0.95}


@pytest.mark.parametrize(
    ("measured", "cause"),
    [
        ({**LOADER}, None),
        ({**LOADER, "replay_host_s": 0.8}, "host-to-device copy"),  # 0.3 of 0.5
        ({**LOADER, "replay_host_s": 0.7}, None),
        ({**LOADER, "loader_cold_s": 1.2, "loader_warm_s": 1.0}, "storage"),
        ({**LOADER, "loader_cold_s": 1.1, "loader_warm_s": 1.0}, None),
        ({**LOADER, "workers": 4, "ready_batches": 1}, "collate or pinning in the main process"),
        ({**LOADER, "workers": 0, "ready_batches": 1}, None),
        # 0.24 and 0.25 of 0.5 are waited for
        ({**COMPETING, "wait_s": 0.24, "ready_batches": 1}, "CPU capacity"),
        ({**COMPETING, "wait_s": 0.25}, None),
        ({**COMPETING, "wait_s": 0.24, "on_cpu": False}, None),
        ({**LOADER, "loader_s": 1.0, "loader_more_workers_s": 0.9}, "workers"),
        ({**LOADER, "loader_s": 1.0, "loader_more_workers_s": 0.95}, None),
        ({**LOADER, "loader_cpu_share": 0.95}, "CPU capacity"),
        ({**HOST}, None),
        ({**HOST, "recompiles_per_step": 0.1}, "recompiles"),
        ({**HOST, "launches_per_step": 120_000}, "launches"),
        ({**HOST, "launches_per_step": 119_000}, None),
        ({**HOST, "optimizer_host_s": 0.5}, "optimizer"),
        ({**HOST, "blocked_s": 0.1}, "synchronising calls"),
        ({**HOST, "blocked_s": 0.09}, None),
        ({**GPU}, None),
        ({**GPU, "communication_share": 0.1}, "communication"),
        ({**GPU, "one_gpu_s": 0.875}, "communication"),
        ({**GPU, "throttled": True}, "power or heat"),
        ({**GPU, "allocations_per_step": 5}, "memory pressure"),
        ({**GPU, "util_share": 1.0, "power_share": 0.61}, "kernel choice"),
        ({**GPU, "tried": (Tried(fix="channels_last", of="gpu", step_s=0.9),)}, "kernel choice"),
    ],
)
def test_the_cause(measured: dict[str, Any], cause: str | None) -> None:
    assert of(**measured).cause == cause


# --- what pays ------------------------------------------------------------------------------------


def gain(found: Verdict, of_what: str) -> tuple[float, str]:
    (each,) = [each for each in found.gains if each.of == of_what]
    return round(each.share, 4), each.basis


def test_gains_are_measured_or_bounded() -> None:
    found = of(replay_s=0.6, wait_s=0.4, busy_share=0.45)
    assert gain(found, "dataloader") == (0.4, "measured")
    assert gain(found, "host") == (0.15, "at most")
    assert gain(found, "a faster GPU") == (0.45, "at most")
    assert gain(of(wait_s=0.4), "dataloader") == (0.4, "at most")
    assert gain(of(wait_s=0.4, busy_share=0.7), "dataloader") == (0.3, "at most")


def test_a_faster_gpu_is_bounded_by_what_grows_and_by_the_loader() -> None:
    # half the batch saves 0.1: 0.2 grow with it
    assert gain(of(replay_s=0.8, half_s=0.7, wait_s=0.2), "a faster GPU") == (0.2, "at most")
    assert gain(of(busy_share=0.9, loader_s=0.7, workers=2), "a faster GPU") == (0.3, "at most")
    # without workers the loader's time comes on top, and bounds nothing
    assert gain(of(busy_share=0.9, loader_s=0.7, workers=0), "a faster GPU") == (0.9, "at most")


def test_what_was_tried_and_saves_too_little_is_not_advised() -> None:
    tried = (
        Tried(fix="fused optimizer", of="host", step_s=0.94),
        Tried(fix="no sync", of="host", step_s=0.96),
        Tried(fix="pinned memory", of="dataloader", step_s=1.09),
    )
    found = of(**GPU, tried=tried)
    assert [(each.text, each.basis) for each in found.advice] == [("fused optimizer", "measured")]
    assert found.not_advised == (
        "no sync: saves 4.0%, as tried",
        "pinned memory: costs 9.0%, as tried",
    )
    # within an interval of 7 % nothing is shown to help
    assert of(**GPU, tried=tried, step_error_share=0.07).advice == ()


def test_a_loader_fix_that_was_tried_proves_its_gain() -> None:
    found = of(tried=(Tried(fix="decoded files", of="dataloader", step_s=0.4),))
    assert (found.word, gain(found, "dataloader")) == ("dataloader", (0.6, "at least"))
    assert found.why == "a perfect loader saves at least 60%"


# --- laws -----------------------------------------------------------------------------------------

_seconds = st.floats(0.001, 10)
_share = st.floats(0, 1)
_any = st.fixed_dictionaries(
    {},
    optional={
        **dict.fromkeys(("step_s", "replay_s", "replay_host_s", "loader_s", "half_s"), _seconds),
        **dict.fromkeys(("double_s", "one_gpu_s", "wait_s", "blocked_s"), _seconds),
        **dict.fromkeys(("busy_share", "util_share", "idle_in_loader_share"), _share),
        **dict.fromkeys(("communication_share", "main_cpu_share", "power_share"), _share),
        "on_cpu": st.booleans(),
        "usable_cpus": st.floats(1, 16),
        "step_error_share": st.floats(0, 0.3),
        "steps": st.integers(0, 60),
        "workers": st.integers(0, 8),
        "replay_error_share": st.floats(0, 1),
        "half_error_share": st.floats(0, 1),
        "loader_seen": st.booleans(),
        "traced": st.booleans(),
        "tried": st.lists(
            st.builds(
                Tried,
                fix=st.just("x"),
                of=st.sampled_from(["dataloader", "host", "gpu", "communication"]),
                step_s=_seconds,
            ),
            max_size=3,
        ).map(tuple),
    },
)


@given(_any, st.booleans())
def test_advice_has_a_gain_worth_a_word_and_a_verdict_its_reason(
    told: dict[str, Any], few: bool
) -> None:
    found = judge(Measured(**told), few_steps_ok=few)
    assert found.why
    assert all(each.gain_share >= 0.05 for each in found.advice)
    assert (found.word == "mixed") == (len(found.parts) == 2)
    if found.word == "inconclusive":
        assert {each.basis for each in found.advice} <= {"measured"}


@given(_any)
def test_never_the_loader_where_the_replay_is_no_faster_and_nothing_was_tried(
    told: dict[str, Any],
) -> None:
    step_s = told.get("step_s", 1.0)
    found = judge(Measured(**{**told, "step_s": step_s, "replay_s": step_s, "tried": ()}))
    assert found.word != "dataloader"
    assert "dataloader" not in found.parts


def test_the_copy_to_the_device_is_advised_for_itself() -> None:
    # 20 ms of loader, 30 of copy, 10 of the rest
    found = of(step_s=0.06, replay_s=0.01, replay_host_s=0.04, wait_s=0.02)
    told = [(each.text.split(",")[0], round(each.gain_share, 3)) for each in found.advice]
    assert told == [
        ("a batch that is on the device before the step needs it", 0.5),
        ("a loader that never lets the step wait", 0.333),
    ]
    # all of it copied: nothing of it is the loader's
    copied = of(step_s=0.04, replay_s=0.01, replay_host_s=0.041, wait_s=0.0)
    assert [each.text.split(",")[0] for each in copied.advice] == [
        "a batch that is on the device before the step needs it"
    ]
