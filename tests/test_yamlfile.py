"""Strict YAML: what it refuses, with the line, and that nothing at all makes it crash."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import os
import sys
import threading
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from costplan.errors import InputError
from costplan.records.jobs import Job
from costplan.records.offers import ProviderFile
from costplan.yamlfile import as_text, build, parse, read_stdin, read_text

if TYPE_CHECKING:
    from pathlib import Path

    from costplan.records.record import Record


def refused(text: str) -> InputError:
    """Return the error that parsing `text` raises."""
    with pytest.raises(InputError) as caught:
        parse(text, where="job.yaml")
    return caught.value


def misfit(text: str, model: type[Record] = Job) -> InputError:
    """Return the error that building `text`, which is good YAML, raises."""
    data = parse(text, where="job.yaml")
    with pytest.raises(InputError) as caught:
        build(model, data, where="job.yaml", text=text)
    return caught.value


# --- what YAML 1.1 reads as something else ------------------------------------------------------

TRUTH = "reads it as true or false"
EMPTY = "leave the key out"
BASE_60 = "in base 60"
BASE_8 = "in base 8"
BASE_10 = "in base 10"
PLAIN = "write the number out"
UNDERSCORE = "without _"
NO_NUMBER = "is not a number"
LOWER = "write true or false"

SURPRISES = [
    *((text, TRUTH) for text in ("no", "No", "NO", "yes", "Yes", "YES", "y", "Y", "n", "N")),
    *((text, TRUTH) for text in ("on", "On", "ON", "off", "Off", "OFF")),
    *((text, EMPTY) for text in ("~", "null", "Null", "NULL")),
    *((text, BASE_60) for text in ("12:30", "1:30:45", "-12:30", "190:20:30.15", "1:5")),
    *((text, BASE_8) for text in ("010", "-010", "0777", "00", "08", "0_1")),
    *((text, BASE_10) for text in ("0x10", "0xFF", "-0x1", "0o17", "0b101")),
    *((text, PLAIN) for text in ("312e12", "1e5", "1E5", "1.5e3", "3e-4", "2.e+1")),
    *((text, UNDERSCORE) for text in ("1_000", "1__0", "1_000.5", "+1_0")),
    *((text, NO_NUMBER) for text in (".nan", ".NaN", ".inf", "-.inf", "+.INF")),
    *((text, LOWER) for text in ("True", "TRUE", "False", "FALSE")),
]
WORDS = [text for text, _ in SURPRISES]


@pytest.mark.parametrize(("text", "why"), SURPRISES, ids=WORDS)
def test_a_surprise_of_yaml_1_1_is_refused_with_its_line(text: str, why: str) -> None:
    err = refused(f"epochs: 1\nname: {text}\n")
    assert str(err).startswith(f"job.yaml:2: {text} as a value: ")
    assert why in str(err)
    assert err.hint == "put it in quotes if the text itself is meant"


@pytest.mark.parametrize("text", WORDS)
@pytest.mark.parametrize("quote", ["'", '"'])
def test_a_surprise_in_quotes_is_text(text: str, quote: str) -> None:
    assert parse(f"name: {quote}{text}{quote}", where="job.yaml") == {"name": text}


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a:\n  b:\n    c: no\n", 3),
        ("a:\n  - yes\n  - no way\n", 2),
        ("a: [1, 2,\n  12:30]\n", 2),
        ("a: {b: 1,\n  c: 010}\n", 2),
        ("a: 1\nno: 2\n", 2),  # a key may surprise too
        ("# a remark\n\n\na: ~\n", 4),
        ("a: 1\r\nb: no\r\n", 2),
        ("- no\n", 1),
        ("no", 1),
    ],
)
def test_a_surprise_is_found_at_any_depth(text: str, line: int) -> None:
    assert str(refused(text)).startswith(f"job.yaml:{line}: ")


@pytest.mark.parametrize("text", ["a:\n", "a: \n", "a: # nothing\n", "a:   \nb: 1\n", "{a: }", "-"])
def test_an_empty_value_is_refused_and_need_not_be_quoted(text: str) -> None:
    err = refused(text)
    assert str(err).startswith("job.yaml:1: nothing as a value: ")
    assert err.hint is None


@pytest.mark.parametrize(
    "text",
    [
        *("true", "false", "0", "1", "-3", "+5", "0.5", "1.5", "10", "100", "-0.1", "1.0.0"),
        *("nobody", "yes sir", "online", "offer", "nullify", "noon", "trueish", "Truer"),
        *("2026-08-01", "1h30m", "12:30h", "1:60", "10.0.0.1", "0xyz", "e5", "e-5", "1e", "nan"),
        *("RTX-4090", "A100 80GB", "https://acme.example/a:b", "a_b", "$5", "n/a", "x~y", "3e5x"),
    ],
)
def test_a_word_without_surprise_is_kept_as_it_stands(text: str) -> None:
    assert parse(f"name: {text}", where="job.yaml") == {"name": text}


def test_an_underscore_behind_the_point_is_refused_too() -> None:
    refused("headroom: 0.1_0")


def read_by_yaml_1_1(text: str) -> object:
    """Return what PyYAML's own loader makes of the plain scalar `text`."""
    import yaml

    return yaml.safe_load(f"- {text}")[0]


