"""From what a program wrote of its bursts to measurements, what-ifs and a profile."""

from __future__ import annotations

from typing import Any

import pytest

from costplan.errors import UnknownError
from costplan.profiler.answering import profile_of
from costplan.profiler.gpuside import Seen
from costplan.profiler.parts import Here
from costplan.profiler.rules import judge
from costplan.profiler.taken import drift, loaders, measured, skew, slowest, taken
from costplan.profiler.whatif import what_if
from costplan.records.checks import CpuFacts, MemoryFacts
from costplan.records.ranks import RankTaken
from costplan.records.traces import TraceFacts


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
        ("replay", [0.02] * 10), ("double", [0.036] * 10), wait_s=0.08, **facts,
    )  # fmt: skip


def test_bursts_of_one_name_count_together() -> None:
    found = measured(slow_loader())
    assert (found.step_s, found.replay_s, found.half_s) == pytest.approx((0.1, 0.02, 0.011))
    assert (found.steps, found.replay_error_share) == (60, 0.0)
    assert found.wait_s == pytest.approx(0.08)


def test_three_batches_of_one_optimizer_step_are_a_step_that_was_seen_though_not_how_surely() -> (
    None
):
    # As the Trainer of Hugging Face has it: all batches are fetched first, then computed with.
    seen = RankTaken.model_validate({
        "pid": 1, "rank": 0, "world": 1, "optimizer_steps": 9, "facts": {"accumulation": 3},
        "phases": [{"name": "real", "steps_s": [0.0, 0.0, 0.6], "windows_s": [0.2]}],
    })  # fmt: skip
    found = measured(seen)
    assert found.step_s == pytest.approx(0.2)
    assert found.steps == 1
    assert found.step_error_share is not None
    assert found.step_error_share > 1
    found_profile = profile_of([seen], code=0, spent_s=9.0)
    assert found_profile.verdict.word == "inconclusive"
    assert any(
        text.startswith("only 1 optimizer step was timed: how far others differ is not known")
        for text in found_profile.notices
    )


def test_an_interval_that_leaves_no_verdict_is_said_to_narrow_with_the_time() -> None:
    # one replay saves 60 %, the others nothing, of a step that was not waited for long
    visits = [("real", [0.1] * 10), ("replay", [0.04] * 10), ("real", [0.1] * 10)]
    unsure = rank(*visits, *[("replay", [0.1] * 10), ("real", [0.1] * 10)] * 2, wait_s=0.05)
    found = profile_of([unsure], code=0, spent_s=9.0)
    assert found.verdict.word == "inconclusive"
    assert any("four times the --budget halves the interval" in text for text in found.notices)
    sure = profile_of([slow_loader()], code=0, spent_s=9.0)
    assert not any("halves the interval" in text for text in sure.notices)


def test_what_workers_compute_is_taken_of_the_visits_in_which_it_is_known() -> None:
    phase = {"name": "real", "steps_s": [0.1] * 10, "waits_s": [0.0] * 10, "spent_s": 1.0}
    seen = RankTaken.model_validate({
        "pid": 1, "rank": 0, "world": 1, "optimizer_steps": 9, "facts": {"workers": 2},
        "phases": [{**phase, "workers_cpu_s": 0.2}, phase, {**phase, "workers_cpu_s": 0.4}],
    })  # fmt: skip
    # 0.6 s of 2 s, in steps of 0.1 s
    assert measured(seen).workers_cpu_s == pytest.approx(0.03)
    assert measured(rank(("real", [0.1] * 30))).workers_cpu_s is None


def test_where_the_step_computes_and_on_how_many_processors_is_told() -> None:
    on_gpu = measured(slow_loader(device="cuda"), usable_cpus=4.0)
    assert (on_gpu.on_cpu, on_gpu.usable_cpus) == (False, 4.0)
    assert (measured(slow_loader()).on_cpu, measured(slow_loader()).usable_cpus) == (True, None)


def test_what_was_not_measured_is_unknown_and_not_nothing() -> None:
    found = measured(rank(("real", [0.1] * 30)))
    assert (found.replay_s, found.half_s, found.double_s, found.loader_s) == (None,) * 4
    assert (found.replay_error_share, found.half_error_share) == (None, None)


def test_two_steps_are_no_burst() -> None:
    assert measured(rank(("real", [0.1] * 30), ("half", [0.1] * 2))).half_s is None


