"""Deadline, hours passed, own timer and notice as the command line says them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from test_idle_command import VAST, HeldClock, body_of, idle

import costplan.render.idle  # noqa: F401  # before the clock is held
from costplan import catalog
from costplan.cli.clocks_asked import ClocksAsked, clocks_of

if TYPE_CHECKING:
    from costplan.catalog import Catalog

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(autouse=True)
def _held(monkeypatch: pytest.MonkeyPatch, shipped: Catalog) -> None:
    monkeypatch.setattr(catalog, "load", lambda _: shipped)
    monkeypatch.chdir(ROOT)
    monkeypatch.delenv("COSTPLAN_PRICING", raising=False)
    monkeypatch.setattr("datetime.datetime", HeldClock)


def steps_of(body: dict[str, Any]) -> list[tuple[float, str]]:
    return [(round(step["from_h"], 3), step["action"]) for step in body["plan"]]


# --- deadlines -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "hours", "said"),
    [
        # now is Monday 2026-11-30 20:15 in Greenwich
        ("36h", 36, "deadline in 36 h"),
        ("1d12h", 36, "deadline in 36 h"),
        ("1.5 d", 36, "deadline in 36 h"),
        ("09:00", 12.75, "deadline Tue 2026-12-01 09:00 (12.8 h)"),
        ("wed 08:15", 36, "deadline Wed 2026-12-02 08:15 (36.0 h)"),
        ("2026-12-02T08:15Z", 36, "deadline Wed 2026-12-02 08:15 (36.0 h)"),
    ],
)
def test_a_deadline_is_a_time_or_a_duration(text: str, hours: float, said: str) -> None:
    body = body_of(*VAST, "--deadline", text, "--remaining", "2h30m")
    assert body["deadline_h"] == hours
    assert body["resolved"] == [f"{said}: 2.5 h of work left, 0.25 h in reserve, 10% of it"]
    assert (body["remaining_h"], body["reserve_h"]) == (2.5, 0.25)
    assert body["asked"]["deadline"] == text


def test_a_reserve_is_a_tenth_unless_it_is_said() -> None:
    body = body_of(*VAST, "--deadline", "36h", "--remaining", "10h", "--reserve", "3h")
    assert body["reserve_h"] == 3
    assert body["resolved"] == ["deadline in 36 h: 10 h of work left, 3 h in reserve"]
    latest = {option["action"]: option["latest_start_h"] for option in body["options"]}
    # 36 - 10 - 3 = 23 h; 2 and 15 minutes, and 15 minutes
    assert latest == pytest.approx({"keep": 23, "stop": 22.716667, "destroy": 22.75})
    assert body["start_by_h"] == 22.75
    assert steps_of(body)[-1] == (22.75, "start")


def test_a_sure_gpu_leaves_the_rebuild_out_of_the_way_back() -> None:
    words = ["--deadline", "36h", "--remaining", "10h", "--gpu-gone"]
    stop = body_of(*VAST, *words, "0")["options"][1]
    assert stop["latest_start_h"] == pytest.approx(25 - 2 / 60)
    stop = body_of(*VAST, *words, "1%")["options"][1]
    assert stop["latest_start_h"] == pytest.approx(25 - 17 / 60)


# --- hours that have passed ----------------------------------------------------------------


def test_hours_passed_are_echoed_and_priced() -> None:
    body = body_of(*VAST, "--stopped-for", "9h")
    assert body["resolved"] == ["stopped for 9 h already"]
    assert body["so_far"]["usd"] == pytest.approx(0.625)  # 9 x 0.0694444
    assert steps_of(body) == [(0, "stop"), (3.724, "destroy")]  # 12.723936 - 9
    assert body_of(*VAST)["so_far"] is None


def test_a_stopped_box_past_its_providers_clock_may_be_gone() -> None:
    words = [*VAST, "--expires-in", "10d", "--stopped-for"]
    assert "stop after 24.0 h" in idle(*words, "9d").stdout
    assert "stop by now: look whether it is there" in idle(*words, "10d").stdout


def test_past_its_latest_start_a_stopped_box_is_left_to_a_rebuild() -> None:
    words = [*VAST, "--deadline", "20h", "--remaining", "10h"]
    assert (
        "only a rebuild elsewhere begun at once is left"
        in idle(*words, "--stopped-for", "1h").stdout
    )
    assert "only keep, or a rebuild elsewhere begun at once, is left" in idle(*words).stdout


def test_a_mean_of_what_is_left_is_said_to_be_one() -> None:
    words = [*VAST, "--mean", "8h"]
    assert "the mean is of the hours still to come" in idle(*words, "--idle-for", "6h").stdout
    assert "still to come" not in idle(*words).stdout
    assert "still to come" not in idle(*words, "--never", "5%", "--idle-for", "6h").stdout


@pytest.mark.parametrize(
    ("passed", "part"),
    [
        ("29m", "is not counted on"), ("30m", "is not counted on"),
        ("31m", "the provider's own timer did not fire: set to 0.5 h"),
    ],
)  # fmt: skip
def test_a_timer_that_should_have_fired_did_not(passed: str, part: str) -> None:
    words = [*VAST, "--idle-for", passed]
    with_it = idle(*words, "--provider-timer", "30m")
    assert part in with_it.stderr.splitlines()[0]
    assert with_it.stdout == idle(*words).stdout  # whatever it does, it is not counted on


# --- a timer of one's own ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "steps"),
    [
        ("stop 1h, destroy 7d", [(0, "keep"), (1, "stop"), (168, "destroy")]),
        ("stop now,destroy 1h30m", [(0, "stop"), (1.5, "destroy")]),
        (" STOP 0h ", [(0, "stop")]),
        ("destroy 5 m", [(0, "keep"), (0.083, "destroy")]),
    ],
)
def test_a_timer_is_states_and_hours(text: str, steps: list[tuple[float, str]]) -> None:
    body = body_of(*VAST, "--compare", text)
    found = [(round(each["from_h"], 3), each["action"]) for each in body["compared"]["timer"]]
    assert found == steps
    assert body["resolved"][0].startswith("your timer: ")
    assert body_of(*VAST)["compared"] is None


def test_what_has_no_bound_is_null_in_json_and_named() -> None:
    theirs = body_of(*VAST, "--compare", "stop 30m")["compared"]["theirs"]
    assert (theirs["worst_ratio"], theirs["regret_usd"]) == (None, None)
    assert theirs["endless"] == ["worst_ratio", "regret_usd"]
    said = idle(*VAST, "--compare", "stop 30m").stdout
    assert "at worst any number of times the best in hindsight, dollars without end more" in said


def test_a_balance_that_ends_a_state_leaves_a_timer_unpriced() -> None:
    said = idle(*VAST, "--balance", "2", "--compare", "stop 20m", "--back-in", "2d").stdout
    assert "your timer (keep now, stop after 20.0 min): unknown dollars" in said
    said = idle(*VAST, "--balance", "2", "--compare", "stop 20m").stdout
    assert "at worst unknown times" in said


# --- what does not fit ---------------------------------------------------------------------

DUE = ["--deadline", "36h", "--remaining", "10h"]


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (["--deadline", "36h"], "--deadline needs --remaining"),
        (["--remaining", "10h"], "--remaining without --deadline"),
        (["--reserve", "1h"], "--reserve without --deadline"),
        (["--deadline", "36", "--remaining", "10h"], "--deadline 36: not a time"),
        (["--deadline", "noon", "--remaining", "10h"], "or a duration: 36h"),
        (["--deadline", "25:00", "--remaining", "10h"], "--deadline 25:00: there is no such time"),
        (["--deadline", "2026-11-30T20:15Z", "--remaining", "10h"], "it is past"),
        (["--deadline", "36h", "--remaining", "10"], "--remaining '10' is not a duration"),
        ([*DUE, "--reserve", "a day"], "--reserve 'a day' is not a duration"),
        (["--deadline", "9999999h", "--remaining", "10h"], "--deadline"),
        (["--stopped-for", "3"], "--stopped-for '3' is not a duration"),
        (["--idle-for", "-1h"], "--idle-for"),
        (["--stopped-for", "1h", "--idle-for", "1h"], "the box is off or on"),
        (["--provider-timer", "30m"], "--provider-timer needs --idle-for"),
        (["--stopped-for", "6h", "--provider-timer", "30m"], "--provider-timer needs --idle-for"),
        (["--idle-for", "6h", "--provider-timer", "30"], "--provider-timer '30'"),
        (["--stopped-for", "6h", "--run", "nowhere"], "nobody looks into a stopped box"),
        (["--compare", ""], "is no step"),
        (["--compare", "stop"], "'stop' is no step"),
        (["--compare", "1h stop"], "'1h stop' is no step"),
        (["--compare", "stop 1h,"], "'' is no step"),
        (["--compare", "stop 1"], "--compare '1' is not a duration"),
        (["--compare", "nap 1h"], "--compare nap: no state of this box"),
        (["--compare", "keep-data 1h"], "no state of this box"),
        (["--compare", "destroy 1h, stop 2h"], "nothing leads there"),
        (["--compare", "stop 1h", *DUE], "without a deadline"),
        (["--compare", "stop 1h", "--idle-for", "1h"], "whole absence from its start"),
        (["--compare", "stop 1h", "--stopped-for", "1h"], "whole absence from its start"),
        (["--notice", "30s"], "needs --unsaved and --upload-mbit too"),
        (["--notice", "30s", "--unsaved", "8"], "needs --upload-mbit too"),
        (["--unsaved", "8", "--upload-mbit", "800"], "needs --notice too"),
        (["--notice", "30", "--unsaved", "8", "--upload-mbit", "800"], "--notice '30'"),
        (["--notice", "30s", "--unsaved", "-8", "--upload-mbit", "800"], "--unsaved -8"),
        (["--notice", "30s", "--unsaved", "8", "--upload-mbit", "0"], "0 Mbit/s"),
    ],
)
def test_words_that_do_not_fit_are_refused_with_a_hint(words: list[str], part: str) -> None:
    done = idle(*VAST, *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert part in done.stderr


def test_a_box_without_a_stop_was_not_stopped() -> None:
    words = ["--provider", "lambda", "--rate", "3", "--setup", "15m", "--stopped-for", "2d"]
    done = idle(*words)
    assert (done.returncode, done.stdout) == (2, "")
    assert "no stop that ends the bill\nhint: " in done.stderr


def test_what_a_stopped_box_bills_must_be_known_to_say_what_it_cost() -> None:
    done = idle("--rate", "3", "--disk", "100", "--setup", "15m", "--stopped-for", "2d")
    assert (done.returncode, done.stdout) == (3, "")


def test_nothing_asked_is_nothing_assumed() -> None:
    clocks, said, noted = clocks_of(ClocksAsked(), now=HeldClock.now())
    assert (clocks.deadline, clocks.elapsed, clocks.timer, said, noted) == (None, None, (), [], [])


def test_the_notice_that_is_enough_says_so() -> None:
    words = [*VAST, "--notice", "2m", "--unsaved", "8", "--upload-mbit", "800"]
    assert "a notice of 120 s is enough for all 8 GB" in idle(*words).stdout
    assert json.loads(idle(*words, "--format", "json").stdout)["notice_gb"] == 8


def test_a_reserve_that_is_used_up_is_said() -> None:
    # 36 - 10 = 26 h without the reserve of 1 h
    said = idle(*VAST, "--deadline", "36h", "--remaining", "10h", "--back-in", "25h30m").stdout
    assert "by using up the reserve" in said
    assert "no state keeps the reserve; the deadline itself can still be met" in said
    said = idle(*VAST, "--deadline", "36h", "--remaining", "10h", "--back-in", "27h").stdout
    assert "no state meets the deadline: at best done 1.0 h after it" in said
