"""What looks at a box mean: the rules of reading robustly, one by one."""

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
    counter,
    gpu,
    log,
    look,
    process,
    run,
    watch,
)

from costplan.box.verdict import judge
from costplan.errors import InputError
from costplan.records.signals import Snapshot, Verdict

ALIVE = (INIT, process(TRAINER))


def judged(looks: list[Snapshot], window_s: float = WINDOW_S, **more: Any) -> Verdict:
    return judge(looks, window_s=window_s, **more)


# --- idle ---------------------------------------------------------------------------------------


def test_a_box_that_was_quiet_for_the_whole_window_is_idle() -> None:
    verdict = judged(watch(20 * MINUTE))
    assert verdict.state == "idle"
    assert verdict.idle_since_s == START_S
    assert verdict.quiet_s == 20 * MINUTE


def test_a_minute_short_of_the_window_it_is_unknown() -> None:
    verdict = judged(watch(19 * MINUTE))
    assert (verdict.state, verdict.idle_since_s) == ("unknown", None)
    assert verdict.why == "quiet for 19 min, 20 min are needed"


def test_one_look_alone_is_never_idle() -> None:
    assert judged([look()], window_s=0.001).state == "unknown"


def test_nobody_having_looked_is_unknown() -> None:
    assert judged([]).why == "nobody has looked yet"


@pytest.mark.parametrize("window_s", [0.0, -1.0, float("nan"), float("inf")])
def test_a_window_that_is_no_time_is_refused(window_s: float) -> None:
    with pytest.raises(InputError):
        judged(watch(HOUR), window_s=window_s)


def test_evidence_names_every_source_with_its_age() -> None:
    found = {each.name: each for each in judged(watch(20 * MINUTE)).evidence}
    assert set(found) == {"gpu", "setup", "cpu", "network", "disk"}
    assert {each.age_s for each in found.values()} == {0.0}
    assert found["gpu"].value == "all 1 at 5 % or below"


# --- what cannot be read ------------------------------------------------------------------------

UNREADABLE: list[dict[str, Any]] = [
    {"gpus": None},
    {"gpus": ()},
    {"gpus": (gpu(util=None),)},
    {"gpus": (gpu(), gpu(1, util=None))},
    {"processes": None},
    {"network_bytes": None},
    {"disk_used_bytes": None},
]


@pytest.mark.parametrize("missing", UNREADABLE, ids=str)
def test_a_source_that_cannot_be_read_makes_it_unknown(missing: dict[str, Any]) -> None:
    assert judged(watch(HOUR, **missing)).state == "unknown"


@pytest.mark.parametrize("missing", UNREADABLE, ids=str)
def test_a_source_that_could_not_be_read_a_minute_ago_restarts_the_window(
    missing: dict[str, Any],
) -> None:
    looks = [*watch(HOUR), look(61 * MINUTE, **missing), *watch(70 * MINUTE, since_s=62 * MINUTE)]
    verdict = judged(looks)
    assert verdict.state == "unknown"
    assert verdict.quiet_s <= 8 * MINUTE


def test_the_reason_for_missing_gpus_is_shown() -> None:
    looks = watch(HOUR, gpus=None, problems=("nvidia-smi ended with 9: driver mismatch",))
    assert "driver mismatch" in judged(looks).why


def test_memory_that_a_process_holds_is_not_idle() -> None:
    held = gpu(memory_used_mb=20_000.0, pids=(77,))
    assert judged(watch(HOUR, gpus=(held,))).state == "unknown"
    unlisted = gpu(memory_used_mb=20_000.0, pids=())
    assert judged(watch(HOUR, gpus=(unlisted,))).state == "idle"
    unknown = gpu(memory_used_mb=None, pids=None)
    assert judged(watch(HOUR, gpus=(unknown,))).state == "unknown"


def test_a_failed_look_is_unknown_whatever_came_before() -> None:
    failed = Snapshot(problem="box did not answer within 60 s")
    assert judged([*watch(HOUR), failed]).why == "box did not answer within 60 s"
    busy = watch(HOUR, gpus=(gpu(util=95),))
    assert judged([*busy, failed]).state == "unknown"


def test_a_failed_look_in_between_restarts_the_window() -> None:
    looks = [*watch(HOUR), Snapshot(problem="no"), *watch(71 * MINUTE, since_s=61 * MINUTE)]
    verdict = judged(looks)
    assert (verdict.state, verdict.quiet_s) == ("unknown", 10 * MINUTE)
    assert verdict.notes == ("watched anew since 10 min ago: a look failed",)


def test_a_run_folder_that_cannot_be_read_makes_it_unknown() -> None:
    assert judged(watch(HOUR, runs=[run(problem="nothing of that name")])).state == "unknown"


# --- clocks and gaps ----------------------------------------------------------------------------


@pytest.mark.parametrize("jump_s", [7_200, -7_200, 121, -121])
def test_a_clock_that_jumps_restarts_the_window(jump_s: float) -> None:
    looks = [*watch(HOUR), *watch(65 * MINUTE, since_s=61 * MINUTE, jump_s=jump_s)]
    verdict = judged(looks)
    assert (verdict.state, verdict.quiet_s) == ("unknown", 4 * MINUTE)
    assert "jumped" in verdict.notes[0]


@pytest.mark.parametrize("jump_s", [119, -119])
def test_a_clock_that_is_set_a_little_does_not(jump_s: float) -> None:
    looks = [*watch(HOUR), *watch(65 * MINUTE, since_s=61 * MINUTE, jump_s=jump_s)]
    assert judged(looks).state == "idle"


