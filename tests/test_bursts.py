"""One visit, timed by a made-up clock, and ranks that change together."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from costplan.profiler.bursts import Phase
from costplan.profiler.following import Ranks
from costplan.profiler.rounds import Wanted

if TYPE_CHECKING:
    from pathlib import Path


def phase(settle: int = 2, settle_s: float = 100.0, longest_s: float = 5.0) -> Phase:
    return Phase(Wanted("real", longest_s, 3), settle, settle_s=settle_s, clock=lambda: 0.0)


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


def test_a_rank_alone_changes_at_once(tmp_path: Path) -> None:
    alone = Ranks(str(tmp_path))
    alone.announce(7, Wanted("half", 1.0, 3))
    change = alone.due(7)
    assert change is not None
    assert change.wanted == Wanted("half", 1.0, 3)
    assert alone.due(8) is None


def test_two_ranks_change_at_one_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORLD_SIZE", "2")
    first = Ranks(str(tmp_path))
    monkeypatch.setenv("RANK", "1")
    second = Ranks(str(tmp_path))
    first.announce(7, Wanted("replay", 2.0, 3))
    for group in (8, 9):
        assert (first.due(group), second.due(group)) == (None, None)
    changes = first.due(10), second.due(10)  # three ahead
    assert changes[0] == changes[1] is not None
    assert second.due(11) is None  # not the same change again
    first.announce(20, None)
    assert second.due(22) is None
    ended = second.due(23)
    assert ended is not None
    assert ended.wanted is None
