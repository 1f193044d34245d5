"""A decoder-only transformer (Radford et al. 2019: GPT-2), its output layer tied to its input."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import torch
from torch import nn

EXPANSION: Final = 4
"""Width of the inner layer of each block, in widths of the model."""


class Shape(NamedTuple):
    """The sizes of a transformer."""

    vocabulary: int
    context: int
    layers: int
    heads: int
    width: int


SHAPES: Final = {
    # Bytes for tokens, six layers: what trains on one GPU in minutes.
    "gpt-mini": Shape(vocabulary=256, context=256, layers=6, heads=6, width=384),
    # Radford et al. 2019, table 2, the smallest.
    "gpt2": Shape(vocabulary=50_257, context=1024, layers=12, heads=12, width=768),
}


class Attention(nn.Module):
    """Causal self-attention of several heads."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.heads = shape.heads
        self.asked = nn.Linear(shape.width, 3 * shape.width)
        self.out = nn.Linear(shape.width, shape.width)

    def forward(self, x: Any) -> Any:
        """Return batch x length x width from the same."""
        batch, length, width = x.shape
        heads = (batch, length, self.heads, width // self.heads)
        query, key, value = (
            each.view(heads).transpose(1, 2) for each in self.asked(x).chunk(3, dim=2)
        )
        seen = nn.functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        return self.out(seen.transpose(1, 2).reshape(batch, length, width))


class Block(nn.Module):
    """Attention and two layers at each place, each normalised before and added after."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        inner = EXPANSION * shape.width
        self.attention = nn.Sequential(nn.LayerNorm(shape.width), Attention(shape))
        self.layers = nn.Sequential(
            nn.LayerNorm(shape.width), nn.Linear(shape.width, inner), nn.GELU(),
            nn.Linear(inner, shape.width),
        )  # fmt: skip

    def forward(self, x: Any) -> Any:
        """Return batch x length x width from the same."""
        x = x + self.attention(x)
        return x + self.layers(x)


class Gpt(nn.Module):
    """Token ids in, scores of the next token out."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.tokens = nn.Embedding(shape.vocabulary, shape.width)
        self.places = nn.Embedding(shape.context, shape.width)
        self.blocks = nn.Sequential(*(Block(shape) for _ in range(shape.layers)))
        self.norm = nn.LayerNorm(shape.width)

    def forward(self, ids: Any) -> Any:
        """Return batch x length x vocabulary from batch x length ids."""
        places = torch.arange(ids.shape[1], device=ids.device)
        x = self.norm(self.blocks(self.tokens(ids) + self.places(places)))
        return nn.functional.linear(x, self.tokens.weight)
