"""Copies: a manifest of a folder, what another place holds of it, and what is nowhere else."""

from __future__ import annotations

import hashlib
import io
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import unicodedata
import zipfile
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from costplan.box import checkpoints, copies, folders, manifests, uncopied
from costplan.errors import InputError
from costplan.records.copies import CopyReport, Manifest, Outside

ROOT = Path(__file__).resolve().parents[1]
NOW = datetime(2100, 1, 1, tzinfo=timezone.utc)
"""Long after every file of these tests was written, so that their times tell every change."""
NOBODY = 65_534


def archive(content: bytes = b"weights " * 9) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as opened:
        opened.writestr(zipfile.ZipInfo("best/data/0"), content)
    return buffer.getvalue()


BEST = archive()
FILES = {
    "weights/best.pt": BEST,
    "results.csv": b"epoch,loss\n1,0.5\n",
    "status.json": b'{"state": "completed"}',
}


def filled(folder: Path, files: dict[str, bytes]) -> Path:
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return folder


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """The folder of a run that ended."""
    return filled(tmp_path / "run", FILES)


@pytest.fixture
def manifest(run: Path) -> Manifest:
    return copies.make(run, now=NOW)


@pytest.fixture
def copy(run: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(run, tmp_path / "copy", symlinks=True))


def refused(*arguments: Any, **named: Any) -> str:
    """Return what the error of a call says."""
    with pytest.raises(InputError) as caught:
        arguments[0](*arguments[1:], **named)
    return str(caught.value)


def next_tick(folder: Path) -> None:
    """Return when the disk dates a change otherwise than the last one."""
    clock = folder.parent / ".clock"
    clock.touch()
    first = clock.stat().st_ctime_ns
    while clock.stat().st_ctime_ns == first:
        clock.touch()


def put_back_times(path: Path, stat: os.stat_result) -> None:
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))


# --- making -------------------------------------------------------------------------------------


def test_a_manifest_has_path_size_hash_and_time_of_every_file(run: Path) -> None:
    found = copies.make(run, now=NOW)
    assert [each.path for each in found.files] == ["results.csv", "status.json", "weights/best.pt"]
    first = found.files[0]
    assert first.size_bytes == 17
    assert first.sha256 == "ab94d3d5d36650865dbeab10a02f5d9425a15182a88666b6c4703de0e8b89965"
    assert first.mtime_ns == (run / "results.csv").stat().st_mtime_ns
    assert found.files[2].checkpoint == "opens"
    assert (found.complete, found.folder, found.made_at) == (True, str(run.resolve()), NOW)


def test_hidden_files_are_files(run: Path) -> None:
    filled(run, {".cache/.state": b"x"})
    assert ".cache/.state" in {each.path for each in copies.make(run, now=NOW).files}


def test_links_and_devices_are_named_and_not_followed(run: Path, tmp_path: Path) -> None:
    filled(tmp_path / "data", {"image": b"x"})
    (run / "last.pt").symlink_to("weights/best.pt")
    (run / "whole").symlink_to(run)
    (run / "data").symlink_to(tmp_path / "data")
    (run / "gone").symlink_to("nowhere")
    (run / "round").symlink_to("round")
    os.mkfifo(run / "pipe")
    found = copies.make(run, now=NOW)
    assert len(found.files) == 3
    assert {(each.path, each.kind, each.target) for each in found.skipped} == {
        ("last.pt", "link-inside", "weights/best.pt"),
        ("whole", "link-inside", str(run)),
        ("data", "link-outside", str(tmp_path / "data")),
        ("gone", "link-broken", "nowhere"),
        ("round", "link-broken", "round"),
        ("pipe", "special", None),
    }


def test_a_folder_with_a_name_that_only_begins_alike_is_outside(run: Path, tmp_path: Path) -> None:
    filled(tmp_path / "run2", {"a": b"x"})
    (run / "other").symlink_to("../run2/a")
    assert copies.make(run, now=NOW).skipped[0].kind == "link-outside"


@pytest.mark.skipif(sys.platform == "darwin", reason="its disks refuse such names")
def test_a_name_that_is_not_utf_8_is_refused(run: Path) -> None:
    os.close(os.open(os.fsencode(run) + b"/caf\xe9", os.O_CREAT))
    assert r"b'caf\xe9' has a name that is not UTF-8" in refused(copies.make, run, now=NOW)


def test_a_folder_that_is_none_is_refused(run: Path) -> None:
    assert "does not exist" in refused(copies.make, run / "gone", now=NOW)
    assert "is not a directory" in refused(copies.make, run / "results.csv", now=NOW)


def test_a_time_without_zone_is_refused(run: Path) -> None:
    assert "zone" in refused(copies.make, run, now=NOW.replace(tzinfo=None))


@pytest.fixture
def as_nobody(run: Path) -> Iterator[Path]:
    """The run, in a place where its permissions bind, as they do not bind root."""
    place = Path(tempfile.mkdtemp())
    moved = Path(shutil.move(run, place / "run"))
    is_root = os.geteuid() == 0
    if is_root:
        for each in (place, *place.rglob("*")):
            os.chown(each, NOBODY, -1)
        os.seteuid(NOBODY)
    yield moved
    if is_root:
        os.seteuid(0)
    for each in (place, moved, *moved.iterdir()):
        each.chmod(0o700)
    shutil.rmtree(place)


