"""Hours and dollars of a profile, by hand: 36,000 samples an epoch, 100 ms a step of 16."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ranked import profiled, rank, slow_loader

from costplan.profiler.worth import Rate, worth
from costplan.records.jobs import Job
from costplan.records.profiles import Profile
from costplan.records.worth import ChangeWorth, Worth

RATE = Rate(Decimal("0.36"), "--rate")  # a cent for each 100 s


def told(profile: Profile, *, rate: Rate | None = RATE, **job: Any) -> Worth:
    return worth(profile, rate=rate, job=Job.model_validate(job) if job else None)


def change(found: Worth, name: str) -> ChangeWorth:
    return next(each for each in found.changes if each.change.startswith(name))


def test_an_epoch_is_as_long_as_the_loader_says() -> None:
    found = told(profiled(slow_loader()))  # 2,250 batches of 100 ms
    assert found.epoch is not None
    assert found.epoch.time_s.expected == pytest.approx(225)
    assert found.epoch.hours.expected == pytest.approx(0.0625)
    assert found.epoch.usd is not None
    assert float(found.epoch.usd.expected) == pytest.approx(0.0225)  # 0.0625 x 0.36
    assert (found.job, found.epochs, found.epoch_from) == (None, None, "length of the loader")


def test_the_interval_of_the_step_is_that_of_the_money() -> None:
    profile = profiled(slow_loader())
    found = told(profile)
    assert found.epoch is not None
    assert found.epoch.usd is not None
    assert profile.step_s.low is not None
    assert found.epoch.time_s.low == pytest.approx(2250 * profile.step_s.low)
    assert profile.step_s.low < 0.1
    assert found.epoch.usd.low is not None
    assert found.epoch.usd.high is not None
    assert found.epoch.usd.low < found.epoch.usd.expected < found.epoch.usd.high


def test_a_job_says_how_much_an_epoch_is_and_how_many_are_left() -> None:
    found = told(profiled(slow_loader()), samples=72_000, epochs=10, runs=2, done=5)
    assert (found.epochs, found.epoch_from) == (15, "samples of the job")
    assert found.job is not None
    assert found.job.time_s.expected == pytest.approx(15 * 72_000 / 160)  # 160 samples/s
    assert found.job.usd is not None
    assert float(found.job.usd.expected) == pytest.approx(0.675)  # 6,750 s at a cent for 100
    assert found.notices == (
        "an epoch of the job is 2 times as long as the program's loader: the job's is taken",
    )


def test_a_job_of_one_epoch_is_meant_where_it_names_none() -> None:
    found = told(profiled(slow_loader()), samples=36_000)
    assert (found.epochs, found.epochs_given, found.notices) == (1, False, ())


@pytest.mark.parametrize(
    ("job", "epoch_s", "said_by"),
    [
        ({"steps_per_epoch": 100, "batch": 64}, 40.0, "steps and batch of the job"),  # 6,400 / 160
        ({"steps_per_epoch": 100}, 20.0, "steps of the job"),  # 100 x 2 x 0.1
        ({"tokens": 64_000}, 4.0, "tokens of the job"),  # 1,600 of a batch in 0.1 s
        ({"epochs": 3}, 225.0, "length of the loader"),
    ],
)
def test_each_way_to_say_how_much_an_epoch_is(
    job: dict[str, Any], epoch_s: float, said_by: str
) -> None:
    found = told(profiled(slow_loader(accumulation=2, tokens=1_600)), **job)
    assert found.epoch is not None
    assert found.epoch.time_s.expected == pytest.approx(epoch_s)
    assert found.epoch_from == said_by


def test_two_ranks_pass_an_epoch_in_half_the_time_and_the_box_costs_the_same() -> None:
    one, two = profiled(slow_loader()), profiled(slow_loader(), slow_loader())
    costs = []
    for profile in (one, two):
        found = told(profile, samples=36_000)
        assert found.epoch is not None
        assert found.epoch.usd is not None
        costs.append(float(found.epoch.usd.expected))
    assert costs == pytest.approx([0.0225, 0.01125])
    # Batches per epoch are those of one rank: its loader tells what all ranks do together.
    assert told(two).epoch == told(one).epoch


def test_tokens_without_tokens_in_the_batches_are_said_and_the_loader_counts() -> None:
    found = told(profiled(slow_loader()), tokens=64_000)
    assert found.epoch_from == "length of the loader"
    assert found.notices == ("the job counts tokens, of which the program's batches tell nothing",)


def test_without_a_length_and_a_job_an_epoch_is_not_known() -> None:
    found = told(profiled(slow_loader(batches_per_epoch=None)))
    assert (found.epoch, found.epoch_from) == (None, None)
    assert found.why_no_epoch is not None
    assert "the loader has no length" in found.why_no_epoch
    assert all(each.epoch is None and each.saves_epoch is None for each in found.changes)
    assert found.spent_usd is not None  # 74 s at a cent for 100
    assert float(found.spent_usd) == pytest.approx(0.0074)


def test_without_a_rate_there_are_hours_and_no_dollars() -> None:
    found = told(profiled(slow_loader()), rate=None, samples=36_000, epochs=10)
    assert found.job is not None
    assert found.job.hours.expected == pytest.approx(0.625)
    assert found.job.usd is None
    assert (found.spent_usd, found.usd_per_hour, found.rate_from) == (None, None, None)
    saved = change(found, "a loader").saves_job
    assert saved is not None
    assert saved.hours == pytest.approx(0.5)  # 80 of 100 ms
    assert saved.usd is None


def test_each_change_has_its_rate_its_time_and_its_saving() -> None:
    found = told(profiled(slow_loader()), samples=36_000, epochs=10)
    free = change(found, "a loader that costs nothing")
    assert free.times_as_fast == pytest.approx(5)
    assert free.samples_per_s == pytest.approx(800)  # 16 / 0.02
    assert free.job is not None
    assert free.job.hours.expected == pytest.approx(0.125)  # 2,250 x 10 x 0.02 s
    assert free.saves_job is not None
    assert free.saves_job.usd is not None
    assert float(free.saves_job.usd) == pytest.approx(0.18)  # 0.5 h x 0.36
    more = change(found, "8 workers instead of 4")
    assert more.basis == "bounded"
    assert more.times_as_fast == pytest.approx(2)
    assert found.best == free


def test_a_change_that_costs_is_a_negative_saving() -> None:
    slow = rank(("real", [0.1] * 30, 0.0), ("replay", [0.1] * 30, 0.0), ("double", [0.24] * 9, 0.0))
    found = change(told(profiled(slow)), "twice the batch")
    assert found.saves_epoch is not None
    assert found.saves_epoch.usd is not None
    # 120 for 100 ms: 2,250 x 0.02 s more
    assert found.saves_epoch.hours == pytest.approx(-0.0125)
    assert float(found.saves_epoch.usd) == pytest.approx(-0.0045)


def test_nothing_worth_a_word_is_no_best_change() -> None:
    def best(replay_s: float) -> ChangeWorth | None:
        steps = {"real": 0.1, "replay": replay_s, "half": 0.05}
        profile = profiled(rank(*((name, [step_s] * 30, 0.0) for name, step_s in steps.items())))
        loader = tuple(each for each in profile.what_if if each.change.startswith("a loader"))
        return told(profile.model_copy(update={"what_if": loader})).best

    assert best(0.096) is None
    found = best(0.0949)
    assert found is not None
    assert found.change == "a loader that costs nothing"


def test_a_faster_gpu_is_bounded_by_what_it_does_not_wait_for() -> None:
    found = told(profiled(slow_loader(loader=[])), samples=36_000, epochs=10).faster_gpu
    assert found.at_most_share == pytest.approx(0.16)  # 2 x (20 - 12) of 100
    assert found.worth_usd_per_hour is not None
    assert float(found.worth_usd_per_hour) == pytest.approx(0.36 / 0.84)
    assert found.saves_job is not None
    assert found.saves_job.hours == pytest.approx(0.1)  # 16 % of 0.625


def test_a_loader_that_keeps_pace_alone_leaves_a_faster_gpu_nothing() -> None:
    assert told(profiled(slow_loader())).faster_gpu.at_most_share == pytest.approx(0, abs=1e-9)


def test_no_row_promises_more_than_the_bound() -> None:
    bound = told(profiled(slow_loader())).faster_gpu.at_most_share
    twice = change(told(profiled(slow_loader())), "a GPU twice as fast")
    assert bound == pytest.approx(0, abs=1e-9)
    assert twice.times_as_fast == pytest.approx(1)
    # Without the sweep half of its 16 ms: 100 / 92.
    other = change(told(profiled(slow_loader(loader=[]))), "a GPU twice as fast")
    assert other.times_as_fast == pytest.approx(100 / 92)


def test_a_half_batch_that_takes_no_less_leaves_the_replayed_step_as_the_bound() -> None:
    steps = {"real": (0.1, 0.08), "replay": (0.02, 0.0), "half": (0.021, 0.0)}
    made = rank(*((name, [step_s] * 30, wait_s) for name, (step_s, wait_s) in steps.items()))
    assert told(profiled(made)).faster_gpu.at_most_share == pytest.approx(0.2)


def test_without_a_replayed_batch_nothing_bounds_a_faster_gpu() -> None:
    found = told(profiled(rank(("real", [0.1] * 30, 0.08)))).faster_gpu
    assert (found.at_most_share, found.worth_usd_per_hour) == (None, None)
    assert found.why_unknown is not None
    assert "no batch was replayed" in found.why_unknown


def test_an_inconclusive_verdict_bounds_nothing_and_advises_nothing() -> None:
    torn = rank(
        ("real", [0.1] * 9, 0.05), ("replay", [0.05] * 9, 0.0), ("half", [0.03] * 9, 0.0),
        ("real", [0.1] * 9, 0.05), ("replay", [0.098] * 9, 0.0),
    )  # fmt: skip
    profile = profiled(torn)
    assert profile.verdict.word == "inconclusive"
    found = told(profile)
    assert (found.best, found.faster_gpu.at_most_share) == (None, None)
    assert found.faster_gpu.why_unknown == "the verdict is inconclusive"


@given(
    cents=st.integers(1, 100_000),
    epochs=st.integers(1, 1_000),
    samples=st.integers(1_000, 10**9),
)
def test_what_a_change_saves_is_the_difference_of_what_the_runs_cost(
    cents: int, epochs: int, samples: int
) -> None:
    rate = Rate(Decimal(cents) / 100, "--rate")
    found = told(profiled(slow_loader()), rate=rate, samples=samples, epochs=epochs)
    assert found.job is not None
    assert found.job.usd is not None
    for each in found.changes:
        assert each.job is not None
        assert each.job.usd is not None
        assert each.saves_job is not None
        assert each.saves_job.usd is not None
        left = found.job.usd.expected - each.job.usd.expected
        # Each side is rounded to whole microseconds of the box.
        assert abs(left - each.saves_job.usd) <= rate.usd_per_hour / 3_600 / 500_000
