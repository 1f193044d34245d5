"""The price folder as shipped: one test for each offer and each provider, and what is made of it.

A failing test has the offer or provider in its name, so that whoever adds a price sees which one.
"""

from __future__ import annotations

import importlib
import json
import re
import string
from datetime import date
from decimal import Decimal
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest

from costplan import catalog
from costplan.records.record import Record
from costplan.states import meters_in, state_after

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from conftest import PriceFolder

    from costplan.records.offers import OfferEntry, ProviderFile
    from costplan.records.providers import MeterKind

# The day on which the prices were last compiled, not today: the tests must not depend on the
# clock. Whoever adds a later price moves it.
TODAY = date(2026, 11, 30)

FOLDER = catalog.folder()
SHIPPED = catalog.load(FOLDER)
FILES = {file.provider.key: file for file in SHIPPED.files}
ENTRIES = {entry.sku: entry for entry in SHIPPED.entries}


@pytest.fixture(params=FILES)
def file(request: pytest.FixtureRequest) -> ProviderFile:
    """Each provider file in turn."""
    return FILES[request.param]


@pytest.fixture(params=ENTRIES)
def entry(request: pytest.FixtureRequest) -> OfferEntry:
    """Each offer in turn."""
    return ENTRIES[request.param]


# --- offers -------------------------------------------------------------------------------------

# What one GPU costs an hour, on any market at any time: beyond, a figure is off by a power of ten.
LEAST_USD = Decimal("0.02")
MOST_USD = Decimal(20)


def test_an_offer_is_complete_and_plausible_and_listed_from_its_first_day_on(
    entry: OfferEntry,
) -> None:
    assert entry.card in SHIPPED.cards or entry.card in SHIPPED.unstated
    provider, _, name = entry.sku.partition("/")
    assert provider in FILES
    assert re.fullmatch(rf"{entry.count}x-{re.escape(entry.card.lower())}(-[a-z0-9-]+)?", name)
    assert entry.tag is None or name.endswith(f"-{entry.tag}")
    days = [price.since for price in entry.prices]
    assert days == sorted(set(days))
    for price in entry.prices:
        assert price.since <= TODAY
        assert price.since <= (price.checked or price.since) <= TODAY
        assert price.source.strip()
        both = (price.usd_per_hour, price.spot_usd_per_hour)
        assert any(both)
        for usd in both:
            assert usd is None or LEAST_USD * entry.count <= usd <= MOST_USD * entry.count
        if price.usd_per_hour is not None and price.spot_usd_per_hour is not None:
            assert price.spot_usd_per_hour < price.usd_per_hour
    first = entry.prices[0].since
    assert entry.price_on(date.fromordinal(first.toordinal() - 1)) is None
    assert entry.price_on(first) == entry.prices[0]
    assert entry.price_on(TODAY) == entry.prices[-1]


# Offers of each provider, counted by hand in its file; 0: only its rules are known.
OFFERS = {
    "akash": 0,
    "autodl": 0,
    "aws": 10,
    "azure": 6,
    "barrack-ai": 5,
    "beam": 9,
    "civo": 0,
    "coreweave": 4,
    "crusoe": 8,
    "denvr": 0,
    "digitalocean": 0,
    "elice": 0,
    "fly": 1,
    "fptcloud": 1,
    "gcp": 7,
    "gpuoutlet": 0,
    "gpushare": 0,
    "hyperstack": 11,
    "immers": 0,
    "jarvislabs": 9,
    "lambda": 12,
    "linode": 0,
    "lium": 11,
    "massedcompute": 0,
    "modal": 10,
    "nebius": 8,
    "oci": 0,
    "openrelay": 4,
    "ovh": 0,
    "paperspace": 5,
    "replicate": 4,
    "runpod-community": 7,
    "runpod-secure": 12,
    "runpod-serverless": 11,
    "salad": 1,
    "scaleway": 0,
    "tensordock": 0,
    "thunder": 0,
    "together": 0,
    "vast": 34,
    "verda": 13,
    "vultr": 0,
}


