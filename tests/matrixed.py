"""The cases of the matrix: a slow thing of each kind, in training loops of many forms.

`tests/loops/loop.py` runs each. `PAIRWISE` has every pair of a kind and a variation, and every pair
of two variations, in as few loops as six forms of a batch for nine kinds take; `ALL` has each kind
with every single variation as well.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

TRUTHS: Final = {
    "spin": "dataloader", "sleep": "dataloader", "files": "dataloader", "collate": "dataloader",
    "python": "host", "tiny": "host", "optimizer": "host",
    "matmul": "gpu", "conv": "gpu",
}  # fmt: skip
"""What each kind slows down, by the word that the verdict has for it."""
KINDS: Final = tuple(TRUTHS)
FORMS: Final = ("list", "tuple", "dict", "namedtuple", "nested", "own")
LOOPS: Final = ("plain", "accumulation", "gan", "compile", "ddp")
WORKERS: Final = ("workers0", "workers2", "persistent")
PRECISIONS: Final = ("full", "bf16", "scaler")
DATA: Final = ("map", "iterable", "lengths")
EPOCHS: Final = ("long", "short", "validation")

FLAGS: Final = {
    "accumulation": ("--accumulate",),
    "gan": ("--gan",),
    "compile": ("--compile", "aot_eager"),  # the back end that needs no C++ compiler
    "workers2": ("--workers", "2"),
    "persistent": ("--workers", "2", "--persistent"),
    **{name: ("--batch-form", name) for name in FORMS[1:]},
    **{name: ("--precision", name) for name in PRECISIONS[1:]},
    **{name: ("--data", name) for name in DATA[1:]},
    **{name: ("--epochs", name) for name in EPOCHS[1:]},
}
TIMES: Final = 3.0
"""What is slow takes so often as long as the bare net: with all else of a step, twice or more."""
PRELOADED: Final = "a loader that costs nothing"
WITH_WORKERS: Final = "workers instead of"
DOUBLED: Final = "twice the batch, by sample"
FREE_HOST: Final = "a host that costs nothing"
BATCH: Final = 16


class Case(NamedTuple):
    """One loop: its slow thing, and one level of each factor."""

    kind: str
    form: str = FORMS[0]
    loop: str = LOOPS[0]
    workers: str = WORKERS[0]
    precision: str = PRECISIONS[0]
    data: str = DATA[0]
    epochs: str = EPOCHS[0]

    @property
    def truth(self) -> str:
        """The part that is slow by construction."""
        return TRUTHS[self.kind]

    @property
    def variations(self) -> tuple[str, ...]:
        """All that is not as in the plainest loop."""
        plain = Case(self.kind)
        return tuple(one for one, other in zip(self, plain, strict=True) if one != other)

    @property
    def name(self) -> str:
        """The kind and the variations."""
        return "-".join((self.kind, *self.variations))

    @property
    def ranks(self) -> int:
        """How many processes train together."""
        return 2 if self.loop == "ddp" else 1

    def flags(self) -> list[str]:
        """Return the flags of tests/loops/loop.py."""
        # Two workers share the work of loading: for the loader to be slow, there must be more. And
        # they take up to 5 ms on a busy machine to hand a batch over, however little they load.
        times = TIMES * (1 if self.workers == "workers0" else 2)
        chosen = [word for each in self.variations for word in FLAGS.get(each, ())]
        return ["--slow", self.kind, "--times", f"{times:g}", *chosen]


def remedy(case: Case, change: str) -> str | None:
    """Return the flags that make a change of the what-if table for real; None where none do."""
    if change == DOUBLED:
        return f"--batch {2 * BATCH}"
    if case.truth == "host" and change == FREE_HOST:
        return "--units 0"
    if case.truth == "dataloader" and change == PRELOADED:
        return "--preloaded"
    # Workers start in each epoch: what a step of a short one takes says nothing of those in a row.
    if case.truth == "dataloader" and WITH_WORKERS in change and case.epochs != "short":
        return f"--workers {change.split()[0]}"
    return None


def remedies(case: Case) -> list[str]:
    """Return every fix of a case that may be tried, and the slow thing taken away."""
    if case.truth != "dataloader":
        return [f"--batch {2 * BATCH}", "--units 0"]
    other = "--workers 2" if case.workers == "workers0" else "--workers 1"
    return [f"--batch {2 * BATCH}", "--units 0", "--preloaded", other]


def pairwise() -> list[Case]:
    """Return 54 cases that hold every pair of levels; `tests/test_matrix_cases.py` counts them."""
    found = []
    for number, kind in enumerate(KINDS):
        high, low = divmod(number, 3)
        for row, form in enumerate(FORMS):
            case = Case(
                kind,
                form,
                LOOPS[(row + number) % 5],
                WORKERS[(row + high) % 3],
                PRECISIONS[(row + 2 * high) % 3],
                DATA[(row + low + 2 * high) % 3],
                EPOCHS[(row + 2 * low) % 3],
            )
            found.append(case)
    return found


def single() -> list[Case]:
    """Return each kind plain, and with each variation alone."""
    fields = dict(zip(Case._fields[1:], (FORMS, LOOPS, WORKERS, PRECISIONS, DATA, EPOCHS),
                      strict=True))  # fmt: skip
    found = []
    for kind in KINDS:
        found.append(Case(kind))
        found += [Case(kind)._replace(**{field: level})
                  for field, levels in fields.items() for level in levels[1:]]  # fmt: skip
    return found


PAIRWISE: Final = tuple(pairwise())
ALL: Final = (*PAIRWISE, *(case for case in single() if case not in PAIRWISE))


class Judged(NamedTuple):
    """What a case came to."""

    truth: str
    verdict: str


RIGHT_SHARE: Final = 0.98
CAUTIOUS: Final = ("mixed", "inconclusive")


def faults(judged: Sequence[Judged]) -> list[str]:
    """Return what keeps the matrix from passing; nothing where it passes.

    >>> faults([Judged("gpu", "gpu")] * 49 + [Judged("host", "mixed")])
    []
    >>> faults([Judged("gpu", "gpu")] * 48 + [Judged("host", "mixed")])
    ['48 of 49 right']
    >>> faults([Judged("gpu", "gpu")] * 99 + [Judged("gpu", "dataloader")])
    ['dataloader where it is gpu: 1']
    """
    right = sum(each.truth == each.verdict for each in judged)
    found = []
    if right < RIGHT_SHARE * len(judged):
        found.append(f"{right} of {len(judged)} right")
    wrong = [each for each in judged if each.verdict not in (each.truth, *CAUTIOUS)]
    found += [f"{verdict} where it is {truth}: {wrong.count(Judged(truth, verdict))}"
              for truth, verdict in sorted(set(wrong))]  # fmt: skip
    return found
