"""Small traces made by hand: times in microseconds, one process, one GPU unless said otherwise."""

from __future__ import annotations

from typing import Any

from costplan.profiler.events import read
from costplan.profiler.tracefile import NOTHING_SAID, About, facts
from costplan.records.traces import TraceFacts

Raw = dict[str, Any]

LOADER = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"
PINNED = "Memcpy HtoD (Pinned -> Device)"
PAGEABLE = "Memcpy HtoD (Pageable -> Device)"


def event(cat: str, name: str, ts: float, dur: float, **more: Any) -> Raw:
    return {"ph": "X", "cat": cat, "name": name, "pid": 1, "tid": 1, "ts": ts, "dur": dur, **more}


def step(number: int, ts: float, dur: float, **more: Any) -> Raw:
    return event("user_annotation", f"ProfilerStep#{number}", ts, dur, **more)


def loader(ts: float, dur: float, **more: Any) -> Raw:
    return event("user_annotation", LOADER, ts, dur, **more)


def call(name: str, ts: float, dur: float, correlation: int = 0, **more: Any) -> Raw:
    return event("cuda_runtime", name, ts, dur, args={"correlation": correlation}, **more)


def kernel(
    ts: float,
    dur: float,
    *,
    name: str = "sgemm",
    cat: str = "kernel",
    stream: int = 7,
    correlation: int = 0,
    device: int = 0,
    **more: Any,
) -> Raw:
    args = {"device": device, "stream": stream, "correlation": correlation, **more}
    return event(cat, name, ts, dur, pid=device, tid=stream, args=args)


def facts_of(*events: Raw, about: About = NOTHING_SAID) -> TraceFacts:
    return facts(read(events), about)