def test_a_provider_has_as_many_offers_as_were_counted(file: ProviderFile) -> None:
    assert len(file.offers) == OFFERS[file.provider.key]


def test_the_rules_of_25_providers_and_the_offers_of_20_are_known() -> None:
    assert set(OFFERS) == set(FILES)
    assert len(OFFERS) >= 25
    assert sum(1 for count in OFFERS.values() if count) >= 20
    assert len(ENTRIES) == sum(OFFERS.values())


def test_every_offer_has_a_price_today_and_none_had_one_before_all_prices() -> None:
    assert [offer.sku for offer in SHIPPED.offers_on(TODAY)] == sorted(ENTRIES)
    assert SHIPPED.offers_on(date(2000, 1, 1)) == []


# --- providers ----------------------------------------------------------------------------------


def test_the_gpu_of_a_provider_surely_bills_while_it_runs(file: ProviderFile) -> None:
    (gpu,) = [meter for meter in file.provider.meters if meter.kind == "gpu"]
    assert "running" in gpu.states
    assert gpu.usd is None  # each offer has its own price


# A disk may be bundled, bill (at a price or at none that anybody states), or be left open.
def test_the_storage_of_a_provider_is_stated_included_or_unknown(file: ProviderFile) -> None:
    provider = file.provider
    disks = [meter for meter in provider.meters if meter.kind == "disk"]
    running = [m for m in disks if "running" in (*m.states, *m.states_unknown)]
    assert running or "disk" in provider.included
    assert not running or "disk" not in provider.included, "billed twice"


def test_no_meter_of_a_provider_bills_what_its_price_includes(file: ProviderFile) -> None:
    billed = {meter.kind for meter, _ in meters_in(file.provider, "running")}
    assert not billed & set(file.provider.included)


def test_every_action_of_a_provider_leads_to_a_state_it_can_be_billed_in(
    file: ProviderFile,
) -> None:
    provider = file.provider
    assert provider.actions["terminate"].state == "destroyed"
    known = {state for m in provider.meters for state in (*m.states, *m.states_unknown)}
    for name, action in provider.actions.items():
        assert state_after(provider, name) == action.state
        # A state in which nothing bills is a stop that is free; only few have one.
        free = action.state not in known
        assert not free or action.state == "destroyed" or provider.key in FREE_WHEN_STOPPED


# Nothing bills after their stop: functions without a volume, and a node that keeps nothing.
FREE_WHEN_STOPPED = {"replicate", "salad"}


def test_the_stop_of_a_provider_works_or_is_denied_or_is_unknown(file: ProviderFile) -> None:
    provider, stop = file.provider, file.provider.stop
    if not stop.supported:  # False: nothing stops the bill but a destroy; None: no source says
        assert stop.action is None
        return
    assert stop.action is not None
    after = state_after(provider, stop.action)
    assert after not in ("running", "destroyed")
    assert "gpu" not in {meter.kind for meter, _ in meters_in(provider, after)}


def test_what_survives_a_destroy_is_what_bills_after_it(file: ProviderFile) -> None:
    survivors: set[MeterKind] = set(file.provider.destroy.survivors)
    assert {m.kind for m in file.provider.meters if "destroyed" in m.states} <= survivors


def blocks(key: str) -> Iterator[str]:
    """Yield the text of each meter in a provider file."""
    text = (FOLDER / "providers" / f"{key}.yaml").read_text(encoding="utf-8")
    meters = text.split("\n  meters:\n")[1].split("\n  actions:\n")[0]
    yield from re.split(r"(?m)^    - (?=kind:)", meters)[1:]


