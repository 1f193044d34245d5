"""What a provider's stop really is, for a box: its action, rates, clocks and traps."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Final, NamedTuple

from costplan.billing import hourly_usd
from costplan.records.idle import PlanStep
from costplan.units import GB_PER

if TYPE_CHECKING:
    from costplan.records.idle import Advice, IdleBox, StopAction
    from costplan.records.providers import ActionName, Meter, Provider, State

_NAMES: Final[dict[ActionName, StopAction]] = {
    "api_stop": "stop",
    "deallocate": "deallocate",
    "pause": "pause",
    "hibernate": "hibernate",
    "shelve": "shelve",
}


_ZERO_GPUS: Final = (
    "where the GPU of a stopped box is gone, its files are reached by a start with zero GPUs on "
    "the web page; the API cannot: count that time in --gone-cost"
)
_RECOVERY: Final = {"runpod-secure": _ZERO_GPUS, "runpod-community": _ZERO_GPUS}
"""How files come off a box that cannot start again: runpod/docs @a900806e,
pods/troubleshooting/zero-gpus.mdx, and runpod-python issue 371 for the API."""


class StopFacts(NamedTuple):
    """The stop of one provider."""

    action: StopAction | None
    """None where nothing stops the meter without destroying."""
    why_not: str | None
    storage_usd_per_gb_month: Decimal | None
    """Of the stopped disk, where the provider has one price for all."""
    own_stopped_price: bool
    """False where a running box pays the same for its disk."""
    month_hours: Decimal | None
    expires_hours: float | None
    restart_minutes: float | None
    rebuilds: bool
    """True where the way back takes image pull and install again."""
    warnings: tuple[str, ...]
    unknown: bool = False
    """True where nobody says what a stop bills."""
    wiped: tuple[str, ...] = ()
    other_usd_per_hour: Decimal = Decimal(0)
    """Of addresses and fees of a stopped box."""
    ingress_usd_per_gb: Decimal | None = None
    """Of what a rebuild downloads; None where nobody says."""
    has_disk: bool = True
    """False where a stopped box has no disk that bills."""
    at_zero: str | None = None
    """What happens when the balance is used up."""


def stop_facts(provider: Provider) -> StopFacts:
    """Return what is known of stopping a box at `provider`."""
    terms = provider.stop
    at_zero = None if provider.balance is None else provider.balance.text
    disk = provider.meter("disk")
    month = disk.month_hours if disk is not None else None
    action = terms.action
    why = _why_not(provider)
    if why is not None or action is None:
        return StopFacts(
            None, why, None, False, month, None, None, False, warnings(provider),
            unknown=terms.supported is None,
            ingress_usd_per_gb=_ingress_usd_per_gb(provider), at_zero=at_zero,
        )  # fmt: skip
    stopped_disk = provider.meter("disk", provider.actions[action].state)
    running_disk = provider.meter("disk")
    return StopFacts(
        action=_NAMES.get(action, "stop"),
        why_not=None,
        storage_usd_per_gb_month=None if stopped_disk is None else per_gb_month(stopped_disk),
        own_stopped_price=stopped_disk is not running_disk,
        month_hours=stopped_disk.month_hours if stopped_disk is not None else month,
        expires_hours=terms.max_stopped_hours,
        restart_minutes=terms.restart_minutes,
        rebuilds=any("container" in part or "/root" in part for part in terms.wiped),
        warnings=(*warnings(provider), *_beside(provider, action)),
        wiped=terms.wiped,
        other_usd_per_hour=_other_usd_per_hour(provider, provider.actions[action].state),
        ingress_usd_per_gb=_ingress_usd_per_gb(provider),
        has_disk=stopped_disk is not None,
        at_zero=at_zero,
    )


def told(facts: StopFacts | None, box: IdleBox) -> list[str]:
    """Return what somebody who stops `box` must hear of its provider, the worst first."""
    if facts is None:
        return []
    first = [] if facts.why_not is None else [facts.why_not]
    last = [] if facts.at_zero is None or box.balance_usd is None else [facts.at_zero]
    return [*first, *last, *facts.warnings]


def _ingress_usd_per_gb(provider: Provider) -> Decimal | None:
    meter = provider.meter("ingress")
    if meter is None or meter.usd is None or meter.per not in GB_PER:
        return None
    return meter.usd / GB_PER[meter.per]


def _others(provider: Provider, state: State) -> list[Meter]:
    """Return the addresses and fees that surely bill in `state`."""
    return [m for m in provider.meters if m.kind in ("public_ip", "fee") and state in m.states]


def _other_usd_per_hour(provider: Provider, state: State) -> Decimal:
    prices = (hourly_usd(meter, Decimal(1)) for meter in _others(provider, state))
    return sum((price[1] for price in prices if price is not None), Decimal(0))


def _beside(provider: Provider, action: ActionName) -> list[str]:
    """Return how the stop is called, and what else bills then at a price that nobody states."""
    done = provider.actions[action]
    said = [f"the stop of {provider.name} is: {done.call}"] if done.call else []
    for meter in _others(provider, done.state):
        if hourly_usd(meter, Decimal(1)) is None:
            what = meter.kind.replace("_", " ")
            said.append(f"stopped at {provider.name}, {what} bills on at a price nobody states")
    return said


def per_gb_month(meter: Meter) -> Decimal | None:
    """Return the price of a GB (10^9 bytes) and month; None where it is another kind of price."""
    if meter.usd is None:
        return None
    unit, _, time = meter.per.partition("_")
    if unit not in ("gb", "gib") or time not in ("month", "hour", "second"):
        return None
    hours = {"month": Decimal(1), "hour": meter.month_hours, "second": meter.month_hours * 3_600}
    return meter.usd * hours[time] / GB_PER[unit]


def _why_not(provider: Provider) -> str | None:
    terms = provider.stop
    if terms.supported is None:
        return f"nobody says what a stop bills at {provider.name}"
    if not terms.supported or terms.action is None:
        return f"{provider.name} has no stop that ends the bill"
    state = provider.actions[terms.action].state
    if state == "destroyed":
        return f"the stop of {provider.name} destroys the box"
    gpu = provider.meter("gpu", state)
    if gpu is not None:
        return f"a stopped box at {provider.name} bills its GPU all the same"
    return None


def warnings(provider: Provider) -> tuple[str, ...]:
    """Return what looks like a stop at `provider` and is none, or loses something."""
    found = [
        text
        for name, action in provider.actions.items()
        if name != "terminate" and (text := _trap(provider, name, action.state)) is not None
    ]
    if provider.stop.wiped:
        found.append(f"a stop at {provider.name} wipes: {', '.join(provider.stop.wiped)}")
    if provider.stop.pinned_to_host:
        found.append(
            f"a stop at {provider.name} keeps all on one machine: unless it is elsewhere too, the "
            "only copy is on one host: copy first"
        )
        found.append(
            f"a stopped box at {provider.name} waits for its own host: that others of its kind are "
            "free says nothing of its way back"
        )
    if provider.key in _RECOVERY:
        found.append(f"at {provider.name}, {_RECOVERY[provider.key]}")
    if provider.stop.ends_with_contract:
        found.append(f"at {provider.name} the box ends with its contract, stopped or not")
    return tuple(found)


def until_copied(advice: Advice) -> Advice:
    """Return the advice over what is in no verified copy: a stop at most, never a destroy."""
    gone = {option.action for option in advice.options if not option.undo}
    if not advice.unsaved or advice.advice not in gone:
        return advice
    stops = [o.action for o in advice.options if o.undo and o.action != "keep"]
    now = stops[0] if stops else "keep"
    cheaper = advice.advice.replace("-", " ")
    why = f"{advice.why}, although {cheaper} is cheaper: what is here is in no verified copy"
    plan = (PlanStep(from_h=0.0, action=now, undo=True),)
    return advice.model_copy(update={"advice": now, "why": why, "plan": plan})


def _trap(provider: Provider, name: ActionName, state: State) -> str | None:
    words = name.replace("_", " ")
    if provider.meter("gpu", state) is not None:
        return f"at {provider.name}, {words} does not end the bill ({state})"
    if state == "destroyed":
        return f"at {provider.name}, {words} destroys the box"
    return None
