"""When somebody comes back, as the command line says it, and its plain numbers."""

from __future__ import annotations

import json
import re
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Final

from costplan import ledger, yamlfile
from costplan.errors import InputError, UnknownError
from costplan.habits import next_law
from costplan.people import Moment, Past, kept_person
from costplan.records.idle import Absence
from costplan.units import parse_duration_s

if TYPE_CHECKING:
    from collections.abc import Callable

    from costplan.people import Person

DAYS: Final = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_CLOCK: Final = re.compile(r"(?:(mon|tue|wed|thu|fri|sat|sun)[a-z]*\s+)?(\d{1,2}):(\d{2})")
_PLAIN: Final = re.compile(r"\$?\d+(\.\d+)?")
_ABSENCE: Final = re.compile(
    r"(\d+(?:\.\d+)?)\s*(\+?)(?:\s+(mon|tue|wed|thu|fri|sat|sun)\s+(\d{1,2}):(\d{2}))?"
)
LONGEST_H: Final = 1_000_000


def absence_of(
    *,
    now: datetime,
    back_in: str | None = None,
    back_at: str | None = None,
    mean: str | None = None,
    history: str | None = None,
    never: str | None = None,
    others: Callable[[], tuple[Person, ...]] = tuple,
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
        return _built("--back-in", hours=hours, never=chance), [f"back in {shown_h(hours)}"]
    if back_at is not None:
        at = next_time(back_at, now)
        hours = (at - now).total_seconds() / 3_600
        return _built("--back-at", hours=hours, never=chance), [
            f"back at {at:%a %Y-%m-%d %H:%M %Z} ({hours:.1f} h)"
        ]
    if mean is not None:
        hours = duration_s(mean, "--mean") / 3_600
        return _built("--mean", mean_hours=hours, never=chance), [
            f"away {shown_h(hours)} on average"
        ]
    if history is not None:
        return _recorded(history, chance, now, others())
    if chance:
        raise InputError("--never needs --mean or --history: when the others come back")
    return Absence(), []


def _recorded(
    source: str, never: float, now: datetime, people: tuple[Person, ...]
) -> tuple[Absence, list[str]]:
    past = from_ledger(now) if source == "ledger" else read_history(Path(source))
    ended = tuple(each.hours for each in past if each.ended)
    away = tuple(each.hours for each in past if not each.ended)
    said = f"{len(ended)} recorded absences" + (f", {len(away)} still away" if away else "")
    if not people:
        return Absence(recorded_hours=ended, away_hours=away, never=never), [said]
    law = next_law(past, people, leaving=moment(now), never=never)
    timed = sum(each.left is not None for each in past)
    knows = "" if timed == len(past) else f" ({timed or 'none'} with when you left)"
    said += f"{knows}, and {len(people)} people's as a prior; leaving {now:%a %H:%M}"
    absence = Absence(recorded_hours=ended, away_hours=away, still_away=law.steps, never=never)
    return absence, [said]


def people_in(pricing: Path) -> tuple[Person, ...]:
    """Return the people of the price folder's `habits.json`; none where it has no such file.

    Raises:
        InputError: The file is broken.
    """
    path = pricing / "habits.json"
    if not path.is_file():
        return ()
    try:
        people = json.loads(path.read_bytes())["people"]
        return tuple(kept_person(each) for each in people)
    except (OSError, ValueError, TypeError, LookupError, AttributeError, RecursionError) as err:
        raise InputError(
            f"{path} is broken: {err}", hint="make it again with scripts/fit-habits, or --no-prior"
        ) from None


def moment(at: datetime) -> Moment:
    """Return the weekday and hour of a time, in its zone."""
    return Moment(at.weekday(), at.hour + at.minute / 60)


def from_ledger(now: datetime) -> tuple[Past, ...]:
    """Return the absences of the ledger, oldest first, in the zone of `now`.

    Raises:
        UnknownError: None has ended.
    """
    with ledger.open_ledger() as kept:
        found = kept.each_absence(now)
    if not any(each.ended for each in found):
        raise UnknownError(
            "the ledger has no absence that has ended",
            hint="record them with `costplan idle away ID` and `costplan idle back ID`",
        )
    # Across a change to summer time the hour is one off: less than tells two moments apart.
    return tuple(
        Past(each.hours, each.ended, moment(each.left.astimezone(now.tzinfo)))
        for each in found
        if each.hours
    )


def _built(flag: str, **fields: float) -> Absence:
    return yamlfile.build(Absence, fields, where=flag)


def shown_h(hours: float) -> str:
    """Return hours as a person reads them, minutes below one.

    >>> shown_h(10.0), shown_h(0.0166667), shown_h(154.625)
    ('10 h', '1 min', '154.6 h')
    """
    return f"{hours:.4g} h" if hours >= 1 else f"{hours * 60:.3g} min"


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


def read_history(path: Path) -> tuple[Past, ...]:
    """Return recorded absences, oldest first.

    A line is `14.5` hours, `14.5+` if you are still away, and may end in when you left, in local
    time: `14.5 fri 18:30`.

    Raises:
        InputError: A line has another form, or no absence has ended.
    """
    past = []
    for row, line in enumerate(yamlfile.read_text(path).splitlines(), 1):
        word = line.split("#", 1)[0].strip()
        if word:
            past.append(_absence(word, f"{path}:{row}"))
    if not any(each.ended for each in past):
        raise InputError(f"{path} has no absence that has ended")
    return tuple(past)


def _absence(word: str, where: str) -> Past:
    found = _ABSENCE.fullmatch(word.lower())
    if found is None or not 0 < float(found[1]) <= LONGEST_H:
        raise InputError(
            f"{where}: {word!r} is no number of hours above zero",
            hint="write 14.5, 14.5+ for still away, and when you left if you know it: "
            "14.5 fri 18:30",
        )
    if found[3] is None:
        return Past(float(found[1]), not found[2])
    hour, minute = int(found[4]), int(found[5])
    if hour > 23 or minute > 59:
        raise InputError(f"{where}: {word!r}: there is no such time of day")
    return Past(float(found[1]), not found[2], Moment(DAYS.index(found[3]), hour + minute / 60))


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
