"""An object detector: `python -m costplan.profiler.builtin.boxes detector --batch 16`.

After FCOS (Tian et al., ICCV 2019), made small: a ResNet-18, three levels joined from above, and
at each place of each level a class, four distances to the sides of a box, and how central it is.
"""

from __future__ import annotations

import sys
from typing import Any, Final

import torch
from torch import nn

from costplan.profiler.builtin import pictures, resnet, training

SIZE: Final = 320
CLASSES: Final = 80
"""As many as COCO has."""
MOST_BOXES: Final = 14
"""Of an image: 1 to 14, so 7.5 on average; COCO's images have 7.3 (Lin et al. 2014, sec. 5)."""
WIDTH: Final = 128
LEARNING_RATE, MOMENTUM, WEIGHT_DECAY = 0.01, 0.9, 1e-4
"""Tian et al. 2019, section 4."""


class Detector(nn.Module):
    """Images in; class scores, distances and centredness of every place out."""

    def __init__(self) -> None:
        super().__init__()
        self.trunk = resnet.trunk18()
        self.laterals = nn.ModuleList(nn.Conv2d(each, WIDTH, 1) for each in resnet.WIDTHS[1:])
        self.tower = nn.Sequential(
            nn.Conv2d(WIDTH, WIDTH, 3, padding=1), nn.ReLU(),
            nn.Conv2d(WIDTH, WIDTH, 3, padding=1), nn.ReLU(),
        )  # fmt: skip
        self.heads = nn.ModuleList(
            nn.Conv2d(WIDTH, count, 3, padding=1) for count in (CLASSES, 4, 1)
        )

    def forward(self, image: Any) -> tuple[Any, Any, Any]:
        """Return batch x places x 80, x 4 and x 1, the finest level first."""
        levels = [side(level) for side, level in
                  zip(self.laterals, self.trunk(image)[1:], strict=True)]  # fmt: skip
        for fine, coarse in ((1, 2), (0, 1)):
            size = levels[fine].shape[2:]
            levels[fine] = levels[fine] + nn.functional.interpolate(levels[coarse], size)
        towers = [self.tower(level) for level in levels]
        scores, sides, central = (
            torch.cat([head(each).flatten(2) for each in towers], 2).transpose(1, 2)
            for head in self.heads
        )
        return scores, sides, central


def places(size: int) -> Any:
    """Return the centre of every place of an image, the finest level first: places x 2, in 0..1."""
    found = []
    for stride in (8, 16, 32):
        count = size // stride
        along = (torch.arange(count) + 0.5) / count
        down, across = torch.meshgrid(along, along, indexing="ij")
        found.append(torch.stack((across.flatten(), down.flatten()), 1))
    return torch.cat(found)


def assigned(centres: Any, labels: Any) -> tuple[Any, Any]:
    """Return for every place the number of its box, the smallest around it, and its distances.

    Args:
        centres: Places x 2.
        labels: Batch x boxes x 5: class, left, top, right, bottom; of class -1 where it is none.

    Returns:
        Batch x places, -1 where no box is around it; and batch x places x 4.
    """
    box = labels[:, None, :, 1:]
    to_sides = torch.cat(
        (centres[None, :, None] - box[..., :2], box[..., 2:] - centres[None, :, None]), 3
    )
    around = (to_sides.amin(3) > 0) & (labels[:, None, :, 0] >= 0)
    areas = (box[..., 2:] - box[..., :2]).prod(3).expand(around.shape)
    least, number = areas.masked_fill(~around, 2.0).min(2)
    sides = to_sides.gather(2, number[..., None, None].expand(-1, -1, 1, 4))[:, :, 0]
    return number.masked_fill(least > 1, -1), sides


def loss(net: Any, batch: Any) -> Any:
    """Return the losses of the three heads together."""
    image, labels = batch
    scores, sides, central = net(image)
    number, wanted = assigned(places(image.shape[2]).to(image.device), labels)
    inside = number >= 0
    classes = labels[..., 0].gather(1, number.clamp(min=0)).long().clamp(min=0)
    one_hot = nn.functional.one_hot(classes, CLASSES) * inside[..., None]
    weight, count = inside.float(), inside.sum().clamp(min=1)
    near, far = wanted.view(*wanted.shape[:2], 2, 2).aminmax(dim=2)
    middle = (near / far.clamp(min=1e-6)).clamp(min=0).prod(2).sqrt()
    with_logits = nn.functional.binary_cross_entropy_with_logits
    of_classes = with_logits(scores.float(), one_hot.float(), reduction="sum")
    of_sides = ((sides.float().exp() - wanted).abs().sum(2) * weight).sum()
    of_middle = (with_logits(central[..., 0].float(), middle, reduction="none") * weight).sum()
    return (of_classes + of_sides + of_middle) / count


class Labelled(pictures.Photos):
    """Images, each with boxes of its own number."""

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        """Return 3 x size x size floats, and boxes x 5: class, left, top, right, bottom."""
        picture = pictures.decoded(self.paths[index % len(self.paths)])
        image = pictures.normal(picture, self.size)
        label = boxes(1 + index % MOST_BOXES)
        if torch.rand(()) < 1 / 2:
            image = image.flip(2)
            label[:, 1], label[:, 3] = 1 - label[:, 3], 1 - label[:, 1]
        return image, label


def boxes(count: int) -> Any:
    """Return boxes at random: count x 5, places in 0..1."""
    ends = torch.rand(count, 2, 2).sort(1).values.flatten(1)
    return torch.cat((torch.randint(CLASSES, (count, 1)), ends), 1)


def collate(samples: Any) -> Any:
    """Return the images, and the boxes filled up to the most of the batch with class -1."""
    images, labels = zip(*samples, strict=True)
    filled = nn.utils.rnn.pad_sequence(list(labels), batch_first=True, padding_value=-1.0)
    return torch.stack(images), filled


def optimizer(parameters: Any) -> Any:
    """Return plain gradient descent with momentum."""
    return torch.optim.SGD(parameters, LEARNING_RATE, momentum=MOMENTUM, weight_decay=WEIGHT_DECAY)


def example(count: int) -> Any:
    """Return random images with the most boxes."""
    labels = torch.stack([boxes(MOST_BOXES) for _ in range(count)])
    return torch.randn(count, 3, SIZE, SIZE), labels


def make(folder: str) -> tuple[str, int]:
    """Make the photos; boxes are drawn as they are read."""
    return pictures.described(), pictures.make(folder)


def data(folder: str) -> Labelled:
    """Return the photos with their boxes as a data set."""
    return Labelled(folder, classes=CLASSES, size=SIZE)


TASKS: Final = {"detector": training.Task(Detector, optimizer, loss, example, make, data, collate)}

if __name__ == "__main__":
    sys.exit(training.main(TASKS))
