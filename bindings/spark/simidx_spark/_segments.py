"""Sets of segments: built from DataFrames, and searched with them."""

from __future__ import annotations

import os
from functools import reduce
from typing import Any, NamedTuple

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

import simidx
from simidx import FileError, InputError, OptionError, Pipeline, _simidx
from simidx_spark import _wiring as wiring
from simidx_spark._jobs import job
from simidx_spark._search import Near
from simidx_spark._wiring import run, shuffle
from simidx_spark.distributed._join import QUERIES, STORED, Attach, Meet, Records, Spread
from simidx_spark.distributed._messages import SendRecords
from simidx_spark.distributed._pairs import PLACE, Distinct, Profile, Send
from simidx_spark.distributed._segments import (
    Build,
    Compact,
    Range,
    Sample,
    Search,
    Splits,
    commit,
    manifest_of,
    refuse_repeated,
    segments_of,
    small_segments,
)
from simidx_spark.distributed._store import MANIFEST, Store
from simidx_spark.distributed._texts import as_pipeline

#: Records in a segment, unless fewer records keep more cores busy.
SEGMENT = 1 << 23

#: The least number of records that are worth a core of their own.
LEAST_SEGMENT = 1 << 20

#: At most one in this many distinct fingerprints is sampled, if that leaves enough of them.
SPARSE = 64
LEAST_SAMPLE = 1 << 14

#: The most queries that are all sent to all tasks: 80 MB of 64 bits.
BROADCAST = 10_000_000

#: The name of the column of queries while they are joined with the rows that they came from.
QUERY = "simidx query"

