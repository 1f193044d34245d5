"""A saved profile as the throughput of an estimate: rates, ranges, other cards, refusals."""

from __future__ import annotations

import io
import json
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from ranked import profiled, rank, slow_loader

from costplan.catalog import Catalog
from costplan.cli import main
from costplan.cli.taken_profile import take
from costplan.predict import Factor, Limit, limited, pace
from costplan.profiled import limit_of
from costplan.profiler.worth import worth
from costplan.records.profiles import Profile
from costplan.records.ranks import RankTaken
from costplan.render.profile_documents import profile_json

ROOT = Path(__file__).resolve().parents[1]
ON = ["--on", "2026-11-30", "--limit", "0"]


class Done(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def body(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.out)
        return found

    def row(self, card: str, count: int = 1) -> dict[str, Any]:
        """Return the first on-demand row of a card."""
        return next(
            each for each in self.body["results"]
            if (each["card"], each["count"], each["pricing"]) == (card, count, "on-demand")
        )  # fmt: skip

    def training_h(self, card: str, count: int = 1) -> float:
        lines = self.row(card, count)["lines"]
        return float(next(each["quantity"] for each in lines if each["name"] == "training"))


@pytest.fixture(autouse=True)
def _plain(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("COSTPLAN_PRICING", raising=False)


def estimate(made: Profile | str | None, *words: str) -> Done:
    """Run `costplan estimate --profile` on a profile that lies in the present folder."""
    if isinstance(made, Profile):
        text = profile_json(made, worth(made, rate=None, job=None), asked={})
        Path("a.json").write_text(text)
    elif made is not None:
        Path("a.json").write_text(made)
    return run("--profile", "a.json", *words)


def run(*words: str) -> Done:
    out, err = io.StringIO(), io.StringIO()
    code: object = 0
    with redirect_stdout(out), redirect_stderr(err):
        try:
            main(["estimate", "--format", "json", *ON, *words])
        except SystemExit as end:
            code = end.code
    return Done(code if isinstance(code, int) else 0, out.getvalue(), err.getvalue())


SIZE = ["--set", "samples=3600000", "--set", "epochs=2"]  # 7.2 million at 160/s: 12.5 h


def busy_gpu(**facts: Any) -> RankTaken:
    """Return a step of 100 ms that waits for the GPU alone."""
    return rank(
        ("real", [0.099] * 15, 0.0), ("replay", [0.1] * 10, 0.0), ("half", [0.055] * 10, 0.0),
        ("real", [0.101] * 15, 0.0), ("replay", [0.1] * 10, 0.0), ("half", [0.055] * 10, 0.0),
        **facts,
    )  # fmt: skip


def serial_loader() -> RankTaken:
    """Return a step of 100 ms in which the process itself loads for 40 and the device works 60."""
    return rank(
        ("real", [0.1] * 30, 0.04), ("replay", [0.06] * 20, 0.0), ("half", [0.03] * 20, 0.0),
        workers=0, prefetch=0,
    )  # fmt: skip


# --- the same card --------------------------------------------------------------------------------


def test_the_measured_rate_and_its_range_are_those_of_the_same_card() -> None:
    made = profiled(slow_loader())
    done = estimate(made, *SIZE)
    assert done.code == 0, done.err
    assert done.training_h("RTX-4090") == pytest.approx(12.5)
    hours = done.row("RTX-4090")["hours"]
    plain = estimate(made, *SIZE, "--set", "warmup_s=0", "--set", "validation_s=0", "--set",
                     "setup_minutes=0")  # fmt: skip
    assert plain.code == 0
    assert hours["low"] < hours["expected"] < hours["high"]
    line = next(e for e in done.row("RTX-4090")["lines"] if e["name"] == "training")
    assert made.step_s.low is not None
    assert made.step_s.high is not None
    low, high = made.step_s.low / 0.1, made.step_s.high / 0.1
    assert line["cost_low_usd"] == pytest.approx(line["cost_usd"] * low, rel=1e-6)
    assert line["cost_high_usd"] == pytest.approx(line["cost_usd"] * high, rel=1e-6)


def test_the_answer_says_what_it_rests_on() -> None:
    body = estimate(profiled(slow_loader()), *SIZE).body
    assert body["asked"]["profile"] == "a.json"
    taken = body["profile"]
    assert (taken["device"], taken["card"], taken["count"]) == (
        "NVIDIA GeForce RTX 4090", "RTX-4090", 1,
    )  # fmt: skip
    assert taken["verdict"] == "dataloader"
    assert taken["samples_per_s"]["expected"] == pytest.approx(160)


def test_as_many_gpus_as_ranks() -> None:
    done = estimate(profiled(slow_loader(), slow_loader()), *SIZE)
    assert done.body["profile"]["count"] == 2
    assert done.training_h("RTX-4090", 2) == pytest.approx(6.25)  # 320 samples/s together


@pytest.mark.parametrize(
    ("size", "hours"),
    [
        (["samples=36000"], 0.0625),
        (["steps_per_epoch=1000", "batch=36"], 0.0625),
        (["steps_per_epoch=1000"], 1000 * 2 * 0.1 / 3600),  # of the optimizer: two batches each
        (["tokens=1800000"], 0.05),  # 1,000 in 0.1 s
        (["epochs=3"], 0.1875),  # three times the 2,250 batches of the loader
    ],
)
def test_what_the_job_counts_finds_its_rate(size: list[str], hours: float) -> None:
    made = profiled(slow_loader(accumulation=2, tokens=1_000))
    done = estimate(made, *(word for each in size for word in ("--set", each)))
    assert done.code == 0, done.err
    assert done.training_h("RTX-4090") == pytest.approx(hours)


def test_the_profile_wins_over_the_throughput_of_the_job_and_says_so() -> None:
    done = estimate(profiled(slow_loader()), *SIZE, "--set",
                    "throughput={card: T4, samples_per_s: 1}", "--set", "batch=32")  # fmt: skip
    assert done.training_h("RTX-4090") == pytest.approx(12.5)
    told = [each["text"] for each in done.body["notices"] if each["kind"] == "profile"]
    assert told[0] == "the throughput of the job, on T4, is not used: a.json was measured"
    assert told[1] == "the job's batch is 32, the profile's 16: its rate is taken"


def test_a_guessed_throughput_is_no_guess_any_more() -> None:
    words = ["--set", "throughput={card: T4, samples_per_s: 1}",
             "--set", "assumed={throughput: a guess}"]  # fmt: skip
    line = next(
        each for each in estimate(profiled(slow_loader()), *SIZE, *words).row("RTX-4090")["lines"]
        if each["name"] == "training"
    )  # fmt: skip
    assert line["cost_high_usd"] < 1.02 * line["cost_usd"]


# --- other cards ----------------------------------------------------------------------------------


def test_a_loader_that_holds_up_the_gpu_holds_up_a_faster_one() -> None:
    done = estimate(profiled(slow_loader()), *SIZE)
    row = done.row("H100-SXM")
    assert done.training_h("H100-SXM") == pytest.approx(12.5)
    assert row["limited_by"] == "dataloader"
    assert row["hours"]["low"] > 12.4
    told = [each["text"] for each in done.body["notices"] if each["kind"] == "profile"]
    assert "limited by the dataloader" in told[0]


def test_a_gpu_that_sets_the_pace_is_scaled_as_any_throughput_is() -> None:
    made = profiled(busy_gpu())
    assert made.verdict.word == "gpu"
    done = estimate(made, *SIZE)
    stated = run(*SIZE, "--set", "throughput={card: RTX-4090, samples_per_s: 160}")
    assert done.row("H100-SXM")["limited_by"] == "gpu"
    assert done.training_h("H100-SXM") == stated.training_h("H100-SXM") < 12.5 * 0.9
    assert not [each for each in done.body["notices"] if each["kind"] == "profile"]


def test_a_process_that_loads_its_own_batches_gains_by_the_part_of_the_gpu() -> None:
    made = profiled(serial_loader())
    assert made.verdict.word == "dataloader"
    whole = estimate(profiled(busy_gpu()), *SIZE).training_h("H100-SXM") / 12.5
    # 2 x (60 - 30) of 100 ms are the GPU's: 0.4 stay
    found = estimate(made, *SIZE).training_h("H100-SXM") / 12.5
    assert found == pytest.approx(0.4 + 0.6 * whole)


@pytest.mark.parametrize(
    ("factor", "limit", "found"),
    [
        ((0.3, 0.5, 0.9), None, (0.3, 0.5, 0.9)),
        ((1.0, 1.0, 1.0), Limit("host", 0.2, 0.9, adds=False), (1.0, 1.0, 1.0)),
        ((0.3, 0.5, 0.9), Limit("host", 0.2, 0.9, adds=False), (1.0, 1.0, 1.0)),
        ((0.3, 0.5, 0.9), Limit("host", None, None, adds=False), (1.0, 1.0, 1.0)),
        # A device of at most a quarter of the step is the longer part from 4 times on.
        ((2.0, 4.0, 6.0), Limit("dataloader", 0.0, 0.25, adds=False), (1.0, 1.0, 1.5)),
        ((2.0, 4.0, 6.0), Limit("dataloader", 0.0, None, adds=False), (1.0, 4.0, 6.0)),
        ((0.5, 1.0, 2.0), Limit("dataloader", 0.4, 0.6, adds=True), (0.8, 1.0, 1.6)),
        ((0.5, 1.0, 2.0), Limit("dataloader", None, None, adds=True), (0.5, 1.0, 2.0)),
    ],
)
def test_what_another_card_changes(
    factor: tuple[float, float, float], limit: Limit | None, found: tuple[float, float, float]
) -> None:
    assert limited(Factor(*factor), limit) == pytest.approx(found)


@pytest.mark.parametrize(("expected", "word"), [(0.5, "host"), (4.0, "host"), (4.1, "gpu")])
def test_a_card_slow_enough_sets_the_pace_itself(expected: float, word: str) -> None:
    limit = Limit("host", 0.0, 0.25, adds=False)
    assert pace(Factor(expected, expected, expected), limit) == word


@pytest.mark.parametrize(
    ("made", "limit"),
    [
        (slow_loader, ("dataloader", 0.0, 0.2, False)),
        (serial_loader, ("dataloader", 0.6, 0.6, True)),
        (busy_gpu, None),
    ],
)
def test_what_a_profile_says_of_other_cards(made: Any, limit: Any) -> None:
    found = limit_of(profiled(made()))
    if limit is None:
        assert found is None
    else:
        assert found is not None
        assert (found.word, found.adds) == (limit[0], limit[3])
        assert found.faster_share == pytest.approx(limit[1], abs=1e-9)
        assert found.slower_share == pytest.approx(limit[2])


def test_an_inconclusive_profile_speaks_of_its_own_card_alone() -> None:
    torn = rank(
        ("real", [0.099, 0.101] * 9, 0.05), ("replay", [0.05] * 9, 0.0), ("half", [0.03] * 9, 0.0),
        ("real", [0.099, 0.101] * 9, 0.05), ("replay", [0.098] * 9, 0.0),
    )  # fmt: skip
    done = estimate(profiled(torn), *SIZE)
    assert done.code == 0, done.err
    assert {(each["card"], each["count"]) for each in done.body["results"]} == {("RTX-4090", 1)}
    assert {each["limited_by"] for each in done.body["results"]} == {"not known"}
    reasons = [each["reason"] for each in done.body["left_out"]]
    assert "the profile is inconclusive: nothing is said of another card or count" in reasons
    other = estimate(None, *SIZE, "--gpu", "T4")
    assert (other.code, "the profile is inconclusive" in other.err) == (3, True)


# --- profiles that say nothing --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("facts", "says"),
    [
        ({"device": "cpu", "gpus": None}, "was taken on the CPU: it says nothing of any card"),
        ({"device": "NVIDIA Nonesuch 9"}, "which is no card of the price folder"),
        ({"device": "NVIDIA A100-SXM4-80GB MIG 1g.10gb"}, "which is no card of the price folder"),
        ({"samples": None}, "counts samples, and a.json has no samples/s"),
    ],
)
def test_a_profile_that_says_nothing_of_a_card_is_unknown(facts: Any, says: str) -> None:
    done = estimate(profiled(slow_loader(**facts)), *SIZE)
    assert (done.code, done.out) == (3, "")
    assert says in done.err


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--set", "tokens=1000"], "counts tokens, and a.json has no tokens/s"),
        (["--set", "epochs=1"], "neither the job nor a.json says how much an epoch is"),
    ],
)
def test_a_job_that_the_profile_cannot_count_is_unknown(words: list[str], says: str) -> None:
    done = estimate(profiled(slow_loader(batches_per_epoch=None)), *words)
    assert (done.code, done.out) == (3, "")
    assert says in done.err


