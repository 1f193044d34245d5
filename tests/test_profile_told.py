"""A profile as people and programs see it, from ranks written by hand; read again from its file."""

from __future__ import annotations

import io
import json
from contextlib import redirect_stderr, redirect_stdout
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from ranked import HERE, profiled, rank, slow_loader

from costplan.cli import main
from costplan.cli.profile_command import progress
from costplan.profiler.answering import profile_of
from costplan.profiler.gpuside import Seen
from costplan.profiler.worth import Rate, worth
from costplan.records.gpus import GpuSample
from costplan.records.profiles import Profile
from costplan.render.profile_documents import profile_json
from costplan.render.profiles import profile_text

ROOT = Path(__file__).resolve().parents[1]
GOLDEN = ROOT / "tests" / "golden"
EXAMPLE = ROOT / "examples" / "profile.json"
JOB = ["--job", "tests/data/tiny/job.yaml"]
PRICES = ["--pricing", "tests/data/tiny"]


@pytest.fixture(autouse=True)
def _in_the_checkout(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.delenv("COSTPLAN_PRICING", raising=False)


class Done(NamedTuple):
    """What a run of the program left."""

    code: int
    out: str
    err: str


def run(*words: str) -> Done:
    out, err = io.StringIO(), io.StringIO()
    code: object = 0
    with redirect_stdout(out), redirect_stderr(err):
        try:
            main(["profile", *words])
        except SystemExit as end:
            code = end.code
    return Done(code if isinstance(code, int) else 0, out.getvalue(), err.getvalue())


def same(name: str, shown: str, request: pytest.FixtureRequest) -> None:
    golden = GOLDEN / f"{name}.txt"
    if request.config.getoption("--update-golden"):
        golden.write_text(shown, encoding="utf-8")
    assert shown == golden.read_text(encoding="utf-8")


def example() -> Profile:
    made = profiled(slow_loader())
    said = "made up by hand: no such run was ever measured"
    return made.model_copy(update={"notices": (*made.notices, said)})


def text(profile: Profile, *, explain: bool = False, usd: str | None = "0.41") -> str:
    rate = None if usd is None else Rate(Decimal(usd), "--rate")
    return profile_text(profile, worth(profile, rate=rate, job=None), explain=explain)


# --- golden files ---------------------------------------------------------------------------------


def test_the_saved_example_is_what_ranks_written_by_hand_give(
    request: pytest.FixtureRequest,
) -> None:
    found = example()
    asked = {"command": ["python", "train.py"], "budget_s": 120.0}
    shown = profile_json(found, worth(found, rate=None, job=None), asked=asked)
    if request.config.getoption("--update-golden"):
        EXAMPLE.write_text(shown, encoding="utf-8")
    assert shown == EXAMPLE.read_text(encoding="utf-8")


CASES = {
    "profile": [],
    "profile-rate": ["--rate", "0.41"],
    "profile-job": ["--rate", "0.41", *JOB],
    "profile-explain": ["--rate", "0.41", *JOB, "--explain"],
    "profile-json": ["--rate", "0.41", *JOB, "--format", "json"],
}


@pytest.mark.parametrize("name", CASES)
def test_the_program_prints_its_golden_file(name: str, request: pytest.FixtureRequest) -> None:
    done = run("--from", "examples/profile.json", *CASES[name])
    same(name, f"exit {done.code}\n--- stdout\n{done.out}--- stderr\n{done.err}", request)


def torn() -> Profile:
    """Return bursts that contradict each other."""
    return profiled(rank(
        ("real", [0.1] * 9, 0.05), ("replay", [0.05] * 9, 0.0), ("half", [0.03] * 9, 0.0),
        ("real", [0.1] * 9, 0.05), ("replay", [0.098] * 9, 0.0), batches_per_epoch=None,
    ))  # fmt: skip


def on_the_cpu() -> Profile:
    return profiled(rank(
        ("real", [0.048] * 40, 0.0), ("replay", [0.048] * 40, 0.0), ("half", [0.024] * 40, 0.0),
        ("replay", [0.048] * 40, 0.0), ("double", [0.096] * 20, 0.0),
        device="cpu", gpus=None, cuda=None, tokens=8_192,
    ))  # fmt: skip


def two_ranks() -> Profile:
    return profiled(slow_loader(), slow_loader())


def on_a_gpu() -> Profile:
    """Return a step of 60 ms: 20 of loader, 30 of copy, 8 of device and 2 of host."""
    real, whole = ("real", [0.06] * 30, 0.02), ("replay", [0.04] * 30, 0.0)
    made = rank(
        real, whole, real, whole, ("resident", [0.01] * 30, 0.0), ("syncs", [0.011] * 6, 0.0),
        whole, ("half", [0.021] * 30, 0.0), ("kernels", [0.07] * 4, 0.0), whole,
        refused={"double": "it would need 25.0 GB of the device's memory, of which the program "
                 "can have 23.5 GB"}, gpu_uuid="GPU-0",
    )  # fmt: skip
    read = {"resident": {"leads_s": [0.0002] * 30}, "syncs": {"blocked_s": [0.0031] * 6}}
    phases = tuple(
        each.model_copy(
            update={"began_s": 10.0 * n, "ended_s": 10.0 * n + 9, **read.get(each.name, {})}
        )
        for n, each in enumerate(made.phases)
    )
    samples = [
        GpuSample(at_s=10.0 * n, uuid="GPU-0", clock_mhz=2520, clock_max_mhz=3105, power_watts=120,
                  power_limit_watts=450, temperature_c=51, util_percent=40, reasons=0)
        for n in range(10)
    ]  # fmt: skip
    return profile_of([made.model_copy(update={"phases": phases})], code=0, spent_s=74.0,
                      here=HERE, seen=Seen(samples))  # fmt: skip


def only_measured() -> Profile:
    """Return what --keep-going gives: the run as it is, and nothing that was tried."""
    return profiled(rank(("real", [0.1] * 30, 0.08)))


@pytest.mark.parametrize("made", [torn, on_the_cpu, on_a_gpu, two_ranks, only_measured])
@pytest.mark.parametrize("explain", [False, True])
def test_other_profiles_read_as_their_golden_files(
    made: Any, explain: bool, request: pytest.FixtureRequest
) -> None:
    name = f"profile-{made.__name__.replace('_', '-')}{'-explain' if explain else ''}"
    same(name, text(made(), explain=explain), request)


@pytest.mark.parametrize("made", [example, torn, on_the_cpu, on_a_gpu, two_ranks, only_measured])
def test_the_answer_is_five_lines_and_always_speaks_of_a_faster_gpu(made: Any) -> None:
    shown = text(made())
    assert len(shown.splitlines()) == 5
    assert "faster GPU" in shown
    assert "nan" not in shown
    assert "inf " not in shown


def test_no_character_of_a_name_acts_on_the_terminal() -> None:
    made = profiled(slow_loader(device="GPU\x1b[2J"))
    assert "\x1b" not in text(made, explain=True)


# --- JSON -----------------------------------------------------------------------------------------


def test_the_json_has_what_is_promised() -> None:
    body = json.loads(run("--from", "examples/profile.json", "--format", "json").out)
    assert body["schema"] == "costplan.profile/1"
    assert {
        "verdict", "confidence", "step_s", "shares", "what_if", "samples_per_s", "epoch_s", "box",
        "batch", "tokens_per_s", "peak_memory_gb", "program_exit_code", "bursts", "notices",
    } <= body.keys()  # fmt: skip
    assert body["shares"] == pytest.approx({"dataloader": 0.8, "host": 0.04, "device": 0.16})
    assert len(body["bursts"][0]["steps_s"]) == len(body["bursts"][0]["waits_s"]) == 14
    assert body["box"]["gpu_count"] == 1
    assert body["box"]["usable_cpus"] == 8
    for change in body["what_if"]:
        assert {"change", "step_s", "samples_per_s", "epoch", "saves_epoch"} <= change.keys()


@pytest.mark.parametrize("words", [[], ["--rate", "0.41"], [*JOB, "--rate", "2"]])
def test_a_saved_profile_reads_back_as_what_it_was(words: list[str], tmp_path: Path) -> None:
    again = tmp_path / "again.json"
    first = run("--from", "examples/profile.json", *words, "-o", str(again), "--format", "json")
    assert first.code == 0, first.err
    second = run("--from", str(again), *words, "--format", "json")
    assert again.read_text() == first.out
    one, two = json.loads(first.out), json.loads(second.out)
    assert one.pop("asked") != two.pop("asked")
    assert one == two


def test_a_trace_has_the_same_keys_without_steps_and_reads_back(tmp_path: Path) -> None:
    saved = tmp_path / "trace-profile.json"
    first = run("--trace", "tests/data/traces/alexnet.json.gz", "-o", str(saved), "-f", "json")
    assert first.code == 0, first.err
    body = json.loads(first.out)
    ours = json.loads(EXAMPLE.read_text())
    assert {"step_s", "shares", "what_if", "samples_per_s", "box", "bursts"} <= body.keys()
    assert body["step_s"] is None
    assert body["shares"]["device"] == pytest.approx(body["trace"]["busy_share"])
    assert body.keys() <= ours.keys()
    assert body["trace"] is not None
    second = run("--from", str(saved), "--rate", "1", "--format", "json")
    again = json.loads(second.out)
    assert (again["verdict"], again["trace"]) == (body["verdict"], body["trace"])
    assert "no steps were timed in it" in second.err
    assert "faster GPU" in run("--from", str(saved)).out


# --- files that cannot be used --------------------------------------------------------------------


def damaged(change: Any) -> Any:
    body = json.loads(EXAMPLE.read_text())
    change(body)
    return body


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda b: b.update(schema="costplan.profile/2"), "is costplan.profile/2, this costplan"),
        (lambda b: b.update(schema="costplan.estimate/1"), "is no profile of costplan"),
        (lambda b: b.pop("step_s"), "'step_s' is missing"),
        (lambda b: b.pop("bursts"), "'bursts' is missing"),
        (lambda b: b.pop("details"), "details"),
        (lambda b: b.update(verdict="gpu"), "the verdict 'gpu' is not that of its details"),
        (lambda b: b["step_s"].update(expected=0), "step_s.expected"),
        (lambda b: b["step_s"].update(expected="quick"), "step_s.expected"),
        (lambda b: b["bursts"][0].update(steps_s=[-1]), "bursts.0.steps_s.0"),
        (lambda b: b["box"].update(colour="red"), "unknown key 'box.colour'"),
        (lambda b: b.update(what_if=3), "what_if"),
    ],
)
def test_a_damaged_profile_is_an_error_that_says_where(
    change: Any, says: str, tmp_path: Path
) -> None:
    path = tmp_path / "bad.json"
    path.write_text(json.dumps(damaged(change)))
    done = run("--from", str(path))
    assert done.code == 2, done.out
    assert says in done.err
    assert done.out == ""


