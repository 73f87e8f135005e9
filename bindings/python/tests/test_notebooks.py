"""The notebooks of the examples run from the first cell to the last, and print what is stored in them."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

BOOK = Path(os.environ.get("SIMIDX_BOOK", Path(__file__).parents[3] / "book"))
NOTEBOOKS = BOOK.parent / "examples" / "notebooks"


@pytest.mark.skipif(not NOTEBOOKS.exists(), reason="the notebooks are not here")
def test_there_are_notebooks() -> None:
    assert len(list(NOTEBOOKS.glob("*.ipynb"))) >= 3


@pytest.mark.parametrize("path", sorted(NOTEBOOKS.glob("*.ipynb")), ids=lambda path: path.stem)
def test_a_notebook(path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(path.parent)
    notebook: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert any("assert " in line for cell in cells for line in cell["source"])
    names: dict[str, object] = {}
    stored: list[list[str]] = []
    printed: list[list[str]] = []
    for number, cell in enumerate(cells, 1):
        exec(compile("".join(cell["source"]), f"{path.name}, code cell {number}", "exec"), names)
        lines = capsys.readouterr().out.splitlines(keepends=True)
        stored.append([line for output in cell["outputs"] for line in output["text"]])
        printed.append(lines)
        cell["outputs"] = [{"name": "stdout", "output_type": "stream", "text": lines}] if lines else []
    if os.environ.get("SNAPSHOTS") == "overwrite":
        path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    else:
        assert printed == stored
    assert any(printed)
