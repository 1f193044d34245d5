"""Lines about cores, memory, disk, line, caches and terminals, at both sides of each border."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from madebox import GB, box, cpu, disk, needs, promised, run

from costplan import boxlines
from costplan.records.checks import (
    CacheFacts,
    CheckLine,
    CpuFacts,
    DownloadFacts,
    MemoryFacts,
    ShmFacts,
)

RATE = Decimal("0.41")


def download(mbit_per_s: float, **fields: Any) -> DownloadFacts:
    """Ten seconds of a line."""
    made = {"host": "example.com", "received_bytes": int(mbit_per_s * 1_250_000), "over_s": 10.0}
    return DownloadFacts(**{**made, **fields})


# --- cores --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "level"),
    [
        ({"affinity": 16}, "ok"),
        ({"affinity": 9}, "ok"),
        ({"affinity": 8}, "warn"),  # every core reported twice
        ({"quota_cores": 8.1}, "ok"),
        ({"quota_cores": 8.0}, "warn"),
        ({"reported": None, "affinity": None}, "unknown"),
        ({"reported": None, "affinity": 4}, "ok"),
    ],
)
def test_cores_that_may_be_used_are_compared_with_those_reported(
    fields: dict[str, Any], level: str
) -> None:
    assert boxlines.cores(cpu(**fields), None).level == level


def test_what_holds_the_cores_is_named() -> None:
    line = boxlines.cores(
        cpu(reported=64, affinity=64, quota_cores=7.5, quota_from="cgroup v2"), None
    )
    assert line.says == ("7.5 usable of 64 that os.cpu_count() reports (quota of cgroup v2)")
    assert line.todo == "set num_workers and OMP_NUM_THREADS by hand: 7 in all"
    line = boxlines.cores(cpu(reported=64, affinity=8, quota_cores=16.0), None)
    assert line.says == "8 usable of 64 that os.cpu_count() reports (affinity)"


def test_half_a_core_still_leaves_one_worker() -> None:
    assert "1 in all" in (boxlines.cores(cpu(quota_cores=0.5), None).todo or "")


@pytest.mark.parametrize(("asked", "level"), [(17.7, "ok"), (17.8, "warn")])
def test_cores_are_compared_with_what_the_job_asks_for(asked: float, level: str) -> None:
    assert boxlines.cores(cpu(), needs(cores=asked)).level == level


@pytest.mark.parametrize(("score", "level"), [(4.0, "ok"), (3.9, "warn"), (None, "unknown")])
def test_a_slow_thread_is_worth_a_word(score: float | None, level: str) -> None:
    assert boxlines.single_thread(CpuFacts(million_steps_per_s=score)).level == level


# --- memory -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("limit_gb", "asked", "level"),
    [(None, None, "ok"), (None, 71, "ok"), (None, 72, "fail"), (32, 35, "ok"), (32, 36, "fail")],
)
def test_main_memory_is_what_the_container_leaves_of_it(
    limit_gb: int | None, asked: float | None, level: str
) -> None:
    memory = MemoryFacts(total_bytes=64 * GB, limit_bytes=limit_gb and limit_gb * GB)
    line = boxlines.main_memory(memory, needs(ram_gb=asked))
    assert line.level == level
    assert ("limit of the container" in line.says) is (limit_gb is not None)


def test_memory_that_nobody_tells_is_unknown() -> None:
    assert boxlines.main_memory(MemoryFacts(), None).level == "unknown"


@pytest.mark.parametrize(
    ("size", "level"),
    [
        (64 * 1_048_576, "fail"),  # Docker's default
        (64 * 1_048_576 + 1, "warn"),
        (GB - 1, "warn"),
        (GB, "ok"),
        (None, "unknown"),
    ],
)
def test_shared_memory_has_room_for_batches(size: int | None, level: str) -> None:
    line = boxlines.shared_memory(ShmFacts(total_bytes=size, problem=None if size else "not there"))
    assert line.level == level
    if size is None:
        assert line.says == "not there"


# --- disk ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("total_gb", "free_gb", "level"),
    [
        (100, 42, "ok"),  # 52 wanted, 10 of them for what may be installed already
        (100, 41.9, "warn"),
        (100, 30, "warn"),  # 40 needed, 10 of them there
        (100, 29.9, "fail"),
        (40, 40, "warn"),
        (39.9, 39.9, "fail"),
    ],
)
def test_the_disk_is_compared_with_what_the_job_needs(
    total_gb: float, free_gb: float, level: str
) -> None:
    facts = disk(total_bytes=int(total_gb * GB), free_bytes=int(free_gb * GB))
    line = boxlines.disk_size(facts, needs())
    assert line.level == level
    assert "the job needs 40.0" in line.says


@pytest.mark.parametrize(("free_gb", "level"), [(10, "ok"), (9.9, "warn")])
def test_without_a_job_an_environment_must_fit(free_gb: float, level: str) -> None:
    assert boxlines.disk_size(disk(free_bytes=int(free_gb * GB)), None).level == level


def test_a_disk_that_cannot_be_looked_at_is_unknown() -> None:
    line = boxlines.disk_size(disk(total_bytes=None, problem="/x: gone"), needs())
    assert (line.level, line.says) == ("unknown", "/x: gone")


@pytest.mark.parametrize(
    ("cold", "asked", "level"),
    [
        (100, None, "ok"),
        (99, None, "warn"),
        (1000, 2000, "ok"),
        (999, 2000, "warn"),
        (500, 2000, "warn"),
        (499, 2000, "fail"),
        (99, 100, "warn"),  # the promise is kept, and the disk is slow
        (None, 2000, "unknown"),
    ],
)
def test_cold_reads_are_compared_with_a_promise_and_with_slow_disks(
    cold: float | None, asked: float | None, level: str
) -> None:
    facts = disk(cold_mb_per_s=cold, speed_problem=None if cold else "kept in memory")
    line = boxlines.disk_speed(facts, promised(disk_mb_per_s=asked))
    assert line.level == level
    assert (line.todo is None) is (level in ("ok", "unknown"))
    if cold is None:
        assert line.says == "cold unknown: kept in memory, warm 5000"


# --- line ---------------------------------------------------------------------------------------


def test_the_line_is_told_in_minutes_and_money() -> None:
    line = boxlines.line_down(download(90), promised(down_mbit_per_s=800), needs(), RATE)
    # 19 GB x 8000 / 90 = 1689 s = 28 min; x 0.41 / 3600 = 0.192
    assert line == CheckLine(
        name="download",
        level="fail",
        says="90 of 800 Mbit/s promised, 19 GB = 28 min = $0.19",
        todo="return it before the data set is on its way",
        fault="box",
    )


@pytest.mark.parametrize(
    ("speed", "asked", "level"),
    [
        (200, None, "ok"),
        (199, None, "warn"),
        (400, 800, "ok"),
        (399, 800, "warn"),
        (200, 800, "warn"),
        (199, 800, "fail"),
        (100, 100, "warn"),  # as promised, and slow
        (10, None, "warn"),  # nobody promised more
    ],
)
def test_a_line_is_compared_with_its_promise_and_with_slow_lines(
    speed: float, asked: float | None, level: str
) -> None:
    line = boxlines.line_down(download(speed), promised(down_mbit_per_s=asked), None, None)
    assert line is not None
    assert line.level == level


@pytest.mark.parametrize(
    ("received", "over_s", "level"),
    [
        (10_000_000, 0.1, "ok"),
        (9_999_999, 0.1, "unknown"),
        (50_000, 2.0, "warn"),  # little, for so long that it tells
        (50_000, 1.9, "unknown"),
        (20_000_000, 0.0, "unknown"),
    ],
)
def test_too_little_tells_no_speed(received: int, over_s: float, level: str) -> None:
    line = boxlines.line_down(download(0, received_bytes=received, over_s=over_s), None, None, None)
    assert line is not None
    assert line.level == level


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"problem": "h answers 404"}, "h answers 404"),
        ({"problem": "reset", "received_bytes": 1_500_000}, "reset after 1.5 MB"),
        (
            {"received_bytes": 1_000_000, "expected_bytes": 9_000_000},
            "h ended after 1.0 MB of 9.0 MB",
        ),
        (
            {"received_bytes": 1_000_000, "expected_bytes": 1_000_000},
            "1.0 MB from h is too little to tell a speed: name a larger file",
        ),
    ],
)
def test_why_a_line_is_unknown_is_said(fields: dict[str, Any], says: str) -> None:
    line = boxlines.line_down(DownloadFacts(host="h", **fields), None, None, None)
    assert line is not None
    assert (line.level, line.says) == ("unknown", says)


def test_a_promise_that_nobody_measured_is_unknown_and_nothing_asked_is_no_line() -> None:
    line = boxlines.line_down(None, promised(down_mbit_per_s=800), None, None)
    assert line is not None
    assert (line.level, line.says) == ("unknown", "800 Mbit/s promised, not measured")
    assert boxlines.line_down(None, promised(), None, None) is None


# --- caches and terminals -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kinds", "level"),
    [
        (["ext4", "xfs"], "ok"),
        (["ext4", "overlay"], "warn"),
        (["aufs"], "warn"),
        (["tmpfs"], "warn"),
        (["ramfs"], "warn"),
        (["ext4", None], "unknown"),
        (["overlay", None], "warn"),
        ([], "unknown"),
    ],
)
def test_caches_must_outlive_a_restart(kinds: list[str | None], level: str) -> None:
    found = tuple(CacheFacts(name=f"C{n}", path="/c", fstype=k) for n, k in enumerate(kinds))
    assert boxlines.caches(found).level == level


def test_each_cache_that_goes_is_named() -> None:
    found = (
        CacheFacts(name="HF_HOME", path="/root/.cache/huggingface", fstype="overlay"),
        CacheFacts(name="TORCH_HOME", path="/data/torch", fstype="ext4"),
    )
    assert boxlines.caches(found).says == (
        "HF_HOME /root/.cache/huggingface on overlay: goes with the container"
    )
    memory = CacheFacts(name="HF_HOME", path="/dev/shm/hf", fstype="tmpfs")
    assert boxlines.caches((memory,)).says.endswith("goes with a restart")


@pytest.mark.parametrize(
    ("fields", "level"),
    [
        ({}, "warn"),
        ({"on_terminal": False}, "ok"),  # setsid
        ({"ignores_hangup": True}, "ok"),  # nohup
        ({"under_ssh": False}, "ok"),  # tmux, screen
        ({"holds_gpu": False, "cpu_s": 60.0}, "warn"),
        ({"holds_gpu": False, "cpu_s": 59.9}, "ok"),  # a prompt
    ],
)
def test_a_run_on_a_terminal_of_ssh_is_named(fields: dict[str, Any], level: str) -> None:
    line = boxlines.terminals(box(runs=(run(**fields),)))
    assert line.level == level
    assert ("train.py (42)" in line.says) is (level == "warn")


def test_a_hidden_process_table_is_unknown() -> None:
    line = boxlines.terminals(box(runs=None, runs_problem="hidden"))
    assert (line.level, line.says) == ("unknown", "hidden")
