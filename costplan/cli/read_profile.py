"""Verdicts from files: a torch.profiler trace, the profile of another tool, or one of our own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from costplan.box import strictjson
from costplan.profilefile import Saved, is_ours, saved
from costplan.profiler.parts import shares
from costplan.profiler.traced import measured, trace_verdict
from costplan.profiler.tracing import foreign_verdict, trace_facts
from costplan.profiler.worth import worth
from costplan.records.profiles import Shares
from costplan.render.profile_documents import profile_json, verdict_json
from costplan.render.profiles import profile_text, verdict_text

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from costplan.profiler.worth import Rate
    from costplan.records.jobs import Job


class Told(NamedTuple):
    """An answer, as text and as JSON, and what is said beside it."""

    text: str
    body: str
    notices: tuple[str, ...]


def told(
    found: Saved, *, rate: Rate | None, job: Job | None, asked: Mapping[str, Any], explain: bool
) -> Told:
    """Return a saved profile in words; of a verdict alone, that it has no steps."""
    if found.profile is not None:
        value = worth(found.profile, rate=rate, job=job)
        return Told(
            profile_text(found.profile, value, explain=explain),
            profile_json(found.profile, value, asked=asked),
            (*found.profile.notices, *value.notices),
        )
    facts = None if found.trace is None else found.trace.model_dump()
    lacks = ("no steps were timed in it: hours and dollars of an epoch or a job, and what changes "
             "would save of them, are not known",)  # fmt: skip
    return Told(
        verdict_text(found.verdict, explain=explain),
        verdict_json(found.verdict, found.shares, asked=asked, trace=facts),
        lacks if rate is not None or job is not None else (),
    )


def read(trace: Path | None, other: Path | None) -> Saved:
    """Return what a file says: a trace, or the profile of another tool or of our own.

    Raises:
        InputError: The file cannot be read as what it shall be.
    """
    if trace is not None:
        facts = trace_facts(trace)
        verdict = trace_verdict(facts)
        return Saved(verdict, shares(measured(facts), verdict.word), None, facts)
    assert other is not None
    found = strictjson.parse(strictjson.read_text(other), where=str(other))
    if is_ours(found):
        return saved(found, where=str(other))
    return Saved(foreign_verdict(other), Shares(), None)
