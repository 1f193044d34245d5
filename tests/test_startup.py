"""What a start loads: help without the heavy libraries, and each library only where it is needed.

Counted in modules, not in seconds: a busy machine must not fail a test.
"""

from __future__ import annotations

import json
import subprocess
import sys
from functools import cache

import pytest

HEAVY = ["httpx", "jsonschema", "numpy", "pydantic", "rich", "torch", "yaml"]

# Runs in one fresh interpreter, from the lightest step to the heaviest, and says after each which
# heavy libraries are there.
STEPS = """
import contextlib, io, json, sys

def run(*words):
    from costplan.cli import main
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(out):
        try:
            main(list(words))
        except SystemExit as end:
            assert not end.code, out.getvalue()
    assert out.getvalue()

def compiled_prices():
    from costplan import catalog
    assert catalog.load(catalog.folder()).entries

WORK = ["estimate", "--set", "throughput={card: T4, seconds_per_epoch: 60}", "--limit", "1"]
steps = {
    "import": lambda: __import__("costplan.cli"),
    "version": lambda: run("--version"),
    "help": lambda: run("--help"),
    "help of estimate": lambda: run("estimate", "--help"),
    "compiled prices": compiled_prices,
    "estimate as JSON": lambda: run(*WORK, "--format", "json"),
    "estimate as table": lambda: run(*WORK),
}
loaded = {}
for name, step in steps.items():
    step()
    loaded[name] = sorted({module.split(".")[0] for module in sys.modules} & set(HEAVY))
print(json.dumps(loaded))
"""


def python(*words: str) -> subprocess.CompletedProcess[str]:
    """Run Python on `words` in a process of its own."""
    return subprocess.run(
        [sys.executable, *words], capture_output=True, text=True, check=True, timeout=60
    )


@cache
def loaded() -> dict[str, list[str]]:
    found: dict[str, list[str]] = json.loads(python("-c", f"HEAVY = {HEAVY}\n{STEPS}").stdout)
    return found


@pytest.mark.parametrize("step", ["import", "version", "help"])
def test_help_needs_no_heavy_library(step: str) -> None:
    assert loaded()[step] == []


def test_the_help_of_a_command_needs_no_library_that_typer_does_not_load_by_itself() -> None:
    # Later typers read the types of options with pydantic.
    assert set(loaded()["help of estimate"]) <= {"pydantic"}


@pytest.mark.parametrize(
    ("step", "libraries"),
    [
        # Fresh compiled prices spare YAML; a job, even one in flags, does not.
        ("compiled prices", ["pydantic"]),
        ("estimate as JSON", ["pydantic", "yaml"]),
        ("estimate as table", ["pydantic", "rich", "yaml"]),
    ],
)
def test_a_step_loads_exactly_what_it_needs(step: str, libraries: list[str]) -> None:
    assert loaded()[step] == libraries


def test_the_program_itself_starts_as_light() -> None:
    done = python("-X", "importtime", "-m", "costplan", "--help")
    assert done.stdout.startswith("Usage: costplan")
    # import time: self [us] | cumulative | imported package
    names = {line.rsplit("|", 1)[1].strip() for line in done.stderr.splitlines() if "|" in line}
    assert "costplan.cli" in names
    assert not {name.split(".")[0] for name in names} & set(HEAVY)
    ours = {name.removeprefix("costplan.") for name in names if name.startswith("costplan.")}
    assert {name.split(".")[0] for name in ours} <= {"__main__", "cli", "errors"}
    assert "cli.asked" not in ours  # what the answer needs is imported for the answer
