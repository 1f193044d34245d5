"""A watch over made-up hours: what it says, when it acts, and all that must not make it act."""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from boxes import HOUR, INIT, MINUTE, TRAINER, counter, gpu, look, process, run

from costplan.box import watcher
from costplan.box.actions import Clock
from costplan.box.watcher import Parts, shared, watch
from costplan.errors import LimitError
from costplan.records.acting import ActName, BoxState, Outcome
from costplan.records.idle import PlanStep
from costplan.records.signals import Snapshot, Verdict
from costplan.watching import Event, Rules, Watch

if TYPE_CHECKING:
    from collections.abc import Callable

WINDOW_S = 20 * MINUTE
START = datetime(2026, 11, 30, 12, tzinfo=timezone.utc)
PLAN = (
    PlanStep(from_h=0.0, action="keep", undo=True),
    PlanStep(from_h=0.034, action="stop", undo=True),
    PlanStep(from_h=12.45, action="destroy", undo=False),
)


class Ended(Exception):  # noqa: N818
    """The test has seen enough."""


class Seen(NamedTuple):
    """What a watch did, each thing with the minute in which it did it."""

    events: list[tuple[float, Event]]
    acts: list[tuple[float, ActName, bool]]
    memory: list[Watch]

    def of(self, *kinds: str) -> list[float]:
        """Return the minutes of the events of these kinds."""
        return [minute for minute, event in self.events if event.kind in kinds]

    def text(self, kind: str) -> str:
        """Return all that was said of one kind."""
        return "\n".join(event.text for _, event in self.events if event.kind == kind)


def rules(**more: Any) -> Rules:
    """The founding prices, and a window of 20 minutes."""
    given: dict[str, Any] = {
        "usd_per_hour": Decimal("3.4828"),
        "stopped_usd_per_hour": Decimal("0.0694"),
        "plan": PLAN,
        "window_s": WINDOW_S,
    }
    return Rules(**(given | more))


def watched(  # noqa: C901
    until_s: float,
    each: Callable[[float], dict[str, Any] | Snapshot],
    *,
    states: Callable[[float], BoxState | None] | None = None,
    refuse: str | None = None,
    obeys: bool = True,
    every_s: float = MINUTE,
    **more: Any,
) -> Seen:
    """Watch until a second of the test; `each` makes the look of a second."""
    seen = Seen([], [], [])
    passed, stopped = [0.0], dict[str, float]()

    def sleep(duration_s: float) -> None:
        passed[0] += duration_s
        if passed[0] > until_s:
            raise Ended

    def make() -> Snapshot:
        if stopped and obeys:
            return Snapshot(problem="no answer")
        found = each(passed[0])
        return found if isinstance(found, Snapshot) else look(passed[0], **found)

    def state() -> BoxState | None:
        if stopped and obeys:
            return "gone" if "destroy" in stopped else "stopped"
        return states(passed[0]) if states else "running"

    def act(action: ActName, forced: bool) -> Outcome:
        seen.acts.append((passed[0] / MINUTE, action, forced))
        if refuse is not None:
            raise LimitError(refuse)
        stopped[action] = passed[0]
        return Outcome(action=action, box="b", result="confirmed", command="", why="done")

    parts = Parts(
        look=make,
        box_state=state,
        act=act,
        tell=lambda event: seen.events.append((passed[0] / MINUTE, event)),
        beat=seen.memory.append,
        clock=Clock(lambda: START + timedelta(seconds=passed[0]), lambda: passed[0], sleep),
    )
    with suppress(Ended):
        watch(
            rules(**more), parts, window_s=WINDOW_S, interval_s=every_s,
            memory=Watch(began_at=START, last_s=0.0),
        )  # fmt: skip
    return seen


def quiet(_: float) -> dict[str, Any]:
    return {}


def blind(_: float) -> Snapshot:
    return Snapshot(problem="ssh timed out")


STOP: frozenset[ActName] = frozenset({"stop"})
DESTROY: frozenset[ActName] = frozenset({"destroy"})
BOTH = STOP | DESTROY


# --- due, told, done ----------------------------------------------------------------------------


