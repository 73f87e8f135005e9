"""The examples of the guide and of the package do what they say."""

from __future__ import annotations

import doctest
import os
import re
from pathlib import Path

import pytest

import simidx

BOOK = Path(os.environ.get("SIMIDX_BOOK", Path(__file__).parents[3] / "book"))
GUIDES = BOOK / "src" / "guides"

#: The chapters with examples, and the packages that these need.
CHAPTERS = {
    "python": ["pyarrow", "pandas", "polars", "duckdb"],
    "python-tools": ["datasets"],
    "images": ["imagehash"],
}


def test_the_package_document() -> None:
    assert doctest.testmod(simidx).failed == 0


@pytest.mark.skipif(not GUIDES.exists(), reason="the book is not here")
@pytest.mark.parametrize("chapter", list(CHAPTERS))
def test_the_guide(chapter: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for needed in CHAPTERS[chapter]:
        pytest.importorskip(needed, reason=f"{needed} is not installed: bindings/python/check --drop-ins")
    monkeypatch.chdir(tmp_path)
    guide = GUIDES / f"{chapter}.md"
    blocks = re.findall(r"^```python\n(>>> .*?)^```", guide.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    assert len(blocks) > 2
    names: dict[str, object] = {}
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
    for number, block in enumerate(blocks):
        test = doctest.DocTestParser().get_doctest(block, names, f"block {number}", str(guide), 0)
        assert test.examples, block
        runner.run(test, clear_globs=False)
        names.update(test.globs)
    assert runner.summarize().failed == 0
