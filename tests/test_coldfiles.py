"""Batches read from the disk and from memory, with real files in real workers."""

from __future__ import annotations

import json
import multiprocessing
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch")
coldfiles = pytest.importorskip("costplan.profiler.coldfiles")
KIB = 1024


def files(folder: Path, count: int = 24, size: int = 64 * KIB) -> list[str]:
    """Return paths of files that lie on the disk by now."""
    paths = []
    for number in range(count):
        path = folder / f"{number}.bin"
        with path.open("wb") as file:
            file.write(random.Random(number).randbytes(size))
            os.fsync(file.fileno())  # what the disk has not got yet cannot be forgotten
        paths.append(str(path))
    return paths


class Files(torch.utils.data.Dataset):  # type: ignore[misc, name-defined]
    """One file to a sample."""

    def __init__(self, paths: list[str]) -> None:
        self.paths = paths
        self.kept: dict[int, bytes] = {}

    def __len__(self) -> int:
        return len(self.paths)

    def read(self, index: int) -> bytes:
        return Path(self.paths[index]).read_bytes()

    def __getitem__(self, index: int) -> Any:
        return torch.frombuffer(bytearray(self.read(index)), dtype=torch.uint8)


class Keeping(Files):
    """Reads each file once."""

    def read(self, index: int) -> bytes:
        if index not in self.kept:
            self.kept[index] = super().read(index)
        return self.kept[index]


class InC(Files):
    """Reads by a path of its own that Python's `open` does not see."""

    def read(self, index: int) -> bytes:
        import ctypes

        libc = ctypes.CDLL(None)
        handle = libc.open(self.paths[index].encode(), 0)
        buffer = ctypes.create_string_buffer(64 * KIB)
        count = libc.read(handle, buffer, 64 * KIB)
        libc.close(handle)
        return buffer.raw[:count]


class Failing(Files):
    def read(self, index: int) -> bytes:
        raise KeyError(index)


class Stream(torch.utils.data.IterableDataset):  # type: ignore[misc, name-defined]
    def __iter__(self) -> Any:
        return iter(range(8))


def loader(dataset: Any, **more: Any) -> Any:
    return torch.utils.data.DataLoader(dataset, batch_size=4, **more)


def read(dataset: Any, **more: Any) -> dict[str, Any]:
    found: dict[str, Any] = coldfiles.cold_and_warm(loader(dataset, **more), budget_s=20.0)
    return found


@pytest.fixture
def disk(tmp_path: Path) -> Path:
    """Give a folder on a disk that tells what is read from it; skip where there is none."""
    (path,) = files(tmp_path, count=1)
    handle = os.open(path, os.O_RDONLY)
    os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
    before = Path("/proc/self/io").read_text("utf-8")
    os.read(handle, 64 * KIB)
    os.close(handle)
    counts = [text.partition("read_bytes: ")[2].split()[0]
              for text in (before, Path("/proc/self/io").read_text("utf-8"))]  # fmt: skip
    if counts[0] == counts[1]:
        pytest.skip("nothing is read from a disk here, or the system does not tell")
    return tmp_path


@pytest.mark.parametrize("workers", [0, 2])
def test_a_batch_is_read_from_the_disk_and_then_from_memory(disk: Path, workers: int) -> None:
    found = read(Files(files(disk)), shuffle=True, num_workers=workers)
    assert (len(found["cold_s"]), len(found["warm_s"]), found["samples"]) == (6, 6, 24)
    # 24 files of 64 KiB, all of them from the disk once, none of them a second time
    assert (found["files"], found["size_bytes"], found["opened_again"]) == (24, 24 * 64 * KIB, 24)
    assert found["cold_bytes"] >= 24 * 64 * KIB
    assert found["warm_bytes"] == 0
    assert found["memory_bytes"] > 0


def test_files_in_memory_are_found_there(disk: Path) -> None:
    paths = files(disk)
    for path in paths:
        Path(path).read_bytes()
    assert read(Files(paths))["found_bytes"] == 0
    coldfiles.forget(dict.fromkeys(paths, 64 * KIB))
    assert read(Files(paths))["found_bytes"] >= 24 * 64 * KIB


def test_files_that_c_code_opens_are_taken_from_the_list_of_the_data_set(disk: Path) -> None:
    found = read(InC(files(disk)))
    assert (found["files"], found["warm_bytes"]) == (24, 0)
    assert found["cold_bytes"] >= 24 * 64 * KIB


def test_a_data_set_that_keeps_its_samples_opens_nothing_again(tmp_path: Path) -> None:
    found = read(Keeping(files(tmp_path)))
    assert (found["files"], found["opened_again"]) == (24, 0)


@pytest.mark.parametrize(
    ("made", "problem"),
    [
        (lambda folder: Stream(), coldfiles.STREAM),
        (lambda folder: Failing(files(folder)), "KeyError"),
    ],
)
def test_what_cannot_be_read_again_is_said(tmp_path: Path, made: Any, problem: str) -> None:
    assert problem in read(made(tmp_path))["problem"]


