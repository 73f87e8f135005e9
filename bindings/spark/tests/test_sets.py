"""Pairs, clusters and what is kept are those of the program, whatever Spark does with the partitions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

import simidx
import simidx_spark as on_spark

from .conftest import Program, frame, hexadecimal, near_values, tsv, unsigned

#: How Spark plans, and in how many parts.
PLANS = [
    *[pytest.param("true", parts, id=f"adaptive-{parts}") for parts in (1, 7)],
    pytest.param("false", 7, id="plain-7"),
    *[pytest.param("true", parts, id=f"adaptive-{parts}", marks=pytest.mark.slow) for parts in (20, 64)],
    *[pytest.param("false", parts, id=f"plain-{parts}", marks=pytest.mark.slow) for parts in (1, 64)],
]


@pytest.fixture
def adaptive(request: pytest.FixtureRequest, spark: SparkSession) -> Any:
    spark.conf.set("spark.sql.adaptive.enabled", request.param)
    yield request.param
    spark.conf.set("spark.sql.adaptive.enabled", "true")
    on_spark.release()


def lines_of_pairs(df: DataFrame, width: int = 64) -> list[str]:
    rows = df.collect()
    lines = [f"{hexadecimal(r['left'], width)}\t{hexadecimal(r['right'], width)}\t{r['distance']}" for r in rows]
    return sorted(lines)


def found_clusters(df: DataFrame, width: int = 64) -> list[list[tuple[int, str]]]:
    """The members of each cluster of several."""
    members: dict[Any, list[tuple[int, str]]] = {}
    for row in df.collect():
        members.setdefault(row["cluster"], []).append((unsigned(row["fingerprint"], width), row["id"]))
    return sorted(sorted(cluster) for cluster in members.values() if len(cluster) > 1)


def printed_clusters(lines: list[str]) -> list[list[tuple[int, str]]]:
    """The same of what the program prints, which numbers clusters by the member that it puts first."""
    members: dict[str, list[tuple[int, str]]] = {}
    for line in lines:
        number, fingerprint, name = line.split("\t")
        members.setdefault(number, []).append((int(fingerprint, 16), name))
    return sorted(sorted(cluster) for cluster in members.values())


@pytest.mark.parametrize(("adaptive", "partitions"), PLANS, indirect=["adaptive"])
def test_pairs_and_clusters_are_those_of_the_program(
    spark: SparkSession, program: Program, tmp_path: Path, adaptive: str, partitions: int
) -> None:
    values = near_values(64, 3000, 7)
    assert max(values) >= 1 << 63
    path = tsv(tmp_path / "records.tsv", values, 64)
    df = frame(spark, values, 64, partitions)
    expected = program("pairs", path, "-k", 3, "--sort").splitlines()
    assert len(expected) > 1000
    assert lines_of_pairs(on_spark.pairs(df, 3, partitions=partitions)) == expected
    program("build", path, "-o", "one.simidx")
    clusters = printed_clusters(program("clusters", "one.simidx").splitlines())
    assert len(clusters) > 500
    found = on_spark.clusters(df, 3, partitions=partitions)
    assert found_clusters(found) == clusters
    for row in found.groupBy("cluster").agg({"id": "min"}).collect():
        assert row["cluster"] == row["min(id)"]


@pytest.mark.parametrize(("width", "k"), [(32, 2), (64, 0), (64, 1), (64, 7), (64, 12), (128, 3), (128, 9)])
def test_every_width_and_distance(spark: SparkSession, width: int, k: int) -> None:
    values = near_values(width, 800, k)
    df = frame(spark, values, width, 3)
    ordered = sorted(set(values))
    expected = sorted(
        f"{a:0{width // 4}x}\t{b:0{width // 4}x}\t{(a ^ b).bit_count()}"
        for i, a in enumerate(ordered)
        for b in ordered[i + 1 :]
        if (a ^ b).bit_count() <= k
    )
    assert lines_of_pairs(on_spark.pairs(df, k), width) == expected
    on_spark.release()


@pytest.mark.parametrize("width", [pytest.param(32, marks=pytest.mark.slow), 64, 128])
def test_stars_find_the_clusters_of_union_find(spark: SparkSession, width: int) -> None:
    values = near_values(width, 900, 3)
    # A long chain takes the stars some rounds.
    chain = [sum(1 << b for b in range(i % width)) ^ (1 << (width - 2)) for i in range(width)]
    df = frame(spark, values + chain, width, 3)
    united, stars = (on_spark.clusters(df, 2, united=limit) for limit in (10**6, 0))
    assert found_clusters(stars, width) == found_clusters(united, width)
    on_spark.release()


def test_a_crowd_is_divided_and_found_once(spark: SparkSession) -> None:
    values = [0xABCD << 48 | i for i in range(5000)] + near_values(64, 5000, 2)
    found = lines_of_pairs(on_spark.pairs(frame(spark, values, 64, 5), 2, partitions=20))
    left, right, _ = simidx.pairs(values, 2, width=64)
    assert found == sorted(
        f"{a:016x}\t{b:016x}\t{(a ^ b).bit_count()}" for a, b in zip(left.tolist(), right.tolist(), strict=True)
    )
    on_spark.release()


def test_nothing_near_and_nothing_at_all(spark: SparkSession) -> None:
    for values in ([], [5], [5, 5], [0, 2**64 - 1]):
        df = frame(spark, values, 64, 2)
        assert on_spark.pairs(df, 3).collect() == []
        clusters = on_spark.clusters(df, 3).collect()
        assert len(clusters) == (2 if values == [5, 5] else 0)
    on_spark.release()


@pytest.mark.parametrize("ids", ["string", "number"])
def test_dedup_of_fingerprints_keeps_what_the_program_keeps(
    spark: SparkSession, program: Program, tmp_path: Path, ids: str
) -> None:
    values = near_values(64, 2000, 11)
    path = tsv(tmp_path / "records.tsv", values, 64)
    program("dedup", path, "-k", 3, "-o", "kept.tsv", "--report", "report.jsonl")
    expected = [line.split("\t")[1] for line in (tmp_path / "kept.tsv").read_text().splitlines()]
    df = frame(spark, values, 64, 5, ids)
    kept, report = on_spark.dedup(df, None, fingerprint_column="fingerprint", k=3, partitions=7)

    def name(id: Any) -> str:
        return id if ids == "string" else f"d{id:05}"

    assert sorted(name(row["id"]) for row in kept.collect()) == expected
    lines = [json.loads(line) for line in (tmp_path / "report.jsonl").read_text().splitlines()]
    reported = {(name(r["id"]), name(r["duplicate_of"]), r["distance"]) for r in report.collect()}
    assert reported == {(line["dropped"], line["kept"], line["distance"]) for line in lines}
    on_spark.release()


@pytest.fixture
def printed(spark: SparkSession, tmp_path: Path) -> DataFrame:
    """Texts of which two each are equal, with fingerprints, next to a set without records."""
    texts = [f"some words of a text about the number {i // 2} and nothing else" for i in range(9)]
    df = on_spark.fingerprint(spark.createDataFrame(list(enumerate(texts)), "id long, text string"), pipeline="web")
    df.write.parquet(str(tmp_path / "printed"))
    read = spark.read.parquet(str(tmp_path / "printed"))
    on_spark.build(read.where("false"), tmp_path / "empty")
    return read


def lines_of_report(df: DataFrame, **how: Any) -> list[Any]:
    return sorted(map(tuple, on_spark.dedup(df, **how).report.collect()))


@pytest.mark.parametrize(
    "how",
    [{"similarity": 0.8}, {"k": 3}, pytest.param({"k": 3, "text_column": None}, marks=pytest.mark.slow)],
    ids=str,
)
def test_an_empty_set_has_nothing(printed: DataFrame, tmp_path: Path, how: dict[str, Any]) -> None:
    if "text_column" in how:
        how = {**how, "fingerprint_column": "fingerprint"}
    kept, report = on_spark.dedup(printed, **how)
    expected = sorted(map(tuple, report.collect()))
    both = on_spark.dedup(printed, against=[tmp_path / "empty", tmp_path / "empty"], **how)
    assert sorted(row["id"] for row in both.kept.collect()) == sorted(row["id"] for row in kept.collect())
    assert sorted(map(tuple, both.report.select(report.columns).collect())) == expected
    assert {"index_fingerprint", "index_id"} <= set(both.report.columns)
    if "k" in how:
        on_spark.build(printed.limit(3), tmp_path / "set", pipeline="web")
        alone = lines_of_report(printed, against=tmp_path / "set", **how)
        assert lines_of_report(printed, against=[tmp_path / "empty", tmp_path / "set"], **how) == alone
        assert len(alone) > len(expected)
    on_spark.release()


def test_by_default_an_empty_set_gets_fingerprints(printed: DataFrame, tmp_path: Path) -> None:
    assert on_spark.join(printed, tmp_path / "empty").collect() == []
    assert on_spark.join(printed, tmp_path / "empty", exists=True).where("exists").count() == 0
    # Without a measure, the next days are compared as the first.
    by_default = on_spark.dedup(printed, against=tmp_path / "empty").report
    assert {"distance", "similarity"} & set(by_default.columns) == {"distance"}
    on_spark.release()
