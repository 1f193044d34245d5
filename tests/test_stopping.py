"""What a stop really is, provider by provider: written by hand from what providers state."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

import pytest
from bills.samples import meter, provider

from costplan.records.idle import IdleBox
from costplan.stopping import stop_facts, told, warnings

if TYPE_CHECKING:
    from costplan.catalog import Catalog

# Provider, what to do, month of its disk, hours until a stopped box is deleted.
STOPS: list[tuple[str, str, int | None, int | None]] = [
    ("vast", "stop", 720, None),
    ("runpod-secure", "stop", 730, 720),
    ("runpod-community", "stop", 730, 720),
    ("autodl", "stop", 730, 360),  # released after 15 days
    ("gpushare", "stop", 730, 240),  # after 10
    ("aws", "stop", 730, None),
    ("gcp", "stop", 730, None),
    ("scaleway", "stop", 730, None),  # its power-off archives
    ("tensordock", "shelve", 730, None),  # shelving; its plain stop keeps the GPU
    ("immers", "shelve", 730, None),
    ("nebius", "stop", 730, None),
    ("azure", "deallocate", 730, None),
    ("hyperstack", "hibernate", 730, None),
    ("barrack-ai", "hibernate", 730, None),
    ("jarvislabs", "pause", 730, None),
    ("salad", "stop", None, None),
]
NO_STOP = [
    *("lambda", "digitalocean", "vultr", "linode", "ovh", "oci", "civo", "gpuoutlet", "thunder"),
    *("lium", "massedcompute", "modal", "beam", "replicate", "runpod-serverless"),
]
UNKNOWN = ["akash", "coreweave", "elice", "openrelay", "together", "verda"]


@pytest.mark.parametrize(("name", "action", "month", "expires"), STOPS)
def test_a_provider_that_stops_says_how_by_which_month_and_for_how_long(
    name: str, action: str, month: int | None, expires: int | None, shipped: Catalog
) -> None:
    facts = stop_facts(shipped.providers[name])
    assert facts.action == action
    assert facts.why_not is None
    assert facts.month_hours == month
    assert facts.expires_hours == expires


@pytest.mark.parametrize("name", NO_STOP)
def test_a_provider_without_a_stop_has_a_reason(name: str, shipped: Catalog) -> None:
    facts = stop_facts(shipped.providers[name])
    assert facts.action is None
    assert facts.why_not is not None
    assert "has no stop that ends the bill" in facts.why_not
    assert facts.storage_usd_per_gb_month is None


@pytest.mark.parametrize("name", UNKNOWN)
def test_a_stop_of_which_nobody_says_what_it_bills_is_none(name: str, shipped: Catalog) -> None:
    facts = stop_facts(shipped.providers[name])
    assert facts.action is None
    assert facts.why_not is not None
    assert "nobody says what a stop bills" in facts.why_not


def test_no_provider_has_a_stop_that_bills_its_gpu_or_destroys_the_box(shipped: Catalog) -> None:
    for each in shipped.providers.values():
        if stop_facts(each).action is None:
            continue
        assert each.stop.action is not None
        state = each.actions[each.stop.action].state
        assert state != "destroyed"
        gpu = each.meter("gpu", state)
        assert gpu is None


@pytest.mark.parametrize(
    ("state", "why"),
    [
        ("stopped_released", None),
        ("stopped_allocated", "a stopped box at Sample Cloud bills its GPU all the same"),
        ("hibernated", "a stopped box at Sample Cloud bills its GPU all the same"),  # nobody knows
        ("destroyed", "the stop of Sample Cloud destroys the box"),
    ],
)
def test_a_stop_that_saves_nothing_is_none_even_where_it_is_called_supported(
    state: str, why: str | None
) -> None:
    origin = {"source": "made up", "as_of": "2026-11-01"}
    sample = provider(
        meter("gpu", states=("running", "stopped_allocated"), states_unknown=("hibernated",)),
        actions={"api_stop": {"state": state, **origin}},
        stop={"supported": True, "action": "api_stop", **origin},
    )
    facts = stop_facts(sample)
    assert facts.why_not == why
    assert (facts.action is None) == (why is not None)


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("azure", "guest shutdown does not end the bill"),
        ("azure", "api stop does not end the bill"),
        ("scaleway", "guest shutdown does not end the bill"),
        ("lambda", "guest shutdown does not end the bill"),
        ("digitalocean", "guest shutdown does not end the bill"),
        ("nebius", "guest shutdown does not end the bill"),
        ("hyperstack", "api stop does not end the bill"),  # SHUTOFF bills 48 x 3.20 = 153.60
        ("tensordock", "api stop does not end the bill"),
        ("gpuoutlet", "api stop destroys the box"),
        ("runpod-secure", "wipes: container disk"),
        ("runpod-secure", "waits for its own host"),  # the market says nothing of its way back
        ("vast", "waits for its own host"),
        ("vast", "ends with its contract"),
        ("aws", "wipes: instance store"),
    ],
)
def test_what_looks_like_a_stop_and_is_none_is_said(name: str, part: str, shipped: Catalog) -> None:
    assert any(part in text for text in warnings(shipped.providers[name]))


@pytest.mark.parametrize("name", ["aws", "gcp", "vast", "runpod-secure", "paperspace"])
def test_a_shutdown_that_ends_the_bill_is_not_warned_of(name: str, shipped: Catalog) -> None:
    assert not [w for w in warnings(shipped.providers[name]) if "end the bill" in w]


@pytest.mark.parametrize(
    ("name", "price"),
    [
        ("runpod-secure", "0.20"),  # twice the running 0.10
        ("aws", "0.08"),
        ("paperspace", "0.10"),
        ("fly", "0.15"),
        ("vast", None),  # the host's
        ("azure", None),
    ],
)
def test_the_price_of_a_stopped_disk_is_that_of_the_stopped_state(
    name: str, price: str | None, shipped: Catalog
) -> None:
    found = stop_facts(shipped.providers[name]).storage_usd_per_gb_month
    assert found == (None if price is None else Decimal(price))


@pytest.mark.parametrize(
    ("name", "price"),
    [
        ("tensordock", "0.0365"),  # 0.00005 $ per GB and hour x 730
        ("fptcloud", "0.0949"),  # 0.00013 x 730
    ],
)
def test_a_stopped_disk_priced_by_the_hour_is_turned_into_a_month(
    name: str, price: str, shipped: Catalog
) -> None:
    found = stop_facts(shipped.providers[name]).storage_usd_per_gb_month
    assert found == Decimal(price)


def test_a_stopped_disk_priced_by_the_gibibyte_is_turned_into_gigabytes(shipped: Catalog) -> None:
    found = stop_facts(shipped.providers["gcp"]).storage_usd_per_gb_month
    assert found is not None
    assert round(found, 6) == Decimal("0.037253")  # 0.04/1.073741824


@pytest.mark.parametrize(
    ("name", "rebuilds"),
    [
        ("runpod-secure", True),  # the container disk holds what was installed
        ("salad", True),
        ("vast", False),
        ("aws", False),  # an instance store is lost, the system disk stays
        ("azure", False),
        ("gcp", False),
        ("nebius", False),
    ],
)
def test_only_where_the_container_disk_is_wiped_is_the_set_up_done_again(
    name: str, rebuilds: bool, shipped: Catalog
) -> None:
    assert stop_facts(shipped.providers[name]).rebuilds is rebuilds


@pytest.mark.parametrize(
    ("name", "told_of"), [("runpod-secure", True), ("runpod-community", True), ("vast", False)]
)
def test_how_files_come_off_a_box_whose_gpu_is_gone_is_said(
    shipped: Catalog, name: str, told_of: bool
) -> None:
    said = "\n".join(stop_facts(shipped.providers[name]).warnings)
    assert ("a start with zero GPUs on the web page; the API cannot" in said) is told_of


def test_what_happens_at_a_balance_of_nothing_is_said_where_there_is_a_balance(
    shipped: Catalog,
) -> None:
    facts = stop_facts(shipped.providers["vast"])
    box = IdleBox(usd_per_hour=Decimal(3), setup_minutes=15)
    paid = box.model_copy(update={"balance_usd": Decimal(2)})
    assert told(facts, box) == list(facts.warnings)
    assert told(facts, paid) == [facts.at_zero, *facts.warnings]
    assert facts.at_zero is not None
    assert told(None, paid) == []
    lost = stop_facts(shipped.providers["lambda"])
    assert told(lost, paid)[0] == lost.why_not
