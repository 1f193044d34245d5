"""What looks at a run mean: its counters, its process, its checkpoints."""

from __future__ import annotations

from typing import Any

import pytest
from boxes import (
    GB,
    HOUR,
    INIT,
    MINUTE,
    START_S,
    TRAINER,
    WINDOW_S,
    checkpoint,
    counter,
    gpu,
    log,
    look,
    process,
    run,
    watch,
)

from costplan.box.verdict import judge
from costplan.records.signals import Snapshot, Verdict

ALIVE = (INIT, process(TRAINER))


def judged(looks: list[Snapshot], window_s: float = WINDOW_S, **more: Any) -> Verdict:
    return judge(looks, window_s=window_s, **more)


# --- runs: moving, living, hung -----------------------------------------------------------------


def stuck(at_s: float, *, since_s: float = 0.0, **more: Any) -> dict[str, Any]:
    """A run whose epoch stopped at `since_s`, with a process that lives."""
    frozen = run(counters=[counter(7, at_s=since_s)], **more)
    return {"runs": [frozen], "processes": ALIVE}


def test_a_counter_that_moves_beats_a_gpu_at_0_percent() -> None:
    looks = watch(
        HOUR, lambda at_s: {"runs": [run(counters=[counter(at_s, at_s)])], "processes": ALIVE}
    )
    verdict = judged(looks)
    assert (verdict.state, verdict.why) == ("busy", "run /runs/one: epoch moved 0 s ago")


def test_a_run_within_its_rhythm_is_busy_however_quiet_the_box() -> None:
    looks = watch(2 * HOUR, lambda at_s: stuck(at_s, interval_s=HOUR))
    assert judged(looks).state == "busy"


@pytest.mark.parametrize(
    ("interval_s", "frozen_s", "state"),
    [
        (60, 30 * MINUTE, "busy"),
        (60, 31 * MINUTE, "hung"),
        (HOUR, 3 * HOUR, "busy"),
        (HOUR, 3 * HOUR + MINUTE, "hung"),
    ],
)
def test_the_hung_limit_is_three_intervals_but_half_an_hour(
    interval_s: float, frozen_s: float, state: str
) -> None:
    looks = watch(frozen_s, lambda at_s: stuck(at_s, interval_s=interval_s), gpus=(gpu(util=99),))
    assert judged(looks).state == state


def test_two_looks_are_enough_where_the_file_shows_how_long_it_has_stood() -> None:
    looks = [look(at_s, **stuck(at_s, since_s=-40 * MINUTE)) for at_s in (0, 10)]
    assert judged(looks, window_s=10).state == "hung"


def test_a_file_that_is_written_anew_with_the_same_step_has_not_moved() -> None:
    def beating(at_s: float) -> dict[str, Any]:
        return {"runs": [run(counters=[counter(183, at_s)])], "processes": ALIVE}

    assert judged(watch(33 * MINUTE, beating, gpus=(gpu(util=100),))).state == "hung"


def test_moving_data_is_work_whatever_stands_still() -> None:
    looks = watch(HOUR, lambda at_s: stuck(at_s) | {"network_bytes": round(at_s) * 6_000_000})
    assert judged(looks).state == "busy"


def test_a_second_run_that_moves_makes_it_busy_and_the_hung_one_a_note() -> None:
    def two(at_s: float) -> dict[str, Any]:
        frozen, moving = (
            run(counters=[counter(7)]),
            run("/runs/two", counters=[counter(at_s, at_s)]),
        )
        return {"runs": [frozen, moving], "processes": ALIVE}

    verdict = judged(watch(HOUR, two))
    assert verdict.state == "busy"
    assert verdict.notes == ("/runs/one: nothing has moved for 60 min, the limit is 30 min",)


def test_a_second_run_within_its_rhythm_makes_it_busy_too() -> None:
    frozen = run(counters=[counter(7)])
    slow = run("/runs/two", counters=[counter(7)], interval_s=HOUR)
    assert judged(watch(HOUR, runs=[frozen, slow], processes=ALIVE)).state == "busy"


def test_a_move_within_a_long_window_but_beyond_the_limit_is_hung() -> None:
    def at(at_s: float) -> dict[str, Any]:
        last_s = min(at_s, 20 * MINUTE)
        return {"runs": [run(counters=[counter(last_s, last_s)])], "processes": ALIVE}

    assert judged(watch(HOUR, at), window_s=HOUR).state == "hung"


def test_after_twelve_hours_without_a_move_moving_data_is_no_work_any_more() -> None:
    def at(at_s: float) -> dict[str, Any]:
        return stuck(at_s) | {"network_bytes": round(at_s) * 6_000_000}

    assert judged(watch(11 * HOUR, at, every_s=300)).state == "busy"
    assert judged(watch(13 * HOUR, at, every_s=300)).state == "hung"


