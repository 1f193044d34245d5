"""Who and what is alike, and what is kept of other people."""

from __future__ import annotations

import hashlib
import json
import math
import runpy
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from costplan.people import (
    LENGTHS_H,
    WEIGHING,
    Cell,
    Moment,
    Past,
    alike,
    cell_of,
    kept,
    kept_person,
    nearest_length,
    pace_h,
    people_shares,
    person_of,
    rows_of,
    same_moment,
)

ROOT = Path(__file__).resolve().parents[1]
FRIDAY_EVENING = Moment(4, 18.5)

LENGTHS = st.floats(0.05, 3_000)
MOMENTS = st.none() | st.builds(Moment, st.integers(0, 6), st.integers(0, 95).map(lambda q: q / 4))
PASTS = st.lists(st.builds(Past, LENGTHS, st.booleans(), MOMENTS), max_size=12)


# --- moments ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("other", "likeness"),
    [
        (Moment(4, 18.5), 1),
        (Moment(4, 15.5), 0.6065),  # one width of 3 h: e^(-1/2)
        (Moment(4, 21.5), 0.6065),
        (Moment(3, 18.5), 0.1),  # another day
        (Moment(3, 15.5), 0.06065),
        (Moment(4, 6.5), 0.0003355),  # 12 h: e^-8, as far as hours can be
    ],
)
def test_a_moment_is_alike_by_hour_and_by_day(other: Moment, likeness: float) -> None:
    weighing = WEIGHING._replace(hour_width_h=3, other_day=0.1)
    assert same_moment(FRIDAY_EVENING, other, weighing) == pytest.approx(likeness, rel=1e-3)
    assert same_moment(other, FRIDAY_EVENING, weighing) == pytest.approx(likeness, rel=1e-3)


def test_an_hour_before_midnight_is_two_from_one_after_it() -> None:
    weighing = WEIGHING._replace(hour_width_h=2, other_day=0.5)
    late, early = Moment(4, 23), Moment(5, 1)
    assert same_moment(late, early, weighing) == pytest.approx(0.5 * math.exp(-0.5))


def test_what_is_not_known_of_a_cell_makes_no_difference() -> None:
    cell = Cell(4, 9, 3)
    assert alike(Cell(None, None, None), cell, WEIGHING) == 1
    assert alike(cell, Cell(None, None, None), WEIGHING) == 1
    assert alike(cell, cell, WEIGHING) == 1
    far = alike(Cell(4, 3, 3), cell, WEIGHING)
    assert WEIGHING.others_floor < far < WEIGHING.others_floor + 0.001


# --- cells -----------------------------------------------------------------------------------


def test_the_pace_is_a_mean_of_ratios_in_which_the_latest_counts_most() -> None:
    past = [Past(1), Past(16), Past(0.25), Past(3, ended=False)]
    # 16 counts 1 and 1 counts 1/2; a quarter of an hour and one still away count nothing
    assert pace_h(past, 1) == pytest.approx(16 ** (2 / 3))
    assert pace_h(past[2:], 1) is None
    assert pace_h([Past(1 / 3)], 1) == pytest.approx(1 / 3)


def test_a_cell_is_a_weekday_two_hours_and_a_pace() -> None:
    assert cell_of([], FRIDAY_EVENING) == Cell(4, 9, None)
    assert cell_of([Past(1.6)], Moment(4, 19.99)) == Cell(4, 9, 0)
    assert cell_of([Past(1.61)], Moment(4, 20)) == Cell(4, 10, 1)
    assert cell_of([Past(100)], None) == Cell(None, None, 9)


@pytest.mark.parametrize(
    ("hours", "place"),
    # 1/3 h, then 5 % more each: 0.35 h, 0.3675 h; the middle of the first two is 0.341565 h
    [(1 / 3, 0), (0.3415, 0), (0.3416, 1), (0.35, 1), (0.3675, 2), (1e6, 179)],
)
def test_a_length_is_rounded_to_the_nearest(hours: float, place: int) -> None:
    assert nearest_length(hours) == place
    assert nearest_length(LENGTHS_H[place]) == place


def test_of_a_person_ended_absences_of_twenty_minutes_are_kept() -> None:
    past = [
        Past(1 / 3, left=Moment(0, 9)),
        Past(0.33, left=Moment(0, 9)),
        Past(5, ended=False, left=Moment(0, 9)),
    ]
    assert person_of(past).counts == {Cell(0, 4, None): {0: 1}}


@given(PASTS)
def test_a_person_comes_out_of_the_file_as_they_went_in(past: list[Past]) -> None:
    person = person_of(past)
    assert kept_person(json.loads(json.dumps(kept(person)))) == person


# --- people ----------------------------------------------------------------------------------


def test_people_are_alike_by_how_likely_they_are_to_stay_away_like_this() -> None:
    # Fifteen lengths, each seen once more than it was: of 20, the own one 6 and others 1.
    weighing = WEIGHING._replace(unseen=1)
    people = [person_of([Past(h)] * 5, weighing) for h in (0.9, 100)]
    assert people_shares([Past(0.95)], people, weighing) == pytest.approx([6 / 7, 1 / 7])
    assert people_shares([Past(0.95), Past(99)], people, weighing)[1] > 0.5  # the latest is more
    assert people_shares([], people, weighing) == [0.5, 0.5]
    # What is shorter than 20 minutes, or not over, says nothing of them.
    silent = [Past(0.3), Past(80, ended=False)]
    assert people_shares(silent, people, weighing) == [0.5, 0.5]


def test_of_one_person_the_absences_from_alike_cells_count_most() -> None:
    friday, tuesday = Moment(4, 19), Moment(1, 12)
    person = person_of([Past(63, left=friday), Past(1, left=tuesday)])
    # As seen from the first, without a pace: 1 and what another day at another hour counts.
    weighing = WEIGHING._replace(others_floor=0.25, other_day=0)
    ((long, at_friday), (short, at_tuesday)) = rows_of([person], Cell(4, 9, None), weighing)[0]
    assert (long, short) == (nearest_length(63), nearest_length(1))
    assert at_friday == pytest.approx(0.8)
    assert at_tuesday == pytest.approx(0.2)


# --- what is shipped -------------------------------------------------------------------------


def test_the_shipped_people_are_those_that_the_script_makes() -> None:
    made = runpy.run_path(str(ROOT / "scripts" / "fit-habits"))["habits_text"]()
    assert (ROOT / "pricing" / "habits.json").read_text(encoding="utf-8") == made


def test_the_shipped_people_say_where_they_come_from() -> None:
    body = json.loads((ROOT / "pricing" / "habits.json").read_bytes())
    data = (ROOT / body["made_from"]).read_bytes()
    assert body["sha256"] == hashlib.sha256(data).hexdigest()
    assert (ROOT / body["made_by"]).is_file()
    assert body["source"]
    assert body["as_of"] == "2026-11-30"
    people = [kept_person(each) for each in body["people"]]
    assert len(people) == 52
    rows = data.decode().count("\n") - 1
    seen = [sum(sum(c.values()) for c in each.counts.values()) for each in people]
    assert sum(seen) <= rows == 12_411
