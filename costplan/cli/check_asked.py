"""From the words of `costplan check` to what is measured, and from that to the answer."""

from __future__ import annotations

import os
import re
from datetime import datetime, timezone
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from costplan import catalog as catalogs
from costplan import checks
from costplan.box import fetching, gpus, holders, interpreters, measure, smi
from costplan.box.commands import MASK, masked, words
from costplan.cli.absence_asked import duration_s, number
from costplan.errors import InputError
from costplan.jobfile import read_job
from costplan.needs import needs_of
from costplan.promisefile import cards_of, read_promised
from costplan.records.checks import BoxFacts, GpuFacts, InstallFacts, Needs, Promised

if TYPE_CHECKING:
    from costplan.catalog import Catalog
    from costplan.records.checks import Checked

MOST_RATE: Final = 100_000
"""Dollars an hour; see `records.offers.HourlyPrice`."""
_LOGIN: Final = re.compile(r"//[^/\s@]+@")


class CheckAsked(NamedTuple):
    """A command line of `costplan check`; texts stay texts until they are checked."""

    job: str | None = None
    rate: str | None = None
    since: str | None = None
    promised: str | None = None
    download: str | None = None
    folder: Path = Path()
    python: str | None = None
    before_install: str | None = None
    pricing: Path | None = None


class Found(NamedTuple):
    """The answer, what it was asked from, and what it rests on."""

    answer: Checked
    echoed: dict[str, Any]
    """Without anything that may be a secret."""
    facts: dict[str, Any]


def answered(asked: CheckAsked) -> Found:
    """Return the answer to a command line; everything asked is checked before anything is done.

    Raises:
        InputError: Something in it cannot be used as it stands.
    """
    if asked.before_install is not None:
        return _installing(asked, asked.before_install)
    rate = _rate(asked.rate)
    since_s = None if asked.since is None else duration_s(asked.since, "--since")
    if asked.download is not None:
        fetching.host_of(asked.download)
    if not asked.folder.is_dir():
        raise InputError(f"--dir {asked.folder}: not a folder")
    catalog = catalogs.load(catalogs.folder(asked.pricing))
    needs = None if asked.job is None else needs_of(read_job(asked.job))
    today = datetime.now(tz=timezone.utc).date()
    given = None
    if asked.promised is not None:
        given = read_promised(asked.promised, catalog=catalog, today=today)
    box = measured(asked, catalog, since_s)
    answer = checks.checked(box, needs=needs, promised=given, usd_per_hour=rate)
    return Found(answer, _echoed(asked, box.torch.python), _facts(box, needs, given))


def measured(asked: CheckAsked, catalog: Catalog, since_s: float | None) -> BoxFacts:
    """Return what the box is: others on its GPUs are looked for before kernels run on them."""
    age_s = holders.age_s() if since_s is None else since_s
    cards, problem = smi.seen()
    runs, runs_problem = holders.runs()
    mounts = measure.mounts()
    return BoxFacts(
        age_s=age_s,
        gpus=None if cards is None else tuple(_gpu(each, catalog) for each in cards),
        gpus_problem=problem,
        gpu_present=gpus.present(),
        torch=interpreters.tried(asked.python or interpreters.default()),
        cpu=measure.cpu(),
        memory=measure.memory(),
        shm=measure.shm(),
        disk=measure.disk(asked.folder, mounts=mounts),
        download=None if asked.download is None else fetching.fetched(asked.download),
        caches=tuple(measure.caches(os.environ, mounts)),
        runs=None if runs is None else tuple(runs),
        runs_problem=runs_problem,
    )


def _gpu(each: dict[str, Any], catalog: Catalog) -> GpuFacts:
    return GpuFacts(**each, cards=cards_of(each["name"] or "GPU", catalog))


def _installing(asked: CheckAsked, text: str) -> Found:
    """Return what an install would do; nothing else is looked at."""
    for flag, value in (
        ("--job", asked.job),
        ("--rate", asked.rate),
        ("--since", asked.since),
        ("--promised", asked.promised),
        ("--download", asked.download),
    ):
        if value is not None:
            raise InputError(f"{flag} beside --before-install", hint="these are two questions")
    python = asked.python or interpreters.default()
    given = words(text, flag="--before-install")
    version, cuda, problem = interpreters.installed(python)
    report = None
    if problem is None:
        report, problem = interpreters.report(python, given)
    cards, _ = smi.seen()
    facts = InstallFacts(
        words=_without_secrets(text),
        python=python,
        torch_version=version,
        torch_cuda=cuda,
        report=report,
        problem=None if problem is None else _without_secrets(problem),
        gpu_present=bool(cards) or gpus.present(),
        driver=cards[0].get("driver") if cards else None,
    )
    body = facts.model_dump(mode="json", exclude={"report"})
    return Found(checks.installing(facts), _echoed(asked, python), body)


def _rate(text: str | None) -> Decimal | None:
    if text is None:
        return None
    rate = number(text, "--rate")
    if not 0 < rate <= MOST_RATE:
        raise InputError(
            f"--rate {text}: not above 0 and up to {MOST_RATE:,} $/h",
            hint="a price of nothing is a missing price",
        )
    return rate


def _echoed(asked: CheckAsked, python: str) -> dict[str, Any]:
    found = {key: value for key, value in asked._asdict().items() if value is not None}
    found["dir"] = str(found.pop("folder"))
    found["python"] = python
    if asked.download is not None:
        found["download"] = fetching.host_of(asked.download)
    if asked.before_install is not None:
        found["before_install"] = _without_secrets(asked.before_install)
    return found


def _without_secrets(text: str) -> str:
    return _LOGIN.sub(f"//{MASK}@", masked(text))


def _facts(box: BoxFacts, needs: Needs | None, given: Promised | None) -> dict[str, Any]:
    return {
        **box.model_dump(mode="json"),
        "needs": None if needs is None else needs.model_dump(mode="json"),
        "promised": None if given is None else given.model_dump(mode="json"),
    }
