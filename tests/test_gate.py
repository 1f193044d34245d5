"""The gate before a destroy: real folders, real git, and nothing unseen ever passes."""

from __future__ import annotations

import hashlib
import io
import json
import os
import shutil
import subprocess
import tempfile
import unicodedata
import zipfile
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from costplan.box import copies, folders, signals, wording
from costplan.box.gate import Gate, gate, look_refuses
from costplan.errors import InputError
from costplan.records.copies import Left, Skipped
from costplan.records.signals import Clock, FileSeen, Snapshot

MADE = datetime(2100, 1, 1, 12, tzinfo=timezone.utc)
"""Long after every file of these tests was written, so that their times tell every change."""
MADE_S = MADE.timestamp()
LOOKED_S = MADE_S + 300
NOW = MADE + timedelta(seconds=310)


def archive(content: bytes = b"weights " * 9) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as opened:
        opened.writestr(zipfile.ZipInfo("best/data/0"), content)
    return buffer.getvalue()


BEST = archive()
FILES = {
    "weights/best.pt": BEST,
    "results.csv": b"epoch,loss\n1,0.5\n",
    "empty.txt": b"",
    "status.json": b'{"state": "completed"}',
}


def filled(folder: Path, files: dict[str, bytes]) -> Path:
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return folder


def looked(*runs: Path | str, wall_s: float = LOOKED_S) -> Snapshot:
    """Return a real look at these runs, dated as the tests date it."""
    seen = signals.read([str(each) for each in runs])
    assert seen.clock is not None
    return seen.model_copy(update={"clock": seen.clock.model_copy(update={"wall_s": wall_s})})


class Asked(NamedTuple):
    """What the gate is asked."""

    copy: Path | None
    copied_to: Path | None
    snapshot: Snapshot | None
    looked_here: bool = False
    box_running: bool = True
    now: datetime = NOW
    leave_behind: bool = False
    gpu_here: bool = True

    def answer(self, **changes: Any) -> Gate:
        asked = self._replace(**changes)
        return gate(asked.copy, asked.copied_to, **dict(list(asked._asdict().items())[2:]))

    def refusals(self, **changes: Any) -> str:
        answer = self.answer(**changes)
        assert not answer.passes
        return "\n".join(answer.refusals)

    def run(self, **changes: Any) -> Asked:
        """Return the same question with other facts about a run that was looked at."""
        assert self.snapshot is not None
        runs = list(self.snapshot.runs)
        runs[0] = runs[0].model_copy(update=changes)
        return self._replace(snapshot=self.snapshot.model_copy(update={"runs": tuple(runs)}))


def box(place: Path) -> Asked:
    """Return a box with a run that ended, its manifest, a copy, and a look, all of them good."""
    run = filled(place / "run", FILES)
    copies.make(run, now=MADE, resume_from=place / "manifest.json")
    shutil.copytree(run, place / "copy")
    return Asked(place / "manifest.json", place / "copy", looked(run))


@pytest.fixture
def far(tmp_path: Path) -> Asked:
    """A box behind ssh: its run is not on this machine."""
    asked = box(tmp_path)
    (tmp_path / "run").rename(tmp_path / "elsewhere")
    return asked


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Asked:
    """A box that is this machine, with the copy on a disk that outlives it."""
    monkeypatch.setattr(copies, "_is_same_disk", lambda *_: False)
    return box(tmp_path)._replace(looked_here=True)


# --- what passes --------------------------------------------------------------------------------


@pytest.mark.parametrize("where", ["far", "here"])
def test_a_round_trip_passes(where: str, request: pytest.FixtureRequest) -> None:
    asked: Asked = request.getfixturevalue(where)
    answer = asked.answer()
    assert answer.refusals == ()
    assert answer.passes
    assert (answer.verified_files, answer.made_at) == (4, MADE)
    assert answer.verified_bytes == sum(len(each) for each in FILES.values())


def test_a_stopped_box_needs_no_look_and_no_start(far: Asked) -> None:
    answer = far.answer(snapshot=None, box_running=False)
    assert answer.refusals == ()
    assert answer.notes == (
        "the box is stopped: the manifest of 2100-01-01 12:00:00 UTC speaks for it, "
        "nobody could look",
    )


def test_a_folder_that_is_here_speaks_for_a_box_that_nobody_looked_at(here: Asked) -> None:
    answer = here.answer(snapshot=None, looked_here=False)
    assert answer.refusals == ()
    assert "only " in answer.notes[0]


def test_what_is_only_in_the_copy_is_a_note(far: Asked, tmp_path: Path) -> None:
    filled(tmp_path / "copy", {"stale.csv": b"x"})
    answer = far.answer()
    assert answer.passes
    assert answer.notes == (f"{tmp_path}/copy also holds 1 files of no manifest",)


