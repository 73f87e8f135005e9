"""Texts: what they are compared by, and their fingerprints."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from simidx import InputError, Pipeline, _simidx
from simidx_spark.distributed._columns import Array, arrow_type, to_arrow
from simidx_spark.distributed._messages import Batches


def as_pipeline(pipeline: str | Pipeline, width: int = 64) -> Pipeline:
    """Opens a pipeline by name, or returns a given one."""
    return Pipeline(pipeline, width=width) if isinstance(pipeline, str) else pipeline


#: What texts are compared by: the number of words in a run, or the features of the pipeline.
Words = int | Literal["pipeline"]


def compared(words: Words | None, pipeline: Pipeline) -> Words:
    """Returns what texts are compared by, by default as in the program."""
    is_default = pipeline.description == Pipeline("web", width=pipeline.width).description
    return words if words is not None else 3 if is_default else "pipeline"


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
