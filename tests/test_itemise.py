"""The lines of a bill and their total: by hand on a bare job, with each meter and each rounding."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest
from bills.samples import check, meter, provider, rounding, shipped
from makes import (
    HERE,
    asked_of_all,
    by_name,
    listed,
    offer,
    others,
    owner,
    priced,
    question,
    serverless,
    work,
)

from costplan.estimate import itemised
from costplan.itemise import Total, common, lines, summed, total
from costplan.phases import phase
from costplan.spans import Span, exactly
from costplan.work import Guess

if TYPE_CHECKING:
    from costplan.estimate import Priced
    from costplan.records.providers import Provider

HOUR_S = 3_600


def costs(item: Priced) -> dict[str, str]:
    """Return what is expected of each line, to the millionth of a dollar."""
    return {name: f"{line.cost().expected:.6f}" for name, line in by_name(item).items()}


def span(found: Span) -> tuple[str, str, str]:
    low, expected, high = (f"{value:.6f}" for value in found)
    return low, expected, high


# --- one line for each stretch and each meter -----------------------------------------------------


def test_a_bare_job_has_a_line_of_gpu_and_a_line_of_disk() -> None:
    item = priced(question(work()), offer("2"))
    found = by_name(item)
    assert set(found) == {"training", "disk"}
    assert found["training"].quantity == exactly(Decimal(10))
    assert found["training"].unit == "h"
    assert found["disk"].unit == "GB-month"
    assert found["disk"].price.usd == exactly(Decimal("0.073"))
    check(found["disk"].quantity.expected, "1.36986301")  # 100 GB x 10/730 of a month
    check(found["disk"].cost().expected, "0.100000")
    check(item.total.expected, "20.100000")


def test_everything_that_a_job_says_has_its_line() -> None:
    settled = work(
        setup_minutes=15,
        warmup_s=60,
        overhead_s=120,
        validation_s=40,
        idle_after_hours=1,
        dataset_gb=19,
        image_gb=9,
        environment_gb=4,
        checkpoint_gb=0.3,
        push_every=5,
    )
    terms = owner(
        meter("ingress", usd="0.01", per="gb", states=("running", "loading_image")),
        meter("egress", usd="0.02", per="gb"),
    )
    rented = offer("2", inet_down_mbit_per_s=500, inet_up_mbit_per_s=200)
    item = priced(question(settled, terms), rented)
    assert costs(item) == {
        "image pull": "0.080000",  # a virtual machine pulls while it runs: 9 x 8000/500 = 144 s
        "install": "0.500000",  # 900 s x 2/3600
        "dataset transfer": "0.168889",  # 19 x 8000/500 = 304 s
        "warm-up": "0.033333",
        "training": "20.000000",
        "validation": "0.222222",  # 10 x 40 s
        "start, loader": "0.066667",
        "checkpoint pushes": "0.013333",  # 2 x 0.3 x 8000/200 = 24 s
        "final upload": "0.006667",  # 12 s
        "idle until noticed": "2.000000",
        # 144 + 900 + 304 + 60 + 36000 + 400 + 120 + 24 + 12 + 3600 = 41564 s x 100 x 0.0001/3600
        "disk": "0.115456",
        "dataset in": "0.190000",
        "image in": "0.090000",
        "packages in": "0.020000",  # half of 4 GB
        "checkpoints out": "0.018000",  # (2 + 1) x 0.3
    }
    check(item.total.expected, "23.524567")


def test_lines_stand_in_the_order_in_which_things_happen() -> None:
    settled = work(setup_minutes=15, warmup_s=60, idle_after_hours=1, dataset_gb=19)
    names = [line.name for line in itemised(priced(question(settled), offer()))]
    assert names == [
        "install", "dataset transfer", "warm-up", "training", "idle until noticed", "disk",
    ]  # fmt: skip


def test_each_line_says_what_it_is_for() -> None:
    terms = owner(
        meter("ingress", usd="0.01", per="gb"),
        meter("public_ip", usd="0.005"),
        meter("cpu", usd="0.01", per="core_hour"),
        meter("network_volume", usd="0.073", per="gb_month"),
        rounding=rounding(step_s=3_600, minimum_usd="100"),
        included=(),
    )
    settled = work(dataset_gb=5, setup_minutes=1, idle_after_hours=1, keep_gb=1, keep_days=1)
    found = by_name(priced(question(settled, terms), offer()))
    assert {name: line.part for name, line in found.items()} == {
        "install": "set-up",
        "dataset transfer": "transfer",
        "training": "training",
        "idle until noticed": "idle",
        "rounding up": "rounding",
        "least charge": "rounding",
        "disk": "storage",
        "CPU": "machine",
        "public IP": "machine",
        "volume": "storage",
        "dataset in": "traffic",
    }


@pytest.mark.parametrize(
    ("states", "unknown", "image_in"),
    [
        (("running", "loading_image"), (), ("0.090000", "0.090000", "0.090000")),
        # nobody says whether the pull bills: not in low
        (("running",), ("loading_image",), ("0.000000", "0.090000", "0.090000")),
        (("running",), (), None),
    ],
)
def test_the_image_is_paid_where_its_state_bills_traffic(
    states: tuple[str, ...], unknown: tuple[str, ...], image_in: tuple[str, str, str] | None
) -> None:
    traffic = meter("ingress", usd="0.01", per="gb", states=states, states_unknown=unknown)
    market = owner(traffic, kind="marketplace")
    line = by_name(priced(question(work(image_gb=9), market), offer())).get("image in")
    assert (None if line is None else span(line.cost())) == image_in
    # A cloud that lists the pull among the states of its GPU is asked in the same way.
    listing = owner(meter("gpu", states_unknown=("loading_image",)), traffic)
    line = by_name(priced(question(work(image_gb=9), listing), offer())).get("image in")
    assert (None if line is None else span(line.cost())) == image_in


@pytest.mark.parametrize("states", [("running", "loading_image"), ("running",)])
def test_a_virtual_machine_pays_the_image_as_traffic_of_a_running_one(
    states: tuple[str, ...],
) -> None:
    traffic = meter("ingress", usd="0.01", per="gb", states=states)
    found = by_name(priced(question(work(image_gb=9), owner(traffic)), offer()))
    assert span(found["image in"].cost()) == ("0.090000", "0.090000", "0.090000")


PULL = {"image pull": ("0.200000", "0.200000", "0.200000")}
MAYBE = {"image pull": ("0.000000", "0.200000", "0.200000")}


@pytest.mark.parametrize(
    ("kind", "states", "unknown", "pull"),
    [
        # 9 GB over 100 Mbit/s: 720 s at 1 $/h, where a virtual machine runs meanwhile
        ("cloud", ("running",), (), PULL),
        ("cloud", ("running", "booting"), ("stopping",), PULL),
        ("cloud", ("running", "loading_image"), (), PULL),
        ("cloud", ("running",), ("loading_image",), MAYBE),
        ("marketplace", ("running",), (), {}),
        ("marketplace", ("running", "loading_image"), (), PULL),
        ("marketplace", ("running",), ("loading_image",), MAYBE),
    ],
)
def test_the_pull_bills_the_gpu_on_a_cloud_and_elsewhere_where_its_state_is_listed(
    kind: str,
    states: tuple[str, ...],
    unknown: tuple[str, ...],
    pull: dict[str, tuple[str, str, str]],
) -> None:
    terms = owner(meter("gpu", states=states, states_unknown=unknown), kind=kind)
    found = by_name(priced(question(work(image_gb=9), terms), offer(inet_down_mbit_per_s=100)))
    lines = {name: span(line.cost()) for name, line in found.items() if name == "image pull"}
    assert lines == pull


def test_an_offers_own_traffic_price_wins() -> None:
    terms = owner(meter("ingress", usd="0.05", per="gb", free=100))
    item = priced(question(work(dataset_gb=100), terms), offer(ingress_usd_per_gb="0.003"))
    assert costs(item)["dataset in"] == "0.300000"


# --- rounding -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("terms", "train_s", "added", "billed_usd"),
    [
        # 0.001 $ a second
        ({}, 3_601, {}, "3.601"),
        ({"step_s": 60}, 3_599, {"rounding up": "0.001000"}, "3.600"),
        ({"step_s": 60}, 3_600, {}, "3.600"),
        ({"step_s": 60}, 3_601, {"rounding up": "0.059000"}, "3.660"),
        ({"step_s": 3_600}, 3_600, {}, "3.600"),
        ({"step_s": 3_600}, 3_601, {"rounding up": "3.599000"}, "7.200"),
        ({"minimum_s": 60}, 59, {"rounding up": "0.001000"}, "0.060"),
        ({"minimum_s": 60}, 60, {}, "0.060"),
        ({"minimum_s": 60}, 61, {}, "0.061"),
        ({"minimum_usd": "0.01"}, 9, {"least charge": "0.001000"}, "0.010"),
        ({"minimum_usd": "0.01"}, 10, {}, "0.010"),
        ({"minimum_usd": "0.01"}, 11, {}, "0.011"),
        # a month costs no more than 672 h
        ({"month_cap_hours": 672}, 672 * HOUR_S, {}, "2419.200"),
        ({"month_cap_hours": 672}, 673 * HOUR_S, {"monthly cap": "-3.600000"}, "2419.200"),
        ({"month_cap_hours": 672}, 730 * HOUR_S, {"monthly cap": "-208.800000"}, "2419.200"),
        ({"month_cap_hours": 672}, 731 * HOUR_S, {"monthly cap": "-208.800000"}, "2422.800"),
        # 59 s up to the minute, then at least 5 $
        (
            {"step_s": 60, "minimum_usd": "5"},
            3_601,
            {"rounding up": "0.059000", "least charge": "1.340000"},
            "5.000",
        ),
        # an hour up and 3 h off by the cap
        (
            {"step_s": 3_600, "month_cap_hours": 672},
            674 * HOUR_S + 1,
            {"monthly cap": "-7.201000"},
            "2419.200",
        ),
    ],
)
def test_what_rounding_adds_is_a_line_of_its_own(
    terms: dict[str, object], train_s: float, added: dict[str, str], billed_usd: str
) -> None:
    settled = work(throughput={"card": "RTX-4090", "seconds_per_epoch": train_s}, epochs=1)
    round_terms = owner(rounding=rounding(**terms), included=("cpu", "ram", "disk"))
    item = priced(question(settled, round_terms), offer("3.6"))
    found = costs(item)
    assert found.pop("training") == f"{Decimal(train_s) / 1000:.6f}"
    assert found == added
    check(item.total.expected, billed_usd)
    check(summed(itemised(item)).expected, billed_usd)


def test_low_expected_and_high_are_rounded_each_by_itself() -> None:
    # 30, 60 and 120 min of training by the hour: 1, 1 and 2 h
    settled = work(
        throughput={"card": "RTX-4090", "seconds_per_epoch": 1},
        epochs=1,
        overhead_s=HOUR_S,
        assumed={"overhead_s": "a guess"},
    )
    terms = owner(rounding=rounding(step_s=3_600), included=("cpu", "ram", "disk"))
    # 1801, 3601 and 7201 s
    item = priced(question(settled, terms), offer("1"))
    assert span(item.total) == ("1.000000", "2.000000", "3.000000")


# --- states that nobody is sure of ----------------------------------------------------------------


def kept_warm(terms: Provider, hours: float) -> tuple[Total, Span]:
    """Return the total, and the sum of the lines, of a warm container that does nothing."""
    settled = work(vcpus=8, ram_gb=64 * 1.073741824)
    item = priced(question(settled, terms), offer("3.9492", provider=terms.key))
    stretch = phase("kept warm", "idle", Guess(*[hours * HOUR_S] * 3), "idle_warm")
    framed = item.plan.frame._replace(fixed=(stretch,))
    plan = item.plan._replace(frame=framed, moving=())
    shared = common(item.machine.meters, framed)
    found = total(item.machine, item.rates, shared, plan, item.kept)
    made = lines(item.machine, item.rates, shared, plan, item.kept)
    assert isinstance(found, Total)
    assert isinstance(made, list)
    return found, summed(made)


def test_a_warm_container_of_modal_costs_between_its_gpu_and_all_that_was_asked_for() -> None:
    """Case 58: the-full-stack-website issue 76 and PR 75; modal-examples PR 698.

    H100, 8 cores, 64 GiB, 24 h idle: 0.001097 x 86400 = 94.78; with 8 x 0.0000131 x 86400 = 9.05
    and 64 x 0.00000222 x 86400 = 12.28 it is 116.11. Whether idle cores bill nobody says.
    """
    modal = shipped("modal")
    quiet = tuple(each for each in modal.meters if each.kind not in ("ingress", "egress"))
    free = (meter("ingress", usd="0", per="gb"), meter("egress", usd="0", per="gb"))
    found, added = kept_warm(modal.model_copy(update={"meters": (*quiet, *free)}), 24)
    check(found.usd.low, "94.78")
    check(found.usd.expected, "116.11")
    check(found.usd.high, "116.11")
    assert added == found.usd


@pytest.mark.parametrize(
    ("kind", "per"), [("cpu", "core_hour"), ("ram", "gb_hour"), ("public_ip", "hour")]
)
@pytest.mark.parametrize(
    ("states", "unknown", "hours"),
    [
        (("running", "idle_warm"), (), ("1", "1", "1")),
        (("running",), ("idle_warm",), ("0", "1", "1")),
        (("running",), (), ("0", "0", "0")),
    ],
)
def test_what_bills_beside_the_gpu_bills_in_its_own_states(
    kind: str, per: str, states: tuple[str, ...], unknown: tuple[str, ...], hours: tuple[str, ...]
) -> None:
    beside = meter(kind, usd="1", per=per, states=states, states_unknown=unknown)
    warm = meter("gpu", states=("running", "idle_warm"))
    bare, _ = kept_warm(serverless(warm, included=("disk",)), 1)
    found, added = kept_warm(serverless(warm, beside, included=("disk",)), 1)
    amount = {"cpu": Decimal(8), "ram": Decimal("68.719476736"), "public_ip": Decimal(1)}[kind]
    more = [a - b for a, b in zip(found.usd, bare.usd, strict=True)]
    assert more == [Decimal(h) * amount for h in hours]
    assert added == found.usd


def test_an_address_of_which_nobody_says_that_it_bills_stays_out_of_low() -> None:
    address = meter("public_ip", usd="0.0045", states=(), states_unknown=("running",))
    item = priced(question(work(), owner(address)), offer())
    assert span(by_name(item)["public IP"].cost()) == ("0.000000", "0.045000", "0.045000")


def test_a_disk_may_bill_while_the_gpu_does_not() -> None:
    # the pull of 9 GB over 100 Mbit/s takes 720 s: 100 GB x 0.0001 x 0.2 h
    disk = meter("disk", usd="0.073", per="gb_month", states=("loading_image", "running"))
    market = owner(disk, kind="marketplace")
    item = priced(question(work(image_gb=9), market), offer(inet_down_mbit_per_s=100))
    assert costs(item) == {"training": "10.000000", "disk": "0.102000"}
    # and not where it bills only while the machine runs
    market = owner(kind="marketplace")
    item = priced(question(work(image_gb=9), market), offer(inet_down_mbit_per_s=100))
    assert costs(item) == {"training": "10.000000", "disk": "0.100000"}


# --- what stays on a volume -----------------------------------------------------------------------


def volume(**fields: object) -> Provider:
    return owner(meter("network_volume", usd="0.073", per="gb_month", **fields))


@pytest.mark.parametrize(
    ("fields", "usd"),
    [
        # 150 GB for 30 days of 24 h at 0.0001
        ({"keep_gb": 150, "keep_days": 30}, "10.800000"),
        ({"keep_gb": 150, "keep_days": 0}, None),
        ({"keep_gb": 0, "keep_days": 30}, None),
        # the data set lies on the volume for the 10 h of the job
        ({"dataset_from": "volume", "dataset_gb": 100}, "0.100000"),
        # and stays there: the larger of the two, 10 + 24 h
        ({"dataset_from": "volume", "dataset_gb": 100, "keep_gb": 60, "keep_days": 1}, "0.340000"),
        ({"dataset_from": "volume", "dataset_gb": 50, "keep_gb": 60, "keep_days": 1}, "0.204000"),
    ],
)
def test_what_is_kept_on_a_volume_is_paid_by_the_hour(
    fields: dict[str, Any], usd: str | None
) -> None:
    item = priced(question(work(**fields), volume()), offer())
    assert costs(item).get("volume") == usd


def test_the_free_part_of_a_volume_is_free_and_in_high_already_used() -> None:
    # 150 GB for 720 h, the first 100 free: 50 x 0.0001 x 720 = 3.60, all of it 10.80
    terms = volume(free=100)
    item = priced(question(work(keep_gb=150, keep_days=30), terms), offer())
    assert span(by_name(item)["volume"].cost()) == ("3.600000", "3.600000", "10.800000")


def test_a_volume_that_is_all_free_is_free_at_modal() -> None:
    # the first TiB costs nothing
    settled = work(keep_gb=100, keep_days=30)
    item = priced(asked_of_all(settled), listed("modal/1x-h100"))
    volume_line = by_name(item).get("volume")
    assert volume_line is not None
    assert volume_line.cost().expected == 0
    check(volume_line.cost().high, "8.2671")  # 93.1323 GiB x 0.09 x 720/730


# --- what nobody prices ---------------------------------------------------------------------------


def test_gpu_disk_and_traffic_have_lines_and_an_unpriced_one_marks_the_total() -> None:
    """Case 9: github.com/dstackai/dstack/pull/760, a vast.ai price without storage and network."""
    known = others(meter("ingress", usd="0.01", per="gb"), meter("ingress", usd="0.03", per="gb"))
    settled = work(dataset_gb=100)
    stated = priced(question(settled, owner(), known=known), offer(ingress_usd_per_gb="0.02"))
    unstated = priced(question(settled, owner(meter("ingress", per="gb")), known=known), offer())
    for item in (stated, unstated):
        assert {"training", "disk", "dataset in"} <= set(by_name(item))
    assert not stated.at_least
    assert unstated.at_least
    # nothing in low, 100 x 0.02 expected, 100 x 0.03 in high: the total is a lower bound
    assert span(by_name(unstated)["dataset in"].cost()) == ("0.000000", "2.000000", "3.000000")
    assert unstated.unpriced_usd == 3
    assert unstated.total.low < stated.total.low


@pytest.mark.parametrize(
    ("unpriced", "fields", "usd"),
    [
        (meter("disk", per="gb_month"), {}, "0.300000"),  # 100 GB x 10 h x 0.0003
        (meter("ingress", per="gb"), {"dataset_gb": 10}, "0.300000"),  # 10 x 0.03
        (meter("egress", per="gb"), {"checkpoint_gb": 5}, "0.300000"),  # 5 x 0.06
        (meter("public_ip"), {}, "0.030000"),  # about 10 h x 0.003
        (meter("cpu", per="core_hour"), {"vcpus": 2}, "0.600000"),  # 2 x 10 h x 0.03
        (meter("ram", per="gb_hour"), {"ram_gb": 5}, "0.150000"),  # 5 x 10 h x 0.003
        (None, {"keep_gb": 10, "keep_days": 1}, "0.072000"),  # 10 x 24 h x 0.0003
    ],
)
def test_what_has_no_price_counts_at_the_dearest_of_others(
    unpriced: Any, fields: dict[str, Any], usd: str
) -> None:
    known = others(
        meter("disk", usd="0.219", per="gb_month"),
        meter("network_volume", usd="0.219", per="gb_month"),
        meter("ingress", usd="0.03", per="gb"),
        meter("egress", usd="0.06", per="gb"),
        meter("public_ip", usd="0.003"),
        meter("cpu", usd="0.03", per="core_hour"),
        meter("ram", usd="0.003", per="gb_hour"),
    )
    meters = () if unpriced is None else (unpriced,)
    line: dict[str, Any] = {"inet_down_mbit_per_s": 10**6, "inet_up_mbit_per_s": 10**6}
    included = () if unpriced is not None and unpriced.kind in ("cpu", "ram") else ("cpu", "ram")
    asked = question(work(**fields), owner(*meters, included=included), known=known)
    item = priced(asked, offer(**line))
    assert abs(item.unpriced_usd - Decimal(usd)) < Decimal("0.0001")
    assert item.total.low <= item.total.expected <= item.total.high


# --- bills of others ------------------------------------------------------------------------------


def test_five_pods_of_six_that_never_boot_cost_nearly_nine_dollars() -> None:
    """Case 53: github.com/openai/parameter-golf/issues/821, 8x H100 at 21.52 $/h, 5 failed pods.

    Five tries of 4.8 min for each that boots: 24 min x 21.52/60 = 8.608; the balance lost 8.65.
    """
    boot = {"failure_share": 5 / 6, "probe_minutes": 4.8, **HERE}
    rented = offer("21.52", card="H100-SXM", count=8)
    item = priced(question(work(), owner(boot=boot)), rented)
    failed = by_name(item)["failed boots"]
    check(failed.quantity.expected * 60, "24.00")
    check(failed.cost().expected, "8.608")
    assert abs(failed.cost().expected / Decimal("8.65") - 1) < Decimal("0.005")


def test_trying_instances_of_which_most_never_boot_costs_cents() -> None:
    """Case 54: run-farm package notes: 58 % of the vast.ai instances it created never booted.

    1/(1 - 0.58) = 2.38 tries, 1.38 of them wasted, 3 min each at 0.40 $/h: 0.0276.
    """
    rented = offer("0.40", provider="vast", sku="vast/1x-rtx-4090-test")
    item = priced(asked_of_all(work()), rented)
    failed = by_name(item)["failed boots"]
    check(failed.quantity.expected * 20, "1.38")  # in tries of 3 min
    check(failed.cost().expected, "0.0276")


GPU_ONLY = {"included": ("cpu", "ram", "disk")}


@pytest.mark.parametrize(
    ("card", "usd", "no_gpu_usd", "idle_usd"),
    [
        ("RTX-4090", "0.74", "1.850", "0.925"),  # 2.5 x 0.74, 1.25 x 0.74
        ("RTX-A4000", "0.25", "0.625", "0.3125"),  # 2.5 h stay 2.5 h on a slower card
    ],
)
def test_work_that_needs_no_gpu_costs_the_same_hours_on_every_card(
    card: str, usd: str, no_gpu_usd: str, idle_usd: str
) -> None:
    """Case 55: github.com/eellak/gsoc2026-opencouncil-stt/issues/46.

    5.5 h on a 4090 at 0.74, of which 2.5 h need no GPU: 1.85 of 4.07; then 75 min idle.
    """
    settled = work(
        throughput={"card": "RTX-4090", "seconds_per_epoch": 3 * HOUR_S},
        epochs=1,
        overhead_s=2.5 * HOUR_S,
        idle_after_hours=1.25,
    )
    item = priced(question(settled, owner(**GPU_ONLY)), offer(usd, card=card))
    found = by_name(item)
    check(found["start, loader"].cost().expected, no_gpu_usd)
    check(found["idle until noticed"].cost().expected, idle_usd)
    if card == "RTX-4090":
        check(found["training"].cost().expected + found["start, loader"].cost().expected, "4.07")


@pytest.mark.parametrize(
    ("hours", "usd"),
    [
        (5, "17.450"),  # 5 x 3.49
        (0.5, "1.745"),
    ],
)
def test_a_crash_at_three_that_is_found_at_eight_is_paid_until_eight(
    hours: float, usd: str
) -> None:
    """Case 57: luminoai.co.in, 2026-04-22, with an H100 at 3.49 $/h."""
    settled = work(idle_after_hours=hours)
    item = priced(question(settled, owner(**GPU_ONLY)), offer("3.49", card="H100-SXM"))
    check(by_name(item)["idle until noticed"].cost().expected, usd)


def test_a_pull_and_a_start_at_salad_are_free() -> None:
    """Case 73: Salad's page: only Running bills. 12 min of pull, then an hour at 0.047."""
    settled = work(
        throughput={"card": "RTX-3060", "seconds_per_epoch": HOUR_S}, epochs=1, image_gb=9
    )
    rented = listed("salad/1x-rtx-3060-low").model_copy(update={"inet_down_mbit_per_s": 100.0})
    item = priced(asked_of_all(settled), rented)
    (pull,) = (each for each in item.plan.moving if each.name == "image pull")
    assert pull.us[1] == 720_000_000  # 9 x 8000/100 s
    found = by_name(item)
    assert set(found) == {"failed boots", "training", "rounding up"}
    check(found["training"].cost().expected, "0.047")
    check(item.total.low, "0.047")  # no try fails there


def test_a_provider_without_a_disk_meter_still_bills_the_disk_that_it_does_not_include() -> None:
    terms = provider(
        meter("gpu"),
        meter("ingress", usd="0", per="gb"),
        meter("egress", usd="0", per="gb"),
        included=("cpu", "ram"),
        boot={"failure_share": 0, "probe_minutes": 1, **HERE},
    )
    known = others(meter("disk", usd="0.073", per="gb_month"))
    item = priced(question(work(), terms, known=known), offer())
    assert span(by_name(item)["disk"].cost()) == ("0.000000", "0.100000", "0.100000")
