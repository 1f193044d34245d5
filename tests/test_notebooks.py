"""Notebooks run as plain Python in one namespace and print what is saved in them."""

from __future__ import annotations

import io
import json
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))


def _printed(code: str, names: dict[str, Any], where: str) -> str:
    out = io.StringIO()
    with redirect_stdout(out):
        exec(compile(code, where, "exec"), names)
    return out.getvalue()


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_prints_what_is_saved_in_it(
    path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    monkeypatch.chdir(ROOT)
    book = json.loads(path.read_text(encoding="utf-8"))
    names: dict[str, Any] = {"__name__": "__main__"}
    saved, printed = [], []
    for number, cell in enumerate(book["cells"], 1):
        cell.setdefault("id", f"cell-{number}")
        if cell["cell_type"] != "code":
            continue
        text = _printed("".join(cell["source"]), names, f"{path.name}[{number}]")
        printed.append(text)
        saved.append("".join("".join(output["text"]) for output in cell["outputs"]))
        output = {"name": "stdout", "output_type": "stream", "text": text.splitlines(True)}
        cell["outputs"] = [output] if text else []
    if request.config.getoption("--update-golden"):
        path.write_text(json.dumps(book, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        return
    assert printed == saved


def test_there_is_a_notebook() -> None:
    assert NOTEBOOKS
