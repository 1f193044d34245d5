"""Is the box busy, idle, hung, crashed or unknown? Several looks in, one verdict out.

Pure: the time is that of the looks. What holds, from strongest to weakest:

1. A box that its provider calls stopped or gone, and that answers, is unknown.
2. A counter that moves, or a checkpoint being written, is busy, whatever the GPU shows.
3. A run that stands still for too long is hung, however busy the GPU; moving data is work.
4. A process that lives within the rhythm of its run is busy.
5. Busy GPUs, processor, network, disk or installers are busy; one GPU of many is enough.
6. A run whose process is gone is crashed, however fresh its files.
7. Idle takes every source, readable, quiet, for the whole window. All else is unknown.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from costplan.box.load import TRANSFERS, Load, load
from costplan.box.owners import contradiction, hints
from costplan.box.progress import HUNG_LEAST_S, Kind, Progress, progress
from costplan.box.remarks import eta_s, lost_s, remarks
from costplan.box.timeline import Timeline, span, timeline
from costplan.errors import InputError
from costplan.records.signals import Evidence, State, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from decimal import Decimal

    from costplan.records.signals import Snapshot

PATIENCE_S: Final = 12 * 3_600.0
"""After this long without a move, load alone is no sign of work any more."""

ProviderState = Literal["running", "stopped", "gone"]
Decided = tuple[State, str]


class Case(NamedTuple):
    """Everything that decides."""

    line: Timeline
    runs: tuple[Progress, ...]
    work: Load
    window_s: float

    def of(self, *kinds: Kind) -> list[Progress]:
        """Return the runs of these kinds."""
        return [each for each in self.runs if each.kind in kinds]


def judge(
    snapshots: Sequence[Snapshot],
    *,
    window_s: float,
    interval_s: float | None = None,
    provider_state: ProviderState | None = None,
    usd_per_hour: Decimal | None = None,
) -> Verdict:
    """Return what the looks at a box mean together.

    Args:
        snapshots: Of one box, oldest first. One alone can show busy, hung or crashed, never idle.
            Give as many as there are: older ones than the window tell how long a run has stood.
        window_s: How long everything must have been quiet for idle.
        interval_s: How far apart the looks are meant to be; their median where left out. A gap of
            more than two, or of more than five minutes, starts the window anew.
        provider_state: What the provider says of the box, where it was asked.
        usd_per_hour: What it bills while it runs: only for the notes.

    Raises:
        InputError: The window is not a positive time.
    """
    if not math.isfinite(window_s) or window_s <= 0:
        raise InputError(f"a window of {window_s} s shows nothing", hint="for example 20m")
    line = timeline(snapshots, interval_s=interval_s)
    if not line.looks:
        return unread(line.broken or "the box could not be read")
    runs = tuple(progress(run, line, window_s=window_s) for run in line.looks[-1].runs)
    work = load(line)
    work = work._replace(quiet_s=min(work.quiet_s, without_process_s(runs, line)))
    case = Case(line, runs, work, window_s)
    state, why = disagreement(provider_state) or decided(case)
    quiet_s = case.work.quiet_s
    return Verdict(
        state=state,
        why=why,
        evidence=evidence(case, provider_state),
        notes=tuple(remarks(line, runs, case.work, window_s=window_s, usd_per_hour=usd_per_hour)),
        eta_s=eta_s(line, runs),
        lost_s=lost_s(line, runs),
        idle_since_s=line.now.wall_s - quiet_s if quiet_s >= window_s else None,
        quiet_s=quiet_s,
        filling=state == "unknown" and provider_state in (None, "running") and lacks_time(case),
    )


def without_process_s(runs: Sequence[Progress], line: Timeline) -> float:
    """Return for how long the process of every run that lost one has been gone.

    One that ends its run on a quiet machine was work until then.
    """
    lost = [each.gone_looks for each in runs if 0 < each.gone_looks < len(line.looks)]
    return line.age_s(line.looks[-min(lost)]) if lost else math.inf


def lacks_time(case: Case) -> bool:
    """Return whether nothing but time stands between this and idle."""
    unseen = case.of("unknown", "starting") or contradiction(case.line) is not None
    if unseen or any(each.verdict == "unknown" for each in case.work.latest()):
        return False
    return bool(case.of("fresh")) or case.work.quiet_s < case.window_s


def unread(problem: str) -> Verdict:
    """Return that nothing is known."""
    found = Evidence(name="probe", value=problem, verdict="unknown")
    return Verdict(state="unknown", why=problem, evidence=(found,))


def disagreement(provider_state: ProviderState | None) -> Decided | None:
    """Return unknown where the provider says that a box is away which answers."""
    if provider_state in (None, "running"):
        return None
    return "unknown", f"the provider says {provider_state}, but the box answers"


def evidence(case: Case, provider_state: ProviderState | None) -> tuple[Evidence, ...]:
    """Return all that was seen: runs, the provider, each source's strongest word, hints."""
    busy = {each.name: each for each in reversed(case.work.said("busy", within_s=case.window_s))}
    found = [each.evidence() for each in case.runs]
    if provider_state is not None:
        says: State = "busy" if provider_state == "running" else "unknown"
        found.append(Evidence(name="provider", value=provider_state, verdict=says))
    found += [busy.get(each.name, each) for each in case.work.latest()]
    contradicted = contradiction(case.line)
    if contradicted is not None:
        found.append(contradicted)
    return (*found, *hints(case.line))