def test_a_restart_of_the_box_restarts_the_window() -> None:
    looks = [*watch(HOUR), *watch(65 * MINUTE, since_s=61 * MINUTE, boot_id="second")]
    verdict = judged(looks)
    assert (verdict.state, "restarted" in verdict.notes[0]) == ("unknown", True)


def test_a_clock_that_stands_still_restarts_the_window() -> None:
    looks = [*watch(HOUR), look(HOUR)]
    assert judged(looks).state == "unknown"


def test_a_gap_of_two_intervals_is_seen_time_and_a_longer_one_is_not() -> None:
    assert judged([*watch(HOUR), look(62 * MINUTE)]).state == "idle"
    assert judged([*watch(HOUR), look(62 * MINUTE + 1)]).state == "unknown"


def test_looks_more_than_five_minutes_apart_see_nothing() -> None:
    assert judged(watch(HOUR, every_s=300)).state == "idle"
    assert judged(watch(HOUR, every_s=360)).state == "unknown"


def test_the_interval_that_was_meant_counts_where_it_is_given() -> None:
    looks = [*watch(HOUR), look(63 * MINUTE)]
    assert judged(looks, interval_s=120).state == "idle"


def test_a_file_from_the_future_is_unknown() -> None:
    later = log(counters=[counter(5, at_s=2 * HOUR, name="log")])
    verdict = judged(watch(HOUR, runs=[later]))
    assert verdict.state == "unknown"
    assert "in the future" in verdict.notes[0]


def test_a_time_from_the_future_in_between_restarts_the_window() -> None:
    early = log(counters=[counter(5, at_s=2 * HOUR, name="log")])
    late = log(counters=[counter(5, at_s=-HOUR, name="log")])
    looks = [
        *watch(HOUR, runs=[late]),
        look(61 * MINUTE, runs=[early]),
        *watch(65 * MINUTE, since_s=62 * MINUTE, runs=[late]),
    ]
    verdict = judged(looks)
    assert (verdict.state, verdict.quiet_s) == ("unknown", 3 * MINUTE)


def test_a_file_server_may_be_some_seconds_ahead() -> None:
    def ahead(at_s: float) -> dict[str, Any]:
        return {"runs": [run(counters=[counter(at_s, at_s=at_s + 4)])], "processes": ALIVE}

    assert judged(watch(HOUR, ahead)).state == "busy"


# --- load ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "per_s", "state"),
    [
        ("network_bytes", 1_000_001, "busy"),
        ("network_bytes", 1_000_000, "idle"),
        ("disk_used_bytes", 1_000_001, "busy"),
        ("disk_used_bytes", 1_000_000, "idle"),
    ],
)
def test_more_than_a_megabyte_a_second_is_work(name: str, per_s: int, state: str) -> None:
    looks = watch(HOUR, lambda at_s: {name: 10 * GB + round(at_s) * per_s})
    assert judged(looks).state == state


def test_a_disk_that_empties_is_not_work() -> None:
    looks = watch(HOUR, lambda at_s: {"disk_used_bytes": 90 * GB - round(at_s) * 2_000_000})
    assert judged(looks).state == "idle"


def test_network_counters_that_start_anew_are_unknown() -> None:
    looks = [*watch(HOUR), look(61 * MINUTE, network_bytes=5)]
    assert judged(looks).state == "unknown"


@pytest.mark.parametrize(("cores", "state"), [(0.51, "busy"), (0.49, "idle")])
def test_half_a_core_of_one_process_is_work(cores: float, state: str) -> None:
    def at(at_s: float) -> dict[str, Any]:
        return {"processes": (INIT, process(9, cpu_s=cores * at_s))}

    assert judged(watch(HOUR, at)).state == state


@pytest.mark.parametrize(("each", "state"), [(0.26, "busy"), (0.24, "idle")])
def test_a_core_of_all_processes_together_is_work(each: float, state: str) -> None:
    def at(at_s: float) -> dict[str, Any]:
        return {"processes": tuple(process(n, cpu_s=each * at_s) for n in range(1, 5))}

    assert judged(watch(HOUR, at)).state == state


def test_a_process_that_is_new_brings_all_its_time() -> None:
    new = process(9, "ffmpeg", started_at_s=START_S + HOUR, cpu_s=50.0)
    verdict = judged([*watch(HOUR), look(61 * MINUTE, processes=(INIT, new))])
    assert verdict.why == "cpu: 0.83 cores in use, most by ffmpeg"


def test_a_number_that_another_process_took_over_is_a_new_process() -> None:
    old = watch(HOUR, processes=(INIT, process(9, cpu_s=1_000.0)))
    new = process(9, started_at_s=START_S + HOUR, cpu_s=50.0)
    assert judged([*old, look(61 * MINUTE, processes=(INIT, new))]).state == "busy"


def test_work_counts_until_the_window_has_passed_it() -> None:
    looks = [look(gpus=(gpu(util=50),)), *watch(HOUR, since_s=MINUTE)]
    assert judged(looks[:21]).state == "busy"
    assert judged(looks[:22]).state == "idle"


def test_a_downloader_of_last_week_is_a_service() -> None:
    mount = process(9, "rclone", started_at_s=START_S - 7 * 24 * HOUR)
    assert judged(watch(HOUR, processes=(INIT, mount))).state == "idle"
    fresh = process(9, "rclone")
    assert judged(watch(HOUR, processes=(INIT, fresh))).state == "busy"
