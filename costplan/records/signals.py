"""What one look at a box saw, and what several looks together mean.

All times are the box's own: `*_at_s` are seconds since 1970 on its wall clock, `uptime_s` never
steps. None is always "could not be read", never zero.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from costplan.records.record import Number, Record, Truth, Whole

Size = Annotated[Whole, Field(ge=0, le=2**63)]
Seconds = Annotated[Number, Field(ge=-1e18, le=1e18)]
"""No disk and no clock counts further; a box that says so cannot be read."""
State = Literal["busy", "idle", "hung", "crashed", "unknown"]
Says = Literal["busy", "idle", "hung", "crashed", "unknown", "hint"]
"""What a piece of evidence speaks for; a hint is told, never counted."""
RunKind = Literal["libreyolo", "ultralytics", "huggingface", "lightning", "tensorboard", "log"]
RunState = Literal["running", "completed", "failed"]


class Clock(Record):
    """The clocks of the box at one look."""

    wall_s: Seconds
    uptime_s: Seconds
    """Seconds since the box started, sleep included."""
    boot_id: str | None = None


class FileSeen(Record):
    """One regular file; links are never followed."""

    path: str
    """Below the folder."""
    size_bytes: Size
    changed_at_s: Seconds


class FileText(Record):
    """A text file: whole in `head`, or its first and last part when it is long."""

    head: str
    tail: str | None = None


class FolderSeen(Record):
    """A run folder, or a single log file, as found."""

    path: str
    files: tuple[FileSeen, ...] = ()
    texts: dict[str, FileText] = Field(default_factory=dict)
    skipped: tuple[str, ...] = ()
    """Files that would tell, and were not read because there are so many."""
    problem: str | None = None


class GpuSeen(Record):
    """One GPU; what the driver answers with N/A is None."""

    index: Whole
    name: str
    util_percent: Number | None = None
    memory_used_mb: Number | None = None
    memory_total_mb: Number | None = None
    power_watts: Number | None = None
    power_limit_watts: Number | None = None
    pids: tuple[int, ...] | None = None


class ProcessSeen(Record):
    """One process, without its arguments: they may hold secrets."""

    pid: Whole
    parent_pid: Whole
    name: str
    program: str | None = None
    """Script or module that an interpreter runs, by its last name."""
    started_at_s: Seconds
    cpu_s: Seconds
    """Its own and that of children which have ended."""
    on_terminal: Truth = False
    zombie: Truth = False


class Machine(Record):
    """What the box as a whole shows; each None has its reason in `problems`."""

    gpus: tuple[GpuSeen, ...] | None = None
    processes: tuple[ProcessSeen, ...] | None = None
    """None also where the box hides the processes of other people."""
    network_bytes: Size | None = None
    """In and out since the start, loopback left out."""
    disk_used_bytes: Size | None = None
    disk_total_bytes: Size | None = None
    logins: Whole | None = None
    """Lines of `who`; None where the box keeps no such list, as containers do not."""
    problems: tuple[str, ...] = ()


class Gathered(Record):
    """What is gathered on the box, here or at the other end of ssh, before it is understood."""

    clock: Clock
    machine: Machine
    folders: tuple[FolderSeen, ...] = ()


class Counter(Record):
    """A figure that moves as long as the run works."""

    name: str
    value: Number
    changed_at_s: Number
    """When the file that holds it was last written: the figure is at least as old as that."""
    of_training: Truth
    """True for epochs and steps, which only the run itself moves; false for sizes of files."""


class RunSeen(Record):
    """One run, from its files."""

    path: str
    kind: RunKind | None = None
    state: RunState | None = None
    """As the run itself states it; None where its files never do."""
    error: str | None = None
    names_process: Truth = False
    """True where the trainer's files name the process of the run."""
    pid: Whole | None = None
    started_at_s: Number | None = None
    updated_at_s: Number | None = None
    counters: tuple[Counter, ...] = ()
    interval_s: Annotated[Number, Field(gt=0)] | None = None
    """Longest usual time from one move of the training's counter to the next."""
    total: Number | None = None
    """Epochs or steps in all."""
    eta_s: Annotated[Number, Field(ge=0)] | None = None
    """Left at `eta_at_s`."""
    eta_at_s: Number | None = None
    checkpoint: FileSeen | None = None
    """The newest."""
    checkpoints_bytes: Size = 0
    newest_at_s: Number | None = None
    """Newest change of any file of the run."""
    problem: str | None = None


class Snapshot(Record):
    """One look at a box. A look that failed has only a problem."""

    clock: Clock | None = None
    machine: Machine | None = None
    runs: tuple[RunSeen, ...] = ()
    problem: str | None = None


class Evidence(Record):
    """One thing seen, in plain words, and what it speaks for."""

    name: str
    value: str
    age_s: Number | None = None
    verdict: Says


class Verdict(Record):
    """What the looks at a box mean together."""

    state: State
    why: str
    """The deciding evidence in one line."""
    evidence: tuple[Evidence, ...] = ()
    notes: tuple[str, ...] = ()
    """What a person should know and that decides nothing."""
    eta_s: Number | None = None
    """Until the last unfinished run is done, where the runs tell."""
    lost_s: Number | None = None
    """Work since the newest checkpoint, which a stop now would lose."""
    idle_since_s: Number | None = None
    """Wall clock of the box since which GPUs, processes, network and disk were seen quiet for the
    whole window; None while the window is not full."""
    quiet_s: Number = 0
    """Seconds of seen, unbroken quiet so far."""
    filling: Truth = False
    """True where only time is missing for idle: nothing works, and not yet for the window."""
