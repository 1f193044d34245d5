"""The builtin programs with torch: sizes of models, data made and read, steps that train."""

from __future__ import annotations

import importlib.util
import json
import signal
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch")

from costplan.profiler.builtin import (  # noqa: E402
    boxes,
    gpt,
    images,
    pictures,
    resnet,
    tokens,
    training,
)
from costplan.profiler.builtin.fitting import Fit  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Callable

CPU = torch.device("cpu")
TASKS: dict[str, Callable[[], training.Task]] = {
    "resnet18": lambda: images.task("resnet18"),
    "detector": lambda: boxes.TASKS["detector"],
    "gpt-mini": lambda: tokens.task("gpt-mini"),
}


def parameters(net: Any) -> int:
    return sum(each.numel() for each in net.parameters())


# --- models -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "count"),
    [
        # stem 3*64*49 + 128 = 9,536; stages of two blocks of two 3x3 convolutions, two numbers of
        # normalisation to a channel, 1x1 where the width doubles:
        # 147,968 + 525,568 + 2,099,712 + 8,393,728; 512*1000 + 1000 = 513,000
        ("resnet18", 11_689_512),
        # stem 9,536; stages of 3, 4, 6, 3 bottlenecks:
        # 215,808 + 1,219,584 + 7,098,368 + 14,964,736; 2048*1000 + 1000 = 2,049,000
        ("resnet50", 25_557_032),
    ],
)
def test_a_resnet_has_the_parameters_of_the_paper(name: str, count: int) -> None:
    assert parameters(resnet.resnet(name)) == count


@pytest.mark.parametrize(
    ("name", "count"),
    [
        # 256*384 tokens + 256*384 places = 196,608; a block: 2*768 of norms,
        # 384*1152 + 1152, 384*384 + 384, 384*1536 + 1536, 1536*384 + 384:
        # 1,774,464, six of them; 768
        ("gpt-mini", 10_844_160),
        # 50,257*768 + 1024*768 = 39,383,808; 12 blocks of 7,087,872; 1,536
        ("gpt2", 124_439_808),
    ],
)
def test_a_transformer_has_the_parameters_of_its_shape(name: str, count: int) -> None:
    assert parameters(gpt.Gpt(gpt.SHAPES[name])) == count


def test_the_detector_has_a_trunk_three_sides_a_tower_and_three_heads() -> None:
    # trunk 11,689,512 - 513,000; sides 1x1 of 128, 256, 512 to 128: 16,512 + 32,896 + 65,664;
    # tower 2 * (128*128*9 + 128) = 295,168; heads 3x3 to 80, 4, 1: 92,240 + 4,612 + 1,153
    assert parameters(boxes.Detector()) == 11_684_757


def test_a_trunk_halves_the_picture_at_each_stage() -> None:
    levels = resnet.trunk18()(torch.randn(1, 3, 64, 64))
    # 64 / 4, / 8, / 16, / 32
    assert [tuple(each.shape[1:]) for each in levels] == [
        (64, 16, 16), (128, 8, 8), (256, 4, 4), (512, 2, 2),
    ]  # fmt: skip


def test_a_classifier_scores_a_thousand_classes() -> None:
    assert resnet.resnet("resnet50")(torch.randn(2, 3, 32, 32)).shape == (2, 1000)


def test_a_transformer_does_not_see_what_follows() -> None:
    net = gpt.Gpt(gpt.Shape(vocabulary=11, context=8, layers=2, heads=2, width=16)).eval()
    ids = torch.randint(11, (1, 8))
    other = ids.clone()
    other[0, 5] = (ids[0, 5] + 1) % 11
    before, after = net(ids)[0], net(other)[0]
    assert before.shape == (8, 11)
    torch.testing.assert_close(before[:5], after[:5])
    assert (before[5:] - after[5:]).abs().amax() > 1e-6


# --- boxes --------------------------------------------------------------------------------------


def test_places_are_the_centres_of_all_levels_the_finest_first() -> None:
    found = boxes.places(64)
    # 8*8 + 4*4 + 2*2 places; the first at half of an eighth, the last at three quarters
    assert found.shape == (84, 2)
    assert found[0].tolist() == [1 / 16, 1 / 16]
    assert found[1].tolist() == [3 / 16, 1 / 16]
    assert found[-1].tolist() == [0.75, 0.75]


