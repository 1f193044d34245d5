"""The gate before a destroy: is everything of the box in another place, as far as anyone can see?

What cannot be looked at is a refusal, never a pass.
"""

from __future__ import annotations

import stat
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

from costplan.box import copies, folders, since
from costplan.box.wording import first, moment, moment_of, named, size
from costplan.errors import CostplanError

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from costplan.records.copies import CopyReport, Manifest
    from costplan.records.signals import Snapshot

# The last three: paths of no machine, circles of links, times of no calendar.
_NOT_SEEN: Final = (CostplanError, OSError, ValueError, RuntimeError, OverflowError)

_UNASKED: Final = "nobody looked for git work and files beside the folder of the manifest"

T = TypeVar("T")


class Gate(NamedTuple):
    """Why a box must not be destroyed; nothing in `refusals` is the only pass."""

    refusals: tuple[str, ...]
    notes: tuple[str, ...]
    """What a person should read before and that refuses nothing."""
    verified_files: int
    verified_bytes: int
    made_at: datetime | None
    """When the manifest was begun."""

    @property
    def passes(self) -> bool:
        """True where nothing speaks against the destroy."""
        return not self.refusals


class _Asked(NamedTuple):
    """What the gate is asked, with the manifest read."""

    copy: Path
    copied_to: Path
    manifest: Manifest
    snapshot: Snapshot | None
    last_look: Snapshot | None
    looked_here: bool
    box_running: bool
    now: datetime
    leave_behind: bool
    gpu_here: bool


class _Said(NamedTuple):
    """What one of the looks says."""

    refusals: list[str]
    notes: list[str]


def gate(
    copy: Path | None,
    copied_to: Path | None,
    *,
    snapshot: Snapshot | None,
    looked_here: bool,
    box_running: bool,
    now: datetime,
    leave_behind: bool = False,
    gpu_here: bool = True,
    last_look: Snapshot | None = None,
    progress: Callable[[copies.Progress], None] | None = None,
) -> Gate:
    """Return why the box must not be destroyed: nothing where a verified copy speaks for it.

    Args:
        copy: The manifest of what must survive.
        copied_to: The copy: a folder, which is read to its last byte, or a listing of one.
        snapshot: The last look at the box, with its runs; None where there was none.
        looked_here: The box is this machine.
        box_running: False only where the provider says that it is stopped.
        now: The time, with its zone.
        leave_behind: The person accepts that what is named in the notes goes with the box.
        gpu_here: This machine has a GPU, so that it may be the box although nobody said so.
        last_look: Of a box that is stopped now, when it still answered, however long ago.
        progress: Told while the copy is read.
    """
    if copy is None:
        return _shut("no manifest is given: --copy names one, `costplan idle copy make` makes it")
    if copied_to is None:
        return _shut("no copy is given: --copied-to names its folder, or a listing of it")
    if now.tzinfo is None:
        return _shut("the time of the destroy has no zone, so nothing can be compared with it")
    manifest, why = _tried(lambda: copies.read(copy))
    if manifest is None:
        return _shut(*why)
    asked = _Asked(
        copy=copy, copied_to=copied_to, manifest=manifest, snapshot=snapshot, now=now,
        looked_here=looked_here, box_running=box_running, leave_behind=leave_behind,
        gpu_here=gpu_here, last_look=last_look,
    )  # fmt: skip
    report, why = _tried(lambda: copies.check(manifest, copied_to, progress=progress))
    said = [
        _Said(why, []),
        _said(lambda: _of_the_question(asked)),
        _said(lambda: _of_the_copy(asked, report)),
        _said(lambda: _of_both_places(asked, report)),
    ]
    return Gate(
        refusals=tuple(text for each in said for text in each.refusals),
        notes=tuple(text for each in said for text in each.notes),
        verified_files=len(report.verified) if report else 0,
        verified_bytes=report.verified_bytes if report else 0,
        made_at=manifest.made_at,
    )


def _of_both_places(asked: _Asked, report: CopyReport | None) -> _Said:
    """Return what the box says, and what the folder says where it is on this machine."""
    here = folders.is_there(Path(asked.manifest.folder))
    original = here and (asked.looked_here or copies.is_original(asked.manifest))
    said = [_of_the_box(asked, original=original), _left(asked, here=here)]
    if here:
        said.append(_of_the_folder(asked, report, original=original))
    return _Said(
        [text for each in said for text in each.refusals],
        [text for each in said for text in each.notes],
    )


def _shut(*refusals: str) -> Gate:
    return Gate(refusals, (), 0, 0, None)


def _tried(look: Callable[[], T]) -> tuple[T | None, list[str]]:
    """Return what a look gives, or None and why it gives nothing."""
    try:
        return look(), []
    except _NOT_SEEN as err:
        return None, [_why(err)]


def _said(look: Callable[[], _Said]) -> _Said:
    """Return what a look says; one that fails refuses."""
    said, why = _tried(look)
    return said or _Said(why, [])


def _why(err: Exception) -> str:
    hint = getattr(err, "hint", None)
    return f"{err}: {hint}" if hint else str(err) or type(err).__name__


def _of_the_question(asked: _Asked) -> _Said:
    manifest = asked.manifest
    refusals = []
    if asked.looked_here and not asked.box_running:
        refusals.append("the box is said to be stopped and to be this machine: is the id right?")
    if not manifest.size_bytes:
        refusals.append(
            f"{asked.copy} holds nothing: {len(manifest.files)} files of {manifest.folder}, 0 bytes"
        )
    if manifest.made_at > asked.now:
        refusals.append(
            f"{asked.copy} is of {moment(manifest.made_at)}, in the future of now, "
            f"{moment(asked.now)}: the clocks disagree"
        )
    return _Said(refusals, [])


