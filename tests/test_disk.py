"""How large a disk to rent: parts, headroom, and the market's step from both sides."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from makes import jobs, work

from costplan.disk import disk_for
from costplan.records.jobs import Job
from costplan.work import settle


def sized(fields: dict[str, object], step_gb: str = "1") -> Decimal:
    return disk_for(work(**{"disk_gb": None, **fields}), step_gb=Decimal(step_gb)).gb


def test_the_disk_of_the_example_by_hand() -> None:
    settled = work(
        disk_gb=None,
        dataset_gb=19,
        unpacked_gb=20,
        checkpoint_gb=0.3,
        checkpoints_kept=2,
        environment_gb=4,
    )
    disk = disk_for(settled, step_gb=Decimal(1))
    assert dict(disk.parts) == {
        "dataset, packed": 19,
        "unpacked": 20,
        "checkpoints": 0.6,  # 2 x 0.3
        "environment": 4,
    }
    assert disk.needed_gb == pytest.approx(43.6)
    assert disk.headroom == 0.3
    assert disk.gb == 57  # 43.6 x 1.3 = 56.68
    assert not disk.given


@pytest.mark.parametrize(
    ("environment_gb", "headroom", "step_gb", "gb"),
    [
        # 100 x 1.3 is 130 exactly and stays so
        (100, None, "1", "130"),
        (100.001, None, "1", "131"),  # 130.0013
        (99.999, None, "1", "130"),  # 129.9987
        (100, None, "10", "130"),
        (100.001, None, "10", "140"),
        (92.3, None, "10", "120"),  # 119.99
        (92.4, None, "10", "130"),  # 120.12
        (100, None, "50", "150"),
        (100, 0, "1", "100"),
        (100, 0.1, "1", "110"),
        (100, 1, "1", "200"),
        (10, 0, "2.5", "10"),
        (10.1, 0, "2.5", "12.5"),
        # at least one step
        (0, None, "1", "1"),
        (0, None, "10", "10"),
    ],
)
def test_the_size_is_rounded_up_to_the_step_in_which_it_is_sold(
    environment_gb: float, headroom: float | None, step_gb: str, gb: str
) -> None:
    fields: dict[str, object] = {"environment_gb": environment_gb, "headroom": headroom}
    assert sized(fields, step_gb) == Decimal(gb)


def test_data_on_a_volume_need_no_room_on_the_disk() -> None:
    fields: dict[str, object] = {"dataset_gb": 100, "unpacked_gb": 200, "environment_gb": 10}
    assert sized(fields) == 403  # 310 x 1.3
    assert sized({**fields, "dataset_from": "volume"}) == 13  # 10 x 1.3


def test_data_of_unstated_unpacked_size_need_as_much_again() -> None:
    assert sized({"dataset_gb": 50, "unpacked_gb": None}) == 130  # (50 + 50) x 1.3
    assert sized({"dataset_gb": 50, "unpacked_gb": 0}) == 65


@pytest.mark.parametrize(("kept", "gb"), [(None, "26"), (0, "1"), (1, "13"), (5, "65")])
def test_each_kept_checkpoint_needs_its_room(kept: int | None, gb: str) -> None:
    # 10 GB each x 1.3; two are kept where nothing is said
    assert sized({"checkpoint_gb": 10, "checkpoints_kept": kept}) == Decimal(gb)


@pytest.mark.parametrize("gb", ["37", "250", "0.5"])
def test_a_stated_disk_is_taken_as_it_is(gb: str) -> None:
    disk = disk_for(work(disk_gb=gb, environment_gb=1_000), step_gb=Decimal(10))
    assert disk.given
    assert disk.gb == Decimal(gb)
    assert disk.needed_gb == 1_000


STEPS = st.sampled_from([Decimal(1), Decimal(10), Decimal("2.5")])


@settings(max_examples=40)
@given(jobs(), STEPS)
def test_the_disk_holds_its_parts_and_its_headroom_and_no_whole_step_more(
    fields: dict[str, Any], step_gb: Decimal
) -> None:
    settled = settle(Job.model_validate({**fields, "disk_gb": None}))
    disk = disk_for(settled, step_gb=step_gb)
    wanted = disk.needed_gb * (1 + disk.headroom)
    assert sum(size for _, size in disk.parts) == pytest.approx(disk.needed_gb)
    assert disk.gb % step_gb == 0
    assert float(disk.gb) >= wanted - 1e-5
    assert disk.gb == step_gb or float(disk.gb - step_gb) < wanted + 1e-5