def test_an_idle_box_is_told_at_twenty_minutes_and_every_hour_with_the_money_gone() -> None:
    """Case 1: an idle box billed 43 h unseen."""
    seen = watched(3 * HOUR, quiet)
    assert seen.of("stop-due") == [20, 60, 120, 180]
    assert seen.acts == []  # nobody said yes
    texts = [event.text for _, event in seen.events if event.kind == "stop-due"]
    assert texts[0].startswith("stop due: idle, 20 min without work, $1.16 spent")  # 3.4828 / 3
    assert "every hour on costs $3.41 more than stopping" in texts[0]  # 3.4828 - 0.0694
    assert "$10.45 spent" in texts[3]  # 3 h x 3.4828


def test_with_a_yes_it_stops_once_and_goes_on_watching() -> None:
    seen = watched(5 * HOUR, quiet, may=STOP)
    assert seen.acts == [(20, "stop", False)]
    assert seen.memory[-1].state == "stopped"
    # 20 min running and, at the look after it, a minute more; then stopped: 21/60 x 3.4828 + ...
    assert float(seen.memory[-1].spent_usd) == pytest.approx(21 / 60 * 3.4828 + 4.65 * 0.0694, 0.01)


def test_nineteen_minutes_are_not_twenty() -> None:
    assert watched(19 * MINUTE, quiet, may=BOTH).acts == []


def test_a_destroy_is_due_when_the_hours_away_say_so() -> None:
    seen = watched(13 * HOUR, quiet, may=BOTH, every_s=5 * MINUTE)
    assert [act for _, act, _ in seen.acts] == ["stop", "destroy"]
    # 12.45 h = 747 min after the last sign of work, which was at minute 0; never sooner.
    assert 747 <= seen.acts[1][0] <= 757
    assert seen.memory[-1].state == "gone"


def test_without_a_yes_for_it_a_destroy_is_only_told() -> None:
    seen = watched(14 * HOUR, quiet, may=STOP, every_s=5 * MINUTE)
    assert [act for _, act, _ in seen.acts] == ["stop"]
    assert seen.of("destroy-due")


def test_where_a_destroy_is_due_at_once_and_only_a_stop_has_a_yes_it_stops() -> None:
    plan = (PlanStep(from_h=0.0, action="destroy", undo=False),)
    for may in (STOP, BOTH):
        seen = watched(30 * MINUTE, quiet, plan=plan, may=may)
        assert seen.acts[0] == (20, "stop", False)


def test_a_plan_that_keeps_is_never_due() -> None:
    plan = (
        PlanStep(from_h=0.0, action="keep", undo=True),
        PlanStep(from_h=2.0, action="destroy", undo=False),
    )
    seen = watched(3 * HOUR, quiet, plan=plan)
    assert seen.of("stop-due") == []
    assert seen.of("destroy-due")[0] == 120


def test_from_the_latest_start_on_only_the_way_back_is_told() -> None:
    """The deadline is a time of day: it does not wait for the box to become idle."""
    seen = watched(2 * HOUR, quiet, start_by_s=15 * MINUTE, may=BOTH)
    assert seen.acts == []
    assert seen.of("start-due") == [20, 60, 120]
    assert watched(HOUR, quiet, start_by_s=21 * MINUTE, may=STOP).acts == [(20, "stop", False)]


def test_a_step_that_is_no_way_of_waiting_acts_on_nothing() -> None:
    plan = (
        PlanStep(from_h=0.0, action="keep", undo=True),
        PlanStep(from_h=0.1, action="start", undo=True),
    )
    assert watched(HOUR, quiet, plan=plan, may=BOTH).acts == []


def test_a_window_that_is_off_makes_nothing_due() -> None:
    """Case 31: `off` for the idle time ended machines at once elsewhere."""
    seen = watched(20 * HOUR, quiet, window_s=None, may=BOTH, every_s=5 * MINUTE)
    assert seen.acts == []
    assert seen.of("stop-due", "destroy-due") == []


def test_a_refusal_is_told_and_tried_again_after_five_minutes() -> None:
    seen = watched(31 * MINUTE, quiet, may=STOP, refuse="the before-hook failed")
    assert [minute for minute, *_ in seen.acts] == [20, 25, 30]
    assert seen.text("refused").splitlines() == ["the before-hook failed"] * 3


