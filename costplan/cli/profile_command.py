"""`costplan profile`: why is a training command slow, and what would a change buy?"""

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from costplan.cli.copy_command import Format
from costplan.cli.streams import is_terminal, talk, write
from costplan.errors import InputError, LimitError

if TYPE_CHECKING:
    from costplan.cli.builtin_asked import Program
    from costplan.cli.read_profile import Told
    from costplan.profilefile import Saved
    from costplan.profiler.worth import Rate
    from costplan.records.ranks import RankTaken

AGAIN_S: Final = 10.0
"""After which a burst of the same kind is told again: they take turns every moment."""
EXAMPLES: Final = """Examples:

costplan profile --rate 0.41 --job job.yaml -o profile.json -- python train.py --epochs 90

costplan profile --builtin resnet50 --batch auto --precision bf16

costplan profile --from profile.json --rate 0.74 --explain
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
    kernels: Annotated[
        bool, typer.Option("--kernels", help="Trace a few steps too: what the GPU's time goes to.")
    ] = False,
    builtin: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="A model of ours instead: resnet18, resnet50, detector, gpt-mini or gpt2.",
        ),
    ] = None,
    batch: Annotated[
        str | None,
        typer.Option(metavar="N", help="Of a builtin; auto: the largest power of two that fits."),
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(metavar="N", help="Of a builtin; else its usable cores, at most 8."),
    ] = None,
    precision: Annotated[
        str | None, typer.Option(help="Of a builtin: fp32, tf32, amp or bf16.")
    ] = None,
    trace: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A torch.profiler trace instead.")
    ] = None,
    from_: Annotated[
        Path | None,
        typer.Option("--from", metavar="FILE", help="A saved profile, or one of LibreYOLO."),
    ] = None,
    rate: Annotated[
        str | None,
        typer.Option(metavar="USD_PER_HOUR", help="What the whole box costs: adds dollars."),
    ] = None,
    offer: Annotated[
        str | None,
        typer.Option(metavar="SKU", help="The offer that the box is, for its listed rate."),
    ] = None,
    job: Annotated[
        str | None,
        typer.Option(metavar="JOB.yaml", help="How much an epoch is, and how many there are."),
    ] = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="What it rests on, every change, what is not known.")
    ] = False,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="Write the JSON here too."),
    ] = None,
    format_: Annotated[
        Format, typer.Option("--format", "-f", help="table or json.")
    ] = Format.table,
    pricing: Annotated[
        Path | None,
        typer.Option(metavar="DIR", envvar="COSTPLAN_PRICING", help="Another price folder."),
    ] = None,
) -> None:
    """Why is it slow? Bursts of the unmodified training command, and what a change would buy."""
    if sum(bool(each) for each in (command, builtin, trace, from_)) != 1:
        raise InputError(
            "give a command after --, or --builtin NAME, or --trace FILE, or --from FILE"
        )
    if builtin and keep_going:
        raise InputError("--keep-going with --builtin: it would train without an end")
    if kernels and (keep_going or trace or from_):
        raise InputError(
            "--kernels with --keep-going, --trace or --from: it traces a burst of its own",
            hint="give it with a command that may be ended, or with --builtin",
        )
    from costplan.cli.builtin_asked import Options, check, program
    from costplan.cli.profile_asked import check_place, other_box, rate_of
    from costplan.cli.read_profile import read, told
    from costplan.jobfile import read_job

    options = Options(batch, workers, precision)
    check(builtin, options)
    usd_per_hour = rate_of(rate, offer, pricing)
    work = None if job is None else read_job(job)
    check_place(output)
    asked: dict[str, Any] = {"rate": rate, "offer": offer, "job": job}
    if trace is None and from_ is None:
        budget_s = _budget_s(budget)
        with program(command, builtin, options) as what:
            asked = {**what.asked, "budget_s": budget_s, "kernels": kernels, **asked}
            found = _ran(what, budget_s, usd_per_hour, allow_writes=allow_writes,
                         keep_going=keep_going, kernels=kernels)  # fmt: skip
    else:
        asked = {"trace": trace and str(trace), "from": from_ and str(from_), **asked}
        found = read(trace, from_)
    answer = told(found, rate=usd_per_hour, job=work, asked=asked, explain=explain)
    other = () if found.profile is None else other_box(offer, found.profile.box, pricing)
    _show(answer, output, as_json=format_ is Format.json)
    talk("".join(f"note: {notice}\n" for notice in (*answer.notices, *other)))


def _budget_s(text: str) -> float:
    from costplan.cli.absence_asked import duration_s

    seconds = text if not text.replace(".", "", 1).isdigit() else f"{text}s"
    budget_s = duration_s(seconds, "--budget")
    if budget_s <= 0:
        raise InputError(f"--budget {text}: not a time above zero", hint="write 120 or 2m")
    return budget_s


def _ran(
    what: "Program", budget_s: float, rate: "Rate | None", *, allow_writes: bool,
    keep_going: bool, kernels: bool,
) -> "Saved":  # fmt: skip
    """Return the profile of a command that is run for it."""
    from costplan.box import measure
    from costplan.profilefile import Saved
    from costplan.profiler import spared
    from costplan.profiler.answering import profile_of
    from costplan.profiler.launch import run
    from costplan.profiler.parts import Here

    ran = run(
        what.line, budget_s=budget_s, allow_writes=allow_writes, keep_going=keep_going,
        kernels=kernels, tell=progress(is_terminal(sys.stderr), rate),
    )  # fmt: skip
    if ran.refused is not None:
        raise LimitError(
            f"the run was ended: it would have changed {ran.refused.get('path')}",
            hint="--allow-writes lets it; nothing of yours was changed",
        )
    made = spared.outside(spared.outermost(ran.spared.new), what.folder)
    found = profile_of(
        ran.ranks, code=ran.code, spent_s=ran.spent_s, redirected=spared.kept(ran.spared),
        made=made,
        here=Here(measure.cores(), measure.memory(), measure.cpu_model()),
        seen=ran.seen,
    )  # fmt: skip
    talk("".join(f"note: the run left {path}: its weights are worthless\n" for path in made))
    return Saved(found.verdict, found.shares, found)


def _show(answer: "Told", output: Path | None, *, as_json: bool) -> None:
    """Write the answer, and the file; what cannot be kept in a file is shown all the same."""
    from costplan.cli.profile_asked import save

    try:
        if output is not None:
            save(output, answer.body)
    finally:
        write(answer.body if as_json else answer.text)


def progress(
    shown: bool, rate: "Rate | None" = None, *, clock: Callable[[], float] = time.monotonic
) -> "Callable[[RankTaken], None]":
    """Return what shows how far the bursts are and what they have cost, where somebody watches."""
    from costplan.usable import cost, usd

    began_s, told, last_s = clock(), 0, {}  # type: float, int, dict[str, float]

    def tell(rank: "RankTaken") -> None:
        nonlocal told
        if not shown or len(rank.phases) <= told:
            return
        told, spent_s = len(rank.phases), clock() - began_s
        name = rank.phases[-1].name
        if spent_s - last_s.get(name, -AGAIN_S) < AGAIN_S:
            return
        last_s[name] = spent_s
        steps_s = [step for each in rank.phases if each.name == name for step in each.steps_s]
        text = f"{name}: {len(steps_s)} steps"
        if steps_s:
            mean_s = sum(steps_s) / len(steps_s)
            text += f", {1000 * mean_s:.3g} ms"
        if steps_s and name == "real" and rank.facts.samples:
            text += f", {rank.facts.samples * max(1, rank.world) / mean_s:,.1f} samples/s"
        money = "" if rate is None else f", {usd(cost(rate.usd_per_hour, spent_s))}"
        talk(f"{text}; {spent_s:.0f} s{money} so far\n")

    return tell
