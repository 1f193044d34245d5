"""How much of a step lies outside the forward and backward pass and the optimizer.

In a program without torch's loader its own way of loading lies there, and costs no more than that:
before the forward pass, after it as nanoGPT does, or between the batches of one optimizer step. So
do logging and the like: it is a bound. Runs inside the training program.
"""

from __future__ import annotations

import functools
import gc
import sys
import time
from typing import TYPE_CHECKING, Any, Final

from costplan.profiler import device
from costplan.profiler.wrapping import Wrapped, is_within

if TYPE_CHECKING:
    from collections.abc import Callable

MOST_MODULES: Final = 16
"""Called one after the other in a step: encoder, decoder, a few heads."""
COMPILED: Final = "torch.compile is in use, and hooks on what it compiled would change it"
UNCALLED: Final = "no module with trained parameters was called"


class Outside:
    """Counts what lies inside, from the first step to the last; hooks on nothing before and after.

    The modules are found in one step with a hook on all: the outermost that hold parameters of an
    optimizer. From the next step on the hooks are on those alone.
    """

    def __init__(self, clock: Callable[[], float] = time.perf_counter) -> None:
        self.clock = clock
        self.why_no_forward: str | None = None
        self.is_on, self.is_known = False, False
        self.trained: set[int] = set()
        self.called: list[Any] = []
        """Outermost modules of the present step, while they are looked for."""
        self.wrapped = Wrapped()
        self.looking: list[Any] = []
        """Hooks on all modules, for one step."""
        self.handles: list[Any] = []
        self._inside_s, self._depth, self._began_s, self._spans = 0.0, 0, 0.0, 0
        self._optimizer: tuple[float, int] | None = None

    def rest_s(self, now_s: float, since_s: float | None, *, is_over: bool = False) -> float:
        """Return the seconds since a moment that lie outside; all of them while nothing is known.

        Args:
            now_s: When an optimizer's step has ended.
            since_s: When the last one had; None where that was not seen.
            is_over: Whether nobody asks any more: the hooks are taken off.
        """
        self._optimized(now_s)
        inside_s = self._inside_s
        self._inside_s, self._depth = 0.0, 0
        if is_over:
            self.off()
        elif not self.is_on:
            self._start()
        elif not self.is_known:
            self._settle()
        return 0.0 if since_s is None else max(0.0, now_s - since_s - inside_s)

    def told(self) -> dict[str, Any]:
        """Return what is kept of it; nothing where there was nothing to count."""
        if not self.is_known:
            return {}
        return {"outside_seen": True, "why_no_forward": self.why_no_forward}

    def off(self) -> None:
        """Take all hooks off; what was counted stays known."""
        self.wrapped.off()
        for handle in (*self.looking, *self.handles):
            handle.remove()
        self.looking, self.handles, self.called = [], [], []

    # --- hooks ----------------------------------------------------------------------------------

    def _start(self) -> None:
        self.is_on = True
        try:
            import torch
            from torch.nn.modules import module
            from torch.optim.optimizer import (
                register_optimizer_step_post_hook,
                register_optimizer_step_pre_hook,
            )

            for name in ("backward", "grad"):
                self.wrapped.put(torch.autograd, name, self._counted)
            self.handles += [
                register_optimizer_step_pre_hook(self._optimizes),
                register_optimizer_step_post_hook(self._optimized_now),
            ]
            if not device.compiles():  # there a hook on all modules warns, and may compile anew
                self.looking.append(module.register_module_forward_pre_hook(self._look))
                self.looking.append(
                    module.register_module_forward_hook(self._looked, always_call=True)
                )
        except device.FAILS as error:
            self.why_no_forward = f"{type(error).__name__}: {error}"[:200]

    def _settle(self) -> None:
        """End to look for modules, and listen to those that were found."""
        self.is_known = True
        for handle in self.looking:
            handle.remove()
        found = compiled() if device.compiles() else self.called
        self.looking, self.called = [], []
        try:
            mine = [each for each in found if self._trains(each)][:MOST_MODULES]
            for module in mine:
                self.handles.append(module.register_forward_pre_hook(self._enter))
                self.handles.append(module.register_forward_hook(self._leave, always_call=True))
        except device.FAILS as error:
            self.why_no_forward = f"{type(error).__name__}: {error}"[:200]
            return
        if not mine and self.why_no_forward is None:
            self.why_no_forward = COMPILED if device.compiles() else UNCALLED

    def _trains(self, module: Any) -> bool:
        """Return whether a module holds a parameter of an optimizer, and is not compiled itself."""
        if getattr(module, "_compiled_call_impl", None) is not None:
            return False
        return any(id(each) in self.trained for each in module.parameters())

    def _look(self, module: Any, *_: Any) -> None:
        self._depth += 1
        if self._depth == 1 and not any(each is module for each in self.called):
            self.called.append(module)

    def _looked(self, *_: Any) -> None:
        self._depth = max(0, self._depth - 1)

    def _enter(self, *_: Any) -> None:
        if self._depth == 0:
            self._began_s = self.clock()
        self._depth += 1

    def _leave(self, *_: Any) -> None:
        self._depth = max(0, self._depth - 1)
        if self._depth == 0:
            self._inside_s += self.clock() - self._began_s
            self._spans += 1

    def _counted(self, real: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(real)
        def counted(*args: Any, **kwargs: Any) -> Any:
            self._enter()
            try:
                return real(*args, **kwargs)
            finally:
                self._leave()

        return counted

    def _optimizes(self, optimizer: Any, *_: Any) -> None:
        if is_within(sys._getframe(1)):
            return
        if not self.is_known:
            self.trained |= {
                id(each) for group in optimizer.param_groups for each in group["params"]
            }
        self._optimizer = (self.clock(), self._spans)

    def _optimized_now(self, *_: Any) -> None:
        if not is_within(sys._getframe(1)):
            self._optimized(self.clock())

    def _optimized(self, now_s: float) -> None:
        """Count a step of an optimizer, but for one that loads, goes forward and back inside it."""
        if self._optimizer is not None:
            began_s, spans = self._optimizer
            if spans == self._spans:
                self._inside_s += now_s - began_s
        self._optimizer = None


def compiled() -> list[Any]:
    """Return the modules that torch.compile was given: what calls them is not compiled itself."""
    kind = getattr(sys.modules.get("torch._dynamo.eval_frame"), "OptimizedModule", None)
    return [] if kind is None else [each for each in gc.get_objects() if type(each) is kind]
