"""Exit codes, and the hint that names what was probably meant."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from costplan.errors import (
    CostplanError,
    InputError,
    LimitError,
    UnconfirmedError,
    UnknownError,
    nearest,
)

EXIT_CODES: list[tuple[type[CostplanError], int]] = [
    (CostplanError, 1),
    (InputError, 2),
    (UnknownError, 3),
    (LimitError, 4),
    (UnconfirmedError, 5),
]


@pytest.mark.parametrize(("kind", "code"), EXIT_CODES)
def test_each_kind_of_error_ends_the_program_with_its_own_code(
    kind: type[CostplanError], code: int
) -> None:
    assert kind.exit_code == code
    assert kind("no").exit_code == code


def test_every_kind_of_error_has_a_row_in_the_table() -> None:
    def below(kind: type[CostplanError]) -> set[type[CostplanError]]:
        return {kind}.union(*(below(child) for child in kind.__subclasses__()))

    ours = {kind for kind in below(CostplanError) if kind.__module__.startswith("costplan.")}
    assert ours == {kind for kind, _ in EXIT_CODES}


def test_no_code_is_used_twice_and_none_means_success() -> None:
    codes = [code for _, code in EXIT_CODES]
    assert len(set(codes)) == len(codes)
    assert 0 not in codes


@pytest.mark.parametrize("kind", [kind for kind, _ in EXIT_CODES])
def test_an_error_carries_its_message_and_its_hint(kind: type[CostplanError]) -> None:
    err = kind("epochs is missing", hint="add epochs: 10")
    assert str(err) == "epochs is missing"
    assert err.hint == "add epochs: 10"


def test_an_error_without_a_hint_has_none() -> None:
    assert InputError("no").hint is None


@pytest.mark.parametrize(
    ("name", "valid", "hint"),
    [
        ("epoch", ["epochs", "samples"], "did you mean epochs?"),
        ("epohcs", ["epochs", "samples"], "did you mean epochs?"),
        # Case decides nothing, and the hint is spelled as the valid name is.
        ("EPOCHS", ["epochs"], "did you mean epochs?"),
        ("rtx-4090", ["RTX-4090", "T4"], "did you mean RTX-4090?"),
        ("Rtx-4O9O", ["RTX-4090", "T4"], "did you mean RTX-4090?"),
        # Two letters of four on either side are half: near enough. Two of five are not.
        ("abcd", ["abxy"], "did you mean abxy?"),
        ("abcde", ["abxyz"], None),
        ("zzzz", ["epochs", "samples"], None),
        ("epochs", [], None),
        ("", ["epochs"], None),
        # The nearest comes first: H100-SXN differs from it in one letter, from the next in two.
        ("H100-SXN", ["H200-SXM", "H100-SXM"], "did you mean H100-SXM or H200-SXM?"),
    ],
)
def test_the_hint_names_what_is_near_and_nothing_else(
    name: str, valid: list[str], hint: str | None
) -> None:
    assert nearest(name, valid) == hint


FOUR = ["gpu-a", "gpu-b", "gpu-c", "gpu-d"]


def test_a_hint_names_at_most_three() -> None:
    hint = nearest("gpu-x", FOUR)
    assert hint is not None
    assert hint.count(" or ") == 2


@pytest.mark.parametrize(("count", "ors"), [(1, 0), (2, 1), (4, 3)])
def test_a_hint_names_as_many_as_are_asked_for(count: int, ors: int) -> None:
    hint = nearest("gpu-x", FOUR, count=count)
    assert hint is not None
    assert hint.count(" or ") == ors


def test_a_name_given_twice_is_named_once() -> None:
    assert nearest("epoch", ["epochs", "epochs"]) == "did you mean epochs?"


names = st.text("abcXYZ01-_", min_size=1, max_size=12)


@given(names, st.lists(names, max_size=6, unique_by=str.lower))
def test_law_a_valid_name_is_its_own_nearest(name: str, others: list[str]) -> None:
    valid = [name, *(other for other in others if other.lower() != name.lower())]
    hint = nearest(name, valid)
    assert hint is not None
    assert hint.removesuffix("?").split(" or ")[0] == f"did you mean {name}"


@given(st.text(max_size=12), st.lists(names, max_size=6, unique_by=str.lower))
def test_law_a_hint_names_valid_names_only(name: str, valid: list[str]) -> None:
    hint = nearest(name, valid)
    if hint is not None:
        named = hint.removeprefix("did you mean ").removesuffix("?").split(" or ")
        assert set(named) <= set(valid)
