"""ResNet-18 and ResNet-50 (He et al., Deep Residual Learning, CVPR 2016, table 1).

The bottleneck has its stride in the 3 x 3 convolution, as is usual since (ResNet v1.5).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import torch
from torch import nn

if TYPE_CHECKING:
    from collections.abc import Callable

CLASSES: Final = 1_000
WIDTHS: Final = (64, 128, 256, 512)


def _conv(inside: int, outside: int, size: int, stride: int = 1) -> list[Any]:
    """Return a convolution that keeps the picture's size, and its normalisation."""
    conv = nn.Conv2d(inside, outside, size, stride=stride, padding=size // 2, bias=False)
    return [conv, nn.BatchNorm2d(outside)]


class Residual(nn.Module):
    """A chain of convolutions added to what went in, cut down where the shapes differ."""

    def __init__(self, chain: list[Any], inside: int, outside: int, stride: int) -> None:
        super().__init__()
        self.chain = nn.Sequential(*chain)
        same = inside == outside and stride == 1
        self.short = nn.Sequential(*([] if same else _conv(inside, outside, 1, stride)))

    def forward(self, image: Any) -> Any:
        """Return features of `outside` channels."""
        return nn.functional.relu(self.chain(image) + self.short(image))


def basic(inside: int, width: int, stride: int) -> Residual:
    """Return two 3 x 3 convolutions: the block of ResNet-18."""
    chain = [*_conv(inside, width, 3, stride), nn.ReLU(), *_conv(width, width, 3)]
    return Residual(chain, inside, width, stride)


def bottleneck(inside: int, width: int, stride: int) -> Residual:
    """Return 1 x 1, 3 x 3 and 1 x 1 convolutions, four times as wide at the end: ResNet-50."""
    chain = [
        *_conv(inside, width, 1), nn.ReLU(), *_conv(width, width, 3, stride), nn.ReLU(),
        *_conv(width, 4 * width, 1),
    ]  # fmt: skip
    return Residual(chain, inside, 4 * width, stride)


class Trunk(nn.Module):
    """The convolutions of a ResNet."""

    def __init__(
        self, block: Callable[[int, int, int], Residual], counts: tuple[int, ...], widening: int
    ) -> None:
        super().__init__()
        self.stem = nn.Sequential(*_conv(3, WIDTHS[0], 7, 2), nn.ReLU(), nn.MaxPool2d(3, 2, 1))
        self.stages = nn.ModuleList()
        inside = WIDTHS[0]
        for width, count in zip(WIDTHS, counts, strict=True):
            stage = []
            for number in range(count):
                stride = 2 if number == 0 and width != WIDTHS[0] else 1
                stage.append(block(inside, width, stride))
                inside = widening * width
            self.stages.append(nn.Sequential(*stage))
        self.channels = inside

    def forward(self, image: Any) -> list[Any]:
        """Return the features of each stage, at 1/4, 1/8, 1/16 and 1/32 of the size."""
        levels = []
        image = self.stem(image)
        for stage in self.stages:
            image = stage(image)
            levels.append(image)
        return levels


class Classifier(nn.Module):
    """A trunk, the mean over the picture, and one layer to the classes."""

    def __init__(self, trunk: Trunk) -> None:
        super().__init__()
        self.trunk = trunk
        self.head = nn.Linear(trunk.channels, CLASSES)

    def forward(self, image: Any) -> Any:
        """Return a score for each class: batch x 1000."""
        return self.head(torch.mean(self.trunk(image)[-1], dim=(2, 3)))


def trunk18() -> Trunk:
    """Return the convolutions of ResNet-18."""
    return Trunk(basic, (2, 2, 2, 2), 1)


def resnet(name: str) -> Classifier:
    """Return `resnet18` or `resnet50`."""
    return Classifier(trunk18() if name == "resnet18" else Trunk(bottleneck, (3, 4, 6, 3), 4))