def test_a_copy_elsewhere_on_this_machine_passes_with_a_note(here: Asked, tmp_path: Path) -> None:
    assert here.answer().notes == (
        f"{tmp_path}/copy is on this machine: make sure that it outlives the box",
    )


@pytest.mark.skipif(not Path("/dev/shm").is_dir(), reason="no second disk here")
def test_a_copy_on_a_second_disk_is_on_another_disk(tmp_path: Path) -> None:
    asked = box(tmp_path)._replace(looked_here=True)
    with tempfile.TemporaryDirectory(dir="/dev/shm") as place:
        copy = Path(shutil.copytree(tmp_path / "copy", Path(place) / "copy"))
        if copy.stat().st_dev == tmp_path.stat().st_dev:
            pytest.skip("no second disk here")
        assert asked.answer(copied_to=copy).passes


# --- the manifest -------------------------------------------------------------------------------


def test_without_a_manifest_or_a_copy_nothing_is_destroyed(far: Asked) -> None:
    assert far.refusals(copy=None).startswith("no manifest is given")
    assert far.refusals(copied_to=None).startswith("no copy is given")


def test_a_time_without_zone_is_a_refusal(far: Asked) -> None:
    assert "no zone" in far.refusals(now=NOW.replace(tzinfo=None))


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (None, "does not exist"),
        (b"", "is not JSON"),
        (b"\xff", "not a text file"),
        (b"{}", "is no manifest"),
        (b'{"schema": "costplan.manifest/1"}', "is no costplan.manifest/2: remove it and"),
        (b'{"schema": "costplan.box/1"}', "is no costplan.manifest/2"),
    ],
)
def test_what_is_no_manifest_is_a_refusal(
    far: Asked, tmp_path: Path, content: bytes | None, why: str
) -> None:
    path = tmp_path / "other.json"
    if content is not None:
        path.write_bytes(content)
    answer = far.answer(copy=path)
    assert why in answer.refusals[0]
    assert (answer.verified_files, answer.made_at) == (0, None)


def rewritten(asked: Asked, **changes: Any) -> None:
    """Write the manifest again, in its own form, with other values."""
    assert asked.copy is not None
    manifest = copies.read(asked.copy)
    copies.write(manifest.model_copy(update=changes), asked.copy)


def test_a_half_made_manifest_is_a_refusal(far: Asked) -> None:
    rewritten(far, complete=False)
    assert "is unfinished" in far.refusals()


def test_a_line_taken_out_by_hand_is_a_refusal(far: Asked) -> None:
    assert far.copy is not None
    data = json.loads(far.copy.read_text(encoding="utf-8"))
    data["files"].pop()
    far.copy.write_text(json.dumps(data), encoding="utf-8")
    assert "is not as it was written" in far.refusals()


@pytest.mark.parametrize("files", [{}, {"empty.txt": b""}])
def test_an_empty_bundle_is_a_refusal(tmp_path: Path, files: dict[str, bytes]) -> None:
    (tmp_path / "run").mkdir()
    filled(tmp_path / "run", files)
    copies.make(tmp_path / "run", now=MADE, resume_from=tmp_path / "manifest.json")
    shutil.copytree(tmp_path / "run", tmp_path / "copy")
    shutil.rmtree(tmp_path / "run")
    asked = Asked(tmp_path / "manifest.json", tmp_path / "copy", None, box_running=False)
    told = asked.refusals()
    assert f"manifest.json holds nothing: {len(files)} files of {tmp_path}/run, 0 bytes" in told


def test_a_manifest_of_the_future_is_a_refusal(far: Asked) -> None:
    told = far.refusals(snapshot=None, box_running=False, now=MADE - timedelta(microseconds=1))
    assert "in the future of now, 2100-01-01 11:59:59.999999 UTC: the clocks disagree" in told
    assert far.answer(snapshot=None, box_running=False, now=MADE).passes


# --- the copy -----------------------------------------------------------------------------------


def test_a_copy_that_is_not_there_is_a_refusal(far: Asked, tmp_path: Path) -> None:
    assert "does not exist" in far.refusals(copied_to=tmp_path / "nowhere")
    loop = tmp_path / "loop"
    loop.symlink_to("loop")
    assert "loop" in far.refusals(copied_to=loop)
    assert "null" in far.refusals(copied_to=Path("a\0b"))


