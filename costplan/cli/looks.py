"""Two looks at a box, and what they mean."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from costplan.box.probe import split_target
from costplan.box.signals import read, read_over_ssh
from costplan.box.verdict import judge
from costplan.errors import InputError
from costplan.render.figures import usd

if TYPE_CHECKING:
    from collections.abc import Sequence
    from decimal import Decimal

    from costplan.records.signals import Verdict

BETWEEN_S: Final = 10.0
"""Long enough for a counter of a running step to move, short enough to wait for."""


def seen(runs: Sequence[str], ssh: str | None, *, between_s: float = BETWEEN_S) -> Verdict:
    """Return what two looks at this box, or at one behind ssh, say of it.

    Raises:
        InputError: The ssh target is not of the form HOST:DIR.
    """
    if ssh is not None and runs:
        raise InputError("--run looks at this machine, --ssh at another: give one of them")
    if ssh is None:
        first = read(runs)
        time.sleep(between_s)
        looks = [first, read(runs)]
    else:
        host, folder = split_target(ssh)
        first = read_over_ssh(host, [folder])
        if first.problem is not None:
            return judge([first], window_s=between_s)
        time.sleep(between_s)
        looks = [first, read_over_ssh(host, [folder])]
    return judge(looks, window_s=between_s)


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
        said.append("  it bills and does not move: look at it, then stop it")
    elif verdict.state == "unknown":
        said.append("  unknown is no reason to act; what follows holds only if it is idle")
    return said
