"""`costplan check`: is this box any good, before an hour of setup is paid for."""

from enum import Enum
from pathlib import Path
from typing import Annotated, Final

import typer

from costplan.cli.streams import talk, write

EXAMPLES: Final = """Examples:

costplan check --job job.yaml --rate 0.41 --promised offer.json
--download https://example.com/large.bin

costplan check --before-install xformers
"""


class Format(str, Enum):
    """How the answer is written."""

    table = "table"
    json = "json"


def check(
    job: Annotated[
        str | None, typer.Option(metavar="FILE|-", help="Job file: what disk and memory it needs.")
    ] = None,
    rate: Annotated[
        str | None, typer.Option(metavar="USD_PER_HOUR", help="What the box bills, disk included.")
    ] = None,
    since: Annotated[
        str | None,
        typer.Option(metavar="DURATION", help="Rented so long ago; else since it was booted."),
    ] = None,
    promised: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="The rented offer: one entry of `vastai search offers ... --raw`, or in the "
            "fields of `estimate --offers`.",
        ),
    ] = None,
    download: Annotated[
        str | None,
        typer.Option(metavar="URL", help="Read this for up to 10 s; the only use of the network."),
    ] = None,
    folder: Annotated[
        Path, typer.Option("--dir", metavar="DIR", help="Where data and checkpoints will lie.")
    ] = Path(),
    python: Annotated[
        str | None,
        typer.Option(metavar="PYTHON", help="The interpreter that will train; else `python`."),
    ] = None,
    before_install: Annotated[
        str | None,
        typer.Option(
            metavar="WORDS",
            help="Only this: would `pip install WORDS` replace torch? Asks pip, which downloads "
            "what it must.",
        ),
    ] = None,
    format_: Annotated[
        Format, typer.Option("--format", "-f", help="How to write the answer.")
    ] = Format.table,
    pricing: Annotated[
        Path | None,
        typer.Option(metavar="DIR", envvar="COSTPLAN_PRICING", help="Another price folder."),
    ] = None,
) -> None:
    """Is this box any good? Real kernels, disk, cores, line: kept promises or RETURN IT."""
    from costplan.checks import exit_code
    from costplan.cli.check_asked import CheckAsked, answered
    from costplan.render.checks import checked_json, checked_text

    asked = CheckAsked(
        job=job,
        rate=rate,
        since=since,
        promised=promised,
        download=download,
        folder=folder,
        python=python,
        before_install=before_install,
        pricing=pricing,
    )
    found = answered(asked)
    if format_ is Format.json:
        write(checked_json(found.answer, asked=found.echoed, facts=found.facts))
    else:
        write(checked_text(found.answer))
        talk("".join(f"note: {notice}\n" for notice in found.answer.notices))
    code = exit_code(found.answer)
    if code:
        raise typer.Exit(code)
