"""The examples of the guide to Spark do what they say."""

from __future__ import annotations

import doctest
import os
import re
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import simidx_spark as on_spark

BOOK = Path(os.environ.get("SIMIDX_BOOK", Path(__file__).parents[3] / "book"))
GUIDE = BOOK / "src" / "guides" / "spark.md"


@pytest.mark.skipif(not GUIDE.exists(), reason="the book is not here")
def test_the_guide(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"^```python\n(.*?)^```", GUIDE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    assert len(blocks) >= 3
    names: dict[str, object] = {"session": spark}
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    for number, block in enumerate(blocks):
        # The JVM does not change its folder.
        block = block.replace('parquet("', f'parquet("{tmp_path}/')
        test = doctest.DocTestParser().get_doctest(block, names, f"block {number}", str(GUIDE), 0)
        assert test.examples, block
        runner.run(test, clear_globs=False)
        names.update(test.globs)
    on_spark.release()
    assert runner.summarize().failed == 0
