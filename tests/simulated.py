"""Boxes, plans and days by chance: the same ones for the same seed."""

from __future__ import annotations

import math
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from typing import TYPE_CHECKING, NamedTuple, cast

from costplan.records.acting import ActName
from costplan.records.idle import IdleBox, KeptData, PlanStep
from costplan.records.signals import State, Verdict
from costplan.watching import Rules, Sample

if TYPE_CHECKING:
    from random import Random

    from costplan.records.acting import BoxState
    from costplan.records.idle import Advice
    from costplan.watching import Next

SEED = 20261130
START = datetime(2026, 11, 30, 12, tzinfo=timezone.utc)
HOUR_S = 3_600.0
LONGEST_H = 60 * 24.0
NEARLY_USD = Decimal("1e-9")


def log_uniform(chance: Random, low: float, high: float) -> float:
    """A number as likely between 1 and 10 as between 10 and 100."""
    return low * math.exp(chance.random() * math.log(high / low))


def usd(chance: Random, low: float, high: float) -> Decimal:
    return Decimal(f"{log_uniform(chance, low, high):.4f}")


def maybe(chance: Random, share: float, low: float, high: float) -> Decimal:
    """Zero, or in some share of cases an amount."""
    return usd(chance, low, high) if chance.random() < share else Decimal(0)


# --- money --------------------------------------------------------------------------------------


def some_box(chance: Random) -> IdleBox:
    """Return a box that somebody may rent: cheap or dear, with or without a stop."""
    fields: dict[str, object] = {
        "usd_per_hour": usd(chance, 0.05, 100),
        "disk_gb": maybe(chance, 0.9, 1, 10_000),
        "storage_usd_per_gb_month": maybe(chance, 0.8, 0.01, 1),
        "stopped_other_usd_per_hour": maybe(chance, 0.2, 0.001, 200),
        "month_hours": chance.choice([Decimal(720), Decimal(730)]),
        "stop": chance.choice(["stop", "stop", "stop", "pause", "shelve", None]),
        "restart_minutes": chance.choice([None, 0.0, log_uniform(chance, 0.1, 600)]),
        "setup_minutes": chance.choice([0.0, log_uniform(chance, 0.1, 3_000)]),
        "ingress_gb": maybe(chance, 0.5, 0.1, 1_000),
        "ingress_usd_per_gb": maybe(chance, 0.5, 0.001, 0.2),
        "search_usd": maybe(chance, 0.3, 0.01, 20),
        "upload_usd": maybe(chance, 0.3, 0.01, 20),
        "lost_usd": maybe(chance, 0.3, 0.01, 50),
        "waiting_usd_per_hour": maybe(chance, 0.3, 1, 200),
    }
    if chance.random() < 0.3:
        fields["stopped_storage_usd_per_gb_month"] = maybe(chance, 0.8, 0.01, 2)
    if chance.random() < 0.2:
        fields |= {"gone_share": chance.random(), "gone_usd": maybe(chance, 0.5, 0.1, 100)}
    if chance.random() < 0.2:
        fields["rebuild_usd_per_hour"] = usd(chance, 0.05, 100)
    if chance.random() < 0.3:
        fields["kept_data"] = KeptData(
            gb=usd(chance, 1, 1_000), usd_per_gb_month=maybe(chance, 0.9, 0.01, 0.5),
            setup_minutes=log_uniform(chance, 0.1, 300), ingress_usd_per_gb=Decimal(0),
        )  # fmt: skip
    return IdleBox.model_validate(fields | _clocks(chance))


def _clocks(chance: Random) -> dict[str, object]:
    """Return, for one box in ten, what ends a state by itself: there nothing is promised."""
    which = chance.randrange(30)
    if which == 0:
        return {"gone_half_life_hours": log_uniform(chance, 0.1, 1_000)}
    if which == 1:
        return {"stop_expires_hours": log_uniform(chance, 1, 2_000)}
    return {"balance_usd": usd(chance, 1, 1_000)} if which == 2 else {}


def absences_h(chance: Random, advice: Advice) -> list[float]:
    """Return none, one of seconds to two months, and all at which the plan changes."""
    corners = [step.from_h for step in advice.plan[1:]]
    after = [math.nextafter(corner, math.inf) for corner in corners]
    return [0.0, log_uniform(chance, 1 / HOUR_S, LONGEST_H), *corners, *after]


