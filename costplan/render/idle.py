"""Advice about an idle box as text and JSON."""

from __future__ import annotations

import json
import math
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

from costplan import __version__
from costplan.render.clocks import (
    compared_lines,
    deadline_lines,
    gone_line,
    lasts_line,
    later,
    notice_line,
    so_far_line,
    span,
)
from costplan.render.figures import usd, visible

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from costplan.records.idle import Advice, OptionCost
    from costplan.records.signals import Verdict

# /1 2026-11: first form.
IDLE_SCHEMA: Final = "costplan.idle/1"
PLOT_WIDTH: Final = 60
PLOT_HEIGHT: Final = 12


def advice_text(advice: Advice, *, said: Sequence[str], now: datetime) -> str:
    """Return the advice: the verdict first, then what it rests on and what would change it."""
    lines = [*said, _verdict(advice), _borders(advice)]
    if advice.gpu_gone_break_even is not None:
        lines.append(
            "  if the GPU may be gone: stop still beats destroy while that chance is below "
            f"{advice.gpu_gone_break_even:.0%} (rebuild ${usd(advice.rebuild_usd)})"
        )
    lines += [gone_line(advice), *(f"  unsaved: {text}" for text in advice.unsaved or ())]
    if advice.saved_usd_per_hour is not None and advice.saved_usd_per_hour > 0:
        lines.append(
            f"  every hour on costs ${usd(advice.saved_usd_per_hour)} more than stopping "
            f"(stopped ${advice.stopped_usd_per_hour:.6f}/h)"
        )
    lines += [
        lasts_line(advice),
        so_far_line(advice),
        _plan(advice, now),
        *deadline_lines(advice, now),
    ]
    lines += [*compared_lines(advice.compared), notice_line(advice)]
    if advice.wiped and any(o.undo and o.action != "keep" for o in advice.options):
        lines.append(f"  before a stop: copy what is on {', '.join(advice.wiped)}: it is wiped")
    if advice.unsaved or any(not step.undo for step in advice.plan):
        lines.append(
            "  before a destroy: a verified copy (costplan idle copy make DIR -o FILE, then "
            "costplan idle copy check FILE --against COPY)"
        )
    lines += [f"  asked back: {text}" for text in advice.asks]
    lines += [f"  would change it: {text}" for text in advice.flips]
    lines += [f"  assumed: {text}" for text in advice.assumed]
    return "".join(visible(line) + "\n" for line in lines if line)


def _verdict(advice: Advice) -> str:
    if advice.once_idle is not None:
        once = advice.once_idle.replace("-", " ")
        costs = " | ".join(_cost(option, advice.away_h) for option in advice.options)
        return f"{advice.advice.upper()}: {advice.why}; once it is idle, {once}: {costs}"
    costs = " | ".join(_cost(option, advice.away_h) for option in advice.options)
    return f"{advice.advice.upper().replace('-', ' ')} {advice.why}: {costs}"


def _cost(option: OptionCost, away_h: float | None) -> str:
    name = option.action.replace("-", " ")
    if away_h is not None and option.until_h is not None and away_h > option.until_h:
        return f"{name} gone after {span(option.until_h)}"
    if option.cost_usd is not None:
        return f"{name} ${usd(option.cost_usd)}"
    return f"{name} ${option.usd_per_hour:.4f}/h + ${usd(option.back_usd)} back"


def _borders(advice: Advice) -> str:
    destroy = advice.destroy_after_h
    on = any(option.action == "keep" for option in advice.options)
    if on and math.isinf(advice.keep_until_h):
        return "  keeping it on is cheapest however long you are away"
    parts = [f"keep only up to {span(advice.keep_until_h)} away"] if on else []
    past_h = advice.so_far.hours if advice.so_far is not None else math.inf
    if destroy is not None and (on or advice.advice != "destroy" or destroy <= past_h):
        parts.append(f"destroy is cheapest from {span(destroy)}")
    if advice.near_tie_h is not None:
        low, high = advice.near_tie_h
        undone = "" if advice.wiped else ": stop can be undone, destroy cannot"
        parts.append(f"near tie {span(low)} - {span(high)}{undone}")
    return f"  {'; '.join(parts)}" if parts else ""


