"""What the GPUs say of themselves: their memory, link, power, clocks, and who else is on them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from costplan.box.load import GPU_IDLE_PERCENT, RELEASED_MB
from costplan.records.checks import CheckLine

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from costplan.records.checks import BoxFacts, GpuFacts, Level, Needs

BYTES_PER_MIB: Final = 1_048_576
NARROW_LANES: Final = 8
"""A link narrower than this is a riser or a slot for something else: cards and their slots have
16, cards of laptops and the smallest ones 8. Chosen."""
CAPPED_SHARE: Final = 0.9
"""Of the default power limit. Chosen: a tenth of the power costs a few percent of speed."""
CLOCK_SHARE: Final = 0.95
"""Of the default clock that programs are held to. Chosen."""
NO_DRIVER: Final = "have nvidia-smi in the image; without it nobody sees the GPUs"

Trouble = tuple["Level", str]


def gpus(box: BoxFacts, needs: Needs | None) -> CheckLine:
    """Return which GPUs there are, and whether the job fits into the smallest."""
    if not box.gpus:
        why = box.gpus_problem or "the driver lists none"
        if box.gpu_present and "cannot be run" not in why:
            says = f"a driver is there and shows no GPU: {why}"
            return CheckLine(name="gpu", level="fail", says=says, todo="return it", fault="box")
        return CheckLine(name="gpu", level="unknown", says=why, todo=NO_DRIVER)
    kinds: dict[tuple[str, float | None], int] = {}
    for gpu in box.gpus:
        key = (gpu.name, gpu.memory_total_mb)
        kinds[key] = kinds.get(key, 0) + 1
    says = ", ".join(
        f"{count} x {name}" + ("" if memory is None else f", {memory:,.0f} MiB")
        for (name, memory), count in kinds.items()
    )
    says += f", driver {box.gpus[0].driver or 'unknown'}"
    if needs is not None and needs.memory_gb is not None:
        return _fits(box.gpus, says, needs.memory_gb)
    return CheckLine(name="gpu", level="ok", says=says)


def _fits(found: Sequence[GpuFacts], says: str, needed_gb: float) -> CheckLine:
    sizes = [gpu.memory_total_mb for gpu in found]
    if None in sizes:
        return CheckLine(name="gpu", level="unknown", says=f"{says}: memory unknown")
    least_gb = min(size for size in sizes if size is not None) * BYTES_PER_MIB / 1e9
    says += f", the job needs {needed_gb:g} GB"
    if least_gb < needed_gb:
        todo = "rent a card with more memory"
        return CheckLine(name="gpu", level="fail", says=says, todo=todo, fault="box")
    return CheckLine(name="gpu", level="ok", says=says)


def details(box: BoxFacts) -> list[CheckLine]:
    """Return a line for link, power, clocks and sharing, each over all GPUs."""
    if not box.gpus:
        return []
    return [
        _line(
            "pcie", box.gpus, link, "expect slow copies to the GPU; keep the data on it, or return"
        ),
        _line("power", box.gpus, power, "expect it slower under load than its name; ask for less"),
        _line("clocks", box.gpus, clocks, "watch its speed for a minute before the long run"),
        sharing(box),
    ]


def _line(
    name: str, found: Sequence[GpuFacts], judge: Callable[[GpuFacts], Trouble], todo: str
) -> CheckLine:
    """Return the worst of all GPUs as one line, the first of those that are alike named."""
    told = [(gpu, *judge(gpu)) for gpu in found]
    for level in ("warn", "unknown"):
        bad = [(gpu.index, says) for gpu, its, says in told if its == level]
        if bad:
            places = ", ".join(str(index) for index, _ in bad)
            says = f"GPU {places}: {bad[0][1]}"
            if level == "unknown":
                return CheckLine(name=name, level="unknown", says=says)
            return CheckLine(name=name, level="warn", says=says, todo=todo)
    return CheckLine(name=name, level="ok", says=told[0][2])


def link(gpu: GpuFacts) -> Trouble:
    """Return what a GPU's link to the processor says."""
    if gpu.pcie_width is None:
        return "unknown", "the driver does not tell the width of its link"
    most = "" if gpu.pcie_width_max is None else f" of {gpu.pcie_width_max}"
    gen = "" if gpu.pcie_gen_max is None else f", generation {gpu.pcie_gen_max}"
    says = f"{gpu.pcie_width}{most} lanes{gen}"
    narrow = gpu.pcie_width < NARROW_LANES or gpu.pcie_width < (gpu.pcie_width_max or 0)
    return ("warn" if narrow else "ok"), says


def power(gpu: GpuFacts) -> Trouble:
    """Return what a GPU's power limit says."""
    if gpu.power_limit_watts is None or not gpu.power_default_watts:
        return "unknown", "the driver does not tell its power limit and default"
    says = f"limit {gpu.power_limit_watts:.0f} of {gpu.power_default_watts:.0f} W"
    capped = gpu.power_limit_watts < CAPPED_SHARE * gpu.power_default_watts
    return ("warn" if capped else "ok"), says


def clocks(gpu: GpuFacts) -> Trouble:
    """Return whether somebody or something holds a GPU's clock down, seen at rest."""
    most = "" if gpu.clock_max_mhz is None else f", up to {gpu.clock_max_mhz:.0f} MHz"
    if gpu.slowed_by:
        return "warn", f"slowed by {' and '.join(gpu.slowed_by)}{most}"
    if gpu.clock_set_mhz is not None and gpu.clock_default_mhz:
        says = f"set to {gpu.clock_set_mhz:.0f} of {gpu.clock_default_mhz:.0f} MHz"
        if gpu.clock_set_mhz < CLOCK_SHARE * gpu.clock_default_mhz:
            return "warn", says
    if gpu.slowed_by is None:
        return "unknown", f"the driver does not tell what slows it{most}"
    return "ok", f"nothing slows it at rest{most}"


def sharing(box: BoxFacts) -> CheckLine:
    """Return whether somebody else is on a GPU; containers see only their own processes."""
    here = [run for run in box.runs or () if run.holds_gpu]
    for gpu in box.gpus or ():
        if gpu.memory_used_mb is None and gpu.util_percent is None:
            says = f"GPU {gpu.index}: the driver tells neither memory nor load"
            return CheckLine(name="sharing", level="unknown", says=says)
        used = gpu.memory_used_mb or 0.0
        loaded = (gpu.util_percent or 0.0) > GPU_IDLE_PERCENT
        if used <= RELEASED_MB and not loaded:
            continue
        says = f"GPU {gpu.index}: {used:,.0f} MiB in use at {gpu.util_percent or 0:.0f} %"
        if here:
            named = ", ".join(f"{run.name} ({run.pid})" for run in here)
            todo = "end it first if it is no run of yours"
            return CheckLine(name="sharing", level="warn", says=f"{says} by {named}", todo=todo)
        if box.runs is None:
            says += ", and nobody tells by whom"
            return CheckLine(name="sharing", level="unknown", says=says)
        says += ", and by nobody in this box"
        if loaded:
            todo = "somebody else computes on it: return it"
            return CheckLine(name="sharing", level="fail", says=says, todo=todo, fault="box")
        todo = "a leftover or another tenant: look again in a minute, then return it"
        return CheckLine(name="sharing", level="warn", says=says, todo=todo)
    return CheckLine(name="sharing", level="ok", says="nobody is on the GPUs")
