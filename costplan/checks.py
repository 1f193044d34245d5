"""Is this box any good? Measured facts in, a line for each and one verdict out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from costplan import boxlines, gpulines, installs, promises, torchlines
from costplan.records.checks import Checked
from costplan.usable import cost, duration, usd

if TYPE_CHECKING:
    from collections.abc import Sequence
    from decimal import Decimal

    from costplan.records.checks import (
        BoxFacts,
        CheckLine,
        Compared,
        InstallFacts,
        Needs,
        Promised,
        VerdictName,
    )

MATTERS: Final = {"gpu", "kernels", "torch"}
"""What must have been seen before a box is called good."""
NEEDS_NAME: Final = {"memory", "/dev/shm", "disk", "disk read", "driver"}
"""Lines that do not say by themselves what they are about."""
MOST_NAMED: Final = 3
FAILED_CODE: Final = 4
UNKNOWN_CODE: Final = 3
TITLES: Final[dict[VerdictName, str]] = {
    "return": "RETURN IT",
    "fix": "FIX IT FIRST",
    "usable": "USABLE",
    "good": "GOOD",
    "open": "NOTHING AGAINST IT",
    "unknown": "UNKNOWN",
}


def checked(
    box: BoxFacts, *, needs: Needs | None, promised: Promised | None, usd_per_hour: Decimal | None
) -> Checked:
    """Return what the facts make of a box."""
    found = [] if promised is None else promises.compared(promised, box)
    down = boxlines.line_down(box.download, promised, needs, usd_per_hour)
    lines = [
        gpulines.gpus(box, needs),
        *torchlines.lines(box),
        *gpulines.details(box),
        *promises.lines(found),
        *([] if down is None else [down]),
        boxlines.disk_size(box.disk, needs),
        boxlines.disk_speed(box.disk, promised),
        boxlines.cores(box.cpu, needs),
        boxlines.single_thread(box.cpu),
        boxlines.main_memory(box.memory, needs),
        boxlines.shared_memory(box.shm),
        boxlines.caches(box.caches),
        boxlines.terminals(box),
    ]
    return judged(
        lines, compared=found, age_s=box.age_s, usd_per_hour=usd_per_hour, notices=_notices(needs)
    )


def installing(facts: InstallFacts) -> Checked:
    """Return what an install would do to the torch that is there."""
    return judged([installs.line(facts)])


def judged(
    lines: Sequence[CheckLine],
    *,
    compared: Sequence[Compared] = (),
    age_s: float | None = None,
    usd_per_hour: Decimal | None = None,
    notices: Sequence[str] = (),
) -> Checked:
    """Return lines with their verdict and what the box has cost so far."""
    verdict = verdict_of(lines)
    so_far = None if usd_per_hour is None or age_s is None else cost(usd_per_hour, age_s)
    title = TITLES[verdict] + _so_far(so_far, age_s)
    return Checked(
        verdict=verdict,
        says=f"{title}: {reasons(lines, verdict)}",
        lines=tuple(lines),
        compared=tuple(compared),
        age_s=age_s,
        usd_per_hour=usd_per_hour,
        usd_so_far=so_far,
        notices=tuple(notices),
    )


def verdict_of(lines: Sequence[CheckLine]) -> VerdictName:
    """Return the verdict: what nobody can mend in the box weighs more than what its user can."""
    failed = [line for line in lines if line.level == "fail"]
    if failed:
        return "return" if any(line.fault == "box" for line in failed) else "fix"
    if all(line.level == "unknown" for line in lines):
        return "unknown"
    if any(line.level == "unknown" and line.name in MATTERS for line in lines):
        return "open"
    return "usable" if any(line.level == "warn" for line in lines) else "good"


def reasons(lines: Sequence[CheckLine], verdict: VerdictName) -> str:
    """Return the lines that make the verdict, in words."""
    if verdict in ("return", "fix"):
        failed = [line for line in lines if line.level == "fail"]
        # Why it goes back comes before what could have been mended.
        failed.sort(key=lambda line: line.fault != "box")
        more = len(failed) - MOST_NAMED
        named = "; ".join(_named(line) for line in failed[:MOST_NAMED])
        return named + (f"; and {more} more" if more > 0 else "")
    parts = [f"{_count(lines, 'ok')} of {len(lines)} in order"]
    for level, word in (("warn", "look at"), ("unknown", "unknown")):
        names = dict.fromkeys(line.name for line in lines if line.level == level)
        if names:
            parts.append(f"{word}: {', '.join(names)}")
    return "; ".join(parts)


def _named(line: CheckLine) -> str:
    return f"{line.name}: {line.says}" if line.name in NEEDS_NAME else line.says


def exit_code(answer: Checked) -> int:
    """Return 4 where something failed, 3 where nothing could be known, else 0."""
    if answer.verdict in ("return", "fix"):
        return FAILED_CODE
    return UNKNOWN_CODE if answer.verdict == "unknown" else 0


def _count(lines: Sequence[CheckLine], level: str) -> int:
    return sum(line.level == level for line in lines)


def _so_far(so_far: Decimal | None, age_s: float | None) -> str:
    if so_far is not None:
        return f" ({usd(so_far)} so far)"
    return "" if age_s is None else f" ({duration(age_s)} so far)"


def _notices(needs: Needs | None) -> list[str]:
    if needs is None or not needs.assumed:
        return []
    return [f"assumed of the job: {said}" for said in needs.assumed]