@pytest.mark.parametrize(
    ("name", "content", "why"),
    [
        ("results.csv", b"epoch,loss\n1,0.6\n", "results.csv (17 bytes): another SHA-256"),
        ("results.csv", b"", "results.csv (17 bytes): 0 bytes, not 17"),
        ("empty.txt", b"x", "empty.txt (0 bytes): 1 bytes, not 0"),
        ("weights/best.pt", BEST[:-30], f"weights/best.pt ({len(BEST)} bytes): "),
        ("weights/best.pt", BEST.replace(b"weights", b"Weights", 1), "another SHA-256"),
    ],
)
def test_a_tampered_copy_is_a_refusal(
    far: Asked, tmp_path: Path, name: str, content: bytes, why: str
) -> None:
    (tmp_path / "copy" / name).write_bytes(content)
    assert why in far.refusals()
    assert why in far.refusals(leave_behind=True)


def test_a_file_that_is_missing_is_a_refusal(far: Asked, tmp_path: Path) -> None:
    (tmp_path / "copy" / "weights" / "best.pt").unlink()
    assert f"weights/best.pt ({len(BEST)} bytes): missing" in far.refusals()


def test_names_that_differ_in_case_or_unicode_form_are_missing(tmp_path: Path) -> None:
    composed, apart = (unicodedata.normalize(form, "café.csv") for form in ("NFC", "NFD"))
    filled(tmp_path / "run", {composed: b"x", "Best.csv": b"y"})
    asked = box(tmp_path)
    (tmp_path / "copy" / composed).rename(tmp_path / "copy" / apart)
    (tmp_path / "copy" / "Best.csv").rename(tmp_path / "copy" / "best.csv")
    told = asked.refusals()
    assert "Best.csv (1 bytes): missing, but there is best.csv (case)" in told
    assert f"{composed} (1 bytes): missing, but there is {apart} (unicode form)" in told


def test_a_copy_of_another_run_is_a_refusal(far: Asked, tmp_path: Path) -> None:
    other = filled(tmp_path / "other", {"weights/best.pt": archive(b"x"), "results.csv": b"y"})
    assert far.refusals(copied_to=other).startswith("nothing is verified")


def test_a_checkpoint_that_is_broken_on_the_box_too_is_a_refusal(tmp_path: Path) -> None:
    filled(tmp_path / "run", {"last.pt": BEST[:-30]})
    assert f"last.pt ({len(BEST) - 30} bytes): does not open" in box(tmp_path).refusals()


def test_the_first_twenty_reasons_are_named_and_the_rest_counted(tmp_path: Path) -> None:
    filled(tmp_path / "run", {f"{number:02}.csv": b"x" for number in range(31)})
    asked = box(tmp_path)
    for each in (tmp_path / "copy").glob("*.csv"):
        each.unlink()
    told = asked.answer().refusals
    assert [each for each in told if "missing" in each][-1].startswith("19.csv")
    assert "and 12 more of the kind" in told  # 31 and results.csv, less 20


@pytest.mark.parametrize("way", ["path", "link", "hard links"])
def test_the_folder_itself_is_no_copy(here: Asked, tmp_path: Path, way: str) -> None:
    place = tmp_path / "run"
    if way == "link":
        place = tmp_path / "link"
        place.symlink_to(tmp_path / "run")
    elif way == "hard links":
        place = Path(shutil.copytree(tmp_path / "run", tmp_path / "hard", copy_function=os.link))
    assert f"{place} is the folder itself, not a copy of it" in here.refusals(copied_to=place)


def test_a_copy_on_the_disk_of_the_box_goes_with_it(tmp_path: Path) -> None:
    told = f"{tmp_path}/copy lies on the same disk as {tmp_path}/run"
    asked = box(tmp_path)
    assert f"{told}: it goes with the box" in asked.refusals(looked_here=True)
    # Nobody said that the box is here, but the folder that was read is.
    assert f"{told}: it goes with the box" in asked.refusals()
    assert f"{told}: it goes with the box" in asked.refusals(snapshot=None)
    # A machine without a GPU is no box, unless somebody says so.
    laptop = asked.answer(gpu_here=False)
    assert (laptop.passes, told in laptop.notes) == (True, True)
    assert f"{told}: it goes with the box" in asked.refusals(gpu_here=False, looked_here=True)
    stopped = asked.answer(snapshot=None, box_running=False)
    assert stopped.passes
    assert told in stopped.notes


def sums(files: dict[str, bytes]) -> str:
    return "".join(f"{hashlib.sha256(each).hexdigest()}  {name}\n" for name, each in files.items())


@pytest.mark.parametrize("days", [-30, 1])
def test_a_listing_with_equal_hashes_counts_whatever_its_date(
    far: Asked, tmp_path: Path, days: int
) -> None:
    path = tmp_path / "sums"
    path.write_text(sums(FILES), encoding="utf-8")
    os.utime(path, (MADE_S + days * 86_400,) * 2)
    answer = far.answer(copied_to=path)
    assert answer.passes
    when = "2099-12-02 12:00:00 UTC, before the manifest" if days < 0 else "2100-01-02 12:00:00 UTC"
    assert answer.notes == (
        f"{path} is a listing of {when}, taken at its word: "
        "what became of that place since, nobody looked",
    )


