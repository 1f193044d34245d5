"""`costplan check` as people and programs see it: golden files, words, streams, exit codes."""

from __future__ import annotations

import io
import json
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import fakesmi
import faketorch
import pytest
from madebox import box, disk, gpu, run, torch, tries

from costplan.cli import check_asked, main
from costplan.records.checks import BoxFacts, CacheFacts, DeviceFacts, DownloadFacts

if TYPE_CHECKING:
    from costplan.catalog import Catalog

GOLDEN = Path(__file__).parent / "golden"
JOB = """\
name: shapes
dataset_gb: 14
unpacked_gb: 14
checkpoint_gb: 1
environment_gb: 10
memory_gb: 20
"""
OFFER = {
    "id": 7, "gpu_name": "RTX 4090", "num_gpus": 1, "gpu_ram": 24_564, "cpu_cores_effective": 16,
    "inet_down": 800, "disk_bw": 3_000, "gpu_lanes": 16, "pci_gen": 4, "dph_total": 0.41,
}  # fmt: skip


class Done(NamedTuple):
    code: int
    out: str
    err: str


def check(*words: object) -> Done:
    out, err = io.StringIO(), io.StringIO()
    code = 0
    with redirect_stdout(out), redirect_stderr(err):
        try:
            main(["check", *map(str, words)])
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 0
    sys.stdout.flush()
    return Done(code, out.getvalue(), err.getvalue())


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "job.yaml").write_text(JOB, encoding="utf-8")
    (tmp_path / "offer.json").write_text(json.dumps(OFFER, indent=2), encoding="utf-8")
    monkeypatch.chdir(tmp_path)


def say(monkeypatch: pytest.MonkeyPatch, facts: BoxFacts) -> None:
    """Let the box be as given; how it is measured is tested with what measures it."""

    def measured(_: object, __: Catalog, since_s: float | None) -> BoxFacts:
        return facts.model_copy(update={"age_s": since_s or facts.age_s})

    monkeypatch.setattr(check_asked, "measured", measured)


SLOW = box(download=DownloadFacts(host="example.com", received_bytes=112_500_000, over_s=10))
RETURNED = ["--job", "job.yaml", "--rate", "0.41", "--promised", "offer.json",
            "--download", "https://example.com/large.bin?key=sesame"]  # fmt: skip
WRONG_WHEEL = box(
    gpus=(gpu(name="NVIDIA GeForce RTX 5090", compute_capability="12.0", power_limit_watts=300),),
    torch=torch(
        version="2.5.1+cu124",
        cuda="12.4",
        arches=("sm_50", "sm_90"),
        devices=(DeviceFacts(index=0, name="NVIDIA GeForce RTX 5090", capability="12.0"),),
        tries=tries(
            worst_relative=None,
            problem="CUDA error: no kernel image is available for execution on the device",
        ),
    ),
    disk=disk(cold_mb_per_s=None, speed_problem="this disk keeps files in memory"),
    caches=(CacheFacts(name="HF_HOME", path="/root/.cache/huggingface", fstype="overlay"),),
    runs=(run(),),
)
GOLDENS: dict[str, tuple[BoxFacts, list[str]]] = {
    "check-return": (SLOW, RETURNED),
    "check-return-json": (SLOW, [*RETURNED, "--format", "json"]),
    "check-fix": (WRONG_WHEEL, ["--rate", "0.41"]),
    "check-good": (box(), ["--since", "1h30m"]),
}


