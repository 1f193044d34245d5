"""Copies: what a folder held, and whether another place holds the same."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable
from datetime import datetime
from typing import Annotated, Final, Literal

from pydantic import AfterValidator, AwareDatetime, BeforeValidator, Field, model_validator

from costplan.records.record import Record

CHECKPOINT_SUFFIXES = (".ckpt", ".npz", ".pt", ".pth", ".safetensors", ".zip")
"""Files that are opened: what a killed save leaves half written must not count as copied."""

_PART: Final = "-of-"


def is_checkpoint(path: str) -> bool:
    """Return whether a file of this name must open to count as copied."""
    return path.lower().endswith(CHECKPOINT_SUFFIXES)


def relative(path: str) -> str:
    """Return `path`, which must name a file below a folder, in POSIX form.

    Raises:
        ValueError: It is absolute, climbs out, or has an empty part.
    """
    if path.startswith("/") or re.match(r"[A-Za-z]:[\\/]", path):
        raise ValueError("an absolute path, where one below the folder is needed")
    if ".." in path.split("/"):
        raise ValueError("a path that leaves the folder by '..'")
    if "\0" in path or {"", "."} & set(path.split("/")):
        raise ValueError("not a path below the folder")
    return path


def _written_out(value: object) -> object:
    if not isinstance(value, str | datetime):
        raise ValueError("not a time such as 2026-08-27T09:00:00+00:00")
    return value


RelativePath = Annotated[str, AfterValidator(relative)]
Moment = Annotated[AwareDatetime, BeforeValidator(_written_out)]
Bytes = Annotated[int, Field(ge=0, strict=True)]
Nanoseconds = Annotated[int, Field(strict=True)]
YesNo = Annotated[bool, Field(strict=True)]
CheckpointState = Literal["opens", "broken", "unchecked"]


class FileEntry(Record):
    """One file as it was read."""

    path: RelativePath
    size_bytes: Bytes
    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")
    mtime_ns: Nanoseconds
    """When its content was last written, in nanoseconds since 1970, as its disk says."""
    ctime_ns: Nanoseconds
    """When anything about it last changed; a program that sets mtime back cannot set this."""
    checkpoint: CheckpointState | None = None
    """Whether it opens; None for what is no checkpoint."""
    why: str | None = None
    """Why it does not open, or cannot be opened without running it."""

    @model_validator(mode="after")
    def _opened(self) -> FileEntry:
        if is_checkpoint(self.path) != (self.checkpoint is not None):
            raise ValueError(f"{self.path}: 'checkpoint' is for checkpoints, and for each of them")
        return self


def instead_of(path: str, files: Iterable[FileEntry]) -> FileEntry | None:
    """Return the checkpoint to fall back to where the one at `path` does not open.

    One of the same name in another folder, as trainers keep that number them, else one beside it:
    the best, or the newest. A part of a model in several files stands for nothing alone.
    """
    folder, name = posixpath.split(path)
    kind = posixpath.splitext(name)[1].lower()
    opening = [each for each in files if each.checkpoint == "opens" and each.path != path]
    numbered = [each for each in opening if posixpath.basename(each.path) == name]
    beside = [
        each
        for each in opening
        if posixpath.dirname(each.path) == folder
        and each.path.lower().endswith(kind)
        and _PART not in name + posixpath.basename(each.path)
    ]
    return max(
        numbered or beside,
        key=lambda each: ("best" in posixpath.basename(each.path).lower(), each.mtime_ns),
        default=None,
    )


class Skipped(Record):
    """Something in the folder that is no file: named, never followed."""

    path: RelativePath
    kind: Literal["link-inside", "link-outside", "link-broken", "special"]
    target: str | None = None
    """Where a link points, as it stands in the link."""


class Left(Record):
    """Something that goes with the box, for it is not in the copy."""

    name: str
    kind: Literal["file", "folder", "link", "uncommitted", "untracked", "unpushed", "stash"]
    size_bytes: int | None = None
    """None where nobody can tell; with `at_least`, no more than what was counted."""
    count: int = 1
    """Files in a folder, unpushed commits in a repository."""
    at_least: bool = False


class Outside(Record):
    """What a copy does not hold, and where nobody could look."""

    left: tuple[Left, ...]
    unseen: tuple[str, ...]
    """Why something could not be looked at; what is unseen is not nothing."""


class Manifest(Record):
    """What a folder held at one time."""

    made_at: Moment
    """When reading began."""
    folder: str
    """Where it was, in full, on the machine that it was read on."""
    complete: YesNo
    """False while it is being made; what is unfinished vouches for nothing."""
    left_out: tuple[RelativePath, ...] = ()
    """The manifest itself, where it lies in the folder."""
    skipped: tuple[Skipped, ...] = ()
    outside: Outside | None = None
    """What goes with the box although this manifest is copied; None while it is being made."""
    files: tuple[FileEntry, ...]

    @model_validator(mode="after")
    def _each_once(self) -> Manifest:
        seen: set[str] = set()
        for path in [each.path for each in self.files] + [each.path for each in self.skipped]:
            if path in seen:
                raise ValueError(f"{path!r} appears twice")
            seen.add(path)
        return self

    @property
    def size_bytes(self) -> int:
        """All files together."""
        return sum(entry.size_bytes for entry in self.files)


class Finding(Record):
    """A file and what is wrong with it."""

    path: str
    why: str


class NearName(Record):
    """A missing file and one that has its name but for case or Unicode form."""

    path: str
    found: str
    how: Literal["case", "unicode form", "case and unicode form"]


class CopyReport(Record):
    """What was found of a manifest in another place."""

    against: str
    made_at: Moment
    verified: tuple[str, ...]
    """Same size, same hash, and if a checkpoint, it opens."""
    verified_bytes: int
    missing: tuple[str, ...]
    extra: tuple[str, ...]
    """In the other place only; says nothing against the copy."""
    different: tuple[Finding, ...]
    unverifiable: tuple[Finding, ...]
    """No hash to compare, a checkpoint that cannot be checked, a link to what was not read."""
    broken: tuple[Finding, ...]
    """Checkpoints that do not open, in the original as in the copy."""
    near_names: tuple[NearName, ...]
    """Of those missing: a file whose name differs only in case or Unicode form."""
    itself: bool
    """The other place is the folder itself: no copy."""
    same_disk: bool
    """The other place is on the disk of the folder, and goes when that disk goes."""

    @property
    def ok(self) -> bool:
        """True where everything is there, the same, and known to be."""
        return not self.reasons()

    def reasons(self) -> list[str]:
        """Return why this copy does not count; nothing where it does."""
        return [*self.flaws(), *(f"{each.path}: {each.why}" for each in self.findings())]

    def flaws(self) -> list[str]:
        """Return what is wrong with the copy as a whole."""
        found = []
        if self.itself:
            found.append(f"{self.against} is the folder itself, not a copy of it")
        if not self.verified:
            found.append("nothing is verified")
        return found

    def findings(self) -> list[Finding]:
        """Return each file that does not count as copied, and why."""
        missing = [Finding(path=path, why=f"missing{self._near(path)}") for path in self.missing]
        return [*missing, *self.different, *self.broken, *self.unverifiable]

    def _near(self, path: str) -> str:
        near = [f"{each.found} ({each.how})" for each in self.near_names if each.path == path]
        return f", but there is {' and '.join(near)}" if near else ""
