"""Borders between keep, stop and destroy, in hours, from rates and the cost of coming back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from costplan.errors import InputError

if TYPE_CHECKING:
    from decimal import Decimal


def rebuild_usd(
    *,
    running_usd_per_hour: Decimal,
    setup_hours: Decimal,
    ingress_gb: Decimal,
    ingress_usd_per_gb: Decimal,
) -> Decimal:
    """Return what a new box costs before it is where the old one was.

    >>> from decimal import Decimal
    >>> round(rebuild_usd(running_usd_per_hour=Decimal("3.482778"), setup_hours=Decimal("0.25"),
    ...     ingress_gb=Decimal(43), ingress_usd_per_gb=Decimal("0.003")), 6)
    Decimal('0.999694')
    """
    return running_usd_per_hour * setup_hours + ingress_gb * ingress_usd_per_gb


def border_hours(*, one_off_usd: Decimal, saved_usd_per_hour: Decimal) -> Decimal:
    """Return the hours after which saving by the hour outweighs a cost paid once.

    With a rebuild and the stopped rate: for how long stop beats destroy. With a rebuild and the
    running rate: for how long keep beats destroy (the ski-rental border, Karlin et al. 1988).

    Raises:
        InputError: The saving is not above zero.
    """
    if saved_usd_per_hour <= 0:
        raise InputError(f"nothing is saved at {saved_usd_per_hour} $/h")
    return one_off_usd / saved_usd_per_hour
