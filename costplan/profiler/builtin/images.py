"""An image classifier: `python -m costplan.profiler.builtin.images resnet18 --batch 32`.

Photos are read, decoded, cropped and mirrored on the CPU, by as many workers as are asked for.
"""

from __future__ import annotations

import sys
from typing import Any, Final

import torch

from costplan.profiler.builtin import pictures, resnet, training

SIZE: Final = 224
LEARNING_RATE, MOMENTUM, WEIGHT_DECAY = 0.1, 0.9, 1e-4
"""He et al. 2016, section 3.4."""


def optimizer(parameters: Any) -> Any:
    """Return plain gradient descent with momentum."""
    return torch.optim.SGD(
        parameters, LEARNING_RATE, momentum=MOMENTUM, weight_decay=WEIGHT_DECAY
    )  # fmt: skip


def loss(net: Any, batch: Any) -> Any:
    """Return the cross entropy of the classes."""
    image, label = batch
    return torch.nn.functional.cross_entropy(net(image), label)


def example(count: int) -> Any:
    """Return random images and classes."""
    return torch.randn(count, 3, SIZE, SIZE), torch.randint(resnet.CLASSES, (count,))


def make(folder: str) -> tuple[str, int]:
    """Make the photos."""
    return pictures.described(), pictures.make(folder)


def data(folder: str) -> pictures.Photos:
    """Return the photos as a data set."""
    return pictures.Photos(folder, classes=resnet.CLASSES, size=SIZE)


def task(name: str) -> training.Task:
    """Return one of the classifiers."""
    return training.Task(lambda: resnet.resnet(name), optimizer, loss, example, make, data)


if __name__ == "__main__":
    sys.exit(training.main({name: task(name) for name in ("resnet18", "resnet50")}))
