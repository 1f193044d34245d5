"""`costplan profile` on loops that load by themselves: what is excluded, and what only bounded."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.torch, pytest.mark.slow]
pytest.importorskip("torch")

LOOP = """\
import sys
import time

import torch

SLOW, FORM = float(sys.argv[1]), sys.argv[2]
torch.set_num_threads(1)
net = torch.nn.Sequential(*[torch.nn.Linear(384, 384) for _ in range(8)])
optimizer = torch.optim.SGD(net.parameters(), 1e-3)
kept = torch.randn(256, 384)


def load():
    if SLOW:
        time.sleep(SLOW)
    return kept


def generated():
    while True:
        yield load()


if FORM == "generator":
    for batch in generated():
        net(batch).mean().backward()
        optimizer.step()
        optimizer.zero_grad()
else:
    batch = load()
    while True:
        for _ in range(2):
            loss = net(batch).mean()
            batch = load()
            loss.backward()
        optimizer.step()
        optimizer.zero_grad()
"""
"""`python loop.py SECONDS FORM`: what a batch takes; from a generator, or fetched beside a step."""


def profiled(where: Path, *words: str) -> dict[str, Any]:
    (where / "loop.py").write_text(LOOP)
    done = subprocess.run(
        [sys.executable, "-m", "costplan", "profile", "--budget", "4", "--format", "json", "--",
         sys.executable, "-W", "ignore", "loop.py", *words],
        cwd=where, capture_output=True, text=True, timeout=120, check=False,
        stdin=subprocess.DEVNULL,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    body: dict[str, Any] = json.loads(done.stdout)
    return body


@pytest.mark.parametrize("form", ["generator", "between"])
def test_a_slow_function_of_its_own_is_bounded_and_never_called_the_loader(
    tmp_path: Path, form: str
) -> None:
    body = profiled(tmp_path, "0.03", form)
    assert (body["verdict"], body["program_exit_code"]) == ("inconclusive", 0)
    assert body["details"]["why"].startswith("dataloader or host: own loading and the like take")
    loads_s = 0.03 * (1 if form == "generator" else 2)
    (burst,) = {each["name"] for each in body["bursts"]}
    assert burst == "real"
    outside_s = [each for burst in body["bursts"] for each in burst["outside_s"]]
    assert outside_s
    assert min(outside_s) >= loads_s  # a sleep is never shorter: the bound holds for each step


@pytest.mark.parametrize("form", ["generator", "between"])
def test_a_fast_one_is_excluded(tmp_path: Path, form: str) -> None:
    body = profiled(tmp_path, "0", form)
    assert body["details"]["why"].startswith("not the loader, which takes at most")
    assert body["program_exit_code"] == 0
