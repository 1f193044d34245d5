"""Which room may know which: arrows point down, pure rooms stay pure, owners own alone."""

from __future__ import annotations

import ast
import sys
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

PACKAGE = Path(__file__).resolve().parents[1] / "costplan"

# From bottom to top. A room may import from the lines above its own, at any time and for types
# alike; nothing on its own line, and nothing below. A new room gets a place here first.
LAYERS: list[set[str]] = [
    {"costplan", "errors"},  # the package itself holds its version
    {"units", "spans"},
    {"records", "records.record"},
    {"records.cards", "records.providers"},
    {"records.offers"},
    {"records.jobs", "records.results"},
    {"yamlfile"},
    {"catalog"},
    {"billing", "predict", "interruptions", "work", "advisor", "seen"},
    {"states", "disk", "unpriced", "phases"},
    {"rates"},
    {"itemise"},
    {"estimate"},
    {"ranking", "vast_offers"},
    {"jobfile", "offerfile", "notices"},
    {"answer"},
    {"render", "render.numbers"},
    {"render.documents", "render.tables"},
    {"cli.asked"},
    {"cli.estimate_command"},
    {"cli"},
    {"__main__"},
]

# Records in, records out: no clock, no disk, no network, no terminal, no chance.
PURE = [
    *("advisor", "answer", "billing", "disk", "estimate", "interruptions", "itemise", "notices"),
    *("phases", "predict", "ranking", "rates", "seen", "spans", "states", "units", "unpriced"),
    *("work", "records.cards", "records.jobs", "records.offers", "records.providers"),
    *("records.record", "records.results", "errors"),
]
IMPURE_MODULES = {
    *("os", "pathlib", "shutil", "tempfile", "glob", "io", "fileinput"),  # the disk
    *("time", "sched", "calendar", "zoneinfo"),  # the clock; `datetime` see below
    *("sys", "subprocess", "signal", "threading", "asyncio", "multiprocessing"),  # the process
    *("socket", "urllib", "http", "ssl", "httpx"),  # the network
    *("random", "secrets", "uuid"),  # chance
    *("rich", "typer", "click", "yaml", "logging", "argparse", "getpass"),  # terminal and files
}
IMPURE_ROOMS = {"yamlfile", "jobfile", "offerfile", "vast_offers", "render", "cli", "__main__"}
IMPURE_CALLS = {"open", "print", "input", "exec", "eval", "__import__"}
CLOCKS = {"now", "today", "utcnow", "fromtimestamp"}

# Who may import what is not in the standard library.
OWNERS = {
    "pydantic": {f"records.{name}" for name in ("record", "cards", "jobs", "offers", "providers")},
    "yaml": {"yamlfile"},
    "rich": {"render.tables"},
    "typer": {"cli", "cli.estimate_command"},
}

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


@pytest.mark.parametrize("room", ROOMS)
def test_every_room_has_a_place(room: str) -> None:
    assert sum(room in layer for layer in LAYERS) == 1, f"give {room} a place in LAYERS"


def test_every_place_has_a_room() -> None:
    assert set().union(*LAYERS) == set(ROOMS)
    assert {name for name in PURE if name not in ROOMS} == set()


@pytest.mark.parametrize("room", ROOMS)
def test_no_import_points_up_or_sideways(room: str) -> None:
    wrong = [
        f"{arrow.room}:{arrow.line} imports {arrow.other}"
        for arrow in arrows(room)
        if not arrow.for_types and height(arrow.other) >= height(room)
    ]
    assert wrong == []


@pytest.mark.parametrize("room", ROOMS)
def test_no_import_for_types_points_up_or_sideways(room: str) -> None:
    wrong = [
        f"{arrow.room}:{arrow.line} imports {arrow.other} for types"
        for arrow in arrows(room)
        if arrow.for_types and height(arrow.other) >= height(room)
    ]
    assert wrong == []


def test_the_walk_sees_imports_at_the_top_inside_functions_and_for_types() -> None:
    found = {(a.room, a.other, a.for_types) for room in ROOMS for a in arrows(room)}
    assert ("work", "errors", False) in found
    assert ("catalog", "yamlfile", False) in found  # inside a function
    assert ("work", "records.jobs", True) in found
    assert ("render.documents", "costplan", False) in found  # its version
    assert ("jobfile", "yamlfile", False) in found  # from costplan import yamlfile