def test_a_log_that_grows_is_movement_and_the_standing_step_a_note() -> None:
    def at(at_s: float) -> dict[str, Any]:
        counters = [counter(183), counter(at_s, at_s, name="log")]
        return {"runs": [run(counters=counters)], "processes": ALIVE}

    verdict = judged(watch(HOUR, at))
    assert verdict.state == "busy"
    assert verdict.notes == ("/runs/one: no step for 60 min, only files grow",)


def test_a_full_disk_stops_files_from_moving_and_so_proves_nothing() -> None:
    looks = watch(HOUR, stuck, disk_used_bytes=100 * GB)
    verdict = judged(looks)
    assert verdict.state == "unknown"
    assert "disk is full" in verdict.why


def test_a_gpu_that_spins_without_power_beside_old_files_is_hung() -> None:
    looks = watch(
        HOUR, runs=[log(counters=[counter(9, name="log")])], gpus=(gpu(util=100, watts=85.0),)
    )
    verdict = judged(looks)
    assert verdict.state == "hung"
    assert "draws 85 of 450 W" in verdict.notes[0]


def test_a_gpu_that_works_beside_old_files_is_busy() -> None:
    looks = watch(
        HOUR, runs=[log(counters=[counter(9, name="log")])], gpus=(gpu(util=100, watts=400.0),)
    )
    assert judged(looks).state == "busy"


def test_a_spinning_gpu_without_any_run_is_busy_with_a_note() -> None:
    verdict = judged(watch(HOUR, gpus=(gpu(util=100, watts=85.0),)))
    assert (verdict.state, len(verdict.notes)) == ("busy", 1)


# --- runs: the process --------------------------------------------------------------------------


def over(state: str = "completed", **more: Any) -> Any:
    return run(state=state, counters=[counter(100, -HOUR)], **more)


def test_completed_counts_only_when_the_process_is_gone() -> None:
    assert judged(watch(25 * MINUTE, runs=[over()], processes=ALIVE)).state == "busy"
    assert judged(watch(25 * MINUTE, runs=[over()])).state == "idle"


def test_completed_with_a_process_nobody_can_look_up_is_unknown() -> None:
    assert judged(watch(HOUR, runs=[over()], processes=None)).state == "unknown"
    assert judged(watch(HOUR, runs=[over(pid=None)])).state == "unknown"


def test_completed_in_a_process_that_does_nothing_for_half_an_hour_is_hung() -> None:
    assert judged(watch(31 * MINUTE, runs=[over()], processes=ALIVE)).state == "hung"


def test_completed_in_a_notebook_that_stays_open_is_idle() -> None:
    kernel = process(TRAINER, program="ipykernel_launcher")
    held = gpu(memory_used_mb=9_000.0, pids=(TRAINER,))
    verdict = judged(watch(HOUR, runs=[over()], processes=(INIT, kernel), gpus=(held,)))
    assert verdict.state == "idle"
    assert [each.name for each in verdict.evidence if each.verdict == "hint"] == ["jupyter"]


def test_failed_with_its_process_gone_is_crashed_and_stopped_by_hand_is_idle() -> None:
    assert judged(watch(HOUR, runs=[over("failed", error="OSError")])).state == "crashed"
    assert judged(watch(HOUR, runs=[over("failed", error="KeyboardInterrupt")])).state == "idle"


@pytest.mark.parametrize(("age_s", "state"), [(19 * MINUTE, "unknown"), (20 * MINUTE, "idle")])
def test_files_that_changed_within_the_window_are_not_idle(age_s: float, state: str) -> None:
    def at(at_s: float) -> dict[str, Any]:
        changed_s = HOUR - age_s if at_s >= HOUR - age_s else -HOUR
        return {"runs": [over(newest_at_s=START_S + changed_s)]}

    assert judged(watch(HOUR, at)).state == state


def test_a_fresh_checkpoint_does_not_revive_a_dead_process() -> None:
    dead = run(counters=[counter(7, -5)], checkpoint=checkpoint(-5))
    assert judged([look(runs=[dead])]).state == "crashed"


def test_what_the_box_sent_until_a_run_died_does_not_count_either() -> None:
    def at(at_s: float) -> dict[str, Any]:
        return {"processes": ALIVE if at_s < 300 else (INIT,), "network_bytes": round(at_s) * GB}

    dead = run(counters=[counter(7, -5)])
    assert judged(watch(300, at, runs=[dead])).state == "crashed"
    assert judged(watch(360, at, runs=[dead])).state == "busy"  # somebody sends since then


@pytest.mark.parametrize("age_s", [0.0, HOUR, 50 * HOUR])
def test_running_with_its_process_gone_is_crashed_at_any_age(age_s: float) -> None:
    dead = run(counters=[counter(7, -age_s)])
    assert judged(watch(5 * MINUTE, runs=[dead])).state == "crashed"


def test_a_zombie_is_gone() -> None:
    zombie = (INIT, process(TRAINER, zombie=True))
    assert judged([look(runs=[run(counters=[counter(7)])], processes=zombie)]).state == "crashed"


