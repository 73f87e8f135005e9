"""Sets elsewhere than in a local folder: what `pyarrow.fs` and fsspec open."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import simidx
import simidx_spark as on_spark
from simidx import _simidx
from simidx_spark.distributed import _columns, _segments
from simidx_spark.distributed._segments import commit, fetched, segments_of, small_segments
from simidx_spark.distributed._store import MANIFEST, Store

from .conftest import frame, near_values
from .test_join import lines

VALUES = near_values(64, 3000, 8)


@pytest.fixture
def temp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Copies of segments go to a folder of this test."""
    folder = tmp_path / "temp"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    return folder


def build(path: str, values: list[int], **options: Any) -> list[str]:
    """Builds a set by the stages alone, as an engine does."""
    array = np.array(values, dtype=np.uint64)
    table = pa.table({"fingerprint": _columns.to_arrow(array), "id": [f"d{i:05}" for i in range(len(array))]})
    splits = _segments.Splits.of([(64, len(array), array.tobytes())], 2)
    Store(path).prepare()
    sent = _segments.Range("fingerprint", "id", splits)(iter(table.to_batches(max_chunksize=500)))
    rows = [
        row for batch in _segments.Build(path, {"k": 3, "threads": 1, **options})(sent) for row in batch.to_pylist()
    ]
    assert Store(path).read(MANIFEST) is None
    commit(path, [row["manifest"] for row in rows], {})
    return [row["name"] for row in rows]


def test_sweep_is_for_local_folders_and_others(tmp_path: Path) -> None:
    left = [".simidx-V2zUKe.tmp", ".unfinished-1.simidx", "segment-00000-00.simidx"]
    for name in [*left, ".simidx-notes", "notes.tmp"]:
        (tmp_path / name).write_bytes(b"left behind")
    assert _segments.sweep(tmp_path.as_uri(), older_than=0) == left
    assert sorted(os.listdir(tmp_path)) == [".simidx-notes", "notes.tmp"]


@pytest.mark.parametrize("path", ["dbfs:/mnt/crawl", "hdfs:/user/crawl", "S3:bucket", "crawl:set"])
def test_an_address_without_slashes_is_refused(spark: SparkSession, path: str) -> None:
    with pytest.raises(simidx.FileError, match=f"{path}: .*: without // is not understood"):
        on_spark.build(frame(spark, VALUES[:9], 64, 1), path)
    with pytest.raises(simidx.FileError, match="is not understood"):
        on_spark.join(frame(spark, VALUES[:9], 64, 1), path)


