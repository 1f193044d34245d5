"""`costplan idle` as people and programs see it: golden files, words, exit codes."""

from __future__ import annotations

import json
import re
import shlex
from datetime import datetime, timedelta, timezone, tzinfo
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from test_estimate_command import GOLDEN, ROOT, Done, run

import costplan.render.idle  # noqa: F401  # before the clock is held
from costplan import catalog
from costplan.cli.absence_asked import duration_s, next_time, number, read_history, share
from costplan.cli.idle_asked import IdleAsked
from costplan.cli.idle_command import EXAMPLES
from costplan.errors import InputError
from costplan.people import Moment, Past

if TYPE_CHECKING:
    from costplan.catalog import Catalog

# 3.4828 $/h; 250 GB at 0.20; a rebuild of 0.25 x 3.4828 + 43 x 0.003 = 0.9997 $
FOUNDING = ["--rate", "3.4828", "--disk", "250", "--storage-price", "0.20", "--setup", "15m",
            "--ingress", "43", "--ingress-price", "0.003"]  # fmt: skip
VAST = [*FOUNDING, "--provider", "vast"]
MONDAY = datetime(2026, 11, 30, 20, 15, tzinfo=timezone.utc)


class HeldClock(datetime):
    """Monday evening in Greenwich, wherever the tests run."""

    @classmethod
    def now(cls, tz: tzinfo | None = None) -> HeldClock:
        return cls(2026, 11, 30, 20, 15, tzinfo=timezone.utc)

    def astimezone(self, tz: tzinfo | None = None) -> HeldClock:
        return self


@pytest.fixture(autouse=True)
def _held(monkeypatch: pytest.MonkeyPatch, shipped: Catalog) -> None:
    """Give the program the checkout as its folder, a held clock, prices read once, no settings."""
    monkeypatch.setattr(catalog, "load", lambda _: shipped)
    monkeypatch.chdir(ROOT)
    monkeypatch.delenv("COSTPLAN_PRICING", raising=False)
    monkeypatch.delenv("COLUMNS", raising=False)
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setattr("datetime.datetime", HeldClock)


def idle(*words: str) -> Done:
    return run("idle", *words)


def body_of(*words: str) -> dict[str, Any]:
    done = idle(*words, "--format", "json")
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def usd_of(body: dict[str, Any]) -> dict[str, float]:
    return {option["action"]: option["cost_usd"] for option in body["options"]}


# --- golden files --------------------------------------------------------------------------

