"""The command line: parse, call, render. Heavy imports happen inside the commands."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from costplan import __version__
from costplan.cli import estimate_command
from costplan.errors import CostplanError

app = typer.Typer(
    name="costplan",
    help="What a training job will cost on rented GPUs, before you rent.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Exit codes: 0 answered, 2 asked wrongly, 3 unknown, 4 a limit says no. "
    "COSTPLAN_PRICING names another price folder.",
)
app.command("estimate", epilog=estimate_command.EXAMPLES)(estimate_command.estimate)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"costplan {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool,
        typer.Option(
            "--version", "-V", help="Print the version.", callback=_version, is_eager=True
        ),
    ] = False,
) -> None:
    """Keep `costplan` a program with commands while it has only one."""


def main(argv: list[str] | None = None) -> None:
    """Run the program; the only place where planned errors become exit codes."""
    try:
        app(args=argv, prog_name="costplan")
    except CostplanError as err:
        typer.echo(f"error: {err}", err=True)
        if err.hint:
            typer.echo(f"hint: {err.hint}", err=True)
        sys.exit(err.exit_code)
