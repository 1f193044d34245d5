"""A profile as text: the verdict in five lines, the rest on request."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from costplan.render.figures import hours, usd, visible
from costplan.units import SECONDS_PER_HOUR

if TYPE_CHECKING:
    from costplan.records.profiles import Box, Profile, Range, Shares
    from costplan.records.verdicts import Verdict
    from costplan.records.worth import ChangeWorth, FasterGpu, Saving, Spell, Worth

WORDS: Final = {"host": "host/launch"}
MS_PER_S: Final = 1_000
MINUTE_S: Final = 60
SHORT: Final = 10.0
"""Below it seconds and factors have digits behind the point."""
WATCHED: Final = ("syncs", "kernels")
"""Bursts whose steps are longer for being watched."""
MORE: Final = "all of it: --explain"


def profile_text(profile: Profile, worth: Worth, *, explain: bool = False) -> str:
    """Return the verdict first, five lines in all; with `explain` what they rest on too."""
    spent = f"profiled in {took(profile.spent_s)}"
    if worth.spent_usd is not None:
        spent += f" for ${usd(worth.spent_usd)}"
    last = "" if explain else f"; {MORE}"
    lines = [
        _headline(profile.verdict),
        f"  step {_ms(profile.step_s)}{_rates(profile)}{_parts(profile.shares)}",
        f"  {_amounts(worth)}",
        f"  {_best(profile, worth)}",
        f"  {_faster(worth.faster_gpu)}; {spent}{last}",
    ]
    if explain:
        lines += [*_table(profile, worth), *_rest(profile.verdict), *_where(profile)]
    return "".join(visible(line) + "\n" for line in lines)


def verdict_text(verdict: Verdict, *, explain: bool = False) -> str:
    """Return a verdict without step times, such as one of a trace; the rest with `explain`."""
    share = next((each.share for each in verdict.gains if each.of == "a faster GPU"), None)
    if share is None or verdict.word == "inconclusive":
        bound = "what a faster GPU would buy is not known"
    else:
        bound = f"a faster GPU buys at most {share:.0%}"
    lines = [_headline(verdict), f"  {bound}{'' if explain else f'; {MORE}'}"]
    if explain:
        lines += _rest(verdict)
    return "".join(visible(line) + "\n" for line in lines)


def _headline(verdict: Verdict) -> str:
    word = WORDS.get(verdict.word, verdict.word).upper()
    parts = (
        f" ({' then '.join(WORDS.get(part, part) for part in verdict.parts)})"
        if verdict.parts
        else ""
    )
    why = f"{verdict.why}; cause: {verdict.cause}" if verdict.cause else verdict.why
    return f"{word}{parts}, {verdict.confidence} confidence: {why}"


def _rest(verdict: Verdict) -> list[str]:
    """Return what a verdict rests on, what is advised and what is not known."""
    lines = [f"  {each.name}: {each.value}" for each in verdict.evidence]
    lines += [f"  advice: {each.text} ({each.gain_share:.0%} of the step, {each.basis})"
              for each in verdict.advice]  # fmt: skip
    lines += [f"  not advised: {text}" for text in verdict.not_advised]
    lines += [f"  not known: {text}" for text in verdict.unknown]
    return lines


# --- the five lines ------------------------------------------------------------------------------


def _ms(step: Range) -> str:
    texts = [_digits(step.low), _digits(step.expected), _digits(step.high)]
    return f"{texts[1] if len(set(texts)) == 1 else ' - '.join(texts)} ms"


def _digits(time_s: float | None) -> str:
    """Return milliseconds to three digits, never in powers of ten."""
    if time_s is None:
        return "?"
    value_ms = time_s * MS_PER_S
    if value_ms >= 1_000:
        return f"{value_ms:,.0f}"
    return f"{value_ms:.1f}" if value_ms >= 100 else f"{value_ms:.3g}"


def _rates(profile: Profile) -> str:
    text = ""
    if profile.samples_per_s is not None:
        text += f", {profile.samples_per_s.expected:,.1f} samples/s"
    if profile.tokens_per_s is not None:
        text += f", {profile.tokens_per_s.expected:,.0f} tokens/s"
    return text


def _parts(shares: Shares) -> str:
    known = {
        WORDS.get(name, name): share
        for name, share in shares.model_dump().items()
        if share is not None
    }
    parts = ", ".join(f"{name} {share:.0%}" for name, share in known.items())
    return f": {parts}" if parts else ""


def _amounts(worth: Worth) -> str:
    """Return what an epoch and the job take and cost."""
    if worth.epoch is None:
        return f"an epoch: not known: {worth.why_no_epoch}"
    text = f"an epoch of steps {_spell(worth.epoch)}"
    if worth.job is not None:
        many = "" if worth.epochs == 1 else "s"
        text += f"; the job of {worth.epochs:,} epoch{many} {_spell(worth.job)}"
    return text


def _spell(spell: Spell) -> str:
    money = "" if spell.usd is None else f", ${usd(spell.usd.expected)}"
    return f"{took(spell.time_s.expected)}{money}"


def _best(profile: Profile, worth: Worth) -> str:
    """Return the change that saves the most."""
    if worth.best is None:
        if profile.verdict.word == "inconclusive":
            return "what a change would save cannot be told"
        return (
            "nothing that was tried saves 5 % of the step"
            if worth.changes
            else "no change was tried"
        )
    most = "at most " if worth.best.basis == "bounded" else ""
    text = f"{worth.best.change}: {most}{_times(worth.best.times_as_fast)}"
    if worth.best.saves_job is not None:
        text += f", {_saved(worth.best.saves_job)} of the job"
    elif worth.best.saves_epoch is not None:
        text += f", {_saved(worth.best.saves_epoch)} an epoch"
    return text


def _times(faster: float | None) -> str:
    if faster is None:
        return "any number of times as fast"
    return f"{faster:.2f} times as fast" if faster < SHORT else f"{faster:,.0f} times as fast"


def _saved(saving: Saving) -> str:
    """Return what is saved, or what is lost where a change costs."""
    verb = "saves" if saving.time_s >= 0 else "costs"
    money = "" if saving.usd is None else f" and ${usd(abs(saving.usd))}"
    return f"{verb} {took(abs(saving.time_s))}{money}"


def _faster(gpu: FasterGpu) -> str:
    if gpu.at_most_share is None:
        return f"what a faster GPU would buy is not known: {gpu.why_unknown}"
    text = f"a faster GPU buys at most {gpu.at_most_share:.0%}"
    if gpu.worth_usd_per_hour is not None:
        text += f", worth up to ${usd(gpu.worth_usd_per_hour)}/h"
    return text


def took(time_s: float) -> str:
    """Return a time as one reads it.

    >>> took(0.0314), took(42), took(225), took(9000)
    ('0.0314 s', '42 s', '3.8 min', '2.50 h')
    """
    if time_s < SHORT:
        return f"{time_s:.3g} s"
    if time_s < 1.5 * MINUTE_S:
        return f"{time_s:.0f} s"
    if time_s < 1.5 * SECONDS_PER_HOUR:
        return f"{time_s / MINUTE_S:.1f} min"
    return f"{hours(time_s / SECONDS_PER_HOUR)} h"


# --- behind --explain ----------------------------------------------------------------------------


def _table(profile: Profile, worth: Worth) -> list[str]:
    """Return the run as it is and with each change, a line each, numbers to the right."""
    head = ["", "step ms", "samples/s", "tokens/s", "epoch", "epoch $", "job", "job $", "saves"]
    now = [
        "as it is", _digits(profile.step_s.expected),
        *(_count(each.expected if each else None)
          for each in (profile.samples_per_s, profile.tokens_per_s)),
        *_cells(worth.epoch), *_cells(worth.job), "",
    ]  # fmt: skip
    rows = [head, now]
    for change, each in zip(profile.what_if, worth.changes, strict=True):
        rows.append([
            each.change, _digits(change.step_s), _count(each.samples_per_s),
            _count(each.tokens_per_s), *_cells(each.epoch), *_cells(each.job), _kept(each),
        ])  # fmt: skip
    filled = [column for column in zip(*rows, strict=True) if any(column[1:])]
    widths = [max(map(len, column)) for column in filled]
    return [
        "  " + "  ".join(
            cell.ljust(width) if place == 0 else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in zip(*filled, strict=True)
    ]  # fmt: skip


def _cells(spell: Spell | None) -> list[str]:
    if spell is None:
        return ["", ""]
    return [took(spell.time_s.expected), "" if spell.usd is None else usd(spell.usd.expected)]


def _count(value: float | None) -> str:
    return "" if value is None else f"{value:,.1f}" if value < 1_000 else f"{value:,.0f}"


def _kept(change: ChangeWorth) -> str:
    """Return what a change saves of the step, of the job, or of an epoch, as far as is known."""
    saving = change.saves_job or change.saves_epoch
    most = "at most " if change.basis == "bounded" else ""
    if saving is not None and not saving.time_s:
        return "nothing"
    if saving is not None:
        said = _saved(saving).removeprefix("saves ")
        return f"{most}{said}" if saving.time_s > 0 else said
    return "" if change.times_as_fast is None else f"{most}{_times(change.times_as_fast)}"


def _where(profile: Profile) -> list[str]:
    whose = " of each rank" if profile.ranks > 1 else ""
    lines = [
        f"  on {_box(profile.box)}",
        *_gpu(profile),
        f"  batch {profile.batch or '?'}{whose}, {profile.workers} workers, accumulation "
        f"{profile.accumulation}; {took(profile.startup_s)} to start",
    ]
    bursts: dict[str, int] = {}
    for burst in profile.bursts:
        bursts[burst.name] = bursts.get(burst.name, 0) + len(burst.steps_s)
    timed, seen = (
        ", ".join(
            f"{steps} {name}" for name, steps in bursts.items() if (name in WATCHED) is watched
        )
        for watched in (False, True)
    )
    lines.append(f"  steps timed: {timed}{f'; watched: {seen}' if seen else ''}")
    lines += [f"  kept as it was: {path}" for path in profile.redirected]
    return lines


def _gpu(profile: Profile) -> list[str]:
    """Return how the GPU did in a line; none where there was none."""
    if not profile.box.gpu_count:
        return []
    gpu, parts = profile.gpu, [profile.device]
    if gpu is not None:
        parts += [
            _of_most(gpu.clock_mhz, gpu.clock_max_mhz, "MHz"),
            _of_most(gpu.power_watts, gpu.power_limit_watts, "W"),
            "" if gpu.temperature_c is None else f"{gpu.temperature_c:.0f} C",
            f"held down by {' and '.join(gpu.slowed_by)}" if gpu.slowed_by else "",
        ]
    if profile.peak_memory_gb is not None:
        parts.append(f"{profile.peak_memory_gb:.1f} GB at the peak")
    if profile.lead_s is not None:
        parts.append(f"{_digits(profile.lead_s)} ms behind the host at the end of a step")
    if profile.blocked_s is not None:
        parts.append(f"the host held for {_digits(profile.blocked_s)} ms of it")
    return [f"  GPU: {', '.join(filter(None, parts))}"]


def _of_most(value: float | None, most: float | None, unit: str) -> str:
    if value is None:
        return ""
    return f"{value:,.0f}{'' if most is None else f' of {most:,.0f}'} {unit}"


def _box(box: Box) -> str:
    count = f"{box.gpu_count}x " if box.gpu_count else ""
    parts = [f"{count}{box.device}"]
    if box.usable_cpus is not None:
        parts.append(f"{box.usable_cpus:g} CPUs" + (f" ({box.cpu_model})" if box.cpu_model else ""))
    if box.memory_gb is not None:
        parts.append(f"{box.memory_gb:.0f} GB")
    if box.torch is not None:
        parts.append(f"torch {box.torch}")
    return ", ".join(parts)
