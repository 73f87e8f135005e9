"""Sets of segments: built from DataFrames, and searched with them."""

from __future__ import annotations

import os
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

import simidx
from simidx import FileError, InputError, OptionError, Pipeline
from simidx_spark import _wiring as wiring
from simidx_spark import distributed as d
from simidx_spark._jobs import job
from simidx_spark._search import Near
from simidx_spark._wiring import run, shuffle
from simidx_spark.distributed._join import QUERIES, STORED
from simidx_spark.distributed._pairs import PLACE
from simidx_spark.distributed._segments import commit, segments_of
from simidx_spark.distributed._store import MANIFEST, Store

#: Records in a segment, unless fewer records keep more cores busy.
SEGMENT = 1 << 23

#: The least number of records that are worth a core of their own.
LEAST_SEGMENT = 1 << 20

#: At most one in this many distinct fingerprints is sampled, if that leaves enough of them.
SPARSE = 64
LEAST_SAMPLE = 1 << 14

#: The most queries that are all sent to all tasks: 80 MB of 64 bits.
BROADCAST = 10_000_000

#: With fewer queries, each segment is searched by a single task.
SHARE = 1 << 12


@job
def build(
    df: DataFrame,
    path: str | os.PathLike[str],
    id_column: str | None = "id",
    fingerprint_column: str = "fingerprint",
    *,
    k: int = 3,
    tables: int | None = None,
    segments: int | None = None,
    merged: str | os.PathLike[str] | None = None,
    overwrite: bool = False,
    memory: int | str | None = None,
    pipeline: str | Pipeline | None = None,
    partitions: int | None = None,
    **options: Any,
) -> list[str]:
    """Writes a set of segments to a folder, or to a location of ``pyarrow.fs`` or fsspec; returns their names.

    Each segment holds a range of fingerprints. The manifest is written last, so nothing is visible before all are
    complete. The set can then be read by `simidx.open`, by `join`, and by the commands of the program. ``merged`` names
    a file on the driver into which the segments are merged; it is the file that ``simidx build`` makes. ``memory``
    limits each task; other options are those of `simidx.build`.
    """
    # Workers may have another working directory.
    store = Store(path)
    path = store.path
    if merged is not None and "://" in os.fspath(merged):
        raise OptionError(f"merged={merged}: merged is a file on the driver")
    store.prepare()
    if not overwrite and store.read(MANIFEST) is not None:
        raise FileError(f"{path}: there is a set already; overwrite=True replaces it")
    wiring.distance(k, wiring.fingerprints(df, fingerprint_column))
    data = wiring.records(df, fingerprint_column, id_column)
    rows, count = _sample(data.select("fingerprint"))
    cores = wiring.parallelism(df, partitions)
    if segments is None:
        segments = max(1, -(-count // SEGMENT), min(cores, count // LEAST_SEGMENT))
    splits = d.Splits.of([(row["width"], row["count"], bytes(row["sample"])) for row in rows], segments)
    sent = run(data, d.Range("fingerprint", None if id_column is None else "id", splits))
    how = {"k": k, "tables": tables, "memory": memory, "pipeline": pipeline, "threads": 1, **options}
    how = {name: value for name, value in how.items() if value is not None}
    built = run(shuffle(sent, len(splits)), d.Build(path, how)).collect()
    built.sort(key=lambda row: int(row["place"]))
    commit(path, [bytes(row["manifest"]) for row in built], {"written-by": f"simidx {simidx.__version__}"})
    if merged is not None:
        merge_options = {"tables": tables, "k": k, "memory": memory}
        given: dict[str, Any] = {name: value for name, value in merge_options.items() if value is not None}
        simidx.merge(merged, [store.fetch(segment) for segment in segments_of(path)], **given).close()
    return [str(row["name"]) for row in built]


def _sample(fingerprints: DataFrame) -> tuple[list[Any], int]:
    """Returns a sample of each part, which depends only on values, and the approximate number of fingerprints."""
    # Spark does most of the sampling, because sending rows to Python is expensive.
    few = fingerprints.where(F.xxhash64("fingerprint").bitwiseAND(SPARSE - 1) == 0)
    rows = run(few, d.Sample("fingerprint")).collect()
    count = SPARSE * sum(row["count"] for row in rows)
    if count >= SPARSE * LEAST_SAMPLE:
        return rows, count
    rows = run(fingerprints, d.Sample("fingerprint")).collect()
    return rows, sum(row["count"] for row in rows)


@job
def join(
    df: DataFrame,
    path: str | os.PathLike[str],
    *,
    k: int | None = None,
    fingerprint_column: str = "fingerprint",
    partitions: int | None = None,
    broadcast: int = BROADCAST,
) -> DataFrame:
    """Finds all fingerprints of a set within ``k`` bits of queries: ``query``, ``match``, ``distance``, ``id``.

    Returns a row for each id of a match; in a set without ids it is null. Repeated queries count once. ``k`` is by
    default that of the segments.

    The queries are read at once and persisted on disk. Up to ``broadcast`` of them are sent to all tasks, 8 bytes each,
    and each segment is searched by one task, or by several that share the queries if there are fewer segments than
    cores. More queries, and all fingerprints of the set, are sent to where near ones meet, as for `pairs`: the set is
    then read completely.
    """
    store = Store(path)
    path = store.path
    width = wiring.fingerprints(df, fingerprint_column)
    if k is not None:
        wiring.distance(k, width)
    listed = segments_of(path)
    if not listed:
        raise InputError(f"{path}: the set has no segments")
    with simidx.open(store.fetch(listed[0])) as first:
        if first.width != width:
            raise InputError(f"{path}: its fingerprints have {first.width} bits, and those of the queries {width}")
        has_ids = first.id_kind != "none"
        id_type = pa.int64() if first.id_kind == "number" else pa.string()
        k = first.k if k is None else k
    queries = Near(df, fingerprint_column, partitions)
    count = queries.profile.count
    shares = max(1, min(queries.cores // len(listed), count // SHARE)) if count <= broadcast else 1
    rows = [(i * shares + share, share, *segment) for i, segment in enumerate(listed) for share in range(shares)]
    segments = df.sparkSession.createDataFrame(rows, "place int, share int, name string, content string")
    segments = shuffle(segments, len(rows)).drop("place")
    if count <= broadcast:
        of_shares = run(shuffle(run(queries.packed, d.Spread(shares)), shares), d.Distinct())
        sent = F.broadcast(of_shares.select(F.col("place").alias("share"), "data"))
        return run(segments.join(sent, "share").drop("share"), d.Search(path, width, id_type, k))
    return _join_by_shuffle(queries, segments.drop("share"), d.Records(path, width, id_type, has_ids), k, id_type)


def _join_by_shuffle(queries: Near, segments: DataFrame, read: d.Records, k: int, id_type: pa.DataType) -> DataFrame:
    """Joins by exploding both sides by the masks of the rounds."""
    width = queries.width
    records = run(segments, read)
    stored = Near(records, "fingerprint", queries.cores)
    meeting = queries.meeting(k, d.Profile.of(queries.known + stored.known))
    places = max(queries.cores, -(-(queries.profile.count + stored.profile.count) // PLACE))
    if "id" not in records.columns:
        records = records.withColumn("id", F.lit(None).cast("string"))
    found = run(records, d.SendRecords("fingerprint", places)).unionAll(run(queries.packed, d.Spread(places)))
    if meeting is not None:
        sides = [run(queries.packed, d.Send(meeting, QUERIES)), run(stored.packed, d.Send(meeting, STORED))]
        met = run(shuffle(sides[0].unionAll(sides[1]), meeting.places), d.Meet(meeting, places))
        found = found.unionAll(met)
    return run(shuffle(found, places), d.Attach(width, id_type))


def sweep(path: str | os.PathLike[str], older_than: float = 24 * 3600.0) -> list[str]:
    """Removes files that failed or repeated tasks left in the folder of a set, and returns their names.

    Removes only files that the manifest does not list and that have not changed within ``older_than`` seconds, which
    must be longer than any build that may be running there.
    """
    return d.sweep(os.fspath(path), older_than)