@pytest.mark.parametrize("change", ["one less", "another hash", "sizes only", "nothing"])
def test_a_listing_that_proves_nothing_is_a_refusal(
    far: Asked, tmp_path: Path, change: str
) -> None:
    text = {
        "one less": sums(dict(list(FILES.items())[1:])),
        "another hash": sums({**FILES, "results.csv": b"x"}),
        "sizes only": json.dumps([{"Path": name, "Size": len(FILES[name])} for name in FILES]),
        "nothing": "",
    }[change]
    path = tmp_path / "listing"
    path.write_text(text, encoding="utf-8")
    assert not far.answer(copied_to=path).passes


# --- the folder, where it is here ---------------------------------------------------------------


@pytest.mark.parametrize("change", ["changed", "added", "gone", "link"])
def test_a_folder_that_changed_since_its_manifest_is_a_refusal(
    here: Asked, tmp_path: Path, change: str
) -> None:
    run = tmp_path / "run"
    if change == "changed":
        (run / "results.csv").write_bytes(b"epoch,loss\n2,0.4\n")
    elif change == "added":
        filled(run, {"weights/last.pt": BEST})
    elif change == "gone":
        (run / "results.csv").unlink()
    else:
        (run / "last.pt").symlink_to("weights/best.pt")
    told = here.refusals(snapshot=None, leave_behind=True)
    assert f"{run}, manifest of 2100-01-01 12:00:00 UTC: " in told
    assert f"{change} since" in told or "a link or device since" in told


