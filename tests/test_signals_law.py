"""The law of the signals: whatever is lost, busy never becomes idle."""

from __future__ import annotations

from typing import Any

from boxes import (
    GB,
    HOUR,
    INIT,
    MINUTE,
    START_S,
    TRAINER,
    WINDOW_S,
    counter,
    gpu,
    log,
    process,
    run,
    watch,
)
from hypothesis import given
from hypothesis import strategies as st

from costplan.box.verdict import judge
from costplan.records.signals import Machine, Snapshot, Verdict

ALIVE = (INIT, process(TRAINER))


def judged(looks: list[Snapshot], window_s: float = WINDOW_S, **more: Any) -> Verdict:
    return judge(looks, window_s=window_s, **more)


# --- the law ------------------------------------------------------------------------------------

AT_WORK: dict[str, dict[str, Any]] = {
    "nothing": {},
    "gpu": {"gpus": (gpu(), gpu(1, util=60))},
    "holder": {"gpus": (gpu(), gpu(1, memory_used_mb=9_000.0, pids=(7,)))},
    "setup": {"processes": (INIT, process(9, "wget"))},
    "cpu": {"processes": (INIT, process(9, started_at_s=START_S, cpu_s=500.0))},
    "network_bytes": {"network_bytes": 2 * GB},
    "disk_used_bytes": {"disk_used_bytes": 60 * GB},
}


@st.composite
def boxes(draw: st.DrawFn) -> list[Snapshot]:
    """Half an hour of a box on which a run may stand or die, and one thing happen at a time."""
    ends_s = draw(st.sampled_from([-HOUR, 4 * MINUTE, HOUR]))
    dies_s = draw(st.sampled_from([-HOUR, 5 * MINUTE, HOUR]))
    works, works_at = draw(st.sampled_from(list(AT_WORK))), draw(st.integers(0, 30)) * MINUTE
    one = draw(st.sampled_from(["none", "running", "completed", "log", "done"]))

    def at(at_s: float) -> dict[str, Any]:
        last_s = min(at_s, ends_s)
        counters = [counter(last_s, last_s)]
        runs = []
        if one in ("running", "completed"):
            runs = [run(counters=counters, state=one)]
        elif one == "log":
            runs = [log(counters=counters)]
        elif one == "done":
            runs = [log(counters=counters, kind="ultralytics", state="completed")]
        living = {"processes": ALIVE if at_s < dies_s else (INIT,), "gpus": (gpu(), gpu(1))}
        # A counter that rose stays high; all else happens in one look.
        happens = at_s == works_at or (at_s > works_at and works.endswith("_bytes"))
        return {"runs": runs} | living | (AT_WORK[works] if happens else {})

    return watch(30 * MINUTE, at)


def without(snapshot: Snapshot, what: str) -> Snapshot:
    """The same look with one thing that could not be read."""
    if what == "all":
        return Snapshot(problem="did not answer")
    assert snapshot.machine is not None
    if what in Machine.model_fields:
        return snapshot.model_copy(
            update={"machine": snapshot.machine.model_copy(update={what: None})}
        )
    if what in ("util_percent", "memory_used_mb", "pids"):
        blind = tuple(g.model_copy(update={what: None}) for g in snapshot.machine.gpus or ())
        machine = snapshot.machine.model_copy(update={"gpus": blind})
        return snapshot.model_copy(update={"machine": machine})
    missing: Any = () if what == "counters" else None
    runs = tuple(r.model_copy(update={what: missing}) for r in snapshot.runs)
    return snapshot.model_copy(update={"runs": runs})


LOST = [
    *("all", "gpus", "processes", "network_bytes", "disk_used_bytes", "util_percent"),
    *("memory_used_mb", "pids", "state", "pid", "counters", "interval_s", "newest_at_s"),
    *("started_at_s", "updated_at_s"),
]


@given(boxes(), st.dictionaries(st.integers(0, 30), st.sampled_from(LOST), max_size=8))
def test_missing_data_never_turns_busy_into_idle(
    looks: list[Snapshot], lost: dict[int, str]
) -> None:
    fewer = [without(each, lost[n]) if n in lost else each for n, each in enumerate(looks)]
    if judged(fewer).state == "idle":
        assert judged(looks).state == "idle"


@given(boxes(), st.sampled_from(LOST))
def test_data_that_is_missing_all_along_never_turns_busy_into_idle(
    looks: list[Snapshot], lost: str
) -> None:
    if judged([without(each, lost) for each in looks]).state == "idle":
        assert judged(looks).state == "idle"
