"""What the bills share: records with a case's own numbers, and comparison at stated digits."""

from __future__ import annotations

import sys
from datetime import date
from decimal import Decimal
from functools import cache
from typing import TYPE_CHECKING

from costplan import catalog, states
from costplan.records.providers import Meter, Provider, Rounding

if TYPE_CHECKING:
    from collections.abc import Iterable

    from costplan.records.providers import State

ORIGIN = {"source": "the case of this test", "as_of": date(2026, 8, 1)}


def meter(kind: str, **fields: object) -> Meter:
    """Return a meter that bills while running, unless `fields` says otherwise."""
    return Meter.model_validate({"kind": kind, "states": ("running",), **ORIGIN, **fields})


def rounding(**fields: object) -> Rounding:
    return Rounding.model_validate({**ORIGIN, **fields})


def provider(*meters: Meter, **fields: object) -> Provider:
    """Return a cloud with these meters; a gpu meter is added where there is none."""
    if not any(each.kind == "gpu" for each in meters):
        meters = (meter("gpu"), *meters)
    plain: dict[str, object] = {
        "key": "sample",
        "name": "Sample Cloud",
        "kind": "cloud",
        "site": "https://example.com",
        "prices_set_by": "list",
        "rounding": rounding(),
        "meters": meters,
        "stop": {"supported": True, **ORIGIN},
        "destroy": ORIGIN,
    }
    return Provider.model_validate({**plain, **ORIGIN, **fields})


@cache
def shipped(key: str) -> Provider:
    """Return a provider of the price folder."""
    return catalog.read_provider(catalog.folder() / "providers" / f"{key}.yaml").provider


def priced(meters: Iterable[Meter], **usd: str) -> tuple[Meter, ...]:
    """Return `meters` with these prices, by kind, in place of their own."""
    return tuple(
        each.model_copy(update={"usd": Decimal(usd[each.kind]), "tiers": ()})
        if each.kind in usd
        else each
        for each in meters
    )


def kinds(owner: Provider, state: State) -> set[str]:
    """Return the kinds of meters that surely bill in `state`."""
    return {each.kind for each, certain in states.meters_in(owner, state) if certain}


def one(price: tuple[Decimal, Decimal] | None) -> Decimal:
    """Return a price that has one reading."""
    assert price is not None, "no price"
    least, greatest = price
    assert least == greatest, f"two readings: {least} and {greatest}"
    return least


def check(actual: Decimal | None, stated: str, *, source: str = "") -> None:
    """Fail unless `actual` is `stated` to within half a unit of the last digit stated."""
    assert actual is not None, f"{stated} expected, unknown found; {source}"
    wanted = Decimal(stated)
    residual = actual - wanted
    sys.stdout.write(f"{stated}: residual {residual:+.7f}\n")  # pytest -rP shows it
    exponent = wanted.as_tuple().exponent
    assert isinstance(exponent, int)
    half_a_digit = Decimal("0.5").scaleb(exponent)
    assert abs(residual) <= half_a_digit, f"{actual} is not {stated}: {residual:+}; {source}"
