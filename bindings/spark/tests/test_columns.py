"""Columns of fingerprints: what is understood, and what is refused."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pytest
from pyspark.errors import PythonException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812

import simidx
import simidx_spark as on_spark
from simidx_spark import _wiring
from simidx_spark.distributed import _columns, _pairs
from simidx_spark.distributed._store import MANIFEST

from .conftest import unsigned

HIGH = [0, 1, 2**63 - 1, 2**63, 2**64 - 1]


def test_bits_come_through_every_type() -> None:
    expected = np.array(HIGH, dtype=np.uint64)
    signed = pa.array([v - 2**64 if v >> 63 else v for v in HIGH])
    decimal = pa.array([Decimal(v) for v in HIGH], pa.decimal128(20, 0))
    for column in (signed, pa.array(HIGH, pa.uint64()), decimal, pa.chunked_array([signed[:2], signed[2:]])):
        assert (_columns.from_arrow(column) == expected).all()
    assert _columns.to_arrow(expected).equals(signed)
    assert (_columns.from_arrow(decimal[2:]) == expected[2:]).all()
    wide = np.array([[v, w] for v in HIGH for w in HIGH], dtype=np.uint64)
    packed = [v.to_bytes(8, "big") + w.to_bytes(8, "big") for v in HIGH for w in HIGH]
    for kind in (pa.binary(), pa.binary(16)):
        assert (_columns.from_arrow(pa.array(packed, kind)) == wide).all()
        assert (_columns.from_arrow(pa.array(packed, kind)[3:]) == wide[3:]).all()
    assert _columns.to_arrow(wide).to_pylist() == packed


@pytest.mark.parametrize(
    ("column", "error"),
    [
        (pa.array([1.0]), "fingerprints of type double"),
        (pa.array(["ff"]), "fingerprints of type string"),
        (pa.array([Decimal(-1)], pa.decimal128(20, 0)), "not an unsigned number"),
        (pa.array([Decimal(2**64)], pa.decimal128(20, 0)), "not an unsigned number"),
        (pa.array([Decimal(1)], pa.decimal128(38, 0)), "fingerprints of type decimal128"),
        (pa.array([b"short"]), "16 bytes"),
        (pa.array([b"0123456789abcdef", b"short"]), "16 bytes"),
        (pa.array([1, None]), "row 1 of a batch has no fingerprint"),
    ],
)
def test_anything_else_is_refused(column: pa.Array, error: str) -> None:
    with pytest.raises(simidx.InputError, match=error):
        _columns.from_arrow(column)


def test_spark_reads_unsigned_columns_of_parquet(spark: SparkSession, tmp_path: object) -> None:
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"fingerprint": pa.array(HIGH, pa.uint64())}), f"{tmp_path}/unsigned.parquet")
    df = spark.read.parquet(f"{tmp_path}/unsigned.parquet")
    assert df.schema["fingerprint"].dataType.simpleString() == "decimal(20,0)"
    rows = on_spark.pairs(df, 1).collect()
    found = {(r["left"] % 2**64, r["right"] % 2**64, r["distance"]) for r in rows}
    assert found == {(0, 1, 1), (0, 2**63, 1), (2**63 - 1, 2**64 - 1, 1)}
    with pytest.raises(simidx.InputTypeError, match=r"conv\(column, 16, -10\)"):
        on_spark.pairs(df.select(F.lit("ff").alias("fingerprint")), 1)
    with pytest.raises(simidx.InputTypeError, match="double"):
        on_spark.pairs(df.select(F.col("fingerprint").cast("double")), 1)
    with pytest.raises(simidx.InputError, match="no column 'other'"):
        on_spark.pairs(df, 1, fingerprint_column="other")
    on_spark.release()


@pytest.mark.parametrize(
    ("way", "names"),
    [
        ("dotted", ("the.id", "the.text", "the.fingerprint`s")),
        ("nested", ("Doc.ID", "doc.Text", "DOC.fingerprint")),
        pytest.param("plain", ("ID", "Text", "Fingerprint"), marks=pytest.mark.slow),
    ],
)
def test_columns_are_found_as_spark_finds_them(
    spark: SparkSession, tmp_path: Path, way: str, names: tuple[str, str, str]
) -> None:
    rows = [("a", "some words of a text", 5), ("b", "some words of a text", 5)]
    df = spark.createDataFrame(rows, "id string, text string, fingerprint long")
    if way == "dotted":
        df = df.toDF(*names)
    elif way == "nested":
        df = df.select(F.struct("*").alias("doc"))
    id, text, fingerprint = names
    assert on_spark.fingerprint(df, text, output_column="print").where("print is not null").count() == 2
    assert on_spark.pairs(df, fingerprint_column=fingerprint).collect() == []
    clusters = on_spark.clusters(df, fingerprint_column=fingerprint, id_column=id)
    assert sorted(row["id"] for row in clusters.collect()) == ["a", "b"]
    by_fingerprint: dict[str, Any] = {"k": 3, "keep": "longest", "fingerprint_column": fingerprint}
    for how in ({}, by_fingerprint):
        kept, report = on_spark.dedup(df, text, id, **how)
        assert [(row["id"], row["duplicate_of"]) for row in report.collect()] == [("b", "a")]
        assert kept.columns == df.columns
        assert kept.count() == 1
    on_spark.build(df, tmp_path / "set", id, fingerprint)
    assert on_spark.join(df, tmp_path / "set", fingerprint_column=fingerprint).count() == 2
    on_spark.release()


def test_columns_that_are_not_found_are_refused(spark: SparkSession) -> None:
    plain = spark.createDataFrame([("a", "some words of a text")], "id string, text string")
    both = plain.select("id", F.col("text"), F.col("id").alias("text"))
    with pytest.raises(simidx.InputError, match="'text' for the texts is there more than once"):
        on_spark.fingerprint(both)
    with pytest.raises(simidx.InputTypeError, match="a DataFrame of Spark is expected, and not Table"):
        on_spark.fingerprint(pa.table({"text": ["a"]}))
    with pytest.raises(simidx.InputError, match="there is a column 'TEXT' already"):
        on_spark.fingerprint(plain, output_column="TEXT")


@pytest.mark.parametrize("k", [None, "3", 2.5])
def test_a_distance_is_a_number(spark: SparkSession, tmp_path: Path, k: Any) -> None:
    df = spark.createDataFrame([("a", 5)], "id string, fingerprint long")
    for work in (on_spark.pairs, on_spark.clusters, lambda df, k: on_spark.build(df, tmp_path / "set", k=k)):
        with pytest.raises(simidx.OptionTypeError, match="a distance is a number of bits"):
            work(df, k)
    assert not (tmp_path / "set" / MANIFEST).exists()


def test_the_number_of_partitions_without_a_context() -> None:
    class Connected:
        """As far as a DataFrame of Spark Connect has a session."""

        def __init__(self, setting: str | None) -> None:
            self.sparkSession, self.conf = self, {"spark.sql.shuffle.partitions": setting}

    found = [_wiring.parallelism(cast(Any, Connected(setting)), None) for setting in ("auto", None, "16")]
    assert found == [200, 200, 16]


def test_another_release_on_a_worker_is_refused() -> None:
    with pytest.raises(simidx.Error, match="and the driver 0: install the same on all"):
        _wiring.same_version("0")
    _wiring.same_version(simidx.__version__)


@pytest.mark.parametrize("wide", [False, True])
def test_a_sample_has_the_smallest_hashes(wide: bool) -> None:
    rng = np.random.default_rng(3)
    shape = (100_000, 2) if wide else 100_000
    # Evenly spread, in a row, and very many equal ones, whose hash alone may be larger than those of a usual sample.
    for values in (
        rng.integers(0, 2**64, shape, dtype=np.uint64),
        np.arange(100_000, dtype=np.uint64).repeat(2 if wide else 1).reshape(shape),
        np.full(shape, 5, dtype=np.uint64),
    ):
        hashes = _pairs._hashes(values)
        smallest = values[np.argsort(hashes, kind="stable")[:500]]
        assert (_pairs.smallest_hashes(values, 500) == smallest).all()
        assert len(_pairs.smallest_hashes(values[:499], 500)) == 499


@pytest.mark.parametrize("width", [32, 64, 128])
def test_functions_of_sql(spark: SparkSession, width: int) -> None:
    on_spark.register(spark, width=width)
    rows = [(1, "some words of a text"), (2, "quite other words"), (3, ""), (4, None)]
    spark.createDataFrame(rows, "id int, text string").createOrReplaceTempView("sql_texts")
    made = spark.sql("select *, simidx_fingerprint(text) f, simidx_has_features(text) has from sql_texts order by id")
    found = made.collect()
    values = simidx.Pipeline("web", width=width).fingerprints([str(text) for _, text in rows[:2]])
    first, second = (unsigned(value, width) for value in _columns.to_arrow(values).to_pylist())
    assert [unsigned(row["f"], width) for row in found[:2]] == [first, second]
    assert [row["f"] for row in found[2:]] == [None, None]
    assert [row["has"] for row in found] == [True, True, False, False]
    made.createOrReplaceTempView("sql_prints")
    apart = spark.sql(
        "select simidx_distance(a.f, b.f) d from sql_prints a join sql_prints b on a.id = 1 order by b.id"
    )
    assert [row["d"] for row in apart.collect()] == [0, (first ^ second).bit_count(), None, None]
    numbers = spark.sql("select simidx_distance(-1, 0) d")
    if hasattr(F, "arrow_udf") or width == 32:
        assert numbers.collect()[0]["d"] == 32
    elif width == 64:
        with pytest.raises(PythonException, match="width=32"):
            numbers.collect()
