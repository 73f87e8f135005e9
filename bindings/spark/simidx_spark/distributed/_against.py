"""Documents that an index already has."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import simidx
from simidx import Pipeline, _simidx
from simidx_spark.distributed._columns import Array, arrow_type, from_arrow, to_arrow, with_fingerprints
from simidx_spark.distributed._messages import GATHERED, Batches, gathered
from simidx_spark.distributed._segments import fetched
from simidx_spark.distributed._texts import Words, given_texts


class _Against:
    """Finds documents that an index has: a row for each, with the nearest record of the index."""

    #: Documents that are searched at a time.
    rows: int = 1 << 18
    #: The most bytes of these.
    size: int = GATHERED

    def __init__(self, paths: list[str], id_column: str, column: str, schema: list[tuple[str, Any]]) -> None:
        self._paths, self._id_column, self._column = paths, id_column, column
        self.schema: pa.Schema = pa.schema(schema)

    def __call__(self, batches: Batches) -> Batches:
        index = None
        for table in gathered(batches, self.rows, self.size):
            if index is None:
                index = simidx.open(fetched(self._paths))
            yield from self._table(index, table).cast(self.schema).to_batches(max_chunksize=1 << 16)
        if index is not None:
            index.close()

    def _table(self, index: simidx.Index, table: pa.Table) -> pa.Table:
        raise NotImplementedError

    def _rows(self, table: pa.Table, rows: Array, values: Array, ids: Any, *facts: Any) -> pa.Table:
        taken = table.column(self._id_column).take(pa.array(rows))
        if ids is None:
            ids = pa.nulls(len(rows), self.schema.field("index_id").type)
        return pa.table([taken, to_arrow(values), pa.array(ids), *facts], names=self.schema.names)


class NearIndex(_Against):
    """Finds documents with a fingerprint within a distance in an index: the nearest; of equals the smallest."""

    def __init__(
        self, paths: list[str], id_column: str, id_type: pa.DataType, width: int, index_id: pa.DataType, k: int
    ) -> None:
        kind = arrow_type(width)
        names = [("id", id_type), ("index_fingerprint", kind), ("index_id", index_id), ("distance", pa.int32())]
        super().__init__(paths, id_column, "fingerprint", names)
        self._k = k

    def _table(self, index: simidx.Index, table: pa.Table) -> pa.Table:
        table = with_fingerprints(table, self._column)
        found = index.join(from_arrow(table.column(self._column)), self._k, threads=1)
        # The first match of a query is the nearest.
        rows = np.flatnonzero(found.counts)
        firsts = found.offsets[:-1][rows]
        ids = None
        if index.id_kind != "none" and len(rows):
            lists = pa.array(found.ids_arrow()).take(pa.array(firsts))
            ids = pc.list_element(lists, 0)
        return self._rows(table, rows, found.fingerprints[firsts], ids, found.distances[firsts].astype(np.int32))


class SimilarToIndex(_Against):
    """Finds documents that are similar to a record of an index, according to its sketches."""

    #: Each pass over all sketches serves many documents.
    rows: int = 1 << 16
    size: int = 4 * GATHERED

    def __init__(
        self,
        paths: list[str],
        names: tuple[str, str],
        id_type: pa.DataType,
        width: int,
        index_id: pa.DataType,
        similarity: float,
        words: Words,
        pipeline: Pipeline,
    ) -> None:
        schema = [
            ("id", id_type),
            ("index_fingerprint", arrow_type(width)),
            ("index_id", index_id),
            ("estimate", pa.float64()),
            ("standard_error", pa.float64()),
        ]
        super().__init__(paths, *names, schema)
        self._similarity, self._words, self._pipeline = similarity, words, pipeline

    def _table(self, index: simidx.Index, table: pa.Table) -> pa.Table:
        texts = given_texts(table.column(self._column), table.column(self._id_column))
        given = {"texts": texts, "similarity": self._similarity, "words": self._words, "pipeline": self._pipeline}
        found = _simidx.sketch_matches(index, {**given, "threads": 1})
        return self._rows(table, *found)