@pytest.mark.parametrize("name", GOLDENS)
def test_the_program_prints_its_golden_file(
    name: str, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    facts, words = GOLDENS[name]
    say(monkeypatch, facts)
    done = check(*words)
    shown = f"{done.out}--- stderr\n{done.err}--- exit {done.code}\n"
    golden = GOLDEN / f"{name}.txt"
    if request.config.getoption("--update-golden"):
        golden.write_text(shown, encoding="utf-8")
        return
    assert shown == golden.read_text(encoding="utf-8")


def test_json_is_one_object_with_its_figures_and_no_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    say(monkeypatch, SLOW)
    done = check(*RETURNED, "--format", "json")
    body = json.loads(done.out)
    assert (done.code, done.err) == (4, "")
    assert body["schema"] == "costplan.check/1"
    assert body["verdict"] == "return"
    assert body["usd_so_far"] == pytest.approx(0.41 * 264 / 3600)
    assert body["asked"]["download"] == "example.com"
    assert "sesame" not in done.out
    assert body["facts"]["download"]["received_bytes"] == 112_500_000
    (down,) = [each for each in body["compared"] if each["what"] == "down_mbit_per_s"]
    assert down == {
        "what": "down_mbit_per_s",
        "promised": 800.0,
        "measured": 90.0,
        "level": "fail",
    }
    assert isinstance(body["notices"], list)


def test_since_wins_over_the_age_of_the_box(monkeypatch: pytest.MonkeyPatch) -> None:
    say(monkeypatch, box())
    done = check("--rate", "0.41", "--since", "1h")
    assert done.out.startswith("GOOD ($0.41 so far): ")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--rate", "0"], "--rate 0: not above 0"),
        (["--rate", "100001"], "--rate 100001: not above 0 and up to 100,000"),
        (["--rate", "cheap"], "--rate cheap: not a plain number"),
        (["--since", "5"], "--since '5' is not a duration"),
        (["--download", "file:///etc/passwd"], "--download: not an address"),
        (["--job", "none.yaml"], "none.yaml does not exist"),
        (["--promised", "none.json"], "none.json does not exist"),
        (["--dir", "none"], "--dir none: not a folder"),
        (["--before-install", ""], "--before-install holds no command"),
        (["--before-install", "x", "--rate", "1"], "--rate beside --before-install"),
        (["--before-install", "x", "--job", "job.yaml"], "--job beside --before-install"),
        (["--before-install", "x", "--since", "1h"], "--since beside --before-install"),
        (["--before-install", "x", "--promised", "offer.json"], "--promised beside "),
        (["--before-install", "x", "--download", "http://x"], "--download beside "),
    ],
)
def test_what_is_asked_wrongly_ends_with_2_before_anything_is_done(
    words: list[str], says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(check_asked, "measured", lambda *_: pytest.fail("it was measured"))
    done = check(*words)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(f"error: {says}")


# --- the whole way ------------------------------------------------------------------------------


@pytest.fixture
def real(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A driver and a torch that are fake; the rest is this machine."""
    monkeypatch.setenv("PATH", str(fakesmi.put(tmp_path / "bin", fakesmi.GPU)))
    monkeypatch.setenv("PYTHONPATH", str(faketorch.put(tmp_path / "lib")))
    monkeypatch.setattr("costplan.box.measure.TEST_MIB", 4)
    return tmp_path


def lines(done: Done) -> dict[str, dict[str, Any]]:
    return {each["name"]: each for each in json.loads(done.out)["lines"]}


def test_a_wrong_wheel_is_found_on_the_whole_way(
    real: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_TORCH", "no kernel")
    done = check("--format", "json", "--python", sys.executable)
    found = lines(done)
    assert done.code == 4
    assert found["gpu"]["says"] == "1 x NVIDIA GeForce RTX 4090, 24,564 MiB, driver 570.86.10"
    assert found["kernels"]["says"].startswith("torch 2.5.1+cu124 says that CUDA is available and ")
    assert found["kernels"]["todo"].endswith("/whl/cu128")
    assert found["driver"]["level"] == "ok"
    assert {"cores", "memory", "/dev/shm", "disk", "disk read", "caches"} < set(found)


def test_an_interpreter_that_is_not_there_is_a_line(real: Path) -> None:
    done = check("--format", "json", "--python", "/no/such/python")
    assert lines(done)["torch"]["level"] == "unknown"
    assert json.loads(done.out)["verdict"] in ("open", "return")  # /dev/shm of this machine


PIP = """\
import json, sys
assert "--dry-run" in sys.argv
item = {"metadata": {"name": "torch", "version": "2.9.0+cpu"}}
print(json.dumps({"version": "1", "install": [item]}))
"""


def test_an_install_is_looked_at_before_it_happens(real: Path) -> None:
    (real / "lib" / "pip.py").write_text(PIP, encoding="utf-8")
    words = "xformers --index-url https://me:sesame@example.com/simple"
    done = check("--before-install", words, "--python", sys.executable)
    assert done.code == 4
    assert done.out.startswith(
        "FIX IT FIRST: pip install xformers --index-url https://***@example.com/simple puts torch "
        "2.9.0+cpu (processor only) in place of torch 2.5.1+cu124\n"
    )
    assert "sesame" not in done.out + done.err
    done = check("--before-install", words, "--python", sys.executable, "-f", "json")
    body = json.loads(done.out)
    assert "sesame" not in done.out
    assert body["facts"]["torch_cuda"] == "12.4"
    assert body["asked"]["before_install"].startswith("xformers")


def test_an_install_that_pip_refuses_is_unknown(real: Path) -> None:
    (real / "lib" / "pip.py").write_text("raise SystemExit('ERROR: nothing')", encoding="utf-8")
    done = check("--before-install", "x", "--python", sys.executable)
    assert done.code == 3
    assert "?     install  pip: ended with 1: ERROR: nothing\n" in done.out
    done = check("--before-install", "x", "--python", "/no/such/python")
    assert done.code == 3
