"""`costplan idle copy`: its answers as text and JSON, how far it is, and Ctrl-C."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from costplan import __version__
from costplan.box import folders
from costplan.box.manifests import Progress
from costplan.cli import main
from costplan.cli.meter import meter

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).resolve().parents[1]


class Done(NamedTuple):
    code: int
    out: str
    err: str


def run(*words: object) -> Done:
    out, err = io.StringIO(), io.StringIO()
    code = 0
    with redirect_stdout(out), redirect_stderr(err):
        try:
            main(["idle", "copy", *map(str, words)])
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 0
    sys.stdout.flush()
    return Done(code, out.getvalue(), err.getvalue())


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A place with a run, its copy, and its manifest."""
    for name in ("run", "copy"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "results.csv").write_text("epoch,loss\n1,0.5\n", encoding="utf-8")
        (tmp_path / name / "notes.txt").write_text("x", encoding="utf-8")
    assert run("make", tmp_path / "run", "-o", tmp_path / "manifest.json").code == 0
    return tmp_path


# --- JSON ---------------------------------------------------------------------------------------


def test_a_manifest_is_told_as_json(place: Path) -> None:
    (place / "data").mkdir()
    (place / "data" / "image").write_bytes(bytes(50))
    (place / "run" / "data").symlink_to(place / "data")
    done = run("make", place / "run", "-o", place / "manifest.json", "--format", "json")
    body = json.loads(done.out)
    assert (done.code, done.err) == (0, "")
    made_at = body.pop("made_at")
    assert made_at.endswith("+00:00")
    assert body == {
        "schema": "costplan.copy/1",
        "costplan": __version__,
        "did": "make",
        "manifest": str(place / "manifest.json"),
        "folder": str(place / "run"),
        "files": 2,
        "size_bytes": 18,
        "outside": {
            "left": [
                {
                    "name": f"data -> {place}/data",
                    "kind": "link",
                    "size_bytes": 50,
                    "count": 1,
                    "at_least": False,
                }
            ],
            "unseen": [],
        },
        "notices": [f"not in it: data -> {place}/data (link, 50 bytes)"],
    }


def test_a_verified_copy_is_told_as_json(place: Path) -> None:
    done = run("check", place / "manifest.json", "--against", place / "copy", "-f", "json")
    body = json.loads(done.out)
    assert (done.code, done.err) == (0, "")
    assert (body["schema"], body["did"], body["verified"]) == ("costplan.copy/1", "check", True)
    assert (body["files"], body["files_verified"]) == (2, 2)
    assert (body["size_bytes"], body["bytes_verified"]) == (18, 18)
    assert body["missing"] == body["different"] == body["stale"] == body["reasons"] == []
    assert body["notices"] == ["the copy lies on the same disk as the original"]


@pytest.mark.parametrize("change", ["copy", "original"])
def test_what_is_no_verified_copy_is_told_as_json_and_ends_with_4(place: Path, change: str) -> None:
    (place / ("copy" if change == "copy" else "run") / "results.csv").write_bytes(b"x")
    done = run("check", place / "manifest.json", "--against", place / "copy", "-f", "json")
    body = json.loads(done.out)
    assert done.code == 4
    assert not body["verified"]
    (reason, *_) = body["reasons"]
    assert reason.startswith("results.csv: ")
    assert bool(body["stale"]) is (change == "original")
    assert done.err.startswith("error: this is no verified copy\nhint: results.csv: ")


def test_a_name_that_would_act_on_the_terminal_is_shown_as_escapes(tmp_path: Path) -> None:
    folder = tmp_path / "a\x1b[2Jb"
    folder.mkdir()
    (folder / "x").write_bytes(b"x")
    done = run("make", folder, "-o", tmp_path / "m.json")
    assert "\x1b" not in done.out + done.err
    assert "a\\x1b[2Jb" in done.out


