"""Stopped is not off: what bills after each way of turning a machine off, and what survives.

Whether to keep, stop or destroy is the advisor's business; here stand the rates it starts from.
"""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

import pytest

from bills.samples import check, kinds, meter, one, priced, shipped
from costplan.advisor import border_hours, rebuild_usd
from costplan.billing import held_usd, hourly_usd
from costplan.errors import UnknownError
from costplan.states import Usage, hourly_lines, meters_in, state_after, total_usd_per_hour

if TYPE_CHECKING:
    from costplan.records.providers import State

# Bills whatever the machine does, where there is one.
KEPT_APART = {"volume", "network_volume", "snapshot", "object"}


@pytest.mark.parametrize(
    "key",
    ["lambda", "thunder", "massedcompute", "modal", "beam", "replicate", "runpod-serverless"],
)
def test_a_provider_without_a_stop_says_so(key: str) -> None:
    # case 37 (github.com/skypilot-org/skypilot/issues/6452, oumi-ai/oumi 1459) and its like;
    # case 70: thundercompute.com/docs/billing, the newest of three texts
    assert shipped(key).stop.supported is False
    with pytest.raises(UnknownError, match="has no api stop"):
        state_after(shipped(key), "api_stop")


@pytest.mark.parametrize("key", ["digitalocean", "vultr", "linode", "ovh"])
def test_a_stop_that_saves_nothing_is_no_stop(key: str) -> None:
    # cases 27, 29, 30: github.com/dwyl/learn-devops/issues/62,
    # github.com/ovh/public-cloud-roadmap/issues/68, digitalocean.com/community/questions
    owner = shipped(key)
    usage = Usage(gpu_usd_per_hour=Decimal("0.76"), disk_gb=Decimal(500))
    off = hourly_lines(owner, state_after(owner, "api_stop"), usage)
    assert total_usd_per_hour(off) == total_usd_per_hour(hourly_lines(owner, "running", usage))
    assert owner.stop.supported is False
    assert owner.stop.action is None


def test_a_stopped_vast_box_eats_its_credit() -> None:
    # case 19: 100 GB x 0.20/720 = 0.027778 $/h; 5 $ last 5 / 0.027778 = 180 h = 7.5 days
    source = "github.com/binga/cloud-gpus/issues/31"
    vast = shipped("vast")
    usage = Usage(gpu_usd_per_hour=Decimal("0.40"), disk_gb=Decimal(100))
    lines = hourly_lines(
        vast, state_after(vast, "api_stop"), usage, meters=priced(vast.meters, disk="0.20")
    )
    stopped = total_usd_per_hour(lines)
    assert stopped is not None
    check(stopped, "0.027778", source=source)
    check(Decimal(5) / stopped, "180", source=source)
    check(Decimal(5) / stopped / 24, "7.5", source=source)
    assert vast.balance is not None
    assert vast.balance.action == "delete_after"


def test_a_stopped_box_costs_its_disk_and_not_the_rate_that_its_record_shows() -> None:
    # case 21: 32 GB x 0.20/720 = 0.008889; the record of the instance still reads 0.5689
    source = "test of a vast client, stopped A100"
    vast = shipped("vast")
    usage = Usage(gpu_usd_per_hour=Decimal("0.5689"), disk_gb=Decimal(32))
    meters = priced(vast.meters, disk="0.20")
    stopped = hourly_lines(vast, state_after(vast, "api_stop"), usage, meters=meters)
    check(total_usd_per_hour(stopped), "0.008889", source=source)
    offline = hourly_lines(vast, "host_offline", usage, meters=meters)
    assert offline == (), "vast-ai/docs: nothing is billed while the host is offline"


