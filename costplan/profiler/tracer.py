"""A few steps under torch.profiler, in a burst of their own that no clock of ours looks at.

How long kernels take is true under a tracer, how long a step takes is not. Whatever fails here
leaves the program alone, and is said.
"""

from __future__ import annotations

import contextlib
import gc
import warnings
from typing import Any, Final

import torch

from costplan.profiler.device import FAILS, in_use

UNTRACED: Final = 1
"""Steps in which the tracer gets ready: it takes seconds where it starts on a device."""
TRACED: Final = 6


class Tracer:
    """Writes a trace of the steps between its `step` calls to a file."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.problem: str | None = None
        self.written = False
        self._profile: Any = None

    def start(self) -> None:
        """Begin, at the border of two steps."""
        self._try(self._begin)

    def step(self) -> bool:
        """Note the border of two steps; return whether all are traced, or none can be."""
        if self._profile is not None and not self.written:
            self._try(self._profile.step)
        return self.written or self.problem is not None

    def stop(self) -> None:
        """End, whether or not all steps came."""
        profile, self._profile = self._profile, None
        if profile is not None:
            self._try(profile.stop)
        if not self.written and self.problem is None:
            self.problem = "the program ended before a step was traced"

    def _begin(self) -> None:
        if traces_itself():
            raise RuntimeError("the program traces itself")
        kinds = {torch.profiler.ProfilerActivity.CPU}
        if in_use():
            kinds.add(torch.profiler.ProfilerActivity.CUDA)
        profile = torch.profiler.profile(
            activities=sorted(kinds & torch.profiler.supported_activities(), key=str),
            schedule=torch.profiler.schedule(wait=0, warmup=UNTRACED, active=TRACED, repeat=1),
            on_trace_ready=self._write,
        )
        profile.start()
        self._profile = profile

    def _write(self, profile: Any) -> None:
        profile.export_chrome_trace(self.path)
        self.written = True

    def _try(self, call: Any) -> None:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                call()
        except FAILS as error:
            profile, self._profile = self._profile, None
            if profile is not None:
                with contextlib.suppress(*FAILS):
                    profile.stop()
            self.problem = f"{type(error).__name__}: {error}".splitlines()[0][:200]


def traces_itself() -> bool:
    """Return whether the program has a tracer of its own, at work or waiting for its steps.

    A second one would take the place of the first, without a word.
    """
    own = torch.profiler.profile
    gc.collect()  # one that is done and forgotten counts no longer
    return torch.autograd._profiler_enabled() or any(type(each) is own for each in gc.get_objects())
