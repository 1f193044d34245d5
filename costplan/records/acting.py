"""An action on a box as it is asked for, and what came of it."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from costplan.records.record import Number, Record, Truth

ActName = Literal["stop", "destroy"]
BoxState = Literal["running", "stopped", "gone"]


class Order(Record):
    """What shall be done to which box, with whose words."""

    action: ActName
    box: str
    consent: str | None = None
    """The id as it was repeated; None where the command is only to be shown."""
    call: tuple[str, ...] | None = None
    """The command, taken apart, with `{id}` in it."""
    state: tuple[str, ...] | None = None
    """The command that prints running, stopped or gone."""
    before: tuple[str, ...] | None = None
    after: tuple[str, ...] | None = None
    hook_timeout_s: Number = 600.0
    confirm_s: Number = 240.0
    """For so long the state is read again after the call."""
    usd_per_hour: str = ""
    """What it bills meanwhile, in words."""


class Outcome(Record):
    """What came of an order."""

    action: ActName
    box: str
    result: Literal["shown", "already", "confirmed", "unconfirmed"]
    command: str
    """As it would be typed, without secrets."""
    state: BoxState | None = None
    """As last read."""
    why: str
    called_at: datetime | None = None
    called_here: Truth = False
    """True where this very run made the call."""
