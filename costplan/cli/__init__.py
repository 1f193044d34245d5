"""The command line: parse, call, render. Heavy imports happen inside the commands."""

import sys
from typing import Annotated

import typer

from costplan import __version__
from costplan.cli import (
    away_command,
    check_command,
    copy_command,
    estimate_command,
    idle_command,
    profile_command,
)
from costplan.cli.streams import talk
from costplan.errors import CostplanError, InputError

app = typer.Typer(
    name="costplan",
    help="What a training job will cost on rented GPUs, and what to do with an idle box.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Exit codes: 0 answered, 2 asked wrongly, 3 unknown, 4 a limit or safety rule says no, "
    "5 acted and not confirmed. COSTPLAN_PRICING names another price folder.",
)
app.command("estimate", epilog=estimate_command.EXAMPLES)(estimate_command.estimate)
app.command("check", epilog=check_command.EXAMPLES)(check_command.check)
app.command("profile", epilog=profile_command.EXAMPLES)(profile_command.profile)
_idle = typer.Typer(invoke_without_command=True, rich_markup_mode=None)
_idle.callback(epilog=idle_command.EXAMPLES)(idle_command.idle)
_idle.command("away")(away_command.away)
_idle.command("back")(away_command.back)
_copy = typer.Typer(
    help="A manifest of what must survive, and a check of the copy.", no_args_is_help=True
)
_copy.command("make")(copy_command.make)
_copy.command("check")(copy_command.check)
_idle.add_typer(_copy, name="copy")
app.add_typer(_idle, name="idle", help="Keep, stop or destroy an idle box, in money.")


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
        from costplan.render.figures import visible

        hint = f"hint: {visible(err.hint)}\n" if err.hint else ""
        talk(f"error: {visible(str(err))}\n{hint}")
        sys.exit(err.exit_code)
    except OSError as err:
        talk(f"error: {err.strerror or err}\n")
        sys.exit(InputError.exit_code)
