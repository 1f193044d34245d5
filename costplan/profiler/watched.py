"""From samples of the driver to how a GPU did during the bursts: clock, power, brakes."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING, Final

from costplan.profiler.limits import BRAKED_SHARE, CLOCK_SHARE, DRIFT_SHARE
from costplan.records.gpus import GpuWatched

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from costplan.records.gpus import GpuSample
    from costplan.records.verdicts import Measured

POWER_CAP: Final = "its power limit"
BRAKES: Final = {
    0x04: POWER_CAP,
    0x08: "the hardware",
    0x20: "heat",
    0x40: "heat",
    0x80: "the power supply",
}
"""NVML's nvmlClocksEventReasons: software power cap, hardware slowdown, software and hardware
thermal slowdown, hardware power brake."""
LEAST_SAMPLES: Final = 3
PERCENT: Final = 100

Span = tuple[float, float]


def watched(
    samples: Sequence[GpuSample], *, uuid: str | None, spans: Sequence[Span]
) -> GpuWatched | None:
    """Return how one GPU did; None where fewer than three samples are of it and of a burst.

    Args:
        samples: Of all GPUs of the machine, in order of time.
        uuid: Of the GPU that the program uses; where it is not known, the only GPU there is.
        spans: From start to end of each burst, by the clock of the samples.
    """
    uuids = {each.uuid for each in samples}
    mine = uuid if uuid in uuids else next(iter(uuids)) if len(uuids) == 1 else None
    found = [each for each in samples if each.uuid == mine and within(each.at_s, spans)]
    if mine is None or len(found) < LEAST_SAMPLES:
        return None
    third = max(1, len(found) // 3)
    temperatures = [each.temperature_c for each in found if each.temperature_c is not None]
    util = middle(each.util_percent for each in found)
    return GpuWatched(
        uuid=mine,
        name=found[0].name,
        samples=len(found),
        clock_mhz=middle(each.clock_mhz for each in found),
        clock_max_mhz=middle(each.clock_max_mhz for each in found),
        clock_first_mhz=middle(each.clock_mhz for each in found[:third]),
        clock_last_mhz=middle(each.clock_mhz for each in found[-third:]),
        temperature_c=max(temperatures, default=None),
        power_watts=middle(each.power_watts for each in found),
        power_limit_watts=middle(each.power_limit_watts for each in found),
        util_share=None if util is None else min(util / PERCENT, 1.0),
        slowed_by=slowed_by([each.reasons for each in found]),
        # The link sleeps at its lowest while nothing is copied.
        pcie_gen=max((each.pcie_gen for each in found if each.pcie_gen), default=None),
        pcie_width=max((each.pcie_width for each in found if each.pcie_width), default=None),
    )


def within(at_s: float, spans: Iterable[Span]) -> bool:
    """Return whether a moment lies in one of the spans."""
    return any(start_s <= at_s <= end_s for start_s, end_s in spans)


def middle(values: Iterable[float | None]) -> float | None:
    """Return the median of what is known."""
    known = [value for value in values if value is not None]
    return median(known) if known else None


def slowed_by(reasons: Sequence[int | None]) -> tuple[str, ...] | None:
    """Return what held the clock down in a tenth of the samples or more.

    >>> slowed_by([0x4, 0x4, 0x44]), slowed_by([0x1, 0x0]), slowed_by([None])
    (('its power limit', 'heat'), (), None)
    """
    known = [each for each in reasons if each is not None]
    if not known:
        return None
    found = []
    for name in dict.fromkeys(BRAKES.values()):
        bits = sum(bit for bit, told in BRAKES.items() if told == name)
        if sum(bool(each & bits) for each in known) >= BRAKED_SHARE * len(known):
            found.append(name)
    return tuple(found)


def clock_share(gpu: GpuWatched) -> float | None:
    """Return the clock as a share of the highest that it has."""
    if gpu.clock_mhz is None or not gpu.clock_max_mhz:
        return None
    return gpu.clock_mhz / gpu.clock_max_mhz


def throttled(gpu: GpuWatched) -> bool | None:
    """Return whether something holds the device down; its own power limit only where that costs."""
    if gpu.slowed_by is None:
        return None
    if set(gpu.slowed_by) - {POWER_CAP}:
        return True
    share = clock_share(gpu)
    return POWER_CAP in gpu.slowed_by and share is not None and share < CLOCK_SHARE


def with_gpu(measured: Measured, gpu: GpuWatched | None) -> Measured:
    """Return the measurements with what the driver says."""
    if gpu is None:
        return measured
    power_share = None
    if gpu.power_watts is not None and gpu.power_limit_watts:
        power_share = min(gpu.power_watts / gpu.power_limit_watts, 1.0)
    told = {"util_share": gpu.util_share, "throttled": throttled(gpu), "power_share": power_share}
    return measured.model_copy(update=told)


def drift(gpu: GpuWatched) -> str | None:
    """Return what to say of a clock that fell while the bursts ran; None where it held."""
    first, last = gpu.clock_first_mhz, gpu.clock_last_mhz
    if first is None or last is None or last > (1 - DRIFT_SHARE) * first:
        return None
    return (
        f"the GPU's clock fell from {first:.0f} to {last:.0f} MHz while the bursts ran: it may not "
        "be steady yet, and a long run is slower than this; --budget 300 shows by how much"
    )
