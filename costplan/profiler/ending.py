"""Ends a training program after its bursts, as if it had called exit itself."""

from __future__ import annotations

import os
import sys
import time
from typing import Final

LAST_RANK_S: Final = 2.0
"""Before a rank ends: one that is still in the last collective must not lose its peer."""
AGAIN: Final = 3
"""Times that a program may catch its end; then its process is ended."""

_times = [0]


class Ended(SystemExit):
    """Ends the program as if it had called exit(0): its own clean-up runs."""


def end(world: int) -> None:
    """End the program: its weights have seen replayed and cut batches.

    Raises:
        Ended: Always, but for a program that caught it too often: its process is ended.
    """
    if world > 1:
        time.sleep(LAST_RANK_S)
    _times[0] += 1
    if _times[0] > AGAIN:
        sys.stderr.flush()
        os._exit(0)
    raise Ended(0)


def ended_by() -> str | None:
    """Return what ends this process, as Python keeps it; None where it ends well, or is not told.

    Kept of an exception that nobody caught, once its traceback is shown; a program may show it
    itself and exit with a number.
    """
    error = getattr(sys, "last_value", None)
    return None if error is None else f"{type(error).__name__}: {error}".partition("\n")[0][:200]
