"""Reads what `costplan profile -o` has written."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from costplan import yamlfile
from costplan.box import strictjson
from costplan.errors import InputError
from costplan.records.profiles import PROFILE_SCHEMA, Profile, Shares, WhatIf
from costplan.records.traces import TraceFacts
from costplan.records.verdicts import Verdict

if TYPE_CHECKING:
    from pathlib import Path


class Saved(NamedTuple):
    """What a file holds."""

    verdict: Verdict
    shares: Shares
    profile: Profile | None
    """None where no steps were timed: it was made from a file of another tool."""
    trace: TraceFacts | None = None


def read_profile(path: Path) -> Saved:
    """Return the profile that costplan wrote to `path`.

    Raises:
        InputError: The file cannot be read, is damaged, or is no profile of this version.
    """
    found = strictjson.parse(strictjson.read_text(path), where=str(path))
    if not is_ours(found):
        raise InputError(
            f"{path} is no profile of costplan", hint="costplan profile -o FILE writes one"
        )
    return saved(found, where=str(path))


def is_ours(found: object) -> bool:
    """Return whether parsed JSON is a profile that costplan wrote, of whatever version."""
    return isinstance(found, dict) and str(found.get("schema")).startswith("costplan.profile/")


def saved(found: dict[str, object], *, where: str) -> Saved:
    """Return what a profile of ours says; what was worked out from it is left aside.

    Raises:
        InputError: It is of another version, or damaged.
    """
    if found["schema"] != PROFILE_SCHEMA:
        raise InputError(
            f"{where} is {str(found['schema'])[:80]}, this costplan reads {PROFILE_SCHEMA}",
            hint="write it anew with this version",
        )
    verdict = yamlfile.build(Verdict, found.get("details"), where=f"{where}: details")
    if "step_s" not in found:
        raise InputError(f"{where}: 'step_s' is missing", hint="it may be damaged: write it anew")
    if found["step_s"] is None:
        shares = yamlfile.build(Shares, found.get("shares"), where=f"{where}: shares")
        trace = found.get("trace")
        facts = yamlfile.build(TraceFacts, trace, where=f"{where}: trace") if trace else None
        return Saved(verdict, shares, None, facts)
    fields = {key: found[key] for key in Profile.model_fields if key in found}
    changes = found.get("what_if")
    if isinstance(changes, list):
        fields["what_if"] = [_change(each) for each in changes]
    # Its own `verdict` is the word alone, and `details` is all of it.
    fields["verdict"] = found.get("details")
    profile = yamlfile.build(Profile, fields, where=where)
    if found.get("verdict") != verdict.word:
        raise InputError(f"{where}: the verdict {str(found.get('verdict'))[:40]!r} is not that of "
                         "its details")  # fmt: skip
    return Saved(profile.verdict, profile.shares, profile)


def _change(row: object) -> object:
    """Return a change without its worth, which depends on rate and job."""
    if not isinstance(row, dict):
        return row
    return {key: value for key, value in row.items() if key in WhatIf.model_fields}
