"""Places the hooks inside a training program: on the loader's next batch and the optimizer's step.

Runs in every Python process of the command, with the standard library alone until the program
itself imports torch. A hook that cannot be placed is said, and the program runs on.
"""

from __future__ import annotations

import importlib.abc
import importlib.util
import json
import os
import sys
import time
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from costplan.profiler import guard
from costplan.profiler.wrapping import is_within

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType

LOADER: Final = "torch.utils.data.dataloader"
OPTIMIZER: Final = "torch.optim.optimizer"
PLACED: Final[list[Callable[[], object]]] = []
"""What takes the hooks off again."""


def start() -> None:
    """Guard the user's files, and wait for torch without importing it."""
    settings = json.loads(os.environ["COSTPLAN_PROFILE"])
    guard.start(settings)
    wanted: dict[str, Callable[[Any], None]] = dict.fromkeys(guard.MODULES, guard.protect)
    wanted[LOADER] = lambda module: on_loader(module, settings)
    wanted[OPTIMIZER] = lambda module: on_optimizer(module, settings)
    sys.meta_path.insert(0, Waits(wanted))


class Waits(importlib.abc.MetaPathFinder):
    """Lets the real finders find a module, and calls back once it has been executed."""

    def __init__(self, wanted: dict[str, Callable[[Any], None]]) -> None:
        self.wanted = wanted

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the spec of a wanted module, its loader wrapped; None for any other."""
        then = self.wanted.pop(fullname, None)
        if then is None:
            return None
        spec = importlib.util.find_spec(fullname)
        if spec is None or spec.loader is None:
            return None
        spec.loader = After(spec.loader, then)
        return spec


class After(importlib.abc.Loader):
    """Executes a module as its own loader does, then calls back."""

    def __init__(self, loader: Any, then: Callable[[Any], None]) -> None:
        self.loader, self.then = loader, then

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """Create it as its own loader does."""
        made: ModuleType | None = self.loader.create_module(spec)
        return made

    def exec_module(self, module: ModuleType) -> None:
        """Execute it, and call back; a hook that cannot be placed is said."""
        self.loader.exec_module(module)
        try:
            self.then(module)
        except (AttributeError, ImportError, TypeError) as error:
            sys.stderr.write(f"costplan: no hook on {module.__name__}: {error}\n")

    def __getattr__(self, name: str) -> Any:
        """Answer everything else as its own loader does."""
        return getattr(self.loader, name)


def on_loader(module: Any, settings: dict[str, Any]) -> None:
    """Ask the conductor for each batch of a torch DataLoader."""
    iterator, loader = module._BaseDataLoaderIter, module.DataLoader
    real_next, real_get = iterator.__next__, loader._get_iterator

    def get_iterator(self: Any) -> Any:
        began_s = time.perf_counter()
        made = real_get(self)
        made._costplan_loader, made._costplan_began_s = self, began_s
        return made

    def next_batch(self: Any) -> Any:
        leads = _of_process()(settings)
        if leads is not None and leads.is_done:
            drop()
            leads = None
        return real_next(self) if leads is None else leads.next_batch(self, real_next)

    def put_back() -> None:
        if iterator.__next__ is next_batch:  # and not what somebody has put around it since
            iterator.__next__ = real_next
        if loader._get_iterator is get_iterator:
            loader._get_iterator = real_get

    next_batch._costplan_real = real_next  # type: ignore[attr-defined]
    loader._get_iterator = get_iterator
    iterator.__next__ = next_batch
    PLACED.append(put_back)


def on_optimizer(module: Any, settings: dict[str, Any]) -> None:
    """Tell the conductor of each optimizer step."""

    def stepped(optimizer: object, *_: object) -> None:
        leads = _of_process()(settings)
        if leads is not None and not is_within(sys._getframe(1)):
            leads.stepped(optimizer)

    PLACED.append(module.register_optimizer_step_post_hook(stepped).remove)


@cache
def _of_process() -> Callable[[dict[str, Any]], Any]:
    """Return what knows the conductor of a process; it needs torch, which is whole by a batch."""
    from costplan.profiler import conductor

    return conductor.of_process


def drop() -> None:
    """Take the hooks off a program that trains on."""
    while PLACED:
        PLACED.pop()()
