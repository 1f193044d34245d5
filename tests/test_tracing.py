"""Trace files: recorded ones against figures derived elsewhere, and files that are none."""

from __future__ import annotations

import csv
import gzip
import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from traces import PAGEABLE, call, kernel, loader, step

from costplan.errors import InputError
from costplan.profiler import tracing
from costplan.profiler.traced import trace_verdict
from costplan.profiler.tracing import foreign_verdict, trace_facts
from costplan.records.traces import TraceFacts

TRACES = Path(__file__).parent / "data" / "traces"


def recorded() -> list[dict[str, str]]:
    with (TRACES / "facts.tsv").open(encoding="utf-8") as file:
        lines = [line for line in file if not line.startswith("#")]
    return list(csv.DictReader(lines, delimiter="\t"))


ROWS = {row["id"]: row for row in recorded()}


@cache
def facts_in(name: str) -> TraceFacts:
    return trace_facts(TRACES / f"{name}.json.gz")


def percent(share: float | None) -> float | None:
    return None if share is None else 100 * share


# --- recorded traces ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ROWS)
def test_the_verdict_on_a_recorded_trace(name: str) -> None:
    words = ROWS[name]["verdict"].split(" ")[0].split("|")
    assert trace_verdict(facts_in(name)).word in words


@pytest.mark.parametrize("name", [name for name, row in ROWS.items() if row["gpu_busy_pct"]])
def test_shares_of_a_recorded_trace(name: str) -> None:
    found, row = facts_in(name), ROWS[name]
    assert percent(found.busy_share) == pytest.approx(float(row["gpu_busy_pct"]), abs=0.1)
    assert found.step_s == pytest.approx(float(row["step_ms"]) / 1e3, abs=1e-5)
    assert len(found.steps) == int(row["steps"])
    for key, share in (
        ("loader_pct", found.loader_share),
        ("idle_in_loader_pct", found.idle_in_loader_share),
    ):
        # The table has 0.0 where no loader is seen; here that is not known.
        assert percent(share) is None or percent(share) == pytest.approx(float(row[key]), abs=0.1)


@pytest.mark.parametrize("name", [name for name, row in ROWS.items() if row["kernels_per_step"]])
def test_kernels_and_gaps_of_a_recorded_trace(name: str) -> None:
    found, row = facts_in(name), ROWS[name]
    assert found.kernels_per_step == pytest.approx(float(row["kernels_per_step"]), abs=1)
    assert percent(found.host_wait_share) == pytest.approx(float(row["host_wait_pct"]), abs=2)
    if name != "sampled_rank0":  # a part of its events was taken out: the table's 26.6 is not ours
        delay_s = float(row["median_launch_delay_ms"]) / 1e3
        assert found.launch_delay_s == pytest.approx(delay_s, rel=0.02)


def test_a_trace_without_markers_says_so_and_one_without_gpu_too() -> None:
    assert "step markers" in trace_verdict(facts_in("alexnet")).why
    assert "events of a GPU" in trace_verdict(facts_in("cpu_only")).why


def test_what_a_recorded_trace_says_of_the_machine() -> None:
    found = facts_in("a100_control")
    assert (found.device, found.device_name) == ("3", "NVIDIA A100-PG509-200")
    assert (found.rank, found.ranks, found.streams) == (3, 8, 4)
    assert facts_in("v100_resnet50_workers0").rank is None


def test_a_host_verdict_from_a_trace_says_what_tracing_does() -> None:
    found = trace_verdict(facts_in("v100_resnet50_workers4"))
    assert found.confidence == "low"
    assert any("tracer was on" in text for text in found.unknown)
    assert [each.of for each in found.gains] == [
        "dataloader",
        "host",
        "communication",
        "a faster GPU",
    ]
    told = {each.name: (each.value, each.says) for each in found.evidence}
    assert told["steps"] == ("6 take 116.15 to 181.56 ms", "inconclusive")
    assert told["host wait"] == ("stream 7 waits for launches 21% of the time", "host")
    assert told["copies"] == ("12 from pageable memory take 18.96 ms", "inconclusive")


def test_an_unseen_loader_is_no_zero() -> None:
    found = trace_verdict(facts_in("nccl"))
    assert "dataloader" not in {each.of for each in found.gains}
    assert any("other than torch's DataLoader" in text for text in found.unknown)


def test_a_full_queue_speaks_for_the_gpu() -> None:
    found = trace_verdict(facts_in("v100_gpu_bound"))
    (queue,) = [each for each in found.evidence if each.name == "queue"]
    assert (queue.value, queue.says) == ("kernels start 75.44 ms after their launch", "gpu")
    assert found.confidence == "medium"
    assert found.advice == ()


# --- verdicts at the lines ------------------------------------------------------------------------


def judged(tmp_path: Path, *events: dict[str, Any]) -> Any:
    return trace_verdict(trace_facts(written(tmp_path, json.dumps({"traceEvents": events}))))


