"""How a provider bills: meters, states, actions, and what survives a destroy.

A meter lists the states in which it bills. What an action costs is then read from one place: the
action leads to a state, and the meters of that state bill.
"""

from decimal import Decimal
from typing import Annotated, Literal

from pydantic import Field, model_validator

from costplan.records.record import Amount, Number, Price, Record, Sourced, Truth

MeterKind = Literal[
    "gpu",
    "cpu",
    "ram",
    "disk",
    "volume",
    "network_volume",
    "object",
    "snapshot",
    "public_ip",
    "ingress",
    "egress",
    "inter_region",
    "fee",
]

State = Literal[
    "requested",
    "provisioning",
    "loading_image",
    "booting",
    "running",
    "idle_warm",
    "frozen",
    "stopping",
    "stopped_allocated",
    "stopped_released",
    "hibernated",
    "evicted",
    "host_offline",
    "error",
    "terminating",
    "destroyed",
    "expired",
]

ActionName = Literal[
    "guest_shutdown",
    "api_stop",
    "deallocate",
    "pause",
    "hibernate",
    "shelve",
    "scale_to_zero",
    "terminate",
]

Unit = Literal[
    "hour",
    "second",
    "month",
    "core_hour",
    "core_second",
    "gb_hour",
    "gib_hour",
    "gb_second",
    "gib_second",
    "gb_month",
    "gib_month",
    "gb",
    "gib",
    "tb",
    "tb1024",
    "tib",
]

Basis = Literal["allocated", "used", "tier_rounded"]
ProviderKind = Literal["marketplace", "cloud", "serverless"]

Hours = Annotated[Number, Field(ge=0, le=100_000)]
Share = Annotated[Number, Field(ge=0, le=1)]


_BY_SIZE = frozenset(
    {"ram", "disk", "volume", "network_volume", "object", "snapshot"}
    | {"ingress", "egress", "inter_region"}
)
_NOT_BY_SIZE = frozenset({"hour", "second", "month", "core_hour", "core_second"})
_LEAST_STEP_S = Decimal("0.000001")
"""A microsecond, the finest that anyone bills (TensorDock)."""


class Tier(Record):
    """The price of what lies above a border."""

    above: Annotated[Amount, Field(ge=0, le=10_000_000_000)]
    """Border in the meter's quantity unit; the first tier starts at 0."""
    usd: Price


class Meter(Sourced):
    """One thing that bills, its price, and the states in which it bills."""

    kind: MeterKind
    states: tuple[State, ...]
    states_unknown: tuple[State, ...] = ()
    """States of which nobody says whether this meter bills: left out of low, counted in expected
    and high."""
    usd: Price | None = None
    """Price of one `per`; left out where the meter bills but its price has no source, and for
    `gpu`, whose price is each offer's own."""
    per: Unit = "hour"
    month_hours: Annotated[Amount, Field(ge=600, le=760)] = Decimal(730)
    """Hours in the month of a monthly price: 720, 730 or a cap."""
    basis: Basis = "allocated"
    sizes_gb: tuple[Amount, ...] = ()
    """Sizes sold, ascending, for `tier_rounded`."""
    tiers: tuple[Tier, ...] = ()
    tier_mode: Literal["marginal", "whole", "unknown"] = "marginal"
    """`marginal`: each part at its own price; `whole`: all of it at the price of the tier that the
    total reaches; `unknown`: two readings exist, and the answer is a range."""
    free: Price | None = None
    """Amount that is free in each `free_per`, in the unit of `per`."""
    free_per: Literal["month", "start"] = "month"
    free_scope: str | None = None
    """Where the free amount or the price of 0 holds, for example `same region`."""
    step_s: Annotated[Amount, Field(ge=_LEAST_STEP_S)] | None = None
    """Rounding of this meter's time where it differs from the provider's; `month_hours` x 3,600
    bills whole months ahead."""
    counts: Literal["sum", "larger"] = "sum"
    """Bandwidth: both directions, or the larger of the two."""
    note: str | None = None

    @model_validator(mode="after")
    def _consistent(self) -> "Meter":
        if self.basis == "tier_rounded" and not self.sizes_gb:
            raise ValueError("a tier_rounded meter needs sizes_gb")
        if list(self.sizes_gb) != sorted(set(self.sizes_gb)):
            raise ValueError("sizes_gb must ascend")
        borders = [tier.above for tier in self.tiers]
        if borders and (borders[0] != 0 or borders != sorted(set(borders))):
            raise ValueError("tiers must start at 0 and ascend")
        stated = self.usd is not None or self.tiers
        if stated and self.kind in _BY_SIZE and self.per in _NOT_BY_SIZE:
            raise ValueError(f"{self.kind} is priced per amount of data, not per {self.per}")
        if set(self.states) & set(self.states_unknown):
            raise ValueError("a state is either known to bill or unknown, not both")
        return self


class Rounding(Sourced):
    """How rented time becomes billed time."""

    step_s: Annotated[Amount, Field(ge=_LEAST_STEP_S)] | None = None
    """Rounded up to a multiple of this; left out where no source says."""
    minimum_s: Annotated[Amount, Field(ge=0)] | None = None
    minimum_usd: Price | None = None
    minimum_each_start: Truth = True
    month_cap_hours: Annotated[Amount, Field(gt=0, le=744)] | None = None
    """Hours after which a month costs no more, for example 672."""
    settled_every_s: Annotated[Amount, Field(gt=0)] | None = None
    """How often the balance is charged; does not round."""
    note: str | None = None


