"""The price folder: where it is found, what names mean, which price holds, what breaks it."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from costplan import catalog
from costplan.cli.asked import Asked, estimated
from costplan.errors import InputError, UnknownError

if TYPE_CHECKING:
    from conftest import PriceFolder

    from costplan.catalog import Catalog

# --- which folder -------------------------------------------------------------------------------


def test_the_folder_of_the_checkout_is_taken_where_nothing_else_is_named() -> None:
    assert catalog.folder() == Path(catalog.__file__).parents[1] / "pricing"
    assert (catalog.folder() / "gpus.yaml").is_file()


def test_the_variable_wins_over_the_checkout(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COSTPLAN_PRICING", str(tmp_path))
    assert catalog.folder() == tmp_path


def test_a_given_folder_wins_over_the_variable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COSTPLAN_PRICING", str(tmp_path / "nowhere"))
    assert catalog.folder(tmp_path) == tmp_path


def test_an_empty_variable_names_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COSTPLAN_PRICING", "")
    assert catalog.folder() == Path(catalog.__file__).parents[1] / "pricing"


def test_the_folder_inside_the_package_wins_over_the_one_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # As in a wheel: costplan/pricing lies beside costplan/catalog.py.
    (tmp_path / "costplan" / "pricing").mkdir(parents=True)
    (tmp_path / "pricing").mkdir()
    monkeypatch.setattr(catalog, "__file__", str(tmp_path / "costplan" / "catalog.py"))
    assert catalog.folder() == tmp_path / "costplan" / "pricing"
    (tmp_path / "costplan" / "pricing").rmdir()
    assert catalog.folder() == tmp_path / "pricing"


def test_a_named_folder_that_is_none_is_an_input_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong = tmp_path / "gpus.yaml"
    wrong.write_text("", encoding="utf-8")
    for named in (wrong, tmp_path / "nowhere"):
        with pytest.raises(InputError) as caught:
            catalog.folder(named)
        assert str(caught.value) == f"price folder {named} is not a directory"
    monkeypatch.setenv("COSTPLAN_PRICING", str(wrong))
    with pytest.raises(InputError, match="is not a directory"):
        catalog.folder()


def test_a_name_longer_than_any_folder_name_is_an_input_error() -> None:
    with pytest.raises(InputError, match="price folder"):
        catalog.folder(Path("a" * 5_000))


# --- names of cards -----------------------------------------------------------------------------

H100S = {"H100", "H100-80GB", "H100-PCIE", "H100-SXM", "H100-NVL"}


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("RTX-4090", "RTX-4090"),
        ("rtx 4090", "RTX-4090"),
        ("4090", "RTX-4090"),
        ("3060 Ti", "RTX-3060-TI"),
        ("RTX_4090", "RTX-4090"),
        ("NVIDIA GeForce RTX 4090", "RTX-4090"),
        ("Tesla T4", "T4"),
        ("A100 SXM4 80 GB", "A100-SXM-80GB"),  # an alias
        ("A100 SXM4", "A100-SXM"),  # an alias of a name that two cards share
        ("h100", "H100"),
        ("AMD Instinct MI300X", "MI300X"),
    ],
)
def test_a_card_is_found_under_any_of_its_names(name: str, key: str, shipped: Catalog) -> None:
    assert shipped.card_key(name) == key


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("RTX-4O90", "RTX-4090"),
        ("h10O", "H100"),
        ("", "the cards are listed in pricing/gpus.yaml"),
        ("NVIDIA", "the cards are listed in pricing/gpus.yaml"),  # a maker, no card
        ("qqqqqqqqqqqq", "the cards are listed in pricing/gpus.yaml"),
    ],
)
def test_an_unknown_card_is_an_input_error_with_a_hint(
    name: str, hint: str, shipped: Catalog
) -> None:
    with pytest.raises(InputError) as caught:
        shipped.card_key(name)
    assert str(caught.value) == f"unknown card {name!r}"
    assert caught.value.hint is not None
    assert hint in caught.value.hint


@pytest.mark.parametrize(
    ("name", "keys"),
    [
        ("H100", H100S),  # whatever may be an H100
        ("H100 80GB", {"H100-80GB", "H100-PCIE", "H100-SXM"}),  # the NVL has 94 GB
        ("H100-SXM", {"H100-SXM"}),  # an offer of an unstated H100 may be another
        ("H100 NVL", {"H100-NVL"}),
        ("A100-SXM", {"A100-SXM", "A100-SXM-40GB", "A100-SXM-80GB"}),
        ("A100-80GB", {"A100-80GB", "A100-PCIE-80GB", "A100-SXM-80GB"}),
        (
            "A100",
            {"A100", "A100-40GB", "A100-80GB", "A100-PCIE", "A100-SXM"}
            | {f"A100-{form}-{gb}GB" for form in ("PCIE", "SXM") for gb in (40, 80)},
        ),
        ("t4", {"T4"}),
    ],
)
def test_a_filter_lets_through_what_the_name_may_stand_for(
    name: str, keys: set[str], shipped: Catalog
) -> None:
    assert shipped.keys_of(name) == keys


def test_a_filter_on_an_unknown_card_is_an_input_error(shipped: Catalog) -> None:
    with pytest.raises(InputError, match="unknown card 'H100-XSM'") as caught:
        shipped.keys_of("H100-XSM")
    assert caught.value.hint is not None
    assert "H100-SXM" in caught.value.hint


def test_a_name_that_is_one_card_has_one_variant_and_a_shared_one_has_all(
    shipped: Catalog,
) -> None:
    assert [card.key for card in shipped.variants("H100-SXM")] == ["H100-SXM"]
    assert {card.key for card in shipped.variants("H100")} == H100S - {"H100", "H100-80GB"}


# --- names of providers -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("vast", "vast"),
        ("vast.ai", "vast"),  # its name
        ("Vast.AI ", "vast"),
        ("vastai", "vast"),  # an alias
        ("RunPod", "runpod-secure"),
        ("RunPod Community Cloud", "runpod-community"),
        ("datacrunch", "verda"),
    ],
)
def test_a_provider_is_found_under_any_of_its_names(name: str, key: str, shipped: Catalog) -> None:
    assert shipped.provider_key(name) == key


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("vst", "did you mean vast"),
        ("runpod-secur", "did you mean runpod-secure"),
        ("", "known: akash, autodl, aws"),
        ("qqqqqqqqqqqq", "known: akash, autodl, aws"),
    ],
)
def test_an_unknown_provider_is_an_input_error_with_a_hint(
    name: str, hint: str, shipped: Catalog
) -> None:
    with pytest.raises(InputError) as caught:
        shipped.provider_key(name)
    assert str(caught.value) == f"unknown provider {name!r}"
    assert caught.value.hint is not None
    assert caught.value.hint.startswith(hint)


@pytest.mark.parametrize("name", ["acme corp", "Acme Corp", "ACME CORP"])
def test_the_case_of_an_alias_does_not_count(name: str, price_folder: PriceFolder) -> None:
    folder = price_folder()
    acme = folder / "providers" / "acme.yaml"
    text = acme.read_text(encoding="utf-8").replace("[acme-cloud]", "[Acme Corp]")
    acme.write_text(text, encoding="utf-8")
    assert catalog.load(folder).provider_key(name) == "acme"


def test_a_provider_is_added_without_offers(shipped: Catalog) -> None:
    seen = shipped.providers["salad"].model_copy(update={"key": "seen", "name": "Seen"})
    more = shipped.with_provider(seen)
    assert more.provider_key("Seen") == "seen"
    assert more.entries == shipped.entries
    assert "seen" not in shipped.providers


# --- which price holds --------------------------------------------------------------------------

TWO_PRICES = """\
offers:
  - sku: acme/1x-t4
    card: T4
    region: moon
    vcpus: 4
    prices:
      - {usd_per_hour: 0.50, since: 2026-03-01, checked: 2026-03-20, source: made up}
      - {usd_per_hour: 0.40, spot_usd_per_hour: 0.10, since: 2026-06-15, source: made up}
