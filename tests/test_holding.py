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

HOLDS = """
import json, os
from costplan.profiler.holding import hold
by = os.environ.get("STARTED_BY")
print(json.dumps(hold(None if by is None else int(by))), flush=True)
"""
LAUNCHER = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {HOLDS!r}])"
INNER = f'"{sys.executable}" -c "$0"; echo inner went on'
OUTER = f"/bin/sh -c '{INNER}' \"$0\"; echo outer went on"
ROOT = Path(__file__).resolve().parents[1]


def started(command: list[str], by: int | None) -> subprocess.Popen[str]:
    known = {} if by is None else {"STARTED_BY": str(by)}
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, start_new_session=True, cwd=ROOT,
        env={**os.environ, **known},
    )  # fmt: skip


@pytest.mark.parametrize("code", [HOLDS, LAUNCHER])
def test_every_shell_above_a_program_is_held_and_goes_no_further(code: str) -> None:
    process = started(["/bin/sh", "-c", OUTER, code], os.getpid())
    assert process.stdout is not None
    told = json.loads(process.stdout.readline())
    assert told["held"] == ["sh", "sh"]
    ends_s = time.monotonic() + 20
    while not holding.has_ended(told["waited_for"]) and time.monotonic() < ends_s:
        time.sleep(0.02)
    assert holding.exit_code(told["waited_for"]) == 0
    os.killpg(process.pid, signal.SIGKILL)
    assert process.communicate(timeout=20)[0] == ""


@pytest.mark.parametrize("by", [None, 2**22 + 1])
def test_where_nobody_known_started_it_no_shell_is_held(by: int | None) -> None:
    process = started(["/bin/sh", "-c", OUTER, HOLDS], by)
    told, *rest = process.communicate(timeout=20)[0].splitlines()
    assert json.loads(told) == {"held": [], "waited_for": None}
    assert rest == ["inner went on", "outer went on"]


def test_a_program_that_no_shell_started_holds_nobody() -> None:
    process = started([sys.executable, "-c", HOLDS], os.getpid())
    assert json.loads(process.communicate(timeout=20)[0]) == {"held": [], "waited_for": None}


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
