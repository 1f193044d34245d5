"""Whether twice the batch is tried, by what the batch and its half needed."""

from __future__ import annotations

import pytest

from costplan.profiler.fits import double_bytes, too_large

GB = 10**9


@pytest.mark.parametrize(
    ("whole", "half", "double"),
    # 2 fixed + 8 for the batch: 2 + 16; half as much as whole: nothing is fixed; no less, and more
    [(10, 6, 18), (10, 5, 20), (10, 10, None), (10, 11, None)],
)
def test_what_grows_with_the_batch_is_doubled(whole: int, half: int, double: int | None) -> None:
    assert double_bytes(whole, half) == double


@pytest.mark.parametrize(("room", "tried"), [(18 * GB, True), (18 * GB - 1, False)])
def test_it_is_tried_up_to_the_last_byte(room: int, tried: bool) -> None:
    peaks = {"real": 99 * GB, "replay": 10 * GB, "half": 6 * GB}
    assert (too_large(peaks, room) is None) is tried


def test_why_it_is_not_tried_names_both_sizes() -> None:
    assert too_large({"real": 10 * GB, "half": 6 * GB}, 12 * GB) == (
        "it would need 18.0 GB of the device's memory, of which the program can have 12.0 GB"
    )


@pytest.mark.parametrize(
    ("peaks", "room"),
    [
        ({}, GB), ({"real": 10 * GB}, GB), ({"half": 6 * GB}, GB),
        ({"real": None, "half": None}, GB), ({"real": 10 * GB, "half": 6 * GB}, None),
    ],
)  # fmt: skip
def test_what_is_not_known_forbids_nothing(peaks: dict[str, int | None], room: int | None) -> None:
    assert too_large(peaks, room) is None
