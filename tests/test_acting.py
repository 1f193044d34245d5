"""`costplan idle --act` and `--watch` as they are typed: exit codes, words, races and kills."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import time
from contextlib import redirect_stderr, redirect_stdout
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from boxes import counter, gpu, log, look
from fakecloud import Cloud, cloud

from costplan.box import actions, audit, heartbeats
from costplan.box.actions import Clock
from costplan.box.gate import Gate
from costplan.cli import acting, looks, main, watches
from costplan.ledger import open_ledger
from costplan.records.signals import Snapshot

if TYPE_CHECKING:
    from collections.abc import Callable

# The founding prices: border with stop at 2 min, with destroy at 12.73 h (0.12 restart, 1.00 back).
BOX = [
    *("idle", "--rate", "3.4828", "--disk", "250", "--storage-price", "0.20", "--setup", "15m"),
    *("--ingress", "43", "--ingress-price", "0.003", "--restart", "2m", "--month-hours", "720"),
]


class Done(NamedTuple):
    code: int
    out: str
    err: str


@pytest.fixture(autouse=True)
def _own_ledger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COSTPLAN_LEDGER", str(tmp_path / "ledger.db"))


@pytest.fixture
def market(tmp_path: Path) -> Cloud:
    return cloud(tmp_path / "cloud", b1="running", b10="running")


def run(*words: str) -> Done:
    out, err = io.StringIO(), io.StringIO()
    code = 0
    with redirect_stdout(out), redirect_stderr(err):
        try:
            main(list(words))
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 0
    return Done(code, out.getvalue(), err.getvalue())


def act(market: Cloud, action: str = "stop", *more: str, box: str = "b1") -> list[str]:
    """Return the words of an action."""
    return [
        *BOX, "--act", action, "--id", box, f"--{action}-cmd", market.command(action),
        "--state-cmd", market.command("state"), *more,
    ]  # fmt: skip


# --- said, not done -----------------------------------------------------------------------------


@pytest.mark.parametrize("action", ["stop", "destroy"])
def test_by_default_the_command_is_only_printed(action: str, market: Cloud) -> None:
    done = run(*act(market, action))
    assert done.code == 0
    assert f"to {action} b1: {market.root}/cloud {action} b1" in done.out
    assert f"not run: --yes-{action} b1 runs it" in done.out
    assert market.calls == []


def test_without_any_yes_no_command_line_calls_anything(market: Cloud, tmp_path: Path) -> None:
    """Every command of the program, against a provider that counts: nothing is changed untold."""
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs/a").write_text("a")
    copy = [str(tmp_path / "m.json"), str(tmp_path / "runs")]
    run("idle", "copy", "make", copy[1], "-o", copy[0])
    lines: list[list[str]] = [
        act(market), act(market, "destroy"), act(market, "destroy", "--copy", copy[0]),
        act(market, "destroy", "--copy", copy[0], "--copied-to", copy[1]),
        act(market, "stop", "--format", "json"), act(market, "stop", "--exit-code"),
        ["idle", "copy", "check", copy[0], "--against", copy[1]],
        ["idle", "away", "b1"], ["idle", "back", "b1", "--failed"], BOX, ["estimate", "--help"],
    ]  # fmt: skip
    for words in lines:
        run(*words)
    assert market.calls == []


@pytest.mark.parametrize(
    ("yes", "code"), [("b", 4), ("b10", 4), ("B1", 4), ("b1x", 4), ("", 4), ("*", 4)]
)
@pytest.mark.parametrize("action", ["stop", "destroy"])
def test_another_id_is_refused_with_4(action: str, yes: str, code: int, market: Cloud) -> None:
    done = run(*act(market, action, f"--yes-{action}", yes))
    assert (done.code, market.calls) == (code, [])
    assert "nothing was called" in done.err


def test_a_yes_for_the_other_action_does_nothing(market: Cloud) -> None:
    done = run(*act(market, "stop", "--yes-destroy", "b1"))
    assert (done.code, market.calls) == (2, [])
    assert "--yes-destroy needs --act destroy" in done.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--act", "reboot", "--id", "b1"], "there is no such action"),
        (["--act", "stop"], "--act needs --id"),
        (["--act", "stop", "--act", "destroy", "--id", "b1"], "one action at a time"),
        (["--act", "stop", "--id", "-rf", "--yes-stop", "-rf"], "is no id"),
        (["--act", "stop", "--id", "b1", "--stop-cmd", "'"], "--stop-cmd"),
        (["--act", "stop", "--id", "b1", "--yes-stop", "b1"], "--stop-cmd and --state-cmd are"),
        (["--act", "stop", "--id", "b1", "--yes-stop", "b1", "--stop-cmd", "true"], "confirms"),
        (["--notify", "true"], "--notify needs --watch"),
        (["--cap", "5"], "--cap needs --watch"),
        (["--watch"], "--run DIR or --ssh"),
        (
            [
                "--watch",
                "--run",
                ".",
                "--act",
                "stop",
                "--id",
                "b1",
                "--yes-stop",
                "b1",
                "--state-cmd",
                "true",
            ],
            "--stop-cmd and --state-cmd are needed",
        ),
        (
            [
                "--watch",
                "--run",
                ".",
                "--act",
                "stop",
                "--id",
                "b1",
                "--yes-stop",
                "b1",
                "--stop-cmd",
                "true",
                "--cap",
                "5",
            ],
            "one acts, the other confirms",
        ),
        (["--watch", "--run", ".", "--cap", "0"], "not a sum above zero"),
        (["--watch", "--run", ".", "--cap", "$"], "not a plain number"),
        (["--watch", "--run", ".", "--id", "-rf", "--state-cmd", "true {id}"], "is no id"),
    ],
)
def test_words_that_mean_nothing_are_refused_with_2(words: list[str], said: str) -> None:
    done = run(*BOX, *words)
    assert done.code == 2
    assert said in done.err


@pytest.mark.parametrize("window", ["0", "0s", "", "-5m", "5", "20 minutes", "on"])
def test_a_window_is_a_time_above_zero_with_its_unit(window: str, tmp_path: Path) -> None:
    """Case 31: a typing error must not become a window of nothing."""
    done = run(*BOX, "--watch", "--run", str(tmp_path), "--window", window)
    assert done.code == 2
    assert "--window" in done.err


def test_an_action_with_the_window_off_is_refused(market: Cloud) -> None:
    done = run(*act(market, "stop", "--yes-stop", "b1", "--window", "off"))
    assert (done.code, market.calls) == (4, [])


# --- done ---------------------------------------------------------------------------------------


def test_a_stop_with_its_id_is_made_and_confirmed(market: Cloud) -> None:
    done = run(*act(market, "stop", "--yes-stop", "b1"))
    assert (done.code, market.calls) == (0, ["stop b1"])
    assert "stop confirmed: b1 is stopped" in done.out


def test_json_holds_what_came_of_it(market: Cloud) -> None:
    done = run(*act(market, "stop", "--yes-stop", "b1", "--format", "json"))
    told = json.loads(done.out)["action"]
    assert (told["result"], told["state"], told["box"]) == ("confirmed", "stopped", "b1")
    refused = run(*act(market, "destroy", "--yes-destroy", "b1", "--format", "json"))
    assert refused.code == 4
    assert json.loads(refused.out)["action"]["result"] == "refused"


def test_a_provider_that_keeps_the_box_ends_with_5(market: Cloud) -> None:
    market.behave("ignore")
    done = run(*act(market, "stop", "--yes-stop", "b1", "--confirm-within", "1s"))
    assert (done.code, market.calls) == (5, ["stop b1"])
    assert "it may still bill $3.48/h" in done.err


def test_a_stop_that_is_refused_for_a_full_disk_ends_with_5(
    market: Cloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Case 43."""
    monkeypatch.setattr("costplan.box.actions.REFUSED_S", 0.0)
    market.behave("refuse")
    done = run(*act(market, "stop", "--yes-stop", "b1"))
    assert done.code == 5
    assert "stop refused: " in done.err
    assert "disk full; still billing $3.48/h" in done.err


