"""Reads what a training run writes line by line: its last whole row, whatever else is torn."""

from __future__ import annotations

import contextlib
import csv
import json
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from costplan.records.signals import FileText

Row = dict[str, object]

MOST: Final = 1e15
"""No epoch, step or second of any run is larger: what is was torn, and would overflow later."""


def number(value: object) -> float | None:
    """Return a number of a sensible size, written as one or as text; all else is None.

    >>> number("12"), number(True), number("nan"), number("1e300")
    (12.0, None, None, None)
    """
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        found = float(value)
    except (ValueError, OverflowError):
        return None
    return found if abs(found) <= MOST else None


def whole(value: object) -> int | None:
    """Return a whole number that is not negative; all else is None.

    >>> whole(7), whole(-1), whole("7")
    (7, None, None)
    """
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def mapping(text: FileText | None) -> Row | None:
    """Return a JSON object, or None where the text is torn, cut or something else."""
    if text is None or text.tail is not None:
        return None
    return _mapping(text.head)


def _mapping(text: str) -> Row | None:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def json_rows(text: FileText) -> list[Row]:
    """Return the whole objects of a JSON-lines file; a torn last line is left out."""
    found = (_mapping(line) for line in _whole_lines(text))
    return [row for row in found if row is not None]


def csv_rows(text: FileText) -> list[Row]:
    """Return the whole rows of a CSV file, by the header that holds for them.

    A header that is written again in the middle, with more columns, holds from there on.
    """
    lines = _whole_lines(text)
    if text.tail is not None:
        lines = [text.head.splitlines()[0], *lines]
    header: list[str] = []
    found: list[Row] = []
    with contextlib.suppress(csv.Error):  # a quote that never ends: what came before it holds
        for cells in csv.reader(lines):
            names = [cell.strip() for cell in cells]
            if names and all(number(name) is None for name in names if name):
                header = names
            elif len(names) == len(header):
                found.append(dict(zip(header, names, strict=True)))
    return found


def _whole_lines(text: FileText) -> list[str]:
    """Return the lines that end, without the first of a cut text, which may be a half."""
    part = text.head if text.tail is None else text.tail
    ended = part[: part.rfind("\n") + 1].replace("\0", "")
    lines = ended.splitlines()
    return lines if text.tail is None else lines[1:]


def last_number(rows: Iterable[Mapping[str, object]], name: str) -> float | None:
    """Return the last finite figure of a column.

    >>> last_number([{"epoch": "1"}, {"epoch": "2"}, {"epoch": ""}], "epoch")
    2.0
    """
    found = [number(row.get(name)) for row in rows]
    return next((each for each in reversed(found) if each is not None), None)
