"""The cases of the matrix: every pair of them is there, and each runs as its name says."""

from __future__ import annotations

from itertools import combinations, product

import matrixed
import pytest
from matrixed import ALL, PAIRWISE, Case, Judged, faults, remedy

LEVELS = (
    matrixed.KINDS, matrixed.FORMS, matrixed.LOOPS, matrixed.WORKERS, matrixed.PRECISIONS,
    matrixed.DATA, matrixed.EPOCHS,
)  # fmt: skip


@pytest.mark.parametrize(("one", "other"), list(combinations(range(len(LEVELS)), 2)))
def test_every_two_levels_meet_in_a_loop(one: int, other: int) -> None:
    met = {(case[one], case[other]) for case in PAIRWISE}
    assert met == set(product(LEVELS[one], LEVELS[other]))


def test_each_loop_has_a_name_of_its_own() -> None:
    # 9 kinds x 6 forms; and 9 kinds, each plain and with 5 + 4 + 2 + 2 + 2 + 2 single variations
    assert (len(PAIRWISE), len(matrixed.single())) == (54, 162)
    assert len({case.name for case in ALL}) == len(ALL)


def test_a_case_is_what_its_name_says() -> None:
    case = Case("files", "dict", "gan", "persistent", "bf16", "lengths", "short")
    assert case.name == "files-dict-gan-persistent-bf16-lengths-short"
    # two workers load twice as much as one, so twice as much is to load
    assert case.flags() == [
        *("--slow", "files", "--times", "6", "--batch-form", "dict", "--gan", "--workers", "2"),
        *("--persistent", "--precision", "bf16", "--data", "lengths", "--epochs", "short"),
    ]
    assert Case("conv", workers="workers2").flags()[:4] == ["--slow", "conv", "--times", "6"]
    assert Case("conv").flags() == ["--slow", "conv", "--times", "3"]


@pytest.mark.parametrize(
    ("kind", "change", "flags"),
    [
        ("spin", "a loader that costs nothing", "--preloaded"),
        ("spin", "2 workers instead of 0", "--workers 2"),
        ("spin", "twice the batch, by sample", "--batch 32"),
        ("conv", "twice the batch, by sample", "--batch 32"),
        ("conv", "a loader that costs nothing", None),
        ("conv", "a GPU twice as fast", None),
        ("tiny", "a host that costs nothing", "--units 0"),
    ],
)
def test_a_change_is_made_by_flags(kind: str, change: str, flags: str | None) -> None:
    assert remedy(Case(kind), change) == flags
    assert flags is None or flags in matrixed.remedies(Case(kind))


def test_one_cautious_word_in_fifty_passes_and_a_wrong_one_never() -> None:
    right = Judged("gpu", "gpu")
    assert faults([right] * 49 + [Judged("host", "inconclusive")]) == []
    assert faults([right] * 48 + [Judged("host", "mixed")]) == ["48 of 49 right"]
    assert faults([right] * 199 + [Judged("host", "gpu")]) == ["gpu where it is host: 1"]
    assert faults([right] * 99 + [Judged("gpu", "exit code 3")]) == [
        "exit code 3 where it is gpu: 1"
    ]