def test_a_machine_that_slows_down_between_visits_does_not_look_like_a_slow_loader() -> None:
    slower = [("real", [0.10] * 9), ("replay", [0.10] * 9), ("real", [0.20] * 9),
              ("replay", [0.20] * 9), ("real", [0.20] * 9)]  # fmt: skip
    found = measured(rank(*slower))
    # ratios to the real visits beside: 0.10 / 0.15 and 0.20 / 0.20, mean 0.8333; real mean 1/6
    assert found.step_s == pytest.approx(0.5 / 3)
    assert found.replay_s == pytest.approx(0.5 / 3 * (0.1 / 0.15 + 1) / 2)
    # t(1) = 12.706 x spread 0.3333 / sqrt(2) / sqrt(2) = 2.1177, and nothing is below 0
    assert found.replay_error_share == pytest.approx((0.83333 + 2.11767) / 2, rel=1e-4)


def test_steps_of_accumulated_batches_are_counted_by_whole_windows() -> None:
    wrote = rank(("real", [0.0, 0.0, 0.0, 0.4] * 5), ("replay", [0.0, 0.0, 0.0, 0.2] * 5)).phases
    whole = [each.model_copy(update={"windows_s": (w,) * 5})
             for each, w in zip(wrote, (0.1, 0.05), strict=True)]  # fmt: skip
    found = measured(rank().model_copy(update={"phases": tuple(whole)}))
    assert (found.step_s, found.step_error_share, found.replay_s) == (0.1, 0.0, 0.05)


@pytest.mark.parametrize(
    ("reals", "share"),
    [
        ([1.0, 1.0, 1.1, 1.1, 1.2, 1.2], 0.2),  # thirds 1.0 and 1.2
        ([1.0, 1.0, 1.02, 1.02, 1.04, 1.04], None),  # 4 % is not said
        ([1.2, 1.0, 1.1, 1.0, 1.2, 1.1], None),  # no trend
        ([1.0, 1.1, 1.2, 1.3, 1.4], None),  # too few to tell
        ([1.2, 1.2, 1.1, 1.1, 1.0, 1.0], None),  # became faster
    ],
)
def test_a_program_that_slows_down_is_told_from_chance(
    reals: list[float], share: float | None
) -> None:
    found = drift(taken(rank(*(("real", [each] * 3) for each in reals))).visits)
    assert found == (None if share is None else pytest.approx(share))


def test_the_sweep_gives_the_present_loader_and_the_best_other() -> None:
    tried = [
        {"workers": 0, "batches_per_s": 10.0}, {"workers": 1, "batches_per_s": 9.0},
        {"workers": 2, "batches_per_s": 20.0}, {"workers": 4, "problem": "no memory"},
    ]  # fmt: skip
    found = loaders(slow_loader(loader=tried).facts, workers=0)
    assert found == (0.1, 0.05, 2, None)


def test_the_rank_that_waits_longest_sets_the_pace() -> None:
    fast, slow = slow_loader(), rank(("real", [0.1] * 30), wait_s=0.09)
    assert slowest([fast, slow]) is slow


def test_each_change_is_priced_in_step_time() -> None:
    tried = [{"workers": 0, "batches_per_s": 12.5}, {"workers": 2, "batches_per_s": 25.0}]
    slow = slow_loader(loader=tried)
    changes = what_if(taken(slow), loaders(slow.facts, workers=0), workers=0)
    found = {each.change: each for each in changes}
    assert found["a loader that costs nothing"].step_s == pytest.approx(0.02)
    assert found["2 workers instead of 0"].step_s == pytest.approx(0.04)  # 1/25
    # by sample: 80 ms of loader, and half of 36
    assert found["twice the batch, by sample"].step_s == pytest.approx(0.098)
    # 80 of loader, 2 x 11 - 20 = 2 of the host, 18 of the device halved
    assert found["a GPU twice as fast"].step_s == pytest.approx(0.091)
    assert found["a GPU twice as fast"].basis == "bounded"
    # 80 of loader, 18 of the device
    assert found["a host that costs nothing"].step_s == pytest.approx(0.098)


def copying(**facts: Any) -> RankTaken:
    """Return a step of 60 ms: 20 of loader, 30 of copy, 8 of device and 2 of host."""
    return rank(
        ("real", [0.06] * 30), ("replay", [0.04] * 30), ("real", [0.06] * 30),
        ("replay", [0.04] * 30), ("resident", [0.01] * 30), ("replay", [0.04] * 30),
        ("half", [0.021] * 30), ("replay", [0.04] * 30), ("double", [0.078] * 30), **facts,
    )  # fmt: skip