def test_a_stopped_ec2_machine_pays_its_disk_and_an_address_without_a_price() -> None:
    # case 22: 500 GB x 0.08 = 40.00 a month = 40/730 = 0.054795 an hour, and the Elastic IP
    source = "github.com/QT-DevOps/DevOpsIssues/issues/231"
    aws = shipped("aws")
    gp3 = meter("disk", usd="0.08", per="gb_month", month_hours="730", states=("stopped_released",))
    address = meter("public_ip", states=("running", "stopped_released"))
    usage = Usage(gpu_usd_per_hour=Decimal("1.00"), disk_gb=Decimal(500), ips=1)
    state = state_after(aws, "api_stop")
    disk, ip = hourly_lines(aws, state, usage, meters=(gp3, address))
    check(disk.usd_per_hour, "0.054795", source=source)
    check(held_usd(gp3, Decimal(500), Decimal(730)), "40.00", source=source)
    assert (ip.kind, ip.usd_per_hour, ip.certain) == ("public_ip", None, True)
    assert total_usd_per_hour((disk, ip)) is None
    assert kinds(aws, state) >= {"disk", "public_ip"}
    own = [line for line in hourly_lines(aws, state, usage) if line.kind == "disk"]
    check(own[0].usd_per_hour, "0.054795", source=source)


AZURE = "azure-sdk-for-python issue 17619; AzureTRE 2419; cloud-custodian 2789; azure-cli PR 8097"


def test_a_weekend_on_a_guest_stopped_azure_machine_is_paid_in_full() -> None:
    # case 23: Friday 18:00 to Monday 08:00 = 6 + 24 + 24 + 8 = 62 h; 62 x 6.98 = 432.76
    azure = shipped("azure")
    usage = Usage(gpu_usd_per_hour=Decimal("6.98"))
    stopped = total_usd_per_hour(hourly_lines(azure, state_after(azure, "guest_shutdown"), usage))
    assert stopped is not None
    check(stopped * 62, "432.76", source=AZURE)


def test_a_deallocated_azure_machine_pays_disks_and_address_only() -> None:
    # case 23
    azure = shipped("azure")
    deallocated = kinds(azure, state_after(azure, "deallocate")) - KEPT_APART
    assert deallocated == {"disk", "public_ip"}, AZURE
    assert azure.stop.supported is True
    assert azure.stop.action == "deallocate"


def test_a_forgotten_machine_passes_a_hundred_dollars_a_month() -> None:
    # case 25: 0.137 x 730 = 100.01
    source = "github.com/MicrosoftDocs/azure-docs/issues/73578"
    azure = shipped("azure")
    usage = Usage(gpu_usd_per_hour=Decimal("0.137"))
    off = total_usd_per_hour(hourly_lines(azure, state_after(azure, "guest_shutdown"), usage))
    assert off is not None
    check(off * 730, "100.01", source=source)


def test_a_scaleway_machine_that_shut_itself_down_bills_on_in_euros() -> None:
    # case 26: 43 h + 5 h = 48 h at 0.833 EUR = 40 EUR
    source = "github.com/Embassy-of-the-Free-Mind/sourcelibrary-v2/issues/4909"
    scaleway = shipped("scaleway")
    usage = Usage(gpu_usd_per_hour=Decimal("0.833"))
    off = total_usd_per_hour(hourly_lines(scaleway, state_after(scaleway, "guest_shutdown"), usage))
    assert off is not None
    check(off * (43 + 5), "40", source=source)
    assert scaleway.currency == "EUR"
    archived = kinds(scaleway, state_after(scaleway, "api_stop")) - KEPT_APART
    assert archived == {"disk", "public_ip"}, source


def test_four_days_off_at_digitalocean_are_four_days_paid() -> None:
    # case 30: 4 days = 96 h; 96 x 0.76 = 72.96
    ocean = shipped("digitalocean")
    usage = Usage(gpu_usd_per_hour=Decimal("0.76"))
    off = total_usd_per_hour(hourly_lines(ocean, state_after(ocean, "api_stop"), usage))
    assert off is not None
    check(off * 96, "72.96", source="digitalocean.com/community/questions, 2015, 2019, 2025")


