"""Device work doubled, launches not: convolutions and matrix products get each row twice.

Only the first half of what they return goes on, so that losses and gradients stay what they were;
the backward pass does twice the work as well.
"""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1]))


def double(module):
    from torch import cat

    for name in ("conv2d", "linear"):
        replace(module, name, cat)


def replace(module, name, cat):
    real = getattr(module, name)

    def twice(rows, *others, **named):
        if rows.dim() < 2 or not rows.shape[0]:
            return real(rows, *others, **named)
        return real(cat((rows, rows)), *others, **named)[: rows.shape[0]]

    setattr(module, name, twice)


from late import once_imported  # noqa: E402

once_imported("torch.nn.functional", double)
