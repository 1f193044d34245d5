"""What still bills after an action, provider by provider; the sets are written by hand.

They come from the providers' own pages as read for the price folder, not from the code: a changed
set means that a provider changed its rules, or that a file went wrong.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import pytest

from costplan.catalog import folder, read_provider

if TYPE_CHECKING:
    from costplan.records.providers import ActionName, Meter, MeterKind, Provider, State

NOTHING: set[MeterKind] = set()

AFTERWARDS: list[tuple[str, ActionName, set[MeterKind]]] = [
    ("paperspace", "api_stop", {"disk", "snapshot", "public_ip"}),
    ("paperspace", "terminate", {"snapshot", "public_ip"}),
    ("crusoe", "api_stop", {"disk"}),
    ("crusoe", "terminate", {"disk"}),
    ("nebius", "guest_shutdown", {"gpu", "disk", "object"}),
    ("nebius", "api_stop", {"disk", "object"}),
    ("nebius", "terminate", {"disk", "object"}),
    ("verda", "terminate", {"disk"}),
    ("hyperstack", "api_stop", {"gpu", "disk", "public_ip"}),
    ("hyperstack", "hibernate", {"disk", "public_ip"}),
    ("hyperstack", "terminate", NOTHING),
    ("barrack-ai", "api_stop", {"gpu", "disk"}),
    ("barrack-ai", "hibernate", {"fee"}),
    ("barrack-ai", "terminate", NOTHING),
    ("coreweave", "terminate", {"network_volume", "object"}),
    ("jarvislabs", "pause", {"disk"}),
    ("jarvislabs", "terminate", NOTHING),
    ("fly", "api_stop", {"disk", "volume", "snapshot"}),
    ("fly", "terminate", {"volume", "snapshot"}),
    ("thunder", "terminate", {"snapshot"}),
    ("fptcloud", "api_stop", {"disk"}),
    ("fptcloud", "terminate", NOTHING),
    ("autodl", "api_stop", {"disk", "network_volume"}),
    ("autodl", "terminate", {"network_volume"}),
    ("gpushare", "api_stop", {"disk", "network_volume"}),
    ("gpushare", "terminate", {"network_volume"}),
    ("openrelay", "terminate", NOTHING),
    ("akash", "terminate", NOTHING),
    ("lium", "terminate", NOTHING),
    ("massedcompute", "terminate", NOTHING),
    ("civo", "api_stop", {"gpu", "disk"}),
    ("civo", "terminate", NOTHING),
    ("together", "terminate", {"network_volume"}),
    ("denvr", "guest_shutdown", {"gpu", "disk", "network_volume"}),
    ("denvr", "api_stop", {"disk", "network_volume"}),
    ("denvr", "terminate", {"network_volume"}),
    ("immers", "api_stop", {"gpu", "disk", "public_ip"}),
    ("immers", "shelve", {"disk", "public_ip"}),
    ("immers", "terminate", NOTHING),
    ("elice", "terminate", NOTHING),
    ("gpuoutlet", "api_stop", NOTHING),
    ("gpuoutlet", "terminate", NOTHING),
    ("oci", "guest_shutdown", {"gpu", "disk"}),
    ("oci", "api_stop", {"gpu", "disk"}),
    ("oci", "terminate", NOTHING),
]

IN_A_STATE: list[tuple[str, State, set[MeterKind]]] = [
    ("crusoe", "requested", NOTHING),
    ("crusoe", "provisioning", NOTHING),
    ("crusoe", "loading_image", NOTHING),
    ("barrack-ai", "loading_image", NOTHING),
    ("gpuoutlet", "loading_image", NOTHING),
    ("gpuoutlet", "booting", NOTHING),
    ("massedcompute", "running", {"gpu", "disk"}),
    ("openrelay", "running", {"gpu"}),
    ("fly", "running", {"gpu", "volume", "snapshot"}),
    ("coreweave", "running", {"gpu", "network_volume", "object", "egress"}),
    ("hyperstack", "stopping", NOTHING),  # hibernating counts as stopping
    ("hyperstack", "error", NOTHING),
    ("denvr", "stopped_allocated", {"gpu", "disk", "network_volume"}),
    ("denvr", "stopped_released", {"disk", "network_volume"}),
    ("barrack-ai", "hibernated", {"fee"}),
    ("elice", "evicted", {"disk"}),
    ("elice", "terminating", {"gpu", "disk"}),
    ("elice", "destroyed", NOTHING),
    ("autodl", "expired", {"network_volume"}),
    ("gpushare", "expired", {"network_volume"}),
]

PROVIDERS = sorted({name for name, _, _ in AFTERWARDS})


@cache
def provider_of(name: str) -> Provider:
    return read_provider(folder() / "providers" / f"{name}.yaml").provider


def kinds_in(provider: Provider, state: State) -> set[MeterKind]:
    return {meter.kind for meter in provider.meters if state in meter.states}


def billing_kinds(provider: Provider, action: ActionName) -> set[MeterKind]:
    return kinds_in(provider, provider.actions[action].state)


def meter_of(provider: Provider, kind: MeterKind, state: State) -> Meter:
    found = provider.meter(kind, state)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("name", "action", "expected"),
    [pytest.param(*row, id=f"{row[0]} {row[1]}") for row in AFTERWARDS],
)
def test_after_an_action_exactly_these_meters_bill(
    name: str, action: ActionName, expected: set[MeterKind]
) -> None:
    assert billing_kinds(provider_of(name), action) == expected


@pytest.mark.parametrize(
    ("name", "state", "expected"),
    [pytest.param(*row, id=f"{row[0]} {row[1]}") for row in IN_A_STATE],
)
def test_in_a_state_exactly_these_meters_bill(
    name: str, state: State, expected: set[MeterKind]
) -> None:
    assert kinds_in(provider_of(name), state) == expected


def test_every_action_of_these_providers_has_a_row_or_an_unknown_bill() -> None:
    rows = {(name, action) for name, action, _ in AFTERWARDS}
    actions = {(name, action) for name in PROVIDERS for action in provider_of(name).actions}
    assert actions - rows == {("verda", "api_stop")}


@pytest.mark.parametrize("name", PROVIDERS)
def test_a_gpu_bills_while_it_runs(name: str) -> None:
    assert "gpu" in kinds_in(provider_of(name), "running")


@pytest.mark.parametrize("name", PROVIDERS)
@pytest.mark.parametrize("state", ["requested", "provisioning"])
def test_no_gpu_bills_before_there_is_a_machine(name: str, state: State) -> None:
    assert provider_of(name).meter("gpu", state) is None


@pytest.mark.parametrize("name", PROVIDERS)
def test_a_survivor_with_a_meter_bills_on_after_the_destroy(name: str) -> None:
    provider = provider_of(name)
    metered = {meter.kind for meter in provider.meters}
    survivors = set(provider.destroy.survivors)
    assert kinds_in(provider, "destroyed") == survivors & metered


@pytest.mark.parametrize("name", PROVIDERS)
def test_a_disk_is_billed_bundled_or_unknown_but_never_forgotten(name: str) -> None:
    provider = provider_of(name)
    assert (provider.meter("disk") is not None) != ("disk" in provider.included)


@pytest.mark.parametrize("name", PROVIDERS)
def test_the_recommended_stop_ends_the_compute_meter(name: str) -> None:
    stop = provider_of(name).stop
    if stop.supported:
        assert stop.action is not None
        assert "gpu" not in billing_kinds(provider_of(name), stop.action)
        assert provider_of(name).actions[stop.action].state != "destroyed"
    else:
        assert stop.action is None


@pytest.mark.parametrize("name", ["akash", "coreweave", "elice", "openrelay", "together", "verda"])
def test_where_no_source_speaks_of_a_stop_it_is_unknown(name: str) -> None:
    assert provider_of(name).stop.supported is None


@pytest.mark.parametrize("name", ["civo", "gpuoutlet", "lium", "massedcompute", "oci", "thunder"])
def test_where_nothing_saves_money_without_destroying_there_is_no_stop(name: str) -> None:
    assert provider_of(name).stop.supported is False


def test_the_bill_of_a_verda_shutdown_is_unknown_and_counted_as_possible() -> None:
    verda = provider_of("verda")
    state = verda.actions["api_stop"].state
    assert kinds_in(verda, state) == NOTHING
    assert state in meter_of(verda, "gpu", state).states_unknown
    assert state in meter_of(verda, "disk", state).states_unknown


def test_the_button_stop_of_gpuoutlet_destroys() -> None:
    gpuoutlet = provider_of("gpuoutlet")
    assert gpuoutlet.actions["api_stop"].state == "destroyed"
    assert gpuoutlet.stop.wiped == ("disk",)


def test_a_shutdown_inside_a_nebius_guest_reboots() -> None:
    assert provider_of("nebius").actions["guest_shutdown"].state == "running"


def test_a_committed_crusoe_machine_bills_while_stopped() -> None:
    crusoe = provider_of("crusoe")
    assert [term.billed_when_stopped for term in crusoe.commitments] == [True]
    assert crusoe.actions["api_stop"].only is not None


@pytest.mark.parametrize(("name", "hours"), [("autodl", 360), ("gpushare", 240)])
def test_a_stopped_machine_expires(name: str, hours: int) -> None:
    assert provider_of(name).stop.max_stopped_hours == hours
    assert provider_of(name).currency == "CNY"


@pytest.mark.parametrize(
    ("name", "wiped"),
    [
        ("crusoe", ("ephemeral NVMe",)),
        ("nebius", ("local SSD",)),
        ("gpushare", ("/root",)),
        ("denvr", ("ephemeral storage",)),
    ],
)
def test_a_stop_wipes_local_disks(name: str, wiped: tuple[str, ...]) -> None:
    assert provider_of(name).stop.wiped == wiped


def test_a_hibernated_barrack_machine_costs_a_flat_cent_an_hour() -> None:
    fee = meter_of(provider_of("barrack-ai"), "fee", "hibernated")
    assert str(fee.usd) == "0.01"
    assert fee.per == "hour"


@pytest.mark.parametrize(
    ("name", "kind", "state", "hours"),
    [
        ("nebius", "disk", "running", 730),
        ("coreweave", "network_volume", "running", 730),
        ("fly", "disk", "stopped_released", 720),
    ],
)
def test_a_month_has_the_hours_that_the_provider_states(
    name: str, kind: MeterKind, state: State, hours: int
) -> None:
    assert meter_of(provider_of(name), kind, state).month_hours == hours


def test_datacrunch_is_the_former_name_of_verda() -> None:
    assert "datacrunch" in provider_of("verda").aliases
