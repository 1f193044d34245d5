"""Lines of advice about time: deadlines, hours already passed, own timers, notices."""

from __future__ import annotations

from datetime import datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Final

from costplan.render.figures import usd

if TYPE_CHECKING:
    from costplan.records.idle import Advice, Compared, OptionCost, TimerCost

MINUTES_BELOW_H: Final = 1.0
DAYS_FROM_H: Final = 72.0


def span(hours: float) -> str:
    """Return a time as people say it: minutes below an hour, days from three on.

    >>> span(0.034), span(12.46), span(106.1)
    ('2.0 min', '12.5 h', '4.4 days')
    """
    if hours < MINUTES_BELOW_H:
        return f"{hours * 60:.1f} min"
    return f"{hours:.1f} h" if hours < DAYS_FROM_H else f"{hours / 24:.1f} days"


def later(now: datetime, hours: float) -> datetime:
    """Return the time of day it will be then, with the offset that holds then."""
    then = now + timedelta(hours=min(hours, 1e6))
    same_zone = now.utcoffset() == now.replace(tzinfo=None).astimezone().utcoffset()
    return then.astimezone() if same_zone else then


def so_far_line(advice: Advice) -> str:
    """Return what the absence has cost until now."""
    past = advice.so_far
    if past is None:
        return ""
    text = f"  {past.state} for {span(past.hours)} has cost ${usd(past.usd)}"
    if past.state == "idle":
        if advice.saved_usd_per_hour is not None:
            more = advice.saved_usd_per_hour * Decimal(repr(past.hours))
            text += f", ${usd(more)} more than stopped"
        return text
    if past.border_h is None:
        return text
    if past.hours <= past.border_h:
        left = span(past.border_h - past.hours)
        return f"{text}; destroy becomes cheaper at {span(past.border_h)}: {left} left"
    text += (
        f"; destroying at {span(past.border_h)} would have cost ${usd(past.destroyed_usd)} to "
        "come back"
    )
    if advice.advice == "destroy":
        text += (
            ". Destroy is due, if a verified copy exists; it needs no start: check the copy "
            "against an earlier manifest"
        )
    return text


def gone_line(advice: Advice) -> str:
    """Return what the chance that the GPU is gone moves."""
    moves = advice.gone_moves
    if moves is None:
        return ""
    text = (
        "  a GPU that may be gone moves the way back from a stop from "
        f"${usd(moves.sure_back_usd)} to ${usd(moves.back_usd)}"
    )
    if moves.sure_destroy_h is None or moves.destroy_h is None:
        return text
    return (
        f"{text}, the border of destroy from {moves.sure_destroy_h:.1f} h to "
        f"{moves.destroy_h:.1f} h"
    )


def deadline_lines(advice: Advice, now: datetime) -> list[str]:
    """Return by when the way back must begin, and what is left after that."""
    if advice.deadline_h is None:
        return []
    starts = ", ".join(_start(option, now) for option in advice.options)
    lines = [f"  for the deadline the way back must begin by: {starts}"]
    late = [option.late_h for option in advice.options]
    if None not in late:
        over_h = min(each for each in late if each is not None) - (advice.reserve_h or 0.0)
        if over_h > 0:
            lines.append(f"  no state meets the deadline: at best done {span(over_h)} after it")
        else:
            lines.append("  no state keeps the reserve; the deadline itself can still be met")
    if advice.start_by_h is not None:
        at = later(now, advice.start_by_h)
        on = any(option.action == "keep" for option in advice.options)
        left = "only keep, or a rebuild elsewhere begun at once, is left"
        if not on:
            left = "only a rebuild elsewhere begun at once is left"
        lines.append(f"  past {at:%a %Y-%m-%d %H:%M} {left}")
    return lines


def lasts_line(advice: Advice) -> str:
    """Return which states end by themselves, and when."""
    ends = ", ".join(
        f"{option.action.replace('-', ' ')} "
        + (
            f"after {span(option.until_h)}"
            if option.until_h
            else "by now: look whether it is there"
        )
        for option in advice.options
        if option.until_h is not None
    )
    return f"  ends by itself (balance, or its provider's clock): {ends}" if ends else ""


def _when(hours: float) -> str:
    return f"after {span(hours)}" if hours else "now"


def _start(option: OptionCost, now: datetime) -> str:
    name = option.action.replace("-", " ")
    if option.late_h is not None:
        return f"{name} misses it by {span(option.late_h)}"
    hours = option.latest_start_h or 0.0
    return f"{name} {later(now, hours):%a %Y-%m-%d %H:%M} ({span(hours)})"


def compared_lines(compared: Compared | None) -> list[str]:
    """Return the person's own timer beside the plan."""
    if compared is None:
        return []
    steps = ", ".join(
        f"{step.action.replace('-', ' ')} "
        + (f"after {span(step.from_h)}" if step.from_h else "now")
        for step in compared.timer
    )
    basis = {
        "absence": "",
        "mean": ", expected if absences are exponential with that mean",
        "law": ", expected",
        "nothing": ", whatever the absence",
    }[compared.basis]
    return [
        f"  your timer ({steps}){basis}: {_cost(compared, compared.theirs)}",
        f"  this plan{basis}: {_cost(compared, compared.plan)}",
    ]


def _cost(compared: Compared, cost: TimerCost) -> str:
    dollars = "dollars without end"
    if compared.basis != "nothing":
        return dollars if "usd" in cost.endless else _dollars(cost.usd)
    ratio = f"{cost.worst_ratio:.1f} times" if cost.worst_ratio is not None else "unknown times"
    if "worst_ratio" in cost.endless:
        ratio = "any number of times"
    more = dollars if "regret_usd" in cost.endless else _dollars(cost.regret_usd)
    return (
        f"at worst {ratio} the best in hindsight, {more} more; a night "
        f"{_dollars(cost.night_usd)}, a weekend {_dollars(cost.weekend_usd)}"
    )


def _dollars(amount: float | None) -> str:
    if amount is None:
        return "unknown dollars (a clock ends a state, or GPUs go)"
    return f"${usd(Decimal(repr(amount)))}"


def notice_line(advice: Advice) -> str:
    """Return what is uploaded at most once the provider gives notice."""
    if advice.notice_gb is None or advice.unsaved_gb is None:
        return ""
    if advice.notice_gb >= advice.unsaved_gb:
        return f"  a notice of {advice.notice_s:g} s is enough for all {advice.unsaved_gb:g} GB"
    most = f"{advice.notice_gb:.1f}" if advice.notice_gb >= 1 else f"{float(advice.notice_gb):.2g}"
    return (
        f"  of {advice.unsaved_gb:g} GB unsaved {most} GB at most will make it in a notice of "
        f"{advice.notice_s:g} s: upload continuously; what is lost is all since the last verified "
        "copy"
    )
