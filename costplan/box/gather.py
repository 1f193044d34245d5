"""Gathers everything that one look at a box needs, in one go and by one clock.

Runs alone with `files`, `gpus` and `processes`: their sources are also sent to other boxes.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from costplan.box import files, gpus, processes

if TYPE_CHECKING:
    from collections.abc import Sequence


def gather(patterns: Sequence[str]) -> dict[str, Any]:
    """Return what `Gathered` describes: the clocks last, so that no age comes out negative."""
    folders = files.folders(patterns)
    table = processes.table()
    cards, problem = gpus.seen()
    used, total = processes.disk(disk_of(folders))
    network = processes.network_bytes()
    problems = [
        *([] if problem is None else [problem]),
        *([] if table is not None else ["the process table cannot be read in full"]),
        *([] if network is not None else ["the network counters cannot be read"]),
        *([] if used is not None else ["the disk cannot be read"]),
    ]
    machine = {
        "gpus": cards,
        "processes": table,
        "network_bytes": network,
        "disk_used_bytes": used,
        "disk_total_bytes": total,
        "logins": processes.logins(),
        "problems": problems,
    }
    return {"folders": folders, "machine": machine, "clock": processes.clock()}


def disk_of(folders: list[dict[str, Any]]) -> Path:
    """Return the folder whose disk counts: the first run's, else where one stands."""
    there = (Path(each["path"]) for each in folders if not each.get("problem"))
    return next(there, Path())
