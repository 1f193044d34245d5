"""The verdict of `costplan check`: which weighs most, how it is said, how it ends."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from madebox import box, cpu, disk, gpu, needs, promised, torch

from costplan import checks
from costplan.records.checks import (
    CacheFacts,
    CheckLine,
    CpuFacts,
    DownloadFacts,
    InstallFacts,
    MemoryFacts,
    ShmFacts,
    TorchFacts,
)

RATE = Decimal("0.41")


def made(*levels: str) -> list[CheckLine]:
    """Lines named by their level; `return` is a failure of the box, `fix` one of the set-up."""
    found = []
    for level in levels:
        fault: Any = {"return": "box", "fix": "setup"}.get(level)
        real: Any = "fail" if fault else "unknown" if level == "gpu" else level
        found.append(CheckLine(name=level, level=real, says=f"says {level}", fault=fault))
    return found


@pytest.mark.parametrize(
    ("levels", "verdict", "code"),
    [
        (["ok"], "good", 0),
        (["ok", "warn"], "usable", 0),
        (["ok", "unknown"], "good", 0),  # and named
        (["ok", "gpu"], "open", 0),  # what matters was not seen: not called good
        (["warn", "gpu"], "open", 0),
        (["ok", "warn", "fix"], "fix", 4),
        (["fix", "return"], "return", 4),
        (["gpu", "return"], "return", 4),
        (["unknown", "gpu"], "unknown", 3),
    ],
)
def test_the_worst_that_nobody_can_mend_makes_the_verdict(
    levels: list[str], verdict: str, code: int
) -> None:
    answer = checks.judged(made(*levels))
    assert answer.verdict == verdict
    assert checks.exit_code(answer) == code


@pytest.mark.parametrize(
    ("name", "verdict"),
    [("gpu", "open"), ("torch", "open"), ("kernels", "open"), ("clocks", "good")],
)
def test_no_box_is_called_good_whose_kernels_nobody_saw(name: str, verdict: str) -> None:
    unseen = CheckLine(name=name, level="unknown", says="not seen")
    assert checks.judged([*made("ok"), unseen]).verdict == verdict


def test_what_is_unknown_is_named_beside_what_is_in_order() -> None:
    answer = checks.judged(made("ok", "ok", "warn", "unknown", "unknown"))
    assert answer.says == "USABLE: 2 of 5 in order; look at: warn; unknown: unknown"


def test_reasons_to_return_come_first_and_three_are_named() -> None:
    answer = checks.judged(made("fix", "fix", "fix", "return"))
    assert answer.says == "RETURN IT: says return; says fix; says fix; and 1 more"


def test_a_reason_that_does_not_say_what_it_is_about_is_named() -> None:
    small = box(shm=ShmFacts(total_bytes=64 * 1_048_576))
    answer = checks.checked(small, needs=None, promised=None, usd_per_hour=None)
    assert answer.says.startswith("RETURN IT (4 min so far): /dev/shm: 0.0671 GB: Docker's default")


@pytest.mark.parametrize(
    ("age_s", "rate", "says"),
    [
        (264, RATE, "GOOD ($0.03 so far): "),  # 264 s x 0.41 / 3600 = 0.0301
        (10, RATE, "GOOD ($0.001 so far): "),
        (264, None, "GOOD (4 min so far): "),
        (None, RATE, "GOOD: "),
    ],
)
def test_what_it_has_cost_so_far_is_said(
    age_s: float | None, rate: Decimal | None, says: str
) -> None:
    answer = checks.judged(made("ok"), age_s=age_s, usd_per_hour=rate)
    assert answer.says.startswith(says)


def test_a_broken_promise_ends_in_one_verdict() -> None:
    slow = box(download=DownloadFacts(host="h", received_bytes=112_500_000, over_s=10))
    answer = checks.checked(
        slow, needs=needs(), promised=promised(down_mbit_per_s=800), usd_per_hour=RATE
    )
    assert answer.says == (
        "RETURN IT ($0.03 so far): 90 of 800 Mbit/s promised, 19 GB = 28 min = $0.19"
    )
    assert answer.usd_so_far == Decimal("0.41") * 264 / 3600
    assert checks.exit_code(answer) == 4


def test_a_box_in_order_is_good() -> None:
    answer = checks.checked(box(), needs=None, promised=None, usd_per_hour=None)
    assert answer.verdict == "good"
    assert {line.level for line in answer.lines} == {"ok"}
    assert answer.says == "GOOD (4 min so far): 16 of 16 in order"


def test_nothing_known_is_never_in_order() -> None:
    nothing = box(
        age_s=None,
        gpus=None,
        gpus_problem="nvidia-smi cannot be run",
        gpu_present=False,
        torch=TorchFacts(python="python", problem="python cannot be run"),
        cpu=CpuFacts(),
        memory=MemoryFacts(),
        shm=ShmFacts(),
        disk=disk(total_bytes=None, cold_mb_per_s=None),
        caches=(CacheFacts(name="HF_HOME", path="/x"),),
        runs=None,
    )
    answer = checks.checked(nothing, needs=needs(), promised=promised(cores=4), usd_per_hour=RATE)
    assert {line.level for line in answer.lines} == {"unknown"}
    assert all(line.says for line in answer.lines)
    assert checks.exit_code(answer) == 3


@pytest.mark.parametrize(
    ("fields", "name"),
    [
        ({"gpus": None, "gpus_problem": "x"}, "gpu"),
        ({"torch": torch(crashed="x")}, "kernels"),
        ({"gpus": (gpu(power_limit_watts=1),)}, "power"),
        ({"disk": disk(free_bytes=1)}, "disk"),
        ({"disk": disk(cold_mb_per_s=1)}, "disk read"),
        ({"cpu": cpu(affinity=1)}, "cores"),
        ({"cpu": cpu(million_steps_per_s=1)}, "one thread"),
        ({"memory": MemoryFacts()}, "memory"),
        ({"shm": ShmFacts(total_bytes=1)}, "/dev/shm"),
        ({"caches": ()}, "caches"),
        ({"runs": None}, "terminal"),
    ],
)
def test_everything_measured_has_its_line(fields: dict[str, Any], name: str) -> None:
    answer = checks.checked(box(**fields), needs=None, promised=None, usd_per_hour=None)
    bad = {line.name for line in answer.lines if line.level != "ok"}
    assert name in bad


def test_what_was_assumed_of_the_job_is_a_notice() -> None:
    job = needs(assumed=("dataset_gb 10: not given",))
    answer = checks.checked(box(), needs=job, promised=None, usd_per_hour=None)
    assert answer.notices == ("assumed of the job: dataset_gb 10: not given",)


def test_an_install_has_the_same_verdicts() -> None:
    facts = InstallFacts(words="x", python="python", problem="pip: no network", gpu_present=True)
    answer = checks.installing(facts)
    assert (answer.says, checks.exit_code(answer)) == (
        "UNKNOWN: 0 of 1 in order; unknown: install",
        3,
    )
