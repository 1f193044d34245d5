"""The stages of a profile in their order: what each feeds the program and is held against.

A stage that may end the program comes after those that cannot.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence


class Stage(NamedTuple):
    """Two ways of feeding the program that are held against each other, or one alone."""

    name: str
    base: str
    other: str | None
    share: float
    """Of the budget."""
    needed: bool = False
    """By the verdict: stages before it that are not leave it the time of one comparison."""


STAGES: Final = (
    Stage("replay", "real", "replay", 0.40, needed=True),
    Stage("loader", "loader", None, 0.11),
    Stage("workers", "real", "workers", 0.12),
    Stage("resident", "replay", "resident", 0.10),
    Stage("syncs", "syncs", None, 0.04, needed=True),
    Stage("half", "replay", "half", 0.22, needed=True),
    Stage("kernels", "kernels", None, 0.06),
    Stage("double", "replay", "double", 0.15),
)
"""Some programs cannot take half a batch: it comes late. Double comes last: it may run out of
memory, and a tracer may leave launches slower than they were."""
ON_GPU: Final = ("resident", "syncs", "kernels")
"""Stages that see nothing where no GPU is in use."""
HELD: Final = "loader"
"""The stage that the program is held for, rather than fed."""
ASKED: Final = "kernels"
"""Only where it is asked for."""
KEPT: Final = (Stage("real", "real", None, 1.0),)
"""Of a program that trains on: nothing that would spoil its weights."""
WATCHED: Final = (*KEPT, *(stage for stage in STAGES if stage.name in ("syncs", "kernels")))
"""Of a program that no torch loader gives its batches, so that it cannot be fed otherwise."""


def chosen(stages: Sequence[Stage], *, on_gpu: bool, kernels: bool) -> list[Stage]:
    """Return the stages that can see something, and the tracer's where it is asked for.

    >>> [stage.name for stage in chosen(STAGES, on_gpu=False, kernels=True)]
    ['replay', 'loader', 'workers', 'half', 'double']
    """
    left_out = {*(() if on_gpu else ON_GPU), *(() if kernels else (ASKED,))}
    return [stage for stage in stages if stage.name not in left_out]
