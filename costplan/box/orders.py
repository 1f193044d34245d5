"""What an order must hold before anything is done for it, and how it is shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from costplan.box import commands
from costplan.errors import InputError, LimitError

if TYPE_CHECKING:
    from costplan.records.acting import Order


def check_consent(order: Order) -> None:
    """Refuse an order whose id was not repeated letter for letter.

    Raises:
        LimitError: It was not.
    """
    if order.consent != order.box:
        raise LimitError(
            f"--yes-{order.action} {order.consent} is not --id {order.box}: nothing was called"
        )


def check_commands(order: Order) -> None:
    """Refuse an order that nobody could carry out.

    Raises:
        InputError: A command is missing.
    """
    if order.call is None or order.state is None:
        raise InputError(
            f"--{order.action}-cmd and --state-cmd are needed: one acts, the other confirms",
            hint=f"for example --{order.action}-cmd 'vastai {order.action} instance {{id}}'",
        )


def command_of(order: Order) -> str:
    """Return the command as it would be typed."""
    return "" if order.call is None else commands.shown(commands.filled(order.call, id=order.box))
