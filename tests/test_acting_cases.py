"""Reports from the field, by their numbers: what is typed, what is said, and what is called.

The provider is made of files; looks are made up only where hours would pass.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
import zipfile
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import pytest
from boxes import (
    GB,
    HOUR,
    INIT,
    MINUTE,
    START_S,
    TRAINER,
    counter,
    gpu,
    log,
    look,
    process,
)
from boxes import run as a_run
from fakecloud import Cloud, cloud
from test_acting import Copied, Done, copied, run, sees
from test_signals_cases import told

from costplan.box import heartbeats, signals
from costplan.box.verdict import judge
from costplan.cli import looks, watches
from costplan.records.signals import FileSeen, Snapshot

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from costplan.records.acting import BoxState
    from costplan.records.signals import Verdict

__all__ = ["copied"]

# The founding prices: 3.4828 $/h on, 250 x 0.20 / 720 = 0.0694 $/h stopped, border 2 min.
BOX = ["--rate", "3.4828", "--disk", "250", "--storage-price", "0.20", "--setup", "15m",
       "--ingress", "1", "--ingress-price", "0.11", "--restart", "2m",
       "--month-hours", "720"]  # fmt: skip
ROOT = Path(__file__).resolve().parents[1]
ALIVE = (INIT, process(TRAINER))


@pytest.fixture(autouse=True)
def _own_ledger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COSTPLAN_LEDGER", str(tmp_path / "ledger.db"))


@pytest.fixture
def market(tmp_path: Path) -> Cloud:
    return cloud(tmp_path / "cloud", b1="running")


def idle(*words: str) -> Done:
    return run("idle", *BOX, *words)


def yes(market: Cloud, action: str, *more: str) -> list[str]:
    """Return the words of an action with its yes."""
    return ["--act", action, f"--yes-{action}", "b1", "--id", "b1",
            f"--{action}-cmd", market.command(action),
            "--state-cmd", market.command("state"), *more]  # fmt: skip


def both(market: Cloud, *more: str) -> list[str]:
    """Return the words of a watch that may do everything."""
    return ["--watch", "--run", "x", *yes(market, "stop"), "--act", "destroy",
            "--yes-destroy", "b1", "--destroy-cmd", market.command("destroy"),
            *more]  # fmt: skip


def until(
    market: Cloud, end_s: float, each: Callable[[float], dict[str, Any] | Snapshot]
) -> Callable[[float], Snapshot]:
    """Return looks at a box whose provider takes it away after some seconds: the watch ends."""

    def made(at_s: float) -> Snapshot:
        if at_s >= end_s:
            (market.root / "boxes/b1").unlink(missing_ok=True)
        if market.state("b1") != "running":
            return Snapshot(problem="no answer")
        found = each(at_s)
        return found if isinstance(found, Snapshot) else look(at_s, **found)

    return made


def passes(
    monkeypatch: pytest.MonkeyPatch, market: Cloud, end_s: float,
    each: Callable[[float], dict[str, Any] | Snapshot],
) -> Callable[[], float]:  # fmt: skip
    """Let hours pass over a watched box; between actions no process asks its provider."""

    def asked(_: object, box: str) -> tuple[BoxState | None, str]:
        said = market.state(box)
        mode = (market.root / "mode").read_text()
        return (None if mode == "blind" else cast("BoxState", said)), ""

    monkeypatch.setattr(watches, "read_state", asked)
    return sees(monkeypatch, until(market, end_s, each))


def quiet(_: float) -> dict[str, Any]:
    return {}


# --- C. what must not be touched ----------------------------------------------------------------


@pytest.mark.parametrize("window", ["0", "0s", "0m", "0h", "", " ", "-5m", "-5", "5", "5.", "5x"])
@pytest.mark.parametrize("used", ["alone", "act", "watch"])
def test_31_a_window_of_nothing_or_without_a_unit_is_asked_wrongly(
    window: str, used: str, market: Cloud
) -> None:
    words = {"alone": [], "act": yes(market, "stop"), "watch": both(market)}[used]
    done = idle(*words, "--window", window)
    assert (done.code, market.calls) == (2, [])
    assert "--window" in done.err


@pytest.mark.parametrize("window", ["5m", "5 m", "5min", "5 min", "300s", "5M", " 5m "])
def test_31_a_window_with_its_unit_is_printed_back_in_seconds(window: str, market: Cloud) -> None:
    shown = ["--act", "stop", "--id", "b1", "--stop-cmd", market.command("stop")]
    done = idle(*shown, "--window", window)
    assert (done.code, market.calls) == (0, [])
    assert done.out.startswith(f"window {window.strip()}: 300 s\n")


@pytest.mark.parametrize("window", ["off", "OFF"])
def test_31_off_is_never_and_not_at_once(
    window: str, market: Cloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused = idle(*yes(market, "stop"), "--window", window)
    assert refused.code == 4
    assert "window off: nothing is ever done" in refused.out
    passes(monkeypatch, market, 3 * HOUR, quiet)
    watched = idle(*both(market), "--window", window)
    assert "idle: --window off: nothing is ever due" in watched.out
    assert "stop due: " not in watched.out
    assert (watched.code, market.calls) == (0, [])


@pytest.mark.parametrize(("window", "minute"), [("2h", 120), ("2m", 2), ("90 min", 90)])
def test_59_the_window_is_what_was_typed_and_is_printed_back(
    window: str, minute: int, market: Cloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two hours were slept as 33 elsewhere."""
    words = ["--watch", "--run", "x", *yes(market, "stop"), "--window", window]
    for end, calls in ((minute - 1, []), (minute + 3, ["stop b1"])):
        market.put("b1")
        passes(monkeypatch, market, end * MINUTE, quiet)
        done = idle(*words)
        assert f"({minute * 60} s)" in done.out  # 2 h = 7200 s
        assert market.calls == calls


