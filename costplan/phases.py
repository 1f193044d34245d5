"""From renting to teardown: what the machine does, in which state, for how long."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from costplan.interruptions import (
    RESTART_PAUSED_S,
    WRITE_GB_PER_S,
    WRITE_LEAST_S,
    Interrupted,
    rising,
    three_ways,
)
from costplan.transfers import DOWN_MBIT, UP_MBIT, dataset_s, line, over_s
from costplan.units import US_PER_S
from costplan.work import Guess

if TYPE_CHECKING:
    from collections.abc import Iterable

    from costplan.predict import Factor
    from costplan.records.offers import OwnTerms
    from costplan.records.providers import Meter, Provider, State
    from costplan.work import Work

Part = Literal[
    "set-up", "transfer", "overhead", "training", "interruptions", "idle",  # of the time
    "rounding", "storage", "traffic", "machine",  # of the bill only
]  # fmt: skip
"""What a phase or a cost line is for."""

# A machine that never comes up, where the provider has no figure: share of the tries that fail.
# High is the worst found (58 % of the instances that one package created on vast.ai); expected is
# chosen. The minutes until one gives up: 4.8 in openai/parameter-golf issue 821.
BOOT_FAILURES: Final = Guess(0.0, 0.05, 0.58)
PROBE_S: Final = 288.0
COLD_START_S: Final = Guess(5.0, 20.0, 120.0)
"""Serverless, where nobody states it. Chosen."""
TEARDOWN_S: Final = Guess(10.0, 60.0, 300.0)
"""From the call to the last billed second, where terminating bills. Chosen."""

ORDER: Final = (
    "failed boots", "image pull", "install", "cold start", "dataset transfer", "warm-up",
    "training", "validation", "start, loader", "checkpoint writes", "lost work", "restarts",
    "checkpoint pushes", "final upload", "idle until noticed", "kept warm", "teardown",
)  # fmt: skip
"""Phases as they happen."""


Micros = tuple[int, int, int]
"""Low, expected and high, in whole microseconds."""


class Phase(NamedTuple):
    """One stretch of the machine's life, in whole microseconds."""

    name: str
    part: Part
    state: State
    us: Micros


def counting(meter: Meter | None) -> dict[State, int]:
    """Return 1 for states in which `meter` bills, 0 where nobody says; a missing one is free."""
    if meter is None:
        return {"running": 1}
    return {**dict.fromkeys(meter.states_unknown, 0), **dict.fromkeys(meter.states, 1)}


def counted_us(phases: Iterable[Phase], counts: dict[State, int]) -> Micros:
    """Return the microseconds that a meter counts: low, expected, high (see `counting`).

    Where nobody says whether a state bills, it stays out of low.
    """
    low = expected = high = 0
    for _, _, state, us in phases:
        certain = counts.get(state)
        if certain is not None:
            low += certain * us[0]
            expected += us[1]
            high += us[2]
    return low, expected, high


class Moved(NamedTuple):
    """GB that pass the machine's line."""

    name: str
    gb: Guess
    state: State


class Frame(NamedTuple):
    """What does not depend on the machine's line.

    The same for every offer of one card, count, provider and way of being sold.
    """

    fixed: tuple[Phase, ...]
    """In order, without transfers."""
    useful_us: Micros
    """Of the fixed phases, without the idle end."""
    interruptible: bool
    pulls_image: bool
    incoming: tuple[Moved, ...]
    outgoing: tuple[Moved, ...]


class Plan(NamedTuple):
    """Everything physical about one job on one machine."""

    frame: Frame
    moving: tuple[Phase, ...]
    """Phases that last as long as the line makes them, and what interruptions add."""
    spot: Interrupted | None
    """What interruptions are expected to cost; None where none are expected."""
    again: Guess = Guess(0.0, 0.0, 0.0)
    """How often everything that comes in comes in again, on a new machine."""

    def phases(self) -> list[Phase]:
        """Return every phase that can take time, in the order in which they happen."""
        order = {name: place for place, name in enumerate(ORDER)}
        return sorted(
            (phase for phase in (*self.frame.fixed, *self.moving) if phase.us[2]),
            key=lambda phase: order[phase.name],
        )


def frame(work: Work, factor: Factor, provider: Provider, *, interruptible: bool) -> Frame:
    """Return the part of the plan that every offer of one kind shares.

    Args:
        work: The settled job.
        factor: Time on this machine over time on the measured one.
        provider: Whose states and terms hold.
        interruptible: Whether the machine can be taken away.
    """
    serverless = provider.kind == "serverless"
    training = Guess(
        *(work.train_s * f * amount for f, amount in zip(factor, work.amount, strict=True))
    )
    validation = Guess(*(v * f for v, f in zip(work.validation_s, factor, strict=True)))
    fixed = [
        *(_serverless_start(provider) if serverless else _boot(work, provider)),
        phase("warm-up", "set-up", work.warmup_s),
        phase("training", "training", training),
        phase("validation", "training", validation),
        phase("start, loader", "overhead", work.overhead_s),
        *_ending(work, provider),
    ]
    uploads = work.checkpoint_gb.scaled(work.pushes + work.runs)
    useful = [p for p in fixed if p.part != "idle"]
    return Frame(
        fixed=tuple(p for p in fixed if p.us[2]),
        useful_us=(
            sum(p.us[0] for p in useful),
            sum(p.us[1] for p in useful),
            sum(p.us[2] for p in useful),
        ),
        interruptible=interruptible,
        pulls_image=not serverless,
        incoming=_incoming(work, provider),
        outgoing=(Moved("checkpoints out", uploads, "running"),),
    )