def written(tmp_path: Path, text: str, name: str = "trace.json") -> Path:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("busy_us", "waits_us", "word"),
    [
        (860, 10, "gpu"),  # 0.86/0.99
        (840, 0, "mixed"),
        (740, 0, "host"),
        (700, 250, "dataloader"),  # idle in the loader 25 %, elsewhere 5
        (500, 250, "mixed"),  # 25 and 25
        (200, 150, "host"),  # 15 and 65
        (300, 90, "host"),  # 9 % is below the line
    ],
)
def test_words_at_the_lines(tmp_path: Path, busy_us: int, waits_us: int, word: str) -> None:
    found = judged(
        tmp_path,
        step(1, 0, 1000),
        loader(0, waits_us),
        kernel(waits_us, busy_us),
    )
    assert found.word == word


def test_exposed_communication_is_the_gpus_part(tmp_path: Path) -> None:
    talk = kernel(800, 200, name="ncclDevKernel_AllReduce", stream=20)
    found = judged(tmp_path, step(1, 0, 1000), loader(0, 1), kernel(10, 790), talk)
    assert (found.word, found.cause) == ("gpu", "communication")
    # of the busy 0.99 the waits for other GPUs stay
    (faster,) = [each for each in found.gains if each.of == "a faster GPU"]
    assert faster.share == pytest.approx(0.79)


def test_many_launches_are_named_as_the_hosts_part(tmp_path: Path) -> None:
    # 130 launches x 5 us are 650 of 1000
    pairs = [
        each
        for n in range(1, 131)
        for each in (call("cudaLaunchKernel", 7 * n, 5, n), kernel(7 * n + 6, 2, correlation=n))
    ]
    found = judged(tmp_path, step(1, 0, 1000), loader(0, 1), *pairs)
    assert (found.word, found.cause) == ("host", "launches")


def test_waits_for_copies_are_named_as_the_hosts_part(tmp_path: Path) -> None:
    copy = kernel(100, 90, name=PAGEABLE, cat="gpu_memcpy", correlation=1)
    found = judged(
        tmp_path, step(1, 0, 1000), loader(0, 1), call("cudaMemcpyAsync", 0, 200, 1), copy
    )
    assert (found.word, found.cause) == ("host", "synchronising calls")


# --- files ----------------------------------------------------------------------------------------

EVENTS = [step(1, 0, 100), kernel(10, 30), step(2, 100, 100), kernel(150, 20)]
WHOLE = json.dumps({"schemaVersion": 1, "traceEvents": EVENTS, "traceName": "x"})


def test_gzip_by_content_whatever_the_name(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    path.write_bytes(gzip.compress(WHOLE.encode()))
    plain = trace_facts(written(tmp_path, WHOLE, "plain.json.gz"))
    assert trace_facts(path) == plain
    assert plain.busy_share == pytest.approx(0.25)


def test_a_bare_list_of_events_is_a_trace_with_or_without_its_end(tmp_path: Path) -> None:
    assert trace_facts(written(tmp_path, json.dumps(EVENTS))).busy_share == pytest.approx(0.25)
    cut = trace_facts(written(tmp_path, json.dumps(EVENTS)[:-1]))
    assert cut.cut
    assert len(cut.steps) == 1  # the last event starts before the second ends


@pytest.mark.parametrize("keep", range(0, len(WHOLE), 7))
def test_cut_anywhere_it_is_read_or_refused_in_plain_words(tmp_path: Path, keep: int) -> None:
    path = written(tmp_path, WHOLE[:keep])
    if keep < WHOLE.index("[") + 1:
        with pytest.raises(InputError, match=r"trace\.json"):
            trace_facts(path)
    else:
        assert trace_facts(path).cut == ("]" not in WHOLE[:keep])


@pytest.mark.parametrize("end", ["tru", "-", "1", "-Infinit", '"a\\u12', '"a\\'])
def test_cut_within_a_word_a_number_or_an_escape_it_is_read(tmp_path: Path, end: str) -> None:
    text = json.dumps(EVENTS)[:-1] + ', {"ph": ' + end
    found = trace_facts(written(tmp_path, text))
    assert found.cut
    assert len(found.steps) == 1


def test_a_cut_gzip_file_gives_what_it_holds(tmp_path: Path) -> None:
    many = json.dumps([*(kernel(n, 1) for n in range(5000)), step(1, 6000, 10)])
    path = tmp_path / "trace.json.gz"
    path.write_bytes(gzip.compress(many.encode())[:-200])
    assert trace_facts(path).cut


def test_broken_in_the_middle_names_the_place(tmp_path: Path) -> None:
    text = '{"traceEvents": [\n{"ph": "X", "ts": 1},\n{"ph": oops, "ts": 2},\n{"ph": "X"}\n]}'
    with pytest.raises(InputError, match=r"trace\.json:3:8 is not JSON: Expecting value"):
        trace_facts(written(tmp_path, text))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "is empty"),
        ("  \n", "is empty"),
        ("step 1: loss 3.2", "starts with no JSON object or list"),
        ('{"a": 1}', "has no list of events"),
        ("[" * 100_000, "nested too deeply"),
        ('[{"ts": ' + "1" * 5000 + "}]", "cannot be read"),
        ("\x1f\x8bno", "starts as gzip and is none"),
    ],
)
def test_what_is_no_trace_is_refused(tmp_path: Path, text: str, why: str) -> None:
    path = tmp_path / "trace.json"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(InputError, match=why):
        trace_facts(path)


