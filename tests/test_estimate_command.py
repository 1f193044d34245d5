"""`costplan estimate` as people and programs see it: golden files, exit codes, streams."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import shlex
import signal
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import NamedTuple

import pytest

from costplan.cli import main
from costplan.cli.estimate_command import EXAMPLES

ROOT = Path(__file__).resolve().parents[1]
DATA = ROOT / "tests" / "data"
GOLDEN = ROOT / "tests" / "golden"
TINY = ["estimate", "tests/data/tiny/job.yaml", "--pricing", "tests/data/tiny"]
ON = ["--on", "2026-11-30"]


class Done(NamedTuple):
    """What a run of the program left."""

    returncode: int
    stdout: str
    stderr: str


@pytest.fixture(autouse=True)
def _in_the_checkout(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give the program the checkout as its folder, and nothing of the caller's settings."""
    monkeypatch.chdir(ROOT)
    monkeypatch.delenv("COSTPLAN_PRICING", raising=False)
    monkeypatch.delenv("COLUMNS", raising=False)
    monkeypatch.setenv("NO_COLOR", "1")


def run(*words: str, stdin: str = "", columns: int | None = None) -> Done:
    """Run the program in this process, which is twenty times faster than in its own."""
    out, err = io.StringIO(), io.StringIO()
    code: object = 0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode())))
        if columns:
            patch.setenv("COLUMNS", str(columns))
        with redirect_stdout(out), redirect_stderr(err):
            try:
                main(list(words))
            except SystemExit as end:
                code = end.code
    return Done(code if isinstance(code, int) else 0, out.getvalue(), err.getvalue())


CASES: dict[str, tuple[list[str], int]] = {
    "table": ([*TINY, *ON], 0),
    "table-limited": ([*TINY, *ON, "--limit", "2", "--sort", "hours"], 0),
    "explain-spot": ([*TINY, *ON, "--explain", "bazaar/1x-small", "--spot"], 0),
    "explain-serverless": ([*TINY, *ON, "--explain", "function/1x-small"], 0),
    "json": ([*TINY, *ON, "--limit", "1", "--format", "json"], 0),
    "csv": ([*TINY, *ON, "--format", "csv"], 0),
    "seen": ([*TINY, *ON, "--limit", "1", "--rate", "3", "--gpu", "SMALL"], 0),
    "balance": ([*TINY, *ON, "--balance", "1.50"], 0),
    "nobody-sells": ([*TINY, *ON, "--gpu", "BIG", "--spot"], 3),
    "fits-no-card": ([*TINY, *ON, "--set", "memory_gb=500"], 3),
    "over-the-limit": ([*TINY, *ON, "--max-usd", "0.10"], 4),
    "unknown-card": ([*TINY, *ON, "--gpu", "SMOLL"], 2),
    "no-throughput": (["estimate", "--set", "samples=10"], 3),
}


@pytest.mark.parametrize("name", CASES)
def test_the_program_prints_its_golden_file(name: str, request: pytest.FixtureRequest) -> None:
    words, code = CASES[name]
    done = run(*words, columns=None if name in ("json", "csv") else 160)
    shown = f"exit {done.returncode}\n--- stdout\n{done.stdout}--- stderr\n{done.stderr}"
    shown = "".join(line.rstrip() + "\n" for line in shown.splitlines())
    golden = GOLDEN / f"{name}.txt"
    if request.config.getoption("--update-golden"):
        golden.write_text(shown, encoding="utf-8")
    assert done.returncode == code
    assert shown == golden.read_text(encoding="utf-8")


def test_the_json_of_an_answer_has_the_promised_keys_and_adds_up() -> None:
    done = run(*TINY, *ON, "--limit", "0", "--format", "json")
    body = json.loads(done.stdout)
    assert body["schema"] == "costplan.estimate/1"
    assert {"costplan", "priced_on", "currency", "results", "notices", "left_out"} <= body.keys()
    for result in body["results"]:
        assert {
            "sku", "provider", "region", "pricing", "card", "count", "usd_per_hour", "hours",
            "total_usd", "disk_gb", "limited_by", "checked", "lines",
        } <= result.keys()  # fmt: skip
        assert {"low", "expected", "high"} == result["hours"].keys() == result["total_usd"].keys()
        for line in result["lines"]:
            assert {
                "name", "quantity", "unit", "unit_price_usd", "cost_usd", "source", "as_of",
            } <= line.keys()  # fmt: skip
            assert line["quantity"] * line["unit_price_usd"] == pytest.approx(line["cost_usd"])
        total = sum(line["cost_usd"] for line in result["lines"])
        assert total == pytest.approx(result["total_usd"]["expected"], rel=1e-12)
    assert done.stderr == ""


