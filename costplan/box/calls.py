"""Who is calling a provider right now: a lock that ends with its process, however that ends."""

from __future__ import annotations

import contextlib
import hashlib
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@contextlib.contextmanager
def held(ledger: Path, box: str, action: str) -> Iterator[bool]:
    """Hold the call of an action on a box while the block runs; False where another one holds it.

    One file beside the ledger, one byte of it for each action. A disk without locks holds nothing:
    what the ledger says is left then. Not to be nested.
    """
    import fcntl

    digest = hashlib.sha256(f"{action} {box}".encode()).hexdigest()
    try:
        handle = os.open(ledger.with_suffix(".calls"), os.O_RDWR | os.O_CREAT, 0o600)
    except OSError:
        yield True
        return
    try:
        free = True
        try:
            fcntl.lockf(handle, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, int(digest[:12], 16))
        except (BlockingIOError, PermissionError):  # what POSIX allows a held lock to say
            free = False
        except OSError:
            pass
        yield free
    finally:
        os.close(handle)
