"""Reports from the field, by their numbers: what is typed, what is said, and what is called.

The provider is made of files; looks are made up only where hours would pass.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import pytest
from boxes import HOUR, INIT, MINUTE, TRAINER, look, process
from fakecloud import Cloud, cloud
from test_acting import Done, run, sees

from costplan.cli import watches
from costplan.records.signals import Snapshot

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from costplan.records.acting import BoxState

# The founding prices: 3.4828 $/h on, 250 x 0.20 / 720 = 0.0694 $/h stopped, border 2 min.
BOX = ["--rate", "3.4828", "--disk", "250", "--storage-price", "0.20", "--setup", "15m",
       "--ingress", "1", "--ingress-price", "0.11", "--restart", "2m",
       "--month-hours", "720"]  # fmt: skip
ALIVE = (INIT, process(TRAINER))


@pytest.fixture(autouse=True)
def _own_ledger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COSTPLAN_LEDGER", str(tmp_path / "ledger.db"))


@pytest.fixture
def market(tmp_path: Path) -> Cloud:
    return cloud(tmp_path / "cloud", b1="running")


def idle(*words: str) -> Done:
    return run("idle", *BOX, *words)


def yes(market: Cloud, action: str, *more: str) -> list[str]:
    """Return the words of an action with its yes."""
    return ["--act", action, f"--yes-{action}", "b1", "--id", "b1",
            f"--{action}-cmd", market.command(action),
            "--state-cmd", market.command("state"), *more]  # fmt: skip


def both(market: Cloud, *more: str) -> list[str]:
    """Return the words of a watch that may do everything."""
    return ["--watch", "--run", "x", *yes(market, "stop"), "--act", "destroy",
            "--yes-destroy", "b1", "--destroy-cmd", market.command("destroy"),
            *more]  # fmt: skip


def until(
    market: Cloud, end_s: float, each: Callable[[float], dict[str, Any] | Snapshot]
) -> Callable[[float], Snapshot]:
    """Return looks at a box whose provider takes it away after some seconds: the watch ends."""

    def made(at_s: float) -> Snapshot:
        if at_s >= end_s:
            (market.root / "boxes/b1").unlink(missing_ok=True)
        if market.state("b1") != "running":
            return Snapshot(problem="no answer")
        found = each(at_s)
        return found if isinstance(found, Snapshot) else look(at_s, **found)

    return made


def passes(
    monkeypatch: pytest.MonkeyPatch, market: Cloud, end_s: float,
    each: Callable[[float], dict[str, Any] | Snapshot],
) -> Callable[[], float]:  # fmt: skip
    """Let hours pass over a watched box; between actions no process asks its provider."""

    def asked(_: object, box: str) -> tuple[BoxState | None, str]:
        said = market.state(box)
        mode = (market.root / "mode").read_text()
        return (None if mode == "blind" else cast("BoxState", said)), ""

    monkeypatch.setattr(watches, "read_state", asked)
    return sees(monkeypatch, until(market, end_s, each))


def quiet(_: float) -> dict[str, Any]:
    return {}


# --- C. what must not be touched ----------------------------------------------------------------


@pytest.mark.parametrize("window", ["0", "0s", "0m", "0h", "", " ", "-5m", "-5", "5", "5.", "5x"])
@pytest.mark.parametrize("used", ["alone", "act", "watch"])
def test_31_a_window_of_nothing_or_without_a_unit_is_asked_wrongly(
    window: str, used: str, market: Cloud
) -> None:
    words = {"alone": [], "act": yes(market, "stop"), "watch": both(market)}[used]
    done = idle(*words, "--window", window)
    assert (done.code, market.calls) == (2, [])
    assert "--window" in done.err


@pytest.mark.parametrize("window", ["5m", "5 m", "5min", "5 min", "300s", "5M", " 5m "])
def test_31_a_window_with_its_unit_is_printed_back_in_seconds(window: str, market: Cloud) -> None:
    shown = ["--act", "stop", "--id", "b1", "--stop-cmd", market.command("stop")]
    done = idle(*shown, "--window", window)
    assert (done.code, market.calls) == (0, [])
    assert done.out.startswith(f"window {window.strip()}: 300 s\n")


@pytest.mark.parametrize("window", ["off", "OFF"])
def test_31_off_is_never_and_not_at_once(
    window: str, market: Cloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused = idle(*yes(market, "stop"), "--window", window)
    assert refused.code == 4
    assert "window off: nothing is ever done" in refused.out
    passes(monkeypatch, market, 3 * HOUR, quiet)
    watched = idle(*both(market), "--window", window)
    assert "idle: --window off: nothing is ever due" in watched.out
    assert "stop due: " not in watched.out
    assert (watched.code, market.calls) == (0, [])


@pytest.mark.parametrize(("window", "minute"), [("2h", 120), ("2m", 2), ("90 min", 90)])
def test_59_the_window_is_what_was_typed_and_is_printed_back(
    window: str, minute: int, market: Cloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two hours were slept as 33 elsewhere."""
    words = ["--watch", "--run", "x", *yes(market, "stop"), "--window", window]
    for end, calls in ((minute - 1, []), (minute + 3, ["stop b1"])):
        market.put("b1")
        passes(monkeypatch, market, end * MINUTE, quiet)
        done = idle(*words)
        assert f"({minute * 60} s)" in done.out  # 2 h = 7200 s
        assert market.calls == calls


def test_59_two_hours_are_7200_seconds_on_both_sides(
    market: Cloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "window 2h: 7200 s, for --watch and --act" in idle("--window", "2h").out
    seconds = sees(monkeypatch, lambda at_s: look(at_s))
    assert idle(*yes(market, "stop"), "--run", "x", "--window", "2h").code == 0
    assert 7_200 <= seconds() < 7_320