def test_the_hours_of_a_priced_month_are_stated_or_said_to_be_unstated(file: ProviderFile) -> None:
    texts = list(blocks(file.provider.key))
    assert len(texts) == len(file.provider.meters)
    open_, said = set(), set()
    for text, meter in zip(texts, file.provider.meters, strict=True):
        if re.search(r"(?i)month length not stated|hours in the month are not stated", text):
            said.add(meter.kind)
        priced = meter.usd is not None or bool(meter.tiers)
        if priced and meter.per.endswith("month") and "month_hours" not in meter.model_fields_set:
            open_.add(meter.kind)
    assert open_ <= said


# Hours of a month that a source states.
MONTHS: dict[tuple[str, MeterKind], int] = {
    ("coreweave", "network_volume"): 730,
    ("coreweave", "object"): 730,
    ("fly", "disk"): 720,  # "per 30 days"
    ("gcp", "disk"): 730,
    ("lambda", "network_volume"): 720,
    ("nebius", "disk"): 730,
    ("nebius", "object"): 730,
    ("vast", "disk"): 720,
    ("vast", "volume"): 720,
}


def test_exactly_these_months_have_stated_hours() -> None:
    stated = {
        (key, meter.kind): meter.month_hours
        for key, file in FILES.items()
        for meter in file.provider.meters
        if "month_hours" in meter.model_fields_set
    }
    assert stated == MONTHS


def dated(record: Record) -> Iterator[date]:
    """Yield every day on which something in `record` was stated."""
    for name in type(record).model_fields:
        value = getattr(record, name)
        if isinstance(value, date):
            yield value
        inner = value.values() if isinstance(value, dict) else value
        for each in inner if isinstance(inner, tuple | type({}.values())) else (value,):
            if isinstance(each, Record):
                yield from dated(each)


def test_nothing_about_a_provider_was_stated_after_the_folder_was_compiled(
    file: ProviderFile,
) -> None:
    days = list(dated(file))
    # The provider itself, its rounding, its stop, its destroy and each of its meters.
    assert len(days) >= 4 + len(file.provider.meters)
    assert max(days) <= TODAY


def test_only_prices_in_dollars_are_offers(file: ProviderFile) -> None:
    assert file.provider.currency == "USD" or not file.offers


def names_of(file: ProviderFile) -> set[str]:
    provider = file.provider
    return {provider.key, provider.name.lower(), *provider.aliases}


def test_the_names_of_a_provider_are_its_own_and_find_it(file: ProviderFile) -> None:
    others = set().union(*(names_of(other) for other in FILES.values() if other is not file))
    assert not names_of(file) & others
    for name in names_of(file):
        assert SHIPPED.provider_key(name) == file.provider.key
        assert SHIPPED.provider_key(f" {name.upper()} ") == file.provider.key


FIELDS = {"id", "instance", "card", "card_name", "card_words", "count", "disk_gb", "region"}


def test_the_commands_of_a_provider_have_known_blanks_only(file: ProviderFile) -> None:
    for template in (file.provider.rent_command, file.provider.search_command):
        blanks = {name for _, name, _, _ in string.Formatter().parse(template or "") if name}
        assert blanks <= FIELDS


def test_a_serverless_provider_scales_to_zero_and_cannot_be_stopped() -> None:
    found = {key for key, file in FILES.items() if file.provider.kind == "serverless"}
    assert found == {"beam", "modal", "replicate", "runpod-serverless"}
    for key in found:
        provider = FILES[key].provider
        assert provider.serverless is not None
        assert "scale_to_zero" in provider.actions
        assert provider.stop.supported is False


@pytest.mark.parametrize(
    ("key", "cpu_usd_per_hour", "ram_usd_per_gb_hour"),
    [
        # 0.0000131 $ a core and second x 3,600; 0.00000222 $ a GiB and second x 3,600.
        ("modal", "0.04716", "0.007992"),
        # 0.0000528 x 3,600 and 0.0000056 x 3,600, per GB.
        ("beam", "0.19008", "0.02016"),
    ],
)
def test_modal_and_beam_bill_cpu_and_ram_by_the_second_beside_the_gpu(
    key: str, cpu_usd_per_hour: str, ram_usd_per_gb_hour: str
) -> None:
    provider = FILES[key].provider
    cpu, ram = provider.meter("cpu"), provider.meter("ram")
    assert cpu is not None
    assert ram is not None
    assert (cpu.per, ram.per) in {
        ("core_second", "gib_second"),
        ("core_second", "gb_second"),
    }
    assert cpu.usd is not None
    assert ram.usd is not None
    assert cpu.usd * 3_600 == Decimal(cpu_usd_per_hour)
    assert ram.usd * 3_600 == Decimal(ram_usd_per_gb_hour)
    assert not {"cpu", "ram"} & set(provider.included)


