"""The hooks on an optimizer: one call for each step of the program."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch


class Clipped(torch.optim.SGD):  # type: ignore[misc, name-defined]
    def step(self, closure: Any = None) -> Any:
        return super().step(closure)


class Failing(Clipped):
    def step(self, closure: Any = None) -> Any:
        super().step(closure)
        raise ValueError("a step that fails")


class Outer(Clipped):
    """Steps another optimizer within its own step."""

    other: Any

    def step(self, closure: Any = None) -> Any:
        self.other.step()
        return super().step(closure)


def made(kind: Any) -> Any:
    return kind([torch.nn.Parameter(torch.ones(2))], lr=0.1)


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Give a list of the optimizers that were seen to step."""
    from costplan.profiler import hooks

    class Leads:
        def __init__(self) -> None:
            self.seen: list[object] = []

        def stepped(self, optimizer: object) -> None:
            self.seen.append(optimizer)

    leads = Leads()
    monkeypatch.setattr(hooks, "_of_process", lambda: lambda _: leads)
    hooks.on_optimizer(import_module("torch.optim.optimizer"), {})
    yield leads.seen
    hooks.drop()


def test_a_step_that_calls_the_step_of_its_base_is_one(seen: list[object]) -> None:
    made(torch.optim.SGD)  # from here on torch has wrapped both
    optimizer = made(Clipped)
    for _ in range(3):
        optimizer.step()
    assert seen == [optimizer] * 3


def test_after_a_step_that_fails_the_next_one_counts(seen: list[object]) -> None:
    made(torch.optim.SGD), made(Clipped)
    failing, optimizer = made(Failing), made(Clipped)
    with pytest.raises(ValueError, match="a step that fails"):
        failing.step()
    seen.clear()
    optimizer.step()
    assert seen == [optimizer]


def test_an_optimizer_within_the_step_of_another_counts_too(seen: list[object]) -> None:
    outer, inner = made(Outer), made(torch.optim.SGD)
    outer.other = inner
    outer.step()
    assert seen == [inner, outer]