CASES: dict[str, list[str]] = {
    "idle-known": [*VAST, "--back-in", "10h"],
    "idle-back-at": [*VAST, "--back-at", "tue 09:00"],
    "idle-near-tie": [*VAST, "--back-in", "13h"],
    "idle-unknown": VAST,
    "idle-plot": [*VAST, "--plot"],
    "idle-plot-four": [*VAST, "--keep-data", "45", "--keep-data-price", "0.07",
                       "--keep-data-setup", "5m", "--back-in", "2d", "--plot"],
    "idle-never": [*VAST, "--mean", "8h", "--never", "5%"],
    "idle-history": ["--box", "tests/data/idle/box.yaml",
                     "--history", "tests/data/idle/absences.txt"],
    "idle-no-prior": ["--box", "tests/data/idle/box.yaml", "--no-prior",
                      "--history", "tests/data/idle/absences.txt"],
    "idle-no-stop": ["--provider", "lambda", "--rate", "3.29", "--setup", "20m",
                     "--back-in", "10h"],
    "idle-json": [*VAST, "--back-in", "8h", "--gpu-gone", "10%", "--gone-cost", "0.50",
                  "--format", "json"],
    "idle-deadline": [*VAST, "--deadline", "wed 08:15", "--remaining", "10h"],
    "idle-deadline-known": [*VAST, "--deadline", "36h", "--remaining", "10h",
                            "--back-in", "24h45m"],
    "idle-deadline-missed": [*VAST, "--deadline", "9h", "--remaining", "10h"],
    "idle-compare": [*VAST, "--compare", "stop 1h, destroy 7d"],
    "idle-compare-mean": [*VAST, "--compare", "stop 1h, destroy 7d", "--mean", "8h"],
    "idle-stopped-for": [*VAST, "--stopped-for", "21d"],
    "idle-stopped-for-json": [*VAST, "--stopped-for", "9h", "--format", "json"],
    "idle-idle-for": [*VAST, "--idle-for", "6h", "--provider-timer", "30m"],
    "idle-notice": [*VAST, "--back-in", "1h", "--notice", "30s", "--unsaved", "8",
                    "--upload-mbit", "800"],
    "idle-restart": [*VAST, "--restart", "2m", "--balance", "2"],
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_the_program_prints_its_golden_file(name: str, request: pytest.FixtureRequest) -> None:
    done = idle(*CASES[name])
    shown = f"exit {done.returncode}\n--- stdout\n{done.stdout}--- stderr\n{done.stderr}"
    shown = "".join(line.rstrip() + "\n" for line in shown.splitlines())
    golden = GOLDEN / f"{name}.txt"
    if request.config.getoption("--update-golden"):
        golden.write_text(shown, encoding="utf-8")
    assert shown == golden.read_text(encoding="utf-8")


def _help_examples() -> list[str]:
    text = re.sub(r"(?<!\n)\n(?!\n)", " ", EXAMPLES)
    return [line for line in text.splitlines() if line.startswith("costplan ")]


def test_the_help_has_two_examples() -> None:
    assert len(_help_examples()) == 2


@pytest.mark.parametrize("command", _help_examples())
def test_an_example_of_the_help_runs(command: str) -> None:
    done = run(*shlex.split(command)[1:])
    assert done.returncode == 0
    assert re.match(r"(back in|KEEP|STOP|DESTROY) ", done.stdout)


def test_the_help_names_every_word_that_can_be_asked() -> None:
    text = idle("--help").stdout
    for name in IdleAsked._fields:
        assert f"--{name.replace('_', '-')} " in text


# --- the answer ----------------------------------------------------------------------------


def test_the_first_line_echoes_the_absence_and_the_next_is_the_verdict() -> None:
    lines = idle(*VAST, "--back-in", "10h").stdout.splitlines()
    assert lines[0] == "back in 10 h"
    # 10 x 0.0694444 + 2/60 x 3.4828 = 0.810538
    assert lines[1] == "STOP 10 h away: keep $34.83 | stop $0.81 | destroy $1.00"
    assert idle(*VAST).stdout.startswith("STOP once it has been idle for 2.0 min: ")
    assert idle(*VAST, "--waiting", "30").stdout.startswith("KEEP for the first 19.6 min: ")


@pytest.mark.parametrize(
    ("restart", "code"),
    [
        # keep up to restart x 3.4828 / 3.4134: 4.08 and 5.10 min; nobody watches for less than 5
        ("4m", 10),
        ("5m", 12),
    ],
)
def test_a_plan_that_keeps_for_less_than_anyone_watches_is_a_stop(restart: str, code: int) -> None:
    done = idle(*VAST, "--restart", restart, "--exit-code")
    assert done.returncode == code
    body = body_of(*VAST, "--restart", restart)
    assert [step["action"] for step in body["plan"]] == ["keep", "stop", "destroy"]
    assert body["guarantee"] == 2


def test_the_json_has_the_promised_keys() -> None:
    body = body_of(*VAST, "--back-in", "8h")
    assert {
        "advice", "options", "keep_until_h", "destroy_after_h", "stopped_usd_per_hour",
        "rebuild_usd", "gpu_gone_break_even", "plan", "signals", "notices",
    } <= body.keys()  # fmt: skip
    assert body["schema"] == "costplan.idle/1"
    assert body["asked"]["back_in"] == "8h"
    assert body["advice"] == "stop"
    assert usd_of(body) == pytest.approx(
        {"keep": 27.8624, "stop": 0.671649, "destroy": 0.9997}, abs=1e-6
    )
    assert body["rebuild_usd"] == pytest.approx(0.9997)
    assert body["stopped_usd_per_hour"] == pytest.approx(0.0694444, abs=1e-7)
    assert body["keep_until_h"] == pytest.approx(0.0340115, abs=1e-7)
    assert body["destroy_after_h"] == pytest.approx(12.723936, abs=1e-6)  # 0.883607/0.0694444
    # (0.883607 - 0.555556)/0.883607
    assert body["gpu_gone_break_even"] == pytest.approx(0.37126, abs=1e-5)


def test_text_and_json_say_the_same() -> None:
    body = body_of(*VAST, "--back-in", "10h")
    text = idle(*VAST, "--back-in", "10h").stdout
    for option in body["options"]:
        assert f"{option['action']} ${option['cost_usd']:.2f}" in text


@pytest.mark.parametrize(("back_in", "code"), [("1m", 12), ("3h", 10), ("13h", 10), ("20h", 11)])
def test_the_exit_code_is_the_advice_where_it_is_asked_for(back_in: str, code: int) -> None:
    assert idle(*VAST, "--back-in", back_in, "--exit-code").returncode == code
    assert idle(*VAST, "--back-in", back_in).returncode == 0


@pytest.mark.parametrize(("name", "code"), [("azure", 10), ("jarvislabs", 10), ("lambda", 11)])
def test_every_kind_of_stop_has_the_same_exit_code(name: str, code: int) -> None:
    words = ["--provider", name, "--rate", "3", "--disk", "100", "--storage-price", "0.1"]
    done = idle(*words, "--setup", "1h", "--back-in", "5h", "--exit-code")
    assert done.returncode == code


def test_the_month_that_is_used_is_printed() -> None:
    assert "month of 730 hours" in idle(*FOUNDING).stdout
    assert body_of(*FOUNDING)["stopped_usd_per_hour"] == pytest.approx(0.06849, abs=5e-6)
    assert "month of" not in idle(*FOUNDING, "--month-hours", "720").stdout
    assert body_of(*VAST)["stopped_usd_per_hour"] == pytest.approx(0.06944, abs=5e-6)


def test_a_restart_that_nobody_gave_is_said_to_be_assumed() -> None:
    assert "assumed: restart 2 minutes, the job running again" in idle(*VAST).stdout
    assert "assumed: restart" not in idle(*VAST, "--restart", "2m").stdout
    assert body_of(*VAST)["options"] == body_of(*VAST, "--restart", "2m")["options"]


def test_a_stop_that_wipes_the_set_up_restarts_as_long_as_a_set_up() -> None:
    words = ["--provider", "runpod-secure", "--rate", "3", "--disk", "100", "--setup", "20m"]
    stop = body_of(*words)["options"][1]
    assert stop["back_usd"] == pytest.approx(1)  # 20/60 x 3
    assert stop["usd_per_hour"] == pytest.approx(100 * 0.20 / 730)
    assert stop["until_h"] == 720


@pytest.mark.parametrize("name", ["autodl", "gpushare"])
def test_a_box_that_is_deleted_while_one_is_away_is_not_stopped(name: str) -> None:
    words = ["--provider", name, "--rate", "1", "--disk", "10", "--storage-price", "0.01",
             "--setup", "5h", "--restart", "2m"]  # fmt: skip
    assert body_of(*words, "--back-in", "9d")["advice"] == "stop"
    assert body_of(*words, "--back-in", "20d")["advice"] == "destroy"


def test_a_stop_that_will_have_been_deleted_is_said_to_be_no_choice() -> None:
    words = [*VAST, "--search-cost", "9", "--expires-in", "20h", "--back-in", "48h"]
    first = idle(*words).stdout.splitlines()[1]
    assert first.startswith("DESTROY 48 h away")
    assert re.search(r"stop (gone|deleted|ends|only)", first)  # not: stop $3.45


def test_no_provider_gets_a_stop_that_saves_nothing(shipped: Catalog) -> None:
    stops = ("stop", "pause", "hibernate", "deallocate", "shelve")
    for name, provider in shipped.providers.items():
        if provider.stop.supported is None:
            continue  # no advice at all: see above
        body = body_of("--provider", name, "--rate", "3", "--disk", "100", "--storage-price",
                       "0.1", "--setup", "2h", "--back-in", "5h")  # fmt: skip
        offered = [each for each in usd_of(body) if each in stops]
        if not offered:
            assert body["saved_usd_per_hour"] is None
            assert body["advice"] == "destroy"  # 15 $ on, 6 $ to rebuild
            assert body["notices"], name
            continue
        assert provider.stop.action is not None
        gpu = provider.meter("gpu", provider.actions[provider.stop.action].state)
        assert gpu is None, name


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("lambda", "Lambda has no stop that ends the bill"),
        ("scaleway", "at Scaleway, guest shutdown does not end the bill"),
        ("azure", "at Microsoft Azure, guest shutdown does not end the bill"),
        ("digitalocean", "api stop does not end the bill"),
        ("gpuoutlet", "api stop destroys the box"),
        ("runpod-secure", "wipes: container disk"),
        ("vast", "waits for its own host"),
    ],
)
def test_the_traps_of_a_provider_are_notes_and_notices(name: str, part: str) -> None:
    words = ["--provider", name, "--rate", "3", "--setup", "15m", "--disk", "100",
             "--storage-price", "0.10"]  # fmt: skip
    assert part in idle(*words).stderr
    assert any(part in notice["text"] for notice in body_of(*words)["notices"])
    assert idle(*words, "--format", "json").stderr == ""


