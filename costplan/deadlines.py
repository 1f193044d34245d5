"""By when the way back must be begun, so that work is done by its deadline.

Latest time to be working again = deadline - work left - reserve; of each state, that minus the time
its way back takes. Hours are from now.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from costplan.boxcosts import RESTART_MINUTES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from costplan.advisor import Option, Step
    from costplan.records.idle import Deadline, IdleBox

MINUTES_PER_HOUR: Final = 60
RESERVE_SHARE: Final = 0.1
"""Of the work left, kept in reserve where nobody says how much: it takes a tenth longer."""


def way_back_h(box: IdleBox, action: str) -> float:
    """Return the hours from a state to working again, as they must be planned for.

    Whether a stopped box comes back is found out only when it is started: unless the chance that
    its GPU is gone is given as 0, there must be time for a rebuild after that.
    """
    if action == "keep":
        return 0.0
    if action == "keep-data" and box.kept_data is not None:
        return box.kept_data.setup_minutes / MINUTES_PER_HOUR
    further = next((state for state in box.states if state.name == action), None)
    if further is not None:
        return further.back_minutes / MINUTES_PER_HOUR
    if action == "destroy":
        return box.setup_minutes / MINUTES_PER_HOUR
    restart = RESTART_MINUTES if box.restart_minutes is None else box.restart_minutes
    sure = box.gone_share == 0 and box.gone_half_life_hours is None
    return (restart + (0.0 if sure else box.setup_minutes)) / MINUTES_PER_HOUR


def latest_starts_h(
    box: IdleBox, options: Sequence[Option], deadline: Deadline | None
) -> dict[str, float]:
    """Return by when the way back from each state must begin; nothing without a deadline.

    Below zero: too late already.
    """
    if deadline is None:
        return {}
    working_h = deadline.hours - deadline.remaining_hours - deadline.reserve_hours
    return {option.action: working_h - way_back_h(box, option.action) for option in options}


def in_time(
    options: Sequence[Option], latest_h: Mapping[str, float], away_h: float | None
) -> tuple[Option, ...]:
    """Return the states from which the deadline can still be met; all where none is given.

    A state that would have to be left at once is none for an absence that may last.
    """
    if not latest_h:
        return tuple(options)
    if away_h is None:
        return tuple(option for option in options if latest_h[option.action] > 0)
    return tuple(option for option in options if latest_h[option.action] >= away_h)


class Reach(NamedTuple):
    """The states that are in time, and how."""

    options: tuple[Option, ...]
    """None of them where the deadline cannot be met."""
    latest_h: dict[str, float]
    """By when the way back from each must begin; without the reserve where nothing keeps it."""
    how: str
    """What to say of it behind the advice."""


def reach(
    box: IdleBox, options: Sequence[Option], deadline: Deadline | None, away_h: float | None
) -> Reach:
    """Return the states that meet the deadline: with its reserve, or else by using it up."""
    latest = latest_starts_h(box, options, deadline)
    able = in_time(options, latest, away_h)
    if able or deadline is None:
        every = len(able) == len(options)
        return Reach(able, latest, "" if every else ", of what meets the deadline")
    bare = latest_starts_h(box, options, deadline.model_copy(update={"reserve_hours": 0.0}))
    able = in_time(options, bare, away_h)
    if able:
        return Reach(able, bare, ", of what meets the deadline by using up the reserve")
    return Reach((), latest, "; no state meets the deadline")


def until_start(
    plan: Sequence[Step], latest_h: Mapping[str, float]
) -> tuple[tuple[Step, ...], float]:
    """Return the steps that are still reached, and when the way back from the last must begin."""
    reached = [plan[0]]
    for step in plan[1:]:
        before = latest_h[reached[-1].option.action]
        if min(before, latest_h[step.option.action]) <= step.from_h:
            break
        reached.append(step)
    return tuple(reached), latest_h[reached[-1].option.action]
