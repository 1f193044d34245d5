"""`costplan idle` beside the calculator: looks at a box, records of absences, copies."""

from __future__ import annotations

import io
import json
import sys
from contextlib import redirect_stderr, redirect_stdout
from typing import TYPE_CHECKING, NamedTuple

import pytest

from costplan.cli import looks, main
from costplan.records.signals import Verdict

if TYPE_CHECKING:
    from pathlib import Path

# 1 $/h, 10 GB at 0.10, 15 min to rebuild: keep 10 h = 10 $, stop 0.014 + 0.033, destroy 0.25
BOX = ["idle", "--rate", "1", "--disk", "10", "--storage-price", "0.10", "--setup", "15m"]


class Done(NamedTuple):
    code: int
    out: str
    err: str


@pytest.fixture(autouse=True)
def _own_ledger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COSTPLAN_LEDGER", str(tmp_path / "ledger.db"))
    monkeypatch.setattr("time.sleep", lambda _: None)


def run(*words: str) -> Done:
    out, err = io.StringIO(), io.StringIO()
    code = 0
    with redirect_stdout(out), redirect_stderr(err):
        try:
            main(list(words))
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 0
    sys.stdout.flush()
    return Done(code, out.getvalue(), err.getvalue())


def say(monkeypatch: pytest.MonkeyPatch, **fields: object) -> None:
    """Let the looks come out as given; how they do is tested with the looks themselves."""
    verdict = Verdict.model_validate({"why": "made up", **fields})
    monkeypatch.setattr(looks, "judge", lambda *_, **__: verdict)


