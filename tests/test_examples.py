"""The examples that act: what the state command of vast.ai says."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from costplan.box.actions import read_state

SCRIPT = Path(__file__).resolve().parents[1] / "examples" / "vast_state.py"


def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, printed: str, code: int = 0) -> object:
    """Return what costplan reads where `vastai` prints this."""
    program = tmp_path / "vastai"
    (tmp_path / "printed").write_text(printed)
    program.write_text(f'#!/bin/sh\ncat "{tmp_path}/printed"\nexit {code}\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    return read_state((sys.executable, str(SCRIPT), "{id}"), "7")[0]


@pytest.mark.parametrize(
    ("actual", "intended", "state"),
    [
        ("running", "running", "running"),
        ("running", "stopped", "running"),  # asked for, not there yet
        ("exited", "stopped", "stopped"),
        ("stopped", "stopped", "stopped"),
        ("exited", "running", None),  # it ended by itself, and may start again
        ("loading", "running", None),
        ("offline", "running", None),
        (None, "running", None),
    ],
)
def test_each_state_of_an_instance_is_one_of_three_or_unknown(
    actual: str | None, intended: str, state: str | None,
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    mine = {"id": 7, "actual_status": actual, "intended_status": intended}
    other = {"id": 77, "actual_status": "running", "intended_status": "running"}
    assert asked(tmp_path, monkeypatch, json.dumps([other, mine])) == state


def test_an_instance_that_is_not_in_the_list_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = [{"id": 77, "actual_status": "running", "intended_status": "running"}]
    assert asked(tmp_path, monkeypatch, json.dumps(other)) == "gone"
    assert asked(tmp_path, monkeypatch, "[]") == "gone"


@pytest.mark.parametrize("printed", ["", "{}", "null", "error 401", '{"instances": []}', "[1]"])
def test_anything_else_is_unknown_and_never_gone(
    printed: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert asked(tmp_path, monkeypatch, printed) is None


def test_a_call_that_fails_is_unknown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert asked(tmp_path, monkeypatch, "[]", code=1) is None


def test_the_script_needs_no_costplan() -> None:
    done = subprocess.run(
        [sys.executable, "-I", str(SCRIPT), "7"], capture_output=True, check=False, timeout=30
    )
    assert b"No module named" not in done.stderr
