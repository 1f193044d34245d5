"""How long a program may go on once it has trained a step."""

from __future__ import annotations

import pytest

from costplan.profiler.launch import Patience
from costplan.records.ranks import RankFacts, RankTaken


def rank(*, finished: bool) -> RankTaken:
    return RankTaken(
        pid=1, rank=0, world=1, optimizer_steps=1, facts=RankFacts(finished=finished), phases=()
    )


TRAINS, FINISHED = rank(finished=False), rank(finished=True)


@pytest.mark.parametrize(
    ("seen", "over"),
    [
        ([(0.0, ()), (9999.0, ())], False),  # a start may take hours
        ([(500.0, (TRAINS,)), (759.9, (TRAINS,))], False),  # twice the budget of 100 s, and 60 s
        ([(500.0, (TRAINS,)), (760.1, (TRAINS,))], True),
        ([(500.0, (TRAINS,)), (600.0, (FINISHED,)), (659.9, (FINISHED,))], False),
        ([(500.0, (TRAINS,)), (600.0, (FINISHED,)), (660.1, (FINISHED,))], True),
        ([(500.0, (FINISHED, TRAINS)), (600.0, (FINISHED, TRAINS))], False),  # one rank is not all
    ],
)
def test_a_program_has_the_budget_twice_and_a_minute(
    seen: list[tuple[float, tuple[RankTaken, ...]]], over: bool
) -> None:
    patience = Patience(100.0)
    answers = [patience.is_over(ranks, now_s) for now_s, ranks in seen]
    assert answers == [False] * (len(seen) - 1) + [over]
