"""What vast.ai's own tool prints, as offers: prices without disk, memory, traffic, contract end."""

from __future__ import annotations

import io
import json
import sys
from datetime import datetime, timezone
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from costplan import catalog
from costplan.cli.asked import Asked, estimated
from costplan.errors import InputError
from costplan.estimate import LeftOutOffer
from costplan.offerfile import read_offers
from costplan.records.offers import Offer
from costplan.vast_offers import is_vast, vast_offer

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import PriceFolder

    from costplan.catalog import Catalog

NOW = datetime(2026, 11, 30, 12, tzinfo=timezone.utc)
NOON = int(NOW.timestamp())
SHIPPED = catalog.load(catalog.folder())

# One host as `vastai search offers ... --raw` prints it; the figures are made up.
HOST: dict[str, Any] = {
    "id": 7012345,
    "ask_contract_id": 7012345,
    "machine_id": 1234,
    "host_id": 567,
    "gpu_name": "RTX 4090",
    "num_gpus": 1,
    "gpu_ram": 24564,
    "gpu_total_ram": 24564,
    "gpu_frac": 0.125,
    "dph_base": 0.30,
    "dph_total": 0.3013888888888889,
    "storage_cost": 0.2,
    "storage_total_cost": 0.001388888888888889,
    "min_bid": 0.12,
    "inet_down": 812.4,
    "inet_up": 703.9,
    "inet_down_cost": 0.003,
    "inet_up_cost": 0.004,
    "internet_down_cost_per_tb": 3.072,
    "internet_up_cost_per_tb": 4.096,
    "cpu_cores": 128,
    "cpu_cores_effective": 16.0,
    "cpu_ram": 515000,
    "disk_space": 843.2,
    "reliability2": 0.9934,
    "duration": 864000.0,
    "start_date": 1700000000,
    "end_date": NOON + 864_000,
    "geolocation": "Sweden, SE",
    "rentable": True,
    "rented": False,
    "verification": "verified",
    "dlperf": 91.4,
    "cuda_max_good": 12.4,
}


def host(*without: str, **fields: object) -> Offer | LeftOutOffer:
    """Return the sample host with these fields in place of its own, and without some."""
    item = {key: value for key, value in {**HOST, **fields}.items() if key not in without}
    return vast_offer(item, catalog=SHIPPED, now=NOW)


def offer(*without: str, **fields: object) -> Offer:
    found = host(*without, **fields)
    assert isinstance(found, Offer)
    return found


# --- a host -------------------------------------------------------------------------------------


def test_a_host_becomes_an_offer() -> None:
    found = offer()
    assert found.sku == "vast/1x-rtx-4090-7012345"
    assert (found.provider, found.card, found.count, found.id) == ("vast", "RTX-4090", 1, "7012345")
    assert found.usd_per_hour == Decimal("0.3")  # without the disk that dph_total holds
    assert found.spot_usd_per_hour == Decimal("0.12")
    assert found.quoted_disk_gb == 0
    assert found.storage_usd_per_gb_month == Decimal("0.2")
    assert (found.ingress_usd_per_gb, found.egress_usd_per_gb) == (
        Decimal("0.003"),
        Decimal("0.004"),
    )
    assert (found.inet_down_mbit_per_s, found.inet_up_mbit_per_s) == (812.4, 703.9)
    assert (found.vcpus, found.ram_gb, found.max_disk_gb) == (16, 515, 843.2)
    assert found.reliability == 0.9934
    assert found.available_hours == 240  # 864,000 s
    assert found.region == "Sweden, SE"
    assert found.checked == NOW.date()
    assert found.memory_gb is None  # as the card has


@pytest.mark.parametrize(
    ("item", "vast"),
    [
        (HOST, True),
        ({"gpu_name": "RTX 4090", "dph_total": 1}, True),
        ({"gpu_name": "RTX 4090", "dph_base": 1}, True),
        ({"gpu_name": "RTX 4090"}, False),
        ({"dph_total": 1}, False),
        ({"sku": "vast/1x-t4", "provider": "vast", "card": "T4"}, False),
        ({}, False),
    ],
)
def test_a_host_is_told_from_an_offer_of_ours(item: dict[str, Any], vast: bool) -> None:
    assert is_vast(item) is vast


