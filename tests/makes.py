"""What tests of the estimate share: a bare job, provider and offer, the real cards, and generators.

Bare means: nothing bills but the GPU and 0.0001 $ per GB and hour of disk (0.073 a month of 730 h),
nothing takes time but the training, nothing is guessed. A test adds the one thing that it is about.
"""

from __future__ import annotations

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
    assert isinstance(item, Priced), item
    return item


def left(asked: Question, refused: Offer) -> LeftOutOffer:
    """Return why an offer that is sold in one way is left out."""
    (item,) = ways(asked, refused)
    assert isinstance(item, LeftOutOffer), item
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


@st.composite
def _states(draw: st.DrawFn, *more: str) -> dict[str, tuple[str, ...]]:
    """Draw where a meter bills: while running, and in each other state surely, perhaps, or not."""
    found = {state: draw(st.sampled_from(("states", "states_unknown", "no"))) for state in more}
    found["running"] = draw(st.sampled_from(("states", "states", "states_unknown")))
    return {
        field: tuple(state for state in sorted(found) if found[state] == field)
        for field in ("states", "states_unknown")
    }


@st.composite
def providers(draw: st.DrawFn) -> Provider:
    """Draw a provider with any mixture of meters, rounding and terms."""
    kind = draw(st.sampled_from(("cloud", "marketplace", "serverless")))
    boots = ("loading_image", "booting")
    gpu_states = {**draw(_states(*boots, "terminating", "idle_warm"))}
    gpu_states = {
        "states": tuple({*gpu_states["states"], "running"}),
        "states_unknown": tuple({*gpu_states["states_unknown"]} - {"running"}),
    }
    meters = [
        meter("gpu", **gpu_states),
        meter(
            "disk",
            usd=draw(_maybe(usd("0.3"))),
            per=draw(st.sampled_from(("gb_month", "gib_month"))),
            month_hours=draw(st.sampled_from(("720", "730"))),
            **draw(_states(*boots)),
        ),
        *(
            meter(
                way,
                usd=draw(_maybe(st.just(Decimal(0)) | usd("0.1"))),
                per=draw(st.sampled_from(("gb", "gib"))),
                free=draw(_maybe(st.integers(0, 200).map(Decimal))),
                **draw(_states("loading_image")),
            )
            for way in ("ingress", "egress")
        ),
        meter("network_volume", usd=draw(_maybe(usd("0.2"))), per="gb_month"),
    ]
    if draw(st.booleans()):
        meters += [meter("cpu", usd=draw(_maybe(usd("0.05"))), per="core_hour")]
        meters += [meter("ram", usd=draw(_maybe(usd("0.01"))), per="gib_hour")]
    if draw(st.booleans()):
        meters.append(meter("public_ip", usd=draw(_maybe(usd("0.01"))), **draw(_states())))
    return provider(
        *meters,
        kind=kind,
        prices_set_by=draw(st.sampled_from(("list", "market"))),
        included=draw(st.sampled_from(((), ("disk",), ("cpu", "ram")))),
        rounding=rounding(
            step_s=draw(_maybe(st.sampled_from(("1", "60", "3600")))),
            minimum_s=draw(_maybe(st.sampled_from(("60", "3600")))),
            minimum_usd=draw(_maybe(st.sampled_from(("0.01", "5")))),
            month_cap_hours=draw(_maybe(st.just("672"))),
        ),
        spot={
            "offered": True,
            "price": draw(st.sampled_from(("list", "bid"))),
            "disk_kept": draw(st.none() | st.booleans()),
            "hours_between_interruptions": draw(_maybe(st.floats(0.5, 100))),
            **HERE,
        },
        serverless={"idle_timeout_s": draw(_maybe(st.floats(0, 600))), **HERE},
        boot=draw(
            _maybe(st.just({"failure_share": 0.5, "probe_minutes": 3, **HERE}))
            | st.just({"failure_share": 1, "probe_minutes": 3, **HERE})
        ),
        disk_step_gb=draw(st.sampled_from(("1", "10"))),
    )


@st.composite
def offers(draw: st.DrawFn) -> Offer:
    """Draw an offer of the provider `sample`, sold on demand, as spot, or both."""
    usd_per_hour = draw(_maybe(usd("20")))
    spot = draw(usd("20") if usd_per_hour is None else _maybe(usd("20")))
    return offer(
        None if usd_per_hour is None else str(usd_per_hour),
        None if spot is None else str(spot),
        card=draw(st.sampled_from(CARDS)),
        count=draw(st.sampled_from(COUNTS)),
        quoted_disk_gb=draw(_maybe(st.sampled_from((0, 5, 250)))),
        storage_usd_per_gb_month=draw(_maybe(usd("0.4"))),
        month_hours=draw(_maybe(st.sampled_from((720, 730)))),
        ingress_usd_per_gb=draw(_maybe(usd("0.03"))),
        egress_usd_per_gb=draw(_maybe(usd("0.03"))),
        inet_down_mbit_per_s=draw(_maybe(st.floats(10, 10_000))),
        inet_up_mbit_per_s=draw(_maybe(st.floats(10, 10_000))),
        checked=draw(st.dates(date(2026, 9, 1), ON)),
    )
