"""Where a job comes from: file, standard input, --set and flags, and which of them wins."""

from __future__ import annotations

import io
import os
import sys
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from costplan.errors import InputError
from costplan.jobfile import read_job
from costplan.work import settle

if TYPE_CHECKING:
    from costplan.catalog import Catalog

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"

JOB = """\
epochs: 10
disk_gb: 100
throughput:
  card: T4
  samples_per_s: 50
"""


@pytest.fixture
def job_file(tmp_path: Path) -> str:
    """A job file of 10 epochs with a disk of 100 GB."""
    path = tmp_path / "tuning.yaml"
    path.write_text(JOB, encoding="utf-8")
    return str(path)


def refused(source: str | None, *settings: str, flags: Any = None) -> InputError:
    """Return the error that reading this job raises."""
    with pytest.raises(InputError) as caught:
        read_job(source, settings=settings, flags=flags)
    return caught.value


# --- where it comes from ------------------------------------------------------------------------


def test_a_file_is_read(job_file: str) -> None:
    job = read_job(job_file)
    assert (job.epochs, job.disk_gb) == (10, Decimal(100))
    assert job.throughput is not None
    assert (job.throughput.card, job.throughput.samples_per_s) == ("T4", 50)


def test_a_job_without_a_name_is_called_as_its_file(job_file: str) -> None:
    assert read_job(job_file).name == "tuning"
    assert read_job(job_file, settings=["name=mine"]).name == "mine"


def test_a_dash_reads_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(JOB.encode())))
    job = read_job("-")
    assert job.epochs == 10
    assert job.name is None


def test_settings_alone_are_a_job() -> None:
    job = read_job(None, settings=["epochs=10", "throughput={card: T4, step_s: 0.2}"])
    assert job.epochs == 10
    assert job.throughput is not None
    assert job.throughput.step_s == 0.2
    assert job.name is None


def test_flags_alone_are_a_job() -> None:
    assert read_job(None, flags={"--disk": ("disk_gb", "30")}).disk_gb == 30


@pytest.mark.parametrize("flags", [None, {}, {"--disk": ("disk_gb", None)}])
def test_nothing_at_all_is_no_job(flags: Any) -> None:
    err = refused(None, flags=flags)
    assert str(err) == "no job: name a job file, or say it with --set"
    assert err.hint is not None


# --- which wins ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "flag", "disk_gb"),
    [
        ((), None, 100),
        (("disk_gb=200",), None, 200),
        ((), "300", 300),
        (("disk_gb=200",), "300", 300),
        (("disk_gb=200", "disk_gb=250"), None, 250),  # the later of two
    ],
)
def test_a_flag_wins_over_a_setting_and_a_setting_over_the_file(
    settings: tuple[str, ...], flag: str | None, disk_gb: int, job_file: str
) -> None:
    job = read_job(job_file, settings=settings, flags={"--disk": ("disk_gb", flag)})
    assert job.disk_gb == disk_gb
    assert job.epochs == 10  # what is not said again stays


def test_a_flag_that_says_no_is_no_flag_left_out(job_file: str) -> None:
    assert read_job(job_file, flags={"--spot": ("interruptible", None)}).interruptible is None
    assert read_job(job_file, flags={"--spot": ("interruptible", False)}).interruptible is False
    assert read_job(job_file, flags={"--spot": ("interruptible", True)}).interruptible is True


def test_a_nested_setting_replaces_the_whole_of_what_it_names(job_file: str) -> None:
    job = read_job(job_file, settings=["throughput={card: A10, count: 2, step_s: 0.2}"])
    assert job.throughput is not None
    assert (job.throughput.card, job.throughput.count) == ("A10", 2)
    assert job.throughput.samples_per_s is None


# --- what is refused ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("setting", "message", "hint"),
    [
        ("epochs", "--set epochs: not of the form key=value", None),
        ("", "--set : not of the form key=value", None),
        ("epohcs=5", "--set epohcs: unknown key", "did you mean epochs?"),
        ("=5", "--set : unknown key", None),
        ("throughput.card=T4", "--set throughput.card: unknown key", "did you mean throughput?"),
        ("epochs=0", "--set epochs: epochs: input should be greater than or equal to 1", None),
        ("epochs=many", "--set epochs: epochs: input should be a valid integer", None),
        ("epochs=", "--set epochs:1: nothing as a value: ", None),
        ("epochs=1_000", "--set epochs:1: 1_000 as a value: ", "put it in quotes"),
        ("interruptible=no", "--set interruptible:1: no as a value: ", "put it in quotes"),
        ("name='open", "--set name:", None),
        ("throughput={card: T4", "--set throughput:", None),
        ("throughput=T4", "--set throughput: throughput: ", None),
        ("throughput={card: T4}", "--set throughput: throughput: throughput needs exactly", None),
        (
            "throughput={card: T4, step_s: 1, cuont: 2}",
            "--set throughput: unknown key 'throughput.cuont'",
            "did you mean count?",
        ),
        ("name=a\n---\nb: 1", "--set name:", None),
    ],
)
def test_a_bad_setting_is_named(setting: str, message: str, hint: str | None) -> None:
    err = refused(None, setting)
    assert str(err).startswith(message)
    assert (err.hint or "").startswith(hint or "")
    assert hint is not None or err.hint is None


