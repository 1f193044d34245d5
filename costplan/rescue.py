"""What still leaves a box between its provider's notice and its end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from costplan.errors import InputError
from costplan.units import MBIT_PER_GB, decimal

if TYPE_CHECKING:
    from decimal import Decimal


def rescued_gb(notice_s: float, *, unsaved_gb: Decimal, upload_mbit_per_s: Decimal) -> Decimal:
    """Return how much of `unsaved_gb` is uploaded at most before the box goes.

    Raises:
        InputError: The line has no speed.

    >>> from decimal import Decimal
    >>> rescued_gb(30, unsaved_gb=Decimal(8), upload_mbit_per_s=Decimal(800))
    Decimal('3.0')
    """
    if upload_mbit_per_s <= 0:
        raise InputError("an upload of 0 Mbit/s is none", hint="write it as 800, in Mbit/s")
    return min(unsaved_gb, decimal(notice_s) * upload_mbit_per_s / MBIT_PER_GB)
