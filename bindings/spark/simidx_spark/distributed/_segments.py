"""Sets of segments: records to index files by ranges of fingerprints, and queries to the segments of a set.

A segment has in its name the hash of its records and the checksum of its directory, and the same build makes the same
bytes. A task may therefore run twice, even at the same time: both runs write the same file. Another build of the same
records has another name. The manifest defines the set, and is written last.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import simidx
from simidx import _simidx
from simidx_spark.distributed._columns import (
    Array,
    arrow_type,
    empty,
    from_arrow,
    pack,
    to_arrow,
    unpack,
    width_of_array,
    with_fingerprints,
)
from simidx_spark.distributed._components import check_ids
from simidx_spark.distributed._messages import Batches, Rows, _Sends, by_place, gathered, records_at_places, rows_for
from simidx_spark.distributed._pairs import smallest_hashes
from simidx_spark.distributed._store import (
    MANIFEST,
    REPLACED,
    Segment,
    Store,
    build_id,
    is_replaced,
    is_unfinished,
)

#: Fingerprints in the sample from which ranges are chosen.
SAMPLE = 1 << 14


class Sample:
    """Returns the number of fingerprints of a column, their width, and a sample that does not depend on their order."""

    schema: pa.Schema = pa.schema([("width", pa.int32()), ("count", pa.int64()), ("sample", pa.binary())])

    def __init__(self, column: str) -> None:
        self.column = column

    def __call__(self, batches: Batches) -> Batches:
        count, width, sample = 0, 64, None
        for table in gathered(batches, 1 << 20):
            values = from_arrow(with_fingerprints(table, self.column).column(self.column))
            count += len(values)
            width = width_of_array(values)
            sample = _smallest(values if sample is None else np.concatenate([sample, values]))
        if sample is not None:
            row = {"width": width, "count": count, "sample": pack(sample)}
            yield pa.RecordBatch.from_pylist([row], schema=self.schema)


def _smallest(values: Array) -> Array:
    """Returns a sample of the distinct values."""
    few = smallest_hashes(values, 4 * SAMPLE)
    distinct, _ = _simidx.distinct(few)
    if len(distinct) < SAMPLE < len(values):
        # If very many are equal, the others must be searched for.
        distinct, _ = _simidx.distinct(values)
    return smallest_hashes(distinct, SAMPLE)


class Splits:
    """Ranges of fingerprints that have about the same number of distinct ones each."""

    def __init__(self, splits: Array) -> None:
        self.splits = splits

    def __len__(self) -> int:
        return len(self.splits) + 1

    @staticmethod
    def of(rows: Iterable[tuple[int, int, bytes]], segments: int) -> Splits:
        """Chooses at most ``segments`` ranges, from the width, the count and the sample of each part."""
        samples = [unpack(sample, width) for width, _, sample in rows]
        if not samples:
            return Splits(empty(64))
        sample = _smallest(np.concatenate(samples))
        ordered, _ = _simidx.distinct(sample)
        places = np.unique(np.arange(1, segments) * len(ordered) // segments)
        return Splits(ordered[places[places > 0]])

    def places(self, values: Array) -> Array:
        """Returns the range of each fingerprint."""
        if values.ndim == 1:
            return np.searchsorted(self.splits, values, side="right")
        places = np.zeros(len(values), dtype=np.int64)
        for high, low in self.splits:
            places += (values[:, 0] > high) | ((values[:, 0] == high) & (values[:, 1] >= low))
        return places


class Range(_Sends):
    """Sends records to the place of their fingerprint's range. Records without a fingerprint are not sent."""

    def __init__(self, fingerprint_column: str, id_column: str | None, splits: Splits) -> None:
        self._columns = [fingerprint_column] if id_column is None else [fingerprint_column, id_column]
        self.splits = splits

    def _rows(self, batches: Batches) -> Rows:
        for table in gathered(batches, rows_for(len(self.splits))):
            table = with_fingerprints(table, self._columns[0])
            values = from_arrow(table.column(self._columns[0]))
            columns = {"fingerprint": to_arrow(values)}
            if len(self._columns) == 2:
                check_ids(table.column(self._columns[1]))
                columns["id"] = table.column(self._columns[1])
            for place, data in by_place(pa.table(columns), self.splits.places(values), len(self.splits)):
                yield place, 0, data


