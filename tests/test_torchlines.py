"""Lines about torch: its build, its driver, its kernels."""

from __future__ import annotations

from typing import Any

import pytest
from madebox import box, gpu, torch, tries

from costplan import torchlines
from costplan.records.checks import BoxFacts, CheckLine, DeviceFacts, KernelTry

NO_KERNEL = "CUDA error: no kernel image is available for execution on the device"
INDEX = "pip install --force-reinstall torch --index-url https://download.pytorch.org/whl"


def lines(facts: BoxFacts) -> dict[str, CheckLine]:
    return {line.name: line for line in torchlines.lines(facts)}


def levels(facts: BoxFacts) -> dict[str, str]:
    return {name: line.level for name, line in lines(facts).items()}


def wrong(precision: str, worst: float) -> BoxFacts:
    one = KernelTry(device=0, precision=precision, worst_relative=worst)
    return box(torch=torch(tries=(*tries()[:3], one)))


def test_a_build_whose_kernels_are_right_is_in_order() -> None:
    found = lines(box())
    assert {name: line.level for name, line in found.items()} == {
        "torch": "ok",
        "driver": "ok",
        "kernels": "ok",
    }
    assert found["kernels"].says == ("fp32, tf32, fp16, bf16: as the processor computes, on 1 GPU")


def test_a_wheel_for_another_architecture_is_named_with_the_one_that_is_needed() -> None:
    device = DeviceFacts(index=0, name="NVIDIA GeForce RTX 5090", capability="12.0")
    facts = box(
        gpus=(gpu(name="NVIDIA GeForce RTX 5090", compute_capability="12.0"),),
        torch=torch(
            version="2.5.1+cu124",
            cuda="12.4",
            arches=("sm_50", "sm_90"),
            devices=(device,),
            tries=tries(worst_relative=None, problem=NO_KERNEL),
        ),
    )
    line = lines(facts)["kernels"]
    assert line == CheckLine(
        name="kernels",
        level="fail",
        says="torch 2.5.1+cu124 says that CUDA is available and has no kernels for NVIDIA GeForce "
        "RTX 5090 (sm_120): it was built for sm_50 sm_90",
        todo=f"{INDEX}/cu128",
        fault="setup",
    )


def test_a_card_that_no_build_under_its_driver_knows_goes_back() -> None:
    device = DeviceFacts(index=0, name="B200", capability="10.0")
    facts = box(
        gpus=(gpu(driver="515.1"),),
        torch=torch(devices=(device,), tries=tries(worst_relative=None, problem=NO_KERNEL)),
    )
    line = lines(facts)["kernels"]
    assert (line.level, line.fault) == ("fail", "box")


def test_a_build_that_should_do_and_has_no_kernels_says_so() -> None:
    facts = box(torch=torch(tries=tries(worst_relative=None, problem=NO_KERNEL)))
    assert lines(facts)["kernels"].says.endswith("which should do: some part of it was not")


@pytest.mark.parametrize(
    ("precision", "at", "above"),
    [
        ("fp32", 1e-4, 1.01e-4),
        ("tf32", 1e-2, 1.01e-2),
        ("fp16", 1e-2, 1.01e-2),
        ("bf16", 5e-2, 5.1e-2),
    ],
)
def test_a_result_is_right_up_to_the_bound_of_its_precision(
    precision: str, at: float, above: float
) -> None:
    assert levels(wrong(precision, at))["kernels"] == "ok"
    line = lines(wrong(precision, above))["kernels"]
    assert (line.level, line.fault) == ("fail", "box")
    assert line.says.startswith(f"{precision} on GPU 0 is wrong by ")


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"problem": "uncorrectable ECC error"}, "bf16 on GPU 1: uncorrectable ECC error"),
        ({}, "bf16 on GPU 1: no result"),
        ({"precision": "int3", "worst_relative": 0.0}, "int3 on GPU 1 is wrong by 0 (bound 0)"),
    ],
)
def test_a_kernel_without_a_result_is_not_right(fields: dict[str, Any], says: str) -> None:
    one = KernelTry(**{"device": 1, "precision": "bf16", **fields})
    line = lines(box(torch=torch(tries=(*tries(), one))))["kernels"]
    assert (line.level, line.says) == ("fail", says)


def test_a_kernel_that_takes_the_process_down_is_a_reason_to_go() -> None:
    line = lines(box(torch=torch(crashed="killed by SIGSEGV, at: bf16 on GPU 0")))["kernels"]
    assert (line.level, line.fault) == ("fail", "box")
    assert line.says == "the process was lost: killed by SIGSEGV, at: bf16 on GPU 0"


