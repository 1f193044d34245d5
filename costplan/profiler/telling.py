"""What a verdict says beside its word: evidence, advice that pays, what does not help, gaps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from costplan.profiler.causes import from_disk
from costplan.profiler.leads import queue
from costplan.profiler.limits import (
    GPU_EXPONENT,
    GPU_SHARE,
    HOST_EXPONENT,
    LOADER_SHARE,
    SMALLEST_SHARE,
)
from costplan.records.verdicts import Advice, Finding

if TYPE_CHECKING:
    from collections.abc import Iterable

    from costplan.records.verdicts import Gain, Measured, Word

_TEXTS: Final = {
    "dataloader": "a loader that never lets the step wait",
    "host": "a host that never lets the device wait",
    "communication": "GPUs that do not wait for each other",
}
COPIED: Final = (
    "a batch that is on the device before the step needs it, such as by pin_memory=True and "
    ".to(device, non_blocking=True)"
)


def evidence(measured: Measured, *, busy: float | None, grows: float | None) -> tuple[Finding, ...]:
    """Return what was seen."""
    found = [*loader_evidence(measured)]
    if busy is not None:
        says: Word = "gpu" if busy >= GPU_SHARE else "host"
        found.append(Finding(name="busy", value=f"{busy:.0%} without the loader's part", says=says))
    queued = queue(measured)
    if queued is not None:
        found.append(Finding(name="queue", value=queued.why, says=queued.says or "inconclusive"))
    if grows is not None:
        says = "gpu" if grows > GPU_EXPONENT else "host" if grows < HOST_EXPONENT else "mixed"
        found.append(Finding(name="batch", value=f"power of {grows:.2f}", says=says))
    return tuple(found)


def loader_evidence(measured: Measured) -> Iterable[Finding]:
    """Yield what speaks for or against the loader."""
    step_s = measured.step_s
    if step_s is None:
        return
    for name, part_s in (
        ("wait", measured.wait_s),
        ("replay", None if measured.replay_s is None else step_s - measured.replay_s),
    ):
        if part_s is not None:
            share = max(part_s / step_s, 0.0)
            says: Word = "dataloader" if share >= SMALLEST_SHARE else "inconclusive"
            yield Finding(name=name, value=f"{share:.0%} of the step", says=says)
    if measured.outside_s is not None:
        share = min(measured.outside_s / step_s, 1.0)
        says = "dataloader" if share >= LOADER_SHARE else "inconclusive"
        yield Finding(name="outside", value=f"{share:.0%} of the step: own loading is no more",
                      says=says)  # fmt: skip
    cold_s, warm_s, disk = (
        measured.loader_cold_s, measured.loader_warm_s, measured.loader_disk_share
    )  # fmt: skip
    if cold_s is not None and warm_s is not None:
        read = f"{cold_s:.3g} s a batch from the disk, {warm_s:.3g} s from memory"
        found = "" if disk is None else f"; {disk:.0%} came from the disk as the bursts had them"
        says = "dataloader" if from_disk(measured) else "inconclusive"
        yield Finding(name="files", value=read + found, says=says)


def own_loading(share: float) -> str:
    """Return what is known where a program's own loading is bounded and nothing else measured."""
    if share < LOADER_SHARE:
        return f"not the loader, which takes at most {share:.0%} of the step: host or gpu"
    return f"dataloader or host: own loading and the like take {share:.0%} of the step together"


def advised(
    measured: Measured, gains: tuple[Gain, ...], words: tuple[Word, ...]
) -> tuple[Advice, ...]:
    """Return what pays: changes that were tried and saved enough, then bounds of the verdict."""
    found = [
        Advice(text=each.fix, gain_share=share, basis="measured")
        for each in measured.tried
        if (share := saved(measured, each.step_s)) >= floor(measured)
    ]
    found += [
        Advice(text=text, gain_share=share, basis=each.basis)
        for each in gains
        for text, share in parted(measured, each)
        if share >= SMALLEST_SHARE and concerns(each, words)
    ]
    return tuple(sorted(found, key=lambda each: (each.basis != "measured", -each.gain_share)))


def parted(measured: Measured, gain: Gain) -> list[tuple[str, float]]:
    """Return what to do for a gain, each with its share; the copy to the device is no loader's."""
    text = _TEXTS.get(gain.of)
    if text is None:
        return []
    if gain.of != "dataloader" or measured.replay_host_s is None or gain.basis != "measured":
        return [(text, gain.share)]
    loads = min(max(saved(measured, measured.replay_host_s), 0.0), gain.share)
    return [(text, loads), (COPIED, gain.share - loads)]


def concerns(gain: Gain, words: tuple[Word, ...]) -> bool:
    """Return whether a gain is that of a part which the verdict names."""
    if gain.of == "dataloader" and gain.basis == "measured" and gain.share >= LOADER_SHARE:
        return True  # it pays, whatever takes the rest
    return gain.of in words or (gain.of == "communication" and "gpu" in words)


def saved(measured: Measured, step_s: float) -> float:
    """Return what a change saves as a share of the step; negative where it costs."""
    return 0.0 if measured.step_s is None else 1 - step_s / measured.step_s


def floor(measured: Measured) -> float:
    """Return the least saving that is one: above what is worth a word, and above the noise."""
    return max(SMALLEST_SHARE, measured.step_error_share or 0.0)


def not_advised(measured: Measured) -> tuple[str, ...]:
    """Return the changes that were tried and do not help, with their figure."""
    found = []
    for each in measured.tried:
        share = saved(measured, each.step_s)
        if share < floor(measured):
            said = f"saves {share:.1%}" if share >= 0 else f"costs {-share:.1%}"
            found.append(f"{each.fix}: {said}, as tried")
    return tuple(found)


def unknown(measured: Measured, word: Word) -> tuple[str, ...]:
    """Return what cannot be known from what was measured."""
    found = []
    if measured.loader_seen is False and measured.outside_s is None:
        found.append("time in a loader other than torch's DataLoader counts as the host's")
    if (measured.outside_s or 0.0) >= LOADER_SHARE * (measured.step_s or 0.0) > 0:
        found.append(
            "what of the time outside forward, backward and optimizer is loading, and what the "
            "loss, zeroing gradients, logging or waits for the device: fetch one batch before the "
            "loop and train on it again and again; the step becomes shorter by what loading costs"
        )
    if measured.traced and word in ("host", "mixed"):
        found.append("a tracer was on: it slows the host down, so the device idles less without it")
    if measured.replay_s is None:
        found.append("what a better loader saves is no more than bounded: no batch was replayed")
    if measured.busy_share is None and measured.lead_s is None:
        found.append("how long the device works is not known: host and device are told by growth")
    if measured.one_gpu_s is not None and measured.wait_s is None:
        found.append("processes that share the CPUs for loading look like communication")
    return tuple(found)
