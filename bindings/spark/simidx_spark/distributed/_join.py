"""Many queries against a set: both are sent to where near ones meet, and matches to the records of the set."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

import simidx
from simidx import _simidx
from simidx_spark.distributed._columns import Array, arrow_type, distances, empty, from_arrow, pack, to_arrow, unpack
from simidx_spark.distributed._components import _ranks, _send_columns
from simidx_spark.distributed._messages import Batches, Rows, _Sends, brought_together, divided, from_stream, received
from simidx_spark.distributed._pairs import Meeting
from simidx_spark.distributed._segments import matches_schema
from simidx_spark.distributed._store import Segment, Store

#: Parts of messages, in addition to records, which are 0, and queries, which are the width.
MATCHES = -1

#: The sides of a search.
QUERIES, STORED = 1, -1


class Records:
    """Reads the records of segments, ``fingerprint`` and ``id``, from rows of ``name`` and ``content``."""

    def __init__(self, path: str, width: int, id_type: pa.DataType, ids: bool = True) -> None:
        self._path, self._ids = path, ids
        names = [("fingerprint", arrow_type(width)), ("id", id_type)]
        self.schema: pa.Schema = pa.schema(names if ids else names[:1])

    def __call__(self, batches: Batches) -> Batches:
        store = Store(self._path)
        for batch in batches:
            for row in batch.to_pylist():
                with simidx.open(store.fetch(Segment(row["name"], row["content"]))) as index:
                    yield from self._table(index).cast(self.schema).to_batches(max_chunksize=1 << 17)

    def _table(self, index: simidx.Index) -> pa.Table:
        if not self._ids:
            return pa.table([to_arrow(index.fingerprints(threads=1))], names=self.schema.names)
        values, ids = index.records()
        kind = self.schema.field("id").type
        columns = [to_arrow(values), pa.nulls(len(values), kind) if ids is None else pa.array(ids)]
        return pa.table(columns, names=self.schema.names)


class Spread(_Sends):
    """Sends packed fingerprints to places by their value."""

    def __init__(self, places: int) -> None:
        self._places = places

    def _rows(self, batches: Batches) -> Rows:
        for _, width, data in received(batches):
            for place, some in divided(*_simidx.scatter(unpack(data, width), self._places)):
                yield place, width, pack(some)


class Meet(_Sends):
    """Finds queries near other stored fingerprints, and sends the pairs to the places of the stored ones."""

    def __init__(self, meeting: Meeting, places: int) -> None:
        self._meeting, self._places = meeting, places

    def _rows(self, batches: Batches) -> Rows:
        width = self._meeting.width
        sides: dict[int, dict[int, list[Array]]] = {}
        for place, part, data in received(batches):
            of_place = sides.setdefault(place, {QUERIES: [empty(width)], STORED: [empty(width)]})
            of_place[QUERIES if part > 0 else STORED].append(unpack(data, width))
        for place in sorted(sides):
            of_place = sides.pop(place)
            queries, stored = (_simidx.distinct(np.concatenate(of_place[side]))[0] for side in (QUERIES, STORED))
            if not len(queries) or not len(stored):
                continue
            both, _ = _simidx.distinct(np.concatenate([queries, stored]))
            for left, right in self._meeting.find(place, both, False):
                for query, match in ((left, right), (right, left)):
                    rows = (_simidx.lookup(queries, query) >= 0) & (_simidx.lookup(stored, match) >= 0)
                    yield from _send_columns(match[rows], query[rows], MATCHES, self._places)


class Attach:
    """Adds the records of matches: of the pairs found, and of queries that are stored themselves."""

    def __init__(self, width: int, id_type: pa.DataType) -> None:
        self._width = width
        self.schema: pa.Schema = matches_schema(width, id_type)

    def __call__(self, batches: Batches) -> Batches:
        records: dict[int, list[pa.Table]] = {}
        pairs: dict[int, list[tuple[Array, Array]]] = {}
        for place, part, data in received(batches):
            if part == 0:
                records.setdefault(place, []).append(from_stream(data))
                continue
            values = unpack(data, self._width)
            match, query = np.split(values, 2) if part == MATCHES else (values, values)
            pairs.setdefault(place, []).append((match, query))
        for place in sorted(records):
            table = brought_together(records.pop(place)).combine_chunks()
            stored, ranks = _ranks(from_arrow(table.column("fingerprint")))
            order = np.argsort(ranks, kind="stable")
            ends = np.cumsum(np.bincount(ranks, minlength=len(stored)))
            starts = np.concatenate([[0], ends[:-1]])
            for match, query in pairs.pop(place, []):
                found = _simidx.lookup(stored, match)
                for start in range(0, len(found), 1 << 16):
                    some = np.flatnonzero(found[start : start + (1 << 16)] >= 0) + start
                    at = found[some]
                    counts = ends[at] - starts[at]
                    pair = np.repeat(np.arange(len(some)), counts)
                    # The first record of each pair, and then the next ones.
                    steps = np.arange(len(pair)) - np.repeat(np.cumsum(counts) - counts, counts)
                    rows = order[starts[at][pair] + steps]
                    one, other = query[some][pair], match[some][pair]
                    columns = [to_arrow(one), to_arrow(other), pa.array(distances(one, other))]
                    columns.append(table.column("id").take(pa.array(rows)))
                    yield from pa.table(columns, names=self.schema.names).cast(self.schema).to_batches()
