"""Reports from the field, by their numbers: what a box showed, and what it must be called.

Files and processes are real; only where hours would pass are the looks made up.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

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

from costplan.box import signals
from costplan.box.verdict import judge
from costplan.records.signals import GpuSeen, Snapshot

if TYPE_CHECKING:
    from collections.abc import Iterator

ALIVE = (INIT, process(TRAINER))


def state(looks: list[Snapshot], window_s: float = WINDOW_S, **more: Any) -> str:
    return judge(looks, window_s=window_s, **more).state


def notes(looks: list[Snapshot]) -> str:
    return "\n".join(judge(looks, window_s=WINDOW_S).notes)


# --- real files, real processes -----------------------------------------------------------------


@pytest.fixture
def trainer() -> Iterator[subprocess.Popen[bytes]]:
    """A process that lives until the test ends it."""
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"]) as started:
        yield started
        started.kill()


def told(folder: Path, pid: int, *, age_s: float = 0, **more: Any) -> Path:
    """Write `status.json` as of `age_s` ago."""
    then_s = time.time() - age_s
    at = datetime.fromtimestamp(then_s, tz=timezone.utc).isoformat()
    text = {
        **{"schema_version": 1, "pid": pid, "started_at": at, "updated_at": at},
        **{"state": "running", "completed_epochs": 7, "total_epochs": 10},
        **{"epoch_seconds": 60.0, "mean_epoch_seconds": 60.0, "eta_seconds": 180.0},
    }
    folder.mkdir(exist_ok=True)
    (folder / "status.json").write_text(json.dumps(text | more))
    os.utime(folder / "status.json", (then_s, then_s))
    return folder


def really(*folders: Path, gpus: tuple[GpuSeen, ...] = (gpu(),)) -> Snapshot:
    """A look at this machine, with GPUs that it need not have.

    Of its processes those that the runs name: what others do beside the tests is not the case's.
    """
    found = signals.read(folders)
    assert found.machine is not None
    assert found.machine.processes is not None
    pids = {1, os.getpid(), *(each.pid for each in found.runs)}
    kept = tuple(each for each in found.machine.processes if each.pid in pids)
    machine = found.machine.model_copy(update={"gpus": gpus, "processes": kept})
    return found.model_copy(update={"machine": machine})


def test_10_a_fresh_heartbeat_never_outvotes_a_dead_process(
    tmp_path: Path, trainer: subprocess.Popen[bytes]
) -> None:
    folder = told(tmp_path / "run", trainer.pid)
    assert state([really(folder)]) == "busy"
    trainer.kill()
    trainer.wait()
    told(folder, trainer.pid)  # written after the death
    verdict = judge([really(folder)], window_s=WINDOW_S)
    assert verdict.state == "crashed"
    assert "but process" in verdict.why


def test_51_completed_while_its_process_still_uploads_is_busy(
    tmp_path: Path, trainer: subprocess.Popen[bytes]
) -> None:
    folder = told(tmp_path / "run", trainer.pid, state="completed")
    verdict = judge([really(folder)], window_s=WINDOW_S)
    assert (verdict.state, "perhaps uploading" in verdict.why) == ("busy", True)


def test_50_a_checkpoint_that_is_being_written_is_waited_for(
    tmp_path: Path, trainer: subprocess.Popen[bytes]
) -> None:
    folder = told(tmp_path / "run", trainer.pid, age_s=5)
    (folder / "weights").mkdir()
    (folder / "weights/last.pt").write_bytes(b"1")
    first = really(folder)
    (folder / "weights/last.pt").write_bytes(b"12")
    verdict = judge([first, really(folder)], window_s=WINDOW_S)
    assert verdict.state == "busy"
    assert verdict.lost_s is not None


def test_a_going_run_on_this_machine_says_what_is_left(
    tmp_path: Path, trainer: subprocess.Popen[bytes]
) -> None:
    folder = told(tmp_path / "run", trainer.pid)
    verdict = judge([really(folder)], window_s=WINDOW_S)
    assert verdict.eta_s is not None
    assert 0 < verdict.eta_s <= 180


def test_45_full_load_at_low_power_with_a_step_that_stands_is_hung(
    tmp_path: Path, trainer: subprocess.Popen[bytes]
) -> None:
    folder = told(tmp_path / "run", trainer.pid, age_s=40 * MINUTE)
    # The status names a time before the process of this test: as it would be, it started then.
    text = json.loads((folder / "status.json").read_text())
    text["started_at"] = datetime.now(tz=timezone.utc).isoformat()
    (folder / "status.json").write_text(json.dumps(text))
    then_s = time.time() - 40 * MINUTE
    os.utime(folder / "status.json", (then_s, then_s))
    verdict = judge([really(folder, gpus=(gpu(util=100, watts=47.0),))], window_s=WINDOW_S)
    assert verdict.state == "hung"
    assert "draws 47 of 450 W" in "\n".join(verdict.notes)


def test_killed_without_a_word_leaves_running_behind_and_is_crashed(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    script = "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"
    with subprocess.Popen([sys.executable, "-c", script]) as started:
        told(folder, started.pid)
        started.wait()
    assert state([really(folder)]) == "crashed"


def test_63_a_probe_that_raises_is_unknown(tmp_path: Path) -> None:
    looks = [*watch(HOUR), signals.understood("Traceback (most recent call last):")]
    assert state(looks) == "unknown"


# --- hours, made up -----------------------------------------------------------------------------


def test_1_a_box_that_stands_after_a_hung_step_is_idle_at_twenty_minutes() -> None:
    left = log(counters=[counter(183, -43 * HOUR, name="log")])
    assert state(watch(19 * MINUTE, runs=[left])) == "unknown"
    verdict = judge(watch(20 * MINUTE, runs=[left]), window_s=WINDOW_S)
    assert verdict.state == "idle"
    assert verdict.evidence[0].age_s == 43 * HOUR + 20 * MINUTE


def test_1_where_its_owner_still_lives_it_is_hung() -> None:
    frozen = run(counters=[counter(183, -43 * HOUR)])
    assert state(watch(20 * MINUTE, runs=[frozen], processes=ALIVE)) == "hung"


def test_9_a_day_of_copying_with_the_gpu_unused_is_busy_and_told() -> None:
    looks = watch(2 * HOUR, lambda at_s: {"network_bytes": round(at_s) * 2_000_000})
    assert state(looks) == "busy"
    assert "load through a cheap box or a volume first" in notes(looks)


def test_23_five_hours_of_downloading_at_0_percent_are_busy() -> None:
    def loads(at_s: float) -> dict[str, Any]:
        moved = round(at_s) * 6_000_000
        return {"network_bytes": moved, "disk_used_bytes": moved}

    assert state(watch(5 * HOUR, loads, disk_total_bytes=1000 * GB)) == "busy"


def test_25_a_login_list_that_misses_a_terminal_is_unknown() -> None:
    people = (
        INIT,
        process(20, "sshd"),
        process(21, "bash", parent_pid=20, on_terminal=True),
    )
    verdict = judge(watch(HOUR, processes=people, logins=0), window_s=WINDOW_S)
    assert (verdict.state, "terminal runs under sshd" in verdict.why) == ("unknown", True)
    assert state(watch(HOUR, processes=people, logins=1)) == "idle"
    assert state(watch(HOUR, processes=people, logins=None)) == "idle"


def test_26_a_long_setup_is_busy() -> None:
    pip = process(9, "python3", program="pip")
    assert state(watch(HOUR, processes=(INIT, pip))) == "busy"


def test_26_a_setup_before_there_is_a_run_folder_is_busy(tmp_path: Path) -> None:
    (seen,) = signals.read([tmp_path / "not-yet"]).runs
    assert seen.problem is not None

    def installs(at_s: float) -> dict[str, Any]:
        return {"runs": [seen], "processes": (INIT, process(9, "gcc", cpu_s=0.9 * at_s))}

    assert state(watch(HOUR, installs)) == "busy"  # by the processor alone
    pip = process(9, "python3", program="pip")
    assert state(watch(HOUR, runs=[seen], processes=(INIT, pip))) == "busy"
    assert state(watch(HOUR, runs=[seen])) == "unknown"


def test_27_a_script_in_a_terminal_is_busy_whatever_the_notebook_says() -> None:
    def at(at_s: float) -> dict[str, Any]:
        lab = process(8, "jupyter-lab")
        return {"processes": (INIT, lab, process(9, on_terminal=True, cpu_s=0.9 * at_s))}

    assert state(watch(2 * HOUR, at)) == "busy"


def test_29_a_heartbeat_two_minutes_old_beside_a_log_that_grows_is_busy() -> None:
    def at(at_s: float) -> dict[str, Any]:
        return {
            "runs": [
                log(
                    counters=[counter(at_s, at_s, name="log")],
                    updated_at_s=START_S + at_s - 124,
                )
            ]
        }

    assert state(watch(HOUR, at)) == "busy"


def test_29_a_heartbeat_alone_never_decides() -> None:
    beat = log(counters=[counter(7, -124, name="log")])
    assert state([look(0, runs=[beat]), look(10, runs=[beat])], window_s=10) == "unknown"


@pytest.mark.parametrize(
    ("interval_s", "limit_s"),
    [(None, 15 * MINUTE), (60.0, 15 * MINUTE), (600.0, 30 * MINUTE)],  # 3 x 600 s
)
def test_29_the_limit_is_three_intervals_and_at_least_a_quarter_of_an_hour(
    interval_s: float | None, limit_s: float
) -> None:
    def beat(age_s: float) -> str:
        old = log(counters=[counter(7, -age_s, name="log")], interval_s=interval_s)
        looks = [look(0, runs=[old]), look(10, runs=[old])]
        return judge(looks, window_s=10).evidence[0].verdict

    assert beat(limit_s - 11) == "unknown"  # may be at work
    assert beat(limit_s + 1) == "idle"


def test_30_a_run_of_three_hours_that_moves_every_minute_warns_of_nothing() -> None:
    def at(at_s: float) -> dict[str, Any]:
        return {"runs": [run(counters=[counter(at_s, at_s)])], "gpus": (gpu(util=90),)}

    looks = watch(3 * HOUR, at, processes=ALIVE)
    assert (state(looks), notes(looks)) == ("busy", "")


def test_33_an_open_browser_is_a_hint_that_a_destroy_can_read() -> None:
    people = (INIT, process(8, "jupyter-lab"))
    verdict = judge(watch(2 * HOUR, processes=people), window_s=WINDOW_S)
    (hint,) = [each for each in verdict.evidence if each.verdict == "hint"]
    assert (verdict.state, hint.name) == ("idle", "jupyter")


def test_34_one_unused_gpu_of_eight_is_busy_and_named() -> None:
    eight = tuple(gpu(n, util=0 if n == 5 else 95) for n in range(8))
    looks = watch(HOUR, gpus=eight)
    assert (state(looks), notes(looks)) == ("busy", "GPU 5 unused: rent 7 or fix it")


def test_55_one_busy_gpu_of_eight_is_busy() -> None:
    eight = tuple(gpu(n, util=30 if n == 0 else 0) for n in range(8))
    looks = watch(HOUR, gpus=eight)
    assert state(looks) == "busy"
    assert "GPUs 1, 2, 3, 4, 5, 6, 7 unused: rent 1 or fix them" in notes(looks)


def test_35_a_flaky_link_is_unknown_and_only_a_dead_process_is_crashed() -> None:
    dead = run(counters=[counter(7)])
    timeout = Snapshot(problem="box did not answer within 60 s")
    assert state([*watch(HOUR, runs=[dead], processes=ALIVE), timeout]) == "unknown"
    assert state([look(runs=[dead])]) == "crashed"


@pytest.mark.parametrize("name", ["jupyter-lab", "tmux: server"])
def test_38_a_soft_signal_never_vetoes_and_expires_after_a_day(name: str) -> None:
    def hints(age_s: float) -> list[str]:
        session = process(8, name, started_at_s=START_S + HOUR - age_s)
        verdict = judge(watch(HOUR, processes=(INIT, session)), window_s=WINDOW_S)
        assert verdict.state == "idle"
        return [each.name for each in verdict.evidence if each.verdict == "hint"]

    assert len(hints(23.9 * HOUR)) == 1
    assert hints(24.1 * HOUR) == []


def test_39_a_forgotten_tab_is_idle() -> None:
    people = (
        INIT,
        process(8, "jupyter-lab", started_at_s=START_S - 48 * HOUR),
        process(20, "sshd", started_at_s=START_S - 48 * HOUR),
        process(21, "bash", parent_pid=20, on_terminal=True, started_at_s=START_S - 48 * HOUR),
    )
    old = log(counters=[counter(7, -48 * HOUR, name="log")])
    assert state(watch(HOUR, processes=people, runs=[old])) == "idle"


def test_41_thirteen_hours_of_load_without_a_move_are_hung() -> None:
    first = run(interval_s=None, started_at_s=START_S)

    def at(at_s: float) -> dict[str, Any]:
        kernel = process(TRAINER, cpu_s=1.5 * at_s, started_at_s=START_S)
        return {"runs": [first], "processes": (INIT, kernel)}

    assert state(watch(11 * HOUR, at, every_s=300)) == "busy"
    assert state(watch(13 * HOUR, at, every_s=300)) == "hung"


def test_43_a_full_disk_is_told_from_95_percent_on() -> None:
    assert "the disk is 95 % full" in notes(watch(HOUR, disk_used_bytes=95 * GB))
    assert notes(watch(HOUR, disk_used_bytes=94 * GB)) == ""


def test_46_a_step_that_stands_behind_fresh_heartbeats_is_hung() -> None:
    def at(at_s: float) -> dict[str, Any]:
        step = counter(183, at_s, name="step")  # its file is written all the time
        beat = run(counters=[step], updated_at_s=START_S + at_s)
        return {"runs": [beat], "processes": ALIVE, "gpus": (gpu(util=100, watts=440.0),)}

    assert state(watch(29 * MINUTE, at)) == "busy"
    assert state(watch(33 * MINUTE, at)) == "hung"


def test_46_the_limit_grows_with_the_step_of_the_run() -> None:
    def at(at_s: float) -> dict[str, Any]:
        step = counter(183, at_s, name="step")
        return {"runs": [run(counters=[step], interval_s=1_200.0)], "processes": ALIVE}

    assert state(watch(59 * MINUTE, at)) == "busy"
    assert state(watch(61 * MINUTE, at)) == "hung"  # 3 x 20 min


@pytest.mark.parametrize(("age_s", "expected"), [(59, "busy"), (61, "idle")])
def test_50_a_checkpoint_must_be_quiet_for_a_minute(age_s: float, expected: str) -> None:
    saved = checkpoint(-age_s)
    done = run(state="completed", checkpoint=saved, newest_at_s=START_S - age_s)
    assert state([look(-5, runs=[done]), look(0, runs=[done])], window_s=5) == expected


@pytest.mark.parametrize("away", ["stopped", "gone"])
def test_54_a_box_that_answers_after_its_provider_gave_it_up_is_unknown(away: Any) -> None:
    verdict = judge(watch(HOUR), window_s=WINDOW_S, provider_state=away)
    assert (verdict.state, verdict.why) == (
        "unknown",
        f"the provider says {away}, but the box answers",
    )
    assert {"provider", "gpu"} <= {each.name for each in verdict.evidence}
    assert state(watch(HOUR), provider_state="running") == "idle"


def test_57_minutes_that_nobody_could_read_are_not_idle_minutes() -> None:
    looks = [*watch(29 * MINUTE, gpus=(gpu(util=None),)), look(30 * MINUTE)]
    verdict = judge(looks, window_s=WINDOW_S)
    assert (verdict.state, verdict.quiet_s) == ("unknown", 0.0)


def test_58_an_hour_without_a_look_is_not_an_idle_hour() -> None:
    looks = [look(at_s * MINUTE) for at_s in (0, 1, 2, 62)]
    verdict = judge(looks, window_s=WINDOW_S)
    assert (verdict.state, verdict.quiet_s) == ("unknown", 0.0)
    assert "nobody looked for 60 min" in verdict.notes[0]


def test_61_a_number_that_another_program_took_over_is_crashed() -> None:
    dead = run(counters=[counter(7, -3 * HOUR)], started_at_s=START_S - 5 * HOUR)
    other = process(TRAINER, "nginx", started_at_s=START_S - 2 * HOUR)
    assert state([look(runs=[dead], processes=(INIT, other))]) == "crashed"


def test_62_a_first_epoch_of_fifty_minutes_is_busy() -> None:
    first = run(interval_s=None, started_at_s=START_S - 50 * MINUTE)
    looks = watch(MINUTE, runs=[first], processes=ALIVE, gpus=(gpu(util=90),))
    assert state(looks) == "busy"


def test_63_a_clock_that_jumps_two_hours_starts_the_window_anew() -> None:
    looks = [*watch(HOUR), look(61 * MINUTE, jump_s=2 * HOUR)]
    verdict = judge(looks, window_s=WINDOW_S)
    assert (verdict.state, verdict.quiet_s) == ("unknown", 0.0)
