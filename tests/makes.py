"""What tests of the estimate share: a bare job, provider and offer, the real cards, and generators.

Bare means: nothing bills but the GPU and 0.0001 $ per GB and hour of disk (0.073 a month of 730 h),
nothing takes time but the training, nothing is guessed. A test adds the one thing that it is about.
"""

from __future__ import annotations

import itertools
from datetime import date
from decimal import Decimal
from functools import cache
from typing import TYPE_CHECKING, Any

from bills.samples import meter, provider, rounding
from hypothesis import strategies as st

from costplan import catalog
from costplan.catalog import Catalog
from costplan.estimate import Estimator, LeftOutOffer, Priced, Question, itemised
from costplan.records.jobs import Job
from costplan.records.offers import Offer, ProviderFile
from costplan.unpriced import KnownPrices
from costplan.work import settle

if TYPE_CHECKING:
    from collections.abc import Mapping

    from costplan.itemise import Line
    from costplan.records.cards import Card
    from costplan.records.providers import Meter, Provider
    from costplan.work import Work

ON = date(2026, 11, 30)
HERE = {"source": "a test", "as_of": date(2026, 11, 1)}

BARE_JOB: Mapping[str, Any] = {
    "name": "bare",
    "epochs": 10,
    "throughput": {"card": "RTX-4090", "seconds_per_epoch": 3_600},  # 10 h
    "precision": "amp",
    "overhead_s": 0,
    "memory_gb": 1,
    "dataset_gb": 0,
    "unpacked_gb": 0,
    "dataset_from": "hub",
    "checkpoint_gb": 0,
    "image_gb": 0,
    "environment_gb": 0,
    "setup_minutes": 0,
    "warmup_s": 0,
    "validation_s": 0,
    "idle_after_hours": 0,
    "disk_gb": 100,
}


def job(**fields: object) -> Job:
    """Return the bare job with these fields in place of its own; None leaves one out."""
    both = {**BARE_JOB, **fields}
    return Job.model_validate({key: value for key, value in both.items() if value is not None})


def work(**fields: object) -> Work:
    """Return the bare job, changed and settled."""
    return settle(job(**fields))


def owner(*meters: Meter, **fields: object) -> Provider:
    """Return the bare provider; `meters` take the place of its own of their kind."""
    own = (
        meter("gpu"),
        meter("disk", usd="0.073", per="gb_month"),
        meter("ingress", usd="0", per="gb"),
        meter("egress", usd="0", per="gb"),
    )
    kinds = {each.kind for each in meters}
    plain: dict[str, object] = {
        "included": ("cpu", "ram"),
        "boot": {"failure_share": 0, "probe_minutes": 1, **HERE},
    }
    kept = (each for each in own if each.kind not in kinds)
    return provider(*kept, *meters, **{**plain, **fields})


def serverless(*meters: Meter, **fields: object) -> Provider:
    """Return the bare provider as one that runs functions: no cold start, nothing kept warm."""
    terms = {"cold_start_s": 0, "idle_timeout_s": 0, **HERE}
    plain: dict[str, object] = {"kind": "serverless", "serverless": terms}
    return owner(*meters, **{**plain, **fields})


def offer(usd: str | None = "1", spot: str | None = None, **fields: object) -> Offer:
    """Return the bare offer: one RTX 4090 of the bare provider, at these prices."""
    plain: dict[str, object] = {
        "sku": "sample/1x-rtx-4090",
        "provider": "sample",
        "card": "RTX-4090",
        "count": 1,
        "usd_per_hour": usd,
        "spot_usd_per_hour": spot,
        "checked": ON,
        "source": "a test",
    }
    return Offer.model_validate({**plain, **fields})


@cache
def bundled() -> Catalog:
    """Return the price folder of this checkout."""
    return catalog.load(catalog.folder())


@cache
def bundled_offers() -> tuple[Offer, ...]:
    return tuple(bundled().offers_on(ON))


@cache
def bundled_known() -> KnownPrices:
    return KnownPrices(bundled_offers(), bundled().providers)


def listed(sku: str) -> Offer:
    """Return an offer of the price folder."""
    (found,) = (each for each in bundled_offers() if each.sku == sku)
    return found


def card(key: str) -> Card:
    return bundled().cards[key]


def catalog_of(*providers: Provider) -> Catalog:
    """Return the real cards with these providers."""
    files = tuple(ProviderFile(provider=each) for each in providers)
    return Catalog(bundled().cards, bundled().unstated, files)


def nobody_knows() -> KnownPrices:
    """Return prices of others where there are no others."""
    return KnownPrices([], {})


