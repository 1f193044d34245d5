"""Is it the loader, the host or the device? Measurements in, verdict out.

In this order, with r what a perfect loader would save and g the busy share of what is left:

1. Too few steps, or an interval too wide to say on which side of a line it lies: inconclusive.
2. The loader, where r is 10 % or more and the step was seen to wait for it, or its workers take
   processors away from the step.
3. The device, where g is 85 % or more; without a busy share, where its queue is full or calls hold
   the host for it; where that tells nothing, where the time grows with the batch.
4. The host, where the loader is known not to be it.
5. Two of them together, where what they would save differs by less than 10 points.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from costplan.profiler.causes import cause
from costplan.profiler.doubts import compared_error_share, doubts, growth_interval
from costplan.profiler.gains import (
    communication_gain,
    competes,
    device_share,
    exponent,
    faster_gpu_gain,
    host_gain,
    loader_gain,
    most_of_loader,
    own_loading_gain,
    tried_share,
)
from costplan.profiler.leads import queue
from costplan.profiler.limits import (
    CLEAR_RATIO,
    FASTER_THAN_BATCH,
    GOOD_ERROR_SHARE,
    GPU_EXPONENT,
    GPU_SHARE,
    HOST_EXPONENT,
    KEEPS_UP_SHARE,
    LEAST_STEPS,
    LOADER_SHARE,
    MOST_ERROR_SHARE,
    NEAR_SHARE,
    SMALLEST_SHARE,
    WAIT_SHARE,
)
from costplan.profiler.telling import advised, evidence, not_advised, own_loading, unknown
from costplan.records.verdicts import Verdict

if TYPE_CHECKING:
    from costplan.records.verdicts import Confidence, Gain, Measured, Part, Word


class Case(NamedTuple):
    """Everything that decides."""

    measured: Measured
    loader: Gain | None
    host: Gain | None
    talk: Gain | None
    busy: float | None
    grows: float | None


class Decided(NamedTuple):
    """A word, why, and the parts of a mixed one."""

    word: Word
    why: str
    parts: tuple[Part, ...] = ()


def judge(measured: Measured, *, few_steps_ok: bool = False) -> Verdict:
    """Return what slows the loop down.

    Args:
        measured: What is known of it; nothing of it is needed.
        few_steps_ok: Judge fewer than 20 steps too, with low confidence.
    """
    loader = loader_gain(measured)
    case = Case(
        measured,
        loader,
        host_gain(measured, loader),
        communication_gain(measured),
        device_share(measured, loader),
        exponent(measured),
    )
    doubt = doubts(measured, few_steps_ok=few_steps_ok)
    found = Decided("inconclusive", doubt) if doubt else decided(case)
    gains = (loader or own_loading_gain(measured), case.host, case.talk, faster_gpu_gain(measured))
    known = tuple(each for each in gains if each is not None)
    return Verdict(
        word=found.word,
        why=found.why,
        parts=found.parts,
        cause=cause(measured, found.parts[0] if found.parts else found.word),
        confidence=confidence(case, found.word),
        evidence=evidence(measured, busy=case.busy, grows=case.grows),
        gains=known,
        advice=advised(measured, known, found.parts or (found.word,)),
        not_advised=not_advised(measured),
        unknown=unknown(measured, found.word),
    )


def decided(case: Case) -> Decided:
    """Return the first verdict that the rules give."""
    loader = holding_up(case)
    if loader is not None:
        return against_work(case, loader)
    if case.loader is None and keeps_pace(case.measured):
        return Decided("dataloader", "the loader alone takes as long as the whole step")
    return communication(case) or device(case)


def holding_up(case: Case) -> Gain | None:
    """Return what a better loader saves, where that is enough and the step was held up by it."""
    gain, measured = case.loader, case.measured
    if gain is None or gain.share < LOADER_SHARE or measured.step_s is None:
        return None
    if gain.basis == "at most" or measured.wait_s is None:
        return gain
    if gain.basis == "measured" and competes(measured):
        bound = most_of_loader(measured)
        return None if bound is not None and bound < LOADER_SHARE else gain
    # A step that never waits for a batch can still wait for its copy to the device.
    copied_s = (measured.replay_host_s or 0.0) - (measured.replay_s or 0.0)
    copies = measured.replay_host_s is not None and copied_s / measured.step_s >= LOADER_SHARE
    return gain if copies or measured.wait_s / measured.step_s >= WAIT_SHARE else None


def keeps_pace(measured: Measured) -> bool:
    """Return whether the loader alone is as slow as the step."""
    if measured.loader_s is None or measured.step_s is None:
        return False
    return measured.loader_s >= KEEPS_UP_SHARE * measured.step_s


def against_work(case: Case, loader: Gain) -> Decided:
    """Return the loader, unless what the program does with a batch costs as much or more."""
    measured, share = case.measured, loader.share
    base_s, half_s = measured.replay_s, measured.half_s
    if case.host is not None or base_s is None or half_s is None or measured.step_s is None:
        return against_host(case, loader)
    # With t = fixed + a x batch: what half the batch leaves twice is the host's.
    fixed = min(max(2 * half_s - base_s, 0.0), base_s) / measured.step_s
    # Of the device's part a card twice as fast saves half.
    faster = (base_s / measured.step_s - fixed) / 2
    word: Part = "host" if fixed > faster else "gpu"
    most = max(fixed, faster)
    saves = f"a perfect loader saves {bounded(loader)}"
    if share - most >= NEAR_SHARE:
        return Decided("dataloader", saves)
    if most >= CLEAR_RATIO * share:
        return device(case)
    order: tuple[Part, ...] = ("dataloader", word) if share >= most else (word, "dataloader")
    other = "a perfect host" if word == "host" else "a GPU twice as fast"
    return Decided("mixed", f"{saves}, {other} at most {most:.0%}", order)


def against_host(case: Case, loader: Gain) -> Decided:
    """Return the loader, unless the host costs as much or more."""
    share = loader.share
    host = case.host.share if case.host else 0.0
    saves = f"a perfect loader saves {bounded(loader)}"
    if host < SMALLEST_SHARE or (case.busy or 0.0) >= GPU_SHARE or share - host >= NEAR_SHARE:
        return Decided("dataloader", saves)
    if loader.basis == "at most" and host - share >= NEAR_SHARE:
        return Decided("host", f"the device idles {host:.0%} of the step outside the loader")
    order: tuple[Part, ...] = ("dataloader", "host") if share >= host else ("host", "dataloader")
    return Decided("mixed", f"{saves}, a perfect host at most {host:.0%}", order)


def bounded(gain: Gain) -> str:
    """Return a gain in words."""
    return f"{gain.share:.0%}" if gain.basis == "measured" else f"{gain.basis} {gain.share:.0%}"


def communication(case: Case) -> Decided | None:
    """Return the device where what GPUs wait for each other costs more than the host does."""
    if case.talk is None or case.talk.share < LOADER_SHARE:
        return None
    share, host = case.talk.share, case.host.share if case.host else 0.0
    why = f"GPUs wait for each other at most {share:.0%} of the step"
    if host - share >= NEAR_SHARE:
        return None
    if host >= SMALLEST_SHARE and share - host < NEAR_SHARE:
        return Decided("mixed", f"{why}, for the host {host:.0%}", ("gpu", "host"))
    return Decided("gpu", why)


def device(case: Case) -> Decided:
    """Return the device or the host: by busy share, by queue, else by growth with the batch."""
    tried = tried_share(case.measured, "gpu")
    if case.busy is not None:
        return by_busy(case, case.busy)
    if tried is not None and tried >= LOADER_SHARE:
        return Decided("gpu", f"less work on the device was tried and saves {tried:.0%}")
    queued = queue(case.measured)
    if queued is not None and (queued.says == "gpu" or (queued.says and loader_excluded(case))):
        return Decided(queued.says, queued.why)
    if case.grows is not None:
        return by_growth(case, case.grows)
    return undecided(case)


def loader_excluded(case: Case) -> bool:
    """Return whether the loader is known not to be it: little to save, or none in use."""
    own = own_loading_gain(case.measured)
    if case.loader is None and own is not None:
        return own.share < LOADER_SHARE
    return case.loader is not None or case.measured.loader_seen is False


def by_busy(case: Case, busy: float) -> Decided:
    """Return the device where it is busy enough, else the host if it is not the loader."""
    shown = f"the device is busy {busy:.0%} of the step"
    if busy >= GPU_SHARE:
        return Decided("gpu", shown)
    if not loader_excluded(case):
        return undecided(case)
    # A tracer slows the host down, so that a busy share just below the line may lie above it.
    if case.measured.traced and busy >= GPU_SHARE - NEAR_SHARE:
        return Decided("mixed", f"{shown}, with a tracer on", ("gpu", "host"))
    return Decided("host", shown)


def by_growth(case: Case, grows: float) -> Decided:
    """Return host or device by how the time grows with the batch; a loader's grows with it too."""
    shown = f"step time grows with the batch to the power of {grows:.2f}"
    if grows < HOST_EXPONENT and growth_interval(case.measured, grows)[1] <= GPU_EXPONENT:
        return Decided("host", shown)
    if grows > FASTER_THAN_BATCH:
        return Decided("gpu", shown)
    if not loader_excluded(case):
        return undecided(case)
    low, high = growth_interval(case.measured, grows)
    if low < HOST_EXPONENT and high > GPU_EXPONENT:
        return Decided("inconclusive", f"{shown}, by its interval {low:.2f} to {high:.2f}")
    if grows > GPU_EXPONENT:
        return Decided("gpu", shown)
    return Decided("mixed", shown, ("host", "gpu"))


