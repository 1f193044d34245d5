"""What a `pip install` would do to the torch that is there, read from pip's own report.

The report is the one of pip 22.2 and newer, in its form 1 (pip's manual, Installation Report).
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Final, NamedTuple

from costplan.records.checks import CheckLine
from costplan.wheels import LEAST_DRIVER, major

if TYPE_CHECKING:
    from costplan.records.checks import InstallFacts

FORM: Final = "1"
CUDA_PARTS: Final = re.compile(
    r"(?:nvidia-(?:cublas|cuda-runtime|cudnn)(?:-cu(?P<suffix>\d\d))?"
    r"|cuda-toolkit(?:\[[^\]]*\])?\s*==\s*(?P<toolkit>\d+))",
    re.IGNORECASE,
)
"""Requirements that only builds for CUDA have; their names or versions tell which."""
LABEL: Final = re.compile(r"\+(?:cu(?P<cuda>\d\d)\d*|(?P<cpu>cpu)|(?P<rocm>rocm)[\d.]*)")
FIRST_REQUIRING: Final = (1, 13)
"""Release of torch from which its builds for CUDA require their parts by name (its metadata on
PyPI: 1.12 requires only typing-extensions)."""


class Planned(NamedTuple):
    """The torch that pip would install."""

    version: str
    kind: str
    """`cuda`, `rocm`, `cpu`, or `unknown`."""
    cuda_major: int | None


class Report(NamedTuple):
    """What pip says, or why it cannot be read."""

    torch: Planned | None
    problem: str | None


def line(facts: InstallFacts) -> CheckLine:
    """Return what an install would do to torch."""
    name = "install"
    if facts.report is None:
        return CheckLine(name=name, level="unknown", says=facts.problem or "pip told nothing")
    report = read(facts.report)
    if report.problem is not None:
        return CheckLine(name=name, level="unknown", says=report.problem)
    there = "no torch" if facts.torch_version is None else f"torch {facts.torch_version}"
    if report.torch is None:
        says = f"pip install {facts.words} leaves {there} as it is"
        return CheckLine(name=name, level="ok", says=says)
    new = report.torch
    says = f"pip install {facts.words} puts torch {new.version} ({_kind(new)}) in place of {there}"
    lost = new.kind == "cpu" and (
        facts.torch_cuda is not None or (facts.torch_version is None and facts.gpu_present)
    )
    if lost:
        return CheckLine(name=name, level="fail", says=says, todo=_keep(facts), fault="setup")
    return _changed(facts, new, says)


def _changed(facts: InstallFacts, new: Planned, says: str) -> CheckLine:
    branch, oldest = major(facts.driver), LEAST_DRIVER.get(new.cuda_major or 0)
    if branch is not None and oldest is not None and branch < oldest:
        says += f", which asks for driver {oldest} or newer; here is {facts.driver}"
        return CheckLine(name="install", level="fail", says=says, todo=_keep(facts), fault="setup")
    if facts.torch_version is None:
        level = "ok" if new.kind in ("cuda", "rocm") or not facts.gpu_present else "warn"
    else:
        level = "ok" if new.version == facts.torch_version and new.kind != "unknown" else "warn"
    if level == "ok":
        return CheckLine(name="install", level="ok", says=says)
    todo = f"run `costplan check` again afterwards, or keep it: {_keep(facts)}"
    return CheckLine(name="install", level="warn", says=says, todo=todo)


def _keep(facts: InstallFacts) -> str:
    if facts.torch_version is None:
        return "install a build of torch for CUDA first (see `costplan check`)"
    pin = f"torch=={facts.torch_version}"
    return f"pin it: echo '{pin}' > keep.txt; pip install -c keep.txt {facts.words}"


def _kind(new: Planned) -> str:
    if new.kind == "cuda":
        return "CUDA" if new.cuda_major is None else f"CUDA {new.cuda_major}"
    return {"cpu": "processor only", "rocm": "ROCm"}.get(new.kind, "nobody tells for what")


def read(text: str) -> Report:
    """Return the torch in a report, None where the install leaves it alone."""
    try:
        report = json.loads(text)
    except (ValueError, RecursionError):
        return Report(None, "pip's report is not JSON")
    if not isinstance(report, dict) or report.get("version") != FORM:
        return Report(None, f"pip's report is not of form {FORM}: a newer or older pip")
    items = report.get("install")
    if not isinstance(items, list):
        return Report(None, "pip's report has no list of what it would install")
    for item in items:
        meta = item.get("metadata") if isinstance(item, dict) else None
        if not isinstance(meta, dict) or not isinstance(meta.get("name"), str):
            return Report(None, "pip's report names something without its metadata")
        if meta["name"].lower() == "torch":
            return Report(_planned(item, meta), None)
    return Report(None, None)


def _planned(item: dict[str, object], meta: dict[str, object]) -> Planned:
    """Return a planned torch: its version says for what it is built, or what it requires does."""
    version = str(meta.get("version") or "of unknown version")
    label = LABEL.search(version)
    if label is not None:
        kind = "cpu" if label["cpu"] else "rocm" if label["rocm"] else "cuda"
        return Planned(version, kind, int(label["cuda"]) if label["cuda"] else None)
    needed = meta.get("requires_dist")
    if not isinstance(needed, list):
        return Planned(version, "unknown", None)
    found = [part for each in needed if (part := CUDA_PARTS.match(str(each)))]
    if not found:
        return Planned(version, "unknown" if _bundles(version) else "cpu", None)
    numbers = [int(part["suffix"] or part["toolkit"]) for part in found
               if part["suffix"] or part["toolkit"]]  # fmt: skip
    return Planned(version, "cuda", max(numbers, default=None))


def _bundles(version: str) -> bool:
    """Return whether a build may bring CUDA along without requiring it: all before 1.13 did."""
    numbers = re.match(r"(\d+)\.(\d+)", version)
    return numbers is None or (int(numbers[1]), int(numbers[2])) < FIRST_REQUIRING