class Build:
    """Writes the records of each range to a segment. Returns a row for each: its entry in the manifest."""

    schema: pa.Schema = pa.schema([("place", pa.int32()), ("name", pa.string()), ("manifest", pa.binary())])

    def __init__(self, path: str, options: dict[str, Any]) -> None:
        self._path, self._options = path, options

    def __call__(self, batches: Batches) -> Batches:
        for place, records in records_at_places(batches):
            name, manifest = self._build(place, records)
            row = {"place": place, "name": name, "manifest": manifest}
            yield pa.RecordBatch.from_pylist([row], schema=self.schema)

    def _build(self, place: int, records: pa.Table) -> tuple[str, bytes]:
        ids = records.column("id").combine_chunks() if "id" in records.column_names else None
        values = from_arrow(records.column("fingerprint"))
        return _added(Store(self._path), place, lambda file: simidx.build(file, values, ids, **self._options))


def _added(store: Store, place: int, write: Callable[[str], simidx.Index]) -> tuple[str, bytes]:
    """Writes a segment, and returns its name and its entry in the manifest."""
    file = store.unfinished()
    try:
        write(file).close()
        with open(file, "rb") as made:
            build = build_id(made)
        name, manifest = _simidx.segment_manifest(file, f"segment-{place:05}-{{content}}-{build}.simidx")
        store.put(file, name)
    finally:
        if os.path.exists(file):
            os.unlink(file)
    return name, manifest


class Compact:
    """Merges the segments of each row, its ``names`` and ``contents``, into one. Returns what `Build` returns."""

    schema: pa.Schema = Build.schema

    def __init__(self, path: str, options: dict[str, Any]) -> None:
        self._path, self._options = path, options

    def __call__(self, batches: Batches) -> Batches:
        store = Store(self._path)
        for batch in batches:
            for row in batch.to_pylist():
                files = [store.fetch(Segment(*of)) for of in zip(row["names"], row["contents"], strict=True)]
                name, manifest = _added(store, row["place"], partial(simidx.merge, inputs=files, **self._options))
                made = {"place": row["place"], "name": name, "manifest": manifest}
                yield pa.RecordBatch.from_pylist([made], schema=self.schema)


def small_segments(manifest: bytes, records: int) -> list[list[Segment]]:
    """Returns groups of several segments that have at most this number of records together, in their order."""
    groups: list[list[Segment]] = [[]]
    held = 0
    for name, content, _, count in _simidx.manifest_segments(manifest):
        if count >= records:
            continue
        if held + count > records:
            groups.append([])
            held = 0
        groups[-1].append(Segment(name, content))
        held += count
    return [group for group in groups if len(group) > 1]


def commit(
    path: str,
    manifests: Iterable[bytes],
    notes: dict[str, str],
    before: bytes | None = None,
    gone: set[str] | None = None,
) -> None:
    """Replaces the manifest ``before`` by one without the segments ``gone``, by default all, and with other segments.

    Each file must be complete. If segments leave the set, the old manifest is kept under another name, so that `sweep`
    does not yet remove them.
    """
    store = Store(path)
    manifest = _simidx.next_manifest(before, gone, list(manifests), notes)
    store.require({name: length for name, _, length, _ in _simidx.manifest_segments(manifest)})
    # A store that is not local may be left with a part of the new manifest.
    if before is not None and _is_sound(before) and (gone != set() or not store.is_local):
        store.write(f"{REPLACED[0]}{uuid.uuid4().hex}{REPLACED[1]}", before)
    with store.alone():
        if store.read(MANIFEST) != before:
            raise simidx.FileError(f"{path}: another job has changed the set since this one began: run this one again")
        store.write(MANIFEST, manifest)


def _is_sound(manifest: bytes) -> bool:
    try:
        _simidx.manifest_segments(manifest)
    except simidx.Error:
        return False
    return True


def manifest_of(path: str) -> bytes:
    """Returns the manifest of a set."""
    data = Store(path).read(MANIFEST)
    if data is None:
        raise simidx.FileMissingError(
            f"{path}: there is no {MANIFEST}; the set has not been committed, or it is not a set"
        )
    return data


def segments_of(path: str) -> list[Segment]:
    """Returns the segments of a set."""
    return [Segment(name, content) for name, content, *_ in _simidx.manifest_segments(manifest_of(path))]


