"""Documents: their fingerprints, and which of them are kept."""

from __future__ import annotations

import json
import random
import uuid
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812

import simidx
import simidx_spark as on_spark
from simidx_spark import _jobs
from simidx_spark.distributed import _components, _engine, _messages
from simidx_spark.distributed._messages import MESSAGE

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
        _, has_features = expected.fingerprints_and_features(texts)
        assert 0 < sum(has_features) < len(texts)
        # A text that is null or has no features has none.
        of_texts = [expected.fingerprint(text) if has else None for text, has in zip(texts, has_features, strict=True)]
        found = [row["fingerprint"] for row in rows]
        assert [None if value is None else unsigned(value, width) for value in found] == [*of_texts, None]
        assert rows[7]["text"] == texts[7]


def test_other_columns_come_through_unchanged(spark: SparkSession) -> None:
    columns = [
        "'some words of a text' AS text",
        "TIMESTAMP '2024-01-02 03:04:05.123456' AS fetched",
        "TIMESTAMP_NTZ '1900-01-02 03:04:05.123456' AS local",
        "named_struct('at', TIMESTAMP '2024-01-02 03:04:05', 'local', TIMESTAMP_NTZ '2024-01-02 03:04:05') AS inner",
        "map('a', array(TIMESTAMP '2024-01-02 03:04:05')) AS several",
        "INTERVAL '1-2' YEAR TO MONTH AS months",
        "INTERVAL '3 04:05:06.7' DAY TO SECOND AS days",
        "DATE '2024-01-02' AS day",
        "X'00ff' AS bytes",
        "CAST(1.5 AS DECIMAL(38, 10)) AS decimal",
        "CAST(1.5 AS FLOAT) AS float",
        "NULL AS nothing",
    ]
    # PySpark before 4.0 cannot name the type.
    if spark.version >= "4":
        columns.append("make_interval(1, 2, 3, 4, 5, 6, 7.8) AS mixed")
    df = spark.sql(f"SELECT {', '.join(columns)}")
    found = on_spark.fingerprint(df)
    assert found.schema.fields[:-1] == df.schema.fields
    shown, expected = ([F.col(name).cast("string") for name in frame.columns] for frame in (found, df))
    row = found.select(*shown).collect()[0]
    assert tuple(row)[:-1] == tuple(df.select(*expected).collect()[0])
    assert row["fingerprint"] is not None
    stream = spark.readStream.format("rate").load().withColumn("text", F.lit("some words"))
    assert on_spark.fingerprint(stream).columns == ["timestamp", "value", "text", "fingerprint"]


def test_texts_without_features_are_in_no_cluster_and_no_set(
    spark: SparkSession, program: Program, tmp_path: Path
) -> None:
    texts = ["", "\N{SNOWMAN}", "\N{COMET}", "some words of a text", "some words of a text", None]
    rows: list[Any] = [(f"d{i}", text) for i, text in enumerate(texts)]
    on_spark.fingerprint(spark.createDataFrame(rows, "id string, text string")).write.parquet(str(tmp_path / "prints"))
    df = spark.read.parquet(str(tmp_path / "prints"))
    assert df.where("fingerprint is null").count() == 4
    program("build", write(tmp_path / "docs.jsonl", rows[:-1]), "-o", "one.simidx")
    assert on_spark.pairs(df, 64).collect() == []
    assert sorted(row["id"] for row in on_spark.clusters(df, 64).collect()) == ["d3", "d4"]
    on_spark.build(df, tmp_path / "set", overwrite=True)
    with simidx.open(tmp_path / "set") as index, simidx.open(tmp_path / "one.simidx") as one:
        assert index.record_count == one.record_count == 2
    for broadcast in (10, 0):
        matches = on_spark.join(df, tmp_path / "set", k=20, broadcast=broadcast).collect()
        assert sorted((row["distance"], row["id"]) for row in matches) == [(0, "d3"), (0, "d4")]
    kept, report = on_spark.dedup(df, None, fingerprint_column="fingerprint", k=3)
    assert sorted(row["id"] for row in kept.collect()) == ["d0", "d1", "d2", "d3", "d5"]
    assert [(row["id"], row["duplicate_of"]) for row in report.collect()] == [("d4", "d3")]
    kept, _ = on_spark.dedup(df, None, fingerprint_column="fingerprint", k=3, against=tmp_path / "set")
    assert sorted(row["id"] for row in kept.collect()) == ["d0", "d1", "d2", "d5"]
    on_spark.release()


def most_similar(rows: list[Document], kept: set[Any], similarity: float, words: Any, longest: bool) -> list[Any]:
    """The report by its rule: of the kept documents that are decided on before it the most similar one, of several the
    one of the smallest id. Equal texts share the answer of the first of them.
    """
    texts = [text for _, text in rows]
    order = sorted(range(len(rows)), key=lambda row: -len(texts[row].encode())) if longest else range(len(rows))
    place = {row: place for place, row in enumerate(order)}
    left, right, similarities = simidx.pairs_texts(texts, similarity, words=words)
    before: dict[int, list[tuple[float, int]]] = {}
    for a, b, jaccard in zip(left.tolist(), right.tolist(), similarities.tolist(), strict=True):
        one, other = sorted((a, b), key=place.__getitem__)
        before.setdefault(other, []).append((jaccard, one))
    found = []
    for row, (id, _) in enumerate(rows):
        if id in kept:
            continue
        equals = [one for jaccard, one in before[row] if jaccard == 1.0]
        first = min(equals, key=place.__getitem__, default=row)
        if rows[first][0] in kept:
            first = row
        best = max((pair for pair in before[first] if rows[pair[1]][0] in kept), key=lambda pair: (pair[0], -pair[1]))
        found.append((id, rows[best[1]][0], round(best[0], 4)))
    return sorted(found)


