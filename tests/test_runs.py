"""Run folders of each trainer, as they lie on a disk: whole, torn, old and odd."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest

from costplan.box import files, signals
from costplan.box.tables import csv_rows
from costplan.records.signals import FileText, RunSeen

T0 = 1_700_000_000


@pytest.fixture(autouse=True)
def _no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "PAUSE_S", 0.0)


def put(path: Path, text: str, *, at_s: float = T0) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    os.utime(path, (at_s, at_s))
    return path


def seen(path: Path) -> RunSeen:
    (found,) = signals.read([path]).runs
    return found


def counters(run: RunSeen) -> dict[str, tuple[float, float]]:
    return {each.name: (each.value, each.changed_at_s - T0) for each in run.counters}


STATUS: dict[str, Any] = {
    "schema_version": 1,
    "pid": 321,
    "total_epochs": 100,
    "started_at": "2023-11-14T22:00:00Z",
    "state": "running",
    "current_epoch": 12,
    "completed_epochs": 12,
    "epoch_seconds": 61.5,
    "mean_epoch_seconds": 60.0,
    "eta_seconds": 5280.0,
    "updated_at": "2023-11-14T22:13:20Z",
}


def status(folder: Path, **more: Any) -> Path:
    put(folder / "status.json", json.dumps(STATUS | more))
    return folder


# --- LibreYOLO ----------------------------------------------------------------------------------


def test_status_json_tells_state_process_rhythm_and_what_is_left(tmp_path: Path) -> None:
    put(tmp_path / "metrics.jsonl", '{"epoch": 11}\n{"epoch": 12}\n{"epo', at_s=T0 + 5)
    put(tmp_path / "train.log", "12345", at_s=T0 + 9)
    put(tmp_path / "weights/last.pt", "123", at_s=T0 + 7)
    put(tmp_path / "weights/best.pt", "1234", at_s=T0 + 1)
    run = seen(status(tmp_path))
    assert (run.kind, run.state, run.pid, run.interval_s, run.total) == (
        *("libreyolo", "running", 321, 61.5, 100.0),
    )
    assert (run.started_at_s, run.updated_at_s) == (1_699_999_200.0, T0)
    assert (run.eta_s, run.eta_at_s, run.newest_at_s) == (5280.0, T0, T0 + 9)
    assert run.checkpoint is not None
    assert (run.checkpoint.path, run.checkpoints_bytes) == ("weights/last.pt", 7)
    assert counters(run) == {
        "epoch": (12, 0),
        "metrics": (12, 5),
        "log": (38, 9),  # metrics.jsonl grows line by line too
        "checkpoint": (T0 + 7, 7),
    }


def test_before_the_first_epoch_there_is_no_rhythm(tmp_path: Path) -> None:
    status(
        tmp_path,
        current_epoch=None,
        completed_epochs=None,
        epoch_seconds=None,
        mean_epoch_seconds=None,
        eta_seconds=None,
    )
    run = seen(tmp_path)
    assert (run.state, run.interval_s, run.eta_s, run.counters) == ("running", None, None, ())


def test_an_error_is_told_by_its_kind_and_not_by_its_message(tmp_path: Path) -> None:
    status(tmp_path, state="failed", error={"type": "OSError", "message": "token=secret"})
    run = seen(tmp_path)
    assert (run.state, run.error) == ("failed", "OSError")
    assert "secret" not in run.model_dump_json()


@pytest.mark.parametrize(
    "text",
    ["", "{", '{"state": "runn', "[]", '"running"', '{"state": "paused"}', "{}", "\0", "[" * 9_999],
)
def test_a_torn_or_foreign_status_is_a_problem(tmp_path: Path, text: str) -> None:
    put(tmp_path / "status.json", text)
    assert seen(tmp_path).problem is not None


@pytest.mark.parametrize("wrong", ["12", True, -1, [], None, 1e999])
def test_a_field_of_another_type_counts_as_not_told(tmp_path: Path, wrong: Any) -> None:
    run = seen(status(tmp_path, pid=wrong, started_at=wrong, error=wrong))
    assert (run.pid, run.started_at_s, run.error, run.state) == (None, None, None, "running")
    assert run.names_process


def test_numbers_that_are_none_count_as_not_told(tmp_path: Path) -> None:
    run = seen(status(tmp_path, epoch_seconds=float("nan"), mean_epoch_seconds=-3, eta_seconds=-1))
    assert (run.interval_s, run.eta_s) == (None, None)


def test_a_status_that_is_replaced_meanwhile_is_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path / "status.json", '{"state": "runn')
    monkeypatch.setattr(time, "sleep", lambda _: status(tmp_path))
    assert seen(tmp_path).state == "running"


def test_results_csv_beside_summary_json_gives_each_epoch_its_own_time(tmp_path: Path) -> None:
    put(tmp_path / "results.csv", "epoch,time\n1,50\n2,70\n3,60\n")
    put(tmp_path / "summary.json", "{}")
    run = seen(tmp_path)
    assert (run.kind, run.state, run.interval_s) == ("libreyolo", "completed", 60.0)


# --- Ultralytics --------------------------------------------------------------------------------


def test_ultralytics_time_adds_up_over_the_run(tmp_path: Path) -> None:
    put(tmp_path / "results.csv", "  epoch,   time, loss\n 1, 50, 0.9\n 2, 120, nan\n 3, 180, 0\n")
    put(tmp_path / "args.yaml", "task: detect\nepochs: 10\n")
    run = seen(tmp_path)
    assert (run.kind, run.state, run.interval_s, run.total) == ("ultralytics", None, 60.0, 10.0)
    assert (run.eta_s, run.names_process, counters(run)) == (420.0, False, {"epoch": (3, 0)})


def test_ultralytics_is_complete_at_its_last_epoch(tmp_path: Path) -> None:
    put(tmp_path / "results.csv", "epoch,time\n1,50\n2,120\n")
    put(tmp_path / "args.yaml", "epochs: 2\n")
    assert seen(tmp_path).state == "completed"


@pytest.mark.parametrize(
    ("text", "last"),
    [
        ("epoch,time\n1,5\n2,9", "1"),  # torn
        ("epoch,time\n1,5\n2\n", "1"),  # short
        ("epoch,time\n1,5\nepoch,time,map\n2,9,0.5\n", "2"),  # a column more
        ("epoch,time\r\n1,5\r\n", "1"),
    ],
)
def test_only_the_last_whole_row_counts(text: str, last: str) -> None:
    assert csv_rows(FileText(head=text))[-1]["epoch"] == last


@pytest.mark.parametrize("rest", ["9" * 200_000, '"' + "2,3\n" * 50_000])
def test_a_field_that_never_ends_leaves_what_came_before_it(rest: str) -> None:
    rows = csv_rows(FileText(head=f"epoch,time\n1,5\n2,{rest}\n"))
    assert [row["epoch"] for row in rows][:1] == ["1"]


def test_figures_that_overflow_end_no_look(tmp_path: Path) -> None:
    """A guard that watches for days meets every torn file there is."""
    put(tmp_path / "a/results.csv", "epoch,time\n1,50\n2,120\n")
    put(tmp_path / "a/args.yaml", f"epochs: {'9' * 400}\n")
    put(tmp_path / "b/results.csv", "epoch,time\n1,1e308\n2,1e308\n3,1e308\n")
    put(tmp_path / "b/metrics.jsonl", "{}\n")
    for step, at_s in ((1e-300, T0), (2e-300, T0 + 60)):
        state = json.dumps({"global_step": step, "max_steps": 1e15})
        put(tmp_path / f"c/checkpoint-{at_s}/trainer_state.json", state, at_s=at_s)
    assert (seen(tmp_path / "a").total, seen(tmp_path / "a").interval_s) == (None, 70.0)
    assert seen(tmp_path / "b").interval_s is None
    assert seen(tmp_path / "c").problem == "its figures make no sense together"


def test_of_a_long_table_both_ends_are_read(tmp_path: Path) -> None:
    rows = "".join(f"{n},{n * 10},{'x' * 90}\n" for n in range(1, 20_001))
    put(tmp_path / "results.csv", "epoch,time,note\n" + rows)
    run = seen(tmp_path)
    assert (counters(run)["epoch"][0], run.interval_s) == (20_000, 10)


# --- Hugging Face -------------------------------------------------------------------------------


def trainer_state(folder: Path, step: int, *, at_s: float, history: int = 1) -> None:
    text = json.dumps(
        {
            "epoch": 1.0,
            "global_step": step,
            "log_history": [{"step": n, "global_step": 5} for n in range(history)],
            "max_steps": 1000,
        },
        indent=2,
    )
    put(folder / f"checkpoint-{step}/trainer_state.json", text, at_s=at_s)
    put(folder / f"checkpoint-{step}/model.safetensors", "m", at_s=at_s)


def test_the_highest_whole_checkpoint_counts_by_number(tmp_path: Path) -> None:
    for n, step in enumerate((400, 800, 1000)):
        trainer_state(tmp_path, step, at_s=T0 + n * 100)
    put(tmp_path / "checkpoint-1000/trainer_state.json", '{"global_step": 10')
    run = seen(tmp_path)
    assert (run.kind, run.state, run.interval_s, run.total) == ("huggingface", None, 100, 1000)
    assert (counters(run)["step"], run.eta_s, run.eta_at_s) == ((800, 100), 50.0, T0 + 100)


def test_all_steps_done_is_complete(tmp_path: Path) -> None:
    trainer_state(tmp_path, 1000, at_s=T0)
    run = seen(tmp_path)
    assert (run.state, run.interval_s, run.eta_s) == ("completed", None, None)


def test_the_step_of_a_long_history_is_found_at_the_ends_of_the_file(tmp_path: Path) -> None:
    trainer_state(tmp_path, 800, at_s=T0, history=30_000)
    assert (tmp_path / "checkpoint-800/trainer_state.json").stat().st_size > files.WHOLE_BYTES
    run = seen(tmp_path)
    assert (counters(run)["step"][0], run.total) == (800, 1000)


# --- Lightning, TensorBoard, logs ---------------------------------------------------------------


def test_lightning_tells_its_step_but_no_rhythm(tmp_path: Path) -> None:
    put(tmp_path / "version_0/metrics.csv", "epoch,step,loss\n0,49,1\n", at_s=T0)
    put(tmp_path / "version_1/metrics.csv", "epoch,step,loss\n0,49,1\n1,99,\n", at_s=T0 + 50)
    run = seen(tmp_path)
    assert (run.kind, run.interval_s) == ("lightning", None)
    assert counters(run) == {"step": (99, 50), "epoch": (1, 50)}


def test_event_files_count_by_size_and_time(tmp_path: Path) -> None:
    put(tmp_path / "events.out.tfevents.1700000000.host.1.0", "12", at_s=T0 + 3)
    put(tmp_path / "events.out.tfevents.1700000009.host.1.1", "345", at_s=T0 + 8)
    run = seen(tmp_path)
    assert (run.kind, counters(run)) == ("tensorboard", {"event files": (5, 8)})


@pytest.mark.parametrize("name", ["train.log", "nohup.out", "screenlog.0"])
def test_any_log_file_may_be_given_by_itself(tmp_path: Path, name: str) -> None:
    run = seen(put(tmp_path / name, "12345"))
    assert (run.kind, counters(run)) == ("log", {"log": (5, 0)})


# --- what is no run -----------------------------------------------------------------------------


def test_a_folder_that_is_missing_is_a_problem_and_not_a_run_that_is_over(tmp_path: Path) -> None:
    assert seen(tmp_path / "none").problem == "nothing of that name can be read"
    assert seen(tmp_path / "none-*").problem == "nothing of that name can be read"


def test_an_empty_folder_shows_no_progress(tmp_path: Path) -> None:
    assert seen(tmp_path).problem == "holds nothing that shows progress"


def test_a_pattern_names_every_folder_it_matches(tmp_path: Path) -> None:
    for name in ("a", "b", "c"):
        put(tmp_path / f"runs/{name}/train.log", "1")
    found = signals.read([tmp_path / "runs/[ab]"]).runs
    assert [Path(each.path).name for each in found] == ["a", "b"]


def test_a_folder_whose_name_looks_like_a_pattern_is_taken_as_it_is(tmp_path: Path) -> None:
    put(tmp_path / "run[1]/train.log", "1")
    assert seen(tmp_path / "run[1]").problem is None


def test_links_out_of_the_folder_are_never_followed(tmp_path: Path) -> None:
    outside = status(tmp_path / "outside")
    inside = tmp_path / "inside"
    inside.mkdir()
    (inside / "status.json").symlink_to(outside / "status.json")
    (inside / "weights").symlink_to(outside)
    assert seen(inside).problem == "holds nothing that shows progress"


def test_a_pipe_in_place_of_a_file_blocks_nobody(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "status.json")
    assert seen(tmp_path).problem is not None
    assert seen(tmp_path / "status.json").problem is not None


def test_a_folder_of_very_many_files_is_a_problem(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "MOST_FILES", 3)
    for n in range(4):
        put(tmp_path / f"{n}.log", "1")
    assert seen(tmp_path).problem == "holds more than 3 files"


def test_a_name_that_is_no_text_is_read_all_the_same(tmp_path: Path) -> None:
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff.log")).write_text("12")
    assert counters(seen(tmp_path))["log"][0] == 2
