"""Reads trace files: plain or gzip, whole or cut off in the middle.

Events are read one at a time and only what is used of them is kept: a trace of a few steps is
easily ten times as large in memory as on disk.
"""

from __future__ import annotations

import gzip
import json
import zlib
from typing import TYPE_CHECKING, Any, Final

from costplan.box import strictjson
from costplan.errors import InputError
from costplan.profiler.events import read
from costplan.profiler.foreign import is_libreyolo, libreyolo_verdict
from costplan.profiler.tracefile import About, facts

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from costplan.records.traces import TraceFacts
    from costplan.records.verdicts import Verdict

MAX_BYTES: Final = 1_000_000_000
"""Unpacked. Five steps of a small model take 35 MB, with stacks, shapes and memory 500 MB."""
NEAR_END: Final = 12
"""Characters: a number, a word or an escape that the end of the file cuts is no longer."""

_GZIP: Final = b"\x1f\x8b"
_SPACE: Final = " \t\r\n"
_DECODER: Final = json.JSONDecoder(strict=False)  # names of kernels may hold raw tabs


def trace_facts(path: Path) -> TraceFacts:
    """Return what the torch.profiler trace in `path` shows.

    Raises:
        InputError: The file cannot be read, is too large or is no trace.
    """
    scan = Scan(text_of(path), where=str(path))
    found = read(scan.events())
    return facts(found, scan.about())


def foreign_verdict(path: Path) -> Verdict:
    """Return what the profile says that another tool wrote to `path`.

    Raises:
        InputError: The file cannot be read, or no tool is known that writes such a one.
    """
    found = strictjson.parse(strictjson.read_text(path), where=str(path))
    if is_libreyolo(found):
        return libreyolo_verdict(found, where=str(path))
    traced = isinstance(found, list) or (isinstance(found, dict) and "traceEvents" in found)
    raise InputError(
        f"{path} is no profile of costplan or of LibreYOLO",
        hint="it is a trace: use --trace"
        if traced
        else "costplan profile -o FILE writes one; LibreYOLO calls its own profile.json",
    )


def text_of(path: Path) -> str:
    """Return the text of a file, unpacked where it is gzip, whatever its name.

    Raises:
        InputError: It is missing, unreadable, too large or empty.
    """
    try:
        if path.is_dir():
            raise InputError(f"{path} is a directory", hint="name a file in it")
        with path.open("rb") as file:
            packed = file.read(len(_GZIP)) == _GZIP
        data = unpacked(path) if packed else plain(path)
    except FileNotFoundError:
        raise InputError(f"{path} does not exist") from None
    except (OSError, ValueError) as err:
        raise InputError(f"{path} cannot be read: {getattr(err, 'strerror', err)}") from None
    if len(data) > MAX_BYTES:
        raise InputError(
            f"{path} holds more than {MAX_BYTES // 1_000_000} MB",
            hint="trace fewer steps, without stacks, shapes and memory",
        )
    if not data.strip():
        raise InputError(f"{path} is empty")
    return data.decode("utf-8-sig", errors="replace")  # kernels may have any bytes in their names


def plain(path: Path) -> bytes:
    """Return the start of a file, one byte more than is allowed."""
    with path.open("rb") as file:
        return file.read(MAX_BYTES + 1)


def unpacked(path: Path) -> bytes:
    """Return what a gzip file holds, as far as it goes where it is cut off."""
    parts: list[bytes] = []
    size_bytes = 0
    with gzip.open(path) as file:
        while size_bytes <= MAX_BYTES:
            try:
                part = file.read1(1 << 20)
            except (EOFError, zlib.error, gzip.BadGzipFile):
                if not parts:
                    raise ValueError("it starts as gzip and is none") from None
                break
            if not part:
                break
            parts.append(part)
            size_bytes += len(part)
    return b"".join(parts)


class Scan:
    """One pass over the text of a trace; `about` is complete once `events` has ended."""

    def __init__(self, text: str, *, where: str) -> None:
        self.text = text
        self.where = where
        self.head: dict[str, Any] = {}
        self.cut = False  # within the events: what is lost behind them is no event
        self.traced = False

    def events(self) -> Iterator[object]:
        """Yield each event of `traceEvents`, or of a bare list of events."""
        at = self.past_space(0)
        if self.text.startswith("[", at):
            yield from self.listed(at + 1)
        elif self.text.startswith("{", at):
            yield from self.keys(at + 1)
        else:
            raise InputError(f"{self.where} is no trace: it starts with no JSON object or list")
        if not self.traced:
            raise InputError(
                f"{self.where} is no trace: it has no list of events",
                hint="torch.profiler writes one with export_chrome_trace",
            )

    def keys(self, at: int) -> Iterator[object]:
        """Yield the events of an object and keep what else it says."""
        while (at := self.past_space(at, ",")) < len(self.text) and self.text[at] != "}":
            key, at = self.value(at)
            at = self.past_space(at, ":")
            if key == "traceEvents" and self.text.startswith("[", at):
                at = yield from self.listed(at + 1)
            else:
                self.head[str(key)], at = self.value(at)

    def listed(self, at: int) -> Any:
        """Yield the values of a list and return where it ends."""
        self.traced = True
        while (at := self.past_space(at, ",")) < len(self.text) and self.text[at] != "]":
            found, at = self.value(at)
            if at <= len(self.text):
                yield found
        self.cut = self.cut or at >= len(self.text)
        return at + 1

    def value(self, at: int) -> tuple[Any, int]:
        """Return the value at a place and where it ends; past the text where the end cuts it.

        Raises:
            InputError: It is no JSON, and that is not because the file ends in it.
        """
        try:
            return _DECODER.raw_decode(self.text, at)
        except json.JSONDecodeError as err:
            if err.msg.startswith("Unterminated string") or err.pos >= len(self.text) - NEAR_END:
                return None, len(self.text) + 1
            place = f"{self.where}:{err.lineno}:{err.colno}"
            raise InputError(f"{place} is not JSON: {err.msg}", hint="write it anew") from None
        except ValueError as err:  # a number of thousands of digits
            raise InputError(f"{self.where} cannot be read: {err}") from None
        except RecursionError:
            raise InputError(f"{self.where} is nested too deeply") from None

    def past_space(self, at: int, also: str = "") -> int:
        """Return the next place that holds neither space nor a separator."""
        while at < len(self.text) and self.text[at] in _SPACE + also:
            at += 1
        return at

    def about(self) -> About:
        """Return what the file says beside its events."""
        listed = self.head.get("deviceProperties")
        devices = (
            [each for each in listed if isinstance(each, dict)] if isinstance(listed, list) else []
        )
        told = self.head.get("distributedInfo")
        ranks = told if isinstance(told, dict) else {}
        return About(
            {str(each.get("id")): str(each["name"]) for each in devices if "name" in each},
            counted(ranks.get("rank")),
            counted(ranks.get("world_size")),
            self.cut,
        )


def counted(value: object) -> int | None:
    """Return a whole number that is not negative, or None."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
