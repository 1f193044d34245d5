"""`costplan idle`: keep, stop or destroy an idle box, in money."""

from pathlib import Path
from typing import Annotated, Final

import typer

from costplan.cli.estimate_command import Format

EXAMPLES: Final = """Examples:

costplan idle --rate 3.4828 --disk 250 --storage-price 0.20 --setup 15m
--ingress 43 --ingress-price 0.003 --provider vast --back-in 10h

costplan idle --offer runpod-secure/1x-rtx-4090 --disk 100 --setup 20m

Exit codes: 0 answered, 2 asked wrongly, 3 unknown, 4 a safety rule says no, 5 acted and not
confirmed; a watch that is told to end 130 or 143.
"""


def idle(
    context: typer.Context,
    rate: Annotated[
        str | None, typer.Option(metavar="USD_PER_HOUR", help="Running rate, disk included.")
    ] = None,
    disk: Annotated[str | None, typer.Option(metavar="GB", help="Disk allocated.")] = None,
    storage_price: Annotated[
        str | None, typer.Option(metavar="USD_PER_GB_MONTH", help="Price of the disk.")
    ] = None,
    stopped_storage_price: Annotated[
        str | None, typer.Option(metavar="USD_PER_GB_MONTH", help="Where it differs when stopped.")
    ] = None,
    setup: Annotated[
        str | None, typer.Option(metavar="DURATION", help="From nothing to working: 15m, 1h30m.")
    ] = None,
    ingress: Annotated[
        str | None, typer.Option(metavar="GB", help="What a rebuild downloads.")
    ] = None,
    ingress_price: Annotated[
        str | None, typer.Option(metavar="USD_PER_GB", help="Price of the download.")
    ] = None,
    restart: Annotated[
        str | None,
        typer.Option(metavar="DURATION", help="From stopped to working, the job running again."),
    ] = None,
    month_hours: Annotated[
        str | None, typer.Option(metavar="HOURS", help="Hours in a billed month: 720, 730.")
    ] = None,
    provider: Annotated[
        str | None, typer.Option(metavar="NAME", help="Whose stop, month and clocks hold.")
    ] = None,
    offer: Annotated[
        str | None, typer.Option(metavar="SKU", help="Prices of an offer of the price folder.")
    ] = None,
    box: Annotated[
        str | None, typer.Option(metavar="FILE", help="A saved box (JSON or YAML).")
    ] = None,
    back_in: Annotated[
        str | None, typer.Option(metavar="DURATION", help="You are back in 10h, 2d.")
    ] = None,
    back_at: Annotated[
        str | None, typer.Option(metavar="TIME", help="Back at 09:00, mon 09:00, or ISO with zone.")
    ] = None,
    mean: Annotated[
        str | None, typer.Option(metavar="DURATION", help="Away this long on average.")
    ] = None,
    history: Annotated[
        str | None,
        typer.Option(
            metavar="FILE|ledger",
            help="Your absences in hours, oldest first, one a line: 14.5, 14.5+ for still away, "
            "14.5 fri 18:30 with when you left.",
        ),
    ] = None,
    no_prior: Annotated[
        bool, typer.Option("--no-prior", help="Learn from your history alone, not from others'.")
    ] = False,
    no_ledger: Annotated[
        bool, typer.Option("--no-ledger", help="Ignore what was recorded with `idle back`.")
    ] = False,
    never: Annotated[
        str | None, typer.Option(metavar="SHARE", help="Chance of not coming back: 5%.")
    ] = None,
    waiting: Annotated[
        str | None, typer.Option(metavar="USD_PER_HOUR", help="What an hour of waiting costs you.")
    ] = None,
    gpu_gone: Annotated[
        str | None, typer.Option(metavar="SHARE", help="Chance that the GPU is taken meanwhile.")
    ] = None,
    gone_cost: Annotated[
        str | None, typer.Option(metavar="USD", help="What that costs on top of a rebuild.")
    ] = None,
    gone_half_life: Annotated[
        str | None, typer.Option(metavar="DURATION", help="Half of the GPUs are taken after this.")
    ] = None,
    search_cost: Annotated[
        str | None, typer.Option(metavar="USD", help="Spent on dud boxes per rebuild.")
    ] = None,
    rebuild_rate: Annotated[
        str | None, typer.Option(metavar="USD_PER_HOUR", help="What a new box costs today.")
    ] = None,
    upload_cost: Annotated[
        str | None, typer.Option(metavar="USD", help="Saving what is needed before a destroy.")
    ] = None,
    lost: Annotated[
        str | None, typer.Option(metavar="USD", help="Work that a stop now would lose.")
    ] = None,
    balance: Annotated[
        str | None, typer.Option(metavar="USD", help="Credit that pays for the waiting.")
    ] = None,
    expires_in: Annotated[
        str | None, typer.Option(metavar="DURATION", help="The stopped box is deleted after this.")
    ] = None,
    deadline: Annotated[
        str | None,
        typer.Option(metavar="TIME|DURATION", help="Work must be done by 09:00, fri 18:00, 36h."),
    ] = None,
    remaining: Annotated[
        str | None, typer.Option(metavar="DURATION", help="Work left to do by the deadline.")
    ] = None,
    reserve: Annotated[
        str | None,
        typer.Option(metavar="DURATION", help="Kept free before it; 10% of the work left."),
    ] = None,
    compare: Annotated[
        str | None,
        typer.Option(metavar="STEPS", help="Your timer beside the plan: 'stop 1h, destroy 7d'."),
    ] = None,
    stopped_for: Annotated[
        str | None, typer.Option(metavar="DURATION", help="It has been stopped this long already.")
    ] = None,
    idle_for: Annotated[
        str | None, typer.Option(metavar="DURATION", help="It has been on and idle this long.")
    ] = None,
    provider_timer: Annotated[
        str | None,
        typer.Option(metavar="DURATION", help="Its provider should have stopped it after this."),
    ] = None,
    notice: Annotated[
        str | None, typer.Option(metavar="DURATION", help="Warning before the box is taken: 30s.")
    ] = None,
    unsaved: Annotated[
        str | None, typer.Option(metavar="GB", help="What would have to be uploaded then.")
    ] = None,
    upload_mbit: Annotated[
        str | None, typer.Option(metavar="MBIT_PER_S", help="Over a line of this speed.")
    ] = None,
    keep_data: Annotated[
        str | None, typer.Option(metavar="GB", help="Fourth state: destroy, keep these GB.")
    ] = None,
    keep_data_price: Annotated[
        str | None, typer.Option(metavar="USD_PER_GB_MONTH", help="Price of keeping them.")
    ] = None,
    keep_data_setup: Annotated[
        str | None, typer.Option(metavar="DURATION", help="From nothing to working with them.")
    ] = None,
    run: Annotated[
        list[str] | None,
        typer.Option(metavar="DIR", help="Is it idle? Look at this run folder (repeatable)."),
    ] = None,
    ssh: Annotated[
        str | None, typer.Option(metavar="HOST:DIR", help="The same on another machine.")
    ] = None,
    watch: Annotated[
        bool, typer.Option("--watch", help="Keep looking, say what changes, until it is gone.")
    ] = False,
    window: Annotated[
        str | None,
        typer.Option(
            metavar="DURATION|off",
            help="Quiet for this long is idle; about 20m unless given. off: nothing is ever due.",
        ),
    ] = None,
    notify: Annotated[
        str | None,
        typer.Option(metavar="CMD", help="With --watch: run when something is due; {message}."),
    ] = None,
    cap: Annotated[
        str | None,
        typer.Option(metavar="USD", help="With --watch: stop when it has cost this."),
    ] = None,
    act: Annotated[
        list[str] | None,
        typer.Option(metavar="stop|destroy", help="Print the command, or run it with a yes."),
    ] = None,
    id: Annotated[str | None, typer.Option("--id", metavar="ID", help="The box to act on.")] = None,
    yes_stop: Annotated[
        str | None, typer.Option(metavar="ID", help="The same id again: stop it.")
    ] = None,
    yes_destroy: Annotated[
        str | None, typer.Option(metavar="ID", help="The same id again: destroy it.")
    ] = None,
    stop_cmd: Annotated[
        str | None, typer.Option(metavar="CMD", help="Stops {id}; run without a shell.")
    ] = None,
    destroy_cmd: Annotated[str | None, typer.Option(metavar="CMD", help="Destroys {id}.")] = None,
    state_cmd: Annotated[
        str | None, typer.Option(metavar="CMD", help="Prints running, stopped or gone for {id}.")
    ] = None,
    copy: Annotated[
        str | None,
        typer.Option(metavar="MANIFEST", help="Of `idle copy make`: a destroy needs a copy."),
    ] = None,
    copied_to: Annotated[
        str | None, typer.Option(metavar="DIR|LISTING", help="Where the copy is.")
    ] = None,
    leave_behind: Annotated[
        bool, typer.Option("--leave-behind", help="What is named as not copied may go.")
    ] = False,
    before: Annotated[
        str | None, typer.Option(metavar="CMD", help="Run before acting; its failure blocks.")
    ] = None,
    after: Annotated[str | None, typer.Option(metavar="CMD", help="Run after acting.")] = None,
    hook_timeout: Annotated[
        str | None, typer.Option(metavar="DURATION", help="For --before and --after; 10m.")
    ] = None,
    confirm_within: Annotated[
        str | None, typer.Option(metavar="DURATION", help="Read the state for so long; 4m.")
    ] = None,
    plot: Annotated[bool, typer.Option("--plot", help="Draw cost against hours away.")] = False,
    exit_code: Annotated[
        bool,
        typer.Option("--exit-code", help="Exit 10 for stop, 11 destroy or keep data, 12 keep."),
    ] = False,
    format_: Annotated[
        Format, typer.Option("--format", "-f", help="table or json.")
    ] = Format.table,
    pricing: Annotated[
        Path | None,
        typer.Option(metavar="DIR", envvar="COSTPLAN_PRICING", help="Another price folder."),
    ] = None,
) -> None:
    """Keep, stop or destroy an idle box: in money, with the borders and what would move them."""
    if context.invoked_subcommand is not None:
        return
    words = dict(locals())
    from costplan.cli.idle_answer import answer

    code = answer(words)
    if code:
        raise typer.Exit(code)
