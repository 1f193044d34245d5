"""Reads all GPUs of a box: through nvidia-ml-py where it is installed, else through `nvidia-smi`.

Runs alone: its source is also sent to other boxes, so it imports only the standard library and
keeps to Python 3.7. What the driver does not know (N/A) is None, never 0.
"""

from __future__ import annotations

import importlib
import math
import subprocess
from pathlib import Path
from typing import Any

FIELDS = "index,uuid,name,utilization.gpu,memory.used,memory.total,power.draw,power.limit"
PROCESS_FIELDS = "gpu_uuid,pid"
TIMEOUT_S = 20
MB = 1_048_576
WATT_MILLIWATTS = 1_000
SHORT = 200


DEVICES = ("/dev/nvidiactl", "/dev/nvidia0", "/dev/kfd", "/dev/dxg")
"""Of NVIDIA's driver, AMD's, and either inside Windows."""


def present() -> bool:
    """Return whether this machine has a GPU, readable or not."""
    return any(Path(each).exists() for each in DEVICES)


def seen() -> tuple[list[dict[str, Any]] | None, str | None]:
    """Return the GPUs as `GpuSeen` describes them, or None and why they cannot be read."""
    found = through_library()
    if found is not None:
        return found, None
    return through_program()


def through_library() -> list[dict[str, Any]] | None:
    """Return the GPUs through nvidia-ml-py; None where it is missing or finds no driver."""
    try:
        nvml: Any = importlib.import_module("pynvml")
    except (ImportError, OSError):
        return None
    try:
        nvml.nvmlInit()
    except nvml.NVMLError:
        return None
    try:
        return [of_library(nvml, index) for index in range(nvml.nvmlDeviceGetCount())]
    except nvml.NVMLError:
        return None
    finally:
        nvml.nvmlShutdown()


def of_library(nvml: Any, index: int) -> dict[str, Any]:
    """Return one GPU; each figure that the driver refuses is None."""

    def asked(name: str) -> Any:
        try:
            return getattr(nvml, name)(handle)
        except (AttributeError, nvml.NVMLError):
            return None

    def watts(name: str) -> float | None:
        milliwatts = asked(name)
        return None if milliwatts is None else milliwatts / WATT_MILLIWATTS

    handle = nvml.nvmlDeviceGetHandleByIndex(index)
    name, memory = asked("nvmlDeviceGetName"), asked("nvmlDeviceGetMemoryInfo")
    load, processes = (
        asked("nvmlDeviceGetUtilizationRates"),
        asked("nvmlDeviceGetComputeRunningProcesses"),
    )
    return {
        "index": index,
        "name": name.decode() if isinstance(name, bytes) else name or "GPU",
        "util_percent": None if load is None else float(load.gpu),
        "memory_used_mb": None if memory is None else memory.used / MB,
        "memory_total_mb": None if memory is None else memory.total / MB,
        "power_watts": watts("nvmlDeviceGetPowerUsage"),
        "power_limit_watts": watts("nvmlDeviceGetEnforcedPowerLimit"),
        "pids": None if processes is None else [int(each.pid) for each in processes],
    }


def through_program() -> tuple[list[dict[str, Any]] | None, str | None]:
    """Return the GPUs through `nvidia-smi`, or None and why it did not answer."""
    rows, problem = table(["nvidia-smi", f"--query-gpu={FIELDS}", "--format=csv,noheader,nounits"])
    if rows is None:
        return None, problem
    if any(len(row) != len(FIELDS.split(",")) or not row[0].isdigit() for row in rows):
        return None, "nvidia-smi answered in a form that is not known"
    holders, _ = table(
        ["nvidia-smi", f"--query-compute-apps={PROCESS_FIELDS}", "--format=csv,noheader,nounits"]
    )
    return [of_program(row, holders) for row in rows], None


def of_program(row: list[str], holders: list[list[str]] | None) -> dict[str, Any]:
    """Return one GPU from a line of `nvidia-smi`."""
    pids = None
    if holders is not None and all(len(each) == 2 and each[1].isdigit() for each in holders):
        pids = [int(each[1]) for each in holders if each[0] == row[1]]
    return {
        "index": int(row[0]),
        "name": row[2],
        "util_percent": figure(row[3]),
        "memory_used_mb": figure(row[4]),
        "memory_total_mb": figure(row[5]),
        "power_watts": figure(row[6]),
        "power_limit_watts": figure(row[7]),
        "pids": pids,
    }


def table(command: list[str]) -> tuple[list[list[str]] | None, str | None]:
    """Return the lines of a program's answer, cut at commas, or None and the problem."""
    try:
        done = subprocess.run(
            command, capture_output=True, timeout=TIMEOUT_S, check=False, stdin=subprocess.DEVNULL
        )
    except subprocess.TimeoutExpired:
        return None, f"{command[0]} did not answer within {TIMEOUT_S} s"
    except OSError:
        return None, f"{command[0]} cannot be run"
    text = done.stdout.decode("utf-8", "replace")
    if done.returncode:
        said = (text + done.stderr.decode("utf-8", "replace")).strip().splitlines()
        said = said or ["no reason given"]
        return None, f"{command[0]} ended with {done.returncode}: {said[0][:SHORT]}"
    return [[cell.strip() for cell in line.split(",")] for line in text.splitlines() if line], None


def figure(text: str) -> float | None:
    """Return the number in a cell; `[N/A]`, `ERR!` and their kind are None."""
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None
