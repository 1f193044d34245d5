"""The same look through ssh, with an `ssh` of our own first on the path."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from costplan.box import probe, signals
from costplan.box.verdict import judge
from costplan.errors import InputError


def ssh(folder: Path, script: str, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put a program called ssh on the path that notes its arguments and runs `script`."""
    folder.mkdir(exist_ok=True)
    program, noted = folder / "ssh", folder / "arguments"
    program.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" >{noted}\n{script}\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    return noted


@pytest.fixture
def works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An ssh that runs the command here, after a greeting."""
    return ssh(tmp_path / "bin", "echo 'Welcome to this box'\nexec sh -s", monkeypatch)


def test_one_command_reads_the_same_as_on_the_box(works: Path, tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run/train.log").write_text("step 1")
    far, near = (
        signals.read_over_ssh("me@box", [str(tmp_path / "r*")]),
        signals.read([tmp_path / "r*"]),
    )
    assert far.problem is None
    assert far.runs == near.runs
    assert far.clock is not None
    assert near.clock is not None
    assert (far.clock.boot_id, far.machine is None) == (near.clock.boot_id, False)
    assert works.read_text().splitlines() == [
        *("-o", "BatchMode=yes", "-o", "ConnectTimeout=10", "--", "me@box", "sh -s"),
    ]


def test_no_name_of_a_folder_passes_through_a_shell(works: Path, tmp_path: Path) -> None:
    odd = ["it's", 'a "b"', "$(touch bad)", "`touch bad`", "a;b", "%s", "back\\slash", "-rf", "é"]
    folders = [tmp_path / "runs" / name for name in odd]
    for folder in folders:
        folder.mkdir(parents=True)
        (folder / "train.log").write_text("1")
    found = signals.read_over_ssh("box", list(map(str, folders))).runs
    assert [(run.path, run.problem) for run in found] == [(str(each), None) for each in folders]
    assert works.exists()
    assert not Path("bad").exists()


def test_a_box_without_python_tells_its_clock_and_why_no_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ["/runs/it's", "/runs/%s\\n", '/runs/"']
    tools = tmp_path / "tools"
    tools.mkdir()
    for each in ("tr", "sed", "date", "paste"):
        found = shutil.which(each)
        assert found is not None
        (tools / each).symlink_to(found)
    driver = tools / "nvidia-smi"
    driver.write_text("#!/bin/sh\necho '0, 12'\necho '1, [N/A]'\n")
    driver.chmod(0o755)
    ssh(tmp_path / "bin", f"PATH={tools} exec /bin/sh -s", monkeypatch)
    look = signals.read_over_ssh("box", names)
    assert look.clock is not None
    assert look.machine is not None
    assert [(gpu.index, gpu.util_percent) for gpu in look.machine.gpus or ()] == [(0, 12)]
    assert look.machine.problems == ("no python3 (3.7 or newer) on the box",)
    assert [(run.path, run.problem is None) for run in look.runs] == [
        (each, False) for each in names
    ]
    assert judge([look], window_s=60).state == "busy"


@pytest.mark.parametrize(
    ("script", "problem"),
    [
        ("echo 'Connection timed out' >&2; exit 255", "ssh to box ended with 255: Connection"),
        ("exit 0", "box answered nothing that can be read"),
        ("echo Welcome", "box answered nothing that can be read"),
        (f"echo '{probe.MARK}{{}}'; echo '{probe.MARK}{{}}'", "box answered twice"),
        (f"echo '{probe.MARK}{{}}'", "in another form"),
        (f"printf '{probe.MARK}{{\"clo'", "in another form"),
        (f"echo '{probe.MARK}{{}}'; exit 1", "ended with 1"),
    ],
)
def test_a_probe_that_fails_is_unknown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, problem: str
) -> None:
    ssh(tmp_path / "bin", script, monkeypatch)
    look = signals.read_over_ssh("box")
    assert look.problem is not None
    assert problem in look.problem
    assert judge([look], window_s=60).state == "unknown"


def test_a_box_that_does_not_answer_in_time_is_unknown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ssh(tmp_path / "bin", "exec sleep 600", monkeypatch)
    look = signals.read_over_ssh("box", timeout_s=0.05)
    assert look.problem == "box did not answer within 0.05 s"


def test_a_machine_without_ssh_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    look = signals.read_over_ssh("box")
    assert look.problem == "ssh cannot be run: No such file or directory"


@pytest.mark.parametrize("host", ["", "-oProxyCommand=touch bad", "a b", "a;b", "box\n"])
def test_a_host_that_could_be_an_option_is_refused(host: str) -> None:
    with pytest.raises(InputError):
        signals.read_over_ssh(host)


@pytest.mark.parametrize("target", ["box", "box:", ":/runs", "-x:/runs"])
def test_a_target_without_host_or_folder_is_refused(target: str) -> None:
    with pytest.raises(InputError):
        probe.split_target(target)


def test_the_script_carries_the_readers_and_never_a_name_in_plain() -> None:
    text = probe.script(["/runs/secret-name"])
    assert text.count("secret-name") == 1  # in the part for boxes without Python, quoted
    assert json.dumps("/runs/secret-name") in text
