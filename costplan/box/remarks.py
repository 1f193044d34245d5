"""What a person should know of a box and that decides nothing, and what a stop now would lose."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from costplan.box.load import GPU_IDLE_PERCENT, TRANSFERS, is_stuck
from costplan.box.timeline import span

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from decimal import Decimal

    from costplan.box.load import Load
    from costplan.box.progress import Kind, Progress
    from costplan.box.timeline import Timeline

DISK_WARNS: Final = 0.95
GOING: Final[set[Kind]] = {"moving", "writing", "alive", "starting", "hung"}


def remarks(
    line: Timeline, runs: Sequence[Progress], work: Load, *, window_s: float,
    usd_per_hour: Decimal | None = None,
) -> Iterator[str]:  # fmt: skip
    """Yield the notes, none where nothing is odd."""
    if line.broken is not None:
        yield f"watched anew since {span(line.age_s(line.looks[0]))} ago: {line.broken}"
    yield from unused_gpus(line, window_s)
    yield from stuck_gpus(line)
    if copies(line, runs, work, window_s):
        paid = "the GPUs are paid for while data is copied"
        if usd_per_hour is not None:
            paid = f"you pay ${usd_per_hour:.2f}/h to copy"
        yield f"{paid}: load through a cheap box or a volume first"
    machine = line.looks[-1].machine
    used, total = machine.disk_used_bytes, machine.disk_total_bytes
    if used is not None and total and used >= DISK_WARNS * total:
        share = 100 * used / total
        yield f"the disk is {share:.0f} % full: a stop may be refused, and files may be cut"
    for each in runs:
        if each.kind in ("hung", "crashed"):
            yield f"{each.run.path}: {each.value}"
        yield from growing_without_steps(each)


def unused_gpus(line: Timeline, window_s: float) -> Iterator[str]:
    """Yield which GPUs have done nothing all along while others worked."""
    most: dict[int, float | None] = {}
    for look in line.looks:
        for gpu in look.machine.gpus or ():
            if line.age_s(look) <= window_s:
                so_far, util = most.get(gpu.index, 0.0), gpu.util_percent
                most[gpu.index] = None if so_far is None or util is None else max(so_far, util)
    unused = [
        index for index, util in most.items() if util is not None and util <= GPU_IDLE_PERCENT
    ]
    if unused and len(unused) < len(most):
        named = f"GPU{'s' if len(unused) > 1 else ''} {', '.join(map(str, unused))}"
        them = "them" if len(unused) > 1 else "it"
        yield f"{named} unused: rent {len(most) - len(unused)} or fix {them}"


def stuck_gpus(line: Timeline) -> Iterator[str]:
    """Yield which GPUs say that they are busy and draw too little power."""
    for gpu in line.looks[-1].machine.gpus or ():
        if is_stuck(gpu):
            yield (
                f"GPU {gpu.index} says {gpu.util_percent:.0f} % but draws {gpu.power_watts:.0f} of "
                f"{gpu.power_limit_watts:.0f} W: it waits rather than computes"
            )


def copies(line: Timeline, runs: Sequence[Progress], work: Load, window_s: float) -> bool:
    """Return whether only data moves while the GPUs do nothing."""
    moves = any(each.name in TRANSFERS for each in work.said("busy", within_s=window_s))
    gpus = line.looks[-1].machine.gpus or ()
    idle = all((gpu.util_percent or 0.0) <= GPU_IDLE_PERCENT for gpu in gpus)
    return moves and bool(gpus) and idle and not any(each.kind == "moving" for each in runs)


def growing_without_steps(progress: Progress) -> Iterator[str]:
    """Yield that a run moves only by its log or files, not by its steps."""
    if progress.kind == "moving" and progress.steps_stood_s is not None:
        yield f"{progress.run.path}: no step for {span(progress.steps_stood_s)}, only files grow"


def eta_s(line: Timeline, runs: Sequence[Progress]) -> float | None:
    """Return the time until the last unfinished run is done; None where one does not tell."""
    left = [left_s(each, line) for each in runs if each.kind in GOING]
    known = [each for each in left if each is not None]
    return max(known) if known and len(known) == len(left) else None


def left_s(progress: Progress, line: Timeline) -> float | None:
    """Return what is left of a run now; a hung one never ends."""
    run = progress.run
    if progress.kind == "hung":
        return None
    if run.eta_s is not None and run.eta_at_s is not None:
        return max(run.eta_s - (line.now.wall_s - run.eta_at_s), 0.0)
    done = next((each for each in run.counters if each.of_training), None)
    if done is None or run.total is None or run.interval_s is None:
        return None
    left = (run.total - done.value) * run.interval_s
    return max(left - (line.now.wall_s - done.changed_at_s), 0.0)


def lost_s(line: Timeline, runs: Sequence[Progress]) -> float | None:
    """Return how much work a stop now would lose: the longest since a checkpoint, or the start."""
    found = []
    for each in runs:
        saved = each.run.checkpoint
        since_s = each.run.started_at_s if saved is None else saved.changed_at_s
        if each.kind in GOING and since_s is not None:
            found.append(max(line.now.wall_s - since_s, 0.0))
    return max(found, default=None)