# --- cards and memory ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "mib", "card", "memory_gb"),
    [
        ("RTX 4090", 24564, "RTX-4090", None),  # 23.99 GiB
        ("RTX 4090", 49140, "RTX-4090", 47.99),  # the rebuilt ones: 49,140 / 1,024
        ("RTX 4090", None, "RTX-4090", None),
        ("A100 SXM4", 40960, "A100-SXM-40GB", None),
        ("A100 SXM4", 81920, "A100-SXM-80GB", None),
        ("A100 SXM4", 81251, "A100-SXM-80GB", None),  # 79.3 GiB, less what ECC takes
        ("A100 SXM4", None, "A100-SXM", None),
        ("A100 SXM4", 65536, "A100-SXM", 64),  # neither 40 nor 80: kept as it stands
        ("A100 PCIE", 81920, "A100-PCIE-80GB", None),
        ("H100 NVL", 95830, "H100-NVL", None),  # 93.6 of 94 GB
        ("Tesla V100", 32768, "V100", 32),  # PCIe or SXM, but not one of the 16 GB
        ("Tesla V100", 16384, "V100", None),
        ("RTX A2000", 12288, "RTX-A2000-12GB", None),
        ("RTX A2000", 6144, "RTX-A2000-6GB", None),
        ("Tesla T4", 15360, "T4", None),  # 15 of 16 GB: within 12 %
        ("Tesla T4", 14300, "T4", 13.96),  # 13.96 GB: 12.7 % less
        # 26.88 GB are 12 % more than 24: 27,525 MiB are 26.880 GiB, 27,526 are 26.881.
        ("RTX 4090", 27525, "RTX-4090", None),
        ("RTX 4090", 27526, "RTX-4090", 26.88),
    ],
)
def test_the_memory_decides_which_card_it_is_or_is_kept(
    name: str, mib: int | None, card: str, memory_gb: float | None
) -> None:
    found = offer(gpu_name=name, gpu_ram=mib)
    assert found.card == card
    assert found.memory_gb == (None if memory_gb is None else pytest.approx(memory_gb, abs=0.01))


@pytest.mark.parametrize("name", ["RTX 4090X2", "Q RTX 9000", "", "Radeon VII"])
def test_an_unknown_card_is_left_out_under_its_name(name: str) -> None:
    assert host(gpu_name=name) == LeftOutOffer("vast/7012345", f"unknown card {name!r}")


@pytest.mark.parametrize(("count", "sku"), [(1, "1x"), (2, "2x"), ("8", "8x"), (8.0, "8x")])
def test_the_count_is_in_the_sku(count: object, sku: str) -> None:
    found = offer(num_gpus=count)
    assert found.sku == f"vast/{sku}-rtx-4090-7012345"


def test_a_host_without_a_count_has_one_gpu() -> None:
    assert offer("num_gpus").count == 1
    assert offer(num_gpus=None).count == 1


@pytest.mark.parametrize(
    "count", ["x", [1], {"a": 1}, 2.5, True, float("nan"), float("inf")], ids=repr
)
def test_a_host_whose_count_is_no_number_is_left_out(count: object) -> None:
    found = host(num_gpus=count)
    assert isinstance(found, LeftOutOffer)
    assert found.sku == "vast/7012345"


# --- prices -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("without", "fields", "usd"),
    [
        ((), {}, "0.30"),
        # Without its own price: the total less the disk in it.
        (("dph_base",), {"dph_total": 0.35, "storage_total_cost": 0.05}, "0.30"),
        # Without the price of that disk: 5 GB x 0.72 / 720 h = 0.005.
        (
            ("dph_base", "storage_total_cost"),
            {"dph_total": 0.305, "storage_cost": 0.72},
            "0.300",
        ),
        # Without any price of disk: all of it.
        (("dph_base", "storage_total_cost", "storage_cost"), {"dph_total": 0.35}, "0.35"),
        # 0 stands for missing.
        ((), {"dph_base": 0, "dph_total": 0.35, "storage_total_cost": 0.05}, "0.30"),
        (
            (),
            {"dph_base": 0.0, "dph_total": 0.35, "storage_total_cost": 0, "storage_cost": 0},
            "0.35",
        ),
        ((), {"dph_base": None, "dph_total": 0.35, "storage_total_cost": 0.05}, "0.30"),
        ((), {"dph_base": "0.4"}, "0.4"),
    ],
)
def test_the_price_is_that_of_the_gpu_alone(
    without: tuple[str, ...], fields: dict[str, Any], usd: str
) -> None:
    assert offer(*without, **fields).usd_per_hour == Decimal(usd)