def test_an_offer_gives_its_rate_and_a_flag_wins_over_it() -> None:
    words = ["--offer", "runpod-secure/1x-rtx-4090", "--disk", "100", "--setup", "20m"]
    rate = body_of(*words)["options"][0]["usd_per_hour"]
    # 0.74 for the GPU and 100 GB x 0.10 / 730 for the running disk
    assert rate == pytest.approx(0.7536986, abs=1e-7)
    assert body_of(*words, "--rate", "9")["options"][0]["usd_per_hour"] == 9


def test_without_the_disk_what_a_stop_costs_is_not_known() -> None:
    done = idle("--rate", "3", "--setup", "15m", "--back-in", "5h")
    assert done.returncode == 3
    assert "--disk" in done.stderr
    assert idle("--rate", "3", "--setup", "15m", "--back-in", "5h", "--disk", "0").returncode == 0


def test_a_stop_whose_disk_has_no_price_is_no_reason_to_destroy() -> None:
    done = idle("--provider", "vast", "--rate", "3", "--disk", "100", "--setup", "15m")
    assert (done.returncode, done.stdout) == (3, "")
    assert "--storage-price" in done.stderr


def test_a_stop_of_which_nobody_says_what_it_bills_is_no_reason_to_destroy() -> None:
    done = idle("--provider", "verda", "--rate", "3", "--disk", "100", "--setup", "15m",
                "--storage-price", "0.10")  # fmt: skip
    assert (done.returncode, done.stdout) == (3, "")
    assert "--stopped-storage-price" in done.stderr


