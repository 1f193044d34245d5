"""A profile for programs: one JSON object, nothing rounded, what is not known null."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from costplan import __version__
from costplan.records.profiles import PROFILE_SCHEMA

if TYPE_CHECKING:
    from collections.abc import Mapping

    from costplan.records.profiles import Profile, Shares
    from costplan.records.verdicts import Verdict
    from costplan.records.worth import Worth


def profile_json(profile: Profile, worth: Worth, *, asked: Mapping[str, Any]) -> str:
    """Return one JSON object and a line end; a change of `what_if` has its worth beside it."""
    measured = profile.model_dump(exclude={"verdict"})
    told = worth.model_dump()
    changes = told.pop("changes")
    measured["what_if"] = [
        {**change, **each} for change, each in zip(measured["what_if"], changes, strict=True)
    ]
    best = told.pop("best")
    told["best"] = None if best is None else best["change"]
    return _written(asked, profile.verdict, {**measured, "worth": told})


def verdict_json(
    verdict: Verdict, shares: Shares, *, asked: Mapping[str, Any], trace: Mapping[str, Any] | None
) -> str:
    """Return the same object of a verdict without step times: what is not known is null."""
    unknown = dict.fromkeys((
        "step_s", "samples_per_s", "tokens_per_s", "epoch_s", "box", "batch", "peak_memory_gb",
        "program_exit_code",
    ))  # fmt: skip
    body: dict[str, Any] = {"shares": shares.model_dump(), **unknown, "what_if": [], "bursts": [],
            "trace": trace, "notices": []}  # fmt: skip
    return _written(asked, verdict, body)


def _written(asked: Mapping[str, Any], verdict: Verdict, body: Mapping[str, Any]) -> str:
    whole = {
        "schema": PROFILE_SCHEMA,
        "costplan": __version__,
        "currency": "USD",
        "asked": dict(asked),
        "verdict": verdict.word,
        "confidence": verdict.confidence,
        "why": verdict.why,
        "cause": verdict.cause,
        **body,
        "details": verdict.model_dump(),
    }
    return json.dumps(whole, indent=2, default=_plain, ensure_ascii=False) + "\n"


def _plain(value: object) -> object:
    return float(value) if isinstance(value, Decimal) else str(value)
