"""Listings of another place: `sha256sum` lines, `rclone lsjson`, a Hugging Face tree."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from costplan.box import strictjson
from costplan.errors import InputError
from costplan.records.copies import relative

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

HEX_DIGITS: Final = {"sha256": 64, "sha1": 40, "md5": 32, "git-sha1": 40}
"""Hashes that are compared, with their length; `git-sha1` is git's own of a plain file."""

_LINE: Final = re.compile(r"(\\?)([0-9a-fA-F]{64}) [ *](.+)", re.DOTALL)
_ESCAPED: Final = {"\\\\": "\\", "\\n": "\n", "\\r": "\r"}
_FORMS: Final = "known: sha256sum lines, `rclone lsjson -R --hash`, a Hugging Face tree as JSON"


class Listed(NamedTuple):
    """What a listing says of one file; None and missing hashes are what it does not say."""

    size_bytes: int | None
    hashes: dict[str, str]


def read(path: Path) -> dict[str, Listed]:
    """Return what the listing in `path` says, by path below the listed folder.

    Raises:
        InputError: It cannot be read, is no known listing, or names a file twice.
    """
    text = strictjson.read_text(path)
    if text.lstrip()[:1] in ("[", "{"):
        rows = _json_rows(strictjson.parse(text, where=str(path)), where=str(path))
    else:
        rows = _sum_rows(text, where=str(path))
    found: dict[str, Listed] = {}
    for where, name, listed in rows:
        try:
            name = relative(name)
        except ValueError as err:
            raise InputError(
                f"{where}: {name!r} is {err}", hint="list the folder from within it"
            ) from None
        if name in found:
            raise InputError(f"{where}: {name!r} appears twice")
        found[name] = listed
    return found


def _sum_rows(text: str, *, where: str) -> Iterator[tuple[str, str, Listed]]:
    lines = text.split("\n")
    if all(line.endswith("\r") for line in lines if line):
        lines = [line.removesuffix("\r") for line in lines]
    for number, line in enumerate(lines, start=1):
        if not line:
            continue
        match = _LINE.fullmatch(line)
        if not match:
            raise InputError(f"{where}:{number}: not a line of sha256sum", hint=_FORMS)
        escaped, digest, name = match.groups()
        if escaped:
            name = _plain(name, where=f"{where}:{number}")
        name = re.sub(r"\A(\./)+", "", name)  # as `find . -exec sha256sum` writes it
        yield f"{where}:{number}", name, Listed(None, {"sha256": digest.lower()})


def _plain(name: str, *, where: str) -> str:
    """Return a name without the escapes that sha256sum puts in it."""
    parts = re.findall(r"\\.?|[^\\]+", name, re.DOTALL)
    unknown = [part for part in parts if part[0] == "\\" and part not in _ESCAPED]
    if unknown:
        raise InputError(f"{where}: {unknown[0]} is no escape that sha256sum writes")
    return "".join(_ESCAPED.get(part, part) for part in parts)


def _json_rows(data: Any, *, where: str) -> Iterator[tuple[str, str, Listed]]:
    if not isinstance(data, list) or not all(isinstance(row, dict) for row in data):
        raise InputError(f"{where} is no listing", hint=_FORMS)
    for number, row in enumerate(data, start=1):
        place = f"{where}, entry {number}"
        if "Path" in row:
            if not row.get("IsDir"):
                yield place, *_rclone(row, where=place)
        elif "path" in row and "type" in row:
            if row["type"] != "directory":
                yield place, *_hugging_face(row, where=place)
        else:
            raise InputError(f"{place}: neither of rclone nor of Hugging Face", hint=_FORMS)


def _rclone(row: dict[str, Any], *, where: str) -> tuple[str, Listed]:
    """Return one row of `rclone lsjson`: https://rclone.org/commands/rclone_lsjson."""
    size = row.get("Size")
    hashes = row.get("Hashes") or {}
    if not isinstance(hashes, dict):
        raise InputError(f"{where}: Hashes is no table")
    by_name = {str(key).lower().replace("-", ""): value for key, value in hashes.items()}
    return _row(
        row["Path"],
        None if size == -1 else size,  # what rclone writes where a remote does not know
        {name: by_name.get(name) for name in ("sha256", "sha1", "md5")},
        where=where,
    )


def _hugging_face(row: dict[str, Any], *, where: str) -> tuple[str, Listed]:
    """Return one row of a tree, as its API or a dump of `huggingface_hub`'s objects has it.

    For a large file `oid` is the hash of git's pointer to it, so the one in `lfs` counts.
    """
    lfs = row.get("lfs")
    if lfs is None:
        oid = row.get("oid", row.get("blob_id"))
        return _row(row["path"], row.get("size"), {"git-sha1": oid}, where=where)
    if not isinstance(lfs, dict):
        raise InputError(f"{where}: lfs is no table")
    digest = lfs.get("sha256", lfs.get("oid"))
    digest = digest.removeprefix("sha256:") if isinstance(digest, str) else digest
    return _row(row["path"], lfs.get("size", row.get("size")), {"sha256": digest}, where=where)


def _row(path: Any, size: Any, hashes: dict[str, Any], *, where: str) -> tuple[str, Listed]:
    if not isinstance(path, str):
        raise InputError(f"{where}: a path that is no text")
    if size is not None and (not isinstance(size, int) or isinstance(size, bool) or size < 0):
        raise InputError(f"{where}: {size!r} is no size in bytes")
    found = {}
    for name, value in hashes.items():
        if value in (None, ""):
            continue
        if not isinstance(value, str) or not _is_hex(value, HEX_DIGITS[name]):
            raise InputError(f"{where}: no {name} of {HEX_DIGITS[name]} hexadecimal digits")
        found[name] = value.lower()
    return path, Listed(size, found)


def _is_hex(text: str, digits: int) -> bool:
    return re.fullmatch(f"[0-9a-fA-F]{{{digits}}}", text) is not None
