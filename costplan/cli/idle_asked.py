"""From the words of `costplan idle` to a box and an absence."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from costplan import catalog as catalogs
from costplan import ledger, yamlfile
from costplan.borders import gone_moves
from costplan.boxcosts import RESTART_MINUTES
from costplan.cli.absence_asked import absence_of, duration_s, number, people_in, share
from costplan.cli.clocks_asked import ClocksAsked, check_clocks, clocks_of, with_notice
from costplan.cli.missing import check_known
from costplan.cli.offer_asked import add_disk, take_offer
from costplan.errors import InputError
from costplan.idling import advise
from costplan.records.idle import IdleBox, KeptData
from costplan.records.results import Notice
from costplan.stopping import StopFacts, stop_facts, told

if TYPE_CHECKING:
    from costplan.records.idle import Advice
    from costplan.records.providers import Provider


class IdleAsked(NamedTuple):
    """A command line of `costplan idle`; texts stay texts until they are checked."""

    rate: str | None = None
    disk: str | None = None
    storage_price: str | None = None
    stopped_storage_price: str | None = None
    setup: str | None = None
    ingress: str | None = None
    ingress_price: str | None = None
    restart: str | None = None
    month_hours: str | None = None
    provider: str | None = None
    offer: str | None = None
    box: str | None = None
    back_in: str | None = None
    back_at: str | None = None
    mean: str | None = None
    history: str | None = None
    never: str | None = None
    waiting: str | None = None
    gpu_gone: str | None = None
    gone_cost: str | None = None
    gone_half_life: str | None = None
    search_cost: str | None = None
    rebuild_rate: str | None = None
    upload_cost: str | None = None
    lost: str | None = None
    balance: str | None = None
    expires_in: str | None = None
    deadline: str | None = None
    remaining: str | None = None
    reserve: str | None = None
    compare: str | None = None
    stopped_for: str | None = None
    idle_for: str | None = None
    provider_timer: str | None = None
    notice: str | None = None
    unsaved: str | None = None
    upload_mbit: str | None = None
    keep_data: str | None = None
    keep_data_price: str | None = None
    keep_data_setup: str | None = None
    no_ledger: bool = False
    no_prior: bool = False
    pricing: Path | None = None

    def echoed(self) -> dict[str, Any]:
        """Return what was asked, without what was not."""
        return {key: value for key, value in self._asdict().items() if value not in (None, False)}


class Answered(NamedTuple):
    """The advice, and what it is for."""

    advice: Advice
    said: list[str]
    """What was resolved from the words (dates), to be echoed first."""
    box: IdleBox


def advised(asked: IdleAsked, *, now: datetime) -> Answered:
    """Return the advice, what was resolved from the words, and the box that they make.

    Raises:
        InputError: Something cannot be used as it stands.
        UnknownError: The box's rate or set-up is not known.
    """
    assumed: list[str] = []
    fields = _from_file(asked)
    facts = _facts(asked, fields.get("provider"))
    if asked.offer is not None:
        take_offer(asked.offer, asked.pricing, fields)
    _from_flags(asked, fields)
    if facts is not None:
        if facts.ingress_usd_per_gb is not None:
            fields.setdefault("ingress_usd_per_gb", facts.ingress_usd_per_gb)
        _from_facts(facts, fields, assumed)
    if asked.offer is not None and asked.rate is None:
        add_disk(asked.offer, asked.pricing, fields, assumed)
    fields.pop("quoted_disk_gb", None)
    if not {"usd_per_hour", "setup_minutes"} <= set(fields):
        check_known(fields, facts)  # names all else that is missing too
    _say_assumed(fields, assumed)
    _from_ledger(asked, fields, assumed)
    _keep_data(asked, fields)
    box = yamlfile.build(IdleBox, fields, where=asked.box or "flags")
    absence, said = absence_of(
        now=now,
        back_in=asked.back_in,
        back_at=asked.back_at,
        mean=asked.mean,
        history=asked.history,
        never=asked.never,
        others=lambda: () if asked.no_prior else people_in(catalogs.folder(asked.pricing)),
    )
    check_known(fields, facts)
    _check_rate(box)
    words = ClocksAsked(**{name: getattr(asked, name) for name in ClocksAsked._fields})
    clocks, more, noted = clocks_of(words, now=now)
    assumed += check_clocks(clocks, box, absence)
    texts = [*told(facts, box), *_month(box, assumed="month_hours" not in fields)]
    notices = [Notice(kind="stop", text=text) for text in texts]
    advice = advise(box, absence, assumed=assumed, notices=[*noted, *notices], clocks=clocks)
    advice = advice.model_copy(update={"gone_moves": gone_moves(box)})
    return Answered(with_notice(advice, words), [*said, *more], box)


def _month(box: IdleBox, *, assumed: bool) -> list[str]:
    """Return which month turns the price of the stopped disk into a rate; nothing if assumed."""
    price = box.stopped_storage_usd_per_gb_month
    if price is None:
        price = box.storage_usd_per_gb_month
    if assumed or box.stop is None or not price or not box.disk_gb:
        return []
    rate = box.disk_gb * price / box.month_hours
    return [
        f"the month has {box.month_hours:f} hours: a stopped disk bills {box.disk_gb:f} GB x "
        f"${price:f} / {box.month_hours:f} h = ${rate:.5f}/h"
    ]


def _check_rate(box: IdleBox) -> None:
    """Refuse a disk that alone would cost more than the whole rate.

    Raises:
        InputError: It does.
    """
    running = box.disk_gb * (box.storage_usd_per_gb_month or Decimal(0)) / box.month_hours
    if running > box.usd_per_hour:
        raise InputError(
            f"the disk alone bills ${running:.4f}/h, more than the rate of ${box.usd_per_hour}",
            hint="--rate is the whole running rate, disk included",
        )


def _say_assumed(fields: dict[str, Any], assumed: list[str]) -> None:
    if fields.get("stop", "stop") is not None and "restart_minutes" not in fields:
        assumed.append(f"restart {RESTART_MINUTES:g} minutes, the job running again: not given")
    if "month_hours" not in fields:
        assumed.append("month of 730 hours: not given")


def _from_file(asked: IdleAsked) -> dict[str, Any]:
    if asked.box is None:
        return {}
    text = yamlfile.read_text(Path(asked.box))
    data = yamlfile.parse(text, where=asked.box)  # JSON is YAML
    if not isinstance(data, dict):
        raise InputError(f"{asked.box} is not a saved box")
    yamlfile.build(IdleBox, data, where=asked.box, text=text)
    return dict(data)


def _facts(asked: IdleAsked, saved: str | None) -> StopFacts | None:
    offered = asked.offer.split("/", 1)[0] if asked.offer else None
    named = asked.provider or offered or saved
    if named is None:
        return None
    catalog = catalogs.load(catalogs.folder(asked.pricing))
    if offered is not None and catalog.provider_key(named) != offered:
        raise InputError(f"--offer is of {offered}, --provider says {named}")
    return stop_facts(catalog.providers[catalog.provider_key(named)])


def _from_flags(asked: IdleAsked, fields: dict[str, Any]) -> None:
    money = {
        "usd_per_hour": ("--rate", asked.rate),
        "disk_gb": ("--disk", asked.disk),
        "storage_usd_per_gb_month": ("--storage-price", asked.storage_price),
        "stopped_storage_usd_per_gb_month": (
            "--stopped-storage-price",
            asked.stopped_storage_price,
        ),
        "ingress_gb": ("--ingress", asked.ingress),
        "ingress_usd_per_gb": ("--ingress-price", asked.ingress_price),
        "month_hours": ("--month-hours", asked.month_hours),
        "waiting_usd_per_hour": ("--waiting", asked.waiting),
        "gone_usd": ("--gone-cost", asked.gone_cost),
        "search_usd": ("--search-cost", asked.search_cost),
        "rebuild_usd_per_hour": ("--rebuild-rate", asked.rebuild_rate),
        "upload_usd": ("--upload-cost", asked.upload_cost),
        "lost_usd": ("--lost", asked.lost),
        "balance_usd": ("--balance", asked.balance),
    }
    for field, (flag, text) in money.items():
        if text is not None:
            fields[field] = number(text, flag)
    for field, flag, text, unit_s in (
        ("setup_minutes", "--setup", asked.setup, 60),
        ("restart_minutes", "--restart", asked.restart, 60),
        ("gone_half_life_hours", "--gone-half-life", asked.gone_half_life, 3_600),
        ("stop_expires_hours", "--expires-in", asked.expires_in, 3_600),
    ):
        if text is not None:
            fields[field] = duration_s(text, flag) / unit_s
    if asked.gpu_gone is not None:
        fields["gone_share"] = share(asked.gpu_gone, "--gpu-gone")


def _from_facts(facts: StopFacts, fields: dict[str, Any], assumed: list[str]) -> None:
    said = "stopped_storage_usd_per_gb_month" in fields
    if facts.action is None and not (facts.unknown and said):
        fields["stop"], fields["no_stop"] = None, facts.why_not
        return
    if facts.action is None:
        fields["stop"] = "stop"
        assumed.append("a stop ends all but the disk: nobody says so, you gave its stopped price")
        return
    fields.setdefault("stop", facts.action)
    fields.setdefault("wiped", facts.wiped)
    if facts.other_usd_per_hour and "stopped_other_usd_per_hour" not in fields:
        assumed.append(f"stopped, an address or a fee bills ${facts.other_usd_per_hour:.4f}/h more")
    fields.setdefault("stopped_other_usd_per_hour", facts.other_usd_per_hour)
    if not facts.has_disk:
        fields.setdefault("disk_gb", Decimal(0))
        fields.setdefault("stopped_storage_usd_per_gb_month", Decimal(0))
    own = not facts.own_stopped_price and "storage_usd_per_gb_month" in fields
    for key, value in (
        ("month_hours", facts.month_hours),
        ("stopped_storage_usd_per_gb_month", None if own else facts.storage_usd_per_gb_month),
        ("stop_expires_hours", facts.expires_hours),
        ("restart_minutes", facts.restart_minutes),
    ):
        if value is not None and key not in fields:
            fields[key] = value
    if facts.rebuilds and "restart_minutes" not in fields and "setup_minutes" in fields:
        fields["restart_minutes"] = fields["setup_minutes"]
        assumed.append("restart as long as the set-up: the stop wipes what the set-up made")


def _from_ledger(asked: IdleAsked, fields: dict[str, Any], assumed: list[str]) -> None:
    """Take the chance that the GPU is gone from recorded restarts, where there are any."""
    if asked.no_ledger or "gone_share" in fields or not ledger.default_path().exists():
        return
    with ledger.open_ledger() as kept:
        tries = kept.restarts(provider_key(asked.provider or fields.get("provider"), asked))
    if tries.attempts:
        # Beta posterior with a flat prior: (1 + failures) / (2 + attempts).
        fields["gone_share"] = (1 + tries.failures) / (2 + tries.attempts)
        assumed.append(
            f"GPU gone {fields['gone_share']:.0%}: {tries.failures} of {tries.attempts} recorded "
            "restarts failed (--gpu-gone to say otherwise, --no-ledger to ignore)"
        )


def provider_of(asked: IdleAsked) -> Provider | None:
    """Return the provider that the words or the saved box name."""
    key = provider_key(asked.provider or _from_file(asked).get("provider"), asked)
    return None if key is None else catalogs.load(catalogs.folder(asked.pricing)).providers[key]


def provider_key(name: str | None, asked: IdleAsked) -> str | None:
    """Return the price folder's key of the provider `name`, or of the one of `--offer`."""
    named = name or (asked.offer.split("/", 1)[0] if asked.offer else None)
    if named is None:
        return None
    return catalogs.load(catalogs.folder(asked.pricing)).provider_key(named)


def _keep_data(asked: IdleAsked, fields: dict[str, Any]) -> None:
    given = (asked.keep_data, asked.keep_data_price, asked.keep_data_setup)
    if not any(given):
        return
    if asked.keep_data is None or asked.keep_data_price is None or asked.keep_data_setup is None:
        raise InputError(
            "keeping the data needs --keep-data GB, --keep-data-price and --keep-data-setup"
        )
    kept = {
        "gb": number(asked.keep_data, "--keep-data"),
        "usd_per_gb_month": number(asked.keep_data_price, "--keep-data-price"),
        "setup_minutes": duration_s(asked.keep_data_setup, "--keep-data-setup") / 60,
    }
    fields["kept_data"] = yamlfile.build(KeptData, kept, where="--keep-data")
