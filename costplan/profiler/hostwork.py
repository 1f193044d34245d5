"""What the host of a trace did that held it up: waits for the device, memory from the driver."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from costplan.profiler.intervals import length, union, within
from costplan.profiler.kernels import allocates, host_memory, waits
from costplan.profiler.missing import Facts, Missing

if TYPE_CHECKING:
    from costplan.profiler.events import Event
    from costplan.profiler.intervals import Interval

NO_CALLS: Final = Missing("the trace holds no calls of the GPU's runtime")
_NAMES: Final = ("syncs_per_step", "blocked_share", "allocations_per_step")


def host_facts(
    calls: list[Event], device: list[Event], span: Interval | None, *, count: int
) -> Facts:
    """Return the calls within the span of `count` steps that wait for the device or its driver."""
    if not calls or span is None or span[1] <= span[0]:
        return dict.fromkeys(_NAMES, NO_CALLS if not calls else Missing("there are no steps"))
    # The host may not touch pageable memory before the copy has read or written it.
    pageable = {
        each.correlation
        for each in device
        if each.kind == "copy" and each.correlation and host_memory(each.name) == "pageable"
    }
    blocking = [each for each in calls if waits(each.name) or each.correlation in pageable]
    blocked = within(union((each.start_us, each.end_us) for each in blocking), span)
    taken = [each for each in calls if allocates(each.name)]
    return {
        "syncs_per_step": started(blocking, span) / count,
        "blocked_share": min(length(blocked) / (span[1] - span[0]), 1.0),
        "allocations_per_step": started(taken, span) / count,
    }


def started(events: list[Event], span: Interval) -> int:
    """Return how many events start within the span."""
    return sum(span[0] <= each.start_us < span[1] for each in events)
