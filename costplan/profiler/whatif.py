"""What each change would buy in step time: measured where a burst made it, else bounded."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final, NamedTuple

from costplan.profiler.taken import copied_s, more_workers
from costplan.records.profiles import WhatIf

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from costplan.profiler.series import Mean
    from costplan.profiler.taken import Loaders, Taken
    from costplan.records.verdicts import Verdict

TWICE: Final = "a GPU twice as fast"
RESIDENT: Final = "a batch that is on the device already"


class Step(NamedTuple):
    """A step, and the parts of it that are known."""

    real: Mean
    replay: Mean
    device_s: float
    """What grows with the batch: with t = fixed + a x batch, twice what half the batch saves. What
    is copied grows with it too, and is not the device's work."""
    copy_s: float
    """Of the batch to the device, as far as the step is longer for it."""
    loader_limits: bool
    """Workers load beside the step, and it waits for them: what it does itself is hidden."""
    loader_s: float | None
    """Of one batch, where workers load beside the step: it cannot become shorter than this."""

    def with_work(self, work_s: float) -> float:
        """Return the step where everything but the loader takes `work_s`."""
        if self.loader_limits:
            return max(self.real.value, work_s)
        own_s = max(0.0, self.real.value - self.replay.value)
        return max(own_s + work_s, self.loader_s or 0.0)


def what_if(taken: Taken, loader: Loaders, *, workers: int) -> tuple[WhatIf, ...]:
    """Return the changes of which something is known, the largest gain first."""
    real, replay = taken.real(), taken.step("replay", "real")
    if real is None or replay is None:
        return ()
    half = taken.step("half", "replay")
    hungry = workers > 0 and taken.ready is not None and taken.ready < 1
    copy_s = copied_s(taken)
    most_s = replay.value - copy_s
    grows_s = most_s if half is None else 2 * (replay.value - half.value) - copy_s
    step = Step(
        real, replay, min(max(0.0, grows_s), most_s), copy_s,
        hungry and replay.value < real.value,
        loader.now_s if workers else None,
    )  # fmt: skip
    changes = [*_loader(taken, step, loader, workers), *_work(taken, step, known=half is not None)]
    return tuple(sorted(changes, key=lambda each: each.step_s))


def _loader(taken: Taken, step: Step, loader: Loaders, workers: int) -> Iterator[WhatIf]:
    real, replay = step.real, step.replay
    yield WhatIf(
        change="a loader that costs nothing", step_s=min(replay.value, real.value),
        low_s=min(replay.low, real.value), high_s=_finite(replay.high), basis="measured",
    )  # fmt: skip
    resident = taken.step("resident", "replay")
    if resident is not None:
        yield WhatIf(
            change=RESIDENT, step_s=min(resident.value, real.value),
            low_s=min(resident.low, real.value), high_s=_finite(resident.high), basis="measured",
        )  # fmt: skip
    if loader.best_workers is None or loader.best_s is None:
        return
    change = more_workers(loader.best_workers, workers)
    tried = taken.step("workers", "real")
    if tried is not None:
        yield WhatIf(change=change, step_s=tried.value, low_s=tried.low,
                     high_s=_finite(tried.high), basis="measured")  # fmt: skip
    elif loader.best_s < real.value:
        # With workers the loader runs beside the step: the slower of both sets the pace.
        step_s = min(real.value, max(loader.best_s, replay.value))
        yield WhatIf(change=change, step_s=step_s, low_s=None, high_s=None, basis="bounded")


def _work(taken: Taken, step: Step, *, known: bool) -> Iterator[WhatIf]:
    """Yield the changes of what a program does with a batch."""
    replay, double = step.replay, taken.step("double", "replay")
    if double is not None:
        high_s = None if double.high == math.inf else step.with_work(double.high / 2)
        yield WhatIf(
            change="twice the batch, by sample", step_s=step.with_work(double.value / 2),
            low_s=step.with_work(double.low / 2), high_s=high_s, basis="measured",
        )  # fmt: skip
    yield WhatIf(
        change=TWICE, step_s=step.with_work(replay.value - step.device_s / 2),
        low_s=None, high_s=None, basis="bounded",
    )  # fmt: skip
    if known:
        yield WhatIf(
            change="a host that costs nothing",
            step_s=step.with_work(step.device_s + step.copy_s),
            low_s=None, high_s=None, basis="bounded",
        )  # fmt: skip


def _finite(value: float) -> float | None:
    return value if value < math.inf else None


def within(changes: Iterable[WhatIf], verdict: Verdict, step_s: float) -> tuple[WhatIf, ...]:
    """Return the changes with no more from a GPU twice as fast than from any faster one.

    The bursts with replayed batches do not see that a loader beside the step keeps its pace.
    """
    most = next((each.share for each in verdict.gains if each.of == "a faster GPU"), 1.0)
    found = [
        each.model_copy(update={"step_s": max(each.step_s, (1 - most) * step_s)})
        if each.change == TWICE
        else each
        for each in changes
    ]
    return tuple(sorted(found, key=lambda each: each.step_s))
