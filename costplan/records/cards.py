"""GPU models: what the arithmetic needs to know of a card."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from costplan.records.record import Number, Record, Truth, Whole

Precision = Literal["fp32", "tf32", "amp", "fp16", "bf16"]
Positive = Annotated[Number, Field(gt=0, le=1_000_000)]


class PeakTflops(Record):
    """Dense peak rates in 10^12 operations per second; a left-out one does not exist."""

    fp32: Positive
    """Vector units."""
    tf32: Positive | None = None
    fp16_fp32_accumulate: Positive | None = None
    fp16_fp16_accumulate: Positive | None = None
    fp8: Positive | None = None
    origin: Literal["derived", "datasheet"]
    """`derived`: SMs x boost clock x operations per clock and SM; `datasheet`: printed by the
    maker."""
    source: str


class Card(Record):
    """One GPU model, form factor and memory included."""

    key: str
    name: str
    driver_name: str | None = None
    """What the driver prints, and what some markets take as the card's id."""
    vendor: Literal["NVIDIA", "AMD"]
    architecture: str
    compute_capability: str
    memory_gb: Positive
    """As the maker names it: 24 for an RTX 4090."""
    bandwidth_gb_per_s: Positive
    peak_tflops: PeakTflops
    sm_count: Whole | None = None
    l2_mb: Number | None = None
    boost_mhz: Positive
    power_watts: Positive
    bf16: Truth
    aliases: tuple[str, ...] = ()
    """As markets and drivers write it; case, blanks, `_` and `-` do not count."""
    source: str
    note: str | None = None


class UnstatedCard(Record):
    """A name that several cards share: `H100` alone may be PCIe, SXM or NVL."""

    key: str
    variants: tuple[str, ...] = Field(min_length=2)
    """Keys of `Card`: the slowest gives the high hours, the fastest the low ones."""
    aliases: tuple[str, ...] = ()
    note: str | None = None


class CardFile(Record):
    """`pricing/gpus.yaml`."""

    cards: tuple[Card, ...]
    unstated: tuple[UnstatedCard, ...] = ()

    @model_validator(mode="after")
    def _sorted_and_unique(self) -> "CardFile":
        keys = [card.key for card in self.cards]
        names = keys + [card.key for card in self.unstated]
        twice = sorted({key for key in names if names.count(key) > 1})
        if twice:
            raise ValueError(f"card {twice[0]} is listed twice")
        for card in self.unstated:
            missing = [variant for variant in card.variants if variant not in keys]
            if missing:
                raise ValueError(f"{card.key} names {missing[0]}, which is not a card")
        return self
