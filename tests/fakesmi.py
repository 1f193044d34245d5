"""An `nvidia-smi` on the path that answers each question field by field."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

GPU: Final = {
    "index": "0",
    "uuid": "GPU-0",
    "name": "NVIDIA GeForce RTX 4090",
    "driver_version": "570.86.10",
    "memory.total": "24564",
    "memory.used": "4",
    "utilization.gpu": "0",
    "compute_cap": "8.9",
    "pcie.link.width.current": "16",
    "pcie.link.width.max": "16",
    "pcie.link.gen.max": "4",
    "power.limit": "450.00",
    "power.default_limit": "450.00",
    "pcie.link.gen.current": "4",
    "power.draw": "445.10",
    "temperature.gpu": "71",
    "clocks.sm": "2520",
    "clocks.max.sm": "3105",
    "clocks.applications.graphics": "[N/A]",
    "clocks.default_applications.graphics": "[N/A]",
    "clocks_throttle_reasons.hw_thermal_slowdown": "Not Active",
    "clocks_throttle_reasons.hw_power_brake_slowdown": "Not Active",
    "clocks_throttle_reasons.hw_slowdown": "Not Active",
    "clocks_throttle_reasons.active": "0x0000000000000004",
}
PROGRAM: Final = """#!{python}
import json, sys
gpus = json.loads({gpus!r})
fields = sys.argv[1].partition("=")[2].split(",")
unknown = [field for field in fields if gpus and field not in gpus[0]]
if unknown:
    print('Field "%s" is not a valid field to query.' % unknown[0])
    sys.exit(2)
for gpu in gpus:
    print(", ".join(gpu[field] for field in fields))
sys.exit({code})
"""


def put(folder: Path, *gpus: dict[str, str], code: int = 0) -> Path:
    """Write the program into a folder; a field that the GPUs lack is one that it refuses."""
    folder.mkdir(parents=True, exist_ok=True)
    program = folder / "nvidia-smi"
    text = PROGRAM.format(python=sys.executable, gpus=json.dumps(gpus), code=code)
    program.write_text(text, encoding="utf-8")
    program.chmod(0o755)
    return folder


def on_path(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let programs be found in a folder only."""
    monkeypatch.setenv("PATH", str(folder))
