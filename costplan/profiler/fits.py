"""Whether twice the batch fits into the device's memory, by what the batch and its half needed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

BYTES_PER_GB: Final = 1e9


def double_bytes(whole_bytes: int, half_bytes: int) -> int | None:
    """Return what twice the batch needs; None where half of it needed no less.

    With a fixed part f and a part b for the batch, whole = f + b and half = f + b/2, so that
    double = f + 2b = whole + 2 (whole - half).

    >>> double_bytes(10, 7)
    16
    """
    grows_bytes = whole_bytes - half_bytes
    return whole_bytes + 2 * grows_bytes if grows_bytes > 0 else None


def too_large(peaks_bytes: Mapping[str, int | None], room_bytes: int | None) -> str | None:
    """Return why twice the batch is not tried; None where it may fit, or nothing is known.

    Args:
        peaks_bytes: The latest peak of each kind of burst.
        room_bytes: What the process can have of the device.
    """
    whole_bytes = peaks_bytes.get("replay") or peaks_bytes.get("real")
    half_bytes = peaks_bytes.get("half")
    if not whole_bytes or not half_bytes or room_bytes is None:
        return None
    needed_bytes = double_bytes(whole_bytes, half_bytes)
    if needed_bytes is None or needed_bytes <= room_bytes:
        return None
    return (
        f"it would need {needed_bytes / BYTES_PER_GB:.1f} GB of the device's memory, of which the "
        f"program can have {room_bytes / BYTES_PER_GB:.1f} GB"
    )
