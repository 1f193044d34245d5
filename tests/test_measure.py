"""Cores, memory, disk and caches of a box, from made files."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from costplan.box import measure

if TYPE_CHECKING:
    from collections.abc import Mapping

MIB = 1_048_576


def system(root: Path, groups: str, files: Mapping[str, str]) -> tuple[Path, Path]:
    """Make `/proc` and the folder of control groups; the first line names the process's group."""
    proc, cgroup = root / "proc", root / "cgroup"
    for path, text in {
        "proc/self/cgroup": groups,
        **{f"cgroup/{k}": v for k, v in files.items()},
    }.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, encoding="utf-8")
    cgroup.mkdir(exist_ok=True)
    return proc, cgroup


# --- quota --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("groups", "files", "expected"),
    [
        ("0::/\n", {"cpu.max": "800000 100000\n"}, (8.0, "cgroup v2")),
        ("0::/\n", {"cpu.max": "max 100000\n"}, (None, None)),
        ("0::/\n", {"cpu.max": "150000 100000\n"}, (1.5, "cgroup v2")),
        (
            "0::/a/b\n",
            {"a/b/cpu.max": "max 100000", "a/cpu.max": "400000 100000"},
            (4.0, "cgroup v2"),
        ),
        # The smallest of a group and its parents holds.
        ("0::/a\n", {"a/cpu.max": "400000 100000", "cpu.max": "200000 100000"}, (2.0, "cgroup v2")),
        # A container is told its path on the host, and finds its own group at the root.
        ("0::/docker/abc\n", {"cpu.max": "300000 100000"}, (3.0, "cgroup v2")),
        ("0::/../../x\n", {"cpu.max": "300000 100000"}, (3.0, "cgroup v2")),
        (
            "4:cpu,cpuacct:/x\n",
            {
                "cpu,cpuacct/x/cpu.cfs_quota_us": "600000",
                "cpu,cpuacct/x/cpu.cfs_period_us": "100000",
            },
            (6.0, "cgroup v1"),
        ),
        (
            "4:cpu,cpuacct:/x\n",
            {"cpu/cpu.cfs_quota_us": "600000", "cpu/cpu.cfs_period_us": "100000"},
            (6.0, "cgroup v1"),
        ),
        (
            "1:cpu:/\n0::/\n",
            {"cpu/cpu.cfs_quota_us": "-1", "cpu/cpu.cfs_period_us": "100000"},
            (None, None),
        ),
        ("1:cpu:/\n", {"cpu/cpu.cfs_quota_us": "600000"}, (None, None)),  # no period
        ("0::/\n", {"cpu.max": "100000 0\n"}, (None, None)),
        ("0::/\n", {"cpu.max": "odd\n"}, (None, None)),
        ("odd\n", {}, (None, None)),
        ("", {}, (None, None)),
    ],
)
def test_the_quota_of_the_processor_is_read_from_both_versions(
    tmp_path: Path,
    groups: str,
    files: dict[str, str],
    expected: tuple[float | None, str | None],
) -> None:
    proc, cgroup = system(tmp_path, groups, files)
    assert measure.quota_cores(proc=proc, cgroup=cgroup) == expected


def test_no_control_groups_are_no_quota(tmp_path: Path) -> None:
    assert measure.quota_cores(proc=tmp_path, cgroup=tmp_path) == (None, None)


def test_cores_are_those_of_this_process(tmp_path: Path) -> None:
    proc, cgroup = system(tmp_path, "0::/\n", {"cpu.max": "50000 100000"})
    found = measure.cpu(proc=proc, cgroup=cgroup, steps=100)
    assert found.reported == os.cpu_count()
    assert found.affinity == len(os.sched_getaffinity(0))
    assert (found.quota_cores, found.quota_from) == (0.5, "cgroup v2")
    assert found.million_steps_per_s is not None


