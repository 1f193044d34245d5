"""What torch in the interpreter that will train says: its build, the driver, real kernels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from costplan.records.checks import CheckLine
from costplan.wheels import (
    LEAST_DRIVER,
    capability_of,
    command_for,
    has_kernels,
    major,
    wheel_for,
)

if TYPE_CHECKING:
    from costplan.records.checks import BoxFacts, KernelTry, TorchFacts

# Largest difference over the largest value. Chosen: a rounding to each precision leaves 2^-24,
# 2^-11, 2^-11 and 2^-9 of a value; a convolution by a faster algorithm loses some more in fp32;
# a kernel that is broken is off by whole values.
BOUNDS: Final = {"fp32": 1e-4, "tf32": 1e-2, "fp16": 1e-2, "bf16": 5e-2}
NO_KERNEL: Final = "no kernel image"
"""Of the message that CUDA gives where a build has no kernels for a GPU."""
OTHER_PYTHON: Final = "install torch, or name the interpreter that will train with --python"


def lines(box: BoxFacts) -> list[CheckLine]:
    """Return a line for torch itself, for its match with the driver, and for its kernels."""
    torch = box.torch
    if torch.problem is not None:
        says = f"{torch.python}: {torch.problem}"
        return [CheckLine(name="torch", level="unknown", says=says, todo=OTHER_PYTHON)]
    if torch.installed is False:
        says = f"not installed in {torch.python}: no kernel could be tried"
        return [CheckLine(name="torch", level="unknown", says=says, todo=_install(box))]
    found = [_build(box), _driver(box), _kernels(box)]
    return [line for line in found if line is not None]


def _install(box: BoxFacts) -> str:
    wheel = wheel_for(_capability(box), _driver_of(box)) if box.gpus else None
    return OTHER_PYTHON if wheel is None else f"{command_for(wheel)}; or name its --python"


def _build(box: BoxFacts) -> CheckLine:
    torch = box.torch
    if torch.broken is not None or torch.version is None:
        says = f"{torch.python}: {torch.broken or torch.crashed or 'it told nothing'}"
        todo = "install it anew; if it breaks again, return the box"
        return CheckLine(name="torch", level="fail", says=says, todo=todo, fault="setup")
    built = f"CUDA {torch.cuda}" if torch.cuda else f"ROCm {torch.hip}" if torch.hip else None
    says = f"{torch.version}, built for {built or 'the processor only'}, {torch.python}"
    present = bool(box.gpus) or box.gpu_present
    if built is None and present:
        wheel = wheel_for(_capability(box), _driver_of(box))
        todo = "install a build with CUDA" if wheel is None else command_for(wheel)
        return CheckLine(name="torch", level="fail", says=says, todo=todo, fault="setup")
    if not torch.available:
        return _unavailable(torch, says, present=present)
    return CheckLine(name="torch", level="ok", says=says)


def _unavailable(torch: TorchFacts, says: str, *, present: bool) -> CheckLine:
    why = torch.unavailable or "no reason given"
    if not present:
        todo = "no GPU is seen here: it would train on the processor"
        return CheckLine(name="torch", level="warn", says=f"{says}: no GPU", todo=todo)
    says = f"{says}: it finds no GPU: {why}"
    todo = "look at CUDA_VISIBLE_DEVICES and the driver; if both are right, return it"
    return CheckLine(name="torch", level="fail", says=says, todo=todo, fault="box")


def _driver(box: BoxFacts) -> CheckLine | None:
    """Return whether the driver runs what torch was built for; None where torch has no CUDA."""
    built = major(box.torch.cuda)
    if built is None:
        return None
    branch, oldest = major(_driver_of(box)), LEAST_DRIVER.get(built)
    if branch is None or oldest is None:
        says = f"CUDA {box.torch.cuda} of torch, driver {_driver_of(box) or 'unknown'}"
        return CheckLine(name="driver", level="unknown", says=f"{says}: no rule for this pair")
    says = f"{_driver_of(box)}; CUDA {box.torch.cuda} of torch asks for {oldest} or newer"
    if branch >= oldest:
        return CheckLine(name="driver", level="ok", says=says)
    wheel = wheel_for(_capability(box), _driver_of(box))
    if _all_right(box.torch):  # a compatibility package of the image makes up for it
        return CheckLine(name="driver", level="warn", says=f"{says}, and kernels run",
                         todo="keep the compatibility package of this image")  # fmt: skip
    if wheel is None:
        todo = "return it: no build of torch fits this GPU and driver"
        return CheckLine(name="driver", level="fail", says=says, todo=todo, fault="box")
    return CheckLine(name="driver", level="fail", says=says, todo=command_for(wheel), fault="setup")


def _kernels(box: BoxFacts) -> CheckLine | None:
    torch = box.torch
    missing = [each for each in torch.tries if NO_KERNEL in (each.problem or "")]
    if missing:
        return _no_kernels(box, missing)
    if torch.crashed is not None and torch.version is not None:
        says = f"the process was lost: {torch.crashed}"
        todo = "run it once more; if it is lost again, return the box"
        return CheckLine(name="kernels", level="fail", says=says, todo=todo, fault="box")
    wrong = [each for each in torch.tries if not is_right(each)]
    if wrong:
        says = "; ".join(_wrong(each) for each in wrong[:3])
        todo = "return it: what trains on this GPU cannot be trusted"
        return CheckLine(name="kernels", level="fail", says=says, todo=todo, fault="box")
    if not torch.devices:
        return _processor(torch)
    names = ", ".join(dict.fromkeys(each.precision for each in torch.tries))
    count = len(torch.devices)
    says = f"{names}: as the processor computes, on {count} GPU{'s' * (count > 1)}"
    if box.gpus is not None and len(box.gpus) > count:
        todo = "look at CUDA_VISIBLE_DEVICES"
        says += f" of {len(box.gpus)}"
        return CheckLine(name="kernels", level="warn", says=says, todo=todo)
    return CheckLine(name="kernels", level="ok", says=says)


def _processor(torch: TorchFacts) -> CheckLine | None:
    if not torch.tries:
        return None
    says = "none ran on a GPU; the processor's own are right"
    return CheckLine(name="kernels", level="unknown", says=says)


def _no_kernels(box: BoxFacts, missing: list[KernelTry]) -> CheckLine:
    """Say what a build lacks: it reports CUDA as available, and every kernel fails."""
    torch, first = box.torch, missing[0].device
    device = next((each for each in torch.devices if each.index == first), None)
    capability = capability_of(None if device is None else device.capability)
    arches = " ".join(torch.arches) or "no GPU that it tells"
    name = "this GPU" if device is None else f"{device.name} ({_sm(device.capability)})"
    says = (
        f"torch {torch.version} says that CUDA is available and has no kernels for {name}: "
        f"it was built for {arches}"
    )
    if capability is not None and torch.cuda and has_kernels(torch.arches, capability):
        says += ", which should do: some part of it was not"
    wheel = wheel_for(capability, _driver_of(box)) if torch.cuda else None
    if wheel is None:
        todo = "return it: no published build fits this GPU and driver"
        return CheckLine(name="kernels", level="fail", says=says, todo=todo, fault="box")
    return CheckLine(
        name="kernels", level="fail", says=says, todo=command_for(wheel), fault="setup"
    )


def _sm(capability: str) -> str:
    known = capability_of(capability)
    return capability if known is None else f"sm_{known[0]}{known[1]}"


def is_right(each: KernelTry) -> bool:
    """Return whether a kernel ran and computed what the processor did."""
    bound = BOUNDS.get(each.precision)
    if each.problem is not None or each.worst_relative is None or bound is None:
        return False
    return each.worst_relative <= bound


def _wrong(each: KernelTry) -> str:
    where = "the processor" if each.device is None else f"GPU {each.device}"
    if each.worst_relative is None:
        return f"{each.precision} on {where}: {each.problem or 'no result'}"
    bound = BOUNDS.get(each.precision, 0.0)
    return f"{each.precision} on {where} is wrong by {each.worst_relative:.2g} (bound {bound:g})"


def _all_right(torch: TorchFacts) -> bool:
    return bool(torch.devices) and bool(torch.tries) and all(map(is_right, torch.tries))


def _driver_of(box: BoxFacts) -> str | None:
    return box.gpus[0].driver if box.gpus else None


def _capability(box: BoxFacts) -> tuple[int, int] | None:
    return capability_of(box.gpus[0].compute_capability) if box.gpus else None