def test_its_worker_ends_with_it_also_where_a_sample_cannot_be_read(tmp_path: Path) -> None:
    before = set(multiprocessing.active_children())
    read(Failing(files(tmp_path)))
    read(Files(files(tmp_path)))
    assert set(multiprocessing.active_children()) == before


@pytest.mark.parametrize(
    ("count", "passed_s", "over"),
    [
        (3, 1.0, False), (3, 1.1, True),  # of a second
        (1, 0.6, False), (1, 0.7, True),  # three of them would take 1.8, and 2.1
        (2, 1.3, False), (2, 1.4, True),  # 1.95, and 2.1
    ],
)  # fmt: skip
def test_slow_batches_are_given_up_before_the_least_of_them(
    count: int, passed_s: float, over: bool
) -> None:
    assert coldfiles.is_over(count, passed_s, 1.0) is over


def test_a_data_set_without_files_is_left_at_once() -> None:
    found = read(torch.utils.data.TensorDataset(torch.zeros(64, 2)))
    assert (len(found["cold_s"]), found["files"]) == (1, 0)


def test_the_program_keeps_its_random_numbers_and_hears_nothing(tmp_path: Path) -> None:
    own = torch.Generator().manual_seed(7)
    made = loader(Files(files(tmp_path)), shuffle=True, generator=own)
    before = torch.get_rng_state(), random.getstate(), own.get_state()
    heard = coldfiles._OPENED.is_heard
    coldfiles.cold_and_warm(made, 20.0)
    assert torch.equal(before[0], torch.get_rng_state())
    assert before[1] == random.getstate()
    assert torch.equal(before[2], own.get_state())
    assert coldfiles._OPENED.is_heard is heard  # the hook lives and dies with the worker


def test_the_files_stay_as_they_are(tmp_path: Path) -> None:
    paths = files(tmp_path)
    before = [(Path(each).read_bytes(), Path(each).stat().st_mtime_ns) for each in paths]
    read(Files(paths))
    assert before == [(Path(each).read_bytes(), Path(each).stat().st_mtime_ns) for each in paths]


def test_only_files_opened_to_be_read_are_heard_of_and_only_while_asked(tmp_path: Path) -> None:
    # In a process of its own: a hook of this kind stays until the process ends.
    for name in ("a.bin", "code.py", "written.bin", "both.bin"):
        (tmp_path / name).write_bytes(b"a")
    done = subprocess.run(
        [sys.executable, "-c", """
import os
from costplan.profiler.coldfiles import opened, regular
open("a.bin").close()
with opened() as paths:
    open("a.bin", "rb").close()
    open("code.py", "rb").close()
    open("written.bin", "ab").close()
    os.close(os.open("both.bin", os.O_RDWR))
    open("/proc/self/io", "rb").close()
open("code.py").close()
print(regular(paths))
"""],
        cwd=tmp_path, capture_output=True, text=True, check=True, timeout=60,
    )  # fmt: skip
    assert done.stdout.strip() == "{'a.bin': 1}"


def test_batches_are_chosen_from_all_over_the_epoch_and_always_the_same() -> None:
    made = loader(range(4_000))
    chosen = coldfiles.some_batches(made, 5.0)
    assert chosen == coldfiles.some_batches(made, 5.0)
    assert len(chosen) == coldfiles.MOST_BATCHES == 32
    # of 1,000 batches in order, not the first 32
    assert max(batch[0] for batch in chosen) > 2_000
    assert all(batch == list(range(batch[0], batch[0] + 4)) for batch in chosen)


# --- under the command ----------------------------------------------------------------------------

LOOP = """\
import os

import torch
from torch.utils.data import DataLoader, Dataset


class Files(Dataset):
    paths = sorted(each.path for each in os.scandir("files"))

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, index):
        with open(self.paths[index], "rb") as file:
            return torch.frombuffer(bytearray(file.read()), dtype=torch.uint8)[:64].float() / 255


torch.set_num_threads(1)
net = torch.nn.Linear(64, 10)
optimizer = torch.optim.SGD(net.parameters(), 1e-3)
while True:
    for batch in DataLoader(Files(), batch_size=4, shuffle=True):
        net(batch).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
"""


@pytest.mark.slow
def test_the_profile_of_a_loop_that_reads_files_tells_both(disk: Path) -> None:
    (disk / "files").mkdir()
    files(disk / "files", count=64)
    (disk / "loop.py").write_text(LOOP)
    done = subprocess.run(
        [sys.executable, "-m", "costplan", "profile", "--budget", "8", "--format", "json", "--",
         sys.executable, "-W", "ignore", "loop.py"],
        cwd=disk, capture_output=True, text=True, timeout=120, check=False,
        stdin=subprocess.DEVNULL,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    body = json.loads(done.stdout)
    storage = body["storage"]
    assert (storage["why_unknown"], storage["batches"], storage["fits"]) == (None, 16, True)
    # 64 files of 64 KiB, all of them read many times by then
    assert storage["dataset_gb"] == pytest.approx(64 * 64 * KIB / 1e9)
    assert storage["disk_share"] == 0.0
    assert body["program_exit_code"] == 0
    assert sorted(each.name for each in (disk / "files").iterdir()) == sorted(
        f"{number}.bin" for number in range(64)
    )
