"""`costplan idle copy`: a manifest of what must survive, and a check of the copy."""

from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

from costplan.cli.streams import talk, write
from costplan.errors import LimitError

INTERRUPTED = 130
"""128 and the number of SIGINT, as shells count."""


class Format(str, Enum):
    """How the answer is written."""

    table = "table"
    json = "json"


def make(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="What must survive.")],
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", help="The manifest to write.")
    ],
    format_: Annotated[
        Format, typer.Option("--format", "-f", help="How to write the answer.")
    ] = Format.table,
) -> None:
    """Write the manifest of a folder: path, size and SHA-256 of every file, checkpoints opened."""
    from datetime import datetime, timezone

    from costplan.box import copies
    from costplan.box.wording import first
    from costplan.cli.meter import meter
    from costplan.render.copies import broken, left_behind, made_json, made_text

    now = datetime.now(tz=timezone.utc)
    kept = f"what was read is kept in {output}: the same command again goes on from there"
    with _interruptible(kept), meter("reading") as progress:
        manifest = copies.make(folder, now=now, resume_from=output, progress=progress)
    if format_ is Format.json:
        write(made_json(manifest, output))
        return
    write(f"{made_text(manifest, output)}\n")
    for line in [*broken(manifest), *first(left_behind(manifest))]:
        talk(f"note: {line}\n")


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
    format_: Annotated[
        Format, typer.Option("--format", "-f", help="How to write the answer.")
    ] = Format.table,
) -> None:
    """Compare a copy with its manifest; exit 0 only if every file is verified there."""
    from costplan.box import copies, folders
    from costplan.cli.meter import meter
    from costplan.render.copies import checked_json, checked_text

    known = copies.read(manifest)
    # Half a check is not kept: the copy could change before the other half.
    nothing = "nothing is verified yet: the same command again reads the copy from its start"
    with _interruptible(nothing), meter("checking") as progress:
        report = copies.check(known, against, progress=progress)
        source = Path(known.folder)
        stale = copies.still_valid(known, source) if folders.is_there(source) else []
    notes = ["the copy lies on the same disk as the original"] if report.same_disk else []
    if format_ is Format.json:
        write(checked_json(known, manifest, report, stale=stale, notes=notes))
    else:
        write(f"{checked_text(known, report)}\n")
    reasons = [*report.reasons(), *stale]
    if reasons:
        raise LimitError("this is no verified copy", hint="; ".join(reasons[:10]))
    if format_ is Format.table:
        for note in notes:
            talk(f"note: {note}\n")


@contextmanager
def _interruptible(then: str) -> Iterator[None]:
    """Say after Ctrl-C what `then` is, and end as shells expect."""
    try:
        yield
    except KeyboardInterrupt:
        talk(f"interrupted: {then}\n")
        raise typer.Exit(INTERRUPTED) from None