def same(kept: str, read: object) -> bool:
    """Return whether `read` is what a person reads in `kept`."""
    if isinstance(read, bool):
        return kept == str(read).lower()
    if isinstance(read, int | float):
        try:
            return float(Decimal(kept)) == read
        except InvalidOperation:
            return False
    return kept == str(read)


SCALARS = st.text("0123456789+-.:_xobeEaftrunslyYNO~", min_size=1, max_size=7)


@given(SCALARS)
def test_law_what_is_accepted_means_the_same_to_yaml_1_1(text: str) -> None:
    try:
        (kept,) = parse(f"- {text}", where="job.yaml")
    except InputError:
        return
    if isinstance(kept, str):  # a sequence or a mapping is no scalar
        assert same(kept, read_by_yaml_1_1(text))


# --- keys ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "key", "line"),
    [
        ("epochs: 1\nepochs: 2\n", "epochs", 2),
        ("epochs: 1\nsamples: 3\n'epochs': 2\n", "epochs", 3),
        ("throughput:\n  card: T4\n  count: 1\n  card: A10\n", "card", 4),
        ("throughput: {card: T4, card: T4}\n", "card", 1),
        ("a:\n  - b: 1\n    b: 2\n", "b", 3),
        ("a:\n  b:\n    c:\n      d: 1\n      d: 1\n", "d", 5),
        ("- a: 1\n- a: 1\n  a: 2\n", "a", 3),
    ],
)
def test_a_repeated_key_is_refused_at_any_depth(text: str, key: str, line: int) -> None:
    assert str(refused(text)) == f"job.yaml:{line}: {key!r} appears twice"


def test_the_same_key_in_two_mappings_is_no_repetition() -> None:
    data = parse("a: {b: 1}\nc: {b: 2}\nb: 3\n", where="job.yaml")
    assert data == {"a": {"b": "1"}, "c": {"b": "2"}, "b": "3"}


@pytest.mark.parametrize("text", ["? [a, b]\n: 1\n", "? {a: 1}\n: 1\n", "{[a]: 1}\n"])
def test_a_key_that_is_no_word_is_refused(text: str) -> None:
    assert str(refused(text)) == "job.yaml:1: a key must be a word"


def test_a_merge_key_merges_nothing() -> None:
    text = "epochs: 1\nthroughput:\n  <<: {card: T4}\n  step_s: 1\n"
    assert str(misfit(text)).startswith("job.yaml:")


