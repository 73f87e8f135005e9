"""The examples of the guide and of the package do what they say."""

from __future__ import annotations

import doctest
import os
import re
from pathlib import Path

import pytest

import simidx

BOOK = Path(os.environ.get("SIMIDX_BOOK", Path(__file__).parents[3] / "book"))
GUIDE = BOOK / "src" / "guides" / "python.md"


def test_the_package_document() -> None:
    assert doctest.testmod(simidx).failed == 0


@pytest.mark.skipif(not GUIDE.exists(), reason="the book is not here")
def test_the_guide(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for needed in ("pyarrow", "polars"):
        pytest.importorskip(needed)
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"^```python\n(.*?)^```", GUIDE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    assert len(blocks) > 5
    names: dict[str, object] = {}
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
    for number, block in enumerate(blocks):
        test = doctest.DocTestParser().get_doctest(block, names, f"block {number}", str(GUIDE), 0)
        assert test.examples, block
        runner.run(test, clear_globs=False)
        names.update(test.globs)
    assert runner.summarize().failed == 0