def test_an_unknown_state_ends_with_3(market: Cloud) -> None:
    market.behave("says:loading")
    done = run(*act(market, "stop", "--yes-stop", "b1"))
    assert (done.code, market.calls) == (3, [])


def test_a_guest_shutdown_is_refused_with_4(market: Cloud) -> None:
    """Case 2, with and without a yes: 5 more hours were billed `stopped in place`."""
    words = [*BOX, "--provider", "scaleway", "--act", "stop", "--id", "b1"]
    for more in ([], ["--yes-stop", "b1"]):
        done = run(*words, "--stop-cmd", "sudo shutdown -h now", *more)
        assert done.code == 4
        assert (
            "a shutdown from inside leaves the box stopped allocated: its GPU bills on" in done.err
        )


@pytest.mark.parametrize("provider", ["lambda", "digitalocean"])
def test_a_stop_that_is_none_is_refused_with_4(provider: str, market: Cloud) -> None:
    done = run(*act(market, "stop", "--yes-stop", "b1", "--provider", provider))
    assert (done.code, market.calls) == (4, [])


# --- a destroy needs a copy ---------------------------------------------------------------------


class Copied(NamedTuple):
    runs: Path
    manifest: Path
    copy: Path

    @property
    def words(self) -> list[str]:
        return ["--copy", str(self.manifest), "--copied-to", str(self.copy)]


