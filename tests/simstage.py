"""The stage for one simulated box: what the product asks the world, and the laws it must keep."""

from __future__ import annotations

import math
import sqlite3
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from simulated import HOUR_S, LOWEST, NEARLY_USD, START, from_h
from simworld import ACTIVE, LOW

from costplan.box import actions
from costplan.errors import CostplanError
from costplan.watching import Watch, observe

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from simworld import World

    from costplan.box.commands import Done
    from costplan.records.acting import ActName, BoxState, Order, Outcome
    from costplan.watching import Next, Rules, Sample

SETTLED: Final = ("idle", "crashed", "stopped")
CONFIRM_S: Final = 240.0
REFUSED_S: Final = 10.0
COMPLETED_S: Final = 120.0
PERFORM: Final = actions.perform


class Seen(NamedTuple):
    """What the watch saw last, and what was true then."""

    at_s: float
    state: str
    forced: bool
    act: ActName | None
    line_s: float | None
    before_s: float
    """When it looked before that."""


def asked(
    why_not: Callable[[BoxState], list[str]], asks: list[tuple[BoxState, bool]]
) -> Callable[[BoxState], list[str]]:
    """Return what gives the same reasons, and keeps in which state it was asked and passed."""

    def noted(state: BoxState) -> list[str]:
        asks.append((state, False))
        reasons = why_not(state)
        asks[-1] = (state, not reasons)
        return reasons

    return noted


