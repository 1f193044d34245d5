"""What a program moves to the device, what waits for it, and that neither watch leaves a trace.

`meta` stands for the device: torch has it everywhere, and nothing comes back from it.
"""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import Any

import pytest

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch")
batches = pytest.importorskip("costplan.profiler.batches")
placed = pytest.importorskip("costplan.profiler.placed")
syncs = pytest.importorskip("costplan.profiler.syncs")
wrapping = pytest.importorskip("costplan.profiler.wrapping")

METHODS = (*syncs.READS, *syncs.MOVES, *placed.MOVES, *placed.STAYS)


def batch() -> dict[str, Any]:
    return {"image": torch.ones(4, 3), "lengths": torch.tensor([3, 2, 1, 1]), "names": ["a"] * 4,
            "more": (torch.zeros(4),)}  # fmt: skip


def watched(program: Any) -> dict[int, Any]:
    return dict(seen(program).places)


def seen(program: Any) -> Any:
    watch = placed.Placed()
    watch.on()
    given = batch()
    watch.given(list(batches.tensors(given)))
    try:
        program(given)
    finally:
        watch.off()
    return watch


def test_only_what_the_program_moves_is_given_to_it_on_the_device() -> None:
    def program(given: Any) -> None:
        given["image"].to("meta")
        given["lengths"].tolist()
        given["more"][0].to(device="meta", dtype=torch.float16)

    places = watched(program)
    assert places == {0: torch.device("meta"), 2: torch.device("meta")}
    made = batches.resident(batch(), places)
    assert [each.device.type for each in batches.tensors(made)] == ["meta", "cpu", "meta"]
    assert made["names"] == ["a"] * 4
    assert made["more"][0].dtype == torch.float32  # its conversion stays the program's own work


def test_a_tensor_that_is_converted_first_is_followed() -> None:
    assert watched(lambda given: given["image"].to(torch.float64).to("meta")) == {
        0: torch.device("meta")
    }


@pytest.mark.parametrize(
    ("program", "problem"),
    [
        (lambda given: given["image"].to("meta"), ""),
        (lambda given: None, "the program was not seen to move its batch"),
        (lambda given: given["lengths"].tolist(), "the program was not seen to move its batch"),
        # another tensor than the one that is moved
        (lambda given: (given["image"].to("meta"), given["lengths"].tolist()), ""),
        (lambda given: (given["lengths"].to("meta"), given["lengths"].tolist()),
         "the program also uses on the host what it moves"),
        (lambda given: (given["image"].to(torch.float64).tolist(), given["image"].to("meta")),
         "the program also uses on the host what it moves"),
    ],
)  # fmt: skip
def test_what_is_also_used_on_the_host_must_stay_there(program: Any, problem: str) -> None:
    assert seen(program).problem() == problem


def test_what_stays_on_the_host_or_is_no_part_of_the_batch_is_not_moved() -> None:
    assert watched(lambda given: (given["image"].to("cpu"), torch.ones(4).to("meta"))) == {}


def test_a_resident_batch_shares_nothing_with_the_one_it_was_made_from() -> None:
    given = batch()
    made = batches.resident(given, {})
    made["image"].zero_()
    assert given["image"].sum() == 12