def test_a_disk_dearer_than_the_whole_rate_is_a_misunderstanding() -> None:
    # 10,000 GB x 0.2 / 730 = 2.74 $/h, and the rate is said to hold it
    done = idle("--rate", "0.1", "--disk", "10000", "--storage-price", "0.2", "--setup", "15m")
    assert done.returncode == 2
    assert "disk included" in done.stderr


def test_a_function_is_no_box_and_an_offer_has_one_provider() -> None:
    rest = ["--setup", "15m", "--disk", "10"]
    assert idle("--offer", "modal/1x-h100", *rest).returncode == 2
    assert idle("--offer", "runpod-secure/1x-a40", "--provider", "lambda", *rest).returncode == 2


def test_a_fee_of_the_stopped_state_bills() -> None:
    # barrack.ai hibernates for a flat 0.01 $/h
    body = body_of("--rate", "2", "--disk", "0", "--setup", "20m", "--provider", "barrack-ai")
    assert body["stopped_usd_per_hour"] == pytest.approx(0.01)


def test_a_price_that_is_given_wins_over_the_folder() -> None:
    words = ["--provider", "paperspace", "--rate", "3", "--disk", "73", "--storage-price", "0.50"]
    # 73 x 0.50/730; Paperspace's one price for running and stopped is 0.10
    body = body_of(*words, "--setup", "1h")
    # and 0.0045 an hour for the address that stays
    assert body["stopped_usd_per_hour"] == pytest.approx(0.05 + 0.0045)


