"""Some thousand boxes watched for real, with all that can go wrong around them going wrong."""

from __future__ import annotations

import math
from collections import Counter
from decimal import Decimal
from random import Random
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final

import pytest
from simstage import CONFIRM_S, Seen, Stage
from simulated import HOUR_S, SEED, START, some_rules
from simworld import FAULTS, Ended, Killed, Nature, World

from costplan import ledger
from costplan.box import actions, audit, commands, watcher
from costplan.cli import acting, looks
from costplan.cli.act_asked import ActAsked
from costplan.idling import advise
from costplan.records.acting import ActName, Order, Outcome
from costplan.records.idle import Absence, IdleBox
from costplan.watching import Event, Rules, Watch

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime
    from pathlib import Path

MANY: Final = 2_500
FEW: Final = 25
SEEN: Final = looks.seen
RECORD: Final = ledger.Ledger.record_action
HAPPENED: Final = (
    "gap", "clock of the watcher", "state fails", "state unknown", "lie", "away and answers",
    "killed", "hook fails: before", "hook fails: after", "copy valid", "copy missing", "copy stale",
    "copy takes long", "call: obey", "call: ignore", "call: refuse", "call: refuse and do",
    "call: late",
    "stop called", "stop confirmed", "stop unconfirmed", "stop already", "destroy called",
    "destroy confirmed", "LimitError", "UnknownError", "started by somebody", "seen busy",
    "seen idle", "seen hung", "seen crashed", "seen unknown", "seen stopped", "told cap",
    "told acted", "told refused", "blind and stopped by the cap",
)  # fmt: skip
"""What must have occurred some hundred times: else the laws were never tried."""
RARE: Final = ("looked once more",)
"""What must have occurred some dozen times: it takes a destroy whose copy takes long."""
ENDS: Final = (
    "quiet", "quiet", "completed", "completed", "unnamed", "crashed", "hung", "finishing",
)  # fmt: skip
ADVICE: Final = advise(IdleBox(usd_per_hour=Decimal(1), setup_minutes=5), Absence())


def some_nature(chance: Random) -> Nature:
    interval_s = chance.choice([60.0, 90.0, 120.0])
    window_s = interval_s * chance.randrange(3, 9)
    end_s = interval_s * chance.randrange(25, 60)
    is_blind = chance.random() < 0.1
    rules = some_rules(chance, hours=end_s / HOUR_S / 4, window_s=window_s)
    if chance.random() < 0.5:
        rules = rules._replace(may=frozenset({"stop", "destroy"}))
    if is_blind:
        cap = rules.usd_per_hour * Decimal(repr(end_s * chance.random() / 2)) / 3_600
        rules = rules._replace(cap_usd=cap, may=frozenset({*rules.may, "stop"}))
    troubled = chance.choice([False, True])
    return Nature(
        rules=rules,
        window_s=window_s,
        interval_s=interval_s,
        end_s=end_s,
        scenes=some_scenes(chance, end_s),
        look_faults=0.0 if chance.random() < 0.3 else 0.06,
        state_faults=0.4 if troubled else 0.03,
        lies=not is_blind and chance.random() < 0.3,
        calls=("obey",)
        if is_blind or chance.random() < 0.4
        else ("obey", "ignore", "refuse", "refuse and do", "late"),
        hook_works=1.0 if chance.random() < 0.6 else 0.5,
        copy=chance.choice(["valid", "valid", "valid", "valid", "missing", "stale"]),
        kills=()
        if is_blind
        else tuple(chance.randrange(1, 60) for _ in range(chance.choice([0, 1, 4]))),
        back_s=end_s * chance.random() if not is_blind and chance.random() < 0.6 else math.inf,
        is_blind=is_blind,
        is_yes_right=is_blind or chance.random() < 0.95,
    )


def some_scenes(chance: Random, end_s: float) -> tuple[tuple[float, str], ...]:
    """Return work that ends one way or another, perhaps to begin again."""
    found, at_s = [], 0.0
    for scene in ("work", "ends", "work", "ends"):
        if scene == "ends":
            scene = chance.choice(ENDS)
        if scene == "completed":  # its process lives on for a while, to upload
            found.append((at_s, "finishing"))
            at_s += end_s * chance.choice([0.0, 0.1])
        found.append((at_s, scene))
        shares = (0.05, 0.1) if scene == "work" else (0.2, 0.5, 1.0)
        at_s += end_s * chance.choice(shares)
    return tuple(found)


# --- one life ------------------------------------------------------------------------------------


def parts(stage: Stage) -> watcher.Parts:
    """Return what the watcher works with: all but the world is the product's own."""
    world, rules = stage.world, stage.world.nature.rules
    state = ("cloud", "state", "{id}")
    yes = world.box if world.nature.is_yes_right else world.box[:-1]

    def act(action: ActName, forced: bool) -> Outcome:
        order = Order(
            action=action, box=world.box, consent=yes if action in rules.may else None,
            call=("cloud", action, "{id}"), state=state, before=("cloud", "before", "{id}"),
            after=("cloud", "after", "{id}"), confirm_s=CONFIRM_S,
        )  # fmt: skip
        return acting.performed(
            ActAsked(), order, advice=ADVICE, runs=["/runs"], ssh=None, forced=forced,
            first_look=lambda: looks.seen(["/runs"], None),
        )  # fmt: skip

    def tell(event: Event) -> None:
        world.step()
        stage.tally[f"told {event.kind}"] += 1

    def beat(memory: Watch) -> None:
        stage.last = memory

    clock = actions.Clock(world.now, lambda: world.passed_s, world.sleep)
    return watcher.Parts(
        look=world.look, box_state=lambda: actions.read_state(state, world.box)[0], act=act,
        tell=tell, beat=beat, clock=clock,
    )  # fmt: skip