class Stage:
    """The world that is being played, and what happened in it so far."""

    def __init__(self, world: World, path: Path, tally: Counter[str]) -> None:
        self.world, self.path, self.tally = world, path, tally
        self.seen = Seen(0.0, "", False, None, None, 0.0)
        self.spent_usd = Decimal(0)
        self.longest_s = 0.0
        self.asks: list[tuple[BoxState, bool]] = []
        self.late_asks: list[tuple[BoxState, bool]] = []
        """What was asked once more, where the copy took long to read."""
        self.answers: list[str] = []
        self.last = Watch(began_at=START, last_s=0.0)
        self.stopped_s: float | None = None

    # --- what is put in the place of the product's own ------------------------------------------

    def run(
        self, arguments: Sequence[str], *, timeout_s: float, given: str = "",
        variables: Mapping[str, str] | None = None,
    ) -> Done:  # fmt: skip
        if arguments[1] == "before":
            # The cap stops a box that answers although its provider calls it stopped.
            away = self.world.said in actions.WANTED[str(self.seen.act)]
            assert self.seen.forced or not away
        if arguments[1] in LOW:
            assert self.unlawful(arguments[1]) == [], (self.world.nature, vars(self))
        return self.world.run(arguments, timeout_s=timeout_s, given=given, variables=variables)

    def observe(self, memory: Watch, sample: Sample, rules: Rules) -> Next:
        """Observe, and check the money by hand."""
        following = observe(memory, sample, rules)
        now, before = following.watch, self.seen
        rate = {"stopped": rules.stopped_usd_per_hour, "gone": Decimal(0)}.get(
            before.state, rules.usd_per_hour
        )
        gap_s = sample.passed_s - before.at_s
        self.spent_usd += rate * Decimal(repr(gap_s)) / 3_600
        self.longest_s = max(self.longest_s, gap_s)
        assert abs(now.spent_usd - self.spent_usd) < NEARLY_USD
        self.seen = Seen(
            sample.passed_s, now.state, following.forced, following.act, self.world.line_s,
            before.at_s,
        )  # fmt: skip
        self.tally[f"seen {now.state}"] += 1
        if sample.box_state in ("stopped", "gone") and sample.verdict is not None:
            self.tally["away and answers"] += 1
            assert following.act is None or following.forced
        elif self.must_be_idle(sample.passed_s):
            assert now.state == "idle"
        return following

    def perform(self, order: Order, means: actions.Means) -> Outcome:
        """Carry an order out, and keep what was asked before."""
        self.asks, self.late_asks, self.answers = [], [], []
        self.world.hook_ended_well = False
        noted = means._replace(
            why_not=asked(means.why_not, self.asks), since=asked(means.since, self.late_asks)
        )
        try:
            outcome = PERFORM(order, noted)
        except CostplanError as err:
            self.tally[type(err).__name__] += 1
            raise
        finally:
            self.tally["looked once more"] += len(self.late_asks)
            self.tally["refused once more"] += sum(not passed for _, passed in self.late_asks)
        self.tally[f"{order.action} {outcome.result}"] += 1
        if order.action == "stop" and outcome.result != "unconfirmed":
            self.stopped_s = self.world.passed_s
        return outcome

    def stepped(self, real: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function before and after which the process may be killed."""

        def call(*words: Any, **more: Any) -> Any:
            self.world.step()
            found = real(*words, **more)
            self.world.step()
            return found

        return call

    def must_be_idle(self, at_s: float) -> bool:
        """Return whether everything was seen quiet for the window, and no clock was ever off."""
        world = self.world
        if world.line_s is None or not world.is_readable or world.box_off_s:
            return False
        return world.scene()[1] == "quiet" and at_s - world.line_s > world.nature.window_s + 1e-6

    # --- the laws -------------------------------------------------------------------------------

    def claims(self, action: str) -> list[tuple[int | None, int | None]]:
        """Return when each claim that may call was confirmed or released."""
        with sqlite3.connect(self.path) as rows:
            return rows.execute(
                "SELECT confirmed_us, released_us FROM actions WHERE box = ? AND action = ?"
                " AND called_us IS NOT NULL ORDER BY id",
                (self.world.box, action),
            ).fetchall()

    def unlawful(self, verb: str) -> list[str]:
        """Return which laws a call breaks that is about to reach the provider."""
        world, seen = self.world, self.seen
        said = world.said if world.said is not None or not seen.forced else "running"
        asks, late = self.asks, self.late_asks
        broken = {
            "no consent": verb not in world.nature.rules.may or not world.nature.is_yes_right,
            "not what the watch wants": verb != seen.act,
            "state unknown": said is None,
            "is so already": said in actions.WANTED[verb] and not seen.forced,
            "not asked twice": [passed for _, passed in asks] != [True, True],
            "not passed at every ask": not all(passed for _, passed in late),
            "asked in another state": [*asks, *late][-1][0] != said and not seen.forced,
            "state read long ago": world.passed_s - world.said_s > actions.SOON_S + 1e-6,
            "no valid copy": verb == "destroy" and world.copy != "valid",
            "a cap that destroys": seen.forced and verb == "destroy",
            "beyond the cap": world.nature.is_blind
            and world.state == "running"
            and self.is_beyond_the_cap(),
        }  # fmt: skip
        if not seen.forced:
            broken |= self.unsure(verb, str(said))
        broken |= self.claimed_wrongly(verb)
        return [law for law, is_broken in broken.items() if is_broken]

    def unsure(self, verb: str, said: str) -> dict[str, bool]:
        """Return which laws of certainty are broken, where no cap forces."""
        world, seen, rules = self.world, self.seen, self.world.nature.rules
        scene = world.scene()[1]
        needed_s = COMPLETED_S if scene == "completed" else rules.window_s or math.inf
        low = LOWEST if verb == "stop" else ()
        due_s = from_h(rules, *low, "keep-data", "destroy") * HOUR_S
        looked = [answer in SETTLED for answer in self.answers]
        running = sum(state == "running" for state, _ in (*self.asks, *self.late_asks))
        begun_s = world.scene()[0]
        return {
            "not settled": seen.state not in SETTLED,
            "not read to the end": seen.state == "idle" and not world.is_readable,
            "the hook failed": not world.hook_ended_well,
            "at work": said == "running" and scene in ACTIVE and begun_s <= world.quick_s,
            "looked at long ago": said == "running"
            and world.passed_s - world.quick_s > actions.SOON_S + 1e-6,
            "not looked at twice": len(looked) != running or not all(looked),
            "not quiet for the window": seen.state == "idle"
            and (seen.line_s is None or seen.at_s - seen.line_s < needed_s - 1e-6),
            "before its time": seen.at_s - world.used_s < due_s - 1e-6,
        }

    def claimed_wrongly(self, verb: str) -> dict[str, bool]:
        """Return which laws of the claim are broken."""
        calls, claims = [call for call in self.world.calls if call[1] == verb], self.claims(verb)
        return {
            "no claim of its own": len(claims) <= len(calls),
            "claimed twice": sum(claim == (None, None) for claim in claims) != 1,
            "destroyed before": verb == "destroy" and any(done for done, _ in claims),
        }

    def is_given_up_late(self, action: str) -> bool:
        """Return whether a call was looked after for long enough before its claim is given up."""
        calls = [call for call in self.world.calls if call[1] == action]
        claims = self.claims(action)
        if not calls or not claims or claims[-1] != (None, None):
            return True  # it was never called
        at_s, _, went_well = calls[-1]
        return self.world.passed_s - at_s >= (CONFIRM_S if went_well else REFUSED_S)

    def is_beyond_the_cap(self) -> bool:
        """Return whether more was billed than the cap and one interval allow."""
        rules, world = self.world.nature.rules, self.world
        interval_usd = (
            rules.usd_per_hour * Decimal(repr(world.passed_s - self.seen.before_s)) / 3_600
        )
        assert rules.cap_usd is not None
        return world.bill_usd > float(rules.cap_usd + interval_usd) + 1e-6
