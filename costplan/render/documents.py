"""Answers for programs: JSON and CSV, unrounded, units in the keys."""

from __future__ import annotations

import csv
import io
import json
from datetime import date
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

from costplan import __version__

if TYPE_CHECKING:
    from collections.abc import Mapping

    from costplan.records.results import Estimate

# /1 2026-11: first form.
ESTIMATE_SCHEMA: Final = "costplan.estimate/1"

CSV_COLUMNS: Final = (
    "rank",
    "sku",
    "provider",
    "region",
    "pricing",
    "card",
    "count",
    "usd_per_hour",
    "hours_low",
    "hours_expected",
    "hours_high",
    "total_usd_low",
    "total_usd_expected",
    "total_usd_high",
    "at_least",
    "disk_gb",
    "limited_by",
    "checked",
    "age_days",
    "unbeaten",
)


def estimate_json(estimate: Estimate, asked: Mapping[str, Any]) -> str:
    """Return one JSON object and a line end; money as numbers, nothing rounded.

    Args:
        estimate: The answer.
        asked: What it depends on: job, price folder, flags.
    """
    body = estimate.model_dump()
    head = {
        "schema": ESTIMATE_SCHEMA,
        "costplan": __version__,
        "currency": "USD",
        "asked": dict(asked),
    }
    return json.dumps({**head, **body}, indent=2, default=_plain, ensure_ascii=False) + "\n"


def _plain(value: object) -> object:
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, date):
        return value.isoformat()
    return str(value)


def estimate_csv(estimate: Estimate) -> str:
    """Return one row an offer, with a header; unrounded."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(CSV_COLUMNS)
    for result in estimate.results:
        flat = result.model_dump()
        for name in ("hours", "total_usd"):
            for part, value in flat[name].items():
                flat[f"{name}_{part}"] = value
        writer.writerow(["" if flat[name] is None else _cell(flat[name]) for name in CSV_COLUMNS])
    return text.getvalue()


def _cell(value: object) -> object:
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:f}" if isinstance(value, Decimal) else value