def test_half_a_profile_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "half.json"
    path.write_text(EXAMPLE.read_text()[:900])
    done = run("--from", str(path))
    assert (done.code, "is not JSON" in done.err) == (2, True)


# --- what is asked --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (["--rate", "0"], 2, "a price of nothing is a missing price"),
        (["--rate", "cheap"], 2, "not a plain number"),
        (["--rate", "1", "--offer", "cloud/1x-small"], 2, "leave one out"),
        (["--offer", "nobody/1x-small", *PRICES], 2, "no offer 'nobody/1x-small'"),
        (["--offer", "function/1x-small", *PRICES], 2, "is serverless: say what an hour"),
        (["--job", "missing.yaml"], 2, "missing.yaml does not exist"),
        (["-o", "no/such/folder.json"], 2, "--output no/such/folder.json: No such file"),
        (["-o", "tests"], 2, "--output tests: Is a directory"),
    ],
)
def test_what_cannot_be_answered_says_so(words: list[str], code: int, says: str) -> None:
    done = run("--from", "examples/profile.json", *words)
    assert (done.code, done.out) == (code, "")
    assert says in done.err


@pytest.mark.parametrize(
    "words",
    [
        ["--keep-going", "--", "true"], ["--from", "examples/profile.json"],
        ["--trace", "tests/data/traces/alexnet.json.gz"],
    ],
)  # fmt: skip
def test_only_a_program_that_may_be_ended_is_traced(words: list[str]) -> None:
    done = run("--kernels", *words)
    assert (done.code, done.out) == (2, "")
    assert "--kernels with --keep-going, --trace or --from" in done.err