def others(*meters: Meter) -> KnownPrices:
    """Return the prices of one other provider, as all that is known."""
    other = provider(*meters, key="other")
    return KnownPrices([], {"other": other})


def question(settled: Work, *providers: Provider, **fields: Any) -> Question:
    """Return the question to which the bare provider, or these, answer."""
    plain: dict[str, Any] = {"on": ON, "known": nobody_knows()}
    return Question(work=settled, catalog=catalog_of(*(providers or (owner(),))), **plain | fields)


def asked_of_all(settled: Work, **fields: Any) -> Question:
    """Return the question to every offer of the price folder."""
    plain: dict[str, Any] = {"on": ON, "known": bundled_known(), "catalog": bundled()}
    return Question(work=settled, **plain | fields)


def ways(asked: Question, *offers: Offer) -> list[Priced | LeftOutOffer]:
    """Return each offer in each way in which it is sold."""
    estimator = Estimator(asked)
    return [item for each in offers for item in estimator.price(each)]


def priced(asked: Question, rented: Offer) -> Priced:
    """Return an offer that is sold in one way, priced."""
    (item,) = ways(asked, rented)
    assert isinstance(item, Priced), item.reason
    return item


def left(asked: Question, refused: Offer) -> LeftOutOffer:
    """Return why an offer that is sold in one way is left out."""
    (item,) = ways(asked, refused)
    assert isinstance(item, LeftOutOffer), f"priced at {item.total.expected}"
    return item


def by_name(item: Priced) -> dict[str, Line]:
    """Return the lines of a priced offer; no two have one name."""
    lines = itemised(item)
    named = {line.name: line for line in lines}
    assert len(named) == len(lines)
    return named


# --- generators -----------------------------------------------------------------------------------

GUESSED = (
    "overhead_s", "dataset_gb", "checkpoint_gb", "image_gb", "environment_gb", "setup_minutes",
    "warmup_s", "validation_s", "idle_after_hours", "home_mbit_per_s",
)  # fmt: skip
CARDS = ("RTX-4090", "RTX-3090", "T4", "A100-SXM-80GB", "H100", "H100-SXM", "MI300X", "V100")
COUNTS = (1, 2, 3, 4, 8)


