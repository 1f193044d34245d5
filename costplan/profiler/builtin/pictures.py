"""A folder of images made on the spot, and a data set that reads and decodes them.

JPEG where Pillow is installed, else PNG by our own reader: both are really decoded, in workers.
A few dozen files stand for a large data set: they are read again and again, so that they
come from memory, as in later epochs of a data set that fits into it.
"""

from __future__ import annotations

import importlib.util
import io
import math
import os
from typing import Any, Final

import torch
from torch.utils.data import Dataset

from costplan.profiler.builtin import png

FILES: Final = 64
HEIGHT, WIDTH = 375, 500
"""A common size of the photos in ImageNet."""
EPOCH: Final = 1_281_167
"""Training images of ImageNet-1k (Russakovsky et al. 2015, table 2): no burst sees the end."""
COARSE: Final = 24
"""Pixels of the picture to one random value: photos are smooth, and pack as such."""
GRAIN: Final = 28.0
"""Grey levels of noise on top: 95 kB as JPEG; ImageNet's have 115 kB (147.9 GB of 1.28 million)."""
QUALITY: Final = 85
AREA: Final = (0.08, 1.0)
ASPECT: Final = (3 / 4, 4 / 3)
"""Of a random crop: share of the area, width over height (Szegedy et al. 2015, sec. 6)."""
MEAN, DEVIATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
"""Of ImageNet's colours, as everybody takes them."""


def kind() -> str:
    """Return the kind of image file that can be made and read here: `jpg` or `png`."""
    return "png" if importlib.util.find_spec("PIL") is None else "jpg"


def described() -> str:
    """Return what `make` makes, in words."""
    what = f"{FILES} photos of {WIDTH} x {HEIGHT}, read again and again"
    if kind() == "jpg":
        return f"{what}, as JPEG"
    return f"{what}, as PNG (Pillow is not installed; JPEG would take other time to decode)"


def make(folder: str, *, files: int = FILES) -> int:
    """Write image files into a folder; return their bytes."""
    maker = torch.Generator().manual_seed(0)
    kind_of, total = kind(), 0
    for number in range(files):
        data = encoded(_picture(maker), kind_of)
        total += len(data)
        with open(os.path.join(folder, f"{number:05d}.{kind_of}"), "wb") as file:
            file.write(data)
    return total


def _picture(maker: Any) -> Any:
    """Return one picture: height x width x 3 bytes."""
    rows, columns = HEIGHT // COARSE + 1, WIDTH // COARSE + 1
    coarse = torch.rand(1, 3, rows, columns, generator=maker) * 255
    smooth = torch.nn.functional.interpolate(coarse, (HEIGHT, WIDTH), mode="bilinear")[0]
    grain = GRAIN * torch.randn(3, HEIGHT, WIDTH, generator=maker)
    return (smooth + grain).clamp(0, 255).to(torch.uint8).permute(1, 2, 0).contiguous()


def encoded(picture: Any, kind: str) -> bytes:
    """Return a picture (height x width x 3 bytes) as an image file."""
    height, width, _ = picture.shape
    pixels = raw(picture)
    if kind == "png":
        return png.written(width, height, pixels)
    from PIL import Image

    file = io.BytesIO()
    Image.frombytes("RGB", (width, height), pixels).save(file, "JPEG", quality=QUALITY)
    return file.getvalue()


def raw(values: Any) -> bytes:
    """Return the values of a tensor as they lie in memory."""
    kept = bytearray(values.numel() * values.element_size())
    torch.frombuffer(kept, dtype=values.dtype).copy_(values.flatten())
    return bytes(kept)


def decoded(path: str) -> Any:
    """Return the picture in an image file: height x width x 3 bytes."""
    if path.endswith(".png"):
        with open(path, "rb") as file:
            rows = png.read(file.read())
        # The first byte of each row names its filter.
        table = torch.frombuffer(bytearray(rows.data), dtype=torch.uint8).view(rows.height, -1)
        return table[:, 1:].reshape(rows.height, rows.width, png.CHANNELS)
    from PIL import Image

    with Image.open(path) as image:
        pixels = image.convert("RGB").tobytes()
        width, height = image.size
    return torch.frombuffer(bytearray(pixels), dtype=torch.uint8).view(height, width, 3)


def normal(picture: Any, size: int) -> Any:
    """Return a picture as 3 x size x size floats of about unit spread."""
    image = picture.permute(2, 0, 1)[None].float().div_(255)
    image = torch.nn.functional.interpolate(image, (size, size), mode="bilinear")[0]
    mean, deviation = (torch.tensor(each)[:, None, None] for each in (MEAN, DEVIATION))
    return image.sub_(mean).div_(deviation)


def random_crop(picture: Any) -> Any:
    """Return a random part of a picture, by half of all chances mirrored."""
    height, width, _ = picture.shape
    share, aspect, place, mirrored = torch.rand(4).tolist()
    area = height * width * (AREA[0] + share * (AREA[1] - AREA[0]))
    low, high = math.log(ASPECT[0]), math.log(ASPECT[1])
    ratio = math.exp(low + aspect * (high - low))
    wide = min(width, max(1, round(math.sqrt(area * ratio))))
    tall = min(height, max(1, round(math.sqrt(area / ratio))))
    top, left = round(place * (height - tall)), int(torch.randint(width - wide + 1, ()))
    part = picture[top : top + tall, left : left + wide]
    return part.flip(1) if mirrored < 1 / 2 else part


class Photos(Dataset):
    """Images with a class each, cropped at random, as if there were `length` of them."""

    def __init__(self, folder: str, *, classes: int, size: int, length: int = EPOCH) -> None:
        self.paths = sorted(
            entry.path for entry in os.scandir(folder) if entry.name.endswith((".jpg", ".png"))
        )
        self.classes, self.size, self.length = classes, size, length

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, index: int) -> tuple[Any, int]:
        """Return 3 x size x size floats and the class."""
        picture = decoded(self.paths[index % len(self.paths)])
        return normal(random_crop(picture), self.size), index % self.classes