class Line(NamedTuple):
    """A part of a plan as it is printed."""

    since_h: Decimal
    usd_per_hour: Decimal
    back_usd: Decimal


def lines(advice: Advice) -> list[Line]:
    """Return the plan with the prices that are printed beside it."""
    options = {option.action: option for option in advice.options}
    return [
        Line(Decimal(repr(step.from_h)), options[step.action].usd_per_hour,
             options[step.action].back_usd)
        for step in advice.plan
    ]  # fmt: skip


def by_hand_usd(plan: list[Line], away_h: Decimal) -> Decimal:
    """Return what an absence costs that goes through a plan."""
    total, last = Decimal(0), plan[0]
    for line in plan[1:]:
        if line.since_h >= away_h:
            break
        total += last.usd_per_hour * (line.since_h - last.since_h)
        last = line
    return total + last.usd_per_hour * (away_h - last.since_h) + last.back_usd


def best_usd(advice: Advice, away_h: Decimal) -> Decimal:
    """Return what it would have cost to know the absence from the start."""
    return min(option.usd_per_hour * away_h + option.back_usd for option in advice.options)


def waited_usd(plan: list[Line]) -> Decimal | None:
    """Return what is spent on a person who never comes back; None where it never ends."""
    last = plan[-1]
    if last.usd_per_hour:
        return None
    return by_hand_usd(plan, last.since_h + 1) - last.back_usd


# --- rules --------------------------------------------------------------------------------------

STATES: tuple[State, ...] = ("busy", "idle", "hung", "crashed", "unknown")
LOWEST = ("stop", "pause", "hibernate", "deallocate", "shelve")


def some_plan(chance: Random, scale_h: float) -> tuple[PlanStep, ...]:
    """Return a plan that goes down, of which any part may be missing."""
    steps, at_h = [], 0.0
    for action in ("keep", chance.choice(LOWEST), "keep-data", "destroy"):
        if chance.random() < (0.3 if action == "keep-data" else 0.75):
            undo = action not in ("destroy", "keep-data")
            steps.append(PlanStep(from_h=at_h, action=action, undo=undo))
            at_h += log_uniform(chance, scale_h / 20, scale_h)
    return tuple(steps)


def some_rules(chance: Random, *, hours: float, window_s: float) -> Rules:
    """Return rules for a watch of some hours: any consents, often a cap that may be reached."""
    rate = usd(chance, 0.05, 100)
    consents: list[tuple[ActName, ...]] = [
        (), ("stop",), ("destroy",), ("stop", "destroy"), ("stop", "destroy"),
    ]  # fmt: skip
    cap = Decimal(f"{float(rate) * hours * log_uniform(chance, 0.1, 10):.4f}")
    return Rules(
        usd_per_hour=rate,
        stopped_usd_per_hour=chance.choice([Decimal(0), rate / 50, rate, rate * 2]),
        plan=some_plan(chance, hours),
        window_s=None if chance.random() < 0.1 else window_s,
        cap_usd=cap if chance.random() < 0.6 else None,
        may=frozenset(chance.choice(consents)),
        stopped_before_h=chance.choice([0.0, 0.0, hours * chance.random()]),
    )


def from_h(rules: Rules, *actions: str) -> float:
    """Return from when on the plan wants one of these, or more."""
    return min((step.from_h for step in rules.plan if step.action in actions), default=math.inf)


# --- a watch, told by the verdicts alone --------------------------------------------------------


class Hand(NamedTuple):
    """What somebody with a pencil knows who reads the same verdicts."""

    at_s: float = 0.0
    state: str = ""
    since_s: float = 0.0
    used_s: float = 0.0
    """When the box was last seen at work or hung; at the start at the latest."""
    before_h: float = 0.0
    """Stopped before that, where the watch began with a stopped box."""
    left_s: float = 0.0
    """At least so long nobody has used it."""
    spent_usd: Decimal = Decimal(0)
    tried_s: float = -math.inf
    """Of this state."""

    def most_left_s(self) -> float:
        """Return for how long at most nobody has used it."""
        return self.at_s - self.used_s + self.before_h * HOUR_S


