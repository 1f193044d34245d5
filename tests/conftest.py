"""Options of the suite, and what all of it runs under."""

from __future__ import annotations

import gc
import os
from typing import TYPE_CHECKING, Final

import pytest
from hypothesis import HealthCheck, settings

from costplan import catalog

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from costplan.catalog import Catalog

    PriceFolder = Callable[..., Path]

# The caller's own price folder must not decide whether the tests of this one pass. Some modules
# read prices while they are collected, which is before any fixture.
os.environ.pop("COSTPLAN_PRICING", None)

# The same examples on every machine, however slow: no deadline, no check of how long data takes.
settings.register_profile(
    "suite",
    max_examples=50,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("suite")

CARDS: Final = """\
cards:
  - key: T4
    name: Tesla T4
    vendor: NVIDIA
    architecture: Turing
    compute_capability: "7.5"
    memory_gb: 16
    bandwidth_gb_per_s: 320
    peak_tflops: {fp32: 8, fp16_fp32_accumulate: 64, origin: datasheet, source: made up}
    boost_mhz: 1590
    power_watts: 70
    bf16: false
    aliases: [T4 16GB]
    source: made up
"""

ACME: Final = """\
provider:
  key: acme
  name: Acme Cloud
  aliases: [acme-cloud]
  kind: cloud
  site: https://acme.example
  prices_set_by: list
  included: [cpu, ram, disk]
  source: made up
  as_of: 2026-11-01
  rounding: {source: made up, as_of: 2026-11-01}
  meters:
    - {kind: gpu, states: [running], source: made up, as_of: 2026-11-01}
    - {kind: ingress, usd: 0, per: gb, states: [running], source: made up, as_of: 2026-11-01}
    - {kind: egress, usd: 0, per: gb, states: [running], source: made up, as_of: 2026-11-01}
  stop: {source: made up, as_of: 2026-11-01}
  destroy: {source: made up, as_of: 2026-11-01}
  boot: {failure_share: 0, probe_minutes: 3, source: made up, as_of: 2026-11-01}
"""


def pytest_collection_finish() -> None:
    """Keep what was collected out of every later search for garbage: thousands of tests."""
    gc.collect()
    gc.freeze()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden", action="store_true", help="Rewrite golden files with what is printed."
    )


@pytest.fixture(scope="session")
def shipped() -> Catalog:
    """The catalog of the price folder beside the checkout."""
    return catalog.load(catalog.folder())


@pytest.fixture
def price_folder(tmp_path: Path) -> PriceFolder:
    """Write price folders: one T4, and Acme Cloud, which bills its GPU and nothing else."""

    def written(
        *, cards: str = CARDS, offers: str = "", **files: str | None
    ) -> Path:  # acme=None leaves Acme Cloud out
        folder = tmp_path / "prices"
        (folder / "providers").mkdir(parents=True, exist_ok=True)
        (folder / "gpus.yaml").write_text(cards, encoding="utf-8")
        for name, text in {"acme": ACME + offers, **files}.items():
            if text is not None:
                (folder / "providers" / f"{name}.yaml").write_text(text, encoding="utf-8")
        return folder

    return written
