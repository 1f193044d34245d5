"""What of a box can be used, how a speed or an amount is judged, and how either is said."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Final

from costplan.units import hours, microseconds

if TYPE_CHECKING:
    from collections.abc import Iterable

    from costplan.records.checks import BoxFacts, CpuFacts, DownloadFacts, Level, MemoryFacts

SLOW_SHARE: Final = 0.5
"""Of a promised speed, below which it is worth a word: one connection to one server does not
always fill a line. Chosen."""
BROKEN_SHARE: Final = 0.25
"""Below which the promise is broken: no busy server explains it. Chosen; a machine of vast.ai was
seen at 3 % of its offer (vast-ai/vast-sdk issue 13)."""
SHORT_SHARE: Final = 0.9
"""Of cores and main memory, below which the amount is short: what a kernel keeps for itself, and
GB taken for GiB, stay within. Chosen."""
ENOUGH_BYTES: Final = 10_000_000
ENOUGH_S: Final = 2.0
"""A download smaller and shorter than both says nothing: a connection starts slowly. Chosen."""
BITS: Final = 8
MEGA: Final = 1e6
CENT: Final = Decimal("0.01")
MINUTE_S: Final = 60.0
HOUR_S: Final = 3_600.0


def usable_cores(cpu: CpuFacts) -> float | None:
    """Return the cores that may be used: the least of what is there, allowed and paid out."""
    known = (cpu.reported, cpu.affinity, cpu.quota_cores)
    return min((float(each) for each in known if each is not None), default=None)


def usable_ram_gb(memory: MemoryFacts) -> float | None:
    """Return the main memory that may be used, in GB of 10^9 bytes."""
    known = [each for each in (memory.total_bytes, memory.limit_bytes) if each is not None]
    return min(known) / 1e9 if known else None


def down_mbit_per_s(download: DownloadFacts | None) -> float | None:
    """Return the speed of the line down, None where too little came to tell."""
    if download is None or not download.over_s:
        return None
    if download.received_bytes < ENOUGH_BYTES and download.over_s < ENOUGH_S:
        return None
    return download.received_bytes * BITS / MEGA / download.over_s


def least_memory_mb(box: BoxFacts) -> float | None:
    """Return the memory of the smallest GPU, in MiB as drivers count it."""
    return least(gpu.memory_total_mb for gpu in box.gpus or ())


def least(values: Iterable[float | None]) -> float | None:
    """Return the least of what is known, None where one is not.

    >>> least([2, 1]), least([2, None]), least([])
    (1, None, None)
    """
    found: list[float] = []
    for value in values:
        if value is None:
            return None
        found.append(value)
    return min(found, default=None)


def share_level(promised: float, measured: float) -> Level:
    """Return what a measured speed makes of a promised one.

    >>> share_level(800, 400), share_level(800, 399), share_level(800, 199)
    ('ok', 'warn', 'fail')
    """
    share = measured / promised
    return "ok" if share >= SLOW_SHARE else "warn" if share >= BROKEN_SHARE else "fail"


def amount_level(wanted: float, measured: float) -> Level:
    """Return what a measured amount makes of a promised or needed one.

    >>> amount_level(10, 9), amount_level(10, 8.9)
    ('ok', 'fail')
    """
    return "ok" if measured >= SHORT_SHARE * wanted else "fail"


def cost(usd_per_hour: Decimal, over_s: float) -> Decimal:
    """Return what a box bills in some seconds."""
    return usd_per_hour * hours(microseconds(over_s))


def usd(amount: Decimal) -> str:
    """Return dollars to the cent, less than a cent to one digit.

    >>> usd(Decimal("0.1924")), usd(Decimal("0.0031")), usd(Decimal(0))
    ('$0.19', '$0.003', '$0.00')
    """
    return f"${amount:,.2f}" if amount >= CENT or not amount else f"${amount:.1g}"


def duration(over_s: float) -> str:
    """Return a duration as one reads it.

    >>> duration(42), duration(1689), duration(9000)
    ('42 s', '28 min', '2.5 h')
    """
    if over_s < 1.5 * MINUTE_S:
        return f"{over_s:.0f} s"
    if over_s < 1.5 * HOUR_S:
        return f"{over_s / MINUTE_S:.0f} min"
    return f"{over_s / HOUR_S:.1f} h"
