"""What a job asks of a box: disk, line, memory and cores; time plays no part."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Final

from costplan.disk import disk_for
from costplan.records.checks import Needs
from costplan.records.jobs import Throughput
from costplan.work import settle

if TYPE_CHECKING:
    from costplan.records.jobs import Job

WHOLE_GB: Final = Decimal(1)
SIZES: Final = ("dataset_gb", "unpacked_gb", "checkpoint_gb", "environment_gb")
"""Fields whose assumed values move the answer."""


def needs_of(job: Job) -> Needs:
    """Return the needs of a job, which need not say how fast it is.

    Raises:
        InputError: The amounts are absurd together.
    """
    any_speed = Throughput(card="any", seconds_per_epoch=1.0)
    work = settle(job.model_copy(update={"throughput": any_speed}))
    disk = disk_for(work, step_gb=WHOLE_GB)
    comes_in = work.dataset_from != "volume"
    return Needs(
        name=work.name,
        needed_gb=disk.needed_gb,
        wanted_gb=float(disk.gb),
        environment_gb=work.environment_gb,
        incoming_gb=work.packages_gb.expected + (work.dataset_gb.expected if comes_in else 0.0),
        memory_gb=job.memory_gb,
        cores=job.vcpus,
        ram_gb=job.ram_gb,
        assumed=tuple(said for said in work.assumed if said.startswith(SIZES)),
    )
