"""Offers that the user brings: our JSON Lines, and what a market's own tool prints.

JSON Lines are read as a stream; a tool's array is read whole, as tools print a few hundred.
"""

from __future__ import annotations

import json
import sys
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from costplan.errors import InputError, nearest
from costplan.estimate import LeftOutOffer
from costplan.records.offers import Offer
from costplan.records.record import ValidationError
from costplan.vast_offers import is_vast, vast_offer

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from costplan.catalog import Catalog

MAX_LINE_BYTES = 1_000_000
MAX_ARRAY_BYTES = 100_000_000


def read_offers(source: str, *, catalog: Catalog, now: datetime) -> Iterator[Offer | LeftOutOffer]:
    """Yield the offers of the file `source` (`-`: standard input) as they are read.

    Raises:
        InputError: The file cannot be read, or a line of it is no offer; the message names it.
    """
    where = "standard input" if source == "-" else source
    with _opened(source) as file:
        number, first = _first_line(file, where)
        if first.lstrip().startswith(b"["):
            rest = file.read(MAX_ARRAY_BYTES + 1)
            if len(rest) > MAX_ARRAY_BYTES:
                raise InputError(f"{where}: an array of over 100 MB", hint="use JSON Lines")
            for entry, item in enumerate(_array(first + rest, where), 1):
                yield _offer(item, f"{where}: entry {entry}", catalog, now)
            return
        line = first
        while line:
            if line.strip():
                yield _line(line, f"{where}:{number}", catalog, now)
            line = file.readline(MAX_LINE_BYTES + 1)
            number += 1


@contextmanager
def _opened(source: str) -> Iterator[IO[bytes]]:
    if source == "-":
        if sys.stdin is None:
            raise InputError("standard input is closed")
        yield sys.stdin.buffer
        return
    path = Path(source)
    try:
        if path.is_dir():
            raise InputError(f"{path} is a directory", hint="name a file of offers in it")
        with path.open("rb") as file:
            yield file
    except FileNotFoundError:
        raise InputError(f"{path} does not exist") from None
    except OSError as err:
        raise InputError(f"{path} cannot be read: {err.strerror or err}") from None


def _first_line(file: IO[bytes], where: str) -> tuple[int, bytes]:
    """Return the first line that is not blank, and its number."""
    for number in range(1, 1_001):
        line = file.readline(MAX_LINE_BYTES + 1)
        if not line:
            raise InputError(f"{where} has no offers")
        line = line.removeprefix(b"\xef\xbb\xbf")
        if line.strip():
            return number, line
    raise InputError(f"{where} has no offers in its first thousand lines")


def _array(data: bytes, where: str) -> list[Any]:
    try:
        found = json.loads(data, parse_float=Decimal)
    except (ValueError, RecursionError) as err:
        raise InputError(f"{where} is not JSON: {err}") from None
    if not isinstance(found, list):  # pragma: no cover - it starts with [
        raise InputError(f"{where} is not a list of offers")
    if not found:
        raise InputError(f"{where} has no offers: the list is empty")
    return found


def _line(line: bytes, where: str, catalog: Catalog, now: datetime) -> Offer | LeftOutOffer:
    if len(line) > MAX_LINE_BYTES:
        raise InputError(f"{where}: a line of over 1 MB is not an offer")
    if b'"sku"' in line and b'"checked"' in line:  # ours, complete: one step, for large files
        try:
            return _placed(Offer.model_validate_json(line), where, catalog, now)
        except ValidationError as err:
            raise _refusal(err, where) from None
    try:
        item = json.loads(line, parse_float=Decimal)
    except (ValueError, RecursionError) as err:
        raise InputError(f"{where} is not JSON: {err}") from None
    return _offer(item, where, catalog, now)


def _offer(item: Any, where: str, catalog: Catalog, now: datetime) -> Offer | LeftOutOffer:
    if not isinstance(item, dict):
        raise InputError(f"{where} is not an offer", hint="each is an object in braces")
    try:
        if is_vast(item):
            found = vast_offer(item, catalog=catalog, now=now)
        else:
            item.setdefault("checked", now.date())
            found = Offer.model_validate(item)
    except ValidationError as err:
        if is_vast(item):  # one odd host of a market's list does not end the answer
            return LeftOutOffer(f"vast/{item.get('id')}", "a figure out of every range")
        raise _refusal(err, where) from None
    if isinstance(found, LeftOutOffer):
        return found
    # Half of a surrogate pair, which `json` lets through and pydantic's own reader does not.
    for text in (found.sku, found.id, found.region, found.source):
        if text is not None and not _is_text(text):
            raise InputError(f"{where}: {text!r} is not text")
    return _placed(found, where, catalog, now)


def _placed(offer: Offer, where: str, catalog: Catalog, now: datetime) -> Offer | LeftOutOffer:
    """Return `offer` with the catalog's keys, or left out where the catalog has none."""
    if offer.checked > now.date():
        raise InputError(f"{where}: checked {offer.checked} lies in the future")
    if offer.card in catalog.cards and offer.provider in catalog.providers:
        return offer
    try:
        card = catalog.card_key(offer.card)
        provider = catalog.provider_key(offer.provider)
    except InputError as err:
        return LeftOutOffer(offer.sku, str(err))
    return offer.model_copy(update={"card": card, "provider": provider})


def _is_text(text: str) -> bool:
    """Return whether `text` can be written: JSON may hold half of a surrogate pair."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _refusal(err: ValidationError, where: str) -> InputError:
    first = err.errors(include_url=False)[0]
    name = ".".join(str(part) for part in first["loc"])
    if first["type"] == "extra_forbidden":
        return InputError(f"{where}: unknown key {name!r}", hint=nearest(name, Offer.model_fields))
    if first["type"] == "json_invalid":
        return InputError(f"{where} is not JSON: {first['ctx']['error']}")
    return InputError(f"{where}: {name}: {first['msg'].removeprefix('Value error, ').lower()}")
