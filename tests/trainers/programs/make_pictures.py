"""Make a small detection data set in YOLO's format, and say where: no download, the same each time.

usage: make_pictures.py FOLDER WIDTH HEIGHT PICTURES NAMES SUFFIX

Only PICTURES are made, each under several of the NAMES: what decodes them cannot tell.
"""

import os
import sys
from pathlib import Path

import numpy as np
from PIL import Image

BLOCK = 8  # pixels of one colour: noise, so that a decoder has work, but not only noise
VALIDATION = 8

folder, suffix = Path(sys.argv[1]), sys.argv[6]
width, height, pictures, names = map(int, sys.argv[2:6])
random = np.random.default_rng(0)
for part, made, named in (("train", pictures, names), ("val", VALIDATION, VALIDATION)):
    for kind in ("images", "labels"):
        (folder / kind / part).mkdir(parents=True)
    for number in range(named):
        picture = folder / "images" / part / f"{number:04}{suffix}"
        label = folder / "labels" / part / f"{number:04}.txt"
        if number >= made:
            os.link(picture.with_name(f"{number % made:04}{suffix}"), picture)
            os.link(label.with_name(f"{number % made:04}.txt"), label)
            continue
        pixels = random.integers(0, 256, (height // BLOCK, width // BLOCK, 3), dtype=np.uint8)
        pixels = pixels.repeat(BLOCK, axis=0).repeat(BLOCK, axis=1)
        boxes = []
        for kind in (0, 1):
            x, y = random.uniform(0.3, 0.7, 2)
            boxes.append(f"{kind} {x:.3f} {y:.3f} 0.2 0.2\n")
            left, top = int((x - 0.1) * width), int((y - 0.1) * height)
            pixels[top : top + height // 5, left : left + width // 5] = 250 * kind
        Image.fromarray(pixels).save(picture)
        label.write_text("".join(boxes), encoding="utf-8")
(folder / "data.yaml").write_text(
    f"path: {folder.resolve()}\ntrain: images/train\nval: images/val\n"
    "names: {0: dark, 1: light}\n",
    encoding="utf-8",
)
