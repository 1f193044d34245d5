"""Whether the process of a run is still there, and who has the box open."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

from costplan.box.load import KERNELS
from costplan.box.timeline import Look, Timeline, span
from costplan.records.signals import Evidence

if TYPE_CHECKING:
    from collections.abc import Iterator

    from costplan.records.signals import ProcessSeen, RunSeen

Owner = Literal["alive", "gone", "reused", "doubtful", "unknown", "unnamed"]
"""`reused`: another program has the number now. `doubtful`: perhaps. `unnamed`: the trainer's
files name no process."""

LATER_S: Final = 60.0
"""A process that started this long after the run says it did is another one."""
HINTS_LAST_S: Final = 24 * 3_600.0
SSHD: Final = {"sshd", "sshd-session"}
JUPYTER: Final = {"jupyter", "jupyter-lab", "jupyter-notebook", "jupyterhub"}
TMUX: Final = {"tmux: server", "tmux", "screen", "SCREEN"}


def owner(run: RunSeen, look: Look) -> Owner:
    """Return whether the process that the run names is there, by number, start and name."""
    if not run.names_process:
        return "unnamed"
    if run.pid is None or look.machine.processes is None:
        return "unknown"
    process = process_of(run, look)
    if process is None or process.zombie:
        return "gone"
    late_s = 0.0 if run.started_at_s is None else process.started_at_s - run.started_at_s
    if late_s <= LATER_S:
        return "alive"
    return "doubtful" if "python" in process.name else "reused"


def process_of(run: RunSeen, look: Look) -> ProcessSeen | None:
    """Return the process with the number that the run names."""
    processes = look.machine.processes or ()
    return next((each for each in processes if each.pid == run.pid), None)


def is_notebook(run: RunSeen, look: Look) -> bool:
    """Return whether the run lives in a notebook, whose process stays when the run is over."""
    process = process_of(run, look)
    return process is not None and process.program in KERNELS


def hints(line: Timeline) -> Iterator[Evidence]:
    """Yield who has the box open; after 24 hours a session is no hint any more."""
    for name, process in sessions(line.looks[-1]):
        age_s = line.now.wall_s - process.started_at_s
        if age_s < HINTS_LAST_S:
            value = f"open for {span(max(age_s, 0.0))}"
            yield Evidence(name=name, value=value, age_s=age_s, verdict="hint")


def sessions(look: Look) -> Iterator[tuple[str, ProcessSeen]]:
    """Yield what a person may have open: terminals through ssh, tmux, notebooks."""
    by_pid = {each.pid: each for each in look.machine.processes or ()}
    for each in by_pid.values():
        names = {each.name, each.program}
        above = by_pid.get(each.parent_pid)
        if each.on_terminal and above is not None and above.name in SSHD:
            yield "ssh", each
        elif names & TMUX:
            yield "tmux", each
        elif names & (JUPYTER | KERNELS):
            yield "jupyter", each


def contradiction(line: Timeline) -> Evidence | None:
    """Return that `who` lists nobody although somebody's terminal runs below sshd."""
    if line.looks[-1].machine.logins != 0:
        return None
    found = next((each for each in hints(line) if each.name == "ssh"), None)
    if found is None:
        return None
    value = "the login list is empty, but a terminal runs under sshd"
    return Evidence(name="sessions", value=value, age_s=found.age_s, verdict="unknown")
