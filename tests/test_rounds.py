"""Which burst comes next: a plan led by a made-up clock."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pytest

from costplan.profiler.rounds import Plan, Visit, ratios, typical
from costplan.profiler.stages import KEPT, STAGES, WATCHED, chosen

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from costplan.profiler.stages import Stage


def led(
    step_s: dict[str, float], *, budget_s: float, can: Callable[[str], bool] = lambda _: True,
    stages: Sequence[Stage] | None = None, blind: str = "",
) -> tuple[list[str], Plan]:  # fmt: skip
    """Return the visits in order, each of two steps to settle and as many as it wants.

    One that is blind gives no step that counts.
    """
    plan = Plan(chosen(STAGES, on_gpu=False, kernels=False) if stages is None else stages,
                budget_s=budget_s, can=can)  # fmt: skip
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
        if wanted.name != blind:
            visits.append(Visit(wanted.name, each_s, each_s))
        steps += [each_s] * count if wanted.name == "real" else []
    return names, plan


EQUAL = {"real": 0.1, "replay": 0.02, "half": 0.02, "workers": 0.05, "double": 0.03,
         "resident": 0.02, "syncs": 0.02, "kernels": 0.05}  # fmt: skip


def test_what_is_compared_is_fed_in_turn_and_double_comes_last() -> None:
    names, plan = led(EQUAL, budget_s=120)
    assert names == [
        *["real", "replay"] * 3, "loader", *["real", "workers"] * 3, *["replay", "half"] * 3,
        *["replay", "double"] * 3,
    ]  # fmt: skip
    assert plan.dropped == {}


def test_on_a_gpu_a_batch_that_lies_there_and_what_waits_for_it_come_before_half_of_it() -> None:
    stages = chosen(STAGES, on_gpu=True, kernels=True)
    names, plan = led(EQUAL, budget_s=120, stages=stages, can=lambda name: name != "workers")
    assert names == [
        *["real", "replay"] * 3, "loader", *["replay", "resident"] * 3, "syncs",
        *["replay", "half"] * 3, "kernels", *["replay", "double"] * 3,
    ]  # fmt: skip
    assert plan.dropped == {}


@pytest.mark.parametrize(
    ("on_gpu", "kernels", "names"),
    [
        (True, True, {"resident", "syncs", "kernels"}), (True, False, {"resident", "syncs"}),
        (False, True, set()), (False, False, set()),
    ],
)  # fmt: skip
def test_what_sees_nothing_without_a_gpu_is_left_out(
    on_gpu: bool, kernels: bool, names: set[str]
) -> None:
    always = {"replay", "loader", "workers", "half", "double"}
    found = chosen(STAGES, on_gpu=on_gpu, kernels=kernels)
    assert {stage.name for stage in found} == always | names
    watched = chosen(WATCHED, on_gpu=on_gpu, kernels=kernels)
    assert {stage.name for stage in watched} == {"real"} | (names - {"resident"})


def test_a_kind_that_gives_no_step_is_given_up() -> None:
    names, _ = led(EQUAL, budget_s=120, blind="half", can=lambda name: name != "workers")
    assert names.count("half") == 3
    assert names[-1] == "double"


def test_what_cannot_be_made_is_left_out_and_the_rest_goes_on() -> None:
    names, _ = led(EQUAL, budget_s=120, can=lambda name: name in ("replay", "loader"))
    assert names == [*["real", "replay"] * 3, "loader"]


@pytest.mark.parametrize(
    ("step_s", "kinds", "dropped"),
    [
        (1.0, {"real", "replay", "half", "loader", "workers", "double"}, set()),
        # 5 steps of 7 s are a visit: 70 s are spent, and half needs 35 more and 0.7 times that
        (7.0, {"real", "replay", "half"}, {"loader", "workers", "double"}),
        (12.0, {"real", "replay"}, {"half", "loader", "workers", "double"}),
        (24.0, {"real"}, {"replay", "half", "loader", "workers", "double"}),
    ],
)
def test_long_steps_drop_what_no_verdict_needs(
    step_s: float, kinds: set[str], dropped: set[str]
) -> None:
    names, plan = led(dict.fromkeys(EQUAL, step_s), budget_s=120)
    assert set(names) == kinds
    assert set(plan.dropped) == dropped
    assert all(missing_s > 0 for missing_s in plan.dropped.values())


@pytest.mark.parametrize(
    ("budget_s", "expected"),
    [
        # Visits take 5 or 6 s. The first stage is late after 24 s, with two comparisons; until
        # 60 - 2 x (5 + 3) = 44 s it makes a third.
        (60, ["real", "replay"] * 3 + ["half", "replay", "half", "replay", "half"]),
        # Late after 12 s, with one; until 30 - 16 = 14 s there is no time for a second but begun.
        (30, ["real", "replay", "real", "replay", "half"]),
    ],
)
def test_a_needed_comparison_is_made_three_times_where_later_ones_still_can_be(
    budget_s: float, expected: list[str]
) -> None:
    names, _ = led({**dict.fromkeys(EQUAL, 1.0), "half": 0.6}, budget_s=budget_s,
                   can=lambda name: name in ("replay", "half"))  # fmt: skip
    assert names == expected


def test_a_loader_is_left_alone_where_its_workers_start_too_slowly_for_what_is_needed() -> None:
    # Three comparisons take 33 s; two starts and three steps of 1 s must end 8 s before 60.
    late, early = (60 - 8 - 33 - 3 + missing_s for missing_s in (0.5, -0.5))
    for start_s, dropped in ((late / 2, {"loader"}), (early / 2, set())):
        plan = Plan([stage for stage in STAGES if stage.name in ("replay", "loader", "half")],
                    budget_s=60, can=lambda _: True, start_s=start_s)  # fmt: skip
        visits = [Visit(name, 1.0, 1.0) for name in ("real", "replay") * 3]
        plan.next(visits[:1], [1.0] * 20, 5.0)
        plan.next(visits, [1.0] * 20, 33.0)
        assert set(plan.dropped) == dropped


def test_a_program_that_trains_on_is_only_fed_its_own_batches() -> None:
    names, _ = led(EQUAL, budget_s=120, stages=KEPT)
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
