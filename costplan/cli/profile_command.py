"""`costplan profile`: why is a training command slow, and what would a change buy?"""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from costplan.cli.copy_command import Format
from costplan.cli.streams import is_terminal, talk, write
from costplan.errors import InputError, LimitError

if TYPE_CHECKING:
    from costplan.records.ranks import RankTaken

EXAMPLES: Final = """Examples:

costplan profile -- python train.py --epochs 90

costplan profile --trace trace.json.gz
"""


def profile(
    command: Annotated[
        list[str] | None,
        typer.Argument(metavar="COMMAND...", help="The training command, after --."),
    ] = None,
    budget: Annotated[
        str, typer.Option(metavar="SECONDS", help="For the bursts, from the first step on.")
    ] = "120",
    allow_writes: Annotated[
        bool, typer.Option("--allow-writes", help="Let it write over your checkpoints.")
    ] = False,
    keep_going: Annotated[
        bool, typer.Option("--keep-going", help="Measure only, and let it train on.")
    ] = False,
    trace: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A torch.profiler trace instead.")
    ] = None,
    from_: Annotated[
        Path | None,
        typer.Option("--from", metavar="FILE", help="A LibreYOLO profile instead."),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="Write the JSON here too."),
    ] = None,
    format_: Annotated[
        Format, typer.Option("--format", "-f", help="table or json.")
    ] = Format.table,
) -> None:
    """Why is it slow? Bursts of the unmodified training command, and what a change would buy."""
    if sum(bool(each) for each in (command, trace, from_)) != 1:
        raise InputError("give a command after --, or --trace FILE, or --from FILE")
    if trace is not None or from_ is not None:
        from costplan.cli.read_profile import told

        write(told(trace, from_, as_json=format_ is Format.json))
        return
    assert command is not None
    from costplan.box import measure
    from costplan.cli.absence_asked import duration_s
    from costplan.profiler import spared
    from costplan.profiler.answering import profile_of
    from costplan.profiler.launch import run
    from costplan.profiler.parts import Here
    from costplan.render.profiles import profile_json, profile_text

    seconds = budget if not budget.replace(".", "", 1).isdigit() else f"{budget}s"
    budget_s = duration_s(seconds, "--budget")
    if budget_s <= 0:
        raise InputError(f"--budget {budget}: not a time above zero", hint="write 120 or 2m")
    ran = run(
        command, budget_s=budget_s, allow_writes=allow_writes, keep_going=keep_going,
        tell=_progress(is_terminal(sys.stderr)),
    )  # fmt: skip
    if ran.refused is not None:
        raise LimitError(
            f"the run was ended: it would have changed {ran.refused.get('path')}",
            hint="--allow-writes lets it; nothing of yours was changed",
        )
    made = spared.outermost(ran.spared.new)
    found = profile_of(
        ran.ranks, code=ran.code, spent_s=ran.spent_s, redirected=ran.spared.redirected, made=made,
        here=Here(measure.cores(), measure.memory(), measure.cpu_model()),
    )  # fmt: skip
    text = profile_json(found, asked={"command": command, "budget_s": budget_s})
    if output is not None:
        output.write_text(text, encoding="utf-8")
    write(text if format_ is Format.json else profile_text(found))
    talk("".join(f"note: {notice}\n" for notice in found.notices))
    talk("".join(f"note: the run left {path}: its weights are worthless\n" for path in made))


def _progress(shown: bool) -> "Callable[[RankTaken], None]":
    """Return what shows how far the bursts are, where somebody watches."""
    told = 0

    def tell(rank: "RankTaken") -> None:
        nonlocal told
        if not shown or len(rank.phases) <= told:
            return
        told = len(rank.phases)
        phase = rank.phases[-1]
        mean = f"{1000 * sum(phase.steps_s) / len(phase.steps_s):.3g} ms" if phase.steps_s else "-"
        talk(f"{phase.name}: {len(phase.steps_s)} steps, {mean}\n")

    return tell