def test_a_chance_of_never_is_not_left_unused_without_a_word() -> None:
    with_it, without = idle(*VAST, "--never", "50%"), idle(*VAST)
    assert (with_it.returncode, with_it.stdout) != (without.returncode, without.stdout)


# --- saved boxes ---------------------------------------------------------------------------


def test_a_saved_box_is_the_same_box_and_flags_win_over_it(tmp_path: Path) -> None:
    saved = body_of("--box", "tests/data/idle/box.yaml", "--back-in", "10h")
    assert usd_of(saved) == usd_of(body_of(*VAST, "--back-in", "10h"))
    other = body_of("--box", "tests/data/idle/box.yaml", "--back-in", "10h", "--rate", "9")
    assert usd_of(other)["keep"] == pytest.approx(90)
    as_json = tmp_path / "box.json"
    as_json.write_text('{"usd_per_hour": 2.5, "setup_minutes": 15, "disk_gb": 0}', "utf-8")
    assert usd_of(body_of("--box", str(as_json), "--back-in", "4h"))["keep"] == 10


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("usd_per_hour: 3\nsetup_minuts: 15\n", [":2:", "unknown key 'setup_minuts'",
                                                "setup_minutes"]),
        ("usd_per_hour: 3\nsetup_minutes: 15\nkept_data:\n  gb: 4\n  usd: 1\n",
         [":5:", "unknown key 'kept_data.usd'"]),
        ("usd_per_hour: 3\nsetup_minutes: 15\nusd_per_hour: 4\n", [":3:", "appears twice"]),
        ("usd_per_hour: 0\nsetup_minutes: 15\n", [":1:", "usd_per_hour"]),
        ("usd_per_hour: -3\nsetup_minutes: 15\n", [":1:", "usd_per_hour"]),
        ("usd_per_hour: 3\nsetup_minutes: 15\nstop: nap\n", [":3:", "stop"]),
        ("usd_per_hour: 3\nsetup_minutes: 15\ngone_share: 1.5\n", [":3:", "gone_share"]),
        ("setup_minutes: 15\n", ["'usd_per_hour' is missing"]),
        ("[1, 2]\n", ["is not a saved box"]),
        ("", ["is not a saved box"]),
    ],
)  # fmt: skip
def test_a_saved_box_is_read_strictly(text: str, parts: list[str], tmp_path: Path) -> None:
    path = tmp_path / "box.yaml"
    path.write_text(text, encoding="utf-8")
    done = idle("--box", str(path))
    assert done.returncode == 2
    assert done.stdout == ""
    for part in [str(path), *parts]:
        assert part in done.stderr


