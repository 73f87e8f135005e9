"""Local Parquet files are read by the tasks; everything that is more than columns of them is read by Spark."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.errors import AnalysisException, PythonException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

import simidx.spark
from simidx.spark import _files as files
from simidx.spark import _search

from .conftest import near_values, signed

COUNT = 3000


def table(width: int = 64) -> pa.Table:
    values = near_values(width, COUNT, 5)
    kind = {32: pa.int32(), 64: pa.int64(), 128: pa.binary()}[width]
    fingerprints = [bytes(v) if width == 128 else v for v in (signed(value, width) for value in values)]
    ids = [f"d{i:05}" for i in range(COUNT)]
    texts = [f"words {value % 97} of a text that is {value % 5} times the same" for value in values]
    return pa.table({"id": ids, "fingerprint": pa.array(fingerprints, kind), "text": texts, "n": np.arange(COUNT)})


@pytest.fixture
def by_spark(spark: SparkSession) -> Iterator[SparkSession]:
    """A session in which Spark reads all files."""
    yield spark
    spark.conf.unset(files.SETTING)


def both_ways(session: SparkSession, path: object, work: object) -> tuple[object, object]:
    """What comes of the files that tasks read, and of those that Spark reads."""
    found = []
    for setting in ("true", "false"):
        session.conf.set(files.SETTING, setting)
        df = session.read.parquet(str(path))
        assert (files.columns(df.select(*df.columns[:2]), 2) is not None) == (setting == "true")
        assert (_search.Near(df, "fingerprint", None)._files is not None) == (setting == "true")
        found.append(work(df))  # type: ignore[operator]
    return found[0], found[1]


def pairs(df: DataFrame) -> list[tuple[object, ...]]:
    return sorted(tuple(row) for row in simidx.spark.pairs(df).collect())


@pytest.mark.parametrize("width", [32, 64, 128])
def test_pairs_are_the_same(by_spark: SparkSession, tmp_path: Path, width: int) -> None:
    pq.write_table(table(width), tmp_path / "all.parquet", row_group_size=700)
    ours, of_spark = both_ways(by_spark, tmp_path / "all.parquet", pairs)
    assert ours == of_spark
    assert ours
    by_spark.conf.unset(files.SETTING)
    # The tasks are fewer than the rounds, and more.
    for partitions in (1, 3, 64):
        df = by_spark.read.parquet(str(tmp_path / "all.parquet")).withColumnRenamed("fingerprint", "place")
        found = simidx.spark.pairs(df, fingerprint_column="place", partitions=partitions).collect()
        assert sorted(tuple(row) for row in found) == ours


def test_what_one_task_cannot_hold_is_shuffled(spark: SparkSession, tmp_path: Path) -> None:
    pq.write_table(table(), tmp_path / "all.parquet")
    df = spark.read.parquet(str(tmp_path / "all.parquet"))
    found = []
    for module, name, limit in ((_search, "PLACE", COUNT), (_search, "PLACE", COUNT - 1), (files, "LOOKED_AT", 0)):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(module, name, limit)
            assert (_search.Near(df, "fingerprint", None)._files is not None) == (limit == COUNT)
            found.append(pairs(df))
    assert found[0] == found[1] == found[2]


def test_all_jobs_are_the_same(by_spark: SparkSession, tmp_path: Path) -> None:
    # As many files as Spark writes, in a folder whose name is not its address.
    folder = tmp_path / "50% of #1?"
    by_spark.createDataFrame(table().to_pandas()).repartition(5).write.parquet(str(folder))

    def work(df: DataFrame) -> list[object]:
        out = tmp_path / "set"
        names = simidx.spark.build(df, out, overwrite=True)
        by_text = simidx.spark.dedup(df, similarity=0.7)
        by_fingerprint = simidx.spark.dedup(df, None, fingerprint_column="fingerprint", k=3)
        clusters = simidx.spark.clusters(df, id_column="n")
        found = simidx.spark.join(df, out, k=2)
        frames = [by_text.kept, by_text.report, by_fingerprint.kept, by_fingerprint.report, clusters, found]
        return [names, *(sorted(map(repr, frame.collect())) for frame in frames)]

    ours, of_spark = both_ways(by_spark, folder, work)
    assert ours == of_spark


@pytest.mark.parametrize("type", [pa.uint64(), pa.decimal128(20, 0)])
def test_unsigned_columns(by_spark: SparkSession, tmp_path: Path, type: pa.DataType) -> None:
    values = near_values(64, COUNT, 5)
    unsigned = pa.array(values, pa.uint64())
    column = unsigned if type == pa.uint64() else unsigned.cast(type)
    pq.write_table(pa.table({"id": np.arange(COUNT), "fingerprint": column}), tmp_path / "all.parquet")
    ours, of_spark = both_ways(by_spark, tmp_path / "all.parquet", pairs)
    assert ours == of_spark
    assert ours


def test_every_row_is_read_once(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(3):
        pq.write_table(table().slice(number * 1000, 1000), tmp_path / f"{number}.parquet", row_group_size=90)
    monkeypatch.setattr(files, "LEAST", 1 << 10)
    for tasks in (1, 2, 7, 64):
        found = files.columns(spark.read.parquet(str(tmp_path)).select("n"), tasks)
        assert found is not None
        assert len(found.parts) >= tasks
        numbers = pa.RecordBatch.from_pydict({"id": range(len(found.parts))})
        rows = [n for batch in found.read(iter([numbers])) for n in batch.column(0).to_pylist()]
        assert sorted(rows) == list(range(COUNT))


def test_columns_have_their_names_and_types(spark: SparkSession, tmp_path: Path) -> None:
    pq.write_table(pa.table({"ID": pa.array([1, 2], pa.int32()), "other": ["a", "b"]}), tmp_path / "all.parquet")
    df = spark.read.schema("id int, missing string, other string").parquet(str(tmp_path / "all.parquet"))
    found = files.columns(df.select(F.col("missing").alias("m"), F.col("other").alias("o"), "id"), 1)
    assert found is not None
    rows = list(found.read(iter([pa.RecordBatch.from_pydict({"id": [0]})])))
    assert rows[0].to_pylist() == [{"m": None, "o": "a", "id": 1}, {"m": None, "o": "b", "id": 2}]
    assert [tuple(row) for row in df.select("missing", "other", "id").collect()] == [(None, "a", 1), (None, "b", 2)]


def test_what_is_more_than_columns_is_left_to_spark(spark: SparkSession, tmp_path: Path) -> None:
    pq.write_table(table(), tmp_path / "all.parquet")
    df = spark.read.parquet(str(tmp_path / "all.parquet"))
    df.withColumn("part", F.col("n") % 3).write.partitionBy("part").parquet(str(tmp_path / "parts"))
    df.write.json(str(tmp_path / "lines"))
    others = {
        "filtered": df.where("n > 5"),
        "computed": df.select((F.col("n") + 1).alias("n")),
        "cast": df.select(F.col("n").cast("string").alias("n")),
        "limited": df.limit(10),
        "joined": df.join(df.select("id"), "id"),
        "in partitions": spark.read.parquet(str(tmp_path / "parts")),
        "lines": spark.read.json(str(tmp_path / "lines")),
        "damage skipped": spark.read.option("ignoreCorruptFiles", "true").parquet(str(tmp_path / "all.parquet")),
        "local rows": spark.createDataFrame([(1,)], "n bigint"),
    }
    assert files.columns(df, 2) is not None
    for name, other in others.items():
        assert files.columns(other, 2) is None, name


def test_a_damaged_file_is_named(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "all.parquet"
    pq.write_table(table(), path)
    df = spark.read.parquet(str(path))
    data = bytearray(path.read_bytes())
    # All but the footer.
    footer = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    data[4:footer] = bytes(footer - 4)
    path.write_bytes(data)
    with pytest.raises(PythonException, match=r"all\.parquet: .*spark\.simidx\.readFiles=false"):
        simidx.spark.pairs(df).collect()


def test_a_table_that_is_read_cannot_be_overwritten(spark: SparkSession, tmp_path: Path) -> None:
    pq.write_table(table(), tmp_path / "all.parquet")
    read = spark.read.parquet(str(tmp_path / "all.parquet"))
    read.write.option("path", str(tmp_path / "table")).saveAsTable("simidx_documents")
    try:
        df = simidx.spark.fingerprint(spark.table("simidx_documents"), "text", output_column="print")
        with pytest.raises(AnalysisException):
            df.write.mode("overwrite").option("path", str(tmp_path / "table")).saveAsTable("simidx_documents")
        assert spark.table("simidx_documents").count() == COUNT
    finally:
        spark.sql("DROP TABLE simidx_documents")


def test_columns_with_defaults_are_left_to_spark(spark: SparkSession, tmp_path: Path) -> None:
    spark.sql(f"CREATE TABLE simidx_defaults (id BIGINT) USING parquet LOCATION '{tmp_path / 'table'}'")
    try:
        spark.sql("INSERT INTO simidx_defaults VALUES (1)")
        assert files.columns(spark.table("simidx_defaults"), 1) is not None
        spark.sql("ALTER TABLE simidx_defaults ADD COLUMNS (language STRING DEFAULT 'en')")
        assert files.columns(spark.table("simidx_defaults"), 1) is None
    finally:
        spark.sql("DROP TABLE simidx_defaults")


def test_files_with_the_footers_of_others_have_no_rows(spark: SparkSession, tmp_path: Path) -> None:
    footers: list[pq.FileMetaData] = []
    pq.write_to_dataset(table(), tmp_path / "all", metadata_collector=footers)
    pq.write_metadata(table().schema, tmp_path / "all" / "_metadata", metadata_collector=footers)
    found = files.columns(spark.read.parquet(str(tmp_path / "all")).select("n"), 1)
    assert found is not None
    assert found.row_count() == COUNT
    assert len(pairs(spark.read.parquet(str(tmp_path / "all")))) > 1000


def test_batches_of_long_texts_are_small(spark: SparkSession, tmp_path: Path) -> None:
    # Some texts take their room in the file, others are there once.
    texts = [f"{n % 3}" * 20_000 if n < 6000 else f"{n:08}" * 2500 for n in range(8000)]
    pq.write_table(pa.table({"text": texts}), tmp_path / "all.parquet", row_group_size=1000)
    found = files.columns(spark.read.parquet(str(tmp_path / "all.parquet")), 1)
    assert found is not None
    numbers = pa.RecordBatch.from_pydict({"id": range(len(found.parts))})
    batches = list(found.read(iter([numbers])))
    assert sum(batch.num_rows for batch in batches) == len(texts)
    assert max(batch.nbytes for batch in batches) <= files.BYTES + 40_000


@pytest.mark.parametrize("kind", ["unsigned", "wide"])
def test_files_of_one_column_may_have_several_types(by_spark: SparkSession, tmp_path: Path, kind: str) -> None:
    width = 64 if kind == "unsigned" else 128
    values = near_values(width, COUNT, 5)
    plain = pa.array([bytes(v) if width == 128 else v for v in (signed(value, width) for value in values)])
    other = pa.array(values, pa.uint64()) if width == 64 else plain.cast(pa.binary(16))
    (tmp_path / "all").mkdir()
    for number, column in enumerate([plain[:1000], other[1000:2000], plain[2000:]]):
        # Spark itself cannot read a dictionary of unsigned numbers.
        path = tmp_path / "all" / f"{number}.parquet"
        pq.write_table(pa.table({"fingerprint": column}), path, use_dictionary=False)
    type = "bigint" if width == 64 else "binary"

    def of(setting: str) -> list[tuple[object, ...]]:
        by_spark.conf.set(files.SETTING, setting)
        return pairs(by_spark.read.schema(f"fingerprint {type}").parquet(str(tmp_path / "all")))

    ours = of("true")
    assert ours == of("False")
    assert ours


def test_columns_that_differ_in_case_alone_are_an_error(spark: SparkSession, tmp_path: Path) -> None:
    pq.write_table(pa.table({"ID": [1], "Id": [2]}), tmp_path / "all.parquet")
    df = spark.read.schema("id bigint").parquet(str(tmp_path / "all.parquet"))
    found = files.columns(df, 1)
    assert found is not None
    with pytest.raises(simidx.InputError, match="ID, Id differ in case alone"):
        list(found.read(iter([pa.RecordBatch.from_pydict({"id": [0]})])))
