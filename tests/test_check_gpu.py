"""`scripts/check-gpu` without a GPU: what it says then, that its loops run, and how it judges."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]
sys.path.append(str(ROOT / "bench"))
gpu_cases = importlib.import_module("gpu_cases")
BY_KIND = {case.kind: case for case in gpu_cases.CASES}


def checked(*words: str, torch: Path | None = None) -> subprocess.CompletedProcess[str]:
    path = [] if torch is None else [f"import sys; sys.path.insert(0, {str(torch)!r})"]
    text = "\n".join(
        [*path, "import runpy, sys", f"sys.argv = ['check-gpu', *{list(words)!r}]",
         f"runpy.run_path({str(ROOT / 'scripts' / 'check-gpu')!r}, run_name='__main__')"]
    )  # fmt: skip
    return subprocess.run(
        [sys.executable, "-W", "ignore", "-c", text], capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize(
    ("package", "said"),
    [
        ("raise ImportError('no such file')", "no torch: no such file"),
        ("__version__ = '2.11.0+cpu'\nclass cuda:\n    is_available = staticmethod(lambda: False)",
         "torch 2.11.0+cpu finds no CUDA device"),
    ],
)  # fmt: skip
def test_without_cuda_nothing_is_checked_and_that_is_said(
    tmp_path: Path, package: str, said: str
) -> None:
    (tmp_path / "torch.py").write_text(package)
    done = checked(torch=tmp_path)
    assert done.returncode == 3
    assert (done.stdout, done.stderr) == ("", f"check-gpu: {said}: nothing was checked\n")


def test_help_names_the_step_that_prepares_a_machine_without_a_network() -> None:
    done = checked("--help")
    assert done.returncode == 0
    assert "--carry" in done.stdout


@pytest.mark.torch
@pytest.mark.slow
@pytest.mark.parametrize("kind", BY_KIND)
def test_each_loop_runs_where_there_is_no_gpu(tmp_path: Path, kind: str) -> None:
    pytest.importorskip("torch")
    (tmp_path / "loop.py").write_text(gpu_cases.LOOP)
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "loop.py", kind, "3"],
        cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def body(verdict: str, step_s: float, **more: Any) -> dict[str, Any]:
    """Return a profile as `--format json` prints it, as far as the cases read it."""
    return {
        "verdict": verdict, "cause": None, "step_s": {"expected": step_s}, "what_if": [],
        "notices": [], "peak_memory_gb": None, "program_exit_code": 0, "blocked_s": 0.010,
        "trace": {"busy_share": 0.8, "step_s": 0.025, "launches_per_step": 3011.0,
                  "kernel_classes": [{"name": "other"}]},
        "details": {"evidence": [{"name": "busy", "value": "99 %"}]}, **more,
    }  # fmt: skip


FREE = [{"change": "a loader that costs nothing", "step_s": 0.002}]
ROOM = ["no double batch could be made: it would need 90.0 GB"]
CLIFF = ["twice the batch does not fit: out of memory"]
SYNCS = "synchronising calls"
COPY = "host-to-device copy"
THERE = [{"change": "a batch that is on the device already", "step_s": 0.019}]
BLIND = ["the tracer saw no work of the GPU (no kernels)"]
EMPTY = {"busy_share": None}
SHORT = {"busy_share": 0.6, "step_s": 0.025, "launches_per_step": 9.0, "kernel_classes": []}


@pytest.mark.parametrize(
    ("kind", "good", "bad"),
    [
        ("gpu", body("gpu", 0.0229), body("gpu", 0.0231)),  # 20 ms and 15 %
        ("gpu", body("gpu", 0.02), body("gpu", 0.02, trace=SHORT)),
        ("gpu", body("gpu", 0.02, trace=None, notices=BLIND), body("gpu", 0.02, trace=None)),
        ("gpu", body("gpu", 0.02, trace=None, notices=["no trace was made: denied"]),
         body("gpu", 0.02, trace=None, notices=["left out for lack of time: a trace"])),
        ("launch", body("host", 0.01, cause="launches"), body("host", 0.01)),
        ("launch", body("host", 0.01, trace=EMPTY, notices=BLIND), body("host", 0.01, trace=EMPTY)),
        ("gpu", body("gpu", 0.0171), body("host", 0.0171)),
        ("launch", body("host", 0.01, cause="launches"), body("gpu", 0.01, cause="launches")),
        ("sync", body("host", 0.025, cause=SYNCS), body("host", 0.025)),
        ("sync", body("mixed", 0.025, cause=SYNCS), body("gpu", 0.025, cause=SYNCS)),
        ("sync", body("host", 0.025, cause=SYNCS),
         body("host", 0.025, cause=SYNCS, blocked_s=0.008)),
        ("sync", body("host", 0.025, cause=SYNCS),
         body("host", 0.025, cause=SYNCS, blocked_s=None)),
        ("loader", body("dataloader", 0.034, what_if=FREE), body("dataloader", 0.034)),
        ("loader", body("dataloader", 0.034, what_if=FREE), body("gpu", 0.034, what_if=FREE)),
        ("copy", body("dataloader", 0.04, cause=COPY, what_if=THERE),
         body("dataloader", 0.04, what_if=THERE)),
        ("copy", body("dataloader", 0.04, cause=COPY, what_if=THERE),
         body("dataloader", 0.04, cause=COPY)),
        ("room", body("gpu", 0.02, notices=ROOM), body("gpu", 0.02)),
        ("room", body("gpu", 0.02, notices=ROOM),
         body("gpu", 0.02, notices=ROOM, program_exit_code=1)),
        ("cliff", body("gpu", 0.02, notices=CLIFF, program_exit_code=None),
         body("gpu", 0.02, notices=CLIFF, program_exit_code=1)),
    ],
)  # fmt: skip
def test_a_case_passes_on_its_bottleneck_alone(
    kind: str, good: dict[str, Any], bad: dict[str, Any]
) -> None:
    case = BY_KIND[kind]
    assert case.passes(good) is True
    assert case.passes(bad) is False
    assert case.figures(good)
