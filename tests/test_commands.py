"""Commands that people give: taken apart, filled, run without a shell, shown without secrets."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from costplan.box import commands
from costplan.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path


def test_quotes_group_and_nothing_is_expanded() -> None:
    words = commands.words("""stop "two words" '$HOME' {id} *""", flag="--stop-cmd")
    assert words == ("stop", "two words", "$HOME", "{id}", "*")


@pytest.mark.parametrize("text", ["", "  ", "'open"])
def test_what_is_no_command_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="--stop-cmd"):
        commands.words(text, flag="--stop-cmd")


def test_only_the_named_braces_are_filled() -> None:
    """An API's JSON keeps its own braces."""
    template = ("curl", "-d", '{"state": "stopped"}', "/{id}/", "{ID}", "{}")
    assert commands.filled(template, id="b1") == (
        *("curl", "-d", '{"state": "stopped"}', "/b1/", "{ID}", "{}"),
    )


@pytest.mark.parametrize("text", ["123", "vast:123", "i-0abc", "pod_1", "a/b.c@d+e-f"])
def test_an_id_stands_in_any_command(text: str) -> None:
    assert commands.checked_id(text, flag="--id") == text


@pytest.mark.parametrize("text", ["", "-f", "--all", "a b", "a;b", "$(x)", "a\nb", "*", "'", "é"])
def test_what_could_mean_something_else_is_no_id(text: str) -> None:
    with pytest.raises(InputError):
        commands.checked_id(text, flag="--id")


def test_a_command_is_run_without_a_shell(tmp_path: Path) -> None:
    done = commands.run(["echo", "$HOME; touch", str(tmp_path / "made")], timeout_s=5)
    assert (done.ok, done.out) == (True, f"$HOME; touch {tmp_path / 'made'}\n")
    assert not (tmp_path / "made").exists()


def test_how_it_failed_is_its_last_line() -> None:
    done = commands.run(["sh", "-c", "echo one >&2; echo disk full >&2; exit 3"], timeout_s=5)
    assert (done.code, done.ok, done.why) == (3, False, "sh ended with 3: disk full")


def test_a_program_that_is_not_there_is_said() -> None:
    done = commands.run(["/no/such/program"], timeout_s=5)
    assert (done.code, done.ok) == (None, False)
    assert "cannot be run" in done.why


def test_what_takes_too_long_is_ended_with_all_it_started(tmp_path: Path) -> None:
    late = tmp_path / "late"
    script = f"(sleep 1; touch {late}) & sleep 30"
    done = commands.run(["sh", "-c", script], timeout_s=0.2)
    assert (done.code, done.ok) == (None, False)
    assert "did not end within 0.2 s" in done.why
    time.sleep(1.3)
    assert not late.exists()


@pytest.mark.parametrize("timeout_s", [1e9, 1e300])
def test_a_very_long_time_is_waited_for_as_long_as_the_system_can(timeout_s: float) -> None:
    assert commands.run(["true"], timeout_s=timeout_s).ok


def test_what_is_no_text_is_given_all_the_same() -> None:
    done = commands.run(["cat"], timeout_s=5, given="a path \udcff of bytes")
    assert done.out == "a path \\udcff of bytes"


def test_it_reads_what_it_is_given_and_sees_its_variables() -> None:
    done = commands.run(
        ["sh", "-c", "cat; echo $COSTPLAN_ID"],
        timeout_s=5,
        given="hello ",
        variables={"COSTPLAN_ID": "b1"},
    )
    assert done.out == "hello b1\n"


# --- secrets ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "curl -H 'Authorization: Bearer s3cretvalue' x",
        "vastai stop instance 1 --api-key s3cretvalue",
        "vastai stop instance 1 --api-key=s3cretvalue",
        "https://api.example.com/?api_key=s3cretvalue&x=1",
        '{"token": "s3cretvalue"}',
        "PASSWORD=s3cretvalue run",
        "curl https://me:s3cretvalue@api.example.com/stop",
    ],
)
def test_what_follows_the_name_of_a_secret_is_masked(text: str) -> None:
    shown = commands.masked(text)
    assert "s3cretvalue" not in shown
    assert "***" in shown


def test_the_value_of_a_secret_variable_is_masked_wherever_it_stands(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("CONTAINER_API_KEY", "abcdef123456")
    assert commands.shown(["curl", "https://x/abcdef123456/stop"]) == "curl 'https://x/***/stop'"
    monkeypatch.setenv("CONTAINER_API_KEY", "true")  # no secret: it would mask every such word
    assert commands.shown(["is", "true"]) == "is true"


def test_a_secret_is_masked_that_begins_with_another(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A_TOKEN", "abcdef123456")
    monkeypatch.setenv("B_TOKEN", "abcdef123456789")
    assert commands.masked("x abcdef123456789 y") == "x *** y"


def test_a_secret_that_is_cut_off_where_a_line_is_too_long_is_masked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("CONTAINER_API_KEY", "abcdef123456")
    line = "x" * (commands.SHORT - 6) + "abcdef123456"
    assert "abcdef" not in commands.run(["sh", "-c", f"echo {line}; exit 1"], timeout_s=5).why


@given(secret=st.from_regex(r"[A-Za-z0-9_.-]{8,40}", fullmatch=True))
def test_no_secret_comes_through(secret: str) -> None:
    os.environ["COSTPLAN_TEST_TOKEN"] = secret
    try:
        text = commands.masked(f"a {secret} b --token {secret} c?key={secret}&d")
    finally:
        del os.environ["COSTPLAN_TEST_TOKEN"]
    assert secret not in text or secret in "a  b --token  c?key=&d***"
