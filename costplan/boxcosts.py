"""What one box costs in each state it can wait in, and on the way back."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Final, NamedTuple

from costplan.advisor import Option, rebuild_usd
from costplan.units import decimal

if TYPE_CHECKING:
    from costplan.records.idle import IdleBox, WaitState

RESTART_MINUTES: Final = 2.0
"""Taken where nobody says: a stopped machine that keeps its disk."""


class Costs(NamedTuple):
    """The money of one box."""

    restart_usd: Decimal
    rebuild_usd: Decimal
    stopped_usd_per_hour: Decimal | None
    options: tuple[Option, ...]


def costs(box: IdleBox) -> Costs:
    """Return the states that the box can wait in, with rates and what coming back costs."""
    waiting = box.waiting_usd_per_hour
    again = box.rebuild_usd_per_hour or box.usd_per_hour
    setup_h = decimal(box.setup_minutes) / 60
    rebuild = box.search_usd + rebuild_usd(
        running_usd_per_hour=again + waiting,
        setup_hours=setup_h,
        ingress_gb=box.ingress_gb,
        ingress_usd_per_gb=box.ingress_usd_per_gb,
    )
    minutes = RESTART_MINUTES if box.restart_minutes is None else box.restart_minutes
    restart = decimal(minutes) / 60 * (box.usd_per_hour + waiting)
    options = [Option("keep", box.usd_per_hour, Decimal(0), until_h=lasts_h(box, box.usd_per_hour))]
    stopped = stopped_usd_per_hour(box)
    if stopped is not None and box.stop is not None:
        options.append(_stop(box, stopped, restart, rebuild))
    gone = box.upload_usd + box.lost_usd  # work that a stop loses, a destroy loses too
    if box.kept_data is not None:
        data = box.kept_data
        rate = data.gb * data.usd_per_gb_month / box.month_hours
        back = decimal(data.setup_minutes) / 60 * (again + waiting)
        back += data.gb * data.ingress_usd_per_gb + box.search_usd
        options.append(
            Option("keep-data", rate, gone + back, undo=False, until_h=lasts_h(box, rate))
        )
    options += [_state(box, state, again + waiting, gone) for state in box.states]
    options.append(Option("destroy", Decimal(0), gone + rebuild, undo=False))
    return Costs(restart, rebuild, stopped, tuple(options))


def _state(box: IdleBox, state: WaitState, again: Decimal, gone: Decimal) -> Option:
    """Return a further state; one that loses what is on the box costs what a destroy does first."""
    back = decimal(state.back_minutes) / 60 * again + state.back_gb * state.back_usd_per_gb
    lost = box.lost_usd if state.undo else gone
    ends = [h for h in (state.expires_hours, lasts_h(box, state.usd_per_hour)) if h is not None]
    return Option(
        state.name,
        state.usd_per_hour,
        lost + back + state.search_usd,
        undo=state.undo,
        until_h=min(ends) if ends else None,
    )


def stopped_usd_per_hour(box: IdleBox) -> Decimal | None:
    """Return what the stopped box bills; None where it cannot stop or its disk has no price."""
    price = box.stopped_storage_usd_per_gb_month
    if price is None:
        price = box.storage_usd_per_gb_month
    if box.stop is None or (price is None and box.disk_gb):
        return None
    disk = box.disk_gb * (price or Decimal(0)) / box.month_hours
    return disk + box.stopped_other_usd_per_hour


def _stop(box: IdleBox, rate: Decimal, restart: Decimal, rebuild: Decimal) -> Option:
    share = decimal(box.gone_share or 0.0)
    lost = rebuild + box.gone_usd
    ends = [h for h in (box.stop_expires_hours, lasts_h(box, rate)) if h is not None]
    return Option(
        box.stop or "stop",
        rate,
        box.lost_usd + (1 - share) * restart + share * lost,
        fading_usd=(1 - share) * (lost - restart),
        half_life_h=box.gone_half_life_hours,
        until_h=min(ends) if ends else None,
    )


def lasts_h(box: IdleBox, rate: Decimal) -> float | None:
    """Return the hours for which the balance pays `rate`."""
    if box.balance_usd is None or rate == 0:
        return None
    return float(box.balance_usd / rate)