@pytest.fixture
def copied(tmp_path: Path) -> Copied:
    """A run folder, its manifest and a copy, all in place."""
    found = Copied(tmp_path / "runs", tmp_path / "manifest.json", tmp_path / "copy")
    for folder in (found.runs, found.copy):
        folder.mkdir()
        (folder / "results.csv").write_text("epoch,loss\n1,0.5\n")
    assert run("idle", "copy", "make", str(found.runs), "-o", str(found.manifest)).code == 0
    return found


def destroy(market: Cloud, *more: str) -> Done:
    return run(*act(market, "destroy", "--yes-destroy", "b1", *more))


def test_a_destroy_with_a_verified_copy_is_made_and_confirmed(
    market: Cloud, copied: Copied
) -> None:
    done = destroy(market, *copied.words)
    assert (done.code, market.calls) == (0, ["destroy b1"])
    assert "destroy confirmed: b1 is gone" in done.out


def test_a_destroy_without_a_copy_is_refused_with_4(market: Cloud, copied: Copied) -> None:
    """Case 47."""
    for words in ([], copied.words[:2], copied.words[2:]):
        done = destroy(market, *words)
        assert (done.code, market.calls) == (4, [])


def test_a_file_changed_in_the_copy_or_since_the_manifest_refuses(
    market: Cloud, copied: Copied
) -> None:
    (copied.copy / "results.csv").write_text("epoch,loss\n1,0.6\n")
    assert (destroy(market, *copied.words).code, market.calls) == (4, [])
    (copied.copy / "results.csv").write_text("epoch,loss\n1,0.5\n")
    (copied.runs / "new.pt").write_text("newer than the manifest")
    assert (destroy(market, *copied.words).code, market.calls) == (4, [])


def test_a_stopped_box_is_destroyed_without_being_started(market: Cloud, copied: Copied) -> None:
    """Case 21."""
    market.put("b1", "stopped")
    assert (destroy(market, *copied.words).code, market.calls) == (0, ["destroy b1"])


# --- looked at ----------------------------------------------------------------------------------


def sees(monkeypatch: pytest.MonkeyPatch, each: Callable[[float], Snapshot]) -> Callable[[], float]:
    """Let looks be made up and time pass only by sleeping; return what tells the seconds."""
    passed = [0.0]

    def sleep(duration_s: float) -> None:
        passed[0] += duration_s

    started = datetime.now(tz=timezone.utc)
    clock = Clock(lambda: started + timedelta(seconds=passed[0]), lambda: passed[0], sleep)
    monkeypatch.setattr(looks, "time", SimpleNamespace(sleep=sleep))
    monkeypatch.setattr(looks, "read", lambda _: each(passed[0]))
    monkeypatch.setattr(watches, "REAL", clock)
    monkeypatch.setattr("costplan.box.actions.REAL", clock)
    return lambda: passed[0]