class Action(Sourced):
    """What a button or call really does."""

    state: State
    """State in which the machine is afterwards."""
    releases_gpu: Truth | None = None
    """Whether someone else can get the GPU; left out where no source says."""
    call: str | None = None
    """The provider's own name of the action."""
    only: str | None = None
    """Condition under which this holds, for example `on-demand`."""
    note: str | None = None


class StopTerms(Sourced):
    """What is true of a stopped machine."""

    supported: Truth | None = None
    """Whether anything stops the compute meter without destroying."""
    action: ActionName | None = None
    pinned_to_host: Truth | None = None
    may_resume_other_gpu: Truth | None = None
    ip_kept: Truth | None = None
    wiped: tuple[str, ...] = ()
    """What is lost by the stop, for example `container disk`."""
    max_stopped_hours: Hours | None = None
    """After this the provider deletes the stopped machine."""
    ends_with_contract: Truth | None = None
    restart_minutes: Number | None = None
    gpu_available_share: Share | None = None
    resume_price: Literal["fixed_contract", "current_market", "bid", "list"] | None = None
    spot_supported: Truth | None = None
    """False where a spot machine cannot be stopped even though others can."""
    note: str | None = None


class DestroyTerms(Sourced):
    """What a destroy leaves behind, billing on."""

    survivors: tuple[
        Literal["volume", "network_volume", "snapshot", "public_ip", "disk", "object"], ...
    ] = ()
    confirm: str | None = None
    note: str | None = None


class BalanceTerms(Sourced):
    """What happens when the prepaid balance is used up."""

    action: Literal["stop", "terminate", "delete_after", "none"]
    grace_hours: Hours | None = None
    text: str
    """One sentence for the person who will lose something."""


class SpotTerms(Sourced):
    """How interruptible machines are sold and taken back."""

    offered: Truth
    price: Literal["list", "market", "bid"] | None = None
    bid_scope: Literal["per_gpu", "per_machine"] | None = None
    notice_s: Number | None = None
    evicted: Literal["stop", "terminate", "pause", "deallocate"] | None = None
    disk_kept: Truth | None = None
    auto_resume: Truth | None = None
    hours_between_interruptions: Number | None = None
    note: str | None = None


class BootTerms(Sourced):
    """How often a rented machine never comes up, and what finding out costs."""

    failure_share: Share
    probe_minutes: Number
    note: str | None = None


class ServerlessTerms(Sourced):
    """Limits of a function-shaped offer."""

    cold_start_s: Number | None = None
    idle_timeout_s: Number | None = None
    max_timeout_hours: Hours | None = None
    timeout_setting: str = "timeout={seconds}"
    note: str | None = None


class Commitment(Sourced):
    """A term paid for whatever the state."""

    term_months: Number
    prepaid: Truth
    discount_share: Share | None = None
    clawback_share: Share | None = None
    billed_when_stopped: Truth | None = None
    note: str | None = None


class Provider(Sourced):
    """One provider's rules; its offers and reference prices stand in the same file."""

    key: str
    name: str
    aliases: tuple[str, ...] = ()
    kind: ProviderKind
    site: str
    prices_set_by: Literal["market", "list"]
    """`market`: hosts or bids set them and they move by the hour."""
    currency: Literal["USD", "EUR", "CNY", "RUB", "INR"] = "USD"
    tax: Literal["included", "excluded", "added", "unknown"] = "unknown"
    """`added`: sales tax comes on top of the printed price."""
    included: tuple[MeterKind, ...] = ()
    """Meters that the hourly price already contains."""
    included_note: str | None = None
    rounding: Rounding
    meters: tuple[Meter, ...]
    actions: dict[ActionName, Action] = Field(default_factory=dict)
    stop: StopTerms
    destroy: DestroyTerms
    balance: BalanceTerms | None = None
    spot: SpotTerms | None = None
    boot: BootTerms | None = None
    serverless: ServerlessTerms | None = None
    commitments: tuple[Commitment, ...] = ()
    disk_step_gb: Annotated[Amount, Field(gt=0)] = Decimal(1)
    default_quote_disk_gb: Price | None = None
    """Disk for which the provider's own search quotes a price unless told otherwise."""
    rent_command: str | None = None
    """Template with {id} {instance} {card} {card_name} {card_words} {count} {disk_gb} {region};
    printed, never run."""
    spot_rent_command: str | None = None
    """The same for an interruptible machine, with {spot_usd_per_hour} where one bids."""
    search_command: str | None = None
    """The same, for an offer that has no id yet."""
    note: str | None = None

    @model_validator(mode="after")
    def _consistent(self) -> "Provider":
        if self.kind == "serverless" and self.serverless is None:
            raise ValueError("a serverless provider needs its serverless terms")
        if not any(meter.kind == "gpu" for meter in self.meters):
            raise ValueError("a provider needs a gpu meter, to say in which states it bills")
        return self

    def meter(self, kind: MeterKind, state: State = "running") -> Meter | None:
        """Return the meter of `kind` that bills, or may bill, in `state`."""
        for meter in self.meters:
            if meter.kind == kind and (state in meter.states or state in meter.states_unknown):
                return meter
        return None
