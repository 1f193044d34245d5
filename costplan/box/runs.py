"""Understands run folders: which trainer wrote them, how far the run is, what it left behind."""

from __future__ import annotations

import posixpath
import re
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Final, NamedTuple

from costplan.box import statusfile
from costplan.box.runroots import apart
from costplan.box.tables import csv_rows, json_rows, last_number, mapping, number
from costplan.records.record import ValidationError
from costplan.records.signals import Counter, FileSeen, FolderSeen, RunKind, RunSeen, RunState

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

CHECKPOINTS: Final = {".pt", ".pth", ".ckpt", ".safetensors", ".bin", ".distcp", ".keras", ".h5"}
LOGS: Final = {".log", ".out", ".err", ".txt", ".jsonl"}
EVENTS: Final = "events.out.tfevents."
_EPOCHS = re.compile(r"^epochs:\s*(\d+)\s*$", re.MULTILINE)
_STEP_FOLDER = re.compile(r"checkpoint-(\d+)/trainer_state\.json")
# At two blanks of indent stand the keys of the file itself, not those of its history.
_TOP_LEVEL = r'^ {{0,2}}"{}": ([-+.\deE]+),?$'


class Told(NamedTuple):
    """What the trainer's own files tell of a run."""

    kind: RunKind
    counters: tuple[Counter, ...] = ()
    state: RunState | None = None
    interval_s: float | None = None
    total: float | None = None
    eta_s: float | None = None
    eta_at_s: float | None = None


def runs_seen(folder: FolderSeen) -> tuple[RunSeen, ...]:
    """Return the runs of a folder: itself, or those below it beside what shows progress in it."""
    parts = apart(folder)
    runs = [run_seen(part) for part in parts]
    if len(runs) == 1:
        return tuple(runs)
    return tuple(run for run in runs if run.path != folder.path or run.problem is None)


def run_seen(folder: FolderSeen) -> RunSeen:
    """Return the run that a folder, or a single log file, holds."""
    if folder.problem is not None:
        return RunSeen(path=folder.path, problem=folder.problem)
    by_path = {each.path: each for each in folder.files}
    if "status.json" in by_path:
        told = statusfile.told(folder, by_path["status.json"])
        return _with_files(told, folder)
    readers: list[Callable[[FolderSeen], Told | None]] = [
        huggingface, lightning, ultralytics, plain_files,
    ]  # fmt: skip
    told_by = next((told for told in (read(folder) for read in readers) if told is not None), None)
    if told_by is None:
        return RunSeen(path=folder.path, problem="holds nothing that shows progress")
    try:
        run = RunSeen(path=folder.path, **told_by._asdict())
    except ValidationError:  # figures that are each sensible, and nonsense together
        return RunSeen(path=folder.path, problem="its figures make no sense together")
    return _with_files(run, folder)


def huggingface(folder: FolderSeen) -> Told | None:
    """Return what the highest checkpoint tells whose `trainer_state.json` is whole."""
    found = []
    for path in folder.texts:
        match = _STEP_FOLDER.fullmatch(path)
        if match:
            found.append((int(match[1]), path))
    whole = [path for _, path in sorted(found) if _top_level(folder, path, "global_step")]
    if not whole:
        return None
    newest = _file(folder, whole[-1])
    step, total = (_top_level(folder, whole[-1], key) for key in ("global_step", "max_steps"))
    assert step is not None
    interval_s = eta_s = None
    if len(whole) > 1:
        before = _top_level(folder, whole[-2], "global_step") or 0.0
        between_s = newest.changed_at_s - _file(folder, whole[-2]).changed_at_s
        if between_s > 0 and step > before:
            interval_s = between_s
            eta_s = None if total is None else (total - step) * between_s / (step - before)
    return Told(
        kind="huggingface",
        counters=(_counter("step", step, newest, of_training=True),),
        state="completed" if total and step >= total else None,
        interval_s=interval_s,
        total=total,
        eta_s=None if eta_s is None else max(eta_s, 0.0),
        eta_at_s=newest.changed_at_s,
    )


def _top_level(folder: FolderSeen, path: str, key: str) -> float | None:
    """Return a figure of `trainer_state.json`; a long file is searched at its two ends."""
    text = folder.texts[path]
    if text.tail is None:
        return number((mapping(text) or {}).get(key))
    if not text.tail.rstrip().endswith("}"):
        return None
    match = re.search(_TOP_LEVEL.format(key), text.head + "\n" + text.tail, re.MULTILINE)
    return None if match is None else number(match[1])


def lightning(folder: FolderSeen) -> Told | None:
    """Return what the newest `metrics.csv` tells; the logger holds rows back, so no interval."""
    found = [each for each in folder.files if posixpath.basename(each.path) == "metrics.csv"]
    found = [each for each in found if each.path in folder.texts]
    if not found:
        return None
    newest = max(found, key=lambda each: each.changed_at_s)
    rows = csv_rows(folder.texts[newest.path])
    figures = ((name, last_number(rows, name)) for name in ("step", "epoch"))
    return Told(
        kind="lightning",
        counters=tuple(
            _counter(name, value, newest, of_training=True)
            for name, value in figures
            if value is not None
        ),
    )


