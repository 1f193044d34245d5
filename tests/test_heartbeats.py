"""Signs of life of watchers: kept, told when old, and never a reason to fail."""

from __future__ import annotations

import json
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

from costplan.box import heartbeats
from costplan.box.heartbeats import Beat

if TYPE_CHECKING:
    from pathlib import Path

NOW = datetime(2026, 11, 30, 12, tzinfo=timezone.utc)
BEAT = Beat("b1", NOW - timedelta(hours=20), NOW - timedelta(hours=14), 60.0, "busy", Decimal("1"))


@pytest.fixture(autouse=True)
def _own_ledger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COSTPLAN_LEDGER", str(tmp_path / "ledger.db"))


def put(**more: Any) -> None:
    """Keep the sign of life of b1 with some of its fields changed."""
    heartbeats.write(BEAT)
    place = heartbeats.place("b1")
    place.write_text(json.dumps(json.loads(place.read_text()) | more))


def test_a_sign_of_life_is_read_as_it_was_written() -> None:
    heartbeats.write(BEAT)
    assert heartbeats.read(heartbeats.place("b1")) == BEAT
    assert list(heartbeats.left(NOW)) == [BEAT]
    heartbeats.end("b1")
    assert list(heartbeats.left(NOW)) == []


@pytest.mark.parametrize(("silent_s", "dead"), [(600, False), (601, True)])
def test_ten_minutes_of_silence_are_a_death(silent_s: int, dead: bool) -> None:
    assert heartbeats.is_dead(BEAT._replace(last_at=NOW - timedelta(seconds=silent_s)), NOW) is dead


@pytest.mark.parametrize(
    "wrong",
    [
        {"interval_s": float("inf")}, {"interval_s": float("nan")}, {"interval_s": 1e300},
        {"interval_s": "x"}, {"spent_usd": "NaN"}, {"spent_usd": "-1"}, {"spent_usd": "1e99"},
        {"last_at": "0001-01-01T00:00:00+00:00"}, {"began_at": "9999-12-31T23:59:59+00:00"},
        {"last_at": "2026-11-30T00:00:00"}, {"last_at": 1}, {"box": None, "began_at": None},
    ],
)  # fmt: skip
def test_a_sign_of_life_that_cannot_be_is_none(wrong: dict[str, Any]) -> None:
    put(**wrong)
    assert list(heartbeats.left(NOW)) == []


@pytest.mark.parametrize("text", ["", "{", "[]", "null", "[" * 9_000, "\0"])
def test_a_torn_sign_of_life_is_none(text: str) -> None:
    put()
    heartbeats.place("b1").write_text(text)
    assert list(heartbeats.left(NOW)) == []
