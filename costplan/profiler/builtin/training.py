"""What the builtin programs share: flags, a folder for data, the loop, the search for a batch.

An ordinary training program: it knows nothing of the profiler that may have started it.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import json
import os
import resource
import signal
import sys
import tempfile
import time
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import torch
from torch.utils.data import DataLoader

from costplan.box import measure
from costplan.profiler.builtin.fitting import (
    LONGEST_STEP_S,
    MOST,
    MOST_ON_CPU,
    Fit,
    HostMemory,
    largest,
)
from costplan.profiler.builtin.names import BUILTINS, PRECISIONS, REFUSAL

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    Step = Callable[[Any], Any]

TOLD_EVERY: Final = 100
"""Steps from one line about the loss to the next: reading it makes the program wait."""
TRIED_STEPS: Final = 2
"""Of a batch: the optimizer makes its state in the first, so that the second one needs more."""
BYTES_PER_MB: Final = 1e6
REFUSED: Final = 2
SIGNALLED: Final = 128
"""Exit code of a program that a signal ended, less the number of the signal."""


class Task(NamedTuple):
    """One builtin: its model, its data, and what is learned."""

    net: Callable[[], Any]
    optimizer: Callable[[Any], Any]
    """Told the parameters."""
    loss: Callable[[Any, Any], Any]
    """Told the model and a batch on its device."""
    example: Callable[[int], Any]
    """Told a number of samples; a batch of random values."""
    make: Callable[[str], tuple[str, int]]
    """Told a folder; makes the data in it, returns what it is and its bytes."""
    data: Callable[[str], Any]
    """Told that folder; the data set."""
    collate: Callable[[Any], Any] | None = None


def main(tasks: Mapping[str, Task], argv: Sequence[str] | None = None) -> int:
    """Train one of `tasks` as the command line says; return the exit code."""
    asked = _asked(tasks, argv)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    if device.type == "cpu" and asked.precision in ("tf32", "amp"):
        return _refuse(
            f"--precision {asked.precision}: needs a CUDA device, and torch sees none",
            hint="fp32 and bf16 run on a CPU too", folder=asked.folder,
        )  # fmt: skip
    if asked.precision == "tf32":
        torch.set_float32_matmul_precision("high")
    # Torch lets convolutions use TF32 by default.
    torch.backends.cudnn.allow_tf32 = asked.precision == "tf32"
    task = tasks[asked.name]
    step = stepper(task, device, asked.precision)
    if asked.fit:
        found = fit(task, step, device)
        sys.stdout.write(json.dumps(found._asdict()) + "\n")
        return 0
    # Ended from outside it removes its data as well.
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(SIGNALLED + number))
    with contextlib.ExitStack() as stack:
        folder = asked.folder or stack.enter_context(
            tempfile.TemporaryDirectory(prefix="costplan-builtin-", ignore_cleanup_errors=True)
        )
        try:
            _train(task, step, device, asked, folder)
        except KeyboardInterrupt:
            return SIGNALLED + signal.SIGINT
    return 0


def _asked(tasks: Mapping[str, Task], argv: Sequence[str] | None) -> argparse.Namespace:
    reader = argparse.ArgumentParser(description="Train a small model on data made on the spot.")
    reader.add_argument("name", choices=list(tasks))
    reader.add_argument("--batch", type=int, help="samples of a batch")
    reader.add_argument("--workers", type=int, default=0, help="processes that load (0)")
    reader.add_argument("--precision", choices=PRECISIONS, default="fp32")
    reader.add_argument("--folder", help="where the data is made and left (a temporary folder)")
    reader.add_argument("--steps", type=int, help="ends after so many (never)")
    reader.add_argument("--fit", action="store_true", help="print the largest batch that fits")
    asked = reader.parse_args(argv)
    asked.batch = asked.batch or BUILTINS[asked.name].batch
    return asked


def stepper(task: Task, device: Any, precision: str) -> Step:
    """Return one training step: told a batch on the host, it returns the loss on the device."""
    net = task.net().to(device).train()
    optimizer = task.optimizer(net.parameters())
    scaler = _scaler() if precision == "amp" else None
    half = torch.float16 if precision == "amp" else torch.bfloat16
    mixed = torch.autocast(device.type, dtype=half, enabled=precision in ("amp", "bf16"))

    def step(batch: Any) -> Any:
        moved = tuple(each.to(device, non_blocking=True) for each in batch)
        optimizer.zero_grad(set_to_none=True)
        with mixed:
            loss = task.loss(net, moved)
        if scaler is None:
            loss.backward()
            optimizer.step()
        else:
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
        return loss.detach()

    return step


def _scaler() -> Any:
    made = getattr(torch.amp, "GradScaler", None)  # under this name since torch 2.3
    return torch.cuda.amp.GradScaler() if made is None else made("cuda")


def _train(task: Task, step: Step, device: Any, asked: argparse.Namespace, folder: str) -> None:
    before_s = time.perf_counter()
    what, size_bytes = task.make(folder)
    took_s = time.perf_counter() - before_s
    _tell(f"{what}: {size_bytes / BYTES_PER_MB:.0f} MB below {folder}, made in {took_s:.1f} s")
    loader = DataLoader(
        task.data(folder), batch_size=asked.batch, shuffle=True, drop_last=True,
        num_workers=asked.workers, collate_fn=task.collate, pin_memory=device.type == "cuda",
    )  # fmt: skip
    done = 0
    while True:
        for batch in loader:
            loss = step(batch)
            done += 1
            if done % TOLD_EVERY == 0:
                _tell(f"step {done}: loss {float(loss):.4g}")
            if done == asked.steps:
                return


def fit(task: Task, step: Step, device: Any) -> Fit:
    """Return the largest batch that fits into the memory of the device, by training with it."""
    if device.type == "cuda":
        return largest(lambda batch: _why_not_on_cuda(task, step, batch), most=MOST)
    host, before_bytes = HostMemory(_free_bytes()), _peak_bytes()
    slow = ""

    def why_not(batch: int) -> str:
        nonlocal slow
        why = slow or host.why_not(batch)
        if why:
            return why
        before_s = time.perf_counter()
        _try(task, step, batch)
        step_s = (time.perf_counter() - before_s) / TRIED_STEPS
        if step_s > LONGEST_STEP_S:
            slow = f"a step of {batch} takes {step_s:.1f} s, and no longer ones are tried on a CPU"
        host.taken_bytes = _peak_bytes() - before_bytes
        return ""

    return largest(why_not, most=MOST_ON_CPU)


def _why_not_on_cuda(task: Task, step: Step, batch: int) -> str:
    """Return how the device refused a batch, or nothing; its memory is free again."""
    why = ""
    try:
        _try(task, step, batch)
        torch.cuda.synchronize()
    except RuntimeError as error:
        why = str(error).splitlines()[0]
        if batch == 1 and "out of memory" not in why:
            raise  # something else is wrong
    # Here, not above: the error held the frames, and they the tensors.
    gc.collect()
    torch.cuda.empty_cache()
    return why and f"{batch} did not fit: {why}"


def _try(task: Task, step: Step, batch: int) -> None:
    example = task.example(batch)
    for _ in range(TRIED_STEPS):
        float(step(example))


def _peak_bytes() -> int:
    """Return the most memory that this process has had."""
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024


def _free_bytes() -> int | None:
    """Return the main memory that is free, at most the limit on it; None where nobody tells."""
    free = measure.memory_available()
    limit = measure.memory().limit_bytes
    known = [each for each in (free, limit) if each is not None]
    return min(known, default=None)


def _refuse(error: str, *, hint: str, folder: str | None) -> int:
    """Say why nothing is trained, to who started this if it gave a folder; return the exit code."""
    if folder is None:
        _tell(f"error: {error}\nhint: {hint}")
    else:
        with open(os.path.join(folder, REFUSAL), "w", encoding="utf-8") as file:
            json.dump({"error": error, "hint": hint}, file)
    return REFUSED


def _tell(text: str) -> None:
    sys.stderr.write(f"{text}\n")