def test_a_setting_may_contain_an_equals_sign(job_file: str) -> None:
    assert read_job(job_file, settings=["name=a=b"]).name == "a=b"


def test_epochs_already_trained_are_held_against_the_epochs_of_the_file(job_file: str) -> None:
    assert read_job(job_file, settings=["done=5"]).done == 5


def test_epochs_already_trained_are_held_against_the_epochs_of_another_setting() -> None:
    assert read_job(None, settings=["epochs=10", "done=5"]).done == 5


@pytest.mark.parametrize("settings", [("done=10",), ("done=11",), ("epochs=3", "done=3")])
def test_a_setting_that_leaves_nothing_to_do_is_refused(
    settings: tuple[str, ...], job_file: str
) -> None:
    assert "leaves nothing of" in str(refused(job_file, *settings))


@pytest.mark.parametrize(
    ("flag", "field", "value", "message"),
    [
        ("--disk", "disk_gb", "abc", "--disk abc: disk_gb: input should be a valid decimal"),
        ("--disk", "disk_gb", "0", "--disk 0: disk_gb: input should be greater than 0"),
        ("--max-usd", "budget_usd", "-1", "--max-usd -1: budget_usd: input should be greater"),
        ("--max-hours", "deadline_hours", 0.0, "--max-hours 0.0: deadline_hours: input should"),
    ],
)
def test_a_bad_flag_is_named(
    flag: str, field: str, value: object, message: str, job_file: str
) -> None:
    assert str(refused(job_file, flags={flag: (field, value)})).startswith(message)


def test_two_amounts_of_work_are_refused_wherever_they_come_from(job_file: str) -> None:
    job = read_job(job_file, settings=["samples=5"])
    assert job.samples == 5
    err = refused(job_file, "samples=5", "tokens=5")
    assert "samples and tokens are both given" in str(err)


@pytest.mark.parametrize("text", ["", "# nothing\n", "epochs\n", "- epochs: 5\n"])
def test_a_file_that_holds_no_job_is_named(text: str, tmp_path: Path) -> None:
    path = tmp_path / "job.yaml"
    path.write_text(text, encoding="utf-8")
    message = f"{path} is not a job: it needs lines such as `epochs: 10`"
    assert str(refused(str(path))) == message


def test_standard_input_that_holds_no_job_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"- a\n")))
    assert str(refused("-")).startswith("standard input is not a job")


def test_an_error_in_a_file_has_its_line(tmp_path: Path) -> None:
    path = tmp_path / "job.yaml"
    path.write_text("epochs: 10\nthroughput:\n  card: T4\n  stap_s: 1\n", encoding="utf-8")
    err = refused(str(path))
    assert str(err) == f"{path}:4: unknown key 'throughput.stap_s'"
    assert err.hint is not None
    assert err.hint.startswith("did you mean step_s")


def test_an_error_on_standard_input_has_its_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"\nepochs: 0\n")))
    assert str(refused("-")).startswith("standard input:2: epochs: ")


def test_a_missing_file_is_an_input_error(tmp_path: Path) -> None:
    path = str(tmp_path / "nowhere.yaml")
    assert str(refused(path)) == f"{path} does not exist"
    assert str(refused(str(tmp_path))) == f"{tmp_path} is a directory"


# --- text that no terminal shows ----------------------------------------------------------------


def test_a_setting_that_is_no_text_is_an_input_error() -> None:
    refused(None, f"name={os.fsdecode(bytes([0xFF]))}")


# --- anything at all ----------------------------------------------------------------------------

KEYS = ["epochs", "samples", "done", "runs", "throughput", "name", "assumed", "disk_gb", "x", ""]


@given(
    st.lists(
        st.builds(
            "{}{}{}".format,
            st.sampled_from(KEYS),
            st.sampled_from(["=", "", "=="]),
            st.text("ab:- \n[]{}'\"#&*!|>,~.019T4cardstep_", max_size=20),
        ),
        max_size=3,
    )
)
def test_law_any_settings_are_a_job_or_an_input_error(settings: list[str]) -> None:
    said = "--set"
    try:
        read_job(None, settings=settings)
    except InputError as err:
        said = str(err)
    assert said.startswith(("--set", "no job"))


# --- the examples -------------------------------------------------------------------------------


def examples() -> list[str]:
    return sorted(path.name for path in EXAMPLES.glob("*.yaml"))


def test_there_are_examples() -> None:
    assert "ssd-coco.yaml" in examples()


@pytest.mark.parametrize("name", examples())
def test_an_example_is_a_job_with_nothing_left_open(name: str, shipped: Catalog) -> None:
    job = read_job(str(EXAMPLES / name))
    work = settle(job)
    assert work.train_s > 0
    assert shipped.card_key(work.card) == work.card  # written as its key
    assert job.name == name.removesuffix(".yaml")
    assert job.throughput is not None
    assert job.throughput.source  # where the rate was measured


def test_the_first_example_trains_for_as_long_as_its_figures_say() -> None:
    # 118,287 images x 65 epochs / 379.56 images/s = 20,256.8 s
    work = settle(read_job(str(EXAMPLES / "ssd-coco.yaml")))
    assert work.train_s == pytest.approx(118_287 * 65 / 379.56)
    assert round(work.train_s, 1) == 20_256.8