def test_runpod_is_three_providers_that_are_never_mixed() -> None:
    secure, community = FILES["runpod-secure"].provider, FILES["runpod-community"].provider
    assert (secure.kind, community.kind) == ("cloud", "marketplace")
    assert FILES["runpod-serverless"].provider.kind == "serverless"
    assert SHIPPED.provider_key("runpod") == "runpod-secure"
    # Network volumes are sold with Secure Cloud only.
    assert secure.destroy.survivors == ("network_volume",)
    assert community.destroy.survivors == ()
    # The same card on the same day: 3.99 and 2.69 $/h.
    prices = {offer.sku: offer.usd_per_hour for offer in SHIPPED.offers_on(TODAY)}
    assert prices["runpod-secure/1x-h100-sxm"] == Decimal("3.99")
    assert prices["runpod-community/1x-h100-sxm"] == Decimal("2.69")


# --- what is made of the YAML -------------------------------------------------------------------


@cache
def from_yaml() -> catalog.Catalog:
    return catalog.load_yaml(FOLDER)


MAKE = "run scripts/compile-prices"


def test_the_compiled_prices_are_fresh() -> None:
    found = (FOLDER / "compiled.json").read_text(encoding="utf-8")
    assert found == catalog.compiled_text(FOLDER), MAKE


def test_the_schema_is_fresh() -> None:
    assert (FOLDER / "schema.json").read_text(encoding="utf-8") == catalog.schema_text(), MAKE


@pytest.mark.parametrize("day", [date(2024, 8, 15), date(2026, 6, 30), TODAY], ids=str)
def test_the_compiled_prices_are_those_of_the_yaml(day: date) -> None:
    assert SHIPPED.offers_on(day) == from_yaml().offers_on(day)


def test_the_compiled_cards_and_providers_are_those_of_the_yaml() -> None:
    assert SHIPPED.cards == from_yaml().cards
    assert SHIPPED.unstated == from_yaml().unstated
    assert SHIPPED.providers == from_yaml().providers
    assert SHIPPED.files == from_yaml().files


OFFER = """\
offers:
  - sku: acme/1x-t4
    card: T4
    prices:
      - usd_per_hour: 1.25
        since: 2026-01-01
        source: made up
"""


@pytest.fixture
def small(price_folder: PriceFolder) -> Path:
    """A price folder of one offer, compiled."""
    folder = price_folder(offers=OFFER)
    (folder / "compiled.json").write_text(catalog.compiled_text(folder), encoding="utf-8")
    return folder


def price_in(folder: Path) -> Decimal | None:
    """Return the price of the one offer."""
    (offer,) = catalog.load(folder).offers_on(TODAY)
    return offer.usd_per_hour


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


def test_a_fresh_compiled_file_is_what_is_read(small: Path) -> None:
    assert price_in(small) == Decimal("1.25")
    edit(small / "compiled.json", '"usd_per_hour": "1.25"', '"usd_per_hour": "9"')
    assert price_in(small) == Decimal(9)


def test_a_stale_compiled_file_is_ignored(small: Path) -> None:
    edit(small / "providers" / "acme.yaml", "usd_per_hour: 1.25", "usd_per_hour: 1.5")
    assert price_in(small) == Decimal("1.5")


def test_a_folder_without_a_compiled_file_is_read_from_the_yaml(small: Path) -> None:
    (small / "compiled.json").unlink()
    assert price_in(small) == Decimal("1.25")


