"""Looks at a box, and what they mean in words."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, Final, NamedTuple

from costplan.box.probe import split_target
from costplan.box.progress import STALE_LEAST_S
from costplan.box.signals import read, read_over_ssh
from costplan.box.verdict import judge
from costplan.errors import InputError
from costplan.render.figures import usd

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from decimal import Decimal

    from costplan.records.acting import BoxState
    from costplan.records.signals import Snapshot, Verdict

BETWEEN_S: Final = 10.0
"""Long enough for a counter of a running step to move, short enough to wait for."""
LOOKS: Final = 20
LONGEST_S: Final = 60.0
"""Between two looks of a watch, and how many of them a window holds at least."""
SHORTEST_S: Final = 5.0


class Seen(NamedTuple):
    """What looks mean, and the last of them."""

    verdict: Verdict
    snapshot: Snapshot


def looker(runs: Sequence[str], ssh: str | None) -> Callable[[], Snapshot]:
    """Return what looks once at this box, or at one behind ssh.

    Raises:
        InputError: Both are asked for, or the ssh target is not of the form HOST:DIR.
    """
    if ssh is not None and runs:
        raise InputError("--run looks at this machine, --ssh at another: give one of them")
    if ssh is None:
        return lambda: read(runs)
    host, folder = split_target(ssh)
    return lambda: read_over_ssh(host, [folder])


def remembering(
    look: Callable[[], Snapshot],
) -> tuple[Callable[[], Snapshot], Callable[[], Snapshot | None]]:
    """Return a look like `look`, and what gives the last one that the box answered."""
    last: Snapshot | None = None

    def again() -> Snapshot:
        nonlocal last
        found = look()
        last = found if found.problem is None else last
        return found

    return again, lambda: last


def seen(
    runs: Sequence[str], ssh: str | None, *, between_s: float = BETWEEN_S,
    provider_state: BoxState | None = None, usd_per_hour: Decimal | None = None,
) -> Seen:  # fmt: skip
    """Return what two looks say of a box.

    Args:
        runs: Run folders of this machine.
        ssh: Or the folder of another.
        between_s: From one look to the other.
        provider_state: What its provider says, where it was asked.
        usd_per_hour: What it bills, for the notes.

    Raises:
        InputError: The ssh target is not of the form HOST:DIR.
    """
    look = looker(runs, ssh)
    looks = [look()]
    if looks[0].problem is None:
        time.sleep(between_s)
        looks.append(look())
    verdict = judge(
        looks, window_s=between_s, provider_state=provider_state, usd_per_hour=usd_per_hour
    )
    return Seen(verdict, looks[-1])


def settled(runs: Sequence[str], ssh: str | None, *, window_s: float) -> Seen:
    """Return what looks say once they can: idle takes the whole window, all else is known sooner.

    Raises:
        InputError: The ssh target is not of the form HOST:DIR.
    """
    look = looker(runs, ssh)
    every_s = interval_s(window_s)
    most = 2 + math.ceil((2 * window_s + STALE_LEAST_S) / every_s)
    looks = [look()]
    while True:
        verdict = judge(looks, window_s=window_s, interval_s=every_s)
        early = verdict.state == "crashed" and verdict.quiet_s < window_s
        first = len(looks) == 1 and verdict.state == "unknown"
        waits = (verdict.filling or early or first) and len(looks) < most
        if looks[-1].problem is not None or not waits:
            return Seen(verdict, looks[-1])
        time.sleep(every_s)
        looks.append(look())


def interval_s(window_s: float) -> float:
    """Return how far apart looks are for a window.

    >>> interval_s(1200), interval_s(120), interval_s(10)
    (60.0, 6.0, 5.0)
    """
    return min(LONGEST_S, max(SHORTEST_S, window_s / LOOKS))


def lines(verdict: Verdict, usd_per_hour: Decimal) -> list[str]:
    """Return the verdict in words: the state first, then what decided it and what it costs."""
    said = [f"the box is {verdict.state.upper()}: {verdict.why}"]
    said += [
        f"  {item.name}: {item.value} ({item.verdict})"
        + (f", {item.age_s:.0f} s old" if item.age_s is not None else "")
        for item in verdict.evidence
    ]
    if verdict.eta_s is not None:
        cost = usd_per_hour * int(verdict.eta_s) / 3_600
        said.append(f"  finishing takes {verdict.eta_s / 3_600:.2f} h and costs ${usd(cost)}")
    if verdict.lost_s is not None:
        cost = usd_per_hour * int(verdict.lost_s) / 3_600
        said.append(f"  stopping now loses {verdict.lost_s / 60:.1f} min of work, ${usd(cost)}")
    said += [f"  note: {note}" for note in verdict.notes]
    if verdict.state == "busy":
        said.append("  keep it on: what follows in money holds once it is idle")
    elif verdict.state == "hung":
        said.append(
            f"  it bills ${usd(usd_per_hour)}/h and does not move: save its stacks (py-spy dump "
            "--pid PID) and stop it; nothing does that by itself"
        )
    elif verdict.state == "unknown":
        said.append("  unknown is no reason to act; what follows holds only if it is idle")
    return said
