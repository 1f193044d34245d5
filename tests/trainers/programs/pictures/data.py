"""Pictures from a folder, decoded and turned as training scripts do it."""

from pathlib import Path

import numpy as np
import torch
from PIL import Image
from torch.utils.data import Dataset


class Pictures(Dataset):
    """Square pictures of a folder with two classes."""

    def __init__(self, folder, size):
        self.paths = sorted(path for path in Path(folder).iterdir() if path.is_file())
        self.size = size

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, index):
        with Image.open(self.paths[index]) as file:
            picture = file.convert("RGB").resize((self.size, self.size), Image.Resampling.BILINEAR)
        if torch.rand(()) < 0.5:
            picture = picture.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
        pixels = torch.from_numpy(np.array(picture)).permute(2, 0, 1).float() / 255
        return pixels, index % 2


def network(width):
    """Return a small convolutional network."""
    layers, channels = [], 3
    for factor in (1, 2, 4):
        layers += [
            torch.nn.Conv2d(channels, width * factor, 3, stride=2, padding=1),
            torch.nn.BatchNorm2d(width * factor),
            torch.nn.ReLU(),
            torch.nn.Conv2d(width * factor, width * factor, 3, padding=1),
            torch.nn.ReLU(),
        ]
        channels = width * factor
    head = [torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(), torch.nn.Linear(channels, 2)]
    return torch.nn.Sequential(*layers, *head)