"""


@pytest.mark.parametrize(
    ("day", "usd", "spot", "checked"),
    [
        (date(2026, 2, 28), None, None, None),  # before the first price it was not sold
        (date(2026, 3, 1), "0.50", None, date(2026, 3, 1)),
        (date(2026, 3, 10), "0.50", None, date(2026, 3, 10)),  # not yet checked later
        (date(2026, 3, 20), "0.50", None, date(2026, 3, 20)),
        (date(2026, 3, 21), "0.50", None, date(2026, 3, 20)),
        (date(2026, 6, 14), "0.50", None, date(2026, 3, 20)),
        (date(2026, 6, 15), "0.40", "0.10", date(2026, 6, 15)),
        (date(2026, 6, 16), "0.40", "0.10", date(2026, 6, 15)),
        (date(2030, 1, 1), "0.40", "0.10", date(2026, 6, 15)),
    ],
    ids=str,
)
def test_a_price_holds_from_its_first_day_until_the_next_one_begins(
    day: date, usd: str | None, spot: str | None, checked: date | None, price_folder: PriceFolder
) -> None:
    offers = catalog.load(price_folder(offers=TWO_PRICES)).offers_on(day)
    if usd is None:
        assert offers == []
        return
    (offer,) = offers
    assert offer.usd_per_hour == Decimal(usd)
    assert offer.spot_usd_per_hour == (None if spot is None else Decimal(spot))
    assert offer.checked == checked


def test_an_offer_takes_its_provider_from_the_sku_and_its_own_terms_along(
    price_folder: PriceFolder,
) -> None:
    (offer,) = catalog.load(price_folder(offers=TWO_PRICES)).offers_on(date(2026, 7, 1))
    assert (offer.sku, offer.provider, offer.card, offer.count) == ("acme/1x-t4", "acme", "T4", 1)
    assert (offer.region, offer.vcpus, offer.ram_gb) == ("moon", 4, None)
    assert offer.source == "made up"


def test_offers_come_sorted_by_sku_whatever_the_provider(price_folder: PriceFolder) -> None:
    one = "offers:\n  - {sku: KEY/1x-t4, card: T4, prices: [{usd_per_hour: 1, since: 2026-01-01, "
    one += "source: made up}]}\n"
    acme = price_folder(offers=one.replace("KEY", "acme")) / "providers" / "acme.yaml"
    for key in ("zeta", "beta"):
        text = acme.read_text(encoding="utf-8").replace("acme", key).replace("Acme", key)
        (acme.parent / f"{key}.yaml").write_text(text, encoding="utf-8")
    offers = catalog.load(acme.parents[1]).offers_on(date(2026, 7, 1))
    assert [offer.sku for offer in offers] == ["acme/1x-t4", "beta/1x-t4", "zeta/1x-t4"]


# The ten lines that the README of the price folder shows.
TEN_LINES = """\
  - sku: acme/1x-t4
    card: T4
    count: 1
    vcpus: 16
    ram_gb: 64
    prices:
      - usd_per_hour: 0.44
        since: 2026-11-01
        source: https://acme.example/pricing
        note: shown to everyone