def test_missing_files_folders_and_large_ones_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(InputError, match="does not exist"):
        trace_facts(tmp_path / "none.json")
    with pytest.raises(InputError, match="is a directory"):
        trace_facts(tmp_path)
    monkeypatch.setattr(tracing, "MAX_BYTES", 2_000_000)
    for data in (b"[" + b" " * 2_000_000, gzip.compress(b"[" + b" " * 2_000_000)):
        path = tmp_path / "large.json"
        path.write_bytes(data)
        with pytest.raises(InputError, match="more than 2 MB") as caught:
            trace_facts(path)
        assert caught.value.hint == "trace fewer steps, without stacks, shapes and memory"


def test_bytes_that_are_no_text_in_names_do_no_harm(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    path.write_bytes(WHOLE.encode().replace(b"sgemm", b"sg\xff\tmm"))
    assert trace_facts(path).busy_share == pytest.approx(0.25)


# --- LibreYOLO ------------------------------------------------------------------------------------


def libreyolo(**more: Any) -> dict[str, Any]:
    """A profile as LibreYOLO 1.6.0 writes it, without its lists."""
    return {
        "schema": "libreyolo.profile.analysis/v1",
        "model": "LibreYOLO9-t",
        "bound": "compute",
        "step_ms": 100.0,
        "dataload_ms": 2.0,
        "dataload_frac": 0.02,
        "gpu_busy_ms_per_step": 90.0,
        "launches_per_step": 1200,
        "cuda_mallocs_per_step": 0,
        "window": {"wall_ms": 600.0, "real_steps": 6},
        **more,
    }


@pytest.mark.parametrize(
    ("more", "word"),
    [
        ({}, "gpu"),
        ({"dataload_ms": 40.0, "gpu_busy_ms_per_step": 50.0}, "dataloader"),  # 40 and 10
        ({"dataload_ms": 30.0, "gpu_busy_ms_per_step": 40.0}, "mixed"),  # 30 and 30
        ({"gpu_busy_ms_per_step": 40.0}, "host"),
        # it calls this one dataloader: the device works while the host waits
        ({"dataload_ms": 30.0, "gpu_busy_ms_per_step": 95.0}, "gpu"),
        # on a CPU it writes zeros for the device
        ({"dataload_ms": 60.0, "gpu_busy_ms_per_step": 0.0}, "dataloader"),
        ({"gpu_busy_ms_per_step": 0.0, "launches_per_step": 0}, "inconclusive"),
        # it calls this one memory pressure: two streams added up
        ({"gpu_busy_ms_per_step": 120.0}, "inconclusive"),
        ({"step_ms": 0.0}, "inconclusive"),
    ],
)
def test_what_a_libreyolo_profile_says(tmp_path: Path, more: dict[str, Any], word: str) -> None:
    found = foreign_verdict(written(tmp_path, json.dumps(libreyolo(**more)), "profile.json"))
    assert found.word == word
    assert found.confidence == "low"
    assert any("added up" in text for text in found.unknown)


def test_a_libreyolo_profile_of_a_cpu_knows_nothing_of_the_device(tmp_path: Path) -> None:
    more = {"gpu_busy_ms_per_step": 0.0, "launches_per_step": 0}
    found = foreign_verdict(written(tmp_path, json.dumps(libreyolo(**more)), "profile.json"))
    assert {each.of for each in found.gains} == {"dataloader"}
    assert any("no kernel was traced" in text for text in found.unknown)


def test_memory_pressure_is_a_cause_and_no_word_of_its_own(tmp_path: Path) -> None:
    more = {"cuda_mallocs_per_step": 8, "bound": "memory-pressure"}
    found = foreign_verdict(written(tmp_path, json.dumps(libreyolo(**more)), "profile.json"))
    assert (found.word, found.cause) == ("gpu", "memory pressure")
    assert found.evidence[-1].value == "calls it memory-pressure"


@pytest.mark.parametrize(
    ("text", "why", "hint"),
    [
        (json.dumps(libreyolo(mode="inference")), "a profile of inference", "profile run"),
        (json.dumps(libreyolo(schema="libreyolo.profile.analysis/v2")), "is no libreyolo", None),
        (WHOLE, "is no profile of costplan or of LibreYOLO", "use --trace"),
        ("{}", "is no profile of costplan or of LibreYOLO", "its own profile.json"),
        ('{"schema": ', "is not JSON", "cut off"),
    ],
)
def test_what_is_no_such_profile_is_refused(
    tmp_path: Path, text: str, why: str, hint: str | None
) -> None:
    with pytest.raises(InputError, match=why) as caught:
        foreign_verdict(written(tmp_path, text, "profile.json"))
    assert hint is None or hint in (caught.value.hint or "")
