"""`costplan idle away` and `costplan idle back`: what the advice learns from."""

from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer

from costplan.cli.streams import write
from costplan.errors import CostplanError, InputError


def away(
    box: Annotated[str, typer.Argument(metavar="ID", help="The box you leave.")],
) -> None:
    """Record that you leave a box, so that the plan learns when you come back."""
    from datetime import timezone

    from costplan.ledger import open_ledger

    now = datetime.now(tz=timezone.utc)
    with open_ledger() as ledger:
        ledger.leave(box, now)
    write(f"left {box} at {now.astimezone():%a %Y-%m-%d %H:%M}\n")


def back(
    box: Annotated[str, typer.Argument(metavar="ID", help="The box you come back to.")],
    failed: Annotated[
        bool, typer.Option("--failed", help="It did not start again: its GPU is gone.")
    ] = False,
    kept: Annotated[
        bool, typer.Option("--kept", help="It was never stopped: no restart to count.")
    ] = False,
    provider: Annotated[
        str | None, typer.Option(metavar="NAME", help="Whose restarts this counts for.")
    ] = None,
    saved: Annotated[
        Path | None,
        typer.Option("--box", metavar="FILE", help="Prices, for the border from now on."),
    ] = None,
) -> None:
    """Record that you are back, and whether the box started again."""
    from datetime import timezone

    from costplan.ledger import open_ledger

    if failed and kept:
        raise InputError("--failed and --kept: a box that was never stopped has not failed")
    provider = _provider(box, provider)
    now = datetime.now(tz=timezone.utc)
    with open_ledger() as ledger:
        ledger.back(box, now, failed=failed, provider=provider, restarted=not kept)
        tries = ledger.restarts(provider)
    whose = f" at {provider}" if provider else ", but for no provider: name it with --provider"
    # Beta posterior with a flat prior: (1 + failures) / (2 + attempts).
    gone = (1 + tries.failures) / (2 + tries.attempts)
    write(
        f"back at {box}; {tries.failures} of {tries.attempts} restarts failed, "
        f"so the chance that a GPU is gone is taken as {gone:.0%}{whose}\n"
    )
    if failed:
        write(
            "copy from the stopped disk if the provider lets you (a start without GPU, a web "
            "page, another machine on its volume), then rebuild at today's price; the stopped "
            "box bills on until it is destroyed\n"
        )
    if saved is not None:
        write(_border(saved, now.astimezone()))


def _border(saved: Path, now: datetime) -> str:
    """Return up to where a stop pays from now on, with the restarts that are recorded."""
    from costplan.cli.idle_asked import IdleAsked, advised
    from costplan.render.clocks import span

    advice = advised(IdleAsked(box=str(saved)), now=now).advice
    stops = {option.action for option in advice.options if option.undo} - {"keep"}
    if not stops & {step.action for step in advice.plan}:
        return "from now on a stop of this box pays at no length of absence: destroy or keep it\n"
    until = (
        "for ever" if advice.destroy_after_h is None else f"up to {span(advice.destroy_after_h)}"
    )
    return f"from now on a stop of this box pays {until} away\n"


def _provider(box: str, named: str | None) -> str | None:
    """Return whose restarts count: the provider that was named, or the one before the id's colon.

    Raises:
        InputError: Nobody knows the provider that was named.
    """
    from costplan import catalog

    first, colon, _ = box.partition(":")
    if named is None and not colon:
        return None
    known = catalog.load(catalog.folder())
    if named is not None:
        return known.provider_key(named)
    try:
        return known.provider_key(first)
    except CostplanError:
        return None  # a colon of another meaning
