"""The commands that `scripts/test-trainers` profiles, as a user would type them.

Each trainer has a job that waits for pictures or texts, and one that computes: sized so that the
one costs at least twice as much time as the other, which `truth.tsv` shows.
"""

from __future__ import annotations

from typing import NamedTuple


class Job(NamedTuple):
    """A command, and what is known of it beforehand."""

    trainer: str
    slow: str
    """What the command is made to wait for: `loader` or `compute`."""
    command: str
    short: str
    """What ends the command early, added to it for the experiment that sets the truth."""
    long: str
    """The same for the profile: so many epochs that it would not end in time by itself."""
    output: str = ""
    """A folder of an earlier, broken-off run of the same command; empty where none is tried."""
    checkpoint: str = ""
    """A file of it, with * for what is not known: the run is broken off once it is there."""
    again: str = ""
    """In place of `long`: makes today's command go on from it. Without, it writes over it."""
    batch: int = 8
    accumulation: int | None = 1
    """None where the program changes it on its way, as Ultralytics does from 1 to 64 / batch."""
    workers: int = 0
    ranks: int = 1

    @property
    def name(self) -> str:
        """The trainer and what it waits for."""
        return f"{self.trainer}-{self.slow}"


LIBREYOLO = (
    "libreyolo train --batch 8 --device cpu --workers 1 "
    "--no-aug-epochs 0 --project runs --name day --exist-ok"
)
ULTRALYTICS = "yolo train model=yolov8n.yaml batch=8 device=cpu plots=False name=day exist_ok=True"

JOBS = (
    Job(
        "libreyolo", "loader", f"{LIBREYOLO} --data large/data.yaml --imgsz 64",
        short="--model yolox-n --no-pretrained --epochs 3",
        long="--model yolox-n --no-pretrained --epochs 300",
        output="runs/day", checkpoint="weights/last.pt", workers=1,
    ),
    Job(
        "libreyolo", "compute",
        f"{LIBREYOLO} --data small/data.yaml --imgsz 256 --mosaic 0 --mixup 0",
        short="--model yolox-n --no-pretrained --epochs 2",
        long="--model yolox-n --no-pretrained --epochs 300",
        output="runs/day", checkpoint="weights/last.pt",
        again="--epochs 300 --model runs/day/weights/last.pt --resume true", workers=1,
    ),
    Job(
        "ultralytics", "loader", f"{ULTRALYTICS} data=huge/data.yaml imgsz=64",
        short="epochs=3", long="epochs=300",
        output="runs/detect/day", checkpoint="weights/last.pt", accumulation=None,
    ),
    Job(
        "ultralytics", "compute", f"{ULTRALYTICS} data=small/data.yaml imgsz=160 nbs=8",
        short="epochs=2", long="epochs=300",
        output="runs/detect/day", checkpoint="weights/last.pt",
        again="epochs=300 resume model=runs/detect/day/weights/last.pt",
    ),
    Job(
        "huggingface", "loader", "python text.py --words 20000",
        short="--epochs 4", long="",
        output="hf", checkpoint="checkpoint-*/trainer_state.json", accumulation=4,
    ),
    Job(
        "huggingface", "compute", "python text.py --once --width 384",
        short="--epochs 6", long="",
        output="hf", checkpoint="checkpoint-*/trainer_state.json", again="--resume",
        accumulation=4,
    ),
    Job(
        "lightning", "loader", "python -m pictures.train --data large",
        short="--epochs 6", long="", accumulation=2, workers=1,
    ),
    Job(
        "lightning", "compute", "python -m pictures.train --data small --size 128 --width 32",
        short="--epochs 6", long="", accumulation=2, workers=1,
    ),
    Job(
        "accelerate", "loader", "accelerate launch accelerated.py --data large",
        short="--epochs 8", long="", accumulation=2, workers=1,
    ),
    Job(
        "accelerate", "compute",
        "accelerate launch accelerated.py --data small --size 128 --width 32",
        short="--epochs 5", long="", accumulation=2, workers=1,
    ),
    Job(
        "torchrun", "loader", "torchrun --nproc_per_node 2 distributed.py --data large",
        short="--epochs 10", long="", ranks=2,
    ),
    Job(
        "torchrun", "compute",
        "torchrun --nproc_per_node 2 distributed.py --data small --size 128 --width 32",
        short="--epochs 8", long="", ranks=2,
    ),
)  # fmt: skip

PICTURES = {
    "large": ("960", "544", "16", "256", ".png"),
    "huge": ("1920", "1088", "16", "256", ".png"),
    "small": ("160", "160", "16", "256", ".jpg"),
}
"""Arguments of `programs/make_pictures.py`: width, height, pictures, names, suffix."""
