"""Documents: their fingerprints, and which of them are kept."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812

import simidx
from simidx import spark as on_spark

from .conftest import Program, unsigned

Document = tuple[Any, str]


def documents(count: int, seed: int) -> list[str]:
    """Texts of which some are variants of others, a few are equal, and some say nothing."""
    chance = random.Random(seed)
    words = [f"word{i}" for i in range(400)]
    texts: list[str] = []
    for _ in range(count):
        kind = chance.random()
        if kind < 0.4 and texts:
            tokens = chance.choice(texts).split()
            for _ in range(chance.randrange(0, 4)):
                if tokens:
                    tokens[chance.randrange(len(tokens))] = chance.choice(words)
            texts.append(" ".join(tokens))
        elif kind < 0.45:
            texts.append(chance.choice(["", "\N{SNOWMAN}", "\N{SNOWMAN}\N{COMET}", "two words"]))
        else:
            texts.append(" ".join(chance.choice(words) for _ in range(chance.randrange(3, 80))))
    return texts


def write(path: Path, rows: list[Document]) -> Path:
    path.write_text("".join(json.dumps({"id": id, "text": text}) + "\n" for id, text in rows))
    return path


def test_fingerprints_are_those_of_the_pipeline(spark: SparkSession) -> None:
    texts = documents(300, 1)
    df = spark.createDataFrame([(i, text) for i, text in enumerate([*texts, None])], "id int, text string")
    for pipeline, width in [("web", 64), ("short", 128), ("web,weights=uniform", 32)]:
        expected = simidx.Pipeline(pipeline, width=width)
        rows = on_spark.fingerprint(df.repartition(5), pipeline=pipeline, width=width).sort("id").collect()
        assert [unsigned(row["fingerprint"], width) for row in rows[:-1]] == [expected.fingerprint(t) for t in texts]
        assert rows[-1]["fingerprint"] is None
        assert rows[7]["text"] == texts[7]


@pytest.mark.parametrize(("partitions", "similarity", "words"), [(1, 0.8, 3), (7, 0.5, 2), (64, 0.8, 3)])
def test_dedup_by_text_is_that_of_the_program(
    spark: SparkSession, program: Program, tmp_path: Path, partitions: int, similarity: float, words: int
) -> None:
    rows = [(f"d{i:05}", text) for i, text in enumerate(documents(600, partitions))]
    path = write(tmp_path / "docs.jsonl", rows)
    options = [
        "--similarity",
        similarity,
        "--features",
        f"words:{words}",
        "-o",
        "kept.jsonl",
        "--report",
        "report.jsonl",
    ]
    program("dedup", path, *options)
    expected = [json.loads(line)["id"] for line in (tmp_path / "kept.jsonl").read_text().splitlines()]
    assert 100 < len(expected) < 500
    df = spark.createDataFrame(rows, "id string, text string").repartition(partitions)
    kept, report = on_spark.dedup(df, similarity=similarity, words=words, partitions=partitions)
    assert kept.columns == ["id", "text"]
    assert sorted(row["id"] for row in kept.collect()) == expected
    lines = [json.loads(line) for line in (tmp_path / "report.jsonl").read_text().splitlines()]
    expected_report = sorted((line["dropped"], line["kept"], round(line["similarity"], 4)) for line in lines)
    found = sorted((r["id"], r["duplicate_of"], round(r["similarity"], 4)) for r in report.collect())
    assert found == expected_report
    on_spark.release()


def test_dedup_by_stars_and_numbers(spark: SparkSession) -> None:
    texts = documents(400, 9)
    df = spark.createDataFrame([(i - 200, text) for i, text in enumerate(texts)], "id long, text string").repartition(4)
    mask = simidx.dedup_texts(texts)
    for united in (0, 10**6):
        kept, _ = on_spark.dedup(df, united=united)
        assert sorted(row["id"] + 200 for row in kept.collect()) == mask.nonzero()[0].tolist()
    on_spark.release()


def test_ids_must_be_there_unique_and_stable(spark: SparkSession) -> None:
    df = spark.createDataFrame([("a", "x y z"), ("a", "x y z"), (None, "p q r")], "id string, text string")
    with pytest.raises(Exception, match="two records have the id 'a'"):
        on_spark.dedup(df.where("id is not null"))[0].collect()
    with pytest.raises(Exception, match="no id"):
        on_spark.dedup(df)[0].collect()
    numbered = df.withColumn("number", F.monotonically_increasing_id())
    with pytest.raises(simidx.InputError, match="monotonically_increasing_id"):
        on_spark.dedup(numbered, id_column="number")
    with pytest.raises(simidx.InputError, match="uuid"):
        on_spark.dedup(df.withColumn("name", F.expr("uuid()")), id_column="name")
    on_spark.release()
