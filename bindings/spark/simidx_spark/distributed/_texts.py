"""Texts: their fingerprints, and the choice of similar ones to drop.

Texts that may be similar share a key. All texts that shared keys link go to one place, in the order of their ids. There
the library decides on them as it would on all, because a text is not similar to any that its keys do not lead to.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from simidx import InputError, Pipeline, _simidx
from simidx_spark.distributed._columns import Array, arrow_type, from_arrow, pack, to_arrow, unpack
from simidx_spark.distributed._components import _send_columns, check_ids, two_columns, unique_ids
from simidx_spark.distributed._messages import Batches, Rows, _Sends, at_places, gathered, records_at_places, rows_for


def as_pipeline(pipeline: str | Pipeline, width: int = 64) -> Pipeline:
    """Opens a pipeline by name, or returns a given one."""
    return Pipeline(pipeline, width=width) if isinstance(pipeline, str) else pipeline


#: What texts are compared by: the number of words in a run, or the features of the pipeline.
Words = int | Literal["pipeline"]


def compared(words: Words | None, pipeline: Pipeline) -> Words:
    """Returns what texts are compared by, by default as in the program."""
    is_default = pipeline.description == Pipeline("web", width=pipeline.width).description
    return words if words is not None else 3 if is_default else "pipeline"


class Fingerprint:
    """Adds the column of the fingerprints of a column of texts; null for a text that is null or has no features."""

    def __init__(self, schema: pa.Schema, text_column: str, pipeline: Pipeline, output: str) -> None:
        self._text_column, self._pipeline = text_column, pipeline
        self.schema: pa.Schema = schema.append(pa.field(output, arrow_type(pipeline.width)))

    def __call__(self, batches: Batches) -> Batches:
        for batch in batches:
            columns = [*batch.columns, fingerprints_of(batch.column(self._text_column), self._pipeline)]
            yield pa.RecordBatch.from_arrays(columns, schema=self.schema)


def fingerprints_of(texts: pa.Array, pipeline: Pipeline) -> pa.Array:
    """Returns the fingerprint of each text; null for one that is null or has no features."""
    values, has_features = pipeline.fingerprints_and_features(texts.fill_null("").cast(pa.string()), threads=1)
    has_none = texts.is_null().to_numpy(zero_copy_only=False) | ~has_features
    return to_arrow(values).take(pa.array(np.arange(len(texts)), mask=has_none))


def nodes_of(ids: pa.ChunkedArray | pa.Array) -> Array:
    """Returns a 64-bit number for each id. Two ids may share one, which only brings their records to the same place."""
    if pa.types.is_integer(ids.type):
        numbers: Array = ids.to_numpy().astype("i8").view("<u8")
        return numbers
    return np.ascontiguousarray(_simidx.identities(ids.cast(pa.string()))[:, 1])


def given_texts(texts: pa.ChunkedArray | pa.Array, ids: pa.ChunkedArray | pa.Array) -> Any:
    """Returns the texts of a column. A record without a text is an error, since it cannot be compared."""
    if texts.null_count:
        id = ids.filter(texts.is_null())[0].as_py()
        raise InputError(f"the record {id!r} has no text: filter rows whose text is null")
    return texts.cast(pa.string())


class Prints:
    """The columns to compare: ``id``, ``fingerprint``, ``identity``; ``length`` on demand.

    A text without features has no fingerprint, but an identity, a hash of its bytes: it is a duplicate of equal texts
    only.
    """

    def __init__(
        self, id_column: str, text_column: str, id_type: pa.DataType, pipeline: Pipeline, length: bool
    ) -> None:
        self._id_column, self._text_column, self._pipeline = id_column, text_column, pipeline
        names = [("id", id_type), ("fingerprint", arrow_type(pipeline.width)), ("identity", arrow_type(128))]
        names += [("length", pa.int64())] if length else []
        self.schema: pa.Schema = pa.schema(names)

    def __call__(self, batches: Batches) -> Batches:
        for batch in batches:
            texts = given_texts(batch.column(self._text_column), batch.column(self._id_column))
            values, has_features = self._pipeline.fingerprints_and_features(texts, threads=1)
            rows = np.arange(len(texts))
            lengths = pc.binary_length(texts)
            columns = {
                "id": batch.column(self._id_column),
                "fingerprint": to_arrow(values).take(pa.array(rows, mask=~has_features)),
                "identity": to_arrow(_simidx.identities(texts)).take(pa.array(rows, mask=has_features)),
                "length": lengths,
            }
            arrays = [columns[name].cast(type) for name, type in zip(self.schema.names, self.schema.types, strict=True)]
            yield pa.RecordBatch.from_arrays(arrays, schema=self.schema)


class SendKeys(_Sends):
    """Sends the keys of texts to their places, each with the number of its record."""

    def __init__(
        self, id_column: str, text_column: str, similarity: float, words: Words, pipeline: Pipeline, places: int
    ) -> None:
        self._id_column, self._text_column, self._places = id_column, text_column, places
        self._similarity, self._words, self._pipeline = similarity, words, pipeline

    def _rows(self, batches: Batches) -> Rows:
        for keys, nodes in self._keys(batches):
            yield from _send_columns(keys, nodes, 64, self._places)

    def _keys(self, batches: Batches) -> Iterator[tuple[Array, Array]]:
        keys: list[Array] = []
        nodes: list[Array] = []
        count = 0
        for table in gathered(batches, 1 << 13):
            ids = table.column(self._id_column)
            check_ids(ids)
            texts = given_texts(table.column(self._text_column), ids)
            given = {"similarity": self._similarity, "words": self._words, "pipeline": self._pipeline, "threads": 1}
            rows = _simidx.text_keys({"texts": texts, **given}, False)[0]
            keys.append(rows.reshape(-1))
            nodes.append(np.repeat(nodes_of(ids), rows.shape[1]))
            count += rows.size
            if count >= rows_for(self._places):
                yield np.concatenate(keys), np.concatenate(nodes)
                keys, nodes, count = [], [], 0
        if keys:
            yield np.concatenate(keys), np.concatenate(nodes)


class ShareKeys(_Sends):
    """Returns links between records that share a key, only enough to connect them."""

    def _rows(self, batches: Batches) -> Rows:
        for _, parts in at_places(batches, lambda _, data: unpack(data, 64)):
            keys, nodes = two_columns(parts)
            order = np.argsort(keys)
            keys, nodes = keys[order], nodes[order]
            same = np.flatnonzero(keys[1:] == keys[:-1])
            # Neighbours in the order of keys form a chain for each key.
            values, least = _simidx.components(nodes[same], nodes[same + 1])
            differ = values != least
            yield 0, 64, pack(np.concatenate([values[differ], least[differ]]))


class Nodes:
    """Adds the column ``node``: the number of each record by its id."""

    def __init__(self, id_column: str, text_column: str, id_type: pa.DataType) -> None:
        self._id_column, self._text_column = id_column, text_column
        self.schema: pa.Schema = pa.schema([("node", pa.int64()), ("id", id_type), ("text", pa.string())])

    def __call__(self, batches: Batches) -> Batches:
        for batch in batches:
            ids, texts = batch.column(self._id_column), batch.column(self._text_column)
            columns = [to_arrow(nodes_of(ids)), ids, given_texts(texts, ids)]
            yield pa.RecordBatch.from_arrays(
                [c.cast(t) for c, t in zip(columns, self.schema.types, strict=True)], schema=self.schema
            )


class _Decides:
    """Decides which of the documents that came to a place are dropped, for which one, and how near the two are."""

    def __init__(self, id_type: pa.DataType, fact: str, kind: pa.DataType) -> None:
        self.schema: pa.Schema = pa.schema([("id", id_type), ("duplicate_of", id_type), (fact, kind)])

    def __call__(self, batches: Batches) -> Batches:
        for table in by_id(batches):
            ids = table.column("id")
            unique_ids(ids)
            kept, facts = self._decide(table)
            dropped = np.flatnonzero(kept >= 0)
            columns = [ids.take(pa.array(dropped)), ids.take(pa.array(kept[dropped])), facts[dropped]]
            yield from pa.table(columns, names=self.schema.names).cast(self.schema).to_batches()

    def _decide(self, table: pa.Table) -> tuple[Array, Array]:
        """Returns for each row the one that is kept for it or -1, and how near the two are."""
        raise NotImplementedError


class Judge(_Decides):
    """Decides which of the texts that came to a place are dropped, for which one, and how similar the two are."""

    def __init__(self, id_type: pa.DataType, similarity: float, words: Words, how: dict[str, Any]) -> None:
        """``how`` are the options ``pipeline``, ``memory``, ``longest`` and ``chains``."""
        super().__init__(id_type, "similarity", pa.float64())
        self._given = {"similarity": similarity, "words": words, **how, "threads": 1}

    def _decide(self, table: pa.Table) -> tuple[Array, Array]:
        return _simidx.decide_texts({"texts": table.column("text"), **self._given})


class Decide(_Decides):
    """Decides which of the documents that came to a place are dropped for longer ones, by their fingerprints."""

    def __init__(self, id_type: pa.DataType, k: int, memory: int | str | None) -> None:
        super().__init__(id_type, "distance", pa.int32())
        self._given = {"k": k, "memory": memory, "threads": 1}

    def _decide(self, table: pa.Table) -> tuple[Array, Array]:
        values, lengths = from_arrow(table.column("fingerprint")), table.column("length").to_numpy()
        return _simidx.decide_documents({"fingerprints": values, "priority": lengths, **self._given})


def by_id(batches: Batches) -> Iterator[pa.Table]:
    """Yields the records that came to each place, ordered by id."""
    for _, records in records_at_places(batches):
        # Step by step, so that only the last copy exists while it is used.
        records = records.sort_by("id")
        records = records.combine_chunks()
        yield records
