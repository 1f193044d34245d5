"""Cold against warm files: what it says of a step, an epoch and a verdict, by hand."""

from __future__ import annotations

from typing import Any

import pytest
from ranked import profiled, rank, slow_loader

from costplan.profiler.rules import judge
from costplan.profiler.storage import ColdWarm, Steps, cold_warm, matters, steps, why_unknown
from costplan.records.profiles import Profile
from costplan.records.ranks import FilesRead
from costplan.records.verdicts import Measured

MB = 1_000_000
READ: dict[str, Any] = {
    "cold_s": [0.1, 0.12, 0.14], "warm_s": [0.02, 0.03, 0.04], "samples": 48, "files": 48,
    "size_bytes": 30 * MB, "opened_again": 48, "found_bytes": 15 * MB, "cold_bytes": 30 * MB,
    "warm_bytes": 0, "memory_bytes": 2_000 * MB,
}  # fmt: skip
"""Three batches of 10 MB: 120 ms from the disk on the mean, 30 ms from memory; half was cold."""


def read(**more: Any) -> FilesRead:
    return FilesRead.model_validate(READ | more)


def test_means_and_the_share_from_the_disk() -> None:
    assert cold_warm(read()) == pytest.approx((0.12, 0.03, 0.5))
    # 30 + half of 90
    assert ColdWarm(0.12, 0.03, 0.5).seen_s == pytest.approx(0.075)


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"cold_bytes": 6 * MB}, None),  # a fifth, as where the file system packs
        ({"cold_bytes": 5 * MB}, "the files were not read from a disk"),
        ({"warm_bytes": 3 * MB}, None),
        ({"warm_bytes": 4 * MB}, "the files came from the disk again"),
        ({"cold_s": [0.1, 0.1], "warm_s": [0.1, 0.1]}, "2 batches were read in the time, 3 are"),
        ({"opened_again": 0}, "the data set keeps the samples"),
        ({"large": 1}, "files too large"),
        ({"files": 0, "size_bytes": 0}, "opens no files"),
        ({"problem": "KeyError: 7"}, "KeyError: 7"),
    ],
)
def test_what_tells_nothing_says_why(more: dict[str, Any], why: str | None) -> None:
    found = why_unknown(read(**more))
    assert (found is None) is (why is None)
    assert why is None or why in str(found)
    assert (cold_warm(read(**more)) is None) is (why is not None)


@pytest.mark.parametrize(
    ("given", "cold_s", "warm_s"),
    [
        # no workers: 100 ms of which 75 were loading; + 45 from the disk, - 45 from memory
        ({"workers": 0, "waits": False}, 0.145, 0.055),
        # no shorter than the step without its loader
        ({"workers": 0, "waits": False, "replay_s": 0.06}, 0.145, 0.06),
        # waits for two workers, of which each has the 45 ms in every second batch
        ({"workers": 2, "waits": True}, 0.1225, 0.0775),
        # does not wait: a batch of the loader alone, 80 ms, becomes 80 + 45/2 = 102.5
        ({"workers": 2, "waits": False, "loader_s": 0.08}, 0.1025, 0.1),
        ({"workers": 2, "waits": False, "loader_s": 0.07}, 0.1, 0.1),
        ({"workers": 2, "waits": False}, 0.1, 0.1),
    ],
)
def test_a_step_with_all_files_cold_and_with_all_warm(
    given: dict[str, Any], cold_s: float, warm_s: float
) -> None:
    more = {"real_s": 0.1, "replay_s": 0.02, "loader_s": None} | given
    assert steps(ColdWarm(0.12, 0.03, 0.5), **more) == pytest.approx((cold_s, warm_s))


def test_a_twentieth_of_the_step_is_worth_a_word() -> None:
    assert matters(Steps(0.1, 0.095), 0.1)
    assert not matters(Steps(0.1, 0.0951), 0.1)