def undecided(case: Case) -> Decided:
    """Return what could be told apart by what is missing."""
    measured = case.measured
    own = own_loading_gain(measured)
    if case.loader is None and own is not None:
        return Decided("inconclusive", own_loading(own.share))
    bound = measured.busy_share if measured.busy_share is not None else measured.util_share
    if case.loader is None and bound is not None and bound < GPU_SHARE - NEAR_SHARE:
        return Decided("inconclusive", "dataloader or host: the wait for batches is not known")
    if case.loader is None and (case.grows or 0.0) > GPU_EXPONENT:
        return Decided("inconclusive", "dataloader or gpu: the wait for batches is not known")
    return Decided("inconclusive", "neither busy share nor growth with the batch is known")


def confidence(case: Case, word: Word) -> Confidence:
    """Return how much the verdict rests on: only replayed bursts of enough steps are high."""
    measured = case.measured
    bounds = case.loader is None or case.loader.basis == "at most"
    if word == "inconclusive" or contradicts(case, word):
        return "low"
    if measured.traced:  # a tracer can only hide how busy the device is
        return "medium" if word == "gpu" else "low"
    if (measured.steps or LEAST_STEPS) < LEAST_STEPS or (bounds and word != "gpu"):
        return "low"
    of_loader = compared_error_share(measured, measured.replay_error_share)
    if of_loader is not None and of_loader > MOST_ERROR_SHARE:
        return "low"
    errors = [measured.step_error_share, measured.replay_error_share]
    if case.busy is None and measured.lead_s is None and word != "dataloader":
        errors.append(measured.half_error_share)
    exact = all(error is not None and error <= GOOD_ERROR_SHARE for error in errors)
    return "high" if exact and not bounds and measured.steps is not None else "medium"


def contradicts(case: Case, word: Word) -> bool:
    """Return whether growth with the batch speaks against a verdict by busy share or queue."""
    if case.grows is None or (case.busy is None and case.measured.lead_s is None):
        return False
    says_host = word == "host" and case.grows > GPU_EXPONENT
    return says_host or (word == "gpu" and case.grows < HOST_EXPONENT)