@pytest.mark.parametrize(
    "fields",
    [
        {"dph_base": 0, "dph_total": 0},
        {"dph_base": None, "dph_total": None},
        {"dph_base": -1, "dph_total": -1},
        {"dph_base": float("nan"), "dph_total": float("nan")},
        {"dph_base": float("inf"), "dph_total": "free"},
        {"dph_base": None, "dph_total": 0.05, "storage_total_cost": 0.05},  # all of it is disk
        {"dph_base": True, "dph_total": [1]},
    ],
)
def test_a_host_without_a_price_can_still_be_bid_for(fields: dict[str, Any]) -> None:
    found = offer(**fields)
    assert found.usd_per_hour is None
    assert found.spot_usd_per_hour == Decimal("0.12")
    nothing = host(**fields, min_bid=0)
    assert nothing == LeftOutOffer("vast/1x-rtx-4090-7012345", "no price in the offer")


@pytest.mark.parametrize("bid", [None, 0, 0.0, -1, "x", float("nan"), False])
def test_a_bid_of_nothing_is_no_bid(bid: object) -> None:
    found = offer(min_bid=bid)
    assert found.spot_usd_per_hour is None
    assert found.usd_per_hour == Decimal("0.3")


@pytest.mark.parametrize("storage", [None, 0, 0.0, -0.1, "x"])
def test_a_disk_of_nothing_is_a_disk_of_unknown_price(storage: object) -> None:
    assert offer(storage_cost=storage).storage_usd_per_gb_month is None


@pytest.mark.parametrize(
    ("without", "fields", "usd"),
    [
        ((), {}, "0.003"),
        # A TB on its pages is 1,024 GB: 3.072 / 1,024 = 0.003, where 1,000 would give 0.003072.
        (("inet_down_cost",), {}, "0.003"),
        (("inet_down_cost",), {"internet_down_cost_per_tb": 20.48}, "0.02"),
        ((), {"inet_down_cost": None}, "0.003"),
        # Many hosts ask nothing for traffic: here 0 is a price.
        ((), {"inet_down_cost": 0}, "0"),
        (("inet_down_cost",), {"internet_down_cost_per_tb": 0}, "0"),
        (("inet_down_cost", "internet_down_cost_per_tb"), {}, None),
        ((), {"inet_down_cost": -1, "internet_down_cost_per_tb": -1}, None),
        ((), {"inet_down_cost": "x"}, "0.003"),
        ((), {"inet_down_cost": float("nan"), "internet_down_cost_per_tb": None}, None),
        ((), {"inet_down_cost": True, "internet_down_cost_per_tb": [1]}, None),
    ],
)
def test_traffic_has_the_price_per_gb_or_that_of_1024(
    without: tuple[str, ...], fields: dict[str, Any], usd: str | None
) -> None:
    price = offer(*without, **fields).ingress_usd_per_gb
    assert price == (None if usd is None else Decimal(usd))


def test_traffic_out_has_its_own_price() -> None:
    assert offer("inet_up_cost").egress_usd_per_gb == Decimal("0.004")  # 4.096 / 1,024
    assert offer(inet_up_cost=0.01).egress_usd_per_gb == Decimal("0.01")


@pytest.mark.parametrize(
    "fields",
    [
        {"inet_down_cost": Decimal("1e1000000")},
        {"dph_base": None, "dph_total": Decimal("1e1000000")},
        {"dph_base": None, "storage_total_cost": None, "storage_cost": Decimal("1e1000000")},
    ],
)
def test_one_host_with_a_figure_beyond_all_figures_is_left_out_and_the_file_goes_on(
    fields: dict[str, Any], tmp_path: Path
) -> None:
    path = tmp_path / "raw.json"
    text = json.dumps([{**HOST, "id": 1, **fields}, {**HOST, "id": 2}], default=str)
    path.write_text(text.replace('"1E+1000000"', "1e1000000"), encoding="utf-8")
    odd, good = read_offers(str(path), catalog=SHIPPED, now=NOW)
    assert odd == LeftOutOffer("vast/1", "a figure out of every range")
    assert good.sku == "vast/1x-rtx-4090-2"
    assert isinstance(good, Offer)


