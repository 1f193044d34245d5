"""A language model: `python -m costplan.profiler.builtin.tokens gpt-mini --batch 32`.

Its text is a file of random tokens, mapped into memory and cut into windows.
"""

from __future__ import annotations

import os
import sys
from typing import Any, Final

import torch
from torch.utils.data import Dataset

from costplan.profiler.builtin import gpt, pictures, training

TOKENS: Final = 16_000_000
BYTES_PER_TOKEN: Final = 2
FILE: Final = "tokens.bin"
LEARNING_RATE, BETAS, WEIGHT_DECAY = 6e-4, (0.9, 0.95), 0.1
"""Brown et al. 2020 (GPT-3), table 2.1 and appendix B."""


class Windows(Dataset):
    """Windows of `context` tokens, each with the tokens that follow."""

    def __init__(self, folder: str, context: int) -> None:
        self.path, self.context = os.path.join(folder, FILE), context
        self.count = os.path.getsize(self.path) // BYTES_PER_TOKEN
        self._stream: Any = None

    def __len__(self) -> int:
        return (self.count - 1) // self.context

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        """Return `context` ids, and the same one place further."""
        if self._stream is None:  # in each worker by itself
            self._stream = torch.from_file(self.path, size=self.count, dtype=torch.int16)
        first = index * self.context
        # Kept in 16 bits without a sign: ids above 32,767 come back negative.
        window = self._stream[first : first + self.context + 1].long() & 0xFFFF
        return window[:-1], window[1:]


def make(folder: str, shape: gpt.Shape, count: int = TOKENS) -> tuple[str, int]:
    """Make the file of tokens."""
    maker = torch.Generator().manual_seed(0)
    ids = torch.randint(shape.vocabulary, (count,), dtype=torch.int32, generator=maker)
    with open(os.path.join(folder, FILE), "wb") as file:
        file.write(pictures.raw(ids.to(torch.int16)))
    return f"{count:,} random tokens", count * BYTES_PER_TOKEN


def optimizer(parameters: Any) -> Any:
    """Return AdamW."""
    return torch.optim.AdamW(parameters, LEARNING_RATE, betas=BETAS, weight_decay=WEIGHT_DECAY)


def loss(net: Any, batch: Any) -> Any:
    """Return the cross entropy of the next token."""
    ids, following = batch
    scores = net(ids)
    return torch.nn.functional.cross_entropy(scores.flatten(0, 1), following.flatten())


def task(name: str) -> training.Task:
    """Return one of the language models."""
    shape = gpt.SHAPES[name]

    def example(count: int) -> Any:
        ids = torch.randint(shape.vocabulary, (count, shape.context + 1))
        return ids[:, :-1], ids[:, 1:]

    return training.Task(
        lambda: gpt.Gpt(shape), optimizer, loss, example, lambda folder: make(folder, shape),
        lambda folder: Windows(folder, shape.context),
    )  # fmt: skip


if __name__ == "__main__":
    sys.exit(training.main({name: task(name) for name in gpt.SHAPES}))
