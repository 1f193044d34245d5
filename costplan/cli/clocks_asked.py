"""Deadline, hours already passed, own timer and notice, as the command line says them."""

from __future__ import annotations

import re
from datetime import datetime
from typing import TYPE_CHECKING, Final, NamedTuple

from costplan import yamlfile
from costplan.cli.absence_asked import duration_s, next_time, number
from costplan.deadlines import RESERVE_SHARE
from costplan.errors import InputError
from costplan.idling import Clocks
from costplan.records.idle import Deadline, Elapsed
from costplan.records.results import Notice
from costplan.rescue import rescued_gb

if TYPE_CHECKING:
    from costplan.records.idle import Absence, Advice, IdleBox

_STEP: Final = re.compile(r"([a-z][a-z-]*)\s+(?:after\s+)?(now|\d.*)")
_DURATION: Final = re.compile(r"\s*\d[\d.]*\s*[smhd][\d.smhd\s]*", re.IGNORECASE)
SECONDS_PER_HOUR: Final = 3_600


class ClocksAsked(NamedTuple):
    """The words about time other than the absence."""

    deadline: str | None = None
    remaining: str | None = None
    reserve: str | None = None
    compare: str | None = None
    stopped_for: str | None = None
    idle_for: str | None = None
    provider_timer: str | None = None
    notice: str | None = None
    unsaved: str | None = None
    upload_mbit: str | None = None


def clocks_of(asked: ClocksAsked, *, now: datetime) -> tuple[Clocks, list[str], list[Notice]]:
    """Return what else runs, how its words were understood, and what is to be noted.

    Raises:
        InputError: Words contradict each other, lack one another, or cannot be used as they stand.
    """
    _fitting(asked)
    deadline, said = _deadline(asked, now)
    elapsed = _elapsed(asked)
    if elapsed is not None:
        said.append(f"{elapsed.state} for {elapsed.hours:g} h already")
    timer = () if asked.compare is None else _timer(asked.compare)
    if timer:
        steps = ", ".join(f"{name} after {hours:g} h" for hours, name in timer)
        said.append(f"your timer: {steps}")
    return Clocks(deadline, elapsed, timer), said, _provider_timer(asked, elapsed)


def _fitting(asked: ClocksAsked) -> None:
    if asked.stopped_for is not None and asked.idle_for is not None:
        raise InputError("--stopped-for beside --idle-for: the box is off or on")
    if asked.provider_timer is not None and asked.idle_for is None:
        raise InputError(
            "--provider-timer needs --idle-for: whether it fired shows after its time",
            hint="for example --idle-for 6h --provider-timer 30m",
        )
    for flag, text in (("--remaining", asked.remaining), ("--reserve", asked.reserve)):
        if text is not None and asked.deadline is None:
            raise InputError(f"{flag} without --deadline", hint="say by when the work must be done")
    if asked.deadline is not None and asked.remaining is None:
        raise InputError(
            "--deadline needs --remaining: how much work is left", hint="for example --remaining 6h"
        )
    others = (asked.deadline, asked.stopped_for, asked.idle_for)
    if asked.compare is not None and any(other is not None for other in others):
        raise InputError(
            "--compare is for a whole absence from its start, without a deadline",
            hint="leave out --deadline, --stopped-for and --idle-for",
        )


def _deadline(asked: ClocksAsked, now: datetime) -> tuple[Deadline | None, list[str]]:
    if asked.deadline is None or asked.remaining is None:
        return None, []
    if _DURATION.fullmatch(asked.deadline):
        hours = duration_s(asked.deadline, "--deadline") / SECONDS_PER_HOUR
        said = f"deadline in {hours:g} h"
    else:
        at = next_time(asked.deadline, now, flag="--deadline")
        hours = (at - now).total_seconds() / SECONDS_PER_HOUR
        said = f"deadline {at:%a %Y-%m-%d %H:%M} ({hours:.1f} h)"
    left = duration_s(asked.remaining, "--remaining") / SECONDS_PER_HOUR
    reserve, how = RESERVE_SHARE * left, f", {RESERVE_SHARE:.0%} of it"
    if asked.reserve is not None:
        reserve, how = duration_s(asked.reserve, "--reserve") / SECONDS_PER_HOUR, ""
    fields = {"hours": hours, "remaining_hours": left, "reserve_hours": reserve}
    found = yamlfile.build(Deadline, fields, where="--deadline")
    return found, [f"{said}: {left:g} h of work left, {reserve:g} h in reserve{how}"]


