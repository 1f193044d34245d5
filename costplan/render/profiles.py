"""A profile as text and JSON."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from costplan import __version__
from costplan.render.figures import visible

if TYPE_CHECKING:
    from collections.abc import Mapping

    from costplan.records.profiles import Profile, Range, WhatIf
    from costplan.records.verdicts import Verdict

# /1 2026-11: first form.
PROFILE_SCHEMA: Final = "costplan.profile/1"
WORDS: Final = {"host": "host/launch"}
MS_PER_S: Final = 1_000


def profile_text(profile: Profile) -> str:
    """Return the verdict first, then what it rests on and what each change would buy."""
    lines = [*verdict_lines(profile.verdict), f"  step {_ms(profile.step_s)}{_rates(profile)}"]
    if profile.epoch_s is not None:
        lines.append(f"  an epoch of steps takes {profile.epoch_s.expected:,.1f} s")
    lines += [_changed(profile, each) for each in profile.what_if]
    lines.append(
        f"  on {profile.device}, batch {profile.batch or '?'}, {profile.workers} workers, "
        f"accumulation {profile.accumulation}; profiled in {profile.spent_s:.0f} s, "
        f"{profile.startup_s:.0f} s of them to start"
    )
    lines += [f"  kept as it was: {path}" for path in profile.redirected]
    return "".join(visible(line) + "\n" for line in lines)


def verdict_lines(verdict: Verdict) -> list[str]:
    """Return a verdict: its word first, then the evidence, the advice and what is not known."""
    word = WORDS.get(verdict.word, verdict.word).upper()
    parts = (
        f" ({' then '.join(WORDS.get(part, part) for part in verdict.parts)})"
        if verdict.parts
        else ""
    )
    lines = [f"{word}{parts}, {verdict.confidence} confidence: {verdict.why}"]
    if verdict.cause:
        lines.append(f"  cause: {verdict.cause}")
    lines += [f"  {each.name}: {each.value}" for each in verdict.evidence]
    lines += [f"  advice: {each.text} ({each.gain_share:.0%} of the step, {each.basis})"
              for each in verdict.advice]  # fmt: skip
    lines += [f"  not advised: {text}" for text in verdict.not_advised]
    lines += [f"  not known: {text}" for text in verdict.unknown]
    return lines


def _ms(step: Range) -> str:
    high = "?" if step.high is None else f"{step.high * MS_PER_S:.3g}"
    return f"{(step.low or 0) * MS_PER_S:.3g} - {step.expected * MS_PER_S:.3g} - {high} ms"


def _rates(profile: Profile) -> str:
    text = ""
    if profile.samples_per_s is not None:
        text += f", {profile.samples_per_s.expected:,.1f} samples/s"
    if profile.tokens_per_s is not None:
        text += f", {profile.tokens_per_s.expected:,.0f} tokens/s"
    return text


def _changed(profile: Profile, change: WhatIf) -> str:
    """Return what a change would buy, by how much faster a step is then."""
    faster = profile.step_s.expected / change.step_s if change.step_s > 0 else float("inf")
    most = "at most " if change.basis == "bounded" else ""
    return f"  {change.change}: {change.step_s * MS_PER_S:.3g} ms, {most}{faster:.2f} times as fast"


def profile_json(profile: Profile, *, asked: Mapping[str, Any]) -> str:
    """Return one JSON object and a line end."""
    verdict = profile.verdict
    body = {
        "schema": PROFILE_SCHEMA,
        "costplan": __version__,
        "asked": dict(asked),
        **profile.model_dump(exclude={"verdict"}),
        "verdict": verdict.word,
        "confidence": verdict.confidence,
        "why": verdict.why,
        "cause": verdict.cause,
        "details": verdict.model_dump(),
    }
    return json.dumps(body, indent=2, ensure_ascii=False) + "\n"
