"""The options of deduplication: what is kept and reported is what the program keeps and reports, line for line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

import simidx
import simidx_spark as on_spark

from .conftest import Program, frame, hexadecimal, near_values
from .test_texts import documents, most_similar, write

Line = tuple[Any, ...]


def reported(path: Path) -> list[Line]:
    """The report of the program."""
    found = []
    for line in map(json.loads, path.read_text().splitlines()):
        numbers = (line.get("similarity"), line.get("estimate"), line.get("standard_error"))
        shown = [None if number is None else round(number, 4) for number in numbers]
        found.append(
            (
                line["dropped"],
                line["kept"],
                line["distance"],
                *shown,
                line.get("index_fingerprint"),
                line.get("index_id"),
            )
        )
    return sorted(found, key=str)


def rows_of(report: DataFrame, width: int = 64) -> list[Line]:
    """The same of the report of Spark."""
    found = []
    for row in (row.asDict() for row in report.collect()):
        numbers = (row.get("similarity"), row.get("estimate"), row.get("standard_error"))
        shown = [None if number is None else round(number, 4) for number in numbers]
        value = row.get("index_fingerprint")
        shown += [None if value is None else hexadecimal(value, width), row.get("index_id")]
        found.append((row["id"], row["duplicate_of"], row.get("distance"), *shown))
    return sorted(found, key=str)


BY_TEXT = [
    ({"keep": "longest"}, ["--keep", "longest"]),
    (
        {"keep": "longest", "words": 2, "similarity": 0.5},
        ["--keep", "longest", "--features", "words:2", "--similarity", "0.5"],
    ),
    ({"words": "pipeline", "similarity": 0.7}, ["--features", "pipeline", "--similarity", "0.7"]),
]
BY_FINGERPRINT = [
    ({"k": 3}, ["-k", "3"]),
    ({"k": 8, "keep": "longest"}, ["-k", "8", "--keep", "longest"]),
    ({"k": 12}, ["-k", "12"]),
    ({"k": 20, "keep": "longest", "width": 128}, ["-k", "20", "--keep", "longest", "--width", "128"]),
]


@pytest.mark.parametrize("partitions", [3, *(pytest.param(parts, marks=pytest.mark.slow) for parts in (1, 7))])
@pytest.mark.parametrize(("given", "options"), BY_TEXT + BY_FINGERPRINT, ids=lambda value: "")
def test_options_are_those_of_the_program(
    spark: SparkSession, program: Program, tmp_path: Path, given: dict[str, Any], options: list[str], partitions: int
) -> None:
    rows = [(f"d{i:05}", text) for i, text in enumerate(documents(500, 21))]
    path = write(tmp_path / "docs.jsonl", rows)
    program("dedup", path, *options, "-o", "kept.jsonl", "--report", "report.jsonl")
    expected = [json.loads(line)["id"] for line in (tmp_path / "kept.jsonl").read_text().splitlines()]
    assert 50 < len(expected) < 490
    df = spark.createDataFrame(rows, "id string, text string").repartition(partitions)
    kept, report = on_spark.dedup(df, partitions=partitions, **given)
    assert sorted(row["id"] for row in kept.collect()) == expected
    found, lines = rows_of(report), reported(tmp_path / "report.jsonl")
    if given in [given for given, _ in BY_TEXT]:
        # The program names the first similar one that it finds.
        how = (given.get("similarity", 0.8), given.get("words", 3), given.get("keep") == "longest")
        assert [line[:1] for line in found] == [line[:1] for line in lines]
        assert [(line[0], line[1], line[3]) for line in found] == most_similar(rows, set(expected), *how)
    else:
        assert found == lines
    on_spark.release()


def test_texts_without_features_are_duplicates_of_equal_ones_only(spark: SparkSession) -> None:
    texts = ["\N{SNOWMAN}", "\N{COMET}", "", "\N{SNOWMAN}", "some words", ""]
    df = spark.createDataFrame(list(enumerate(texts)), "id long, text string")
    hows: list[dict[str, Any]] = [{"k": 3}, {"k": 3, "keep": "longest"}, {}]
    for how in hows:
        kept, report = on_spark.dedup(df, **how)
        assert sorted(row["id"] for row in kept.collect()) == [0, 1, 2, 4]
        assert sorted((row["id"], row["duplicate_of"]) for row in report.collect()) == [(3, 0), (5, 2)]
    on_spark.release()


SKETCHED = ["--sketch", "128"]


@pytest.mark.parametrize(
    ("build", "given", "options"),
    [
        ([], {}, []),
        pytest.param([], {"k": 6}, ["-k", "6"], marks=pytest.mark.slow),
        ([], {"k": 6, "keep": "longest"}, ["-k", "6", "--keep", "longest"]),
        pytest.param(SKETCHED, {}, [], marks=pytest.mark.slow),
        (SKETCHED, {"similarity": 0.6}, ["--similarity", "0.6"]),
        (SKETCHED, {"words": 2}, ["--features", "words:2", "-k", "3"]),
        (["--ids", "none"], {"k": 5}, ["-k", "5"]),
        ([*SKETCHED, "--ids", "none"], {"similarity": 0.6}, ["--similarity", "0.6"]),
    ],
)
def test_documents_of_an_index_are_dropped_first(
    spark: SparkSession, program: Program, tmp_path: Path, build: list[str], given: dict[str, Any], options: list[str]
) -> None:
    rows = [(f"d{i:05}", text) for i, text in enumerate(documents(600, 5))]
    old, new = rows[:250], rows[200:]
    program("build", write(tmp_path / "old.jsonl", old), "-o", "old.simidx", *build)
    path = write(tmp_path / "new.jsonl", new)
    # The program refuses the one together with the other.
    asked = [option for option in options if "-k" not in options or option not in ("--features", "words:2")]
    program("dedup", path, *asked, "--against", "old.simidx", "-o", "kept.jsonl", "--report", "report.jsonl")
    expected = [json.loads(line)["id"] for line in (tmp_path / "kept.jsonl").read_text().splitlines()]
    df = spark.createDataFrame(new, "id string, text string").repartition(5)
    kept, report = on_spark.dedup(df, against=tmp_path / "old.simidx", partitions=3, **given)
    lines = reported(tmp_path / "report.jsonl")
    assert sum(line[1] is None for line in lines) > 40
    found = rows_of(report)
    if SKETCHED[0] in build and "words" not in given:
        # Among the new ones the program names the first similar one that it finds.
        in_index = {line[0]: line for line in lines if line[1] is None}
        assert {line[0]: line for line in found if line[1] is None} == in_index
        rest = [row for row in new if row[0] not in in_index]
        named = [(line[0], line[1], line[3]) for line in found if line[1] is not None]
        assert named == most_similar(rest, set(expected), given.get("similarity", 0.8), 3, longest=False)
    else:
        assert found == lines
    assert sorted(row["id"] for row in kept.collect()) == expected
    on_spark.release()


@pytest.mark.parametrize("broadcast", [10**6, 0], ids=["broadcast", "shuffled"])
def test_fingerprints_against_a_set(
    spark: SparkSession, program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, broadcast: int
) -> None:
    monkeypatch.setattr("simidx_spark._segments.BROADCAST", broadcast)
    # Each task searches segments, and none the whole set.
    monkeypatch.setattr("simidx_spark._dedup.NearIndex", None)
    values = near_values(64, 2000, 17)
    assert max(values) >= 1 << 63
    on_spark.build(frame(spark, values[:900], 64, 3), tmp_path / "set", segments=3)
    lines = "".join(f"{value:016x}\td{i:05}\n" for i, value in enumerate(values))
    (tmp_path / "new.tsv").write_text(lines)
    program("dedup", "new.tsv", "-k", 2, "--against", "set", "-o", "kept.tsv", "--report", "report.jsonl")
    df = frame(spark, values, 64, 4)
    kept, report = on_spark.dedup(df, None, fingerprint_column="fingerprint", k=2, against=tmp_path / "set")
    assert rows_of(report) == reported(tmp_path / "report.jsonl")
    expected = [line.split("\t")[1] for line in (tmp_path / "kept.tsv").read_text().splitlines()]
    assert sorted(row["id"] for row in kept.collect()) == expected
    on_spark.release()


@pytest.mark.parametrize("width", [32, 128])
def test_fingerprints_against_sets_with_common_ones(spark: SparkSession, tmp_path: Path, width: int) -> None:
    values = near_values(width, 600, 4)
    old = frame(spark, values[:400], width, 2)
    on_spark.build(old.where("id < 'd00250'"), tmp_path / "a", segments=2)
    on_spark.build(old.where("id > 'd00150'"), tmp_path / "b")
    simidx.merge(tmp_path / "ab.simidx", [tmp_path / "a", tmp_path / "b"])
    df = frame(spark, values, width, 3)
    how: dict[str, Any] = {"fingerprint_column": "fingerprint", "k": 2}
    expected = rows_of(on_spark.dedup(df, None, against=tmp_path / "ab.simidx", **how).report, width)
    assert sum(line[1] is None for line in expected) >= 400
    assert rows_of(on_spark.dedup(df, None, against=[tmp_path / "b", tmp_path / "a"], **how).report, width) == expected
    on_spark.build(old.selectExpr("1 as id", "fingerprint"), tmp_path / "numbers")
    with pytest.raises(simidx.InputError, match="not of the same kind"):
        on_spark.dedup(df, None, against=[tmp_path / "a", tmp_path / "numbers"], **how)


def test_options_that_do_not_go_together(spark: SparkSession, program: Program, tmp_path: Path) -> None:
    df = spark.createDataFrame([("a", "x y z", 1)], "id string, text string, fingerprint long")
    for given, error in [
        ({"k": 3, "similarity": 0.8}, "choose one"),
        ({"keep": "last"}, "longest"),
        ({"text_column": None, "fingerprint_column": "fingerprint", "keep": "longest"}, "needs a text_column"),
        ({"text_column": None}, "name a text_column"),
        ({"similarity": 80}, "similarity=80"),
        ({"similarity": 0.0}, "similarity=0"),
        ({"words": 0}, "words"),
        ({"k": "3"}, "k='3': a distance is a number of bits"),
        ({"k": 65}, "k=65"),
        ({"partitions": 0}, "partitions=0"),
        ({"partitions": "auto"}, "partitions='auto'"),
    ]:
        with pytest.raises(simidx.OptionError, match=error):
            on_spark.dedup(df, **given)  # type: ignore[arg-type]
    program("build", write(tmp_path / "old.jsonl", [("a", "x y z")]), "-o", "old.simidx", "--pipeline", "short")
    with pytest.raises(simidx.InputError, match="another pipeline"):
        on_spark.dedup(df, against=tmp_path / "old.simidx")
    with pytest.raises(simidx.InputError, match="have 64 bits"):
        on_spark.dedup(df, against=tmp_path / "old.simidx", k=3, width=32, pipeline="short")
    nothing = spark.createDataFrame([("a", "x y z"), ("b", None)], "id string, text string")
    for how in ({}, {"k": 3}):
        with pytest.raises(Exception, match="the record 'b' has no text"):
            on_spark.dedup(nothing, **how)  # type: ignore[arg-type]
    on_spark.release()


def test_repeated_ids_and_null_texts_are_refused_in_the_order_of_lengths(spark: SparkSession) -> None:
    repeated, without_text = ("a", "a longer text of other words"), ("b", None)
    for row, error in [(repeated, "two records have the id 'a'"), (without_text, "has no text")]:
        df = spark.createDataFrame([("a", "x y z"), row], "id string, text string")
        with pytest.raises(simidx.InputError, match=error):
            on_spark.dedup(df, keep="longest")
