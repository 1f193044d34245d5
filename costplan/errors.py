"""Errors that costplan raises on purpose, each with the exit code it ends the program with.

CostplanError
├── InputError    2  a flag or a file cannot be used as it stands
├── UnknownError  3  the answer needs something that nobody has stated or that nobody sells
├── LimitError    4  the answer breaks a limit or a safety rule
└── UnconfirmedError  5  something was done, and nobody could see that it took effect
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


class CostplanError(Exception):
    """Base of everything costplan raises on purpose; `hint` says what to do about it."""

    exit_code = 1

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint


class InputError(CostplanError):
    """A flag or a file cannot be used as it stands."""

    exit_code = 2


class UnknownError(CostplanError):
    """The answer needs something that nobody has stated, or that nobody sells."""

    exit_code = 3


class LimitError(CostplanError):
    """The answer breaks a limit or a safety rule."""

    exit_code = 4


class UnconfirmedError(CostplanError):
    """A box was acted on, and nobody could see that it took effect: it may bill on."""

    exit_code = 5


def nearest(name: str, valid: Iterable[str], *, count: int = 3) -> str | None:
    """Return a hint that names the valid names nearest to `name`, or None where none is near.

    >>> nearest("epoch", ["epochs", "samples"])
    'did you mean epochs?'
    """
    import difflib  # only where a name is wrong: starting up does without

    by_lower = {option.lower(): option for option in sorted(set(valid))}
    close = difflib.get_close_matches(name.lower(), by_lower, n=count, cutoff=0.5)
    if not close:
        return None
    return f"did you mean {' or '.join(by_lower[match] for match in close)}?"