def test_work_that_begins_again_cancels_what_was_due() -> None:
    def works(at_s: float) -> dict[str, Any]:
        busy = 30 * MINUTE <= at_s < 60 * MINUTE
        return {"gpus": (gpu(util=90 if busy else 0),)}

    seen = watched(85 * MINUTE, works)
    assert seen.of("stop-due")[0] == 20
    # The last busy look is that of minute 59: idle again 20 minutes later, told again then.
    assert seen.of("stop-due")[-1] == pytest.approx(79, abs=1)
    assert 30 in seen.of("changed")


# --- what must never act ------------------------------------------------------------------------


def test_unknown_never_acts_and_is_told_after_half_an_hour_and_every_hour() -> None:
    seen = watched(3 * HOUR, blind, may=BOTH)
    assert seen.acts == []
    assert seen.of("unknown") == [30, 60, 120, 180]


def test_one_failed_look_starts_the_window_anew_and_ends_nothing() -> None:
    def sometimes(at_s: float) -> dict[str, Any] | Snapshot:
        return Snapshot(problem="timeout") if at_s == 15 * MINUTE else {}

    seen = watched(40 * MINUTE, sometimes, may=STOP)
    assert seen.acts == [(36, "stop", False)]  # quiet from minute 16 on


def test_thirty_unreadable_minutes_and_one_idle_look_are_not_idle() -> None:
    """Case 57."""

    def unread(at_s: float) -> dict[str, Any]:
        return {"gpus": (gpu(util=None if at_s < 30 * MINUTE else 0),)}

    seen = watched(49 * MINUTE, unread, may=BOTH)
    assert seen.acts == []
    assert watched(50 * MINUTE, unread, may=STOP).acts == [(50, "stop", False)]


def test_a_clock_that_jumps_starts_the_window_anew() -> None:
    """Case 63."""

    def jumps(at_s: float) -> dict[str, Any]:
        return {"jump_s": 2 * HOUR if at_s >= 10 * MINUTE else 0.0}

    assert watched(29 * MINUTE, jumps, may=BOTH).acts == []
    assert watched(31 * MINUTE, jumps, may=STOP).acts[0][0] == pytest.approx(30, abs=1)


def frozen(_: float) -> dict[str, Any]:
    hung = run(counters=[counter(183, -HOUR)])
    return {"runs": [hung], "processes": (INIT, process(TRAINER)), "gpus": (gpu(util=100),)}


def test_a_hung_box_is_told_and_never_touched() -> None:
    """Cases 41, 45, 46."""
    seen = watched(2 * HOUR, frozen, may=BOTH)
    assert seen.acts == []
    assert seen.of("hung") == [0, 60, 120]
    assert "look at it" in seen.text("hung")


def crashed(_: float) -> dict[str, Any]:
    return {"runs": [run(counters=[counter(183, -HOUR)])]}


def test_a_crashed_box_is_stopped_only_after_the_window() -> None:
    """A supervisor may start it again in the next minute."""
    assert watched(19 * MINUTE, crashed, may=BOTH).acts == []
    assert watched(20 * MINUTE, crashed, may=STOP).acts == [(20, "stop", False)]


def test_a_provider_that_calls_a_box_stopped_which_answers_is_unknown() -> None:
    """Case 54."""
    seen = watched(14 * HOUR, quiet, states=lambda _: "stopped", may=BOTH, every_s=5 * MINUTE)
    assert seen.acts == []
    assert "the provider says stopped, but the box answers" in seen.text("unknown")


def test_a_provider_that_cannot_be_asked_changes_nothing() -> None:
    assert watched(20 * MINUTE, quiet, states=lambda _: None, may=STOP).acts


def completed(at_s: float) -> dict[str, Any]:
    done = run(state="completed", counters=[counter(10, -5 * MINUTE)])
    living = (INIT, process(TRAINER)) if at_s < 2 * MINUTE else (INIT,)
    return {"runs": [done], "processes": living}


def test_two_minutes_are_enough_once_a_run_is_completed_and_gone() -> None:
    """Its process, which may upload, ends in minute 2; a minute or two of quiet follow."""
    seen = watched(10 * MINUTE, completed, may=STOP)
    assert [act for _, act, _ in seen.acts] == ["stop"]
    assert 2 + 2 <= seen.acts[0][0] <= 6


