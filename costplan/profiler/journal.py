"""What the processes of one run did to names and contents, told in a file that only grows.

Ranks, workers and children see one another's saves as they would have on disk. A line is one write
to a file opened for appending, so that lines never mix; the size of the file says whether
there is news, and asking for it is all that a file operation costs until something is redirected.
"""

from __future__ import annotations

import json
import os
import threading
from typing import Final

FILE: Final = "guard.jsonl"
REFUSED: Final = '{"refused": "yes"}'
"""The line that ends every process of the run."""
GONE: Final = ""
"""What a name leads to once the run deleted it."""

_stat: Final = os.stat  # as it was before anything was wrapped: asked at every file operation


class Journal:
    """The twins of files, and what became of names, as far as this process has read."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.twins: dict[tuple[int, int], str] = {}
        """Device and inode of a kept file to the file that stands for it."""
        self.names: dict[str, str] = {}
        """Canonical names that lead elsewhere now, or to `GONE`."""
        self.bases: set[str] = set()
        """Last parts of all names ever in `names`: most paths need no closer look."""
        self.refused = False
        self._read_bytes = 0
        self._lock = threading.RLock()
        os.register_at_fork(after_in_child=self._renew_lock)
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o600))

    def _renew_lock(self) -> None:
        self._lock = threading.RLock()

    def refresh(self) -> None:
        """Read what other processes have added."""
        try:
            size_bytes = _stat(self.path).st_size
        except OSError:  # the profile has ended and tidied up: no news will come
            return
        if size_bytes != self._read_bytes:
            with self._lock:
                self._read()

    def _read(self) -> None:
        with open(self.path, "rb") as file:
            file.seek(self._read_bytes)
            news = file.read()
        whole = news[: news.rfind(b"\n") + 1]
        for line in whole.splitlines():
            self._apply(json.loads(line))
        self._read_bytes += len(whole)

    def _apply(self, line: dict[str, str]) -> None:
        if "twin" in line:
            self.twins[int(line["device"]), int(line["inode"])] = line["twin"]
        elif "back" in line:
            self.names.pop(line["back"], None)
        elif "name" in line:
            self.names[line["name"]] = line["to"]
            self.bases.add(os.path.basename(line["name"]))
        else:
            self.refused = True

    def _add(self, **line: str) -> None:
        append(self.path, json.dumps(line))
        self.refresh()

    def add_twin(self, key: tuple[int, int], twin: str, path: str) -> None:
        """Say that `twin` stands for the file with this device and inode, found at `path`."""
        self._add(device=str(key[0]), inode=str(key[1]), twin=twin, path=path)

    def lead(self, name: str, to: str) -> None:
        """Say that `name` leads to another path, or to `GONE`."""
        self._add(name=name, to=to)

    def back(self, name: str) -> None:
        """Say that `name` is what it was on disk."""
        if name in self.names:
            self._add(back=name)


def append(path: str, text: str) -> None:
    """Add one line to a file that several processes add to."""
    file = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o600)
    try:
        os.write(file, text.encode("utf-8", "surrogateescape") + b"\n")
    finally:
        os.close(file)
