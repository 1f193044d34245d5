"""Which room may know which: arrows point down, pure rooms stay pure, owners own alone."""

from __future__ import annotations

import ast
import re
import sys
from functools import cache
from pathlib import Path
from typing import NamedTuple

PACKAGE = Path(__file__).resolve().parents[1] / "costplan"

# From bottom to top. A room may import from the lines above its own, at any time and for types
# alike; nothing on its own line, and nothing below. A new room gets a place here first.
LAYERS: list[set[str]] = [
    {"costplan", "errors"},
    {"profiler.device", "profiler.wrapping"},
    {
        "box.torchcheck",
        "profiler",
        "profiler.batches",
        "profiler.builtin",
        "profiler.builtin.fitting",
        "profiler.builtin.gpt",
        "profiler.builtin.names",
        "profiler.builtin.png",
        "profiler.builtin.resnet",
        "profiler.ending",
        "profiler.finding",
        "profiler.fits",
        "profiler.holding",
        "profiler.inject.sitecustomize",
        "profiler.inside",
        "profiler.intervals",
        "profiler.journal",
        "profiler.kept",
        "profiler.limits",
        "profiler.missing",
        "profiler.natives",
        "profiler.outside",
        "profiler.placed",
        "profiler.series",
        "profiler.stages",
        "profiler.sweep",
        "profiler.syncs",
        "profiler.tracer",
        "profiler.trackers",
        "wheels",
    },
    {"profiler.pool"},
    {
        "profiler.builtin.pictures",
        "profiler.rounds",
        "profiler.feeding",
        "profiler.gauges",
        "profiler.coldfiles",
    },
    {"profiler.bursts", "profiler.following"},
    {"profiler.notes"},
    {"profiler.commands", "profiler.refusal", "profiler.visits"},
    {"profiler.conductor"},
    {"profiler.twins"},
    {"profiler.moves", "profiler.net", "profiler.spared"},
    {"profiler.calls"},
    {"profiler.guard"},
    {"profiler.hooks"},
    {"absence", "people", "spans", "units"},
    {"records", "records.record"},
    {"records.gpus", "records.ranks"},
    {"records.checks", "records.traces", "records.verdicts"},
    {
        "box.fetching",
        "box.interpreters",
        "box.measure",
        "installs",
        "profiler.endings",
        "profiler.gains",
        "profiler.kernels",
        "profiler.leads",
        "profiler.merged",
        "profiler.storage",
        "profiler.watched",
        "records.profiles",
        "torchlines",
        "usable",
    },
    {"profiler.builtin.training", "profiler.causes", "records.worth"},
    {"profiler.doubts", "profiler.ondevice", "profiler.taken", "profiler.telling"},
    {
        "profiler.builtin.boxes",
        "profiler.builtin.images",
        "profiler.builtin.tokens",
        "profiler.epochs",
        "profiler.events",
        "profiler.filecosts",
        "profiler.parts",
        "profiler.rules",
        "profiler.whatif",
        "promises",
    },
    {"profiler.devicework", "profiler.foreign", "profiler.hostwork"},
    {"profiler.tracefile"},
    {"profiler.traced"},
    {"profiler.gpuside"},
    {"profiler.answering"},
    {"records.cards", "records.providers"},
    {"records.offers"},
    {"records.copies", "records.jobs", "records.results"},
    {"profiler.worth", "records.acting", "records.idle", "records.signals"},
    {"yamlfile"},
    {"box", "box.files", "box.gpus", "box.probe", "box.processes", "box.strictjson", "box.wording"},
    {"box.gpusampler", "box.holders", "box.smi", "profilefile", "profiler.tracing"},
    {"profiler.launch"},
    {"box.commands", "box.guest", "box.tables", "box.timeline", "ledgerfile"},
    {"box.calls", "box.checkpoints", "box.gather", "box.listings", "box.load", "box.orders"},
    {"gpulines"},
    {"box.owners", "box.runroots", "box.statusfile", "ledger"},
    {"box.folders", "box.progress", "box.runs"},
    {"box.remarks", "box.signals", "box.since", "box.uncopied"},
    {"box.manifests"},
    {"box.audit", "box.copies", "box.heartbeats", "box.verdict", "watching"},
    {"box.actions", "box.gate"},
    {"box.watcher"},
    {"catalog"},
    {"predict"},
    {"advisor", "billing", "habits", "seen", "work"},
    {"profiled"},
    {"disk", "interruptions", "states", "unpriced"},
    {"needs"},
    {"boxcosts", "stopping", "transfers"},
    {"boxlines"},
    {"checks"},
    {"borders", "deadlines", "elapsed", "falsestops", "owntimers", "rescue", "windows"},
    {"idling"},
    {"phases"},
    {"rates"},
    {"itemise"},
    {"glimpse"},
    {"estimate"},
    {"ranking", "vast_offers"},
    {"promisefile"},
    {"jobfile", "notices", "offerfile"},
    {"answer"},
    {"render", "render.figures"},
    {"render.checks", "render.profile_documents", "render.profiles"},
    {"cli.read_profile", "cli.taken_profile"},
    {"render.clocks"},
    {"render.copies", "render.documents", "render.idle", "render.tables", "render.watch"},
    {"cli.absence_asked", "cli.asked", "cli.looks", "cli.streams"},
    {"cli.check_asked"},
    {"cli.check_command"},
    {"cli.act_asked", "cli.clocks_asked", "cli.meter", "cli.missing", "cli.offer_asked"},
    {"cli.builtin_asked", "cli.idle_asked", "cli.profile_asked"},
    {"cli.acting", "cli.away_command", "cli.copy_command", "cli.estimate_command"},
    {"cli.profile_command"},
    {"cli.unsaved", "cli.watches"},
    {"cli.idle_answer"},
    {"cli.idle_command"},
    {"cli"},
    {"__main__"},
]

