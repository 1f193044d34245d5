"""What a machine bills by the hour in each state, and which state an action leads to."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, NamedTuple

from costplan.billing import DATA_UNIT, hourly_usd, unit_amount
from costplan.errors import UnknownError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from costplan.records.providers import (
        ActionName,
        Meter,
        MeterKind,
        Provider,
        State,
    )


class Usage(NamedTuple):
    """What a machine has and uses while a meter runs."""

    gpu_usd_per_hour: Decimal | None = None
    """The hourly price without anything that another meter bills."""
    disk_gb: Decimal = Decimal(0)
    used_gb: Decimal | None = None
    """For meters on used GB; the allocated size where left out."""
    cores: Decimal = Decimal(0)
    ram_gb: Decimal = Decimal(0)
    volume_gb: Decimal = Decimal(0)
    snapshot_gb: Decimal = Decimal(0)
    ips: int = 0


class HourlyLine(NamedTuple):
    """One meter's price for an hour in one state."""

    kind: MeterKind
    usd_per_hour: Decimal | None
    """None: it bills, and nobody says how much."""
    certain: bool
    """False: nobody says whether it bills in this state."""
    source: str


def state_after(provider: Provider, action: ActionName) -> State:
    """Return the state in which `action` leaves a machine.

    Raises:
        UnknownError: The provider has no such action, or nobody says what it does.
    """
    found = provider.actions.get(action)
    if found is None:
        known = ", ".join(sorted(provider.actions)) or "none"
        raise UnknownError(
            f"{provider.name} has no {action.replace('_', ' ')}", hint=f"its actions: {known}"
        )
    return found.state


def meters_in(provider: Provider, state: State) -> tuple[tuple[Meter, bool], ...]:
    """Return the meters that bill in `state`, each with whether that is certain."""
    return tuple(
        (meter, state in meter.states)
        for meter in provider.meters
        if state in meter.states or state in meter.states_unknown
    )


def hourly_lines(
    provider: Provider, state: State, usage: Usage, *, meters: Sequence[Meter] | None = None
) -> tuple[HourlyLine, ...]:
    """Return what each meter bills for an hour in `state`, unknown prices as None.

    Args:
        provider: Whose states and meters hold.
        state: Of the machine.
        usage: What the machine has.
        meters: In place of the provider's, where an offer has its own prices.
    """
    lines = []
    for meter in meters if meters is not None else provider.meters:
        certain = state in meter.states
        if not certain and state not in meter.states_unknown:
            continue
        amount = _amount(meter, usage)
        if amount is None:
            continue
        if meter.kind == "gpu":
            price = usage.gpu_usd_per_hour
        else:
            both = hourly_usd(meter, amount)
            price = None if both is None else both[1]
        lines.append(HourlyLine(meter.kind, price, certain, meter.source))
    return tuple(lines)


def _amount(meter: Meter, usage: Usage) -> Decimal | None:
    """Return how much of it the machine has, in the meter's unit; None for what it has not."""
    if meter.kind == "gpu":
        return Decimal(1)
    if meter.kind == "fee":
        return Decimal(1)
    if meter.kind == "public_ip":
        return Decimal(usage.ips) if usage.ips else None
    if meter.kind == "cpu":
        return usage.cores or None
    size = {
        "ram": usage.ram_gb,
        "disk": usage.disk_gb,
        "volume": usage.volume_gb,
        "network_volume": usage.volume_gb,
        "snapshot": usage.snapshot_gb,
    }.get(meter.kind)
    if meter.kind == "disk" and meter.basis == "used" and usage.used_gb is not None:
        size = usage.used_gb
    if not size:
        return None
    return unit_amount(meter, size) if meter.per in DATA_UNIT else size


def total_usd_per_hour(lines: Iterable[HourlyLine]) -> Decimal | None:
    """Return the sum of the certain lines; None where one of them has no price."""
    total = Decimal(0)
    for line in lines:
        if not line.certain:
            continue
        if line.usd_per_hour is None:
            return None
        total += line.usd_per_hour
    return total
