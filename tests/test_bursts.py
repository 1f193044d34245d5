"""One visit, timed by a made-up clock."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from costplan.profiler.rounds import Wanted

pytestmark = pytest.mark.torch
pytest.importorskip("torch")
bursts = pytest.importorskip("costplan.profiler.bursts")

if TYPE_CHECKING:
    from costplan.profiler.bursts import Phase


def phase(settle: int = 2, settle_s: float = 100.0, longest_s: float = 5.0) -> Phase:
    made: Phase = bursts.Phase(
        Wanted("real", longest_s, 3), settle, settle_s=settle_s, clock=lambda: 0.0
    )
    return made


def test_steps_are_counted_after_those_that_settle() -> None:
    visit = phase()
    visit.group(1.0)
    assert visit.settling
    visit.group(2.0)
    assert not visit.settling


def test_where_steps_are_long_settling_ends_with_its_time() -> None:
    visit = phase(settle=5, settle_s=24.0)
    visit.group(23.0)
    assert visit.settling
    visit.group(46.0)
    assert not visit.settling


def test_a_disturbed_visit_settles_later_but_no_later_than_its_time() -> None:
    visit = phase(settle=1, longest_s=5.0)
    visit.group(1.0, disturbed=True)
    assert visit.settling
    visit.group(2.0)
    assert not visit.settling
    visit = phase(settle=1, longest_s=5.0)
    visit.group(4.9, disturbed=True)
    assert visit.settling
    visit.group(5.0, disturbed=True)
    assert not visit.settling


def test_what_disturbs_a_visit_that_counts_already_is_counted() -> None:
    visit = phase(settle=1)
    visit.group(1.0)
    visit.add(0.5, 0.0)
    visit.group(2.0, disturbed=True)
    visit.close(2.0)
    assert visit.windows_s == [0.5]


@pytest.mark.parametrize(
    ("groups", "now_s", "over"),
    [(2, 99.0, False), (3, 6.9, False), (3, 7.0, True)],  # three at least, and 5 s from 2.0 on
)
def test_a_visit_is_over_after_its_time_and_its_least_steps(
    groups: int, now_s: float, over: bool
) -> None:
    visit = phase()
    visit.group(1.0)
    visit.group(2.0)
    for _ in range(groups):
        visit.add(0.5, 0.1)
        visit.group(3.0)
    assert visit.is_over(now_s) is over


def test_accumulated_batches_are_one_window_and_a_spoilt_one_is_none() -> None:
    visit = phase(settle=1)
    visit.group(0.0)
    for step_s in (0.0, 0.0, 0.3):
        visit.add(step_s, 0.0)
    visit.group(1.0)
    visit.add(9.0, 0.0)
    visit.is_spoilt = True  # validation fell into it
    visit.group(2.0)
    for step_s in (0.0, 0.0, 0.6):
        visit.add(step_s, 0.0)
    visit.group(3.0)
    visit.close(3.0)
    assert visit.windows_s == pytest.approx([0.1, 0.2])
    assert len(visit.steps_s) == 7
    found = visit.visit()
    assert found is not None
    assert found.step_s == pytest.approx(0.15)


def test_what_something_else_fell_into_does_not_count_towards_the_least() -> None:
    visit = phase(settle=1)  # three optimizer steps at least
    visit.group(0.0)
    for number in range(5):
        visit.add(0.5, 0.0)
        visit.is_spoilt = number < 2
        assert not visit.is_over(90.0)
        visit.group(90.0)
    assert visit.is_over(90.0)


def test_a_visit_all_of_whose_steps_are_spoilt_ends_after_twice_the_least() -> None:
    visit = phase(settle=1)
    visit.group(0.0)
    for _ in range(6):
        assert not visit.is_over(90.0)
        visit.add(0.5, 0.0)
        visit.is_spoilt = True
        visit.group(90.0)
    assert visit.is_over(90.0)


def test_a_loader_cost_at_most_what_was_waited_for_and_what_its_workers_computed() -> None:
    visit = phase(settle=1)
    visit.group(0.0)
    visit.add(1.0, 0.05)
    visit.group(1.0)
    visit.close(1.0)
    assert visit.loader_share(workers=False) == pytest.approx(0.05)
    assert visit.loader_share(workers=True) == 1.0  # nobody knows
    visit.workers_cpu_s = 0.04
    assert visit.loader_share(workers=True) == pytest.approx(0.09)


def test_a_visit_is_over_after_its_most_steps_though_the_clock_of_the_host_stands() -> None:
    visit = bursts.Phase(Wanted("real", 5.0, 3, most=4), 1, settle_s=9.0, clock=lambda: 0.0)
    visit.group(0.0)
    for _ in range(4):
        assert not visit.is_over(0.0)
        visit.add(0.5, 0.0)
        visit.group(0.0)
    assert visit.is_over(0.0)