OFFER = """\
provider:
  key: acme
  name: Acme
  kind: cloud
  site: https://acme.example
  prices_set_by: list
  source: made up
  as_of: 2026-11-01
  rounding: {source: made up, as_of: 2026-11-01}
  meters:
    - kind: gpu
      states: [running]
      source: made up
      as_of: 2026-11-01
  actions:
    terminate:
      state: destroyed
      source: made up
      as_of: 2026-11-01
  stop: {source: made up, as_of: 2026-11-01}
  destroy: {source: made up, as_of: 2026-11-01}
offers:
  - sku: acme/1x-t4
    card: T4
    prices:
      - usd_per_hour: 0.5
        since: 2026-11-01
        source: made up
"""


def test_the_sample_provider_is_good() -> None:
    file = build(ProviderFile, parse(OFFER, where="acme.yaml"), where="acme.yaml", text=OFFER)
    assert file.offers[0].prices[0].usd_per_hour == Decimal("0.5")


@pytest.mark.parametrize(
    ("before", "key", "line", "name", "near"),
    [
        # The first 8 lines are the key `provider` and seven keys of it.
        ("  rounding:", "  includd", 9, "provider.includd", "included"),
        ("      states:", "      step", 12, "provider.meters.0.step", "step_s"),
        ("      state: d", "      cal", 17, "provider.actions.terminate.cal", "call"),
        ("    card:", "    vcpu", 24, "offers.0.vcpu", "vcpus"),
        ("        since", "        nota", 27, "offers.0.prices.0.nota", "note"),
        ("offers:", "reference", 22, "reference", "references"),
    ],
)
def test_an_unknown_key_is_refused_with_its_line_and_the_nearest_name(
    before: str, key: str, line: int, name: str, near: str
) -> None:
    err = misfit(OFFER.replace(before, f"{key}: x\n{before}"), ProviderFile)
    assert str(err) == f"job.yaml:{line}: unknown key {name!r}"
    assert err.hint is not None
    assert err.hint.removesuffix("?").split(" or ")[0] == f"did you mean {near}"


def test_a_misspelt_key_that_must_be_there_is_named_as_it_stands() -> None:
    err = misfit("throughput:\n  crad: T4\n  step_s: 1\n")
    assert str(err) == "job.yaml:2: unknown key 'throughput.crad'"
    assert err.hint == "did you mean card?"


@pytest.mark.parametrize(
    ("text", "line", "name", "hint"),
    [
        ("epohcs: 5\n", 1, "epohcs", "did you mean epochs?"),
        ("epochs: 5\nEpochs: 6\n", 2, "Epochs", "did you mean epochs?"),
        ("epochs: 5\nqqqq: 6\n", 2, "qqqq", None),
        (
            "epochs: 5\nthroughput:\n  card: T4\n  step_s: 1\n  sauce: me\n",
            5,
            "throughput.sauce",
            "did you mean source?",
        ),
        (
            "throughput: {card: T4, step_s: 1, cuont: 2}\n",
            1,
            "throughput.cuont",
            "did you mean count?",
        ),
    ],
)
def test_an_unknown_key_of_a_job_is_refused_with_its_line(
    text: str, line: int, name: str, hint: str | None
) -> None:
    err = misfit(text)
    assert str(err) == f"job.yaml:{line}: unknown key {name!r}"
    assert err.hint == hint


@pytest.mark.parametrize(
    ("left_out", "name", "line"),
    [
        ("  key: acme\n", "provider.key", 1),
        ("      state: destroyed\n", "provider.actions.terminate.state", 16),
        ("        since: 2026-11-01\n", "offers.0.prices.0.since", 26),
        ("    card: T4\n", "offers.0.card", 23),
    ],
)
def test_a_missing_key_is_named_with_the_line_of_what_misses_it(
    left_out: str, name: str, line: int
) -> None:
    err = misfit(OFFER.replace(left_out, "", 1), ProviderFile)
    assert str(err) == f"job.yaml:{line}: {name!r} is missing"