# Records in, records out: no clock, no disk, no network, no terminal, no chance.
PURE = [
    "absence",
    "advisor",
    "answer",
    "billing",
    "disk",
    "estimate",
    "habits",
    "idling",
    "interruptions",
    "itemise",
    "notices",
    "people",
    "phases",
    "predict",
    "profiled",
    "ranking",
    "rates",
    "seen",
    "spans",
    "states",
    "transfers",
    "units",
    "unpriced",
    "work",
    "records.cards",
    "records.copies",
    "records.idle",
    "records.jobs",
    "records.offers",
    "records.providers",
    "records.record",
    "records.results",
    "records.signals",
    "stopping",
    "errors",
    "boxcosts",
    "glimpse",
    "box.tables",
    "box.statusfile",
    "box.runs",
    "box.timeline",
    "box.load",
    "box.owners",
    "box.progress",
    "box.remarks",
    "box.since",
    "box.verdict",
    "windows",
    "box.guest",
    "falsestops",
    "watching",
    "records.acting",
    "box.wording",
    "box.runroots",
    "deadlines",
    "elapsed",
    "borders",
    "owntimers",
    "rescue",
    "records.traces",
    "records.verdicts",
    "profiler.builtin.fitting",
    "profiler.builtin.png",
    "profiler.causes",
    "profiler.devicework",
    "profiler.doubts",
    "profiler.epochs",
    "profiler.events",
    "profiler.finding",
    "profiler.endings",
    "profiler.filecosts",
    "profiler.fits",
    "profiler.foreign",
    "profiler.gains",
    "profiler.gpuside",
    "profiler.hostwork",
    "profiler.intervals",
    "profiler.kernels",
    "profiler.leads",
    "profiler.limits",
    "profiler.merged",
    "profiler.missing",
    "profiler.rounds",
    "profiler.parts",
    "profiler.ondevice",
    "profiler.rules",
    "profiler.series",
    "profiler.stages",
    "profiler.storage",
    "profiler.taken",
    "profiler.telling",
    "profiler.whatif",
    "profiler.traced",
    "profiler.tracefile",
    "profiler.trackers",
    "profiler.watched",
    "records.checks",
    "records.gpus",
    "checks",
    "boxlines",
    "gpulines",
    "torchlines",
    "installs",
    "needs",
    "promises",
    "usable",
    "wheels",
    "records.profiles",
    "profiler.whatif",
    "profiler.worth",
    "records.worth",
    "profiler.taken",
    "profiler.answering",
    "profiler.series",
]
IMPURE_MODULES = {
    *("os", "pathlib", "shutil", "tempfile", "glob", "io", "fileinput"),  # the disk
    *("time", "sched", "calendar", "zoneinfo"),  # the clock; `datetime` see below
    *("sys", "subprocess", "signal", "threading", "asyncio", "multiprocessing"),  # the process
    *("socket", "urllib", "http", "ssl", "httpx"),  # the network
    *("random", "secrets", "uuid"),  # chance
    *("rich", "typer", "click", "yaml", "logging", "argparse", "getpass"),  # terminal and files
}
IMPURE_ROOMS = {
    "yamlfile", "jobfile", "profilefile", "offerfile", "promisefile", "vast_offers", "render",
    "cli", "__main__",
}  # fmt: skip
IMPURE_CALLS = {"open", "print", "input", "exec", "eval", "__import__"}
CLOCKS = {"now", "today", "utcnow", "fromtimestamp"}

