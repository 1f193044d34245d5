"""Listings of other places: what each form says, and what none of them may say."""

from __future__ import annotations

import json
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from costplan.box.listings import Listed, read
from costplan.errors import InputError

A = "a" * 64
B = "b" * 64


@pytest.fixture
def listing(tmp_path: Path) -> Path:
    return tmp_path / "listing"


def written(path: Path, content: str | bytes | Any) -> Path:
    if isinstance(content, str):
        content = content.encode()
    path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    return path


def refused(path: Path, content: str | bytes | Any) -> str:
    with pytest.raises(InputError) as caught:
        read(written(path, content))
    return str(caught.value)


# --- sha256sum ----------------------------------------------------------------------------------


def sums(path: Path, text: str) -> dict[str, str]:
    return {name: each.hashes["sha256"] for name, each in read(written(path, text)).items()}


@pytest.mark.parametrize(
    ("line", "name"),
    [
        (f"{A}  weights/best.pt", "weights/best.pt"),
        (f"{A} *weights/best.pt", "weights/best.pt"),
        (f"{A}  ./weights/best.pt", "weights/best.pt"),
        (f"{A.upper()}  best.pt", "best.pt"),
        (f"{A}   two  spaces ", " two  spaces "),
        (f"{A}  *star", "*star"),
        (f"\\{A}  two\\nlines", "two\nlines"),
        (f"\\{A} *back\\\\slash\\r", "back\\slash\r"),
        (f"{A}  back\\nslash", "back\\nslash"),  # no \ in front: the name is as it stands
        (f"{A}  Gewichte-ü.pt", "Gewichte-ü.pt"),
    ],
)
def test_a_line_of_sha256sum_is_a_hash_and_a_name(listing: Path, line: str, name: str) -> None:
    assert sums(listing, f"{line}\n") == {name: A}
    assert sums(listing, line) == {name: A}


def test_lines_that_end_as_on_windows_are_read(listing: Path) -> None:
    assert sums(listing, f"{A}  a\r\n{B}  b\r\n") == {"a": A, "b": B}


def test_nothing_lists_nothing(listing: Path) -> None:
    assert read(written(listing, "")) == read(written(listing, [])) == {}


@pytest.mark.parametrize(
    "line",
    [f"{A[1:]}  a", f"{A}a  a", f"{A} a", f"{A}  ", f"{A}\ta", "g" * 64 + "  a", "best.pt: OK"],
)
def test_what_is_no_line_of_sha256sum_is_refused_with_its_number(listing: Path, line: str) -> None:
    assert refused(listing, f"{B}  b\n{line}\n") == f"{listing}:2: not a line of sha256sum"


def test_an_escape_that_sha256sum_does_not_write_is_refused(listing: Path) -> None:
    assert "\\x is no escape" in refused(listing, f"\\{A}  a\\x\n")
    assert "\\ is no escape" in refused(listing, f"\\{A}  a\\\n")


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("/mnt/run/best.pt", "an absolute path"),
        ("C:/run/best.pt", "an absolute path"),
        ("../best.pt", "leaves the folder"),
        ("a/../../b", "leaves the folder"),
        ("a//b", "not a path"),
        ("a/./b", "not a path"),
        ("a/", "not a path"),
    ],
)
def test_a_path_that_leaves_the_folder_is_refused(listing: Path, name: str, why: str) -> None:
    assert why in refused(listing, f"{A}  {name}\n")
    assert why in refused(listing, [{"Path": name}])
    assert why in refused(listing, [{"path": name, "type": "file"}])


def test_a_file_that_is_listed_twice_is_refused(listing: Path) -> None:
    assert refused(listing, f"{A}  a\n{A}  ./a\n") == f"{listing}:2: 'a' appears twice"
    assert "appears twice" in refused(listing, [{"Path": "a"}, {"Path": "a"}])


names = st.text(
    st.characters(exclude_characters="/\0", exclude_categories=["Cs"]), min_size=1, max_size=12
).filter(lambda name: name not in (".", ".."))


@given(st.sets(names, min_size=1, max_size=5))
def test_every_name_that_sha256sum_escapes_comes_back(found: set[str]) -> None:
    lines = []
    for name in sorted(found):
        plain = name.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r")
        mark = "\\" if plain != name else ""
        lines.append(f"{mark}{A}  {plain}\n")
    with tempfile.TemporaryDirectory() as folder:
        assert set(read(written(Path(folder) / "sums", "".join(lines)))) == found


@pytest.mark.parametrize("flag", ["--text", "--binary"])
def test_what_sha256sum_itself_writes_is_read(tmp_path: Path, flag: str) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    for name in ("plain", "back\\slash", "two\nlines", " space", "*star"):
        (folder / name).write_bytes(b"")
    empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    try:
        done = subprocess.run(
            ["find", ".", "-type", "f", "-exec", "sha256sum", flag, "{}", "+"],
            cwd=folder,
            capture_output=True,
            check=True,
        )
    except (FileNotFoundError, subprocess.CalledProcessError):
        pytest.skip("no sha256sum here")
    found = read(written(tmp_path / "sums", done.stdout))
    assert set(found) == {"plain", "back\\slash", "two\nlines", " space", "*star"}
    assert {each.hashes["sha256"] for each in found.values()} == {empty}