def test_the_totals_of_csv_and_json_are_the_same() -> None:
    rows = list(csv.DictReader(io.StringIO(run(*TINY, *ON, "--format", "csv").stdout)))
    results = json.loads(run(*TINY, *ON, "--format", "json").stdout)["results"]
    assert [row["sku"] for row in rows] == [result["sku"] for result in results]
    totals = [result["total_usd"]["expected"] for result in results]
    assert [float(row["total_usd_expected"]) for row in rows] == pytest.approx(totals)


@pytest.mark.parametrize("explain", [[], ["--explain", "vast/1x-rtx-4090-bid1"]])
def test_nothing_is_cut_however_narrow_the_window_is(explain: list[str]) -> None:
    words = ["estimate", "examples/ssd-coco.yaml", *ON, "--limit", "0", *explain]
    wide, narrow = run(*words), run(*words, columns=40)
    assert "…" not in wide.stdout + wide.stderr
    assert narrow == wide


@pytest.mark.parametrize("rate", ["0.0001", "$0.0001", "100000", "$100000.00"])
def test_a_rate_at_its_border_is_taken(rate: str) -> None:
    done = run(*TINY, *ON, "--rate", rate, "--gpu", "SMALL")
    assert done.returncode == 0
    assert "note: seen is number " in done.stderr


def test_with_a_rate_the_provider_names_the_rules_and_filters_nothing() -> None:
    words = [*TINY, *ON, "--rate", "3", "--gpu", "SMALL", "--limit", "0", "--format", "json"]
    found = json.loads(run(*words, "--provider", "cloud").stdout)["results"]
    assert {each["provider"] for each in found} == {"bazaar", "cloud", "function"}
    assert [each["provider"] for each in found if each["sku"] == "seen"] == ["cloud"]
    filtered = [*TINY, *ON, "--provider", "cloud", "--format", "json"]
    assert {each["provider"] for each in json.loads(run(*filtered).stdout)["results"]} == {"cloud"}


def test_spot_says_why_the_offer_that_one_sees_is_left_out() -> None:
    done = run(*TINY, *ON, "--rate", "0.3", "--gpu", "SMALL", "--spot")
    assert done.returncode == 0
    assert "bazaar/1x-small" in done.stdout
    assert "\nseen" not in done.stdout
    assert "note: seen is left out: not sold as asked (--spot or --no-spot)\n" in done.stderr


def test_the_range_of_every_line_holds_what_is_expected_of_it() -> None:
    done = run("estimate", "examples/ssd-coco.yaml", *ON, "--explain", "runpod-secure/1x-rtx-4090")
    found = re.findall(r"  (\d+\.\d{4})  (\d+\.\d{4}) - (\d+\.\d{4})", done.stdout)
    assert len(found) > 5
    for expected, low, high in found:
        assert float(low) <= float(expected) <= float(high)


def test_a_job_on_standard_input_is_priced_like_the_same_file() -> None:
    text = (DATA / "tiny" / "job.yaml").read_text(encoding="utf-8")
    piped = run("estimate", "-", *TINY[2:], *ON, stdin=text)
    assert piped.returncode == 0
    assert piped.stdout == run(*TINY, *ON).stdout


def test_a_flag_wins_over_set_and_set_over_the_file(tmp_path: Path) -> None:
    job = tmp_path / "job.yaml"
    job.write_text(
        (DATA / "tiny" / "job.yaml").read_text(encoding="utf-8") + "disk_gb: 50\n", "utf-8"
    )
    words = ["estimate", str(job), *TINY[2:], *ON, "--format", "json", "--limit", "1"]

    def disk(*more: str) -> float:
        found: float = json.loads(run(*words, *more).stdout)["results"][0]["disk_gb"]
        return found

    assert disk() == 50
    assert disk("--set", "disk_gb=60") == 60
    assert disk("--set", "disk_gb=60", "--disk", "70") == 70


def test_job_and_offers_cannot_both_come_from_standard_input() -> None:
    done = run("estimate", "-", "--offers", "-")
    assert done.returncode == 2
    assert done.stderr.startswith("error: ")


def _help_examples() -> list[str]:
    text = re.sub(r"(?<!\n)\n(?!\n)", " ", EXAMPLES)
    return [line for line in text.splitlines() if line.startswith("costplan ")]


def test_the_help_has_two_examples() -> None:
    assert len(_help_examples()) == 2


