"""Looks at a box once: its run folders, GPUs, processes, network and disk, by one clock.

`read` looks at this machine, `read_over_ssh` at another; both give the same `Snapshot`, and
`costplan.box.verdict.judge` says what several of them mean. Nothing is ever written. What cannot
be read is None with a reason; a look that fails altogether is a snapshot with only a problem.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from costplan.box import probe
from costplan.box.gather import gather
from costplan.box.runs import runs_seen
from costplan.records.record import ValidationError
from costplan.records.signals import Gathered, Snapshot

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


def read(runs: Sequence[Path | str] = ()) -> Snapshot:
    """Return what this machine shows now.

    Args:
        runs: Run folders or log files; `*`, `?` and `[...]` are patterns. One that names nothing
            is a run with a problem, so that it cannot be taken for a run that is over.
    """
    return understood(json.dumps(gather([str(each) for each in runs])))


def read_over_ssh(
    host: str, runs: Sequence[str] = (), *, timeout_s: float = probe.TIMEOUT_S
) -> Snapshot:
    """Return what another box shows now, asked in one command over ssh.

    Args:
        host: As in `ssh HOST`. `probe.split_target` takes `HOST:DIR` apart.
        runs: As for `read`, on the box.
        timeout_s: After this the look has failed.

    Raises:
        InputError: The host could be taken for an option of ssh.
    """
    text, problem = probe.answer(host, runs, timeout_s=timeout_s)
    if text is None:
        return Snapshot(problem=problem)
    return understood(text)


def understood(text: str) -> Snapshot:
    """Return the snapshot that gathered JSON makes; JSON of another form is a failed look."""
    try:
        gathered = Gathered.model_validate_json(text, strict=True)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"]))
        return Snapshot(problem=f"the box answered in another form: {where}: {first['msg']}"[:300])
    return Snapshot(
        clock=gathered.clock,
        machine=gathered.machine,
        runs=tuple(run for folder in gathered.folders for run in runs_seen(folder)),
    )