def test_a_place_belongs_to_the_smallest_box_around_it() -> None:
    centres = torch.tensor([[0.5, 0.5], [0.1, 0.1], [0.9, 0.9]])
    labels = torch.tensor([[
        [3, 0.0, 0.0, 0.75, 0.75],
        [5, 0.25, 0.25, 0.75, 0.625],
        [-1, 0.0, 0.0, 1.0, 1.0],
    ]])  # fmt: skip
    number, sides = boxes.assigned(centres, labels)
    assert number.tolist() == [[1, 0, -1]]  # a box of class -1 is none
    # 0.5 - 0.25, 0.5 - 0.25, 0.75 - 0.5, 0.625 - 0.5
    assert sides[0, 0].tolist() == [0.25, 0.25, 0.25, 0.125]


def test_batches_of_boxes_are_filled_up_with_none() -> None:
    image = torch.zeros(3, 4, 4)
    together, labels = boxes.collate([(image, boxes.boxes(1)), (image, boxes.boxes(3))])
    assert (together.shape, labels.shape) == ((2, 3, 4, 4), (2, 3, 5))
    assert labels[0, 1:, 0].tolist() == [-1.0, -1.0]
    assert (labels[..., 3:] >= labels[..., 1:3]).all()


# --- data ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["png", "jpg"])
def test_a_picture_comes_back_from_its_file(tmp_path: Path, kind: str) -> None:
    if kind == "jpg":
        pytest.importorskip("PIL")
    across = torch.arange(64, dtype=torch.uint8).expand(48, 64)
    picture = torch.stack((across, 2 * across, 3 * across), 2).contiguous()
    path = tmp_path / f"0.{kind}"
    path.write_bytes(pictures.encoded(picture, kind))
    found = pictures.decoded(str(path))
    assert found.shape == (48, 64, 3)
    apart = (found.int() - picture.int()).abs()
    assert apart.amax() == 0 if kind == "png" else apart.float().mean() < 4


@pytest.mark.parametrize(("spec", "kind"), [(None, "png"), (object(), "jpg")])
def test_without_pillow_files_are_png_and_it_is_said(
    monkeypatch: pytest.MonkeyPatch, spec: object, kind: str
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: spec)
    assert pictures.kind() == kind
    assert ("Pillow is not installed" in pictures.described()) is (kind == "png")


def test_files_are_read_again_and_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(pictures, "kind", lambda: "png")
    size = pictures.make(str(tmp_path), files=2)
    assert size == sum(path.stat().st_size for path in tmp_path.iterdir())
    data = pictures.Photos(str(tmp_path), classes=10, size=32)
    assert len(data) == 1_281_167
    assert [Path(path).name for path in data.paths] == ["00000.png", "00001.png"]
    image, label = data[1_281_166]
    assert (tuple(image.shape), label) == ((3, 32, 32), 6)
    assert image.dtype == torch.float32


def test_a_crop_is_a_part_of_the_picture() -> None:
    torch.manual_seed(0)
    picture = torch.arange(30 * 40 * 3).remainder(251).to(torch.uint8).view(30, 40, 3)
    shapes = {tuple(pictures.random_crop(picture).shape) for _ in range(200)}
    assert len(shapes) > 50
    assert all(0 < tall <= 30 and 0 < wide <= 40 and deep == 3 for tall, wide, deep in shapes)
    # the smallest share of the area is 8 %: 96 of 1,200 pixels, less rounding of both sides
    assert min(tall * wide for tall, wide, _ in shapes) >= 80


def test_windows_of_tokens_follow_one_another(tmp_path: Path) -> None:
    shape = gpt.SHAPES["gpt2"]
    words, size = tokens.make(str(tmp_path), shape, count=3 * 1024 + 1)
    assert (words, size) == ("3,073 random tokens", 6_146)
    assert [path.stat().st_size for path in tmp_path.iterdir()] == [6_146]
    data = tokens.Windows(str(tmp_path), 1024)
    assert len(data) == 3
    every = [data[number] for number in range(3)]
    assert every[0][0][1:].tolist() == every[0][1][:-1].tolist()
    assert every[0][1][-1] == every[1][0][0]
    ids = torch.cat([first for first, _ in every])
    # ids above 32,767 do not come back below 0
    assert ids.amin() >= 0
    assert 40_000 < ids.amax() < 50_257


