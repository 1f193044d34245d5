"""What the device of a trace did: its kernels, copies, communication, and the gaps between."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING, Final, NamedTuple

from costplan.profiler.intervals import length, union, within, without
from costplan.profiler.kernels import direction, host_memory, kernel_class
from costplan.profiler.missing import Facts, Missing
from costplan.records.traces import Copies, KernelClass

if TYPE_CHECKING:
    from costplan.profiler.events import Event
    from costplan.profiler.intervals import Interval

KERNEL_WAIT_US: Final = 30.0
"""HolisticTraceAnalysis: a shorter gap is the device's own. It calls its 30 nanoseconds and
compares it with the microseconds of the trace; real gaps of a full queue take 1 to 2 of those."""

NO_DEVICE: Final = Missing("the trace holds no events of a GPU")
NO_KERNELS: Final = Missing("the trace holds no kernels")
NO_LINKS: Final = Missing("no kernel of the steps can be linked to the call that launched it")
_NAMES: Final = (
    *("streams", "kernels_per_step", "launches_per_step", "launch_delay_s", "short_kernels_share"),
    *("stream", "host_wait_share", "kernel_wait_share", "other_idle_share", "copies"),
    *("communication_share", "exposed_communication_share", "kernel_classes"),
)


class Linked(NamedTuple):
    """Something on the device and the call that started it, where that is known."""

    event: Event
    call: Event | None


def device_facts(
    device: list[Event], calls: list[Event], span: Interval | None, *, count: int
) -> Facts:
    """Return what the device did within the span of `count` steps."""
    if not device or span is None or span[1] <= span[0]:
        return dict.fromkeys(_NAMES, NO_DEVICE if not device else Missing("there are no steps"))
    by_number = launches(calls)
    linked = [Linked(each, by_number.get(each.correlation)) for each in device]
    inside = [each for each in linked if span[0] <= each.event.start_us < span[1]]
    return {
        "streams": len({each.event.lane for each in inside}),
        **launch_facts(inside, count=count),
        "launches_per_step": launched(linked, span, count=count),
        **gap_facts(linked, span),
        "copies": copied(inside),
        **communication_facts(device, span),
        "kernel_classes": classes([each.event for each in inside if each.event.kind == "kernel"]),
    }


def launches(calls: list[Event]) -> dict[int, Event]:
    """Return the calls by the number that links them to the device, the earliest of each."""
    found: dict[int, Event] = {}
    for each in calls:
        if each.correlation:
            found.setdefault(each.correlation, each)
    return found


def launch_facts(inside: list[Linked], *, count: int) -> Facts:
    """Return how many kernels there are, how long they wait and how many are short."""
    kernels = [each for each in inside if each.event.kind == "kernel"]
    known = [(each.event, each.call) for each in kernels if each.call is not None]
    found: Facts = {"kernels_per_step": len(kernels) / count}
    if not known:
        why = NO_LINKS if kernels else NO_KERNELS
        return found | dict.fromkeys(("launch_delay_s", "short_kernels_share"), why)
    delays_us = [kernel.start_us - call.start_us for kernel, call in known]
    short = sum(took_us(kernel) < took_us(call) for kernel, call in known)
    found["launch_delay_s"] = median(delays_us) / 1e6
    found["short_kernels_share"] = short / len(known)
    return found


def took_us(event: Event) -> float:
    """Return how long an event took."""
    return event.end_us - event.start_us


def launched(linked: list[Linked], span: Interval, *, count: int) -> float | Missing:
    """Return how many calls within the span started something on the device, per step."""
    starts_us = [each.call.start_us for each in linked if each.call is not None]
    if not starts_us:
        return NO_LINKS
    return sum(span[0] <= start_us < span[1] for start_us in starts_us) / count


def gap_facts(linked: list[Linked], span: Interval) -> Facts:
    """Return why the busiest stream idles between its events, as HolisticTraceAnalysis tells it."""
    by_stream: dict[str, list[Linked]] = {}
    for each in linked:
        by_stream.setdefault(each.event.lane, []).append(each)
    busy_us = {
        lane: length(within(union((e.event.start_us, e.event.end_us) for e in held), span))
        for lane, held in by_stream.items()
    }
    lane = min(busy_us, key=lambda name: (-busy_us[name], name))
    idle_us = {"host_wait_share": 0.0, "kernel_wait_share": 0.0, "other_idle_share": 0.0}
    end_us = by_stream[lane][0].event.end_us
    for each in by_stream[lane][1:]:
        gap = within([(end_us, max(each.event.start_us, end_us))], span)
        idle_us[gap_name(each, end_us)] += length(gap)
        end_us = max(end_us, each.event.end_us)
    span_us = span[1] - span[0]
    found: Facts = {name: min(gap_us / span_us, 1.0) for name, gap_us in idle_us.items()}
    if all(each.call is None for each in by_stream[lane]):
        found = dict.fromkeys(idle_us, NO_LINKS)
    return found | {"stream": lane}


def gap_name(each: Linked, previous_end_us: float) -> str:
    """Return whose fault the gap before an event is."""
    if each.call is not None and each.call.start_us > previous_end_us:
        return "host_wait_share"
    short = each.event.start_us - previous_end_us < KERNEL_WAIT_US
    return "kernel_wait_share" if short else "other_idle_share"


def copied(inside: list[Linked]) -> tuple[Copies, ...]:
    """Return the copies by direction and kind of host memory, longest first."""
    groups: dict[tuple[str, str], list[Linked]] = {}
    for each in inside:
        if each.event.kind == "copy":
            key = (direction(each.event.name), host_memory(each.event.name))
            groups.setdefault(key, []).append(each)
    found = []
    for (way, memory), held in groups.items():
        sizes = [size_bytes(each) for each in held]
        known = [size for size in sizes if size is not None]
        told = {
            "direction": way,
            "host_memory": memory,
            "count": len(held),
            "copy_s": sum(took_us(each.event) for each in held) / 1e6,
            "size_bytes": sum(known) if len(known) == len(sizes) else None,
        }
        found.append(Copies.model_validate(told))
    return tuple(sorted(found, key=lambda each: (-each.copy_s, each.direction, each.host_memory)))


def size_bytes(each: Linked) -> float | None:
    """Return the size of a copy; ROCm says it of the call alone."""
    for event in (each.event, each.call):
        if event is not None and event.size_bytes >= 0:
            return event.size_bytes
    return None


def communication_facts(device: list[Event], span: Interval) -> Facts:
    """Return the time in communication, and what of it no other work of the device hides."""
    talk: list[Interval] = []
    work: list[Interval] = []
    for each in device:
        talks = each.kind == "kernel" and kernel_class(each.name) == "communication"
        (talk if talks else work).append((each.start_us, each.end_us))
    talking, working = within(union(talk), span), union(work)
    span_us = span[1] - span[0]
    return {
        "communication_share": min(length(talking) / span_us, 1.0),
        "exposed_communication_share": min(without(talking, working) / span_us, 1.0),
    }


def classes(kernels: list[Event]) -> tuple[KernelClass, ...] | Missing:
    """Return the time of the kernels by what they do, longest first."""
    total_us = sum(took_us(each) for each in kernels)
    if total_us <= 0:
        return NO_KERNELS
    groups: dict[str, list[float]] = {}
    names = {each.name: kernel_class(each.name) for each in kernels}
    for each in kernels:
        groups.setdefault(names[each.name], []).append(took_us(each))
    found = [
        KernelClass.model_validate(
            {
                "name": name,
                "count": len(held),
                "kernel_s": sum(held) / 1e6,
                "share": min(sum(held) / total_us, 1.0),
            }
        )
        for name, held in groups.items()
    ]
    return tuple(sorted(found, key=lambda each: (-each.kernel_s, each.name)))