def noted(hand: Hand, sample: Sample, rules: Rules) -> Hand:
    """Return what is known after a look."""
    state = sample.verdict.state if sample.verdict else sample.box_state or "unknown"
    gap_s = sample.passed_s - hand.at_s
    rate = rules.usd_per_hour
    if hand.state in ("stopped", "gone"):
        rate = rules.stopped_usd_per_hour if hand.state == "stopped" else Decimal(0)
    spent_usd = hand.spent_usd + rate * Decimal(repr(gap_s)) / 3_600
    now = hand._replace(at_s=sample.passed_s, state=state, spent_usd=spent_usd)
    if state != hand.state:
        now = now._replace(since_s=sample.passed_s, tried_s=-math.inf)
        now = now._replace(left_s=hand.left_s if (hand.state, state) == ("idle", "stopped") else 0)
    elif state in ("stopped", "crashed"):
        now = now._replace(left_s=hand.left_s + gap_s)
    if not hand.state and state == "stopped":
        now = now._replace(before_h=rules.stopped_before_h)
    if state == "idle" and sample.verdict is not None:
        now = now._replace(left_s=max(sample.passed_s - now.since_s, sample.verdict.quiet_s))
    if state in ("busy", "hung"):
        now = now._replace(used_s=sample.passed_s, before_h=0.0)
    return now


def forbidden(hand: Hand, following: Next, rules: Rules) -> list[str]:
    """Return which laws an action breaks."""
    act, forced = following.act, following.forced
    if act is None:
        return []
    stops = from_h(rules, *LOWEST, "keep-data", "destroy")
    wanted_h = stops if act == "stop" else from_h(rules, "keep-data", "destroy")
    broken = {
        "no consent": act not in rules.may,
        "gone": hand.state == "gone",
        "again too soon": hand.at_s - hand.tried_s < 300,
        "stops what is stopped": act == "stop" and hand.state == "stopped",
        "destroys what could be stopped": act == "destroy"
        and hand.state != "stopped" and "stop" in rules.may,
        "a cap that destroys": forced and act != "stop",
        "no cap": forced and (rules.cap_usd is None or hand.spent_usd < rules.cap_usd - NEARLY_USD),
        "not settled": not forced and hand.state not in ("idle", "crashed", "stopped"),
        "no window": not forced and rules.window_s is None,
        "crashed just now": not forced and hand.state == "crashed"
        and hand.at_s - hand.since_s < (rules.window_s or math.inf),
        "before its time": not forced and hand.most_left_s() < wanted_h * HOUR_S - 1e-6,
    }  # fmt: skip
    return [law for law, is_broken in broken.items() if is_broken]


def owed(hand: Hand, rules: Rules) -> set[str]:
    """Return what a look must lead to: one of these actions; nothing where none is owed."""
    if hand.at_s - hand.tried_s < 300 or hand.state == "gone":
        return set()
    running = hand.state != "stopped"
    if running and "stop" in rules.may and _is_capped(hand, rules):
        return {"stop"}
    seen = hand.state in ("idle", "stopped") or (
        hand.state == "crashed" and hand.left_s >= (rules.window_s or math.inf)
    )
    if rules.window_s is None or not seen:
        return set()
    left_h = hand.left_s / HOUR_S - 1e-9
    if running and left_h > from_h(rules, *LOWEST, "keep-data", "destroy") and "stop" in rules.may:
        return {"stop"}
    over = left_h > from_h(rules, "keep-data", "destroy")
    return {"destroy"} if over and "destroy" in rules.may else set()


def _is_capped(hand: Hand, rules: Rules) -> bool:
    return rules.cap_usd is not None and hand.spent_usd > rules.cap_usd + NEARLY_USD


def some_look(chance: Random, hand: Hand, gap_s: float, state: str) -> Sample:
    """Return a look that says `state`, on a wall clock that jumps both ways."""
    passed_s = hand.at_s + gap_s
    jump_s = chance.choice([0, 0, 0, chance.uniform(-2, 2) * HOUR_S])
    at = START + timedelta(seconds=passed_s + jump_s)
    if state in ("stopped", "gone"):
        return Sample(at, passed_s, None, cast("BoxState", state))
    quiet_s = (passed_s - hand.used_s) * chance.random() if state == "idle" else 0.0
    # Nothing to check: pydantic would take half of the time of a hundred thousand lives.
    verdict = Verdict.model_construct(state=cast("State", state), why="so", quiet_s=quiet_s)
    return Sample(at, passed_s, verdict, chance.choice([None, "running", "stopped"]))
