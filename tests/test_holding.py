"""Scripts are held, Python launchers are not, and how a process ended is known."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from costplan.profiler import holding

pytestmark = pytest.mark.skipif(not holding.PROC.exists(), reason="needs /proc")

HOLDS = (
    "import json; from costplan.profiler.holding import hold; print(json.dumps(hold()), flush=True)"
)
LAUNCHER = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {HOLDS!r}])"


def held_by(code: str) -> tuple[dict[str, object], str]:
    """Return what a program under two shells holds, and what the outer one did next."""
    inner = f'"{sys.executable}" -c "$0"; echo inner went on'
    process = subprocess.Popen(
        ["/bin/sh", "-c", f"/bin/sh -c '{inner}' \"$0\"; echo outer went on", code],
        stdout=subprocess.PIPE, text=True, start_new_session=True,
        cwd=Path(__file__).resolve().parents[1],
    )  # fmt: skip
    assert process.stdout is not None
    told = json.loads(process.stdout.readline())
    ends_s = time.monotonic() + 20
    while not holding.has_ended(told["waited_for"]) and time.monotonic() < ends_s:
        time.sleep(0.02)
    assert holding.exit_code(told["waited_for"]) == 0
    os.killpg(process.pid, signal.SIGKILL)
    rest, _ = process.communicate(timeout=20)
    return told, rest


@pytest.mark.parametrize("code", [HOLDS, LAUNCHER])
def test_every_shell_above_a_program_is_held_and_goes_no_further(code: str) -> None:
    told, rest = held_by(code)
    assert told["held"] == ["sh", "sh"]
    assert rest == ""


def test_a_program_that_no_shell_started_holds_nobody() -> None:
    done = subprocess.run(
        [sys.executable, "-c", HOLDS], capture_output=True, text=True, check=True,
        start_new_session=True, cwd=Path(__file__).resolve().parents[1],
    )  # fmt: skip
    assert json.loads(done.stdout) == {"held": [], "waited_for": None}


def test_a_process_that_is_gone_has_ended_and_how_is_not_known() -> None:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    assert holding.has_ended(process.pid)
    assert holding.exit_code(process.pid) is None
    assert not holding.has_ended(os.getpid())


@pytest.mark.parametrize(
    ("code", "exit_code"), [("raise SystemExit(7)", 7), ("import os; os.kill(os.getpid(), 9)", -9)]
)
def test_how_a_process_ended_that_nobody_has_asked_about(code: str, exit_code: int) -> None:
    process = subprocess.Popen([sys.executable, "-c", code])
    ends_s = time.monotonic() + 20
    while not holding.has_ended(process.pid) and time.monotonic() < ends_s:
        time.sleep(0.02)
    assert holding.exit_code(process.pid) == exit_code
    process.wait()
