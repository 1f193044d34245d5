"""The builtins of `costplan profile` without torch: names, flags, the search for a batch, PNG."""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import zlib
from pathlib import Path
from typing import Any

import pytest

from costplan.cli import builtin_asked
from costplan.cli.builtin_asked import Options, check, program
from costplan.cli.profile_command import profile
from costplan.errors import InputError, UnknownError
from costplan.profiler.builtin import png
from costplan.profiler.builtin.fitting import Fit, HostMemory, largest
from costplan.profiler.builtin.names import BUILTINS, PRECISIONS, command, found


def run(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "costplan", "profile", *words],
        capture_output=True, text=True, timeout=60, check=False, stdin=subprocess.DEVNULL,
    )  # fmt: skip


# --- names and flags ----------------------------------------------------------------------------


def test_help_lists_every_builtin_and_every_precision() -> None:
    done = run("--help")
    words = " ".join(done.stdout.replace("│", " ").split())
    assert f"{', '.join(list(BUILTINS)[:-1])} or {list(BUILTINS)[-1]}" in words
    assert f"{', '.join(PRECISIONS[:-1])} or {PRECISIONS[-1]}" in words


def test_a_wrong_name_is_asked_wrongly_and_the_right_ones_are_told() -> None:
    done = run("--builtin", "resnet19")
    assert done.returncode == 2
    assert "error: --builtin resnet19: there is no such program" in done.stderr
    assert "did you mean resnet18" in done.stderr
    assert "there are: resnet18, resnet50, detector, gpt-mini, gpt2" in done.stderr


def test_a_name_that_is_near_no_other_has_the_list_alone() -> None:
    with pytest.raises(InputError) as caught:
        found("zzz")
    assert caught.value.hint == "there are: resnet18, resnet50, detector, gpt-mini, gpt2"


@pytest.mark.parametrize(
    ("name", "options", "says"),
    [
        (None, Options(batch="8"), "--batch: only with --builtin"),
        (None, Options(workers=0, precision="amp"), "--workers, --precision: only with --builtin"),
        ("gpt2", Options(batch="0"), "--batch 0: not a number of samples"),
        ("gpt2", Options(batch="8.0"), "--batch 8.0: not a number of samples"),
        ("gpt2", Options(batch="-1"), "--batch -1: not a number of samples"),
        ("gpt2", Options(batch="largest"), "--batch largest: not a number of samples"),
        ("gpt2", Options(workers=-1), "--workers -1: below 0"),
        ("gpt2", Options(precision="fp8"), "--precision fp8: not known"),
    ],
)
def test_flags_that_cannot_be_used_are_refused(
    name: str | None, options: Options, says: str
) -> None:
    with pytest.raises(InputError, match=says):
        check(name, options)


@pytest.mark.parametrize(
    "options", [Options(), Options("1", 0, "tf32"), Options("auto", 1, "bf16")]
)
def test_flags_that_can_be_used_are_not(options: Options) -> None:
    check("gpt2", options)


def test_a_builtin_never_ends_so_it_cannot_keep_going() -> None:
    with pytest.raises(InputError, match="--keep-going with --builtin"):
        profile(builtin="gpt2", keep_going=True)


def test_a_builtin_is_one_way_to_ask_among_four() -> None:
    with pytest.raises(InputError, match="give a command after --, or --builtin NAME"):
        profile(command=["true"], builtin="gpt2")


# --- what is run --------------------------------------------------------------------------------


