"""What a `pip install` would do to torch, from made reports."""

from __future__ import annotations

import json
from typing import Any

import pytest

from costplan import installs
from costplan.records.checks import CheckLine, InstallFacts

LINUX = '; platform_system == "Linux"'


def item(name: str, version: str, requires: list[str] | None = None) -> dict[str, Any]:
    meta: dict[str, Any] = {"name": name, "version": version}
    if requires is not None:
        meta["requires_dist"] = requires
    return {"metadata": meta, "is_direct": False, "requested": False}


def report(*items: object, version: str = "1") -> str:
    return json.dumps({"version": version, "pip_version": "25.0", "install": list(items)})


def line(text: str | None, **fields: Any) -> CheckLine:
    made: dict[str, Any] = {
        "words": "xformers",
        "python": "python",
        "torch_version": "2.5.1+cu124",
        "torch_cuda": "12.4",
        "report": text,
        "gpu_present": True,
        "driver": "570.1",
    }
    return installs.line(InstallFacts(**{**made, **fields}))


def test_a_processor_build_in_place_of_one_for_cuda_is_refused_with_a_pin() -> None:
    assert line(report(item("xformers", "1"), item("torch", "2.9.0+cpu"))) == CheckLine(
        name="install",
        level="fail",
        says="pip install xformers puts torch 2.9.0+cpu (processor only) in place of torch "
        "2.5.1+cu124",
        todo="pin it: echo 'torch==2.5.1+cu124' > keep.txt; pip install -c keep.txt xformers",
        fault="setup",
    )


@pytest.mark.parametrize(
    ("planned", "level"),
    [
        (item("torch", "2.5.1+cu124"), "ok"),  # the same anew
        (item("torch", "2.9.0+cu128"), "warn"),  # another, for CUDA too
        (item("torch", "2.9.0+cu130"), "fail"),  # asks for driver 580
        (item("torch", "2.9.0+rocm6.4"), "warn"),
        (item("Torch", "2.9.0+cpu"), "fail"),
        (item("torch", "2.9.0"), "warn"),  # nothing says for what
        (item("torch", "2.9.0", ["filelock"]), "fail"),  # requires nothing of CUDA
        (item("torch", "1.12.1", ["typing-extensions"]), "warn"),  # brought CUDA along
        (item("torch", "2.9.0", ["filelock", f"nvidia-cublas-cu12==12.8.4.1{LINUX}"]), "warn"),
        (item("torch", "2.11.0", ["cuda-toolkit[cublas,cudart]==13.0.2"]), "fail"),
        (item("torch", "2.11.0", [f"nvidia-cudnn-cu13==9.1{LINUX}"]), "fail"),
        (item("torch", "2.11.0", ["nvidia-cublas==13.1"]), "warn"),  # for CUDA, which nobody tells
    ],
)
def test_the_torch_that_would_come_is_judged_by_its_label_or_its_parts(
    planned: dict[str, Any], level: str
) -> None:
    assert line(report(item("numpy", "2.0"), planned)).level == level


@pytest.mark.parametrize(
    ("driver", "level"), [("580.1", "warn"), ("579.9", "fail"), (None, "warn")]
)
def test_a_newer_cuda_is_compared_with_the_driver(driver: str | None, level: str) -> None:
    assert line(report(item("torch", "2.9.0+cu130")), driver=driver).level == level


def test_an_install_that_leaves_torch_alone_is_in_order() -> None:
    for text in (report(), report(item("torchvision", "1"), item("pytorch-lightning", "2"))):
        found = line(text)
        assert found.level == "ok"
        assert found.says == "pip install xformers leaves torch 2.5.1+cu124 as it is"


@pytest.mark.parametrize(
    ("planned", "present", "level"),
    [
        (item("torch", "2.9.0+cpu"), True, "fail"),
        (item("torch", "2.9.0+cpu"), False, "ok"),
        (item("torch", "2.9.0+cu128"), True, "ok"),
        (item("torch", "2.9.0+cu130"), True, "fail"),
        (item("torch", "2.9.0"), True, "warn"),
        (item("torch", "2.9.0"), False, "ok"),
    ],
)
def test_where_no_torch_is_a_gpu_asks_for_one_with_cuda(
    planned: dict[str, Any], present: bool, level: str
) -> None:
    found = line(report(planned), torch_version=None, torch_cuda=None, gpu_present=present)
    assert found.level == level


def test_a_processor_build_in_place_of_another_is_no_loss() -> None:
    found = line(report(item("torch", "2.9.0+cpu")), torch_version="2.5.1+cpu", torch_cuda=None)
    assert found.level == "warn"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "pip's report is not JSON"),
        ('{"version": "1", "insta', "pip's report is not JSON"),
        ("[" * 100_000, "pip's report is not JSON"),
        ("[]", "pip's report is not of form 1: a newer or older pip"),
        (report(version="0"), "pip's report is not of form 1: a newer or older pip"),
        ('{"version": "1"}', "pip's report has no list of what it would install"),
        (report("torch"), "pip's report names something without its metadata"),
        (report({"metadata": {"name": 7}}), "pip's report names something without its metadata"),
    ],
)
def test_a_report_that_cannot_be_read_is_unknown(text: str, says: str) -> None:
    found = line(text)
    assert (found.level, found.says) == ("unknown", says)


def test_no_report_is_unknown_with_its_reason() -> None:
    found = line(None, problem="pip: ended with 2: no such option: --report")
    assert (found.level, found.says) == ("unknown", "pip: ended with 2: no such option: --report")
    assert line(None).says == "pip told nothing"
