"""The README's transcripts are what the commands print."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
README = ROOT / "README.md"
_BLOCK = re.compile(r"```console\n\$ (?P<command>[^\n]+)\n(?P<output>.*?)```\n", re.DOTALL)


def _run(command: str) -> str:
    words = shlex.split(command)
    start = {
        "costplan": [sys.executable, "-m", "costplan"],
        "python": [sys.executable],
    }[words[0]]
    kept = {k: v for k, v in os.environ.items() if k not in ("COLUMNS", "COSTPLAN_PRICING")}
    done = subprocess.run(
        [*start, *words[1:]],
        cwd=ROOT,
        env={**kept, "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        check=True,
        stdin=subprocess.DEVNULL,
    )
    return "".join(line.rstrip() + "\n" for line in done.stdout.splitlines())


pytestmark = pytest.mark.slow  # each transcript is a process of its own

BLOCKS = [
    (found["command"], found["output"]) for found in _BLOCK.finditer(README.read_text("utf-8"))
]


def test_the_readme_has_transcripts() -> None:
    assert len(BLOCKS) >= 5


@pytest.mark.parametrize(
    ("command", "output"), BLOCKS, ids=[f"{n}" for n in range(1, len(BLOCKS) + 1)]
)
def test_a_transcript_is_what_the_command_prints(
    command: str, output: str, request: pytest.FixtureRequest
) -> None:
    printed = _run(command)
    if request.config.getoption("--update-golden"):
        text = README.read_text("utf-8")
        old = f"```console\n$ {command}\n{output}```\n"
        README.write_text(text.replace(old, f"```console\n$ {command}\n{printed}```\n"), "utf-8")
        return
    assert printed == output
