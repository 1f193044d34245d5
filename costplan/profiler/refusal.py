"""Ends the run where a file of the user's cannot be spared, and says which.

The process ends at once and for good: an exception could be caught, and clean-up code on its way
could do what was just refused.
"""

from __future__ import annotations

import json
import os
import sys
from contextlib import suppress
from typing import Final, NoReturn

from costplan.profiler import journal
from costplan.profiler.inside import INSIDE

FILE: Final = "refused.json"
EXIT_CODE: Final = 4
"""That of `LimitError`; the tree of errors cannot be loaded in a user's process."""


def refuse(folder: str, path: str, why: str) -> NoReturn:
    """Record in `folder` that the run would do `why` to `path`, and end this process."""
    INSIDE.on = True
    record = {"path": path, "why": why, "command": sys.argv, "pid": os.getpid()}
    # The first refusal is the cause of the others: it stays.
    with suppress(FileExistsError), open(os.path.join(folder, FILE), "x", encoding="utf-8") as file:
        json.dump(record, file)
    # The other ranks, and the parent that would start a lost worker again, end as well.
    journal.append(os.path.join(folder, journal.FILE), journal.REFUSED)
    stop(f"costplan: this run {why}: {path}; it ends here (--allow-writes lets it)")


def stop(message: str) -> NoReturn:
    """End this process with the refusal's exit code, after what it had printed."""
    INSIDE.on = True
    with suppress(OSError, ValueError, AttributeError):  # closed, full, or replaced by the program
        sys.stdout.flush()
        sys.stderr.write(message + "\n")
        sys.stderr.flush()
    os._exit(EXIT_CODE)
