"""From the words of `costplan profile` to a rate, a job and a place to write to."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Final

from costplan import catalog as catalogs
from costplan.cli.absence_asked import number
from costplan.cli.offer_asked import listed
from costplan.errors import InputError
from costplan.profiler.worth import Rate

if TYPE_CHECKING:
    from pathlib import Path

    from costplan.records.profiles import Box

MOST_RATE: Final = 100_000
"""Dollars an hour; see `records.offers.HourlyPrice`."""


def rate_of(rate: str | None, offer: str | None, pricing: Path | None) -> Rate | None:
    """Return what an hour of the box costs, or None where nobody says.

    Raises:
        InputError: It is no rate, or there is no such offer, or both are given.
        UnknownError: The offer has no on-demand price, or none in dollars.
    """
    if rate is not None and offer is not None:
        raise InputError("--rate and --offer both say what an hour costs", hint="leave one out")
    if offer is not None:
        _, price = listed(offer, pricing, serverless="say what an hour of it costs with --rate")
        return Rate(price.usd_per_hour or Decimal(0), offer)
    if rate is None:
        return None
    usd_per_hour = number(rate, "--rate")
    if not 0 < usd_per_hour <= MOST_RATE:
        raise InputError(
            f"--rate {rate}: not above 0 and up to {MOST_RATE:,} $/h",
            hint="a price of nothing is a missing price",
        )
    return Rate(usd_per_hour, "--rate")


def other_box(offer: str | None, box: Box, pricing: Path | None) -> tuple[str, ...]:
    """Return what to say where an offer is of another card, or of more or fewer, than measured."""
    if offer is None:
        return ()
    entry, _ = listed(offer, pricing, serverless="")
    catalog = catalogs.load(catalogs.folder(pricing))
    try:
        key = catalog.card_key(box.device) if box.gpu_count else None
    except InputError:
        key = None
    same = key is not None and (key == entry.card or key in catalog.keys_of(entry.card))
    if same and entry.count == box.gpu_count:
        return ()
    seen = f"{box.gpu_count}x {box.device}" if box.gpu_count else "the CPU alone"
    return (f"{offer} is {entry.count}x {entry.card}, the run used {seen}: its hours are of that, "
            "costplan estimate --profile is for other cards",)  # fmt: skip


def check_place(path: Path | None) -> None:
    """See that a file can be written, before anything else is done.

    Raises:
        InputError: It cannot.
    """
    if path is None:
        return
    try:
        there = path.exists()
        if there and not path.is_file() and not path.is_dir():
            return  # a device or a pipe: to open it is to use it
        with path.open("ab"):
            pass
        if not there:
            path.unlink()
    except OSError as err:
        raise InputError(f"--output {path}: {err.strerror or err}") from None


def save(path: Path, text: str) -> None:
    """Write a profile.

    Raises:
        InputError: The file cannot be written.
    """
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as err:
        raise InputError(f"--output {path}: {err.strerror or err}") from None