# Who may import what is not in the standard library: a room, or all rooms of a package.
OWNERS = {
    "pydantic": "records", "yaml": "yamlfile", "rich": "render.tables", "typer": "cli",
    "torch": "profiler", "PIL": "profiler.builtin.pictures",
}  # fmt: skip

MOST_LINES = 320
"""What is read in one sitting."""


class Arrow(NamedTuple):
    """One import of another room."""

    room: str
    other: str
    line: int
    for_types: bool


def rooms() -> dict[str, Path]:
    """Return every module of the package by its name below `costplan`."""
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = list(path.relative_to(PACKAGE).with_suffix("").parts)
        if parts[-1] == "__init__":
            parts.pop()
        found[".".join(parts) or "costplan"] = path
    return found


ROOMS = rooms()


@cache
def tree(room: str) -> ast.Module:
    return ast.parse(ROOMS[room].read_text(encoding="utf-8"))


def typing_only(room: str) -> set[int]:
    """Return the ids of the nodes below `if TYPE_CHECKING`."""
    return {
        id(inner)
        for node in ast.walk(tree(room))
        if isinstance(node, ast.If)
        and isinstance(node.test, ast.Name)
        and node.test.id == "TYPE_CHECKING"
        for statement in node.body
        for inner in ast.walk(statement)
    }


@cache
def imports(room: str) -> tuple[tuple[str, int, bool], ...]:
    """Return each imported module, in full, its line, and whether only type checkers see it."""
    hidden = typing_only(room)
    found = []
    for node in ast.walk(tree(room)):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{room}:{node.lineno} imports relatively"
            assert node.module is not None
            below = [f"{node.module}.{alias.name}" for alias in node.names]
            # `from costplan import yamlfile` names a room, `from costplan import __version__` not.
            names = [
                name if name.removeprefix("costplan.") in ROOMS else node.module for name in below
            ]
        else:
            continue
        found += [(name, node.lineno, id(node) in hidden) for name in names]
    return tuple(found)


def arrows(room: str) -> list[Arrow]:
    """Return the imports of `room` from other rooms."""
    return [
        Arrow(room, name.removeprefix("costplan.") if "." in name else name, line, for_types)
        for name, line, for_types in imports(room)
        if name.split(".")[0] == "costplan"
    ]


def height(room: str) -> int:
    (found,) = [number for number, layer in enumerate(LAYERS) if room in layer]
    return found


def test_every_room_has_one_place_and_every_place_a_room() -> None:
    places = [room for layer in LAYERS for room in layer]
    assert sorted(places) == sorted(ROOMS), "give a new room a place in LAYERS"
    assert set(PURE) <= set(ROOMS)


def pointing_up(*, for_types: bool) -> list[str]:
    return [
        f"{arrow.room}:{arrow.line} imports {arrow.other}"
        for room in ROOMS
        for arrow in arrows(room)
        if arrow.for_types is for_types and height(arrow.other) >= height(room)
    ]


def test_no_import_points_up_or_sideways() -> None:
    assert pointing_up(for_types=False) == []


def test_no_import_for_types_points_up_or_sideways() -> None:
    assert pointing_up(for_types=True) == []


