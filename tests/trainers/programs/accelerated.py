"""accelerate, as `accelerate launch accelerated.py`: spawned workers, accumulation of 2."""

import argparse

import torch
from accelerate import Accelerator
from pictures.data import Pictures, network
from torch.utils.data import DataLoader

BATCH = 8


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", required=True)
    parser.add_argument("--size", type=int, default=64)
    parser.add_argument("--width", type=int, default=8)
    parser.add_argument("--epochs", type=int, default=1000)
    asked = parser.parse_args()
    torch.manual_seed(0)
    accelerator = Accelerator(cpu=True, gradient_accumulation_steps=2)
    train = DataLoader(
        Pictures(f"{asked.data}/images/train", asked.size),
        BATCH,
        shuffle=True,
        num_workers=1,
        multiprocessing_context="spawn",
        persistent_workers=True,
    )
    val = DataLoader(Pictures(f"{asked.data}/images/val", asked.size), BATCH)
    model = network(asked.width)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    model, optimizer, train, val = accelerator.prepare(model, optimizer, train, val)
    for _ in range(asked.epochs):
        model.train()
        for pixels, labels in train:
            with accelerator.accumulate(model):
                loss = torch.nn.functional.cross_entropy(model(pixels), labels)
                accelerator.backward(loss)
                optimizer.step()
                optimizer.zero_grad()
        model.eval()
        with torch.no_grad():
            for pixels, labels in val:
                accelerator.gather_for_metrics((model(pixels), labels))
    accelerator.end_training()


if __name__ == "__main__":
    main()