def _maybe(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.none() | values


_MACHINES = st.fixed_dictionaries(
    {
        "card": st.sampled_from(CARDS),
        "count": st.sampled_from(COUNTS),
        "seconds_per_epoch": st.floats(1, 20_000),
    }
)
_SAID = {
    "runs": st.integers(1, 5),
    "overhead_s": st.floats(0, 10_000),
    "dataset_gb": st.floats(0, 500),
    "unpacked_gb": st.floats(0, 500),
    "dataset_from": st.sampled_from(("hub", "home", "origin", "volume")),
    "home_mbit_per_s": st.floats(5, 1_000),
    "checkpoint_gb": st.floats(0, 100),
    "image_gb": st.floats(0, 40),
    "environment_gb": st.floats(0, 50),
    "setup_minutes": st.floats(0, 200),
    "warmup_s": st.floats(0, 1_000),
    "validation_s": st.floats(0, 1_000),
    "idle_after_hours": st.floats(0, 20),
    "push_every": st.integers(1, 10),
    "checkpoint_minutes": st.floats(1, 100),
    "interruption_hours": st.floats(0.5, 200),
    "keep_gb": st.floats(0, 2_000),
    "keep_days": st.floats(0, 60),
    "disk_gb": st.integers(1, 2_000),
    "vcpus": st.integers(1, 32),
}
_JOBS = st.fixed_dictionaries(
    {"epochs": st.integers(1, 60), "throughput": _MACHINES}, optional=_SAID
)


@st.composite
def jobs(draw: st.DrawFn) -> dict[str, Any]:
    """Draw the fields of a job: some left out, some guessed."""
    fields = draw(_JOBS)
    given = sorted(set(GUESSED) & set(fields))
    guessed = draw(st.lists(st.sampled_from(given), unique=True)) if given else []
    return {**fields, "assumed": dict.fromkeys(guessed, "a guess")}


def usd(most: str = "5") -> st.SearchStrategy[Decimal]:
    """Draw a price to the hundredth of a cent, above 0."""
    return st.decimals("0.0001", most, places=4)


def _states(*more: str, running: tuple[str, ...] = ("states", "states_unknown")) -> Any:
    """Draw where a meter bills: while running, and in each of `more` surely, perhaps, or not."""
    found = []
    for rest in itertools.product(("states", "states_unknown", "no"), repeat=len(more)):
        for where in running:
            by_state = {**dict(zip(more, rest, strict=True)), "running": where}
            found.append(
                {
                    field: tuple(state for state in by_state if by_state[state] == field)
                    for field in ("states", "states_unknown")
                }
            )
    return st.sampled_from(found)


_BOOTS = ("loading_image", "booting")
_METERS = {
    "gpu": {"where": _states(*_BOOTS, "terminating", "idle_warm", running=("states",))},
    "disk": {
        "where": _states(*_BOOTS),
        "usd": _maybe(usd("0.3")),
        "per": st.sampled_from(("gb_month", "gib_month")),
        "month_hours": st.sampled_from(("720", "730")),
    },
    **{
        way: {
            "where": _states("loading_image"),
            "usd": st.sampled_from((None, "0", "0.01", "0.09")),
            "per": st.sampled_from(("gb", "gib")),
            "free": st.sampled_from((None, "0", "15", "200")),
        }
        for way in ("ingress", "egress")
    },
    "network_volume": {"usd": _maybe(usd("0.2")), "per": st.just("gb_month")},
    "cpu": {"usd": _maybe(usd("0.05")), "per": st.just("core_hour"), "where": _states("idle_warm")},
    "ram": {"usd": _maybe(usd("0.01")), "per": st.just("gib_hour"), "where": _states("idle_warm")},
    "public_ip": {"usd": _maybe(usd("0.01")), "where": _states()},
}
_PROVIDERS = st.fixed_dictionaries(
    {
        "kind": st.sampled_from(("cloud", "marketplace", "serverless")),
        "prices_set_by": st.sampled_from(("list", "market")),
        "included": st.sampled_from(((), ("disk",), ("cpu", "ram"))),
        "rounding": st.builds(
            rounding,
            step_s=st.sampled_from((None, "1", "60", "3600")),
            minimum_s=st.sampled_from((None, "60", "3600")),
            minimum_usd=st.sampled_from((None, "0.01", "5")),
            month_cap_hours=st.sampled_from((None, "672")),
        ),
        "spot": st.fixed_dictionaries(
            {
                "offered": st.just(True),
                "price": st.sampled_from(("list", "bid")),
                "disk_kept": st.sampled_from((None, True, False)),
                "hours_between_interruptions": st.sampled_from((None, 0.5, 3, 100)),
                **{key: st.just(value) for key, value in HERE.items()},
            }
        ),
        "serverless": st.sampled_from(
            [{"idle_timeout_s": idle_s, **HERE} for idle_s in (None, 0, 5, 600)]
        ),
        "boot": st.sampled_from(
            [None, *({"failure_share": f, "probe_minutes": 3, **HERE} for f in (0, 0.5, 1))]
        ),
        "disk_step_gb": st.sampled_from(("1", "10")),
    }
)
_PRICED = st.fixed_dictionaries({kind: st.fixed_dictionaries(f) for kind, f in _METERS.items()})
_ALSO = st.sets(st.sampled_from(("cpu", "ram", "public_ip")))


@st.composite
def providers(draw: st.DrawFn) -> Provider:
    """Draw a provider with any mixture of meters, rounding and terms."""
    also = draw(_ALSO)
    meters = [
        meter(kind, **fields.pop("where", {}), **fields)
        for kind, fields in draw(_PRICED).items()
        if kind not in ("cpu", "ram", "public_ip") or kind in also
    ]
    return provider(*meters, **draw(_PROVIDERS))


_OFFERS = st.fixed_dictionaries(
    {
        "card": st.sampled_from(CARDS),
        "count": st.sampled_from(COUNTS),
        "checked": st.dates(date(2026, 9, 1), ON),
    },
    optional={
        "quoted_disk_gb": st.sampled_from((0, 5, 250)),
        "storage_usd_per_gb_month": usd("0.4"),
        "month_hours": st.sampled_from((720, 730)),
        "ingress_usd_per_gb": usd("0.03"),
        "egress_usd_per_gb": usd("0.03"),
        "inet_down_mbit_per_s": st.floats(10, 10_000),
        "inet_up_mbit_per_s": st.floats(10, 10_000),
    },
)
_SOLD = st.tuples(usd("20"), _maybe(usd("20"))) | st.tuples(st.none(), usd("20"))


@st.composite
def offers(draw: st.DrawFn) -> Offer:
    """Draw an offer of the provider `sample`, sold on demand, as spot, or both."""
    asked, spot = draw(_SOLD)
    return offer(
        None if asked is None else str(asked), None if spot is None else str(spot), **draw(_OFFERS)
    )