# --- memory -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("groups", "files", "limit"),
    [
        ("0::/\n", {"memory.max": "8000000000\n"}, 8_000_000_000),
        ("0::/\n", {"memory.max": "max\n"}, None),
        ("0::/a\n", {"a/memory.max": "max", "memory.max": "5"}, 5),
        ("8:memory:/\n", {"memory/memory.limit_in_bytes": "7\n"}, 7),
        ("8:memory:/\n", {"memory/memory.limit_in_bytes": "9223372036854771712\n"}, None),
        ("", {}, None),
    ],
)
def test_the_limit_of_memory_is_read_from_both_versions(
    tmp_path: Path, groups: str, files: dict[str, str], limit: int | None
) -> None:
    proc, cgroup = system(tmp_path, groups, files)
    (proc / "meminfo").write_text("MemTotal:       1000 kB\nMemFree: 1 kB\n", encoding="utf-8")
    found = measure.memory(proc=proc, cgroup=cgroup)
    assert (found.total_bytes, found.limit_bytes) == (1_024_000, limit)


def test_memory_that_cannot_be_read_is_none(tmp_path: Path) -> None:
    assert measure.memory(proc=tmp_path, cgroup=tmp_path).total_bytes is None


def test_shared_memory_has_a_size_or_a_reason(tmp_path: Path) -> None:
    found = measure.shm(tmp_path)
    assert (found.total_bytes or 0) > 0
    assert found.problem is None
    missing = measure.shm(tmp_path / "none")
    assert missing.total_bytes is None
    assert missing.problem == f"{tmp_path}/none: No such file or directory"


# --- disk ---------------------------------------------------------------------------------------


def test_a_disk_is_read_and_nothing_stays_on_it(tmp_path: Path) -> None:
    found = measure.disk(tmp_path, mounts={"/": "ext4"}, mib=8)
    assert (found.total_bytes or 0) >= (found.free_bytes or 0) > 0
    assert found.fstype == "ext4"
    assert (found.warm_mb_per_s or 0) > 0
    assert (found.cold_mb_per_s is None) is (found.speed_problem is not None)
    assert list(tmp_path.iterdir()) == []


def test_cold_is_unknown_where_the_file_stays_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(measure, "is_cached", lambda _: True)
    cold, warm, why = measure.read_speed(tmp_path, mib=4)
    assert (cold, why) == (None, "this disk keeps files in memory")
    assert warm is not None
    monkeypatch.setattr(measure, "is_cached", lambda _: None)
    cold, _, why = measure.read_speed(tmp_path, mib=4)
    assert (cold, why) == (None, "this disk does not tell whether it has forgotten a file")


def test_speeds_are_bytes_over_seconds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measure, "is_cached", lambda _: False)
    ticks = iter([0.0, 2.0, 10.0, 10.5])
    cold, warm, why = measure.read_speed(tmp_path, mib=4, clock=lambda: next(ticks))
    assert (cold, warm, why) == (4.194304 / 2, 4.194304 / 0.5, None)


def test_a_file_in_memory_is_seen_as_such(tmp_path: Path) -> None:
    file = tmp_path / "x"
    file.write_bytes(b"x" * MIB)
    with file.open("rb") as opened:
        opened.read()
        assert measure.is_cached(opened.fileno()) in (True, None)


@pytest.mark.parametrize(("error", "cached"), [(BlockingIOError(), False), (OSError(95, ""), None)])
def test_a_disk_may_not_tell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: OSError, cached: bool | None
) -> None:
    def refuse(*_: object) -> int:
        raise error

    monkeypatch.setattr(os, "preadv", refuse)
    (tmp_path / "x").write_bytes(b"x")
    with (tmp_path / "x").open("rb") as opened:
        assert measure.is_cached(opened.fileno()) is cached


def test_a_full_disk_is_not_written_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measure, "read_speed", lambda *_, **__: pytest.fail("it was written to"))
    found = measure.disk(tmp_path, mounts={}, mib=10**9)
    assert found.cold_mb_per_s is None
    assert found.speed_problem == "less than 4000000000 MiB free to write a test file"