@pytest.mark.parametrize("name", ["results.csv", "weights"])
def test_what_cannot_be_read_is_an_error(as_nobody: Path, name: str) -> None:
    (as_nobody / name).chmod(0)
    assert f"{name} cannot be read: Permission denied" in refused(copies.make, as_nobody, now=NOW)


@pytest.mark.parametrize("change", ["grow", "rewrite", "remove", "add"])
def test_a_folder_that_changes_while_it_is_read_is_an_error(
    run: Path, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    look = checkpoints.look

    def looked(path: Path) -> checkpoints.Opened:
        next_tick(run)
        if change == "grow":
            path.write_bytes(BEST + b"more")
        elif change == "rewrite":
            stat = path.stat()
            path.write_bytes(bytes(len(BEST)))
            put_back_times(path, stat)
        elif change == "remove":
            (run / "results.csv").unlink()
        else:
            (run / "later.csv").touch()
        return look(path)

    monkeypatch.setattr(checkpoints, "look", looked)
    assert "changed while it was read" in refused(copies.make, run, now=NOW)


# --- going on -----------------------------------------------------------------------------------


def hashed(run: Path, manifest: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the files that making reads."""
    read: list[str] = []
    entry = folders.entry

    def counted(root: Path, found: folders.Found, **named: Any) -> Any:
        read.append(found.path)
        return entry(root, found, **named)

    with monkeypatch.context() as patch:
        patch.setattr(folders, "entry", counted)
        copies.make(run, now=NOW, resume_from=manifest)
    return read


def test_the_second_time_only_what_changed_is_read(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "manifest.json"
    assert len(hashed(run, path, monkeypatch)) == 3
    assert hashed(run, path, monkeypatch) == []
    next_tick(run)
    (run / "results.csv").write_bytes(b"epoch,loss\n1,0.4\n")
    assert hashed(run, path, monkeypatch) == ["results.csv"]
    assert copies.read(path) == copies.make(run, now=NOW)


def test_a_change_whose_time_was_put_back_is_read_again(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, csv = tmp_path / "manifest.json", run / "results.csv"
    hashed(run, path, monkeypatch)
    next_tick(run)
    stat = csv.stat()
    csv.write_bytes(b"epoch,loss\n1,0.4\n")
    put_back_times(csv, stat)
    assert hashed(run, path, monkeypatch) == ["results.csv"]


def test_what_was_written_just_before_it_was_read_is_read_again(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "manifest.json"
    hashed(run, path, monkeypatch)
    newest_ns = max(each.ctime_ns for each in copies.read(path).files)
    seconds = newest_ns // 10**9
    made = copies.read(path)
    for later_s, files in [(1, 3), (4, 0)]:
        made_at = datetime.fromtimestamp(seconds + later_s, tz=timezone.utc)
        copies.write(made.model_copy(update={"made_at": made_at}), path)
        assert len(hashed(run, path, monkeypatch)) == files


def test_the_manifest_in_its_own_folder_is_no_part_of_it(run: Path) -> None:
    path = run / "manifest.json"
    found = copies.make(run, now=NOW, resume_from=path)
    (run / ".manifest.json.abc.part").touch()  # left by one that was killed while it wrote
    assert found.left_out == ("manifest.json",)
    assert len(found.files) == 3
    assert copies.still_valid(copies.read(path), run) == []
    assert len(copies.make(run, now=NOW, resume_from=path).files) == 3


def test_progress_counts_files_and_bytes(run: Path, tmp_path: Path) -> None:
    seen: list[copies.Progress] = []
    copies.make(run, now=NOW, progress=seen.append)
    total = sum(len(each) for each in FILES.values())
    assert [(each.path, each.files_done, each.bytes_done) for each in seen] == [
        ("results.csv", 1, 17),
        ("status.json", 2, 39),
        ("weights/best.pt", 3, total),
    ]
    assert {(each.files_total, each.bytes_total, each.files_saved) for each in seen} == {
        (3, total, 0)
    }


def test_a_large_file_tells_of_itself_on_the_way(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folders, "CHUNK_BYTES", 4)
    monkeypatch.setattr(folders, "TICK_BYTES", 8)
    seen: list[copies.Progress] = []
    copies.make(filled(run / "a", {"x": bytes(18)}), now=NOW, progress=seen.append)
    assert [(each.files_done, each.bytes_done) for each in seen] == [(0, 8), (0, 16), (1, 18)]


MAKER = """
import sys
from datetime import datetime, timezone
from pathlib import Path
from costplan.box import copies, manifests
manifests.SAVE_EVERY_FILES = 3
now = datetime(2100, 1, 1, tzinfo=timezone.utc)
print("ready", flush=True)
def tell(progress):
    print(progress.files_saved, flush=True)
copies.make(Path(sys.argv[1]), now=now, progress=tell, resume_from=Path(sys.argv[2]))
"""


def test_a_killed_run_loses_nothing_that_it_said_was_saved(run: Path, tmp_path: Path) -> None:
    filled(run, {f"many/{number}": bytes(number) for number in range(200)})
    path = tmp_path / "manifest.json"
    saved = [0]
    for turn in range(3):
        with subprocess.Popen(
            [sys.executable, "-c", MAKER, str(run), str(path)],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            text=True,
        ) as maker:
            assert maker.stdout is not None
            lines = [maker.stdout.readline() for _ in range(12 + 9 * turn)]
            maker.send_signal(signal.SIGKILL)
            lines += maker.stdout.readlines()
        saved.append(max(int(each) for each in lines if each.strip().isdigit()))
        half = copies.read(path, unfinished=True)
        assert len(half.files) >= saved[-1] > saved[-2] or half.complete
    assert saved[1] > 0
    assert copies.make(run, now=NOW, resume_from=path) == copies.make(run, now=NOW)


# --- the file -----------------------------------------------------------------------------------


def test_a_manifest_comes_back_as_it_was_written(manifest: Manifest, tmp_path: Path) -> None:
    path = tmp_path / "manifest.json"
    copies.write(manifest, path)
    assert copies.read(path) == manifest
    data = json.loads(path.read_text(encoding="utf-8"))
    assert data["schema"] == "costplan.manifest/2"
    assert list(data) == [
        *("schema", "count", "digest", "made_at", "folder", "complete", "left_out"),
        *("skipped", "outside", "files"),
    ]
    assert data["count"] == 3
    assert list(tmp_path.glob(".*")) == []


names = st.text(
    st.characters(exclude_characters="/\0", exclude_categories=["Cs"]), min_size=1, max_size=9
).filter(lambda name: name not in (".", ".."))


@settings(max_examples=25)  # each writes to disk, and waits for it
@given(st.dictionaries(names, st.binary(max_size=9), max_size=5))
def test_any_folder_comes_back_and_its_copy_is_verified(files: dict[str, bytes]) -> None:
    with tempfile.TemporaryDirectory() as place:
        run = filled(Path(place) / "run", {"first": b"", **files})
        path = Path(place) / "manifest.json"
        made = copies.make(run, now=NOW, resume_from=path)
        assert copies.read(path) == made
        report = copies.check(made, Path(shutil.copytree(run, Path(place) / "copy")))
        assert (report.missing, report.extra, report.different) == ((), (), ())
        assert {each.path for each in made.files} == {"first", *files}


def changed(manifest: Manifest, tmp_path: Path, **changes: Any) -> Path:
    """Return a manifest file with other values in it."""
    path = tmp_path / "manifest.json"
    copies.write(manifest, path)
    data = json.loads(path.read_text(encoding="utf-8"))
    for name, value in changes.items():
        if name in data["files"][0]:
            data["files"][0][name] = value
        else:
            data[name] = value
    path.write_text(json.dumps(data), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"schema": "costplan.manifest/1"}, "is no costplan.manifest/2"),
        ({"schema": "costplan.manifest/3"}, "is no costplan.manifest/2"),
        ({"schema": None}, "is no costplan.manifest/2"),
        ({"note": "x"}, "unknown key 'note'"),
        ({"complete": "true"}, "complete"),
        ({"complete": False}, "is not as it was written"),
        ({"made_at": "2026-08-27T09:00:00"}, "made_at"),
        ({"made_at": 1_700_000_000}, "not a time such as"),
        ({"path": "/etc/passwd"}, "an absolute path"),
        ({"path": "C:\\x"}, "an absolute path"),
        ({"path": "../x"}, "leaves the folder"),
        ({"path": "a/../../x"}, "leaves the folder"),
        ({"path": "a//b"}, "not a path below the folder"),
        ({"path": ""}, "not a path below the folder"),
        ({"path": "status.json"}, "'status.json' appears twice"),
        ({"path": "other.pt"}, "'checkpoint' is for checkpoints"),
        ({"size_bytes": "17"}, "size_bytes"),
        ({"size_bytes": -1}, "size_bytes"),
        ({"size_bytes": 17.0}, "size_bytes"),
        ({"mtime_ns": True}, "mtime_ns"),
        ({"sha256": "a" * 63}, "sha256"),
        ({"sha256": "A" * 64}, "sha256"),
        ({"sha256": "a" * 64 + "\n"}, "sha256"),
        ({"files": {}}, "files"),
    ],
)
def test_a_manifest_that_does_not_fit_is_refused(
    manifest: Manifest, tmp_path: Path, changes: dict[str, Any], why: str
) -> None:
    assert why in refused(copies.read, changed(manifest, tmp_path, **changes))


def test_a_half_made_manifest_is_read_only_where_that_is_asked_for(
    manifest: Manifest, tmp_path: Path
) -> None:
    path = tmp_path / "manifest.json"
    copies.write(manifest.model_copy(update={"complete": False}), path)
    assert "is unfinished" in refused(copies.read, path)
    assert not copies.read(path, unfinished=True).complete


def edits(data: dict[str, Any]) -> dict[str, Any]:
    """Return edits by hand after which a manifest still has the form of one, by name."""
    first, *others = data["files"]
    link = {"path": "link", "kind": "link-outside", "target": "/data"}
    moved = {"path": "last.csv", "size_bytes": 18, "sha256": "0" * 64, "mtime_ns": 1, "ctime_ns": 1}
    left = {"name": "x", "kind": "file", "size_bytes": 1, "count": 1, "at_least": False}
    return {
        "a file taken out": {**data, "files": others},
        "a file taken out and counted": {**data, "files": others, "count": 2},
        "a file added": {**data, "files": [*data["files"], {**first, "path": "more.csv"}]},
        **{
            f"another {name}": {**data, "files": [{**first, name: value}, *others]}
            for name, value in moved.items()
        },
        "a broken checkpoint that opens": {
            **data,
            "files": [*data["files"][:2], {**data["files"][2], "checkpoint": "broken"}],
        },
        "a link taken out": {**data, "skipped": []},
        "another link": {**data, "skipped": [link]},
        "a file left out": {**data, "left_out": ["results.csv"]},
        "another folder": {**data, "folder": "/other"},
        "another time": {**data, "made_at": "2100-01-02T00:00:00Z"},
        "work beside it taken out": {**data, "outside": {"left": [], "unseen": []}},
        "nobody looked beside it": {key: data[key] for key in data if key != "outside"},
        "other work beside it": {**data, "outside": {"left": [left], "unseen": []}},
        "no count": {key: data[key] for key in data if key != "count"},
        "no digest": {key: data[key] for key in data if key != "digest"},
        "another digest": {**data, "digest": "0" * 64},
    }


def test_any_edit_by_hand_is_noticed_where_the_folder_is_long_gone(
    run: Path, tmp_path: Path
) -> None:
    (run / "gone").symlink_to("nowhere")
    filled(tmp_path / "data", {"image": b"x"})
    (run / "data").symlink_to(tmp_path / "data")
    path = tmp_path / "manifest.json"
    copies.make(run, now=NOW, resume_from=path)
    shutil.rmtree(run)
    data = json.loads(path.read_text(encoding="utf-8"))
    for name, edited in edits(data).items():
        path.write_text(json.dumps(edited), encoding="utf-8")
        for unfinished in (False, True):
            told = refused(copies.read, path, unfinished=unfinished)
            assert "is not as it was written" in told, name
    path.write_text(json.dumps({**data, "files": data["files"][::-1]}), encoding="utf-8")
    assert len(copies.read(path).files) == 3  # the order of lines says nothing


def test_a_manifest_that_was_changed_says_how_to_go_on(run: Path, tmp_path: Path) -> None:
    path = tmp_path / "manifest.json"
    copies.make(run, now=NOW, resume_from=path)
    path.write_text(path.read_text("utf-8").replace("results.csv", "Results.csv"), "utf-8")
    with pytest.raises(InputError) as caught:
        copies.make(run, now=NOW, resume_from=path)
    assert caught.value.hint == "remove it and make it again"


def test_what_ctrl_c_interrupts_is_kept(run: Path, tmp_path: Path) -> None:
    def stop(progress: copies.Progress) -> None:
        if progress.files_done == 2:
            raise KeyboardInterrupt

    path = tmp_path / "manifest.json"
    with pytest.raises(KeyboardInterrupt):
        copies.make(run, now=NOW, resume_from=path, progress=stop)
    half = copies.read(path, unfinished=True)
    assert ([each.path for each in half.files], half.complete) == (
        ["results.csv", "status.json"],
        False,
    )


def test_a_manifest_says_what_goes_with_the_box_all_the_same(
    run: Path, tmp_path: Path, git: Any
) -> None:
    made = copies.make(run, now=NOW, resume_from=tmp_path / "manifest.json")
    assert made.outside is not None
    assert [Path(each.name).name for each in made.outside.left] == [".gitignore", "train.py"]
    again = copies.make(run, now=NOW, resume_from=tmp_path / "manifest.json")
    assert again.outside == made.outside  # the manifest itself is nobody's work


def test_a_manifest_that_is_cut_off_is_refused(manifest: Manifest, tmp_path: Path) -> None:
    path = tmp_path / "manifest.json"
    copies.write(manifest, path)
    whole = path.read_bytes()
    for length in range(len(whole) - 1):  # the last byte ends the line
        path.write_bytes(whole[:length])
        assert str(path) in refused(copies.read, path)


def test_a_key_that_appears_twice_is_refused(manifest: Manifest, tmp_path: Path) -> None:
    path = tmp_path / "manifest.json"
    copies.write(manifest, path)
    text = path.read_text(encoding="utf-8").replace('"files"', '"files": [], "files"')
    path.write_text(text, encoding="utf-8")
    assert "'files' appears twice" in refused(copies.read, path)


@pytest.mark.parametrize("content", [b"epoch,loss\n", b"{}", b'{"schema": "costplan.box/1"}'])
def test_a_file_that_is_no_manifest_is_never_written_over(
    manifest: Manifest, run: Path, tmp_path: Path, content: bytes
) -> None:
    path = tmp_path / "precious"
    path.write_bytes(content)
    for call in (
        lambda: copies.write(manifest, path),
        lambda: copies.make(run, now=NOW, resume_from=path),
    ):
        assert "is no manifest and is left as it is" in refused(call)
    assert path.read_bytes() == content


def test_an_empty_file_is_filled(manifest: Manifest, tmp_path: Path) -> None:
    path = tmp_path / "manifest.json"
    path.touch()
    copies.write(manifest, path)
    assert copies.read(path) == manifest


def test_a_manifest_that_cannot_be_written_is_said_and_leaves_nothing(
    manifest: Manifest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    assert "cannot be written" in refused(copies.write, manifest, tmp_path / "gone" / "x")
    path = tmp_path / "manifest.json"
    copies.write(manifest, path)
    monkeypatch.setattr(os, "fsync", full)
    assert "No space left on device" in refused(copies.write, manifest, path)
    assert copies.read(path) == manifest
    assert list(tmp_path.glob(".*")) == []


# --- checking a folder --------------------------------------------------------------------------


def test_a_copy_is_verified(manifest: Manifest, copy: Path) -> None:
    report = copies.check(manifest, copy)
    assert report.ok
    assert report.verified == ("results.csv", "status.json", "weights/best.pt")
    assert report.verified_bytes == sum(len(each) for each in FILES.values())
    assert report.same_disk


def test_what_is_only_in_the_copy_is_named_and_no_harm(manifest: Manifest, copy: Path) -> None:
    filled(copy, {"older/run.csv": b"x"})
    report = copies.check(manifest, copy)
    assert report.extra == ("older/run.csv",)
    assert report.ok


def test_what_is_missing_is_named(manifest: Manifest, copy: Path) -> None:
    (copy / "weights" / "best.pt").unlink()
    report = copies.check(manifest, copy)
    assert report.missing == ("weights/best.pt",)
    assert report.reasons() == ["weights/best.pt: missing"]


def test_another_size_and_another_content_are_named(manifest: Manifest, copy: Path) -> None:
    (copy / "results.csv").write_bytes(b"epoch,loss\n")
    (copy / "status.json").write_bytes(b'{"state": "Completed"}')
    report = copies.check(manifest, copy)
    assert report.reasons() == [
        "results.csv: 11 bytes, not 17",
        "status.json: another SHA-256",
    ]


def test_a_copy_of_nothing_is_never_good(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "copy").mkdir()
    report = copies.check(copies.make(tmp_path / "empty", now=NOW), tmp_path / "copy")
    assert not report.ok
    assert report.reasons() == ["nothing is verified"]


def test_a_half_made_manifest_vouches_for_nothing(manifest: Manifest, copy: Path) -> None:
    half = manifest.model_copy(update={"complete": False})
    assert "unfinished" in refused(copies.check, half, copy)


def test_the_folder_itself_is_no_copy_by_whatever_path(
    run: Path, manifest: Manifest, tmp_path: Path
) -> None:
    (tmp_path / "link").symlink_to(run)
    shutil.copytree(run, tmp_path / "hard", copy_function=os.link)
    for place in (run, tmp_path / "link", tmp_path / "hard"):
        report = copies.check(manifest, place)
        assert (report.itself, report.ok) == (True, False)
        assert report.reasons() == [f"{place} is the folder itself, not a copy of it"]


def test_a_link_in_the_copy_is_not_the_file(manifest: Manifest, copy: Path, run: Path) -> None:
    (copy / "results.csv").unlink()
    (copy / "results.csv").symlink_to(run / "results.csv")
    assert copies.check(manifest, copy).missing == ("results.csv",)


def test_a_link_out_of_the_folder_is_not_copied_and_says_so(run: Path, tmp_path: Path) -> None:
    filled(tmp_path / "scratch", {"last.pt": BEST})
    (run / "last.pt").symlink_to(tmp_path / "scratch" / "last.pt")
    (run / "inside.pt").symlink_to("weights/best.pt")
    made = copies.make(run, now=NOW)
    report = copies.check(made, Path(shutil.copytree(run, tmp_path / "copy")))
    assert [each.path for each in report.unverifiable] == ["last.pt"]
    assert not report.ok


def test_a_name_that_differs_in_case_or_unicode_form_is_named(run: Path, tmp_path: Path) -> None:
    composed, apart = (unicodedata.normalize(form, "café") for form in ("NFC", "NFD"))
    filled(run, {composed: b"x", "Best.csv": b"y", f"Über{composed}": b"z"})
    copy = Path(shutil.copytree(run, tmp_path / "copy"))
    (copy / composed).rename(copy / apart)
    (copy / "Best.csv").rename(copy / "best.csv")
    (copy / f"Über{composed}").rename(copy / f"über{apart}")
    report = copies.check(copies.make(run, now=NOW), copy)
    assert set(report.missing) == {composed, "Best.csv", f"Über{composed}"}
    assert {(each.path, each.found, each.how) for each in report.near_names} == {
        (composed, apart, "unicode form"),
        ("Best.csv", "best.csv", "case"),
        (f"Über{composed}", f"über{apart}", "case and unicode form"),
    }
    assert "Best.csv: missing, but there is best.csv (case)" in report.reasons()


def test_checking_tells_how_far_it_is(manifest: Manifest, copy: Path) -> None:
    seen: list[copies.Progress] = []
    copies.check(manifest, copy, progress=seen.append)
    assert [(each.files_done, each.files_total) for each in seen] == [(1, 3), (2, 3), (3, 3)]
    assert seen[-1].bytes_done == seen[-1].bytes_total == manifest.size_bytes


# --- checkpoints --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("last.pt", BEST[:-30]),
        ("last.pt", BEST.replace(b"weights", b"Weights", 1)),
        ("last.pt", b""),
        ("last.safetensors", b"\x10\0\0\0\0\0\0\0{}"),
        ("arrays.npz", b"not a zip"),
    ],
)
def test_a_checkpoint_that_is_broken_in_both_places_is_no_copy(
    run: Path, tmp_path: Path, name: str, content: bytes
) -> None:
    filled(run, {name: content})
    report = copies.check(copies.make(run, now=NOW), Path(shutil.copytree(run, tmp_path / "copy")))
    assert [each.path for each in report.broken] == [name]
    assert name not in report.verified
    assert not report.ok


def test_a_checkpoint_that_cannot_be_checked_is_no_verified_one(run: Path, tmp_path: Path) -> None:
    filled(run, {"old.pth": b"\x80\x02}q\x00."})
    report = copies.check(copies.make(run, now=NOW), Path(shutil.copytree(run, tmp_path / "copy")))
    assert [each.path for each in report.unverifiable] == ["old.pth"]
    assert "cannot be checked" in report.reasons()[0]


# --- checking a listing -------------------------------------------------------------------------


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def git_sha1(content: bytes) -> str:
    start = f"blob {len(content)}\0".encode()
    return hashlib.sha1(start + content, usedforsecurity=False).hexdigest()


def against(manifest: Manifest, tmp_path: Path, listing: str | list[Any]) -> CopyReport:
    path = tmp_path / "listing"
    path.write_text(listing if isinstance(listing, str) else json.dumps(listing), encoding="utf-8")
    return copies.check(manifest, path)


def test_sha256sum_lines_verify_a_copy(manifest: Manifest, tmp_path: Path) -> None:
    lines = [f"{sha256(content)}  {name}\n" for name, content in FILES.items()]
    assert against(manifest, tmp_path, "".join(lines)).ok
    assert against(manifest, tmp_path, "".join(lines[1:])).missing == ("weights/best.pt",)
    assert against(manifest, tmp_path, "").reasons()[0] == "nothing is verified"
    lines[1] = f"{sha256(b'')}  results.csv\n"
    report = against(manifest, tmp_path, "".join(lines))
    assert report.reasons() == ["results.csv: another SHA-256"]


@pytest.mark.parametrize("hashed_by", ["sha256", "sha1", "md5"])
def test_rclone_with_any_hash_verifies_while_the_original_is_here(
    manifest: Manifest, tmp_path: Path, hashed_by: str
) -> None:
    rows = [
        {"Path": name, "Size": len(content), "Hashes": {hashed_by: digest}}
        for name, content in FILES.items()
        for digest in [hashlib.new(hashed_by, content).hexdigest()]
    ]
    assert against(manifest, tmp_path, rows).ok
    rows[0]["Hashes"] = {hashed_by: "0" * len(str(rows[0]["Hashes"][hashed_by]))}  # type: ignore[index]
    assert [each.path for each in against(manifest, tmp_path, rows).different] == [
        "weights/best.pt"
    ]


def test_rclone_without_hashes_verifies_nothing(manifest: Manifest, tmp_path: Path) -> None:
    rows = [{"Path": name, "Size": len(content)} for name, content in FILES.items()]
    report = against(manifest, tmp_path, rows)
    assert len(report.unverifiable) == 3
    assert {each.why for each in report.unverifiable} == {
        "size only, not verified: the listing has no hash of it"
    }
    rows[1]["Size"] = 16
    assert [each.why for each in against(manifest, tmp_path, rows).different] == [
        "16 bytes, not 17"
    ]


def hugging_face(files: dict[str, bytes]) -> list[Any]:
    return [
        {"type": "file", "path": name, "size": len(content), "oid": git_sha1(content)}
        | ({"lfs": {"oid": sha256(content), "size": len(content)}} if name[-3:] == ".pt" else {})
        for name, content in files.items()
    ]


def test_a_hugging_face_tree_verifies_small_files_by_gits_hash_of_the_original(
    run: Path, manifest: Manifest, tmp_path: Path
) -> None:
    rows = hugging_face(FILES)
    assert against(manifest, tmp_path, rows).ok
    rows[1]["oid"] = "0" * 40
    report = against(manifest, tmp_path, rows)
    assert report.reasons() == ["results.csv: another git-sha1"]


def test_gits_hash_is_the_one_that_git_computes() -> None:
    assert git_sha1(b"hello\n") == "ce013625030ba8dba906f756967f9e9ca394464a"


@pytest.mark.parametrize("change", ["gone", "changed"])
def test_without_the_original_gits_hash_verifies_nothing(
    run: Path, manifest: Manifest, tmp_path: Path, change: str
) -> None:
    if change == "gone":
        shutil.rmtree(run)
    else:
        (run / "results.csv").write_bytes(b"epoch,loss\n1,0.4\n")
        (run / "status.json").write_bytes(b"x")
    report = against(manifest, tmp_path, hugging_face(FILES))
    assert report.verified == ("weights/best.pt",)
    assert [each.path for each in report.unverifiable] == ["results.csv", "status.json"]
    assert all("size only, not verified" in each.why for each in report.unverifiable)


# --- laws ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> tuple[Manifest, Path]:
    """A manifest and a copy that every example leaves as it was."""
    place = tmp_path_factory.mktemp("kept")
    run = filled(place / "run", FILES)
    return copies.make(run, now=NOW), Path(shutil.copytree(run, place / "copy"))


@given(st.data())
def test_any_flipped_byte_of_the_copy_is_found(
    kept: tuple[Manifest, Path], data: st.DataObject
) -> None:
    manifest, copy = kept
    name = data.draw(st.sampled_from(sorted(FILES)))
    at = data.draw(st.integers(0, len(FILES[name]) - 1))
    flipped = bytearray(FILES[name])
    flipped[at] ^= data.draw(st.integers(1, 255))
    (copy / name).write_bytes(flipped)
    report = copies.check(manifest, copy)
    (copy / name).write_bytes(FILES[name])
    assert [each.path for each in report.different] == [name]
    assert not report.ok


@given(st.data(), st.sampled_from(["removed", "renamed", "added"]), names)
def test_any_removed_renamed_or_added_file_is_found(
    kept: tuple[Manifest, Path], data: st.DataObject, change: str, other: str
) -> None:
    manifest, copy = kept
    other = f"new-{other}"
    name = data.draw(st.sampled_from(sorted(FILES)))
    if change == "removed":
        (copy / name).unlink()
    elif change == "renamed":
        (copy / name).rename(copy / other)
    else:
        (copy / other).touch()
    report, reasons = copies.check(manifest, copy), copies.still_valid(manifest, copy)
    (copy / other).unlink(missing_ok=True)
    (copy / name).write_bytes(FILES[name])
    assert report.missing == (() if change == "added" else (name,))
    assert report.extra == (() if change == "removed" else (other,))
    assert (f"{other}: added since" in reasons) is (change != "removed")
    assert (f"{name}: gone since" in reasons) is (change != "added")


# --- later --------------------------------------------------------------------------------------


def test_a_manifest_stands_while_nothing_changes(run: Path, manifest: Manifest) -> None:
    assert copies.still_valid(manifest, run) == []


def test_a_change_that_keeps_size_and_time_is_found(run: Path, manifest: Manifest) -> None:
    next_tick(run)
    stat = (run / "results.csv").stat()
    (run / "results.csv").write_bytes(b"epoch,loss\n1,0.4\n")
    put_back_times(run / "results.csv", stat)
    assert copies.still_valid(manifest, run) == ["results.csv: changed since"]


def test_a_change_of_rights_is_no_change_and_a_new_time_is_one(
    run: Path, manifest: Manifest
) -> None:
    next_tick(run)
    (run / "results.csv").chmod(0o600)
    assert copies.still_valid(manifest, run) == []
    os.utime(run / "results.csv", ns=(0, 0))
    assert copies.still_valid(manifest, run) == ["results.csv: changed since"]


def test_a_new_link_and_a_half_made_manifest_are_reasons(run: Path, manifest: Manifest) -> None:
    (run / "last.pt").symlink_to("weights/best.pt")
    half = manifest.model_copy(update={"complete": False})
    assert copies.still_valid(half, run) == [
        "the manifest is unfinished",
        "last.pt: a link or device since",
    ]


@pytest.mark.parametrize(("later_us", "reasons"), [(0, 0), (-1, 1)])
def test_a_manifest_older_than_the_newest_result_is_invalid(
    run: Path, later_us: int, reasons: int
) -> None:
    noon = datetime(2026, 8, 27, 12, tzinfo=timezone.utc)
    for name in FILES:
        os.utime(run / name, (noon.timestamp() - 60, noon.timestamp() - 60))
    os.utime(run / "results.csv", (noon.timestamp(), noon.timestamp()))
    made = copies.make(run, now=noon + timedelta(microseconds=later_us))
    found = copies.still_valid(made, run)
    assert len(found) == reasons
    assert all("results.csv: written after the manifest was begun" in each for each in found)


def test_what_changed_within_a_tick_of_the_disk_is_read_again(run: Path) -> None:
    """A file that is written twice within one tick keeps size and times."""
    made = copies.make(run, now=NOW)
    first = made.files[0].model_copy(update={"sha256": "0" * 64})
    files = (first, *made.files[1:])
    newest = datetime.fromtimestamp(first.ctime_ns / 10**9, tz=timezone.utc)
    for made_at, expected in [
        (newest + timedelta(seconds=1), ["results.csv: changed since"]),
        (newest + timedelta(seconds=3), []),
    ]:
        doubtful = made.model_copy(update={"files": files, "made_at": made_at})
        assert copies.still_valid(doubtful, run) == expected


# --- what is nowhere else -----------------------------------------------------------------------


def test_files_outside_the_copy_are_named_with_their_sizes(run: Path, manifest: Manifest) -> None:
    place = run.parent
    filled(place, {"notes.txt": bytes(7), "data/a/1": bytes(5), "data/b": bytes(6)})
    filled(run, {"late.csv": bytes(3)})
    found = copies.outside(place, manifest)
    assert [(each.name, each.kind, each.size_bytes, each.count) for each in found.left] == [
        ("data/", "folder", 11, 2),
        ("notes.txt", "file", 7, 1),
        ("run/late.csv", "file", 3, 1),
    ]


def test_of_a_whole_copy_nothing_is_outside_not_even_its_manifest(run: Path) -> None:
    made = copies.make(run, now=NOW, resume_from=run / "manifest.json")
    assert copies.outside(run, made, git=False) == Outside(left=(), unseen=())


def test_behind_a_link_is_counted_as_far_as_is_sensible(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = filled(tmp_path / "data", {f"{number}": bytes(10) for number in range(5)})
    (run / "data").symlink_to(data)
    made = copies.make(run, now=NOW)
    for most, size, at_least in [(6, 50, False), (5, 50, True), (3, 30, True)]:
        monkeypatch.setattr(uncopied, "MOST_COUNTED", most)
        (left,) = copies.outside(run, made, git=False).left
        assert (left.kind, left.size_bytes, left.at_least) == ("link", size, at_least)
        assert left.name == f"data -> {data}"


@pytest.fixture
def git(run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The repository above the run; runs git in it."""
    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    for name, value in [("GIT_CONFIG_GLOBAL", os.devnull), ("GIT_CONFIG_NOSYSTEM", "1")]:
        monkeypatch.setenv(name, value)

    def called(*arguments: str) -> str:
        who = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
        done = subprocess.run(
            ["git", "-C", str(tmp_path), *who, *arguments],
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout

    called("init", "--quiet", "--initial-branch=main")
    filled(tmp_path, {".gitignore": b"run/\n", "train.py": b"print()\n"})
    return called


def left_of_git(run: Path, manifest: Manifest) -> list[tuple[str, str, int | None]]:
    found = copies.outside(run, manifest)
    assert found.unseen == ()
    return [(each.kind, each.name, each.size_bytes) for each in found.left]


def test_work_that_no_commit_holds_is_named(
    run: Path, manifest: Manifest, tmp_path: Path, git: Any
) -> None:
    assert left_of_git(run, manifest) == [
        ("untracked", str(tmp_path / ".gitignore"), 5),
        ("untracked", str(tmp_path / "train.py"), 8),
    ]
    git("add", ".")
    git("commit", "--quiet", "-m", "first")
    git("update-ref", "refs/remotes/origin/main", "HEAD")
    assert left_of_git(run, manifest) == []
    filled(tmp_path, {"train.py": b"print(1)\n", "ü a/new\nfile": b"xyz"})
    (tmp_path / ".gitignore").write_text("run/\nx\n", encoding="utf-8")
    git("add", ".gitignore")
    (tmp_path / ".gitignore").unlink()
    assert left_of_git(run, manifest) == [
        ("uncommitted", str(tmp_path / ".gitignore"), 0),
        ("uncommitted", str(tmp_path / "train.py"), 9),
        ("untracked", str(tmp_path / "ü a" / "new\nfile"), 3),
    ]


def test_commits_that_no_remote_has_are_named_on_every_branch_and_on_none(
    run: Path, manifest: Manifest, tmp_path: Path, git: Any
) -> None:
    git("add", ".")
    git("commit", "--quiet", "-m", "first")
    git("update-ref", "refs/remotes/origin/main", "HEAD")
    git("checkout", "--quiet", "-b", "side")
    git("commit", "--quiet", "--allow-empty", "-m", "second")
    git("checkout", "--quiet", "--detach", "main")
    git("commit", "--quiet", "--allow-empty", "-m", "third")
    (left,) = copies.outside(run, manifest).left
    assert (left.kind, left.count) == ("unpushed", 2)
    assert "second" in left.name
    assert "third" in left.name
    assert "first" not in left.name
    assert left.size_bytes is None or left.size_bytes > 0


def test_without_a_remote_every_commit_is_unpushed(
    run: Path, manifest: Manifest, git: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(uncopied, "MOST_NAMES", 1)
    git("add", ".")
    for name in ("first", "second", "third"):
        git("commit", "--quiet", "--allow-empty", "-m", name)
    (left,) = copies.outside(run, manifest).left
    assert (left.kind, left.count) == ("unpushed", 3)
    assert left.name.endswith(" third; and 2 more")


def test_what_was_stashed_is_named(run: Path, manifest: Manifest, tmp_path: Path, git: Any) -> None:
    git("add", ".")
    git("commit", "--quiet", "-m", "first")
    git("update-ref", "refs/remotes/origin/main", "HEAD")
    filled(tmp_path, {"train.py": b"print(1)\n"})
    git("stash", "push", "--quiet", "-m", "an idea")
    ((kind, name, size),) = left_of_git(run, manifest)
    assert (kind, size) == ("stash", None)
    assert "an idea" in name


def test_a_repository_that_was_copied_whole_leaves_nothing(tmp_path: Path, git: Any) -> None:
    git("add", "train.py")
    git("commit", "--quiet", "-m", "first")
    made = copies.make(tmp_path, now=NOW)
    assert left_of_git(tmp_path, made) == []


def test_a_repository_above_the_repository_counts_too(
    run: Path, manifest: Manifest, tmp_path: Path, git: Any
) -> None:
    subprocess.run(["git", "init", "--quiet", str(run)], check=True)
    filled(run, {"inner.txt": b"x"})
    kinds = {name for kind, name, _ in left_of_git(run, manifest) if kind == "untracked"}
    assert str(run.resolve() / "inner.txt") in kinds
    assert str(tmp_path / "train.py") in kinds


def test_without_git_its_work_is_unseen_and_that_is_said(
    run: Path, manifest: Manifest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    assert copies.outside(run, manifest).unseen == ()
    (tmp_path / ".git").mkdir()
    (told,) = copies.outside(run, manifest).unseen
    assert told == f"{tmp_path}: git is not installed: uncommitted work cannot be seen"
    assert copies.outside(run, manifest, git=False).unseen == ()


def test_a_repository_that_git_refuses_is_unseen(
    run: Path, manifest: Manifest, tmp_path: Path, git: Any
) -> None:
    (tmp_path / ".git" / "HEAD").write_text("nonsense", encoding="utf-8")
    (told,) = copies.outside(run, manifest).unseen
    assert told.startswith(f"{tmp_path}: git refused: ")


def test_a_repository_starts_no_program_of_its_own(
    run: Path, manifest: Manifest, tmp_path: Path, git: Any
) -> None:
    program = tmp_path / "monitor"
    program.write_text(f"#!/bin/sh\ntouch {tmp_path}/started\n", encoding="utf-8")
    program.chmod(0o700)
    git("config", "core.fsmonitor", str(program))
    left_of_git(run, manifest)
    assert not (tmp_path / "started").exists()


def test_saving_a_long_list_stays_cheap_beside_making_it() -> None:
    assert manifests.SAVE_EVERY_FILES >= 100
    assert manifests.SAVE_EVERY_BYTES >= 1 << 26
