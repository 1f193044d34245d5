"""Which burst comes next: a plan led by a made-up clock."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pytest

from costplan.profiler.rounds import KEPT, STAGES, Plan, Visit, ratios, typical

if TYPE_CHECKING:
    from collections.abc import Callable


def led(
    step_s: dict[str, float], *, budget_s: float, can: Callable[[str], bool] = lambda _: True,
    kept: bool = False,
) -> tuple[list[str], Plan]:  # fmt: skip
    """Return the visits in order, each of two steps to settle and as many as it wants."""
    plan = Plan(KEPT if kept else STAGES, budget_s=budget_s, can=can)
    visits: list[Visit] = []
    steps: list[float] = []
    names: list[str] = []
    now_s = 0.0
    while (wanted := plan.next(visits, steps, now_s)) is not None:
        names.append(wanted.name)
        assert len(names) < 1000
        if wanted.name == "loader":
            now_s += wanted.longest_s
            plan.done()
            continue
        each_s = step_s[wanted.name]
        count = max(wanted.least, math.ceil(wanted.longest_s / each_s))
        now_s += (count + 2) * each_s
        visits.append(Visit(wanted.name, each_s, each_s))
        steps += [each_s] * count if wanted.name == "real" else []
    return names, plan


EQUAL = {"real": 0.1, "replay": 0.02, "half": 0.02, "workers": 0.05, "double": 0.03}


def test_what_is_compared_is_fed_in_turn_and_double_comes_last() -> None:
    names, plan = led(EQUAL, budget_s=120)
    assert names == [
        *["real", "replay"] * 3, *["half", "replay"] * 2, "half", "loader",
        *["real", "workers"] * 3, *["replay", "double"] * 3,
    ]  # fmt: skip
    assert plan.dropped == {}


def test_what_cannot_be_made_is_left_out_and_the_rest_goes_on() -> None:
    names, _ = led(EQUAL, budget_s=120, can=lambda name: name in ("replay", "loader"))
    assert names == [*["real", "replay"] * 3, "loader"]


@pytest.mark.parametrize(
    ("step_s", "kinds", "dropped"),
    [
        (1.0, {"real", "replay", "half", "loader", "workers", "double"}, set()),
        (7.0, {"real", "replay", "half"}, {"loader", "workers", "double"}),
        (12.0, {"real", "replay"}, {"half", "loader", "workers", "double"}),
        (24.0, {"real"}, {"replay", "half", "loader", "workers", "double"}),
    ],
)
def test_long_steps_drop_bursts_from_the_end(
    step_s: float, kinds: set[str], dropped: set[str]
) -> None:
    names, plan = led(dict.fromkeys(EQUAL, step_s), budget_s=120)
    assert set(names) == kinds
    assert set(plan.dropped) == dropped
    assert all(missing_s > 0 for missing_s in plan.dropped.values())


def test_a_program_that_trains_on_is_only_fed_its_own_batches() -> None:
    names, _ = led(EQUAL, budget_s=120, kept=True)
    assert names == ["real"] * 3


def test_each_visit_is_held_against_those_beside_it() -> None:
    fed = [("real", 1.0), ("replay", 0.5), ("real", 3.0), ("replay", 0.6), ("half", 9.0)]
    visits = [Visit(name, step_s, 0.0) for name, step_s in fed]
    # 0.5 / mean(1, 3), 0.6 / 3
    assert ratios(visits, "real", "replay") == pytest.approx([0.25, 0.2])
    assert ratios(visits, "replay", "half") == pytest.approx([15.0])


def test_one_bad_moment_of_five_does_not_move_what_is_typical() -> None:
    found = typical([0.5, 0.5, 9.0, 0.5, 0.5])
    assert (found.value, found.low, found.high) == (0.5, 0.5, 0.5)


def test_the_interval_of_a_trimmed_mean_is_yuens() -> None:
    found = typical([1.0, 2.0, 3.0, 4.0, 5.0])
    # 2, 3, 4 are kept; pulled in to 2, 2, 3, 4, 4 with squares 4 about 3: sqrt(4 / (3 x 2)) x 4.303
    assert found.value == 3.0
    assert found.high == pytest.approx(3 + 4.303 * math.sqrt(4 / 6))


def test_one_ratio_has_no_interval() -> None:
    assert typical([0.5]).high == math.inf
    with pytest.raises(ValueError, match="no values"):
        typical([])


@pytest.mark.parametrize(
    ("accumulation", "settling", "least"), [(1, 2, 3), (2, 1, 2), (3, 1, 1), (8, 1, 1)]
)
def test_batches_of_an_optimizer_step_count_as_its_steps(
    accumulation: int, settling: int, least: int
) -> None:
    plan = Plan(STAGES, budget_s=8, can=lambda _: True)
    plan.accumulation = accumulation
    wanted = plan.next([], [], 0.0)
    assert wanted is not None
    assert (plan.settling, plan.least, wanted.least) == (settling, least, least)


def test_visits_are_not_all_of_one_length_so_that_none_always_meets_the_same_step() -> None:
    plan = Plan(STAGES, budget_s=8, can=lambda _: True)
    least = []
    visits: list[Visit] = []
    for name in ("real", "replay") * 4:
        wanted = plan.next(visits, [0.1], 0.0)
        assert wanted is not None
        least.append(wanted.least)
        visits.append(Visit(name, 0.1 * len(least), 0.1))
    assert least == [3, 4, 4, 3, 4, 3, 3, 4]  # the sequence of Thue and Morse
