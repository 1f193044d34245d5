"""Offers that the user brings: JSON Lines as a stream, arrays whole, every fault with its line."""

from __future__ import annotations

import io
import json
import sys
from datetime import date, datetime, timezone
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from costplan import catalog
from costplan.cli.asked import Asked, estimated
from costplan.errors import InputError, UnknownError
from costplan.estimate import LeftOutOffer
from costplan.offerfile import read_offers
from costplan.records.offers import Offer

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from costplan.catalog import Catalog

NOW = datetime(2026, 11, 30, 12, tzinfo=timezone.utc)

LINE: dict[str, Any] = {
    "sku": "vast/1x-t4-mine",
    "provider": "vast",
    "card": "T4",
    "usd_per_hour": 0.25,
}


def line(**fields: object) -> str:
    """Return our sample offer as a line of JSON, with these fields in place of its own."""
    return json.dumps({**LINE, **fields})


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where the offers of a test stand."""
    return tmp_path / "offers.jsonl"


def read(path: Path, shipped: Catalog, data: str | bytes) -> list[Offer | LeftOutOffer]:
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return list(read_offers(str(path), catalog=shipped, now=NOW))


def refused(path: Path, shipped: Catalog, data: str | bytes) -> InputError:
    """Return the error that reading `data` raises."""
    with pytest.raises(InputError) as caught:
        read(path, shipped, data)
    return caught.value


def one(found: list[Offer | LeftOutOffer]) -> Offer:
    """Return the only one, which is an offer."""
    (offer,) = found
    assert isinstance(offer, Offer)
    return offer


# --- what is read -------------------------------------------------------------------------------


def test_a_line_is_an_offer(path: Path, shipped: Catalog) -> None:
    offer = one(read(path, shipped, line(count=2, region="moon", vcpus=8) + "\n"))
    assert (offer.sku, offer.provider, offer.card, offer.count) == (
        *("vast/1x-t4-mine", "vast", "T4"),
        2,
    )
    assert offer.usd_per_hour == Decimal("0.25")
    assert (offer.region, offer.vcpus) == ("moon", 8)


def test_an_offer_without_a_day_was_checked_today(path: Path, shipped: Catalog) -> None:
    assert one(read(path, shipped, line())).checked == date(2026, 11, 30)
    assert one(read(path, shipped, line(checked="2026-11-02"))).checked == date(2026, 11, 2)


@pytest.mark.parametrize("text", ["0.1", "0.10", "0.123456789012345", "3"])
@pytest.mark.parametrize("checked", ["", ', "checked": "2026-11-02"'])
def test_a_price_keeps_every_digit(text: str, checked: str, path: Path, shipped: Catalog) -> None:
    data = line().replace("0.25", text)[:-1] + checked + "}"
    assert one(read(path, shipped, data)).usd_per_hour == Decimal(text)


@pytest.mark.parametrize(
    "data",
    [
        line(),
        line() + "\n",
        line() + "\r\n",
        "\n\n" + line() + "\n",
        line() + "\n\n   \n\n",
        "  " + line() + "  \n",
        b"\xef\xbb\xbf" + line().encode(),
        b"\n\xef\xbb\xbf" + line().encode(),
        "[" + line() + "]",
        "\n [\n" + line() + "\n]\n",
        b"\xef\xbb\xbf[" + line().encode() + b"]",
        json.dumps([LINE], indent=2),
    ],
)
def test_blank_lines_a_byte_order_mark_and_an_array_make_no_difference(
    data: str | bytes, path: Path, shipped: Catalog
) -> None:
    assert one(read(path, shipped, data)).sku == "vast/1x-t4-mine"


def test_several_lines_come_in_their_order(path: Path, shipped: Catalog) -> None:
    data = "\n".join(line(sku=f"vast/1x-t4-{n}") for n in range(5))
    found = [offer.sku for offer in read(path, shipped, data)]
    assert found == [f"vast/1x-t4-{n}" for n in range(5)]


def test_a_line_is_handed_on_before_the_next_is_read(path: Path, shipped: Catalog) -> None:
    path.write_text(line() + "\nbroken\n", encoding="utf-8")
    stream = read_offers(str(path), catalog=shipped, now=NOW)
    first = next(stream)
    assert isinstance(first, Offer)
    with pytest.raises(InputError, match=":2 is not JSON"):
        next(stream)


class Endless(io.RawIOBase):
    """A stream of offers without an end, as a program may write it into a pipe."""

    def __init__(self) -> None:
        self.read_bytes = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = (line() + "\n").encode()
        buffer[: len(data)] = data
        self.read_bytes += len(data)
        return len(data)


def test_a_stream_without_an_end_is_read_as_far_as_wanted(
    shipped: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    endless = Endless()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(endless)))
    stream: Iterator[Offer | LeftOutOffer] = read_offers("-", catalog=shipped, now=NOW)
    skus = {next(stream).sku for _ in range(100)}
    assert skus == {"vast/1x-t4-mine"}
    assert endless.read_bytes < 1_000_000


def test_a_dash_reads_standard_input(shipped: Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(line().encode())))
    assert one(list(read_offers("-", catalog=shipped, now=NOW))).card == "T4"


def test_a_closed_standard_input_is_an_input_error(
    shipped: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(InputError):
        next(read_offers("-", catalog=shipped, now=NOW))


# --- names --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("provider", "card", "keys"),
    [
        ("vast", "T4", ("vast", "T4")),
        ("vast.ai", "Tesla T4", ("vast", "T4")),
        ("RunPod", "NVIDIA A100-SXM4-80GB", ("runpod-secure", "A100-SXM-80GB")),
        ("modal", "h100", ("modal", "H100")),
    ],
)
@pytest.mark.parametrize("checked", [{}, {"checked": "2026-11-02"}])
def test_any_name_of_a_card_and_a_provider_will_do(
    provider: str,
    card: str,
    keys: tuple[str, str],
    checked: dict[str, str],
    path: Path,
    shipped: Catalog,
) -> None:
    offer = one(read(path, shipped, line(provider=provider, card=card, **checked)))
    assert (offer.provider, offer.card) == keys


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"card": "T400"}, "unknown card 'T400'"),
        ({"provider": "acme"}, "unknown provider 'acme'"),
        ({"provider": "acme", "card": "T400"}, "unknown card 'T400'"),
        ({"card": ""}, "unknown card ''"),
    ],
)
@pytest.mark.parametrize("checked", [{}, {"checked": "2026-11-02"}])
def test_an_offer_of_an_unknown_card_or_provider_is_left_out_and_the_rest_is_read(
    fields: dict[str, str], reason: str, checked: dict[str, str], path: Path, shipped: Catalog
) -> None:
    first, second = read(path, shipped, line(**fields, **checked) + "\n" + line())
    assert first == LeftOutOffer("vast/1x-t4-mine", reason)
    assert isinstance(second, Offer)


WORK = ("throughput={card: T4, seconds_per_epoch: 3600}", "dataset_gb=1")


def test_offers_left_out_are_counted_by_reason(path: Path) -> None:
    lines = [line(), line(card="T400"), line(card="T400"), line(provider="acme")]
    path.write_text("\n".join(lines), encoding="utf-8")
    answer = estimated(Asked(settings=WORK, offers=str(path), on="2026-11-30"))
    assert answer.offers_total == 1
    reasons = {reason.reason: reason.count for reason in answer.left_out}
    assert reasons == {"unknown card 'T400'": 2, "unknown provider 'acme'": 1}


def test_an_offer_without_a_price_is_left_out_and_counted(path: Path) -> None:
    lines = [
        line(),
        line(usd_per_hour=None),
        line(usd_per_hour=None, checked="2026-11-02"),
        line(usd_per_hour=0),  # as markets write a price that is missing
        line(usd_per_hour="0.00", spot_usd_per_hour=0.0),
        line(usd_per_hour=0, checked="2026-11-02"),
    ]
    path.write_text("\n".join(lines), encoding="utf-8")
    answer = estimated(Asked(settings=WORK, offers=str(path), on="2026-11-30"))
    assert answer.offers_total == 1
    assert {reason.reason: reason.count for reason in answer.left_out} == {
        "no price in the offer": 5
    }


def test_an_offer_of_0_on_demand_can_still_be_had_spot(path: Path, shipped: Catalog) -> None:
    found = one(read(path, shipped, line(usd_per_hour=0, spot_usd_per_hour=0.0001)))
    assert (found.usd_per_hour, found.spot_usd_per_hour) == (None, Decimal("0.0001"))


def test_an_offer_of_today_is_no_offer_of_the_future(path: Path, shipped: Catalog) -> None:
    assert one(read(path, shipped, line(checked="2026-11-30"))).checked == NOW.date()


def test_a_file_of_unknown_cards_only_is_an_answer_of_nothing(path: Path) -> None:
    path.write_text(line(card="T400"), encoding="utf-8")
    with pytest.raises(UnknownError, match=r"1: unknown card 'T400'"):
        estimated(Asked(settings=WORK, offers=str(path), on="2026-11-30"))


# --- faults -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "number"),
    [
        ("{", 1),
        (line() + "\n{\n", 2),
        (line() + "\n\n\n{\n", 4),
        (line() + "\n" + line(checked="2026-11-02")[:-1], 2),
        ("\n\n{", 3),
    ],
)
def test_a_broken_line_is_named_by_its_number(
    data: str, number: int, path: Path, shipped: Catalog
) -> None:
    assert str(refused(path, shipped, data)).startswith(f"{path}:{number}")


@pytest.mark.parametrize(
    ("data", "part"),
    [
        ("5", "is not an offer"),
        ("null", "is not an offer"),
        ('"text"', "is not an offer"),
        ("sku: a", "is not JSON"),
        ("{'sku': 'a'}", "is not JSON"),
        (line() + ",", "is not JSON"),
        (line() + line(), "is not JSON"),
        ("{}", "field required"),
        (line(sku=5), "sku: "),
        (line(sku=None), "sku: "),
        (line(count=0), "count: "),
        (line(count=1.5), "count: "),
        (line(count=1_025), "count: "),
        (line(usd_per_hour=0.00009), "usd_per_hour: "),
        (line(spot_usd_per_hour=0.00009), "spot_usd_per_hour: "),
        (line(checked="2026-12-01"), "checked 2026-12-01 lies in the future"),
        (line(usd_per_hour=-1), "usd_per_hour: "),
        (line(usd_per_hour="cheap"), "usd_per_hour: "),
        (line(usd_per_hour=[1]), "usd_per_hour: "),
        (line(usd_per_hour=float("nan")), "usd_per_hour: "),
        (line(usd_per_hour=float("inf")), "usd_per_hour: "),
        (line().replace("0.25", "1e999999999"), "usd_per_hour: "),
        (line(vcpus=0.25).replace("0.25,", "1,").replace("0.25", "1e999"), "vcpus: "),
        (line(checked="yesterday"), "checked: "),
        (line(reliability=1.5), "reliability: "),
        (line(count=10**4_000), "count: "),
        ('{"sku": ' + "9" * 5_000 + "}", "is not JSON"),
    ],
    ids=lambda value: str(value)[:40],
)
@pytest.mark.parametrize("array", [False, True])
def test_what_is_no_offer_is_an_input_error(
    data: str, part: str, array: bool, path: Path, shipped: Catalog
) -> None:
    message = str(refused(path, shipped, f"[{data}]" if array else data))
    if array and part == "is not JSON":
        assert message.startswith(f"{path} is not JSON: ")
    else:
        assert message.startswith(f"{path}: entry 1" if array else f"{path}:1")
        assert part in message


def test_an_entry_of_an_array_is_named_by_its_number(path: Path, shipped: Catalog) -> None:
    err = refused(path, shipped, f"[{line()}, 5]")
    assert str(err) == f"{path}: entry 2 is not an offer"
    assert err.hint == "each is an object in braces"


@pytest.mark.parametrize("checked", [{}, {"checked": "2026-11-02"}])
def test_an_unknown_key_is_named_with_the_nearest(
    checked: dict[str, str], path: Path, shipped: Catalog
) -> None:
    err = refused(path, shipped, line() + "\n" + line(regoin="moon", **checked))
    assert str(err) == f"{path}:2: unknown key 'regoin'"
    assert err.hint == "did you mean region?"


def test_a_broken_line_reads_the_same_whatever_it_names(path: Path, shipped: Catalog) -> None:
    assert "is not JSON: " in str(refused(path, shipped, '{"sku": 1, "checked": }'))


@pytest.mark.parametrize("data", ["", "\n", " \n\t\n", "\n" * 999])
def test_an_empty_file_has_no_offers(data: str, path: Path, shipped: Catalog) -> None:
    assert str(refused(path, shipped, data)) == f"{path} has no offers"


def test_a_file_of_a_byte_order_mark_has_no_offers(path: Path, shipped: Catalog) -> None:
    assert str(refused(path, shipped, b"\xef\xbb\xbf")) == f"{path} has no offers"


def test_an_empty_list_has_no_offers(path: Path, shipped: Catalog) -> None:
    message = f"{path} has no offers: the list is empty"
    assert str(refused(path, shipped, " []\n")) == message


def test_a_thousand_blank_lines_are_given_up(path: Path, shipped: Catalog) -> None:
    assert one(read(path, shipped, "\n" * 999 + line())).card == "T4"
    message = f"{path} has no offers in its first thousand lines"
    assert str(refused(path, shipped, "\n" * 1_000 + line())) == message


def test_a_line_of_a_megabyte_is_read_and_a_byte_more_is_not(path: Path, shipped: Catalog) -> None:
    note = "x" * (1_000_000 - len(line(source="")))
    assert len(line(source=note)) == 1_000_000
    assert one(read(path, shipped, line(source=note))).source == note
    message = f"{path}:1: a line of over 1 MB is not an offer"
    assert str(refused(path, shipped, line(source=note + "x"))) == message
    second = line() + "\n" + line(source=note + "x")
    assert str(refused(path, shipped, second)).startswith(f"{path}:2: a line of over 1 MB")


def test_an_array_may_be_larger_than_a_line(path: Path, shipped: Catalog) -> None:
    note = "x" * 600_000
    found = read(path, shipped, f"[{line(source=note)}, {line(source=note)}]")
    assert len(found) == 2


@pytest.mark.parametrize(
    "data",
    [
        b"\xff\xfe" + "{}".encode("utf-16-le"),
        b'{"sku": "\xff"}',
        b"\x89PNG\r\n\x1a\n",
        b"\x00\x00\x00",
        b"[\xff]",
        b"[" * 100_000,
        b'{"a":' * 100_000,
        b'{"sku": 1, "checked":' + b"[" * 100_000,
        b"]",
        b"[1,]",
        b"[{}]\n{}",
    ],
    ids=lambda data: repr(data[:24]),
)
def test_what_is_not_json_is_an_input_error(data: bytes, path: Path, shipped: Catalog) -> None:
    assert str(refused(path, shipped, data)).startswith(str(path))


def test_a_directory_and_a_missing_file_are_input_errors(tmp_path: Path, shipped: Catalog) -> None:
    def failing(source: Path) -> str:
        with pytest.raises(InputError) as caught:
            next(read_offers(str(source), catalog=shipped, now=NOW))
        return str(caught.value)

    assert failing(tmp_path) == f"{tmp_path} is a directory"
    assert failing(tmp_path / "no.jsonl") == f"{tmp_path / 'no.jsonl'} does not exist"
    assert "cannot be read" in failing(tmp_path / ("a" * 5_000))


@pytest.mark.parametrize("field", ["sku", "region", "source", "id"])
def test_half_of_a_surrogate_pair_is_refused(field: str, path: Path, shipped: Catalog) -> None:
    refused(path, shipped, line(**{field: "\ud800"}))


# --- anything at all ----------------------------------------------------------------------------

JSON_VALUES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.sampled_from(["", "x", "1", "0.5", "NaN", "1e400", "2026-11-02", [], [1], {}, {"a": [1]}])
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=4)
)
SHIPPED = catalog.load(catalog.folder())


@pytest.fixture(scope="module")
def module_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One file for all examples of a law."""
    return tmp_path_factory.mktemp("offers") / "offers.jsonl"


def read_or_refused(path: Path, data: bytes) -> None:
    """Read `data`: offers, some left out, or an InputError; nothing else may happen."""
    path.write_bytes(data)
    said = str(path)
    try:
        for found in read_offers(str(path), catalog=SHIPPED, now=NOW):
            assert isinstance(found, Offer | LeftOutOffer)
    except InputError as err:
        said = str(err)
    assert said.startswith(str(path))


@given(
    st.dictionaries(st.sampled_from([*Offer.model_fields, "x"]), JSON_VALUES, max_size=6),
    st.booleans(),
)
def test_law_any_values_are_an_offer_or_left_out_or_an_input_error(
    module_path: Path, fields: dict[str, Any], array: bool
) -> None:
    text = json.dumps({**LINE, **fields})
    read_or_refused(module_path, (f"[{text}]" if array else text).encode())


@given(st.binary(max_size=40))
def test_law_any_bytes_are_offers_or_an_input_error(module_path: Path, data: bytes) -> None:
    read_or_refused(module_path, data)


@given(st.text('[]{},:" \n0.1e-+truefalsnNI\\u', max_size=30))
def test_law_any_punctuation_is_offers_or_an_input_error(module_path: Path, data: str) -> None:
    read_or_refused(module_path, data.encode())