def test_a_saved_box_at_a_provider_without_a_stop_is_not_stopped(tmp_path: Path) -> None:
    path = tmp_path / "box.yaml"
    path.write_text("usd_per_hour: 3\nsetup_minutes: 15\nprovider: lambda\n", encoding="utf-8")
    assert usd_of(body_of("--box", str(path))).keys() == {"keep", "destroy"}


# --- words ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "at"),
    [
        # now is Monday 2026-11-30 20:15 in Greenwich
        ("20:16", "2026-11-30T20:16"), ("20:15", "2026-12-01T20:15"),
        ("09:00", "2026-12-01T09:00"), ("9:00", "2026-12-01T09:00"),
        (" 23:59 ", "2026-11-30T23:59"),
        ("mon 20:16", "2026-11-30T20:16"), ("mon 09:00", "2026-12-07T09:00"),
        ("Monday 09:00", "2026-12-07T09:00"), ("tue 09:00", "2026-12-01T09:00"),
        ("sun 00:00", "2026-12-06T00:00"),
        ("2026-12-01T09:00+00:00", "2026-12-01T09:00"), ("2026-12-01T09:00Z", "2026-12-01T09:00"),
        ("2026-12-01T09:00+01:00", "2026-12-01T08:00"),
        ("2026-11-30T20:16-00:00", "2026-11-30T20:16"),
    ],
)  # fmt: skip
def test_back_at_is_the_next_such_moment(text: str, at: str) -> None:
    assert next_time(text, MONDAY) == datetime.fromisoformat(f"{at}+00:00")


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("2026-11-30T20:14Z", "it is past"), ("2026-11-30T20:15Z", "it is past"),
        ("2026-12-01T09:00", "not a time"),  # no zone
        ("24:00", "no such time of day"), ("09:60", "no such time of day"),
        ("9", "not a time"), ("", "not a time"), ("mon", "not a time"), ("noon", "not a time"),
        ("abc 09:00", "not a time"), ("-1:00", "not a time"),
        ("2026-13-01T09:00Z", "not a time"),
    ],
)  # fmt: skip
def test_back_at_refuses_what_is_no_moment_to_come(text: str, part: str) -> None:
    with pytest.raises(InputError, match=part):
        next_time(text, MONDAY)


def test_back_at_counts_the_hours_of_the_clock_that_is_shown() -> None:
    paris = MONDAY.astimezone(timezone(timedelta(hours=1)))  # 21:15
    assert (next_time("09:00", paris) - paris) == timedelta(hours=11, minutes=45)


def test_the_date_that_was_understood_is_echoed_first() -> None:
    done = idle(*VAST, "--back-at", "tue 09:00")
    assert done.stdout.splitlines()[0] == "back at Tue 2026-12-01 09:00 UTC (12.8 h)"  # 12.75
    assert body_of(*VAST, "--back-at", "09:00")["resolved"] == [
        "back at Tue 2026-12-01 09:00 UTC (12.8 h)"
    ]
    assert body_of(*VAST, "--back-at", "09:00")["away_h"] == 12.75


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("2h", 7_200), ("5m", 300), ("90s", 90), ("1h30m", 5_400), ("2d", 172_800), ("5 m", 300),
     ("0h", 0), ("1.5h", 5_400)],
)  # fmt: skip
def test_a_duration_has_units(text: str, seconds: float) -> None:
    assert duration_s(text, "--back-in") == seconds


@pytest.mark.parametrize("text", ["5", "0", "", "-5m", "5 min", "off", "5m5", "h", "1e3h", "∞"])
def test_a_duration_without_a_unit_or_below_nothing_is_refused(text: str) -> None:
    with pytest.raises(InputError, match=r"^--back-in ") as err:
        duration_s(text, "--back-in")
    assert err.value.hint == "write 90s, 15m, 1h30m or 2d"


