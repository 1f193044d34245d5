"""Checkpoints opened without torch: what opens, what is broken, what cannot be told."""

from __future__ import annotations

import io
import json
import pickle
import struct
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from costplan.box import checkpoints

ROOT = Path(__file__).resolve().parents[1]


def zipped(members: dict[str, bytes], packing: int = zipfile.ZIP_STORED) -> bytes:
    """Return an archive as torch writes it: stored, one member for each tensor."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", packing) as archive:
        for name, content in members.items():
            archive.writestr(zipfile.ZipInfo(name), content)
    return buffer.getvalue()


WEIGHTS = b"weights of the first tensor " * 8
TORCH = zipped({"best/data.pkl": b"\x80\x02}q\x00.", "best/data/0": WEIGHTS, "best/version": b"3"})


def safetensors(table: Any, data_bytes: int, *, header: bytes | None = None) -> bytes:
    text = json.dumps(table).encode() if header is None else header
    return struct.pack("<Q", len(text)) + text + bytes(data_bytes)


def tensor(start: int, end: int, shape: list[int] | None = None, dtype: str = "F32") -> Any:
    return {"dtype": dtype, "shape": [(end - start) // 4] if shape is None else shape} | {
        "data_offsets": [start, end]
    }


def state(name: str, content: bytes) -> str:
    with tempfile.TemporaryDirectory() as folder:
        return looked(Path(folder), name, content)[0]


def looked(tmp_path: Path, name: str, content: bytes) -> tuple[str, str]:
    path = tmp_path / name
    path.write_bytes(content)
    found = checkpoints.look(path)
    return found.state, found.why or ""


# --- archives -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["a.pt", "a.pth", "a.ckpt", "a.PT", "a.npz", "a.zip"])
def test_a_whole_archive_opens(tmp_path: Path, name: str) -> None:
    assert looked(tmp_path, name, TORCH) == ("opens", "")


@pytest.mark.parametrize(
    "packing", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA]
)
def test_a_flipped_byte_of_content_is_found_in_every_packing(tmp_path: Path, packing: int) -> None:
    whole = zipped({"a": WEIGHTS}, packing)
    assert looked(tmp_path, "a.npz", whole) == ("opens", "")
    middle = whole.index(b"a") + 1 + (whole.index(b"PK\x01\x02") - whole.index(b"a")) // 2
    flipped = whole[:middle] + bytes([whole[middle] ^ 0xFF]) + whole[middle + 1 :]
    assert looked(tmp_path, "a.npz", flipped)[0] == "broken"


def test_a_flipped_byte_of_weights_is_named_by_its_member(tmp_path: Path) -> None:
    at = TORCH.index(b"first tensor")
    flipped = TORCH[:at] + b"F" + TORCH[at + 1 :]
    verdict, why = looked(tmp_path, "best.pt", flipped)
    assert (verdict, "best/data/0" in why) == ("broken", True)


@given(st.integers(1, len(TORCH) - 1))
def test_a_cut_off_archive_is_broken_or_no_archive_at_all(length: int) -> None:
    expected = "unchecked" if length == 1 else "broken"  # "P" alone may begin anything
    assert state("cut.pt", TORCH[:length]) == expected


@given(st.integers(0, len(TORCH) - 1), st.integers(1, 255))
def test_no_flipped_byte_anywhere_ends_in_a_crash(at: int, by: int) -> None:
    flipped = TORCH[:at] + bytes([TORCH[at] ^ by]) + TORCH[at + 1 :]
    assert state("flipped.pt", flipped) in ("opens", "broken", "unchecked")


@given(st.binary(max_size=200), st.sampled_from([".pt", ".npz", ".zip", ".safetensors"]))
def test_nothing_that_is_in_a_file_ends_in_a_crash(content: bytes, suffix: str) -> None:
    assert state(f"any{suffix}", content) in ("broken", "unchecked")


@pytest.mark.parametrize("name", ["a.pt", "a.npz", "a.safetensors"])
def test_a_checkpoint_of_no_bytes_is_broken(tmp_path: Path, name: str) -> None:
    assert looked(tmp_path, name, b"") == ("broken", "a checkpoint of 0 bytes")


def test_an_archive_of_nothing_is_no_checkpoint_but_a_zip(tmp_path: Path) -> None:
    assert looked(tmp_path, "a.pt", zipped({}))[0] == "broken"
    assert looked(tmp_path, "a.zip", zipped({}))[0] == "opens"


def test_an_archive_with_a_password_cannot_be_checked(tmp_path: Path) -> None:
    locked = bytearray(TORCH)
    for start in (b"PK\x03\x04", b"PK\x01\x02"):
        locked[locked.index(start) + (6 if start[2] == 3 else 8)] |= 1  # the flag of encryption
    assert looked(tmp_path, "a.zip", bytes(locked))[0] == "unchecked"


def test_an_unknown_packing_cannot_be_checked(tmp_path: Path) -> None:
    other = bytearray(TORCH)
    other[other.index(b"PK\x01\x02") + 10] = 97  # 97 is WavPack
    assert looked(tmp_path, "a.zip", bytes(other))[0] == "unchecked"


def test_a_pickle_is_not_run_and_cannot_be_checked(tmp_path: Path) -> None:
    class Bomb:
        def __reduce__(self) -> Any:
            return (Path.touch, (tmp_path / "exploded",))

    verdict, why = looked(tmp_path, "old.pt", pickle.dumps(Bomb()))
    assert (verdict, "cannot be checked" in why) == ("unchecked", True)
    looked(tmp_path, "new.pt", zipped({"best/data.pkl": pickle.dumps(Bomb())}))
    assert not (tmp_path / "exploded").exists()


def test_what_is_no_zip_is_no_npz(tmp_path: Path) -> None:
    assert looked(tmp_path, "a.npz", b"\x80\x02}q\x00.")[0] == "broken"


def test_opening_needs_neither_torch_nor_pickle() -> None:
    code = "import sys, costplan.box.checkpoints; print({'torch', 'pickle'} & set(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout == "set()\n"


def test_a_file_that_is_gone_is_no_verdict(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        checkpoints.look(tmp_path / "gone.pt")


# --- safetensors --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "content",
    [
        safetensors({"a": tensor(0, 8), "b": tensor(8, 12)}, 12),
        safetensors({"b": tensor(8, 12), "a": tensor(0, 8)}, 12),
        safetensors({"__metadata__": {"format": "pt"}, "a": tensor(0, 4, [])}, 4),
        safetensors({"none": tensor(0, 0, [3, 0]), "a": tensor(0, 4)}, 4),
        safetensors({"a": tensor(0, 3, [3], "NEW_8_BITS")}, 3),
        safetensors({"a": tensor(0, 6, [3], "BF16")}, 6),
        safetensors({}, 0),
        safetensors({}, 0, header=b"{}      "),
    ],
)
def test_a_whole_safetensors_opens(tmp_path: Path, content: bytes) -> None:
    assert looked(tmp_path, "a.safetensors", content) == ("opens", "")


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"\x08\0\0", "cut off in the first 8 bytes"),
        (struct.pack("<Q", 9) + b"{}", "a header of 9 bytes in a file of 10"),
        (struct.pack("<Q", 100_000_001) + bytes(8), "a header of 100000001 bytes"),
        (safetensors({}, 0, header=b'{"a":'), "not JSON"),
        (safetensors({}, 0, header=b"\xff\xff"), "decode"),
        (safetensors([], 0), "no table"),
        (safetensors({}, 0, header=b"  {}"), "no table"),
        (safetensors({}, 0, header=b'{"a": 1, "a": 1}'), "appears twice"),
        (safetensors({"a": 3}, 0), "no dtype, shape and data_offsets"),
        (safetensors({"a": tensor(0, 8)}, 7), "cut off, at byte 7"),
        (safetensors({"a": tensor(0, 8)}, 9), "1 bytes after byte 8 belong to no tensor"),
        (safetensors({"a": tensor(4, 8)}, 8), "4 bytes after byte 0 belong to no tensor"),
        (safetensors({"a": tensor(0, 8), "b": tensor(4, 12)}, 12), "overlap"),
        (safetensors({"a": tensor(0, 4), "b": tensor(8, 12)}, 12), "belong to no tensor"),
        (safetensors({"a": tensor(0, 8, [3])}, 8), "8 bytes for [3] F32"),
        (safetensors({"a": tensor(8, 0, [0])}, 8), "a"),
        (safetensors({"a": tensor(0, 8, [True, 2])}, 8), "no whole number"),
        (safetensors({"a": tensor(0, 4, [-1])}, 4), "no whole number"),
    ],
)
def test_a_safetensors_that_does_not_add_up_is_broken(
    tmp_path: Path, content: bytes, why: str
) -> None:
    verdict, said = looked(tmp_path, "a.safetensors", content)
    assert verdict == "broken"
    assert why in said


@given(st.integers(1, 60), st.data())
def test_a_safetensors_that_lost_its_end_is_broken(count: int, data: st.DataObject) -> None:
    rows = {str(each): tensor(4 * each, 4 * each + 4) for each in range(count)}
    whole = safetensors(rows, 4 * count)
    length = data.draw(st.integers(0, len(whole) - 1))
    assert state("cut.safetensors", whole[:length]) == "broken"
