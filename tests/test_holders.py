"""Training runs of a made process table: who holds a GPU, and whose terminal is ssh's."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from costplan.box import holders, processes

if TYPE_CHECKING:
    from pathlib import Path

    from costplan.records.checks import RunFacts


def process(
    proc: Path, pid: int, name: str, parent: int = 1, *, tty: int = 0, ignored: int = 0,
    opened: str = "", words: str = "", state: str = "S", started: int = 100,
) -> None:  # fmt: skip
    """Write a process as the kernel shows it."""
    folder = proc / str(pid)
    (folder / "fd").mkdir(parents=True)
    fields = [state, parent, 0, 0, tty, 0, 0, 0, 0, 0, 0, 6000, 0, 0, 0, 0, 0, 0, 0, started]
    text = f"{pid} ({name}) {' '.join(map(str, fields))} 0 0\n"
    (folder / "stat").write_text(text, encoding="utf-8")
    (folder / "cmdline").write_text(words.replace(" ", "\0"), encoding="utf-8")
    (folder / "status").write_text(f"Name:\t{name}\nSigIgn:\t{ignored:016x}\n", encoding="utf-8")
    if opened:
        (folder / "fd" / "3").symlink_to(opened)


def one(proc: Path) -> RunFacts:
    runs, problem = holders.runs(proc)
    assert problem is None
    (found,) = runs or []
    return found


def test_a_run_on_a_terminal_of_ssh_is_seen_whole(tmp_path: Path) -> None:
    process(tmp_path, 1, "init", 0)
    process(tmp_path, 10, "sshd")
    process(tmp_path, 11, "bash", 10, tty=5)
    process(tmp_path, 12, "python3", 11, tty=5, opened="/dev/nvidia0", words="python3 /w/train.py")
    found = one(tmp_path)
    assert (found.pid, found.name, found.cpu_s) == (12, "train.py", 60.0)
    assert found.holds_gpu
    assert found.on_terminal
    assert found.under_ssh
    assert not found.ignores_hangup


@pytest.mark.parametrize("keeper", ["tmux: server", "screen", "SCREEN", "zellij", "mosh-server"])
def test_what_keeps_a_terminal_stands_between(tmp_path: Path, keeper: str) -> None:
    process(tmp_path, 1, "init", 0)
    process(tmp_path, 9, "sshd")
    process(tmp_path, 10, keeper, 9)
    process(tmp_path, 12, "python3", 10, tty=5)
    assert not one(tmp_path).under_ssh


def test_nohup_leaves_its_mark(tmp_path: Path) -> None:
    process(tmp_path, 1, "init", 0)
    process(tmp_path, 12, "python3", ignored=0b1)
    assert one(tmp_path).ignores_hangup
    assert not holders.ignores_hangup(tmp_path / "none")
    process(tmp_path, 13, "x", ignored=0b10)  # SIGINT alone
    assert not holders.ignores_hangup(tmp_path / "13")


@pytest.mark.parametrize(
    ("opened", "holds"),
    [
        ("/dev/nvidia0", True),
        ("/dev/nvidia-uvm", True),
        ("/dev/kfd", True),
        ("/dev/nvidiactl", False),  # nvidia-smi and watchers
        ("/dev/null", False),
        ("", False),
    ],
)
def test_who_has_a_gpu_open_holds_it(tmp_path: Path, opened: str, holds: bool) -> None:
    process(tmp_path, 12, "train", opened=opened)
    assert holders.holds_gpu(tmp_path / "12") is holds


def test_only_what_holds_a_gpu_or_interprets_is_looked_at(tmp_path: Path) -> None:
    process(tmp_path, 1, "init", 0)
    process(tmp_path, 11, "bash", tty=5)
    process(tmp_path, 12, "python3", state="Z")
    process(tmp_path, 13, "caffe", opened="/dev/nvidia1")
    assert (one(tmp_path).pid, one(tmp_path).name) == (13, "caffe")


def test_this_program_and_those_above_it_are_left_out(tmp_path: Path) -> None:
    process(tmp_path, 1, "init", 0)
    process(tmp_path, 50_000_000, "python3")  # a notebook that started it
    process(tmp_path, os.getpid(), "python3", 50_000_000)
    assert holders.runs(tmp_path) == ([], None)


def test_a_hidden_table_is_unknown(tmp_path: Path) -> None:
    process(tmp_path, 12, "python3")
    assert holders.runs(tmp_path) == (None, "the process table cannot be read in full")


def test_a_table_that_goes_in_circles_ends(tmp_path: Path) -> None:
    process(tmp_path, 1, "init", 1)
    process(tmp_path, 12, "python3", 13)
    process(tmp_path, 13, "python3", 12)
    runs, _ = holders.runs(tmp_path)
    assert [run.under_ssh for run in runs or []] == [False, False]


def test_the_age_is_that_of_the_first_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "uptime_s", lambda: 500.0)
    assert holders.age_s(tmp_path) is None
    process(tmp_path, 1, "sh", 0, started=200 * os.sysconf("SC_CLK_TCK"))
    assert holders.age_s(tmp_path) == 300.0
