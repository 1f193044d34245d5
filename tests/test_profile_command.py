"""`costplan profile` on real loops: the word, the step, a clean end, files left as they were."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

if TYPE_CHECKING:
    from collections.abc import Sequence

pytestmark = [pytest.mark.torch, pytest.mark.slow]
pytest.importorskip("torch")

LOOP = """\
import os
import sys
import time

import torch
from torch.utils.data import DataLoader, Dataset

KIND = sys.argv[1]


class Made(Dataset):
    def __len__(self):
        return 64

    def __getitem__(self, index):
        if KIND in ("loader", "trial"):
            time.sleep(0.004)
        return torch.randn(64), index % 10


def train():
    torch.set_num_threads(1)
    layers = [torch.nn.Linear(64, 64) for _ in range(60 if KIND == "host" else 1)]
    net = torch.nn.Sequential(*layers, torch.nn.Linear(64, 10))
    optimizer = torch.optim.SGD(net.parameters(), 1e-3)
    if KIND == "trial":
        trial = torch.optim.SGD([torch.nn.Parameter(torch.ones(4))], 1e-3)
        for _ in range(20):
            trial.step()
            time.sleep(0.01)
    for epoch in range(10_000):
        for number, (image, label) in enumerate(DataLoader(Made(), batch_size=8)):
            loss = torch.nn.functional.cross_entropy(net(image), label) / 2
            loss.backward()
            if KIND == "crash" and epoch == 1:
                raise ValueError("the program's own crash")
            if number % 2:
                optimizer.step()
                optimizer.zero_grad()
        if KIND == "rotate" and epoch == 0:
            os.remove("yesterday.pt")
        if len(sys.argv) > 2:
            torch.save(net.state_dict(), sys.argv[2])


if __name__ == "__main__":
    train()
"""
"""`python loop.py KIND [SAVE]`: slow where its kind says, two batches to an optimizer step."""


PYTHON = (sys.executable, "-W", "ignore")


class Done(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def body(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.out)
        return found


def profile(where: Path, *words: str, budget: str = "20", start: Sequence[str] = PYTHON) -> Done:
    loop = where.parent / f"{where.name}-loop.py"
    loop.write_text(LOOP)
    done = subprocess.run(
        [sys.executable, "-m", "costplan", "profile", "--budget", budget, "--format", "json",
         "--", *start, str(loop), *words],
        cwd=where, capture_output=True, text=True, timeout=300, check=False,
        stdin=subprocess.DEVNULL,
    )  # fmt: skip
    return Done(done.returncode, done.stdout, done.stderr)


def test_a_slow_loader_is_called_one_and_what_it_costs_is_measured(tmp_path: Path) -> None:
    done = profile(tmp_path, "loader")
    assert done.code == 0, done.err
    body = done.body
    assert body["verdict"] == "dataloader"
    assert (body["batch"], body["accumulation"], body["program_exit_code"]) == (8, 2, 0)
    free = next(each for each in body["what_if"] if each["change"] == "a loader that costs nothing")
    # 8 samples x 4 ms of sleep are gone: the step of at least 32 ms becomes one of a few
    assert body["step_s"]["expected"] > 0.032
    assert free["step_s"] < body["step_s"]["expected"] - 0.025


def test_steps_before_the_loader_comes_are_forgotten(tmp_path: Path) -> None:
    done = profile(tmp_path, "trial")
    assert done.body["verdict"] == "dataloader"
    assert {"real", "replay"} <= {each["name"] for each in done.body["bursts"]}
    assert done.body["step_s"]["expected"] == pytest.approx(8 * 0.004, rel=0.5)


def test_a_chain_of_small_layers_is_the_host(tmp_path: Path) -> None:
    done = profile(tmp_path, "host")
    assert done.code == 0, done.err
    assert done.body["verdict"] in ("host", "mixed", "inconclusive")
    assert done.body["verdict"] != "dataloader"
    # Twice the batch comes last, and not where the machine was too busy for the time to last.
    made = {each["name"] for each in done.body["bursts"]}
    late = "left out for lack of time: twice the batch" in " ".join(done.body["notices"])
    assert made == {"real", "replay", "half"} | (set() if late else {"double"})


def test_yesterdays_checkpoint_is_as_it_was(tmp_path: Path) -> None:
    kept = tmp_path / "last.pt"
    kept.write_bytes(b"yesterday")
    before = kept.stat()
    done = profile(tmp_path, "plain", "last.pt", budget="8")
    assert done.code == 0, done.err
    after = kept.stat()
    assert kept.read_bytes() == b"yesterday"
    assert (after.st_mtime_ns, after.st_ino) == (before.st_mtime_ns, before.st_ino)
    assert [Path(each).name for each in done.body["redirected"]] == ["last.pt"]
    assert [path.name for path in tmp_path.iterdir()] == ["last.pt"]  # nothing of ours is left


def test_a_checkpoint_that_the_program_deletes_stays_and_is_named(tmp_path: Path) -> None:
    kept = tmp_path / "yesterday.pt"
    kept.write_bytes(b"yesterday")
    done = profile(tmp_path, "rotate", budget="8")
    assert done.code == 0, done.err
    assert kept.read_bytes() == b"yesterday"
    assert [Path(each).name for each in done.body["redirected"]] == ["yesterday.pt"]


def test_a_program_that_keeps_going_is_only_measured_and_trains_to_its_end(tmp_path: Path) -> None:
    (tmp_path / "loop.py").write_text(LOOP.replace("range(10_000)", "range(200)"))
    done = subprocess.run(
        [sys.executable, "-m", "costplan", "profile", "--keep-going", "--budget", "2", "--format",
         "json", "--", sys.executable, "-W", "ignore", "loop.py", "plain", "last.pt"],
        cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    body = json.loads(done.stdout)
    assert {each["name"] for each in body["bursts"]} == {"real"}
    assert (tmp_path / "last.pt").stat().st_size > 1_000  # its weights are real, and kept


def test_what_a_script_does_after_the_training_does_not_run(tmp_path: Path) -> None:
    script = tmp_path / "train.sh"
    script.write_text(f'#!/bin/sh\n"{sys.executable}" -W ignore "$@" || true\ntouch uploaded\n')
    script.chmod(0o755)
    done = profile(tmp_path, "plain", start=[str(script)], budget="4")
    assert done.code == 0, done.err
    assert done.body["program_exit_code"] == 0
    assert any("train.sh started the program" in each for each in done.body["notices"])
    assert not (tmp_path / "uploaded").exists()


WATCHED = """
import torch
from torch.optim import optimizer
from torch.utils.data import DataLoader
from torch.utils.data.dataloader import _BaseDataLoaderIter

