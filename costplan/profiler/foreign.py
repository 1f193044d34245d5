"""Verdicts from what other tools have measured: LibreYOLO's `profile.json`.

Its step and wait times are of ten steps with torch's profiler on. Its busy time adds kernels up,
so that two streams count twice, and leaves copies out: it is neither a most nor a least. Where
nothing was traced it writes zeros.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from costplan.errors import InputError
from costplan.profiler.events import number
from costplan.profiler.rules import judge
from costplan.records.verdicts import Finding, Measured, Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping

LIBREYOLO: Final = "libreyolo.profile.analysis/v1"
TOO_MUCH: Final = 1.05
"""Above it kernels have run side by side, or the device ran on after the step was measured."""

_NOT_IN_IT: Final = (
    "how exact the step time is: it is a mean of few steps, without its spread",
    "whether kernels ran side by side: their times are added up, and copies are left out",
    "when the device idles: how much of it falls into the wait for batches",
    "whether another batch size, more workers or another card would help",
)


def is_libreyolo(found: object) -> bool:
    """Return whether parsed JSON is a profile that LibreYOLO wrote."""
    return isinstance(found, dict) and str(found.get("schema", "")).startswith("libreyolo.profile")


def libreyolo_verdict(found: Mapping[str, object], *, where: str) -> Verdict:
    """Return what slows the training down that LibreYOLO has profiled.

    Raises:
        InputError: It is no profile of a training, or of another version.
    """
    if found.get("schema") != LIBREYOLO:
        said = str(found.get("schema"))[:80]
        raise InputError(f"{where} is no {LIBREYOLO}: it says {said}")
    if found.get("mode") == "inference":
        raise InputError(
            f"{where} is a profile of inference, which has no training steps",
            hint="libreyolo profile run writes one of training",
        )
    measured = libreyolo_measured(found)
    verdict = judge(measured, few_steps_ok=True)
    told = {
        "confidence": "low",
        "evidence": (*verdict.evidence, *its_own_word(found)),
        "unknown": (*verdict.unknown, *doubts(found), *_NOT_IN_IT),
    }
    return verdict.model_copy(update=told)


def libreyolo_measured(found: Mapping[str, object]) -> Measured:
    """Return what the profile says in the terms of the rules."""
    step_s = seconds(found, "step_ms")
    raw = busy_sum_share(found)
    told = {
        "step_s": step_s or None,
        "traced": True,
        "wait_s": seconds(found, "dataload_ms"),
        "busy_share": None if raw is None or raw > TOO_MUCH else min(raw, 1.0),
        "launches_per_step": traced_number(found, "launches_per_step"),
        "allocations_per_step": traced_number(found, "cuda_mallocs_per_step"),
    }
    return Measured.model_validate(told)


def seconds(found: Mapping[str, object], key: str) -> float | None:
    """Return a time that stands there in milliseconds, or None."""
    value_ms = number(found.get(key))
    return None if value_ms is None or value_ms < 0 else value_ms / 1e3


def traced_number(found: Mapping[str, object], key: str) -> float | None:
    """Return a figure of the device; None where no kernel was traced, and it stands as zero."""
    value = number(found.get(key))
    return value if value is not None and value >= 0 and busy_sum_share(found) else None


def busy_sum_share(found: Mapping[str, object]) -> float | None:
    """Return the time of all kernels by that of the step, or None where none was traced."""
    step_s, busy_s = seconds(found, "step_ms"), seconds(found, "gpu_busy_ms_per_step")
    if not step_s or not busy_s:
        return None
    return busy_s / step_s


def its_own_word(found: Mapping[str, object]) -> list[Finding]:
    """Return what LibreYOLO itself concludes."""
    word = found.get("bound")
    if not isinstance(word, str):
        return []
    return [Finding(name="LibreYOLO", value=f"calls it {word}", says="inconclusive")]


def doubts(found: Mapping[str, object]) -> list[str]:
    """Return what is odd about this profile."""
    raw = busy_sum_share(found)
    said = []
    if raw is None:
        said.append("how busy the device is: no kernel was traced, as on a CPU")
    elif raw > TOO_MUCH:
        said.append(f"kernels add up to {raw:.0%} of the step: they ran side by side or after it")
    return said
