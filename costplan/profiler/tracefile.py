"""What a torch.profiler trace shows: events in, facts out, and a reason for each that is missing.

Of several processes the one with the most step markers is read, of several devices the one that
is busy longest: adding devices up would hide that each of them waits.
"""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from costplan.profiler.devicework import NO_DEVICE, device_facts
from costplan.profiler.hostwork import host_facts, started
from costplan.profiler.intervals import Interval, length, union, within, without
from costplan.profiler.missing import Facts, Missing, split
from costplan.records.traces import TraceFacts, TraceStep

if TYPE_CHECKING:
    from collections.abc import Mapping

    from costplan.profiler.events import Event, Read

NO_STEPS = Missing("the trace holds no step markers (ProfilerStep)")
NO_LOADER = Missing("no call of a torch DataLoader stands in the trace: another loader, or none")
CUT = Missing("the file ends in the middle, and its events are in no order of time")
_ON_DEVICE = frozenset({"kernel", "copy", "set"})
_SHARES = ("busy_share", "loader_share", "idle_in_loader_share")
_OF_SPAN = ("span_s", "step_s", "loader_calls_per_step", "optimizer_steps_per_step", *_SHARES)
_WITHOUT_SPAN = frozenset({"steps", "rank", "ranks", "device", "device_name"})
CUT_SHARE = 0.1
"""A last step that takes less than this part of the longest was cut off as the tracer stopped."""


class About(NamedTuple):
    """What the file says beside its events."""

    device_names: Mapping[str, str] = {}
    rank: int | None = None
    ranks: int | None = None
    cut: bool = False


NOTHING_SAID = About()


class Parts(NamedTuple):
    """The events of one trace, told apart."""

    steps: list[Event]
    loader: list[Event]
    optimizer: list[Event]
    calls: list[Event]
    device: list[Event]
    span: Interval | None


def facts(read: Read, about: About = NOTHING_SAID) -> TraceFacts:
    """Return what a trace shows."""
    pid = process(read)
    here = [each for each in read.events if each.pid == pid or each.kind in _ON_DEVICE]
    whole = not about.cut or read.in_order
    steps = markers(here)
    if about.cut and whole:  # all that started before the last event is there
        steps = [each for each in steps if each.end_us <= read.last_us]
    span = (steps[0].start_us, max(each.end_us for each in steps)) if steps else None
    device = busiest(here, span)
    lanes = {each.lane for each in steps}
    parts = Parts(
        steps,
        [each for each in here if each.kind == "loader" and each.lane in lanes],
        [each for each in here if each.kind == "optimizer"],
        [each for each in here if each.kind == "call"],
        [each for each in here if each.kind in _ON_DEVICE and each.pid == device],
        span,
    )
    values, reasons = split(sections(parts, read, about, device, whole=whole))
    notes = (*process_notes(read, pid), *step_notes(parts), *left_out_notes(read, about))
    told = {**values, "reasons": reasons, "notes": notes, "cut": about.cut}
    return TraceFacts.model_validate(told)


def sections(parts: Parts, read: Read, about: About, device: str | None, *, whole: bool) -> Facts:
    """Return every figure, or why it is missing."""
    found: Facts = {
        "rank": about.rank if about.rank is not None else Missing("the trace names no rank"),
        "ranks": about.ranks if about.ranks is not None else Missing("the trace names no ranks"),
        "device": NO_DEVICE if device is None else device,
        "device_name": about.device_names.get(device or "", Missing("the trace names no GPU")),
    }
    covered = union((each.start_us, each.end_us) for each in parts.device)
    no_loader = absent_loader(parts, read)
    waits = no_loader or union((each.start_us, each.end_us) for each in parts.loader)
    busy = covered or NO_DEVICE
    if not whole:
        waits = busy = CUT
    found |= time_facts(parts, busy, waits)
    found["steps"] = tuple(step(each, parts, busy, waits) for each in parts.steps)
    found |= device_facts(parts.device, parts.calls, parts.span, count=len(parts.steps))
    found |= host_facts(parts.calls, parts.device, parts.span, count=len(parts.steps))
    if not whole:
        found |= dict.fromkeys(found.keys() - _WITHOUT_SPAN - {"span_s", "step_s"}, CUT)
    if parts.span is None:
        found |= dict.fromkeys((*_OF_SPAN, *found.keys() - _WITHOUT_SPAN), NO_STEPS)
    return found


def process(read: Read) -> str | None:
    """Return the process with the most step markers, the first by name where several have."""
    counted = Counter(each.pid for each in read.events if each.kind == "step")
    counted = counted or Counter(each.pid for each in read.events if each.kind not in _ON_DEVICE)
    return min(counted, key=lambda pid: (-counted[pid], pid), default=None)


def markers(events: list[Event]) -> list[Event]:
    """Return the step markers in order; of several with one number the longest."""
    found: dict[str, Event] = {}
    for each in events:
        if each.kind != "step":
            continue
        # A marker without a number says nothing of which step it is: all of them count.
        key = each.name if "#" in each.name else f"{each.name} {each.start_us}"
        known = found.setdefault(key, each)
        if each.end_us - each.start_us > known.end_us - known.start_us:
            found[key] = each
    return sorted(found.values())


