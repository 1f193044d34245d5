"""What of a step is the loader's, the host's and the device's, and where it was measured."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from costplan.records.profiles import Box, Shares
from costplan.usable import usable_cores, usable_ram_gb

if TYPE_CHECKING:
    from collections.abc import Sequence

    from costplan.records.checks import CpuFacts, MemoryFacts
    from costplan.records.ranks import RankTaken
    from costplan.records.verdicts import Measured, Word


class Here(NamedTuple):
    """This box, as costplan itself sees it."""

    cpu: CpuFacts
    memory: MemoryFacts
    cpu_model: str | None


def shares(measured: Measured, word: Word) -> Shares:
    """Return the shares of the step; none of a verdict that is inconclusive.

    With t = fixed + a x batch the part that grows, the device's, is twice what half the batch
    saves; the busy share of the device is taken instead where it was seen.
    """
    step_s = measured.step_s
    if step_s is None or word == "inconclusive":
        return Shares()
    loader = measured.idle_in_loader_share
    if measured.replay_s is not None:
        loader = max(0.0, 1 - measured.replay_s / step_s)
    device = measured.busy_share
    if device is None and measured.half_s is not None and measured.replay_s is not None:
        base_s = min(measured.replay_s, step_s)
        device = min(max(0.0, 2 * (base_s - measured.half_s)), base_s) / step_s
    host = None if loader is None or device is None else max(0.0, 1 - loader - device)
    return Shares(dataloader=loader, host=host, device=device)


def box_of(ranks: Sequence[RankTaken], rank: RankTaken, here: Here | None) -> Box:
    """Return where the ranks ran: what one of them told of itself, and what the box shows."""
    facts = rank.facts
    # Several ranks have a GPU each, and a stray allocation on the first one is no second GPU.
    count = (facts.gpus or 1) if len(ranks) == 1 else len(ranks)
    return Box(
        device=facts.device,
        gpu_count=0 if facts.device == "cpu" else count,
        usable_cpus=None if here is None else usable_cores(here.cpu),
        cpu_model=None if here is None else here.cpu_model,
        memory_gb=None if here is None else usable_ram_gb(here.memory),
        python=facts.python,
        torch=facts.torch,
        cuda=facts.cuda,
    )
