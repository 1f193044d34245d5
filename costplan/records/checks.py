"""What was measured of a box, what was promised and needed, and what that makes of the box."""

from __future__ import annotations

from decimal import Decimal
from typing import Literal

from costplan.records.record import Number, Record, Truth, Whole

Level = Literal["ok", "warn", "fail", "unknown"]
Fault = Literal["box", "setup"]
"""Who can mend a failure: nobody in the box, or its user by another set-up."""
VerdictName = Literal["return", "fix", "usable", "good", "open", "unknown"]
"""`open`: nothing against it, and something that matters could not be seen."""


class GpuFacts(Record):
    """One GPU as the driver describes it; what the driver does not know is None."""

    index: Whole
    name: str
    driver: str | None = None
    compute_capability: str | None = None
    memory_total_mb: Number | None = None
    memory_used_mb: Number | None = None
    util_percent: Number | None = None
    pcie_width: Whole | None = None
    pcie_width_max: Whole | None = None
    pcie_gen_max: Whole | None = None
    power_limit_watts: Number | None = None
    power_default_watts: Number | None = None
    clock_max_mhz: Number | None = None
    clock_set_mhz: Number | None = None
    """What programs are held to, where somebody has set it."""
    clock_default_mhz: Number | None = None
    slowed_by: tuple[str, ...] | None = None
    """Brakes of the hardware that are on now; None where nobody knows."""
    cards: tuple[str, ...] = ()
    """Keys of the catalog that the name stands for."""


class KernelTry(Record):
    """One precision on one device, against the processor's result."""

    device: Whole | None = None
    """None: the processor itself, where torch has no GPU."""
    precision: str
    worst_relative: Number | None = None
    """Largest difference over the largest value; None where no number came out."""
    problem: str | None = None


class DeviceFacts(Record):
    """A GPU as torch sees it."""

    index: Whole
    name: str
    capability: str
    """`12.0`; for AMD's the name of the architecture."""


class TorchFacts(Record):
    """torch in the interpreter that will train."""

    python: str
    problem: str | None = None
    """Why the interpreter told nothing."""
    installed: Truth | None = None
    broken: str | None = None
    """Installed, and importing it fails with this."""
    version: str | None = None
    cuda: str | None = None
    hip: str | None = None
    available: Truth | None = None
    unavailable: str | None = None
    """What torch says where it finds no GPU."""
    arches: tuple[str, ...] = ()
    devices: tuple[DeviceFacts, ...] = ()
    tries: tuple[KernelTry, ...] = ()
    crashed: str | None = None
    """How the process ended before its time, and at which step."""


class CpuFacts(Record):
    """Processor cores, as reported and as usable."""

    reported: Whole | None = None
    """`os.cpu_count()`: what loaders and thread pools go by."""
    affinity: Whole | None = None
    quota_cores: Number | None = None
    quota_from: str | None = None
    million_steps_per_s: Number | None = None
    """Single-thread score: a fixed loop of whole-number arithmetic in Python."""


class MemoryFacts(Record):
    """Main memory and what a control group leaves of it."""

    total_bytes: Whole | None = None
    limit_bytes: Whole | None = None


class ShmFacts(Record):
    """`/dev/shm`, through which the workers of a DataLoader hand over batches."""

    total_bytes: Whole | None = None
    free_bytes: Whole | None = None
    problem: str | None = None


class DiskFacts(Record):
    """The disk below the folder that will hold data."""

    path: str
    total_bytes: Whole | None = None
    free_bytes: Whole | None = None
    fstype: str | None = None
    problem: str | None = None
    cold_mb_per_s: Number | None = None
    warm_mb_per_s: Number | None = None
    speed_problem: str | None = None
    """Why cold or warm speed is unknown."""


class DownloadFacts(Record):
    """What came over the line from one address."""

    host: str
    received_bytes: Whole = 0
    over_s: Number = 0.0
    """From the first byte on."""
    expected_bytes: Whole | None = None
    problem: str | None = None


class CacheFacts(Record):
    """Where a library keeps what it downloads."""

    name: str
    path: str
    fstype: str | None = None
    mount: str | None = None


class RunFacts(Record):
    """A process that may be a training run."""

    pid: Whole
    name: str
    holds_gpu: Truth
    on_terminal: Truth
    ignores_hangup: Truth
    """As `nohup` makes it."""
    under_ssh: Truth
    """Its terminal is one that ssh opened: no tmux, screen or the like lies between."""
    cpu_s: Number


class InstallFacts(Record):
    """What pip says that it would do, and the torch that is there."""

    words: str
    python: str
    torch_version: str | None = None
    torch_cuda: str | None = None
    """`12.4`; with a version and without this, torch is there for the processor only."""
    report: str | None = None
    """JSON as pip printed it."""
    problem: str | None = None
    gpu_present: Truth
    driver: str | None = None


class BoxFacts(Record):
    """Everything measured of a box."""

    age_s: Number | None = None
    """Since it was booted or rented."""
    gpus: tuple[GpuFacts, ...] | None = None
    gpus_problem: str | None = None
    gpu_present: Truth = False
    """A device file of a driver is there, whether the driver answers or not."""
    torch: TorchFacts
    cpu: CpuFacts
    memory: MemoryFacts
    shm: ShmFacts
    disk: DiskFacts
    download: DownloadFacts | None = None
    """None: nobody asked for it."""
    caches: tuple[CacheFacts, ...] = ()
    runs: tuple[RunFacts, ...] | None = None
    runs_problem: str | None = None


class Needs(Record):
    """What a job asks of a box."""

    name: str
    needed_gb: Number
    """On disk, nothing left free."""
    wanted_gb: Number
    """With headroom, or as the job states it."""
    environment_gb: Number
    incoming_gb: Number
    """Packages and data set: what still comes over the line into a booted box."""
    memory_gb: Number | None = None
    cores: Number | None = None
    ram_gb: Number | None = None
    assumed: tuple[str, ...] = ()


class Promised(Record):
    """What an offer says of the box; None is not said."""

    gpu_name: str | None = None
    cards: tuple[str, ...] = ()
    gpu_count: Whole | None = None
    gpu_memory_gb: Number | None = None
    cores: Number | None = None
    ram_gb: Number | None = None
    down_mbit_per_s: Number | None = None
    up_mbit_per_s: Number | None = None
    disk_mb_per_s: Number | None = None
    pcie_width: Whole | None = None
    pcie_gen: Whole | None = None


class Compared(Record):
    """One promise and what there is of it."""

    what: str
    """Its unit last."""
    promised: Number | str
    measured: Number | str | None
    level: Level


class CheckLine(Record):
    """One thing looked at."""

    name: str
    level: Level
    says: str
    todo: str | None = None
    fault: Fault | None = None
    """Of a failure."""


class Checked(Record):
    """The answer of `costplan check`."""

    verdict: VerdictName
    says: str
    lines: tuple[CheckLine, ...]
    compared: tuple[Compared, ...] = ()
    age_s: Number | None = None
    usd_per_hour: Decimal | None = None
    usd_so_far: Decimal | None = None
    notices: tuple[str, ...] = ()
