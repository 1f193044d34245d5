"""Which builds of torch run on which GPU and driver."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

INDEX: Final = "https://download.pytorch.org/whl"
LEAST_DRIVER: Final = {11: 450, 12: 525, 13: 580}
"""CUDA's major version and the oldest driver branch that runs it: table 1 of NVIDIA's CUDA
Compatibility, Minor Version Compatibility, read 2026-11."""

_ARCH = re.compile(r"(sm|compute)_(\d+)(\d)([af]?)")


class Wheel(NamedTuple):
    """A build that PyTorch publishes."""

    tag: str
    cuda_major: int
    lowest: tuple[int, int]
    highest: tuple[int, int]
    """Compute capabilities that it has kernels for."""


# Newest first. Capabilities: PyTorch's release matrix, as in pytorch/pytorch issues 172352 and
# 157517: 12.6 is the last with Maxwell to Volta, 12.8 the first with Blackwell. The highest minor
# number is open: a kernel for 12.0 runs on 12.1.
WHEELS: Final = (
    Wheel("cu130", 13, (7, 5), (12, 9)),
    Wheel("cu128", 12, (7, 5), (12, 9)),
    Wheel("cu126", 12, (5, 0), (9, 0)),
    Wheel("cu118", 11, (3, 7), (9, 0)),
)


def capability_of(text: str | None) -> tuple[int, int] | None:
    """Return a compute capability as numbers; AMD's and unknown ones are None.

    >>> capability_of("12.0"), capability_of("gfx942")
    ((12, 0), None)
    """
    found = re.fullmatch(r"(\d+)\.(\d+)", text or "")
    return None if found is None else (int(found[1]), int(found[2]))


def major(version: str | None) -> int | None:
    """Return the number in front of a version.

    >>> major("570.86.10"), major(None)
    (570, None)
    """
    found = re.match(r"\d+", version or "")
    return None if found is None else int(found[0])


def has_kernels(arches: Iterable[str], capability: tuple[int, int]) -> bool:
    """Return whether a build with kernels for `arches` runs on a GPU of `capability`.

    NVIDIA's Blackwell Compatibility Guide, 1.2: a binary runs on its own major version from its
    minor version on; PTX is compiled for everything newer; `a` runs on that one chip only, `f` on
    its family.

    >>> has_kernels(["sm_80"], (8, 6)), has_kernels(["sm_90"], (12, 0))
    (True, False)
    """
    for arch in arches:
        found = _ARCH.fullmatch(arch)
        if found is None:
            continue
        built, only = (int(found[2]), int(found[3])), found[4]
        if only == "a" and built != capability:
            continue
        newer = found[1] == "compute" and not only and capability >= built
        if newer or (built[0] == capability[0] and built <= capability):
            return True
    return False


def wheel_for(capability: tuple[int, int] | None, driver: str | None) -> Wheel | None:
    """Return the newest build for a GPU under a driver; None where no build fits both.

    Where the driver is unknown, the build that asks least of it; without a capability, any card.
    """
    branch = major(driver)
    fitting = [
        wheel
        for wheel in WHEELS
        if capability is None or wheel.lowest <= capability <= wheel.highest
    ]
    if branch is None:
        return next((wheel for wheel in fitting if wheel.cuda_major == 12), None)
    return next((wheel for wheel in fitting if branch >= LEAST_DRIVER[wheel.cuda_major]), None)


def command_for(wheel: Wheel) -> str:
    """Return how to install a build."""
    return f"pip install --force-reinstall torch --index-url {INDEX}/{wheel.tag}"
