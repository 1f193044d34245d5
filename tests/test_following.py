"""Ranks that change together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from costplan.profiler.following import Ranks
from costplan.profiler.rounds import Wanted

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_a_rank_alone_changes_at_once(tmp_path: Path) -> None:
    alone = Ranks(str(tmp_path))
    alone.announce(7, Wanted("half", 1.0, 3))
    change = alone.due(7)
    assert change is not None
    assert change.wanted == Wanted("half", 1.0, 3)
    assert alone.due(8) is None


def test_two_ranks_change_at_one_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORLD_SIZE", "2")
    first = Ranks(str(tmp_path))
    monkeypatch.setenv("RANK", "1")
    second = Ranks(str(tmp_path))
    first.announce(7, Wanted("replay", 2.0, 3))
    for group in (8, 9):
        assert (first.due(group), second.due(group)) == (None, None)
    changes = first.due(10), second.due(10)  # three ahead
    assert changes[0] == changes[1] is not None
    assert second.due(11) is None  # not the same change again
    first.announce(20, None)
    assert second.due(22) is None
    ended = second.due(23)
    assert ended is not None
    assert ended.wanted is None
