"""A folder for each job, with programs, pictures and an environment of its own: no download."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

from jobs import PICTURES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jobs import Job

HERE: Final = Path(__file__).resolve().parent
OFFLINE: Final = {
    # huggingface_hub, "Environment variables": neither downloads nor telemetry
    "HF_HUB_OFFLINE": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    # ultralytics, utils/__init__.py: no look-up of newer releases, fonts or weights, no events
    "YOLO_OFFLINE": "true",
    "DO_NOT_TRACK": "1",
}
BROKEN_OFF_S: Final = 90.0
"""An earlier run must have saved something by then."""


def variables(environment: Path, job_folder: Path, mark: str) -> dict[str, str]:
    """Return the environment variables of a job; caches are shared and live beside the trainers."""
    from left import MARK

    caches = environment / "caches"
    kept = {name: os.environ[name] for name in ("LANG", "LC_ALL") if name in os.environ}
    return {
        **kept,
        **OFFLINE,
        MARK: mark,
        "PATH": f"{environment / 'bin'}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(job_folder),
        "TMPDIR": str(job_folder / "tmp"),
        "HF_HOME": str(caches / "hf"),
        "MPLCONFIGDIR": str(caches / "matplotlib"),
        "YOLO_CONFIG_DIR": str(job_folder / "config"),  # it holds where runs go
    }


def make_pictures(python: Path, scratch: Path) -> None:
    """Make the data sets of all jobs in `scratch`."""
    for name, arguments in PICTURES.items():
        program = HERE / "programs" / "make_pictures.py"
        subprocess.run([python, program, scratch / name, *arguments], check=True)


def make(scratch: Path, job: Job) -> Path:
    """Return a new folder for a job, as the user would have it."""
    folder = scratch / job.name
    if folder.exists():
        shutil.rmtree(folder)
    shutil.copytree(HERE / "programs", folder, ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "tmp").mkdir()
    for name in PICTURES:
        (folder / name).symlink_to(scratch / name)
    return folder


def words(*parts: str) -> list[str]:
    """Return the words of a command line."""
    return [word for part in parts for word in shlex.split(part)]


def run_s(command: Sequence[str], folder: Path, variables: dict[str, str]) -> float:
    """Return how many seconds a command takes that must succeed."""
    began_s = time.perf_counter()
    done = subprocess.run(
        command, cwd=folder, env=variables, stdin=subprocess.DEVNULL, capture_output=True,
        text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        raise SystemExit(
            f"{shlex.join(command)} ended with {done.returncode}\n{done.stderr[-2000:]}"
        )
    return time.perf_counter() - began_s


def code_within(
    limit_s: float, command: Sequence[str], folder: Path, variables: dict[str, str], log: Path
) -> int:
    """Return the exit code of a command whose words go to `log`; it is interrupted at the limit."""
    with log.open("wb") as out:
        process = subprocess.Popen(
            command, cwd=folder, env=variables, stdin=subprocess.DEVNULL, stdout=out, stderr=out
        )
        try:
            return process.wait(limit_s)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGINT)
        try:
            return process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            return process.wait()


def break_off(job: Job, folder: Path, variables: dict[str, str]) -> None:
    """Start a job without costplan, and kill it once it has saved a checkpoint: yesterday's run."""
    with (folder / "yesterday.log").open("wb") as log:
        process = subprocess.Popen(
            words(job.command, job.long), cwd=folder, env=variables, stdin=subprocess.DEVNULL,
            stdout=log, stderr=subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip
    over_s = time.monotonic() + BROKEN_OFF_S
    try:
        while not list((folder / job.output).glob(job.checkpoint)):
            if process.poll() is not None or time.monotonic() > over_s:
                said = (folder / "yesterday.log").read_text(errors="replace")
                raise SystemExit(f"{job.name}: no checkpoint was made\n{said[-2000:]}")
            time.sleep(0.1)
        time.sleep(0.5)  # it is being written
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    shutil.rmtree(folder / "tmp")
    (folder / "tmp").mkdir()
