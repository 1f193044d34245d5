"""torch in an interpreter of its own: fake ones that fail in each way, and a real one."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest
from faketorch import put

from costplan.box import interpreters, torchcheck
from costplan.records.checks import TorchFacts
from costplan.torchlines import is_right

if TYPE_CHECKING:
    from pathlib import Path

ALL = ["fp32", "tf32", "fp16", "bf16"]


@pytest.fixture(autouse=True)
def _fake(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(put(tmp_path_factory.mktemp("fake"))))


def tried(mode: str, monkeypatch: pytest.MonkeyPatch) -> TorchFacts:
    monkeypatch.setenv("FAKE_TORCH", mode)
    return interpreters.tried(sys.executable)


def test_the_mark_is_that_of_the_program() -> None:
    assert interpreters.MARK == torchcheck.MARK


def test_a_right_build_is_tried_in_every_precision(monkeypatch: pytest.MonkeyPatch) -> None:
    found = tried("right", monkeypatch)
    assert (found.version, found.cuda, found.available) == ("2.5.1+cu124", "12.4", True)
    assert found.arches == ("sm_50", "sm_90")
    assert [each.capability for each in found.devices] == ["12.0"]
    assert [each.precision for each in found.tries] == ALL
    assert all(is_right(each) and each.device == 0 for each in found.tries)
    assert (found.crashed, found.problem, found.broken) == (None, None, None)


def test_every_gpu_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    found = tried("two", monkeypatch)
    assert [each.device for each in found.tries] == [0] * 4 + [1] * 4


def test_a_card_without_tf32_and_bf16_is_not_asked_for_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = tried("turing", monkeypatch)
    assert [each.precision for each in found.tries] == ["fp32", "fp16"]


def test_a_wheel_for_another_architecture_reports_cuda_and_fails(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = tried("no kernel", monkeypatch)
    assert found.available
    assert {each.problem for each in found.tries} == {
        "CUDA error: no kernel image is available for execution on the device"
    }


@pytest.mark.parametrize("mode", ["wrong", "nan"])
def test_a_wrong_result_is_told_from_a_right_one(
    mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = tried(mode, monkeypatch)
    assert [each.precision for each in found.tries if not is_right(each)] == ["fp16"]
    (bad,) = [each for each in found.tries if not is_right(each)]
    assert (bad.problem is None) is (mode == "wrong")


def test_a_build_for_the_processor_is_tried_there(monkeypatch: pytest.MonkeyPatch) -> None:
    found = tried("cpu", monkeypatch)
    assert (found.cuda, found.available) == (None, False)
    assert found.unavailable == "Torch not compiled with CUDA enabled"
    (only,) = found.tries
    assert (only.device, only.precision, is_right(only)) == (None, "fp32", True)


def test_a_driver_that_is_not_there_is_said_in_the_words_of_torch(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = tried("no driver", monkeypatch)
    assert (found.available, found.unavailable) == (False, "Found no NVIDIA driver on your system.")


@pytest.mark.parametrize(
    ("mode", "crashed", "tries"),
    [
        ("killed", "killed by SIGKILL, at: bf16 on GPU 0", 3),
        ("leaves", "ended with 7: no reason given, at: fp16 on GPU 0", 2),
        ("killed at import", "killed by SIGKILL, at: import torch", 0),
    ],
)
def test_a_process_that_is_lost_says_where(
    mode: str, crashed: str, tries: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = tried(mode, monkeypatch)
    assert (found.crashed, len(found.tries)) == (crashed, tries)


def test_a_failure_that_nobody_foresaw_is_one_too(monkeypatch: pytest.MonkeyPatch) -> None:
    found = tried("odd", monkeypatch)
    assert found.crashed == (
        "ended with 1: KeyError: 'not a failure that anybody foresaw', at: bf16 on GPU 0"
    )


@pytest.mark.parametrize(
    ("mode", "why"),
    [
        ("broken", "libcudart.so.12: cannot open shared object file"),
        ("needs numpy", "No module named 'numpy'"),
        ("lost", "CUDA unknown error"),
    ],
)
def test_torch_that_does_not_load_is_broken_and_there(
    mode: str, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = tried(mode, monkeypatch)
    assert (found.installed, found.broken, found.crashed) == (True, why, None)


def test_torch_that_is_not_there_is_no_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # `-S` by another name: an environment's packages must not bring a real torch along.
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    (tmp_path / "sitecustomize.py").write_text(
        "import sys\nsys.path[:] = [p for p in sys.path if 'site-packages' not in p]\n",
        encoding="utf-8",
    )
    found = interpreters.tried(sys.executable)
    assert (found.installed, found.problem, found.crashed) == (False, None, None)
    assert interpreters.installed(sys.executable) == (None, None, None)


def test_a_file_beside_which_one_stands_is_not_torch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "torch.py").write_text("raise SystemExit('the wrong torch')", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert tried("right", monkeypatch).version == "2.5.1+cu124"


def test_an_interpreter_that_cannot_be_run_is_a_problem() -> None:
    found = interpreters.tried("/no/such/python")
    assert found.problem == "/no/such/python cannot be run: No such file or directory"


def test_a_program_that_is_no_python_told_nothing(tmp_path: Path) -> None:
    program = tmp_path / "python"
    program.write_text("#!/bin/sh\necho hello\n", encoding="utf-8")
    program.chmod(0o755)
    assert interpreters.tried(str(program)).problem == "it told nothing that can be read"


def test_a_process_that_hangs_ends_and_says_where(
    tmp_path: Path,
) -> None:
    program = tmp_path / "python"
    line = interpreters.MARK + '{"kind": "begin", "step": "GPU 0"}'
    program.write_text(f"#!/bin/sh\necho '{line}'\nexec sleep 60\n", encoding="utf-8")
    program.chmod(0o755)
    found = interpreters.tried(str(program), timeout_s=0.5)
    assert found.crashed == "no end within 0.5 s, at: GPU 0"


def test_a_line_that_a_crash_cut_off_is_left_out() -> None:
    cut = (
        interpreters.MARK
        + '{"kind": "begin", "step": "import torch"}\n'
        + interpreters.MARK
        + '{"ki'
    )
    assert interpreters.told("python", cut, "killed by SIGSEGV").crashed == (
        "killed by SIGSEGV, at: import torch"
    )


# --- pip ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mode", "expected"),
    [("right", ("2.5.1+cu124", "12.4", None)), ("cpu", ("2.5.1+cpu", None, None)),
     ("killed at import", ("2.5.1+cu124", "12.4", None))],
)  # fmt: skip
def test_the_torch_that_is_there_is_read_without_importing_it(
    mode: str, expected: tuple[str, str | None, str | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_TORCH", mode)
    assert interpreters.installed(sys.executable) == expected


def fake_pip(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    (tmp_path / "pip.py").write_text(text, encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))


def test_pip_is_asked_for_a_report_and_installs_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_pip(tmp_path, monkeypatch, "import sys; print(' '.join(sys.argv[1:]))")
    assert interpreters.report(sys.executable, ["xformers", "--pre"]) == (
        "install --dry-run --quiet --no-input --disable-pip-version-check --report - "
        "xformers --pre\n",
        None,
    )


def test_why_pip_failed_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = (
        "import sys\nprint('ERROR: No matching distribution found for x', file=sys.stderr)\n"
        "print('a word of advice', file=sys.stderr)\nsys.exit(1)"
    )
    fake_pip(tmp_path, monkeypatch, text)
    assert interpreters.report(sys.executable, ["x"]) == (
        None,
        "pip: ended with 1: ERROR: No matching distribution found for x",
    )


def test_the_default_is_the_python_on_the_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert interpreters.default() == sys.executable
    (tmp_path / "python").write_text("", encoding="utf-8")
    (tmp_path / "python").chmod(0o755)
    assert interpreters.default() == str(tmp_path / "python")


# --- a real one ---------------------------------------------------------------------------------


@pytest.mark.torch
def test_a_real_torch_computes_what_it_computes(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch")
    monkeypatch.delenv("PYTHONPATH")
    found = interpreters.tried(sys.executable)
    assert (found.installed, found.crashed, found.broken) == (True, None, None)
    assert found.tries
    assert all(map(is_right, found.tries))
    version, cuda, problem = interpreters.installed(sys.executable)
    assert (version, cuda, problem) == (found.version, found.cuda, None)


@pytest.mark.torch
@pytest.mark.parametrize("precision", ALL)
def test_every_precision_stays_within_its_bound_on_the_processor(precision: str) -> None:
    torch = pytest.importorskip("torch")
    from costplan.torchlines import BOUNDS

    assert torchcheck.off_by(torch, "cpu", precision) <= BOUNDS[precision]
