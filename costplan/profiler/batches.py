"""Batches copied, cut and joined, whatever they are made of.

Runs inside the training program, after it has imported torch.
"""

from __future__ import annotations

import copy
import dataclasses
import itertools
from collections import Counter
from collections.abc import Mapping, MutableMapping
from typing import TYPE_CHECKING, Any, Final

import torch

from costplan.profiler import device

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROWS: Final = "batch_idx"
"""Key under which detection batches say which sample each row of a flat list of boxes is of."""


class NoCutError(Exception):
    """A batch cannot be cut or joined, and why."""


def parts(value: Any) -> list[tuple[Any, Any]] | None:
    """Return what a container holds, each with its place; None for what is no container."""
    if isinstance(value, Mapping):
        return list(value.items())
    if isinstance(value, list | tuple):
        return list(enumerate(value))
    if isinstance(value, type | torch.Tensor):
        return None
    held = getattr(value, "__dict__", None)
    is_data = dataclasses.is_dataclass(value) or any(
        _holds_tensor(each) for each in (held or {}).values()
    )
    return list(held.items()) if held and is_data else None


def _holds_tensor(value: Any) -> bool:
    if isinstance(value, torch.Tensor):
        return True
    return isinstance(value, list | tuple | dict) and any(True for _ in tensors(value))


def rebuilt(value: Any, held: list[tuple[Any, Any]]) -> Any:
    """Return a container like `value` that holds other things."""
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(each for _, each in held))
    if type(value) in (list, tuple):
        return type(value)(each for _, each in held)
    found = copy.copy(value)
    if isinstance(found, MutableMapping):
        found.update(held)
        return found
    for name, each in held:
        object.__setattr__(found, name, each)
    return found


def mapped(value: Any, leaf: Callable[[Any], Any]) -> Any:
    """Return a copy of the containers of a batch, with everything else through `leaf`."""
    held = parts(value)
    if held is None:
        return leaf(value)
    return rebuilt(value, [(key, mapped(each, leaf)) for key, each in held])


def tensors(value: Any) -> Iterator[torch.Tensor]:
    """Yield every tensor of a batch, in order."""
    if isinstance(value, torch.Tensor):
        yield value
        return
    for _, each in parts(value) or ():
        yield from tensors(each)


def same(batch: Any) -> Any:
    """Return the batch with containers of its own and the same tensors."""
    return mapped(batch, lambda leaf: leaf)


def cloned(batch: Any) -> Any:
    """Return the batch with tensors of its own, in pinned memory where they were."""
    return mapped(batch, _clone)


def _clone(leaf: Any) -> Any:
    if not isinstance(leaf, torch.Tensor):
        return leaf
    return device.pinned(leaf.clone()) if device.is_pinned(leaf) else leaf.clone()


def resident(batch: Any, places: Mapping[int, Any]) -> Any:
    """Return the batch with tensors of its own, on the devices where a program moves them.

    Args:
        batch: On the host.
        places: By the place of a tensor in the batch; all others stay on the host.
    """
    numbers = itertools.count()

    def placed(leaf: Any) -> Any:
        if not isinstance(leaf, torch.Tensor):
            return leaf
        place = places.get(next(numbers))
        return _clone(leaf) if place is None else leaf.to(place)

    return mapped(batch, placed)


def versions(batch: Any) -> list[int]:
    """Return how often each tensor was written in place."""
    return [each._version for each in tensors(batch)]


def samples(batch: Any) -> int | None:
    """Return how many samples a batch holds: the most common first length of its tensors."""
    lengths = [each.shape[0] for each in tensors(batch) if each.dim() > 0]
    rows = batch.get(ROWS) if isinstance(batch, Mapping) else None
    if isinstance(rows, torch.Tensor) and rows.dim() == 1:  # flat lists tell another length
        lengths = [each for each in lengths if each != rows.shape[0]] or lengths
    counts = Counter(lengths)
    # Of equally common lengths that of the first tensor: the input comes first.
    return max(lengths, key=lambda length: counts[length], default=None)


def tokens(batch: Any) -> int | None:
    """Return how many token ids a batch holds: the elements of its first table of integers."""
    tables = (each for each in tensors(batch) if each.dim() == 2 and each.shape[1] > 1)
    return next((t.numel() for t in tables if t.dtype in (torch.int64, torch.int32)), None)


def first_half(batch: Any) -> Any:
    """Return the first half of the samples of a batch.

    Raises:
        NoCutError: It holds fewer than two samples.
    """
    count = samples(batch)
    if count is None or count < 2:
        raise NoCutError("fewer than two samples in a batch")
    return _cut(batch, count, count // 2, _rows_of(batch, count))


def _cut(value: Any, count: int, kept: int, rows: torch.Tensor | None) -> Any:
    if isinstance(value, torch.Tensor):
        return _cut_tensor(value, count, kept, rows)
    held = parts(value)
    if held is None:
        return value
    if type(value) in (list, tuple) and len(value) == count and count > 2:
        return value[:kept]  # one entry for each sample: names, shapes, targets
    return rebuilt(value, [(key, _cut(each, count, kept, rows)) for key, each in held])


def _cut_tensor(
    value: torch.Tensor, count: int, kept: int, rows: torch.Tensor | None
) -> torch.Tensor:
    if value.dim() == 0:
        return value
    if value.shape[0] == count:
        return value[:kept]
    if rows is not None and value.shape[0] == rows.shape[0]:
        return value[rows < kept]
    return value


def _rows_of(batch: Any, count: int) -> torch.Tensor | None:
    """Return which sample each row of a flat list is of, where a batch says so."""
    rows = batch.get(ROWS) if isinstance(batch, Mapping) else None
    if isinstance(rows, torch.Tensor) and rows.dim() == 1 and rows.shape[0] != count:
        return rows
    return None


def joined(first: Any, second: Any) -> Any:
    """Return two batches as one of twice the samples.

    Raises:
        NoCutError: They are not of one form.
    """
    count = samples(first)
    if count is None or samples(second) != count:
        raise NoCutError("two batches of different lengths")
    rows = _rows_of(first, count)
    return _joined("", first, second, count, None if rows is None else rows.shape[0])


def _joined(key: Any, first: Any, second: Any, count: int, rows: int | None) -> Any:
    if isinstance(first, torch.Tensor):
        return _joined_tensor(key, first, second, count, rows)
    held, other = parts(first), parts(second)
    if held is None or other is None:
        return first
    if type(first) in (list, tuple) and len(first) == count and count > 2:
        return first + second
    if [name for name, _ in held] != [name for name, _ in other]:
        raise NoCutError("two batches of different forms")
    pairs = zip(held, other, strict=True)
    return rebuilt(first, [(name, _joined(name, a, b, count, rows)) for (name, a), (_, b) in pairs])


def _joined_tensor(key: Any, first: Any, second: Any, count: int, rows: int | None) -> torch.Tensor:
    kept: torch.Tensor = first
    if kept.dim() == 0 or kept.shape[0] not in (count, rows):
        return kept
    if kept.shape[1:] != second.shape[1:]:
        raise NoCutError("two batches of different shapes")
    more = second + count if key == ROWS and kept.shape[0] == rows else second
    found = torch.cat([kept, more])
    return device.pinned(found) if device.is_pinned(kept) else found
