"""What one look at a box says against a manifest: is anything there that it does not hold?

A look shows of each run its newest change and its checkpoints, on the clock of the box. What it
does not show is never taken for quiet.
"""

from __future__ import annotations

import math
import posixpath
from typing import TYPE_CHECKING, Final

from costplan.box.files import DEEPEST
from costplan.box.runs import CHECKPOINTS, suffix
from costplan.box.wording import BEGINNING_OF_TIME, moment, moment_of, size

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from costplan.records.copies import FileEntry, Manifest
    from costplan.records.signals import RunSeen, Snapshot

QUIET_S: Final = 60.0
"""A checkpoint that changed within this may still be being written: trainers save in place."""
LOOK_HOLDS_S: Final = 600.0
"""A look that is further from now is an old one, or the clocks disagree."""


def reasons(manifest: Manifest, look: Snapshot, *, now: datetime) -> list[str]:
    """Return why `manifest` does not stand for the box as it was looked at."""
    if look.problem is not None:
        return [f"the look at the box failed: {look.problem}"]
    if look.clock is None:
        return ["the look at the box tells no time, so nothing in it can be dated"]
    wall_s = look.clock.wall_s
    return [*_clocks(manifest, wall_s, now), *_runs(manifest, look, wall_s)]


def later(manifest: Manifest, look: Snapshot) -> list[str]:
    """Return what an old look already showed that `manifest` does not hold."""
    return list(_runs(manifest, look, math.inf))


def inside(manifest: Manifest, run: RunSeen) -> str | None:
    """Return the path of `run` below the folder of `manifest`; None where nobody can be sure.

    `""` is the folder itself. A path with `..`, or through a link, may lead anywhere.
    """
    folder = manifest.folder.rstrip("/")
    path = run.path.rstrip("/")
    if not path.startswith("/") or ".." in path.split("/"):
        return None
    if path != folder and not path.startswith(f"{folder}/"):
        return None
    below = path.removeprefix(folder).lstrip("/")
    if any(_is_at_or_below(below, each.path) for each in manifest.skipped):
        return None
    return below


def is_witness(manifest: Manifest, run: RunSeen) -> bool:
    """Return whether what was seen of `run` can speak for the folder of `manifest`."""
    readable = run.problem is None and run.newest_at_s is not None
    return readable and inside(manifest, run) is not None


def unwitnessed(manifest: Manifest, look: Snapshot) -> list[FileEntry]:
    """Return the files of `manifest` that no run of the look covers, or only too deep down."""
    spans = [inside(manifest, run) for run in look.runs if is_witness(manifest, run)]
    return [
        each
        for each in manifest.files
        if not any(span is not None and _is_seen(each.path, span) for span in spans)
    ]


def _clocks(manifest: Manifest, wall_s: float, now: datetime) -> Iterator[str]:
    apart_s = abs(wall_s - _seconds(now))
    if apart_s > LOOK_HOLDS_S:
        yield (
            f"the look is of {moment_of(wall_s)} on the clock of the box and now is {moment(now)}: "
            "it is old, or the clocks disagree"
        )
    if _seconds(manifest.made_at) > wall_s:
        yield (
            f"the manifest is of {moment(manifest.made_at)}, after the look at "
            f"{moment_of(wall_s)}: look again, or the clocks disagree"
        )


def _runs(manifest: Manifest, look: Snapshot, wall_s: float) -> Iterator[str]:
    for run in look.runs:
        below = inside(manifest, run)
        if run.problem is not None:
            yield f"{run.path} cannot be read: {run.problem}"
        elif below is None:
            yield (
                f"{run.path}, which was looked at, is not known to lie in {manifest.folder}, "
                f"of which the manifest of {moment(manifest.made_at)} is"
            )
        elif run.newest_at_s is None:
            yield f"{run.path}: the look tells no time of its newest file"
        else:
            yield from _newest(manifest, run, below, run.newest_at_s)
            yield from _checkpoints(manifest, run, below, wall_s)


def _newest(manifest: Manifest, run: RunSeen, below: str, newest_at_s: float) -> Iterator[str]:
    if newest_at_s <= _seconds(manifest.made_at):
        return
    newest = run.checkpoint
    what = "its newest file"
    if newest is not None and newest.changed_at_s == newest_at_s:
        what = f"{newest.path} ({size(newest.size_bytes)})"
    own = [each for each in manifest.left_out if _is_at_or_below(each, below)]
    hint = f" (if that is {own[0]}, make the manifest outside the folder)" if own else ""
    yield (
        f"{run.path}: {what} is of {moment_of(newest_at_s)}, later than the manifest of "
        f"{moment(manifest.made_at)}{hint}"
    )


def _checkpoints(manifest: Manifest, run: RunSeen, below: str, wall_s: float) -> Iterator[str]:
    """Yield what its checkpoints say; a file that was moved here keeps its old time."""
    held = {each.path: each.size_bytes for each in manifest.files if _is_seen(each.path, below)}
    held = {path: bytes_ for path, bytes_ in held.items() if suffix(path) in CHECKPOINTS}
    if run.checkpoint is not None:
        newest, path = run.checkpoint, _below(below, run.checkpoint.path, held)
        quiet_s = wall_s - newest.changed_at_s
        if quiet_s < QUIET_S:
            yield (
                f"{path} ({size(newest.size_bytes)}) changed {quiet_s:.0f} s before the look, "
                f"less than {QUIET_S:.0f} s: it may still be being written"
            )
        if held.get(path) != newest.size_bytes:
            yield f"{path} ({size(newest.size_bytes)}) on the box is not in the manifest"
    elif held:
        yield f"{run.path}: the look tells nothing of its {len(held)} checkpoints"
    if run.checkpoints_bytes != sum(held.values()):
        yield (
            f"{run.path} holds {size(run.checkpoints_bytes)} of checkpoints, the manifest "
            f"{size(sum(held.values()))} of them"
        )


def _below(below: str, path: str, held: dict[str, int]) -> str:
    """Return a path of a run below the folder; a run may be a single file."""
    return below if below in held else posixpath.join(below, path)


def _is_seen(path: str, below: str) -> bool:
    """Return whether a look at the run `below` reaches the file `path`."""
    if not _is_at_or_below(path, below):
        return False
    return path.removeprefix(below).lstrip("/").count("/") <= DEEPEST


def _is_at_or_below(path: str, above: str) -> bool:
    return not above or path == above or path.startswith(f"{above}/")


def _seconds(at: datetime) -> float:
    return (at - BEGINNING_OF_TIME).total_seconds()