def test_a_folder_of_a_box_that_nobody_may_enter_here_is_not_looked_at(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stat = Path.stat

    def closed(path: Path, **named: Any) -> os.stat_result:
        if path == place / "run":
            raise PermissionError(13, "Permission denied")
        return stat(path, **named)

    monkeypatch.setattr(Path, "stat", closed)
    assert run("check", place / "manifest.json", "--against", place / "copy").code == 0


# --- how far it is ------------------------------------------------------------------------------


class Terminal(io.StringIO):
    """What a person looks at."""

    def isatty(self) -> bool:
        return True


def shown(count: int, *, every_s: float, stream: io.StringIO) -> str:
    """Return what is written to `stream` while `count` files are read, one each `every_s`."""
    time_s = 0.0
    with redirect_stderr(stream), meter("reading", clock=lambda: time_s) as show:
        for number in range(count):
            time_s += every_s
            if show:
                show(Progress("\x1b[2J", number, count, number * 10**9, count * 10**9, 0))
    return stream.getvalue()


def test_a_terminal_sees_one_line_that_is_wiped_at_the_end() -> None:
    text = shown(3, every_s=1.0, stream=Terminal())
    lines = text.split("\r")
    assert lines[1] == "reading: 0 of 3 files, 0.00 of 3.00 GB"
    assert lines[3] == "reading: 2 of 3 files, 2.00 of 3.00 GB"
    assert lines[4:] == [" " * len(lines[3]), ""]
    assert "\n" not in text


def test_the_line_is_rewritten_at_most_five_times_a_second() -> None:
    text = shown(1000, every_s=0.01, stream=Terminal())  # ten seconds
    assert 40 <= text.count("reading") <= 51


def test_a_shorter_line_leaves_nothing_of_the_longer_one() -> None:
    stream = Terminal()
    with redirect_stderr(stream), meter("reading", clock=iter(range(99)).__next__) as show:
        assert show is not None
        for total in (10**15, 10**9):
            show(Progress("x", 0, 1, 0, total, 0))
    first, second = stream.getvalue().split("\r")[1:3]
    assert len(second) == len(first)


def test_what_no_person_reads_gets_no_line() -> None:
    assert shown(3, every_s=1.0, stream=io.StringIO()) == ""


def test_the_line_is_wiped_where_the_reading_fails() -> None:
    def failing() -> None:
        with meter("reading") as show:
            assert show is not None
            show(Progress("x", 0, 1, 0, 1, 0))
            raise OSError("gone")

    stream = Terminal()
    with redirect_stderr(stream), pytest.raises(OSError, match="gone"):
        failing()
    assert stream.getvalue().endswith(" \r")


# --- Ctrl-C -------------------------------------------------------------------------------------


def interrupt_at(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let Ctrl-C come when the file `name` is read."""
    entry: Callable[..., Any] = folders.entry

    def stopped(root: Path, found: folders.Found, **named: Any) -> Any:
        if found.path == name:
            raise KeyboardInterrupt
        return entry(root, found, **named)

    monkeypatch.setattr(folders, "entry", stopped)


def test_making_goes_on_after_ctrl_c(tmp_path: Path) -> None:
    old = 1_700_000_000
    (tmp_path / "run").mkdir()
    for name in ("a", "b", "c"):
        (tmp_path / "run" / name).write_bytes(b"x")
        os.utime(tmp_path / "run" / name, (old, old))
    path = tmp_path / "manifest.json"
    with pytest.MonkeyPatch.context() as patch:
        interrupt_at("c", patch)
        done = run("make", tmp_path / "run", "-o", path)
    assert (done.code, done.out) == (130, "")
    assert done.err == (
        f"interrupted: what was read is kept in {path}: the same command again goes on from there\n"
    )
    body = json.loads(path.read_text(encoding="utf-8"))
    assert ([each["path"] for each in body["files"]], body["complete"]) == (["a", "b"], False)
    assert run("check", path, "--against", tmp_path / "run").code == 2
    assert run("make", tmp_path / "run", "-o", path).code == 0
    assert len(json.loads(path.read_text(encoding="utf-8"))["files"]) == 3


def test_checking_begins_again_after_ctrl_c(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    interrupt_at("results.csv", monkeypatch)
    done = run("check", place / "manifest.json", "--against", place / "copy")
    assert (done.code, done.out) == (130, "")
    assert done.err.startswith("interrupted: nothing is verified yet: the same command again")


@pytest.mark.skipif(sys.platform == "win32", reason="no terminal of this kind")
def test_a_real_terminal_and_a_real_ctrl_c(tmp_path: Path) -> None:
    run_folder = tmp_path / "run"
    run_folder.mkdir()
    with (run_folder / "large").open("wb") as file:
        file.truncate(1 << 40)  # holes: no disk holds that much, and no reading ends in time
    master, slave = os.openpty()
    words = ["idle", "copy", "make", str(run_folder), "-o", str(tmp_path / "m.json")]
    with subprocess.Popen(
        [sys.executable, "-m", "costplan", *words],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=slave,
    ) as maker:
        os.close(slave)
        seen = b""
        while b"GB" not in seen:
            seen += os.read(master, 1000)
        maker.send_signal(signal.SIGINT)
        assert maker.wait(timeout=60) == 130
        while b"goes on from there" not in seen:
            seen += os.read(master, 1000)
    os.close(master)
    assert b"\rreading: 0 of 1 files, 0.07 of 1099.51 GB" in seen
    assert seen.count(b"Traceback") == 0
