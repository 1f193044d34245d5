"""Hugging Face's Trainer: a small Llama from scratch, evaluation, saves, accumulation of 4."""

import argparse
import random

import torch
from torch.utils.data import Dataset
from transformers import LlamaConfig, LlamaForCausalLM, Trainer, TrainingArguments

VOCABULARY = 512
TEXTS = 256
LINES = 16


class Text(Dataset):
    """Lines of made words, split into pieces for each sample anew, or once before the start."""

    def __init__(self, words, tokens, once):
        chance = random.Random(0)
        letters = "etaoinshrdlu"
        self.lines = [
            " ".join("".join(chance.choices(letters, k=6)) for _ in range(words))
            for _ in range(LINES)
        ]
        self.tokens = tokens
        self.ready = [self.pieces(line) for line in self.lines] if once else None

    def __len__(self):
        return TEXTS

    def pieces(self, line):
        found = [hash_of(word) for word in line.split()][: self.tokens]
        ids = torch.tensor(found + [0] * (self.tokens - len(found)))
        return {"input_ids": ids, "labels": ids.clone()}

    def __getitem__(self, index):
        line = index % LINES
        return self.ready[line] if self.ready else self.pieces(self.lines[line])


def hash_of(word):
    """Return the number of a word: what a tokenizer written in Python costs."""
    number = 0
    for letter in word:
        number = (number * 31 + ord(letter)) % VOCABULARY
    return number


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--words", type=int, default=64)
    parser.add_argument("--width", type=int, default=64)
    parser.add_argument("--once", action="store_true")
    parser.add_argument("--epochs", type=float, default=1000)
    parser.add_argument("--output", default="hf")
    parser.add_argument("--resume", action="store_true")
    asked = parser.parse_args()
    train = Text(asked.words, 64, asked.once)
    config = LlamaConfig(
        vocab_size=VOCABULARY,
        hidden_size=asked.width,
        intermediate_size=2 * asked.width,
        num_hidden_layers=2,
        num_attention_heads=4,
        max_position_embeddings=64,
    )
    torch.manual_seed(0)
    arguments = TrainingArguments(
        output_dir=asked.output,
        per_device_train_batch_size=8,
        gradient_accumulation_steps=4,
        num_train_epochs=asked.epochs,
        eval_strategy="steps",
        eval_steps=20,
        save_steps=10,
        save_total_limit=1,
        use_cpu=True,
    )
    trainer = Trainer(
        model=LlamaForCausalLM(config),
        args=arguments,
        train_dataset=train,
        eval_dataset=Text(64, 64, once=True),
    )
    trainer.train(resume_from_checkpoint=asked.resume or None)
    trainer.save_model()


if __name__ == "__main__":
    main()