@pytest.mark.parametrize(
    ("text", "line", "label"),
    [
        ("epochs: 5\nthroughput: [1]\n", 2, "throughput"),
        ("throughput:\n  - card: T4\n", 1, "throughput"),
        ("epochs: {a: 1}\n", 1, "epochs"),
        ("epochs: 5\nsamples: [1]\n", 2, "samples"),
        ("epochs: 5\nassumed: [epochs]\n", 2, "assumed"),
        ("epochs: 5\nassumed:\n  epochs: [guess]\n", 3, "assumed.epochs"),
        ("- epochs: 5\n", 1, "input should be a valid dictionary"),
        ("just a word\n", 1, "input should be a valid dictionary"),
    ],
)
def test_a_list_where_a_mapping_is_wanted_is_an_input_error(
    text: str, line: int, label: str
) -> None:
    assert str(misfit(text)).startswith(f"job.yaml:{line}: {label}")


@pytest.mark.parametrize(
    ("text", "line", "part"),
    [
        ("name: a\nepochs: 0\n", 2, "epochs: "),
        ("name: a\nepochs: 1.5\n", 2, "(got '1.5')"),
        ("name: a\nepochs: -1\n", 2, "(got '-1')"),
        ("name: a\nepochs: many\n", 2, "(got 'many')"),
        ("name: a\n\ninterruptible: maybe\n", 3, "'maybe' is not true or false"),
        ("name: a\nmemory_gb: infinity\n", 2, "finite"),
        ("name: a\ndisk_gb: NaN\n", 2, "finite"),
        ("name: a\nprecision: fp64\n", 2, "precision: "),
        ("name: a\nthroughput:\n  card: T4\n", 2, "exactly one of"),
        ("name: a\nsamples: 1\ntokens: 1\n", 1, "samples and tokens are both given"),
        ("name: a\nepochs: 3\ndone: 3\n", 1, "leaves nothing of 3 epochs"),
        ("name: a\nassumed:\n  epoch: guess\n", 1, "assumed names 'epoch'"),
    ],
)
def test_a_value_that_does_not_fit_is_refused_with_its_line(
    text: str, line: int, part: str
) -> None:
    err = misfit(text)
    assert str(err).startswith(f"job.yaml:{line}: ")
    assert part in str(err)


def test_without_the_text_an_error_names_the_place_but_no_line() -> None:
    with pytest.raises(InputError, match=r"^flags: epochs: "):
        build(Job, {"epochs": "0"}, where="flags")


def test_an_error_does_not_repeat_a_value_of_a_thousand_characters() -> None:
    assert len(str(misfit(f"samples: {'9' * 1_000}\n"))) < 300


# --- documents ----------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["", "\n\n", "# only a remark\n", "   \n"])
def test_an_empty_document_is_nothing(text: str) -> None:
    assert parse(text, where="job.yaml") is None


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("epochs: 1\n---\nepochs: 2\n", 2),
        ("---\nepochs: 1\n...\n---\nepochs: 2\n", 4),
    ],
)
def test_two_documents_are_refused(text: str, line: int) -> None:
    assert str(refused(text)).startswith(f"job.yaml:{line}: ")


@pytest.mark.parametrize(
    "text", ["---\nepochs: 1\n", "epochs: 1\n...\n", "%YAML 1.1\n---\nepochs: 1"]
)
def test_one_document_with_its_marks_is_accepted(text: str) -> None:
    assert parse(text, where="job.yaml") == {"epochs": "1"}


@pytest.mark.parametrize(
    "text",
    [
        "throughput:\n\tcard: T4\n",  # a tab indents nothing
        "a: 1\n b: 2\n",
        "a: [1, 2\nb: 3\n",
        "a: 'one\n",
        "a: @x\n",
        "a: b: c\n",
        "}\n",
        "a: *nothing\n",
        "%YAML 3.0\n---\na: 1\n",
    ],
)
def test_what_is_not_yaml_is_refused_with_a_line(text: str) -> None:
    message = str(refused(text))
    assert message.startswith("job.yaml:")
    assert message.removeprefix("job.yaml:")[0].isdigit()


@pytest.mark.parametrize("text", ["epochs:\t5\n", "epochs: 5\t# five\n"])
def test_a_tab_between_words_is_accepted(text: str) -> None:
    assert parse(text, where="job.yaml") == {"epochs": "5"}


