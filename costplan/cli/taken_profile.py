"""A saved profile as the throughput of `costplan estimate`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from costplan import yamlfile
from costplan.errors import InputError, UnknownError
from costplan.profiled import Taken, throughput_of
from costplan.profilefile import read_profile
from costplan.records.jobs import Throughput

if TYPE_CHECKING:
    from costplan.catalog import Catalog
    from costplan.records.jobs import Job


def take(file: str, catalog: Catalog) -> Taken:
    """Return the profile in `file` with the card of the catalog that it was taken on.

    Raises:
        InputError: The file cannot be read, or is no profile of this version.
        UnknownError: It has no step times, or was taken on no card that the catalog knows.
    """
    found = read_profile(Path(file)).profile
    if found is None:
        raise UnknownError(
            f"{file} has no step times: it was made from a file of another tool",
            hint="costplan profile -o FILE -- python train.py measures them",
        )
    if found.box.gpu_count == 0:
        raise UnknownError(
            f"{file} was taken on the CPU: it says nothing of any card",
            hint="profile on a rented card, or state the throughput in the job",
        )
    try:
        card = catalog.card_key(found.box.device)
    except InputError as err:
        raise UnknownError(
            f"{file} was taken on {found.box.device!r}, which is no card of the price folder",
            hint=err.hint,
        ) from None
    return Taken(file, found, card)


def job_with(job: Job, taken: Taken) -> Job:
    """Return the job at the throughput of a profile.

    Raises:
        InputError: The rate is absurd.
        UnknownError: The profile has no rate of what the job counts.
    """
    rate = yamlfile.build(Throughput, throughput_of(job, taken), where=taken.file)
    assumed = {field: why for field, why in job.assumed.items() if field != "throughput"}
    return job.model_copy(update={"throughput": rate, "assumed": assumed})
