"""The cheap pass and the itemised bill give the same total, on every way of being sold."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from costplan.catalog import folder, load
from costplan.estimate import Estimator, LeftOutOffer, Priced, Question
from costplan.glimpse import Glimpse
from costplan.jobfile import read_job
from costplan.ranking import exactly, rank
from costplan.records.offers import Offer
from costplan.unpriced import KnownPrices
from costplan.work import settle

ROOT = Path(__file__).resolve().parents[1]
DAY = date(2026, 11, 30)
CATALOG = load(folder())
LISTED = CATALOG.offers_on(DAY)
JOBS = sorted(path.stem for path in (ROOT / "examples").glob("*.yaml"))


def estimator(job: str = "ssd-coco", settings: dict[str, object] | None = None) -> Estimator:
    wanted = [f"{key}={value}" for key, value in (settings or {}).items()]
    work = settle(read_job(str(ROOT / "examples" / f"{job}.yaml"), settings=wanted))
    known = KnownPrices(LISTED, CATALOG.providers)
    return Estimator(Question(work, DAY, CATALOG, known))


def agree(rated: Estimator, offer: Offer) -> int:
    """Compare both passes over `offer`; return how many ways the cheap one was enough."""
    glimpsed = 0
    for seen, full in zip(rated.glimpse(offer), rated.price(offer), strict=True):
        if isinstance(seen, Glimpse):
            assert isinstance(full, Priced)
            assert seen.usd == pytest.approx(float(full.total.expected), rel=1e-12)
            assert seen.hours == full.hours[1]
            glimpsed += 1
        elif isinstance(seen, LeftOutOffer):
            assert seen == full
        else:
            assert isinstance(full, Priced)
            assert seen.total == full.total
    return glimpsed


@pytest.mark.parametrize("job", JOBS)
def test_both_passes_agree_on_every_bundled_offer(job: str) -> None:
    rated = estimator(job)
    assert sum(agree(rated, offer) for offer in LISTED) > 50


@pytest.mark.parametrize(
    "settings",
    [
        {"dataset_from": "home", "home_mbit_per_s": 7},
        {"dataset_from": "origin", "push_every": 3},
        {"dataset_from": "volume"},
        {"keep_gb": 10, "keep_days": 3},
        {"interruption_hours": 2, "runs": 3},
        {"disk_gb": 500, "done": 60},
    ],
    ids=str,
)
def test_both_passes_agree_on_unusual_jobs(settings: dict[str, object]) -> None:
    rated = estimator(settings=settings)
    for offer in LISTED:
        agree(rated, offer)


PRICES = st.decimals("0.0001", "99", places=4)
RATED = estimator()


@given(
    provider=st.sampled_from(sorted(CATALOG.providers)),
    card=st.sampled_from(["RTX-4090", "H100", "A100-SXM-80GB"]),
    count=st.sampled_from([1, 3, 8]),
    usual=PRICES,
    spot=st.none() | PRICES,
    storage=st.none() | st.decimals("0", "2", places=3),
    ingress=st.none() | st.decimals("0", "0.05", places=4),
    egress=st.none() | st.decimals("0", "0.05", places=4),
    quoted=st.none() | st.integers(0, 900),
    down=st.none() | st.floats(1, 20_000),
    up=st.none() | st.floats(1, 20_000),
    month=st.none() | st.sampled_from([720, 730]),
    age=st.integers(0, 60),
)
def test_law_both_passes_agree_on_any_offer(
    provider: str,
    card: str,
    count: int,
    usual: Decimal,
    spot: Decimal | None,
    storage: Decimal | None,
    ingress: Decimal | None,
    egress: Decimal | None,
    quoted: int | None,
    down: float | None,
    up: float | None,
    month: int | None,
    age: int,
) -> None:
    offer = Offer(
        sku=f"{provider}/made",
        provider=provider,
        card=card,
        count=count,
        usd_per_hour=usual,
        spot_usd_per_hour=spot,
        storage_usd_per_gb_month=storage,
        ingress_usd_per_gb=ingress,
        egress_usd_per_gb=egress,
        quoted_disk_gb=None if quoted is None else Decimal(quoted),
        inet_down_mbit_per_s=down,
        inet_up_mbit_per_s=up,
        month_hours=None if month is None else Decimal(month),
        checked=date.fromordinal(DAY.toordinal() - age),
    )
    agree(RATED, offer)


def test_the_order_by_glimpses_is_the_order_by_exact_totals() -> None:
    def exact(seen: Glimpse) -> Priced | LeftOutOffer:
        return RATED.sold(seen.offer, seen.pricing)

    cheap = exactly(rank((g for o in LISTED for g in RATED.glimpse(o)), limit=20), exact)
    full = rank((p for o in LISTED for p in RATED.price(o)), limit=20)
    assert cheap.shown == full.shown
    assert (cheap.ranks, cheap.unbeaten) == (full.ranks, full.unbeaten)
    assert (cheap.total, cheap.left_out) == (full.total, full.left_out)


@pytest.mark.parametrize("limit", ["max_usd", "balance_usd"])
def test_at_a_limit_the_exact_total_decides(limit: str) -> None:
    offer = next(o for o in LISTED if o.sku == "runpod-secure/1x-rtx-4090")
    (full,) = RATED.price(offer)
    assert isinstance(full, Priced)
    for usd, kept in (
        (full.total.expected, True),
        (full.total.expected - Decimal("1e-12"), False),
    ):
        asked = RATED.question
        if limit == "max_usd":
            limited = Estimator(asked._replace(max_usd=usd))
        else:
            limited = Estimator(asked._replace(balance_usd=usd))
        (seen,) = limited.glimpse(offer)
        assert isinstance(seen, LeftOutOffer) is not kept
