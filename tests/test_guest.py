"""Shutdowns from inside a box, however they are wrapped, and where they end no bill."""

from __future__ import annotations

import shlex

import pytest

from costplan import catalog
from costplan.box.guest import is_guest_shutdown
from costplan.falsestops import why_false


@pytest.mark.parametrize(
    "command",
    [
        "shutdown -h now",
        "/sbin/shutdown -h now",
        "sudo shutdown -h now",
        "sudo -n /usr/sbin/poweroff",
        "env X=1 halt -p",
        "X=1 poweroff",
        "nohup timeout 60 shutdown now",
        "init 0",
        "sudo telinit 0",
        "systemctl poweroff",
        "sudo systemctl --no-wall halt",
        "sh -c 'shutdown -h now'",
        "bash -lc 'sync; sudo poweroff'",
        "bash -c 'sync && systemctl poweroff'",
        "ssh box sudo shutdown -h now",
        "ssh -p 22 root@1.2.3.4 'sync; poweroff'",
        "gcloud compute ssh box --command 'sudo shutdown -h now'",
        "docker exec box poweroff",
    ],
)
def test_a_shutdown_from_inside_is_recognised(command: str) -> None:
    assert is_guest_shutdown(shlex.split(command))


@pytest.mark.parametrize(
    "command",
    [
        "vastai stop instance {id}",
        "runpodctl pod stop {id}",
        "az vm deallocate --ids {id}",
        "linode-cli linodes shutdown {id}",
        "doctl compute droplet-action shutdown {id}",
        "sh -c 'vultr-cli instance halt 5'",
        "init 6",
        "systemctl restart trainer",
        "python3 shutdown.py {id}",
        "sudo my-stop {id}",
        "curl -X POST https://api.example.com/instances/{id}/poweroff",
    ],
)
def test_a_call_of_the_provider_is_none(command: str) -> None:
    assert not is_guest_shutdown(shlex.split(command))


def test_it_is_no_stop_where_the_meter_runs_on() -> None:
    """Case 2: Scaleway's box was `stopped in place`, and billed for 5 hours more."""
    scaleway = catalog.load(catalog.folder()).providers["scaleway"]
    why = why_false("stop", ["sudo", "shutdown", "-h", "now"], scaleway)
    assert why is not None
    assert "its GPU bills on" in why
    assert why_false("stop", ["scw", "instance", "server", "stop", "{id}"], scaleway) is None


def test_at_an_unnamed_provider_nobody_says_that_it_ends_the_bill() -> None:
    assert "name yours with --provider" in (why_false("stop", ["poweroff"], None) or "")
    assert why_false("stop", ["anything", "{id}"], None) is None


def test_every_provider_says_of_a_guest_shutdown_what_its_meter_says() -> None:
    for provider in catalog.load(catalog.folder()).providers.values():
        done = provider.actions.get("guest_shutdown")
        bills = done is None or provider.meter("gpu", done.state) is not None
        gone = done is not None and done.state == "destroyed"
        stops = why_false("stop", ["poweroff"], provider) is None
        assert not (stops and (bills or gone)), provider.key


@pytest.mark.parametrize("key", ["lambda", "digitalocean", "ovh"])
def test_where_there_is_no_stop_no_command_is_one(key: str) -> None:
    provider = catalog.load(catalog.folder()).providers[key]
    assert why_false("stop", ["whatever", "{id}"], provider) is not None
    assert why_false("destroy", ["whatever", "{id}"], provider) is None


def test_a_shutdown_is_no_destroy_either() -> None:
    assert why_false("destroy", ["sudo", "poweroff"], None) is not None