def test_an_address_that_nothing_opens_is_refused(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    df = frame(spark, VALUES[:9], 64, 1)
    with pytest.raises(simidx.FileError, match="unknown://crawl: neither pyarrow nor fsspec"):
        on_spark.build(df, "unknown://crawl")
    with pytest.raises(simidx.FileError, match="memory of a process"):
        on_spark.build(df, "memory://crawl")
    with pytest.raises(simidx.FileError, match="a folder of elsewhere"):
        on_spark.build(df, "file://elsewhere/crawl")
    with pytest.raises(simidx.OptionError, match="merged is a file on the driver"):
        on_spark.build(df, tmp_path / "set", merged="s3://bucket/one.simidx")
    assert list(tmp_path.iterdir()) == []
    # These name the same folder.
    for path in ("./with:colon", f"file:{tmp_path}/with:colon", f"file://localhost{tmp_path}/with:colon"):
        on_spark.build(df, path, overwrite=True)
    assert [file.name for file in tmp_path.iterdir()] == ["with:colon"]


def test_a_segment_that_is_there_is_not_uploaded_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("fsspec")

    def broken(source: Any, sink: Any, _: int) -> None:
        sink.write(source.read(100))
        raise OSError("the connection is lost")

    [name, _] = build(f"local://{tmp_path}/set", VALUES)
    segment = tmp_path / "set" / name
    before = segment.read_bytes()
    monkeypatch.setattr("shutil.copyfileobj", broken)
    store = Store(f"local://{tmp_path}/set")
    for target in (name, "another"):
        (tmp_path / "local").write_bytes(before)
        if target == name:
            store.put(str(tmp_path / "local"), target)
        else:
            with pytest.raises(OSError, match="the connection is lost"):
                store.put(str(tmp_path / "local"), target)
        assert not (tmp_path / "local").exists()
    assert segment.read_bytes() == before


def test_a_damaged_manifest_is_replaced_and_not_kept(tmp_path: Path) -> None:
    build(str(tmp_path), VALUES)
    manifest = (tmp_path / MANIFEST).read_bytes()
    (tmp_path / MANIFEST).write_bytes(b"damaged")
    commit(str(tmp_path), [manifest], {}, b"damaged")
    assert _segments.sweep(str(tmp_path), older_than=0) == []
    simidx.open(tmp_path).verify()


@pytest.mark.parametrize("scheme", ["", "local://"])
def test_a_manifest_is_of_files_that_are_there(tmp_path: Path, scheme: str) -> None:
    pytest.importorskip("fsspec")
    names = build(f"{scheme}{tmp_path}/set", VALUES)
    assert len(names) == 2
    manifests = [(tmp_path / "set" / MANIFEST).read_bytes()]
    (tmp_path / "set" / MANIFEST).unlink()
    segment = tmp_path / "set" / names[1]
    whole = segment.read_bytes()
    segment.write_bytes(whole[:-1])
    with pytest.raises(simidx.FileError, match=f"has {len(whole) - 1} bytes, where {len(whole)} were written"):
        commit(f"{scheme}{tmp_path}/set", manifests, {})
    segment.unlink()
    with pytest.raises(simidx.FileError, match=f"1 of 2 segments are not here, such as {names[1]}: if each machine"):
        commit(f"{scheme}{tmp_path}/set", manifests, {})
    assert not (tmp_path / "set" / MANIFEST).exists()
    segment.write_bytes(whole)
    commit(f"{scheme}{tmp_path}/set", manifests, {})
    with simidx.open(tmp_path / "set") as index:
        assert index.record_count == len(VALUES)


def test_manifests_count_up_and_keep_notes(tmp_path: Path) -> None:
    first, second = build(str(tmp_path), VALUES)

    def committed(**how: Any) -> tuple[str, list[str], list[str]]:
        before = (tmp_path / MANIFEST).read_bytes()
        commit(str(tmp_path), [], how.pop("notes", {}), before, **how)
        lines = (tmp_path / MANIFEST).read_text().splitlines()
        notes = [line for line in lines if line.startswith("note")]
        return lines[1], notes, [segment.name for segment in segments_of(str(tmp_path))]

    crawl = ["note\tcrawl\t2026-11"]
    assert committed(notes={"crawl": "2026-11"}, gone=set()) == ("generation 2", crawl, [first, second])
    old = (tmp_path / MANIFEST).read_bytes()
    assert committed(gone={first}) == ("generation 3", crawl, [second])
    with pytest.raises(simidx.FileError, match="another job has changed the set"):
        commit(str(tmp_path), [], {}, old, set())
    assert committed() == ("generation 4", [], [])
    (tmp_path / MANIFEST).write_bytes(b"damaged")
    with pytest.raises(simidx.Error, match="not a simidx set"):
        committed(gone=set())
    assert committed() == ("generation 1", [], [])


def test_of_two_jobs_that_end_at_once_one_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    build(str(tmp_path), VALUES)
    before = (tmp_path / MANIFEST).read_bytes()
    write = Store.write

    def slowly(self: Store, name: str, data: bytes) -> None:
        time.sleep(0.2)
        write(self, name, data)

    monkeypatch.setattr(Store, "write", slowly)
    with ThreadPoolExecutor() as pool:
        jobs = [pool.submit(commit, str(tmp_path), [], {"job": str(job)}, before, set()) for job in range(4)]
        errors = [job.exception() for job in jobs]
    assert errors.count(None) == 1
    assert all("another job has changed the set" in str(error) for error in errors if error)
    (note,) = [line for line in (tmp_path / MANIFEST).read_text().splitlines() if line.startswith("note")]
    assert note == f"note\tjob\t{errors.index(None)}"


def test_a_segment_without_records_is_small(tmp_path: Path) -> None:
    manifests = []
    for name, values in [("empty", []), ("full", VALUES), ("some", VALUES[:9])]:
        file = str(tmp_path / name)
        simidx.build(file, np.array(values, dtype=np.uint64)).close()
        manifests.append(_simidx.segment_manifest(file, name)[1])
    manifest = _simidx.next_manifest(None, None, manifests, {})
    names = [[segment.name for segment in group] for group in small_segments(manifest, 100)]
    assert names == [["empty", "some"]]


def test_a_task_without_the_folder_says_where(tmp_path: Path) -> None:
    # As on a machine that does not share it.
    with pytest.raises(simidx.FileError, match=f"no such folder on {socket.gethostname()}: build in a folder that all"):
        Store(tmp_path / "set").unfinished()


def test_what_killed_tasks_leave_on_their_machine_goes_a_day_later(temp: Path) -> None:
    folder = Path(Store("s3://bucket/crawl").unfinished()).parent
    assert folder.parent == temp
    left = [".simidx-V2zUKe.tmp", ".unfinished-1.simidx"]
    kept, unused = (f"{digit}123456789abcdef0123456789abcdef.simidx" for digit in "01")
    for name in [*left, kept, unused]:
        (folder / name).write_bytes(b"left behind")
    Store("s3://bucket/crawl").unfinished()
    assert sorted(os.listdir(folder)) == sorted([*left, kept, unused])
    for name in [*left, unused]:
        os.utime(folder / name, (0, 0))
    Store("s3://bucket/crawl").unfinished()
    assert os.listdir(folder) == [kept]


def test_a_set_in_an_object_store(temp: Path, tmp_path: Path) -> None:
    pytest.importorskip("fsspec")
    # To the package this scheme is any other: files are uploaded, and fetched.
    path, other = f"local://{tmp_path}/crawl", f"local://{tmp_path}/other"
    with pytest.raises(simidx.FileMissingError, match="not been committed"):
        segments_of(path)
    names = build(path, VALUES)
    assert [segment.name for segment in segments_of(path)] == names
    # Nothing is left on the local disk but the copies that were asked for.
    assert [list(folder.iterdir()) for folder in temp.iterdir()] == [[]]
    local = fetched([path])
    assert {Path(name).parent.parent for name in local} == {temp}
    with simidx.open(local) as index:
        assert index.record_count == len(VALUES)
        index.verify()
    # Another set under the same names is not taken for this one.
    assert build(other, VALUES[:2000]) != names
    with simidx.open(fetched([other])) as index:
        assert index.record_count == 2000
    Store(path).write("segment-00009-ff.simidx", b"left behind")
    assert _segments.sweep(path, older_than=3600) == []
    assert _segments.sweep(path, older_than=0) == ["segment-00009-ff.simidx"]
    assert {name for name, _, _ in Store(path).names()} == {MANIFEST, *names}


def test_a_folder_for_copies_that_others_can_write_to_is_refused(temp: Path, tmp_path: Path) -> None:
    pytest.importorskip("fsspec")
    names = build(f"local://{tmp_path}/shared", VALUES[:100])
    assert names
    (temp / f"simidx-segments-{os.getuid()}").chmod(0o777)
    with pytest.raises(simidx.FileError, match="others can write"):
        fetched([f"local://{tmp_path}/shared"])


def test_a_copy_of_a_segment_that_was_built_again_is_taken_again(temp: Path, tmp_path: Path) -> None:
    pytest.importorskip("fsspec")
    path = f"local://{tmp_path}/shared"
    names = build(path, VALUES[:100], tables=2)
    copies = fetched([path])
    assert Path(copies[0]).is_relative_to(temp)
    written = [os.stat(copy).st_mtime_ns for copy in copies]
    assert fetched([path]) == copies
    assert [os.stat(copy).st_mtime_ns for copy in copies] == written
    # The same records in other tables have the same content ids.
    listed = segments_of(path)
    (tmp_path / "shared" / MANIFEST).unlink()
    names = build(path, VALUES[:100], tables=4)
    assert [segment.content for segment in segments_of(path)] == [segment.content for segment in listed]
    again = fetched([path])
    assert set(again).isdisjoint(copies)
    assert fetched([path]) == again
    for name, copy in zip(names, again, strict=True):
        assert Path(copy).read_bytes() == (tmp_path / "shared" / name).read_bytes()


@pytest.fixture
def bucket() -> Iterator[str]:
    """A server of S3 on this machine, for workers too."""
    server = pytest.importorskip("moto.server", reason="moto is not here")
    started: Any = server.ThreadedMotoServer(ip_address="127.0.0.1", port=0)
    started.start()
    _, port = started.get_host_and_port()
    yield f"s3://test:test@crawl/sets?endpoint_override=127.0.0.1:{port}&scheme=http&region=us-east-1&allow_bucket_creation=true"
    started.stop()


def round_trip(spark: SparkSession, path: str, plain: Path) -> None:
    """A set elsewhere is the set of a local folder, and is searched as that."""
    df = frame(spark, VALUES, 64, 3)
    names = on_spark.build(df, path, segments=3, merged=plain / "merged.simidx")
    assert on_spark.build(df, plain / "set", segments=3, merged=plain / "one.simidx") == names
    assert (plain / "merged.simidx").read_bytes() == (plain / "one.simidx").read_bytes()
    queries = frame(spark, VALUES[:500], 64, 2)
    expected = lines(on_spark.join(queries, plain / "set", k=4))
    for broadcast in (10**6, 0):
        assert lines(on_spark.join(queries, path, k=4, broadcast=broadcast)) == expected
    kept, _ = on_spark.dedup(df, None, fingerprint_column="fingerprint", against=path)
    assert kept.collect() == []
    with pytest.raises(simidx.FileError, match="overwrite"):
        on_spark.build(df, path)
    assert on_spark.sweep(path, older_than=0) == []
    on_spark.release()


def test_spark_writes_and_reads_by_fsspec(spark: SparkSession, tmp_path: Path) -> None:
    pytest.importorskip("fsspec")
    path = f"local://{tmp_path}/remote"
    assert not Store(path).is_local
    round_trip(spark, path, tmp_path)


def test_spark_writes_and_reads_by_s3(spark: SparkSession, tmp_path: Path, bucket: str) -> None:
    round_trip(spark, bucket, tmp_path)
