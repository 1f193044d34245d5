"""Checkpoints opened without torch and without unpickling: does this file hold what it says?

A pickle is a program. Nothing here runs one: archives are read to the last byte against their
checksums, safetensors against their own table, and what cannot be checked that way says so.
"""

from __future__ import annotations

import json
import lzma
import math
import struct
import zipfile
import zlib
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from costplan.box import strictjson
from costplan.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

    from costplan.records.copies import CheckpointState

ZIP_START: Final = b"PK"
ZIP_ONLY: Final = (".npz", ".zip")
CHUNK_BYTES: Final = 1 << 20

HEADER_LENGTH: Final = struct.Struct("<Q")
MOST_HEADER_BYTES: Final = 100_000_000
"""The format's own ceiling (safetensors, `MAX_HEADER_SIZE`)."""
BITS: Final = {
    **dict.fromkeys(("BOOL", "U8", "I8", "F8_E5M2", "F8_E4M3", "F8_E8M0"), 8),
    **dict.fromkeys(("U16", "I16", "F16", "BF16"), 16),
    **dict.fromkeys(("U32", "I32", "F32"), 32),
    **dict.fromkeys(("U64", "I64", "F64", "C64"), 64),
}
"""Bits of one number, by the format's names; of newer names only the offsets are checked."""


_NOT_READ: Final = (
    *(zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError),
    *(ValueError, struct.error, OverflowError),  # a directory that holds nonsense
    OSError,  # bz2 has no error of its own, and nonsense may point before the file's start
)


class Opened(NamedTuple):
    """Whether a checkpoint opens, and if not, why."""

    state: CheckpointState
    why: str | None = None


class _BrokenError(Exception):
    """What is wrong with a file, before anyone is told."""


def look(path: Path) -> Opened:
    """Return whether the checkpoint at `path` opens, is broken, or cannot be checked.

    Raises:
        OSError: It cannot be read.
    """
    suffix = path.suffix.lower()
    with path.open("rb") as file:
        start = file.read(len(ZIP_START))
    if not start:
        return Opened("broken", "a checkpoint of 0 bytes")
    try:
        if suffix == ".safetensors":
            _read_safetensors(path)
        elif start == ZIP_START or suffix in ZIP_ONLY:
            return _read_zip(path, may_be_empty=suffix in ZIP_ONLY)
        else:
            return Opened("unchecked", "cannot be checked: not a zip, as torch saved before 1.6")
    except _BrokenError as err:
        return Opened("broken", f"does not open: {err}")
    return Opened("opens")


def _read_zip(path: Path, *, may_be_empty: bool) -> Opened:
    """Read every member against its checksum."""
    try:
        count = _members_read(path)
    except RuntimeError as err:  # a password is wanted, or a packing that Python does not know
        return Opened("unchecked", f"cannot be checked: {err}")
    except (PermissionError, FileNotFoundError):
        raise
    except _NOT_READ as err:
        raise _BrokenError(str(err) or "cut off") from None
    if not count and not may_be_empty:
        raise _BrokenError("an archive that holds nothing")
    return Opened("opens")


def _members_read(path: Path) -> int:
    with zipfile.ZipFile(path) as archive:
        members = archive.infolist()
        for member in members:
            with archive.open(member) as file:
                while file.read(CHUNK_BYTES):
                    pass
    return len(members)


def _read_safetensors(path: Path) -> None:
    size_bytes = path.stat().st_size
    with path.open("rb") as file:
        start = file.read(HEADER_LENGTH.size)
        if len(start) < HEADER_LENGTH.size:
            raise _BrokenError("cut off in the first 8 bytes")
        (header_bytes,) = HEADER_LENGTH.unpack(start)
        data_bytes = size_bytes - HEADER_LENGTH.size - header_bytes
        if header_bytes > MOST_HEADER_BYTES or data_bytes < 0:
            raise _BrokenError(f"a header of {header_bytes} bytes in a file of {size_bytes}")
        header = file.read(header_bytes)
    try:
        table = strictjson.parse(header.decode("utf-8"), where="the header")
    except (InputError, UnicodeDecodeError) as err:
        raise _BrokenError(str(err)) from None
    if not header.startswith(b"{") or not isinstance(table, dict):
        raise _BrokenError("the header is no table")
    _check_offsets(table, data_bytes)


def _check_offsets(table: dict[str, Any], data_bytes: int) -> None:
    spans = sorted(_span(name, row) for name, row in table.items() if name != "__metadata__")
    ends = [(0, 0), *spans, (data_bytes, data_bytes)]
    for (_, end), (start, _) in pairwise(ends):
        if end > start:
            raise _BrokenError(f"tensors overlap, or the data is cut off, at byte {start}")
        if end < start:
            raise _BrokenError(f"{start - end} bytes after byte {end} belong to no tensor")


def _span(name: str, row: Any) -> tuple[int, int]:
    """Return where the data of one tensor starts and ends."""
    try:
        kind, shape, (start, end) = row["dtype"], row["shape"], row["data_offsets"]
    except (TypeError, KeyError, ValueError):
        raise _BrokenError(f"tensor {name!r} has no dtype, shape and data_offsets") from None
    if not isinstance(shape, list) or not all(_whole(each) for each in (*shape, start, end)):
        raise _BrokenError(f"tensor {name!r} has a shape or offset that is no whole number")
    bits = BITS.get(kind) if isinstance(kind, str) else None
    if start > end or (bits is not None and math.prod(shape) * bits != (end - start) * 8):
        raise _BrokenError(f"tensor {name!r}: {end - start} bytes for {json.dumps(shape)} {kind}")
    return start, end


def _whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
