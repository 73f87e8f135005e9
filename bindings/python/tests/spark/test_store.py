"""Sets elsewhere than in a local folder: what `pyarrow.fs` and fsspec open."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import simidx
from simidx import distributed
from simidx import spark as on_spark
from simidx.distributed._segments import commit, fetched, segments_of
from simidx.distributed._store import MANIFEST, Store

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


def build(path: str, values: list[int]) -> list[str]:
    """Builds a set by the stages alone, as an engine does."""
    array = np.array(values, dtype=np.uint64)
    table = pa.table({"fingerprint": distributed.to_arrow(array), "id": [f"d{i:05}" for i in range(len(array))]})
    splits = distributed.Splits.of([(64, len(array), array.tobytes())], 2)
    Store(path).prepare()
    sent = distributed.Range("fingerprint", "id", splits)(iter(table.to_batches(max_chunksize=500)))
    rows = [row for batch in distributed.Build(path, {"k": 3, "threads": 1})(sent) for row in batch.to_pylist()]
    assert Store(path).read(MANIFEST) is None
    commit(path, [row["manifest"] for row in rows], {})
    return [row["name"] for row in rows]


def test_sweep_is_for_local_folders_and_others(tmp_path: Path) -> None:
    (tmp_path / "segment-00000-00.simidx").write_bytes(b"left behind")
    assert distributed.sweep(tmp_path.as_uri(), older_than=0) == ["segment-00000-00.simidx"]


def test_a_set_in_an_object_store(temp: Path) -> None:
    pytest.importorskip("fsspec")
    path = "memory://bucket/crawl"
    with pytest.raises(simidx.FileMissingError, match="not been committed"):
        segments_of(path)
    names = build(path, VALUES)
    assert [segment.name for segment in segments_of(path)] == names
    # Nothing is left on the local disk but the copies that were asked for.
    assert list(temp.iterdir()) == []
    local = fetched([path])
    assert {Path(name).parent.parent for name in local} == {temp}
    with simidx.open(local) as index:
        assert index.record_count == len(VALUES)
        index.verify()
    # Another set under the same names is not taken for this one.
    Store("memory://bucket/other").prepare()
    assert build("memory://bucket/other", VALUES[:2000]) != names
    with simidx.open(fetched(["memory://bucket/other"])) as index:
        assert index.record_count == 2000
    Store(path).write("segment-00009-ff.simidx", b"left behind")
    assert distributed.sweep(path, older_than=3600) == []
    assert distributed.sweep(path, older_than=0) == ["segment-00009-ff.simidx"]
    assert {name for name, _ in Store(path).names()} == {MANIFEST, *names}


def test_a_folder_for_copies_that_others_can_write_to_is_refused(temp: Path) -> None:
    pytest.importorskip("fsspec")
    names = build("memory://bucket/shared", VALUES[:100])
    assert names
    folder = temp / f"simidx-segments-{os.getuid()}"
    folder.mkdir()
    folder.chmod(0o777)
    with pytest.raises(simidx.FileError, match="others can write"):
        fetched(["memory://bucket/shared"])


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
    # To the package this scheme is any other: files are uploaded, and fetched.
    path = f"local://{tmp_path}/remote"
    assert not Store(path).is_local
    round_trip(spark, path, tmp_path)


def test_spark_writes_and_reads_by_s3(spark: SparkSession, tmp_path: Path, bucket: str) -> None:
    round_trip(spark, bucket, tmp_path)