# --- rclone -------------------------------------------------------------------------------------


def test_rclone_says_sizes_and_the_hashes_that_its_remote_has(listing: Path) -> None:
    rows = [
        {"Path": "weights", "Name": "weights", "Size": -1, "IsDir": True},
        {
            "Path": "weights/best.pt",
            "Name": "best.pt",
            "Size": 12,
            "MimeType": "application/octet-stream",
            "ModTime": "2026-08-27T09:00:00.000000000Z",
            "IsDir": False,
            "Hashes": {"sha256": A.upper(), "md5": "c" * 32, "crc32": "00000000"},
        },
        {"Path": "old", "Size": 1, "Hashes": {"SHA-1": "d" * 40, "MD5": "", "DropboxHash": B}},
        {"Path": "bare", "Size": 3},
        {"Path": "unknown", "Size": -1, "Hashes": None},
    ]
    assert read(written(listing, rows)) == {
        "weights/best.pt": Listed(12, {"sha256": A, "md5": "c" * 32}),
        "old": Listed(1, {"sha1": "d" * 40}),
        "bare": Listed(3, {}),
        "unknown": Listed(None, {}),
    }


@pytest.mark.parametrize(
    ("row", "why"),
    [
        ({"Path": 3}, "a path that is no text"),
        ({"Path": "a", "Size": "12"}, "'12' is no size"),
        ({"Path": "a", "Size": True}, "True is no size"),
        ({"Path": "a", "Size": -2}, "-2 is no size"),
        ({"Path": "a", "Hashes": [A]}, "Hashes is no table"),
        ({"Path": "a", "Hashes": {"sha256": A[1:]}}, "no sha256 of 64"),
        ({"Path": "a", "Hashes": {"md5": 3}}, "no md5 of 32"),
        ({"name": "a"}, "neither of rclone nor of Hugging Face"),
    ],
)
def test_a_row_that_does_not_fit_is_refused_with_its_number(
    listing: Path, row: Any, why: str
) -> None:
    told = refused(listing, [{"Path": "fits"}, row])
    assert told.startswith(f"{listing}, entry 2: ")
    assert why in told


# --- Hugging Face -------------------------------------------------------------------------------


def test_a_hugging_face_tree_has_the_sha256_of_large_files_and_gits_hash_of_others(
    listing: Path,
) -> None:
    git = "8" * 40
    rows = [
        {"type": "directory", "oid": git, "size": 0, "path": "weights"},
        {
            "type": "file",
            "oid": git,
            "size": 12,
            "lfs": {"oid": A, "size": 12, "pointerSize": 134},
            "xetHash": B,
            "path": "weights/best.pt",
        },
        {"type": "file", "path": "a", "size": 1, "lfs": {"sha256": B, "pointer_size": 134}},
        {"type": "file", "path": "b", "size": 1, "lfs": {"oid": f"sha256:{B}"}},
        {"type": "file", "oid": git, "size": 7, "path": "README.md"},
        {"type": "file", "blob_id": git, "size": 7, "path": "notes", "lfs": None},
    ]
    assert read(written(listing, rows)) == {
        "weights/best.pt": Listed(12, {"sha256": A}),
        "a": Listed(1, {"sha256": B}),
        "b": Listed(1, {"sha256": B}),
        "README.md": Listed(7, {"git-sha1": git}),
        "notes": Listed(7, {"git-sha1": git}),
    }


def test_a_large_file_without_its_hash_has_none(listing: Path) -> None:
    rows = [{"type": "file", "path": "a", "size": 1, "oid": "8" * 40, "lfs": {"size": 1}}]
    assert read(written(listing, rows)) == {"a": Listed(1, {})}


# --- what is no listing -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b'[{"Path": "a"', "is not JSON"),
        (b'[{"Path": "a", "Path": "b"}]', "appears twice"),
        (b'[{"Path": "a", "Size": NaN}]', "NaN is not a number"),
        (b'{"error": "Repository not found"}', "is no listing"),
        (b'["a"]', "is no listing"),
        (b"[" * 100_000, "nested too deeply"),
        (b"\xff\xfea\0b\0", "not a text file"),
        (b"PK\x03\x04\0\0", "not a text file"),
    ],
)
def test_what_is_no_listing_is_refused(listing: Path, content: bytes, why: str) -> None:
    assert why in refused(listing, content)


def test_a_listing_that_is_not_there_is_said(listing: Path) -> None:
    with pytest.raises(InputError, match="does not exist"):
        read(listing)
