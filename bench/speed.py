#!/usr/bin/env python3
"""How long costplan takes, beside other command lines of its kind, on this machine.

    python bench/speed.py            # a Markdown table, and bench/results/speed.json
    python bench/speed.py --write    # the table goes into bench/README.md too

What is measured, and how: bench/README.md.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import json
import math
import os
import platform
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from datetime import datetime, timezone
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import offers as synthetic

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

HERE: Final = Path(__file__).resolve().parent
ROOT: Final = HERE.parent
CACHE: Final = ROOT / ".cache" / "bench"
RESULTS: Final = HERE / "results" / "speed.json"
README: Final = HERE / "README.md"
MARKERS: Final = ("<!-- results -->", "<!-- end of results -->")

JOB: Final = "examples/ssd-coco.yaml"
ON: Final = synthetic.CHECKED
SIZES: Final = (1_000, 10_000, 100_000)
INSTALL_S: Final = 1_200.0
RUN_S: Final = 300.0

# The aims, in multiples of the bare interpreter, seconds and MB.
HELP_X: Final = 7.0
ESTIMATE_X: Final = 25.0
MANY: Final = SIZES[-1]
MANY_S: Final = 5.0
MANY_MB: Final = 500.0
LINEAR: Final = 1.1
"""Exponent of the growth up to which it counts as linear."""

PEERS: Final[dict[str, tuple[str, ...]]] = {
    "vastai": ("vastai", "--help"),
    "skypilot": ("sky", "--help"),
    "gpuhunt": ("python", "-m", "gpuhunt", "--help"),
    "dstack": ("dstack", "--help"),
    "modal": ("modal", "--help"),
    "runpod": ("runpod", "--help"),
}
"""Package and its command; what is installed is in bench/peers/PACKAGE.txt."""

# gpuhunt without a network: its own catalog file in a folder, its own query with the job's memory.
GPUHUNT_QUERY: Final = (
    "from gpuhunt._internal.catalog import Catalog\n"
    "found = Catalog(auto_reload=False).query(provider='runpod', min_gpu_memory=22)\n"
    "print(len(found))\n"
)
GPUHUNT_CATALOG: Final = "runpod.csv"


class Tool(NamedTuple):
    """A command line in an environment of its own."""

    name: str
    version: str
    bin: Path


class Run(NamedTuple):
    """One process from start to end."""

    seconds: float
    peak_mb: float
    status: int
    out: str


class Command(NamedTuple):
    """What is measured, and how its row is called."""

    tool: Tool
    label: str
    words: tuple[str, ...]
    aim_x: float | None = None


class Series(NamedTuple):
    """All measured runs of one command over one number of offers."""

    tool: Tool
    offers: int
    ranked: int
    """Offers in the answer."""
    seconds: list[float]
    peak_mb: list[float]


class Workplace(NamedTuple):
    """Where commands run: nothing of the person's own settings, the network as it is."""

    folder: Path
    environment: dict[str, str]


def say(text: str) -> None:
    """Say on standard error what takes time."""
    print(text, file=sys.stderr, flush=True)


# Environments


def digest(parts: Iterable[bytes]) -> str:
    """Return a short hash of `parts`."""
    found = hashlib.sha256()
    for part in parts:
        found.update(hashlib.sha256(part).digest())
    return found.hexdigest()[:12]


def interpreter() -> bytes:
    """Return what an environment depends on beside its packages."""
    return f"{sys.version} {Path(sys.executable).resolve()}".encode()


def sources() -> str:
    """Return a hash of all that goes into the wheel of this checkout."""
    paths = [ROOT / "pyproject.toml"]
    for folder in ("costplan", "pricing"):
        paths += sorted(p for p in (ROOT / folder).rglob("*") if "__pycache__" not in p.parts)
    files = [path for path in paths if path.is_file()]
    return digest(part for p in files for part in (str(p).encode(), p.read_bytes()))