# --- training -----------------------------------------------------------------------------------


def small(name: str, monkeypatch: pytest.MonkeyPatch) -> training.Task:
    """Return a builtin with little data and small pictures."""
    monkeypatch.setattr(pictures, "FILES", 2)
    monkeypatch.setattr(pictures, "kind", lambda: "png")
    monkeypatch.setattr(images, "SIZE", 64)
    monkeypatch.setattr(boxes, "SIZE", 64)
    monkeypatch.setattr(tokens, "TOKENS", 10_000)
    monkeypatch.setattr(signal, "signal", lambda number, then: None)
    task = TASKS[name]()
    return task._replace(make=lambda folder: made(task, folder))


def made(task: training.Task, folder: str) -> tuple[str, int]:
    if task.make in (images.make, boxes.make):
        return "photos", pictures.make(folder, files=2)
    return tokens.make(folder, gpt.SHAPES["gpt-mini"], count=10_000)


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
@pytest.mark.parametrize("name", list(TASKS))
def test_a_step_changes_the_weights_and_gives_a_finite_loss(
    monkeypatch: pytest.MonkeyPatch, name: str, precision: str
) -> None:
    task = small(name, monkeypatch)
    nets: list[Any] = []

    def net() -> Any:
        nets.append(task.net())
        return nets[-1]

    step = training.stepper(task._replace(net=net), CPU, precision)
    before = [each.clone() for each in nets[0].parameters()]
    losses = [float(step(task.example(2))) for _ in range(2)]
    assert all(0 < loss < 1_000 for loss in losses)
    changed = [bool((a != b).any()) for a, b in zip(before, nets[0].parameters(), strict=True)]
    assert all(changed)