@pytest.mark.parametrize("text", ["a: \0", "a: \x01", "a: \x7f", "\x1b[31m"])
def test_control_characters_are_refused(text: str) -> None:
    assert str(refused(text)).startswith("job.yaml")


def test_half_of_a_surrogate_pair_is_refused() -> None:
    refused("name: \udcff")


def test_an_alias_stands_for_what_its_anchor_marks() -> None:
    data = parse("epochs: &five 5\nruns: *five\na: &list [1]\nb: *list\n", where="job.yaml")
    assert data == {"epochs": "5", "runs": "5", "a": ["1"], "b": ["1"]}


@pytest.mark.parametrize(
    "text",
    [
        "a: &a [*a]\n",
        "a: &a {b: *a}\n",
        "&a\nb: *a\n",
        "a: &a\n  - b: &b\n      - *a\n",
    ],
)
def test_what_contains_itself_is_refused(text: str) -> None:
    assert str(refused(text)).startswith("job.yaml:")


def layers(count: int) -> str:
    """Return a list of lists of lists ... each ten times the one before: 10^count words."""
    rows = ["&l0 [x, x, x, x, x, x, x, x, x, x]"]
    rows += [f"&l{n} [{', '.join([f'*l{n - 1}'] * 10)}]" for n in range(1, count)]
    return f"[{', '.join(rows)}]"


def test_aliases_of_aliases_are_not_written_out() -> None:
    # 10^12 words would fill any memory.
    err = misfit(f"epochs: {layers(12)}\n")
    assert str(err) == "job.yaml:1: epochs: input should be a valid integer"


def test_aliases_of_aliases_are_not_written_out_in_a_message_either() -> None:
    assert len(str(misfit(f"interruptible: {layers(4)}\n"))) < 300


@pytest.mark.parametrize(
    "text",
    [
        "a: " + "[" * 2_000 + "]" * 2_000,
        "[" * 100_000,
        "{a: " * 2_000 + "}" * 2_000,
        "- " * 5_000,
        "".join(" " * depth + "a:\n" for depth in range(1_200)),
    ],
    ids=["lists", "open", "mappings", "dashes", "blocks"],
)
def test_what_is_nested_too_deeply_is_refused(text: str) -> None:
    assert str(refused(text)).startswith("job.yaml")


def test_ten_levels_are_not_too_deep() -> None:
    assert parse("[" * 10 + "x" + "]" * 10, where="job.yaml") == [[[[[[[[[["x"]]]]]]]]]]


def test_a_tag_changes_nothing() -> None:
    text = "a: !!int 5\nb: !!python/object:os.system echo\nc: !mine {d: 1}\n"
    assert parse(text, where="job.yaml") == {"a": "5", "b": "echo", "c": {"d": "1"}}


# --- files --------------------------------------------------------------------------------------


def unreadable(path: Path) -> InputError:
    """Return the error that reading `path` raises."""
    with pytest.raises(InputError) as caught:
        read_text(path)
    return caught.value


def test_a_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "job.yaml"
    path.write_text("name: größer\n", encoding="utf-8")
    assert read_text(path) == "name: größer\n"


def test_a_byte_order_mark_is_no_part_of_the_first_key(tmp_path: Path) -> None:
    path = tmp_path / "job.yaml"
    path.write_bytes(b"\xef\xbb\xbfepochs: 5\n")
    assert parse(read_text(path), where="job.yaml") == {"epochs": "5"}


def test_a_directory_is_an_input_error_that_asks_for_a_file(tmp_path: Path) -> None:
    err = unreadable(tmp_path)
    assert str(err) == f"{tmp_path} is a directory"
    assert err.hint == "name a file in it"


def test_a_missing_file_is_an_input_error(tmp_path: Path) -> None:
    assert str(unreadable(tmp_path / "job.yaml")) == f"{tmp_path / 'job.yaml'} does not exist"