def test_what_moved_before_the_process_died_does_not_count() -> None:
    def at(at_s: float) -> dict[str, Any]:
        living = at_s < 10 * MINUTE
        return {
            "runs": [run(counters=[counter(min(at_s, 600), min(at_s, 600))])],
            "processes": ALIVE if living else (INIT,),
            "gpus": (gpu(util=95 if living else 0),),
        }

    assert judged(watch(9 * MINUTE, at)).state == "busy"
    assert judged(watch(10 * MINUTE, at)).state == "crashed"


def test_steps_that_move_without_the_process_come_from_elsewhere_and_are_busy() -> None:
    looks = watch(HOUR, lambda at_s: {"runs": [run(counters=[counter(at_s, at_s)])]})
    assert judged(looks).state == "busy"


def test_a_log_that_grows_does_not_revive_a_dead_process() -> None:
    looks = watch(
        HOUR, lambda at_s: {"runs": [run(counters=[counter(7), counter(at_s, at_s, name="log")])]}
    )
    assert judged(looks).state == "crashed"


def test_a_dead_run_whose_gpu_is_held_is_unknown() -> None:
    dead, held = run(counters=[counter(7, -HOUR)]), gpu(memory_used_mb=20_000.0, pids=(99,))
    assert judged(watch(HOUR, runs=[dead], gpus=(held,))).state == "unknown"


def test_a_dead_first_rank_with_spinning_others_is_hung() -> None:
    dead, spins = run(counters=[counter(7, -HOUR)]), gpu(util=100, watts=80.0)
    assert judged(watch(5 * MINUTE, runs=[dead], gpus=(spins,))).state == "hung"


def test_a_python_that_started_after_the_run_may_be_another_one() -> None:
    other = process(TRAINER, started_at_s=START_S)
    dead = run(counters=[counter(7, -HOUR)])
    assert judged(watch(HOUR, runs=[dead], processes=(INIT, other))).state == "unknown"


def test_a_crash_of_last_week_does_not_mark_the_run_that_ended_today() -> None:
    crashed = run("/runs/old", counters=[counter(7, -100 * HOUR)])
    done = run("/runs/new", state="completed", pid=77, counters=[counter(100, -2 * HOUR)])
    verdict = judged(watch(HOUR, runs=[crashed, done]))
    assert (verdict.state, len(verdict.notes)) == ("idle", 1)


def test_a_run_without_a_process_is_stale_after_a_quarter_of_an_hour() -> None:
    quiet = log(counters=[counter(5, 0.0, name="log")])
    assert judged(watch(15 * MINUTE, runs=[quiet]), window_s=60).state == "unknown"
    assert judged(watch(16 * MINUTE, runs=[quiet]), window_s=60).state == "idle"


def test_its_own_rhythm_stretches_that() -> None:
    slow = log(counters=[counter(5, 0.0, name="epoch")], interval_s=HOUR)
    assert judged(watch(3 * HOUR, runs=[slow])).state == "unknown"
    assert judged(watch(3 * HOUR + MINUTE, runs=[slow])).state == "idle"


# --- checkpoints, what is left and what is lost --------------------------------------------------


@pytest.mark.parametrize(("age_s", "state"), [(59.0, "busy"), (61.0, "idle")])
def test_a_checkpoint_of_the_last_minute_is_busy(age_s: float, state: str) -> None:
    done = run(
        state="completed", checkpoint=checkpoint(HOUR - age_s), newest_at_s=START_S + HOUR - age_s
    )
    assert judged(watch(HOUR, runs=[done]), window_s=60.0).state == state


def test_checkpoints_that_change_size_are_busy() -> None:
    def at(at_s: float) -> dict[str, Any]:
        kept = checkpoint(-2 * HOUR)
        return {"runs": [over(checkpoint=kept, checkpoints_bytes=round(at_s))]}

    assert judged(watch(HOUR, at)).state == "busy"


def test_a_going_run_says_what_is_left_and_what_a_stop_would_lose() -> None:
    going = run(
        counters=[counter(7, -30)],
        eta_s=600.0,
        eta_at_s=START_S - 30,
        checkpoint=checkpoint(-300),
    )
    verdict = judged([look(runs=[going], processes=ALIVE)])
    assert (verdict.state, verdict.eta_s, verdict.lost_s) == ("busy", 570.0, 300.0)


def test_without_an_eta_of_its_own_it_follows_from_what_is_left() -> None:
    going = run(counters=[counter(7, -30)], total=10.0)
    verdict = judged([look(runs=[going], processes=ALIVE)])
    assert (verdict.eta_s, verdict.lost_s) == (150.0, HOUR)


def test_a_run_that_is_over_has_nothing_left_and_nothing_to_lose() -> None:
    verdict = judged(watch(HOUR, runs=[over(eta_s=5.0, eta_at_s=START_S)]))
    assert (verdict.eta_s, verdict.lost_s) == (None, None)


def test_one_run_that_does_not_tell_leaves_the_whole_unknown() -> None:
    told, silent = run(eta_s=60.0, eta_at_s=START_S), run("/runs/two", interval_s=None)
    assert judged([look(runs=[told, silent], processes=ALIVE)]).eta_s is None
