"""What of a step lies outside forward, backward and optimizer, on a clock that the parts move."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from typing import Any

import pytest

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch")
outside = pytest.importorskip("costplan.profiler.outside")


class Clock:
    now_s = 0.0

    def __call__(self) -> float:
        return self.now_s

    def takes(self, seconds: float) -> None:
        self.now_s += seconds


CLOCK = Clock()
LOADS_S, FORWARD_S, BACKWARD_S, STEPS_S, ZEROES_S = 7.0, 3.0, 5.0, 2.0, 0.5


class Slow(torch.autograd.Function):  # type: ignore[misc, name-defined]
    """Takes its time on the way back."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x.clone()

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        CLOCK.takes(BACKWARD_S)
        return grad


class Net(torch.nn.Module):  # type: ignore[misc, name-defined]
    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(2, 2)

    def forward(self, x: Any) -> Any:
        CLOCK.takes(FORWARD_S)
        return self.layer(x)


class Step(torch.optim.SGD):  # type: ignore[misc, name-defined]
    def step(self, closure: Any = None) -> Any:
        CLOCK.takes(STEPS_S)
        return super().step(closure)


class Program:
    """A program without a loader, and what the conductor asks at the end of each of its steps."""

    def __init__(self, net: Any, parameters: Any = None) -> None:
        self.outside = outside.Outside(CLOCK)
        self.net = net
        self.optimizer = Step(net.parameters() if parameters is None else parameters, lr=0.1)
        self.last_s: float | None = None

    def loads(self) -> Any:
        CLOCK.takes(LOADS_S)
        return torch.ones(1, 2)

    def loss(self, batch: Any, run: Callable[[Any], Any] | None = None) -> Any:
        return Slow.apply((run or self.net)(batch)).sum()

    def ends(self, *, is_over: bool = False) -> float:
        rest_s: float = self.outside.rest_s(CLOCK(), self.last_s, is_over=is_over)
        self.last_s = CLOCK()
        return rest_s

    def rests(self, step: Callable[[], None], steps: int = 4) -> list[float]:
        """Return what lies outside of each step; nothing is known of the first and the second."""
        found = []
        for _ in range(steps):
            step()
            found.append(self.ends())
        return found


@pytest.fixture
def program() -> Iterator[Program]:
    made = Program(Net())
    yield made
    made.outside.off()


def one(program: Program) -> None:
    """Load, go forward and back, step, zero: as a loop over a generator."""
    batch = program.loads()
    program.loss(batch).backward()
    program.optimizer.step()


def test_loading_is_all_that_lies_outside_of_a_plain_loop(program: Program) -> None:
    assert program.rests(lambda: one(program))[2:] == [LOADS_S] * 2
    assert program.outside.told() == {"outside_seen": True, "why_no_forward": None}


def test_until_the_modules_are_found_the_forward_pass_counts_as_outside(program: Program) -> None:
    # nothing is known of what came before the first end; of the second step all but the forward
    assert program.rests(lambda: one(program))[:2] == [0.0, LOADS_S + FORWARD_S]


def test_zeroing_and_logging_count_as_outside(program: Program) -> None:
    def step() -> None:
        one(program)
        program.ends()
        CLOCK.takes(ZEROES_S)  # after the step: it falls into the next one

    program.rests(lambda: one(program))
    step()
    one(program)
    assert program.ends() == LOADS_S + ZEROES_S


def test_a_batch_loaded_between_forward_and_backward_is_outside_too(program: Program) -> None:
    def step() -> None:  # two batches to an optimizer step, each fetched as nanoGPT does
        for _ in range(2):
            loss = program.loss(torch.ones(1, 2))
            program.loads()
            loss.backward()
        program.optimizer.step()

    assert program.rests(step)[2:] == [2 * LOADS_S] * 2


def test_gradients_asked_for_by_function_are_inside(program: Program) -> None:
    def step() -> None:
        loss = program.loss(program.loads())
        parameters = list(program.net.parameters())
        for each, grad in zip(parameters, torch.autograd.grad(loss, parameters), strict=True):
            each.grad = grad
        program.optimizer.step()

    assert program.rests(step)[2:] == [LOADS_S] * 2


