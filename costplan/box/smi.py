"""Asks `nvidia-smi` what a GPU is and what holds it back, one group of questions at a time.

Old drivers refuse a whole question for one field that they do not know, so a group that fails
leaves only its own figures unknown.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from costplan.box import gpus

if TYPE_CHECKING:
    from collections.abc import Sequence

BASE: Final = {
    "index": "index",
    "name": "name",
    "driver": "driver_version",
    "memory_total_mb": "memory.total",
    "memory_used_mb": "memory.used",
    "util_percent": "utilization.gpu",
}
MORE: Final = (
    {"compute_capability": "compute_cap"},
    {
        "pcie_width": "pcie.link.width.current",
        "pcie_width_max": "pcie.link.width.max",
        "pcie_gen_max": "pcie.link.gen.max",
    },
    {"power_limit_watts": "power.limit", "power_default_watts": "power.default_limit"},
    {"clock_max_mhz": "clocks.max.sm"},
    {
        "clock_set_mhz": "clocks.applications.graphics",
        "clock_default_mhz": "clocks.default_applications.graphics",
    },
)
BRAKES: Final = {
    "clocks_throttle_reasons.hw_thermal_slowdown": "heat",
    "clocks_throttle_reasons.hw_power_brake_slowdown": "the power supply",
    "clocks_throttle_reasons.hw_slowdown": "the hardware",
}
TEXTS: Final = {"name", "driver", "compute_capability"}
COUNTS: Final = {"index", "pcie_width", "pcie_width_max", "pcie_gen_max"}


def seen() -> tuple[list[dict[str, Any]] | None, str | None]:
    """Return the GPUs as `GpuFacts` describes them, or None and why nobody can say."""
    rows, problem = asked(list(BASE.values()))
    if rows is None:
        return None, problem
    if any(not row[0].isdigit() for row in rows):
        return None, "nvidia-smi answered in a form that is not known"
    found = [{key: cell(key, text) for key, text in zip(BASE, row, strict=True)} for row in rows]
    for group in MORE:
        _add(found, group)
    _add_brakes(found)
    return found, None


def asked(fields: Sequence[str]) -> tuple[list[list[str]] | None, str | None]:
    """Return a row for each GPU, or None and the problem."""
    query = ["nvidia-smi", f"--query-gpu={','.join(fields)}", "--format=csv,noheader,nounits"]
    rows, problem = gpus.table(query)
    if rows is not None and any(len(row) != len(fields) for row in rows):
        return None, "nvidia-smi answered in a form that is not known"
    return rows, problem


def _add(found: list[dict[str, Any]], group: dict[str, str]) -> None:
    rows, _ = asked(list(group.values()))
    if rows is None or len(rows) != len(found):
        return
    for gpu, row in zip(found, rows, strict=True):
        gpu.update({key: cell(key, text) for key, text in zip(group, row, strict=True)})


def _add_brakes(found: list[dict[str, Any]]) -> None:
    rows, _ = asked(list(BRAKES))
    if rows is None or len(rows) != len(found):
        return
    for gpu, row in zip(found, rows, strict=True):
        if all(text in ("Active", "Not Active") for text in row):
            names = zip(BRAKES.values(), row, strict=True)
            gpu["slowed_by"] = [name for name, text in names if text == "Active"]


def cell(key: str, text: str) -> str | int | float | None:
    """Return a cell as its field wants it; `[N/A]` and its kind are None."""
    if key in TEXTS:
        return None if text.startswith("[") or not text else text
    number = gpus.figure(text)
    return None if number is None else int(number) if key in COUNTS else number