"""

# Ten hours of training and nothing else.
JOB = (
    *("epochs=10", "throughput={card: T4, seconds_per_epoch: 3600}", "precision=amp"),
    *("overhead_s=0", "validation_s=0", "warmup_s=0", "setup_minutes=0", "idle_after_hours=0"),
    *("dataset_gb=0", "unpacked_gb=0", "checkpoint_gb=0", "image_gb=0", "environment_gb=0"),
    *("memory_gb=16", "dataset_from=hub"),
)


def test_ten_lines_of_yaml_add_a_price(price_folder: PriceFolder) -> None:
    assert TEN_LINES.count("\n") == 10
    folder = price_folder(offers="offers:\n" + TEN_LINES)
    answer = estimated(Asked(settings=JOB, on="2026-11-30", pricing=folder))
    (result,) = answer.results
    assert result.sku == "acme/1x-t4"
    assert result.hours.expected == 10
    assert result.total_usd.expected == Decimal("4.40")  # 10 h x 0.44
    assert not result.at_least
    before = Asked(settings=JOB, on="2026-10-31", pricing=folder)
    with pytest.raises(UnknownError, match="nobody in the price folder sells"):
        estimated(before)


# --- what breaks a folder -----------------------------------------------------------------------


def broken(folder: Path) -> InputError:
    """Return the error that loading `folder` raises."""
    with pytest.raises(InputError) as caught:
        catalog.load(folder)
    return caught.value


def test_a_folder_without_providers_is_an_input_error(price_folder: PriceFolder) -> None:
    folder = price_folder(acme=None)
    assert str(broken(folder)) == f"price folder {folder} has no providers/*.yaml"


def test_a_folder_without_cards_is_an_input_error(price_folder: PriceFolder) -> None:
    folder = price_folder()
    (folder / "gpus.yaml").unlink()
    assert str(broken(folder)) == f"{folder / 'gpus.yaml'} does not exist"


def test_a_file_that_is_no_yaml_is_no_provider(price_folder: PriceFolder) -> None:
    folder = price_folder()
    (folder / "providers" / "notes.txt").write_text("::: not yaml", encoding="utf-8")
    assert set(catalog.load(folder).providers) == {"acme"}


def test_one_broken_file_is_named_with_its_line(price_folder: PriceFolder) -> None:
    folder = price_folder(beta="provider:\n  key: beta\n  name: Beta\n  name: again\n")
    beta = folder / "providers" / "beta.yaml"
    assert str(broken(folder)) == f"{beta}:4: 'name' appears twice"


@pytest.mark.parametrize("text", ["", "# nothing\n", "- a\n", "word\n"])
def test_a_provider_file_that_holds_no_provider_is_named(
    text: str, price_folder: PriceFolder
) -> None:
    folder = price_folder(beta=text)
    assert str(broken(folder)).startswith(str(folder / "providers" / "beta.yaml"))


def test_a_file_must_have_the_name_of_its_provider(price_folder: PriceFolder) -> None:
    acme = price_folder() / "providers" / "acme.yaml"
    acme.rename(acme.with_name("acne.yaml"))
    message = f"{acme.with_name('acne.yaml')}: key 'acme' is not the name of its file"
    assert str(broken(acme.parents[1])) == message


OFFER = (
    "  - {sku: SKU, card: CARD, prices: [{usd_per_hour: 1, since: 2026-01-01, source: made up}]}\n"
)


def offer(sku: str, card: str = "T4") -> str:
    return "offers:\n" + OFFER.replace("SKU", sku).replace("CARD", card)


def test_an_alias_in_place_of_a_card_key_is_refused_and_the_key_named(
    price_folder: PriceFolder,
) -> None:
    folder = price_folder(offers=offer("acme/1x-t4 16gb", "T4 16GB"))
    err = broken(folder)
    assert str(err) == f"{folder / 'providers' / 'acme.yaml'}: 'T4 16GB' is not a card key"
    assert err.hint == "write T4"


def test_an_unknown_card_in_an_offer_is_refused_and_the_file_named(
    price_folder: PriceFolder,
) -> None:
    folder = price_folder(offers=offer("acme/1x-t5", "T5"))
    err = broken(folder)
    assert str(err) == f"{folder / 'providers' / 'acme.yaml'}: unknown card 'T5'"
    assert err.hint == "did you mean T4?"


def test_a_reference_must_name_a_card_key_too(price_folder: PriceFolder) -> None:
    reference = "references:\n  - {card: Tesla T4, what: average, usd_per_hour: 1, "
    folder = price_folder(offers=reference + "source: made up, as_of: 2026-11-01}\n")
    assert "'Tesla T4' is not a card key" in str(broken(folder))


@pytest.mark.parametrize(
    ("offers", "part"),
    [
        (offer("acme/1x-a10"), "sku acme/1x-a10 does not end with /1x-t4"),
        (offer("acme/2x-t4"), "sku acme/2x-t4 does not end with /1x-t4"),
        (offer("acne/1x-t4"), "sku acne/1x-t4 does not start with acme/"),
        (offer("acme/1x-t4") + offer("acme/1x-t4")[8:], "move acme/1x-t4"),
        (offer("acme/1x-t4-b") + offer("acme/1x-t4-a")[8:], "move acme/1x-t4-a"),
        (offer("acme/1x-t4").replace("usd_per_hour: 1", "note: x"), "a price needs usd_per_hour"),
        (offer("acme/1x-t4").replace("hour: 1", "hour: 0"), "greater than or equal to 0.0001"),
        (
            offer("acme/1x-t4").replace("hour: 1", "hour: 0.00009"),
            "greater than or equal to 0.0001",
        ),
        (offer("acme/1x-t4").replace("hour: 1", "hour: -1"), "greater than or equal to 0.0001"),
        (offer("acme/1x-t4").replace("source", "checked: 2025-12-31, source"), "checked lies bef"),
        (offer("acme/1x-t4").replace("2026-01-01", "2026-13-01"), "valid date"),
        (offer("acme/1x-t4").replace("made up", "me"), "at least 4"),
        (offer("acme/1x-t4").replace("prices: [", "tag: b, prices: ["), "/1x-t4-b"),
        (
            offer("acme/1x-t4").replace(
                "prices: [", "prices: [{usd_per_hour: 1, since: 2026-01-01, source: made up}, "
            ),
            "oldest first",
        ),
        ("offers:\n  - {sku: acme/1x-t4, card: T4, prices: []}\n", "at least 1 item"),
    ],
)
def test_an_offer_that_contradicts_itself_is_refused(
    offers: str, part: str, price_folder: PriceFolder
) -> None:
    folder = price_folder(offers=offers)
    message = str(broken(folder))
    assert message.startswith(f"{folder / 'providers' / 'acme.yaml'}:")
    assert part in message


@pytest.mark.parametrize(
    ("old", "new", "part"),
    [
        ("key: T4\n", "key: T4\n    bandwith: 3\n", "unknown key 'cards.0.bandwith'"),
        ("memory_gb: 16", "memory_gb: 0", "greater than 0"),
        ("bf16: false", "bf16: no", "true or false"),
        ("bf16: false", "bf16: 'no'", "true or false"),
    ],
)
def test_a_broken_card_is_named_with_its_line(
    old: str, new: str, part: str, price_folder: PriceFolder
) -> None:
    from conftest import CARDS

    folder = price_folder(cards=CARDS.replace(old, new))
    message = str(broken(folder))
    assert message.startswith(f"{folder / 'gpus.yaml'}:")
    assert part in message


def test_a_card_listed_twice_and_a_name_of_no_card_are_refused(price_folder: PriceFolder) -> None:
    from conftest import CARDS

    twice = CARDS + CARDS.removeprefix("cards:\n")
    assert "card T4 is listed twice" in str(broken(price_folder(cards=twice)))
    shared = CARDS + "unstated:\n  - {key: T, variants: [T4, T5]}\n"
    assert "names T5, which is not a card" in str(broken(price_folder(cards=shared)))


def test_a_folder_that_was_read_before_is_read_anew(price_folder: PriceFolder) -> None:
    folder = price_folder(offers=offer("acme/1x-t4"))
    assert len(catalog.load(folder).entries) == 1
    price_folder(offers="")
    assert catalog.load(folder).entries == ()