def test_a_new_card_a_new_provider_and_a_new_name_make_a_compiled_file_stale(small: Path) -> None:
    seen = {catalog.fingerprint(small)}
    edit(small / "gpus.yaml", "cards:\n", "cards: # all of them\n")
    seen.add(catalog.fingerprint(small))
    beta = small / "providers" / "beta.yaml"
    beta.write_text("", encoding="utf-8")
    seen.add(catalog.fingerprint(small))
    beta.rename(beta.with_name("gamma.yaml"))
    seen.add(catalog.fingerprint(small))
    assert len(seen) == 4


def test_what_is_no_price_makes_no_compiled_file_stale(small: Path) -> None:
    before = catalog.fingerprint(small)
    (small / "README.md").write_text("How to add a price", encoding="utf-8")
    (small / "providers" / "notes.txt").write_text("", encoding="utf-8")
    assert catalog.fingerprint(small) == before


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b"5", b"\xff", b"{} {}"], ids=repr)
def test_a_broken_compiled_file_is_ignored(data: bytes, small: Path) -> None:
    (small / "compiled.json").write_bytes(data)
    assert price_in(small) == Decimal("1.25")


@pytest.mark.parametrize("left_out", ["cards", "providers"])
def test_a_compiled_file_of_another_version_is_ignored(left_out: str, small: Path) -> None:
    body = json.loads((small / "compiled.json").read_text(encoding="utf-8"))
    del body[left_out]
    (small / "compiled.json").write_text(json.dumps(body), encoding="utf-8")
    assert price_in(small) == Decimal("1.25")


def test_a_compiled_file_with_fields_of_another_version_is_ignored(small: Path) -> None:
    edit(small / "compiled.json", '"key": "acme"', '"key": "acme", "coming_field": 1')
    assert price_in(small) == Decimal("1.25")


# --- the schema that editors use ----------------------------------------------------------------


@cache
def validator() -> Any:
    jsonschema = importlib.import_module("jsonschema")
    schema = json.loads((FOLDER / "schema.json").read_text(encoding="utf-8"))
    kind = jsonschema.validators.validator_for(schema)
    kind.check_schema(schema)
    return kind(schema)


def plainly(path: Path) -> Any:
    """Return the file as an editor reads it: plain YAML, days as text."""
    import yaml

    def undated(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: undated(each) for key, each in value.items()}
        if isinstance(value, list):
            return [undated(each) for each in value]
        return str(value) if isinstance(value, date) else value

    loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    return undated(yaml.load(path.read_text(encoding="utf-8"), Loader=loader))


def test_the_file_of_a_provider_fits_the_schema(file: ProviderFile) -> None:
    data = plainly(FOLDER / "providers" / f"{file.provider.key}.yaml")
    assert [error.message for error in validator().iter_errors(data)] == []


def test_the_schema_refuses_an_unknown_key_and_a_missing_one() -> None:
    data = plainly(FOLDER / "providers" / "fly.yaml")
    del data["provider"]["rounding"]
    data["offers"][0]["crad"] = "T4"
    messages = " ".join(error.message for error in validator().iter_errors(data))
    assert "'crad' was unexpected" in messages
    assert "'rounding' is a required property" in messages


def test_the_file_of_a_provider_names_its_schema(file: ProviderFile) -> None:
    path = FOLDER / "providers" / f"{file.provider.key}.yaml"
    first = path.read_text(encoding="utf-8").splitlines()[0]
    assert first == "# yaml-language-server: $schema=../schema.json"


def test_the_folder_holds_nothing_else() -> None:
    names = {path.name for path in FOLDER.iterdir()}
    made = {"compiled.json", "habits.json", "schema.json"}
    assert names == made | {"README.md", "gpus.yaml", "providers"}
    assert {path.name for path in (FOLDER / "providers").iterdir()} == {f"{k}.yaml" for k in FILES}