def test_one_odd_host_is_counted_and_the_rest_is_ranked(tmp_path: Path) -> None:
    path = tmp_path / "raw.json"
    day = {"end_date": 0, "duration": 864_000}
    hosts = [
        {**HOST, "id": 1, **day, "dph_base": 1e30},
        {**HOST, "id": 2, **day, "dph_base": 0.4},
        {**HOST, "id": 3, **day},
    ]
    path.write_text(json.dumps(hosts), encoding="utf-8")
    settings = ("throughput={card: RTX 4090, seconds_per_epoch: 3600}",)
    answer = estimated(Asked(settings=settings, offers=str(path), spot=False))
    assert [result.sku for result in answer.results] == [
        "vast/1x-rtx-4090-3",
        "vast/1x-rtx-4090-2",
    ]
    assert [(gone.reason, gone.count, gone.example) for gone in answer.left_out] == [
        ("a figure out of every range", 1, "vast/1")
    ]


# --- machine and contract -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("without", "fields", "hours"),
    [
        ((), {}, 240),
        ((), {"end_date": NOON + 3_600}, 1),
        ((), {"end_date": NOON + 1.5 * 3_600}, 1.5),
        ((), {"end_date": NOON}, 0),
        ((), {"end_date": NOON - 1}, 0),  # over, not minus
        ((), {"end_date": 1}, 0),
        # Without a date: what is said to be left.
        (("end_date",), {}, 240),
        ((), {"end_date": None, "duration": 7_200}, 2),
        ((), {"end_date": 0, "duration": 7_200}, 2),
        ((), {"end_date": "soon", "duration": "7200"}, 2),
        (("end_date", "duration"), {}, None),
        ((), {"end_date": None, "duration": 0}, None),
    ],
)
def test_an_offer_ends_with_the_contract_that_can_be_had_now(
    without: tuple[str, ...], fields: dict[str, Any], hours: float | None
) -> None:
    assert offer(*without, **fields).available_hours == hours


@pytest.mark.parametrize(
    ("raw", "field"),
    [
        ("inet_down", "inet_down_mbit_per_s"),
        ("inet_up", "inet_up_mbit_per_s"),
        ("cpu_cores_effective", "vcpus"),
        ("cpu_ram", "ram_gb"),
        ("disk_space", "max_disk_gb"),
        ("geolocation", "region"),
    ],
)
@pytest.mark.parametrize("value", [None, 0, "", "?", [], {}, False])
def test_what_a_host_does_not_say_is_unknown(raw: str, field: str, value: object) -> None:
    assert getattr(offer(raw), field) is None
    if (raw, value) != ("geolocation", "?"):  # a text, if a poor one
        assert getattr(offer(**{raw: value}), field) is None


@pytest.mark.parametrize(
    ("without", "fields", "reliability"),
    [
        ((), {}, 0.9934),
        (("reliability2",), {"reliability": 0.5}, 0.5),
        (("reliability2",), {}, None),
        ((), {"reliability2": 0, "reliability": 0.5}, 0.5),
        ((), {"reliability2": 1}, 1),
    ],
)
def test_the_later_measure_of_reliability_wins(
    without: tuple[str, ...], fields: dict[str, Any], reliability: float | None
) -> None:
    assert offer(*without, **fields).reliability == reliability


def test_an_offer_without_an_id_cannot_be_named_to_the_tool() -> None:
    assert offer("id").id == "7012345"  # the contract's number, which is the same
    assert offer("id", "ask_contract_id").id is None
    assert offer(id="7012345").id == "7012345"


def test_a_name_and_a_price_are_enough() -> None:
    found = vast_offer({"gpu_name": "RTX 4090", "dph_total": 0.35}, catalog=SHIPPED, now=NOW)
    assert isinstance(found, Offer)
    assert (found.card, found.count, found.usd_per_hour) == ("RTX-4090", 1, Decimal("0.35"))


# --- the list -----------------------------------------------------------------------------------