#: What the manifest notes.
NOTES = {"written-by": f"simidx {simidx.__version__}"}

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
    append: bool = False,
    memory: int | str | None = None,
    pipeline: str | Pipeline | None = None,
    partitions: int | None = None,
    **options: Any,
) -> list[str]:
    """Writes a set of segments to a folder, or to a location of ``pyarrow.fs`` or fsspec; returns their names.

    Each segment holds a range of fingerprints. The manifest is written last, so nothing is visible before all are
    complete. The set can then be read by `simidx.open`, by `join`, and by the commands of the program. ``merged`` names
    a file on the driver into which the segments are merged; it is the file that ``simidx build`` makes. ``memory``
    limits each task; other options are those of `simidx.build`. ``overwrite`` replaces a set. Only one job at a time
    may change a set.

    ``append`` adds the segments to those of a set that is there, or fails if the set has one of them already. Pass
    ``segments`` to jobs that may be run again: by default the number of cores decides where segments end, and other
    segments of the same records are added a second time. So are the records of segments that `compact` has merged.
    """
    # Workers may have another working directory.
    store = Store(path)
    path = store.path
    if merged is not None and "://" in os.fspath(merged):
        raise OptionError(f"merged={merged}: merged is a file on the driver")
    store.prepare()
    if overwrite and append:
        raise OptionError("overwrite replaces a set, and append adds to it: choose one of the two")
    there = store.read(MANIFEST)
    if there is not None and not (overwrite or append):
        raise FileError(f"{path}: there is a set already; overwrite=True replaces it, and append=True adds to it")
    width = wiring.fingerprints(df, fingerprint_column)
    wiring.distance(k, width)
    if append and there is not None and segments_of(path):
        kinds = {pa.string(): "string", pa.int64(): "number"}
        _same(path, width, k, "none" if id_column is None else kinds[wiring.ids(df, id_column)], pipeline)
    data = wiring.records(df, fingerprint_column, id_column)
    rows, count = _sample(data.select("fingerprint"))
    cores = wiring.parallelism(df, partitions)
    if segments is None:
        segments = max(1, -(-count // SEGMENT), min(cores, count // LEAST_SEGMENT))
    splits = Splits.of([(row["width"], row["count"], bytes(row["sample"])) for row in rows], segments)
    sent = run(data, Range("fingerprint", None if id_column is None else "id", splits))
    how = {"k": k, "tables": tables, "memory": memory, "pipeline": pipeline, "threads": 1, **options}
    how = {name: value for name, value in how.items() if value is not None}
    built = run(shuffle(sent, len(splits)), Build(path, how)).collect()
    built.sort(key=lambda row: int(row["place"]))
    manifests = [bytes(row["manifest"]) for row in built]
    if merged is not None and not manifests and not append:
        raise InputError(f"merged={merged}: there are no records, so no file can be made of them")
    if append and there is not None:
        refuse_repeated(path, there, manifests)
    commit(path, manifests, NOTES, there, set() if append else None)
    if merged is not None:
        merge_options = {"tables": tables, "k": k, "memory": memory}
        given: dict[str, Any] = {name: value for name, value in merge_options.items() if value is not None}
        simidx.merge(merged, [store.fetch(segment) for segment in segments_of(path)], **given).close()
    return [str(row["name"]) for row in built]


def _same(path: str, width: int, k: int, ids: str, pipeline: str | Pipeline | None) -> None:
    """Refuses to append records that a set cannot have next to its own."""
    of = facts(path)
    if of.width != width:
        raise InputError(f"{path}: its fingerprints have {of.width} bits, and those to append {width}")
    if of.k != k:
        raise InputError(f"{path}: it was built with k={of.k}, and is to be appended to with k={k}: pass the same")
    if of.ids != ids:
        raise InputError(f"{path}: the kind of its ids is {of.ids}, and of those to append {ids}")
    if of.pipeline != (None if pipeline is None else as_pipeline(pipeline, width).description):
        raise InputError(f"{path} was built with another pipeline, which `simidx info` shows: pass that one")


@job
def compact(
    session: SparkSession, path: str | os.PathLike[str], *, records: int = SEGMENT, memory: int | str | None = None
) -> list[str]:
    """Merges small segments of a set on the executors, into ones of at most ``records`` records; returns their names.

    The manifest is replaced last. The merged files stay for readers of the old one, until `sweep` removes them.
    """
    path = Store(path).path
    manifest = manifest_of(path)
    groups = small_segments(manifest, records)
    if not groups:
        return []
    rows = [(i, [s.name for s in group], [s.content for s in group]) for i, group in enumerate(groups)]
    data = session.createDataFrame(rows, "place int, names array<string>, contents array<string>")
    how = {"threads": 1} if memory is None else {"threads": 1, "memory": memory}
    built = run(shuffle(data, len(rows)), Compact(path, how)).collect()
    merged = {segment.name for group in groups for segment in group}
    commit(path, [bytes(row["manifest"]) for row in built], NOTES, manifest, merged)
    return [str(row["name"]) for row in built]


def _sample(fingerprints: DataFrame) -> tuple[list[Any], int]:
    """Returns a sample of each part, which depends only on values, and the approximate number of fingerprints."""
    # Spark does most of the sampling, because sending rows to Python is expensive.
    few = fingerprints.where(F.xxhash64("fingerprint").bitwiseAND(SPARSE - 1) == 0)
    rows = run(few, Sample("fingerprint")).collect()
    count = SPARSE * sum(row["count"] for row in rows)
    if count >= SPARSE * LEAST_SAMPLE:
        return rows, count
    rows = run(fingerprints, Sample("fingerprint")).collect()
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
    columns: bool = False,
    exists: bool = False,
) -> DataFrame:
    """Finds all fingerprints of a set within ``k`` bits of queries: ``query``, ``match``, ``distance``, ``id``.

    Returns a row for each id of a match; in a set without ids it is null. Repeated queries count once. ``k`` is by
    default that of the segments. ``columns`` returns these rows for each row of ``df``, with all its columns, and with
    ``match``, ``distance`` and ``match_id``. ``exists`` instead adds to each row of ``df`` whether it has any match.

    The queries are read at once and persisted on disk. Up to ``broadcast`` of them are sent to all tasks, 8 bytes each,
    and each segment is searched by one task, or by several that share the queries if there are fewer segments than
    cores. More queries, and all fingerprints of the set, are sent to where near ones meet, as for `pairs`: the set is
    then read completely.
    """
    queries = Near(df, fingerprint_column, partitions)
    if columns and exists:
        raise OptionError("columns has a row for each match, and exists one for each query: choose one of the two")
    added = ["exists"] if exists else ["match", "distance", "match_id"] if columns else []
    wiring.refuse_columns(df, added)
    found = _matches(queries, Store(path).path, k, broadcast, exists)
    if not added:
        return found
    if exists:
        found = found.select("query").distinct().withColumn("exists", F.lit(True))
    found = found.toDF(QUERY, *added)
    rows = df.join(found, wiring.bits(df, fingerprint_column) == F.col(QUERY), "left" if exists else "inner")
    return rows.drop(QUERY).fillna(False, added) if exists else rows.drop(QUERY)


class Facts(NamedTuple):
    """The width, the kind of ids and the pipeline of all segments of a set, and the distance of the first."""

    width: int
    ids: str
    pipeline: str | None
    k: int

    @property
    def id_type(self) -> pa.DataType:
        """The type of its ids, even if it has none."""
        return pa.int64() if self.ids == "number" else pa.string()


def are_sets(paths: list[str]) -> bool:
    """Returns whether all of these are folders of segments."""
    return all(Store(path).read(MANIFEST) is not None for path in paths)


def is_empty(path: str) -> bool:
    """Returns whether this is a set without segments."""
    manifest = Store(path).read(MANIFEST)
    return manifest is not None and not _simidx.manifest_segments(manifest)


def facts(path: str) -> Facts:
    """Reads the first segment of a set."""
    listed = segments_of(path)
    if not listed:
        raise InputError(f"{path}: the set has no segments")
    with simidx.open(Store(path).fetch(listed[0])) as first:
        return Facts(first.width, first.id_kind, first.pipeline, first.k)


def nearest(df: DataFrame, column: str, paths: list[str], k: int, partitions: int | None) -> DataFrame:
    """Returns the nearest record in sets for each fingerprint that has any: ``query``, ``match``, ``distance``, ``id``.

    Of equally near ones it is the smallest, with its smallest id.
    """
    queries = Near(df, column, partitions)
    found = reduce(DataFrame.unionAll, [_matches(queries, path, k, BROADCAST, True) for path in paths])
    unsigned = F.col("match")
    if queries.width < 128:
        unsigned = unsigned.bitwiseXOR(F.lit(-1 << (queries.width - 1)).cast(found.schema["match"].dataType))
    best = F.min(F.struct("distance", unsigned.alias("unsigned"), "id", "match")).alias("best")
    return found.groupBy("query").agg(best).select("query", "best.match", "best.distance", "best.id")


def _matches(queries: Near, path: str, k: int | None, broadcast: int, nearest: bool) -> DataFrame:
    """Returns the matches in a set, at least the nearest of each query."""
    width = queries.width
    if k is not None:
        wiring.distance(k, width)
    session = queries.packed.sparkSession
    listed = segments_of(path)
    if not listed:
        return run(session.range(0), Search(path, width, pa.string(), k, nearest))
    of = facts(path)
    if of.width != width:
        raise InputError(f"{path}: its fingerprints have {of.width} bits, and those of the queries {width}")
    k = of.k if k is None else k
    count = queries.profile.count
    shares = max(1, min(queries.cores // len(listed), count // SHARE)) if count <= broadcast else 1
    rows = [(i * shares + share, share, *segment) for i, segment in enumerate(listed) for share in range(shares)]
    segments = session.createDataFrame(rows, "place int, share int, name string, content string")
    segments = shuffle(segments, len(rows)).drop("place")
    if count <= broadcast:
        of_shares = run(shuffle(run(queries.packed, Spread(shares)), shares), Distinct())
        sent = F.broadcast(of_shares.select(F.col("place").alias("share"), "data"))
        return run(segments.join(sent, "share").drop("share"), Search(path, width, of.id_type, k, nearest))
    read = Records(path, width, of.id_type, of.ids != "none")
    return _join_by_shuffle(queries, segments.drop("share"), read, k, of.id_type)


def _join_by_shuffle(queries: Near, segments: DataFrame, read: Records, k: int, id_type: pa.DataType) -> DataFrame:
    """Joins by exploding both sides by the masks of the rounds."""
    width = queries.width
    records = run(segments, read)
    stored = Near(records, "fingerprint", queries.cores)
    meeting = queries.meeting(k, Profile.of(queries.known + stored.known))
    places = max(queries.cores, -(-(queries.profile.count + stored.profile.count) // PLACE))
    if "id" not in records.columns:
        records = records.withColumn("id", F.lit(None).cast("string"))
    found = run(records, SendRecords("fingerprint", places)).unionAll(run(queries.packed, Spread(places)))
    if meeting is not None:
        sides = [run(queries.packed, Send(meeting, QUERIES)), run(stored.packed, Send(meeting, STORED))]
        met = run(shuffle(sides[0].unionAll(sides[1]), meeting.places), Meet(meeting, places))
        found = found.unionAll(met)
    return run(shuffle(found, places), Attach(width, id_type))