def test_fewer_gpus_for_torch_than_for_the_driver_are_worth_a_word() -> None:
    line = lines(box(gpus=(gpu(0), gpu(1))))["kernels"]
    assert (line.level, line.todo) == ("warn", "look at CUDA_VISIBLE_DEVICES")


# --- the build ----------------------------------------------------------------------------------


def only_processor(**fields: Any) -> dict[str, Any]:
    made = {
        "version": "2.7.1+cpu",
        "cuda": None,
        "available": False,
        "arches": (),
        "devices": (),
        "tries": (KernelTry(precision="fp32", worst_relative=1e-7),),
    }
    return {**made, **fields}


def test_a_build_for_the_processor_only_fails_where_a_gpu_is() -> None:
    found = lines(box(torch=torch(**only_processor())))
    assert found["torch"] == CheckLine(
        name="torch",
        level="fail",
        says="2.7.1+cpu, built for the processor only, /usr/bin/python",
        todo=f"{INDEX}/cu128",
        fault="setup",
    )
    assert "driver" not in found
    assert found["kernels"].level == "unknown"
    only_file = box(gpus=None, gpu_present=True, torch=torch(**only_processor()))
    assert levels(only_file)["torch"] == "fail"


def test_without_any_gpu_it_is_worth_a_word_and_kernels_stay_unknown() -> None:
    facts = box(gpus=None, gpu_present=False, torch=torch(**only_processor()))
    assert levels(facts) == {"torch": "warn", "kernels": "unknown"}
    facts = box(gpus=None, gpu_present=False, torch=torch(**only_processor(tries=())))
    assert levels(facts) == {"torch": "warn"}


def test_a_build_for_cuda_that_finds_no_gpu_says_why() -> None:
    why = "The NVIDIA driver on your system is too old"
    made = only_processor(version="2.9.0+cu130", cuda="13.0", unavailable=why)
    found = lines(box(torch=torch(**made)))
    assert (found["torch"].level, found["torch"].fault) == ("fail", "box")
    assert found["torch"].says.endswith(f"it finds no GPU: {why}")
    assert (found["driver"].level, found["driver"].todo) == ("fail", f"{INDEX}/cu128")


def test_torch_that_is_not_there_is_a_line_and_no_failure() -> None:
    (line,) = torchlines.lines(box(torch=torch(installed=False)))
    assert (line.name, line.level) == ("torch", "unknown")
    assert (line.todo or "").startswith(f"{INDEX}/cu128; or ")
    (line,) = torchlines.lines(box(gpus=None, torch=torch(installed=False)))
    assert (line.todo or "").startswith("install torch, or ")


def test_an_interpreter_that_tells_nothing_is_unknown() -> None:
    (line,) = torchlines.lines(box(torch=torch(problem="nope cannot be run", installed=None)))
    assert (line.level, line.says) == ("unknown", "/usr/bin/python: nope cannot be run")


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"broken": "libcudart.so.12: no such file"}, "libcudart.so.12: no such file"),
        ({"crashed": "killed by SIGILL, at: import torch", "installed": None}, "SIGILL"),
        ({}, "it told nothing"),
    ],
)
def test_torch_that_does_not_load_fails(fields: dict[str, Any], says: str) -> None:
    made = only_processor(version=None, tries=(), **fields)
    found = lines(box(torch=torch(**made)))
    assert set(found) == {"torch"}
    assert (found["torch"].level, found["torch"].fault) == ("fail", "setup")
    assert says in found["torch"].says


# --- the driver ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cuda", "driver", "level"),
    [
        ("11.8", "450.80", "ok"),
        ("11.8", "449.99", "fail"),
        ("12.6", "525.60", "ok"),
        ("12.6", "524.99", "fail"),
        ("13.0", "580.65", "ok"),
        ("13.0", "579.99", "fail"),
        ("14.0", "700.1", "unknown"),
        ("12.6", None, "unknown"),
    ],
)
def test_the_driver_must_be_as_new_as_cuda_asks(cuda: str, driver: str | None, level: str) -> None:
    facts = box(gpus=(gpu(driver=driver),), torch=torch(cuda=cuda, tries=(), devices=()))
    assert levels(facts)["driver"] == level


def test_kernels_that_run_all_the_same_outweigh_the_rule() -> None:
    assert levels(box(gpus=(gpu(driver="470.1"),)))["driver"] == "warn"


def test_amd_has_no_rule_about_drivers() -> None:
    made = torch(version="2.7.1+rocm6.3", cuda=None, hip="6.3", arches=("gfx942",))
    found = lines(box(gpus=None, gpu_present=True, torch=made))
    assert set(found) == {"torch", "kernels"}
    assert "ROCm 6.3" in found["torch"].says