@pytest.mark.parametrize(
    "flag",
    [
        "--back-in",
        "--mean",
        "--setup",
        "--restart",
        "--expires-in",
        "--gone-half-life",
        "--keep-data-setup",
    ],
)
def test_a_duration_that_is_none_is_refused_with_its_flag(flag: str) -> None:
    data = ["--keep-data=4", "--keep-data-price=1"] if flag == "--keep-data-setup" else []
    done = idle("--rate=3", "--setup=15m", *data, f"{flag}=5")
    assert done.returncode == 2
    assert f"error: {flag} '5' is not a duration\nhint: " in done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize(
    ("text", "value"),
    [("5%", 0.05), ("0.05", 0.05), ("0", 0), ("0%", 0), ("100%", 1), ("1", 1), ("12.5%", 0.125)],
)
def test_a_share_is_written_either_way(text: str, value: float) -> None:
    assert share(text, "--never") == value


@pytest.mark.parametrize("text", ["150%", "100.1%", "1.01", "5", "-5%", "-0.1", "%", "", "five"])
def test_a_share_outside_nothing_and_all_is_refused(text: str) -> None:
    with pytest.raises(InputError, match=r"^--never "):
        share(text, "--never")


@pytest.mark.parametrize("flag", ["--never", "--gpu-gone"])
def test_a_share_that_is_none_is_refused_with_its_flag(flag: str) -> None:
    done = idle(*FOUNDING, "--mean=8h", f"{flag}=150%")
    assert done.returncode == 2
    assert f"error: {flag} 150%: above 100 %\nhint: write 5% or 0.05\n" == done.stderr


@pytest.mark.parametrize("text", ["", "abc", "-1", "1e3", "1,5", "nan", "inf", "$", "0x10", ".5"])
def test_a_number_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(InputError, match=r"^--rate .*not a plain number"):
        number(text, "--rate")


@pytest.mark.parametrize(
    "flag",
    ["--rate", "--disk", "--storage-price", "--stopped-storage-price", "--ingress",
     "--ingress-price", "--month-hours", "--waiting", "--gone-cost", "--search-cost",
     "--rebuild-rate", "--upload-cost", "--lost", "--balance"],
)  # fmt: skip
def test_a_number_below_nothing_is_refused_with_its_flag(flag: str) -> None:
    done = idle("--setup=15m", "--rate=3", f"{flag}=-1")
    assert done.returncode == 2
    assert f"error: {flag} -1: not a plain number" in done.stderr


def test_dollars_may_carry_their_sign() -> None:
    assert number("$2.49", "--rate") == number("2.49", "--rate")


@pytest.mark.parametrize(
    ("words", "code", "part"),
    [
        ([], 3, "the running rate is not known"),
        (["--rate", "3"], 3, "how long a rebuild takes is not known"),
        (["--rate", "0", "--setup", "5m"], 2, "usd_per_hour"),
        (["--rate", "3", "--setup", "5m", "--month-hours", "599"], 2, "month_hours"),
        (["--rate", "3", "--setup", "5m", "--month-hours", "761"], 2, "month_hours"),
        (["--rate", "3", "--setup", "5m", "--provider", "lamda"], 2, "did you mean lambda"),
        (["--setup", "5m", "--offer", "vast/nothing"], 2, "no offer 'vast/nothing'"),
        (["--rate", "3", "--setup", "5m", "--format", "csv"], 2, "table or json"),
        (["--rate", "3", "--setup", "5m", "--keep-data", "45"], 2, "--keep-data-price"),
        (["--rate", "3", "--setup", "5m", "--back-in", "2h", "--mean", "2h"], 2, "absence once"),
        (["--box", "nowhere.yaml"], 2, "nowhere.yaml does not exist"),
        (["--history", "nowhere.txt", "--rate", "3", "--setup", "5m"], 2, "does not exist"),
        (["--never", "5%", "--nevr", "5%"], 2, "--nevr"),
    ],
)
def test_what_is_missing_or_wrong_is_named(words: list[str], code: int, part: str) -> None:
    done = idle(*words)
    assert done.returncode == code
    assert part in done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize(
    "words",
    [
        ["--mean", "0h"],
        ["--back-in", "9999999h"],
        ["--back-at", "9999-01-01T00:00Z"],
        ["--keep-data", "0", "--keep-data-price", "0.07", "--keep-data-setup", "5m"],
    ],
)
def test_a_value_beyond_its_limits_is_an_error_and_no_trace(words: list[str]) -> None:
    done = idle(*VAST, *words)
    assert done.returncode == 2
    assert words[0] in done.stderr


