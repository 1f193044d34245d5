"""The ledger: what was acknowledged is there, whoever writes, dies or has no room."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from costplan import ledgerfile
from costplan.errors import InputError
from costplan.ledger import Ledger, default_path, open_ledger

ROOT = Path(__file__).resolve().parents[1]
NINE = datetime(2026, 8, 27, 9, tzinfo=timezone.utc)
NOBODY = 65_534


def after(hours: float) -> datetime:
    return NINE + timedelta(hours=hours)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "ledger.sqlite3"


@pytest.fixture
def ledger(path: Path) -> Iterator[Ledger]:
    with open_ledger(path) as opened:
        yield opened


def refused(action: Callable[[], object]) -> str:
    """Return what the error of `action` says."""
    with pytest.raises(InputError) as caught:
        action()
    return str(caught.value)


# --- absences -----------------------------------------------------------------------------------


def test_an_absence_lasts_from_leaving_to_coming_back(ledger: Ledger) -> None:
    ledger.leave("7", after(0))
    ledger.back("7", after(14.5))
    assert ledger.absences(after(100)) == ((14.5,), ())


def test_who_is_still_away_has_been_away_so_far(ledger: Ledger) -> None:
    ledger.leave("7", after(0))
    ledger.back("7", after(2))
    ledger.leave("7", after(3))
    ledger.leave("8", after(1))
    assert ledger.absences(after(5)) == ((2.0,), (4.0, 2.0))


def test_each_absence_says_when_it_began_and_whether_it_is_over(ledger: Ledger) -> None:
    ledger.leave("7", after(0))
    ledger.leave("8", after(1))
    ledger.back("7", after(2))
    assert ledger.each_absence(after(5)) == (
        (after(0), 2.0, True),
        (after(1), 4.0, False),
    )


def test_an_absence_that_begins_later_is_none_yet(ledger: Ledger) -> None:
    ledger.leave("7", after(5))
    assert ledger.absences(after(4.999)) == ((), ())
    assert ledger.absences(after(5)) == ((), (0.0,))


def test_a_box_is_left_once(ledger: Ledger) -> None:
    ledger.leave("7", after(0))
    assert refused(lambda: ledger.leave("7", after(1))) == (
        "7 was left already, at 2026-08-27T09:00:00+00:00"
    )
    assert ledger.absences(after(2)) == ((), (2.0,))


def test_nobody_comes_back_who_did_not_leave(ledger: Ledger) -> None:
    assert refused(lambda: ledger.back("7", after(1))) == "7 was not left"
    ledger.leave("7", after(0))
    ledger.back("7", after(1))
    assert refused(lambda: ledger.back("7", after(2))) == "7 was not left"
    assert ledger.restarts() == (1, 0)


def test_nobody_is_back_before_leaving(ledger: Ledger) -> None:
    ledger.leave("7", after(1))
    assert "was left only at" in refused(lambda: ledger.back("7", after(1)))
    ledger.back("7", after(1) + timedelta(microseconds=1))


def test_a_box_is_not_left_during_its_last_absence(ledger: Ledger) -> None:
    ledger.leave("7", after(0))
    ledger.back("7", after(2))
    assert "cannot have been left" in refused(lambda: ledger.leave("7", after(1.999)))
    ledger.leave("7", after(2))


def test_a_time_needs_its_zone(ledger: Ledger) -> None:
    naive = NINE.replace(tzinfo=None)
    assert refused(lambda: ledger.leave("7", naive)) == "2026-08-27T09:00:00 has no zone"
    assert "no zone" in refused(lambda: ledger.absences(naive))


def test_the_zone_of_a_time_does_not_matter(ledger: Ledger) -> None:
    tokyo = timezone(timedelta(hours=9))
    ledger.leave("7", after(0).astimezone(tokyo))
    ledger.back("7", after(1))
    assert ledger.absences(after(9)).closed_h == (1.0,)


@pytest.mark.parametrize("box", ["", " ", "\t"])
def test_a_box_needs_an_id(ledger: Ledger, box: str) -> None:
    assert refused(lambda: ledger.leave(box, NINE)) == "a box needs an id"


@settings(max_examples=15)  # each writes to disk, and waits for it
@given(st.lists(st.integers(1, 10**7), min_size=1, max_size=8))
def test_every_absence_comes_out_as_it_went_in(seconds: list[int]) -> None:
    with tempfile.TemporaryDirectory() as folder, Ledger(Path(folder) / "x") as ledger:
        at = NINE
        for duration in seconds:
            ledger.leave("7", at)
            at += timedelta(seconds=duration)
            ledger.back("7", at)
        assert ledger.absences(at).closed_h == tuple(each / 3_600 for each in seconds)


# --- restarts -----------------------------------------------------------------------------------


def test_tries_to_start_are_counted_by_provider_whatever_its_case(ledger: Ledger) -> None:
    for number, failed in enumerate([False, True, False]):
        ledger.leave("7", after(2 * number))
        ledger.back("7", after(2 * number + 1), failed=failed, provider="Vast")
    ledger.leave("8", after(0))
    ledger.back("8", after(1), provider="runpod")
    assert ledger.restarts("vast") == (3, 1)
    assert ledger.restarts("runpod") == (1, 0)
    assert ledger.restarts("acme") == (0, 0)
    assert ledger.restarts() == (4, 1)


def test_after_a_failed_start_the_next_try_counts_and_the_absence_stays_closed(
    ledger: Ledger,
) -> None:
    ledger.leave("7", after(0))
    ledger.back("7", after(3), failed=True)
    ledger.back("7", after(4), failed=True)
    ledger.back("7", after(5))
    assert ledger.restarts() == (3, 2)
    assert ledger.absences(after(9)) == ((3.0,), ())
    assert refused(lambda: ledger.back("7", after(6))) == "7 was not left"


def test_a_box_that_ran_all_the_time_was_not_started(ledger: Ledger) -> None:
    ledger.leave("7", after(0))
    ledger.back("7", after(1), restarted=False)
    assert ledger.restarts() == (0, 0)
    assert ledger.absences(after(2)).closed_h == (1.0,)


# --- actions ------------------------------------------------------------------------------------


def test_of_two_who_ask_one_may_call(path: Path) -> None:
    with open_ledger(path) as one, open_ledger(path) as other:
        assert one.record_action("7", "stop", "asked", NINE).is_new
        assert other.record_action("7", "stop", "asked", NINE) == ("7", "stop", "asked", False)
        assert other.record_action("7", "stop", "called", NINE).is_new
        assert one.record_action("7", "stop", "called", NINE) == ("7", "stop", "called", False)


def test_after_a_crash_between_call_and_confirmation_nobody_calls_again(path: Path) -> None:
    with open_ledger(path) as crashed:
        crashed.record_action("7", "destroy", "asked", NINE)
        crashed.record_action("7", "destroy", "called", NINE)
    with open_ledger(path) as next_one:
        assert next_one.record_action("7", "destroy", "asked", NINE).step == "called"
        assert not next_one.record_action("7", "destroy", "called", NINE).is_new
        assert next_one.record_action("7", "destroy", "confirmed", NINE).is_new


def test_after_a_crash_before_the_call_the_next_one_calls(path: Path) -> None:
    with open_ledger(path) as crashed:
        crashed.record_action("7", "stop", "asked", NINE)
    with open_ledger(path) as next_one:
        assert next_one.record_action("7", "stop", "asked", NINE).step == "asked"
        assert next_one.record_action("7", "stop", "called", NINE).is_new


def test_a_box_is_stopped_again_after_a_confirmed_stop_but_destroyed_once(ledger: Ledger) -> None:
    for action in ("stop", "destroy"):
        for step in ("asked", "called", "confirmed"):
            assert ledger.record_action("7", action, step, NINE).is_new
    assert ledger.record_action("7", "stop", "asked", NINE).is_new
    assert ledger.record_action("7", "destroy", "asked", NINE) == (
        ("7", "destroy", "confirmed", False)
    )


def test_who_comes_after_the_confirmation_does_not_call(ledger: Ledger) -> None:
    for step in ("asked", "called", "confirmed"):
        ledger.record_action("7", "stop", step, NINE)
    assert ledger.record_action("7", "stop", "called", NINE) == ("7", "stop", "confirmed", False)


def test_what_the_provider_refused_may_be_asked_again(ledger: Ledger) -> None:
    for step in ("asked", "called", "released", "asked", "called"):
        assert ledger.record_action("7", "destroy", step, NINE).is_new


def test_claims_of_other_boxes_and_actions_do_not_count(ledger: Ledger) -> None:
    ledger.record_action("7", "stop", "asked", NINE)
    assert ledger.record_action("7", "destroy", "asked", NINE).is_new
    assert ledger.record_action("77", "stop", "asked", NINE).is_new


def test_nothing_is_called_that_was_not_asked(ledger: Ledger) -> None:
    assert refused(lambda: ledger.record_action("7", "stop", "called", NINE)) == (
        "stop of 7 was not asked for"
    )


@settings(max_examples=25)
@given(st.lists(st.sampled_from(["asked", "called", "confirmed"]), max_size=12))
def test_a_destroy_is_called_at_most_once_in_whatever_order(steps: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder, Ledger(Path(folder) / "x") as ledger:
        ledger.record_action("7", "destroy", "asked", NINE)
        made = [ledger.record_action("7", "destroy", each, NINE) for each in steps]  # type: ignore[arg-type]
        assert sum(each.is_new and each.step == "called" for each in made) <= 1


# --- estimates ----------------------------------------------------------------------------------


def test_an_estimate_comes_out_to_the_cent_it_went_in(ledger: Ledger) -> None:
    number = ledger.record_estimate(
        job="tuning", sku="acme/t4", total_usd=Decimal("0.10"), at=NINE + timedelta(microseconds=1)
    )
    (found,) = ledger.estimates()
    assert found == (
        number,
        NINE + timedelta(microseconds=1),
        "tuning",
        "acme/t4",
        Decimal("0.10"),
    )
    assert str(found.total_usd) == "0.10"


@pytest.mark.parametrize("total", ["NaN", "Infinity"])
def test_a_total_is_a_number(ledger: Ledger, total: str) -> None:
    told = refused(
        lambda: ledger.record_estimate(job="a", sku="b", total_usd=Decimal(total), at=NINE)
    )
    assert told == f"{total} is no total"


# --- where it lies ------------------------------------------------------------------------------


def test_the_ledger_lies_where_the_variable_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COSTPLAN_LEDGER", "/elsewhere/x")
    monkeypatch.setenv("XDG_DATA_HOME", "/data")
    assert default_path() == Path("/elsewhere/x")


def test_without_it_in_the_data_folder_and_a_relative_one_does_not_count(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("COSTPLAN_LEDGER", raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", "/data")
    assert default_path() == Path("/data/costplan/ledger.sqlite3")
    for unusable in ("", "data"):
        monkeypatch.setenv("XDG_DATA_HOME", unusable)
        monkeypatch.setenv("HOME", "/home/ada")
        assert default_path() == Path("/home/ada/.local/share/costplan/ledger.sqlite3")


def test_its_folder_is_made_for_its_owner_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COSTPLAN_LEDGER", str(tmp_path / "a" / "b" / "x"))
    open_ledger().close()
    assert (tmp_path / "a" / "b").stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("name", [":memory:", "a?mode=memory", "a#b", "a%20b", "ü ä"])
def test_a_name_that_means_something_to_sqlite_is_a_name(tmp_path: Path, name: str) -> None:
    with open_ledger(tmp_path / name) as ledger:
        ledger.leave("7", NINE)
    assert (tmp_path / name).stat().st_size > 0


def test_it_writes_ahead_and_waits_for_the_disk(ledger: Ledger) -> None:
    settings = {
        name: ledger.connection.execute(f"PRAGMA {name}").fetchone()[0]
        for name in ("journal_mode", "synchronous", "user_version")
    }
    assert settings == {"journal_mode": "wal", "synchronous": 2, "user_version": 1}


# --- files of another kind ----------------------------------------------------------------------


@pytest.mark.parametrize("content", [b"results,and,more\n", b"S", b"\0" * 4096, b"SQLite format 2"])
def test_a_file_that_is_no_database_is_refused_and_left_as_it_is(
    path: Path, content: bytes
) -> None:
    path.write_bytes(content)
    assert refused(lambda: open_ledger(path)) == f"{path} is no ledger and is left as it is"
    assert path.read_bytes() == content
    assert list(path.parent.iterdir()) == [path]


def test_a_database_of_another_program_is_refused_and_left_as_it_is(path: Path) -> None:
    with contextlib.closing(sqlite3.connect(path)) as other:
        other.execute("CREATE TABLE bookmarks (address TEXT)")
    before = path.read_bytes()
    assert "database of another program" in refused(lambda: open_ledger(path))
    assert path.read_bytes() == before


def test_an_empty_file_is_filled(path: Path) -> None:
    path.touch()
    with open_ledger(path) as ledger:
        ledger.leave("7", NINE)


def test_a_newer_ledger_is_refused(path: Path) -> None:
    open_ledger(path).close()
    with contextlib.closing(sqlite3.connect(path)) as newer:
        newer.execute("PRAGMA user_version = 2")
    assert refused(lambda: open_ledger(path)) == f"{path} has version 2, this costplan knows 1"


def test_a_damaged_ledger_is_refused(path: Path) -> None:
    with open_ledger(path) as ledger:
        ledger.leave("7", NINE)
    content = path.read_bytes()
    path.write_bytes(content[:100] + b"\xff" * (len(content) - 100))
    assert "damaged" in refused(lambda: open_ledger(path).absences(NINE))


def test_a_folder_is_no_ledger(tmp_path: Path) -> None:
    assert refused(lambda: open_ledger(tmp_path)) == f"{tmp_path} is no file"


def test_a_folder_below_a_file_cannot_be_made(path: Path) -> None:
    path.write_text("x", encoding="utf-8")
    assert "cannot be opened or made" in refused(lambda: open_ledger(path / "b" / "x"))


# --- no room, no right --------------------------------------------------------------------------


@pytest.fixture
def own_folder() -> Iterator[Path]:
    """A folder of a user whom its permissions bind, as they do not bind root."""
    folder = Path(tempfile.mkdtemp())
    is_root = os.geteuid() == 0
    if is_root:
        os.chown(folder, NOBODY, -1)
        os.seteuid(NOBODY)
    yield folder
    if is_root:
        os.seteuid(0)
    folder.chmod(0o700)
    shutil.rmtree(folder)


def test_a_folder_that_is_read_only_is_said(own_folder: Path) -> None:
    own_folder.chmod(0o500)
    told = refused(lambda: open_ledger(own_folder / "x"))
    assert told == f"{own_folder / 'x'} cannot be opened or made"


def test_a_ledger_that_is_read_only_is_said_and_can_be_tried_again(own_folder: Path) -> None:
    path = own_folder / "x"
    with open_ledger(path) as ledger:
        ledger.leave("7", after(0))
    path.chmod(0o400)
    own_folder.chmod(0o500)
    told = refused(lambda: open_ledger(path).back("7", after(1)))
    assert told.startswith(f"{path} cannot be ")
    own_folder.chmod(0o700)
    path.chmod(0o600)
    with open_ledger(path) as ledger:
        ledger.back("7", after(1))
        assert ledger.absences(after(2)) == ((1.0,), ())


def test_on_a_full_disk_nothing_is_recorded_and_what_was_stays(ledger: Ledger) -> None:
    pages = ledger.connection.execute("PRAGMA page_count").fetchone()[0]
    ledger.connection.execute(f"PRAGMA max_page_count = {pages + 1}")
    kept = 0

    def fill() -> None:
        nonlocal kept
        while True:
            ledger.record_estimate(job="x" * 500, sku="y", total_usd=Decimal(1), at=NINE)
            kept += 1

    assert refused(fill).endswith("has no room left on its disk: nothing was recorded")
    assert kept == len(ledger.estimates()) > 0
    ledger.connection.execute("PRAGMA max_page_count = 100000")
    ledger.record_estimate(job="x" * 500, sku="y", total_usd=Decimal(1), at=NINE)
    assert len(ledger.estimates()) == kept + 1


# --- several at once, and killed ----------------------------------------------------------------


def test_two_who_write_at_once_lose_nothing(path: Path) -> None:
    failures: list[str] = []

    def write(name: str) -> None:
        try:
            with open_ledger(path) as ledger:
                for _ in range(25):
                    ledger.record_estimate(job=name, sku="x", total_usd=Decimal(1), at=NINE)
        except InputError as err:
            failures.append(str(err))

    writers = [threading.Thread(target=write, args=(name,)) for name in "abcd"]
    for each in writers:
        each.start()
    for each in writers:
        each.join()
    with open_ledger(path) as ledger:
        jobs = sorted(each.job for each in ledger.estimates())
    assert failures == []
    assert "".join(jobs) == "".join(name * 25 for name in "abcd")


def test_who_waits_too_long_for_another_writer_is_told(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ledgerfile, "BUSY_TIMEOUT_S", 0.01)
    with open_ledger(path) as one, open_ledger(path) as other:
        one.connection.execute("BEGIN IMMEDIATE")
        assert other.absences(NINE) == ((), ())  # who only reads need not wait
        told = refused(lambda: other.leave("7", NINE))
        one.connection.execute("ROLLBACK")
        other.leave("7", NINE)
    assert told == f"{path} is being written by another costplan"


WRITER = """
import sys
from datetime import datetime, timezone
from decimal import Decimal
from pathlib import Path
from costplan.ledger import open_ledger
at = datetime(2026, 8, 27, 9, tzinfo=timezone.utc)
with open_ledger(Path(sys.argv[1])) as ledger:
    while True:
        number = ledger.record_estimate(job=sys.argv[2], sku="x", total_usd=Decimal(1), at=at)
        print(number, flush=True)
