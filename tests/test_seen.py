"""An offer that someone sees and describes by flags."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

import pytest
from bills.samples import check, meter, shipped
from makes import ON, asked_of_all, bundled_known, by_name, others, priced, question, work

from costplan.phases import counting
from costplan.seen import SKU, neutral_provider, seen_offer

if TYPE_CHECKING:
    from costplan.records.offers import Offer
    from costplan.records.providers import Provider

NEUTRAL = neutral_provider(ON)


def seen(
    provider: Provider = NEUTRAL,
    *,
    usd: str = "2",
    storage: str | None = None,
    ingress: str | None = None,
    quoted: str | None = None,
) -> Offer:
    def amount(text: str | None) -> Decimal | None:
        return None if text is None else Decimal(text)

    return seen_offer(
        provider,
        card="RTX-4090",
        count=1,
        usd_per_hour=Decimal(usd),
        storage_usd_per_gb_month=amount(storage),
        ingress_usd_per_gb=amount(ingress),
        quoted_disk_gb=amount(quoted),
        on=ON,
    )


def test_nothing_is_known_of_the_neutral_provider_but_what_bills() -> None:
    assert (NEUTRAL.key, NEUTRAL.kind, NEUTRAL.included) == (SKU, "marketplace", ("cpu", "ram"))
    assert [each.kind for each in NEUTRAL.meters] == ["gpu", "disk", "ingress", "egress"]
    assert all(each.usd is None for each in NEUTRAL.meters)
    assert NEUTRAL.rounding.step_s is None
    assert NEUTRAL.stop.supported is None
    assert NEUTRAL.balance is None


def test_whether_the_image_pull_bills_is_unknown_there() -> None:
    for each in NEUTRAL.meters:
        assert counting(each) == {"running": 1, "loading_image": 0}


def test_an_offer_that_states_all_its_prices_is_priced_to_the_cent() -> None:
    rented = seen(storage="0.20", ingress="0.01", quoted="0")
    item = priced(question(work(dataset_gb=19), NEUTRAL, known=bundled_known()), rented)
    found = by_name(item)
    check(found["training"].cost().expected, "20.000")
    check(found["dataset in"].cost().expected, "0.190")  # 19 x 0.01
    check(found["disk"].price.usd.expected, "0.20")
    assert found["disk"].price.stated
    assert rented.checked == ON


@pytest.mark.parametrize(("storage", "stated"), [("0.20", True), (None, False)])
def test_a_disk_whose_price_is_not_said_is_taken_at_what_others_ask(
    storage: str | None, *, stated: bool
) -> None:
    known = others(meter("disk", usd="0.73", per="gb_month"), meter("egress", usd="0", per="gb"))
    asked = question(work(), NEUTRAL, known=known)
    item = priced(asked, seen(storage=storage, ingress="0"))
    assert item.rates.disk.stated is stated
    assert item.at_least is not stated  # 1 of 21 $


@pytest.mark.parametrize(
    ("key", "quoted", "gb"),
    [
        (None, None, None),
        (None, "5", "5"),
        (None, "0", "0"),
        # a search at vast.ai quotes 5 GB unless told otherwise
        ("vast", None, "5"),
        ("vast", "250", "250"),
        ("vast", "0", "0"),
        ("aws", None, None),
    ],
)
def test_the_disk_in_a_seen_price_is_the_stated_one_or_the_providers_default(
    key: str | None, quoted: str | None, gb: str | None
) -> None:
    found = seen(NEUTRAL if key is None else shipped(key), quoted=quoted).quoted_disk_gb
    assert found == (None if gb is None else Decimal(gb))


def test_a_price_seen_at_a_known_provider_follows_its_rules() -> None:
    # 2.0896 holds 5 GB at 1.00: 2.0896 - 5/720 = 2.082656; 900 GB: + 900/720 = 3.332656
    # (github.com/ayutaz/moshi-finetune, offer_check test, 2026)
    rented = seen(shipped("vast"), usd="2.0896", storage="1.00")
    item = priced(asked_of_all(work(disk_gb=900)), rented)
    check(item.rates.gpu.usd.expected, "2.08266")
    check(item.rates.gpu.usd.expected + 900 * item.rates.disk.usd.expected, "3.33266")


def test_a_price_seen_today_is_believed_exactly() -> None:
    item = priced(asked_of_all(work()), seen(shipped("vast"), storage="0.20", quoted="0"))
    low, expected, high = item.rates.gpu.usd
    assert low == expected == high == 2
