"""The tracer of a burst: it writes a trace that the reader knows, and breaks nothing."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from costplan.profiler.tracing import trace_facts

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch")
tracer = pytest.importorskip("costplan.profiler.tracer")


def traced(path: Path, *, steps: int) -> Any:
    one = tracer.Tracer(str(path))
    one.start()
    for _ in range(steps):
        (torch.ones(8, 8) @ torch.ones(8, 8)).sum().item()
        if one.step():
            break
    one.stop()
    return one


def test_the_trace_holds_the_steps_after_those_in_which_the_tracer_gets_ready(
    tmp_path: Path,
) -> None:
    one = traced(tmp_path / "1.trace", steps=20)
    assert (one.written, one.problem) == (True, None)
    found = trace_facts(tmp_path / "1.trace")
    assert [each.name for each in found.steps] == [f"ProfilerStep#{n}" for n in range(1, 7)]
    assert found.busy_share is None  # no device in it


def test_of_a_program_that_ends_meanwhile_the_trace_holds_what_there_was(tmp_path: Path) -> None:
    assert traced(tmp_path / "1.trace", steps=4).written
    assert len(trace_facts(tmp_path / "1.trace").steps) == 4  # the last cut off
    one = traced(tmp_path / "2.trace", steps=0)
    assert (one.written, one.problem) == (False, "the program ended before a step was traced")


@pytest.mark.parametrize("waiting", [True, False])
def test_a_program_that_traces_itself_is_left_alone(tmp_path: Path, waiting: bool) -> None:
    schedule = torch.profiler.schedule(wait=99, warmup=1, active=1) if waiting else None
    own = torch.profiler.profile(
        activities=[torch.profiler.ProfilerActivity.CPU], schedule=schedule
    )
    with own:
        one = traced(tmp_path / "1.trace", steps=3)
    assert (one.written, one.problem) == (False, "RuntimeError: the program traces itself")
    assert list(tmp_path.iterdir()) == []
    del own
    assert traced(tmp_path / "1.trace", steps=20).written


@pytest.mark.parametrize("kind", [RuntimeError, UserWarning, LookupError, OSError])
@pytest.mark.parametrize("where", ["export_chrome_trace", "start", "step"])
def test_what_fails_in_the_tracer_stops_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, kind: type[Exception], where: str
) -> None:
    def fails(*_: object, **__: object) -> None:
        raise kind("CUPTI_ERROR\nmore")

    monkeypatch.setattr(torch.profiler.profile, where, fails)
    one = traced(tmp_path / "1.trace", steps=20)
    assert (one.written, one.problem) == (False, f"{kind.__name__}: CUPTI_ERROR")
    assert one.step() is True
    assert not torch.autograd._profiler_enabled()


def test_it_says_nothing_to_a_program_that_takes_warnings_for_errors(tmp_path: Path) -> None:
    text = (
        "import sys, torch\n"
        "from costplan.profiler import tracer\n"
        "one = tracer.Tracer(sys.argv[1]); one.start()\n"
        "while not one.step(): torch.ones(2).sum()\n"
        "one.stop(); assert one.written, one.problem\n"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-W", "ignore:Failed to initialize NumPy", "-c", text,
         str(tmp_path / "1.trace")],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
