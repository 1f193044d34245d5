"""What each fix would save, as a share of the step: measured, or bounded from one side."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from costplan.profiler.limits import SMALLEST_SHARE
from costplan.records.verdicts import Gain

if TYPE_CHECKING:
    from costplan.records.verdicts import Measured, Of


def loader_gain(measured: Measured) -> Gain | None:
    """Return what a loader that never lets the device wait would save, or None."""
    step_s = measured.step_s
    if step_s is None:
        return None
    tried = tried_share(measured, "dataloader")
    if measured.replay_s is not None:
        replayed = max(1 - measured.replay_s / step_s, tried or 0.0, 0.0)
        # Where a batch is copied to a device, a kept one also saves what the step waits for that.
        copies = measured.replay_host_s is not None or not measured.on_cpu
        most = None if copies else most_of_loader(measured)
        share = replayed if most is None else min(replayed, most)
        return Gain(of="dataloader", share=share, basis="measured")
    bound = loader_bound(measured, step_s)
    if tried is not None and tried >= SMALLEST_SHARE:
        return Gain(of="dataloader", share=tried, basis="at least")
    return None if bound is None else Gain(of="dataloader", share=bound, basis="at most")


def own_loading_gain(measured: Measured) -> Gain | None:
    """Return the most that a better way of loading saves in a program without torch's loader.

    None where there is one, or nobody saw what lies outside. Other work lies there too: this is no
    part of the step, and nothing follows for the rest of it.
    """
    if measured.loader_seen is not False or measured.outside_s is None or not measured.step_s:
        return None
    share = min(measured.outside_s / measured.step_s, 1.0)
    # The work of the device stays, whatever loads.
    return Gain(of="dataloader", share=min(share, 1 - (measured.busy_share or 0.0)),
                basis="at most")  # fmt: skip


def loader_bound(measured: Measured, step_s: float) -> float | None:
    """Return the most that a fix of the loader can save, where something bounds it."""
    bounds = [measured.idle_in_loader_share]
    if measured.wait_s is not None:
        bounds.append(min(measured.wait_s / step_s, 1.0))
    # Without workers the main thread loads and is busy with it.
    if measured.main_cpu_share is not None and measured.workers:
        bounds.append(1 - measured.main_cpu_share)
    known = [bound for bound in bounds if bound is not None]
    if not known:
        return None
    # The work of the device stays, whatever the loader does.
    return min(*known, 1 - (measured.busy_share or 0.0))


def competes(measured: Measured) -> bool:
    """Return whether workers take processors away from the step that they load for.

    A step held up so waits for no batch: it computes more slowly. On the CPU it always shares them;
    beside another device where workers and the main thread together ask for more than there are.
    Each asks for one at most, the workers' libraries included (torch gives a worker one thread).
    """
    workers, main, cpus = measured.workers, measured.main_cpu_share, measured.usable_cpus
    if not workers:  # the main thread loads, and all of that is seen as a wait
        return False
    if measured.on_cpu:
        return True
    return main is not None and cpus is not None and workers + main > cpus


def most_of_loader(measured: Measured) -> float | None:
    """Return the most that a perfect loader can save: the wait, and what its workers take.

    Where they share processors with the step they take no more from it than the time they compute:
    as the system counts it, else at most that of all of them for a batch alone. None where neither
    is known.
    """
    wait_s, step_s, taken_s = measured.wait_s, measured.step_s, 0.0
    if wait_s is None or step_s is None:
        return None
    if competes(measured):
        alone_s = measured.loader_s
        computed_s = None if alone_s is None else (measured.workers or 0) * alone_s
        found_s = computed_s if measured.workers_cpu_s is None else measured.workers_cpu_s
        if found_s is None:
            return None
        taken_s = found_s
    return min((wait_s + taken_s) / step_s, 1.0)


def host_gain(measured: Measured, loader: Gain | None) -> Gain | None:
    """Return what a host that never lets the device wait would save beyond the loader's part."""
    if measured.busy_share is None or measured.step_s is None:
        return None
    idle = 1 - measured.busy_share - (loader.share if loader else 0.0)
    return Gain(of="host", share=max(idle, 0.0), basis="at most")


def communication_gain(measured: Measured) -> Gain | None:
    """Return what GPUs that never wait for each other would save."""
    shares = []
    if measured.communication_share is not None:
        shares.append(measured.communication_share)
    if measured.one_gpu_s is not None and measured.step_s is not None:
        shares.append(max(1 - measured.one_gpu_s / measured.step_s, 0.0))
    if not shares:
        return None
    return Gain(of="communication", share=max(shares), basis="at most")


def faster_gpu_gain(measured: Measured) -> Gain | None:
    """Return the most that any faster GPU can save: all of its work, never what it waits for."""
    if measured.step_s is None:
        return None
    bounds = []
    if measured.busy_share is not None:  # GPUs that wait for each other are busy with it
        bounds.append(max(measured.busy_share - (measured.communication_share or 0.0), 0.0))
    if measured.loader_s is not None and (measured.workers or 0) > 0:
        bounds.append(max(1 - measured.loader_s / measured.step_s, 0.0))
    if measured.replay_s is not None:  # the device works on a replayed batch no longer than that
        bounds.append(min(measured.replay_s / measured.step_s, 1.0))
    base_s = measured.replay_s or measured.step_s
    if measured.half_s is not None and measured.half_s < base_s:
        # With t = fixed + a x batch the part that grows is twice what half the batch saves.
        grows_s = min(2 * (base_s - measured.half_s), base_s)
        bounds.append(min(grows_s / measured.step_s, 1.0))
    if not bounds:
        return None
    return Gain(of="a faster GPU", share=min(bounds), basis="at most")


def exponent(measured: Measured) -> float | None:
    """Return by which power the step time grows with the batch.

    >>> from costplan.records.verdicts import Measured
    >>> exponent(Measured(step_s=0.04, half_s=0.02))
    1.0
    """
    if measured.batch_exponent is not None:
        return measured.batch_exponent
    base_s = measured.replay_s or measured.step_s
    if base_s is None:
        return None
    if measured.half_s is not None:
        return math.log2(base_s / measured.half_s)
    return None if measured.double_s is None else math.log2(measured.double_s / base_s)


def device_share(measured: Measured, loader: Gain | None) -> float | None:
    """Return the busy share of the step without what the loader costs."""
    if measured.busy_share is None:
        return None
    rest = 1 - (loader.share if loader else 0.0)
    return min(measured.busy_share / rest, 1.0) if rest > 0 else 1.0


def tried_share(measured: Measured, of: Of) -> float | None:
    """Return the largest saving of the changes of one part that were tried."""
    step_s = measured.step_s
    if step_s is None:
        return None
    return max((1 - each.step_s / step_s for each in measured.tried if each.of == of), default=None)