def refuse_repeated(path: str, before: bytes, manifests: Iterable[bytes]) -> None:
    """Refuses to append segments whose records a set has already."""
    listed = {content for _, content, *_ in _simidx.manifest_segments(before)}
    added = [segment for manifest in manifests for segment in _simidx.manifest_segments(manifest)]
    again = [name for name, content, *_ in added if content in listed]
    if again:
        raise simidx.FileError(
            f"{path}: {len(again)} of {len(added)} segments to append have been committed already, such as {again[0]}: "
            "the set has their records, and nothing was added"
        )


def fetched(paths: Iterable[str], most: int | None = None) -> list[str]:
    """Returns local paths of index files and sets. Of a set elsewhere, up to ``most`` segments are copied."""
    found: list[str] = []
    for path in paths:
        store = Store(path)
        found += [store.path] if store.is_local else [store.fetch(segment) for segment in segments_of(path)[:most]]
    return found


def sweep(path: str | os.PathLike[str], older_than: float = 24 * 3600.0) -> list[str]:
    """Removes files that failed, killed or repeated tasks left, and what has left the set; returns their names.

    These are segments that the manifest does not list, and incomplete files; none of them has changed within the given
    seconds, or been in the set. They must be longer than any job takes that writes or reads the set. For a set
    elsewhere, the files that a task leaves on its local disk are removed a day later, when another task works there.
    """
    store = Store(path)
    # Before and after the files are listed: what leaves the set in between stays, and so does what comes into it.
    manifests = [store.read(MANIFEST)]
    files = store.names()
    manifests.append(store.read(MANIFEST))
    manifests += [store.read(name) for name, age, _ in files if is_replaced(name) and age < older_than]
    read = (_simidx.manifest_segments(data) for data in manifests if data is not None)
    listed = {name for segments in read for name, *_ in segments}
    gone = []
    for name, age, _ in files:
        is_segment = name.startswith("segment-") and name.endswith(".simidx")
        is_ours = is_segment or is_unfinished(name) or is_replaced(name)
        if is_ours and name not in listed and age >= older_than:
            store.delete(name)
            gone.append(name)
    return gone


def matches_schema(width: int, id_type: pa.DataType) -> pa.Schema:
    """Returns the columns of the matches of queries."""
    kind = arrow_type(width)
    return pa.schema([("query", kind), ("match", kind), ("distance", pa.int32()), ("id", id_type)])


class Search:
    """Finds the matches of packed queries in segments. Its rows hold a segment's ``name``, ``content``, and queries.

    With ``nearest``, each query has only its nearest match in a segment, of equals the smallest, with the first id.
    """

    def __init__(self, path: str, width: int, id_type: pa.DataType, k: int | None, nearest: bool = False) -> None:
        self._path, self._width, self._k, self._nearest = path, width, k, nearest
        self.schema: pa.Schema = matches_schema(width, id_type)

    def __call__(self, batches: Batches) -> Batches:
        store = Store(self._path)
        for batch in batches:
            for row in range(batch.num_rows):
                segment = Segment(batch.column("name")[row].as_py(), batch.column("content")[row].as_py())
                data = batch.column("data")[row].as_buffer()
                with simidx.open(store.fetch(segment)) as index:
                    yield from self._search(index, unpack(data, self._width))

    def _search(self, index: simidx.Index, queries: Array) -> Batches:
        for start in range(0, len(queries), 1 << 18):
            some = queries[start : start + (1 << 18)]
            found = index.join(some, self._k, threads=1)
            # The first match of a query is the nearest.
            rows = found.offsets[:-1][found.counts > 0] if self._nearest else np.arange(found.match_count)
            ids: pa.Array = pa.nulls(len(rows), self.schema.field("id").type)
            if index.id_kind != "none" and len(rows):
                lists = pa.array(found.ids_arrow())
                if self._nearest:
                    ids = pc.list_element(lists.take(pa.array(rows)), 0)
                else:
                    rows, ids = lists.value_parent_indices().to_numpy(), lists.flatten()
            columns = [
                to_arrow(some[found.queries[rows]]),
                to_arrow(found.fingerprints[rows]),
                pa.array(found.distances[rows].astype(np.int32)),
                ids.cast(self.schema.field("id").type),
            ]
            yield from pa.table(columns, names=self.schema.names).to_batches(max_chunksize=1 << 16)
