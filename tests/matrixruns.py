#!/usr/bin/env python3
"""Runs the matrix: each loop under `costplan profile`, its fixes made for real before and after.

    python tests/matrixruns.py                  # every loop, what-ifs proved by doing
    python tests/matrixruns.py --ci             # the pairwise loops, verdicts alone
    python tests/matrixruns.py --case spin-dict # one loop; may be given again

`--write` keeps what came out in tests/data/matrix.json. The status is 1 where the matrix does not
pass. How it is chosen and judged: tests/matrixed.py; what runs: tests/loops/loop.py.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from datetime import datetime, timezone
from importlib.metadata import version
from pathlib import Path
from statistics import fmean, median
from typing import Any, Final

import matrixed
from matrixed import Case, Judged, faults

HERE: Final = Path(__file__).resolve().parent
LOOP: Final = HERE / "loops" / "loop.py"
RESULTS: Final = HERE / "data" / "matrix.json"
STEPS: Final = 40
"""Of each way that a loop is run without costplan, after 10 that are not counted."""
ROUNDS: Final = 2
"""Of all ways in turn, before the profile and again after it."""
AGAIN_S: Final = 120.0
"""The default budget, with --ci for a loop that is left without a verdict: as it is told then."""
MOST_S: Final = 300.0
NEAR_ERROR: Final = 0.10
MEDIAN_ERROR: Final = 0.05


def asked() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Run the matrix of slow loops.")
    parser.add_argument("--ci", action="store_true", help="the pairwise loops, verdicts alone")
    parser.add_argument("--pairwise", action="store_true", help="the pairwise loops, what-ifs too")
    parser.add_argument("--case", action="append", metavar="NAME", help="this one; again for more")
    parser.add_argument("--list", action="store_true", help="the names, and nothing else")
    parser.add_argument("--budget", type=float, metavar="SECONDS", help="8 with --ci, else 20")
    parser.add_argument("--write", action="store_true", help=f"into {RESULTS.name} too")
    return parser.parse_args()


def chosen(args: argparse.Namespace) -> list[Case]:
    """Return the cases that were asked for."""
    if not args.case:
        return list(matrixed.PAIRWISE if args.ci or args.pairwise else matrixed.ALL)
    known = {case.name: case for case in matrixed.ALL}
    wrong = [name for name in args.case if name not in known]
    if wrong:
        sys.exit(f"no such case: {', '.join(wrong)}; --list names them")
    return [known[name] for name in args.case]


def command(case: Case, *words: str) -> list[str]:
    """Return the command that a user would train with."""
    start = [sys.executable, "-W", "ignore"]
    if case.ranks > 1:
        start += ["-m", "torch.distributed.run", "--nproc_per_node", str(case.ranks)]
    return [*start, str(LOOP), *case.flags(), *words]


def environment() -> dict[str, str]:
    """Return what every loop runs under: one thread, and memory that is kept for the next step.

    Without, glibc takes large pieces from the system each time until it has seen a larger one
    freed: a loop that once had a double batch is faster for ever after, by a third.
    """
    kept = {"MALLOC_MMAP_THRESHOLD_": "1073741824", "MALLOC_TRIM_THRESHOLD_": "4294967296"}
    return {**os.environ, **kept, "OMP_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore"}


def bare(case: Case, folder: Path, *words: str) -> list[dict[str, float]]:
    """Return what the loop alone says of itself, as it is and with each fix, in turn."""
    fixes = [word for each in matrixed.remedies(case) for word in ("--then", f" {each}")]
    done = subprocess.run(
        command(case, "--files", str(folder), "--steps", str(STEPS), "--rounds", str(ROUNDS),
                *fixes, *words),
        cwd=folder, capture_output=True, text=True, timeout=MOST_S, check=True, env=environment(),
        stdin=subprocess.DEVNULL,
    )  # fmt: skip
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def profiled(case: Case, folder: Path, budget_s: float, *words: str) -> dict[str, Any]:
    """Return the profile of the loop as costplan gives it, or what went wrong."""
    done = subprocess.run(
        [sys.executable, "-m", "costplan", "profile", "--budget", f"{budget_s:g}", "--format",
         "json", "--", *command(case, "--files", str(folder), *words)],
        cwd=folder, capture_output=True, text=True, timeout=MOST_S, check=False, env=environment(),
        stdin=subprocess.DEVNULL,
    )  # fmt: skip
    if done.returncode:
        return {"verdict": f"exit code {done.returncode}", "error": done.stderr[-2_000:]}
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def row(case: Case, body: dict[str, Any], seconds: float) -> dict[str, Any]:
    """Return what is kept of a profile."""
    found: dict[str, Any] = {
        "case": case.name, "truth": case.truth, "verdict": body["verdict"],
        "confidence": body.get("confidence"), "why": body.get("why"),
    }  # fmt: skip
    if "error" in body:
        return {**found, "error": body["error"]}
    ms = {name: _mean_ms(body, name) for name in ("real", "replay", "half", "double")}
    return {**found, "burst_ms": ms, "seconds": round(seconds, 1)}


def _mean_ms(body: dict[str, Any], name: str) -> float | None:
    every = [step for each in body["bursts"] if each["name"] == name for step in each["steps_s"]]
    return _ms(fmean(every)) if every else None


def proved(case: Case, body: dict[str, Any], runs: list[dict[str, float]]) -> dict[str, Any]:
    """Return each what-if beside the step of the loop that was really changed so.

    Both as a share of the unchanged step, measured in turn with them: a shared machine is not as
    fast in one minute as in the next.
    """
    names = ["", *matrixed.remedies(case)]
    steps_s = {name: [run["step_s"] for run in runs[at :: len(names)]]
               for at, name in enumerate(names)}  # fmt: skip
    alone_s = median(steps_s[""])
    what_if = []
    for change in body.get("what_if", ()):
        fix = matrixed.remedy(case, change["change"])
        if fix not in steps_s:
            continue
        by_sample = 2 if fix.startswith("--batch") else 1
        measured = median(steps_s[fix]) / by_sample / alone_s
        predicted = change["step_s"] / body["step_s"]["expected"]
        what_if.append({
            "change": change["change"], "basis": change["basis"], "predicted": round(predicted, 4),
            "measured": round(measured, 4), "error": round(predicted / measured - 1, 4),
            "measured_ms": [_ms(each / by_sample) for each in steps_s[fix]],
        })  # fmt: skip
    removed = [_ms(each) for each in steps_s["--units 0"]]
    return {"alone_ms": [_ms(each) for each in steps_s[""]], "removed_ms": removed,
            "what_if": what_if}  # fmt: skip


def _ms(seconds: float) -> float:
    return round(1_000 * seconds, 3)


def tried(case: Case, folder: Path, *, budget_s: float, fixes: bool) -> dict[str, Any]:
    """Run one case; with `fixes`, the loop alone before and after, with the same amount of work."""
    before = bare(case, folder) if fixes else []
    units = ("--units", str(int(before[0]["units"]))) if before else ()
    began_s = time.perf_counter()
    body = profiled(case, folder, budget_s, *units)
    if body["verdict"] == "inconclusive" and not fixes:
        sys.stdout.write(f"again {case.name}: {body['why']}\n")
        body = profiled(case, folder, AGAIN_S, *units)
    found = row(case, body, time.perf_counter() - began_s)
    if fixes and "error" not in found:
        found |= proved(case, body, [*before, *bare(case, folder, *units)])
    return found


def said(found: dict[str, Any]) -> str:
    """Return one line for a case."""
    right = found["verdict"] == found["truth"]
    mark, why = ("ok  ", "") if right else ("MISS", f" {found.get('why') or found.get('error')}")
    errors = " ".join(
        f"{each['change']}: {each['error']:+.0%} {each['basis'][0]};"
        for each in found.get("what_if", ())
    )
    bursts = " ".join(f"{name} {ms}" for name, ms in found.get("burst_ms", {}).items())
    return (f"{mark} {found['case']}: {found['verdict']}/{found['truth']} {found['confidence']} "
            f"[{bursts}; alone {found.get('alone_ms')}, removed {found.get('removed_ms')}] "
            f"{errors} {found.get('seconds')} s{why}")  # fmt: skip


def told(rows: list[dict[str, Any]]) -> list[str]:
    """Return what is wrong, after a few lines on what is right."""
    wrong = faults([Judged(each["truth"], each["verdict"]) for each in rows])
    right = sum(each["truth"] == each["verdict"] for each in rows)
    sys.stdout.write(f"{right} of {len(rows)} right\n")
    changes = [each for one in rows for each in one.get("what_if", ())]
    return wrong + _told_errors(
        [abs(each["error"]) for each in changes if each["basis"] == "measured"],
        [each["error"] for each in changes if each["basis"] == "bounded"],
    )


def _told_errors(errors: list[float], bounds: list[float]) -> list[str]:
    """Return what is wrong with predictions, and with bounds that no fix may beat."""
    wrong = []
    if errors:
        near = sum(each <= NEAR_ERROR for each in errors)
        text = f"measured what-ifs: median error {median(errors):.1%}, {near} of {len(errors)} "
        sys.stdout.write(f"{text}within 10 %\n")
        wrong += [text.rstrip()] if median(errors) > MEDIAN_ERROR else []
        wrong += [f"{len(errors) - near} off by more than 10 %"] if near < len(errors) else []
    if bounds:
        held = sum(each <= NEAR_ERROR for each in bounds)
        text = f"bounded what-ifs: {held} of {len(bounds)} not beaten by more than 10 %"
        sys.stdout.write(f"{text}\n")
        wrong += [text] if held < len(bounds) else []
    return wrong


def kept(rows: list[dict[str, Any]], budget_s: float) -> None:
    """Put rows into the result file, each in the place of an older one of its case."""
    older = json.loads(RESULTS.read_text("utf-8"))["cases"] if RESULTS.exists() else []
    every = {each["case"]: each for each in [*older, *rows]}
    order = [case.name for case in matrixed.ALL]
    lines = [json.dumps(every[name]) for name in order if name in every]
    cpus = len(os.sched_getaffinity(0))
    head = {
        "date": datetime.now(tz=timezone.utc).date().isoformat(),
        "machine": f"{cpus} CPUs, {platform.system()} {platform.machine()}, "
        f"Python {platform.python_version()}, torch {version('torch')}",
        "budget_s": budget_s,
    }
    text = json.dumps(head)[:-1] + ', "cases": [\n' + ",\n".join(lines) + "\n]}\n"
    RESULTS.write_text(text, "utf-8")


def main() -> None:
    args = asked()
    cases = chosen(args)
    if args.list:
        sys.stdout.write("".join(f"{case.name}\n" for case in cases))
        return
    budget_s = args.budget or (8.0 if args.ci else 20.0)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for case in cases:
            rows.append(tried(case, Path(folder), budget_s=budget_s, fixes=not args.ci))
            sys.stdout.write(said(rows[-1]) + "\n")
            sys.stdout.flush()
            if args.write:
                kept(rows[-1:], budget_s)
    wrong = told(rows)
    sys.stdout.write("".join(f"FAULT: {each}\n" for each in wrong))
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
