"""Sets of segments: built from DataFrames, and searched with them."""

from __future__ import annotations

import os
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

import simidx
from simidx import Pipeline
from simidx import distributed as d
from simidx._errors import FileError, InputError
from simidx.distributed._segments import commit, segments_of
from simidx.distributed._store import MANIFEST, Store
from simidx.spark import _wiring as wiring
from simidx.spark._wiring import run, shuffle

#: Records of a segment, unless so many segments keep more cores busy.
SEGMENT = 1 << 23

#: Records below which a segment is not worth a core.
LEAST_SEGMENT = 1 << 20


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
    """Writes a set of segments to a folder, or to what ``pyarrow.fs`` or fsspec open; returns their names.

    Each segment holds a range of fingerprints. Nothing is visible before all are written: the manifest comes last. The
    set is then read by `simidx.open`, by `join`, and by the commands of the program. ``merged`` names a file on the
    driver to merge the segments into, which is the file that ``simidx build`` makes. ``memory`` limits each task;
    other options are those
    of `simidx.build`.
    """
    # Workers may have another working directory.
    store = Store(path)
    path = store.path
    store.prepare()
    if not overwrite and store.read(MANIFEST) is not None:
        raise FileError(f"{path}: there is a set already; overwrite=True replaces it")
    wiring.fingerprints(df, fingerprint_column)
    columns = [F.col(fingerprint_column).alias("fingerprint")]
    if id_column is not None:
        columns = [*wiring_columns(df, fingerprint_column, id_column)]
    data = df.select(*columns)
    rows = run(data.select("fingerprint"), d.Sample("fingerprint")).collect()
    count = sum(row["count"] for row in rows)
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
    names = [str(row["name"]) for row in built]
    if merged is not None:
        merge_options = {"tables": tables, "k": k, "memory": memory}
        given = {name: value for name, value in merge_options.items() if value is not None}
        simidx.merge(merged, [store.fetch(name) for name in names], **given).close()  # type: ignore[arg-type]
    return names


def wiring_columns(df: DataFrame, fingerprint_column: str, id_column: str) -> list[Any]:
    """The columns of records."""
    type = "string" if wiring.ids(df, id_column) == pa.string() else "bigint"
    return [F.col(fingerprint_column).alias("fingerprint"), F.col(id_column).cast(type).alias("id")]


def join(
    df: DataFrame,
    path: str | os.PathLike[str],
    *,
    k: int | None = None,
    fingerprint_column: str = "fingerprint",
) -> DataFrame:
    """All fingerprints of a set within ``k`` bits of queries: ``query``, ``match``, ``distance``, ``id``.

    A row for each id of a match; in a set without ids it is null. Each distinct query counts once. The queries are
    broadcast, 8 bytes each, and each segment is the work of one task. ``k`` is by default that of the segments.
    """
    store = Store(path)
    path = store.path
    names = segments_of(path)
    width = wiring.fingerprints(df, fingerprint_column)
    if not names:
        raise InputError(f"{path}: the set has no segments")
    with simidx.open(store.fetch(names[0])) as first:
        if first.width != width:
            raise InputError(f"{path}: its fingerprints have {first.width} bits, and those of the queries {width}")
        id_type = pa.int64() if first.id_kind == "number" else pa.string()
    session = df.sparkSession
    segments = session.createDataFrame([(i, name) for i, name in enumerate(names)], "place int, name string")
    segments = shuffle(segments, len(names)).drop("place")
    collapsed = run(df.select(fingerprint_column), d.Collapse(fingerprint_column, 1))
    queries = run(shuffle(collapsed, 1), d.Distinct()).select("data")
    rows = segments.crossJoin(F.broadcast(queries))
    return run(rows, d.Search(path, width, id_type, k))


def sweep(path: str | os.PathLike[str], older_than: float = 24 * 3600.0) -> list[str]:
    """Removes files that failed or repeated tasks left in the folder of a set, and returns their names.

    Only what its manifest does not list, and what was not changed within so many seconds: longer than any build that
    may be
    running there.
    """
    return d.sweep(os.fspath(path), older_than)
