"""Batches of every form, copied, cut and joined."""

from __future__ import annotations

from collections import UserDict, namedtuple
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch")
batches = pytest.importorskip("costplan.profiler.batches")

Pair = namedtuple("Pair", ["image", "label"])


@dataclass
class Held:
    image: Any
    label: Any
    name: str = "x"


class Own:
    """A class of somebody's own."""

    def __init__(self, image: Any, label: Any) -> None:
        self.image, self.label = image, label


def forms() -> list[Any]:
    image, label = torch.arange(24.0).reshape(4, 6), torch.arange(4)
    return [
        [image, label], (image, label), {"image": image, "label": label}, Pair(image, label),
        {"inputs": {"image": image}, "more": [label, ["a", "b", "c", "d"]]}, Held(image, label),
        UserDict({"image": image, "label": label}), Own(image, label), image,
    ]  # fmt: skip


@pytest.mark.parametrize("form", range(9))
def test_half_a_batch_has_half_the_samples_in_the_same_form(form: int) -> None:
    batch = forms()[form]
    half = batches.first_half(batch)
    assert type(half) is type(batch)
    assert (batches.samples(batch), batches.samples(half)) == (4, 2)
    first, whole = next(batches.tensors(half)), next(batches.tensors(batch))
    assert torch.equal(first, whole[:2])


@pytest.mark.parametrize("form", range(9))
def test_two_batches_joined_have_twice_the_samples(form: int) -> None:
    batch = forms()[form]
    both = batches.joined(batch, batches.cloned(batch))
    assert type(both) is type(batch)
    assert batches.samples(both) == 8
    first = next(batches.tensors(both))
    assert torch.equal(first[:4], first[4:])


@pytest.mark.parametrize("form", range(9))
def test_a_copy_has_its_own_containers_and_a_clone_its_own_tensors(form: int) -> None:
    batch = forms()[form]
    copied, cloned = batches.same(batch), batches.cloned(batch)
    for one, other in zip(batches.tensors(batch), batches.tensors(copied), strict=True):
        assert one is other
    for one, other in zip(batches.tensors(batch), batches.tensors(cloned), strict=True):
        assert one is not other
        assert torch.equal(one, other)


def test_what_a_program_writes_in_place_is_noticed() -> None:
    batch = forms()[2]
    before = batches.versions(batch)
    batch["image"].div_(2)
    assert batches.versions(batch) != before


def test_a_flat_list_of_boxes_is_cut_and_joined_by_the_sample_that_each_is_of() -> None:
    batch = {
        "img": torch.zeros(4, 3, 8, 8), "cls": torch.arange(5.0).reshape(5, 1),
        "batch_idx": torch.tensor([0, 0, 1, 3, 3]), "im_file": ["a", "b", "c", "d"],
    }  # fmt: skip
    half = batches.first_half(batch)
    assert half["batch_idx"].tolist() == [0, 0, 1]
    assert half["cls"].flatten().tolist() == [0, 1, 2]
    assert half["im_file"] == ["a", "b"]
    both = batches.joined(batch, batch)
    assert both["batch_idx"].tolist() == [0, 0, 1, 3, 3, 4, 4, 5, 7, 7]
    assert both["cls"].shape == (10, 1)
    assert len(both["im_file"]) == 8


@pytest.mark.parametrize("batch", [torch.zeros(1, 3), torch.tensor(3.0), {}, [], "text"])
def test_what_holds_no_two_samples_cannot_be_cut(batch: Any) -> None:
    with pytest.raises(batches.NoCutError):
        batches.first_half(batch)


def test_batches_of_other_lengths_or_shapes_cannot_be_joined() -> None:
    with pytest.raises(batches.NoCutError):
        batches.joined(torch.zeros(4, 3), torch.zeros(3, 3))
    with pytest.raises(batches.NoCutError):
        batches.joined(torch.zeros(4, 3), torch.zeros(4, 5))


def test_tokens_are_the_ids_of_the_first_table_of_integers() -> None:
    ids = torch.zeros(4, 128, dtype=torch.int64)
    assert batches.tokens({"input_ids": ids, "labels": ids}) == 512
    assert batches.tokens(forms()[0]) is None


@pytest.mark.parametrize(
    ("now", "cpus", "tried"), [(0, 4, [0, 1, 2, 4]), (2, 4, [2, 1, 4]), (8, 4, [8, 1, 2, 4])]
)
def test_workers_are_tried_from_the_present_number_up_to_the_processors(
    now: int, cpus: int, tried: list[int]
) -> None:
    from costplan.profiler import sweep

    assert sweep.counts(now, cpus) == tried


def test_a_loader_made_anew_is_the_same_and_one_for_validation_another() -> None:
    from torch.utils.data import DataLoader, TensorDataset

    from costplan.profiler import sweep

    train, held = (TensorDataset(torch.zeros(64, 2)) for _ in range(2))
    first, again = (DataLoader(train, batch_size=8, shuffle=True) for _ in range(2))
    assert sweep.kind(first) == sweep.kind(again)
    assert sweep.kind(first) != sweep.kind(DataLoader(held, batch_size=8))  # in order
    assert sweep.kind(first) != sweep.kind(DataLoader(train, batch_size=4, shuffle=True))


def test_a_loader_that_is_given_batches_of_places_is_told_by_what_draws_them() -> None:
    from torch.utils.data import (
        BatchSampler,
        DataLoader,
        RandomSampler,
        SequentialSampler,
        TensorDataset,
    )

    from costplan.profiler import sweep

    data = TensorDataset(torch.zeros(64, 2))
    drawn, ordered = (
        DataLoader(data, batch_sampler=BatchSampler(draws(data), 8, drop_last=False))
        for draws in (RandomSampler, SequentialSampler)
    )
    assert sweep.kind(drawn) == sweep.kind(drawn)
    assert sweep.kind(drawn) != sweep.kind(ordered)


class Queue:
    def __init__(self, size: int) -> None:
        self.size = size

    def qsize(self) -> int:
        return self.size


@pytest.mark.parametrize(("arrived", "filling"), [(0, True), (2, True), (3, False)])
def test_a_queue_fills_until_all_that_workers_were_sent_for_is_there(
    arrived: int, filling: bool
) -> None:
    from costplan.profiler import sweep

    # four were sent for: one came out of turn and lies beside, the rest arrive in the queue
    sent = {5: (0,), 6: (1, "data"), 7: (0,), 8: (1,)}
    iterator = SimpleNamespace(_task_info=sent, _data_queue=Queue(arrived), _tasks_outstanding=4)
    assert sweep.is_filling(iterator) is filling


def test_a_loader_without_workers_never_fills_its_queue() -> None:
    from costplan.profiler import sweep

    assert not sweep.is_filling(SimpleNamespace())
