"""Which bursts a program gets and what they tell, on a made-up CUDA with a clock by hand."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import pytest

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch")

import madegpu  # noqa: E402
from madegpu import Made, led, names  # noqa: E402

from costplan.profiler import answering, taken, tracing  # noqa: E402
from costplan.profiler.gpuside import Seen  # noqa: E402

if TYPE_CHECKING:
    from pathlib import Path

    from costplan.records.profiles import Profile
    from costplan.records.ranks import RankTaken

OWN = dict(vars(torch.Tensor))


def told(rank: RankTaken, **more: Any) -> Profile:
    return answering.profile_of([rank], code=0, spent_s=60.0, **more)


def change_s(profile: Profile, name: str) -> float:
    (found,) = [each for each in profile.what_if if each.change == name]
    assert found.basis == "measured"
    return found.step_s


def test_what_may_end_the_program_comes_last(tmp_path: Path, monkeypatch: Any) -> None:
    rank = led(Made(), tmp_path, monkeypatch)
    assert names(rank) == ["real", "replay", "resident", "syncs", "half", "double"]
    assert rank.facts.refused == {}
    assert rank.facts.finished


def test_a_batch_that_lies_on_the_device_shows_what_its_copy_costs(
    tmp_path: Path, monkeypatch: Any
) -> None:
    rank = led(Made(copy_s=0.020, device_s=0.005), tmp_path, monkeypatch)
    found, profile = taken.measured(rank), told(rank)
    # The host waits for each copy: 20 + 5, and 5 where nothing is copied; half of it 10 + 2.5
    assert (found.replay_host_s, found.replay_s) == pytest.approx((0.025, 0.005), rel=1e-3)
    assert found.half_s == pytest.approx(0.0025, rel=1e-2)
    assert (profile.verdict.word, profile.verdict.cause) == ("dataloader", "host-to-device copy")
    assert change_s(profile, "a batch that is on the device already") == pytest.approx(0.005, 1e-3)
    assert change_s(profile, "a loader that costs nothing") == pytest.approx(0.025, rel=1e-3)


def test_what_holds_the_host_is_counted_in_a_visit_of_its_own(
    tmp_path: Path, monkeypatch: Any
) -> None:
    # 10 ms of device, a wait for it, 14 of host
    rank = led(Made(syncs=True, device_s=0.010, host_s=0.014), tmp_path, monkeypatch)
    (watched,) = [each for each in rank.phases if each.name == "syncs"]
    assert list(watched.blocked_s) == pytest.approx([0.010] * len(watched.steps_s))
    assert all(each.blocked_s == () for each in rank.phases if each is not watched)
    profile = told(rank)
    assert profile.verdict.cause == "synchronising calls"
    assert profile.step_s.expected == pytest.approx(0.0245, rel=1e-3)


def test_the_copy_is_no_wait_where_the_batch_can_lie_on_the_device(
    tmp_path: Path, monkeypatch: Any
) -> None:
    rank = led(Made(copy_s=0.020, device_s=0.005), tmp_path, monkeypatch)
    (watched,) = [each for each in rank.phases if each.name == "syncs"]
    assert set(watched.blocked_s) == {0.0}


def test_no_call_is_wrapped_while_the_clock_counts_but_where_waits_are(
    tmp_path: Path, monkeypatch: Any
) -> None:
    real_add, real_settle = madegpu.bursts.Phase.add, madegpu.gauges.Gauges._settling
    counted, settling = set(), set()

    def add(phase: Any, *given: Any) -> None:
        counted.add((phase.name, torch.Tensor.to.__name__))
        real_add(phase, *given)

    def settle(gauge: Any) -> None:
        settling.add((gauge.name, torch.Tensor.to.__name__))
        real_settle(gauge)

    monkeypatch.setattr(madegpu.bursts.Phase, "add", add)
    monkeypatch.setattr(madegpu.gauges.Gauges, "_settling", settle)
    rank = led(Made(), tmp_path, monkeypatch)
    # `to` is the made-up device's own, `call` counts waits, `move` sees where a batch goes
    assert counted == {(name, "call" if name == "syncs" else "to") for name in names(rank)}
    assert ("replay", "move") in settling


def test_a_visit_settles_anew_where_the_program_was_held(tmp_path: Path, monkeypatch: Any) -> None:
    settled: list[tuple[str, int]] = []
    real_init = madegpu.bursts.Phase.__init__

    def init(phase: Any, wanted: Any, settle: int, **more: Any) -> None:
        settled.append((wanted.name, settle))
        real_init(phase, wanted, settle, **more)

    init.__kwdefaults__ = real_init.__kwdefaults__
    monkeypatch.setattr(madegpu.bursts.Phase, "__init__", init)
    led(Made(), tmp_path, monkeypatch)
    again = [two for one, two in itertools.pairwise(settled) if one[0] == two[0]]
    assert again == [("replay", 2)]  # the loader alone came between


@pytest.mark.parametrize(
    ("made", "why"),
    [
        (Made(moves=False), "the program was not seen to move its batch"),
        (Made(pins=True), "the program also uses on the host what it moves"),
        (Made(reads=True), "the program also uses on the host what it moves"),
    ],
)
def test_a_batch_that_must_stay_on_the_host_is_not_given_on_the_device(
    made: Made, why: str, tmp_path: Path, monkeypatch: Any
) -> None:
    rank = led(made, tmp_path, monkeypatch)
    assert names(rank) == ["real", "replay", "syncs", "half", "double"]
    assert rank.facts.refused == {"resident": why}
    assert f"left out: a batch on the device already: {why}" in told(rank).notices


def test_without_a_gpu_nothing_looks_for_one(tmp_path: Path, monkeypatch: Any) -> None:
    rank = led(Made(), tmp_path, monkeypatch, on_gpu=False, kernels=True)
    assert names(rank) == ["real", "replay", "half", "double"]
    why = "no GPU is in use, so that there is no work of one to see"
    assert rank.facts.refused == {"kernels": why}
    assert f"left out: a trace of the device's work: {why}" in told(rank).notices
    assert list(tmp_path.glob("*.trace")) == []


# 2 fixed + 8 of the batch: 18 for twice of it, all that is free or reserved here
@pytest.mark.parametrize(("grows_gb", "tried"), [(8.0, True), (8.1, False)])
def test_twice_the_batch_is_not_tried_where_it_cannot_fit(
    grows_gb: float, tried: bool, tmp_path: Path, monkeypatch: Any
) -> None:
    rank = led(Made(grows_bytes=int(grows_gb * 1e9)), tmp_path, monkeypatch)
    assert ("double" in names(rank)) is tried
    said = [text for text in told(rank).notices if text.startswith("no double batch")]
    # 2 + 2 x 8.1
    assert said == ([] if tried else [
        "no double batch could be made: it would need 18.2 GB of the device's memory, of which the "
        "program can have 18.0 GB"
    ])  # fmt: skip
    assert told(rank).peak_memory_gb == pytest.approx(2 + grows_gb)  # of the batch as it is


def test_a_few_steps_are_traced_where_it_is_asked_for(tmp_path: Path, monkeypatch: Any) -> None:
    rank = led(Made(), tmp_path, monkeypatch, kernels=True)
    assert names(rank)[-2:] == ["kernels", "double"]
    (path,) = tmp_path.glob("*.trace")
    facts = tracing.trace_facts(path)
    assert len(facts.steps) == 6
    blind = [text for text in told(rank, seen=Seen((), facts)).notices if "tracer saw" in text]
    assert len(blind) == 1  # the CUDA here is made up: no kernel ever ran


def test_a_tracer_that_cannot_work_costs_its_burst_alone(tmp_path: Path, monkeypatch: Any) -> None:
    own = torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU])
    rank = led(Made(), tmp_path, monkeypatch, kernels=True)
    assert rank.facts.untraced == "RuntimeError: the program traces itself"
    assert names(rank)[-1] == "double"
    del own


class Fixed(Made):
    """A loop that is written for one size of batch."""

    def step(self, batch: list[Any], cuda: Any, clock: Any) -> bool:
        batch[0].view(8, 4)
        return super().step(batch, cuda, clock)


class Choosy(Made):
    """A loop that leaves out what it cannot use."""

    def step(self, batch: list[Any], cuda: Any, clock: Any) -> bool:
        clock.now_s += 0.001
        return len(batch[0]) == 8 and super().step(batch, cuda, clock)


def test_a_burst_that_ends_the_program_leaves_what_was_measured_before(
    tmp_path: Path, monkeypatch: Any
) -> None:
    rank = led(Fixed(copy_s=0.020, device_s=0.005), tmp_path, monkeypatch)
    assert names(rank) == ["real", "replay", "resident", "syncs"]
    assert rank.facts.phase == "half"
    profile = answering.profile_of([rank], code=1, spent_s=60.0)
    assert profile.verdict.cause == "host-to-device copy"
    assert profile.program_exit_code is None
    assert profile.notices[0] == (
        "the program fails with half the batch: RuntimeError: shape '[8, 4]' is invalid for input "
        "of size 16"
    )


class Checked(Made):
    """A loop that looks where its batch lies."""

    def step(self, batch: list[Any], cuda: Any, clock: Any) -> bool:
        if batch[0].device.type != "cpu":
            raise RuntimeError("expected a batch of the CPU")
        return super().step(batch, cuda, clock)


class Full(Made):
    """A loop whose device has no memory for twice the batch, which no peak tells."""

    def step(self, batch: list[Any], cuda: Any, clock: Any) -> bool:
        if len(batch[0]) > 8:
            raise RuntimeError("CUDA out of memory. Tried to allocate 2.00 GiB.")
        return super().step(batch, cuda, clock)


@pytest.mark.parametrize(
    ("made", "kinds", "said"),
    [
        (Checked(), ["real", "replay"], "the program fails with a batch that lies on the device "
         "already: RuntimeError: expected a batch of the CPU"),
        (Full(), ["real", "replay", "resident", "syncs", "half"],
         "twice the batch does not fit: out of memory"),
    ],
)  # fmt: skip
def test_each_burst_that_ends_the_program_is_named(
    made: Made, kinds: list[str], said: str, tmp_path: Path, monkeypatch: Any
) -> None:
    rank = led(made, tmp_path, monkeypatch)
    assert names(rank) == kinds
    profile = answering.profile_of([rank], code=1, spent_s=60.0)
    assert (profile.notices[0], profile.program_exit_code) == (said, None)
    assert profile.verdict.word == "gpu"
    assert profile.box.gpu_count == 1


def test_a_program_that_takes_no_half_batch_is_not_offered_it_for_ever(
    tmp_path: Path, monkeypatch: Any
) -> None:
    rank = led(Choosy(), tmp_path, monkeypatch)
    halves = [each for each in rank.phases if each.name == "half"]
    assert rank.facts.finished
    assert len(halves) <= 3
    assert all(each.means_s == () for each in halves)
    assert taken.measured(rank).half_s is None


@pytest.mark.parametrize(
    ("on_gpu", "kernels", "kinds"),
    [
        (True, True, ["real", "syncs", "kernels"]), (True, False, ["real", "syncs"]),
        (False, True, ["real"]),
    ],
)  # fmt: skip
def test_a_program_that_cannot_be_fed_is_watched_all_the_same(
    on_gpu: bool, kernels: bool, kinds: list[str], tmp_path: Path, monkeypatch: Any
) -> None:
    made = Made(loads=False, syncs=True, device_s=0.002, host_s=0.010)
    rank = led(made, tmp_path, monkeypatch, on_gpu=on_gpu, kernels=kernels)
    assert names(rank) == kinds
    assert told(rank).blocked_s == (pytest.approx(0.002) if on_gpu else None)


def test_a_program_that_trains_on_is_neither_watched_nor_traced(
    tmp_path: Path, monkeypatch: Any
) -> None:
    made = Made()
    real_step = made.step

    def step(batch: list[Any], cuda: Any, clock: Any) -> bool:
        if clock.now_s > 200:
            raise RuntimeError("the end of the program")
        return real_step(batch, cuda, clock)

    monkeypatch.setattr(made, "step", step)
    rank = led(made, tmp_path, monkeypatch, keep_going=True, kernels=True)
    assert names(rank) == ["real"]
    assert rank.facts.finished


@pytest.mark.parametrize("made", [Made(), Made(moves=False), Fixed()])
def test_torch_is_as_it_was_when_the_bursts_are_over(
    made: Made, tmp_path: Path, monkeypatch: Any
) -> None:
    led(made, tmp_path, monkeypatch)
    monkeypatch.undo()
    assert dict(vars(torch.Tensor)) == OWN
