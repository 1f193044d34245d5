"""A box, its provider and its hours in memory: all lie, fail, forget and are killed by chance."""

from __future__ import annotations

import math
from collections import Counter
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from boxes import INIT, TRAINER, counter, gpu, look, process, run
from simulated import START

from costplan.box.commands import Done
from costplan.box.gate import Gate
from costplan.records.signals import Snapshot

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from random import Random

    from costplan.records.acting import BoxState
    from costplan.watching import Rules

ACTIVE: Final = ("work", "finishing", "hung")
FAULTS: Final = (
    "failed", "no gpus", "na", "no processes", "jump", "reboot", "future", "unread", "no network",
)  # fmt: skip
BREAKS: Final = ("jump", "reboot")
"""After these a new line of looks begins with the look itself."""
LOW: Final[dict[str, BoxState]] = {"stop": "stopped", "destroy": "gone"}


class Killed(BaseException):
    """The process ends here and now, whatever it was about to do."""


class Ended(BaseException):
    """The simulation has seen enough of this box."""


class Nature(NamedTuple):
    """What chance has in store for one box."""

    rules: Rules
    window_s: float
    interval_s: float
    end_s: float
    scenes: tuple[tuple[float, str], ...]
    """Each with the second at which it begins."""
    look_faults: float
    """The share of looks with one."""
    state_faults: float
    lies: bool
    """The provider may say a wrong word, and whether the box is there or not."""
    calls: tuple[str, ...]
    """What may become of a call."""
    hook_works: float
    """The share of hooks that end well."""
    copy: str
    kills: tuple[int, ...]
    """After so many steps each."""
    back_s: float
    """When somebody starts a stopped box again."""
    is_blind: bool
    """No look ever sees anything."""
    is_yes_right: bool
    """The id was repeated letter for letter."""