def _plan(advice: Advice, now: datetime) -> str:
    if not advice.plan or (advice.away_h is not None and len(advice.plan) == 1):
        return ""
    steps = []
    for step in advice.plan:
        when = "now" if step.from_h == 0 else f"after {span(step.from_h)}"
        if step.from_h:
            when += f" ({later(now, step.from_h):%a %Y-%m-%d %H:%M})"
        name = "begin the way back" if step.action == "start" else step.action.replace("-", " ")
        steps.append(f"{name} {when}")
    text = f"  plan if nobody comes back: {', '.join(steps)}"
    if advice.guarantee is not None:
        text += f"; never more than {advice.guarantee:g} times the best in hindsight"
    if advice.plan_usd is not None and math.isfinite(advice.plan_usd):
        text += f"; expected ${advice.plan_usd:.2f}"
    return text


def _letters(actions: Sequence[str]) -> dict[str, str]:
    """Return a letter for each state, its own first free one, V for a volume with the data.

    >>> _letters(["keep", "stop", "snapshot", "keep-data", "destroy"])
    {'keep': 'K', 'stop': 'S', 'snapshot': 'N', 'keep-data': 'V', 'destroy': 'D'}
    """
    found: dict[str, str] = {}
    for action in actions:
        likely = "V" if action == "keep-data" else action.upper() + "0123456789"
        free = [letter for letter in likely if letter.isalnum() and letter not in found.values()]
        found[action] = free[0] if free else "?"
    return found


def plot_text(advice: Advice) -> str:
    """Return the cost of each state against hours away, as characters."""
    ends = [advice.away_h or 0.0, 2 * (advice.destroy_after_h or 0.0), 4 * advice.keep_until_h]
    longest = max([end for end in ends if math.isfinite(end)] + [1.0])
    letters = _letters([option.action for option in advice.options])
    highest = max(
        (float(o.usd_per_hour) * longest + float(o.back_usd)
         for o in advice.options if o.action != "keep"),
        default=1.0,
    )  # fmt: skip
    rows = [[" "] * PLOT_WIDTH for _ in range(PLOT_HEIGHT)]
    for option in advice.options:
        for x in range(PLOT_WIDTH):
            hours = longest * x / (PLOT_WIDTH - 1)
            cost = float(option.usd_per_hour) * hours + float(option.back_usd)
            y = round(cost / highest * (PLOT_HEIGHT - 1)) if highest else 0
            if y < PLOT_HEIGHT:
                rows[PLOT_HEIGHT - 1 - y][x] = letters[option.action]
    lines = [f"${highest:8.2f} |{''.join(rows[0])}"]
    lines += [f"{'':9} |{''.join(row)}" for row in rows[1:-1]]
    lines.append(f"${0:8.2f} |{''.join(rows[-1])}")
    lines.append(f"{'':10} 0 h{span(longest):>{PLOT_WIDTH - 3}}")
    lines.append(", ".join(f"{letter} {action}" for action, letter in letters.items()))
    return "\n".join(line.rstrip() for line in lines) + "\n"


def advice_json(
    advice: Advice,
    *,
    said: Sequence[str],
    asked: Mapping[str, Any],
    verdict: Verdict | None,
    action: Mapping[str, Any] | None = None,
) -> str:
    """Return one JSON object and a line end; infinite borders are null."""
    looked = None if verdict is None else verdict.model_dump(exclude={"evidence"})
    body = {
        "schema": IDLE_SCHEMA,
        "costplan": __version__,
        "currency": "USD",
        "asked": dict(asked),
        "resolved": list(said),
        **advice.model_dump(),
        "box": looked,
        "signals": [] if verdict is None else [each.model_dump() for each in verdict.evidence],
        **({} if action is None else {"action": dict(action)}),
    }
    return json.dumps(_finite(body), indent=2, ensure_ascii=False) + "\n"


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(each) for each in value]
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if isinstance(value, str | int | float | bool | None) else str(value)
