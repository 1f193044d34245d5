"""An idle box as the advisor sees it, and the advice."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Literal

from pydantic import Field, model_validator

from costplan.records.record import Amount, Number, Price, Record, Truth
from costplan.records.results import Notice

AwayHours = Annotated[Number, Field(ge=0, le=1_000_000)]
Minutes = Annotated[Number, Field(ge=0, le=100_000)]
Chance = Annotated[Number, Field(ge=0, le=1)]
StopAction = Literal["stop", "pause", "hibernate", "deallocate", "shelve"]


class KeptData(Record):
    """Destroy the box, keep the data on a volume, in a store, or as a snapshot."""

    gb: Annotated[Amount, Field(gt=0, le=10_000_000)]
    usd_per_gb_month: Price
    setup_minutes: Minutes
    """From nothing to working again with the data at hand."""
    ingress_usd_per_gb: Price = Decimal(0)


class WaitState(Record):
    """One more state that a box can wait in: hibernated, in a snapshot, in an object store."""

    name: Annotated[str, Field(pattern=r"^[a-z][a-z0-9 -]{0,30}$")]
    undo: Truth
    """Whether what is on the box is still there on the way back."""
    usd_per_hour: Price
    """0 is free; there is no default."""
    back_minutes: Minutes
    """From this state to working again."""
    back_gb: Annotated[Amount, Field(ge=0, le=10_000_000)] = Decimal(0)
    """Downloaded on the way back."""
    back_usd_per_gb: Price = Decimal(0)
    search_usd: Price = Decimal(0)
    """Spent on boxes that do not work until one does."""
    expires_hours: AwayHours | None = None
    """After this it is gone."""


OWN_STATES = ("keep", "keep-data", "destroy", "start", "unknown")
"""Names that mean something already."""


class IdleBox(Record):
    """A box, what it bills in each state, and what coming back takes (a saved `--box` file)."""

    usd_per_hour: Annotated[Amount, Field(gt=0, le=100_000)]
    """Running, everything inside: the disk too."""
    disk_gb: Annotated[Amount, Field(ge=0, le=10_000_000)] = Decimal(0)
    """Allocated."""
    storage_usd_per_gb_month: Price | None = None
    stopped_storage_usd_per_gb_month: Price | None = None
    """Where it differs from the running price."""
    stopped_other_usd_per_hour: Price = Decimal(0)
    """What else bills while stopped: an address, a fee."""
    wiped: tuple[str, ...] = ()
    """What a stop loses."""
    month_hours: Annotated[Amount, Field(ge=600, le=760)] = Decimal(730)
    provider: str | None = None
    stop: StopAction | None = "stop"
    """What really ends the compute meter without destroying; left out where nothing does."""
    no_stop: str | None = None
    """Why there is no stop."""
    restart_minutes: Minutes | None = None
    setup_minutes: Minutes
    """From nothing to working again."""
    ingress_gb: Annotated[Amount, Field(ge=0, le=10_000_000)] = Decimal(0)
    ingress_usd_per_gb: Price = Decimal(0)
    rebuild_usd_per_hour: Annotated[Amount, Field(gt=0, le=100_000)] | None = None
    """What a new box costs today; the running rate where left out."""
    search_usd: Price = Decimal(0)
    """Spent on boxes that do not work until one does."""
    upload_usd: Price = Decimal(0)
    """Saving what must be saved before a destroy."""
    lost_usd: Price = Decimal(0)
    """Work since the last checkpoint, lost by a stop."""
    gone_share: Chance | None = None
    """Chance that the GPU is taken at the restart."""
    gone_usd: Price = Decimal(0)
    """What that costs on top of a rebuild."""
    gone_half_life_hours: Annotated[Number, Field(gt=0, le=1_000_000)] | None = None
    kept_data: KeptData | None = None
    states: tuple[WaitState, ...] = ()
    """Any number of further states."""
    stop_expires_hours: AwayHours | None = None
    """After this the provider deletes a stopped box."""
    balance_usd: Price | None = None
    waiting_usd_per_hour: Price = Decimal(0)
    """What an hour of the person who waits for the box is worth."""

    @model_validator(mode="before")
    @classmethod
    def _no_stop_is_none(cls, data: object) -> object:
        if isinstance(data, dict) and data.get("no_stop") is not None:
            if data.get("stop") is not None:
                raise ValueError("give stop or no_stop, not both")
            return {**data, "stop": None}
        return data

    @model_validator(mode="after")
    def _each_state_once(self) -> IdleBox:
        taken = [*OWN_STATES, *([self.stop] if self.stop else [])]
        for state in self.states:
            if state.name in taken:
                raise ValueError(f"states: there is a state {state.name!r} already")
            taken.append(state.name)
        return self


class Absence(Record):
    """What is known of how long nobody comes back."""

    hours: AwayHours | None = None
    mean_hours: Annotated[Number, Field(gt=0, le=1_000_000)] | None = None
    recorded_hours: tuple[Number, ...] = ()
    away_hours: tuple[Number, ...] = ()
    """Recorded ones that still last."""
    still_away: tuple[tuple[Number, Number], ...] = ()
    """Hours of return, and the share still away after each: learnt from more than these alone."""
    never: Chance = 0.0


class Deadline(Record):
    """Work that must be done by a time; hours from now."""

    hours: AwayHours
    remaining_hours: AwayHours
    """Work left."""
    reserve_hours: AwayHours


class Elapsed(Record):
    """An absence that has begun already."""

    state: Literal["idle", "stopped"]
    """`idle`: the box has been on all the while."""
    hours: AwayHours


class SoFar(Record):
    """What an absence has cost until now."""

    state: Literal["idle", "stopped"]
    hours: float
    usd: Decimal
    border_h: float | None
    """From here on destroy would have been cheapest; None where never."""
    destroyed_usd: Decimal
    """What the way back from a destroy costs, then as now."""


class GoneMoves(Record):
    """What the chance that the GPU is gone makes of a stop."""

    sure_back_usd: Decimal
    """Paid at the return, were the GPU sure to be there; and with the chance that it is not."""
    back_usd: Decimal
    sure_destroy_h: float | None
    """From here on destroy is cheapest, then and now; None where never, or where a stop never is
    the cheapest."""
    destroy_h: float | None


class PlanStep(Record):
    """From this many hours away on, be in this state; `start`: begin the way back."""

    from_h: float
    action: str
    undo: Truth
    """Whether what is on the box is still there; of a destroy it is not."""


class TimerCost(Record):
    """What a schedule costs: under what is known of the absence, or at its worst."""

    usd: float | None = None
    """At the known absence, or expected."""
    worst_ratio: float | None = None
    """To the best in hindsight."""
    regret_usd: float | None = None
    """Most dollars above the best in hindsight."""
    night_usd: float | None = None
    weekend_usd: float | None = None
    endless: tuple[Literal["usd", "worst_ratio", "regret_usd"], ...] = ()
    """Which of them have no bound: it bills for ever, or is paid by who is back at once. Others
    that are None are not known."""


class Compared(Record):
    """The person's own timer beside the plan."""

    timer: tuple[PlanStep, ...]
    basis: Literal["absence", "mean", "law", "nothing"]
    """What is known of the absence; of a mean alone the law is taken as exponential."""
    theirs: TimerCost
    plan: TimerCost


