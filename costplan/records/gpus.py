"""What the driver says of GPUs while a program uses them."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from costplan.records.record import Number, Record, Whole

Share = Annotated[Number, Field(ge=0, le=1)]


class GpuSample(Record):
    """One GPU at one moment; what the driver does not say is None."""

    at_s: Number
    """By the clock that all processes of a machine share."""
    uuid: str
    name: str = "GPU"
    clock_mhz: Number | None = None
    """Of its multiprocessors."""
    clock_max_mhz: Number | None = None
    temperature_c: Number | None = None
    power_watts: Number | None = None
    power_limit_watts: Number | None = None
    util_percent: Number | None = None
    reasons: Whole | None = None
    """Why the clock is not higher: bits, as NVML counts them."""
    pcie_gen: Whole | None = None
    pcie_width: Whole | None = None


class GpuWatched(Record):
    """One GPU during the bursts that were timed: medians, but for the highest temperature."""

    uuid: str
    name: str
    samples: Whole
    clock_mhz: Number | None = None
    clock_max_mhz: Number | None = None
    clock_first_mhz: Number | None = None
    """Of the first third of the samples."""
    clock_last_mhz: Number | None = None
    temperature_c: Number | None = None
    power_watts: Number | None = None
    power_limit_watts: Number | None = None
    util_share: Share | None = None
    slowed_by: tuple[str, ...] | None = None
    """In a tenth of the samples or more; None where the driver does not say."""
    pcie_gen: Whole | None = None
    pcie_width: Whole | None = None
