"""Manifests: every file of a folder with its hash, made so that a killed run can go on.

Each carries a count and a digest of all it says, so that a line taken out or a figure changed by
hand is noticed where the folder is long gone. It finds slips and torn files; it is no signature.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tempfile
from datetime import datetime, timezone
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from costplan import yamlfile
from costplan.box import folders, strictjson
from costplan.box.uncopied import outside
from costplan.errors import InputError
from costplan.records.copies import FileEntry, Manifest

if TYPE_CHECKING:
    from collections.abc import Callable

    from costplan.box.folders import Walked

# /1: first form. /2 2026-11: `count`, `digest`, and `outside`, what goes with the box all the same.
SCHEMA: Final = "costplan.manifest/2"
_BEGINNING: Final = b'{"schema": "costplan.manifest/'

SAVE_EVERY_BYTES: Final = 1 << 28
"""Hashed again after a kill at worst: a second's work."""
SAVE_EVERY_FILES: Final = 1_000


class Progress(NamedTuple):
    """How far the making of a manifest is."""

    path: str
    files_done: int
    files_total: int
    bytes_done: int
    bytes_total: int
    files_saved: int
    """Entries on disk: a killed run never hashes these again."""


def make(
    folder: Path,
    *,
    now: datetime,
    progress: Callable[[Progress], None] | None = None,
    resume_from: Path | None = None,
) -> Manifest:
    """Return what `folder` holds; with `resume_from`, kept in that file while it is made.

    Args:
        folder: What to read, to the last file; links are named, not followed.
        now: The time, with its zone.
        progress: Told after each file, and now and then in large ones.
        resume_from: The manifest itself, whole, half made or not yet there. Files that it knows
            and that are unchanged are not read again; at the end it holds what is returned.

    Raises:
        InputError: Something cannot be read, changes meanwhile, or `resume_from` is no manifest.
    """
    if now.tzinfo is None:
        raise InputError("the time of a manifest needs a zone")
    root = folders.resolved(folder)
    known = _reusable(resume_from)
    left_out = _below(root, resume_from)
    walked = folders.walk(root, left_out=left_out)
    draft = Manifest(
        made_at=now,
        folder=_text(root),
        complete=False,
        left_out=left_out,
        skipped=tuple(walked.skipped),
        files=tuple(
            known[each.path]
            for each in walked.files
            if each.path in known and folders.same_stamp(known[each.path], each)
        ),
    )
    draft = _with_the_rest(draft, walked, progress=progress, save_to=resume_from)
    again = folders.walk(root, left_out=left_out)
    if again != walked:
        first = sorted(set(again.files) ^ set(walked.files))
        raise folders.changed(root / first[0].path if first else root)
    own = () if resume_from is None else (resume_from,)
    beside = outside(root, draft, own=own)
    return _saved(draft.model_copy(update={"complete": True, "outside": beside}), resume_from)


