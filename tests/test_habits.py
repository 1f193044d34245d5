"""The law of the next absence: one's own past, and other people's as a prior."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_people import LENGTHS, MOMENTS, PASTS

from costplan.absence import history
from costplan.errors import InputError
from costplan.habits import next_law, own_weights
from costplan.people import LENGTHS_H, WEIGHING, Moment, Past, Person, nearest_length, person_of

PLAIN = WEIGHING._replace(own_half_life=math.inf, likeness_half_life=math.inf, unknown_moment=1)
"""Nothing fades, and every moment counts alike where none is known."""
FRIDAY, TUESDAY = Moment(4, 18), Moment(1, 12)
TWELVE_H = LENGTHS_H[73]  # 1/3 x 1.05^73 = 11.74 h: where 12 h are rounded to
PEOPLE = st.lists(PASTS, max_size=4).map(lambda pasts: [person_of(past) for past in pasts])


def own(*hours: float) -> list[Past]:
    return [Past(h) for h in hours]


# --- one's own past --------------------------------------------------------------------------


@given(st.lists(LENGTHS, min_size=1, max_size=9), st.lists(LENGTHS, max_size=4))
def test_one_s_own_past_alone_is_the_law_of_the_history(
    ended: list[float], away: list[float]
) -> None:
    past = [*own(*ended), *(Past(h, ended=False) for h in away)]
    law, plain = next_law(past, weighing=PLAIN), history(ended, away=away)
    assert [hour for hour, _ in law.steps] == [hour for hour, _ in plain.steps]
    assert [share for _, share in law.steps] == pytest.approx(
        [share for _, share in plain.steps], abs=1e-12
    )
    assert law.absences == plain.absences


def test_an_older_absence_counts_less() -> None:
    weighing = PLAIN._replace(own_half_life=1)
    # 2 h was the last one: 1 of 1.5; 4 h before it: 1/2
    law = next_law(own(4, 2), weighing=weighing)
    assert law.back(2) == pytest.approx(2 / 3)
    assert next_law(own(2, 4), weighing=weighing).back(2) == pytest.approx(1 / 3)
    # A short one in between ages nothing; of 20 minutes it does.
    assert own_weights(own(4, 0.33, 2), None, weighing) == [0.5, 0.5, 1]
    assert own_weights(own(4, 1 / 3, 2), None, weighing) == [0.25, 0.5, 1]


def test_leaving_on_friday_evening_is_not_leaving_on_tuesday_at_noon() -> None:
    past = [Past(63, left=FRIDAY), Past(1, left=TUESDAY)]
    weighing = PLAIN._replace(own_floor=0.25, other_day=0)
    # What began at another moment counts a quarter: 1/4 of 5/4, and 1 of 5/4.
    assert next_law(past, leaving=FRIDAY, weighing=weighing).back(1) == pytest.approx(0.2)
    assert next_law(past, leaving=TUESDAY, weighing=weighing).back(1) == pytest.approx(0.8)
    assert next_law(past, weighing=weighing).back(1) == pytest.approx(0.5)


def test_those_still_away_count_as_longer_than_they_are() -> None:
    law = next_law([Past(3, ended=False), *own(2, 5)], weighing=PLAIN)
    # at 2 h one of three, at 5 h the last
    assert [law.back(t) for t in (1.9, 2, 4.9, 5)] == pytest.approx([0, 1 / 3, 1 / 3, 1])


# --- other people ----------------------------------------------------------------------------


def test_other_people_count_as_so_many_absences_of_one_s_own() -> None:
    people = [person_of(own(12)), person_of(own(12, 12))]
    law = next_law(own(2), people, weighing=PLAIN._replace(prior_absences=3))
    assert law.steps == ((2, 0.75), (TWELVE_H, 0))
    assert law.absences == 1
    assert law.held_h(math.inf) == pytest.approx(2 + 0.75 * (TWELVE_H - 2))


@pytest.mark.parametrize(
    ("hours", "back"),
    [(0.25, 1 / 5), (0.333, 1 / 5), (1 / 3, 1 / 41), (2, 1 / 41)],
)
def test_below_twenty_minutes_other_people_say_next_to_nothing(hours: float, back: float) -> None:
    weighing = PLAIN._replace(prior_absences=40, short_absences=4)
    law = next_law(own(hours), [person_of(own(12))], weighing=weighing)
    assert law.back(hours) == pytest.approx(back)
    assert law.back(TWELVE_H) == 1


def test_without_a_past_other_people_are_the_law() -> None:
    law = next_law((), [person_of(own(12))], leaving=FRIDAY)
    assert law.steps == ((TWELVE_H, 0),)
    assert law.absences == 0


def test_without_a_past_and_without_people_there_is_no_law() -> None:
    with pytest.raises(InputError, match="neither an absence that has ended nor other people's"):
        next_law(())
    with pytest.raises(InputError, match="neither an absence that has ended nor other people's"):
        next_law([Past(3, ended=False)], [person_of(own(0.2))])
    assert next_law([Past(3, ended=False)], [person_of(own(12))]).back(20) == 1


@pytest.mark.parametrize("hours", [0, -1, math.inf, math.nan])
def test_an_absence_of_no_hours_is_refused(hours: float) -> None:
    with pytest.raises(InputError, match="more than 0 hours"):
        next_law([*own(2), Past(hours)], [person_of(own(12))])


# --- laws ------------------------------------------------------------------------------------


@given(PASTS, PEOPLE, MOMENTS, st.sampled_from([0.0, 0.05]))
def test_the_share_back_grows_to_one_less_never_and_the_hours_held_ever_slower(
    past: list[Past], people: list[Person], leaving: Moment | None, never: float
) -> None:
    if not any(each.ended for each in past) and not any(each.counts for each in people):
        return
    law = next_law(past, people, leaving=leaving, never=never)
    times = [0.0, *(0.05 * 1.3**i for i in range(45))]
    back = [law.back(t) for t in times]
    assert back == sorted(back)
    assert 0 <= back[0] <= back[-1] <= 1 - never
    if all(each.ended for each in past):
        assert back[-1] == 1 - never  # exactly: or the mean would be infinite
    slopes = [(law.held_h(b) - law.held_h(a)) / (b - a) for a, b in pairwise(times)]
    assert all(0 <= later <= before + 1e-9 for before, later in pairwise(slopes))
    assert slopes[0] <= 1 + 1e-9


@given(
    st.lists(st.floats(0.34, 900), min_size=1, max_size=9),
    st.lists(st.floats(0.34, 900), min_size=1, max_size=9),
    st.floats(0.34, 900),
)
def test_a_heavier_prior_is_nearer_to_the_prior(
    mine: list[float], theirs: list[float], t: float
) -> None:
    people = [person_of(own(*theirs))]
    alone = next_law(own(*mine))
    laws = [
        next_law(own(*mine), people, weighing=WEIGHING._replace(prior_absences=weight))
        for weight in (1e-9, 1, 10, 100, 1e9)
    ]
    back = [law.back(t) for law in laws]
    assert back in (
        pytest.approx(sorted(back), abs=1e-9),
        pytest.approx(sorted(back, reverse=True), abs=1e-9),
    )
    only_theirs = sum(LENGTHS_H[nearest_length(h)] <= t for h in theirs)
    assert (back[-1] > 1e-6) is (only_theirs > 0)
    assert (back[-1] < 1 - 1e-6) is (only_theirs < len(theirs))
    assert laws[0].back(t) == pytest.approx(alone.back(t), abs=1e-6)