class World:
    """One box and all around it; time passes only when somebody waits."""

    def __init__(self, chance: Random, nature: Nature, box: str, tally: Counter[str]) -> None:
        self.chance, self.nature, self.box, self.tally = chance, nature, box, tally
        self.passed_s = self.wall_off_s = self.box_off_s = 0.0
        self.state: BoxState = "running"
        self.copy, self.boots, self.bill_usd = nature.copy, 0, 0.0
        self.pending: tuple[float, BoxState] | None = None
        self.calls: list[tuple[float, str, bool]] = []
        self.said: str | None = None
        self.said_s = self.quick_s = -math.inf
        """When the provider last said a state, and when the last quick look was."""
        self.fallen_at: list[float] = []
        self.kills = list(nature.kills)
        self.steps = 0
        self.line_s: float | None = None
        """Since when every look of the watch was readable and quiet."""
        self.hook_ended_well = False
        self.is_readable = False
        """Whether the last look of the watch could be read to its end."""
        self.used_s = 0.0
        """When a look last saw the box at work."""
        self.looked_s = -math.inf
        self.changes = 0
        """How often the box changed its state, which a watch sees only at its next look."""

    # --- time -------------------------------------------------------------------------------

    def now(self) -> datetime:
        return START + timedelta(seconds=self.passed_s + self.wall_off_s)

    def sleep(self, duration_s: float) -> None:
        """Let time pass; now and then the machine sleeps too, or its clock is set."""
        if self.chance.random() < 0.01:
            self.tally["gap"] += 1
            duration_s += self.chance.uniform(300, 3_600)
        if self.chance.random() < 0.01:
            self.tally["clock of the watcher"] += 1
            self.wall_off_s += self.chance.uniform(-7_200, 7_200)
        self.step()
        self.passes(duration_s)
        if self.passed_s > self.nature.end_s:
            raise Ended

    def passes(self, duration_s: float) -> None:
        """Bill the time, and let happen what was on its way."""
        end_s = self.passed_s + duration_s
        if self.pending is not None and self.pending[0] <= end_s:
            at_s, state = self.pending
            self._bill(max(0.0, at_s - self.passed_s))
            self.pending = None
            self._becomes(state)
        if self.state == "stopped" and self.passed_s < self.nature.back_s <= end_s:
            self._bill(self.nature.back_s - self.passed_s)
            self._becomes("running")
            self.boots += 1
            self.line_s = None  # a new boot begins a new line, also between two looks
            self.tally["started by somebody"] += 1
        self._bill(end_s - self.passed_s)

    def _bill(self, duration_s: float) -> None:
        rules = self.nature.rules
        rate = rules.usd_per_hour if self.state == "running" else rules.stopped_usd_per_hour
        self.bill_usd += (self.state != "gone") * float(rate) * duration_s / 3_600
        self.passed_s += duration_s

    def _becomes(self, state: BoxState) -> None:
        if self.state != "gone" and state != self.state:
            self.state = state
            self.changes += 1

    def step(self) -> None:
        """Count a step; at some the process is killed."""
        self.steps += 1
        if self.kills and self.steps >= self.kills[0]:
            self.kills.pop(0)
            self.steps = 0
            self.tally["killed"] += 1
            raise Killed

    # --- the box ----------------------------------------------------------------------------

    def scene(self) -> tuple[float, str]:
        """Return what the box does, and since when."""
        return [each for each in self.nature.scenes if each[0] <= self.passed_s][-1]

    def look(self) -> Snapshot:
        """Return what the watch sees, and keep whether it was worth anything."""
        fault = self._fault()
        found = self._seen(fault)
        apart_s = self.passed_s - self.looked_s
        usual_s = min(2 * self.nature.interval_s, 300.0)
        self.is_readable = self.state == "running" and fault in (None, *BREAKS)
        is_active = self.state == "running" and self.scene()[1] in ACTIVE
        if is_active or not (self.is_readable or fault == "unread"):
            self.line_s = None
        elif self.line_s is None or fault in BREAKS or apart_s > usual_s:
            self.line_s = self.passed_s
        if is_active and fault is None:
            self.used_s = self.passed_s
        self.looked_s = self.passed_s
        return found

    def quick_look(self) -> Snapshot:
        """Return what is seen just before a call."""
        self.step()
        self.quick_s = self.passed_s
        fault = self._fault()
        if fault in BREAKS:
            self.line_s = None
        return self._seen(fault)

    def _fault(self) -> str | None:
        if self.nature.is_blind:
            return "failed"
        if self.state != "running" or self.chance.random() >= self.nature.look_faults:
            return None
        fault = self.chance.choice(FAULTS)
        self.tally[fault] += 1
        if fault == "jump":
            self.box_off_s += self.chance.choice([-1, 1]) * self.chance.uniform(180, 7_200)
        self.boots += fault == "reboot"
        return fault

    def _seen(self, fault: str | None) -> Snapshot:
        if self.state != "running" or fault == "failed":
            return Snapshot(problem="no answer")
        at_s = self.passed_s
        since_s, scene = self.scene()
        shown = shows(scene, since_s, at_s)
        if fault in SPOILED:
            shown |= {SPOILED[fault]: None}
        if fault == "na":
            shown["gpus"] = (gpu(util=None), gpu(1))
        if fault == "future":
            shown["runs"] = (*shown["runs"], run("/runs/odd", counters=[counter(1, at_s + 9_999)]))
        if fault == "unread":
            # What moved meanwhile the next look tells: the line of looks goes on.
            shown["runs"] = (*shown["runs"], run("/runs/odd", problem="cannot be read"))
        return look(at_s, jump_s=self.box_off_s, boot_id=f"boot {self.boots}", **shown)

    # --- the provider -----------------------------------------------------------------------

    def run(
        self, arguments: Sequence[str], *, timeout_s: float, given: str = "",
        variables: Mapping[str, str] | None = None,
    ) -> Done:  # fmt: skip
        """Return how a command ends, in place of a process."""
        assert timeout_s > 0
        _, verb, box = arguments
        assert box == self.box
        self.step()
        self.passes(1.0)
        if verb == "state":
            done = self._answer()
        elif verb in LOW:
            done = self._call(verb)
        else:
            assert variables is not None
            assert variables["COSTPLAN_WHEN"] in given
            done = self._hook(verb)
        self.step()
        return done

    def _answer(self) -> Done:
        self.said_s = self.passed_s
        if self.chance.random() >= self.nature.state_faults:
            self.said = self.state
            return Done(0, f"{self.state}\n", "")
        kinds = ["state fails", "state unknown", *(["lie"] if self.nature.lies else [])]
        kind = self.chance.choice(kinds)
        self.tally[kind] += 1
        self.said = None
        if kind == "state fails":
            return Done(7, "", "cloud ended with 7")
        if kind == "state unknown":
            return Done(0, self.chance.choice(["", "loading\n", "not running\n", "STOPPED?"]), "")
        self.said = self.chance.choice(["stopped", "gone", "running"])
        return Done(0, f"{self.said}\n", "")

    def _call(self, verb: str) -> Done:
        mode = self.chance.choice(self.nature.calls)
        self.tally[f"{verb} called"] += 1
        self.tally[f"call: {mode}"] += 1
        self.calls.append((self.passed_s, verb, mode not in ("refuse", "refuse and do")))
        if mode in ("obey", "refuse and do"):
            self._becomes(LOW[verb])
        if mode == "late":
            self.pending = (self.passed_s + self.chance.uniform(5, 900), LOW[verb])
        failed = mode in ("refuse", "refuse and do")
        return Done(1, "", "cloud ended with 1: busy") if failed else Done(0, "OK", "")

    def _hook(self, verb: str) -> Done:
        self.passes(self.chance.uniform(0, 60))
        self.said = None  # what was known before the hook may be so no more
        if self.chance.random() < 0.2:
            self.copy = self.chance.choice(["missing", "stale", "valid"])
        self.hook_ended_well = self.chance.random() < self.nature.hook_works
        if self.hook_ended_well:
            return Done(0, "", "")
        self.tally[f"hook fails: {verb}"] += 1
        return Done(1, "", "hook ended with 1")

    def gate(self) -> Gate:
        """Return what the gate says of the copy as it is; a large one takes long to read."""
        self.step()
        if self.chance.random() < 0.5:
            self.tally["copy takes long"] += 1
            self.passes(self.chance.choice([20.0, 59.0, 60.0, 600.0, 600.0, 600.0]))
        self.tally[f"copy {self.copy}"] += 1
        return Gate(() if self.copy == "valid" else (f"the copy is {self.copy}",), (), 1, 1, None)


SPOILED: Final = {"no gpus": "gpus", "no processes": "processes", "no network": "network_bytes"}


def shows(scene: str, since_s: float, at_s: float) -> dict[str, Any]:
    """Return what a readable look at a scene holds."""
    still = [counter(since_s // 60, since_s)]
    living, busy = (INIT, process(TRAINER)), (gpu(util=95, pids=(TRAINER,)), gpu(1))
    quiet = {"runs": (), "processes": (INIT,), "gpus": (gpu(), gpu(1))}
    more: dict[str, dict[str, Any]] = {
        "quiet": {},
        "work": {"runs": (run(counters=[counter(at_s // 60, at_s - at_s % 60)]),),
                 "processes": living, "gpus": busy},
        "hung": {"runs": (run(counters=still),), "processes": living, "gpus": busy},
        "crashed": {"runs": (run(counters=still),)},
        "finishing": {"runs": (run(counters=still, state="completed"),), "processes": living},
        "completed": {"runs": (run(counters=still, state="completed"),)},
        "unnamed": {"runs": (run(counters=still, state="completed", kind="huggingface",
                                 names_process=False, pid=None),)},
    }  # fmt: skip
    return quiet | more[scene]