def decided(case: Case) -> Decided:
    """Return the first verdict that the rules give, in the order of the module's text."""
    rules: tuple[Callable[[Case], Decided | None], ...] = (
        moving, hung, living, spinning, loaded, contradicted, undecided, crashed, quiet,
    )  # fmt: skip
    return next(found for rule in rules if (found := rule(case)) is not None)


def said(state: State, found: Progress | Evidence) -> Decided:
    """Return a verdict with the evidence that decides it."""
    told = found.evidence() if isinstance(found, Progress) else found
    return state, f"{told.name}: {told.value}"


def moving(case: Case) -> Decided | None:
    """Return busy where a counter moved or a checkpoint is being written."""
    found = case.of("moving", "writing")
    return said("busy", found[0]) if found else None


def hung(case: Case) -> Decided | None:
    """Return hung where a living run stands still; not where data or another run moves."""
    found = [each for each in case.runs if is_hung(each, case.work)]
    if not found or case.of("alive"):
        return None
    moves = [each for each in busy_now(case) if each.name in TRANSFERS]
    if moves and (found[0].frozen_s or 0.0) < PATIENCE_S:
        return said("busy", moves[0])
    return said("hung", found[0])


def is_hung(each: Progress, work: Load) -> bool:
    """Return whether a living run stands still: by its own limit, or without one."""
    if each.kind not in ("starting", "finishing"):
        return each.kind == "hung"
    frozen_s = each.frozen_s or 0.0
    still = frozen_s >= HUNG_LEAST_S and work.quiet_s >= HUNG_LEAST_S
    return still or (each.kind == "starting" and frozen_s >= PATIENCE_S)


def living(case: Case) -> Decided | None:
    """Return busy where a process lives within its rhythm, or ends its run."""
    found = case.of("alive", "finishing")
    return said("busy", found[0]) if found else None


def spinning(case: Case) -> Decided | None:
    """Return hung where GPUs spin without power and no run can say that it moves."""
    last = [each for each in case.work.latest() if each.name == "gpu" and each.verdict == "hung"]
    standing = case.of("quiet", "fresh", "starting")
    stood = [each for each in standing if (each.frozen_s or 0.0) >= HUNG_LEAST_S]
    stood += case.of("crashed")
    return said("hung", last[0]) if last and stood else None


def loaded(case: Case) -> Decided | None:
    """Return busy where the machine works; after a crash only what it did since counts."""
    found = busy_now(case) if case.of("crashed") else case.work.said("busy", within_s=case.window_s)
    found += [each for each in case.work.latest() if each.verdict == "hung"]
    return said("busy", found[0]) if found else None


def busy_now(case: Case) -> list[Evidence]:
    """Return what worked at the latest look, and since the one before unless a run died then."""
    died = any(each.gone_looks == 1 for each in case.runs)
    at_once = ("gpu", "setup")
    found = case.work.said("busy", within_s=0.0)
    return [each for each in found if not died or each.name in at_once]


def contradicted(case: Case) -> Decided | None:
    """Return unknown where two facts about sessions exclude each other."""
    found = contradiction(case.line)
    return None if found is None else said("unknown", found)


def undecided(case: Case) -> Decided | None:
    """Return unknown where a run cannot be read or may be at work."""
    found = case.of("unknown", "starting", "fresh")
    return said("unknown", found[0]) if found else None


def crashed(case: Case) -> Decided | None:
    """Return crashed where the newest run died, unless GPUs are still held."""
    newest_s = max((each.run.newest_at_s or 0.0 for each in case.runs), default=0.0)
    found = [each for each in case.of("crashed") if (each.run.newest_at_s or 0.0) >= newest_s]
    if not found:
        return None
    held = [gpu for gpu in case.line.looks[-1].machine.gpus or () if gpu.pids]
    if held:
        return "unknown", f"{found[0].value}, but GPU {held[0].index} is still held by a process"
    return said("crashed", found[0])


def quiet(case: Case) -> Decided:
    """Return idle where every source was quiet for the whole window, else unknown."""
    unread = [each for each in case.work.latest() if each.verdict == "unknown"]
    if unread:
        return said("unknown", unread[0])
    if case.work.quiet_s < case.window_s:
        seen_s = case.work.quiet_s
        return "unknown", f"quiet for {span(seen_s)}, {span(case.window_s)} are needed"
    return "idle", f"everything quiet for {span(case.work.quiet_s)}"
