"""What still leaves a box between its provider's notice and its end."""

from __future__ import annotations

from decimal import Decimal

import pytest

from costplan.errors import InputError
from costplan.rescue import rescued_gb


@pytest.mark.parametrize(
    ("notice_s", "unsaved", "mbit", "gb"),
    [
        # 30 s x 800 Mbit/s = 24,000 Mbit, of 8,000 a GB
        (30, "8", "800", "3"),
        (30, "3", "800", "3"),
        (30, "2.9", "800", "2.9"),  # all of it
        (5, "8", "800", "0.5"),
        (0, "8", "800", "0"),
        (120, "8", "100", "1.5"),
    ],
)
def test_a_notice_is_long_enough_for_so_many_gigabytes(
    notice_s: float, unsaved: str, mbit: str, gb: str
) -> None:
    found = rescued_gb(notice_s, unsaved_gb=Decimal(unsaved), upload_mbit_per_s=Decimal(mbit))
    assert found == Decimal(gb)


def test_a_line_without_a_speed_is_none() -> None:
    with pytest.raises(InputError, match="0 Mbit/s"):
        rescued_gb(30, unsaved_gb=Decimal(8), upload_mbit_per_s=Decimal(0))