def test_a_folder_that_cannot_be_written_or_is_not_there_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(**_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("tempfile.TemporaryFile", refuse)
    assert measure.read_speed(tmp_path) == (None, None, f"{tmp_path}: Permission denied")
    found = measure.disk(tmp_path / "none", mounts={})
    assert found.problem == f"{tmp_path}/none: No such file or directory"


# --- score --------------------------------------------------------------------------------------


def test_the_score_is_the_best_of_its_rounds() -> None:
    # Rounds of 2, 1, 4, 4, 4, 4 and 4 s over a thousand steps.
    ticks = iter([0.0, 2.0, 0.0, 1.0, *([0.0, 4.0] * 5)])
    assert measure.score(steps=1000, clock=lambda: next(ticks)) == 0.001
    assert measure.score(steps=1, clock=lambda: 7.0) is None


# --- where things lie ---------------------------------------------------------------------------

INFO = """\
22 1 0:21 / / rw - overlay overlay rw
30 22 0:5 / /dev/shm rw - tmpfs shm rw
40 22 8:1 / /work\\040space rw,noatime shared:1 - ext4 /dev/sda1 rw
41 22 8:2 / /root/.cache rw - nfs4 box:/c rw
odd line
"""


def test_a_path_lies_on_the_nearest_mount_above_it(tmp_path: Path) -> None:
    (tmp_path / "self").mkdir()
    (tmp_path / "self/mountinfo").write_text(INFO, encoding="utf-8")
    mounts = measure.mounts(tmp_path)
    assert mounts == {"/": "overlay", "/dev/shm": "tmpfs", "/work space": "ext4",
                      "/root/.cache": "nfs4"}  # fmt: skip
    assert measure.mount_of(Path("/dev/shm/x/y"), mounts) == ("/dev/shm", "tmpfs")
    assert measure.mount_of(Path("/dev/shmx"), mounts) == ("/", "overlay")
    assert measure.mount_of(Path("/x"), {}) == (None, None)
    assert measure.mounts(tmp_path / "none") == {}


def test_a_link_lies_where_it_leads(tmp_path: Path) -> None:
    (tmp_path / "volume").mkdir()
    (tmp_path / "cache").symlink_to(tmp_path / "volume")
    mounts = {"/": "overlay", str(tmp_path / "volume"): "ext4"}
    assert measure.mount_of(tmp_path / "cache/hub", mounts)[1] == "ext4"


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"HOME": "/h"}, ["/h/.cache/huggingface", "/h/.cache/torch", "/h/.cache"]),
        ({"HOME": "/h", "XDG_CACHE_HOME": "/x"}, ["/x/huggingface", "/x/torch", "/x"]),
        ({"HOME": "/h", "HF_HOME": "/f"}, ["/f", "/h/.cache/torch", "/h/.cache"]),
        ({"HOME": "/h", "TORCH_HOME": "/t"}, ["/h/.cache/huggingface", "/t", "/h/.cache"]),
    ],
)
def test_caches_lie_where_the_libraries_look(
    environment: dict[str, str], expected: list[str]
) -> None:
    found = measure.caches(environment, {"/": "overlay"})
    assert [each.path for each in found] == expected
    assert {each.fstype for each in found} == {"overlay"}


def test_the_processor_is_called_what_the_kernel_calls_it(tmp_path: Path) -> None:
    assert measure.cpu_model(tmp_path) is None
    (tmp_path / "cpuinfo").write_text("processor : 0\nBogoMIPS : 2000\n")
    assert measure.cpu_model(tmp_path) is None  # ARM gives no name
    (tmp_path / "cpuinfo").write_text("processor\t: 0\nmodel name\t: Made-up CPU @ 2 GHz\n")
    assert measure.cpu_model(tmp_path) == "Made-up CPU @ 2 GHz"