def test_unknown_ends_with_3_and_is_no_reason_to_act(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    say(monkeypatch, state="unknown")
    done = run(*BOX, "--run", str(tmp_path))
    assert done.code == 3
    assert done.out.startswith("the box is UNKNOWN: ")
    assert "unknown is no reason to act" in done.out


def test_a_busy_box_says_what_finishing_costs_and_what_stopping_loses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    say(monkeypatch, state="busy", eta_s=7200, lost_s=600)
    done = run(*BOX, "--run", str(tmp_path), "--back-in", "10h")
    assert "finishing takes 2.00 h and costs $2.00" in done.out  # 2 h x 1 $/h
    assert "stopping now loses 10.0 min of work, $0.17" in done.out  # 1/6 h x 1 $/h
    assert "KEEP: the box is busy; once it is idle, stop: " in done.out
    assert done.code == 0


@pytest.mark.parametrize(
    ("state", "code"), [("busy", 12), ("idle", 10), ("crashed", 10), ("hung", 10), ("unknown", 3)]
)
def test_the_exit_code_follows_the_box_before_the_money(
    state: str, code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    say(monkeypatch, state=state)
    done = run(*BOX, "--run", str(tmp_path), "--back-in", "10h", "--exit-code")
    assert done.code == code


def test_the_json_holds_the_signals(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    evidence = [{"name": "gpu", "value": "0 %", "age_s": 0.0, "verdict": "idle"}]
    say(monkeypatch, state="idle", evidence=evidence)
    body = json.loads(run(*BOX, "--run", str(tmp_path), "--format", "json").out)
    assert body["signals"] == evidence
    assert body["box"]["state"] == "idle"


def test_here_and_over_there_at_once_is_asked_wrongly(tmp_path: Path) -> None:
    done = run(*BOX, "--run", str(tmp_path), "--ssh", "host:/runs")
    assert done.code == 2


def test_what_is_recorded_is_what_the_plan_learns_from() -> None:
    assert run("idle", "away", "vast:1").code == 0
    assert "0 of 1 restarts failed" in run("idle", "back", "vast:1").out
    done = run(*BOX, "--history", "ledger")
    assert done.code == 0
    # When it began is in the ledger, so nothing is said to be missing.
    assert done.out.startswith("1 recorded absences, and 52 people's as a prior; leaving ")
    assert run(*BOX, "--history", "ledger", "--no-prior").out.startswith("1 recorded absences\n")


def test_a_price_folder_may_have_no_other_people(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gaps = tmp_path / "gaps.txt"
    gaps.write_text("3\n", encoding="utf-8")
    monkeypatch.setenv("COSTPLAN_PRICING", str(tmp_path))
    assert run(*BOX, "--history", str(gaps)).out.startswith("1 recorded absences\n")
    broken = ('{"4.9": [1]}', '{"4.9.2": [180]}', '{"4.9.10": [1]}', '{"4.9.2": ["1"]}', "[1]")
    for text in ("[]", "{", *(f'{{"people": [{person}]}}' for person in broken)):
        (tmp_path / "habits.json").write_text(text, encoding="utf-8")
        done = run(*BOX, "--history", str(gaps))
        assert done.code == 2
        assert f"{tmp_path / 'habits.json'} is broken" in done.err
        assert run(*BOX, "--history", str(gaps), "--no-prior").code == 0


def test_a_ledger_without_absences_is_unknown() -> None:
    done = run(*BOX, "--history", "ledger")
    assert done.code == 3
    assert "costplan idle away" in done.err


def test_failed_restarts_make_the_gpu_likelier_gone_until_told_otherwise() -> None:
    for box, flags in (("a", []), ("b", ["--failed"]), ("c", ["--failed"])):
        run("idle", "away", box)
        run("idle", "back", box, *flags)
    # Beta: (1 + 2) / (2 + 3) = 60 %
    assert "GPU gone 60%: 2 of 3 recorded restarts failed" in run(*BOX).out
    assert "assumed: GPU gone" not in run(*BOX, "--no-ledger").out
    assert "assumed: GPU gone" not in run(*BOX, "--gpu-gone", "10%").out


def test_a_failed_restart_says_what_to_do() -> None:
    run("idle", "away", "a")
    done = run("idle", "back", "a", "--failed")
    assert "rebuild at today's price" in done.out
    assert "bills on until it is destroyed" in done.out


def test_back_without_away_is_asked_wrongly() -> None:
    done = run("idle", "back", "a")
    assert done.code == 2
    assert "hint: `costplan idle away a` first" in done.err


def test_a_copy_is_verified_or_refused_with_4(tmp_path: Path) -> None:
    folder, copy, manifest = tmp_path / "run", tmp_path / "copy", tmp_path / "manifest.json"
    for place in (folder, copy):
        place.mkdir()
        (place / "results.csv").write_text("epoch,loss\n1,0.5\n", "utf-8")
    assert run("idle", "copy", "make", str(folder), "-o", str(manifest)).code == 0
    good = run("idle", "copy", "check", str(manifest), "--against", str(copy))
    assert (good.code, good.out.split(" in ")[0]) == (0, "1 of 1 files verified")
    (copy / "results.csv").write_text("epoch,loss\n1,0.6\n", "utf-8")
    bad = run("idle", "copy", "check", str(manifest), "--against", str(copy))
    assert bad.code == 4
    assert "results.csv" in bad.err


def test_a_manifest_older_than_its_folder_is_no_verified_copy(tmp_path: Path) -> None:
    folder, copy, manifest = tmp_path / "run", tmp_path / "copy", tmp_path / "manifest.json"
    for place in (folder, copy):
        place.mkdir()
        (place / "a.txt").write_text("a", "utf-8")
    run("idle", "copy", "make", str(folder), "-o", str(manifest))
    (folder / "b.txt").write_text("new", "utf-8")
    done = run("idle", "copy", "check", str(manifest), "--against", str(copy))
    assert done.code == 4
    assert "b.txt" in done.err


def test_a_destroy_in_the_plan_asks_for_a_verified_copy() -> None:
    assert "before a destroy: a verified copy" in run(*BOX).out


@pytest.mark.parametrize(
    ("state", "advice"), [("busy", "keep"), ("hung", "stop"), ("unknown", "unknown")]
)
def test_a_box_that_is_not_idle_is_never_advised_to_be_destroyed(
    state: str, advice: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    say(monkeypatch, state=state)
    words = [*BOX, "--run", str(tmp_path), "--back-in", "90d", "--format", "json"]
    body = json.loads(run(*words).out)
    assert (body["advice"], body["plan"], body["once_idle"]) == (advice, [], "destroy")


@pytest.mark.parametrize(
    ("box", "named", "told"),
    [
        ("vast:123", [], "is taken as 67% at vast"),  # (1 + 1) / (2 + 1)
        ("vastai:123", [], "is taken as 67% at vast"),
        ("vast:123", ["--provider", "runpod-secure"], "is taken as 67% at runpod-secure"),
        ("my-box", [], "but for no provider: name it with --provider"),
        ("home:7", [], "but for no provider: name it with --provider"),
    ],
)
def test_the_provider_before_the_colon_is_the_one_whose_restarts_count(
    box: str, named: list[str], told: str
) -> None:
    run("idle", "away", box)
    assert told in run("idle", "back", box, "--failed", *named).out


def test_a_failed_restart_moves_the_next_advice_at_that_provider() -> None:
    run("idle", "away", "vast:123")
    run("idle", "back", "vast:123", "--failed")
    words = [*BOX, "--back-in", "10h"]
    assert "GPU gone 67%" in run(*words, "--provider", "vast").out
    assert "GPU gone" not in run(*words, "--provider", "aws").out


@pytest.mark.parametrize(
    ("given", "echoed"),
    [("10h", "back in 10 h"), ("1m", "back in 1 min"), ("154h37m30s", "back in 154.6 h")],
)
def test_the_hours_are_echoed_as_people_read_them(given: str, echoed: str) -> None:
    assert run(*BOX, "--back-in", given).out.splitlines()[0] == echoed


def test_after_a_failed_restart_the_border_from_then_on_is_told(tmp_path: Path) -> None:
    saved = tmp_path / "box.json"
    saved.write_text(
        '{"provider": "vast", "usd_per_hour": "1", "disk_gb": "100", '
        '"storage_usd_per_gb_month": "0.72", "setup_minutes": 60, "restart_minutes": 6}'
    )
    run("idle", "away", "vast:123")
    # 0.1 $/h stopped, 1 $ to rebuild, 0.1 to restart: 9 h if the GPU were sure to be there;
    # gone 2 times in 3 the way back costs 0.7 on average: (1 - 0.7)/0.1
    told = run("idle", "back", "vast:123", "--failed", "--box", str(saved)).out
    assert "from now on a stop of this box pays up to 3.0 h away" in told
    assert "copy from the stopped disk" in told
