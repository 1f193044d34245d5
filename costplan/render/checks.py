"""A checked box as text and JSON: the verdict, then a line for each thing looked at."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

from costplan import __version__
from costplan.render.figures import visible

if TYPE_CHECKING:
    from collections.abc import Mapping

    from costplan.records.checks import Checked, CheckLine, Level

# /1 2026-12: first form.
CHECK_SCHEMA: Final = "costplan.check/1"
MARKS: Final[dict[Level, str]] = {"fail": "fail", "warn": "warn", "unknown": "?", "ok": "ok"}
"""Worst first, as the lines are sorted."""


def checked_text(answer: Checked) -> str:
    """Return the verdict and a line for each thing looked at, the worst first."""
    order = list(MARKS)
    lines = sorted(answer.lines, key=lambda line: order.index(line.level))
    width = max((len(line.name) for line in lines), default=0)
    rows = [row for line in lines for row in _rows(line, width)]
    return "".join(f"{row}\n" for row in [visible(answer.says), *rows])


def _rows(line: CheckLine, width: int) -> list[str]:
    head = f"{MARKS[line.level]:<4}  {line.name:<{width}}  "
    rows = [head + visible(line.says)]
    if line.todo is not None:
        rows.append(" " * len(head) + visible(f"-> {line.todo}"))
    return rows


def checked_json(answer: Checked, *, asked: Mapping[str, Any], facts: Mapping[str, Any]) -> str:
    """Return one JSON object: the verdict, the lines, and the figures that they rest on."""
    body = answer.model_dump()
    notices = list(body.pop("notices"))
    whole = {
        "schema": CHECK_SCHEMA,
        "costplan": __version__,
        "currency": "USD",
        "asked": dict(asked),
        **body,
        "facts": dict(facts),
        "notices": notices,
    }
    return json.dumps(whole, indent=2, default=_plain, ensure_ascii=False) + "\n"


def _plain(value: object) -> object:
    return float(value) if isinstance(value, Decimal) else str(value)
