"""What the machine does from renting to teardown: each stretch by hand, on a bare job."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from bills.samples import meter, shipped
from hypothesis import given, settings
from hypothesis import strategies as st
from makes import HERE, jobs, offer, owner, providers, serverless, work

from costplan.phases import (
    ORDER,
    Moved,
    Phase,
    Plan,
    counted_us,
    counting,
    frame,
    phase,
    plan,
)
from costplan.predict import SAME, Factor
from costplan.records.jobs import Job
from costplan.transfers import staging_saves_s
from costplan.work import Guess, settle

if TYPE_CHECKING:
    from costplan.records.providers import Provider, State
    from costplan.work import Work

SECOND = 1_000_000
SPOT = {"offered": True, "price": "list", **HERE}


def planned(
    settled: Work,
    provider: Provider | None = None,
    *,
    factor: Factor = SAME,
    spot: bool = False,
    **line: Any,
) -> Plan | None:
    provider = provider or owner()
    framed = frame(settled, factor, provider, interruptible=spot)
    return plan(settled, framed, provider, offer(**line))


def seconds(found: Plan | None) -> dict[str, tuple[float, float, float]]:
    """Return low, expected and high seconds of every phase, in order."""
    assert found is not None
    return {
        each.name: (each.us[0] / SECOND, each.us[1] / SECOND, each.us[2] / SECOND)
        for each in found.phases()
    }


def same(value: float) -> tuple[float, float, float]:
    return (value, value, value)


# --- what takes time ------------------------------------------------------------------------------


def test_a_bare_job_does_nothing_but_train() -> None:
    assert seconds(planned(work())) == {"training": same(36_000)}


def test_everything_that_a_job_says_happens_in_order() -> None:
    settled = work(
        setup_minutes=15,
        warmup_s=60,
        overhead_s=120,
        validation_s=40,
        idle_after_hours=1,
        dataset_gb=19,
        image_gb=9,
        checkpoint_gb=0.3,
        push_every=5,
    )
    line: dict[str, Any] = {"inet_down_mbit_per_s": 500, "inet_up_mbit_per_s": 200}
    assert seconds(planned(settled, **line)) == {
        "image pull": same(144),  # 9 x 8000/500
        "install": same(900),
        "dataset transfer": same(304),  # 19 x 8000/500
        "warm-up": same(60),
        "training": same(36_000),
        "validation": same(400),  # 10 x 40
        "start, loader": same(120),
        "checkpoint pushes": same(24),  # 2 x 0.3 x 8000/200
        "final upload": same(12),  # 0.3 x 8000/200
        "idle until noticed": same(3_600),
    }
    assert list(seconds(planned(settled, **line))) == [
        name for name in ORDER if name in seconds(planned(settled, **line))
    ]


def test_training_and_validation_scale_with_the_card_and_nothing_else_does() -> None:
    settled = work(setup_minutes=1, warmup_s=60, overhead_s=120, validation_s=40)
    found = seconds(planned(settled, factor=Factor(0.5, 1.5, 2)))
    assert found == {
        "install": same(60),
        "warm-up": same(60),
        "training": (18_000, 54_000, 72_000),
        "validation": (200, 600, 800),
        "start, loader": same(120),
    }


def test_runs_share_one_set_up() -> None:
    fields: dict[str, Any] = {"setup_minutes": 15, "dataset_gb": 19, "image_gb": 9, "warmup_s": 60}
    one, four = seconds(planned(work(**fields))), seconds(planned(work(**fields, runs=4)))
    for name in ("install", "dataset transfer", "image pull"):
        assert one[name] == four[name]
    assert four["warm-up"] == same(240)
    assert four["training"] == same(144_000)


# --- lines ----------------------------------------------------------------------------------------

GB = {"dataset_gb": 19}


@pytest.mark.parametrize(
    ("fields", "line", "expected"),
    [
        # 19 x 8000 = 152000 Mbit; a line of 500 (200 to 1000) where none is stated
        ({**GB, "dataset_from": "hub"}, {}, (152, 304, 760)),
        ({**GB, "dataset_from": "hub"}, {"inet_down_mbit_per_s": 1_000}, same(152)),
        ({**GB, "dataset_from": "hub"}, {"inet_down_mbit_per_s": 100}, same(1_520)),
        # the slower of the two lines counts
        ({**GB, "dataset_from": "home", "home_mbit_per_s": 20}, {}, same(7_600)),
        (
            {**GB, "dataset_from": "home", "home_mbit_per_s": 20},
            {"inet_down_mbit_per_s": 10},
            same(15_200),
        ),
        ({**GB, "dataset_from": "home", "home_mbit_per_s": 500}, {}, (304, 304, 760)),
        # a line at home that nobody states: 20 (10 to 40)
        (
            {**GB, "dataset_from": "home"},
            {"inet_down_mbit_per_s": 1_000},
            (3_800, 7_600, 15_200),
        ),
        # a data set's own site: 100 (50 to 400)
        (
            {**GB, "dataset_from": "origin"},
            {"inet_down_mbit_per_s": 1_000},
            (380, 1_520, 3_040),
        ),
        # a guessed size: half over the fast line, double over the slow one
        ({**GB, "assumed": {"dataset_gb": "a guess"}}, {}, (76, 304, 1_520)),
    ],
)
def test_the_data_set_comes_over_the_slower_line(
    fields: dict[str, Any], line: dict[str, Any], expected: tuple[float, float, float]
) -> None:
    assert seconds(planned(work(**fields), **line))["dataset transfer"] == expected


def test_data_on_a_volume_take_no_time_and_no_traffic() -> None:
    found = planned(work(**GB, dataset_from="volume"))
    assert "dataset transfer" not in seconds(found)
    assert found is not None
    assert "dataset in" not in [moved.name for moved in found.frame.incoming]


@pytest.mark.parametrize(
    ("fields", "down", "saved_s"),
    [
        # 19 GB from home at 20 Mbit/s take 7600 s, from a hub at 500 take 304
        ({"dataset_from": "home", "home_mbit_per_s": 20}, 500, 7_296),
        # a home line as fast as the box's saves nothing
        ({"dataset_from": "home", "home_mbit_per_s": 500}, 500, 0),
        ({"dataset_from": "home", "home_mbit_per_s": 499}, 500, 152_000 / 499 - 304),
        # the data set's own site at 100: 1520 s
        ({"dataset_from": "origin"}, 500, 1_216),
        ({"dataset_from": "hub"}, 500, 0),
    ],
)
def test_staging_saves_what_the_slow_line_makes_the_machine_wait(
    fields: dict[str, Any], down: float, saved_s: float
) -> None:
    rented = offer(inet_down_mbit_per_s=down)
    assert staging_saves_s(work(**GB, **fields), rented) == pytest.approx(saved_s)


def test_uploads_take_the_line_up_and_one_more_at_the_end_of_each_run() -> None:
    found = planned(work(checkpoint_gb=1, runs=2, push_every=4), inet_up_mbit_per_s=100)
    # 20 epochs, a push after every 4th: 5 x 80 s; 2 final ones
    assert seconds(found)["checkpoint pushes"] == same(400)
    assert seconds(found)["final upload"] == same(160)
    assert found is not None
    assert found.frame.outgoing == (Moved("checkpoints out", Guess(7, 7, 7), "running"),)


@pytest.mark.parametrize(
    ("terms", "state"),
    [
        (owner(), "running"),  # a virtual machine runs while it pulls
        (owner(meter("gpu", states=("running", "loading_image"))), "loading_image"),
        (owner(meter("gpu", states_unknown=("loading_image",))), "loading_image"),
        (owner(kind="marketplace"), "loading_image"),
    ],
)
def test_what_comes_in_is_data_image_and_packages(terms: Provider, state: State) -> None:
    found = planned(work(dataset_gb=19, image_gb=9, environment_gb=4), terms)
    assert found is not None
    (pull,) = (each for each in found.phases() if each.name == "image pull")
    assert pull.state == state
    assert found.frame.incoming == (
        Moved("dataset in", Guess(19, 19, 19), "running"),
        Moved("image in", Guess(9, 9, 9), state),
        Moved("packages in", Guess(2, 2, 2), "running"),  # half of 4
    )


# --- starting and ending --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("boot", "expected"),
    [
        # nobody says: none, 5 %, 58 % fail, 288 s each: 0.05/0.95 x 288, 0.58/0.42 x 288
        (None, (0, 15.157895, 397.714286)),
        # 0.5/0.5 tries of 2 minutes, twice that in high
        ({"failure_share": 0.5, "probe_minutes": 2}, (0, 120, 240)),
        # none ever comes up: ten tries
        ({"failure_share": 1, "probe_minutes": 2}, (0, 1_200, 2_400)),
    ],
)
def test_boots_that_fail_are_paid_time(
    boot: dict[str, float] | None, expected: tuple[float, float, float]
) -> None:
    terms = None if boot is None else {**boot, **HERE}
    found = seconds(planned(work(), owner(boot=terms)))
    assert found["failed boots"] == pytest.approx(expected)


def test_a_provider_whose_boots_never_fail_has_none() -> None:
    terms = {"failure_share": 0, "probe_minutes": 5, **HERE}
    assert "failed boots" not in seconds(planned(work(), owner(boot=terms)))


@pytest.mark.parametrize(
    ("terms", "cold", "warm"),
    [
        ({"cold_start_s": 30, "idle_timeout_s": 5}, same(30), (0, 5, 5)),
        ({}, (5, 20, 120), (0, 0, 60)),
        ({"cold_start_s": 0, "idle_timeout_s": 600}, None, (0, 600, 600)),
    ],
)
def test_a_function_starts_cold_and_is_kept_warm(
    terms: dict[str, float],
    cold: tuple[float, float, float] | None,
    warm: tuple[float, float, float],
) -> None:
    settled = work(setup_minutes=15, image_gb=9, idle_after_hours=1)
    found = seconds(planned(settled, serverless(serverless={**terms, **HERE})))
    assert found.get("cold start") == cold
    assert found["kept warm"] == warm
    assert not {"image pull", "install", "failed boots", "idle until noticed"} & set(found)


@pytest.mark.parametrize(
    ("states", "teardown"),
    [(("running",), None), (("running", "terminating"), (10, 60, 300))],
)
def test_the_teardown_counts_where_terminating_bills(
    states: tuple[str, ...], teardown: tuple[float, float, float] | None
) -> None:
    found = seconds(planned(work(), owner(meter("gpu", states=states))))
    assert found.get("teardown") == teardown


def test_the_idle_end_is_not_part_of_the_useful_hours() -> None:
    found = planned(work(idle_after_hours=2, overhead_s=100))
    assert found is not None
    assert found.frame.useful_us == (36_100 * SECOND,) * 3


# --- interruptions --------------------------------------------------------------------------------


def test_an_on_demand_machine_is_not_interrupted() -> None:
    found = planned(work(interruption_hours=1), owner(spot=SPOT))
    assert found is not None
    assert found.spot is None
    assert seconds(found) == {"training": same(36_000)}


def test_stated_interruptions_by_hand() -> None:
    # 10 h, a checkpoint every 1000 s that takes 10 s (3 GB at 0.3 GB/s): 36 x 10 = 360 s.
    # Every 6000 s one machine goes: (1000 + 10)/2 = 505 s lost and 95 s of set-up again.
    # (36000 + 360)/(1 - 600/6000) = 40400 s: 6.7333 of them
    settled = work(
        checkpoint_gb=3,
        checkpoint_minutes=1_000 / 60,
        interruption_hours=6_000 / 3_600,
        setup_minutes=95 / 60,
    )
    found = planned(settled, owner(spot={**SPOT, "disk_kept": False}), spot=True)
    assert found is not None
    assert found.spot is not None
    assert found.spot.times == pytest.approx(6.733333)
    by_name = seconds(found)
    assert by_name["checkpoint writes"] == pytest.approx(same(360))
    assert by_name["lost work"] == pytest.approx(same(3_400.333))
    assert by_name["restarts"] == pytest.approx(same(639.667), rel=1e-5)


def test_a_machine_that_keeps_its_disk_restarts_without_a_new_set_up() -> None:
    # as above with 120 s instead of 95: 625 of 6000 s; 36360/(1 - 0.1041667) = 40587.9 s, 6.76465
    # of them, 811.76 s
    settled = work(
        checkpoint_gb=3,
        checkpoint_minutes=1_000 / 60,
        interruption_hours=6_000 / 3_600,
        setup_minutes=95 / 60,
    )
    found = seconds(planned(settled, owner(spot={**SPOT, "disk_kept": True}), spot=True))
    assert found["restarts"] == pytest.approx(same(811.758), rel=1e-5)


@pytest.mark.parametrize(
    ("job_h", "provider_h", "times"),
    [
        # a checkpoint every 100 s writes 1 s: 36360 s; 50.5 s lost and 120 s of restart each time:
        # 36360/(36000 - 170.5) = 1.014806; 36360/(7200 - 170.5) = 5.172487
        (10, None, 1.014806),
        (None, 10, 1.014806),
        (10, 2, 1.014806),  # the job's own word wins
        (2, 10, 5.172487),
    ],
)
def test_the_mean_time_between_interruptions_is_the_jobs_or_the_providers(
    job_h: float | None, provider_h: float | None, times: float
) -> None:
    settled = work(interruption_hours=job_h, checkpoint_minutes=100 / 60)
    terms = {**SPOT, "disk_kept": True, "hours_between_interruptions": provider_h}
    found = planned(settled, owner(spot=terms), spot=True)
    assert found is not None
    assert found.spot is not None
    assert found.spot.times == pytest.approx(times, rel=1e-5)


def test_unstated_interruptions_are_none_one_a_day_and_one_in_four_hours() -> None:
    # a checkpoint every 100 s: 36360 s of work; 170.5 s of each life are lost:
    # 36360/(86400 - 170.5) = 0.421666; 36360/(14400 - 170.5) = 2.555251; x 120 s of restart
    settled = work(checkpoint_minutes=100 / 60)
    found = planned(settled, owner(spot={**SPOT, "disk_kept": True}), spot=True)
    assert found is not None
    assert found.spot is not None
    assert found.spot.times == pytest.approx(0.421666, rel=1e-5)
    assert seconds(found)["restarts"] == pytest.approx((0, 50.5999, 306.6301), rel=1e-5)
    assert seconds(found)["checkpoint writes"] == pytest.approx((0, 360, 360))


@pytest.mark.parametrize(("setup_minutes", "ends"), [(59, True), (60, False), (61, False)])
def test_a_machine_that_never_lives_through_its_set_up_never_ends(
    setup_minutes: float, *, ends: bool
) -> None:
    # taken back every hour, with an hour of set-up on each new machine
    settled = work(interruption_hours=1, setup_minutes=setup_minutes, checkpoint_minutes=0.5)
    found = planned(settled, owner(spot={**SPOT, "disk_kept": False}), spot=True)
    assert (found is not None) is ends


def test_a_guess_of_rare_interruptions_is_not_taken_shorter_than_four_restarts() -> None:
    # two hours of set-up: one in 4 h would leave no machine that gets anywhere; 8 h are taken.
    # 36360 s of work; 7200 + 50.5 of 28800 s are lost: 36360/(28800 - 7250.5) = 1.687278 x 7200 s
    settled = work(setup_minutes=120, checkpoint_minutes=100 / 60)
    found = seconds(planned(settled, owner(spot={**SPOT, "disk_kept": False}), spot=True))
    assert found["restarts"][2] == pytest.approx(12_148.4, rel=1e-5)


def test_a_restart_does_not_push_again_what_has_been_pushed() -> None:
    # a restart needs its set-up of 95 s, not the 10 x 80 s of all pushes
    fields = {"checkpoint_gb": 1, "interruption_hours": 10, "setup_minutes": 95 / 60}
    terms = owner(spot={**SPOT, "disk_kept": False})
    quiet = planned(work(**fields), terms, spot=True, inet_up_mbit_per_s=100)
    pushing = planned(work(**fields, push_every=1), terms, spot=True, inet_up_mbit_per_s=100)
    assert seconds(pushing)["checkpoint pushes"] == same(800)
    assert seconds(pushing)["restarts"] == pytest.approx(seconds(quiet)["restarts"])


def test_a_restart_warms_up_once_however_many_runs_there_are() -> None:
    # each restart is 60 s of warm-up, whether 1 or 5 runs are ahead
    def each_s(runs: int) -> float:
        settled = work(interruption_hours=10, warmup_s=60, runs=runs)
        found = planned(settled, owner(spot={**SPOT, "disk_kept": False}), spot=True)
        assert found is not None
        assert found.spot is not None
        return found.spot.restarts_s / found.spot.times

    assert each_s(1) == pytest.approx(60)
    assert each_s(5) == pytest.approx(60)


def test_a_longer_restart_never_makes_the_whole_run_shorter() -> None:
    # 100 GB of checkpoint take 333 s to write. The data set of 50 GB comes over a home line of 20
    # Mbit/s, both guessed: 20000 s in a restart, 80000 s in high. The guess of 24 h between
    # interruptions becomes 4 x 80000 s there, so that less work is lost than in expected.
    settled = work(
        epochs=1_000,
        checkpoint_gb=100,
        dataset_gb=50,
        dataset_from="home",
        home_mbit_per_s=20,
        assumed={"dataset_gb": "a guess", "home_mbit_per_s": "a guess"},
    )
    found = planned(settled, owner(spot={**SPOT, "disk_kept": False}), spot=True)
    for low, expected, high in seconds(found).values():
        assert low <= expected <= high


# --- what a meter counts --------------------------------------------------------------------------

STRETCHES = [
    phase("a", "set-up", Guess(1, 2, 3), "booting"),
    phase("b", "training", Guess(10, 20, 30), "running"),
    phase("c", "idle", Guess(100, 200, 300), "terminating"),
]


@pytest.mark.parametrize(
    ("states", "unknown", "counted"),
    [
        (("running",), (), (10, 20, 30)),
        (("running", "booting"), (), (11, 22, 33)),
        (("running",), ("booting",), (10, 22, 33)),  # nobody says: not in low
        ((), ("running",), (0, 20, 30)),
        (("running", "booting", "terminating"), (), (111, 222, 333)),
        (("frozen",), (), (0, 0, 0)),
    ],
)
def test_a_meter_counts_its_states_and_unknown_ones_from_expected_on(
    states: tuple[str, ...], unknown: tuple[str, ...], counted: tuple[int, int, int]
) -> None:
    counts = counting(meter("gpu", states=states, states_unknown=unknown))
    assert counted_us(STRETCHES, counts) == tuple(value * SECOND for value in counted)


def test_without_a_meter_running_time_counts() -> None:
    assert counting(None) == {"running": 1}


def test_a_phase_is_in_whole_microseconds() -> None:
    assert phase("x", "training", Guess(0.1, 1 / 3, 2e-7)) == Phase(
        "x", "training", "running", (100_000, 333_333, 0)
    )


# --- laws -----------------------------------------------------------------------------------------


@settings(max_examples=25)
@given(fields=jobs(), provider=providers(), spot=st.booleans())
def test_every_phase_is_ordered_and_has_its_place(
    fields: dict[str, Any], provider: Provider, *, spot: bool
) -> None:
    found = planned(settle(Job.model_validate(fields)), provider, factor=Factor(1, 2, 3), spot=spot)
    for each in found.phases() if found is not None else []:
        assert each.name in ORDER
        assert 0 <= each.us[0] <= each.us[1] <= each.us[2], each


@pytest.mark.parametrize("key", ["vast", "modal", "runpod-secure", "aws", "salad"])
def test_a_shipped_providers_phases_are_in_order(key: str) -> None:
    provider = shipped(key)
    found = planned(work(dataset_gb=19, image_gb=9, idle_after_hours=1), provider)
    places = [ORDER.index(name) for name in seconds(found)]
    assert places == sorted(places)
