"""Measures the line: reads one address for a few seconds, keeps nothing.

The only part of `costplan check` that goes to the network by itself, and only where it is told an
address. Of an address only the host is ever repeated: the rest may hold a password or a key.
"""

from __future__ import annotations

import http.client
import time
import urllib.error
import urllib.parse
import urllib.request
from typing import TYPE_CHECKING, Final

from costplan import __version__
from costplan.errors import InputError
from costplan.records.checks import DownloadFacts

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Protocol

    class Body(Protocol):
        """What an answer is read from."""

        def read1(self, size: int, /) -> bytes:
            """Return what has come."""


MOST_S: Final = 10.0
MOST_BYTES: Final = 500_000_000
CONNECT_S: Final = 10.0
BLOCK_BYTES: Final = 1 << 18


def host_of(url: str) -> str:
    """Return the host of an address that may be asked.

    Raises:
        InputError: It is no address of the web.

    >>> host_of("https://user:secret@example.com/file?key=1")
    'example.com'
    """
    try:
        parts = urllib.parse.urlsplit(url)
        host = parts.hostname
    except ValueError:
        parts, host = None, None
    if parts is None or parts.scheme not in ("http", "https") or not host:
        raise InputError(
            "--download: not an address such as https://example.com/file",
            hint="a large file near the data: one of the data set or of its hub",
        )
    return host


def fetched(
    url: str,
    *,
    most_s: float = MOST_S,
    most_bytes: int = MOST_BYTES,
    connect_s: float = CONNECT_S,
    clock: Callable[[], float] = time.monotonic,
) -> DownloadFacts:
    """Return how much of an address came in how long, from the first byte on.

    Raises:
        InputError: It is no address of the web.
    """
    host = host_of(url)
    asked = urllib.request.Request(
        url, headers={"User-Agent": f"costplan/{__version__}", "Accept-Encoding": "identity"}
    )
    try:
        with urllib.request.urlopen(asked, timeout=connect_s) as body:
            length = body.headers.get("Content-Length") or ""
            received, over_s, problem = _read(body, most_s, most_bytes, clock)
    except urllib.error.HTTPError as error:
        error.close()
        return DownloadFacts(host=host, problem=f"{host} answers {error.code}")
    except (OSError, http.client.HTTPException, ValueError) as error:
        return DownloadFacts(host=host, problem=f"{host}: {_reason(error)}")
    return DownloadFacts(
        host=host,
        received_bytes=received,
        over_s=over_s,
        expected_bytes=int(length) if length.isdigit() else None,
        problem=problem,
    )


def _read(
    body: Body, most_s: float, most_bytes: int, clock: Callable[[], float]
) -> tuple[int, float, str | None]:
    """Return the bytes, the seconds from the first of them on, and what ended it too early."""
    received, started = 0, None
    now = clock()
    try:
        while block := body.read1(BLOCK_BYTES):
            now = clock()
            if started is None:  # the way to the server is not the line's speed
                started = now
            received += len(block)
            if now - started >= most_s or received >= most_bytes:
                return received, now - started, None
    except (OSError, http.client.HTTPException) as error:
        return received, 0.0 if started is None else clock() - started, _reason(error)
    return received, 0.0 if started is None else now - started, None


def _reason(error: BaseException) -> str:
    """Return why, without the address."""
    inner = getattr(error, "reason", error)
    text = getattr(inner, "strerror", None) or (inner if isinstance(inner, str) else None)
    if isinstance(inner, TimeoutError):
        text = "no answer in time"
    return str(text or type(inner).__name__)
