"""What a job asks of a box, whether or not it says how fast it is."""

from __future__ import annotations

from typing import Any

import pytest

from costplan.needs import needs_of
from costplan.records.jobs import Job, Throughput

SIZES: dict[str, Any] = {
    "name": "j",
    "dataset_gb": 14.0,
    "unpacked_gb": 14.0,
    "checkpoint_gb": 1.0,
    "checkpoints_kept": 2,
    "environment_gb": 10.0,
}


def test_disk_and_line_are_added_up() -> None:
    found = needs_of(Job(**SIZES, memory_gb=20.0, vcpus=8.0, ram_gb=32.0))
    assert found.needed_gb == 40  # 14 + 14 + 2 x 1 + 10
    assert found.wanted_gb == 52  # 30 % free
    assert found.incoming_gb == 19  # 14 + half of 10
    assert (found.memory_gb, found.cores, found.ram_gb) == (20, 8, 32)
    assert found.assumed == ()


def test_a_volume_brings_its_data_along() -> None:
    found = needs_of(Job(**SIZES, dataset_from="volume"))
    assert (found.needed_gb, found.incoming_gb) == (12, 5)


def test_a_stated_disk_is_what_is_wanted() -> None:
    assert needs_of(Job(**SIZES, disk_gb=100)).wanted_gb == 100


@pytest.mark.parametrize("epochs", [None, 3])
def test_how_fast_it_trains_plays_no_part(epochs: int | None) -> None:
    speed = Throughput(card="T4", tokens_per_s=5.0)  # which would need `tokens`
    found = needs_of(Job(**SIZES, epochs=epochs, throughput=speed))
    assert found.needed_gb == 40


def test_assumed_sizes_are_said_and_nothing_else_is() -> None:
    found = needs_of(Job(name="j"))
    assert [said.split()[0] for said in found.assumed] == [
        "unpacked_gb",
        "dataset_gb",
        "environment_gb",
        "checkpoint_gb",
    ]
