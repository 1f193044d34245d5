"""Reads run folders: what files there are, and the text of the few that tell progress.

Runs alone: its source is also sent to other boxes, so it imports only the standard library and
keeps to Python 3.7. Everything read is data; links are not followed, long files are cut.
"""

from __future__ import annotations

import json
import os
import stat
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

MOST_FILES = 5_000
MOST_FOLDERS = 200
DEEPEST = 3
WHOLE_BYTES = 1_000_000
"""A file up to this size is read whole."""
PART_BYTES = 64_000
"""Of a longer one, this much of its start and of its end."""
MOST_TEXTS = 40
PAUSE_S = 0.2
"""Between two tries at a file that is just being replaced."""
TRIES = 3

TELLING = {
    *("status.json", "summary.json", "trainer_state.json"),
    *("results.csv", "metrics.csv", "metrics.jsonl", "args.yaml"),
}
MAGIC = set("*?[")


def folders(patterns: Iterable[str]) -> list[dict[str, Any]]:
    """Return each folder or file that the patterns name; one that names nothing says so."""
    found: list[dict[str, Any]] = []
    for pattern in patterns:
        try:
            paths = sorted(matching(pattern))
        except (OSError, RuntimeError, ValueError):
            paths = []
        if not paths:
            found.append({"path": pattern, "problem": "nothing of that name can be read"})
        if len(paths) > MOST_FOLDERS:
            problem = f"names {len(paths)} folders, more than {MOST_FOLDERS}"
            found.append({"path": pattern, "problem": problem})
            continue
        found += [seen(path) for path in paths]
    return found


def matching(pattern: str) -> list[Path]:
    """Return the paths that a pattern names, or the path itself where it is none and exists."""
    path = Path(pattern).expanduser()
    if path.exists():
        return [path]
    first = next((n for n, part in enumerate(path.parts) if MAGIC & set(part)), None)
    if first is None:
        return []
    return list(Path(*path.parts[:first]).glob("/".join(path.parts[first:])))


def seen(path: Path) -> dict[str, Any]:
    """Return one run folder, or one log file, as `FolderSeen` describes it."""
    try:
        files = listing(path) if path.is_dir() else [one_file(path.parent, path)]
    except OSError as error:
        return {"path": str(path), "problem": error.strerror or "cannot be read"}
    if len(files) > MOST_FILES:
        return {"path": str(path), "problem": f"holds more than {MOST_FILES} files"}
    root = path if path.is_dir() else path.parent
    texts: dict[str, Any] = {}
    telling = [each for each in files if Path(each["path"]).name in TELLING]
    # Those at the top first, then the newest.
    telling.sort(key=lambda each: (each["path"].count("/") > 0, -each["changed_at_s"]))
    for each in telling[:MOST_TEXTS]:
        text = text_of(root / each["path"])
        if text is not None:
            texts[each["path"]] = text
    skipped = [each["path"] for each in telling[MOST_TEXTS:]]
    return {"path": str(path), "files": files, "texts": texts, "skipped": skipped}


def listing(root: Path) -> list[dict[str, Any]]:
    """Return the regular files below `root`, one more than the limit where there are too many."""
    files: list[dict[str, Any]] = []
    for each in walk(root, DEEPEST):
        files.append(each)
        if len(files) > MOST_FILES:
            break
    return files


def walk(root: Path, deep: int, below: str = "") -> Iterator[dict[str, Any]]:
    """Yield the regular files below `root`; what vanishes meanwhile is left out."""
    with os.scandir(root) as entries:
        for entry in sorted(entries, key=lambda entry: entry.name):
            try:
                if entry.is_dir(follow_symlinks=False):
                    if deep > 0:
                        yield from walk(Path(entry.path), deep - 1, f"{below}{entry.name}/")
                elif entry.is_file(follow_symlinks=False):
                    yield as_seen(below + entry.name, entry.stat(follow_symlinks=False))
            except FileNotFoundError:
                continue


def one_file(root: Path, path: Path) -> dict[str, Any]:
    """Return a single file given in place of a folder; a link given by hand is followed once."""
    found = path.stat()
    if not stat.S_ISREG(found.st_mode):
        raise OSError(0, "is neither a folder nor a file")
    return as_seen(str(path.relative_to(root)), found)


def as_seen(path: str, found: os.stat_result) -> dict[str, Any]:
    """Return a file as `FileSeen` describes it."""
    clean = path.encode("utf-8", "replace").decode("utf-8")
    return {"path": clean, "size_bytes": found.st_size, "changed_at_s": found.st_mtime}


def text_of(path: Path) -> dict[str, Any] | None:
    """Return the text of a file, tried again where it is torn or gone for a moment."""
    text = None
    for attempt in range(TRIES):
        if attempt:
            time.sleep(PAUSE_S)
        try:
            text = read(path)
        except FileNotFoundError:
            continue
        except OSError:
            return None
        if path.suffix != ".json" or text["tail"] is not None or is_json(text["head"]):
            break
    return text


def read(path: Path) -> dict[str, Any]:
    """Return a file's text, or its two ends; refuses links, pipes and devices."""
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    with os.fdopen(handle, "rb") as file:
        found = os.fstat(file.fileno())
        if not stat.S_ISREG(found.st_mode):
            raise OSError(0, "is no regular file")
        if found.st_size <= WHOLE_BYTES:
            return {"head": file.read(WHOLE_BYTES).decode("utf-8", "replace"), "tail": None}
        head = file.read(PART_BYTES)
        file.seek(-PART_BYTES, os.SEEK_END)
        tail = file.read(PART_BYTES)
    return {"head": head.decode("utf-8", "replace"), "tail": tail.decode("utf-8", "replace")}


def is_json(text: str) -> bool:
    """Return whether a text is whole JSON."""
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True
