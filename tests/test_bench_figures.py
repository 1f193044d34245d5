"""The figures of the benches that time the profiler, from turns and epochs written by hand."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).resolve().parents[1] / "bench"))
from epoch_time import Foretold, Row, noise, scored, share_below
from overhead import Turn, compared


def test_a_start_is_all_its_steps_over_all_steps_of_the_bare_program() -> None:
    bare = [Turn(10, 1.0), Turn(30, 2.0)]  # 3 s for 40 steps: 75 ms
    on = [Turn(10, 1.0), Turn(10, 1.0)]  # 100 ms: 4/3 of it, and 25 ms more
    found = compared([{"bare": bare, "on": on}] * 2, "on")
    assert found.ratio.value == pytest.approx(4 / 3)
    assert found.more_us.value == pytest.approx(25_000)
    assert found.ratio.high == pytest.approx(4 / 3)  # both starts say the same


def test_the_interval_is_of_the_starts() -> None:
    def start(on_s: float) -> dict[str, list[Turn]]:
        return {"bare": [Turn(100, 1.0)], "on": [Turn(100, on_s)]}

    found = compared([start(0.99), start(1.03)], "on")
    # mean 1.01, standard error 0.02, Student's t with one degree of freedom 12.706
    assert found.ratio.value == pytest.approx(1.01)
    assert found.ratio.high == pytest.approx(1.01 + 12.706 * 0.02)
    # a step of 10 ms: 1 % are 100 us, below 0 as well
    assert found.more_us.value == pytest.approx(100)
    assert found.more_us.low == pytest.approx(100 - 12.706 * 200)


def test_a_burst_is_held_against_the_epochs_around_it() -> None:
    bursts = [Foretold(9.0, 9.9, 10.5), Foretold(11.5, 12.1, None)]
    first, second = scored(Row("host", [9.0, 11.0, 11.0], bursts))
    assert first.error == pytest.approx(-0.01)  # 9.9 of 10
    assert second.error == pytest.approx(0.1)  # 12.1 of 11
    assert (first.is_covered, second.is_covered) == (True, False)


@pytest.mark.parametrize(("low", "high", "covered"), [
    (10.0, 10.0, True), (10.1, 11.0, False), (9.0, 9.9, False), (9.0, None, True),
])  # fmt: skip
def test_an_interval_holds_its_borders(low: float, high: float | None, covered: bool) -> None:
    (found,) = scored(Row("host", [10.0, 10.0], [Foretold(low, 10.0, high)]))
    assert found.is_covered is covered


def test_epochs_among_themselves_are_held_against_their_neighbours() -> None:
    # 11 between 10 and 10; 10 between 11 and 14
    assert noise([10.0, 11.0, 10.0, 14.0]) == pytest.approx([0.1, 10 / 12.5 - 1])


@pytest.mark.parametrize(("share", "value"), [(0.5, 2.0), (0.51, 3.0), (0.9, 4.0), (1.0, 4.0)])
def test_the_smallest_value_that_so_many_do_not_exceed(share: float, value: float) -> None:
    assert share_below([4.0, 2.0, 1.0, 3.0], share) == value