RAW = [
    HOST,
    {**HOST, "id": 2, "gpu_ram": 49140, "dph_base": 0.6},
    {**HOST, "id": 3, "gpu_name": "A100 SXM4", "gpu_ram": 81920, "num_gpus": 8, "dph_base": 9.6},
    {**HOST, "id": 4, "gpu_name": "A100 SXM4", "gpu_ram": 40960, "dph_base": 0.8},
    {**HOST, "id": 5, "gpu_name": "RTX 9090"},
    {**HOST, "id": 6, "dph_base": 0, "dph_total": 0, "min_bid": 0},
    {**HOST, "id": 7, "end_date": NOON + 1_800},
]


@pytest.mark.parametrize("indent", [None, 2])
def test_the_raw_list_is_read_as_it_is_printed(indent: int | None, tmp_path: Path) -> None:
    path = tmp_path / "raw.json"
    path.write_text(json.dumps(RAW, indent=indent) + "\n", encoding="utf-8")
    found = list(read_offers(str(path), catalog=SHIPPED, now=NOW))
    assert [item.sku for item in found] == [
        "vast/1x-rtx-4090-7012345",
        "vast/1x-rtx-4090-2",
        "vast/8x-a100-sxm-80gb-3",
        "vast/1x-a100-sxm-40gb-4",
        "vast/5",
        "vast/1x-rtx-4090-6",
        "vast/1x-rtx-4090-7",
    ]
    assert [item.reason for item in found if isinstance(item, LeftOutOffer)] == [
        "unknown card 'RTX 9090'",
        "no price in the offer",
    ]


def test_the_raw_list_comes_through_a_pipe_into_the_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fresh = [{**each, "end_date": 0, "duration": 864_000} for each in RAW[:6]]
    fresh.append({**HOST, "id": 7, "end_date": 0, "duration": 1_800})
    text = json.dumps(fresh).encode()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text)))
    settings = ("throughput={card: RTX 4090, seconds_per_epoch: 3600}", "memory_gb=40")
    answer = estimated(Asked(settings=settings, offers="-", spot=False, limit=0))
    assert {result.sku for result in answer.results} == {
        "vast/1x-rtx-4090-2",  # 48 GB
        "vast/8x-a100-sxm-80gb-3",
        "vast/1x-a100-sxm-40gb-4",
    }
    # Two of 24 GB, the one that ends in half an hour included: memory is asked first.
    assert {each.reason: each.count for each in answer.left_out} == {
        "card has or may have less than 40 GB of memory": 2,
        "unknown card 'RTX 9090'": 1,
        "no price in the offer": 1,
    }


def test_without_the_rules_of_the_market_its_hosts_are_left_out(
    price_folder: PriceFolder, tmp_path: Path
) -> None:
    path = tmp_path / "raw.json"
    path.write_text(json.dumps([{**HOST, "gpu_name": "Tesla T4"}]), encoding="utf-8")
    bare: Catalog = catalog.load(price_folder())
    (found,) = read_offers(str(path), catalog=bare, now=NOW)
    assert isinstance(found, LeftOutOffer)
    assert found.reason == "unknown provider 'vast'"


# --- anything at all ----------------------------------------------------------------------------

ANYTHING = (
    st.none()
    | st.booleans()
    | st.integers(-10, 100_000)
    | st.integers()
    | st.floats()
    | st.sampled_from(["", "x", "1", "0.5", "NaN", "sNaN", "-0", "1e400", "Infinity"])
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=4)
    | st.lists(st.integers(), max_size=2)
    | st.dictionaries(st.text(max_size=2), st.integers(), max_size=2)
)


@pytest.fixture(scope="module")
def raw_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One file for all examples of a law."""
    return tmp_path_factory.mktemp("raw") / "raw.json"


@given(
    st.dictionaries(st.sampled_from(sorted({*HOST, "reliability"})), ANYTHING),
    st.sets(st.sampled_from(sorted(HOST)), max_size=6),
)
def test_law_any_host_is_an_offer_or_left_out_or_an_input_error(
    raw_path: Path, fields: dict[str, Any], without: set[str]
) -> None:
    item = {**HOST, **fields}
    kept = {key: value for key, value in item.items() if key not in without}
    raw_path.write_text(json.dumps([kept]), encoding="utf-8")
    said = str(raw_path)
    try:
        (found,) = read_offers(str(raw_path), catalog=SHIPPED, now=NOW)
        assert isinstance(found, Offer | LeftOutOffer)
        if isinstance(found, Offer):
            assert found.usd_per_hour or found.spot_usd_per_hour
    except InputError as err:
        said = str(err)
    assert said.startswith(str(raw_path))