def pip(folder: Path, *words: str) -> str | None:
    """Run pip in the environment `folder`; return None, or why it failed."""
    python = folder / "bin" / "python"
    log = folder / "pip.log"
    with log.open("ab") as file:
        try:
            done = subprocess.run(
                [python, "-m", "pip", "install", "--quiet", "--no-input", *words],
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=file,
                timeout=INSTALL_S,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return f"not installed within {INSTALL_S:g} s"
    return None if done.returncode == 0 else f"pip could not install it (exit {done.returncode})"


def environment(name: str, key: str, *words: str) -> Path | str:
    """Return the environment `name` with `pip install WORDS` done, or why there is none.

    It lies in a folder of the cache and is used again while `key` stays the same.
    """
    folder = CACHE / f"{name}-{key}"
    ready = folder / "ready"
    if ready.is_file():
        return folder
    say(f"{name}: making its environment")
    for old in CACHE.glob(f"{name}-*"):
        shutil.rmtree(old)
    folder.mkdir(parents=True)
    made = subprocess.run(
        [sys.executable, "-m", "venv", folder], capture_output=True, text=True, check=False
    )
    if made.returncode:
        return "this Python cannot make a virtual environment"
    failed = pip(folder, *words)
    if failed is None:
        ready.touch()
    return failed or folder


def installed(folder: Path, package: str) -> str:
    """Return the version of `package` in the environment `folder`."""
    code = "import importlib.metadata as m, sys; print(m.version(sys.argv[1]))"
    found = subprocess.run(
        [folder / "bin" / "python", "-c", code, package],
        capture_output=True,
        text=True,
        check=False,
    )
    return found.stdout.strip() or "?"


def costplan() -> Tool:
    """Return costplan as a user gets it: the wheel of this checkout, built and installed."""
    wanted = sources()
    requirements = (ROOT / "pyproject.toml").read_bytes()
    found = environment("costplan", digest([requirements, interpreter()]), str(ROOT))
    if isinstance(found, str):
        raise SystemExit(f"costplan: {found}; see {CACHE.relative_to(ROOT)}")
    made_from = found / "sources"
    if not made_from.is_file() or made_from.read_text() != wanted:
        say("costplan: installing this checkout")
        failed = pip(found, "--force-reinstall", "--no-deps", str(ROOT))
        if failed is not None:
            raise SystemExit(f"costplan: {failed}")
        made_from.write_text(wanted)
    return Tool("costplan", installed(found, "costplan"), found / "bin")


def peer(package: str) -> Tool | str:
    """Return `package` in its environment, or why it cannot be had."""
    requirements = HERE / "peers" / f"{package}.txt"
    key = digest([requirements.read_bytes(), interpreter()])
    found = environment(package, key, "--requirement", str(requirements))
    if isinstance(found, str):
        return found
    return Tool(package, installed(found, package), found / "bin")


# Running


def workplace(folder: Path) -> Workplace:
    """Return an empty home for the commands, so that none reads a person's settings or keys."""
    home = folder / "home"
    home.mkdir()
    kept = {
        key: value
        for key, value in os.environ.items()
        if not key.startswith(("PYTHON", "XDG_", "COSTPLAN_", "VIRTUAL_ENV"))
    }
    return Workplace(folder, {**kept, "HOME": str(home)})


def run(place: Workplace, words: Sequence[str], *, keep: bool = False, **more: str) -> Run:
    """Run `words` in the checkout; with `keep`, return what they print.

    Args:
        place: From `workplace`.
        words: The command, its program a full path.
        keep: Keep standard output and standard error instead of throwing them away.
        more: Environment variables.
    """
    printed = place.folder / "printed"
    with printed.open("wb") if keep else open(os.devnull, "wb") as out:  # noqa: PTH123
        begun = time.perf_counter()
        process = subprocess.Popen(
            words,
            cwd=ROOT,
            env={**place.environment, **more},
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT if keep and "--format" not in words else subprocess.DEVNULL,
        )
        alarm = threading.Timer(RUN_S, os.kill, (process.pid, signal.SIGKILL))
        alarm.start()
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - begun
        alarm.cancel()
    process.returncode = os.waitstatus_to_exitcode(status)
    unit = 1_000_000 if sys.platform == "darwin" else 1_000  # KiB elsewhere, taken as kB
    peak_mb = usage.ru_maxrss / unit
    text = printed.read_text(encoding="utf-8", errors="replace") if keep else ""
    return Run(seconds, peak_mb, process.returncode, text)