def test_copies_cuts_and_joins_lie_in_pinned_memory_where_the_batch_did(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As in the CUDA build: a clone, or two tensors joined, are not pinned by themselves."""
    pins: list[int] = []
    monkeypatch.setattr(batches.device, "is_pinned", lambda tensor: tensor.data_ptr() in pins)

    def pinned(tensor: Any) -> Any:
        pins.append(tensor.data_ptr())
        return tensor

    monkeypatch.setattr(batches.device, "pinned", pinned)
    first = [torch.ones(4, 2), torch.ones(4)]
    pins.append(first[0].data_ptr())
    for made in (batches.cloned(first), batches.cloned(batches.first_half(first)),
                 batches.joined(first, [torch.ones(4, 2), torch.ones(4)]),
                 batches.resident(first, {})):  # fmt: skip
        assert [each.data_ptr() in pins for each in made] == [True, False]


def clocked(monkeypatch: pytest.MonkeyPatch, step_s: float = 0.25) -> None:
    """Let each look at the clock take some time."""
    now = iter(range(10_000))
    monkeypatch.setattr(syncs, "time", SimpleNamespace(perf_counter=lambda: next(now) * step_s))


def test_each_call_that_holds_the_host_counts_for_as_long_as_it_takes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clocked(monkeypatch)
    monkeypatch.setattr(syncs, "on_device", lambda value: True)
    loss, counts = torch.tensor(2.5), syncs.Syncs()
    counts.on()
    try:
        assert (loss.item(), loss.tolist(), float(loss), bool(loss), int(loss)) == (
            2.5, 2.5, 2.5, True, 2,
        )  # fmt: skip
        assert counts.taken_s() == 5 * 0.25
        assert torch.equal(loss.nonzero(), torch.zeros(1, 0, dtype=torch.int64))
        assert (counts.taken_s(), counts.taken_s()) == (0.25, 0.0)
    finally:
        counts.off()
    loss.item()
    assert counts.taken_s() == 0.0


def test_only_moves_between_host_and_device_count(monkeypatch: pytest.MonkeyPatch) -> None:
    clocked(monkeypatch)
    counts = syncs.Syncs()
    counts.on()
    try:
        image = torch.ones(2).to("meta")
        assert counts.taken_s() == 0.25
        image.to(torch.float16)  # on the device all the time
        torch.ones(2).to(torch.float16).tolist()  # never on it
        assert counts.taken_s() == 0.0
    finally:
        counts.off()


def test_a_call_of_another_thread_holds_not_this_one(monkeypatch: pytest.MonkeyPatch) -> None:
    clocked(monkeypatch)
    counts = syncs.Syncs()
    counts.on()
    try:
        other = threading.Thread(target=lambda: torch.ones(2).to("meta"))
        other.start()
        other.join()
        assert counts.taken_s() == 0.0
    finally:
        counts.off()


def test_waits_for_streams_and_events_count(monkeypatch: pytest.MonkeyPatch) -> None:
    clocked(monkeypatch)

    class Stream:
        def synchronize(self) -> str:
            return "done"

    cuda = SimpleNamespace(synchronize=lambda place=None: place)
    monkeypatch.setattr(syncs.device, "waits_of", lambda: (cuda, Stream))
    counts = syncs.Syncs()
    counts.on()
    try:
        assert (cuda.synchronize(3), Stream().synchronize()) == (3, "done")
        assert counts.taken_s() == 2 * 0.25
    finally:
        counts.off()
    assert (cuda.synchronize(3), Stream().synchronize(), counts.taken_s()) == (3, "done", 0.0)


@pytest.mark.parametrize("watch", [syncs.Syncs, placed.Placed])
def test_no_watch_leaves_a_trace_on_torch(watch: Any) -> None:
    own, seen = dict(vars(torch.Tensor)), [getattr(torch.Tensor, name) for name in METHODS]
    one = watch()
    one.on()
    assert dict(vars(torch.Tensor)) != own
    one.off()
    assert dict(vars(torch.Tensor)) == own
    assert [getattr(torch.Tensor, name) for name in METHODS] == seen
    assert bool(torch.tensor(1)) is True
    with pytest.raises(RuntimeError, match="ambiguous"):
        bool(torch.ones(2))


def test_an_error_of_a_call_is_the_programs_own() -> None:
    counts = syncs.Syncs()
    counts.on()
    try:
        with pytest.raises(RuntimeError, match="ambiguous"):
            bool(torch.ones(2))
    finally:
        counts.off()


def test_what_somebody_else_replaced_meanwhile_stays_theirs() -> None:
    class Owner:
        def inner(self) -> str:
            return "real"

    wrapped = wrapping.Wrapped()
    wrapped.put(Owner, "inner", lambda real: lambda self: "ours")
    wrapped.put(Owner, "missing", lambda real: real)
    wrapped.put(int, "bit_length", lambda real: real)  # written in C
    assert Owner().inner() == "ours"
    Owner.inner = lambda self: "theirs"  # type: ignore[method-assign]
    wrapped.off()
    assert (Owner().inner(), wrapped.kept) == ("theirs", [])
