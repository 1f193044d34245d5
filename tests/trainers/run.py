"""Profiles real trainers and compares with the truth; run by `scripts/test-trainers`."""

from __future__ import annotations

import argparse
import datetime
import hashlib
import json
import os
import platform
import shutil
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, Final

import left
import place
import truths
from jobs import JOBS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jobs import Job

BUDGET_S: Final = 25.0
"""For the bursts of one job: a user would give more; here all twelve take ten minutes."""
AGAIN: Final = 3.0
"""Times the budget for a job that is left without a verdict, once: as it is told then."""
LIMIT_S: Final = 180.0
"""A profile that takes longer hangs, and is interrupted as a user would do it."""
TRUTH: Final = place.HERE / "truth.tsv"
ROUNDS: Final = 3
"""Whole runs of each kind whose median is the truth, taken in turns."""
SHOWN: Final = ("verdict", "confidence", "accumulation", "batch")
BAD_WORDS: Final = ("Traceback (most recent call last)", "costplan: no hook", "leaked")
"""In what the program says: none of its processes may be disturbed, workers neither."""


def main() -> int:
    """Run what was asked for; 1 where anything is wrong."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--environment", type=Path, required=True)
    parser.add_argument("--truth", action="store_true")
    parser.add_argument("--keep", action="store_true")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("jobs", nargs="*")
    asked = parser.parse_args()
    chosen = [job for job in JOBS if not asked.jobs or job.name.startswith(tuple(asked.jobs))]
    if not chosen:
        parser.error(f"no such job; there are {', '.join(job.name for job in JOBS)}")
    scratch = Path(tempfile.mkdtemp(prefix="costplan-trainers-")).resolve()
    try:
        place.make_pictures(asked.environment / "bin" / "python", scratch)
        if asked.truth:
            return measure_truth(chosen, scratch, asked.environment, asked.rounds)
        return profile_all(chosen, scratch, asked.environment)
    finally:
        if asked.keep:
            print(f"kept: {scratch}")
        else:
            shutil.rmtree(scratch, ignore_errors=True)


def profile_all(jobs: Sequence[Job], scratch: Path, environment: Path) -> int:
    """Profile each job and say what is wrong with it, if anything."""
    truth = truths.read(TRUTH)
    failed = 0
    for job in jobs:
        began_s = time.perf_counter()
        found, wrong = profiled(job, scratch, environment, BUDGET_S)
        if found.get("verdict") == "inconclusive":
            print(f"again {job.name}: {found['why']}", flush=True)
            found, wrong = profiled(job, scratch, environment, AGAIN * BUDGET_S)
        wrong += judged(job, found, truth[job.name].word)
        failed += bool(wrong)
        shown = " ".join(f"{name} {found.get(name)}" for name in SHOWN)
        spent_s = time.perf_counter() - began_s
        print(f"{'wrong' if wrong else 'ok   '} {job.name:20} {shown}, {spent_s:.0f} s", flush=True)
        for line in wrong:
            print(f"        {line}", flush=True)
    print(f"{len(jobs) - failed} passed, {failed} failed")
    return int(failed > 0)


def profiled(
    job: Job, scratch: Path, environment: Path, budget_s: float
) -> tuple[dict[str, Any], list[str]]:
    """Return the profile of a job, and what is wrong with how it ended."""
    folder = place.make(scratch, job)
    mark = f"{os.getpid()}-{job.name}"
    variables = place.variables(environment, folder, mark)
    if job.output:
        place.break_off(job, folder, variables)
    yours = digests(folder, skip="tmp")
    shared = left.shared_memory()
    answer = folder / "tmp" / "profile.json"
    command = [sys.executable, "-m", "costplan", "profile", "--budget", f"{budget_s:g}"]
    command += ["-o", str(answer)]
    command += ["--", *place.words(job.command, job.again or job.long)]
    log = folder / "profile.log"
    code = place.code_within(LIMIT_S, command, folder, variables, log)
    found = {}
    if answer.exists():
        found = json.loads(answer.read_text(encoding="utf-8"))
        answer.replace(folder / "profile.json")
    said = log.read_text(encoding="utf-8", errors="replace")
    wrong = [f"costplan exits with {code}"] if code else []
    if code or any(word in said for word in BAD_WORDS):
        wrong += [f"| {line[:200]}" for line in said.strip().splitlines()[-20:]]
    now = digests(folder, skip="tmp")
    wrong += [f"changed: {name}" for name, was in yours.items() if now.get(name) != was]
    wrong += left.left(mark, shared, folder)
    left.end(mark)
    return found, wrong


def digests(folder: Path, *, skip: str) -> dict[str, str]:
    """Return the SHA-256 of each file below a folder, by its name."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.relative_to(folder).parts[0] != skip
    }


def judged(job: Job, found: dict[str, Any], truth: str) -> list[str]:
    """Return in what a profile differs from what is known of the job."""
    if not found:
        return []
    known = {
        "verdict": truth, "program_exit_code": 0, "batch": job.batch, "workers": job.workers,
        "ranks": job.ranks, "accumulation": job.accumulation,
    }  # fmt: skip
    wrong = [
        f"{name} is {found.get(name)}, not {value}: {found.get('why')}"
        for name, value in known.items()
        if value is not None and found.get(name) != value
    ]
    if job.output and not found.get("redirected") and job.slow == "compute":
        wrong.append("nothing was saved meanwhile: that files survive is not shown")
    return wrong


def measure_truth(jobs: Sequence[Job], scratch: Path, environment: Path, rounds: int) -> int:
    """Time whole runs of each job without costplan, and write what they say."""
    written = truths.read(TRUTH) if TRUTH.exists() else {}
    python = place.HERE
    versions = platform.machine(), f"{os.cpu_count()} cores", platform.system()
    for job in jobs:
        taken: dict[str, list[float]] = {"": [], "preloaded": [], "heavier": []}
        for _ in range(rounds):
            for kind, times_s in taken.items():
                folder = place.make(scratch, job)
                variables = place.variables(environment, folder, job.name)
                if kind:
                    variables["PYTHONPATH"] = str(python / "truth" / kind)
                times_s.append(place.run_s(place.words(job.command, job.short), folder, variables))
        plain_s, preloaded_s, heavier_s = (round(median(each), 2) for each in taken.values())
        word = truths.word(plain_s, preloaded_s, heavier_s)
        today = datetime.date.today().isoformat()  # noqa: DTZ011
        written[job.name] = truths.Truth(
            job.name, plain_s, preloaded_s, heavier_s, word, today, " ".join(versions)
        )
        truths.write(TRUTH, list(written.values()))
        print("\t".join(map(str, written[job.name])), flush=True)
    return int(any(written[job.name].word == "unclear" for job in jobs))


if __name__ == "__main__":
    sys.exit(main())
