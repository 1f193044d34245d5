"""Reports from the field that money answers, by their numbers.

The founding box: eight RTX 4090 for 3.4828 $/h, 250 GB at 0.20 $ and a month of 720 h, a rebuild of
15 minutes and 0.11 $ of download, two minutes to restart.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from test_clocks_asked import steps_of
from test_estimate_command import run
from test_idle_command import HeldClock, body_of, idle, usd_of

import costplan.box.copies  # noqa: F401  # before the clock is held
from costplan import catalog

if TYPE_CHECKING:
    from costplan.catalog import Catalog

ROOT = Path(__file__).resolve().parents[1]
BOX = ["--rate", "3.4828", "--disk", "250", "--storage-price", "0.20", "--setup", "15m",
       "--ingress", "1", "--ingress-price", "0.11", "--provider", "vast"]  # fmt: skip
TWO = [*BOX, "--restart", "2m"]


@pytest.fixture(autouse=True)
def _held(monkeypatch: pytest.MonkeyPatch, shipped: Catalog) -> None:
    monkeypatch.setattr(catalog, "load", lambda _: shipped)
    monkeypatch.chdir(ROOT)
    monkeypatch.delenv("COSTPLAN_PRICING", raising=False)
    monkeypatch.setattr("datetime.datetime", HeldClock)


def stop_of(body: dict[str, Any]) -> dict[str, Any]:
    (found,) = [option for option in body["options"] if option["action"] == "stop"]
    return dict(found)


# --- A. billed unseen ----------------------------------------------------------------------


def test_3_a_providers_own_timer_that_did_not_fire_is_said_and_never_counted_on() -> None:
    done = idle(*TWO, "--idle-for", "6h", "--provider-timer", "30m")
    assert "the provider's own timer did not fire" in done.stderr
    assert "\nSTOP from now on" in done.stdout
    assert idle(*TWO, "--idle-for", "6h").stdout == done.stdout


def test_6_three_weeks_stopped_have_cost_35_dollars_where_98_cents_would_have_done() -> None:
    words = [*TWO, "--stopped-for", "21d"]
    said = idle(*words).stdout
    assert "stopped for 21.0 days has cost $35.00" in said  # 504 x 0.0694444
    assert "destroying at 12.5 h would have cost $0.98 to come back" in said
    assert "Destroy is due, if a verified copy exists" in said
    body = body_of(*words)
    assert (body["advice"], steps_of(body)) == ("destroy", [(0, "destroy")])
    assert usd_of(body) == {"stop": None, "destroy": None}  # how much longer is not known


def test_6_another_box_over_another_month_has_its_own_border() -> None:
    # 100 GB x 0.10 / 730 h = 0.0136986; a rebuild of 0.5 x 1 $; (0.5 - 2/60)/0.0136986 = 34.07 h
    words = ["--rate", "1", "--disk", "100", "--storage-price", "0.10", "--setup", "30m",
             "--restart", "2m", "--stopped-for", "10d", "--exit-code"]  # fmt: skip
    done = idle(*words)
    assert "stopped for 10.0 days has cost $3.29" in done.stdout  # 240 x 0.0136986
    assert "destroying at 34.1 h would have cost $0.50 to come back" in done.stdout
    assert done.returncode == 11


@pytest.mark.parametrize(("hours", "advised"), [("12h", "stop"), ("13h", "destroy")])
def test_6_on_both_sides_of_the_border(hours: str, advised: str) -> None:
    words = [*TWO, "--stopped-for", hours]
    assert body_of(*words)["advice"] == advised
    said = idle(*words).stdout
    assert ("Destroy is due" in said) == (advised == "destroy")
    assert ("27.0 min left" in said) == (advised == "stop")  # 12.450336 - 12 h


def test_7_two_dollars_last_29_hours_stopped_and_the_plan_ends_before_that() -> None:
    # 2/0.0694444 = 28.8 h; a rebuild that costs 5 $ of duds more would keep it stopped for 84 h
    words = [*TWO, "--balance", "2", "--search-cost", "5"]
    body = body_of(*words)
    assert round(stop_of(body)["until_h"]) == 29
    # 2 min on cost 0.1184 $; (2 - 0.1184)/0.0694444 + 0.034 = 27.128 h: an hour before
    assert steps_of(body)[-1] == (26.128, "destroy")
    done = idle(*words)
    assert "stop after 28.8 h" in done.stdout
    assert "destroyed after a grace amount" in done.stderr  # what vast.ai does then
    assert "grace amount" not in idle(*TWO, "--search-cost", "5").stderr


@pytest.mark.parametrize(
    ("provider", "at_zero"),
    [
        ("vast", "at $0 the instance is stopped and its disk bills on; without a card on file it "
                 "is destroyed after a grace amount"),
        ("runpod-secure", "at $0 a pod without a network volume is terminated and its data lost"),
    ],
)  # fmt: skip
def test_7_what_each_provider_does_at_nothing_is_said(provider: str, at_zero: str) -> None:
    done = idle(*TWO, "--provider", provider, "--balance", "2", "--search-cost", "5")
    assert f"note: {at_zero}" in done.stderr
    assert "ends by itself (balance, or its provider's clock): keep after 34.5 min" in done.stdout


def test_7_a_balance_of_a_cent_names_each_step_once() -> None:
    # keep ends after 0.01/3.4828 h = 10 s less a tenth, and has spent 0.009 $ by then
    steps = steps_of(body_of(*TWO, "--balance", "0.01", "--search-cost", "5"))
    assert [name for _, name in steps] == ["keep", "stop", "destroy"]
    assert steps[-1] == (0.015, "destroy")  # 0.9 x (0.0026 + 0.001/0.0694444) h


def test_11_their_timer_may_be_written_as_it_is_printed() -> None:
    plain = idle(*TWO, "--compare", "stop 1h, destroy 7d").stdout
    assert idle(*TWO, "--compare", "stop after 1h, destroy after 7d").stdout == plain


def test_11_both_timers_are_printed_in_dollars() -> None:
    words = [*BOX, "--setup", "10m", "--restart", "2m", "--compare", "stop 1h, destroy 7d"]
    said = idle(*words).stdout
    # a night of 16 h: 3.4828 + 15 x 0.0694444 + 0.012 back = 4.54; the plan has destroyed by then
    assert "your timer (keep now, stop after 1.0 h, destroy after 7.0 days)" in said
    assert "at worst 22.8 times the best in hindsight, $15.08 more; a night $4.54" in said
    assert "this plan, whatever the absence: at worst 2.0 times" in said
    assert "a night $1.38" in said
    assert [set(step) for step in body_of(*words)["plan"]] == [{"from_h", "action", "undo"}] * 3


def test_11_their_timer_of_an_hour_and_a_week_stands_beside_the_best() -> None:
    # a set-up of ten minutes: a rebuild of 0.580467 + 0.11 = 0.690467 $, due after 8.2710 h
    words = [*BOX, "--setup", "10m", "--restart", "2m", "--compare", "stop 1h, destroy 7d"]
    body = body_of(*words)
    assert steps_of(body) == [(0, "keep"), (0.034, "stop"), (8.271, "destroy")]
    theirs, plan = body["compared"]["theirs"], body["compared"]["plan"]
    assert theirs["night_usd"] == pytest.approx(4.536393, abs=1e-6)
    assert plan["night_usd"] == pytest.approx(1.380933, abs=1e-6)  # 2 x 0.690467
    assert plan["worst_ratio"] == pytest.approx(2)
    # after a week: 3.4828 + 167 x 0.0694444 = 15.080022 too many; (that + 0.690467)/0.690467
    assert theirs["regret_usd"] == pytest.approx(15.080022, abs=1e-6)
    assert theirs["worst_ratio"] == pytest.approx(22.84035, abs=1e-4)


# --- B. the way back failed ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("extra", "percent"),
    # (0.9807 - 0.116093 - 8 x 0.0694444)/(0.9807 - 0.116093 + X) = 0.309051/(0.864607 + X)
    [("0", 36), ("1", 17)],
)
def test_13_the_chance_of_no_capacity_up_to_which_stop_wins_is_printed(
    extra: str, percent: int
) -> None:
    done = idle(*TWO, "--back-in", "8h", "--gone-cost", extra)
    assert f"stop still beats destroy while that chance is below {percent}%" in done.stdout


@pytest.mark.parametrize(("chance", "cheapest"), [("35%", "stop"), ("36%", "destroy")])
def test_13_above_that_chance_destroy_is_the_cheaper(chance: str, cheapest: str) -> None:
    usd = usd_of(body_of(*TWO, "--back-in", "8h", "--gpu-gone", chance))
    assert min(usd, key=lambda action: usd[action]) == cheapest


def test_13_a_gpu_that_one_must_have_back_is_kept_while_that_is_cheaper() -> None:
    # q = 30 %, X = 20 $: A_S = 0.7 x 0.116093 + 0.3 x 20.9807 = 6.375475; /3.413356 = 1.868 h,
    # and by then destroy is far cheaper: keep until 0.9807/3.4828 h, as if there were no stop
    body = body_of(*TWO, "--gpu-gone", "30%", "--gone-cost", "20")
    assert stop_of(body)["back_usd"] == pytest.approx(6.375475, abs=1e-6)
    assert stop_of(body)["back_usd"] / body["saved_usd_per_hour"] == pytest.approx(1.868, abs=1e-3)
    assert steps_of(body) == [(0, "keep"), (0.282, "destroy")]


def test_13_well_above_that_chance_destroy_is_advised_and_keep_has_its_border() -> None:
    # X = 1 $, q = 40 %: A_S = 0.6 x 0.116093 + 0.4 x 1.9807 = 0.861936; /3.413356 = 15.15 min;
    # stopped for 8 h: 0.861936 + 8 x 0.0694444 = 1.4175 $ against 0.9807 $
    done = idle(*TWO, "--back-in", "8h", "--gpu-gone", "40%", "--gone-cost", "1")
    assert "DESTROY 8 h away: keep $27.86 | stop $1.42 | destroy $0.98" in done.stdout
    assert "keep only up to 15.2 min away" in done.stdout
    assert "while that chance is below 17%" in done.stdout


def test_14_forty_minutes_of_refused_restarts_move_the_border_from_106_to_67_hours() -> None:
    words = [*TWO, "--waiting", "30"]
    before = body_of(*words)
    assert round(stop_of(before)["back_usd"], 2) == 1.12  # 2/60 x 33.4828
    assert round(before["destroy_after_h"]) == 106
    words += ["--gpu-gone", "10%", "--gone-cost", "20"]
    after = body_of(*words)
    assert round(stop_of(after)["back_usd"], 2) == 3.85  # 0.9 x 1.116093 + 0.1 x 28.4807
    assert round(after["destroy_after_h"]) == 67
    # people read 66.6 h as days from three days on, and as hours below
    said = idle(*words).stdout
    assert "destroy is cheapest from 66.6 h" in said
    assert (
        "a GPU that may be gone moves the way back from a stop from $1.12 to $3.85, the border of "
        "destroy from 106.1 h to 66.6 h"
    ) in said
    assert "a GPU that may be gone" not in idle(*TWO, "--waiting", "30").stdout


def test_14_a_gpu_that_is_gone_for_sure_leaves_no_time_for_a_stop() -> None:
    # q = 100 %, X = 1 $: the way back is 0.9807 + 1 $; kept for 0.9807/3.4828 = 0.28 h, no stop
    words = [*TWO, "--gpu-gone", "100%", "--gone-cost", "1"]
    said = idle(*words).stdout
    assert "from a stop from $0.12 to $1.98, the border of destroy from 12.5 h to 0.3 h" in said
    assert body_of(*words)["gone_moves"]["destroy_h"] == pytest.approx(0.2816, abs=1e-4)


@pytest.mark.parametrize("name", ["runpod-secure", "runpod-community"])
def test_18_the_way_to_the_files_of_a_box_whose_gpu_is_gone_is_printed(name: str) -> None:
    words = ["--provider", name, "--rate", "3", "--disk", "100", "--setup", "20m"]
    done = idle(*words, "--stopped-for", "2h")
    (line,) = [line for line in done.stderr.splitlines() if "zero GPUs" in line]
    assert "web page" in line
    assert "--gone-cost" in line  # it counts in X
    assert "zero GPUs" not in idle(*TWO).stderr
    # X: half an hour of somebody at 30 $/h
    dear = body_of(*words, "--gpu-gone", "10%", "--gone-cost", "15")
    cheap = body_of(*words, "--gpu-gone", "10%")
    assert stop_of(dear)["back_usd"] - stop_of(cheap)["back_usd"] == pytest.approx(1.5)


def test_21_a_stopped_box_is_destroyed_without_a_start() -> None:
    said = idle(*TWO, "--stopped-for", "30d").stdout
    assert "it needs no start: check the copy against an earlier manifest" in said
    assert "DESTROY from now on: stop " in said  # nothing to start first: there is no keep


def test_21_a_copy_is_checked_against_an_earlier_manifest_without_the_box(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.undo()  # files have real times
    work, copy = tmp_path / "work", tmp_path / "copy"
    for folder in (work, copy):
        folder.mkdir()
        (folder / "log.txt").write_text("done", encoding="utf-8")
    manifest = str(tmp_path / "manifest.json")
    assert run("idle", "copy", "make", str(work), "-o", manifest).returncode == 0
    (work / "log.txt").unlink()
    work.rmdir()  # the box is stopped: nothing of it can be read
    check = ["idle", "copy", "check", manifest, "--against", str(copy)]
    assert run(*check).returncode == 0
    (copy / "log.txt").write_text("dine", encoding="utf-8")
    assert run(*check).returncode != 0


def test_22_a_restart_of_two_minutes_is_asked_back_with_both_borders() -> None:
    for words in (TWO, [*TWO, "--back-in", "1h"]):
        (line,) = [line for line in idle(*words).stdout.splitlines() if "asked back" in line]
        assert "does the restart of 2 min include relaunching the job?" in line
        assert "from 12.5 h; with 10 min from 5.8 h" in line
    assert "asked back" not in idle(*BOX, "--restart", "10m").stdout
    assert "asked back" in idle(*BOX, "--restart", "9m59s").stdout


def test_22_a_restart_that_nobody_gave_shows_what_ten_minutes_would_move() -> None:
    text = "restart of 10 minutes: destroy after 5.8 h instead of 12.5 h"
    assert text in idle(*BOX).stdout
    assert text in idle(*BOX, "--back-in", "1h").stdout
    assert "restart of 10 minutes: destroy\n" in idle(*BOX, "--back-in", "10h").stdout


# --- C and F. data -------------------------------------------------------------------------


def test_33_a_long_lunch_is_a_reason_to_stop_and_none_to_destroy() -> None:
    # two hours away, nothing copied: stop, and any destroy comes late and behind a verified copy
    done = idle(*TWO, "--back-in", "2h")
    assert "\nSTOP 2 h away" in done.stdout
    later = idle(*TWO, "--idle-for", "2h")
    assert "\nSTOP from now on" in later.stdout
    assert "before a destroy: a verified copy" in later.stdout
    assert steps_of(body_of(*TWO, "--idle-for", "2h")) == [(0, "stop"), (10.45, "destroy")]


def test_33_the_files_that_no_copy_holds_are_listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.undo()  # files have real times
    work, copy = tmp_path / "work", tmp_path / "copy"
    for folder in (work, copy):
        folder.mkdir()
    (copy / "kept.txt").write_text("as it was", encoding="utf-8")
    (work / "kept.txt").write_text("as it was", encoding="utf-8")
    (work / "changed.txt").write_text("over lunch", encoding="utf-8")
    manifest = str(tmp_path / "manifest.json")
    assert run("idle", "copy", "make", str(work), "-o", manifest).returncode == 0
    done = run("idle", "copy", "check", manifest, "--against", str(copy))
    assert done.returncode != 0
    assert "changed.txt" in done.stdout + done.stderr


def test_49_eight_gigabytes_do_not_leave_in_thirty_seconds() -> None:
    # 100 MB/s = 800 Mbit/s for 30 s = 3 GB
    words = [*TWO, "--notice", "30s", "--unsaved", "8", "--upload-mbit", "800"]
    assert body_of(*words)["notice_gb"] == 3
    said = idle(*words).stdout
    assert "of 8 GB unsaved 3.0 GB at most will make it" in said
    assert "upload continuously" in said
    assert "last verified copy" in said


@pytest.mark.parametrize(
    ("notice", "unsaved", "mbit", "said"),
    [
        # 400 Mbit/s x 120 s = 48,000 Mbit = 6 GB
        ("2m", "6", "400", "a notice of 120 s is enough for all 6 GB"),
        ("2m", "6.1", "400", "of 6.1 GB unsaved 6.0 GB at most will make it in a notice of 120 s"),
        ("5s", "1", "80", "of 1 GB unsaved 0.05 GB at most will make it in a notice of 5 s"),
    ],
)
def test_49_on_both_sides_of_what_a_notice_saves(
    notice: str, unsaved: str, mbit: str, said: str
) -> None:
    words = ["--notice", notice, "--unsaved", unsaved, "--upload-mbit", mbit]
    assert said in idle(*TWO, *words).stdout


# --- G. the month --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "rate", "month"),
    [
        # 250 x 0.20 = 50 $: over 720 h and over 730 h
        (BOX, 0.06944, None),
        ([*BOX[:-2]], 0.06849, "assumed: month of 730 hours: not given"),
        ([*BOX, "--month-hours", "730"], 0.06849, None),
    ],
)
def test_65_the_month_decides_the_third_digit_and_is_printed(
    words: list[str], rate: float, month: str | None
) -> None:
    assert round(body_of(*words)["stopped_usd_per_hour"], 5) == rate
    assert month is None or month in idle(*words).stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (BOX, "the month has 720 hours: a stopped disk bills 250 GB x $0.20 / 720 h = $0.06944/h"),
        ([*BOX, "--month-hours", "730"],
         "the month has 730 hours: a stopped disk bills 250 GB x $0.20 / 730 h = $0.06849/h"),
        # RunPod bills a stopped volume at 0.20, whatever the running one costs
        (["--rate", "3", "--disk", "40", "--setup", "5m", "--provider", "runpod-secure",
          "--month-hours", "720"],
         "the month has 720 hours: a stopped disk bills 40 GB x $0.20 / 720 h = $0.01111/h"),
    ],
)  # fmt: skip
def test_65_the_month_is_printed_with_its_arithmetic(words: list[str], said: str) -> None:
    assert f"note: {said}\n" in idle(*words).stderr


def test_65_without_a_stop_or_a_disk_no_month_is_printed() -> None:
    words = ["--rate", "3", "--setup", "5m", "--month-hours", "720"]
    assert "the month has" not in idle(*words, "--disk", "0").stderr
    assert "the month has" not in idle(*words, "--disk", "9", "--provider", "lambda").stderr