# --- the copy -----------------------------------------------------------------------------------


def _of_the_copy(asked: _Asked, report: CopyReport | None) -> _Said:
    if report is None:
        return _Said([], [])
    refusals = report.flaws()
    notes: list[str] = []
    sizes = {each.path: size(each.size_bytes) for each in asked.manifest.files}
    links = {each.path for each in asked.manifest.skipped}
    found = report.findings()
    behind = [f"{each.path}: {each.why}" for each in found if each.path in links]
    named = [
        f"{each.path} ({sizes[each.path]}): {each.why}" for each in found if each.path not in links
    ]
    refusals += first(named)
    (notes if asked.leave_behind else refusals).extend(first(behind))
    if report.extra:
        notes.append(f"{report.against} also holds {len(report.extra)} files of no manifest")
    return _Said(refusals, [*notes, *_age_of_the_listing(asked)])


def _age_of_the_listing(asked: _Asked) -> list[str]:
    """Return a note where the listing is older than the manifest.

    That is no refusal: only equal hashes verify, and they prove what lay there when it was
    listed, before the manifest or after it. What became of that place later no listing shows.
    """
    found = asked.copied_to.stat()
    if stat.S_ISDIR(found.st_mode):
        return []
    older = ", before the manifest" if found.st_mtime < asked.manifest.made_at.timestamp() else ""
    return [
        f"{asked.copied_to} is a listing of {moment_of(found.st_mtime)}{older}, taken at its word: "
        "what became of that place since, nobody looked"
    ]


# --- the original, where it is here -------------------------------------------------------------


def _of_the_folder(asked: _Asked, report: CopyReport | None, *, original: bool) -> _Said:
    folder = Path(asked.manifest.folder)
    stale, why = _tried(lambda: copies.still_valid(asked.manifest, folder))
    made = moment(asked.manifest.made_at)
    refusals = [*why, *(f"{folder}, manifest of {made}: {text}" for text in first(stale or []))]
    notes: list[str] = []
    if report is not None and report.same_disk:
        goes = asked.looked_here or (asked.box_running and asked.gpu_here and original)
        text = f"{report.against} lies on the same disk as {folder}"
        (refusals if goes else notes).append(f"{text}: it goes with the box" if goes else text)
    elif report is not None and asked.looked_here and asked.copied_to.is_dir():
        notes.append(f"{report.against} is on this machine: make sure that it outlives the box")
    return _Said(refusals, notes)


def _left(asked: _Asked, *, here: bool) -> _Said:
    """Return what goes with the box, as it is, or as it was when the manifest was made."""
    manifest, why = asked.manifest, [_UNASKED]
    outside = manifest.outside
    if here:
        own = (asked.copy, asked.copied_to)
        outside, why = _tried(lambda: copies.outside(Path(manifest.folder), manifest, own=own))
    if outside is not None:
        why = [*first([named(each) for each in outside.left]), *first(outside.unseen)]
    when = "" if here else f" (as of {moment(manifest.made_at)})"
    said = [f"{text}{when}" for text in why]
    return _Said([], said) if asked.leave_behind else _Said(said, [])


# --- the box ------------------------------------------------------------------------------------


def _of_the_box(asked: _Asked, *, original: bool) -> _Said:
    """Return what the look says, and who else speaks for the box where it says nothing."""
    manifest, look = asked.manifest, asked.snapshot
    if look is not None and asked.looked_here:
        look = _resolved(look)
    if look is not None and look.problem is not None and not asked.box_running:
        look = None  # a stopped box answers nobody
    made = f"the manifest of {moment(manifest.made_at)}"
    refusals = since.reasons(manifest, look, now=asked.now) if look is not None else []
    if look is not None and any(since.is_witness(manifest, run) for run in look.runs):
        return _Said(refusals, _unwitnessed(manifest, look))
    if not asked.box_running:
        # Never ask for a start here: there may be no machine to start it on, and it bills on.
        refusals += since.later(manifest, asked.last_look) if asked.last_look else []
        return _Said(refusals, [f"the box is stopped: {made} speaks for it, nobody could look"])
    if original:
        return _Said(refusals, [f"no run was looked at: only {manifest.folder} here speaks for it"])
    text = f"the box is running and nobody saw whether anything on it is newer than {made}"
    return _Said([*refusals, f"{text}: give --run or --ssh"], [])


def look_refuses(copy: Path, look: Snapshot, *, looked_here: bool, now: datetime) -> list[str]:
    """Return what a later look shows that the manifest, whose copy was verified, does not hold."""

    def reasons() -> list[str]:
        shown = _resolved(look) if looked_here else look
        return since.reasons(copies.read(copy), shown, now=now)

    found, why = _tried(reasons)
    return [*why, *(found or [])]


def _unwitnessed(manifest: Manifest, look: Snapshot) -> list[str]:
    files = since.unwitnessed(manifest, look)
    if not files:
        return []
    all_of_it = size(sum(each.size_bytes for each in files))
    return [
        f"{len(files)} files of the manifest ({all_of_it}), such as {files[0].path}, lie outside "
        "the runs that were looked at, or deeper: whether they changed nobody saw"
    ]


def _resolved(look: Snapshot) -> Snapshot:
    """Return the look with the paths of its runs in full, which only its machine can tell."""
    runs = tuple(
        run.model_copy(update={"path": str(Path(run.path).resolve())}) for run in look.runs
    )
    return look.model_copy(update={"runs": runs})