def test_two_nets_with_an_optimizer_each_are_inside(program: Program) -> None:
    other = Net()
    second = Step(other.parameters(), lr=0.1)

    def step() -> None:
        second.zero_grad()
        program.loss(program.loads()).backward()
        program.loss(program.loads(), other).backward()
        second.step()
        program.optimizer.step()

    assert program.rests(step)[2:] == [2 * LOADS_S] * 2


def test_a_net_within_a_net_counts_once(program: Program) -> None:
    outer = torch.nn.Sequential(program.net, torch.nn.Linear(2, 2))

    def step() -> None:
        program.loss(program.loads(), outer).backward()
        program.optimizer.step()

    assert program.rests(step)[2:] == [LOADS_S] * 2
    assert len(program.outside.handles) == 4  # two of the optimizer, two of the outer module


def test_a_module_that_trains_nothing_may_be_a_part_of_loading(program: Program) -> None:
    class Augments(torch.nn.Module):  # type: ignore[misc, name-defined]
        def forward(self, x: Any) -> Any:
            CLOCK.takes(4.0)
            return x

    augments = Augments()

    def step() -> None:
        program.loss(augments(program.loads())).backward()
        program.optimizer.step()

    assert program.rests(step)[2:] == [LOADS_S + 4.0] * 2


def test_a_closure_that_loads_within_the_optimizers_step_is_outside(program: Program) -> None:
    def closure() -> Any:
        loss = program.loss(program.loads())
        loss.backward()
        return loss

    # what the optimizer itself takes cannot be told from what its closure loads
    rests = program.rests(lambda: program.optimizer.step(closure))
    assert rests[2:] == [LOADS_S + STEPS_S] * 2


def test_parameters_without_a_module_leave_the_forward_pass_outside() -> None:
    weight = torch.ones(2, 2, requires_grad=True)
    program = Program(Net(), [weight])

    def run(x: Any) -> Any:
        CLOCK.takes(FORWARD_S)
        return x @ weight

    def step() -> None:
        program.loss(program.loads(), run).backward()
        program.optimizer.step()

    assert program.rests(step)[2:] == [LOADS_S + FORWARD_S] * 2
    assert program.outside.told()["why_no_forward"] == outside.UNCALLED
    program.outside.off()


def test_a_forward_pass_that_fails_leaves_the_next_step_right(program: Program) -> None:
    program.rests(lambda: one(program))
    with pytest.raises(RuntimeError):
        program.net(torch.ones(1, 3))  # of the wrong shape, which the program survives
    one(program)
    assert program.ends() == LOADS_S
    one(program)
    assert program.ends() == LOADS_S


def test_no_hook_is_left_after_the_last_step(program: Program) -> None:
    from torch.optim.optimizer import _global_optimizer_post_hooks, _global_optimizer_pre_hooks

    real = torch.autograd.backward, torch.autograd.grad
    before = len(_global_optimizer_pre_hooks), len(_global_optimizer_post_hooks)
    program.rests(lambda: one(program))
    assert torch.autograd.backward is not real[0]
    assert not torch.nn.modules.module._has_any_global_hook()  # after one step
    one(program)
    program.ends(is_over=True)
    assert (torch.autograd.backward, torch.autograd.grad) == real
    assert not program.net._forward_pre_hooks
    assert not program.net._forward_hooks
    assert before == (len(_global_optimizer_pre_hooks), len(_global_optimizer_post_hooks))


def test_nothing_is_hooked_before_a_step_without_a_loader() -> None:
    real = torch.autograd.backward
    made = outside.Outside(CLOCK)
    assert torch.autograd.backward is real
    assert made.told() == {}


@pytest.mark.slow
def test_a_compiled_module_is_found_without_a_hook_on_all(monkeypatch: pytest.MonkeyPatch) -> None:
    gc.collect()
    net = Net()
    program = Program(net)
    # The clock of the net moves while it is compiled only: what is compiled holds no such call.
    program.net = torch.compile(torch.nn.Sequential(net.layer), backend="eager")
    program.net(torch.ones(1, 2))  # compiled by now
    seen = []
    monkeypatch.setattr(outside.Outside, "_look", lambda *_: seen.append(1))

    def step() -> None:
        batch = program.loads()
        program.loss(batch).backward()
        program.optimizer.step()

    assert program.rests(step)[2:] == [LOADS_S] * 2
    assert (seen, len(program.outside.handles)) == ([], 4)
    assert program.outside.told()["why_no_forward"] is None
    program.outside.off()
    torch._dynamo.reset()