net = torch.nn.Linear(4, 1)
adam = torch.optim.Adam(net.parameters())
own = [_BaseDataLoaderIter.__next__.__qualname__, DataLoader._get_iterator.__qualname__]
print("at first", own, len(optimizer._global_optimizer_post_hooks))
for _ in range(1_000):
    for batch in DataLoader(torch.ones(400, 4), batch_size=2):
        net(batch).mean().backward()
        adam.step()
    if not optimizer._global_optimizer_post_hooks:
        break
own = [_BaseDataLoaderIter.__next__.__qualname__, DataLoader._get_iterator.__qualname__]
print("at last", own, len(optimizer._global_optimizer_post_hooks))
"""
"""Trains until the optimizer has no hooks; says what lies on it and on the loader."""


def test_a_program_that_keeps_going_loses_its_hooks(tmp_path: Path) -> None:
    (tmp_path / "loop.py").write_text(WATCHED)
    done = subprocess.run(
        [sys.executable, "-m", "costplan", "profile", "--keep-going", "--budget", "1", "--",
         sys.executable, "-W", "ignore", "loop.py"],
        cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    said = [line for line in done.stderr.splitlines() if line.startswith("at ")]
    hooked = "['on_loader.<locals>.next_batch', 'on_loader.<locals>.get_iterator']"
    own = "['_BaseDataLoaderIter.__next__', 'DataLoader._get_iterator']"
    assert said == [f"at first {hooked} 1", f"at last {own} 0"]


def test_a_program_that_crashes_by_itself_is_told_as_such(tmp_path: Path) -> None:
    done = profile(tmp_path, "crash")
    assert done.code == 3
    assert "the program's own crash" in done.err


def test_a_program_that_half_a_batch_ends_is_answered_by_what_came_before(tmp_path: Path) -> None:
    (tmp_path / "loop.py").write_text(LOOP.replace("net(image)", "net(image.view(8, 64))"))
    done = subprocess.run(
        [sys.executable, "-m", "costplan", "profile", "--budget", "8", "--format", "json", "--",
         sys.executable, "-W", "ignore", "loop.py", "loader"],
        cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    body = json.loads(done.stdout)
    assert (body["verdict"], body["program_exit_code"]) == ("dataloader", None)
    assert {"real", "replay"} <= {each["name"] for each in body["bursts"]}
    assert "half" not in {each["name"] for each in body["bursts"]}
    assert body["notices"][0].startswith(
        "the program fails with half the batch: RuntimeError: shape '[8, 64]' is invalid"
    )


def test_a_program_without_training_is_unknown(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "costplan", "profile", "--", sys.executable, "-c", "print(1)"],
        cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 3
    assert "no steps of training were seen" in done.stderr


RANKS = """\
import torch, torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

dist.init_process_group("gloo")
torch.set_num_threads(1)
data = TensorDataset(torch.randn(256, 32), torch.randint(0, 10, (256,)))
net = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(32, 10))
optimizer = torch.optim.SGD(net.parameters(), 1e-3)
for epoch in range(100_000):
    for image, label in DataLoader(data, batch_size=16, sampler=DistributedSampler(data)):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(net(image), label).backward()
        optimizer.step()
"""


def test_two_ranks_change_and_end_together(tmp_path: Path) -> None:
    (tmp_path / "ranks.py").write_text(RANKS)
    done = subprocess.run(
        [sys.executable, "-m", "costplan", "profile", "--budget", "6", "--format", "json", "--",
         sys.executable, "-m", "torch.distributed.run", "--nproc_per_node", "2", "ranks.py"],
        cwd=tmp_path, capture_output=True, text=True, timeout=200, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    body = json.loads(done.stdout)
    assert (body["ranks"], body["batch"], body["program_exit_code"]) == (2, 16, 0)
    assert "ChildFailedError" not in done.stderr
