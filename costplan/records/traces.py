"""What a torch.profiler trace shows about the steps it holds.

Shares are of the span of the step markers, from the start of the first to the end of the last.
None is never zero: `reasons` says why a figure is not known.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from costplan.records.record import Number, Record, Truth, Whole

Share = Annotated[Number, Field(ge=0, le=1)]
Seconds = Annotated[Number, Field(ge=0)]
Count = Annotated[Number, Field(ge=0)]

Direction = Literal["HtoD", "DtoH", "DtoD", "PtoP", "HtoH", "unknown"]
HostMemory = Literal["pageable", "pinned", "unknown", "none"]
KernelName = Literal[
    "gemm/conv", "attention", "norm/reduce", "elementwise", "copy", "communication", "other"
]


class TraceStep(Record):
    """One step marker."""

    name: str
    start_s: Seconds
    """Since the start of the first."""
    step_s: Seconds
    busy_share: Share | None = None
    loader_share: Share | None = None
    idle_in_loader_share: Share | None = None
    kernels: Whole | None = None
    """That start in it."""


class Copies(Record):
    """The copies of one direction from or to one kind of host memory."""

    direction: Direction
    host_memory: HostMemory
    """`none` where both ends are on a GPU."""
    count: Whole
    copy_s: Seconds
    """All of them together, on the GPU."""
    size_bytes: Count | None = None


class KernelClass(Record):
    """Kernels that do the same kind of work."""

    name: KernelName
    count: Whole
    kernel_s: Seconds
    share: Share
    """Of the time of all kernels, each counted for itself."""


class TraceFacts(Record):
    """What one trace shows, of one process and the device it keeps busiest."""

    steps: tuple[TraceStep, ...] = ()
    span_s: Seconds | None = None
    step_s: Seconds | None = None
    """The span by the number of steps."""
    device: str | None = None
    device_name: str | None = None
    streams: Whole | None = None
    rank: Whole | None = None
    ranks: Whole | None = None

    busy_share: Share | None = None
    """Union of kernels, copies and memory sets, so that several streams never count twice."""
    loader_share: Share | None = None
    """In the next batch's call of the loader, on the thread of the step markers."""
    idle_in_loader_share: Share | None = None
    """The device idle and the host in that call."""
    loader_calls_per_step: Count | None = None
    """Above 1 where gradients are accumulated within a step."""
    optimizer_steps_per_step: Count | None = None

    kernels_per_step: Count | None = None
    """That start within the span; a device that lags behind runs some of them after it."""
    launches_per_step: Count | None = None
    """Calls within the span that started a kernel, a copy or a memory set at any time."""
    launch_delay_s: Number | None = None
    """Median, from the start of the call to the start of its kernel."""
    short_kernels_share: Share | None = None
    """Kernels that take less time than the call that launches them."""

    stream: str | None = None
    """The busiest, whose gaps are told apart in the next three."""
    host_wait_share: Share | None = None
    """Gaps at whose start the next launch had not even been called."""
    kernel_wait_share: Share | None = None
    """Other gaps so short that the device itself needs them between kernels."""
    other_idle_share: Share | None = None

    copies: tuple[Copies, ...] | None = None
    syncs_per_step: Count | None = None
    """Calls that hold the host until the device is done; copies of pageable memory are such."""
    blocked_share: Share | None = None
    """In those calls."""
    allocations_per_step: Count | None = None
    """Device memory taken from or given back to the driver."""
    communication_share: Share | None = None
    exposed_communication_share: Share | None = None
    """Of it, not hidden by other work of the device."""
    kernel_classes: tuple[KernelClass, ...] | None = None
    """Longest first."""

    cut: Truth = False
    """The file ends before its end."""
    reasons: dict[str, str] = Field(default_factory=dict)
    """Why a figure is None."""
    notes: tuple[str, ...] = ()