class OptionCost(Record):
    """One state the box can wait in."""

    action: str
    usd_per_hour: Decimal
    back_usd: Decimal
    """Paid at the return."""
    cost_usd: Decimal | None
    """Over the known absence, or expected under the law; None where nothing is known."""
    undo: Truth
    until_h: float | None
    """After this the box is gone."""
    latest_start_h: float | None = None
    """By then the way back must begin, for the deadline; below zero: too late already."""
    late_h: float | None = None
    """By so much an absence as known, or a start now, misses that; None where it does not."""


class Advice(Record):
    """The answer to `costplan idle`."""

    advice: str
    why: str
    options: tuple[OptionCost, ...]
    away_h: float | None
    keep_until_h: float
    destroy_after_h: float | None
    """Of an unknown or known absence: from here on destroy is cheapest; None where never."""
    near_tie_h: tuple[float, float] | None
    stopped_usd_per_hour: Decimal | None
    rebuild_usd: Decimal
    saved_usd_per_hour: Decimal | None
    """By stopping rather than keeping."""
    gpu_gone_break_even: float | None
    gone_moves: GoneMoves | None = None
    """None where no chance is given."""
    unsaved: tuple[str, ...] | None = None
    """What no verified copy holds; None where nobody looked, nothing where all is verified."""
    wiped: tuple[str, ...] = ()
    """What a stop loses: to be copied first."""
    once_idle: str | None = None
    """The advice in money, where the box was looked at and is not idle."""
    deadline_h: float | None = None
    remaining_h: float | None = None
    reserve_h: float | None = None
    start_by_h: float | None = None
    """When the way back from the last state of the plan must begin; None where none meets it."""
    so_far: SoFar | None = None
    compared: Compared | None = None
    notice_s: float | None = None
    unsaved_gb: Decimal | None = None
    notice_gb: Decimal | None = None
    """Of that, what leaves the box at most between the provider's notice and its end."""
    asks: tuple[str, ...] = ()
    """What the person may have left out, and what that moves."""
    plan: tuple[PlanStep, ...]
    plan_usd: float | None
    """Expected under the law."""
    guarantee: float | None
    """The plan never costs more than this many times the best in hindsight."""
    flips: tuple[str, ...]
    assumed: tuple[str, ...]
    notices: tuple[Notice, ...]
