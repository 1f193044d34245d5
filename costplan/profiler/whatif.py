"""What each change would buy in step time: measured where a burst made it, else bounded."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from costplan.records.profiles import WhatIf

if TYPE_CHECKING:
    from costplan.profiler.taken import Bursts, Loaders


def what_if(taken: Bursts, loader: Loaders, *, workers: int) -> tuple[WhatIf, ...]:
    """Return the changes of which something is known, the largest gain first."""
    real, replay = taken.mean("real"), taken.mean("replay")
    if real is None:
        return ()
    found = []
    if replay is not None:
        found.append(
            WhatIf(change="a loader that costs nothing", step_s=min(replay.value, real.value),
                   low_s=min(replay.low, real.value), high_s=min(replay.high, real.high),
                   basis="measured")
        )  # fmt: skip
    if loader.best_s is not None and replay is not None and loader.best_workers is not None:
        # With workers the loader runs beside the step: the slower of both sets the pace.
        step_s = min(real.value, max(loader.best_s, replay.value))
        found.append(
            WhatIf(change=f"{loader.best_workers} workers instead of {workers}", step_s=step_s,
                   low_s=None, high_s=None, basis="bounded")
        )  # fmt: skip
    half, double = taken.mean("half"), taken.mean("double")
    if replay is not None and double is not None:
        # By sample the loader costs what it did; only the work on the batch was doubled.
        loader_s = max(0.0, real.value - replay.value)
        found.append(
            WhatIf(
                change="twice the batch, by sample",
                step_s=loader_s + double.value / 2,
                low_s=loader_s + double.low / 2,
                high_s=None if double.high == math.inf else loader_s + double.high / 2,
                basis="measured",
            )
        )
    if replay is not None:
        # Of a step that a faster device cannot shorten: what the loader adds, and what half the
        # work takes beyond half the time, which is the host's.
        host_s = 0.0 if half is None else max(0.0, 2 * half.value - replay.value)
        kept_s = max(0.0, real.value - replay.value) + host_s
        device_s = max(0.0, real.value - kept_s)
        found.append(
            WhatIf(change="a GPU twice as fast", step_s=kept_s + device_s / 2, low_s=None,
                   high_s=None, basis="bounded")
        )  # fmt: skip
    return tuple(sorted(found, key=lambda each: each.step_s))
