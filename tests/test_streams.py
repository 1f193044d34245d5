"""Where the answer goes: closed and full streams, poor encodings, text that would act."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from costplan.render.figures import visible

if TYPE_CHECKING:
    from collections.abc import Mapping

ROOT = Path(__file__).resolve().parents[1]
JOB = "examples/ssd-coco.yaml"
PROGRAM = f"exec {sys.executable} -m costplan"
OFFER: dict[str, Any] = {
    "sku": "vast/1x-rtx-4090-mine",
    "provider": "vast",
    "card": "RTX-4090",
    "usd_per_hour": 0.25,
    "checked": "2026-11-01",
}
ESCAPE = "\x1b[2J\x1b]0;owned\x07"


def shell(command: str, env: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[bytes]:
    """Run a line of shell in the checkout."""
    kept = {k: v for k, v in os.environ.items() if k not in ("COLUMNS", "COSTPLAN_PRICING")}
    return subprocess.run(
        ["/bin/sh", "-c", command],
        cwd=ROOT,
        env={**kept, "NO_COLOR": "1", **(env or {})},
        capture_output=True,
        check=False,
        timeout=60,
    )


@pytest.fixture
def offers(tmp_path: Path) -> Path:
    """A file of one offer whose texts would act on a terminal and are not ASCII."""
    path = tmp_path / "offers.jsonl"
    odd = {"sku": f"{OFFER['sku']}{ESCAPE}", "region": f"Zürich{ESCAPE}", "id": f"7{ESCAPE}"}
    path.write_text(json.dumps({**OFFER, **odd}) + "\n", encoding="utf-8")
    return path


# --- text that would act --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Zürich, 東京", "Zürich, 東京"),
        ("a\x1b[2Jb", r"a\x1b[2Jb"),
        ("a\rb\nc\td", r"a\rb\nc\td"),
        ("\x07\x7f\x9b", r"\x07\x7f\x9b"),
        ("price\u202e24.1", r"price\u202e24.1"),  # would be read from right to left
        ("zero\u200bwidth", r"zero\u200bwidth"),
        ("[bold]x[/bold]", "[bold]x[/bold]"),
        ("", ""),
    ],
)
def test_what_a_terminal_would_act_on_is_shown_as_an_escape(text: str, shown: str) -> None:
    assert visible(text) == shown


@pytest.mark.slow
@pytest.mark.parametrize("explain", [False, True])
def test_the_texts_of_an_offer_reach_no_terminal_raw(offers: Path, *, explain: bool) -> None:
    sku = f"{OFFER['sku']}{ESCAPE}"
    words = '--explain "$SKU"' if explain else ""
    done = shell(f"{PROGRAM} estimate {JOB} --offers {offers} {words}", {"SKU": sku})
    assert done.returncode == 0
    assert rb"vast/1x-rtx-4090-mine\x1b[2J\x1b]0;owned\x07" in done.stdout
    if not explain:
        assert r"Zürich\x1b[2J".encode() in done.stdout
    assert not {b"\x1b", b"\x07"} & {bytes([c]) for c in done.stdout + done.stderr}


@pytest.mark.slow
def test_an_error_about_such_a_text_is_no_better_way_in(offers: Path) -> None:
    text = offers.read_text(encoding="utf-8").replace('"RTX-4090"', '"RTX\\u001b[2J"')
    offers.write_text(text, encoding="utf-8")
    done = shell(f"{PROGRAM} estimate {JOB} --offers {offers}")
    assert done.returncode == 3
    assert b"\x1b" not in done.stdout + done.stderr
    assert rb"\x1b[2J" in done.stderr


# --- streams --------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("format_", ["table", "json", "csv"])
@pytest.mark.parametrize(
    ("to", "said"),
    [
        (">&-", b"error: standard output is closed\n"),
        (">/dev/full", b"error: standard output: No space left on device\n"),
    ],
)
def test_an_answer_that_cannot_be_written_ends_with_2(to: str, said: bytes, format_: str) -> None:
    done = shell(f"{PROGRAM} estimate {JOB} --format {format_} {to}")
    assert done.returncode == 2
    assert done.stderr == said


@pytest.mark.slow
@pytest.mark.parametrize("to", ["2>&-", "2>/dev/full"])
def test_nobody_who_hears_the_notices_is_no_error(to: str) -> None:
    plain = shell(f"{PROGRAM} estimate {JOB}")
    done = shell(f"{PROGRAM} estimate {JOB} {to}")
    assert (done.returncode, done.stdout, done.stderr) == (0, plain.stdout, b"")
    wrong = shell(f"{PROGRAM} estimate nowhere.yaml {to}")
    assert (wrong.returncode, wrong.stdout, wrong.stderr) == (2, b"", b"")


@pytest.mark.slow
def test_a_job_from_a_closed_input_ends_with_2() -> None:
    done = shell(f"{PROGRAM} estimate - <&-")
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr == b"error: standard input is closed\n"


@pytest.mark.slow
def test_what_an_encoding_lacks_is_written_as_an_escape(tmp_path: Path) -> None:
    path = tmp_path / "offers.jsonl"
    path.write_text(json.dumps({**OFFER, "region": "Zürich"}) + "\n", encoding="utf-8")
    for format_ in ("table", "csv", "json"):
        done = shell(
            f"{PROGRAM} estimate {JOB} --offers {path} --format {format_}",
            {"PYTHONIOENCODING": "ascii"},
        )
        assert done.returncode == 0
        assert done.stdout.isascii()
        assert rb"Z\xfcrich" in done.stdout
