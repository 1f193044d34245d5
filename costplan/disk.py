"""How large a disk to rent: its parts, headroom, and the step in which it is sold."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from costplan.units import decimal

if TYPE_CHECKING:
    from decimal import Decimal

    from costplan.work import Work


class Disk(NamedTuple):
    """GB to allocate, and what makes them up."""

    gb: Decimal
    parts: tuple[tuple[str, float], ...]
    """Names and GB; they add up to `needed_gb`."""
    needed_gb: float
    headroom: float
    given: bool
    """True where the job states the size."""


def disk_for(work: Work, *, step_gb: Decimal) -> Disk:
    """Return the disk that `work` needs, rounded up to whole steps of `step_gb`.

    It is billed as allocated from the first minute and cannot be shrunk later.
    """
    parts: list[tuple[str, float]] = []
    if work.dataset_from != "volume":
        parts += [("dataset, packed", work.dataset_gb.expected), ("unpacked", work.unpacked_gb)]
    parts += [
        ("checkpoints", work.checkpoint_gb.expected * work.checkpoints_kept),
        ("environment", work.environment_gb),
    ]
    needed = sum(size for _, size in parts)
    if work.disk_gb is not None:
        return Disk(decimal(work.disk_gb), tuple(parts), needed, work.headroom, given=True)
    wanted = decimal(round(needed * (1 + work.headroom), 6))
    steps = max(1, math.ceil(wanted / step_gb))
    return Disk(steps * step_gb, tuple(parts), needed, work.headroom, given=False)
