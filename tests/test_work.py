"""A job settled: every rate, what is left over, what is guessed and what is said about it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from makes import BARE_JOB, GUESSED, job, jobs, work

from costplan.errors import InputError, UnknownError
from costplan.records.jobs import Job
from costplan.work import DEFAULTS, Guess, settle

CARD = {"card": "RTX-4090"}


# --- how long an epoch takes ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rate", "amount", "epoch_s"),
    [
        ({"seconds_per_epoch": 90.5}, {}, 90.5),
        ({"samples_per_s": 400}, {"samples": 100_000}, 250.0),  # 100000/400
        ({"samples_per_s": 400}, {"steps_per_epoch": 500, "batch": 64}, 80.0),  # 500 x 64/400
        ({"tokens_per_s": 25_000}, {"tokens": 10**9}, 40_000.0),  # 10^9/25000
        ({"step_s": 0.25}, {"steps_per_epoch": 800}, 200.0),  # 800 x 0.25
        # whole steps: 6400/64 = 100, 6401/64 = 100.02 -> 101, 6399/64 = 99.98 -> 100
        ({"step_s": 0.25}, {"samples": 6_400, "batch": 64}, 25.0),
        ({"step_s": 0.25}, {"samples": 6_401, "batch": 64}, 25.25),
        ({"step_s": 0.25}, {"samples": 6_399, "batch": 64}, 25.0),
    ],
)
def test_an_epoch_lasts_as_long_as_its_amount_at_its_rate(
    rate: dict[str, float], amount: dict[str, int], epoch_s: float
) -> None:
    settled = work(throughput={**CARD, **rate}, epochs=3, **amount)
    assert settled.train_s == pytest.approx(3 * epoch_s)


@pytest.mark.parametrize(
    ("rate", "amount", "missing"),
    [
        ({"samples_per_s": 400}, {}, "needs samples"),
        ({"samples_per_s": 400}, {"steps_per_epoch": 500}, "needs samples"),
        ({"samples_per_s": 400}, {"tokens": 10**9}, "needs samples"),
        ({"tokens_per_s": 400}, {"samples": 100}, "needs tokens"),
        ({"step_s": 1}, {}, "needs steps_per_epoch, or samples and batch"),
        ({"step_s": 1}, {"samples": 100}, "needs steps_per_epoch, or samples and batch"),
    ],
)
def test_a_rate_of_something_that_the_job_does_not_count_is_no_answer(
    rate: dict[str, float], amount: dict[str, int], missing: str
) -> None:
    with pytest.raises(UnknownError, match=missing) as caught:
        work(throughput={**CARD, **rate}, **amount)
    assert caught.value.hint is not None


def test_a_job_without_a_throughput_says_how_to_get_one() -> None:
    with pytest.raises(UnknownError, match="no throughput") as caught:
        settle(Job(epochs=3))
    assert "costplan profile" in str(caught.value.hint)


@pytest.mark.parametrize(
    ("epoch_s", "epochs", "absurd"),
    [
        # a century is 100 x 8766 x 3600 = 3,155,760,000 s
        (1e8, 31, False),
        (1e8, 32, True),  # 3.2e9 s
    ],
)
def test_more_than_a_century_of_training_is_a_slip(
    epoch_s: float, epochs: int, *, absurd: bool
) -> None:
    fields = {"throughput": {**CARD, "seconds_per_epoch": epoch_s}, "epochs": epochs}
    if absurd:
        with pytest.raises(InputError, match="years on RTX-4090"):
            work(**fields)
    else:
        assert work(**fields).train_s == epoch_s * epochs


# --- what is left to do ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("epochs", "runs", "done", "left", "runs_left"),
    [
        (10, None, None, 10, 1),
        (10, None, 0, 10, 1),
        (10, None, 1, 9, 1),
        (10, None, 9, 1, 1),
        (10, 3, None, 30, 3),
        (10, 3, 9, 21, 3),  # 21/10 -> 3 runs still to start or to go on with
        (10, 3, 10, 20, 2),  # the first run is whole
        (10, 3, 11, 19, 2),
        (10, 3, 29, 1, 1),
    ],
)
def test_only_what_is_left_is_priced(
    epochs: int, runs: int | None, done: int | None, left: int, runs_left: int
) -> None:
    settled = work(epochs=epochs, runs=runs, done=done)
    assert (settled.epochs, settled.runs) == (left, runs_left)
    assert settled.train_s == left * 3_600


@pytest.mark.parametrize(("epochs", "runs", "done"), [(10, None, 10), (10, None, 11), (10, 3, 30)])
def test_a_job_of_which_nothing_is_left_is_refused(
    epochs: int, runs: int | None, done: int
) -> None:
    with pytest.raises(ValueError, match=f"leaves nothing of {epochs * (runs or 1)} epochs"):
        job(epochs=epochs, runs=runs, done=done)


def test_runs_share_one_set_up_and_each_warms_up_and_starts() -> None:
    one = work(setup_minutes=15, warmup_s=60, overhead_s=120)
    four = work(setup_minutes=15, warmup_s=60, overhead_s=120, runs=4)
    assert four.setup_s == one.setup_s == (900, 900, 900)
    assert four.packages_gb == one.packages_gb
    assert four.warmup_s == (240, 240, 240)  # 4 x 60
    assert four.overhead_s == (480, 480, 480)  # 4 x 120
    assert four.train_s == 4 * one.train_s


def test_overhead_is_that_of_a_run_so_half_a_run_has_half_of_it() -> None:
    # 10 epochs, 5 done: 5/10 of 120 s
    assert work(overhead_s=120, done=5).overhead_s == (60, 60, 60)


def test_validation_is_per_epoch() -> None:
    assert work(validation_s=40, epochs=65).validation_s == (2_600, 2_600, 2_600)


def test_validation_that_is_left_out_may_add_a_twentieth() -> None:
    settled = work(validation_s=None)
    assert settled.validation_s == (0, 0, 1_800)  # 0.05 x 36000
    assert "validation_s not given: taken as part of the throughput" in settled.assumed


@pytest.mark.parametrize(
    ("epochs", "every", "pushes"),
    [(10, None, 0), (10, 1, 10), (10, 3, 3), (10, 10, 1), (10, 11, 0), (9, 3, 3), (8, 3, 2)],
)
def test_checkpoints_are_pushed_after_every_n_epochs(
    epochs: int, every: int | None, pushes: int
) -> None:
    assert work(epochs=epochs, push_every=every).pushes == pushes


# --- units ----------------------------------------------------------------------------------------


def test_minutes_hours_and_days_become_seconds_and_hours() -> None:
    settled = work(
        setup_minutes=2,
        idle_after_hours=0.5,
        checkpoint_minutes=10,
        interruption_hours=3,
        keep_gb=7,
        keep_days=2,
    )
    assert settled.setup_s == (120, 120, 120)
    assert settled.idle_s == (1_800, 1_800, 1_800)
    assert settled.checkpoint_interval_s == 600
    assert settled.interruption_s == 10_800
    assert (settled.keep_gb, settled.keep_hours) == (7, 48)


def test_half_of_the_environment_comes_over_the_line() -> None:
    settled = work(environment_gb=4)
    assert settled.environment_gb == 4
    assert settled.packages_gb == (2, 2, 2)


# --- guesses --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("field", "name", "value"),
    [
        ("overhead_s", "overhead_s", 120.0),
        ("dataset_gb", "dataset_gb", 19.0),
        ("checkpoint_gb", "checkpoint_gb", 0.3),
        ("image_gb", "image_gb", 9.0),
        ("warmup_s", "warmup_s", 60.0),
    ],
)
def test_a_guessed_field_enters_at_half_and_double_and_is_said(
    field: str, name: str, value: float
) -> None:
    stated = work(**{field: value})
    guessed = work(**{field: value}, assumed={field: "a hunch"})
    assert getattr(stated, name) == (value, value, value)
    assert getattr(guessed, name) == (value / 2, value, value * 2)
    assert f"{field} {value:g}: a hunch" in guessed.assumed
    assert not any("hunch" in text for text in stated.assumed)


@pytest.mark.parametrize("field", sorted(DEFAULTS))
def test_a_field_that_is_left_out_is_a_guess_and_is_said(field: str) -> None:
    value, reason = DEFAULTS[field]
    settled = work(**{field: None}, dataset_from="home")
    assert f"{field} {value:g}: {reason}" in settled.assumed


def test_defaults_of_a_job_that_says_only_its_throughput() -> None:
    settled = settle(Job.model_validate({"throughput": BARE_JOB["throughput"]}))
    assert (settled.name, settled.epochs, settled.runs, settled.precision) == ("job", 1, 1, "amp")
    assert settled.dataset_gb == (5, 10, 20)
    assert settled.unpacked_gb == 10
    assert settled.dataset_from == "hub"
    assert settled.checkpoint_gb == (0.25, 0.5, 1)
    assert (settled.checkpoints_kept, settled.headroom, settled.disk_gb) == (2, 0.3, None)
    assert settled.idle_s == (1_800, 3_600, 7_200)
    assert (settled.cores, settled.ram_gb) == (8, 32)
    assert settled.memory_gb is None
    fields = {text.split()[0] for text in settled.assumed}
    assert fields >= {"epochs", "precision", "unpacked_gb", "dataset_from", "memory_gb"}
    assert fields >= set(DEFAULTS) - {"home_mbit_per_s"}
    assert "home_mbit_per_s" not in fields  # nothing comes from home


def test_the_line_at_home_is_guessed_only_where_the_data_come_from_home() -> None:
    assert work(dataset_from="home").home_mbit_per_s == (10, 20, 40)
    assert work(dataset_from="home", home_mbit_per_s=50).home_mbit_per_s == (50, 50, 50)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("memory_gb", 22),
        ("unpacked_gb", 20),
        ("dataset_from", "hub"),
        ("checkpoints_kept", 3),
        ("epochs", 10),
        ("throughput", BARE_JOB["throughput"]),
    ],
)
def test_the_reason_of_any_guess_is_said(field: str, value: object) -> None:
    settled = work(**{field: value}, assumed={field: "a hunch"})
    assert any(text.startswith(field) and "a hunch" in text for text in settled.assumed)


@settings(max_examples=30)
@given(jobs())
def test_every_guess_is_ordered_and_nothing_is_negative(fields: dict[str, Any]) -> None:
    settled = settle(Job.model_validate(fields))
    for value in settled:
        if isinstance(value, Guess):
            assert 0 <= value.low <= value.expected <= value.high


@settings(max_examples=30)
@given(jobs())
def test_only_guesses_have_a_range(fields: dict[str, Any]) -> None:
    exact = {key: fields.get(key, 1) for key in GUESSED}
    settled = settle(Job.model_validate({**fields, **exact, "assumed": {}}))
    for value in settled:
        if isinstance(value, Guess):
            assert value.low == value.expected == value.high


@settings(max_examples=20)
@given(st.integers(1, 50), st.integers(1, 5))
def test_what_is_done_and_what_is_left_make_the_whole(epochs: int, runs: int) -> None:
    whole = work(epochs=epochs, runs=runs)
    for done in range(1, epochs * runs):
        rest = work(epochs=epochs, runs=runs, done=done)
        assert rest.epochs + done == whole.epochs
        assert rest.train_s + done * 3_600 == whole.train_s
