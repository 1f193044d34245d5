"""One look at this machine: real processes, a real process table, drivers that are made up."""

from __future__ import annotations

import subprocess
import sys
import types
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from costplan.box import gpus, processes, signals
from costplan.records.signals import ProcessSeen, Snapshot

if TYPE_CHECKING:
    from collections.abc import Iterator

SLEEP = [sys.executable, "-c", "import time; time.sleep(600)", "--token=secret"]


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(SLEEP) as started:
        yield started
        started.kill()


def table() -> dict[int, ProcessSeen]:
    machine = signals.read().machine
    assert machine is not None
    return {each.pid: each for each in machine.processes or ()}


def nvidia_smi(folder: Path, script: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Put a driver's program of that script first on the path, and no library."""
    program = folder / "nvidia-smi"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    monkeypatch.setitem(sys.modules, "pynvml", None)


# --- processes ----------------------------------------------------------------------------------


def test_a_process_is_seen_by_number_name_and_start_and_not_by_its_arguments(
    sleeper: subprocess.Popen[bytes],
) -> None:
    look = signals.read()
    assert look.clock is not None
    assert look.machine is not None
    (found,) = [each for each in look.machine.processes or () if each.pid == sleeper.pid]
    assert "python" in found.name
    assert abs(found.started_at_s - look.clock.wall_s) < 600
    assert "secret" not in look.model_dump_json()


def test_a_process_that_ended_is_gone_once_it_is_waited_for(
    sleeper: subprocess.Popen[bytes],
) -> None:
    sleeper.kill()
    sleeper.wait()
    assert sleeper.pid not in table()


def test_a_module_and_a_script_are_known_by_their_last_name(tmp_path: Path) -> None:
    words = {
        b"python3\0-m\0pip\0install\0x": "pip",
        b"python3\0-u\0/usr/bin/hf\0download": "hf",
        b"python3\0-m\0ipykernel_launcher\0-f\0x.json": "ipykernel_launcher",
        b"python3\0-c\0print": None,
        b"python3": None,
    }
    for text, name in words.items():
        (tmp_path / "cmdline").write_bytes(text)
        assert processes.program(tmp_path) == name


def fake_proc(root: Path, pid: int, name: str, parent: int = 0, state: str = "S") -> None:
    (root / str(pid)).mkdir(parents=True)
    rest = f"{parent} 1 1 34816 1 0 0 0 0 0 100 50 25 25 20 0 1 0 5000 0 0"
    (root / str(pid) / "stat").write_text(f"{pid} ({name}) {state} {rest}")
    (root / str(pid) / "cmdline").write_text("" if parent == 2 or pid == 2 else name)


def test_names_with_brackets_zombies_and_terminals_are_read_right(tmp_path: Path) -> None:
    fake_proc(tmp_path, 1, "init")
    fake_proc(tmp_path, 7, "a) R (b", 1, "Z")
    found = {each["pid"]: each for each in processes.table(tmp_path) or ()}
    assert (found[7]["name"], found[7]["zombie"], found[7]["on_terminal"]) == (
        "a) R (b",
        True,
        True,
    )
    assert (found[7]["parent_pid"], found[1]["zombie"]) == (1, False)
    assert found[7]["cpu_s"] > 0


def test_threads_of_the_kernel_are_left_out(tmp_path: Path) -> None:
    fake_proc(tmp_path, 1, "init")
    fake_proc(tmp_path, 2, "kthreadd")
    fake_proc(tmp_path, 3, "kworker", 2)
    assert [each["pid"] for each in processes.table(tmp_path) or ()] == [1]


def test_a_table_that_hides_other_people_is_no_table(tmp_path: Path) -> None:
    fake_proc(tmp_path, 7, "mine")
    assert processes.table(tmp_path) is None
    assert processes.table(tmp_path / "none") is None


# --- counters -----------------------------------------------------------------------------------


def test_loopback_is_no_network(tmp_path: Path) -> None:
    (tmp_path / "net").mkdir()
    row = "{}: {} 0 0 0 0 0 0 0 {} 0 0 0 0 0 0 0\n"
    text = "head\nhead\n" + row.format("lo", 900, 900) + row.format("eth0", 30, 4)
    (tmp_path / "net/dev").write_text(text)
    assert processes.network_bytes(tmp_path) == 34
    (tmp_path / "net/dev").write_text("head\nhead\nnonsense\n")
    assert processes.network_bytes(tmp_path) is None


def test_the_disk_of_the_run_is_read(tmp_path: Path) -> None:
    used, total = processes.disk(tmp_path)
    assert used is not None
    assert total is not None
    assert 0 < used <= total
    assert processes.disk(tmp_path / "none") == (None, None)


def test_a_box_without_a_login_list_has_unknown_logins(tmp_path: Path) -> None:
    assert processes.logins(tmp_path / "utmp") is None
    (tmp_path / "utmp").touch()
    assert processes.logins(tmp_path / "utmp") is None


def test_two_looks_share_a_boot_and_time_goes_on() -> None:
    first, second = signals.read().clock, signals.read().clock
    assert first is not None
    assert second is not None
    assert first.boot_id == second.boot_id
    assert first.uptime_s < second.uptime_s


# --- GPUs ---------------------------------------------------------------------------------------

TWO = r"""
case "$1" in
--query-gpu=*)
  echo '0, GPU-a, NVIDIA L4, 97, 2000, 23034, 70.5, 72.0'
  echo '1, GPU-b, NVIDIA L4, [N/A], [Not Supported], 23034, ERR!, 72.0' ;;
*) echo 'GPU-a, 812' ; echo 'GPU-a, 813' ;;
esac"""


def test_each_gpu_is_listed_and_what_the_driver_does_not_know_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nvidia_smi(tmp_path, TWO, monkeypatch)
    found, problem = gpus.seen()
    assert problem is None
    assert found is not None
    assert found[0] == {
        **{"index": 0, "name": "NVIDIA L4", "util_percent": 97.0, "memory_used_mb": 2000.0},
        **{"memory_total_mb": 23034.0, "power_watts": 70.5, "power_limit_watts": 72.0},
        "pids": [812, 813],
    }
    assert (found[1]["util_percent"], found[1]["power_watts"], found[1]["pids"]) == (None, None, [])
    assert found[1]["memory_used_mb"] is None


@pytest.mark.parametrize(
    ("script", "problem"),
    [
        ("echo 'Failed to initialize NVML: Driver mismatch'; exit 18", "ended with 18: Failed"),
        ("echo 'a new format'", "in a form that is not known"),
        ("exit 6", "ended with 6: no reason given"),
    ],
)
def test_a_driver_that_fails_is_a_problem_and_never_an_idle_gpu(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, problem: str
) -> None:
    nvidia_smi(tmp_path, script, monkeypatch)
    found, said = gpus.seen()
    assert found is None
    assert said is not None
    assert problem in said
    machine = signals.read().machine
    assert machine is not None
    assert said in machine.problems


def test_a_driver_that_hangs_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nvidia_smi(tmp_path, "exec sleep 600", monkeypatch)
    monkeypatch.setattr(gpus, "TIMEOUT_S", 0.05)
    assert gpus.seen() == (None, "nvidia-smi did not answer within 0.05 s")


def test_a_box_without_a_driver_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setitem(sys.modules, "pynvml", None)
    assert gpus.seen() == (None, "nvidia-smi cannot be run")


class Refused(Exception):  # noqa: N818
    """What the made-up library raises."""


def library(*, count: int = 1, power: bool = True) -> Any:
    """Return a module that looks like nvidia-ml-py over GPUs at 40 %."""

    def watts(_: int) -> int:
        if not power:
            raise Refused
        return 61_000

    made: Any = types.ModuleType("pynvml")
    made.NVMLError = Refused
    made.nvmlInit = made.nvmlShutdown = lambda: None
    made.nvmlDeviceGetCount = lambda: count
    made.nvmlDeviceGetHandleByIndex = lambda index: index
    made.nvmlDeviceGetName = lambda _: b"NVIDIA T4"
    made.nvmlDeviceGetUtilizationRates = lambda _: types.SimpleNamespace(gpu=40)
    made.nvmlDeviceGetMemoryInfo = lambda _: types.SimpleNamespace(used=2**21, total=2**34)
    made.nvmlDeviceGetPowerUsage = made.nvmlDeviceGetEnforcedPowerLimit = watts
    made.nvmlDeviceGetComputeRunningProcesses = lambda _: [types.SimpleNamespace(pid=5)]
    return made


def test_the_library_is_asked_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", library(count=2))
    found, problem = gpus.seen()
    assert (problem, len(found or ())) == (None, 2)
    assert found is not None
    assert found[1] == {
        **{"index": 1, "name": "NVIDIA T4", "util_percent": 40.0, "memory_used_mb": 2.0},
        **{"memory_total_mb": 16384.0, "power_watts": 61.0, "power_limit_watts": 61.0},
        "pids": [5],
    }


def test_what_the_library_refuses_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", library(power=False))
    found, _ = gpus.seen()
    assert found is not None
    assert (found[0]["power_watts"], found[0]["util_percent"]) == (None, 40.0)


def test_no_gpu_at_all_is_an_empty_list(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", library(count=0))
    machine = signals.read().machine
    assert machine is not None
    assert machine.gpus == ()


def test_a_library_without_a_driver_leaves_it_to_the_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nvidia_smi(tmp_path, TWO, monkeypatch)

    def refuse() -> None:
        raise Refused

    made = library()
    made.nvmlInit = refuse
    monkeypatch.setitem(sys.modules, "pynvml", made)
    assert len(gpus.seen()[0] or ()) == 2


# --- what comes back ----------------------------------------------------------------------------


def test_a_snapshot_survives_being_saved() -> None:
    look = signals.read()
    assert Snapshot.model_validate_json(look.model_dump_json(), strict=True) == look


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"clock": {"wall_s": "1"}}', '{"clock": NaN}'])
def test_an_answer_of_another_form_is_a_failed_look(text: str) -> None:
    look = signals.understood(text)
    assert look.problem is not None
    assert "another form" in look.problem


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"size_bytes": 7', f'"size_bytes": {10**400}'),
        ('"network_bytes": 7', f'"network_bytes": {10**400}'),
        ('"disk_used_bytes": 7', f'"disk_used_bytes": {10**400}'),
        ('"changed_at_s": 7', '"changed_at_s": -1e308'),
        ('"wall_s": 7', '"wall_s": 1e308'),
    ],
)
def test_a_box_that_counts_further_than_any_disk_or_clock_cannot_be_read(
    old: str, new: str
) -> None:
    """Another person's machine must not end the guard with a figure that overflows."""
    text = (
        '{"clock": {"wall_s": 7, "uptime_s": 7}, '
        '"machine": {"network_bytes": 7, "disk_used_bytes": 7}, "folders": [{"path": "r", '
        '"files": [{"path": "a.log", "size_bytes": 7, "changed_at_s": 7}]}]}'
    )
    assert signals.understood(text).problem is None
    assert old in text
    problem = signals.understood(text.replace(old, new)).problem
    assert problem is not None
    assert problem.startswith("the box answered in another form")
