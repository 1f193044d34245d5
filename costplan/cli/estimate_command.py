"""`costplan estimate`: what a job costs on every offer."""

import sys
from enum import Enum
from pathlib import Path
from typing import Annotated, Final

import typer

from costplan.cli.streams import is_terminal, talk, write

EXAMPLES: Final = """Examples:

costplan estimate examples/ssd-coco.yaml --gpu RTX-4090 --max-hours 24

costplan estimate --set samples=50000 --set epochs=90
--set 'throughput={card: RTX-4090, samples_per_s: 1200}' --limit 3
"""


class Format(str, Enum):
    """How the answer is written."""

    table = "table"
    json = "json"
    csv = "csv"


class Sort(str, Enum):
    """What the offers are sorted by."""

    total = "total"
    hours = "hours"


def estimate(
    job: Annotated[
        str | None, typer.Argument(metavar="[JOB.yaml|-]", help="Job file; - is standard input.")
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="A field of the job; wins over the file."),
    ] = None,
    gpu: Annotated[
        list[str] | None,
        typer.Option(metavar="CARD", help="Only this card (repeatable), under any of its names."),
    ] = None,
    count: Annotated[
        int | None, typer.Option(metavar="N", min=1, max=1024, help="Only offers of N GPUs.")
    ] = None,
    provider: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Only this provider (repeatable).")
    ] = None,
    spot: Annotated[
        bool | None, typer.Option("--spot/--no-spot", help="Only interruptible offers, or none.")
    ] = None,
    max_hours: Annotated[
        float | None, typer.Option(metavar="HOURS", help="Leave out what takes longer.")
    ] = None,
    max_usd: Annotated[
        str | None, typer.Option(metavar="USD", help="Leave out what costs more.")
    ] = None,
    balance: Annotated[
        str | None,
        typer.Option(
            metavar="USD", help="Credit: leave out what it cannot finish; say when it ends."
        ),
    ] = None,
    disk: Annotated[
        str | None, typer.Option(metavar="GB", help="Disk to rent, instead of the computed one.")
    ] = None,
    rate: Annotated[
        str | None,
        typer.Option(
            metavar="USD_PER_HOUR",
            help="An offer you see now: with --gpu, --count and the next three, ranked as `seen`.",
        ),
    ] = None,
    storage_price: Annotated[
        str | None, typer.Option(metavar="USD_PER_GB_MONTH", help="Its disk price.")
    ] = None,
    ingress_price: Annotated[
        str | None, typer.Option(metavar="USD_PER_GB", help="Its download price.")
    ] = None,
    quoted_disk: Annotated[
        str | None, typer.Option(metavar="GB", help="Disk that --rate already contains.")
    ] = None,
    offers: Annotated[
        str | None,
        typer.Option(
            metavar="FILE|-",
            help="Rank these instead of the price folder: JSON Lines, or what "
            "`vastai search offers ... --raw` prints.",
        ),
    ] = None,
    profile: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="What `costplan profile -o` wrote: its throughput wins."),
    ] = None,
    on: Annotated[
        str | None, typer.Option(metavar="YYYY-MM-DD", help="Prices of this day. Default: today.")
    ] = None,
    sort: Annotated[Sort, typer.Option(help="Cheapest or soonest first.")] = Sort.total,
    limit: Annotated[int, typer.Option(metavar="N", min=0, help="Rows shown; 0 for all.")] = 10,
    strict: Annotated[
        bool, typer.Option("--strict", help="Leave out totals that are only `at least`.")
    ] = False,
    explain: Annotated[
        str | None, typer.Option(metavar="SKU", help="Show every line of one offer.")
    ] = None,
    format_: Annotated[
        Format, typer.Option("--format", "-f", help="How to write the answer.")
    ] = Format.table,
    pricing: Annotated[
        Path | None,
        typer.Option(metavar="DIR", envvar="COSTPLAN_PRICING", help="Another price folder."),
    ] = None,
) -> None:
    """Rank what a job costs on every offer: all of it, per job, with a range."""
    from costplan.cli.asked import Asked, estimated

    asked = Asked(
        job=job,
        settings=tuple(settings or ()),
        gpus=tuple(gpu or ()),
        gpu_count=count,
        providers=tuple(provider or ()),
        spot=spot,
        max_hours=max_hours,
        max_usd=max_usd,
        balance_usd=balance,
        disk_gb=disk,
        rate_usd_per_hour=rate,
        storage_usd_per_gb_month=storage_price,
        ingress_usd_per_gb=ingress_price,
        quoted_disk_gb=quoted_disk,
        offers=offers,
        profile=profile,
        on=on,
        sort=sort.value,
        limit=limit,
        strict=strict,
        explain=explain,
        pricing=pricing,
    )
    answer = estimated(asked)
    if format_ is Format.table:
        from costplan.render.tables import estimate_text, notices_text

        terminal = is_terminal(sys.stdout)
        write(estimate_text(answer, explain=explain is not None, terminal=terminal))
        talk(notices_text(answer.notices, terminal=is_terminal(sys.stderr)))
        return
    from costplan.render.documents import estimate_csv, estimate_json

    if format_ is Format.json:
        write(estimate_json(answer, asked.echoed()))
    else:
        from costplan.render.tables import notices_text

        write(estimate_csv(answer))
        talk(notices_text(answer.notices, terminal=is_terminal(sys.stderr)))
