"""Queries against sets: what the program finds, whether the queries are broadcast or shuffled."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

import simidx
import simidx_spark as on_spark

from .conftest import Program, frame, hexadecimal, near_values

VALUES = near_values(64, 4000, 5)


def lines(df: DataFrame, width: int = 64) -> list[str]:
    """Matches as the program prints them."""
    rows = [
        [hexadecimal(r["query"], width), hexadecimal(r["match"], width), str(r["distance"]), r["id"]]
        for r in df.collect()
    ]
    return sorted("\t".join(str(c) for c in row if c is not None) for row in rows)


@pytest.fixture(autouse=True)
def released() -> Iterator[None]:
    yield
    on_spark.release()


@pytest.mark.parametrize("broadcast", [10**6, 0], ids=["broadcast", "shuffled"])
@pytest.mark.parametrize("ids", ["string", "number", None])
def test_join_finds_what_the_program_finds(
    spark: SparkSession, program: Program, tmp_path: Path, ids: str | None, broadcast: int
) -> None:
    stored, queries = VALUES[:3000], sorted(set(VALUES[2000:]))
    df = frame(spark, stored, 64, 3, ids or "string")
    on_spark.build(df, tmp_path / "set", ids and "id", segments=3)
    (tmp_path / "queries.hex").write_text("".join(f"{value:016x}\n" for value in queries))
    expected = sorted(program("join", "set", "queries.hex", "-k", 4).splitlines())
    given = frame(spark, queries + queries[:9], 64, 4)
    assert lines(on_spark.join(given, tmp_path / "set", k=4, broadcast=broadcast)) == expected
    assert len(expected) > 1000


@pytest.mark.parametrize("partitions", [1, 7, pytest.param(64, marks=pytest.mark.slow)])
def test_shuffled_queries_find_what_broadcast_ones_find(spark: SparkSession, tmp_path: Path, partitions: int) -> None:
    on_spark.build(frame(spark, VALUES[:3000], 64, 3), tmp_path / "set", segments=3)
    queries = frame(spark, VALUES[2000:], 64, partitions)
    both = [on_spark.join(queries, tmp_path / "set", partitions=partitions, broadcast=most) for most in (10**6, 0)]
    expected, found = map(lines, both)
    assert len(expected) > 1000
    assert found == expected


def test_several_tasks_search_a_segment(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    on_spark.build(frame(spark, VALUES[:3000], 64, 3), tmp_path / "set", segments=1)
    queries = frame(spark, VALUES[2000:], 64, 3)
    expected = lines(on_spark.join(queries, tmp_path / "set", partitions=3))
    assert len(expected) > 1000
    monkeypatch.setattr("simidx_spark._segments.SHARE", 100)
    found = on_spark.join(queries, tmp_path / "set", partitions=3)
    assert found.select(F.spark_partition_id()).distinct().count() == 3
    assert lines(found) == expected


@pytest.mark.parametrize(("width", "k"), [(32, 1), (64, 0), (64, 9), (128, 3)])
def test_shuffled_queries_of_every_width(spark: SparkSession, tmp_path: Path, width: int, k: int) -> None:
    values = near_values(width, 900, k)
    stored, queries = values[:600], sorted(set(values[500:]))
    on_spark.build(frame(spark, stored, width, 2), tmp_path / "set", k=3, segments=2)
    expected = sorted(
        f"{query:0{width // 4}x}\t{value:0{width // 4}x}\t{(query ^ value).bit_count()}\td{i:05}"
        for query in queries
        for i, value in enumerate(stored)
        if (query ^ value).bit_count() <= k
    )
    assert len(expected) > 100
    found = on_spark.join(frame(spark, queries, width, 3), tmp_path / "set", k=k, broadcast=0)
    assert lines(found, width) == expected


def test_no_queries_and_queries_that_do_not_fit(spark: SparkSession, tmp_path: Path) -> None:
    on_spark.build(frame(spark, VALUES[:50], 64, 2), tmp_path / "set")
    for broadcast in (0, 10):
        nothing: Any = frame(spark, [], 64, 1)
        assert on_spark.join(nothing, tmp_path / "set", broadcast=broadcast).collect() == []
    with pytest.raises(simidx.InputError, match="have 64 bits"):
        on_spark.join(frame(spark, [1, 2], 32, 1), tmp_path / "set")
    with pytest.raises(simidx.OptionError, match="k=65"):
        on_spark.join(frame(spark, VALUES[:2], 64, 1), tmp_path / "set", k=65, broadcast=0)


@pytest.mark.parametrize("broadcast", [10**6, 0], ids=["broadcast", "shuffled"])
def test_rows_of_queries_keep_their_columns(spark: SparkSession, tmp_path: Path, broadcast: int) -> None:
    on_spark.build(frame(spark, VALUES[:3000], 64, 3), tmp_path / "set", segments=3)
    # Each query twice, and some without a fingerprint.
    queries = frame(spark, VALUES[2000:] + VALUES[2000:], 64, 3).withColumn("query", F.lit("mine"))
    queries = queries.unionByName(queries.limit(5).withColumn("fingerprint", F.lit(None).cast("bigint")))
    how: Any = {"k": 4, "broadcast": broadcast}
    plain = {
        (r["query"], r["match"], r["distance"], r["id"])
        for r in on_spark.join(queries, tmp_path / "set", **how).collect()
    }
    rows = on_spark.join(queries, tmp_path / "set", columns=True, **how)
    assert rows.columns == ["id", "fingerprint", "query", "match", "distance", "match_id"]
    found = rows.collect()
    assert {(r["fingerprint"], r["match"], r["distance"], r["match_id"]) for r in found} == plain
    of_query = {r["id"] for r in found if r["fingerprint"] == found[0]["fingerprint"]}
    assert len(of_query) > 1
    flags = on_spark.join(queries, tmp_path / "set", exists=True, **how).collect()
    assert len(flags) == queries.count()
    near = {query for query, *_ in plain}
    assert all(r["exists"] == (r["fingerprint"] in near) and r["query"] == "mine" for r in flags)
    assert 0 < sum(r["exists"] for r in flags) < len(flags)


@pytest.mark.parametrize("type", ["int", "decimal(20,0)", "binary"])
def test_rows_of_every_type_of_fingerprint(spark: SparkSession, tmp_path: Path, type: str) -> None:
    width = {"int": 32, "binary": 128}.get(type, 64)
    values = near_values(width, 90, 3)
    assert max(values) >> (width - 1)
    df = frame(spark, values, width, 2)
    on_spark.build(df, tmp_path / "set", k=0)
    if type == "decimal(20,0)":
        # As Spark reads unsigned numbers.
        df = df.withColumn("fingerprint", F.expr("cast(conv(hex(fingerprint), 16, 10) as decimal(20,0))"))
    rows = on_spark.join(df, tmp_path / "set", columns=True).where("id = match_id")
    assert rows.count() == 90
    assert on_spark.join(df, tmp_path / "set", exists=True).where("exists").count() == 90


def test_options_of_rows(spark: SparkSession, tmp_path: Path) -> None:
    df = frame(spark, VALUES[:50], 64, 2)
    on_spark.build(df, tmp_path / "set")
    with pytest.raises(simidx.OptionError, match="choose one"):
        on_spark.join(df, tmp_path / "set", columns=True, exists=True)
    with pytest.raises(simidx.InputError, match="column 'exists'"):
        on_spark.join(df.withColumn("Exists", F.lit(1)), tmp_path / "set", exists=True)