def test_a_batch_on_the_device_takes_the_copy_out_of_all_that_is_replayed() -> None:
    found = measured(copying())
    assert (found.replay_s, found.replay_host_s) == pytest.approx((0.01, 0.04))
    # half of the copy of 30 out of 21, twice of it out of 78
    assert (found.half_s, found.double_s) == pytest.approx((0.006, 0.018))
    verdict = judge(found)
    assert (verdict.word, verdict.cause) == ("dataloader", "host-to-device copy")
    bare = measured(slow_loader())
    assert (bare.replay_s, bare.replay_host_s) == pytest.approx((0.02, None))


def test_two_steps_with_a_batch_on_the_device_are_none() -> None:
    few = rank(("real", [0.06] * 9), ("replay", [0.04] * 9), ("resident", [0.01] * 2))
    assert (measured(few).replay_s, measured(few).replay_host_s) == pytest.approx((0.04, None))


def test_where_noise_leaves_nothing_of_half_a_batch_it_is_not_known() -> None:
    noisy = rank(("real", [0.06] * 9), ("replay", [0.04] * 9), ("resident", [0.01] * 9),
                 ("replay", [0.04] * 9), ("half", [0.015] * 9))  # fmt: skip
    assert measured(noisy).half_s is None  # 15 - 30 / 2


def test_a_copy_is_neither_the_loaders_nor_the_devices() -> None:
    slow = copying()
    changes = what_if(taken(slow), loaders(slow.facts, workers=0), workers=0)
    found = {each.change: (each.step_s, each.basis) for each in changes}
    assert found["a batch that is on the device already"] == pytest.approx((0.01, "measured"))
    assert found["a loader that costs nothing"] == pytest.approx((0.04, "measured"))
    # 20 of loader, 30 of copy, 2 of the host, 2 x (40 - 21) - 30 = 8 of the device halved
    assert found["a GPU twice as fast"] == pytest.approx((0.056, "bounded"))
    # 20 of loader, 30 of copy, 8 of the device
    assert found["a host that costs nothing"] == pytest.approx((0.058, "bounded"))


def test_the_memory_told_is_that_of_the_batch_as_it_is() -> None:
    wrote = slow_loader(peak_memory_bytes=21 * 10**9)
    twice = [each.model_copy(update={"peak_memory_bytes": n * 10**9})
             for n, each in enumerate(wrote.phases, 1)]  # fmt: skip
    found = profile_of([wrote.model_copy(update={"phases": tuple(twice)})], code=0, spent_s=9.0)
    assert found.peak_memory_gb == 4  # of the real bursts, 1 and 4
    assert profile_of([wrote], code=0, spent_s=9.0).peak_memory_gb == 21


def test_workers_that_the_step_waits_for_set_its_pace_whatever_else_becomes_faster() -> None:
    wrote = slow_loader(workers=2, loader=[{"workers": 2, "batches_per_s": 11.0}])
    fed = wrote.model_copy(update={"phases": tuple(
        each.model_copy(update={"ready": (0.5,)}) if each.name == "real" else each
        for each in wrote.phases
    )})  # fmt: skip
    changes = what_if(taken(fed), loaders(fed.facts, workers=2), workers=2)
    found = {each.change: each.step_s for each in changes}
    assert found["a GPU twice as fast"] == pytest.approx(0.1)
    assert found["twice the batch, by sample"] == pytest.approx(0.1)


def test_how_unevenly_ranks_wait_is_told() -> None:
    first, second = (rank(("real", [0.1] * 30), wait_s=each) for each in (0.01, 0.03))
    assert skew([first, second]) == pytest.approx(0.2)  # (30 - 10) / 100
    assert skew([first]) is None


def test_an_epoch_is_its_steps_and_what_was_seen_between_them() -> None:
    gaps = [
        {"what": "epoch", "step_s": 5.1, "phase": "real"},
        {"what": "epoch", "step_s": 3.02, "phase": "replay"},  # a step there takes 20 ms
        {"what": "loader start", "step_s": 0.6, "phase": "real"},
        {"what": "start", "step_s": 99.0, "phase": "real"},
    ]  # fmt: skip
    wrote = RankTaken.model_validate({**slow_loader().model_dump(), "gaps": gaps})
    epoch = profile_of([wrote], code=0, spent_s=60.0).epoch
    assert epoch is not None
    # 100 x 0.1, the mean of 5 and 3, and 0.5
    assert epoch.total_s.expected == pytest.approx(10 + 4 + 0.5)
    assert (epoch.between_s, epoch.loader_start_s) == pytest.approx((4.0, 0.5))
    assert epoch.ends_seen == 2