def test_an_idle_box_is_looked_at_for_the_window_before_it_is_stopped(
    market: Cloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    seconds = sees(monkeypatch, lambda at_s: look(at_s))
    done = run(*act(market, "stop", "--yes-stop", "b1", "--run", "x", "--window", "5m"))
    assert (done.code, market.calls) == (0, ["stop b1"])
    assert seconds() >= 300


@pytest.mark.parametrize(
    ("snapshot", "code"),
    [
        (lambda at_s: look(at_s, network_bytes=10**9 + round(at_s * 2e6)), 4),  # busy: it loads
        (lambda _: Snapshot(problem="ssh timed out"), 3),
        (lambda at_s: look(at_s, gpus=None), 3),
        (lambda at_s: look(at_s, processes=None), 3),
    ],
)
def test_a_busy_or_unknown_box_is_never_touched(
    snapshot: Callable[[float], Snapshot], code: int, market: Cloud, copied: Copied,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    sees(monkeypatch, snapshot)
    for action, more in (("stop", []), ("destroy", copied.words)):
        yes = [f"--yes-{action}", "b1", "--run", "x", *more]
        assert run(*act(market, action, *yes)).code == code
    assert market.calls == []


@pytest.mark.parametrize("begins", [True, False])
def test_work_that_begins_while_a_large_copy_is_read_saves_the_box(
    begins: bool, market: Cloud, copied: Copied, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The look is made before the copy is read, and reading it takes an hour."""
    read_s: list[float] = []
    now = datetime.now(tz=timezone.utc).timestamp() + 1
    runs = [log(str(copied.runs), newest_at_s=now - 7_200, counters=[counter(5, -9e6, "log")])]

    def each(at_s: float) -> Snapshot:
        busy = begins and len(read_s) == 2
        found = look(at_s, runs=runs, gpus=(gpu(util=90 if busy else 0),))
        assert found.clock is not None
        clock = found.clock.model_copy(update={"wall_s": now + at_s})
        return found.model_copy(update={"clock": clock})

    def slow(*_: object, **__: object) -> Gate:
        read_s.append(seconds())
        actions.REAL.sleep(3_600)
        return Gate((), (), 1, 1, None)

    seconds = sees(monkeypatch, each)
    monkeypatch.setattr(looks, "read_over_ssh", lambda *_: each(seconds()))
    monkeypatch.setattr(acting, "gate", slow)
    monkeypatch.setattr(acting, "look_refuses", lambda *_, **__: [])
    done = destroy(market, *copied.words, "--ssh", "box:/runs")
    assert (done.code, market.calls) == ((4, []) if begins else (0, ["destroy b1"])), done.err
    assert len(read_s) == 2


@pytest.mark.parametrize("said", ["stopped", "gone"])
def test_a_box_that_answers_although_its_provider_says_it_is_away_is_never_destroyed(
    said: str, market: Cloud, copied: Copied, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Case 54: one of both is wrong, and the copy of a box at work is not whole."""
    monkeypatch.setattr(looks, "BETWEEN_S", 0.0)
    market.behave(f"says:{said}")
    monkeypatch.setattr(looks, "time", SimpleNamespace(sleep=lambda _: None))
    monkeypatch.setattr(looks, "read_over_ssh", lambda *_: look())
    for action, more in (("stop", []), ("destroy", copied.words)):
        yes = [f"--yes-{action}", "b1", "--ssh", "box:/runs", *more]
        done = run(*act(market, action, *yes))
        assert (done.code, market.calls) == (3, [])
        assert f"its provider says {said}, but the box answers" in done.err


def test_a_stopped_box_that_answers_nobody_is_destroyed(
    market: Cloud, copied: Copied, monkeypatch: pytest.MonkeyPatch
) -> None:
    market.put("b1", "stopped")
    monkeypatch.setattr(looks, "read_over_ssh", lambda *_: Snapshot(problem="no answer"))
    done = destroy(market, *copied.words, "--ssh", "box:/runs")
    assert (done.code, market.calls) == (0, ["destroy b1"])


# --- watched ------------------------------------------------------------------------------------


def watch(market: Cloud, *more: str) -> list[str]:
    return [*BOX, "--watch", "--run", "x", "--id", "b1", "--state-cmd", market.command("state"),
            "--stop-cmd", market.command("stop"), *more]  # fmt: skip


def until(market: Cloud, end_s: float, **more: Any) -> Callable[[float], Snapshot]:
    """Return looks at a quiet box that is gone after some seconds."""

    def each(at_s: float) -> Snapshot:
        if at_s >= end_s:
            (market.root / "boxes/b1").unlink(missing_ok=True)
        if market.state("b1") != "running":
            return Snapshot(problem="no answer")
        return look(at_s, **more)

    return each


def test_a_watch_says_its_rules_then_what_changes_and_ends_with_the_box(
    market: Cloud, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    sees(monkeypatch, until(market, 3_600))
    notes = f"sh -c 'cat >> {tmp_path}/notes'"
    done = run(*watch(market, "--window", "20m", "--notify", notes, "--cap", "50"))
    texts = [line.split("  ", 1)[1] for line in done.out.splitlines()]
    assert done.code == 0
    assert texts[:8] == [
        "watching b1 every 60 s; rules in force:",
        "  idle: everything quiet for 20 min (1200 s), 2 min once every run is completed and its "
        "process gone",
        "  then: keep at once, stop after 2 min, destroy after 12.7 h (counted from the last sign "
        "of work)",
        f"  stop: told when due, not run: {market.root}/cloud stop b1",
        "  destroy: told when due; no --destroy-cmd is given",
        "  cap: $50 is told, nothing is run",
        "  notify: by --notify",
        "  unknown and hung: told, and nothing is done",
    ]
    assert any(
        text.startswith("stop due: idle, 20 min without work, $1.16 spent") for text in texts
    )
    assert texts[-2].endswith("gone: its provider says gone")
    assert texts[-1] == "the watch has ended"
    assert market.calls == []
    assert "stop due" in (tmp_path / "notes").read_text()
    assert heartbeats.read(heartbeats.place("b1")) is None  # it ended by itself


def test_a_watch_with_a_yes_stops_and_records_the_absence(
    market: Cloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    sees(monkeypatch, until(market, 2 * 3_600))
    done = run(*watch(market, "--act", "stop", "--yes-stop", "b1", "--format", "json"))
    told = [json.loads(line) for line in done.out.splitlines()]
    assert market.calls == ["stop b1"]
    assert {"began", "changed", "stop-due", "acted"} <= {each["event"] for each in told}
    with open_ledger() as ledger:
        assert ledger.is_away("b1")


@pytest.mark.parametrize(("newer_s", "destroyed"), [(60.0, False), (-60.0, True)])
def test_a_stopped_box_whose_last_look_showed_files_newer_than_the_copy_is_not_destroyed(
    newer_s: float, destroyed: bool, market: Cloud, copied: Copied, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A manifest of Monday, work on Tuesday, a stop: only the watch can tell any more."""
    newest_at_s = datetime.now(tz=timezone.utc).timestamp() + newer_s
    was = counter(5, -2 * 3_600, "log")
    each = until(
        market, 3_600, runs=[log(str(copied.runs), newest_at_s=newest_at_s, counters=[was])]
    )
    seconds = sees(monkeypatch, each)
    monkeypatch.setattr(looks, "read_over_ssh", lambda *_: each(seconds()))
    done = run(
        *BOX, "--watch", "--ssh", "box:/runs", "--id", "b1", "--storage-price", "6",
        "--state-cmd", market.command("state"), *copied.words,
        "--act", "stop", "--yes-stop", "b1", "--stop-cmd", market.command("stop"),
        "--act", "destroy", "--yes-destroy", "b1", "--destroy-cmd", market.command("destroy"),
    )  # fmt: skip
    assert market.calls == ["stop b1", "destroy b1"][: 1 + destroyed]
    assert ("its newest file is of" in done.out) is not destroyed


def test_the_next_watch_says_first_that_its_predecessor_died(
    market: Cloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Case 37: 14 hours in service after the guard had died."""
    now = datetime.now(tz=timezone.utc)
    beat = heartbeats.Beat(
        "b1", now - timedelta(hours=20), now - timedelta(hours=14), 60.0, "busy", Decimal(1)
    )
    heartbeats.write(beat)
    one_shot = run(*BOX)
    assert one_shot.out.startswith(
        "the watcher of b1 has been dead for 14.0 h: its last sign is of"
    )
    sees(monkeypatch, until(market, 600))
    done = run(*watch(market, "--cap", "40"))
    first = done.out.splitlines()[0]
    assert "the watcher of b1 has been dead for 14.0 h" in first
    # What it had spent counts on, and the hours that nobody saw: 1 + 14 x 3.4828 = 49.76 > 40.
    assert "the cap of $40 is reached: $49.76 spent" in done.out


def test_a_notify_that_fails_is_said_and_ends_nothing(
    market: Cloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    sees(monkeypatch, until(market, 3_600))
    done = run(*watch(market, "--notify", "false"))
    assert done.code == 0
    assert "--notify failed: false ended with 1" in done.err


def test_a_folder_whose_name_is_no_text_is_watched(
    market: Cloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    each = until(market, 30 * 60)
    seconds = sees(monkeypatch, each)
    monkeypatch.setattr(looks, "read_over_ssh", lambda *_: each(seconds()))
    monkeypatch.setattr(watches, "state_reader", lambda _: lambda: market.state("b1"))
    done = run(*BOX, "--watch", "--ssh", "box:/runs/\udcff")
    assert done.code == 0
    assert "watching box:/runs/\\udcff every" in done.out


def test_a_yes_for_a_stop_that_is_none_never_starts_a_watch(market: Cloud) -> None:
    done = run(*watch(market, "--act", "stop", "--yes-stop", "b1", "--provider", "lambda"))
    assert done.code == 4


# --- real processes -----------------------------------------------------------------------------


def started(words: list[str], *, into: Any = subprocess.DEVNULL) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "costplan", *words],
        stdout=into,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


@pytest.mark.parametrize(("mode", "code"), [("ignore", 5), ("says:loading", 3), ("obey", 2)])
def test_an_answer_that_cannot_be_written_hides_no_action_that_failed(
    mode: str, code: int, market: Cloud
) -> None:
    market.behave(mode)
    words = [*act(market, "stop", "--yes-stop", "b1"), "--confirm-within", "1s", "-f", "json"]
    with Path("/dev/full").open("w") as full:
        assert started(words, into=full).wait(60) == code


def test_two_processes_at_once_make_one_call(market: Cloud) -> None:
    market.behave("slow")
    words = act(market, "stop", "--yes-stop", "b1")
    both = [started(words) for _ in range(3)]
    assert [each.wait(60) for each in both] == [0, 0, 0]
    assert market.calls == ["stop b1"]


@pytest.mark.slow
def test_killed_at_any_moment_it_is_never_called_twice(market: Cloud, tmp_path: Path) -> None:
    market.behave("slow")
    for number in range(12):
        box = f"k{number}"
        market.put(box)
        words = act(market, "stop", "--yes-stop", box, box=box)
        first = started(words)
        time.sleep(0.3 + 0.15 * number)
        os.killpg(first.pid, signal.SIGKILL)
        first.wait()
        second = started([*words, "--confirm-within", "3s"])
        code = second.wait(60)
        calls = market.calls.count(f"stop {box}")
        assert calls <= 1
        # Where the first was killed after its claim and before its call, the second gives up.
        assert code == (0 if market.state(box) == "stopped" else 5)
        logged = [each["event"] for each in audit.entries(audit.default_path(), box)]
        assert calls == 0 or "called" in logged


def test_a_watch_that_is_told_to_end_leaves_no_sign_of_life(market: Cloud, tmp_path: Path) -> None:
    watcher = started(watch(market))
    place = heartbeats.place("b1")
    for _ in range(100):
        if place.exists():
            break
        time.sleep(0.1)
    assert place.exists()
    watcher.terminate()
    assert watcher.wait(10) == 143
    assert not place.exists()


# --- what is said before a yes ------------------------------------------------------------------


def test_a_command_that_names_no_box_is_told_whether_it_is_run_or_not(market: Cloud) -> None:
    told = "has neither {id} nor b1: it acts on what it names"
    words = [*BOX, "--act", "stop", "--id", "b1", "--state-cmd", market.command("state")]
    for name, is_told in (("b1", False), ("{id}", False), ("b10", True), ("x-b1", True)):
        call = ["--stop-cmd", f"'{market.root / 'cloud'}' stop {name}"]
        for more in ([], ["--yes-stop", "b1"]):
            assert (told in run(*words, *call, *more, "--confirm-within", "1s").err) is is_told


def test_an_action_against_the_advice_is_told(market: Cloud) -> None:
    assert "the advice was stop, not destroy" in run(*act(market, "destroy"), "--back-in", "3h").err
    assert "the advice was" not in run(*act(market, "stop"), "--back-in", "3h").err
    assert "the advice was destroy, not stop" in run(*act(market, "stop"), "--back-in", "9d").err


def test_a_dry_run_says_what_a_yes_still_wants(market: Cloud, copied: Copied) -> None:
    words = [*BOX, "--act", "stop", "--id", "b1", "--stop-cmd", market.command("stop")]
    assert "runs it, with a --state-cmd that says whether it took effect" in run(*words).out
    done = run(*act(market, "destroy", *copied.words))
    assert "the copy holds: 1 files, " in done.out
    assert "lies on the same disk as" in done.err


def test_on_a_rented_box_a_copy_on_its_own_disk_is_refused_without_any_gpu(
    market: Cloud, copied: Copied, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RUNPOD_POD_ID", "b1")
    done = destroy(market, *copied.words)
    assert (done.code, market.calls) == (4, [])
    assert "it goes with the box" in done.err


def test_a_watch_that_was_killed_a_moment_ago_is_told_too(
    market: Cloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = datetime.now(tz=timezone.utc)
    heartbeats.write(
        heartbeats.Beat("b1", now, now - timedelta(seconds=40), 60.0, "busy", Decimal(1))
    )
    sees(monkeypatch, until(market, 600))
    first = run(*watch(market)).out.splitlines()[0]
    assert "a watcher of b1 did not end by itself: its last sign is 40 s old" in first