def test_a_folder_that_cannot_be_read_is_a_refusal(
    here: Asked, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(folder: Path) -> bool:
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr(folders, "is_there", failing)
        assert "Input/output error" in here.refusals(leave_behind=True)
    shutil.rmtree(tmp_path / "run")
    (tmp_path / "run").write_bytes(b"")
    assert "is not a directory" in here.refusals(leave_behind=True)


def test_a_place_that_nobody_may_enter_is_not_here(
    far: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    def closed(path: Path, **_: Any) -> os.stat_result:
        raise PermissionError(13, "Permission denied")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "stat", closed)
        assert not folders.is_there(Path("/root/run"))
    assert not folders.is_there(Path("costplan"))  # in whatever folder one stands
    assert "give --run or --ssh" in far.refusals(snapshot=None)


def test_another_folder_at_the_same_place_does_not_speak_for_the_box(
    here: Asked, tmp_path: Path
) -> None:
    """A laptop that holds a copy at the path of the box tells nothing of the box."""
    (tmp_path / "run").rename(tmp_path / "elsewhere")
    shutil.copytree(tmp_path / "copy", tmp_path / "run")
    for name in FILES:
        stat = (tmp_path / "elsewhere" / name).stat()
        os.utime(tmp_path / "run" / name, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert here.copy is not None
    assert copies.still_valid(copies.read(here.copy), tmp_path / "run") == []
    told = here.refusals(snapshot=None, looked_here=False)
    assert "nobody saw whether anything on it is newer than" in told


# --- the look -----------------------------------------------------------------------------------


def test_a_running_box_that_nobody_looked_at_is_a_refusal(far: Asked) -> None:
    told = far.refusals(snapshot=None)
    assert told == (
        "the box is running and nobody saw whether anything on it is newer than "
        "the manifest of 2100-01-01 12:00:00 UTC: give --run or --ssh"
    )
    empty = Snapshot(clock=Clock(wall_s=LOOKED_S, uptime_s=1))
    assert "give --run or --ssh" in far.refusals(snapshot=empty)


def test_a_look_that_failed_is_a_refusal_but_for_a_stopped_box_that_answers_nobody(
    far: Asked,
) -> None:
    failed = Snapshot(problem="no route to host")
    assert "the look at the box failed: no route to host" in far.refusals(snapshot=failed)
    stopped = far.answer(snapshot=failed, box_running=False)
    assert stopped.passes
    assert "nobody could look" in stopped.notes[0]


def test_what_was_seen_of_a_stopped_box_counts_all_the_same(far: Asked) -> None:
    asked = far._replace(box_running=False)
    assert "later than the manifest" in asked.run(newest_at_s=MADE_S + 1).refusals()
    assert "cannot be read: torn" in asked.run(problem="torn").refusals()


@pytest.mark.parametrize(("newer_s", "passes"), [(-1.0, True), (0.0, True), (1.0, False)])
def test_an_old_look_at_a_stopped_box_refuses_what_is_newer_than_the_manifest(
    newer_s: float, passes: bool, far: Asked
) -> None:
    newest = far.run(newest_at_s=MADE_S + newer_s).snapshot
    assert newest is not None
    clock = newest.model_copy(update={"clock": Clock(wall_s=LOOKED_S - 86_400, uptime_s=1)})
    asked = far._replace(snapshot=None, box_running=False)
    answer = gate(
        asked.copy, asked.copied_to, **dict(list(asked._asdict().items())[2:]), last_look=clock
    )
    assert answer.passes is passes
    assert ("its newest file is of" in str(answer.refusals)) is not passes


@pytest.mark.parametrize(("newer_s", "count"), [(0.0, 0), (1.0, 1)])
def test_a_look_after_the_copy_was_read_refuses_what_is_newer(
    newer_s: float, count: int, far: Asked
) -> None:
    look = far.run(newest_at_s=MADE_S + newer_s).snapshot
    assert look is not None
    assert far.copy is not None
    assert len(look_refuses(far.copy, look, looked_here=False, now=NOW)) == count
    far.copy.unlink()
    assert "does not exist" in look_refuses(far.copy, look, looked_here=False, now=NOW)[0]


def test_a_look_without_a_time_is_a_refusal(far: Asked) -> None:
    assert far.snapshot is not None
    told = far.refusals(snapshot=far.snapshot.model_copy(update={"clock": None}))
    assert "tells no time" in told


@pytest.mark.parametrize(("apart_s", "passes"), [(601, False), (600, True), (-601, False)])
def test_an_old_look_or_a_clock_that_disagrees_is_a_refusal(
    far: Asked, apart_s: float, passes: bool
) -> None:
    answer = far.answer(now=datetime.fromtimestamp(LOOKED_S + apart_s, tz=timezone.utc))
    assert answer.passes is passes
    assert passes or any("or the clocks disagree" in each for each in answer.refusals)


def test_a_look_from_before_the_manifest_is_a_refusal(far: Asked, tmp_path: Path) -> None:
    for wall_s, passes in [(MADE_S - 0.001, False), (MADE_S, True)]:
        look = looked(tmp_path / "elsewhere", wall_s=wall_s)
        runs = far.snapshot.runs if far.snapshot else ()
        answer = far.answer(snapshot=look.model_copy(update={"runs": runs}))
        assert answer.passes is passes
        assert passes or "look again, or the clocks disagree" in answer.refusals[0]


def test_a_box_that_is_stopped_and_this_machine_has_the_wrong_id(here: Asked) -> None:
    assert "is the id right?" in here.refusals(box_running=False)


def test_a_run_outside_the_folder_of_the_manifest_is_a_refusal(far: Asked, tmp_path: Path) -> None:
    good = far.snapshot.runs[0].path if far.snapshot else ""
    for path in (
        *(f"{good}2", str(tmp_path), "/", "run", f"{good}/../other", f"{good}/..", ""),
        f"{good}/link",
    ):
        rewritten(far, skipped=(Skipped(path="link", kind="link-inside", target="x"),))
        told = far.run(path=path).refusals()
        assert f"{path}, which was looked at, is not known to lie in {good}" in told
        assert "2100-01-01 12:00:00 UTC" in told
        assert "give --run or --ssh" in told


def test_a_folder_that_is_not_written_in_full_holds_no_run(far: Asked) -> None:
    rewritten(far, folder="run")
    assert "run/one, which was looked at" in far.run(path="run/one").refusals()


def test_a_second_run_that_was_not_copied_is_a_refusal(far: Asked, tmp_path: Path) -> None:
    filled(tmp_path / "second", FILES)
    assert far.snapshot is not None
    more = looked(tmp_path / "second").runs
    both = far.snapshot.model_copy(update={"runs": (*far.snapshot.runs, *more)})
    assert f"{tmp_path}/second, which was looked at" in far.refusals(snapshot=both)


def test_a_run_on_this_machine_is_known_by_whatever_path(
    here: Asked, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "link").symlink_to("run")
    monkeypatch.chdir(tmp_path)
    for path in ("link", "run", "run/../link", str(tmp_path / "link")):
        assert here.answer(snapshot=looked(path)).passes
    assert not here.answer(snapshot=looked(path), looked_here=False).passes


def test_a_link_in_the_folder_to_a_run_outside_is_a_refusal(here: Asked, tmp_path: Path) -> None:
    filled(tmp_path / "second", FILES)
    (tmp_path / "run" / "second").symlink_to(tmp_path / "second")
    told = here.refusals(snapshot=looked(tmp_path / "run" / "second"))
    assert f"{tmp_path}/second, which was looked at" in told


@pytest.mark.parametrize("problem", ["Permission denied", "holds more than 5000 files"])
def test_a_run_that_cannot_be_read_is_a_refusal(far: Asked, problem: str) -> None:
    told = far.run(problem=problem).refusals()
    assert f"cannot be read: {problem}" in told
    assert "give --run or --ssh" in told


def test_a_run_without_a_time_is_a_refusal(far: Asked) -> None:
    assert "tells no time of its newest file" in far.run(newest_at_s=None).refusals()


@pytest.mark.parametrize(("later_s", "passes"), [(0.0, True), (0.001, False), (1e300, False)])
def test_a_run_with_something_newer_than_the_manifest_is_a_refusal(
    far: Asked, later_s: float, passes: bool
) -> None:
    answer = far.run(newest_at_s=MADE_S + later_s).answer()
    assert answer.passes is passes
    assert passes or "later than the manifest of 2100-01-01 12:00:00 UTC" in answer.refusals[0]


def test_a_newer_checkpoint_is_named_with_size_and_time(far: Asked) -> None:
    newer = FileSeen(path="weights/best.pt", size_bytes=len(BEST), changed_at_s=MADE_S + 60)
    told = far.run(newest_at_s=MADE_S + 60, checkpoint=newer).refusals()
    assert f"weights/best.pt ({len(BEST)} bytes) is of 2100-01-01 12:01:00 UTC" in told


def test_a_manifest_in_its_own_run_is_told_to_move(tmp_path: Path) -> None:
    asked = box(tmp_path)
    inner = tmp_path / "run" / "manifest.json"
    copies.make(tmp_path / "run", now=MADE, resume_from=inner)
    shutil.copy(inner, tmp_path / "manifest.json")
    told = asked.run(newest_at_s=MADE_S + 1).refusals()
    assert "(if that is manifest.json, make the manifest outside the folder)" in told


@pytest.mark.parametrize(("quiet_s", "passes"), [(60.0, True), (59.9, False), (-5.0, False)])
def test_a_checkpoint_that_was_just_written_is_a_refusal(
    far: Asked, quiet_s: float, passes: bool
) -> None:
    fresh = FileSeen(path="weights/best.pt", size_bytes=len(BEST), changed_at_s=LOOKED_S - quiet_s)
    answer = far.run(checkpoint=fresh).answer()
    assert answer.passes is passes
    assert passes or "may still be being written" in answer.refusals[0]


def test_a_checkpoint_that_was_moved_here_with_its_old_time_is_a_refusal(
    far: Asked, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    (tmp_path / "elsewhere").rename(run)
    for name, why in [("weights/last.pt", "on the box is not in the manifest"), ("old.pt", "")]:
        filled(run, {name: archive(b"other")})
        os.utime(run / name, (1e9, 2e9 if why else 1e9))
        told = far.refusals(snapshot=looked(run), looked_here=False, leave_behind=True)
        assert f"{run} holds " in told
        assert why in told
        (run / name).unlink()


def test_a_look_that_tells_nothing_of_the_checkpoints_is_a_refusal(far: Asked) -> None:
    assert "tells nothing of its 1 checkpoints" in far.run(checkpoint=None).refusals()
    assert "of checkpoints, the manifest" in far.run(checkpoints_bytes=0).refusals()


def test_a_run_that_is_one_file_is_known_by_its_name(far: Asked) -> None:
    assert far.snapshot is not None
    path = far.snapshot.runs[0].path
    seen = FileSeen(path="best.pt", size_bytes=len(BEST), changed_at_s=1.0)
    asked = far.run(path=f"{path}/weights/best.pt", checkpoint=seen)
    assert asked.answer().passes
    other = asked.run(checkpoint=seen.model_copy(update={"size_bytes": 1}))
    assert "best.pt (1 bytes) on the box is not in the manifest" in other.refusals()


def test_files_that_no_run_covers_are_counted_in_a_note(tmp_path: Path) -> None:
    deep = {"a/b/c/d/deep.csv": bytes(5), "old/results.csv": bytes(7)}
    filled(tmp_path / "run", deep)
    asked = box(tmp_path)
    shutil.rmtree(tmp_path / "run" / "weights")
    shutil.move(tmp_path / "run", tmp_path / "elsewhere")
    assert asked.answer().notes == (
        "1 files of the manifest (5 bytes), such as a/b/c/d/deep.csv, lie outside the runs "
        "that were looked at, or deeper: whether they changed nobody saw",
    )
    old = looked(tmp_path / "elsewhere" / "old").runs[0]
    assert asked.snapshot is not None
    run = old.model_copy(update={"path": f"{asked.snapshot.runs[0].path}/old"})
    (note,) = asked.answer(snapshot=asked.snapshot.model_copy(update={"runs": (run,)})).notes
    assert note.startswith("5 files of the manifest")


# --- what goes with the box ---------------------------------------------------------------------


@pytest.fixture
def git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """A repository above the run, with a first commit that is pushed; runs git in it."""
    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    for name, value in [("GIT_CONFIG_GLOBAL", os.devnull), ("GIT_CONFIG_NOSYSTEM", "1")]:
        monkeypatch.setenv(name, value)

    def called(*arguments: str) -> None:
        who = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
        subprocess.run(
            ["git", "-C", str(tmp_path), *who, *arguments], capture_output=True, check=True
        )

    called("init", "--quiet", "--initial-branch=main")
    filled(tmp_path, {".gitignore": b"run/\ncopy/\nelsewhere/\n", "train.py": b"print()\n"})
    called("add", ".")
    called("commit", "--quiet", "-m", "first")
    called("update-ref", "refs/remotes/origin/main", "HEAD")
    return called


def work(kind: str, place: Path, git: Callable[..., None]) -> str:
    """Do work of a kind that only git knows of, and return how the gate names it."""
    if kind == "untracked":
        filled(place, {"new.py": b"xyz"})
        return f"{place}/new.py (untracked, 3 bytes)"
    filled(place, {"train.py": b"print(1)\n"})
    if kind == "unpushed":
        git("commit", "--quiet", "-am", "second")
        return "second (unpushed, "
    if kind == "stash":
        git("stash", "push", "--quiet", "-m", "an idea")
        return "an idea (stash, size unknown)"
    return f"{place}/train.py (uncommitted, 9 bytes)"


KINDS = ["untracked", "uncommitted", "unpushed", "stash"]


def test_a_clean_repository_and_our_own_files_in_it_leave_nothing(
    git: Callable[..., None], here: Asked, tmp_path: Path
) -> None:
    (tmp_path / "sums").write_text(sums(FILES), encoding="utf-8")
    assert here.answer(copied_to=tmp_path / "sums").passes


@pytest.mark.parametrize("kind", KINDS)
def test_git_work_that_is_nowhere_else_is_a_refusal_unless_it_is_left_behind(
    git: Callable[..., None], here: Asked, tmp_path: Path, kind: str
) -> None:
    assert here.answer().passes
    named = work(kind, tmp_path, git)
    assert f"{named}" in here.refusals()
    left = here.answer(leave_behind=True)
    assert left.passes
    assert any(named in each for each in left.notes)


@pytest.mark.parametrize("kind", KINDS)
def test_of_a_box_far_away_the_manifest_knows_its_git_work(
    git: Callable[..., None], tmp_path: Path, kind: str
) -> None:
    named = work(kind, tmp_path, git)
    asked = box(tmp_path)
    (tmp_path / "run").rename(tmp_path / "elsewhere")
    shutil.rmtree(tmp_path / ".git")
    for snapshot, running in [(asked.snapshot, True), (None, False)]:
        told = asked.refusals(snapshot=snapshot, box_running=running)
        assert named in told
        assert "(as of 2100-01-01 12:00:00 UTC)" in told
        assert asked.answer(snapshot=snapshot, box_running=running, leave_behind=True).passes


def test_what_git_cannot_tell_is_a_refusal_unless_it_is_left_behind(
    git: Callable[..., None], here: Asked, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    assert "git is not installed: uncommitted work cannot be seen" in here.refusals()
    assert here.answer(leave_behind=True).passes


def test_where_nobody_looked_beside_the_folder_is_a_refusal_unless_it_is_left_behind(
    far: Asked,
) -> None:
    rewritten(far, outside=None)
    assert "nobody looked for git work" in far.refusals()
    assert far.answer(leave_behind=True).passes


def test_a_link_to_data_beside_the_folder_is_a_refusal_unless_it_is_left_behind(
    tmp_path: Path,
) -> None:
    filled(tmp_path / "data", {"image": bytes(50)})
    filled(tmp_path / "run", {})
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "data").symlink_to(tmp_path / "data")
    run = filled(tmp_path / "run", FILES)
    copies.make(run, now=MADE, resume_from=tmp_path / "manifest.json")
    shutil.copytree(run, tmp_path / "copy", symlinks=True)
    asked = Asked(tmp_path / "manifest.json", tmp_path / "copy", looked(run))
    run.rename(tmp_path / "elsewhere")
    told = asked.refusals()
    assert f"data -> {tmp_path}/data (link, 50 bytes)" in told
    assert "data: a link out of the folder" in told
    assert asked.answer(leave_behind=True).passes


def test_what_cannot_be_looked_for_is_a_refusal(
    here: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(*_: Any, **__: Any) -> None:
        raise InputError("the disk is gone", hint="look at it")

    for name in ("check", "still_valid", "is_original", "read"):
        with monkeypatch.context() as patch:
            patch.setattr(copies, name, failing)
            told = here.refusals(looked_here=False, leave_behind=True)
            assert "the disk is gone: look at it" in told
    monkeypatch.setattr(copies, "outside", failing)
    assert "the disk is gone" in here.refusals()


def test_sizes_are_said_as_far_as_they_are_known() -> None:
    left = Left(name="data", kind="link", size_bytes=5, count=100, at_least=True)
    assert wording.named(left) == "not in the copy: data (link, 100 in all, at least 5 bytes)"


def test_progress_is_told_while_the_copy_is_read(far: Asked) -> None:
    seen: list[copies.Progress] = []
    gate(
        far.copy, far.copied_to, snapshot=far.snapshot, looked_here=False, box_running=True,
        now=NOW, progress=seen.append,
    )  # fmt: skip
    assert seen[-1].files_done == 4


# --- laws ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Asked:
    """A good box, stopped and far away, that every example leaves as it was."""
    place = tmp_path_factory.mktemp("kept")
    asked = box(place)
    (place / "run").rename(place / "elsewhere")
    return asked


def put_back(asked: Asked, name: str) -> None:
    assert asked.copied_to is not None
    filled(asked.copied_to, {name: FILES[name]})


@given(st.sampled_from(sorted(FILES)), st.booleans(), st.booleans())
def test_a_file_taken_from_the_copy_never_passes(
    kept: Asked, name: str, running: bool, leave_behind: bool
) -> None:
    assert kept.copied_to is not None
    (kept.copied_to / name).unlink()
    answer = kept.answer(box_running=running, leave_behind=leave_behind)
    put_back(kept, name)
    assert not answer.passes
    assert answer.verified_files == len(FILES) - 1


@given(st.data(), st.booleans())
def test_a_byte_changed_in_the_copy_never_passes(
    kept: Asked, data: st.DataObject, leave_behind: bool
) -> None:
    name = data.draw(st.sampled_from([each for each in sorted(FILES) if FILES[each]]))
    content = bytearray(FILES[name])
    content[data.draw(st.integers(0, len(content) - 1))] ^= data.draw(st.integers(1, 255))
    assert kept.copied_to is not None
    (kept.copied_to / name).write_bytes(content)
    answer = kept.answer(leave_behind=leave_behind)
    put_back(kept, name)
    assert not answer.passes


def fewer(name: str) -> Callable[[Asked], Asked]:
    """Return what leaves out one thing that the look tells."""

    def without(asked: Asked) -> Asked:
        if asked.snapshot is None:
            return asked
        if name in ("clock", "runs"):
            empty = None if name == "clock" else ()
            return asked._replace(snapshot=asked.snapshot.model_copy(update={name: empty}))
        if not asked.snapshot.runs:
            return asked
        nothing: Any = 0 if name == "checkpoints_bytes" else None
        return asked.run(**{name: nothing})

    return without


FAULTS: dict[str, Callable[[Asked], Asked]] = {
    "newer": lambda asked: asked.run(newest_at_s=MADE_S + 1),
    "just written": lambda asked: asked.run(
        checkpoint=FileSeen(path="weights/best.pt", size_bytes=len(BEST), changed_at_s=LOOKED_S - 1)
    ),
    "elsewhere": lambda asked: asked.run(path="/other"),
    "unreadable": lambda asked: asked.run(problem="torn"),
    "another checkpoint": lambda asked: asked.run(checkpoints_bytes=1),
    "old look": lambda asked: asked._replace(now=NOW + timedelta(hours=1)),
    "early": lambda asked: asked._replace(now=MADE - timedelta(seconds=1)),
    "failed": lambda asked: asked._replace(snapshot=Snapshot(problem="no route")),
}
LOSSES: dict[str, Callable[[Asked], Asked]] = {
    **{
        name: fewer(name)
        for name in ("clock", "runs", "newest_at_s", "checkpoint", "checkpoints_bytes")
    },
    "look": lambda asked: asked._replace(snapshot=None),
    "manifest": lambda asked: asked._replace(copy=None),
    "copy": lambda asked: asked._replace(copied_to=None),
}


def test_each_fault_refuses(kept: Asked) -> None:
    assert kept.answer().passes
    for name, fault in FAULTS.items():
        assert not fault(kept).answer(leave_behind=True).passes, name


@given(
    st.sampled_from(sorted(FAULTS)),
    st.sets(st.sampled_from(sorted(LOSSES))),
    st.booleans(),
)
def test_knowing_less_never_turns_a_refusal_into_a_pass(
    kept: Asked, fault: str, losses: set[str], leave_behind: bool
) -> None:
    asked = FAULTS[fault](kept)
    for name in sorted(losses):
        asked = LOSSES[name](asked)
    assert not asked.answer(leave_behind=leave_behind).passes


@given(st.sets(st.sampled_from(sorted(LOSSES)), min_size=1))
def test_of_a_running_box_everything_must_be_known(kept: Asked, losses: set[str]) -> None:
    asked = kept
    for name in sorted(losses):
        asked = LOSSES[name](asked)
    assert not asked.answer().passes