# --- in the verdict -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cold_s", "share", "cause"),
    [
        (1.2, None, "storage"),  # from somewhere else: nobody says that the files were warm
        (1.19, None, None),
        (2.0, 0.2, "storage"),  # 1 + 0.2 x 1 = 1.2
        (2.0, 0.19, None),
        (9.0, 0.0, None),  # however slow the disk, nothing came from it
    ],
)
def test_storage_is_the_cause_only_where_the_bursts_read_from_it(
    cold_s: float, share: float | None, cause: str | None
) -> None:
    slow = Measured(
        step_s=1, steps=30, step_error_share=0.01, replay_s=0.2, wait_s=0.8,
        loader_cold_s=cold_s, loader_warm_s=1.0, loader_disk_share=share,
    )  # fmt: skip
    verdict = judge(slow)
    assert (verdict.word, verdict.cause) == ("dataloader", cause)
    (files,) = [each for each in verdict.evidence if each.name == "files"]
    assert files.value.startswith(f"{cold_s:.3g} s a batch from the disk, 1 s from memory")
    assert files.says == ("dataloader" if cause else "inconclusive")


# --- in the profile -------------------------------------------------------------------------------


def of(**more: Any) -> Profile:
    """Judge a step of 100 ms of which the loader costs 80, 100 batches to an epoch."""
    return profiled(slow_loader(workers=0, batches_per_epoch=100, files_read=READ | more))


def test_the_first_epoch_and_later_ones() -> None:
    found = of().storage
    assert found is not None
    # no workers: 100 + 45, 100 - 45 ms; 100 of them; 10 MB a batch, so 1 GB, into 2 GB
    assert (found.step_cold_s, found.step_warm_s) == pytest.approx((0.145, 0.055))
    assert (found.dataset_gb, found.memory_gb, found.fits) == (1.0, 2.0, True)
    assert (found.first_epoch_s, found.later_epoch_s) == pytest.approx((14.5, 5.5))


def test_a_data_set_larger_than_memory_is_read_from_the_disk_in_every_epoch() -> None:
    found = of(memory_bytes=999 * MB)
    assert found.storage is not None
    assert found.storage.fits is False
    assert found.storage.later_epoch_s == found.storage.first_epoch_s == pytest.approx(14.5)
    assert "all files in memory" not in {each.change for each in found.what_if}
    assert any("1 GB of files do not fit into 0.999 GB of memory" in each for each in found.notices)


def test_samples_that_share_files_leave_the_size_of_the_data_set_unknown() -> None:
    found = of(files=40)
    assert found.storage is not None
    assert (found.storage.dataset_gb, found.storage.fits) == (None, None)
    assert found.storage.later_epoch_s is None
    assert any("whether all files fit into memory is not known" in each for each in found.notices)


def test_files_in_memory_are_a_change_where_the_bursts_read_from_the_disk() -> None:
    (change,) = [each for each in of().what_if if each.change == "all files in memory"]
    assert change.step_s == pytest.approx(0.055)
    assert change.basis == "bounded"
    # a loader that costs nothing saves 80 ms, 8 workers 50, files in memory 45, twice the batch 2
    steps_s = [each.step_s for each in of().what_if]
    assert steps_s == sorted(steps_s)
    assert steps_s.index(change.step_s) == 2


def test_a_burst_that_saw_warm_files_only_says_what_the_first_epoch_costs() -> None:
    found = of(found_bytes=0)
    assert found.verdict.cause != "storage"
    (said,) = [each for each in found.notices if each.startswith("the bursts saw files that lay")]
    # 100 + 90 ms from the disk, 100 from memory
    assert "a step takes about 0.19 s, with all in memory 0.1 s" in said
    assert "(the first epoch about 19 s, later ones 10 s)" in said
    assert "all files in memory" not in {each.change for each in found.what_if}


def test_files_that_make_no_difference_are_not_spoken_of() -> None:
    found = of(cold_s=[0.031] * 3, warm_s=[0.03] * 3)
    assert not any("from the disk" in each for each in found.notices)


def test_why_nothing_is_known_is_said_where_the_loader_is_slow_only() -> None:
    said = "cold against warm files: not known: the data set keeps the samples that it has read"
    assert said in of(opened_again=0).notices
    fast = [(name, [step_s] * 30, 0.0)
            for name, step_s in (("real", 0.1), ("replay", 0.1), ("half", 0.055))]  # fmt: skip
    even = profiled(rank(*fast, *fast, files_read=READ | {"opened_again": 0}))
    assert even.verdict.word == "gpu"
    assert said not in even.notices
    assert even.storage is not None
    assert even.storage.why_unknown == "the data set keeps the samples that it has read"
