"""Plain torch, as `torchrun --nproc_per_node 2 distributed.py`: DDP over gloo."""

import argparse

import torch
from pictures.data import Pictures, network
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler

BATCH = 8


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", required=True)
    parser.add_argument("--size", type=int, default=64)
    parser.add_argument("--width", type=int, default=8)
    parser.add_argument("--epochs", type=int, default=1000)
    asked = parser.parse_args()
    torch.distributed.init_process_group("gloo")
    torch.manual_seed(0)
    pictures = Pictures(f"{asked.data}/images/train", asked.size)
    sampler = DistributedSampler(pictures)
    train = DataLoader(pictures, BATCH, sampler=sampler)
    model = DistributedDataParallel(network(asked.width))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-2, momentum=0.9)
    for epoch in range(asked.epochs):
        sampler.set_epoch(epoch)
        for pixels, labels in train:
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(model(pixels), labels).backward()
            optimizer.step()
    torch.distributed.barrier()  # a rank that leaves first must not take the other's peer away
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