def _with_the_rest(
    draft: Manifest,
    walked: Walked,
    *,
    progress: Callable[[Progress], None] | None,
    save_to: Path | None,
) -> Manifest:
    """Return `draft` with the files that it lacks."""
    entries = {each.path: each for each in draft.files}
    saved, unsaved_bytes = len(entries) if save_to else 0, 0
    done_bytes, total_bytes = draft.size_bytes, sum(each.size_bytes for each in walked.files)

    def tell(path: str, more_bytes: int = 0) -> None:
        if progress:
            files, done = (len(entries), len(walked.files)), done_bytes + more_bytes
            progress(Progress(path, *files, done, total_bytes, saved))

    def whole() -> Manifest:
        return draft.model_copy(update={"files": tuple(entries[key] for key in sorted(entries))})

    try:
        for found in walked.files:
            if found.path in entries:
                continue
            entries[found.path] = folders.entry(
                Path(draft.folder), found, tick=partial(tell, found.path)
            )
            done_bytes += found.size_bytes
            unsaved_bytes += found.size_bytes
            # A share of what is there, so that saving a long list stays cheap beside making it.
            most_unsaved = max(SAVE_EVERY_FILES, len(entries) // 10)
            if save_to and (
                unsaved_bytes >= SAVE_EVERY_BYTES or len(entries) - saved >= most_unsaved
            ):
                _saved(whole(), save_to)
                saved, unsaved_bytes = len(entries), 0
            tell(found.path)
    except KeyboardInterrupt:
        _saved(whole(), save_to)  # what was read in the last minute counts too
        raise
    return whole()


def nanoseconds(moment: datetime) -> int:
    """Return a time as disks count it: nanoseconds since 1970."""
    since = moment - datetime(1970, 1, 1, tzinfo=timezone.utc)
    return (since.days * 86_400 + since.seconds) * 1_000_000_000 + since.microseconds * 1_000


def _reusable(path: Path | None) -> dict[str, FileEntry]:
    """Return the entries of a manifest whose times would tell a change, by path."""
    if path is None or not _is_manifest(path):
        return {}
    earlier = read(path, unfinished=True)
    read_ns = nanoseconds(earlier.made_at)
    return {each.path: each for each in earlier.files if folders.settled(each, read_ns=read_ns)}


def _saved(manifest: Manifest, path: Path | None) -> Manifest:
    if path is not None:
        write(manifest, path)
    return manifest


def _below(root: Path, path: Path | None) -> tuple[str, ...]:
    """Return the path of a manifest that lies in the folder that it is of."""
    if path is None:
        return ()
    full = path.parent.resolve() / path.name
    return (full.relative_to(root).as_posix(),) if root in full.parents else ()


def _text(root: Path) -> str:
    folders.check_name(str(root))
    return str(root)


# --- the file -----------------------------------------------------------------------------------


def read(path: Path, *, unfinished: bool = False) -> Manifest:
    """Return the manifest in `path`; one half made only where `unfinished` is asked for.

    Raises:
        InputError: It cannot be read, is no manifest, is cut off or is half made.
    """
    data = strictjson.parse(strictjson.read_text(path), where=str(path))
    if not isinstance(data, dict) or "schema" not in data:
        raise InputError(f"{path} is no manifest", hint="`costplan idle copy make` writes one")
    if data.pop("schema") != SCHEMA:
        raise InputError(f"{path} is no {SCHEMA}", hint="remove it and make it again")
    count, digest = data.pop("count", None), data.pop("digest", None)
    manifest = yamlfile.build(Manifest, data, where=str(path))
    if count != len(manifest.files) or digest != _digest(data):
        raise InputError(
            f"{path} is not as it was written: {len(manifest.files)} files, it says {count}, "
            "or something in it was changed",
            hint="remove it and make it again",
        )
    if not manifest.complete and not unfinished:
        raise InputError(
            f"{path} is unfinished", hint="make it again: what it holds is not read twice"
        )
    return manifest


def _digest(data: dict[str, Any]) -> str:
    """Return the SHA-256 of all that a manifest says, whatever the order of its files."""
    files = sorted(data["files"], key=lambda each: str(each["path"]))
    text = json.dumps({**data, "files": files}, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def write(manifest: Manifest, path: Path) -> None:
    """Put `manifest` in `path`, whole or not at all, and never over a file of another kind.

    Raises:
        InputError: `path` cannot be written, or holds something else.
    """
    _is_manifest(path)
    data = manifest.model_dump(mode="json", exclude_none=True)
    seal = {"count": len(manifest.files), "digest": _digest(data)}
    files = ",\n".join(json.dumps(each, ensure_ascii=False) for each in data.pop("files"))
    head = json.dumps({"schema": SCHEMA, **seal, **data}, ensure_ascii=False).removesuffix("}")
    try:
        _replace(path, f'{head}, "files": [\n{files}\n]}}\n'.encode())
    except OSError as err:
        raise InputError(f"{path} cannot be written: {err.strerror or err}") from None


def _is_manifest(path: Path) -> bool:
    """Return whether `path` holds a manifest, False where nothing is there, and refuse the rest."""
    try:
        if not path.exists() or (path.is_file() and not path.stat().st_size):
            return False
        with path.open("rb") as file:
            start = file.read(len(_BEGINNING))
    except OSError as err:
        raise InputError(f"{path} cannot be read: {err.strerror or err}") from None
    if start != _BEGINNING:
        raise InputError(f"{path} is no manifest and is left as it is", hint="name another file")
    return True


def _replace(path: Path, data: bytes) -> None:
    handle, name = tempfile.mkstemp(
        prefix=f".{path.name}.", suffix=folders.TEMPORARY, dir=path.parent
    )
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
    _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    """Make a new name last; where folders cannot be opened, the disk decides."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
