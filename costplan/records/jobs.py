"""What is to be trained, as the job file says it."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from costplan.records.cards import Precision
from costplan.records.offers import Count
from costplan.records.record import Amount, Number, Record, Truth, Whole

# Ceilings: 10^12 samples is a thousand times ImageNet-22k; 10^18 tokens a thousand times the
# largest language corpus; a million epochs has no use. What is larger is a slip.
Samples = Annotated[Whole, Field(ge=1, le=10**12)]
Tokens = Annotated[Whole, Field(ge=1, le=10**18)]
Epochs = Annotated[Whole, Field(ge=1, le=1_000_000)]
Rate = Annotated[Number, Field(gt=0, le=10**12)]
Seconds = Annotated[Number, Field(gt=0, le=10**8)]
Overhead = Annotated[Number, Field(ge=0, le=10**8)]
JobGigabytes = Annotated[Number, Field(ge=0, le=1_000_000)]
JobHours = Annotated[Number, Field(ge=0, le=100_000)]
DatasetFrom = Literal["hub", "home", "origin", "volume"]


class Throughput(Record):
    """A measured rate of this job on one kind of machine; exactly one of the four is given."""

    card: str
    count: Count = 1
    samples_per_s: Rate | None = None
    tokens_per_s: Rate | None = None
    step_s: Seconds | None = None
    """Seconds of one step, a step being one global batch."""
    seconds_per_epoch: Seconds | None = None
    source: str | None = None

    @model_validator(mode="after")
    def _one_rate(self) -> "Throughput":
        rates = (self.samples_per_s, self.tokens_per_s, self.step_s, self.seconds_per_epoch)
        if sum(rate is not None for rate in rates) != 1:
            raise ValueError(
                "throughput needs exactly one of samples_per_s, tokens_per_s, step_s, "
                "seconds_per_epoch"
            )
        return self


class Job(Record):
    """A training job; what is left out is assumed, and the answer says so."""

    name: str | None = None
    samples: Samples | None = None
    """Per epoch; or `steps_per_epoch`, or `tokens`."""
    steps_per_epoch: Samples | None = None
    tokens: Tokens | None = None
    """Per epoch."""
    epochs: Epochs | None = None
    done: Annotated[Whole, Field(ge=0, le=10**9)] | None = None
    """Epochs already trained: the rest is priced."""
    runs: Annotated[Whole, Field(ge=1, le=100_000)] | None = None
    """Runs one after the other on one set-up."""
    batch: Annotated[Whole, Field(ge=1, le=10**9)] | None = None
    """Global: split over the GPUs."""
    precision: Precision | None = None
    throughput: Throughput | None = None
    overhead_s: Overhead | None = None
    """Start, loader and validation of one run in all, not scaled by card."""
    memory_gb: Annotated[Number, Field(gt=0, le=100_000)] | None = None
    """Needed on each GPU."""
    vcpus: Annotated[Number, Field(gt=0, le=10_000)] | None = None
    """For offers that bill CPU by the core."""
    ram_gb: Annotated[Number, Field(gt=0, le=100_000)] | None = None
    dataset_gb: JobGigabytes | None = None
    """As it travels, packed."""
    unpacked_gb: JobGigabytes | None = None
    dataset_from: DatasetFrom | None = None
    home_mbit_per_s: Annotated[Number, Field(gt=0, le=1_000_000)] | None = None
    """Upload of the line at home."""
    checkpoint_gb: JobGigabytes | None = None
    checkpoints_kept: Annotated[Whole, Field(ge=0, le=1_000_000)] | None = None
    push_every: Annotated[Whole, Field(ge=1, le=1_000_000)] | None = None
    """Epochs between checkpoint uploads."""
    checkpoint_minutes: Annotated[Number, Field(gt=0, le=100_000)] | None = None
    """Minutes between checkpoints on disk, for interruptible offers."""
    interruption_hours: Annotated[Number, Field(gt=0, le=1_000_000)] | None = None
    """Mean hours between interruptions of a spot machine."""
    image_gb: JobGigabytes | None = None
    """As pulled, compressed."""
    environment_gb: JobGigabytes | None = None
    """On disk: packages and caches."""
    headroom: Annotated[Number, Field(ge=0, le=10)] | None = None
    """Share of the disk left free: 0.3 adds 30 %."""
    disk_gb: Annotated[Amount, Field(gt=0, le=1_000_000)] | None = None
    """Disk to rent; computed where left out."""
    setup_minutes: Annotated[Number, Field(ge=0, le=100_000)] | None = None
    """From a booted box to the start of training, without image pull and dataset transfer."""
    warmup_s: Overhead | None = None
    """Compilation and autotuning before the first full-speed step, once a start."""
    validation_s: Overhead | None = None
    """Per epoch, on the card of `throughput`."""
    idle_after_hours: JobHours | None = None
    """Until someone notices that the job has ended."""
    keep_gb: JobGigabytes | None = None
    """Kept on the provider's own volume after the box is gone."""
    keep_days: Annotated[Number, Field(ge=0, le=100_000)] | None = None
    deadline_hours: Annotated[Number, Field(gt=0, le=1_000_000)] | None = None
    budget_usd: Annotated[Amount, Field(gt=0, le=1_000_000_000)] | None = None
    interruptible: Truth | None = None
    assumed: dict[str, str] = Field(default_factory=dict)
    """Fields whose values are guesses, with the reason: they enter low at half and high at
    double."""

    @model_validator(mode="after")
    def _consistent(self) -> "Job":
        unknown = sorted(set(self.assumed) - set(type(self).model_fields))
        if unknown:
            raise ValueError(f"assumed names {unknown[0]!r}, which is not a field")
        sizes = [f for f in ("samples", "steps_per_epoch", "tokens") if getattr(self, f)]
        if len(sizes) > 1:
            raise ValueError(f"{sizes[0]} and {sizes[1]} are both given: one says how much work")
        total = (self.epochs or 1) * (self.runs or 1)
        if self.done is not None and self.done >= total:
            raise ValueError(f"done ({self.done}) leaves nothing of {total} epochs")
        return self