def busiest(events: list[Event], span: Interval | None) -> str | None:
    """Return the device that is busy longest, within the span where there is one."""
    by_device: dict[str, list[Interval]] = {}
    for each in events:
        if each.kind in _ON_DEVICE:
            by_device.setdefault(each.pid, []).append((each.start_us, each.end_us))
    busy_us = {}
    for device, intervals in by_device.items():
        covered = union(intervals)
        busy_us[device] = length(within(covered, span) if span else covered)
    return min(busy_us, key=lambda device: (-busy_us[device], device), default=None)


def absent_loader(parts: Parts, read: Read) -> Missing | None:
    """Return why the time in a loader is not known, or None where it is."""
    if parts.loader:
        return None
    if any(each.kind == "loader" for each in read.events):
        return Missing("batches are fetched on another thread than that of the step markers")
    if read.host_ranges:
        return NO_LOADER
    return Missing("the trace holds no events of the host")


def time_facts(
    parts: Parts, busy: list[Interval] | Missing, waits: list[Interval] | Missing
) -> Facts:
    """Return how the time of the span divides."""
    if parts.span is None:
        return {}
    start_us, end_us = parts.span
    span_us = end_us - start_us
    count = len(parts.steps)
    no_optimizer = Missing("no optimizer marks its steps in the trace")
    return {
        "span_s": span_us / 1e6,
        "step_s": span_us / 1e6 / count,
        **shares(parts.span, busy, waits),
        "loader_calls_per_step": waits
        if isinstance(waits, Missing)
        else started(outermost(parts.loader), parts.span) / count,
        "optimizer_steps_per_step": started(parts.optimizer, parts.span) / count
        if parts.optimizer
        else no_optimizer,
    }


def shares(
    span: Interval, busy: list[Interval] | Missing, waits: list[Interval] | Missing
) -> Facts:
    """Return the shares of `span` in which the device is busy, the host waits, and both at once."""
    span_us = span[1] - span[0]
    if span_us <= 0:
        none = Missing("the step markers take no time")
        return dict.fromkeys(_SHARES, none)
    found: Facts = {"busy_share": busy, "loader_share": waits}
    if not isinstance(busy, Missing):
        found["busy_share"] = min(length(within(busy, span)) / span_us, 1.0)
    if not isinstance(waits, Missing):
        found["loader_share"] = min(length(within(waits, span)) / span_us, 1.0)
    if isinstance(busy, Missing) or isinstance(waits, Missing):
        found["idle_in_loader_share"] = busy if isinstance(busy, Missing) else waits
    else:
        idle_us = without(within(waits, span), busy)
        found["idle_in_loader_share"] = min(idle_us / span_us, 1.0)
    return found


def step(
    marker: Event, parts: Parts, busy: list[Interval] | Missing, waits: list[Interval] | Missing
) -> TraceStep:
    """Return one step; what is missing of it is missing of all, with the same reason."""
    span = (marker.start_us, marker.end_us)
    values, _ = split(shares(span, busy, waits))
    told = {
        **values,
        "name": marker.name,
        "start_s": (marker.start_us - parts.steps[0].start_us) / 1e6,
        "step_s": (marker.end_us - marker.start_us) / 1e6,
        "kernels": None
        if isinstance(busy, Missing)
        else started([each for each in parts.device if each.kind == "kernel"], span),
    }
    return TraceStep.model_validate(told)


def outermost(events: list[Event]) -> list[Event]:
    """Return the sorted events that no other of the list holds: a call in a call is one call."""
    found: list[Event] = []
    for each in sorted(events, key=lambda event: (event.start_us, -event.end_us)):
        if not found or each.start_us >= found[-1].end_us:
            found.append(each)
    return found


def process_notes(read: Read, pid: str | None) -> list[str]:
    """Return what was not read of other processes and devices."""
    pids = {each.pid for each in read.events if each.kind == "step"}
    devices = {each.pid for each in read.events if each.kind in _ON_DEVICE}
    found = []
    if len(pids) > 1:
        found.append(f"{len(pids)} processes mark steps: process {pid} is read")
    if len(devices) > 1:
        found.append(f"{len(devices)} devices: the busiest is read")
    if len(pids) > 1 and len(devices) > 1:
        found.append("which device belongs to which process is not known")
    return found


def step_notes(parts: Parts) -> list[str]:
    """Return what is odd about the steps."""
    steps_us = [each.end_us - each.start_us for each in parts.steps]
    found = []
    if len(steps_us) > 1 and steps_us[-1] < CUT_SHARE * max(steps_us):
        found.append("the last step was cut off as the tracer stopped: figures per step are low")
    gap_us = sum(max(b.start_us - a.end_us, 0.0) for a, b in pairwise(parts.steps))
    if gap_us > CUT_SHARE * sum(steps_us):
        found.append("steps are missing between the markers: they count as time of the others")
    return found


def left_out_notes(read: Read, about: About) -> list[str]:
    """Return what of the file could not be used."""
    found = [f"{count} events {why} are left out" for why, count in sorted(read.left_out.items())]
    if about.cut:
        found.append("the file ends in the middle: what stands before that is read")
    return found