def test_a_file_below_a_file_is_an_input_error(tmp_path: Path) -> None:
    (tmp_path / "job.yaml").write_text("epochs: 5\n", encoding="utf-8")
    assert "job.yaml" in str(unreadable(tmp_path / "job.yaml" / "job.yaml"))


def test_a_name_longer_than_any_file_name_is_an_input_error(tmp_path: Path) -> None:
    assert "cannot be read" in str(unreadable(tmp_path / ("a" * 5_000)))


def test_a_link_to_itself_is_an_input_error(tmp_path: Path) -> None:
    (tmp_path / "job.yaml").symlink_to(tmp_path / "job.yaml")
    assert "cannot be read" in str(unreadable(tmp_path / "job.yaml"))


def test_a_file_that_may_not_be_read_is_an_input_error(tmp_path: Path) -> None:
    path = tmp_path / "job.yaml"
    path.write_text("epochs: 5\n", encoding="utf-8")
    path.chmod(0)
    if os.access(path, os.R_OK):
        pytest.skip("whoever runs this may read everything")
    assert "cannot be read" in str(unreadable(path))


@pytest.mark.parametrize(
    "data",
    [
        b"name: gr\xf6\xdfer\n",  # Latin-1
        b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR",
        b"\x7fELF\x02\x01\x01\x00",
        b"name: a\0b\n",
        "name: a\n".encode("utf-16"),
        b"\xff",
        b"\xed\xb3\xbf",  # half of a surrogate pair
        bytes(range(256)),
    ],
)
def test_what_is_not_text_is_an_input_error(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "job.yaml"
    path.write_bytes(data)
    assert str(unreadable(path)) == f"{path} is not a text file"
    with pytest.raises(InputError, match=r"^here is not a text file$"):
        as_text(data, where="here")


def test_a_megabyte_is_read_and_a_byte_more_is_not(tmp_path: Path) -> None:
    path = tmp_path / "job.yaml"
    path.write_bytes(b"#" * 1_000_000)
    assert len(read_text(path)) == 1_000_000
    path.write_bytes(b"#" * 1_000_001)
    assert str(unreadable(path)) == f"{path} has 1 MB; at most 1 MB is read"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_no_more_than_a_megabyte_is_read_from_a_pipe(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)

    def fill() -> None:
        with contextlib.suppress(BrokenPipeError):
            path.write_bytes(b"#" * 3_000_000)

    writer = threading.Thread(target=fill)
    writer.start()
    try:
        with pytest.raises(InputError, match="at most 1 MB is read"):
            read_text(path)
    finally:
        writer.join()


def typed(monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    """Put `data` on standard input."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))


def test_standard_input_is_read_as_a_file_is(monkeypatch: pytest.MonkeyPatch) -> None:
    typed(monkeypatch, b"\xef\xbb\xbfname: gr\xc3\xb6\xc3\x9fer\n")
    assert read_stdin() == "name: größer\n"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"\xff", "standard input is not a text file"),
        (b"a\0b", "standard input is not a text file"),
        (b"#" * 1_000_001, "standard input has more than 1 MB; at most 1 MB is read"),
    ],
    ids=["latin-1", "nul", "large"],
)
def test_standard_input_that_cannot_be_used_is_an_input_error(
    data: bytes, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    typed(monkeypatch, data)
    with pytest.raises(InputError) as caught:
        read_stdin()
    assert str(caught.value) == message


def test_a_megabyte_on_standard_input_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    typed(monkeypatch, b"#" * 1_000_000)
    assert len(read_stdin()) == 1_000_000


def test_a_closed_standard_input_is_an_input_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(InputError):
        read_stdin()


# --- anything at all ----------------------------------------------------------------------------


def read_or_refused(text: str, model: type[Record]) -> None:
    """Read `text`: a record or an InputError that names the place; nothing else may happen."""
    message = "x.yaml"
    try:
        build(model, parse(text, where="x.yaml"), where="x.yaml", text=text)
    except InputError as err:
        message = str(err)
    assert message.startswith("x.yaml")


NO_HALVES = st.characters(exclude_categories=["Cs"])


@given(st.text(NO_HALVES, max_size=60))
def test_law_any_text_is_a_job_or_an_input_error(text: str) -> None:
    read_or_refused(text, Job)


@given(st.text("ab:- \n\t[]{}'\"#&*!|>%@?,~.019", max_size=40))
def test_law_any_punctuation_is_a_job_or_an_input_error(text: str) -> None:
    read_or_refused(text, Job)


VALUES: st.SearchStrategy[Any] = st.recursive(
    st.text("abcT49 .-", min_size=1, max_size=6) | st.sampled_from(["true", "1", "0.5", "T4"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from([*Job.model_fields, "card", "count", "step_s", "x"]), inner, max_size=3
        )
    ),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from([*Job.model_fields, "x"]), VALUES, max_size=5))
def test_law_any_values_are_a_job_or_an_input_error(data: dict[str, Any]) -> None:
    import yaml

    text = yaml.safe_dump(data)  # quotes what would surprise
    read_or_refused(text, Job)


def damaged(text: str) -> st.SearchStrategy[str]:
    """Return `text` with a piece of it replaced by something else."""

    def cut(start: int, length: int, piece: str) -> str:
        return text[:start] + piece + text[start + length :]

    return st.builds(
        cut,
        st.integers(0, len(text)),
        st.integers(0, 12),
        st.text("ab:- \n[]{}'\"#&*!|>,~.019", max_size=6),
    )


@given(damaged(OFFER))
def test_law_a_damaged_provider_file_is_read_or_refused(text: str) -> None:
    read_or_refused(text, ProviderFile)


# --- where PyYAML was built without its C loader ------------------------------------------------


@pytest.fixture(scope="module")
def slow() -> Any:
    """The module as it is where PyYAML has no C loader."""
    import yaml

    import costplan.yamlfile

    assert costplan.yamlfile.__file__ is not None
    spec = importlib.util.spec_from_file_location("slow_yamlfile", costplan.yamlfile.__file__)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patch:
        patch.delattr(yaml, "CBaseLoader", raising=False)
        spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("text", "start"),
    [
        ("epochs: 1\nname: no\n", "job.yaml:2: no as a value: YAML 1.1 reads it as true"),
        ("a:\n  - b: 12:30\n", "job.yaml:2: 12:30 as a value: "),
        ("a:\n", "job.yaml:1: nothing as a value: "),
        ("a:\n  b: 1\n  b: 2\n", "job.yaml:3: 'b' appears twice"),
        ("? [a]\n: 1\n", "job.yaml:1: a key must be a word"),
        ("a: &a [*a]\n", "job.yaml:1: "),
        ("a: *nothing\n", "job.yaml:1: "),
        ("a: 1\n---\nb: 1\n", "job.yaml:2: "),
        ("a:\n\tb: 1\n", "job.yaml:2: "),
        ("a: \x01", "job.yaml is not YAML: "),
        ("name: \udcff", "job.yaml is not YAML: "),
        ("[" * 600 + "]" * 600, "job.yaml is nested too deeply"),
    ],
)
def test_the_slow_loader_refuses_the_same(text: str, start: str, slow: Any) -> None:
    with pytest.raises(InputError) as caught:
        slow.parse(text, where="job.yaml")
    assert str(caught.value).startswith(start)


@pytest.mark.parametrize("text", ["", "# remark\n", "a: 'no'\nb: [x, {c: true}]\n", OFFER])
def test_the_slow_loader_reads_the_same(text: str, slow: Any) -> None:
    assert slow.parse(text, where="job.yaml") == parse(text, where="job.yaml")


@pytest.mark.parametrize(("old", "new"), [("site:", "sites: 1\n  site:"), ("price", "prize")])
def test_the_slow_loader_finds_the_same_line(old: str, new: str, slow: Any) -> None:
    text = OFFER.replace(old, new, 1)
    with pytest.raises(InputError) as caught:
        slow.build(ProviderFile, slow.parse(text, where="job.yaml"), where="job.yaml", text=text)
    assert str(caught.value) == str(misfit(text, ProviderFile))
