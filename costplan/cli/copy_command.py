"""`costplan idle copy`: a manifest of what must survive, and a check of the copy."""

from pathlib import Path
from typing import Annotated

import typer

from costplan.cli.streams import talk, write
from costplan.errors import LimitError


def make(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="What must survive.")],
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", help="The manifest to write.")
    ],
) -> None:
    """Write the manifest of a folder: path, size and SHA-256 of every file, checkpoints opened."""
    from datetime import datetime, timezone

    from costplan.box import copies

    manifest = copies.make(folder, now=datetime.now(tz=timezone.utc), resume_from=output)
    copies.write(manifest, output)
    size_gb = manifest.size_bytes / 1e9
    write(f"{output}: {len(manifest.files)} files, {size_gb:.3f} GB of {folder}\n")
    left = copies.outside(folder, manifest)
    for item in left.left:
        least = "at least " if item.at_least else ""
        talk(f"note: not in it: {item.name} ({item.kind}, {least}{item.size_bytes:,} bytes)\n")
    for text in left.unseen:
        talk(f"note: {text}\n")


def check(
    manifest: Annotated[Path, typer.Argument(metavar="MANIFEST", help="From `copy make`.")],
    against: Annotated[
        Path,
        typer.Option(
            metavar="DIR|LISTING",
            help="The copy: a folder, sha256sum lines, `rclone lsjson -R --hash`, or a saved "
            "Hugging Face tree.",
        ),
    ],
) -> None:
    """Compare a copy with its manifest; exit 0 only if every file is verified there."""
    from costplan.box import copies

    known = copies.read(manifest)
    report = copies.check(known, against)
    stale = copies.still_valid(known, Path(known.folder)) if Path(known.folder).is_dir() else []
    write(f"{len(report.verified)} of {len(known.files)} files verified in {report.against}\n")
    reasons = [*report.reasons(), *stale]
    if reasons or not report.ok:
        raise LimitError("this is no verified copy", hint="; ".join(reasons[:10]) or None)
    if report.same_disk:
        talk("note: the copy lies on the same disk as the original\n")
