"""Manifests and checked copies as text and JSON."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from costplan import __version__
from costplan.records.copies import instead_of
from costplan.render.figures import visible

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from costplan.records.copies import CopyReport, Left, Manifest

# /1 2026-12: first form.
COPY_SCHEMA: Final = "costplan.copy/1"


def made_text(manifest: Manifest, output: Path) -> str:
    """Return what a manifest holds, in a line."""
    size_gb = manifest.size_bytes / 1e9
    return visible(f"{output}: {len(manifest.files)} files, {size_gb:.3f} GB of {manifest.folder}")


def checked_text(manifest: Manifest, report: CopyReport) -> str:
    """Return how much of a manifest is verified, in a line."""
    return visible(
        f"{len(report.verified)} of {len(manifest.files)} files verified in {report.against}"
    )


def broken(manifest: Manifest) -> list[str]:
    """Return which checkpoints do not open, and what to fall back to, a line each."""
    lines = []
    for each in manifest.files:
        if each.checkpoint == "broken":
            other = instead_of(each.path, manifest.files)
            text = f"{each.path}: {each.why or 'does not open'}"
            lines.append(visible(text + (f"; fall back to {other.path}" if other else "")))
    return lines


def left_behind(manifest: Manifest) -> list[str]:
    """Return what is not in a manifest and goes with the box, a line each."""
    outside = manifest.outside
    if outside is None:
        return []
    return [*(_left(each) for each in outside.left), *map(visible, outside.unseen)]


def _left(item: Left) -> str:
    least = "at least " if item.at_least else ""
    size = "size unknown" if item.size_bytes is None else f"{least}{item.size_bytes:,} bytes"
    return visible(f"not in it: {item.name} ({item.kind}, {size})")


def made_json(manifest: Manifest, output: Path) -> str:
    """Return one JSON object: what the manifest in `output` holds, without its files."""
    outside = None if manifest.outside is None else manifest.outside.model_dump()
    notices = [*broken(manifest), *left_behind(manifest)]
    return _answer("make", manifest, output, {"outside": outside}, notices=notices)


def checked_json(
    manifest: Manifest,
    path: Path,
    report: CopyReport,
    *,
    stale: Sequence[str],
    notes: Sequence[str],
) -> str:
    """Return one JSON object: what of the manifest in `path` is in the other place."""
    body = report.model_dump(mode="json", exclude={"made_at", "verified"})
    found = {
        "verified": report.ok and not stale,
        "files_verified": len(report.verified),
        **{"bytes_verified" if key == "verified_bytes" else key: body[key] for key in body},
        "stale": list(stale),
        "reasons": [*report.reasons(), *stale],
    }
    return _answer("check", manifest, path, found, notices=notes)


def _answer(
    did: str, manifest: Manifest, path: Path, found: dict[str, Any], *, notices: Sequence[str]
) -> str:
    head = {
        "schema": COPY_SCHEMA,
        "costplan": __version__,
        "did": did,
        "manifest": str(path),
        "folder": manifest.folder,
        "made_at": manifest.made_at.isoformat(),
        "files": len(manifest.files),
        "size_bytes": manifest.size_bytes,
    }
    return (
        json.dumps({**head, **found, "notices": list(notices)}, indent=2, ensure_ascii=False) + "\n"
    )