def test_the_program_is_above_everything_and_nothing_imports_it() -> None:
    assert not [a for room in ROOMS for a in arrows(room) if a.other == "__main__"]
    assert {a.room for room in ROOMS for a in arrows(room) if a.other.startswith("cli")} <= {
        *("__main__", "cli", "cli.estimate_command")
    }


# --- pure rooms ---------------------------------------------------------------------------------


@pytest.mark.parametrize("room", PURE)
def test_a_pure_room_imports_nothing_that_reaches_outside(room: str) -> None:
    roots = {name.split(".")[0] for name, _, for_types in imports(room) if not for_types}
    assert not roots & IMPURE_MODULES


@pytest.mark.parametrize("room", PURE)
def test_a_pure_room_knows_no_room_that_reads_or_shows(room: str) -> None:
    known = {arrow.other.split(".")[0] for arrow in arrows(room)}  # for types too
    assert not known & IMPURE_ROOMS


@pytest.mark.parametrize("room", PURE)
def test_a_pure_room_knows_the_catalog_by_type_only(room: str) -> None:
    assert not [a for a in arrows(room) if a.other == "catalog" and not a.for_types]


@pytest.mark.parametrize("room", PURE)
def test_a_pure_room_never_asks_for_the_time_nor_opens_or_prints(room: str) -> None:
    calls = [node.func for node in ast.walk(tree(room)) if isinstance(node, ast.Call)]
    names = {func.id for func in calls if isinstance(func, ast.Name)}
    methods = {func.attr for func in calls if isinstance(func, ast.Attribute)}
    assert not names & IMPURE_CALLS
    assert not methods & CLOCKS


# `Any` is a hole in the types; in these rooms it has a reason: pydantic hands over what it read.
HOLES = {"records.record"}


@pytest.mark.parametrize("room", PURE)
def test_a_pure_room_names_its_types(room: str) -> None:
    used = {node.id for node in ast.walk(tree(room)) if isinstance(node, ast.Name)}
    assert ("Any" in used) == (room in HOLES)


# --- owners -------------------------------------------------------------------------------------


@pytest.mark.parametrize("room", ROOMS)
def test_a_library_is_imported_by_its_owner_only(room: str) -> None:
    roots = {name.split(".")[0] for name, _, _ in imports(room)}
    foreign = roots - sys.stdlib_module_names - {"costplan"}
    assert {name for name in foreign if room not in OWNERS.get(name, set())} == set()


def test_every_owner_uses_what_it_owns() -> None:
    used = {(name.split(".")[0], room) for room in ROOMS for name, _, _ in imports(room)}
    assert {(name, room) for name, owners in OWNERS.items() for room in owners} <= used


# --- every room ---------------------------------------------------------------------------------


NAMESAKE = pytest.mark.xfail(reason="bug: numbers is a module of the standard library")


@pytest.mark.parametrize(
    "room",
    [pytest.param(room, marks=NAMESAKE if room == "render.numbers" else ()) for room in ROOMS],
)
def test_no_room_bears_the_name_of_a_module_of_the_standard_library(room: str) -> None:
    assert not set(room.split(".")) & sys.stdlib_module_names


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_is_read_in_one_sitting(room: str) -> None:
    assert len(ROOMS[room].read_text(encoding="utf-8").splitlines()) <= MOST_LINES


@pytest.mark.parametrize("room", ROOMS)
def test_no_room_catches_everything(room: str) -> None:
    caught = [node.type for node in ast.walk(tree(room)) if isinstance(node, ast.ExceptHandler)]
    names = {
        leaf.id if isinstance(leaf, ast.Name) else None if leaf is None else ast.unparse(leaf)
        for kind in caught
        for leaf in (kind.elts if isinstance(kind, ast.Tuple) else [kind])
    }
    assert not names & {None, "Exception", "BaseException"}


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_says_what_it_is_for(room: str) -> None:
    assert ast.get_docstring(tree(room))