def test_shutoff_at_hyperstack_is_paid_and_hibernation_is_not() -> None:
    # case 31: 48 x 3.20 = 153.60
    source = "Hyperstack state table, 2026-08"
    stack = shipped("hyperstack")
    usage = Usage(gpu_usd_per_hour=Decimal("3.20"))
    off = total_usd_per_hour(hourly_lines(stack, state_after(stack, "api_stop"), usage))
    assert off is not None
    check(off * 48, "153.60", source=source)
    hibernated = kinds(stack, state_after(stack, "hibernate")) - KEPT_APART
    assert hibernated == {"disk", "public_ip"}, source
    assert stack.stop.action == "hibernate"


def test_barrack_bills_a_hibernated_machine_by_a_flat_fee() -> None:
    # 0.01 an hour, whatever the disk
    barrack = shipped("barrack-ai")
    usage = Usage(gpu_usd_per_hour=Decimal(2), disk_gb=Decimal(500))
    lines = hourly_lines(barrack, state_after(barrack, "hibernate"), usage)
    check(total_usd_per_hour(lines), "0.01", source="barrack.ai state table, 2026")


def test_a_stopped_crusoe_machine_is_free_on_demand_and_full_price_under_commitment() -> None:
    # case 33: 24 h stopped at 3.90: 0 on demand; 24 x 3.90 = 93.60 under a commitment
    source = "Crusoe support article, 2026-04-27"
    crusoe = shipped("crusoe")
    usage = Usage(gpu_usd_per_hour=Decimal("3.90"))
    stopped = hourly_lines(crusoe, state_after(crusoe, "api_stop"), usage)
    assert total_usd_per_hour(stopped) == 0, source
    assert [terms.billed_when_stopped for terms in crusoe.commitments] == [True], source
    committed = total_usd_per_hour(hourly_lines(crusoe, "running", usage))
    assert committed is not None
    check(committed * 24, "93.60", source=source)


@pytest.mark.parametrize(("key", "days"), [("autodl", 15), ("gpushare", 10)])
def test_a_stopped_machine_that_expires_says_when(key: str, days: int) -> None:
    # case 34: an absence of 20 days outlives both
    stop = shipped(key).stop
    assert stop.max_stopped_hours == days * 24, "remote-gpu-trainer, profiles, 2026-06"


def test_a_vast_contract_that_ends_ends_the_stop_and_the_disk_bills_on() -> None:
    # case 45: vast-ai/docs: cannot restart, may be deleted 48 h later
    vast = shipped("vast")
    assert vast.stop.ends_with_contract is True
    assert kinds(vast, "expired") - KEPT_APART == {"disk"}


def test_what_survives_a_destroy_is_listed_and_adds_up() -> None:
    # case 35: 27,000 $ of unattached disks at 0.08: 27,000 / 0.08 = 337,500 GB-months
    source = "devoopsie.beehiiv.com, 2022-08-18"
    gp3 = meter("disk", usd="0.08", per="gb_month", month_hours="730")
    check(held_usd(gp3, Decimal(337_500), Decimal(730)), "27000", source=source)
    assert set(shipped("aws").destroy.survivors) >= {"disk", "snapshot", "public_ip"}


def test_lambda_can_only_be_kept_or_destroyed() -> None:
    # case 37: keep 3 h of 8x H100 = 3 x 31.92 = 95.76; rebuild = 0.25 x 31.92 = 7.98, its bytes
    # free; 7.98 / 31.92 = 0.25 h = 15 min
    source = "github.com/skypilot-org/skypilot/issues/6452; oumi-ai/oumi 1459"
    owner = shipped("lambda")
    usage = Usage(gpu_usd_per_hour=Decimal("31.92"))
    running = total_usd_per_hour(hourly_lines(owner, "running", usage))
    assert running is not None
    check(running * 3, "95.76", source=source)
    rebuild = rebuild_usd(
        running_usd_per_hour=running,
        setup_hours=Decimal("0.25"),
        ingress_gb=Decimal(43),
        ingress_usd_per_gb=Decimal(0),
    )
    check(rebuild, "7.98", source=source)
    check(border_hours(one_off_usd=rebuild, saved_usd_per_hour=running) * 60, "15", source=source)


