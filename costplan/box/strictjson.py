"""JSON read strictly: a key that appears twice, NaN and a cut-off file are errors."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from costplan import yamlfile
from costplan.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

MAX_BYTES = 500_000_000
"""A list of two million files; what is larger is another file given by mistake."""


def read_text(path: Path) -> str:
    """Return the text of `path`, without a byte order mark.

    Raises:
        InputError: It is missing, unreadable, too large or not text.
    """
    try:
        if path.is_dir():
            raise InputError(f"{path} is a directory", hint="name a file in it")
        with path.open("rb") as file:  # a pipe has no size, so it is read to see it
            data = file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        raise InputError(f"{path} does not exist") from None
    except (OSError, ValueError) as err:
        raise InputError(f"{path} cannot be read: {getattr(err, 'strerror', err)}") from None
    if len(data) > MAX_BYTES:
        raise InputError(f"{path} has more than {MAX_BYTES // 1_000_000} MB")
    return yamlfile.as_text(data, where=str(path))


def parse(text: str, *, where: str) -> Any:
    """Return the value that `text` holds.

    Raises:
        InputError: It is no JSON, repeats a key, or has a number that is none.
    """
    try:
        return json.loads(text, object_pairs_hook=_once, parse_constant=_refused)
    except ValueError as err:
        raise InputError(f"{where} is not JSON: {err}", hint="it may be cut off") from None
    except RecursionError:
        raise InputError(f"{where} is nested too deeply") from None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(f"{key!r} appears twice")
        found[key] = value
    return found


def _refused(constant: str) -> None:
    raise ValueError(f"{constant} is not a number")
