"""Starts the interpreter that will train: to try torch in it, and to ask its pip.

In a process of its own, so that costplan needs no torch and a kernel that crashes is an answer.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from costplan.records.checks import DeviceFacts, KernelTry, TorchFacts

if TYPE_CHECKING:
    from collections.abc import Sequence

MARK: Final = "costplan-torch-1 "
"""As `torchcheck.MARK`, which is another program's."""
TORCH_TIMEOUT_S: Final = 180.0
"""Importing torch from a slow disk takes half a minute; a GPU that hangs never ends."""
PIP_TIMEOUT_S: Final = 600.0
"""To tell the dependencies of what has no metadata of its own, pip downloads it."""
SHORT: Final = 300
PIP: Final = ("-m", "pip", "install", "--dry-run", "--quiet", "--no-input",
              "--disable-pip-version-check", "--report", "-")  # fmt: skip
INSTALLED: Final = """\
import importlib.util, json, os, runpy
found = importlib.util.find_spec("torch")
told = {}
if found is not None and found.origin:
    told = runpy.run_path(os.path.join(os.path.dirname(found.origin), "version.py"))
print("@MARK@" + json.dumps({"version": told.get("__version__"), "cuda": told.get("cuda")}))
""".replace("@MARK@", MARK)
"""Tells which torch is there without importing it."""


class _Ended(Exception):  # noqa: N818 - it is no error of this program
    """Why an interpreter gave no whole answer; `output` is what it had said."""

    def __init__(self, why: str, output: str = "") -> None:
        super().__init__(why)
        self.output = output


def default() -> str:
    """Return the interpreter that `python` starts, or this one."""
    return shutil.which("python") or sys.executable


def tried(python: str, *, timeout_s: float = TORCH_TIMEOUT_S) -> TorchFacts:
    """Return what torch in an interpreter is and which kernels ran."""
    source = Path(__file__).with_name("torchcheck.py").read_text("utf-8")
    why = None
    try:
        output = _run([python, "-c", source], timeout_s)
    except _Ended as ended:
        output, why = ended.output, str(ended)
    return told(python, output, why)


def told(python: str, output: str, why: str | None) -> TorchFacts:
    """Return the facts in the marked lines; `why` says how the process ended before its time."""
    lines = _marked(output)
    if not lines:
        return TorchFacts(python=python, problem=why or "it told nothing that can be read")
    by_kind: dict[str, list[dict[str, Any]]] = {}
    for line in lines:
        by_kind.setdefault(line.pop("kind", ""), []).append(line)
    facts: dict[str, Any] = {}
    if "end" not in by_kind:
        step = by_kind["begin"][-1]["step"] if "begin" in by_kind else "its start"
        facts["crashed"] = f"{why or 'it ended too early'}, at: {step}"
    if "missing" in by_kind:
        facts["installed"] = False
    elif "torch" in by_kind:
        facts.update(by_kind["torch"][0], installed=True)
    if "broken" in by_kind:
        facts.update(installed=True, broken=by_kind["broken"][0]["why"])
    return TorchFacts(
        python=python,
        devices=tuple(DeviceFacts(**each) for each in by_kind.get("device", ())),
        tries=tuple(KernelTry(**each) for each in by_kind.get("kernel", ())),
        **facts,
    )


def installed(python: str) -> tuple[str | None, str | None, str | None]:
    """Return version and CUDA of the torch in an interpreter, and why neither is known."""
    try:
        lines = _marked(_run([python, "-c", INSTALLED], TORCH_TIMEOUT_S))
    except _Ended as ended:
        return None, None, str(ended)
    if not lines:
        return None, None, "it told nothing that can be read"
    return lines[0]["version"], lines[0]["cuda"], None


def report(python: str, words: Sequence[str]) -> tuple[str | None, str | None]:
    """Return pip's report of an install that does not happen, or None and why there is none."""
    try:
        return _run([python, *PIP, *words], PIP_TIMEOUT_S), None
    except _Ended as ended:
        return None, f"pip: {ended}"


def _marked(output: str) -> list[dict[str, Any]]:
    """Return the marked lines, which stand among whatever else a program prints."""
    found = []
    for line in output.splitlines():
        if line.startswith(MARK):
            try:
                found.append(json.loads(line[len(MARK) :]))
            except ValueError:  # cut off by a crash
                continue
    return [each for each in found if isinstance(each, dict)]


def _run(command: Sequence[str], timeout_s: float) -> str:
    """Return what a program prints.

    Raises:
        _Ended: It could not be run, took too long, was killed or failed.
    """
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            timeout=timeout_s,
            check=False,
            stdin=subprocess.DEVNULL,
            env={**os.environ, "PYTHONUNBUFFERED": "1", "PYTHONIOENCODING": "utf-8"},
        )
    except subprocess.TimeoutExpired as late:
        raise _Ended(f"no end within {timeout_s:g} s", _decoded(late.stdout)) from None
    except OSError as error:
        raise _Ended(f"{command[0]} cannot be run: {error.strerror}") from None
    output = _decoded(done.stdout)
    if done.returncode < 0:
        raise _Ended(f"killed by {_signal(-done.returncode)}", output)
    if done.returncode:
        said = _decoded(done.stderr).strip().splitlines() or ["no reason given"]
        errors = [line for line in said if line.startswith("ERROR")] or said[-1:]
        raise _Ended(f"ended with {done.returncode}: {errors[-1][:SHORT]}", output)
    return output


def _decoded(data: bytes | None) -> str:
    return (data or b"").decode("utf-8", "replace")


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
