"""The examples of the guide to Spark do what they say, and so does the program."""

from __future__ import annotations

import doctest
import json
import os
import re
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import simidx_spark as on_spark
from simidx_spark.__main__ import main

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
        test = doctest.DocTestParser().get_doctest(block, names, f"block {number}", str(GUIDE), 0)
        assert test.examples, block
        runner.run(test, clear_globs=False)
        names.update(test.globs)
    on_spark.release()
    assert runner.summarize().failed == 0


def test_the_program_dedups_json_lines(spark: SparkSession, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    fox = "The quick brown fox jumps over the lazy dog near the river bank, and nobody sees it"
    rows = [{"url": "b", "text": fox + " there."}, {"url": "a", "text": fox}, {"url": "c", "text": "something else"}]
    (tmp_path / "docs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    docs, kept, dropped = (str(tmp_path / name) for name in ("docs.jsonl", "kept", "dropped"))
    assert main(["dedup", docs, kept, "--id-field", "url", "--report", dropped, "--output-format", "json"]) == 0
    assert sorted(row["url"] for row in spark.read.json(kept).collect()) == ["a", "c"]
    assert [(r["id"], r["duplicate_of"]) for r in spark.read.json(dropped).collect()] == [("b", "a")]
    assert "dropped 1 documents" in capfd.readouterr().err
    for output in ([kept], [str(tmp_path / "other"), "--report", dropped]):
        assert main(["dedup", docs, *output, "--id-field", "url"]) == 2
        assert "is there already" in capfd.readouterr().err
    assert not (tmp_path / "other").exists()
    options = ["--keep", "longest", "--similarity", "0.5", "--features", "words:2", "--force"]
    assert main(["dedup", docs, kept, "--id-field", "url", *options, "--output-format", "json"]) == 0
    assert sorted(row["url"] for row in spark.read.json(kept).collect()) == ["b", "c"]
    assert main(["dedup", docs, kept, "--id-field", "url", "--features", "letters", "--force"]) == 2
    assert "words:N and pipeline are possible" in capfd.readouterr().err
    assert main(["dedup", docs, kept, "--id-field", "name", "--force"]) == 2
    assert "no column 'name'" in capfd.readouterr().err
    on_spark.release()
