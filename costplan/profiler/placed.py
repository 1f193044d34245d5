"""Which tensors of a batch a program moves to which device, seen while it does so.

Only those may be given to it on the device: what it reads on the host (lengths, names) must stay.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import torch

from costplan.profiler.wrapping import Wrapped

if TYPE_CHECKING:
    from collections.abc import Sequence

MOVES: Final = ("to", "cuda", "pin_memory")
STAYS: Final = ("numpy", "__array__", "tolist", "item", "pin_memory")
"""Calls that fail where a tensor lies on a device, or wait for it."""


class Placed:
    """Watches the tensors of the batch that was given last."""

    def __init__(self) -> None:
        self.places: dict[int, Any] = {}
        """By the place of a tensor in its batch, where the program moved it to."""
        self.stays: set[int] = set()
        """Places of tensors that the program also uses on the host."""
        self._given: dict[int, tuple[int, Any]] = {}
        self._wrapped = Wrapped()

    @property
    def is_on(self) -> bool:
        """Whether it watches."""
        return bool(self._wrapped.kept)

    def on(self) -> None:
        """Begin to watch."""
        for name in MOVES:
            self._wrapped.put(torch.Tensor, name, self._moves)
        for name in STAYS:
            self._wrapped.put(torch.Tensor, name, self._stays)

    def off(self) -> None:
        """Watch no longer: a step that is timed runs as the program wrote it."""
        self._wrapped.off()
        self._given = {}

    def given(self, tensors: Sequence[Any]) -> None:
        """Note the tensors of a batch that the program gets now."""
        # Each is kept, for its id to stay its own.
        self._given = {id(each): (number, each) for number, each in enumerate(tensors)}

    def problem(self) -> str:
        """Return why the batch cannot be given on a device, or nothing where it can."""
        if not self.places:
            return "the program was not seen to move its batch"
        if self.stays & self.places.keys():
            return "the program also uses on the host what it moves"
        return ""

    def _moves(self, real: Any) -> Any:
        def move(tensor: Any, *args: Any, **kwargs: Any) -> Any:
            found = real(tensor, *args, **kwargs)
            number, _ = self._given.get(id(tensor), (None, None))
            if number is not None and isinstance(found, torch.Tensor) and found is not tensor:
                if found.device.type == "cpu":  # pinned, or converted: it may be moved yet
                    self._given[id(found)] = (number, found)
                else:
                    self.places[number] = found.device
            return found

        return move

    def _stays(self, real: Any) -> Any:
        def use(tensor: Any, *args: Any, **kwargs: Any) -> Any:
            number, _ = self._given.get(id(tensor), (None, None))
            if number is not None:
                self.stays.add(number)
            return real(tensor, *args, **kwargs)

        return use
