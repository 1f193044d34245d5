"""Lightning, as `python -m pictures.train`: forkserver workers, validation, accumulation of 2."""

import argparse

import lightning
import torch
from torch.utils.data import DataLoader

from pictures.data import Pictures, network

BATCH = 8


class Classifier(lightning.LightningModule):
    def __init__(self, width):
        super().__init__()
        self.net = network(width)

    def training_step(self, batch, _):
        pixels, labels = batch
        loss = torch.nn.functional.cross_entropy(self.net(pixels), labels)
        self.log("loss", loss)
        return loss

    def validation_step(self, batch, _):
        pixels, labels = batch
        self.log("val_loss", torch.nn.functional.cross_entropy(self.net(pixels), labels))

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=1e-3)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", required=True)
    parser.add_argument("--size", type=int, default=64)
    parser.add_argument("--width", type=int, default=8)
    parser.add_argument("--epochs", type=int, default=1000)
    asked = parser.parse_args()
    lightning.seed_everything(0)
    train = DataLoader(
        Pictures(f"{asked.data}/images/train", asked.size),
        BATCH,
        shuffle=True,
        num_workers=1,
        multiprocessing_context="forkserver",
        persistent_workers=True,
    )
    val = DataLoader(Pictures(f"{asked.data}/images/val", asked.size), BATCH)
    trainer = lightning.Trainer(
        max_epochs=asked.epochs,
        accumulate_grad_batches=2,
        accelerator="cpu",
        logger=False,
        enable_progress_bar=False,
        default_root_dir="lightning",
    )
    trainer.fit(Classifier(asked.width), train, val)


if __name__ == "__main__":
    main()
