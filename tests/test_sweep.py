"""What is read of the workers of a loader."""

from __future__ import annotations

import sys
import time

import pytest

from costplan.profiler import sweep
from costplan.profiler.sweep import Worked

data = pytest.importorskip("torch.utils.data")
pytestmark = pytest.mark.torch


class Spins:
    """Each sample keeps a processor busy for 50 ms."""

    def __len__(self) -> int:
        return 8

    def __getitem__(self, index: int) -> int:
        ends_s = time.process_time() + 0.05
        while time.process_time() < ends_s:
            pass
        return index


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_what_workers_compute_is_counted_whoever_waits_for_it() -> None:
    iterator = iter(data.DataLoader(Spins(), batch_size=1, num_workers=2))
    before = sweep.worked(iterator)
    assert before is not None
    assert len(before.pids) == 2
    assert len(list(iterator)) == 8
    # the iterator has ended its workers, and with them what they counted
    assert sweep.worked(iterator) is None
    iterator = iter(data.DataLoader(Spins(), batch_size=1, num_workers=2, persistent_workers=True))
    before = sweep.worked(iterator)
    assert before is not None
    assert len(list(iterator)) == 8
    # 8 samples of 50 ms, and what it takes to hand them over; ticks are of 10 ms
    computed_s = before.until(sweep.worked(iterator))
    assert computed_s is not None
    assert computed_s >= 8 * 0.05 - 2 * 0.01
    sweep.end(iterator)


def test_a_loader_without_workers_has_none_that_compute() -> None:
    assert sweep.worked(iter(data.DataLoader(Spins(), num_workers=0))) is None
    assert sweep.worked(None) is None


def test_nothing_is_known_of_workers_that_others_took_the_place_of() -> None:
    before = Worked((7, 8), 1.0)
    assert before.until(Worked((7, 8), 1.5)) == 0.5
    assert before.until(Worked((7, 9), 1.5)) is None
    assert before.until(None) is None