def test_the_walk_sees_imports_at_the_top_inside_functions_and_for_types() -> None:
    found = {(a.room, a.other, a.for_types) for room in ROOMS for a in arrows(room)}
    assert ("work", "errors", False) in found
    assert ("catalog", "yamlfile", False) in found  # inside a function
    assert ("work", "records.jobs", True) in found
    assert ("render.documents", "costplan", False) in found  # its version
    assert ("jobfile", "yamlfile", False) in found  # from costplan import yamlfile


def test_the_command_line_is_above_everything_and_nothing_below_imports_it() -> None:
    programs = {"__main__", *(room for room in ROOMS if room.split(".")[0] == "cli")}
    found = [a for room in ROOMS for a in arrows(room) if a.other in programs]
    assert {arrow.room for arrow in found} <= programs


# --- pure rooms ---------------------------------------------------------------------------------


def test_a_pure_room_imports_nothing_that_reaches_outside() -> None:
    wrong = [
        f"{room}:{line} imports {name}"
        for room in PURE
        for name, line, for_types in imports(room)
        if not for_types and name.split(".")[0] in IMPURE_MODULES
    ]
    assert wrong == []


def test_a_pure_room_knows_no_room_that_reads_or_shows_not_even_for_types() -> None:
    found = [arrow for room in PURE for arrow in arrows(room)]
    assert [arrow for arrow in found if arrow.other.split(".")[0] in IMPURE_ROOMS] == []


def test_a_pure_room_knows_the_catalog_for_types_only() -> None:
    found = [arrow for room in PURE for arrow in arrows(room) if arrow.other == "catalog"]
    assert [arrow for arrow in found if not arrow.for_types] == []


def test_a_pure_room_never_asks_for_the_time_nor_opens_or_prints() -> None:
    wrong = []
    for room in PURE:
        for node in ast.walk(tree(room)):
            if isinstance(node, ast.Call):
                called = node.func
                if isinstance(called, ast.Name) and called.id in IMPURE_CALLS:
                    wrong.append(f"{room}:{node.lineno} calls {called.id}")
                if isinstance(called, ast.Attribute) and called.attr in CLOCKS:
                    wrong.append(f"{room}:{node.lineno} calls {called.attr}")
    assert wrong == []


# `Any` is a hole in the types. Here it has a reason: what pydantic hands over before it is read.
HOLES = {"records.record", "records.offers"}


def test_a_pure_room_names_its_types() -> None:
    names = {
        room
        for room in PURE
        for node in ast.walk(tree(room))
        if isinstance(node, ast.Name) and node.id == "Any"
    }
    assert names == HOLES


# --- every room ---------------------------------------------------------------------------------


def owns(room: str, library: str) -> bool:
    owner = OWNERS.get(library)
    return owner is not None and (room == owner or room.startswith(f"{owner}."))


def test_a_library_is_imported_by_its_owner_only() -> None:
    wrong = [
        f"{room}:{line} imports {name}"
        for room in ROOMS
        for name, line, _ in imports(room)
        if name.split(".")[0] not in {*sys.stdlib_module_names, "costplan"}
        and not owns(room, name.split(".")[0])
    ]
    assert wrong == []


def test_every_owner_uses_what_it_owns() -> None:
    used = {
        name.split(".")[0]
        for room in ROOMS
        for name, _, _ in imports(room)
        if owns(room, name.split(".")[0])
    }
    assert used == set(OWNERS)


def test_no_room_bears_the_name_of_a_module_of_the_standard_library() -> None:
    wrong = [room for room in ROOMS if set(room.split(".")) & sys.stdlib_module_names]
    assert wrong == []


def test_a_room_is_read_in_one_sitting() -> None:
    lengths = {
        room: len(path.read_text(encoding="utf-8").splitlines()) for room, path in ROOMS.items()
    }
    assert {room: lines for room, lines in lengths.items() if lines > MOST_LINES} == {}


def test_no_room_catches_everything() -> None:
    wrong = []
    for room in ROOMS:
        for node in ast.walk(tree(room)):
            if isinstance(node, ast.ExceptHandler):
                kinds = "BaseException" if node.type is None else ast.unparse(node.type)
                if set(re.findall(r"\w+", kinds)) & {"Exception", "BaseException"}:
                    wrong.append(f"{room}:{node.lineno}")
    assert wrong == []


def test_a_room_says_what_it_is_for() -> None:
    assert [room for room in ROOMS if not ast.get_docstring(tree(room))] == []
