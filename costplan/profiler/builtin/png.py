"""PNG files of 8-bit RGB, written and read with the standard library alone.

Where Pillow is not installed. Of the format (ISO/IEC 15948) only what is written here is read: no
interlacing, and every row with filter type 0.
"""

from __future__ import annotations

import struct
import zlib
from typing import Final, NamedTuple

SIGNATURE: Final = b"\x89PNG\r\n\x1a\n"
HEADER: Final = struct.Struct(">IIBBBBB")
RGB_8_BITS: Final = (8, 2, 0, 0, 0)
"""Depth, colour type, compression, filter method, interlacing."""
CHANNELS: Final = 3
LEVEL: Final = 1
"""Of compression: reading takes as long at any, writing is fastest at this one."""


class Rows(NamedTuple):
    """A picture as PNG keeps it: each row after one byte that names its filter."""

    width: int
    height: int
    data: bytes
    """`height` rows of 1 + 3 x `width` bytes."""


def written(width: int, height: int, pixels: bytes) -> bytes:
    """Return a PNG file of `height` x `width` x 3 bytes of pixels.

    Raises:
        ValueError: There are more or fewer bytes than that.
    """
    row = CHANNELS * width
    if len(pixels) != row * height:
        raise ValueError(f"{len(pixels)} bytes for {width} x {height} pixels")
    rows = b"".join(b"\0" + pixels[n * row : (n + 1) * row] for n in range(height))
    return b"".join((
        SIGNATURE,
        _chunk(b"IHDR", HEADER.pack(width, height, *RGB_8_BITS)),
        _chunk(b"IDAT", zlib.compress(rows, LEVEL)),
        _chunk(b"IEND", b""),
    ))  # fmt: skip


def read(file: bytes) -> Rows:
    """Return the rows of a PNG file that `written` made, their sums checked.

    Raises:
        ValueError: It is another file, of another kind, or damaged.
    """
    if not file.startswith(SIGNATURE):
        raise ValueError("not a PNG file")
    packed, place = b"", len(SIGNATURE)
    width = height = 0
    while place < len(file):
        (length,) = struct.unpack_from(">I", file, place)
        kind, body = file[place + 4 : place + 8], file[place + 8 : place + 8 + length]
        if file[place : place + 12 + length] != _chunk(kind, body):
            raise ValueError(f"damaged at byte {place}")
        if kind == b"IHDR":
            width, height, *how = HEADER.unpack(body)
            if tuple(how) != RGB_8_BITS:
                raise ValueError("not plain 8-bit RGB")
        elif kind == b"IDAT":
            packed += body
        place += 12 + length
    return Rows(width, height, zlib.decompress(packed))


def _chunk(kind: bytes, body: bytes) -> bytes:
    return b"".join((
        struct.pack(">I", len(body)), kind, body, struct.pack(">I", zlib.crc32(kind + body)),
    ))  # fmt: skip
