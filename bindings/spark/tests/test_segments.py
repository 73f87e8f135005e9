"""Sets of segments are those of the program, whatever happens to the tasks."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812

import simidx
import simidx_spark as on_spark
from simidx_spark.distributed import _columns, _segments
from simidx_spark.distributed._segments import segments_of
from simidx_spark.distributed._store import MANIFEST

from .conftest import Program, frame, near_values, tsv
from .sessions import wrap_stages

VALUES = near_values(64, 4000, 5)


def contents(path: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in path.iterdir()}


@pytest.mark.parametrize("partitions", [1, 7, pytest.param(64, marks=pytest.mark.slow)])
def test_a_merged_set_is_the_file_of_the_program(
    spark: SparkSession, program: Program, tmp_path: Path, partitions: int
) -> None:
    program("build", tsv(tmp_path / "records.tsv", VALUES, 64), "-o", "one.simidx", "-k", 3)
    df = frame(spark, VALUES, 64, partitions)
    names = on_spark.build(df, tmp_path / "set", segments=4, merged=tmp_path / "merged.simidx")
    assert len(names) == 4
    assert set(names) | {MANIFEST} == set(os.listdir(tmp_path / "set"))
    assert (tmp_path / "merged.simidx").read_bytes() == (tmp_path / "one.simidx").read_bytes()
    # The partitions of the input leave no trace.
    others = on_spark.build(df.repartition(5), tmp_path / "other", segments=4)
    assert others == names
    assert contents(tmp_path / "other") == contents(tmp_path / "set")


def test_ranges_of_a_sparse_sample_do_not_depend_on_partitions(
    spark: SparkSession, program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("simidx_spark._segments.LEAST_SAMPLE", 10)
    program("build", tsv(tmp_path / "records.tsv", VALUES, 64), "-o", "one.simidx", "-k", 3)
    df = frame(spark, VALUES, 64, 2)
    names = on_spark.build(df, tmp_path / "set", segments=4, merged=tmp_path / "merged.simidx")
    assert len(names) == 4
    assert on_spark.build(df.repartition(5), tmp_path / "other", segments=4) == names
    assert (tmp_path / "merged.simidx").read_bytes() == (tmp_path / "one.simidx").read_bytes()


def test_the_program_and_the_package_read_a_set(spark: SparkSession, program: Program, tmp_path: Path) -> None:
    path = tsv(tmp_path / "records.tsv", VALUES, 64)
    program("build", path, "-o", "one.simidx")
    on_spark.build(frame(spark, VALUES, 64, 3), tmp_path / "set", segments=3)
    queries = [f"{value:016x}" for value in VALUES[:50]]
    assert program("query", "set", *queries) == program("query", "one.simidx", *queries)
    assert program("pairs", "set", "--sort") == program("pairs", "one.simidx", "--sort")
    program("verify", "set")
    assert len(simidx.open(tmp_path / "set").query(VALUES[:9], k=2).offsets) == 10


def test_nothing_is_visible_before_the_commit_and_orphans_are_swept(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "set"
    # A negative id cannot be stored: the last task to see one fails.
    bad = frame(spark, VALUES, 64, 3, "number").withColumn("id", F.when(F.col("id") == 3999, -1).otherwise(F.col("id")))
    with pytest.raises(Exception, match="id"):
        on_spark.build(bad, path, segments=4)
    assert not (path / MANIFEST).exists()
    with pytest.raises(simidx.Error):
        simidx.open(path)
    with pytest.raises(simidx.FileMissingError, match="not been committed"):
        on_spark.join(bad, path)
    names = on_spark.build(frame(spark, VALUES, 64, 3, "number"), path, segments=2)
    (path / ".unfinished-1.simidx").write_bytes(b"half")
    (path / "notes.txt").write_text("somebody's")
    assert on_spark.sweep(path) == []
    swept = on_spark.sweep(path, older_than=0)
    assert ".unfinished-1.simidx" in swept
    assert not set(swept) & set(names)
    assert set(os.listdir(path)) == {*names, MANIFEST, "notes.txt"}
    with pytest.raises(simidx.FileError, match="overwrite"):
        on_spark.build(frame(spark, VALUES, 64, 3, "number"), path)
    on_spark.build(frame(spark, VALUES[:99], 64, 3, "number"), path, overwrite=True)
    assert simidx.open(path).record_count == 99


def age(file: Path, hours: float) -> None:
    changed = time.time() - 3600 * hours
    os.utime(file, (changed, changed))


def test_what_leaves_a_set_stays_another_day(spark: SparkSession, tmp_path: Path) -> None:
    df, path = frame(spark, VALUES, 64, 3), tmp_path / "set"
    on_spark.build(df.where("id < 'd02000'"), path, segments=2)
    on_spark.build(df.where("id >= 'd02000'"), path, segments=2, append=True)
    merged = [segment.name for segment in segments_of(str(path))]
    for file in path.iterdir():
        age(file, 1000)
    on_spark.compact(spark, path)
    (path / "segment-00007-ff.simidx").write_bytes(b"left behind")
    assert on_spark.sweep(path) == []
    # A young manifest does not keep what failed tasks left.
    age(path / "segment-00007-ff.simidx", 25)
    assert on_spark.sweep(path) == ["segment-00007-ff.simidx"]
    with simidx.open([path / name for name in merged]) as index:
        assert index.record_count == len(VALUES)
    [replaced] = path.glob("replaced-*.simidx-set")
    age(replaced, 23)
    assert on_spark.sweep(path) == []
    age(replaced, 25)
    assert set(on_spark.sweep(path)) == {replaced.name, *merged}
    simidx.open(path).verify()
    # A set that is replaced as a whole leaves in the same way.
    [whole] = [segment.name for segment in segments_of(str(path))]
    age(path / whole, 1000)
    on_spark.build(df.limit(9), path, overwrite=True)
    assert on_spark.sweep(path) == []
    assert whole in on_spark.sweep(path, older_than=0)


def test_records_are_appended_once(spark: SparkSession, tmp_path: Path) -> None:
    df, path = frame(spark, VALUES, 64, 3), tmp_path / "set"
    for day in (df.where("id < 'd02000'"), df.where("id >= 'd02000'")):
        on_spark.build(day, path, segments=2, append=True)
        before = contents(path)
        with pytest.raises(simidx.FileError, match="set: 2 of 2 segments to append have been committed already, such"):
            on_spark.build(day, path, segments=2, append=True)
        assert contents(path) == before
    with pytest.raises(simidx.InputError, match="it was built with k=3"):
        on_spark.build(day, path, segments=2, k=6, append=True)
    assert on_spark.build(df.where("false"), path, append=True) == []
    assert simidx.open(path).record_count == len(VALUES)


def test_days_are_appended_and_compacted(spark: SparkSession, tmp_path: Path) -> None:
    df, path = frame(spark, VALUES, 64, 3), tmp_path / "set"
    days = [df.where(f"int(substr(id, 2)) % 3 = {day}") for day in range(3)]
    names = [on_spark.build(day, path, segments=2, append=True) for day in days]
    assert len(os.listdir(path)) == 7
    assert (path / MANIFEST).read_text().startswith("simidx-set 1\ngeneration 3\nnote\twritten-by\tsimidx ")
    expected = sorted(zip(VALUES, (f"d{i:05}" for i in range(len(VALUES))), strict=True))

    def stored() -> list[Any]:
        with simidx.open(path) as index:
            records: Any = index.records()
            values, ids = records
            return sorted(zip(values.tolist(), pa.array(ids).to_pylist(), strict=True))

    assert stored() == expected
    matches = sorted(map(tuple, on_spark.join(df, path, k=2).collect()))
    most = len(VALUES) // 2
    merged = on_spark.compact(spark, path, records=most)
    assert merged
    assert len(segments_of(str(path))) < 6
    assert stored() == expected
    assert sorted(map(tuple, on_spark.join(df, path, k=2).collect())) == matches
    assert len(on_spark.compact(spark, path)) == 1
    assert on_spark.compact(spark, path) == []
    assert stored() == expected
    assert set(on_spark.sweep(path, older_than=0)) >= {name for day in names for name in day}
    assert len(os.listdir(path)) == 2


def test_another_build_of_the_same_records_replaces_no_file(spark: SparkSession, tmp_path: Path) -> None:
    df, path = frame(spark, VALUES, 64, 2), tmp_path / "set"
    names = on_spark.build(df, path, segments=2, k=3)
    before = contents(path)
    others = on_spark.build(df, path, segments=2, k=6, overwrite=True)
    assert set(others).isdisjoint(names)
    assert {name: (path / name).read_bytes() for name in names} == {name: before[name] for name in names}
    # As after a commit that failed: the files of the other build are there, and the first set is listed.
    (path / MANIFEST).write_bytes(before[MANIFEST])
    simidx.open(path).verify()
    assert on_spark.build(df, path, segments=2, k=3, overwrite=True) == names
    assert {name: (path / name).read_bytes() for name in names} == {name: before[name] for name in names}


def test_what_does_not_fit_is_not_appended(spark: SparkSession, tmp_path: Path) -> None:
    df, path = frame(spark, VALUES[:20], 64, 2), tmp_path / "set"
    on_spark.build(df, path)
    numbers = frame(spark, VALUES[:20], 64, 2, "number")
    for other, how, error in [
        (numbers, {}, "the kind of its ids is string, and of those to append number"),
        (df, {"pipeline": "web"}, "another pipeline"),
        (frame(spark, [1, 2], 32, 1), {}, "have 64 bits"),
    ]:
        with pytest.raises(simidx.InputError, match=error):
            on_spark.build(other, path, append=True, **how)  # type: ignore[arg-type]
    with pytest.raises(simidx.OptionError, match="choose one"):
        on_spark.build(df, path, append=True, overwrite=True)
    assert simidx.open(path).record_count == 20


class Faulty:
    """A stage whose tasks fail at their first attempts: by an exception, or by the death of their process."""

    def __init__(self, stage: Any, folder: Path, kill: bool, times: int) -> None:
        self.stage, self.folder, self.kill, self.times, self.schema = stage, str(folder), kill, times, stage.schema

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pyspark import TaskContext

        task = TaskContext.get()
        assert task is not None
        for batch in self.stage(batches):
            mark = os.path.join(self.folder, f"{type(self.stage).__name__}-{task.partitionId()}-{task.attemptNumber()}")
            if task.attemptNumber() < self.times and not os.path.exists(mark):
                Path(mark).touch()
                if self.kill:
                    os.kill(os.getpid(), signal.SIGKILL)
                raise OSError("this attempt fails")
            yield batch


@pytest.fixture
def wrapped(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Wraps all stages."""
    return lambda make: wrap_stages(__name__, make, monkeypatch.setattr)


