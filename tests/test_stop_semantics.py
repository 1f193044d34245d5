"""What bills after each button: written by hand from what providers state, not computed.

A stopped box that bills in full, and one that bills nothing, are both one wrong line of YAML away.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import pytest

from costplan import catalog

if TYPE_CHECKING:
    from costplan.records.providers import ActionName, MeterKind, Provider

STOP_ROWS_A: list[tuple[str, ActionName, set[MeterKind]]] = [
    # The disk at the host's price, bytes both ways, and a separate volume where there is one.
    ("vast", "api_stop", {"disk", "volume", "ingress", "egress"}),
    ("vast", "terminate", {"volume"}),
    # The volume disk at twice its price; network volumes go on as before.
    ("runpod-secure", "api_stop", {"disk", "network_volume"}),
    ("runpod-secure", "terminate", {"network_volume"}),
    ("runpod-community", "api_stop", {"disk"}),
    ("runpod-community", "terminate", set()),
    ("runpod-serverless", "scale_to_zero", {"network_volume"}),
    ("runpod-serverless", "terminate", {"network_volume"}),
    # There is no stop: a machine shut down from inside bills on.
    ("lambda", "guest_shutdown", {"gpu", "network_volume"}),
    ("lambda", "terminate", {"network_volume"}),
    ("modal", "scale_to_zero", {"network_volume"}),
    ("modal", "terminate", {"network_volume"}),
    ("beam", "scale_to_zero", set()),
    ("beam", "terminate", set()),
    ("replicate", "scale_to_zero", set()),
    ("replicate", "terminate", set()),
    # Only the state Running bills, and there is no disk to keep.
    ("salad", "api_stop", set()),
    ("salad", "terminate", set()),
    # The plain stop keeps the GPU; the one that gives it back bills the disk alone.
    ("tensordock", "api_stop", {"gpu", "cpu", "ram", "disk"}),
    ("tensordock", "shelve", {"disk"}),
    ("tensordock", "terminate", set()),
    ("aws", "guest_shutdown", {"disk", "public_ip"}),
    ("aws", "api_stop", {"disk", "public_ip"}),
    ("aws", "terminate", set()),
    ("gcp", "guest_shutdown", {"disk", "public_ip"}),
    ("gcp", "api_stop", {"disk", "public_ip"}),
    ("gcp", "terminate", set()),
    # Stopped is not deallocated.
    ("azure", "guest_shutdown", {"gpu", "disk", "public_ip"}),
    ("azure", "api_stop", {"gpu", "disk", "public_ip"}),
    ("azure", "deallocate", {"disk", "public_ip"}),
    ("azure", "terminate", set()),
    # Off is billed in full, the disk inside the price.
    ("digitalocean", "guest_shutdown", {"gpu", "snapshot"}),
    ("digitalocean", "api_stop", {"gpu", "snapshot"}),
    ("digitalocean", "terminate", {"snapshot"}),
    ("vultr", "guest_shutdown", {"gpu", "snapshot"}),
    ("vultr", "api_stop", {"gpu", "snapshot"}),
    ("vultr", "terminate", {"snapshot"}),
    ("linode", "guest_shutdown", {"gpu"}),
    ("linode", "api_stop", {"gpu"}),
    ("linode", "terminate", set()),
    ("ovh", "guest_shutdown", {"gpu"}),
    ("ovh", "api_stop", {"gpu"}),
    ("ovh", "terminate", set()),
    # From inside it ends in standby, which bills; the provider's power-off archives.
    ("scaleway", "guest_shutdown", {"gpu", "disk", "public_ip"}),
    ("scaleway", "pause", {"gpu", "disk", "public_ip"}),
    ("scaleway", "api_stop", {"disk", "public_ip"}),
    ("scaleway", "terminate", set()),
]

STOPS_A: list[tuple[str, ActionName | None]] = [
    ("vast", "api_stop"),
    ("runpod-secure", "api_stop"),
    ("runpod-community", "api_stop"),
    ("runpod-serverless", None),
    ("lambda", None),
    ("modal", None),
    ("beam", None),
    ("replicate", None),
    ("salad", "api_stop"),
    ("tensordock", "shelve"),
    ("aws", "api_stop"),
    ("gcp", "api_stop"),
    ("azure", "deallocate"),
    ("digitalocean", None),
    ("vultr", None),
    ("linode", None),
    ("ovh", None),
    ("scaleway", "api_stop"),
]
"""The action that ends the bill for the GPU and keeps the box; None where there is none."""


@cache
def provider_of(name: str) -> Provider:
    path = catalog.folder() / "providers" / f"{name}.yaml"
    return catalog.read_provider(path).provider


def billing_kinds(provider: Provider, action: ActionName) -> set[MeterKind]:
    state = provider.actions[action].state
    return {meter.kind for meter in provider.meters if state in meter.states}


@pytest.mark.parametrize(("name", "action", "expected"), STOP_ROWS_A)
def test_after_an_action_exactly_these_meters_bill(
    name: str, action: ActionName, expected: set[MeterKind]
) -> None:
    assert billing_kinds(provider_of(name), action) == expected


@pytest.mark.parametrize(("name", "action"), STOPS_A)
def test_the_stop_of_a_provider_is_the_one_that_ends_the_gpu_bill(
    name: str, action: ActionName | None
) -> None:
    stop = provider_of(name).stop
    assert stop.action == action
    assert stop.supported is (action is not None)
    if action is not None:
        assert "gpu" not in billing_kinds(provider_of(name), action)


@pytest.mark.parametrize("name", [name for name, _ in STOPS_A])
def test_every_action_of_a_provider_has_a_row_in_the_table(name: str) -> None:
    rows = {action for provider, action, _ in STOP_ROWS_A if provider == name}
    assert rows == set(provider_of(name).actions)


@pytest.mark.parametrize("name", [name for name, _ in STOPS_A])
def test_a_gpu_that_is_given_back_no_longer_bills(name: str) -> None:
    provider = provider_of(name)
    for action, effect in provider.actions.items():
        assert effect.releases_gpu is not None
        assert effect.releases_gpu is ("gpu" not in billing_kinds(provider, action))


def test_a_stopped_runpod_volume_costs_twice_the_running_one() -> None:
    for name in ("runpod-secure", "runpod-community"):
        provider = provider_of(name)
        running = provider.meter("disk", "running")
        stopped = provider.meter("disk", "stopped_released")
        assert running is not None
        assert stopped is not None
        assert running.usd is not None
        assert stopped.usd == 2 * running.usd


def test_a_vast_host_that_is_offline_bills_nothing() -> None:
    meters = provider_of("vast").meters
    assert not [m.kind for m in meters if "host_offline" in (*m.states, *m.states_unknown)]


def test_pulling_an_image_does_not_bill_the_gpu_where_providers_say_so() -> None:
    for name in ("lambda", "vast", "salad", "beam"):
        assert provider_of(name).meter("gpu", "loading_image") is None
    for name in ("lambda", "salad", "beam"):
        assert provider_of(name).meter("gpu", "booting") is None


def test_scaleway_bills_the_gpu_while_it_boots() -> None:
    gpu = provider_of("scaleway").meter("gpu", "booting")
    assert gpu is not None
    assert "booting" in gpu.states
