"""How much of what an offer promises is there.

Counted are the figures that can be measured in the box: the GPUs and their link, cores, main
memory, disk and line. Reliability and the like are no property of this hour.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from costplan.records.checks import CheckLine, Compared
from costplan.usable import (
    amount_level,
    down_mbit_per_s,
    least,
    least_memory_mb,
    share_level,
    usable_cores,
    usable_ram_gb,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from costplan.records.checks import BoxFacts, Level, Promised

MEMORY_SHARE: Final = 0.88
"""Memory of a card is sold in round numbers: 46,068 MiB as 48 GB (see `vast_offers`)."""
MIB_PER_GIB: Final = 1024
OWN_LINES: Final = {"down_mbit_per_s", "disk_mb_per_s"}
"""Promises that the line of what was measured tells."""
WORDS: Final = {
    "gpu_count": ("GPUs", ""),
    "gpu_memory_gb": ("memory of a GPU", " GB"),
    "pcie_width": ("PCIe width", " lanes"),
    "pcie_gen": ("PCIe generation", ""),
    "cores": ("cores", ""),
    "ram_gb": ("main memory", " GB"),
    "up_mbit_per_s": ("line up", " Mbit/s"),
}


def exact_level(promised: float, measured: float) -> Level:
    """Return what a count makes of a promised one.

    >>> exact_level(8, 8), exact_level(8, 7)
    ('ok', 'fail')
    """
    return "ok" if measured >= promised else "fail"


def memory_level(promised: float, measured: float) -> Level:
    """Return what the memory of a GPU makes of a promised one.

    >>> memory_level(48, 44.98), memory_level(48, 42)
    ('ok', 'fail')
    """
    return "ok" if measured >= MEMORY_SHARE * promised else "fail"


def compared(given: Promised, box: BoxFacts) -> list[Compared]:
    """Return each promise with what there is of it; None measured is unknown."""
    gpus = box.gpus or ()
    memory_mb = least_memory_mb(box)
    found = [
        _gpu(given, box),
        _figure("gpu_count", given.gpu_count, None if box.gpus is None else len(gpus), exact_level),
        _figure(
            "gpu_memory_gb",
            given.gpu_memory_gb,
            None if memory_mb is None else memory_mb / MIB_PER_GIB,
            memory_level,
        ),
        _figure("pcie_width", given.pcie_width, least(g.pcie_width for g in gpus), exact_level),
        _figure("pcie_gen", given.pcie_gen, least(g.pcie_gen_max for g in gpus), exact_level),
        _figure("cores", given.cores, usable_cores(box.cpu), amount_level),
        _figure("ram_gb", given.ram_gb, usable_ram_gb(box.memory), amount_level),
        _figure(
            "down_mbit_per_s", given.down_mbit_per_s, down_mbit_per_s(box.download), share_level
        ),
        _figure("up_mbit_per_s", given.up_mbit_per_s, None, share_level),
        _figure("disk_mb_per_s", given.disk_mb_per_s, box.disk.cold_mb_per_s, share_level),
    ]
    return [each for each in found if each is not None]


def _gpu(given: Promised, box: BoxFacts) -> Compared | None:
    if given.gpu_name is None:
        return None
    gpus = box.gpus or ()
    if not gpus or not given.cards or not all(gpu.cards for gpu in gpus):
        return Compared(what="gpu", promised=given.gpu_name, measured=None, level="unknown")
    same = all(set(gpu.cards) & set(given.cards) for gpu in gpus)
    names = ", ".join(sorted({gpu.name for gpu in gpus}))
    level: Level = "ok" if same else "fail"
    return Compared(what="gpu", promised=given.gpu_name, measured=names, level=level)


def _figure(
    what: str,
    promised: float | None,
    measured: float | None,
    judge: Callable[[float, float], Level],
) -> Compared | None:
    if promised is None:
        return None
    level: Level = "unknown" if measured is None else judge(promised, measured)
    return Compared(what=what, promised=promised, measured=measured, level=level)


def lines(found: Sequence[Compared]) -> list[CheckLine]:
    """Return one line for the promises that are kept, and one for each other."""
    shown = [each for each in found if each.what not in OWN_LINES]
    kept = [_name(each) for each in shown if each.level == "ok"]
    said = []
    if kept:
        said.append(CheckLine(name="promised", level="ok", says=f"kept: {', '.join(kept)}"))
    return said + [_line(each) for each in shown if each.level != "ok"]


def _name(each: Compared) -> str:
    return "GPU" if each.what == "gpu" else WORDS[each.what][0]


def _line(each: Compared) -> CheckLine:
    if each.measured is None:
        says = f"{_name(each)}: {_figures(each)} promised, not measured"
        return CheckLine(name="promised", level="unknown", says=says)
    if each.what == "gpu":
        says = f"{each.measured}, and {each.promised} was promised"
    else:
        says = f"{_name(each)}: {each.measured:.3g} of {_figures(each)} promised"
    todo = "return it and rent another"
    return CheckLine(name="promised", level="fail", says=says, todo=todo, fault="box")


def _figures(each: Compared) -> str:
    if isinstance(each.promised, str):
        return each.promised
    return f"{each.promised:.3g}{WORDS[each.what][1]}"
