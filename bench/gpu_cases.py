"""Loops with a known bottleneck each, for a machine with CUDA, and what a profile must say of them.

Run by `scripts/check-gpu`. `torch.cuda._sleep` keeps the device busy for as long as it is told to,
so that the truth is known without measuring it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

LOOP: Final = '''\
"""python loop.py KIND [STEPS]: a plain training loop, slow where its kind says."""

import sys
import time

import torch
from torch.utils.data import DataLoader, Dataset

KIND = sys.argv[1]
STEPS = int(sys.argv[2]) if len(sys.argv) > 2 else 10**9
BATCH = 16
ON_GPU = torch.cuda.is_available()
DEVICE = "cuda" if ON_GPU else "cpu"
SCALE = 1 if ON_GPU else 64  # without a GPU the loop only has to run
KEPT = [torch.randn(64) for _ in range(1024)]
LARGE = torch.randn(BATCH, 4 * 2**20 // SCALE) if KIND == "copy" else None  # 256 MiB, pageable


class Made(Dataset):
    def __len__(self):
        return len(KEPT)

    def __getitem__(self, index):
        if KIND == "loader":
            time.sleep(0.002)
        return KEPT[index], index % 10


def collate(items):
    image = torch.stack([each for each, _ in items])
    label = torch.tensor([each for _, each in items])
    return (image, label) if LARGE is None else (image, label, LARGE)


def spin(seconds):
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        pass


def device_work(seconds):
    if ON_GPU:
        torch.cuda._sleep(int(seconds * CYCLES_PER_S))
    else:
        spin(seconds)


def cycles_per_s():
    if not ON_GPU:
        return 0.0
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    torch.cuda._sleep(10**7)  # wakes the clock up
    begin.record()
    torch.cuda._sleep(10**8)
    end.record()
    torch.cuda.synchronize()
    return 10**8 / (begin.elapsed_time(end) / 1000)


def room_bytes():
    return torch.cuda.mem_get_info()[0] if ON_GPU else 2**20


def train():
    torch.set_num_threads(1)
    net = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.Linear(64, 10)).to(DEVICE)
    optimizer = torch.optim.SGD(net.parameters(), 1e-3)
    counter = torch.zeros(16, device=DEVICE)
    share = {"room": 0.60, "cliff": 0.40}.get(KIND, 0.0)
    room = room_bytes()
    steps = 0
    while True:
        for image, label, *more in DataLoader(Made(), batch_size=BATCH, collate_fn=collate):
            image, label = image.to(DEVICE), label.to(DEVICE)
            size = len(image) / BATCH
            more = [each.to(DEVICE) for each in more]
            if share:
                # `room` grows with the batch; of `cliff` nothing tells that twice will not fit.
                grown = size if KIND == "room" else 1.0 if size <= 1 else 3.0
                held = torch.empty(int(share * room * grown), dtype=torch.uint8, device=DEVICE)
                del held
            loss = torch.nn.functional.cross_entropy(net(image), label)
            if KIND in ("gpu", "room", "cliff"):
                device_work(0.020 * size)
            if KIND == "launch":
                for _ in range(3000 // SCALE):
                    counter.add_(1)
            if KIND == "sync":
                device_work(0.010)
                loss.item()
                spin(0.014)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            steps += 1
            if steps >= STEPS:
                return


CYCLES_PER_S = cycles_per_s()
if __name__ == "__main__":
    train()
'''
ALLOWED: Final = 0.15
"""Of a time that `_sleep` sets: the clock changes while the loop runs."""

Body = dict[str, Any]


class Case(NamedTuple):
    """One kind of the loop, and what its profile must show."""

    kind: str
    budget_s: int
    why: str
    passes: Callable[[Body], bool]
    figures: Callable[[Body], str]
    words: tuple[str, ...] = ()
    """Of the command line, beside the budget."""


def step_ms(body: Body) -> float:
    """Return the mean step in milliseconds."""
    return 1e3 * float(body["step_s"]["expected"])


def changed_ms(body: Body, change: str) -> float | None:
    """Return the step that a change would give in milliseconds."""
    found = [each["step_s"] for each in body["what_if"] if each["change"].startswith(change)]
    return 1e3 * float(found[0]) if found else None


def near(value: float | None, expected: float) -> bool:
    """Return whether a time is what the loop sets."""
    return value is not None and abs(value - expected) <= ALLOWED * expected


def notes(body: Body, word: str) -> list[str]:
    """Return the notices that hold a word."""
    return [text for text in body["notices"] if word in text]


def held_ms(body: Body) -> float | None:
    """Return for how long calls hold the host in a step."""
    return None if body["blocked_s"] is None else 1e3 * float(body["blocked_s"])


def busy_s(body: Body) -> float:
    """Return for how long the device works in a traced step."""
    return float(body["trace"]["busy_share"] * body["trace"]["step_s"])


def traced(body: Body, shows: Callable[[Body], bool]) -> bool:
    """Return whether a trace shows what it shall, or the answer says that it could not be had.

    Some containers refuse the tracer the device's work.
    """
    if body["trace"] is None or body["trace"]["busy_share"] is None:
        return bool(notes(body, "tracer saw") or notes(body, "no trace was made"))
    return shows(body)


def trace(body: Body) -> str:
    """Return what was traced, or why nothing was."""
    if body["trace"] is None or body["trace"]["busy_share"] is None:
        return f"no trace: {notes(body, 'trace')}"
    kinds = [each["name"] for each in body["trace"]["kernel_classes"] or ()]
    return (
        f"traced: busy {body['trace']['busy_share']:.0%}, "
        f"{body['trace']['launches_per_step']} launches a step, {kinds}"
    )


def queue(body: Body) -> str:
    """Return what the queue and the busy share say."""
    told = {each["name"]: each["value"] for each in body["details"]["evidence"]}
    return "; ".join(told[name] for name in ("busy", "queue") if name in told)


CASES: Final = (
    Case("gpu", 20, "20 ms of _sleep a step",
         lambda body: body["verdict"] == "gpu" and near(step_ms(body), 20)
         and traced(body, lambda body: near(1e3 * busy_s(body), 20)),
         lambda body: f"step {step_ms(body):.1f} ms; {queue(body)}; {trace(body)}",
         ("--kernels",)),
    Case("launch", 20, "3,000 kernels of 16 numbers a step",
         lambda body: body["verdict"] == "host"
         and traced(body, lambda body: body["cause"] == "launches"),
         lambda body: f"step {step_ms(body):.1f} ms, cause {body['cause']}; {queue(body)}; "
         f"{trace(body)}",
         ("--kernels",)),
    Case("sync", 15, "10 ms of _sleep, .item(), 14 ms of host",
         lambda body: body["verdict"] in ("host", "mixed")
         and body["cause"] == "synchronising calls" and near(step_ms(body), 24)
         and near(held_ms(body), 10),
         lambda body: f"step {step_ms(body):.1f} ms, cause {body['cause']}, host held "
         f"{held_ms(body)} ms; {queue(body)}"),
    Case("loader", 15, "16 x 2 ms of sleep in __getitem__",
         lambda body: body["verdict"] == "dataloader" and step_ms(body) >= 32
         and (changed_ms(body, "a loader that costs nothing") or 99) < 16,
         lambda body: f"step {step_ms(body):.1f} ms, replayed "
         f"{changed_ms(body, 'a loader that costs nothing')}"),
    Case("copy", 15, "256 MiB of pageable memory to the device a step",
         lambda body: body["cause"] == "host-to-device copy"
         and (changed_ms(body, "a batch that is on the device") or 1e9) < step_ms(body) / 2,
         lambda body: f"step {step_ms(body):.1f} ms, on the device already "
         f"{changed_ms(body, 'a batch that is on the device')}"),
    Case("room", 10, "60 % of the memory for the batch, 120 % for twice of it: not to be tried",
         lambda body: bool(notes(body, "it would need")) and body["program_exit_code"] == 0,
         lambda body: f"peak {body['peak_memory_gb']} GB; {notes(body, 'it would need')}"),
    Case("cliff", 10, "40 % of the memory for the batch, 120 % for twice of it: tried",
         lambda body: bool(notes(body, "twice the batch does not fit"))
         and body["program_exit_code"] is None,
         lambda body: f"{notes(body, 'twice')}"),
)  # fmt: skip