def test_a_spot_machine_at_aws_cannot_be_stopped() -> None:
    # case 38: github.com/skypilot-org/skypilot/issues/257
    assert shipped("aws").stop.spot_supported is False
    assert shipped("aws").stop.supported is True


def test_the_risk_that_the_gpu_is_gone_halves_the_border() -> None:
    # case 39, the division only: without a risk 1.00 / 0.0694 = 14.4 h; with a restart of 5 min
    # (0.29023 $) and a GPU gone in 3 of 10: 0.7 x (1.00 - 0.29023) = 0.49684; / 0.0694 = 7.16 h
    source = "github.com/runpod/runpod-python/issues/168, 2023-10-11"
    saved = Decimal("0.0694")
    check(border_hours(one_off_usd=Decimal("1.00"), saved_usd_per_hour=saved), "14.4")
    worth = Decimal("0.49684")
    check(border_hours(one_off_usd=worth, saved_usd_per_hour=saved), "7.16", source=source)


def test_a_runpod_balance_lasts_eight_hours_and_then_the_pod_is_gone() -> None:
    # case 42: 6 / 0.74 = 8.108 h
    source = "runpod/docs, 2026-08"
    running = Decimal("0.74")
    check(border_hours(one_off_usd=Decimal(6), saved_usd_per_hour=running), "8.108", source=source)
    for key in ("runpod-secure", "runpod-community"):
        balance = shipped(key).balance
        assert balance is not None
        assert balance.action == "terminate", source


RUNPOD = "runpod/docs pods/pricing.mdx and pods/storage/types.mdx, 2026-08"


@pytest.mark.parametrize(
    ("kind", "state", "usd", "thirty_days"),
    [
        ("disk", "running", "0.10", "10.00"),  # 100 x 0.10
        ("disk", "stopped_released", "0.20", "20.00"),  # 100 x 0.20: stopped is dearer
        ("network_volume", "running", "0.07", "7.00"),  # 100 x 0.07, in every state
        ("network_volume", "stopped_released", "0.07", "7.00"),
    ],
)
def test_a_stopped_runpod_volume_costs_twice_a_running_one(
    kind: str, state: State, usd: str, thirty_days: str
) -> None:
    # case 43: 100 GB for 30 days, 720 h of a month of 720 h
    volume = meter(kind, usd=usd, per="gb_month", month_hours="720")
    check(held_usd(volume, Decimal(100), Decimal(720)), thirty_days, source=RUNPOD)
    shop = shipped("runpod-secure")
    (billed,) = [each for each, _ in meters_in(shop, state) if each.kind == kind]
    monthly = one(hourly_usd(billed, Decimal(100))) * billed.month_hours
    check(monthly, thirty_days, source=RUNPOD)


def test_a_stopped_runpod_volume_is_worth_a_dollar_of_rebuild_for_36_hours() -> None:
    # case 43: 1 x 720/20 = 36 h
    stopped = one(
        hourly_usd(meter("disk", usd="0.20", per="gb_month", month_hours="720"), Decimal(100))
    )
    check(border_hours(one_off_usd=Decimal(1), saved_usd_per_hour=stopped), "36", source=RUNPOD)


@pytest.mark.parametrize(("month", "expected"), [("720", "0.055556"), ("730", "0.054795")])
def test_an_exited_pod_bills_its_volume_though_its_record_says_zero(
    month: str, expected: str
) -> None:
    # case 62: 200 GB x 0.20 = 40; 40/720 and 40/730
    pod = shipped("runpod-secure")
    state = state_after(pod, "api_stop")
    meters = [each.model_copy(update={"month_hours": Decimal(month)}) for each in pod.meters]
    usage = Usage(gpu_usd_per_hour=Decimal(0), disk_gb=Decimal(200))
    lines = hourly_lines(pod, state, usage, meters=meters)
    assert [line.kind for line in lines] == ["disk"]
    check(total_usd_per_hour(lines), expected, source="RunPod API v2 specification")


