"""Runs a program under the guard, over a folder that holds yesterday's run."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

import costplan
from costplan.profiler.spared import Spared, spared

ROOT = Path(costplan.__file__).parent

# As the hooks load it: by path, since the user's interpreter need not have costplan.
LOADER = """\
import importlib.util, json, os, sys
spec = importlib.util.spec_from_file_location(
    "costplan", os.environ["ROOT"] + "/__init__.py",
    submodule_search_locations=[os.environ["ROOT"]],
)
sys.modules["costplan"] = importlib.util.module_from_spec(spec)
from costplan.profiler import guard
guard.start(json.loads(os.environ["SETTINGS"]))
del spec
"""


class Yesterday(NamedTuple):
    """A working folder from before the start, and where the profile keeps its things."""

    work: Path
    folder: Path


def yesterday(tmp_path: Path) -> Yesterday:
    work = tmp_path / "work"
    weights = work / "run" / "weights"
    weights.mkdir(parents=True)
    (weights / "last.pt").write_bytes(b"yesterday's weights")
    (weights / "best.pt").write_bytes(b"the best of yesterday")
    (weights / "hard.pt").hardlink_to(weights / "best.pt")
    (weights / "soft.pt").symlink_to("last.pt")
    (work / "run" / "results.csv").write_text("epoch,loss\n1,0.5\n")
    (work / "run" / "args.yaml").write_text("lr: 0.1\n")
    (work / "run" / "checkpoint-5").mkdir()
    (work / "run" / "checkpoint-5" / "model.bin").write_bytes(b"five")
    (work / "latest").symlink_to("run")
    with sqlite3.connect(work / "run" / "study.db") as study:
        study.execute("create table trials (loss real)")
        study.execute("insert into trials values (0.5)")
    study.close()
    return Yesterday(work, tmp_path / "profile")


def state(folder: Path) -> dict[str, tuple[object, ...]]:
    """Return what must not change: name, kind, inode, time, links, rights and content."""
    found: dict[str, tuple[object, ...]] = {}
    for path in sorted(folder.rglob("*")):
        stat = path.lstat()
        content = path.read_bytes() if path.is_file() else None
        # A folder's own time tells of new files in it: that is no loss.
        time_ns = None if path.is_dir() else stat.st_mtime_ns
        found[str(path.relative_to(folder))] = (
            *(stat.st_ino, stat.st_mode, stat.st_nlink, time_ns, content),
        )
    return found


class Ran(NamedTuple):
    """How a guarded program ended."""

    code: int
    said: str
    errors: str
    did: Spared


def run(
    at: Yesterday,
    program: str,
    *,
    site: bool = False,
    allow_writes: bool = False,
    early: str = "",
    env: dict[str, str] | None = None,
) -> Ran:
    """Run `program` after the guard has started, `early` before it."""
    settings: dict[str, Any] = {
        "folder": str(at.folder),
        "started_s": time.time(),
        "allow_writes": allow_writes,
    }
    start = at.work.parent / "loader.py"
    start.write_text(LOADER)
    script = at.work.parent / "train.py"
    script.write_text(f"{early}\n{LOADER}{program}")
    done = subprocess.run(
        [sys.executable, *([] if site else ["-S"]), str(script)],
        cwd=at.work,
        env={
            **os.environ,
            "ROOT": str(ROOT),
            "SETTINGS": json.dumps(settings),
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTHONPATH": "",
            **(env or {}),
        },
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return Ran(done.returncode, done.stdout, done.stderr, spared(str(at.folder)))