def test_a_start_of_workers_that_no_end_of_an_epoch_shows_is_that_before_the_bursts() -> None:
    # 100 x 0.1; batches of this loader are waited for 0.08 s, the first came after 0.58
    epoch = profile_of([slow_loader(first_batch_s=0.58)], code=0, spent_s=60.0).epoch
    assert epoch is not None
    assert epoch.loader_start_s == pytest.approx(0.5)
    assert epoch.total_s.expected == pytest.approx(10.5)
    assert epoch.ends_seen == 0


def test_a_start_of_workers_that_was_seen_counts_instead_of_the_first() -> None:
    gaps = [{"what": "loader start", "step_s": 0.4, "phase": "real"}]
    body = {**slow_loader(first_batch_s=9.0).model_dump(), "gaps": gaps}
    epoch = profile_of([RankTaken.model_validate(body)], code=0, spent_s=60.0).epoch
    assert epoch is not None
    assert epoch.loader_start_s == pytest.approx(0.3)  # 0.4 less a step of 0.1


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


def test_ranks_share_the_processors_of_the_box() -> None:
    busy = rank(("real", [0.1] * 30), ("replay", [0.08] * 30), ("half", [0.04] * 30),
                device="NVIDIA L4", workers=4)  # fmt: skip
    phases = [each.model_copy(update={"main_s": 0.5, "spent_s": 1.0}) for each in busy.phases]
    one = busy.model_copy(update={"phases": tuple(phases)})
    box = Here(CpuFacts(reported=8, affinity=8), MemoryFacts(), None)
    # 4 workers and half of a main thread: 8 processors are enough for one rank, and 4 are not
    assert profile_of([one], code=0, spent_s=9.0, here=box).verdict.word == "gpu"
    assert profile_of([one, one], code=0, spent_s=9.0, here=box).verdict.word == "mixed"


@pytest.mark.parametrize("ranks", [[], [rank()], [rank(("real", [0.1] * 2))]])
def test_without_steps_there_is_no_profile(ranks: list[RankTaken]) -> None:
    with pytest.raises(UnknownError, match="no steps of training were seen"):
        profile_of(ranks, code=1, spent_s=1.0)


def test_few_steps_are_judged_and_said() -> None:
    found = profile_of([rank(("real", [0.1] * 10), ("replay", [0.02] * 10), wait_s=0.08)],
                       code=0, spent_s=9.0)  # fmt: skip
    assert found.verdict.word == "dataloader"
    assert any("only 10 steps were timed" in text for text in found.notices)


def test_twice_the_batch_that_does_not_fit_is_no_crash_of_the_program() -> None:
    oom = slow_loader(phase="double", error="OutOfMemoryError: CUDA out of memory.")
    found = profile_of([oom], code=1, spent_s=60.0)
    assert found.program_exit_code is None
    assert found.notices[0] == "twice the batch does not fit: out of memory"
    crashed = profile_of([slow_loader(phase="real", error="ValueError: nan")], code=1, spent_s=60.0)
    assert crashed.program_exit_code == 1


def test_what_was_seen_of_the_gpu_stands_in_the_profile_and_in_its_verdict() -> None:
    trace = TraceFacts(step_s=0.3, busy_share=0.3)
    plain = rank(("real", [0.1] * 30), ("replay", [0.1] * 30), ("half", [0.06] * 30),
                 device="NVIDIA H100 80GB HBM3")  # fmt: skip
    assert profile_of([plain], code=0, spent_s=9.0).trace is None
    found = profile_of([plain], code=0, spent_s=9.0, seen=Seen((), trace, None))
    assert found.trace == trace
    assert found.verdict.why == "the device is busy 90% of the step"  # 0.3 x 0.3 s of 0.1 s


def test_two_comparisons_that_agree_by_chance_are_no_surer_than_their_steps() -> None:
    # real steps of 80 and 120 ms in turn: mean 100, and every replay half of its neighbours
    reals = ("real", [0.08, 0.12] * 20)
    seen = taken(rank(reals, ("replay", [0.05] * 4), reals, ("replay", [0.05] * 4), reals))
    found, real = seen.step("replay", "real"), seen.real()
    assert found is not None
    assert real is not None
    assert found.value == pytest.approx(0.05)
    # 8 replayed steps against 120 real ones: the interval of the mean, times sqrt(2 x 120 / 8)
    assert found.high - found.value == pytest.approx(0.05 * real.half_share * 30**0.5)
    # three have a spread of their own, here none
    third = taken(rank(*[reals, ("replay", [0.05] * 4)] * 3, reals)).step("replay", "real")
    assert third is not None
    assert third.high == pytest.approx(0.05)