def test_a_completed_run_whose_process_lives_is_busy_for_as_long_as_it_lives() -> None:
    """Cases 51 and the upload of best.pt, which comes after `completed`."""

    def uploads(at_s: float) -> dict[str, Any]:
        return completed(at_s) | {"processes": (INIT, process(TRAINER))}

    assert watched(25 * MINUTE, uploads, may=BOTH).acts == []


@pytest.mark.parametrize(
    ("at_h", "minute"),
    [(0.0, 28), (0.25, 41)],  # 26 + 2, the window of a completed run; 26 + 15
)
def test_quiet_begins_when_the_process_of_a_completed_run_is_gone(
    at_h: float, minute: float
) -> None:
    """The machine is quiet all along; the process, which may upload, ends in minute 26."""

    def ends(at_s: float) -> dict[str, Any]:
        living = (INIT, process(TRAINER)) if at_s < 26 * MINUTE else (INIT,)
        return completed(at_s) | {"processes": living}

    plan = (
        PlanStep(from_h=0.0, action="keep", undo=True),
        PlanStep(from_h=at_h, action="destroy", undo=False),
    )
    seen = watched(HOUR, ends, plan=plan[at_h == 0 :], may=DESTROY)
    assert seen.acts[0] == (minute, "destroy", False)


def test_a_completed_run_that_names_no_process_waits_for_the_whole_window() -> None:
    def unnamed(_: float) -> dict[str, Any]:
        done = run(state="completed", kind="huggingface", names_process=False, pid=None,
                   counters=[counter(10, -HOUR)])  # fmt: skip
        return {"runs": [done]}

    assert watched(19 * MINUTE, unnamed, may=STOP).acts == []
    assert watched(20 * MINUTE, unnamed, may=STOP).acts


def test_a_box_that_is_said_to_be_gone_once_is_watched_on() -> None:
    """An empty answer of the provider while ssh fails must not end the guard."""

    def lost(at_s: float) -> dict[str, Any] | Snapshot:
        return blind(at_s) if at_s == 5 * MINUTE else {}

    seen = watched(
        26 * MINUTE, lost, may=STOP, states=lambda at_s: "gone" if at_s == 5 * MINUTE else "running"
    )
    assert seen.acts == [(26, "stop", False)]


def test_a_box_that_is_gone_twice_ends_the_watch() -> None:
    seen = watched(HOUR, blind, states=lambda at_s: "gone" if at_s >= 5 * MINUTE else "running")
    assert [event.text for _, event in seen.events][-1] == "unknown -> gone: its provider says gone"
    assert len(seen.memory) == 7  # minutes 0 to 4, then 5 and 6


# --- days of looks ------------------------------------------------------------------------------


def test_looks_share_the_processes_that_did_nothing_in_between() -> None:
    """780 looks at 400 processes took 370 MB."""
    works = process(7, cpu_s=1.0)
    before = look(0.0, processes=(INIT, works, process(8), process(9)))
    jitter = {"started_at_s": INIT.started_at_s + 0.01}
    after = look(
        60.0,
        processes=(
            INIT.model_copy(update=jitter),
            works.model_copy(update=jitter | {"cpu_s": 9.0}),
            process(8, zombie=True),
            process(9, started_at_s=INIT.started_at_s + 5),
            process(10),
        ),
    )
    found = shared(before, after)
    assert found.machine is not None
    assert after.machine is not None
    assert (found.machine.processes or ())[0] is INIT
    assert (found.machine.processes or ())[1:] == (after.machine.processes or ())[1:]
    assert found.clock == after.clock


def test_a_look_that_failed_is_kept_as_it_is() -> None:
    failed = Snapshot(problem="timeout")
    assert shared(look(), failed) is failed
    assert shared(failed, look()) == look()
    assert shared(look(processes=None), look()) == look()


