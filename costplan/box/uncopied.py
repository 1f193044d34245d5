"""What goes with the box: files, links and git work that a copy does not hold."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

from costplan.box import folders
from costplan.records.copies import Left, Outside

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from costplan.records.copies import Manifest, Skipped

MOST_COUNTED: Final = 100_000
"""Files counted behind one link: enough to see that it is much."""
GIT_TIMEOUT_S: Final = 60
MOST_NAMES: Final = 20
"""Unpushed commits named; the rest are counted."""


def outside(
    folder: Path, manifest: Manifest, *, git: bool = True, own: Collection[Path] = ()
) -> Outside:
    """Return what of `folder`, and of git repositories at or above it, `manifest` does not hold.

    `folder` may be larger than the one that was copied. A folder of which nothing was copied is
    one line. Files that git ignores are seen where `folder` holds them, not elsewhere. What is
    `own`, as the manifest in its folder is, is nobody's work.

    Raises:
        InputError: `folder` cannot be read.
    """
    root = folders.resolved(folder)
    base = Path(manifest.folder)
    copied = {str(base / each.path) for each in manifest.files}
    ours = {str(base / each) for each in manifest.left_out} | {_in_full(each) for each in own}
    left = list(_files(root, copied, ours))
    unseen: list[str] = []
    for top in _repositories(root) if git else ():
        try:
            left += _git_work(top, copied, ours)
        except _GitError as err:
            unseen.append(f"{top}: {err}")
    return Outside(left=tuple(left), unseen=tuple(unseen))


def only_here(path: Path) -> tuple[Left, ...]:
    """Return all that lies at `path`, a folder or one file, as where no copy holds any of it.

    Raises:
        InputError: It cannot be read.
    """
    with folders.reading(str(path)):
        if path.is_file():
            return (Left(name=str(path), kind="file", size_bytes=path.stat().st_size),)
    found = _files(folders.resolved(path), (), ())
    return tuple(each.model_copy(update={"name": f"{path}/{each.name}"}) for each in found)


def _in_full(path: Path) -> str:
    return str(path.parent.resolve() / path.name)


def _is_own(full: str, own: Collection[str]) -> bool:
    """Return whether a file is one of ours, or was being written beside it in a run now dead."""
    folder, _, name = full.rpartition(os.sep)
    return full in own or any(
        name.startswith(f".{Path(each).name}.")
        and name.endswith(folders.TEMPORARY)
        and folder == str(Path(each).parent)
        for each in own
    )


# --- files --------------------------------------------------------------------------------------


def _files(root: Path, copied: Collection[str], own: Collection[str]) -> Iterator[Left]:
    """Yield files and links not copied, a folder at a time where all of it is not."""
    walked = folders.walk(root)
    holding = {str(parent) for path in copied for parent in Path(path).parents}
    sizes: dict[str, list[int]] = {}
    for each in walked.files:
        full = str(root / each.path)
        if full in copied or _is_own(full, own):
            continue
        name = _topmost(root, each.path, holding)
        sizes.setdefault(name, []).append(each.size_bytes)
    for name, found in sorted(sizes.items()):
        kind: Literal["file", "folder"] = "folder" if name.endswith("/") else "file"
        yield Left(name=name, kind=kind, size_bytes=sum(found), count=len(found))
    for link in walked.skipped:
        if link.kind == "link-outside":
            yield _behind(root, link)


def _topmost(root: Path, path: str, holding: Collection[str]) -> str:
    """Return the highest folder of `path` in which nothing was copied, or the file itself."""
    parts = path.split("/")
    for count in range(1, len(parts)):
        above = "/".join(parts[:count])
        if str(root / above) not in holding:
            return f"{above}/"
    return path


def _behind(root: Path, link: Skipped) -> Left:
    """Return what lies behind a link out of the folder, counted as far as is sensible."""
    target = (root / link.path).resolve()
    size_bytes, count = 0, 0
    for file in _below(target):
        try:
            size_bytes += file.lstat().st_size
        except OSError:
            continue
        count += 1
        if count == MOST_COUNTED:
            break
    return Left(
        name=f"{link.path} -> {os.fsencode(target).decode('utf-8', 'backslashreplace')}",
        kind="link",
        size_bytes=size_bytes,
        count=count,
        at_least=count == MOST_COUNTED,
    )


def _below(target: Path) -> Iterator[Path]:
    if not target.is_dir():
        yield target
    for folder, _, names in os.walk(target):
        yield from (Path(folder) / name for name in names)


# --- git ----------------------------------------------------------------------------------------


class _GitError(Exception):
    """Why git work cannot be seen."""


def _repositories(root: Path) -> list[Path]:
    """Return the work trees at or above `root`, nearest first."""
    with folders.reading(str(root)):
        return [top for top in (root, *root.parents) if (top / ".git").exists()]


def _git_work(top: Path, copied: Collection[str], own: Collection[str]) -> Iterator[Left]:
    """Yield what of the repository at `top` is nowhere else."""
    for row in _git(top, "status", "--porcelain=v1", "-z", "-uall", "--no-renames").split("\0"):
        state, path = row[:2], row[3:]
        full = str(top / path)
        if path and full not in copied and not _is_own(full, own):
            kind: Literal["untracked", "uncommitted"]
            kind = "untracked" if state == "??" else "uncommitted"
            yield Left(name=full, kind=kind, size_bytes=_size_bytes(top / path))
    if any(path.startswith(f"{top / '.git'}{os.sep}") for path in copied):
        return  # the commits are files, and copied as such
    yield from _unpushed(top)
    for stash in _git(top, "stash", "list", "-z", "--format=%gd %s").split("\0"):
        if stash:
            yield Left(name=f"{top}: {stash}", kind="stash", size_bytes=None)


def _unpushed(top: Path) -> Iterator[Left]:
    """Yield one line for all commits that no remote is known to have."""
    refs = _git(top, "for-each-ref", "--format=%(objectname)", "refs/heads").split()
    head = _git(top, "rev-parse", "--verify", "--quiet", "HEAD", fails=True).split()
    if not refs and not head:
        return
    asked = ("--branches", *head, "--not", "--remotes")
    rows = [row for row in _git(top, "log", "-z", "--format=%h %s", *asked).split("\0") if row]
    if rows:
        more = [f"and {len(rows) - MOST_NAMES} more"] if len(rows) > MOST_NAMES else []
        size = _git(top, "rev-list", "--objects", "--disk-usage", *asked, fails=True).strip()
        yield Left(
            name=f"{top}: {'; '.join([*rows[:MOST_NAMES], *more])}",
            kind="unpushed",
            size_bytes=int(size) if size.isdigit() else None,
            count=len(rows),
        )


def _size_bytes(path: Path) -> int | None:
    try:
        return path.lstat().st_size if not path.is_dir() else None
    except FileNotFoundError:
        return 0  # deleted, and that not committed
    except OSError:
        return None


def _git(top: Path, *arguments: str, fails: bool = False) -> str:
    """Return what git prints of `top`; nothing where it `fails` and may."""
    # A repository may name programs to run: the monitor of files is one that `status` would start.
    command = ["git", "-c", "core.fsmonitor=false", "-C", str(top), *arguments]
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    try:
        done = subprocess.run(
            command,
            env={**kept, "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=GIT_TIMEOUT_S,
            check=False,
        )
    except FileNotFoundError:
        raise _GitError("git is not installed: uncommitted work cannot be seen") from None
    except subprocess.TimeoutExpired:
        raise _GitError(f"git did not answer within {GIT_TIMEOUT_S} s") from None
    except OSError as err:
        raise _GitError(f"git cannot be run: {err.strerror or err}") from None
    if done.returncode and not fails:
        said = done.stderr.decode("utf-8", "replace").strip().splitlines()
        raise _GitError(f"git refused: {said[0] if said else done.returncode}")
    return done.stdout.decode("utf-8", "backslashreplace") if not done.returncode else ""
