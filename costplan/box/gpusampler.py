"""Asks the driver about all GPUs, time after time, while a program runs; never within it.

Through nvidia-ml-py where it is installed, else through `nvidia-smi`, which is a program to start
each time and is asked less often.
"""

from __future__ import annotations

import contextlib
import importlib
import threading
import time
from typing import TYPE_CHECKING, Any, Final

from costplan.box import gpus
from costplan.records.gpus import GpuSample

if TYPE_CHECKING:
    from collections.abc import Callable

LIBRARY_S: Final = 1.0
"""From one look to the next."""
PROGRAM_S: Final = 2.0
"""`nvidia-smi` takes a processor for some 50 ms, which a small box misses."""
FIELDS: Final = {
    "uuid": "uuid",
    "name": "name",
    "clock_mhz": "clocks.sm",
    "clock_max_mhz": "clocks.max.sm",
    "temperature_c": "temperature.gpu",
    "power_watts": "power.draw",
    "power_limit_watts": "power.limit",
    "util_percent": "utilization.gpu",
    "pcie_gen": "pcie.link.gen.current",
    "pcie_width": "pcie.link.width.current",
}
REASONS: Final = ("clocks_event_reasons.active", "clocks_throttle_reasons.active")
"""By drivers from 535 on, and before."""
TEXTS: Final = frozenset({"uuid", "name"})
COUNTS: Final = frozenset({"pcie_gen", "pcie_width"})
SM: Final = 1
"""NVML_CLOCK_SM."""
CORE: Final = 0
"""NVML_TEMPERATURE_GPU."""

Look = list[dict[str, Any]]


class Sampler:
    """Looks at all GPUs until it is stopped; holds no samples where none can be seen."""

    def __init__(self, clock: Callable[[], float] = time.perf_counter) -> None:
        self.samples: list[GpuSample] = []
        self.clock = clock
        self._over = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin, in a thread of its own, where this machine has a GPU."""
        if gpus.present():
            self._thread = threading.Thread(target=self.run, daemon=True, name="gpu sampler")
            self._thread.start()

    def stop(self) -> None:
        """End; a look that is under way is waited for."""
        self._over.set()
        if self._thread is not None:
            self._thread.join(gpus.TIMEOUT_S)

    def run(self) -> None:
        """Look until stopped, or until nothing answers."""
        with contextlib.ExitStack() as held:
            look, every_s = library(held) or (program(), PROGRAM_S)
            while look is not None and not self._over.is_set():
                began_s = self.clock()
                found = look()
                if not found:
                    return
                at_s = (began_s + self.clock()) / 2
                try:
                    looked = [GpuSample.model_validate({"at_s": at_s, **each}) for each in found]
                except ValueError:  # a form that is not known
                    return
                self.samples += looked
                self._over.wait(max(0.0, every_s - (self.clock() - began_s)))


def library(held: contextlib.ExitStack) -> tuple[Callable[[], Look], float] | None:
    """Return what looks through nvidia-ml-py; None where it is missing or finds no driver."""
    try:
        nvml: Any = importlib.import_module("pynvml")
    except (ImportError, OSError):
        return None
    try:
        nvml.nvmlInit()
        held.callback(nvml.nvmlShutdown)
        handles = [nvml.nvmlDeviceGetHandleByIndex(n) for n in range(nvml.nvmlDeviceGetCount())]
    except nvml.NVMLError:
        return None
    return (lambda: [of_library(nvml, handle) for handle in handles]), LIBRARY_S


def of_library(nvml: Any, handle: Any) -> dict[str, Any]:
    """Return one GPU; each figure that the driver refuses is None."""

    def asked(name: str, *more: int) -> Any:
        try:
            return getattr(nvml, name)(handle, *more)
        except (AttributeError, nvml.NVMLError):
            return None

    def text(name: str) -> str:
        found = asked(name)
        return found.decode() if isinstance(found, bytes) else str(found or "GPU")

    def watts(name: str) -> float | None:
        found = asked(name)
        return None if found is None else found / gpus.WATT_MILLIWATTS

    load = asked("nvmlDeviceGetUtilizationRates")
    reasons = asked("nvmlDeviceGetCurrentClocksEventReasons")
    if reasons is None:
        reasons = asked("nvmlDeviceGetCurrentClocksThrottleReasons")
    return {
        "uuid": text("nvmlDeviceGetUUID"),
        "name": text("nvmlDeviceGetName"),
        "clock_mhz": asked("nvmlDeviceGetClockInfo", SM),
        "clock_max_mhz": asked("nvmlDeviceGetMaxClockInfo", SM),
        "temperature_c": asked("nvmlDeviceGetTemperature", CORE),
        "power_watts": watts("nvmlDeviceGetPowerUsage"),
        "power_limit_watts": watts("nvmlDeviceGetEnforcedPowerLimit"),
        "util_percent": None if load is None else load.gpu,
        "reasons": reasons,
        "pcie_gen": asked("nvmlDeviceGetCurrPcieLinkGeneration"),
        "pcie_width": asked("nvmlDeviceGetCurrPcieLinkWidth"),
    }


def program() -> Callable[[], Look] | None:
    """Return what looks through `nvidia-smi`; None where it does not answer."""
    for fields in (*({**FIELDS, "reasons": each} for each in REASONS), FIELDS):
        if through_program(fields):
            return lambda fields=fields: through_program(fields)  # type: ignore[misc]
    return None


def through_program(fields: dict[str, str]) -> Look:
    """Return all GPUs as `nvidia-smi` shows them; nothing where it refuses the question."""
    query = f"--query-gpu={','.join(fields.values())}"
    rows, _ = gpus.table(["nvidia-smi", query, "--format=csv,noheader,nounits"])
    if rows is None or any(len(row) != len(fields) for row in rows):
        return []
    return [{key: cell(key, text) for key, text in zip(fields, row, strict=True)} for row in rows]


def cell(key: str, text: str) -> str | int | float | None:
    """Return a cell as its field wants it; `[N/A]` and its kind are None."""
    if key in TEXTS:
        return text
    if key == "reasons":
        return int(text, 16) if text.startswith("0x") else None
    number = gpus.figure(text)
    return None if number is None else int(number) if key in COUNTS else number