def test_a_place_that_cannot_be_written_to_is_seen_before_the_program_starts(
    tmp_path: Path,
) -> None:
    mark = tmp_path / "started"
    done = run("-o", str(tmp_path / "no" / "p.json"), "--", "touch", str(mark))
    assert done.code == 2
    assert not mark.exists()


def test_trying_the_place_leaves_nothing_and_changes_nothing(tmp_path: Path) -> None:
    kept, new = tmp_path / "kept.json", tmp_path / "new.json"
    kept.write_text("yesterday")
    for place in (kept, new):
        done = run("-o", str(place), "--", "/no/such/program")
        assert "cannot be started" in done.err
    assert kept.read_text() == "yesterday"
    assert not new.exists()


def test_an_offer_brings_its_rate_and_says_where_it_is_of_another_card() -> None:
    mine = run("--from", "examples/profile.json", "--offer", "openrelay/1x-rtx-4090", "-f", "json")
    body = json.loads(mine.out)
    assert (body["worth"]["usd_per_hour"], body["worth"]["rate_from"]) == (
        0.29, "openrelay/1x-rtx-4090",
    )  # fmt: skip
    assert "the run used" not in mine.err
    other = run("--from", "examples/profile.json", "--offer", "openrelay/1x-rtx-3090")
    assert "is 1x RTX-3090, the run used 1x NVIDIA GeForce RTX 4090" in other.err


def test_progress_tells_each_burst_once_with_what_it_has_cost(
    capsys: pytest.CaptureFixture[str],
) -> None:
    now = 0.0
    tell = progress(True, Rate(Decimal("0.36"), "--rate"), clock=lambda: now)
    whole = slow_loader()
    for seconds, count in ((20.0, 1), (21.0, 1), (120.0, 4)):
        now = seconds
        tell(whole.model_copy(update={"phases": whole.phases[:count]}))
    assert capsys.readouterr().err.splitlines() == [
        "real: 14 steps, 100 ms, 160.0 samples/s; 20 s, $0.002 so far",
        "real: 30 steps, 100 ms, 160.0 samples/s; 120 s, $0.01 so far",
    ]


def test_nobody_who_watches_hears_no_progress(capsys: pytest.CaptureFixture[str]) -> None:
    progress(False)(slow_loader())
    assert capsys.readouterr().err == ""