@pytest.mark.parametrize(
    ("partitions", "similarity", "words"), [(1, 0.8, 3), (7, 0.5, 2), pytest.param(64, 0.8, 3, marks=pytest.mark.slow)]
)
def test_dedup_by_text_is_that_of_the_program(
    spark: SparkSession, program: Program, tmp_path: Path, partitions: int, similarity: float, words: int
) -> None:
    rows = [(f"d{i:05}", text) for i, text in enumerate(documents(600, partitions))]
    path = write(tmp_path / "docs.jsonl", rows)
    program("dedup", path, "--similarity", similarity, "--features", f"words:{words}", "-o", "kept.jsonl")
    expected = [json.loads(line)["id"] for line in (tmp_path / "kept.jsonl").read_text().splitlines()]
    assert 100 < len(expected) < 500
    df = spark.createDataFrame(rows, "id string, text string").repartition(partitions)
    kept, report = on_spark.dedup(df, similarity=similarity, words=words, partitions=partitions)
    assert kept.columns == ["id", "text"]
    assert sorted(row["id"] for row in kept.collect()) == expected
    found = sorted((r["id"], r["duplicate_of"], round(r["similarity"], 4)) for r in report.collect())
    assert found == most_similar(rows, set(expected), similarity, words, longest=False)
    on_spark.release()


def test_the_report_does_not_depend_on_partitions(spark: SparkSession) -> None:
    rows = [(f"d{i:05}", text) for i, text in enumerate(documents(900, 8))]
    df = spark.createDataFrame(rows, "id string, text string")
    found = []
    for partitions in (1, 5):
        _, report = on_spark.dedup(df.repartition(partitions), similarity=0.4, words=2, partitions=partitions)
        found.append(sorted(map(tuple, report.collect())))
    assert len(found[0]) > 300
    assert found[1] == found[0]
    on_spark.release()


def test_long_ids_are_sent_in_small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    size = 1 << 16
    monkeypatch.setattr(_messages, "GATHERED", size)
    rows = pa.table({"fingerprint": pa.array(range(3000), pa.int64()), "id": [f"{i:01000}" for i in range(3000)]})
    sent = list(_messages.SendRecords("fingerprint", 3)(iter(rows.to_batches(1000))))
    labels = np.concatenate([np.arange(3000, dtype=np.uint64), np.zeros(3000, dtype=np.uint64)])
    linked = [
        pa.RecordBatch.from_pylist([{"place": p, "part": -1, "data": labels.tobytes()}], MESSAGE) for p in range(3)
    ]
    together = list(_components.Members("fingerprint", 64, 3)(iter(sent + linked)))
    for blocks in (sent, together):
        messages = [row["data"] for block in blocks for row in block.to_pylist()]
        assert sum(_messages.from_stream(data).num_rows for data in messages) == 3000
        # The rest is what a stream of Arrow has around its columns.
        assert max(map(len, messages)) < size + 2000
    # All come to one place, whose ids may be of more than 2 GiB.
    _, records = next(_messages.records_at_places(iter(together)))
    assert records.schema.field("id").type == pa.large_string()


def test_dedup_by_stars_and_numbers(spark: SparkSession) -> None:
    texts = documents(400, 9)
    df = spark.createDataFrame([(i - 200, text) for i, text in enumerate(texts)], "id long, text string").repartition(4)
    mask = simidx.dedup_texts(texts)
    for united in (0, 10**6):
        kept, _ = on_spark.dedup(df, united=united)
        assert sorted(row["id"] + 200 for row in kept.collect()) == mask.nonzero()[0].tolist()
    on_spark.release()


def test_a_failed_job_is_not_run_again(spark: SparkSession, tmp_path: Path) -> None:
    class Fails:
        schema = MESSAGE

        def __call__(self, batches: Any) -> Any:
            for _ in batches:
                (tmp_path / uuid.uuid4().hex).touch()
                raise simidx.InputError("no luck")
            yield from ()

    message = spark.sql("SELECT 0 AS place, 0 AS part, X'00' AS data")
    _jobs.job(lambda df: on_spark._search.keep(on_spark._wiring.run(df, Fails())))(message)
    assert list(tmp_path.iterdir()) == []
    engine = on_spark._search.Spark()
    with pytest.raises(Exception, match="no luck"):
        engine.keep(engine.map(engine.by_place([engine.map(message, Fails())], 2), _engine.Only(0)))
    # The attempts of one task.
    assert len(list(tmp_path.iterdir())) == 4
    engine.release()
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