@pytest.mark.parametrize("command", _help_examples())
def test_an_example_of_the_help_runs(command: str) -> None:
    done = run(*shlex.split(command)[1:])
    assert done.returncode == 0
    assert done.stdout.startswith("offer ")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_offers_the_command(shell: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", "from costplan.cli import main; main()"],
        env={
            **os.environ,
            "_COSTPLAN_COMPLETE": f"complete_{shell}",
            "COMP_WORDS": "costplan est",
            "COMP_CWORD": "1",
            "_TYPER_COMPLETE_ARGS": "costplan est",
            "_TYPER_COMPLETE_FISH_ACTION": "get-args",
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert "estimate" in done.stdout


def test_version_is_printed() -> None:
    assert run("--version").stdout.startswith("costplan 0.")
    assert run("-V").returncode == 0


@pytest.mark.parametrize(
    "flag",
    ["--set", "--gpu", "--count", "--provider", "--spot", "--max-hours", "--max-usd", "--balance",
     "--rate", "--storage-price", "--ingress-price", "--quoted-disk", "--offers", "--on", "--sort",
     "--limit", "--strict", "--explain", "--format", "--pricing"],
)  # fmt: skip
def test_the_help_names_each_flag(flag: str) -> None:
    # The layout of help is the parser library's and changes with it, so no golden file.
    assert re.search(rf"^ .*{flag}\b", run("estimate", "--help").stdout, re.MULTILINE)


def test_help_has_a_short_flag() -> None:
    assert run("-h").stdout == run("--help").stdout


def test_a_reader_that_closes_the_pipe_gets_no_traceback() -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "costplan", "estimate", "examples/ssd-coco.yaml", "--limit", "0",
         "--format", "json"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as program:  # fmt: skip
        assert program.stdout is not None
        assert program.stderr is not None
        program.stdout.read(1)
        program.stdout.close()
        errors = program.stderr.read().decode()
        assert program.wait() == 0
    assert "Traceback" not in errors
    assert "Broken" not in errors


def test_ctrl_c_ends_with_130_and_no_traceback(tmp_path: Path) -> None:
    fifo = tmp_path / "offers.jsonl"
    os.mkfifo(fifo)
    with subprocess.Popen(
        [sys.executable, "-m", "costplan", "estimate", "examples/ssd-coco.yaml", "--offers",
         str(fifo)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as program:  # fmt: skip
        with fifo.open("wb"):  # opens once the program reads, which then waits for a line
            program.send_signal(signal.SIGINT)
            _, errors = program.communicate(timeout=30)
        assert program.returncode == 130
    assert b"Traceback" not in errors


@pytest.mark.parametrize(
    "words",
    [
        ["estimate", "nowhere.yaml"],
        ["estimate", "tests"],
        ["estimate", "examples/ssd-coco.yaml", "--max-usd", "-1"],
        ["estimate", "examples/ssd-coco.yaml", "--max-hours", "nan"],
        ["estimate", "examples/ssd-coco.yaml", "--set", "epochs=1e30"],
        ["estimate", "examples/ssd-coco.yaml", "--set", "samples=0"],
        ["estimate", "examples/ssd-coco.yaml", "--set", "epocs=3"],
        ["estimate", "examples/ssd-coco.yaml", "--on", "tomorrow"],
        ["estimate", "examples/ssd-coco.yaml", "--provider", "nobody"],
        ["estimate", "examples/ssd-coco.yaml", "--rate", "1"],
        ["estimate", "examples/ssd-coco.yaml", "--rate", "1e400", "--gpu", "T4"],
        ["estimate", "examples/ssd-coco.yaml", "--rate", "1e2", "--gpu", "T4"],
        ["estimate", "examples/ssd-coco.yaml", "--rate", "0", "--gpu", "T4"],
        ["estimate", "examples/ssd-coco.yaml", "--rate", "0.00009", "--gpu", "T4"],
        ["estimate", "examples/ssd-coco.yaml", "--rate", "100000.1", "--gpu", "T4"],
        ["estimate", "examples/ssd-coco.yaml", "--max-usd", "1_000"],
        ["estimate", "examples/ssd-coco.yaml", "--balance", "+5"],
        ["estimate", "examples/ssd-coco.yaml", "--balance", "5$"],
        ["estimate", "examples/ssd-coco.yaml", "--balance", "1000000001"],
        ["estimate", "examples/ssd-coco.yaml", "--on", "20261130"],
        ["estimate", "examples/ssd-coco.yaml", "--on", "2026-W49-1"],
        ["estimate", "examples/ssd-coco.yaml", "--on", "2026-1-5"],
        ["estimate", "examples/ssd-coco.yaml", "--rate", "1", "--gpu", "RTX-4090", "--provider",
         "aws", "--provider", "gcp"],
        ["estimate", "examples/ssd-coco.yaml", "--explain", "nobody/1x-t4"],
        ["estimate", "examples/ssd-coco.yaml", "--pricing", "tests"],
        ["estimate", "examples/ssd-coco.yaml", "--offers", "tests"],
        ["estimate", "examples/ssd-coco.yaml", "--count", "0"],
        ["estimate", "--set", "samples"],
        ["estimate"],
    ],
    ids=" ".join,
)  # fmt: skip
def test_what_is_asked_wrongly_ends_with_2_and_a_message(words: list[str]) -> None:
    done = run(*words)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
    assert re.match(r"(error: |Usage: )", done.stderr)