@pytest.fixture
def with_torch(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Take torch as installed, and make temporary folders here."""
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: object())
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


def test_a_command_of_the_users_is_run_as_it_is() -> None:
    with program(["python", "train.py"], None, Options()) as what:
        assert what.line == ["python", "train.py"]
        assert what.asked == {"command": ["python", "train.py"]}
        assert what.folder is None


@pytest.mark.usefixtures("with_torch")
def test_a_builtin_is_run_as_a_module_and_told_in_what_was_asked(tmp_path: Path) -> None:
    with program(None, "resnet18", Options("16", 3, "bf16")) as what:
        (folder,) = tmp_path.iterdir()
        assert what.line == [
            sys.executable, "-m", "costplan.profiler.builtin.images", "resnet18", "--folder",
            str(folder), "--batch", "16", "--workers", "3", "--precision", "bf16",
        ]  # fmt: skip
        assert what.asked == {
            "builtin": "resnet18", "batch": 16, "batch_asked": "16", "workers": 3,
            "precision": "bf16", "command": what.line,
        }  # fmt: skip
        assert what.folder == str(folder)


@pytest.mark.usefixtures("with_torch")
@pytest.mark.parametrize(("cores", "workers"), [(1.0, 1), (0.5, 1), (7.9, 7), (64.0, 8), (None, 1)])
def test_unless_asked_otherwise_there_are_as_many_workers_as_usable_cores_up_to_eight(
    monkeypatch: pytest.MonkeyPatch, cores: float | None, workers: int
) -> None:
    monkeypatch.setattr(builtin_asked, "usable_cores", lambda facts: cores)
    with program(None, "gpt2", Options()) as what:
        assert what.asked["workers"] == workers
        assert (what.asked["batch"], what.asked["precision"]) == (8, "fp32")


@pytest.mark.usefixtures("with_torch")
@pytest.mark.parametrize("how", [KeyboardInterrupt, InputError, None])
def test_the_data_is_gone_at_the_end_also_after_ctrl_c(
    tmp_path: Path, how: type[BaseException] | None
) -> None:
    def use() -> None:
        with program(None, "gpt2", Options()) as what:
            assert what.folder is not None
            (Path(what.folder) / "tokens.bin").write_bytes(b"data")
            if how is not None:
                raise how("now")

    if how is None:
        use()
    else:
        with pytest.raises(how):
            use()
    assert list(tmp_path.iterdir()) == []


def test_without_torch_it_says_how_to_come_by_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with (
        pytest.raises(InputError, match="there is no torch") as caught,
        program(None, "gpt2", Options()),
    ):
        pass
    assert caught.value.hint is not None
    assert 'where there is none: pip install "costplan[profile]"' in caught.value.hint


@pytest.mark.usefixtures("with_torch")
def test_what_a_builtin_refuses_is_asked_wrongly(tmp_path: Path) -> None:
    def use() -> None:
        with program(None, "gpt2", Options()) as what:
            assert what.folder is not None
            said = {"error": "--precision amp: needs a CUDA device", "hint": "fp32 runs"}
            (Path(what.folder) / "refused.json").write_text(json.dumps(said))
            raise UnknownError("no steps of training were seen")

    with pytest.raises(InputError, match="needs a CUDA device") as caught:
        use()
    assert caught.value.hint == "fp32 runs"


# --- the largest batch that fits ----------------------------------------------------------------


def upto(most: int) -> Any:
    return lambda batch: "" if batch <= most else f"{batch} did not fit"


@pytest.mark.parametrize(
    ("most", "fits"),
    [(1, 1), (2, 2), (3, 2), (4, 4), (31, 16), (32, 32), (63, 32)],
)
def test_the_batch_is_the_largest_power_of_two_that_fits(most: int, fits: int) -> None:
    assert largest(upto(most), most=64) == Fit(fits, f"{2 * fits} did not fit")


@pytest.mark.parametrize("most", [64, 65, 1000])
def test_the_search_ends_at_its_cap_and_says_so(most: int) -> None:
    assert largest(upto(most), most=64) == Fit(64, "the search ends at 64")


def test_where_nothing_fits_there_is_no_batch() -> None:
    assert largest(upto(0), most=64) == Fit(None, "1 did not fit")


def test_nothing_above_twice_of_what_fits_is_tried() -> None:
    tried: list[int] = []

    def why_not(batch: int) -> str:
        tried.append(batch)
        return str(upto(5)(batch))

    largest(why_not, most=64)
    assert tried == [1, 2, 4, 8]


@pytest.mark.parametrize(
    ("taken", "why"),
    [
        (0, ""),
        (4_000_000_000, ""),
        (4_000_000_001, "16 would need 8.0 of 8.0 GB free"),
        (6_000_000_000, "16 would need 12.0 of 8.0 GB free"),
    ],
)
def test_on_a_cpu_twice_the_memory_of_the_last_batch_must_be_free(taken: int, why: str) -> None:
    host = HostMemory(8_000_000_000)
    host.taken_bytes = taken
    assert host.why_not(16) == why


def test_where_the_system_tells_no_memory_nothing_is_refused_for_it() -> None:
    host = HostMemory(None)
    host.taken_bytes = 10**15
    assert host.why_not(2) == ""


def says(monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    """Let a script stand for the process that searches."""
    monkeypatch.setattr(
        builtin_asked, "command", lambda name, folder, more: [sys.executable, "-c", script, folder]
    )


@pytest.mark.usefixtures("with_torch")
def test_the_batch_that_was_found_is_told_and_used(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    says(monkeypatch, """print('{"batch": 64, "ended": "128 did not fit: out of memory"}')""")
    with program(None, "gpt2", Options(batch="auto")) as what:
        assert (what.asked["batch"], what.asked["batch_asked"]) == (64, "auto")
    assert capsys.readouterr().err == (
        "batch 64, the largest power of two that fits; 128 did not fit: out of memory\n"
    )


@pytest.mark.usefixtures("with_torch")
@pytest.mark.parametrize(
    ("script", "kind", "words"),
    [
        (
            """print('{"batch": null, "ended": "1 did not fit: out of memory"}')""",
            UnknownError,
            "not even one sample of gpt2 fits: 1 did not fit: out of memory",
        ),
        ("raise SystemExit(7)", UnknownError, "the search ended with exit code 7"),
        ("print('[]')", UnknownError, "the search ended with exit code 0"),
        (
            "import sys; open(sys.argv[1] + '/refused.json', 'w').write("
            """'{"error": "no bf16", "hint": "fp32"}'); sys.exit(2)""",
            InputError,
            "no bf16",
        ),
    ],
)
def test_a_search_that_finds_nothing_says_why(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, script: str, kind: type[Exception], words: str
) -> None:
    says(monkeypatch, script)
    with pytest.raises(kind, match=words), program(None, "gpt2", Options(batch="auto")):
        pass
    assert list(tmp_path.iterdir()) == []


# --- PNG ----------------------------------------------------------------------------------------

TINY = bytes(range(12))
"""Two rows of two pixels."""


def test_a_picture_is_read_as_it_was_written_each_row_after_its_filter() -> None:
    rows = png.read(png.written(2, 2, TINY))
    assert (rows.width, rows.height) == (2, 2)
    assert rows.data == b"\0" + TINY[:6] + b"\0" + TINY[6:]


def test_a_written_file_is_png_by_the_book() -> None:
    file = png.written(2, 2, TINY)
    assert file[:8] == bytes([0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A])
    # 13 bytes of header: 2 wide, 2 high, 8 bits, colour type 2, three times method 0
    assert file[8:33] == (
        b"\0\0\0\x0dIHDR\0\0\0\2\0\0\0\2\x08\2\0\0\0"
        + zlib.crc32(b"IHDR\0\0\0\2\0\0\0\2\x08\2\0\0\0").to_bytes(4, "big")
    )
    assert file[-12:] == b"\0\0\0\0IEND\xae\x42\x60\x82"


@pytest.mark.parametrize(
    ("file", "why"),
    [
        (b"GIF89a", "not a PNG file"),
        (png.written(2, 2, TINY)[:40] + b"?" + png.written(2, 2, TINY)[41:], "damaged"),
        (png.written(2, 2, TINY)[:-20], "damaged"),
    ],
)
def test_a_damaged_or_other_file_is_refused(file: bytes, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        png.read(file)


def test_pixels_of_another_number_are_refused() -> None:
    with pytest.raises(ValueError, match="11 bytes for 2 x 2 pixels"):
        png.written(2, 2, TINY[:11])


# --- a real run ---------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.torch
def test_a_small_builtin_is_profiled_on_the_cpu(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    done = subprocess.run(
        [sys.executable, "-m", "costplan", "profile", "--builtin", "gpt-mini", "--batch", "2",
         "--workers", "0", "--budget", "10", "--format", "json"],
        cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False,
        env=on_cpu(tmp_path), stdin=subprocess.DEVNULL,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    body = json.loads(done.stdout)
    asked = body["asked"]
    assert (asked["builtin"], asked["batch"], asked["workers"]) == ("gpt-mini", 2, 0)
    assert (body["batch"], body["workers"], body["program_exit_code"]) == (2, 0, 0)
    # two samples of 256 tokens in each step
    assert body["tokens_per_s"]["expected"] == pytest.approx(512 / body["step_s"]["expected"])
    # 15,999,999 / 256 = 62,499.996 windows, two of them to a batch
    assert body["epoch_s"]["expected"] >= 31_249 * body["step_s"]["expected"] * 0.999
    assert body["verdict"] != "dataloader"
    assert not [path for path in body["made"] if "costplan-builtin" in path]
    assert "16,000,000 random tokens: 32 MB below" in done.stderr
    assert ours(tmp_path) == []


@pytest.mark.slow
@pytest.mark.torch
def test_ctrl_c_leaves_no_data_and_no_process(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    started = subprocess.Popen(
        [sys.executable, "-m", "costplan", "profile", "--builtin", "gpt-mini", "--batch", "2"],
        cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        stdin=subprocess.DEVNULL, env=on_cpu(tmp_path),
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )  # fmt: skip
    try:
        data = wait_for(lambda: next(tmp_path.glob("costplan-builtin-*/tokens.bin"), None))
        started.send_signal(signal.SIGINT)
        assert started.wait(60) != 0
    finally:
        started.kill()
    assert ours(tmp_path) == []
    assert not running(str(data.parent))


def on_cpu(folder: Path) -> dict[str, str]:
    """Return the variables of a run without a GPU, its temporary files in a folder."""
    return {**os.environ, "CUDA_VISIBLE_DEVICES": "", "TMPDIR": str(folder)}


def ours(folder: Path) -> list[str]:
    """Return what is there of ours; torch leaves a folder of its own for compiled code."""
    return [path.name for path in folder.iterdir() if "costplan" in path.name]


def wait_for(look: Any, *, most_s: float = 60.0) -> Any:
    until_s = time.monotonic() + most_s
    while time.monotonic() < until_s:
        seen = look()
        if seen is not None:
            return seen
        time.sleep(0.05)
    raise AssertionError("it never came")


def running(word: str) -> list[str]:
    """Return the command lines of all processes that have a word in them."""
    lines = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            lines.append(path.read_bytes().decode(errors="replace"))
        except OSError:
            continue
    return [line for line in lines if word in line]


def test_the_command_of_a_builtin_names_its_room() -> None:
    assert command("gpt2", "/data", ["--fit"]) == [
        sys.executable, "-m", "costplan.profiler.builtin.tokens", "gpt2", "--folder", "/data",
        "--fit",
    ]  # fmt: skip
    folder = Path(__file__).parents[1] / "costplan/profiler/builtin"
    assert all((folder / f"{each.room}.py").exists() for each in BUILTINS.values())
