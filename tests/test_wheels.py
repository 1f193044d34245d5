"""Which build of torch runs on which GPU and driver."""

from __future__ import annotations

import pytest

from costplan.wheels import command_for, has_kernels, wheel_for

OLD = ("sm_50", "sm_60", "sm_70", "sm_75", "sm_80", "sm_86", "sm_90")


@pytest.mark.parametrize(
    ("arches", "capability", "runs"),
    [
        (OLD, (9, 0), True),
        (OLD, (12, 0), False),  # RTX 5090 under a build for CUDA 12.4
        (OLD, (10, 0), False),
        (OLD, (8, 9), True),  # its own major version, a higher minor one
        (["sm_86"], (8, 0), False),  # a lower one
        (["sm_90a"], (9, 0), True),
        (["sm_100a"], (10, 3), False),  # `a` is for one chip
        (["sm_100f"], (10, 3), True),  # `f` for its family
        (["sm_100f"], (12, 0), False),
        (["compute_90"], (12, 0), True),  # PTX goes on to all newer ones
        (["compute_90"], (8, 9), False),
        (["compute_90a"], (12, 0), False),
        (["gfx942", ""], (9, 4), False),
        ([], (8, 0), False),
    ],
)
def test_a_build_runs_where_cuda_says(
    arches: list[str], capability: tuple[int, int], runs: bool
) -> None:
    assert has_kernels(arches, capability) is runs


@pytest.mark.parametrize(
    ("capability", "driver", "tag"),
    [
        ((12, 0), "580.65.06", "cu130"),
        ((12, 0), "579.99", "cu128"),
        ((12, 0), "525.60", "cu128"),
        ((12, 0), "524.99", None),  # no build that old knows Blackwell
        ((12, 1), "570.1", "cu128"),
        ((7, 5), "580.1", "cu130"),
        ((7, 0), "580.1", "cu126"),  # Volta: dropped from 12.8 on
        ((6, 1), "525.1", "cu126"),
        ((6, 1), "450.1", "cu118"),
        ((3, 7), "580.1", "cu118"),
        ((3, 5), "580.1", None),
        ((8, 9), "449.9", None),
        ((8, 9), None, "cu128"),
        ((6, 1), None, "cu126"),
        (None, "580.1", "cu130"),
        (None, None, "cu128"),
        (None, "none", "cu128"),
    ],
)
def test_the_newest_build_is_named_that_fits_card_and_driver(
    capability: tuple[int, int] | None, driver: str | None, tag: str | None
) -> None:
    wheel = wheel_for(capability, driver)
    assert (wheel and wheel.tag) == tag


def test_a_build_is_named_with_its_index() -> None:
    wheel = wheel_for((12, 0), "570.1")
    assert wheel is not None
    assert command_for(wheel) == (
        "pip install --force-reinstall torch --index-url https://download.pytorch.org/whl/cu128"
    )