@pytest.mark.parametrize(
    ("kill", "times"),
    [
        pytest.param(True, 1, id="killed"),
        pytest.param(True, 2, id="killed twice", marks=pytest.mark.slow),
        pytest.param(False, 2, id="failing twice", marks=pytest.mark.slow),
    ],
)
def test_tasks_may_fail(spark: SparkSession, tmp_path: Path, wrapped: Any, kill: bool, times: int) -> None:
    df = frame(spark, VALUES, 64, 3)
    on_spark.build(df, tmp_path / "set", segments=3)
    pairs = sorted(map(tuple, on_spark.pairs(df, 3).collect()))
    clusters = sorted(map(tuple, on_spark.clusters(df, 3).collect()))
    on_spark.release()
    marks = tmp_path / "marks"
    marks.mkdir()
    wrapped(lambda stage: Faulty(stage, marks, kill, times))
    on_spark.build(df, tmp_path / "other", segments=3)
    assert len(list(marks.iterdir())) > 6
    on_spark.sweep(tmp_path / "other", older_than=0)
    assert contents(tmp_path / "other") == contents(tmp_path / "set")
    assert sorted(map(tuple, on_spark.pairs(df, 3).collect())) == pairs
    assert sorted(map(tuple, on_spark.clusters(df, 3).collect())) == clusters
    on_spark.release()


def test_two_attempts_at_a_segment_write_the_same_file(tmp_path: Path) -> None:
    """Both attempts run at once, and read their messages in different orders."""
    values = np.array(VALUES, dtype=np.uint64)
    rows = pa.table({"fingerprint": _columns.to_arrow(values), "id": [f"d{i:05}" for i in range(len(values))]})
    splits = _segments.Splits.of([(64, len(values), values.tobytes())], 2)
    send = _segments.Range("fingerprint", "id", splits)
    messages = [m for batch in rows.to_batches(max_chunksize=300) for m in send(iter([batch]))]
    assert len(messages) > 10
    found: list[list[Any]] = []

    def attempt(order: list[pa.RecordBatch]) -> None:
        build = _segments.Build(str(tmp_path), {"k": 3, "threads": 1})
        found.append([row for batch in build(iter(order)) for row in batch.to_pylist()])

    attempts = [threading.Thread(target=attempt, args=(order,)) for order in (messages, messages[::-1])]
    for thread in attempts:
        thread.start()
    for thread in attempts:
        thread.join()
    assert found[0] == found[1]
    assert sorted(os.listdir(tmp_path)) == sorted(row["name"] for row in found[0])
    assert len(found[0]) == 2