# --- recorded absences ---------------------------------------------------------------------


def test_a_history_is_read_with_comments_blanks_and_those_still_away() -> None:
    past = read_history(Path("tests/data/idle/absences.txt"))
    assert [each.hours for each in past] == [0.5, 0.5, 0.75, 3, 14.5, 14.5, 15, 63, 2]
    assert [each.ended for each in past] == [True] * 8 + [False]
    assert {each.left for each in past} == {None}


def test_a_line_may_say_when_one_left(tmp_path: Path) -> None:
    path = tmp_path / "gaps.txt"
    path.write_text("14.5 fri 18:30\n2+ Sun 00:00  # so far\n3 + mon 9:05\n7\n", encoding="utf-8")
    assert read_history(path) == (
        Past(14.5, left=Moment(4, 18.5)),
        Past(2, ended=False, left=Moment(6, 0)),
        Past(3, ended=False, left=Moment(0, 9 + 5 / 60)),
        Past(7),
    )


def test_how_many_absences_were_recorded_is_said() -> None:
    done = idle(*VAST, "--history", "tests/data/idle/absences.txt")
    assert done.stdout.splitlines()[0] == (
        "8 recorded absences, 1 still away (none with when you left), and 52 people's as a prior; "
        "leaving Mon 20:15"
    )
    done = idle(*VAST, "--history", "tests/data/idle/absences.txt", "--no-prior")
    assert done.stdout.splitlines()[0] == "8 recorded absences, 1 still away"


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("5\nabc\n", ":2: 'abc'"), ("5\n\n# x\n-3\n", ":4: '-3'"), ("0\n", ":1: '0'"),
        ("3;4\n", ":1: '3;4'"), ("5++\n", ":1: '5++'"), ("+\n", ":1: '+'"), ("1e3\n", ":1: '1e3'"),
        ("5h\n", ":1: '5h'"), ("nan\n", ":1: 'nan'"), ("5 fri\n", ":1: '5 fri'"),
        ("5 18:30\n", ":1: '5 18:30'"), ("5 fri 1830\n", ":1: '5 fri 1830'"),
        ("5 fri 18:30+\n", ":1: '5 fri 18:30+'"), ("5 friday 18:30\n", ":1: '5 friday 18:30'"),
        ("1\n5 fri 24:00\n", ":2: '5 fri 24:00': there is no such time of day"),
        ("5 fri 23:60\n", ":1: '5 fri 23:60': there is no such time of day"),
        ("5fri 18:30\n", ":1: '5fri 18:30'"), ("5+\n", " has no absence that has ended"),
        ("", " has no absence that has ended"),
    ],
)  # fmt: skip
def test_a_line_that_is_no_absence_is_named(text: str, place: str, tmp_path: Path) -> None:
    path = tmp_path / "gaps.txt"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as err:
        read_history(path)
    assert str(err.value).startswith(f"{path}{place}")


@pytest.mark.parametrize("text", ["$5\n", "9" * 400 + "\n"], ids=["dollars", "too large"])
def test_a_line_that_is_no_number_of_hours_leaves_no_trace(text: str, tmp_path: Path) -> None:
    path = tmp_path / "gaps.txt"
    path.write_text(text, encoding="utf-8")
    done = idle(*VAST, "--history", str(path))
    assert done.returncode == 2
    assert f"error: {path}:1:" in done.stderr
