"""Which loader trains, told by what follows its batches."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from costplan.profiler.finding import Epochs, Finder, Key

TRAIN: Key = ("train",)
VALID: Key = ("valid",)
MORE: Key = ("more",)


def found(events: str) -> Finder:
    """Return what is found: t, v, m a batch of a loader, ! an optimizer step."""
    finder = Finder()
    keys = {"t": TRAIN, "v": VALID, "m": MORE}
    for event in events:
        if event == "!":
            finder.stepped()
        else:
            finder.asked(keys[event])
    return finder


@pytest.mark.parametrize(
    ("events", "main", "beside", "accumulation"),
    [
        ("t!", None, "", 1),  # one step is no habit
        ("t!t!", "t", "", 1),
        ("vvt!t!t!", "t", "", 1),  # a trial of validation comes first
        ("tt!t!t!t!", "t", "", 1),  # one batch is fetched ahead
        ("tttt!tttt!tttt!", "t", "", 4),
        ("t!!t!!t!!", "t", "", 1),  # two optimizers to a batch
        ("ttt!t!t!t!", "t", "", 1),  # a gradient scaler skipped the first two steps
        ("t!t!vvvt!t!", "t", "", 1),  # validation in the middle
        ("mt!mt!mt!", "t", "m", 1),  # two data sets side by side
        ("tttt!tttt!tt!tttt!", "t", "", 4),  # an epoch ends within a window
        ("!!!!", None, "", 1),
    ],
)
def test_the_training_loader(events: str, main: str | None, beside: str, accumulation: int) -> None:
    keys = {"t": TRAIN, "m": MORE, None: None}
    finder = found(events)
    assert finder.main == keys[main]
    assert finder.beside == ({keys[beside]} if beside else set())
    assert finder.accumulation == accumulation


@pytest.mark.parametrize(
    ("events", "none"), [("!" * 7, False), ("!" * 8, True), ("t" + "!" * 8, False)]
)
def test_eight_steps_without_a_batch_are_a_program_without_a_loader(
    events: str, none: bool
) -> None:
    assert found(events).has_no_loader is none


def test_accumulation_that_grows_is_followed() -> None:
    assert found("t!" * 40 + "tttttttt!" * 20).accumulation == 8


@given(st.lists(st.integers(1, 4), min_size=3, max_size=60))
def test_accumulation_is_the_most_common_of_the_last_twenty(batches: list[int]) -> None:
    # the first two steps only tell which loader trains; the second of them is counted
    late = batches[1:][-20:]
    most = max(late.count(each) for each in late)
    expected = min(each for each in late if late.count(each) == most)
    assert found("".join("t" * each + "!" for each in batches)).accumulation == expected


@pytest.mark.parametrize(("length", "short"), [(4, True), (5, False)])
def test_up_to_four_batches_the_end_of_an_epoch_belongs_to_the_steps(
    length: int, short: bool
) -> None:
    epochs = Epochs()
    epochs.taken = length
    assert not epochs.is_over  # its length is not known yet
    epochs.ended()
    assert (epochs.are_short, epochs.taken) == (short, 0)
    epochs.taken = length
    assert epochs.is_over is short


def test_an_optimizer_for_each_parameter_is_no_program_without_a_loader() -> None:
    finder = Finder()
    for _ in range(2):
        finder.asked(TRAIN)
        assert [finder.stepped(who) for who in range(20)] == [True] + [False] * 19
        assert not finder.has_no_loader
    assert finder.main == TRAIN


@pytest.mark.parametrize(
    ("events", "named"),
    [
        ("t!t!" + "m!" * 7, MORE),
        ("t!t!" + "m!" * 8, TRAIN),  # a resumed epoch is over, its loader comes no more
        ("t!t!" + "m!" * 7 + "t!" + "m!" * 7, MORE),  # turn about, both stay what they are
        ("t!t!" + "vvvvvvvvv" + "t!", VALID),  # nothing was trained
    ],
)
def test_a_loader_takes_the_place_of_one_that_comes_no_more(events: str, named: Key) -> None:
    last = {"m": MORE, "v": VALID}["v" if "v" in events else "m"]
    assert found(events).named(last) == named


@pytest.mark.parametrize(
    ("events", "idle"),
    [
        ("t!t!" + "t" * 16, False),
        ("t!t!" + "t" * 17, True),  # an evaluation that cannot be told from training
        ("tt!tt!tt!" + "t" * 32, False),  # two batches to a step
        ("tt!tt!tt!" + "t" * 33, True),
        ("t!t!" + "t" * 17 + "!", False),
        ("v" * 99, False),
    ],
)
def test_many_batches_without_a_step_are_no_training(events: str, idle: bool) -> None:
    assert found(events).is_idle is idle


@pytest.mark.parametrize(("steps", "firsts"), [([1, 2, 2, 2], "x.xx"), ([1, 2, 1, 2], "x.x.")])
def test_an_optimizer_that_goes_on_alone_takes_the_place_of_the_first(
    steps: list[int], firsts: str
) -> None:
    finder = Finder()
    assert "".join("x" if finder.stepped(who) else "." for who in steps) == firsts
