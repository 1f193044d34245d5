"""Answers `costplan idle`: looks if asked to, advises, and then acts or watches if told to."""

from __future__ import annotations

import datetime
import sys
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import typer

from costplan.cli import act_asked
from costplan.cli.estimate_command import Format
from costplan.cli.idle_asked import IdleAsked, advised, provider_of
from costplan.cli.streams import talk, write
from costplan.errors import CostplanError, InputError, UnknownError
from costplan.idling import seen_as
from costplan.render.idle import advice_json, advice_text, plot_text
from costplan.stopping import until_copied

if TYPE_CHECKING:
    from collections.abc import Mapping

    from costplan.cli.act_asked import ActAsked
    from costplan.cli.idle_asked import Answered
    from costplan.records.acting import Outcome
    from costplan.records.idle import Advice
    from costplan.records.signals import Verdict

KEEP_CODE: Final = 12
DESTROY_CODE: Final = 11
STOP_CODE: Final = 10
"""With --exit-code; every state that can be undone is a kind of stop."""


class Tried(NamedTuple):
    """What came of an action, or why nothing did."""

    outcome: Outcome | None
    refusal: CostplanError | None


def answer(words: Mapping[str, Any]) -> int:
    """Write the answer to the words of a command line; return the exit code.

    Raises:
        CostplanError: It cannot be answered, or a safety rule says no to an action.
    """
    as_json = words["format_"] is Format.json
    if words["format_"] is Format.csv:
        raise InputError("idle answers as table or json")
    asked = IdleAsked(**{name: words[name] for name in IdleAsked._fields})
    wanted = act_asked.words_of(words)
    act_asked.checked(wanted)
    now = datetime.datetime.now().astimezone()
    answered = advised(asked, now=now)
    runs, ssh = words["run"] or [], words["ssh"]
    if asked.stopped_for is not None and (runs or ssh):
        raise InputError("--stopped-for beside --run or --ssh: nobody looks into a stopped box")
    if wanted.watch:
        _check_watch(asked)
        from costplan.cli.watches import watched

        _write_notes(answered.advice)
        watched(wanted, answered, provider_of(asked), runs=runs, ssh=ssh, as_json=as_json)
        return 0
    advice, said, verdict, looked = answered.advice, answered.said, None, None
    if runs or ssh:
        looked = _looked(wanted, answered, runs=runs, ssh=ssh)
        verdict, advice, said = looked.verdict, looked.advice, [*looked.lines, *said]
    said = [*act_asked.window_lines(wanted), *said]
    if not asked.no_ledger:
        said = [*_died(now), *said]

    def act() -> Tried:
        return _tried(wanted, answered, asked, runs=runs, ssh=ssh)

    if as_json:
        tried = act()
        _write_told(
            advice_json(
                advice, said=said, asked=asked.echoed(), verdict=verdict, action=_told(tried)
            ),
            tried,
        )
    else:
        plot = plot_text(advice) if words["plot"] else ""
        write(advice_text(advice, said=said, now=now) + plot)
        _write_notes(advice)
        tried = act()
        _write_outcome(tried)
    sys.stdout.flush()
    return _code(tried, looked, advice, wants_code=words["exit_code"])


class Looked(NamedTuple):
    """What a look at the box says of it, and what the advice is then."""

    verdict: Verdict
    advice: Advice
    lines: list[str]
    answered: bool
    """False where nobody could look: a box that is stopped or gone answers nobody."""


def _looked(wanted: ActAsked, answered: Answered, *, runs: list[str], ssh: str | None) -> Looked:
    """Look at the box, ask its provider where there is a word for that, and see what is unsaved."""
    from costplan.cli.looks import lines, seen
    from costplan.cli.unsaved import unsaved
    from costplan.cli.watches import state_reader

    rate, ask = answered.box.usd_per_hour, state_reader(wanted)
    found = seen(runs, ssh, provider_state=ask() if ask else None, usd_per_hour=rate)
    verdict, advice = found.verdict, seen_as(answered.advice, found.verdict.state)
    if verdict.state != "busy":
        kept = unsaved(wanted, found.snapshot, here=bool(runs))
        advice = until_copied(advice.model_copy(update={"unsaved": kept}))
    return Looked(verdict, advice, lines(verdict, rate), found.snapshot.problem is None)


def _write_notes(advice: Advice) -> None:
    talk("".join(f"note: {notice.text}\n" for notice in advice.notices))


def _check_watch(asked: IdleAsked) -> None:
    """Refuse words that a watch finds out by itself.

    Raises:
        InputError: One of them was given.
    """
    for flag, text in (
        ("--idle-for", asked.idle_for),
        ("--stopped-for", asked.stopped_for),
        ("--compare", asked.compare),
    ):
        if text is not None:
            raise InputError(f"{flag} beside --watch: a watch sees for itself", hint="leave it out")


def _died(now: datetime.datetime) -> list[str]:
    from costplan.box import heartbeats

    return [heartbeats.death(beat, now) for beat in heartbeats.left(now)]


def _tried(
    wanted: ActAsked, answered: Answered, asked: IdleAsked, *, runs: list[str], ssh: str | None
) -> Tried:
    """Return what came of `--act`; a refusal is kept until the advice has been written."""
    if not act_asked.actions(wanted):
        return Tried(None, None)
    from costplan.cli.acting import acted

    try:
        return Tried(acted(wanted, answered, provider_of(asked), runs=runs, ssh=ssh), None)
    except CostplanError as err:
        return Tried(None, err)


def _told(tried: Tried) -> dict[str, Any] | None:
    if tried.refusal is not None:
        return {"result": "refused", "why": str(tried.refusal)}
    return None if tried.outcome is None else tried.outcome.model_dump()


def _write_outcome(tried: Tried) -> None:
    if tried.outcome is not None:
        from costplan.cli.acting import lines

        _write_told(lines(tried.outcome), tried)


def _write_told(text: str, tried: Tried) -> None:
    """Write what came of an action; what failed outweighs an answer that nobody can read."""
    try:
        write(text)
    except (InputError, typer.Exit):
        _raise_failed(tried)
        raise


def _raise_failed(tried: Tried) -> None:
    """Raise where an action was refused or not confirmed."""
    if tried.refusal is not None:
        raise tried.refusal
    if tried.outcome is not None:
        from costplan.cli.acting import ended

        ended(tried.outcome)


def _code(tried: Tried, looked: Looked | None, advice: Advice, *, wants_code: bool) -> int:
    """Return the exit code; an action that was refused or not confirmed says so by an error."""
    _raise_failed(tried)
    done = tried.outcome is not None and tried.outcome.result != "shown"
    if looked is not None and looked.verdict.state == "unknown" and not done:
        return UnknownError.exit_code
    return _advice_code(advice) if wants_code else 0


def _advice_code(advice: Advice) -> int:
    if advice.advice == "keep":
        return KEEP_CODE
    gone = {option.action for option in advice.options if not option.undo}
    return DESTROY_CODE if advice.advice in gone else STOP_CODE