def _elapsed(asked: ClocksAsked) -> Elapsed | None:
    for state, flag, text in (
        ("stopped", "--stopped-for", asked.stopped_for),
        ("idle", "--idle-for", asked.idle_for),
    ):
        if text is not None:
            hours = duration_s(text, flag) / SECONDS_PER_HOUR
            return yamlfile.build(Elapsed, {"state": state, "hours": hours}, where=flag)
    return None


def _timer(text: str) -> tuple[tuple[float, str], ...]:
    steps = []
    for part in text.lower().split(","):
        found = _STEP.fullmatch(part.strip())
        if found is None:
            raise InputError(
                f"--compare {text}: {part.strip()!r} is no step",
                hint="write a state and when, as in 'stop 1h, destroy 7d' or 'stop now'",
            )
        when = "0h" if found[2] == "now" else found[2]
        steps.append((duration_s(when, "--compare") / SECONDS_PER_HOUR, found[1]))
    return tuple(steps)


def _provider_timer(asked: ClocksAsked, elapsed: Elapsed | None) -> list[Notice]:
    if asked.provider_timer is None or elapsed is None:
        return []
    hours = duration_s(asked.provider_timer, "--provider-timer") / SECONDS_PER_HOUR
    text = f"the provider's own timer of {hours:g} h is not counted on: one may not fire"
    if elapsed.hours > hours:
        text = (
            f"the provider's own timer did not fire: set to {hours:g} h, and the box has been idle "
            f"and on for {elapsed.hours:g} h"
        )
    return [Notice(kind="stop", text=text)]


def check_clocks(clocks: Clocks, box: IdleBox, absence: Absence) -> list[str]:
    """Return what is assumed of the hours that have passed.

    Raises:
        InputError: A box without a stop is said to be stopped.
    """
    if clocks.elapsed is None:
        return []
    if clocks.elapsed.state == "stopped" and box.stop is None:
        raise InputError(
            "--stopped-for: this box has no stop that ends the bill",
            hint="where it is on and idle, say --idle-for",
        )
    if absence.hours is None and absence.mean_hours is not None and not absence.never:
        return ["the mean is of the hours still to come"]
    return []


def with_notice(advice: Advice, asked: ClocksAsked) -> Advice:
    """Return the advice with what leaves the box between a notice and its end.

    Raises:
        InputError: One of the three words is missing or none.
    """
    given = {
        "--notice": asked.notice,
        "--unsaved": asked.unsaved,
        "--upload-mbit": asked.upload_mbit,
    }
    missing = [flag for flag, text in given.items() if text is None]
    if len(missing) == len(given):
        return advice
    if asked.notice is None or asked.unsaved is None or asked.upload_mbit is None:
        raise InputError(
            f"what a notice saves needs {' and '.join(missing)} too",
            hint="for example --notice 30s --unsaved 8 --upload-mbit 800",
        )
    notice_s = duration_s(asked.notice, "--notice")
    unsaved_gb = number(asked.unsaved, "--unsaved")
    saved_gb = rescued_gb(
        notice_s,
        unsaved_gb=unsaved_gb,
        upload_mbit_per_s=number(asked.upload_mbit, "--upload-mbit"),
    )
    return advice.model_copy(
        update={"notice_s": notice_s, "unsaved_gb": unsaved_gb, "notice_gb": saved_gb}
    )