def test_59_two_hours_are_7200_seconds_on_both_sides(
    market: Cloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "window 2h: 7200 s, for --watch and --act" in idle("--window", "2h").out
    seconds = sees(monkeypatch, lambda at_s: look(at_s))
    assert idle(*yes(market, "stop"), "--run", "x", "--window", "2h").code == 0
    assert 7_200 <= seconds() < 7_320


# --- A. billed unseen ---------------------------------------------------------------------------


def test_1_a_box_without_a_yes_is_told_by_the_hour_and_never_stopped(
    market: Cloud, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Watched over ssh, from a machine that stays up: the owner of the step could not wake."""
    left = log(counters=[counter(183, -43 * HOUR, name="log")])
    seconds = passes(monkeypatch, market, 3.5 * HOUR, quiet)
    over_there = until(market, 3.5 * HOUR, lambda _: {"runs": [left]})
    monkeypatch.setattr(looks, "read_over_ssh", lambda *_: over_there(seconds()))
    notes = f"sh -c 'cat >> {tmp_path}/notes'"
    words = ["--watch", "--ssh", "box:/runs", "--id", "b1", "--window", "20m", "--notify", notes,
             "--state-cmd", market.command("state"),
             "--stop-cmd", market.command("stop")]  # fmt: skip
    done = idle(*words)
    due = [line for line in done.out.splitlines() if "  stop due: " in line]
    assert [line.split("without work, ")[1].split(" spent")[0] for line in due] == [
        "$1.16", "$3.48", "$6.97", "$10.45",  # after 20 min, then 1, 2 and 3 h at 3.4828
    ]  # fmt: skip
    assert all("; not run: " in line for line in due)
    assert (tmp_path / "notes").read_text().count("stop due") == 4
    assert (done.code, market.calls) == (0, [])


def test_2_a_shutdown_from_inside_is_refused_and_the_way_that_works_is_named(
    market: Cloud,
) -> None:
    for command in ("shutdown -h now", "ssh me@box sudo poweroff", "sudo -n systemctl halt"):
        words = ["--act", "stop", "--id", "b1", "--yes-stop", "b1", "--stop-cmd", command,
                 "--state-cmd", market.command("state"), "--provider", "scaleway"]  # fmt: skip
        done = idle(*words)
        assert (done.code, market.calls) == (4, [])
        assert "its GPU bills on" in done.err
        assert "use the API of the provider" in done.err
        assert "in the API poweroff, which archives the instance" in done.err


@pytest.mark.parametrize(("seconds", "mode"), [(240, "ignore"), (240, "says:loading")])
def test_2_what_is_not_confirmed_in_four_minutes_may_bill_on(
    seconds: int, mode: str, market: Cloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    passed = sees(monkeypatch, lambda at_s: look(at_s))
    market.behave("ignore" if mode == "ignore" else "obey")
    if mode != "ignore":  # the call is taken, and then nobody can read the state
        (market.root / "cloud").write_text(
            (market.root / "cloud").read_text().replace("echo \"$1 $2\" >>calls",
                                                        "echo \"$1 $2\" >>calls; echo says:x >mode")
        )  # fmt: skip
    done = idle(*yes(market, "stop"), "--provider", "scaleway")
    assert (done.code, market.calls, passed()) == (5, ["stop b1"], seconds)
    assert "is not stopped after 240 s: it may still bill $3.48/h" in done.err


def test_3_the_timer_that_did_not_fire_makes_a_stop_due_now() -> None:
    done = idle("--idle-for", "6h", "--provider-timer", "1h", "--exit-code")
    assert (done.code, "the provider's own timer did not fire" in done.err) == (10, True)
    assert "STOP from now on" in done.out
    trusting = idle("--idle-for", "1m", "--provider-timer", "1h")
    assert "is not counted on: one may not fire" in trusting.err


def test_9_a_day_of_copying_names_its_price_and_a_cheaper_way(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sees(monkeypatch, lambda at_s: look(at_s, network_bytes=round(2e6 * at_s)))
    told = "you pay $3.48/h to copy: load through a cheap box or a volume first"
    done = idle("--run", "x")
    assert done.out.startswith("the box is BUSY: network")
    assert told in done.out
    assert "KEEP: the box is busy" in done.out
    assert told in json.loads(idle("--run", "x", "--format", "json").out)["box"]["notes"]


def test_9_where_a_step_is_computed_nobody_pays_for_a_copy(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def loads(at_s: float) -> Snapshot:
        return look(at_s, network_bytes=round(2e6 * at_s), gpus=(gpu(util=60),))

    sees(monkeypatch, loads)
    assert "to copy:" not in idle("--run", "x").out


# --- real files and processes, typed ------------------------------------------------------------


@pytest.fixture
def trainer() -> Iterator[subprocess.Popen[bytes]]:
    """A process that lives until the test ends it."""
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"]) as started:
        yield started
        started.kill()


def here(monkeypatch: pytest.MonkeyPatch, *pids: int, **more: Any) -> None:
    """Look at real files and at these real processes; the rest of a shared machine is quiet.

    Who waits puts the clock of the looks forward.
    """
    ahead = [0.0]

    def sleep(duration_s: float) -> None:
        ahead[0] += duration_s

    def one(folders: Sequence[str]) -> Snapshot:
        found = signals.read(folders)
        assert found.machine is not None
        assert found.clock is not None
        table = [each for each in found.machine.processes or () if each.pid in pids]
        given = {"gpus": (gpu(),), "network_bytes": 0, "disk_used_bytes": 50, "logins": None,
                 "disk_total_bytes": 10**9, "processes": (INIT, *table)}  # fmt: skip
        machine = found.machine.model_copy(update=given | more)
        wall_s, uptime_s = found.clock.wall_s + ahead[0], found.clock.uptime_s + ahead[0]
        clock = found.clock.model_copy(update={"wall_s": wall_s, "uptime_s": uptime_s})
        return found.model_copy(update={"machine": machine, "clock": clock})

    monkeypatch.setattr(looks, "read", one)
    monkeypatch.setattr(looks, "time", SimpleNamespace(sleep=sleep))


def test_10_a_fresh_heartbeat_and_no_process_is_crashed_and_billed(
    tmp_path: Path, trainer: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    here(monkeypatch, trainer.pid)
    folder = told(tmp_path / "run", trainer.pid)
    assert idle("--run", str(folder)).out.startswith("the box is BUSY: ")
    trainer.kill()
    trainer.wait()
    told(folder, trainer.pid)
    done = idle("--run", str(folder), "--back-in", "8h", "--exit-code")
    assert done.out.startswith("the box is CRASHED: ")
    assert f"process {trainer.pid} is gone" in done.out
    assert (done.code, "every hour on costs $3.41 more" in done.out) == (10, True)


def test_33_unsaved_files_are_listed_and_a_stop_is_the_most(
    tmp_path: Path, market: Cloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A lunch of two hours: the browser idle, files changed, no copy."""
    lab = process(8, "jupyter-lab", started_at_s=time.time() - 2 * HOUR)
    here(monkeypatch, processes=(INIT, lab))
    work = tmp_path / "work"
    (work / "weights").mkdir(parents=True)
    for name, size in (("train.log", 7), ("analysis.ipynb", 1_200), ("weights/a.bin", 3_000)):
        (work / name).write_bytes(bytes(size))
        os.utime(work / name, (time.time() - 2 * HOUR,) * 2)
    for more in (["--back-in", "2h"], ["--back-in", "90d"], ["--idle-for", "30h"]):
        done = idle("--run", str(work), *more, "--exit-code")
        assert (done.code, "\nSTOP " in done.out) == (10, True)
        assert "DESTROY" not in done.out
        assert f"  unsaved: {work}/analysis.ipynb (1.200 kB)\n" in done.out
        assert f"  unsaved: {work}/weights/ (1 file, 3.000 kB)\n" in done.out
        assert "jupyter: open for 2.0 h (hint)" in done.out
    refused = idle("--run", str(work), *yes(market, "destroy"), "--window", "1s")
    assert (refused.code, market.calls) == (4, [])


def test_33_where_nothing_stops_unsaved_files_are_a_reason_to_keep(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    here(monkeypatch)
    file = tmp_path / "train.log"
    file.write_text("done")
    os.utime(file, (time.time() - 2 * HOUR,) * 2)
    words = ["--provider", "lambda", "--run", str(file), "--back-in", "90d", "--exit-code"]
    done = idle(*words)
    assert f"  unsaved: {file} (4 bytes)\n" in done.out
    assert "\nKEEP 2160 h away, although destroy is cheaper: what is here is in no" in done.out
    assert "before a destroy: a verified copy" in done.out
    assert done.code == 12
    body = json.loads(idle(*words, "--format", "json").out)
    assert body["unsaved"] == [f"{file} (4 bytes)"]
    assert body["plan"] == [{"from_h": 0.0, "action": "keep", "undo": True}]


def test_33_over_ssh_the_folders_that_no_copy_holds_are_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    old = log("/runs/one", counters=[counter(7, -2 * HOUR, name="log")], checkpoints_bytes=GB)
    passed = sees(monkeypatch, lambda at_s: look(at_s))
    monkeypatch.setattr(looks, "read_over_ssh", lambda *_: look(passed(), runs=[old]))
    done = idle("--ssh", "box:/runs", "--back-in", "90d", "--exit-code")
    assert "  unsaved: all of /runs/one on the box, 1.000 GB of checkpoints\n" in done.out
    assert (done.code, "\nSTOP 2160 h away" in done.out) == (10, True)


def test_33_of_many_files_beside_a_manifest_the_first_are_named(tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    (work / "a").write_text("a")
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    for number in range(25):
        (tmp_path / f"f{number:02}").write_text("x")
    words = ["idle", "copy", "make", str(work), "-o", str(work / "m.json")]
    notes = [line for line in run(*words).err.splitlines() if line.startswith("note: ")]
    assert (len(notes), notes[-1]) == (21, "note: and 5 more of the kind")
    assert len(json.loads(run(*words, "--format", "json").out)["notices"]) == 25


def test_33_with_a_verified_copy_nothing_is_unsaved_and_money_decides(
    tmp_path: Path, copied: Copied, monkeypatch: pytest.MonkeyPatch
) -> None:
    here(monkeypatch)
    (copied.runs / "train.log").write_text("done")
    monkeypatch.setattr("costplan.box.copies._is_same_disk", lambda *_: False)
    for folder in (copied.runs, copied.copy):
        (folder / "train.log").write_text("done")
        for file in folder.iterdir():
            os.utime(file, (time.time() - HOUR,) * 2)
    assert run("idle", "copy", "make", str(copied.runs), "-o", str(copied.manifest)).code == 0
    words = ["--run", str(copied.runs), *copied.words, "--back-in", "90d", "--exit-code"]
    done = idle(*words)
    assert ("\nDESTROY 2160 h" in done.out, "unsaved" in done.out, done.code) == (True, False, 11)
    (copied.copy / "results.csv").write_text("epoch,loss\n1,0.6\n")
    changed = idle(*words)
    assert ("\nSTOP " in changed.out, changed.code) == (True, 10)
    assert "  unsaved: results.csv (" in changed.out


def test_50_a_checkpoint_that_grows_is_waited_for(
    tmp_path: Path, trainer: subprocess.Popen[bytes], market: Cloud,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    here(monkeypatch, trainer.pid)
    folder = told(tmp_path / "run", trainer.pid, age_s=600, state="completed")
    (folder / "weights").mkdir()
    (folder / "weights/last.pt").write_bytes(b"1")
    os.utime(folder / "weights/last.pt", (time.time() - 2,) * 2)
    trainer.kill()
    trainer.wait()
    done = idle("--run", str(folder), *yes(market, "stop"), "--window", "1s")
    assert (done.code, market.calls) == (4, [])
    assert "weights/last.pt was written 12 s ago: wait" in done.out  # at the second look
    os.utime(folder / "weights/last.pt", (time.time() - 61,) * 2)
    assert idle("--run", str(folder), *yes(market, "stop"), "--window", "5s").code == 0
    assert market.calls == ["stop b1"]


def checkpoint_at(path: Path, *, torn: bool = False) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("archive/data.pkl", bytes(2_000))
    if torn:
        path.write_bytes(path.read_bytes()[:1_000])


def test_50_a_torn_last_is_named_with_the_best_to_fall_back_to(tmp_path: Path) -> None:
    work, copy, manifest = tmp_path / "work", tmp_path / "copy", str(tmp_path / "m.json")
    for folder in (work, copy):
        checkpoint_at(folder / "weights/last.pt", torn=True)
        checkpoint_at(folder / "weights/best.pt")
        checkpoint_at(folder / "weights/epoch3.pt")
    made = run("idle", "copy", "make", str(work), "-o", manifest)
    assert "note: weights/last.pt: does not open: " in made.err
    assert "; fall back to weights/best.pt\n" in made.err
    done = run("idle", "copy", "check", manifest, "--against", str(copy))
    assert done.code == 4
    assert "weights/last.pt: does not open" in done.err
    assert "fall back to weights/best.pt, which opens" in done.err
    (copy / "weights/best.pt").unlink()  # what is not in the copy is nothing to fall back to
    again = run("idle", "copy", "check", manifest, "--against", str(copy))
    assert "fall back to weights/epoch3.pt, which opens" in again.err


def test_50_the_step_before_stands_in_for_a_torn_one_and_a_part_for_nothing(
    tmp_path: Path,
) -> None:
    work = tmp_path / "work"
    checkpoint_at(work / "checkpoint-500/model.pt", torn=True)
    checkpoint_at(work / "checkpoint-500/optimizer.pt")
    checkpoint_at(work / "checkpoint-400/model.pt")
    checkpoint_at(work / "big/m-00001-of-00002.pt")
    checkpoint_at(work / "big/m-00002-of-00002.pt", torn=True)
    made = run("idle", "copy", "make", str(work), "-o", str(tmp_path / "m.json"))
    first, second = [line for line in made.err.splitlines() if "does not open" in line]
    assert first.startswith("note: big/m-00002-of-00002.pt")
    assert "fall back" not in first
    assert second.endswith("; fall back to checkpoint-400/model.pt")


def test_51_an_upload_after_completed_is_never_cut_off(
    tmp_path: Path, trainer: subprocess.Popen[bytes], market: Cloud,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    here(monkeypatch, trainer.pid)
    folder = told(tmp_path / "run", trainer.pid, age_s=3_000, state="completed")
    rewrite(folder, started_at=datetime.now(tz=timezone.utc).isoformat())
    for action in ("stop", "destroy"):
        done = idle("--run", str(folder), *yes(market, action), "--window", "1s")
        assert (done.code, market.calls) == (4, [])
        assert "perhaps uploading" in done.out


def rewrite(folder: Path, **fields: Any) -> None:
    """Change fields of `status.json` and nothing of its age."""
    file = folder / "status.json"
    then = file.stat().st_mtime
    file.write_text(json.dumps(json.loads(file.read_text()) | fields))
    os.utime(file, (then, then))


def test_61_the_number_of_a_dead_run_in_another_program_is_crashed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A real `sleep` that has the number now, hours after the run began."""
    with subprocess.Popen(["sleep", "600"]) as other:
        here(monkeypatch, other.pid)
        folder = told(tmp_path / "run", other.pid, age_s=3 * HOUR)
        done = idle("--run", str(folder), "--back-in", "8h")
        other.kill()
    assert done.out.startswith("the box is CRASHED: ")
    assert "is another program now" in done.out


def test_61_where_python_has_the_number_nobody_can_tell(
    tmp_path: Path, trainer: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch,
    market: Cloud,
) -> None:  # fmt: skip
    here(monkeypatch, trainer.pid)
    folder = told(tmp_path / "run", trainer.pid, age_s=3 * HOUR)
    for action in ("stop", "destroy"):
        done = idle("--run", str(folder), *yes(market, action), "--window", "1s")
        assert (done.code, market.calls) == (3, [])


def test_62_a_first_epoch_without_a_time_is_busy_and_never_stale(
    tmp_path: Path, trainer: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = told(
        tmp_path / "run", trainer.pid, age_s=50 * MINUTE, completed_epochs=0, current_epoch=None,
        epoch_seconds=None, mean_epoch_seconds=None, eta_seconds=None,
    )  # fmt: skip
    rewrite(folder, started_at=datetime.now(tz=timezone.utc).isoformat())
    here(monkeypatch, trainer.pid, gpus=(gpu(util=90),))
    done = idle("--run", str(folder))
    assert done.out.startswith("the box is BUSY: gpu: GPU 0 at 90 %")
    assert "no step has been timed yet" in done.out
    assert "HUNG" not in done.out


# --- B. the way back ----------------------------------------------------------------------------


def test_21_a_stopped_box_that_answers_nobody_is_destroyed_by_an_earlier_manifest(
    market: Cloud, copied: Copied, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No start, no GPU: the folder is not here, and the box answers no ssh."""
    shutil.rmtree(copied.runs)
    market.put("b1", "stopped")
    monkeypatch.setattr(looks, "read_over_ssh", lambda *_: Snapshot(problem="no route to host"))
    done = idle(*yes(market, "destroy"), "--ssh", "box:/runs", *copied.words)
    assert (done.code, market.calls) == (0, ["destroy b1"])
    assert "destroy confirmed: b1 is gone" in done.out


# --- D. the guard -------------------------------------------------------------------------------


def test_37_a_watcher_dead_for_14_hours_is_the_first_line_of_whatever_is_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = datetime.now(tz=timezone.utc)
    then = now - timedelta(hours=14)
    heartbeats.write(heartbeats.Beat("b1", then, then, 60.0, "idle", Decimal(1)))
    told_so = "the watcher of b1 has been dead for 14.0 h"
    sees(monkeypatch, lambda at_s: look(at_s))
    for words in ([], ["--run", "x"], ["--back-in", "8h"], ["--stopped-for", "3h"]):
        assert idle(*words).out.startswith(told_so)
    body = json.loads(idle("--format", "json").out)
    assert body["resolved"][0].startswith(told_so)


@pytest.mark.parametrize("name", ["jupyter-lab", "tmux: server"])
@pytest.mark.parametrize("open_h", [3, 48])
def test_38_and_39_an_open_tab_is_told_and_holds_up_no_stop(
    name: str, open_h: int, market: Cloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    tab = process(8, name, started_at_s=START_S - open_h * HOUR)
    people = (INIT, tab)
    passes(monkeypatch, market, HOUR, lambda _: {"processes": people})
    done = idle("--watch", "--run", "x", "--window", "20m", *yes(market, "stop"))
    assert (done.code, market.calls) == (0, ["stop b1"])


def kernel(at_s: float) -> dict[str, Any]:
    """A run without a rhythm whose process computes and never moves a counter."""
    first = a_run(interval_s=None, started_at_s=START_S)
    busy = process(TRAINER, cpu_s=1.5 * at_s, started_at_s=START_S)
    return {"runs": [first], "processes": (INIT, busy)}


CAP = ["--cap", "40"]  # 40 / 3.4828 = 11.49 h


@pytest.mark.parametrize(
    ("more", "acts", "calls"),
    [
        ([], ("stop", "destroy"), []),  # no cap: whatever else was agreed to
        (CAP, (), []),  # a cap, and no yes
        (CAP, ("stop", "destroy"), ["stop b1"]),
        (CAP, ("destroy",), []),  # the cap never destroys
    ],
)
def test_41_only_a_cap_of_ones_own_stops_what_hangs(
    more: list[str], acts: tuple[str, ...], calls: list[str], market: Cloud,
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path,
) -> None:  # fmt: skip
    passes(monkeypatch, market, 13 * HOUR, kernel)
    monkeypatch.setattr(looks, "interval_s", lambda _: 240.0)
    words = ["--watch", "--run", "x", "--id", "b1", "--state-cmd", market.command("state"), *more]
    words += ["--notify", f"sh -c 'cat >> {tmp_path}/notes'"]
    for name in acts:
        words += ["--act", name, f"--yes-{name}", "b1", f"--{name}-cmd", market.command(name)]
    done = idle(*words)
    assert market.calls == calls
    notes = (tmp_path / "notes").read_text()
    assert ("hung" in notes) is (not calls)  # after 12 h without a move
    assert ("the cap of $40 is reached" in notes) is bool(more)
    assert f"  cap: {'$40' if more else 'none'}" in done.out


@pytest.mark.parametrize(
    ("key", "value", "named"),
    [
        ("idle_timeout", "5m", "idle_timeout"),
        ("window", "20m", "window"),  # a word of the watch
        ("hours", 10, "hours"),  # of the absence
        ("cap", 40, "cap"),
        ("gb", 45, "gb"),  # belongs into kept_data
        ("Usd_per_hour", 3, "Usd_per_hour"),
        ("box", {"usd_per_hour": 3}, "box"),  # a profile around all of it
        ("kept_data", {"gb": 1, "usd_per_gb_month": 1, "setup_minutes": 1, "disk_gb": 1},
         "kept_data.disk_gb"),
        ("stop", "off", "stop"),
        ("stop_expires_hours", "12 h", "stop_expires_hours"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("kind", ["json", "yaml"])
@pytest.mark.parametrize("watch", [[], ["--watch", "--run", "."]])
def test_42_a_key_that_is_unknown_or_misplaced_is_named(
    key: str, value: object, named: str, kind: str, watch: list[str], tmp_path: Path
) -> None:
    fields = {"usd_per_hour": 3, "setup_minutes": 15, "disk_gb": 0, key: value}
    lines = [f"{name}: {json.dumps(each)}" for name, each in fields.items()]
    file = tmp_path / f"box.{kind}"
    file.write_text(json.dumps(fields) if kind == "json" else "\n".join(lines))
    done = run("idle", "--box", str(file), *watch)
    assert (done.code, done.out) == (2, "")
    assert named in done.err


@pytest.mark.parametrize(
    ("more", "rules"),
    [
        ([], ["cap: none", "notify: nobody is called", "unknown and hung: told, and nothing"]),
        (["--cap", "5"], ["cap: $5 stops the box, whatever it does"]),
        (["--window", "7m"], ["idle: everything quiet for 7 min (420 s)"]),
        (["--notify", "true"], ["notify: by --notify"]),
    ],
)
def test_42_a_watch_begins_with_exactly_the_rules_in_force(
    more: list[str], rules: list[str], market: Cloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    passes(monkeypatch, market, 60, quiet)
    done = idle(*both(market, *more))
    for rule in [*rules, "stop: run when due: ", "destroy: run when due, with a verified copy: "]:
        assert f"  {rule}" in done.out


def test_43_a_stop_that_a_full_disk_refuses_says_so_and_what_it_costs(
    market: Cloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    sees(monkeypatch, lambda at_s: look(at_s, disk_used_bytes=100 * GB))
    market.behave("refuse")
    done = idle("--run", "x", "--window", "1m", *yes(market, "stop"))
    assert (done.code, market.calls) == (5, ["stop b1"])
    for words in ("stop refused", "disk full", "still billing $3.48/h"):
        assert words in done.err
    assert "the disk is 100 % full: a stop may be refused" in done.out


@pytest.mark.parametrize(("used_gb", "warned"), [(94, False), (95, True)])
def test_43_from_95_percent_on_it_is_said_before_a_stop_is_needed(
    used_gb: int, warned: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    sees(monkeypatch, lambda at_s: look(at_s, disk_used_bytes=used_gb * GB))
    assert ("% full: a stop may be refused" in idle("--run", "x").out) is warned


# --- E. hung but looks busy ---------------------------------------------------------------------


def spins(at_s: float) -> dict[str, Any]:
    """Case 45: 100 % at 47 of 250 W, the step 40 minutes old."""
    gpus = (gpu(util=100, power_watts=47.0, power_limit_watts=250.0),)
    frozen = a_run(counters=[counter(183, -40 * MINUTE)])
    return {"runs": [frozen], "processes": ALIVE, "gpus": gpus}


def beats(at_s: float) -> dict[str, Any]:
    """Case 46: a fresh heartbeat, the step as old as the look, a minute each normally."""
    beat = a_run(counters=[counter(183, -33 * MINUTE, name="step")], updated_at_s=START_S + at_s)
    return {"runs": [beat], "processes": ALIVE, "gpus": (gpu(util=100, watts=440.0),)}


@pytest.mark.parametrize("each", [spins, beats])
def test_45_and_46_a_hung_box_says_what_it_costs_and_is_left_alone(
    each: Callable[[float], dict[str, Any]], market: Cloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    sees(monkeypatch, lambda at_s: look(at_s, **each(at_s)))
    done = idle("--run", "x", "--exit-code")
    assert done.out.startswith("the box is HUNG: ")
    assert "it bills $3.48/h and does not move: save its stacks (py-spy dump" in done.out
    assert "and stop it; nothing does that by itself" in done.out
    assert ("draws 47 of 250 W" in done.out) is (each is spins)
    assert (done.code, "\nSTOP: it bills and does not move" in done.out) == (10, True)
    for action in ("stop", "destroy"):
        assert idle("--run", "x", *yes(market, action)).code == 4
    passes(monkeypatch, market, 2 * HOUR, each)
    watched = idle(*both(market))
    assert "  hung, run /runs/one: " in watched.out
    assert market.calls == []


# --- F. data ------------------------------------------------------------------------------------

ONE_HOST = "the only copy is on one host: copy first"


@pytest.mark.parametrize("provider", ["vast", "runpod-secure", "runpod-community"])
@pytest.mark.parametrize("more", [["--back-in", "2h"], ["--stopped-for", "2h"], []])
def test_47_the_advice_says_itself_that_the_only_copy_is_on_one_host(
    provider: str, more: list[str], market: Cloud
) -> None:
    words = ["--rate", "3", "--disk", "100", "--storage-price", "0.1", "--setup", "20m",
             "--provider", provider, *more]  # fmt: skip
    assert ONE_HOST in run("idle", *words).err
    notices = json.loads(run("idle", *words, "--format", "json").out)["notices"]
    assert any(ONE_HOST in notice["text"] for notice in notices)
    market.put("b1", "stopped")
    refused = run("idle", *words, *yes(market, "destroy"))
    assert (refused.code, market.calls) == (4, [])
    assert "destroy of b1 refused: no manifest is given" in refused.err


def test_47_a_watch_that_may_stop_says_it_first(
    market: Cloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    passes(monkeypatch, market, 60, quiet)
    done = idle("--watch", "--run", "x", "--provider", "vast", *yes(market, "stop"))
    assert ONE_HOST in done.err


@pytest.mark.parametrize("provider", ["scaleway", "aws"])
def test_47_where_a_disk_is_not_bound_to_a_host_nothing_is_said_of_one(provider: str) -> None:
    assert "only copy is on one host" not in idle("--provider", provider).err


@pytest.mark.parametrize("says", ["stopped", "gone"])
def test_54_a_box_that_answers_and_is_away_by_its_provider_is_unknown(
    says: str, market: Cloud, copied: Copied, monkeypatch: pytest.MonkeyPatch
) -> None:
    market.behave(f"says:{says}")
    sees(monkeypatch, lambda at_s: look(at_s))
    monkeypatch.setattr(looks, "read_over_ssh", lambda *_: look(0))
    asked = ["--id", "b1", "--state-cmd", market.command("state")]
    for where in (["--run", "x"], ["--ssh", "box:/runs"]):
        done = idle(*where, *asked)
        assert done.code == 3
        assert done.out.startswith(
            f"the box is UNKNOWN: the provider says {says}, but the box answers"
        )
        assert f"  provider: {says} (unknown)" in done.out
        assert "  gpu: " in done.out  # both facts
    destroyed = idle("--ssh", "box:/runs", *yes(market, "destroy"), *copied.words)
    assert destroyed.code == 3
    assert market.calls == []


def test_54_a_watch_over_both_facts_acts_on_neither(
    market: Cloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    market.put("b1", "stopped")
    seconds = passes(monkeypatch, market, 99 * HOUR, quiet)

    def answers(_: object) -> Snapshot:
        if seconds() > 14 * HOUR:
            raise SystemExit(0)
        return look(seconds())

    monkeypatch.setattr(looks, "read", answers)
    monkeypatch.setattr(looks, "interval_s", lambda _: 240.0)
    done = idle(*both(market))
    assert "unknown: the provider says stopped, but the box answers" in done.out
    assert market.calls == []


# --- every case at once -------------------------------------------------------------------------


class Case(NamedTuple):
    """What a box shows, watched for some minutes by somebody who said yes to everything."""

    each: Callable[[float], dict[str, Any] | Snapshot]
    state: str
    """As which it ends, by the watch."""
    calls: tuple[str, ...] = ()
    minutes: int = 45


STOP = ("stop b1",)


def constant(**more: Any) -> Callable[[float], dict[str, Any]]:
    return lambda _: more


def loads(at_s: float) -> dict[str, Any]:
    return {"network_bytes": round(6e6 * at_s)}


def terminal(at_s: float) -> dict[str, Any]:
    lab = process(8, "jupyter-lab")
    return {"processes": (INIT, lab, process(9, on_terminal=True, cpu_s=0.9 * at_s))}


def advances(at_s: float) -> dict[str, Any]:
    beat = log(counters=[counter(at_s, at_s, name="log")], updated_at_s=START_S + at_s - 124)
    return {"runs": [beat]}


def steps(at_s: float) -> dict[str, Any]:
    return {"runs": [a_run(counters=[counter(at_s, at_s)])], "processes": ALIVE}


def unread_first(at_s: float) -> dict[str, Any]:
    return {"gpus": (gpu(util=None if at_s < 30 * MINUTE else 0),)}


def nobody_looked(at_s: float) -> Snapshot:
    """Three looks, and the next an hour later."""
    return look(at_s if at_s < 3 * MINUTE else at_s + HOUR)


def jumps(at_s: float) -> dict[str, Any]:
    return {"jump_s": 2 * HOUR if at_s >= 10 * MINUTE else 0.0}


def grows(at_s: float) -> dict[str, Any]:
    saved = FileSeen(
        path="weights/last.pt", size_bytes=round(at_s), changed_at_s=START_S + at_s - 2
    )
    done = a_run(state="completed", checkpoint=saved, checkpoints_bytes=round(at_s),
                 newest_at_s=START_S + at_s - 2)  # fmt: skip
    return {"runs": [done]}


SESSION = (INIT, process(20, "sshd"), process(21, "bash", parent_pid=20, on_terminal=True))
DEAD = a_run(counters=[counter(7, -3 * HOUR)], started_at_s=START_S - 5 * HOUR)
CASES: dict[str, Case] = {
    "1": Case(constant(runs=[log(counters=[counter(183, -43 * HOUR, name="log")])]), "idle", STOP),
    "9": Case(loads, "busy"),
    "10": Case(constant(runs=[a_run(counters=[counter(7, 0)])]), "crashed", STOP),
    "23": Case(loads, "busy", minutes=300),
    "25": Case(constant(processes=SESSION, logins=0), "unknown"),
    "26": Case(constant(processes=(INIT, process(9, program="pip"))), "busy"),
    "27": Case(terminal, "busy", minutes=120),
    "29": Case(advances, "busy"),
    "30": Case(steps, "busy", minutes=180),
    "33": Case(constant(processes=(INIT, process(8, "jupyter-lab"))), "idle", STOP, 120),
    "34": Case(constant(gpus=tuple(gpu(n, 0 if n == 5 else 95) for n in range(8))), "busy"),
    "35": Case(lambda _: Snapshot(problem="box did not answer within 60 s"), "unknown"),
    "35 dead": Case(constant(runs=[a_run(counters=[counter(7)])]), "crashed", STOP),
    "38": Case(constant(processes=(INIT, process(8, "jupyter-lab"))), "idle", STOP, 180),
    "41": Case(kernel, "busy", minutes=120),
    "45": Case(spins, "hung"),
    "46": Case(beats, "hung"),
    "50": Case(grows, "busy"),
    "51": Case(constant(runs=[a_run(state="completed")], processes=ALIVE), "busy"),
    "55": Case(constant(gpus=tuple(gpu(n, 0 if n else 30) for n in range(8))), "busy"),
    "57": Case(unread_first, "unknown", minutes=49),
    "58": Case(nobody_looked, "unknown", minutes=22),
    "61": Case(constant(runs=[DEAD], processes=(INIT, process(TRAINER, "nginx",
               started_at_s=START_S - 2 * HOUR))), "crashed", STOP),
    "61 python": Case(constant(runs=[DEAD], processes=(INIT, process(TRAINER,
                      started_at_s=START_S - 2 * HOUR))), "unknown"),
    "62": Case(constant(runs=[a_run(interval_s=None)], processes=ALIVE, gpus=(gpu(util=90),)),
               "busy"),
    "63": Case(jumps, "unknown", minutes=29),
    "63 raises": Case(lambda _: signals.understood("Traceback (most recent call last):"),
                      "unknown"),
}  # fmt: skip


def guarded(monkeypatch: pytest.MonkeyPatch, market: Cloud) -> list[tuple[str, int]]:
    """Note each verdict with the calls made until then."""
    seen: list[tuple[str, int]] = []

    def noted(*words: Any, **more: Any) -> Verdict:
        found = judge(*words, **more)
        seen.append((found.state, len(market.calls)))
        return found

    monkeypatch.setattr(looks, "judge", noted)
    monkeypatch.setattr("costplan.box.watcher.judge", noted)
    return seen


@pytest.mark.parametrize("name", CASES)
def test_no_case_calls_its_provider_on_unknown(
    name: str, market: Cloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = CASES[name]
    seen = guarded(monkeypatch, market)
    passes(monkeypatch, market, case.minutes * MINUTE + 1, case.each)
    done = idle(*both(market, "--window", "20m"))
    assert f"{case.state}: " in done.out
    assert market.calls == list(case.calls)
    acted = [state for (state, before), (_, after) in pairwise([*seen, ("", len(market.calls))])
             if after > before]  # fmt: skip
    assert set(acted) <= {"idle", "crashed"}
    assert market.state("b1") in ("stopped", "gone")  # by the yes, or by the end of the test


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if not case.calls])
def test_no_case_calls_its_provider_by_a_single_command_either(
    name: str, market: Cloud, copied: Copied, monkeypatch: pytest.MonkeyPatch
) -> None:
    for action, more in (("stop", []), ("destroy", copied.words)):
        market.put("b1")
        calls, seen = len(market.calls), guarded(monkeypatch, market)
        passed = passes(monkeypatch, market, 99 * HOUR, CASES[name].each)
        done = idle("--run", "x", *yes(market, action, *more))
        if name in ("58", "63") and action == "stop":  # quiet again, for the whole window
            assert (seen[-1][0], market.calls, passed() > 20 * MINUTE) == ("idle", [*STOP], True)
        else:
            assert (done.code in (3, 4), len(market.calls) - calls) == (True, 0)


MONEY: dict[str, list[str]] = {
    "3": ["--idle-for", "6h", "--provider-timer", "1h"],
    "6": ["--stopped-for", "21d"],
    "7": ["--balance", "2"],
    "11": ["--compare", "stop 1h, destroy 7d"],
    "13": ["--back-in", "8h", "--gpu-gone", "40%"],
    "14": ["--waiting", "30", "--gpu-gone", "10%", "--gone-cost", "20"],
    "18": ["--provider", "runpod-secure", "--stopped-for", "2h"],
    "22": ["--restart", "2m"],
    "31": ["--window", "off"],
    "42": ["--box", "examples/box.json"],
    "47": ["--provider", "vast", "--stopped-for", "5h"],
    "49": ["--notice", "30s", "--unsaved", "8", "--upload-mbit", "800"],
    "65": ["--provider", "vast"],
}


@pytest.mark.parametrize("name", MONEY)
def test_money_alone_calls_no_provider(
    name: str, market: Cloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    words = ["--id", "b1", "--state-cmd", market.command("state")]
    for action in ("stop", "destroy"):
        shown = ["--act", action, f"--{action}-cmd", market.command(action)]
        done = idle(*MONEY[name], *words, *shown, "--exit-code")
        assert done.code in (10, 11, 12)
        assert f"not run: --yes-{action} b1 runs it" in done.out
    market.behave("blind")  # and with a yes to all, a state that nobody can read
    for action in ("stop", "destroy"):
        assert idle(*MONEY[name], *yes(market, action)).code in (3, 4)
    assert market.calls == []
