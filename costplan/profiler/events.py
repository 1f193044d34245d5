"""Events of a chrome trace as they are used: old and new categories in, few plain fields out.

Nothing raises here: an event that cannot be read is counted and left out.
"""

from __future__ import annotations

import math
from collections import Counter
from functools import lru_cache
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from costplan.profiler.kernels import is_loader, is_optimizer, is_step

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

Kind = Literal["kernel", "copy", "set", "call", "step", "loader", "optimizer", "host"]

# torch 1.8 wrote the first spelling of each, torch 1.11 and later the second, on ROCm too.
_DEVICE_KINDS: Final[dict[str, Kind]] = {
    "kernel": "kernel",
    "memcpy": "copy",
    "gpu_memcpy": "copy",
    "memset": "set",
    "gpu_memset": "set",
    "runtime": "call",
    "cuda_runtime": "call",
    "cuda_driver": "call",
    "hip_runtime": "call",
}
_HOST: Final = frozenset({"operator", "cpu_op", "user_annotation"})


class Event(NamedTuple):
    """One thing that took time; `lane` is its thread or stream."""

    start_us: float
    end_us: float
    kind: Kind
    name: str
    pid: str
    lane: str
    correlation: int = 0
    """0 where the trace does not say; it links a call to what it launched."""
    size_bytes: float = -1.0
    """Negative where the trace does not say."""


class Read(NamedTuple):
    """The usable events, sorted, and how many were not."""

    events: list[Event]
    left_out: Counter[str]
    host_ranges: int
    """Ranges on the host that are none of ours: above 0 where the host was traced at all."""
    in_order: bool
    """Each event of the file starts no earlier than the one before it."""
    last_us: float
    """Start of the last event of the file."""


class _Half(NamedTuple):
    """A begin or an end."""

    at_us: float
    phase: str
    raw: Mapping[str, object]


def read(raw_events: Iterable[object]) -> Read:
    """Return what the events of a chrome trace say, whatever their order."""
    events: list[Event] = []
    halves: list[_Half] = []
    left_out: Counter[str] = Counter()
    in_order, last_us = True, -math.inf
    for raw in raw_events:
        if not isinstance(raw, dict) or not wanted(raw):
            continue
        start_us = number(raw.get("ts"))
        if start_us is None:
            left_out["without a time"] += 1
            continue
        in_order, last_us = in_order and start_us >= last_us, start_us
        if raw["ph"] in ("B", "E"):
            halves.append(_Half(start_us, str(raw["ph"]), raw))
        else:
            add(events, left_out, whole(raw, start_us, number(raw.get("dur"))))
    for begun, end_us in paired(halves, left_out):
        if kind(begun.raw) is not None:
            add(events, left_out, whole(begun.raw, begun.at_us, end_us - begun.at_us))
    used = [each for each in events if each.kind != "host"]
    return Read(sorted(used), +left_out, len(events) - len(used), in_order, last_us)


def add(events: list[Event], left_out: Counter[str], taken: Event | None) -> None:
    """Add an event, or count one that has no duration."""
    if taken is None:
        left_out["without a duration"] += 1
    else:
        events.append(taken)


def wanted(raw: Mapping[str, object]) -> bool:
    """Return whether a raw event is used: every begin and end is, to know which belong together."""
    return raw.get("ph") in ("B", "E") or (raw.get("ph") == "X" and kind(raw) is not None)


def kind(raw: Mapping[str, object]) -> Kind | None:
    """Return what a raw event is, or None for what is not used here."""
    category = str(raw.get("cat", "")).lower()
    if category in _DEVICE_KINDS:
        return _DEVICE_KINDS[category]
    return host_kind(str(raw.get("name", ""))) if category in _HOST else None


@lru_cache(maxsize=10_000)
def host_kind(name: str) -> Kind:
    """Return what a range on the host is for."""
    if is_step(name):
        return "step"
    if is_loader(name):
        return "loader"
    return "optimizer" if is_optimizer(name) else "host"


def whole(raw: Mapping[str, object], start_us: float, dur_us: float | None) -> Event | None:
    """Return a raw event, or None without a duration."""
    found = kind(raw)
    if found is None or dur_us is None or dur_us < 0:
        return None
    args = raw.get("args")
    told: Mapping[str, object] = args if isinstance(args, dict) else {}
    device = told.get("device")
    on_device = found in ("kernel", "copy", "set") and device is not None
    return Event(
        start_us,
        start_us + dur_us,
        found,
        str(raw.get("name", "")),
        str(device if on_device else raw.get("pid", "")),
        str(raw.get("tid", "")),
        int(number(told.get("correlation")) or 0),
        size_bytes(told),
    )


def size_bytes(told: Mapping[str, object]) -> float:
    """Return the size of a copy or memory set; ROCm says it of the call, by another name."""
    sizes = (number(told.get(key)) for key in ("bytes", "size"))
    return next((size for size in sizes if size is not None), -1.0)


def paired(halves: list[_Half], left_out: Counter[str]) -> list[tuple[_Half, float]]:
    """Return each begin whose end stands in the trace too, with the time of that end."""
    found: list[tuple[_Half, float]] = []
    open_ones: dict[tuple[str, str], list[_Half]] = {}
    # At one moment an end goes before a begin: ranges that follow each other touch.
    for half in sorted(halves, key=lambda each: (each.at_us, each.phase == "B")):
        waiting = open_ones.setdefault((str(half.raw.get("pid")), str(half.raw.get("tid"))), [])
        if half.phase == "B":
            waiting.append(half)
            continue
        begun = _begin_of(half, waiting)
        if begun is None:
            left_out["with an end alone"] += 1
        else:
            found.append((begun, half.at_us))
    left_out["with a begin alone"] += sum(len(waiting) for waiting in open_ones.values())
    return found


def _begin_of(end: _Half, waiting: list[_Half]) -> _Half | None:
    """Take the latest begin off the list that has the name of the end, if the end has one."""
    name = end.raw.get("name")
    for index in range(len(waiting) - 1, -1, -1):
        if name in (None, "", waiting[index].raw.get("name")):
            return waiting.pop(index)
    return None


def number(value: object) -> float | None:
    """Return a finite number, given as one or as text.

    >>> number("12.5"), number(True), number("soon"), number(float("nan"))
    (12.5, None, None, None)
    """
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        found = float(value)
    except (ValueError, OverflowError):
        return None
    return found if math.isfinite(found) else None
