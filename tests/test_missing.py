"""What is not known is asked for, all of it at once, and never taken as nothing."""

from __future__ import annotations

import io
from contextlib import redirect_stderr, redirect_stdout
from decimal import Decimal

import pytest

from costplan.cli import main
from costplan.cli.missing import check_known
from costplan.errors import UnknownError

BOX = ["idle", "--rate", "1", "--disk", "100", "--storage-price", "0.1", "--setup", "20m",
       "--back-in", "10h"]  # fmt: skip


def run(*words: str) -> tuple[int, str, str]:
    out, err, code = io.StringIO(), io.StringIO(), 0
    with redirect_stdout(out), redirect_stderr(err):
        try:
            main(list(words))
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 0
    return code, out.getvalue(), err.getvalue()


def test_everything_that_is_missing_is_named_at_once() -> None:
    with pytest.raises(UnknownError) as err:
        check_known({"ingress_gb": "43"}, None)
    for part in ("running rate", "a rebuild takes", "size of the disk", "a GB of the download"):
        assert part in str(err.value)
    for flag in ("--rate", "--setup", "--disk", "--storage-price", "--ingress-price"):
        assert flag in (err.value.hint or "")


def test_a_download_without_a_price_is_not_free() -> None:
    code, _, said = run(*BOX, "--ingress", "43")
    assert code == 3
    assert "give --ingress-price, 0 where it is free" in said
    assert run(*BOX, "--ingress", "43", "--ingress-price", "0")[0] == 0
    assert run(*BOX, "--ingress", "0")[0] == 0
    assert run(*BOX)[0] == 0


@pytest.mark.parametrize(("provider", "code"), [("lambda", 0), ("aws", 0), ("vast", 3), ("ovh", 3)])
def test_a_provider_whose_download_is_free_says_so(provider: str, code: int) -> None:
    assert run(*BOX, "--ingress", "43", "--provider", provider)[0] == code


def test_where_nobody_says_what_a_stop_bills_the_person_may() -> None:
    words = [*BOX, "--provider", "verda"]
    assert run(*words)[0] == 3
    code, out, _ = run(*words, "--stopped-storage-price", "0.2")
    assert code == 0
    assert "STOP 10 h away" in out
    assert "nobody says so, you gave its stopped price" in out


def test_what_else_bills_while_stopped_is_said() -> None:
    _, out, _ = run(*BOX, "--provider", "paperspace")
    # Its price folder: a static address at 0.0045 $/h while stopped.
    assert "assumed: stopped, an address or a fee bills $0.0045/h more" in out


@pytest.mark.parametrize("size", [0, "0", Decimal(0), None])
def test_no_download_needs_no_price(size: object) -> None:
    fields = {"usd_per_hour": 1, "setup_minutes": 1, "disk_gb": 0, "ingress_gb": size}
    check_known(fields, None)
