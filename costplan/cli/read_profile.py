"""Verdicts from files: a torch.profiler trace, or the profile of another tool."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from costplan import __version__
from costplan.profiler.traced import trace_verdict
from costplan.profiler.tracing import foreign_verdict, trace_facts
from costplan.render.profiles import PROFILE_SCHEMA, verdict_lines

if TYPE_CHECKING:
    from pathlib import Path


def told(trace: Path | None, other: Path | None, *, as_json: bool) -> str:
    """Return the verdict of a file, as text or as one JSON object.

    Raises:
        InputError: The file cannot be read as what it shall be.
    """
    facts = None
    if trace is not None:
        facts = trace_facts(trace)
        verdict = trace_verdict(facts)
    else:
        assert other is not None
        verdict = foreign_verdict(other)
    if not as_json:
        return "".join(f"{line}\n" for line in verdict_lines(verdict))
    body: dict[str, object] = {
        "schema": PROFILE_SCHEMA,
        "costplan": __version__,
        "asked": {"trace": None if trace is None else str(trace),
                  "from": None if other is None else str(other)},
        "verdict": verdict.word,
        "confidence": verdict.confidence,
        "why": verdict.why,
        "cause": verdict.cause,
        "details": verdict.model_dump(),
        "trace": None if facts is None else facts.model_dump(),
        "notices": [],
    }  # fmt: skip
    return json.dumps(body, indent=2, ensure_ascii=False) + "\n"