@pytest.mark.parametrize("key", ["runpod-serverless", "modal", "beam", "replicate"])
def test_scaled_to_zero_costs_nothing(key: str) -> None:
    # case 63: 64 GB x 0.10 = 6.40 a month feared; in 2 h 59 m 37 s the balance moved by tokens only
    owner = shipped(key)
    usage = Usage(
        gpu_usd_per_hour=Decimal(4), disk_gb=Decimal(64), cores=Decimal(8), ram_gb=Decimal(64)
    )
    lines = hourly_lines(owner, state_after(owner, "scale_to_zero"), usage)
    assert lines == (), "github.com/runpod/docs/issues/798"
    assert total_usd_per_hour(lines) == 0


def test_the_image_pull_at_vast_bills_the_disk_and_not_the_gpu() -> None:
    # case 59: 10 min of pull and 5 min of installing at 3.4828 with 250 GB: unbilled pull
    # 5/60 x 3.4828 = 0.2902 and 10/60 x 0.0694 = 0.0116; billed pull 15/60 x 3.4828 = 0.8707
    source = "github.com/vast-ai/docs/pull/4"
    vast = shipped("vast")
    meters = priced(vast.meters, disk="0.20")
    usage = Usage(gpu_usd_per_hour=Decimal("10.24") / 3, disk_gb=Decimal(250))
    running = total_usd_per_hour(hourly_lines(vast, "running", usage, meters=meters))
    pulling = total_usd_per_hour(hourly_lines(vast, "loading_image", usage, meters=meters))
    assert running is not None
    assert pulling is not None
    check(running * 5 / 60, "0.2902", source=source)
    check(pulling * 10 / 60, "0.0116", source=source)
    check(running * 15 / 60, "0.8707", source=source)


def test_the_image_pull_at_salad_is_free() -> None:
    # case 73: 12 min of pull, then 1 h at 0.047 = 0.047; billing the pull would make 0.0564
    salad = shipped("salad")
    usage = Usage(gpu_usd_per_hour=Decimal("0.047"))
    phases: list[tuple[State, Decimal]] = [
        ("loading_image", Decimal(12) / 60),
        ("running", Decimal(1)),
    ]
    cost = Decimal(0)
    for state, hours in phases:
        rate = total_usd_per_hour(hourly_lines(salad, state, usage))
        assert rate is not None
        cost += rate * hours
    check(cost, "0.047", source="Salad price page, 2026")


def test_idle_warm_containers_cost_between_the_gpu_alone_and_all_that_was_asked_for() -> None:
    # case 58: a day = 86,400 s; 0.001097 x 86400 = 94.78; with 8 cores and 64 GiB
    # (0.001097 + 8 x 0.0000131 + 64 x 0.00000222) x 86400 = 116.11
    source = "the-full-stack-website issue 76 and PR 75; modal-examples PR 698"
    usage = Usage(
        gpu_usd_per_hour=Decimal("0.001097") * 3_600,
        cores=Decimal(8),
        ram_gb=Decimal("68.719476736"),  # 64 GiB
    )
    lines = hourly_lines(shipped("modal"), "idle_warm", usage)
    certain = total_usd_per_hour(lines)
    assert certain is not None
    check(certain * 24, "94.78", source=source)
    everything = total_usd_per_hour(line._replace(certain=True) for line in lines)
    assert everything is not None
    check(everything * 24, "116.11", source=source)


@pytest.mark.parametrize(
    ("key", "state", "bills"),
    [
        ("vast", "frozen", True),  # vast-ai/docs manage-instances.mdx
        ("vast", "loading_image", False),
        ("lambda", "booting", False),  # from the health check on
        ("scaleway", "booting", True),  # docs-content PR 5727
        ("salad", "booting", False),
        ("replicate", "booting", True),
        ("runpod-serverless", "booting", True),  # the start is charged
        ("runpod-serverless", "idle_warm", True),  # the idle timeout is charged
    ],
)
def test_a_state_before_and_beside_running_bills_as_the_provider_says(
    key: str, state: State, bills: bool
) -> None:
    assert ("gpu" in kinds(shipped(key), state)) is bills
