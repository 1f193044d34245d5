"""The builtin training programs by name, and the command line that starts one.

Knows no torch: the programs run in a process of their own, as a user's command does.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final, NamedTuple

from costplan.errors import InputError, nearest

if TYPE_CHECKING:
    from collections.abc import Sequence


class Builtin(NamedTuple):
    """One builtin training program."""

    room: str
    """The module below this package that is run."""
    batch: int
    """Samples of a batch, unless asked otherwise."""
    about: str


BUILTINS: Final[dict[str, Builtin]] = {
    # ResNets and detector: 32 and 16 images for each of 8 GPUs as in their papers (He et al. 2016,
    # sec. 4: 256; RetinaNet, Lin et al. 2017, sec. 4.1: 16 over 8, here on one).
    "resnet18": Builtin("images", 32, "ResNet-18 on a folder of images, 224 x 224"),
    "resnet50": Builtin("images", 32, "ResNet-50 on a folder of images, 224 x 224"),
    "detector": Builtin("boxes", 16, "ResNet-18 with three levels of box heads, 320 x 320"),
    "gpt-mini": Builtin("tokens", 32, "a transformer of 6 layers x 384 on 256 bytes of text"),
    "gpt2": Builtin("tokens", 8, "the shape of GPT-2 small, 124 M parameters, on 1024 tokens"),
}
PRECISIONS: Final = ("fp32", "tf32", "amp", "bf16")
"""`amp` is float16 with a gradient scaler, `bf16` bfloat16 without; both leave the rest in fp32."""
REFUSAL: Final = "refused.json"
"""In the folder of the data: why a builtin cannot run as it was asked to."""


def found(name: str) -> Builtin:
    """Return the builtin of a name.

    Raises:
        InputError: There is none; the hint lists all.
    """
    if name in BUILTINS:
        return BUILTINS[name]
    near = nearest(name, BUILTINS)
    hint = "; ".join(filter(None, [near, f"there are: {', '.join(BUILTINS)}"]))
    raise InputError(f"--builtin {name}: there is no such program", hint=hint)


def command(name: str, folder: str, more: Sequence[str]) -> list[str]:
    """Return the command line of a builtin that makes its data below `folder`."""
    room = f"costplan.profiler.builtin.{BUILTINS[name].room}"
    return [sys.executable, "-m", room, name, "--folder", folder, *more]
