"""A program that a burst ended did not crash by itself."""

from __future__ import annotations

from typing import Any

import pytest

from costplan.profiler.endings import ended_by_burst
from costplan.records.ranks import RankTaken

OOM = "OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB."


def rank(**facts: Any) -> RankTaken:
    return RankTaken.model_validate(
        {"pid": 1, "rank": 0, "world": 1, "optimizer_steps": 9, "facts": facts, "phases": []}
    )


@pytest.mark.parametrize(
    ("facts", "code", "said"),
    [
        ({"phase": "double", "error": OOM}, 1, "twice the batch does not fit: out of memory"),
        ({"phase": "double", "error": "RuntimeError: [enforce fail] DefaultCPUAllocator: "
          "can't allocate memory"}, 1, "twice the batch does not fit: out of memory"),
        ({"phase": "double"}, -9, "the program fails with twice the batch: signal 9"),
        ({"phase": "double"}, 1, "the program fails with twice the batch: exit code 1"),
        ({"phase": "half", "error": OOM}, 1, f"the program fails with half the batch: {OOM}"),
        ({"phase": "half", "error": "RuntimeError: shape '[8, -1]' is invalid"}, 1,
         "the program fails with half the batch: RuntimeError: shape '[8, -1]' is invalid"),
        # its own crash, and a clean end, and one that had to be ended after its bursts
        ({"phase": "real", "error": "ValueError: nan"}, 1, None),
        ({"phase": None, "error": "ValueError: nan"}, 1, None),
        ({"phase": "double"}, 0, None),
        ({"phase": "double"}, None, None),
        ({"phase": "double", "finished": True}, 1, None),
    ],
)  # fmt: skip
def test_the_burst_is_named_where_it_ended_the_program(
    facts: dict[str, Any], code: int | None, said: str | None
) -> None:
    assert ended_by_burst([rank(**facts)], code) == said


def test_of_several_ranks_the_first_that_a_burst_ended_is_told() -> None:
    ranks = [rank(phase="double", finished=True), rank(phase="double", error=OOM)]
    assert ended_by_burst(ranks, 1) == "twice the batch does not fit: out of memory"
    assert ended_by_burst([], 1) is None
