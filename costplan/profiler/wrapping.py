"""Functions of classes and modules that are replaced for a while, and put back as they were."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

ABSENT: Final = object()
"""In place of what an owner has from its own bases only."""


class Wrapped:
    """What was replaced; nothing until `put` is called, and nothing after `off`."""

    def __init__(self) -> None:
        self.kept: list[tuple[Any, str, Any, Any]] = []

    def put(self, owner: Any, name: str, make: Callable[[Any], Any]) -> None:
        """Replace a function by what `make` makes of it; leave alone what is not there."""
        real = getattr(owner, name, None)
        if real is None:
            return
        made = make(real)
        kept = vars(owner).get(name, ABSENT)
        try:
            setattr(owner, name, made)
        except (AttributeError, TypeError):  # a class written in C
            return
        self.kept.append((owner, name, kept, made))

    def off(self) -> None:
        """Put everything back but what somebody else has replaced since."""
        while self.kept:
            owner, name, kept, made = self.kept.pop()
            if vars(owner).get(name) is not made:
                continue
            if kept is ABSENT:
                delattr(owner, name)
            else:
                setattr(owner, name, kept)


def is_within(frame: FrameType) -> bool:
    """Return whether a call of a method is part of another call of it on the same object.

    An optimizer of a class that builds on another one steps twice for torch, once in the other. The
    calls themselves are looked for, since one that fails would leave a count of them behind.

    Args:
        frame: Of torch's wrapper, which calls its own `self`.
    """
    code, own = frame.f_code, frame.f_locals.get("self")
    above = frame.f_back
    while above is not None:
        if above.f_code is code and above.f_locals.get("self") is own:
            return True
        above = above.f_back
    return False
