"""Batches that are kept, and those of them that stand for all."""

from __future__ import annotations

from statistics import fmean
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch


def pool(sizes: list[int], *, copied: int | None = None) -> Any:
    """Return a pool that was offered vectors of these sizes, the first `copied` for a copy."""
    from costplan.profiler.pool import Pool

    found = Pool()
    for number, size in enumerate(sizes):
        found.offer(torch.full((size,), float(number)), may_copy=copied is None or number < copied)
    return found


def lengths(batches: list[Any]) -> list[int]:
    return [len(each) for each in batches]


def test_two_stand_for_all_batches_of_one_shape() -> None:
    found = pool([8] * 50)
    assert lengths(found.kept) == [8, 8]
    assert found.chosen() == found.kept


def test_shapes_that_differ_only_after_a_while_are_kept_too() -> None:
    found = pool([8, 8, 8, 8, 16, 24])
    assert lengths(found.kept) == [8, 8, 16, 24]


def test_those_chosen_cost_what_all_do_on_the_mean() -> None:
    # 1 to 100 elements: 16 of them at random would miss the mean by 14 % (29 / 50 / 4)
    sizes = [1 + 37 * number % 100 for number in range(400)]
    found = pool(sizes)
    assert len(found.kept) == 48
    assert fmean(lengths(found.chosen())) == pytest.approx(fmean(sizes), rel=0.05)


def test_sizes_count_of_batches_too_that_there_was_no_time_to_copy() -> None:
    found = pool([10, 20, *[20] * 14], copied=2)
    assert lengths(found.kept) == [10, 20]
    # of 16 parts of equal size one has 10, fifteen have 20
    assert sorted(lengths(found.chosen())) == [10] + [20] * 15
    assert found.mean(len) == round((10 + 15 * 20) / 16)


def test_a_count_that_one_batch_does_not_tell_is_not_known() -> None:
    assert pool([4, 6]).mean(lambda batch: len(batch) if len(batch) == 4 else None) is None
    assert pool([]).mean(len) is None


def test_what_is_kept_is_a_copy() -> None:
    from costplan.profiler.pool import Pool

    batch, found = torch.zeros(3), Pool()
    found.offer(batch, may_copy=True)
    batch.add_(1)
    assert found.kept[0].sum() == 0
