"""What the answer of `costplan idle` needs and nobody has said, all of it at once."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

from costplan.errors import UnknownError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from costplan.stopping import StopFacts

ONE_BY_ONE: Final = {
    "usd_per_hour": ("the running rate is not known", "give --rate, --offer SKU or --box FILE"),
    "setup_minutes": (
        "how long a rebuild takes is not known",
        "give --setup, for example --setup 15m",
    ),
}


def check_known(fields: dict[str, Any], facts: StopFacts | None) -> None:
    """Refuse to advise where something that bills is not known: destroying might be dearer.

    Raises:
        UnknownError: With everything that is missing, and how to say it.
    """
    missing = list(_missing(fields, facts))
    if missing:
        raise UnknownError(
            "; ".join(what for what, _ in missing), hint="; ".join(how for _, how in missing)
        )


def _missing(fields: dict[str, Any], facts: StopFacts | None) -> Iterator[tuple[str, str]]:
    for key, said in ONE_BY_ONE.items():
        if key not in fields:
            yield said
    yield from _of_the_stop(fields, facts)
    if _positive(fields.get("ingress_gb")) and "ingress_usd_per_gb" not in fields:
        yield (
            "what a GB of the download costs is not known",
            "give --ingress-price, 0 where it is free",
        )


def _of_the_stop(fields: dict[str, Any], facts: StopFacts | None) -> Iterator[tuple[str, str]]:
    if fields.get("stop", "stop") is None:
        if facts is not None and facts.unknown:
            yield (
                f"{facts.why_not}: destroying it might be the dearer choice",
                "see what a stopped box bills there, then give --stopped-storage-price",
            )
        return
    if "disk_gb" not in fields:
        yield (
            "the size of the disk is not known, and a stopped box bills it",
            "give --disk GB, or --disk 0",
        )
    prices = ("storage_usd_per_gb_month", "stopped_storage_usd_per_gb_month")
    unpriced = all(fields.get(key) is None for key in prices)
    if unpriced and _positive(fields.get("disk_gb", 1)):
        yield (
            "what the stopped box bills is not known: its disk has no stated price",
            "give --storage-price, or --stopped-storage-price where it differs",
        )


def _positive(value: Any) -> bool:
    """Return whether a size is above zero; one of another form is refused later, by its name."""
    try:
        return value is not None and Decimal(str(value)) > 0
    except ArithmeticError:
        return False