def plan(work: Work, framed: Frame, provider: Provider, own: OwnTerms) -> Plan | None:
    """Return the frame with what depends on the machine's line, or None if it would never finish.

    Args:
        work: The settled job.
        framed: From `frame`, for this kind of machine.
        provider: Whose terms hold.
        own: The offer's own line.
    """
    down = line(own.inet_down_mbit_per_s, DOWN_MBIT)
    up = line(own.inet_up_mbit_per_s, UP_MBIT)
    coming = [phase("dataset transfer", "transfer", dataset_s(work, down))]
    if framed.pulls_image:
        pull_s = over_s(work.image_gb, down)
        coming.append(phase("image pull", "set-up", pull_s, _pulling(provider)))
    moving = list(coming)
    if work.pushes:
        pushed = work.checkpoint_gb.scaled(work.pushes)
        moving.append(phase("checkpoint pushes", "transfer", over_s(pushed, up)))
    final = work.checkpoint_gb.scaled(work.runs)
    moving.append(phase("final upload", "transfer", over_s(final, up)))
    if not framed.interruptible:
        return Plan(framed, tuple(moving), None)
    found = _interruptions(work, [*framed.fixed, *coming], provider)
    if found is None:
        return None
    fields = {"checkpoint writes": "writing_s", "lost work": "lost_s", "restarts": "restarts_s"}
    extra = [
        phase(name, "interruptions", Guess(*rising(found, field))) for name, field in fields.items()
    ]
    again = Guess(0.0, 0.0, 0.0) if _keeps_disk(provider) else Guess(*rising(found, "times"))
    return Plan(framed, (*moving, *extra), found[1], again)


def _keeps_disk(provider: Provider) -> bool:
    return provider.spot is not None and bool(provider.spot.disk_kept)


def phase(name: str, part: Part, seconds: Guess, state: State = "running") -> Phase:
    """Return a phase of `seconds`, in whole microseconds."""
    low, expected, high = seconds
    us = (round(low * US_PER_S), round(expected * US_PER_S), round(high * US_PER_S))
    return Phase(name, part, state, us)


def _boot(work: Work, provider: Provider) -> list[Phase]:
    """Return the tries that fail and the install."""
    if provider.boot is not None:
        share, probe_s = provider.boot.failure_share, provider.boot.probe_minutes * 60
        wasted = share / (1 - share) if share < 1 else 10.0
        failed = Guess(0.0, wasted * probe_s, 2 * wasted * probe_s)
    else:
        failed = Guess(*(p / (1 - p) * PROBE_S for p in BOOT_FAILURES))
    return [
        phase("failed boots", "set-up", failed),
        phase("install", "set-up", work.setup_s),
    ]


def _serverless_start(provider: Provider) -> list[Phase]:
    terms = provider.serverless
    known = terms.cold_start_s if terms else None
    cold = COLD_START_S if known is None else Guess(known, known, known)
    return [phase("cold start", "set-up", cold, "booting")]


def _ending(work: Work, provider: Provider) -> list[Phase]:
    if provider.kind == "serverless":
        idle_s = provider.serverless.idle_timeout_s if provider.serverless else None
        warm = Guess(0.0, idle_s or 0.0, idle_s or 60.0)
        return [phase("kept warm", "idle", warm, "idle_warm")]
    ending = [phase("idle until noticed", "idle", work.idle_s)]
    gpu = provider.meter("gpu", "terminating")
    if gpu is not None:
        ending.append(phase("teardown", "idle", TEARDOWN_S, "terminating"))
    return ending


def _pulling(provider: Provider) -> State:
    """Return the state in which the image is pulled: a virtual machine does it while running."""
    known = provider.meter("gpu", "loading_image") is not None
    return "running" if provider.kind == "cloud" and not known else "loading_image"


def _incoming(work: Work, provider: Provider) -> tuple[Moved, ...]:
    moved = []
    if work.dataset_from != "volume":
        moved.append(Moved("dataset in", work.dataset_gb, "running"))
    if provider.kind != "serverless":
        moved.append(Moved("image in", work.image_gb, _pulling(provider)))
        moved.append(Moved("packages in", work.packages_gb, "running"))
    return tuple(moved)


def _interruptions(
    work: Work, phases: list[Phase], provider: Provider
) -> tuple[Interrupted | None, ...] | None:
    """Return what interruptions add (low, expected, high); None where it would never finish."""
    stated_s = work.interruption_s
    if stated_s is None and provider.spot and provider.spot.hours_between_interruptions:
        stated_s = provider.spot.hours_between_interruptions * 3_600
    runs = [work.runs if p.name == "warm-up" else 1 for p in phases]  # one warm-up a restart
    anew = [
        [us / times for us in p.us] if p.part in ("set-up", "transfer") else [0.0, 0.0, 0.0]
        for p, times in zip(phases, runs, strict=True)
    ]
    trained = [p.us if p.part in ("training", "overhead") else (0, 0, 0) for p in phases]
    restart = Guess(*(sum(each) / US_PER_S for each in zip(*anew, strict=True)))
    if _keeps_disk(provider):
        restart = Guess(RESTART_PAUSED_S, RESTART_PAUSED_S, RESTART_PAUSED_S)
    return three_ways(
        Guess(*(sum(each) / US_PER_S for each in zip(*trained, strict=True))),
        write_s=max(WRITE_LEAST_S, work.checkpoint_gb.expected / WRITE_GB_PER_S),
        restart_s=restart,
        stated_mean_s=stated_s,
        interval_s=work.checkpoint_interval_s,
    )