def heir(stage: Stage) -> tuple[Watch, Rules]:
    """Return what the next process begins with after one was killed."""
    world, rules, seen = stage.world, stage.world.nature.rules, stage.seen
    world.passes(world.chance.uniform(0, 600))
    world.line_s = None  # what the predecessor saw is lost
    rate = {"stopped": rules.stopped_usd_per_hour, "gone": Decimal(0)}.get(
        seen.state, rules.usd_per_hour
    )
    gap_s = world.passed_s - seen.at_s
    spent_usd = stage.spent_usd + rate * Decimal(repr(gap_s)) / 3_600
    stage.longest_s = max(stage.longest_s, gap_s)
    stage.spent_usd, stage.seen = spent_usd, Seen(world.passed_s, "", False, None, None, seen.at_s)
    stopped_s = stage.stopped_s
    before_h = 0.0
    if stopped_s is not None and world.used_s < stopped_s:
        before_h = (world.passed_s - stopped_s) / HOUR_S
    memory = Watch(
        began_at=START, last_s=world.passed_s, beat_s=world.passed_s, spent_usd=spent_usd
    )
    return memory, rules._replace(stopped_before_h=before_h)


def played(stage: Stage) -> None:
    """Watch one box until its time is over, however often the watcher dies."""
    world, nature = stage.world, stage.world.nature
    memory, rules = stage.last, nature.rules._replace(stopped_before_h=0.0)
    while world.passed_s < nature.end_s:
        try:
            watcher.watch(
                rules, parts(stage), window_s=nature.window_s, interval_s=nature.interval_s,
                memory=memory,
            )  # fmt: skip
        except Ended:
            return
        except Killed:
            memory, rules = heir(stage)
            continue
        stage.tally["watched until it is gone"] += 1
        if not nature.lies:
            return
        # The same id is there again, or was never gone: nobody may destroy it a second time.
        world.state = "running"
        memory, rules = heir(stage)


def wired(stage: list[Stage], patch: pytest.MonkeyPatch) -> None:
    """Put the world of the stage in the place of commands, clocks, looks and copies."""

    def stepped(real: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *words, **more: stage[-1].stepped(real)(*words, **more)

    def recorded(
        book: ledger.Ledger, box: str, action: str, step: ledger.Step, at: datetime
    ) -> Any:
        if step == "released":
            assert stage[-1].is_given_up_late(action)
        return stage[-1].stepped(RECORD)(book, box, action, step, at)

    def seen(runs: list[str], ssh: None) -> looks.Seen:
        found = SEEN(runs, ssh)
        stage[-1].answers.append(found.verdict.state)
        return found

    def sleep(duration_s: float) -> None:
        stage[-1].world.sleep(duration_s)

    clock = actions.Clock(lambda: stage[-1].world.now(), lambda: stage[-1].world.passed_s, sleep)
    patch.setattr(commands, "run", lambda words, **more: stage[-1].run(words, **more))
    patch.setattr(ledger.Ledger, "record_action", recorded)
    patch.setattr(audit, "append", stepped(audit.append))
    patch.setattr(actions, "REAL", clock)
    patch.setattr(actions, "perform", lambda order, means: stage[-1].perform(order, means))
    patch.setattr(acting, "copy_gate", lambda *_, **__: stage[-1].world.gate())
    patch.setattr(acting, "talk", lambda _: None)
    patch.setattr(looks, "time", SimpleNamespace(sleep=sleep))
    patch.setattr(looks, "read", lambda _: stage[-1].world.quick_look())
    patch.setattr(looks, "seen", seen)
    patch.setattr(watcher, "observe", lambda *words: stage[-1].observe(*words))


def worlds(count: int, folder: Path, patch: pytest.MonkeyPatch) -> Counter[str]:
    """Play some lives, check each, and return what happened in them."""
    chance, tally, stage = Random(SEED), Counter[str](), list[Stage]()
    path = folder / "ledger.sqlite3"
    patch.setenv("COSTPLAN_LEDGER", str(path))
    wired(stage, patch)
    for number in range(count):
        world = World(chance, some_nature(chance), f"b{number}", tally)
        stage[:] = [Stage(world, path, tally)]
        played(stage[-1])
        check_the_end(stage[-1])
    return tally


def check_the_end(stage: Stage) -> None:
    """Check that no money was lost sight of, and that a blind watch has stopped its box."""
    world, rules = stage.world, stage.world.nature.rules
    if not world.nature.lies and rules.stopped_usd_per_hour <= rules.usd_per_hour:
        # What changes between two looks is seen at the second one.
        unseen_s = (world.changes + 1) * max(stage.longest_s, world.passed_s - stage.seen.at_s)
        allowed = float(rules.usd_per_hour) * unseen_s / 3_600
        assert world.bill_usd <= float(stage.spent_usd) + allowed + 1e-6
    capped = rules.cap_usd is not None and stage.spent_usd > rules.cap_usd
    if world.nature.is_blind and capped:
        assert world.state != "running"
        stage.tally["blind and stopped by the cap"] += 1


def test_some_watched_boxes_are_safe_whatever_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert worlds(FEW, tmp_path, monkeypatch)["killed"] > 0


@pytest.mark.slow
def test_thousands_of_watched_boxes_are_safe_whatever_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tally = worlds(MANY, tmp_path, monkeypatch)
    for what in (*FAULTS, *HAPPENED):
        assert tally[what] > 150, what
    for what in RARE:
        assert tally[what] > 40, what
