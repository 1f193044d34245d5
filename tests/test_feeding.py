"""The loaders that a program is fed from, and the end of their workers."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch


def test_a_visit_that_watches_is_fed_as_the_step_that_it_is_held_against(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from costplan.profiler.feeding import Feeder, Feeds

    monkeypatch.setattr(Feeder, "give", lambda feeder, kind: kind)
    feeds = Feeds()
    names = ("replay", "syncs", "kernels", "half", "resident", "syncs", "kernels", "half")
    given = [feeds.of_loader(("train",), name, None, None) for name in names]
    assert given == ["replay"] * 3 + ["half"] + ["resident"] * 3 + ["half"]


def test_the_end_of_the_program_ends_the_workers_of_all_loaders() -> None:
    from torch.utils.data import DataLoader, TensorDataset

    from costplan.profiler import sweep
    from costplan.profiler.feeding import Feeds

    loader = DataLoader(TensorDataset(torch.zeros(64, 2)), batch_size=8, num_workers=1)
    feeds = Feeds()
    own = iter(loader)
    feeds.iterators.add(own)
    feeds.other = sweep.Other(loader, 2)
    feeds.other.next_batch()
    workers = [*own._workers, *feeds.other.iterator._workers]
    assert [worker.is_alive() for worker in workers] == [True] * 3
    feeds.end_workers()
    assert [worker.is_alive() for worker in workers] == [False] * 3
    assert [worker.exitcode for worker in workers] == [0] * 3  # not killed: they clean up
