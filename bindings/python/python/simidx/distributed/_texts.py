"""Texts: their fingerprints, and which of them are similar.

Texts that may be similar share a key. The texts that steps of shared keys link go to one place, in the order of their
ids,
where the library decides on them as it would on all: no text is similar to one that no key leads to.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from simidx._simidx import Pipeline, _components, _dedup_texts, _hash_texts, _text_keys
from simidx.distributed._columns import Array, arrow_type, pack, to_arrow, unpack
from simidx.distributed._components import _send_columns, check_ids, unique_ids
from simidx.distributed._messages import MESSAGE, Batches, from_stream, gathered, messages, received, rows_for


def as_pipeline(pipeline: str | Pipeline, width: int = 64) -> Pipeline:
    """The pipeline of a name, or the one given."""
    return Pipeline(pipeline, width=width) if isinstance(pipeline, str) else pipeline


class Fingerprint:
    """Adds the column of the fingerprints of a column of texts. A text that is null has none."""

    def __init__(self, schema: pa.Schema, text_column: str, pipeline: Pipeline, output: str) -> None:
        self._text_column, self._pipeline = text_column, pipeline
        self.schema: pa.Schema = schema.append(pa.field(output, arrow_type(pipeline.width)))

    def __call__(self, batches: Batches) -> Batches:
        for batch in batches:
            texts = batch.column(self._text_column)
            values = to_arrow(self._pipeline.fingerprints(texts.fill_null("").cast(pa.string()), threads=1))
            if texts.null_count:
                mask = texts.is_null().to_numpy(zero_copy_only=False)
                values = values.take(pa.array(np.where(mask, 0, np.arange(len(mask))), mask=mask))
            columns = [*batch.columns, values]
            yield pa.RecordBatch.from_arrays(columns, schema=self.schema)


def nodes_of(ids: pa.ChunkedArray | pa.Array) -> Array:
    """A number of 64 bits for each id: two ids may share one, which brings their records to one place."""
    if pa.types.is_integer(ids.type):
        numbers: Array = ids.to_numpy().astype("i8").view("<u8")
        return numbers
    hashes: Array = _hash_texts(ids.cast(pa.string()))
    return hashes


class SendKeys:
    """Sends the keys of texts to their places, each with the number of its record."""

    schema: pa.Schema = MESSAGE

    def __init__(
        self, id_column: str, text_column: str, similarity: float, words: int | None, pipeline: Pipeline, places: int
    ) -> None:
        self._id_column, self._text_column, self._places = id_column, text_column, places
        self._similarity, self._words, self._pipeline = similarity, words, pipeline

    def __call__(self, batches: Batches) -> Batches:
        return messages(self._rows(batches))

    def _rows(self, batches: Batches) -> Iterator[tuple[int, int, bytes]]:
        for keys, nodes in self._keys(batches):
            yield from _send_columns(keys, nodes, 64, self._places)

    def _keys(self, batches: Batches) -> Iterator[tuple[Array, Array]]:
        keys: list[Array] = []
        nodes: list[Array] = []
        count = 0
        for table in gathered(batches, 1 << 13):
            ids = table.column(self._id_column)
            check_ids(ids)
            texts = table.column(self._text_column).fill_null("").cast(pa.string())
            rows = _text_keys(texts, self._similarity, words=self._words, pipeline=self._pipeline, threads=1)
            keys.append(rows.reshape(-1))
            nodes.append(np.repeat(nodes_of(ids), rows.shape[1]))
            count += rows.size
            if count >= rows_for(self._places):
                yield np.concatenate(keys), np.concatenate(nodes)
                keys, nodes, count = [], [], 0
        if keys:
            yield np.concatenate(keys), np.concatenate(nodes)


class ShareKeys:
    """Links between records that share a key, as few as link them."""

    schema: pa.Schema = MESSAGE

    def __call__(self, batches: Batches) -> Batches:
        places: dict[int, list[Array]] = {}
        for place, _, data in received(batches):
            places.setdefault(place, []).append(unpack(data, 64))
        return messages(self._links(places.pop(place)) for place in sorted(places))

    def _links(self, parts: list[Array]) -> tuple[int, int, bytes]:
        keys = np.concatenate([part[: len(part) // 2] for part in parts])
        nodes = np.concatenate([part[len(part) // 2 :] for part in parts])
        order = np.argsort(keys)
        keys, nodes = keys[order], nodes[order]
        same = np.flatnonzero(keys[1:] == keys[:-1])
        # Neighbours in the order of keys: a chain for each key.
        values, least = _components(nodes[same], nodes[same + 1], 64)
        differ = values != least
        return 0, 64, pack(np.concatenate([values[differ], least[differ]]))


class Nodes:
    """Adds the column ``node``: the number of each record by its id."""

    def __init__(self, id_column: str, text_column: str, id_type: pa.DataType) -> None:
        self._id_column, self._text_column = id_column, text_column
        self.schema: pa.Schema = pa.schema([("node", pa.int64()), ("id", id_type), ("text", pa.string())])

    def __call__(self, batches: Batches) -> Batches:
        for batch in batches:
            ids, texts = batch.column(self._id_column), batch.column(self._text_column)
            columns = [to_arrow(nodes_of(ids)), ids, texts.fill_null("")]
            yield pa.RecordBatch.from_arrays(
                [c.cast(t) for c, t in zip(columns, self.schema.types, strict=True)], schema=self.schema
            )


class Judge:
    """Which of the texts that came to a place are dropped, for which, and how similar the two are."""

    def __init__(
        self, id_type: pa.DataType, similarity: float, words: int | None, pipeline: Pipeline, memory: Any = None
    ) -> None:
        self.schema: pa.Schema = pa.schema([("id", id_type), ("duplicate_of", id_type), ("similarity", pa.float64())])
        self._similarity, self._words, self._pipeline, self._memory = similarity, words, pipeline, memory

    def __call__(self, batches: Batches) -> Batches:
        places: dict[int, list[pa.Table]] = {}
        for place, _, data in received(batches):
            places.setdefault(place, []).append(from_stream(data))
        for place in sorted(places):
            table = pa.concat_tables(places.pop(place)).sort_by("id").combine_chunks()
            ids = table.column("id")
            unique_ids(ids)
            kept, similarities = _dedup_texts(
                table.column("text"),
                self._similarity,
                words=self._words,
                pipeline=self._pipeline,
                memory=self._memory,
                threads=1,
            )
            dropped = np.flatnonzero(kept >= 0)
            columns = [ids.take(pa.array(dropped)), ids.take(pa.array(kept[dropped])), similarities[dropped]]
            yield from pa.table(columns, names=self.schema.names).cast(self.schema).to_batches()
