"""When somebody comes back, as the command line says it, and its plain numbers."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Final

from costplan import ledger, yamlfile
from costplan.errors import InputError, UnknownError
from costplan.records.idle import Absence
from costplan.units import parse_duration_s

DAYS: Final = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_CLOCK: Final = re.compile(r"(?:(mon|tue|wed|thu|fri|sat|sun)[a-z]*\s+)?(\d{1,2}):(\d{2})")
_PLAIN: Final = re.compile(r"\$?\d+(\.\d+)?")
_HOURS: Final = re.compile(r"\d+(\.\d+)?")
LONGEST_H: Final = 1_000_000


def absence_of(
    *,
    now: datetime,
    back_in: str | None = None,
    back_at: str | None = None,
    mean: str | None = None,
    history: str | None = None,
    never: str | None = None,
) -> tuple[Absence, list[str]]:
    """Return what is known of the absence, and how its words were understood.

    Raises:
        InputError: It is said twice, or cannot be used as it stands.
        UnknownError: The ledger has no absence that has ended.
    """
    ways = [back_in, back_at, mean, history]
    if sum(way is not None for way in ways) > 1:
        raise InputError("say the absence once: --back-in, --back-at, --mean or --history")
    if never is not None and (back_in is not None or back_at is not None):
        raise InputError("--never beside --back-in or --back-at: you come back or you do not")
    chance = 0.0 if never is None else share(never, "--never")
    if back_in is not None:
        hours = duration_s(back_in, "--back-in") / 3_600
        return _built("--back-in", hours=hours, never=chance), [f"back in {hours:g} h"]
    if back_at is not None:
        at = next_time(back_at, now)
        hours = (at - now).total_seconds() / 3_600
        return _built("--back-at", hours=hours, never=chance), [
            f"back at {at:%a %Y-%m-%d %H:%M} ({hours:.1f} h)"
        ]
    if mean is not None:
        hours = duration_s(mean, "--mean") / 3_600
        return _built("--mean", mean_hours=hours, never=chance), [f"away {hours:g} h on average"]
    if history is not None:
        return _recorded(history, chance, now)
    if chance:
        raise InputError("--never needs --mean or --history: when the others come back")
    return Absence(), []


def _recorded(source: str, never: float, now: datetime) -> tuple[Absence, list[str]]:
    if source == "ledger":
        with ledger.open_ledger() as kept:
            ended, away = kept.absences(now)
        if not ended:
            raise UnknownError(
                "the ledger has no absence that has ended",
                hint="record them with `costplan idle away ID` and `costplan idle back ID`",
            )
    else:
        ended, away = read_history(Path(source))
    said = f"{len(ended)} recorded absences" + (f", {len(away)} still away" if away else "")
    return Absence(recorded_hours=ended, away_hours=away, never=never), [said]


def _built(flag: str, **fields: float) -> Absence:
    return yamlfile.build(Absence, fields, where=flag)


def next_time(text: str, now: datetime, *, flag: str = "--back-at") -> datetime:
    """Return the next moment that `09:00`, `mon 09:00` or an ISO time with zone names.

    A time of day is one of the zone of `now`; where that is the machine's own, with the offset that
    holds then and not the one that holds now.

    Raises:
        InputError: It has another form, or lies in the past.
    """
    found = _CLOCK.fullmatch(text.strip().lower())
    if found is None:
        try:
            at = datetime.fromisoformat(text.replace("Z", "+00:00"))
        except ValueError:
            at = None
        if at is None or at.tzinfo is None:
            raise InputError(
                f"{flag} {text}: not a time",
                hint="write 09:00, mon 09:00 or 2026-12-01T09:00+01:00"
                + ("" if flag == "--back-at" else ", or a duration: 36h"),
            )
    else:
        day, hour, minute = found[1], int(found[2]), int(found[3])
        if hour > 23 or minute > 59:
            raise InputError(f"{flag} {text}: there is no such time of day")
        at = now.replace(hour=hour, minute=minute, second=0, microsecond=0)
        ahead = (DAYS.index(day) - at.weekday()) % 7 if day else 0
        at += timedelta(days=ahead)
        if at <= now:
            at += timedelta(days=7 if day else 1)
        if now.utcoffset() == now.replace(tzinfo=None).astimezone().utcoffset():
            at = at.replace(tzinfo=None).astimezone()
    if at <= now:
        raise InputError(f"{flag} {text}: it is past")
    return at


def read_history(path: Path) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return recorded absences: ended, and still away (a `+` behind the hours).

    Raises:
        InputError: A line is no number of hours above zero.
    """
    ended: list[float] = []
    away: list[float] = []
    for row, line in enumerate(yamlfile.read_text(path).splitlines(), 1):
        word = line.split("#", 1)[0].strip()
        if not word:
            continue
        text = word.removesuffix("+").strip()
        if not _HOURS.fullmatch(text) or not 0 < float(text) <= LONGEST_H:
            raise InputError(f"{path}:{row}: {word!r} is no number of hours above zero")
        (away if word.endswith("+") else ended).append(float(text))
    if not ended:
        raise InputError(f"{path} has no absence that has ended")
    return tuple(ended), tuple(away)


def number(text: str, flag: str) -> Decimal:
    """Return a plain decimal.

    Raises:
        InputError: It is none.
    """
    if not _PLAIN.fullmatch(text):
        raise InputError(f"{flag} {text}: not a plain number", hint="write it as 2.49")
    return Decimal(text.removeprefix("$"))


def duration_s(text: str, flag: str) -> float:
    """Return the seconds of `15m` or `1h30m`.

    Raises:
        InputError: It is none; a bare number has no unit.
    """
    try:
        return parse_duration_s(text)
    except InputError as err:
        raise InputError(f"{flag} {err}", hint=err.hint) from None


def share(text: str, flag: str) -> float:
    """Return the share of `5%` or `0.05`.

    Raises:
        InputError: It is none, or not between 0 and 1.
    """
    value = float(number(text.removesuffix("%"), flag)) / (100 if text.endswith("%") else 1)
    if value > 1:
        raise InputError(f"{flag} {text}: above 100 %", hint="write 5% or 0.05")
    return value
