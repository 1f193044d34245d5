#!/usr/bin/env python3
"""Idle shares of public traces by costplan and by HolisticTraceAnalysis, over the same span.

    python bench/idle_shares.py    # a Markdown table, in a minute; installs the peer

HolisticTraceAnalysis looks at a whole trace, from its first event on the device to its last, with
the steps that warm up. The product looks at the marked steps. So its functions are led over both.
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
from typing import TYPE_CHECKING, Final, NamedTuple

import speed

from costplan.profiler.devicework import Linked, gap_facts, launches
from costplan.profiler.events import read
from costplan.profiler.intervals import length, union
from costplan.profiler.tracing import Scan, text_of, trace_facts

if TYPE_CHECKING:
    from pathlib import Path

TRACES: Final = speed.ROOT / "tests/data/traces"
PEER: Final = "HolisticTraceAnalysis"
ON_DEVICE: Final = ("kernel", "copy", "set")
ASK: Final = """
import json, logging, sys, warnings
warnings.simplefilter("ignore")
logging.disable(logging.CRITICAL)
from hta.trace_analysis import TraceAnalysis
for path in sys.argv[1:]:
    try:
        trace = TraceAnalysis(trace_files={0: path}, include_last_profiler_step=True)
        whole = trace.get_temporal_breakdown(visualize=False).iloc[0]
        gaps = trace.get_idle_time_breakdown(ranks=[0], visualize=False)[0]
    except Exception as error:
        print(json.dumps({"error": f"{type(error).__name__}: {error}"}))
        continue
    told = {
        "span_us": float(whole["kernel_time(us)"]),
        "idle": float(whole["idle_time_pctg"]) / 100,
        "gaps_us": [[str(row.stream), row.idle_category, float(row.idle_time)]
                    for row in gaps.itertuples()],
    }
    print(json.dumps(told))
"""
"""Run by the peer's own interpreter: a line of JSON for each trace."""


class Idle(NamedTuple):
    """Shares of a span in which a device idles, and in which its busiest stream waits."""

    idle: float
    host: float
    kernel: float


class Compared(NamedTuple):
    """One trace."""

    name: str
    steps: float | None
    """Idle within the marked steps, as the product says it."""
    ours: Idle | None
    theirs: Idle | str


def ours(path: Path) -> tuple[str, Idle] | None:
    """Return the busiest stream and the shares over the whole trace; None without a device."""
    events = read(Scan(text_of(path), where=str(path)).events()).events
    device = sorted((each for each in events if each.kind in ON_DEVICE),
                    key=lambda each: (each.start_us, each.end_us))  # fmt: skip
    if not device:
        return None
    span = (device[0].start_us, max(each.end_us for each in device))
    calls = launches([each for each in events if each.kind == "call"])
    gaps = gap_facts([Linked(each, calls.get(each.correlation)) for each in device], span)
    number = str(gaps["stream"]).split()[-1]  # older traces call it "stream 7"
    return number, Idle(
        1 - length(union((each.start_us, each.end_us) for each in device)) / (span[1] - span[0]),
        share(gaps["host_wait_share"]), share(gaps["kernel_wait_share"]),
    )  # fmt: skip


def share(value: object) -> float:
    """Return a share, or what is no number where it is not known."""
    return value if isinstance(value, float) else math.nan


def theirs(python: Path, paths: list[Path]) -> list[dict[str, object]]:
    """Return what the peer says of each trace."""
    done = subprocess.run([python, "-c", ASK, *paths], stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True, check=True)  # fmt: skip
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def of_stream(told: dict[str, object], stream: str) -> Idle | str:
    """Return the peer's shares with the waits of one stream, or why there are none."""
    span_us, idle, gaps = told.get("span_us"), told.get("idle"), told.get("gaps_us")
    if not isinstance(span_us, float) or not isinstance(idle, float) or not isinstance(gaps, list):
        return str(told.get("error"))
    waits_us = {kind: wait_us for lane, kind, wait_us in gaps if lane == stream}
    return Idle(idle, waits_us.get("host_wait", 0.0) / span_us,
                waits_us.get("kernel_wait", 0.0) / span_us)  # fmt: skip


def compared(python: Path) -> list[Compared]:
    """Return every trace of tests/data."""
    paths = sorted(TRACES.glob("*.json.gz"))
    found = []
    for path, told in zip(paths, theirs(python, paths), strict=True):
        mine, busy = ours(path), trace_facts(path).busy_share
        found.append(Compared(
            path.name.removesuffix(".json.gz"), None if busy is None else 1 - busy,
            None if mine is None else mine[1], of_stream(told, "" if mine is None else mine[0]),
        ))  # fmt: skip
    return found


def row(one: Compared) -> tuple[str, ...]:
    """Return the cells of a trace: ours, then theirs."""
    cells = [f"{one.steps:.1%}" if one.steps is not None else "no steps, or no device"]
    for each in (one.ours, one.theirs):
        if isinstance(each, Idle):
            cells += [f"{value:.1%}" if value == value else "no links" for value in each]
        else:
            cells += ["no device" if each is None else each.split(":")[0], "", ""]
    return (one.name, *cells)


def main() -> None:
    """Print the table."""
    tool = speed.peer(PEER)
    if isinstance(tool, str):
        sys.exit(f"{PEER}: {tool}")
    header = ("trace", "idle in the steps", "idle", "host wait", "kernel wait",
              "idle (theirs)", "host wait (theirs)", "kernel wait (theirs)")  # fmt: skip
    print(f"{tool.name} {tool.version}\n")
    print(speed.table(header, (row(one) for one in compared(tool.bin / "python"))))


if __name__ == "__main__":
    main()
