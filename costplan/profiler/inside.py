"""Marks that a thread is in the guard's own code, where nothing is redirected."""

from __future__ import annotations

import threading


class _Inside(threading.local):
    """One flag per thread, off until set."""

    on = False


INSIDE = _Inside()
