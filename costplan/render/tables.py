"""Estimates as tables on a terminal; the only owner of rich."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Final

from rich.console import Console
from rich.table import Table
from rich.text import Text

from costplan.render.figures import (
    age,
    hours_range,
    price,
    quantity,
    usd,
    usd_range,
    visible,
)

if TYPE_CHECKING:
    from decimal import Decimal

    from costplan.records.results import Estimate, Notice, Result

WIDER_THAN_ANY: Final = 100_000
"""Columns: a number that is cut is a wrong number."""


def console(*, terminal: bool) -> Console:
    """Return a console that writes into memory, with colour for a terminal.

    It is wider than any line, so that no number is cut: a terminal wraps what it cannot show.
    """
    return Console(
        file=io.StringIO(),
        force_terminal=terminal or None,
        width=WIDER_THAN_ANY,
        highlight=False,
        soft_wrap=True,
    )


def _text(text: str, style: str = "") -> Text:
    """Return text from anywhere as what can be shown: no markup, no terminal commands."""
    return Text(visible(text), style=style)


def _written(out: Console) -> str:
    text = out.file
    return text.getvalue() if isinstance(text, io.StringIO) else ""


def estimate_text(estimate: Estimate, *, explain: bool, terminal: bool) -> str:
    """Return the ranked table, or with `explain` every line of the results in it."""
    out = console(terminal=terminal)
    if explain:
        for result in estimate.results:
            _explain(out, estimate, result)
        return _written(out)
    out.print(_ranked(estimate))
    for text in _below(estimate):
        out.print(_text(text))
    return _written(out)


def _below(estimate: Estimate) -> list[str]:
    """Return the lines under a table: its marks, what it leaves to other flags."""
    marks = []
    if any(result.unbeaten for result in estimate.results):
        marks.append("* nobody is both cheaper and sooner")
    if any(result.at_least for result in estimate.results):
        marks.append(">= at least: a meter has no stated price")
    lines = ["; ".join(marks)] if marks else []
    shown = len(estimate.results)
    if shown < estimate.offers_total:
        lines.append(f"{shown} of {estimate.offers_total} offers; --limit 0 for all")
    first = estimate.results[0]
    lines.append(_disk(estimate, first.disk_gb))
    if estimate.assumed:
        names = ", ".join(text.split(":", 1)[0] for text in estimate.assumed)
        lines.append(f"assumed: {names}")
    lines.append(f"every line of one of them, and the reasons: --explain {first.sku}")
    return lines


def notices_text(found: tuple[Notice, ...], *, terminal: bool) -> str:
    """Return each notice once."""
    out = console(terminal=terminal)
    for notice in found:
        out.print(_text(f"note: {notice.text}", style="yellow"))
        if notice.what_to_do:
            out.print(_text(f"hint: {notice.what_to_do}"))
    return _written(out)


def _table(*headers: tuple[str, bool]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name, right in headers:
        table.add_column(name, justify="right" if right else "left", no_wrap=True)
    return table


def _ranked(estimate: Estimate) -> Table:
    table = _table(
        ("offer", False),
        ("region", False),
        ("sold as", False),
        ("hours", True),
        ("$/h", True),
        ("total $ low - expected - high", True),
        ("limited by", False),
        ("checked", False),
    )
    for result in estimate.results:
        total = result.total_usd
        span = usd_range(total.low, total.expected, total.high)
        table.add_row(
            _text(f"{result.sku} *" if result.unbeaten else result.sku),
            _text(_where(result)),
            result.pricing,
            hours_range(result.hours.low, result.hours.expected, result.hours.high),
            usd(result.usd_per_hour),
            _text(f">= {span}" if result.at_least else span, style="bold"),
            result.limited_by,
            age(result.age_days, result.date_precision),
        )
    return table


def _where(result: Result) -> str:
    """Return region, vCPUs and reliability, as far as the offer states them."""
    parts = [result.region or ("-" if result.reliability is None else "")]
    if result.reliability is not None:
        parts += [f"{result.vcpus:g} vCPU"] if result.vcpus else []
        parts.append(f"{result.reliability:.1%}")
    return ", ".join(part for part in parts if part)


def _explain(out: Console, estimate: Estimate, result: Result) -> None:
    out.print(_text(f"{result.sku} ({result.pricing})", style="bold"))
    table = _table(
        ("line", False),
        ("quantity", True),
        ("unit", False),
        ("$ per unit", True),
        ("$", True),
        ("$ low - high", True),
        ("source", False),
        ("as of", False),
    )
    for line in result.lines:
        # Of what rounding adds, the high case can have less than the low one.
        costs = sorted((line.cost_low_usd, line.cost_usd, line.cost_high_usd))
        table.add_row(
            _text(line.name),
            quantity(line.quantity),
            line.unit,
            price(line.unit_price_usd),
            f"{line.cost_usd:.4f}",
            f"{costs[0]:.4f} - {costs[-1]:.4f}",
            _text(line.source),
            line.as_of.isoformat() if line.as_of else "-",
        )
    total = result.total_usd
    table.add_row(
        "total", "", "", "", f"{total.expected:.4f}", f"{total.low:.4f} - {total.high:.4f}",
        style="bold",
    )  # fmt: skip
    out.print(table)
    for text in _facts(estimate, result):
        out.print(_text(text))
    _assumptions(out, estimate)
    if result.rent_command:
        out.print(_text(result.rent_command))


def _facts(estimate: Estimate, result: Result) -> list[str]:
    facts = [
        f"hours until the result is uploaded: "
        f"{hours_range(result.hours.low, result.hours.expected, result.hours.high)}, "
        f"limited by: {result.limited_by}",
    ]
    if any(line.part == "storage" for line in result.lines):
        facts.append(_disk(estimate, result.disk_gb))
    if result.stopped_usd_per_hour is not None:
        more = [f"{kind.replace('_', ' ')} (no stated price)" for kind in result.stopped_unpriced]
        rate = f"${usd(result.stopped_usd_per_hour)}/h"
        facts.append(f"stopped: {' and '.join([rate, *more])}")
    if result.survivors:
        left = ", ".join(name.replace("_", " ") for name in result.survivors)
        facts.append(f"a destroy can leave behind, billing on: {left}")
    if result.timeout_s is not None and result.hung_usd is not None:
        facts.append(
            f"set timeout={result.timeout_s} ({result.timeout_s / 3600:.2f} h, expected x 1.5): "
            f"a run that hangs until then bills ${usd(result.hung_usd)}"
        )
    else:
        facts.append(
            f"if nobody stops it: a night (14.5 h) ${usd(result.night_usd)}, "
            f"a weekend (63 h) ${usd(result.weekend_usd)}"
        )
    if result.checkpoint_interval_s is not None:
        facts.append(
            f"checkpoint every {result.checkpoint_interval_s / 60:.1f} min (Young/Daly); "
            f"{result.interruptions:.2f} interruptions expected"
        )
    if result.balance is not None:
        facts.append(f"balance {result.balance}")
    shape = [f"{result.vcpus:g} vCPU"] if result.vcpus else []
    shape += [f"{result.ram_gb:g} GB RAM"] if result.ram_gb else []
    shape += [f"reliability {result.reliability:.1%}"] if result.reliability is not None else []
    if shape:
        facts.append("machine: " + ", ".join(shape))
    return facts


def _disk(estimate: Estimate, disk_gb: Decimal) -> str:
    parts = " + ".join(f"{part.name} {part.gb:g}" for part in estimate.disk_parts)
    size = f"disk {disk_gb.normalize():f} GB"
    why = "as given" if estimate.disk_given else f"({parts}) + {estimate.disk_headroom:.0%}"
    return f"{size} = {why}; billed as allocated from the first minute, cannot be shrunk later"


def _assumptions(out: Console, estimate: Estimate) -> None:
    if estimate.assumed:
        out.print(_text("assumed (half to double, unless it says otherwise): "))
        for text in estimate.assumed:
            out.print(_text(f"  {text}"))