@pytest.mark.slow
def test_a_classifier_learns_what_it_sees_again(monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(0)
    task = small("resnet18", monkeypatch)
    step, example = training.stepper(task, CPU, "fp32"), task.example(4)
    losses = [float(step(example)) for _ in range(8)]
    assert losses[-1] < losses[0] / 2  # from ln 1000 = 6.9 down


@pytest.mark.parametrize("name", list(TASKS))
def test_a_program_trains_and_leaves_nothing_in_a_folder_of_its_own(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    task = small(name, monkeypatch)
    code = training.main({name: task}, [name, "--batch", "2", "--steps", "2"])
    assert code == 0
    assert "MB below" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_data_in_a_given_folder_is_left_to_who_gave_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    task = small("gpt-mini", monkeypatch)
    words = ["gpt-mini", "--batch", "2", "--steps", "1", "--folder", str(tmp_path)]
    assert training.main({"gpt-mini": task}, words) == 0
    assert [path.name for path in tmp_path.iterdir()] == ["tokens.bin"]


def test_ctrl_c_ends_a_program_without_its_data(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    task = small("gpt-mini", monkeypatch)

    def interrupted(net: Any, batch: Any) -> Any:
        raise KeyboardInterrupt

    assert training.main({"gpt-mini": task._replace(loss=interrupted)}, ["gpt-mini"]) == (
        128 + signal.SIGINT
    )
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("precision", ["tf32", "amp"])
def test_a_precision_of_cuda_is_refused_on_a_cpu(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, precision: str,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    words = ["gpt-mini", "--precision", precision]
    assert training.main({"gpt-mini": tokens.task("gpt-mini")}, words) == 2
    assert capsys.readouterr().err.startswith(f"error: --precision {precision}: needs a CUDA")
    words += ["--folder", str(tmp_path)]
    assert training.main({"gpt-mini": tokens.task("gpt-mini")}, words) == 2
    said = json.loads((tmp_path / "refused.json").read_text())
    assert said["error"] == f"--precision {precision}: needs a CUDA device, and torch sees none"


# --- the largest batch --------------------------------------------------------------------------


def plain(loss: Callable[[int], Any]) -> training.Task:
    """Return a task whose step does what `loss` does with the number of samples."""
    return training.Task(
        net=lambda: torch.nn.Linear(1, 1),
        optimizer=lambda parameters: torch.optim.SGD(parameters, 0.1),
        loss=lambda net, batch: loss(len(batch[0])) + net(batch[0]).sum(),
        example=lambda count: (torch.zeros(count, 1),),
        make=lambda folder: ("", 0),
        data=lambda folder: None,
    )


def test_a_step_forgets_the_gradients_of_the_one_before() -> None:
    net = torch.nn.Linear(1, 1)
    before = float(net.bias.detach())
    step = training.stepper(plain(lambda count: 0.0)._replace(net=lambda: net), CPU, "fp32")
    for _ in range(2):
        step((torch.zeros(1, 1),))
    # a gradient of 1, twice, at a rate of 0.1
    assert float(net.bias.detach()) == pytest.approx(before - 0.2)


def search(
    loss: Callable[[int], Any], monkeypatch: pytest.MonkeyPatch, *, kind: str = "cuda"
) -> Fit:
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: None)
    monkeypatch.setattr(torch.cuda, "empty_cache", lambda: None)
    task = plain(loss)
    return training.fit(task, training.stepper(task, CPU, "fp32"), torch.device(kind))


@pytest.mark.parametrize(("most", "fits"), [(1, 1), (7, 4), (8, 8), (9, 8)])
def test_memory_that_runs_out_on_the_device_ends_the_search(
    monkeypatch: pytest.MonkeyPatch, most: int, fits: int
) -> None:
    def loss(count: int) -> Any:
        if count > most:
            raise torch.cuda.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB.\nmore")
        return 0.0

    found = search(loss, monkeypatch)
    assert found.batch == fits
    assert found.ended == (f"{2 * fits} did not fit: CUDA out of memory. Tried to allocate 2 GiB.")


def test_where_not_even_one_sample_fits_there_is_no_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    def loss(count: int) -> Any:
        raise torch.cuda.OutOfMemoryError("CUDA out of memory.")

    assert search(loss, monkeypatch) == (None, "1 did not fit: CUDA out of memory.")


def test_another_error_of_the_first_sample_is_not_taken_for_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def loss(count: int) -> Any:
        raise RuntimeError("no kernel image is available")

    with pytest.raises(RuntimeError, match="no kernel image"):
        search(loss, monkeypatch)


def test_each_batch_is_tried_twice_for_the_state_of_the_optimizer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tried: list[int] = []

    def loss(count: int) -> Any:
        tried.append(count)
        if count > 2:
            raise torch.cuda.OutOfMemoryError("CUDA out of memory.")
        return 0.0

    search(loss, monkeypatch)
    assert tried == [1, 1, 2, 2, 4]


def test_on_a_cpu_the_search_ends_at_its_cap(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(training, "_free_bytes", lambda: None)
    assert search(lambda count: 0.0, monkeypatch, kind="cpu") == (32, "the search ends at 32")


def test_on_a_cpu_long_steps_end_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    now_s = [0.0]

    def loss(count: int) -> Any:
        now_s[0] += 0.2 * count  # 1.6 s at 8, the first above one second
        return 0.0

    monkeypatch.setattr(training, "_free_bytes", lambda: None)
    monkeypatch.setattr(time, "perf_counter", lambda: now_s[0])
    found = search(loss, monkeypatch, kind="cpu")
    assert found.batch == 8
    assert found.ended.startswith("a step of 8 takes 1.6 s")


def test_on_a_cpu_memory_that_would_run_out_ends_the_search(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # 1 GB to a sample: after 4 samples 4 GB are taken, and 8 would need 8 of the 7 that are free
    taken = [10_000_000_000]

    def loss(count: int) -> Any:
        taken[0] = 10_000_000_000 + count * 1_000_000_000
        return 0.0

    monkeypatch.setattr(training, "_free_bytes", lambda: 7_000_000_000)
    monkeypatch.setattr(training, "_peak_bytes", lambda: taken[0])
    found = search(loss, monkeypatch, kind="cpu")
    assert found == (4, "8 would need 8.0 of 7.0 GB free")
