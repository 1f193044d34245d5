"""A figure, or why it is missing."""

from __future__ import annotations

from typing import NamedTuple


class Missing(NamedTuple):
    """Why a figure is not known."""

    reason: str


Facts = dict[str, object]
"""Figures by their name; a `Missing` stands for one that is not known."""


def split(found: Facts) -> tuple[Facts, dict[str, str]]:
    """Return the known figures, and the reason for each other.

    >>> split({"busy_share": 0.5, "step_s": Missing("no steps")})
    ({'busy_share': 0.5}, {'step_s': 'no steps'})
    """
    known = {name: value for name, value in found.items() if not isinstance(value, Missing)}
    reasons = {name: value.reason for name, value in found.items() if isinstance(value, Missing)}
    return known, reasons
