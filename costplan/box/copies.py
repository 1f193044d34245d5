"""Copies checked: is everything of a manifest in another place, and does it still stand?

`make`, `read` and `write` of manifests and `outside` are here too, so that callers see one door.
"""

from __future__ import annotations

import contextlib
import unicodedata
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from costplan.box import folders, listings
from costplan.box.listings import Listed
from costplan.box.manifests import Progress, make, nanoseconds, read, write
from costplan.box.uncopied import outside
from costplan.errors import InputError
from costplan.records.copies import (
    CopyReport,
    FileEntry,
    Finding,
    Manifest,
    NearName,
    instead_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

    from costplan.box.folders import Found

__all__ = [
    "Progress",
    "check",
    "is_original",
    "make",
    "outside",
    "read",
    "still_valid",
    "write",
]

# The hash of the manifest first; the others need the original at hand, the strongest first.
OTHER_HASHES: Final = ("git-sha1", "sha1", "md5")

Kind = Literal["verified", "different", "unverifiable", "broken"]


class Judged(NamedTuple):
    """What is known of one file in the other place."""

    kind: Kind
    path: str
    why: str = ""


def check(
    manifest: Manifest, against: Path, *, progress: Callable[[Progress], None] | None = None
) -> CopyReport:
    """Return what of `manifest` is in `against`: a folder, read again, or a listing of one.

    A listing with SHA-256 is compared with the manifest alone. One that has only other hashes
    (MD5, SHA-1, git's) is compared with the original, while that is on this machine and
    unchanged. Whether a listing is of another place, nobody can see.

    Raises:
        InputError: `against` cannot be read, or the manifest is half made.
    """
    if not manifest.complete:
        raise InputError("the manifest is unfinished", hint="make it again")
    source = Path(manifest.folder)
    with folders.reading(str(against)):
        is_folder = against.is_dir()
    if is_folder:
        root = folders.resolved(against)
        walked = folders.walk(root)
        there = {each.path: Listed(each.size_bytes, {}) for each in walked.files}
        shown = {each.path: each for each in walked.files}
        judged = _read_again(manifest, root, shown, progress)
    else:
        root = None
        there = listings.read(against)
        judged = [
            _judged(each, there[each.path], source) for each in manifest.files if each.path in there
        ]
    return _report(manifest, against=against, root=root, there=there, judged=judged)


def _report(
    manifest: Manifest,
    *,
    against: Path,
    root: Path | None,
    there: dict[str, Listed],
    judged: Iterable[Judged],
) -> CopyReport:
    by_kind: dict[Kind, list[Judged]] = {}
    for each in judged:
        by_kind.setdefault(each.kind, []).append(each)
    of_manifest = {each.path: each for each in manifest.files}
    known = {*of_manifest, *manifest.left_out, *(each.path for each in manifest.skipped)}
    verified = tuple(each.path for each in by_kind.get("verified", []))
    missing = tuple(each.path for each in manifest.files if each.path not in there)
    extra = tuple(sorted(set(there) - known))
    return CopyReport(
        against=str(against),
        made_at=manifest.made_at,
        verified=verified,
        verified_bytes=sum(of_manifest[path].size_bytes for path in verified),
        missing=missing,
        extra=extra,
        different=_findings(by_kind.get("different", [])),
        unverifiable=(*_findings(by_kind.get("unverifiable", [])), *_links_out(manifest)),
        broken=_findings(_with_another(by_kind.get("broken", []), manifest, verified)),
        near_names=_near_names(missing, extra),
        itself=root is not None and _is_itself(manifest, root),
        same_disk=root is not None and _is_same_disk(manifest, root),
    )


def _findings(judged: list[Judged]) -> tuple[Finding, ...]:
    return tuple(Finding(path=each.path, why=each.why) for each in judged)


def _with_another(
    broken: list[Judged], manifest: Manifest, verified: Collection[str]
) -> list[Judged]:
    """Return what does not open, with what to fall back to where that is in the copy."""
    safe = [each for each in manifest.files if each.path in set(verified)]
    return [
        each._replace(why=f"{each.why}; fall back to {other.path}, which opens")
        if (other := instead_of(each.path, safe))
        else each
        for each in broken
    ]


def _links_out(manifest: Manifest) -> tuple[Finding, ...]:
    """Return the links whose content is in no copy of the folder."""
    return tuple(
        Finding(
            path=each.path, why=f"a link out of the folder, to {each.target}: that is not copied"
        )
        for each in manifest.skipped
        if each.kind == "link-outside"
    )


# --- one file -----------------------------------------------------------------------------------


def _read_again(
    manifest: Manifest,
    root: Path,
    shown: dict[str, Found],
    progress: Callable[[Progress], None] | None,
) -> list[Judged]:
    """Return what is known of each file that is there too, read to its last byte."""
    todo = [each for each in manifest.files if each.path in shown]
    judged: list[Judged] = []
    done_bytes, total_bytes = 0, sum(each.size_bytes for each in todo)

    def tell(path: str, more_bytes: int = 0) -> None:
        if progress:
            files, done = (len(judged), len(todo)), done_bytes + more_bytes
            progress(Progress(path, *files, done, total_bytes, files_saved=0))

    for known in todo:
        found = shown[known.path]
        hashes = {}
        if found.size_bytes == known.size_bytes:
            read_entry = folders.entry(root, found, tick=partial(tell, known.path))
            hashes = {"sha256": read_entry.sha256}
        judged.append(_judged(known, Listed(found.size_bytes, hashes), None))
        done_bytes += known.size_bytes
        tell(known.path)
    return judged


def _judged(known: FileEntry, listed: Listed, source: Path | None) -> Judged:
    """Return what is known of one file from what is `listed` of it."""
    path = known.path
    if listed.size_bytes not in (None, known.size_bytes):
        return Judged("different", path, f"{listed.size_bytes} bytes, not {known.size_bytes}")
    same, why = _same(known, listed, source)
    if same is None:
        return Judged("unverifiable", path, why)
    if not same:
        return Judged("different", path, why)
    if known.checkpoint == "broken":
        return Judged("broken", path, known.why or "does not open")
    if known.checkpoint == "unchecked":
        return Judged("unverifiable", path, known.why or "cannot be checked")
    return Judged("verified", path)


def _same(known: FileEntry, listed: Listed, source: Path | None) -> tuple[bool | None, str]:
    """Return whether the content is the same, None where nobody can tell, and why not."""
    if "sha256" in listed.hashes:
        return listed.hashes["sha256"] == known.sha256, "another SHA-256"
    name = next((each for each in OTHER_HASHES if each in listed.hashes), None)
    if name is None:
        return None, "size only, not verified: the listing has no hash of it"
    here: dict[str, str] = {}
    if source is not None:
        with contextlib.suppress(OSError):
            here = folders.digests(source / known.path, ["sha256", name])
    if not here:
        return None, f"size only, not verified: {name} needs the original, which is not here"
    if here["sha256"] != known.sha256:
        return None, "size only, not verified: the original changed since the manifest"
    return here[name] == listed.hashes[name], f"another {name}"


# --- the other place ----------------------------------------------------------------------------


def _near_names(missing: Iterable[str], extra: Iterable[str]) -> tuple[NearName, ...]:
    by_folded: dict[str, list[str]] = {}
    for path in extra:
        by_folded.setdefault(_folded(path), []).append(path)
    return tuple(
        NearName(path=path, found=near, how=_how(path, near))
        for path in missing
        for near in by_folded.get(_folded(path), [])
    )


def _folded(path: str) -> str:
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", path).casefold())


def _how(path: str, near: str) -> Literal["case", "unicode form", "case and unicode form"]:
    if unicodedata.normalize("NFC", path) == unicodedata.normalize("NFC", near):
        return "unicode form"
    if path.casefold() == near.casefold():
        return "case"
    return "case and unicode form"


def _is_itself(manifest: Manifest, root: Path) -> bool:
    """Return whether a file there is the original, by whatever path or hard link."""
    source = Path(manifest.folder)
    for each in manifest.files:
        try:
            if (source / each.path).samefile(root / each.path):
                return True
        except OSError:
            continue
    return False


def _is_same_disk(manifest: Manifest, root: Path) -> bool:
    try:
        return Path(manifest.folder).stat().st_dev == root.stat().st_dev
    except OSError:
        return False


# --- later --------------------------------------------------------------------------------------


def still_valid(manifest: Manifest, folder: Path) -> list[str]:
    """Return why `manifest` no longer stands for `folder`; nothing where it does.

    Files whose times differ are different; those whose times could hide a change are read.

    Raises:
        InputError: The folder cannot be read.
    """
    root = folders.resolved(folder)
    walked = folders.walk(root, left_out=manifest.left_out)
    made_ns = nanoseconds(manifest.made_at)
    known = {each.path: each for each in manifest.files}
    found = {each.path: each for each in walked.files}
    reasons = [] if manifest.complete else ["the manifest is unfinished"]
    reasons += [f"{path}: added since" for path in found if path not in known]
    reasons += [f"{path}: gone since" for path in known if path not in found]
    reasons += [
        f"{path}: changed since"
        for path, each in found.items()
        if path in known and not _is_unchanged(root, known[path], each, made_ns=made_ns)
    ]
    reasons += [
        f"{path}: written after the manifest was begun, or by a wrong clock"
        for path, each in found.items()
        if each.mtime_ns > made_ns
    ]
    before = set(manifest.skipped)
    reasons += [
        f"{each.path}: a link or device since" for each in walked.skipped if each not in before
    ]
    return reasons


def _is_unchanged(root: Path, known: FileEntry, found: Found, *, made_ns: int) -> bool:
    if (known.size_bytes, known.mtime_ns) != (found.size_bytes, found.mtime_ns):
        return False
    if known.ctime_ns == found.ctime_ns and folders.settled(known, read_ns=made_ns):
        return True
    return folders.entry(root, found).sha256 == known.sha256


def is_original(manifest: Manifest) -> bool:
    """Return whether the folder on this machine is the one that was read: no copy has its ctimes.

    Raises:
        InputError: The folder cannot be read.
    """
    walked = folders.walk(folders.resolved(Path(manifest.folder)))
    found = {each.path: each for each in walked.files}
    return any(
        folders.same_stamp(known, found[known.path])
        for known in manifest.files
        if known.path in found
    )
