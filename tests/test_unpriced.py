"""Prices that nobody states: the median and the maximum of the nearest known ones."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest
from bills.samples import meter, provider
from hypothesis import given
from hypothesis import strategies as st

from costplan.records.offers import Offer
from costplan.unpriced import KnownPrices, comparable_usd

if TYPE_CHECKING:
    from costplan.catalog import Catalog
    from costplan.records.providers import Meter, MeterKind, Provider

ON = date(2026, 11, 30)


def seller(key: str, *meters: Meter, kind: str = "cloud") -> Provider:
    """Return a provider called `key` with these meters beside its GPU."""
    terms: dict[str, object] = {"key": key, "name": key, "kind": kind}
    if kind == "serverless":
        terms["serverless"] = {"source": "a test", "as_of": ON}
    return provider(*meters, **terms)


def host(key: str, **fields: Any) -> Offer:
    """Return an offer of the provider `key` with prices of its own."""
    plain: dict[str, Any] = {"sku": f"{key}/1x-t4", "provider": key, "card": "T4", "checked": ON}
    return Offer.model_validate({**plain, "usd_per_hour": 1, **fields})


def known(*sellers: Provider, offers: tuple[Offer, ...] = ()) -> KnownPrices:
    return KnownPrices(offers, {each.key: each for each in sellers})


def ingress(usd: str) -> Meter:
    return meter("ingress", per="gb", usd=usd)


def found(prices: KnownPrices, kind: MeterKind, key: str) -> tuple[Decimal, Decimal, str] | None:
    """Return median, maximum and whose they are, without the words around."""
    likely = prices.likely(kind, key)
    if likely is None:
        return None
    return likely.median, likely.maximum, likely.whose


# --- one price in comparable units --------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "usd"),
    [
        ({"kind": "disk", "per": "gb_month", "usd": "0.073"}, "0.0001"),  # / 730 h
        ({"kind": "disk", "per": "gb_month", "usd": "0.072", "month_hours": 720}, "0.0001"),
        ({"kind": "disk", "per": "gb_hour", "usd": "0.0001"}, "0.0001"),
        ({"kind": "ram", "per": "gb_second", "usd": "0.000001"}, "0.0036"),  # x 3,600 s
        ({"kind": "cpu", "per": "core_hour", "usd": "0.03"}, "0.03"),
        ({"kind": "cpu", "per": "core_second", "usd": "0.00001"}, "0.036"),
        ({"kind": "public_ip", "per": "hour", "usd": "0.005"}, "0.005"),
        ({"kind": "fee", "per": "month", "usd": "7.30"}, "0.01"),  # / 730 h
        ({"kind": "ingress", "per": "gb", "usd": "0.09"}, "0.09"),
        ({"kind": "egress", "per": "tb", "usd": "90"}, "0.09"),  # / 1,000 GB
        ({"kind": "egress", "per": "tb1024", "usd": "92.16"}, "0.09"),  # / 1,024 GB
        ({"kind": "egress", "per": "gib", "usd": "1.073741824"}, "1"),
        ({"kind": "inter_region", "per": "gb", "usd": "0"}, "0"),  # free is a price
        # A GiB costs more than a GB by a factor of 1.073741824.
        ({"kind": "disk", "per": "gib_hour", "usd": "1.073741824"}, "1"),
        # Of tiers, the first: what a first GB costs.
        (
            {
                "kind": "egress",
                "per": "gb",
                "tiers": [{"above": 0, "usd": "0.12"}, {"above": 10_000, "usd": "0.08"}],
            },
            "0.12",
        ),
        (
            {
                "kind": "disk",
                "per": "gb_hour",
                "tiers": [{"above": 0, "usd": "0.2"}, {"above": 1_000, "usd": "0.1"}],
                "tier_mode": "unknown",
            },
            "0.2",
        ),
        # Of sizes, the first: 50 GB x 0.73 / 730 h, over 50 GB.
        (
            {
                "kind": "disk",
                "per": "gb_month",
                "usd": "0.73",
                "basis": "tier_rounded",
                "sizes_gb": [50, 100],
            },
            "0.001",
        ),
        # That the first 1,024 GB are free here makes none free elsewhere.
        ({"kind": "network_volume", "per": "gb_month", "usd": "0.73", "free": 1024}, "0.001"),
    ],
    ids=lambda value: f"{value['kind']} per {value['per']}" if isinstance(value, dict) else value,
)
def test_a_price_is_compared_by_the_hour_and_gb_or_by_the_gb(
    fields: dict[str, Any], usd: str
) -> None:
    price = comparable_usd(meter(**fields))
    assert price is not None
    assert price == pytest.approx(Decimal(usd), rel=Decimal("1e-20"))


@pytest.mark.parametrize("kind", ["disk", "ingress", "egress", "cpu", "public_ip", "fee"])
def test_a_meter_without_a_price_has_none_to_compare(kind: str) -> None:
    per = {"disk": "gb_month", "ingress": "gb", "egress": "gb", "cpu": "core_hour"}
    assert comparable_usd(meter(kind, per=per.get(kind, "hour"))) is None


# --- median and maximum -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("prices", "median", "maximum"),
    [
        (["0.03"], "0.03", "0.03"),
        (["0.01", "0.03"], "0.02", "0.03"),  # between the two
        (["0.05", "0.01", "0.02"], "0.02", "0.05"),
        (["0.04", "0.01", "0.09", "0.02"], "0.03", "0.09"),  # (0.02 + 0.04) / 2
        (["0", "0", "0.09"], "0", "0.09"),  # free counts
        (["0.01", "0.01", "0.01", "0.09"], "0.01", "0.09"),
    ],
)
def test_expected_is_the_median_and_high_the_maximum(
    prices: list[str], median: str, maximum: str
) -> None:
    sellers = [seller(f"s{n}", ingress(usd)) for n, usd in enumerate(prices)]
    asked = known(*sellers, seller("silent"))
    assert found(asked, "ingress", "silent") == (
        Decimal(median),
        Decimal(maximum),
        f"median of {len(prices)} known prices of cloud offers",
    )


amounts = st.lists(st.decimals(0, 10, places=4), min_size=1, max_size=9)


@given(amounts)
def test_law_the_median_lies_between_the_least_and_the_maximum(prices: list[Decimal]) -> None:
    sellers = [seller(f"s{n}", ingress(str(usd))) for n, usd in enumerate(prices)]
    likely = known(*sellers, seller("silent")).likely("ingress", "silent")
    assert likely is not None
    assert min(prices) <= likely.median <= likely.maximum == max(prices)
    below = sum(usd < likely.median for usd in prices)
    above = sum(usd > likely.median for usd in prices)
    assert max(below, above) * 2 <= len(prices)


@given(amounts, st.randoms(use_true_random=False))
def test_law_the_order_of_the_prices_changes_nothing(prices: list[Decimal], chance: Any) -> None:
    mixed = list(prices)
    chance.shuffle(mixed)
    first, second = (
        known(*(seller(f"s{n}", ingress(str(usd))) for n, usd in enumerate(each)), seller("q"))
        for each in (prices, mixed)
    )
    assert first.likely("ingress", "q") == second.likely("ingress", "q")


# --- whose prices -------------------------------------------------------------------------------

CLOUDS = (seller("a", ingress("0.01")), seller("b", ingress("0.03")))
MARKET = seller("m", ingress("0.50"), kind="marketplace")
FUNCTIONS = seller("f", ingress("0.70"), kind="serverless")


def test_the_providers_own_prices_come_first() -> None:
    own = seller("own", meter("ingress", per="gb"))  # no price in its rules, but in an offer
    offers = (host("own", ingress_usd_per_gb="0.2"), host("own", ingress_usd_per_gb="0.4"))
    assert found(known(*CLOUDS, own, offers=offers), "ingress", "own") == (
        Decimal("0.3"),
        Decimal("0.4"),
        "median of 2 known prices of own",
    )


def test_then_come_those_of_providers_of_its_class() -> None:
    asked = known(*CLOUDS, MARKET, FUNCTIONS, seller("silent"))
    assert found(asked, "ingress", "silent") == (
        Decimal("0.02"),
        Decimal("0.03"),
        "median of 2 known prices of cloud offers",
    )


def test_then_come_those_of_anyone() -> None:
    asked = known(*CLOUDS, MARKET, seller("silent", kind="serverless"))
    assert found(asked, "ingress", "silent") == (
        Decimal("0.03"),  # of 0.01, 0.03 and 0.50
        Decimal("0.50"),
        "median of 3 known prices anywhere",
    )


def test_a_provider_that_nobody_knows_is_compared_with_anyone() -> None:
    assert found(known(*CLOUDS, MARKET), "ingress", "nobody") == (
        Decimal("0.03"),
        Decimal("0.50"),
        "median of 3 known prices anywhere",
    )


def test_where_nothing_of_the_kind_is_known_there_is_no_price() -> None:
    asked = known(*CLOUDS, MARKET)
    assert found(asked, "egress", "a") is None
    assert found(asked, "disk", "a") is None
    assert found(known(), "ingress", "a") is None


def test_kinds_are_never_mixed() -> None:
    both = seller("both", ingress("0.01"), meter("egress", per="gb", usd="0.09"))
    asked = known(both, seller("silent"))
    assert found(asked, "ingress", "silent") == (
        *(Decimal("0.01"), Decimal("0.01")),
        "median of 1 known prices of cloud offers",
    )
    assert found(asked, "egress", "silent") == (
        *(Decimal("0.09"), Decimal("0.09")),
        "median of 1 known prices of cloud offers",
    )


def test_an_answer_is_found_once_and_then_remembered() -> None:
    asked = known(*CLOUDS, seller("silent"))
    assert asked.likely("ingress", "silent") is asked.likely("ingress", "silent")
    assert asked.likely("egress", "silent") is asked.likely("egress", "silent") is None


# --- which prices count -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "states", "counts"),
    [
        ("disk", ["running"], True),
        ("disk", ["running", "stopped_released"], True),
        ("disk", ["stopped_released"], False),  # twice as dear at some: not what running costs
        ("snapshot", ["stopped_released"], False),
        ("public_ip", ["stopped_released"], True),  # priced alike whatever the machine does
        ("fee", ["hibernated"], True),
    ],
)
def test_only_prices_of_a_running_machine_count_but_for_addresses_and_fees(
    kind: MeterKind, states: list[str], counts: bool
) -> None:
    per = "hour" if kind in ("public_ip", "fee") else "gb_hour"
    one = seller("one", meter(kind, per=per, usd="0.01", states=states))
    expected = (
        *(Decimal("0.01"), Decimal("0.01")),
        "median of 1 known prices of cloud offers",
    )
    assert found(known(one, seller("silent")), kind, "silent") == (expected if counts else None)


def test_a_stopped_price_beside_a_running_one_does_not_count() -> None:
    two = seller(
        "two",
        meter("disk", per="gb_hour", usd="0.01", states=["running"]),
        meter("disk", per="gb_hour", usd="0.02", states=["stopped_released"]),
    )
    likely = known(two, seller("silent")).likely("disk", "silent")
    assert likely is not None
    assert likely.maximum == Decimal("0.01")


@pytest.mark.parametrize(
    ("meters", "fields", "usd"),
    [
        ((), {}, "0.0001"),  # 0.073 / 730 h where nobody states the month
        ((meter("disk", per="gb_month", month_hours=720),), {}, "0.000101388888888888888888888889"),
        ((meter("disk", per="gb_month", month_hours=720),), {"month_hours": 730}, "0.0001"),
        ((), {"month_hours": 720}, "0.000101388888888888888888888889"),  # 0.073 / 720
    ],
)
def test_the_disk_price_of_an_offer_is_spread_over_the_hours_of_its_month(
    meters: tuple[Meter, ...], fields: dict[str, Any], usd: str
) -> None:
    one = seller("one", *meters)
    offers = (host("one", storage_usd_per_gb_month="0.073", **fields),)
    likely = known(one, offers=offers).likely("disk", "one")
    assert likely is not None
    assert likely.median == pytest.approx(Decimal(usd), rel=Decimal("1e-20"))


def test_traffic_prices_of_an_offer_count_each_way() -> None:
    offers = (host("one", ingress_usd_per_gb="0.01", egress_usd_per_gb="0.02"),)
    asked = known(seller("one"), offers=offers)
    into, out = asked.likely("ingress", "one"), asked.likely("egress", "one")
    assert into is not None
    assert out is not None
    assert (into.median, out.median) == (Decimal("0.01"), Decimal("0.02"))


def test_an_offer_of_an_unknown_provider_helps_that_provider() -> None:
    offers = (host("nobody", ingress_usd_per_gb="0.2"),)
    assert found(known(*CLOUDS, offers=offers), "ingress", "nobody") == (
        *(Decimal("0.2"), Decimal("0.2")),
        "median of 1 known prices of nobody",
    )


def test_an_offer_of_an_unknown_provider_helps_anyone_without_a_class() -> None:
    offers = (host("nobody", ingress_usd_per_gb="0.2"),)
    asked = known(seller("silent"), offers=offers)
    assert found(asked, "ingress", "silent") == (
        *(Decimal("0.2"), Decimal("0.2")),
        "median of 1 known prices anywhere",
    )


def test_every_secondary_price_of_the_folder_has_a_likely_one(shipped: Catalog) -> None:
    asked = KnownPrices(shipped.offers_on(ON), shipped.providers)
    kinds: list[MeterKind] = ["disk", "network_volume", "ingress", "egress", "cpu", "ram"]
    for kind in kinds:
        for key in shipped.providers:
            likely = asked.likely(kind, key)
            assert likely is not None
            assert 0 <= likely.median <= likely.maximum