def test_a_short_window_keeps_no_more_looks_than_can_be_judged(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """At a look every 5 seconds, 13 hours of them took 10 seconds to judge."""
    longest: list[int] = []

    def counted(snapshots: list[Snapshot], **more: Any) -> Verdict:
        longest.append(len(snapshots))
        return Verdict(state="busy", why="", quiet_s=0)

    monkeypatch.setattr(watcher, "judge", counted)
    watched(1.5 * HOUR, quiet, every_s=5.0)
    assert max(longest) == watcher.MOST_LOOKS == 1_000


# --- the cap ------------------------------------------------------------------------------------


@pytest.mark.parametrize("each", [blind, frozen])
def test_the_cap_stops_whatever_the_box_does_and_never_destroys(
    each: Callable[[float], Any],
) -> None:
    seen = watched(4 * HOUR, each, cap_usd=Decimal(5), may=BOTH, plan=PLAN[:2])
    # 5 / 3.4828 h = 86.1 min: the look of minute 87 is the first above it.
    assert seen.acts == [(87, "stop", True)]
    assert seen.of("cap") == [87]


def test_the_cap_is_only_told_where_nobody_said_yes_to_a_stop() -> None:
    for may in (frozenset[ActName](), DESTROY):
        seen = watched(2 * HOUR, blind, cap_usd=Decimal(5), may=may)
        assert seen.acts == []
        assert seen.of("cap")[0] == 87


def test_the_cap_is_not_held_up_by_a_stop_that_is_due_and_refused() -> None:
    seen = watched(2 * HOUR, quiet, cap_usd=Decimal(5), may=STOP, refuse="hook failed")
    assert (20, "stop", False) in seen.acts
    assert [forced for minute, _, forced in seen.acts if minute >= 90] == [True] * 7


def test_below_the_cap_nothing_happens() -> None:
    assert watched(86 * MINUTE, blind, cap_usd=Decimal(5), may=STOP).acts == []


# --- the way of time ----------------------------------------------------------------------------


def test_hours_already_stopped_count_when_the_watch_begins() -> None:
    seen = watched(3 * HOUR, blind, states=lambda _: "stopped", may=DESTROY, stopped_before_h=11.0)
    assert [act for _, act, _ in seen.acts] == ["destroy"]
    assert seen.acts[0][0] == pytest.approx((12.45 - 11) * 60, abs=1)


@pytest.mark.parametrize("first", ["running", None])
def test_hours_away_end_when_somebody_starts_the_box(first: BoxState | None) -> None:
    """Ten minutes on Monday are too short for a verdict, and are no part of the weekend."""

    def states(at_s: float) -> BoxState | None:
        if not 10 * HOUR <= at_s < 10 * HOUR + 10 * MINUTE:
            return "stopped"
        return first if at_s < 10 * HOUR + 5 * MINUTE else "running"

    def each(at_s: float) -> dict[str, Any] | Snapshot:
        return {} if states(at_s) != "stopped" else blind(at_s)

    seen = watched(24 * HOUR, each, states=states, may=DESTROY, every_s=5 * MINUTE)
    assert seen.of("destroy-due")[0] == pytest.approx((10 + 12.45) * 60 + 10, abs=5)


def test_a_state_that_could_not_be_read_once_ends_no_hours_away() -> None:
    def states(at_s: float) -> BoxState | None:
        return None if at_s == 10 * HOUR else "stopped"

    seen = watched(13 * HOUR, blind, states=states, may=DESTROY, every_s=5 * MINUTE)
    # Five minutes to the look that failed, and five to the next, are not hours away.
    assert seen.of("destroy-due")[0] == pytest.approx(12.45 * 60 + 10, abs=5)


def test_a_heartbeat_comes_every_hour() -> None:
    assert watched(4 * HOUR, quiet).of("heartbeat") == [60, 120, 180, 240]


def test_only_changes_are_told() -> None:
    def steady(at_s: float) -> dict[str, Any]:
        moving = run(counters=[counter(round(at_s / MINUTE), at_s)])
        return {"runs": [moving], "processes": (INIT, process(TRAINER)), "gpus": (gpu(util=90),)}

    seen = watched(3 * HOUR, steady)
    assert [event.kind for _, event in seen.events] == [
        "changed", "heartbeat", "heartbeat", "heartbeat",
    ]  # fmt: skip
    """Case 30: 58 warnings in a run of three hours, none of them true."""