"""


def test_a_killed_writer_loses_nothing_that_it_acknowledged(path: Path) -> None:
    acknowledged: list[tuple[int, str]] = []
    for turn in range(20):
        with subprocess.Popen(
            [sys.executable, "-S", "-c", WRITER, str(path), str(turn)],
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdout=subprocess.PIPE,
            text=True,
        ) as writer:
            assert writer.stdout is not None
            lines = [writer.stdout.readline() for _ in range(1 + turn % 7)]
            writer.send_signal(signal.SIGKILL)
            lines += writer.stdout.readlines()
        acknowledged += [(int(each), str(turn)) for each in lines if each.endswith("\n")]
        with open_ledger(path) as ledger:
            kept = {(each.id, each.job) for each in ledger.estimates()}
            assert set(acknowledged) <= kept
            assert ledger.connection.execute("PRAGMA integrity_check").fetchone()[0] == "ok"
    assert len(acknowledged) >= 20


@pytest.mark.parametrize("is_replaced", [False, True])
def test_a_ledger_that_was_removed_or_replaced_acknowledges_nothing(
    is_replaced: bool, ledger: Ledger, path: Path
) -> None:
    """SQLite would write on into the file that nobody else can see any more."""
    ledger.record_action("7", "stop", "asked", NINE)
    for each in path.parent.glob(f"{path.name}*"):
        each.unlink()
    if is_replaced:
        open_ledger(path).close()
    said = refused(lambda: ledger.record_action("7", "stop", "called", NINE))
    assert "removed or replaced meanwhile: nothing was recorded" in said
    with open_ledger(path) as new:
        assert new.record_action("7", "stop", "asked", NINE).is_new