def ultralytics(folder: FolderSeen) -> Told | None:
    """Return what `results.csv` tells; its `time` counts up over the whole run.

    LibreYOLO's file of that name, told by its neighbours, gives each epoch its own time.
    """
    if "results.csv" not in folder.texts:
        return None
    by_path = {each.path for each in folder.files}
    libre = bool(by_path & {"metrics.jsonl", "summary.json"})
    rows = csv_rows(folder.texts["results.csv"])
    file, epoch = _file(folder, "results.csv"), last_number(rows, "epoch")
    times_s = [number(row.get("time")) for row in rows]
    first = number(rows[0].get("epoch")) if rows else None
    added_s = list(_added_up(times_s)) if libre else times_s
    per_epoch_s = _per_epoch_s(added_s, since_start=first is not None and first <= 1)
    match = _EPOCHS.search(folder.texts["args.yaml"].head) if "args.yaml" in folder.texts else None
    total = None if match is None else number(match[1])
    left = None if total is None or epoch is None else max(total - epoch, 0.0)
    return Told(
        kind="libreyolo" if libre else "ultralytics",
        counters=() if epoch is None else (_counter("epoch", epoch, file, of_training=True),),
        state="completed" if left == 0 or "summary.json" in by_path else None,
        interval_s=per_epoch_s,
        total=total,
        eta_s=None if left is None or per_epoch_s is None else left * per_epoch_s,
        eta_at_s=file.changed_at_s,
    )


def _added_up(times_s: list[float | None]) -> Iterator[float]:
    yield from accumulate(each for each in times_s if each is not None)


def _per_epoch_s(times_s: Sequence[float | None], *, since_start: bool) -> float | None:
    """Return the longer of the last and the mean time of an epoch, from times that add up."""
    known = [0.0] * since_start + [each for each in times_s if each is not None]
    steps = [b - a for a, b in pairwise(known) if b > a]
    return max(steps[-1], sum(steps) / len(steps)) if steps else None


def plain_files(folder: FolderSeen) -> Told | None:
    """Return that a folder holds event files or logs, which only grow."""
    paths = [each.path for each in folder.files]
    if any(is_event(path) for path in paths):
        return Told(kind="tensorboard")
    unread = [each for each in folder.files if each.path in folder.skipped]
    if unread:  # more runs than texts: when a file was written is all that is known of this one
        newest = max(unread, key=lambda each: each.changed_at_s)
        return Told(
            kind="log",
            counters=(_counter("files", newest.changed_at_s, newest, of_training=False),),
        )
    if is_single(folder) or any(suffix(path) in LOGS | CHECKPOINTS for path in paths):
        return Told(kind="log")
    return None


def suffix(path: str) -> str:
    """Return the end of a file's name, point included."""
    return posixpath.splitext(path)[1]


def is_single(folder: FolderSeen) -> bool:
    """Return whether a file was given in place of a folder."""
    names = [each.path for each in folder.files]
    return len(names) == 1 and posixpath.basename(folder.path) == names[0]


def _with_files(run: RunSeen, folder: FolderSeen) -> RunSeen:
    """Return the run with what its files show by size and time alone."""
    kept = [each for each in folder.files if suffix(each.path) in CHECKPOINTS]
    counters = [
        *run.counters,
        *_table(folder),
        *_sizes("log", folder, is_log),
        *_sizes("event files", folder, is_event),
    ]
    newest = max(kept, key=lambda each: each.changed_at_s, default=None)
    if newest is not None:
        counters.append(_counter("checkpoint", newest.changed_at_s, newest, of_training=False))
    times_s = [each.changed_at_s for each in folder.files]
    return run.model_copy(
        update={
            "counters": tuple(counters),
            "checkpoint": newest,
            "checkpoints_bytes": sum(each.size_bytes for each in kept),
            "newest_at_s": max(times_s, default=None),
        }
    )


def _table(folder: FolderSeen) -> list[Counter]:
    """Return the last epoch of `metrics.jsonl`."""
    if "metrics.jsonl" not in folder.texts:
        return []
    epoch = last_number(json_rows(folder.texts["metrics.jsonl"]), "epoch")
    if epoch is None:
        return []
    return [_counter("metrics", epoch, _file(folder, "metrics.jsonl"), of_training=True)]


def is_log(path: str) -> bool:
    """Return whether a file is a log by its name."""
    return suffix(path) in LOGS and not is_event(path)


def is_event(path: str) -> bool:
    """Return whether a file is one of TensorBoard's."""
    return posixpath.basename(path).startswith(EVENTS)


def _sizes(name: str, folder: FolderSeen, kind: Callable[[str], bool]) -> list[Counter]:
    """Return one counter for the size of all files of a kind, none where there are none."""
    alone = is_single(folder) and name == "log"
    found = [each for each in folder.files if alone or kind(each.path)]
    if not found:
        return []
    newest_s = max(each.changed_at_s for each in found)
    size = sum(each.size_bytes for each in found)
    return [Counter(name=name, value=size, changed_at_s=newest_s, of_training=False)]


def _file(folder: FolderSeen, path: str) -> FileSeen:
    return next(each for each in folder.files if each.path == path)


def _counter(name: str, value: float, file: FileSeen, *, of_training: bool) -> Counter:
    return Counter(name=name, value=value, changed_at_s=file.changed_at_s, of_training=of_training)