def test_two_uncertain_steps_bound_nothing() -> None:
    made = profiled(slow_loader())
    open_ended = made.model_copy(update={"step_s": made.step_s.model_copy(update={"high": None})})
    done = estimate(open_ended, *SIZE)
    assert done.code == 3
    assert "too few steps to say how long one takes" in done.err


def test_a_verdict_of_a_trace_has_no_throughput() -> None:
    body = {"schema": "costplan.profile/1", "verdict": "gpu", "step_s": None, "shares": {},
            "details": {"word": "gpu", "why": "made up"}}  # fmt: skip
    done = estimate(json.dumps(body), *SIZE)
    assert done.code == 3
    assert "has no step times: it was made from a file of another tool" in done.err


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{}", "is no profile of costplan"),
        ('{"schema": "costplan.profile/9"}', "costplan.profile/9, this costplan reads"),
        ("nothing", "is not JSON"),
    ],
)
def test_what_is_no_profile_is_asked_wrongly(text: str, says: str) -> None:
    done = estimate(text, *SIZE)
    assert done.code == 2
    assert says in done.err


def test_every_card_is_found_by_the_name_that_its_driver_prints(
    shipped: Catalog, tmp_path: Path
) -> None:
    wrong = {}
    for card in shipped.cards.values():
        if card.driver_name is None:
            continue
        made = profiled(slow_loader(device=card.driver_name))
        text = profile_json(made, worth(made, rate=None, job=None), asked={})
        (tmp_path / "card.json").write_text(text)
        key = take(str(tmp_path / "card.json"), shipped).card
        if card.key not in {each.key for each in shipped.variants(key)}:
            wrong[card.driver_name] = key
    assert wrong == {}
