"""Stops and destroys: told, once, checked, confirmed; a provider made of files, a made-up clock."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any

import pytest
from fakecloud import Cloud, cloud

from costplan.box import audit
from costplan.box.actions import REAL, Clock, Means, perform
from costplan.errors import InputError, LimitError, UnknownError
from costplan.ledger import Ledger, open_ledger
from costplan.records.acting import ActName, BoxState, Order, Outcome

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

START = datetime(2026, 11, 30, 12, tzinfo=timezone.utc)


class Time:
    """A clock that passes only when somebody sleeps."""

    def __init__(self) -> None:
        self.passed_s = 0.0

    def clock(self) -> Clock:
        return Clock(
            lambda: START + timedelta(seconds=self.passed_s), lambda: self.passed_s, self.sleep
        )

    def sleep(self, duration_s: float) -> None:
        assert duration_s > 0
        self.passed_s += duration_s


@pytest.fixture
def market(tmp_path: Path) -> Cloud:
    return cloud(tmp_path / "cloud", b1="running", b10="running")


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    with open_ledger(tmp_path / "ledger.db") as opened:
        yield opened


def order(market: Cloud, action: ActName = "stop", box: str = "b1", **more: Any) -> Order:
    given = {
        "action": action,
        "box": box,
        "consent": box,
        "call": market.words(action),
        "state": market.words("state"),
        "usd_per_hour": "$3.48/h",
    }
    return Order.model_validate(given | more)


def means(
    ledger: Ledger,
    tmp_path: Path,
    *,
    why_not: Callable[[BoxState], list[str]] = lambda _: [],
    said: list[str] | None = None,
    time: Time | None = None,
    forced: bool = False,
) -> Means:
    told = said if said is not None else []
    clock = (time or Time()).clock()
    return Means(ledger, tmp_path / "log.jsonl", clock, why_not, told.append, {}, forced)


def events(tmp_path: Path, box: str = "b1") -> list[str]:
    return [str(each["event"]) for each in audit.entries(tmp_path / "log.jsonl", box)]


def test_a_stop_is_called_once_and_confirmed(market: Cloud, ledger: Ledger, tmp_path: Path) -> None:
    done = perform(order(market), means(ledger, tmp_path))
    assert (done.result, done.state, done.called_here) == ("confirmed", "stopped", True)
    assert market.calls == ["stop b1"]
    assert events(tmp_path) == ["asked", "called", "confirmed"]


def test_intent_and_call_are_on_disk_before_the_call(
    market: Cloud, ledger: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOG", str(tmp_path / "log.jsonl"))
    perform(order(market), means(ledger, tmp_path))
    lines = (market.root / "log-at-call").read_text().splitlines()
    assert [json.loads(line)["event"] for line in lines] == ["asked", "called"]


@pytest.mark.parametrize("yes", ["b", "b10", "B1", "b1 ", "", "*", None])
def test_another_id_or_a_part_of_it_is_no_consent(
    yes: str | None, market: Cloud, ledger: Ledger, tmp_path: Path
) -> None:
    with pytest.raises(LimitError, match="nothing was called"):
        perform(order(market, consent=yes), means(ledger, tmp_path))
    assert market.calls == []


@pytest.mark.parametrize(
    "mode", ["blind", "says:", "says:loading", "says:not running", "says:stopped?", "says:1"]
)
@pytest.mark.parametrize("action", ["stop", "destroy"])
def test_an_unknown_state_never_acts(
    mode: str, action: ActName, market: Cloud, ledger: Ledger, tmp_path: Path
) -> None:
    market.behave(mode)
    with pytest.raises(UnknownError, match="the state of b1 is not known"):
        perform(order(market, action), means(ledger, tmp_path))
    assert market.calls == []


@pytest.mark.parametrize(
    ("action", "state"), [("stop", "stopped"), ("stop", "gone"), ("destroy", "gone")]
)
def test_what_is_so_already_is_not_called(
    action: ActName, state: str, market: Cloud, ledger: Ledger, tmp_path: Path
) -> None:
    if state == "gone":
        (market.root / "boxes/b1").unlink()
    else:
        market.put("b1", state)
    done = perform(order(market, action), means(ledger, tmp_path))
    assert (done.result, done.state) == ("already", state)
    assert market.calls == []


def test_a_box_that_was_said_to_be_gone_once_can_still_be_destroyed(
    market: Cloud, ledger: Ledger, tmp_path: Path
) -> None:
    """An empty answer of its provider: nobody called, so nothing was destroyed."""
    market.behave("says:gone")
    assert perform(order(market, "destroy"), means(ledger, tmp_path)).result == "already"
    market.behave("obey")
    done = perform(order(market, "destroy"), means(ledger, tmp_path))
    assert (done.result, market.calls) == ("confirmed", ["destroy b1"])
    assert perform(order(market, "destroy"), means(ledger, tmp_path)).result == "already"


def test_a_destroy_of_a_stopped_box_never_starts_it(
    market: Cloud, ledger: Ledger, tmp_path: Path
) -> None:
    """Case 21: 84 destroys failed because each wanted a start first."""
    market.put("b1", "stopped")
    done = perform(order(market, "destroy"), means(ledger, tmp_path))
    assert (done.result, market.calls) == ("confirmed", ["destroy b1"])


def test_time_passes_while_the_watching_machine_sleeps(monkeypatch: pytest.MonkeyPatch) -> None:
    """A laptop closed for eight hours: the box billed on, and the deadline came nearer."""
    seconds = {time.CLOCK_BOOTTIME: 8.0, time.CLOCK_MONOTONIC: 1.0}
    monkeypatch.setattr(time, "clock_gettime", lambda clock: seconds[clock])
    assert REAL.passed_s() == 8.0


# --- what is not confirmed ----------------------------------------------------------------------


def test_a_provider_that_says_ok_and_keeps_the_box_is_unconfirmed_after_four_minutes(
    market: Cloud, ledger: Ledger, tmp_path: Path
) -> None:
    market.behave("ignore")
    time = Time()
    done = perform(order(market), means(ledger, tmp_path, time=time))
    assert (done.result, done.state) == ("unconfirmed", None)
    assert "it may still bill $3.48/h" in done.why
    assert time.passed_s == 240


def test_an_unconfirmed_call_is_looked_after_before_it_is_made_again(
    market: Cloud, ledger: Ledger, tmp_path: Path
) -> None:
    market.behave("ignore")
    results = [perform(order(market), means(ledger, tmp_path)) for _ in range(3)]
    assert [each.result for each in results] == ["unconfirmed"] * 3
    # Called; only looked at, and given up; called anew.
    assert [each.called_here for each in results] == [True, False, True]
    assert market.calls == ["stop b1", "stop b1"]


def test_a_refused_stop_says_why_and_that_it_bills_on(
    market: Cloud, ledger: Ledger, tmp_path: Path
) -> None:
    """Case 43: a stop refused because the disk was full."""
    market.behave("refuse")
    time = Time()
    done = perform(order(market), means(ledger, tmp_path, time=time))
    assert done.result == "unconfirmed"
    assert "disk full" in done.why
    assert "still billing $3.48/h" in done.why
    assert time.passed_s == 10  # it may have been taken all the same: so long it is looked at
    market.behave("obey")
    assert perform(order(market), means(ledger, tmp_path)).result == "confirmed"


def test_a_call_that_fails_and_takes_effect_is_confirmed(
    market: Cloud, ledger: Ledger, tmp_path: Path
) -> None:
    call = ("sh", "-c", f"echo stopped > {market.root}/boxes/b1; exit 1", "{id}")
    assert perform(order(market, call=call), means(ledger, tmp_path)).result == "confirmed"


def test_the_next_run_confirms_what_a_killed_one_called(
    market: Cloud, ledger: Ledger, tmp_path: Path
) -> None:
    ledger.record_action("b1", "stop", "asked", START)
    ledger.record_action("b1", "stop", "called", START)  # and there it was killed
    market.put("b1", "stopped")
    done = perform(order(market), means(ledger, tmp_path))
    assert done.result == "already"
    assert "the call made before took effect" in done.why
    assert market.calls == []


def test_a_destroy_that_was_confirmed_is_never_called_again(
    market: Cloud, ledger: Ledger, tmp_path: Path
) -> None:
    perform(order(market, "destroy"), means(ledger, tmp_path))
    market.put("b1")  # and yet it is there again
    with pytest.raises(UnknownError, match="destroyed and confirmed before"):
        perform(order(market, "destroy"), means(ledger, tmp_path))
    assert market.calls == ["destroy b1"]


def test_a_box_that_was_started_again_can_be_stopped_again(
    market: Cloud, ledger: Ledger, tmp_path: Path
) -> None:
    perform(order(market), means(ledger, tmp_path))
    market.put("b1")
    assert perform(order(market), means(ledger, tmp_path)).called_here
    assert market.calls == ["stop b1", "stop b1"]


def test_a_call_that_another_process_is_making_is_never_made_beside_it(
    market: Cloud, ledger: Ledger, tmp_path: Path
) -> None:
    """Its provider is slow, and its follower looked for a second only."""
    ledger.record_action("b1", "stop", "asked", START)
    ledger.record_action("b1", "stop", "called", START)
    script = (
        "import pathlib, sys, time; from costplan.box import calls\n"
        "with calls.held(pathlib.Path(sys.argv[1]), 'b1', 'stop') as free:\n"
        "    print(free, flush=True); time.sleep(60)"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script, str(ledger.path)], stdout=subprocess.PIPE
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"True\n"
        for _ in range(2):
            done = perform(order(market), means(ledger, tmp_path))
            assert (done.result, market.calls) == ("unconfirmed", [])
            assert "another run is calling now" in done.why
        other.kill()  # and its lock is gone
    assert perform(order(market), means(ledger, tmp_path)).result == "unconfirmed"
    assert perform(order(market), means(ledger, tmp_path)).called_here
    assert market.calls == ["stop b1"]


def test_a_claim_that_another_run_gave_up_is_not_called(
    market: Cloud, ledger: Ledger, tmp_path: Path
) -> None:
    """Two runs, two hooks: one fails, and blocks both."""

    def why_not(_: BoxState) -> list[str]:
        if events(tmp_path):
            ledger.record_action("b1", "stop", "released", START)
        return []

    with pytest.raises(LimitError, match="another run gave up its stop"):
        perform(order(market), means(ledger, tmp_path, why_not=why_not))
    assert market.calls == []


# --- reasons against, hooks ---------------------------------------------------------------------


def test_a_reason_against_it_calls_nothing_and_is_logged(
    market: Cloud, ledger: Ledger, tmp_path: Path
) -> None:
    with pytest.raises(LimitError, match=r"last\.pt: missing"):
        perform(
            order(market, "destroy"),
            means(ledger, tmp_path, why_not=lambda _: ["last.pt: missing"]),
        )
    assert market.calls == []
    assert events(tmp_path) == ["refused"]


def test_a_reason_that_comes_up_during_the_hook_calls_nothing(
    market: Cloud, ledger: Ledger, tmp_path: Path
) -> None:
    reasons = iter([[], ["somebody works on it"]])
    with pytest.raises(LimitError, match="somebody works on it"):
        perform(
            order(market, before=("true",)),
            means(ledger, tmp_path, why_not=lambda _: next(reasons)),
        )
    assert market.calls == []


@pytest.mark.parametrize(("reading_s", "again"), [(60.0, 0), (61.0, 1)])
def test_a_copy_that_took_long_to_read_is_followed_by_one_more_look(
    reading_s: float, again: int, market: Cloud, ledger: Ledger, tmp_path: Path
) -> None:
    """A copy of 500 GB takes an hour, in which somebody may have begun to work."""
    time, looked = Time(), list[str]()

    def why_not(_: BoxState) -> list[str]:
        time.sleep(reading_s)
        return []

    def since(state: BoxState) -> list[str]:
        looked.append(state)
        return ["somebody works on it"]

    found = means(ledger, tmp_path, why_not=why_not, time=time)._replace(since=since)
    if again:
        with pytest.raises(LimitError, match="somebody works on it"):
            perform(order(market, "destroy"), found)
    else:
        assert perform(order(market, "destroy"), found).result == "confirmed"
    assert looked == ["running"] * again


@pytest.mark.parametrize(
    ("then", "result"), [("running", "it was stopped and is running now"), ("gone", "")]
)
def test_a_box_that_changes_while_its_copy_is_read_is_not_called(
    then: str, result: str, market: Cloud, ledger: Ledger, tmp_path: Path
) -> None:
    time, count = Time(), iter(range(9))
    market.put("b1", "stopped")

    def why_not(_: BoxState) -> list[str]:
        time.sleep(3_600)
        if next(count) == 1:  # at the second check, after which only the call comes
            market.behave(f"says:{then}")
        return []

    found = means(ledger, tmp_path, why_not=why_not, time=time)
    if result:
        with pytest.raises(LimitError, match=result):
            perform(order(market, "destroy"), found)
    else:
        assert perform(order(market, "destroy"), found).result == "already"
    assert market.calls == []


@pytest.mark.parametrize(
    ("hook", "why"), [("exit 3", "ended with 3"), ("sleep 30", "did not end within 0.2 s")]
)
def test_a_before_hook_that_fails_or_takes_too_long_blocks(
    hook: str, why: str, market: Cloud, ledger: Ledger, tmp_path: Path
) -> None:
    blocked = order(market, before=("sh", "-c", hook), hook_timeout_s=0.2)
    with pytest.raises(LimitError, match=why):
        perform(blocked, means(ledger, tmp_path))
    assert market.calls == []
    assert events(tmp_path) == ["asked", "blocked"]
    assert perform(order(market), means(ledger, tmp_path)).result == "confirmed"


def test_hooks_are_told_what_happens(market: Cloud, ledger: Ledger, tmp_path: Path) -> None:
    note = 'cat >> $0; echo " $COSTPLAN_WHEN $COSTPLAN_RESULT $1" >> $0'
    hook = ("sh", "-c", note, str(tmp_path / "notes"), "{id}")
    perform(order(market, before=hook, after=hook), means(ledger, tmp_path))
    assert (tmp_path / "notes").read_text().splitlines() == [
        '{"when": "before", "action": "stop", "id": "b1", "result": ""} before  b1',
        '{"when": "after", "action": "stop", "id": "b1", "result": "confirmed"} after confirmed b1',
    ]


def test_a_failing_after_hook_is_told_and_changes_nothing(
    market: Cloud, ledger: Ledger, tmp_path: Path
) -> None:
    said: list[str] = []
    done = perform(order(market, after=("false",)), means(ledger, tmp_path, said=said))
    assert done.result == "confirmed"
    assert said == ["the after-hook failed: false ended with 1"]


def test_a_box_that_goes_during_the_hook_is_not_called(
    market: Cloud, ledger: Ledger, tmp_path: Path
) -> None:
    hook = ("sh", "-c", f"echo stopped > {market.root}/boxes/b1")
    done = perform(order(market, before=hook), means(ledger, tmp_path))
    assert (done.result, market.calls) == ("already", [])


def test_a_hook_that_removes_the_ledger_blocks(
    market: Cloud, ledger: Ledger, tmp_path: Path
) -> None:
    """Without it two processes could both claim the call."""
    hook = ("sh", "-c", f"rm -f {tmp_path}/ledger.db*")
    with pytest.raises(InputError, match="removed or replaced meanwhile"):
        perform(order(market, before=hook), means(ledger, tmp_path))
    assert market.calls == []


@pytest.mark.parametrize(("verb", "result"), [("stop", "confirmed"), ("state", "unconfirmed")])
def test_a_ledger_that_fails_after_the_call_hides_nothing_of_it(
    verb: str, result: str, market: Cloud, ledger: Ledger, tmp_path: Path
) -> None:
    said: list[str] = []
    script = f"{market.root}/cloud {verb} b1; rm -f {tmp_path}/ledger.db*; test {verb} = stop"
    call = ("sh", "-c", script)
    after = ("sh", "-c", f"echo $COSTPLAN_RESULT > {tmp_path}/after")
    done = perform(order(market, call=call, after=after), means(ledger, tmp_path, said=said))
    assert (done.result, done.called_here) == (result, True)
    assert events(tmp_path)[-1] == result
    assert (tmp_path / "after").read_text() == f"{result}\n"
    assert "was not recorded as" in said[0]


def test_a_call_that_cannot_be_logged_is_not_made_and_not_waited_for(
    market: Cloud, ledger: Ledger, tmp_path: Path
) -> None:
    log = tmp_path / "log.jsonl"
    hook = ("sh", "-c", f"rm {log}; mkdir {log}")
    with pytest.raises(InputError, match="cannot be written"):
        perform(order(market, before=hook), means(ledger, tmp_path))
    assert market.calls == []
    log.rmdir()
    assert perform(order(market), means(ledger, tmp_path)).called_here


# --- the cap ------------------------------------------------------------------------------------


def test_the_cap_stops_although_the_before_hook_fails(
    market: Cloud, ledger: Ledger, tmp_path: Path
) -> None:
    said: list[str] = []
    done = perform(
        order(market, before=("false",)), means(ledger, tmp_path, said=said, forced=True)
    )
    assert (done.result, market.calls) == ("confirmed", ["stop b1"])
    assert "the before-hook failed" in said[0]


def test_the_cap_stops_a_box_whose_state_nobody_can_tell(
    market: Cloud, ledger: Ledger, tmp_path: Path
) -> None:
    market.behave("blind")
    done: Outcome = perform(order(market), means(ledger, tmp_path, forced=True))
    assert (done.result, market.calls) == ("unconfirmed", ["stop b1"])


# --- the log ------------------------------------------------------------------------------------


def test_what_cannot_be_logged_is_not_done(market: Cloud, ledger: Ledger, tmp_path: Path) -> None:
    (tmp_path / "log.jsonl").mkdir()
    with pytest.raises(InputError, match="cannot be written"):
        perform(order(market), means(ledger, tmp_path))
    assert market.calls == []


def test_no_secret_is_logged_or_shown(
    market: Cloud, ledger: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CONTAINER_API_KEY", "abcdef123456")
    call = (*market.words("stop"), "--api-key", "abcdef123456", "token=zzz999zzz")
    done = perform(order(market, call=call), means(ledger, tmp_path))
    everything = (tmp_path / "log.jsonl").read_text() + done.model_dump_json()
    assert "abcdef123456" not in everything
    assert "zzz999zzz" not in everything


@pytest.mark.parametrize("before", ["", "x" * 34])
def test_no_secret_that_a_state_command_prints_is_shown(
    before: str, market: Cloud, ledger: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CONTAINER_API_KEY", "AbCdEf123456")
    market.behave(f"says:{before} AbCdEf123456")
    with pytest.raises(UnknownError) as caught:
        perform(order(market), means(ledger, tmp_path))
    assert "abcdef" not in str(caught.value).lower()


@pytest.mark.parametrize(
    ("event", "more", "holds"),
    [
        ("changed", {"text": "unknown -> busy: run /r: epoch moved 0 s ago"}, False),
        ("changed", {"text": "idle: everything quiet for 20 min"}, False),
        ("asked", {"action": "destroy", "state": "running"}, False),
        ("changed", {"text": "unknown -> stopped: its provider says stopped: busy"}, True),
        ("changed", {"text": "stopped -> unknown: -> busy: no"}, True),
        ("asked", {"action": "destroy", "state": "stopped"}, True),
        ("heartbeat", {"text": "stopped for 1 h"}, True),
    ],
)
def test_a_stop_holds_until_the_box_was_seen_running(
    event: str, more: dict[str, Any], holds: bool, tmp_path: Path
) -> None:
    """Stopped on Friday, at work on Monday, stopped by hand: Friday counts no more."""
    path = tmp_path / "log.jsonl"
    assert audit.stopped_at(path, "b1") is None
    audit.append(path, "confirmed", START, box="b1", action="stop", state="stopped")
    audit.append(path, event, START + timedelta(hours=1), box="b1", **more)
    audit.append(path, "changed", START, box="b10", text="busy: other")
    assert audit.stopped_at(path, "b1") == (START if holds else None)
    audit.append(path, "confirmed", START + timedelta(hours=2), box="b1", action="stop")
    assert audit.stopped_at(path, "b1") == START + timedelta(hours=2)


def test_a_torn_line_is_left_alone_and_the_next_begins_anew(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    audit.append(path, "one", START, box="b1")
    with path.open("ab") as file:
        file.write(b'{"at": "2026-')
    audit.append(path, "two", START, box="b1")
    assert [each["event"] for each in audit.entries(path, "b1")] == ["one", "two"]
    assert len(path.read_text().splitlines()) == 3
    assert path.stat().st_mode & 0o077 == 0  # nobody else reads it
