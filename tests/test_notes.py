"""What a process writes down is read back by the program that started it."""

from __future__ import annotations

from pathlib import Path

import pytest

from costplan.profiler.following import Ranks
from costplan.profiler.notes import Notes
from costplan.records.ranks import RankTaken


@pytest.mark.parametrize("visits", [[], ["real"], ["real", "replay", "real"]])
def test_every_visit_is_in_the_file_in_its_order(tmp_path: Path, visits: list[str]) -> None:
    notes = Notes(str(tmp_path), Ranks(str(tmp_path)))
    for name in visits:
        notes.phase({"name": name, "steps_s": [0.25, 0.5]})
    notes.gap("epoch", 1.5, "real")
    notes.facts["workers"] = 2
    notes.write()
    (path,) = tmp_path.iterdir()
    found = RankTaken.model_validate_json(path.read_bytes())
    assert [each.name for each in found.phases] == visits
    assert all(each.steps_s == (0.25, 0.5) for each in found.phases)
    assert [(gap.what, gap.step_s, gap.phase) for gap in found.gaps] == [("epoch", 1.5, "real")]
    assert (found.facts.workers, found.rank, found.world) == (2, 0, 1)


def test_what_was_written_before_is_written_again(tmp_path: Path) -> None:
    notes = Notes(str(tmp_path), Ranks(str(tmp_path)))
    for name in ("real", "half"):
        notes.phase({"name": name})
        notes.write()
    (path,) = tmp_path.iterdir()
    assert [each.name for each in RankTaken.model_validate_json(path.read_bytes()).phases] == [
        "real",
        "half",
    ]
