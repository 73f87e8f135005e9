"""Documents without their near-duplicates."""

from __future__ import annotations

from typing import Any, NamedTuple

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from simidx import Pipeline
from simidx import distributed as d
from simidx._errors import OptionError
from simidx.distributed._columns import distances, from_arrow
from simidx.distributed._texts import Judge, Nodes, as_pipeline
from simidx.spark import _wiring as wiring
from simidx.spark._search import UNITED, keep, labels, members
from simidx.spark._texts import fingerprint
from simidx.spark._wiring import run, shuffle

#: Dropped documents up to which their ids are sent to all executors.
BROADCAST = 4_000_000


class Dedup(NamedTuple):
    """What `dedup` returns."""

    #: The rows to keep, with all their columns.
    kept: DataFrame
    #: A row for each document that is dropped: ``id``, ``duplicate_of``, and ``similarity`` or ``distance``.
    report: DataFrame


def dedup(
    df: DataFrame,
    text_column: str | None = "text",
    id_column: str = "id",
    *,
    similarity: float | None = None,
    words: int | None = 3,
    pipeline: str | Pipeline = "web",
    k: int | None = None,
    fingerprint_column: str | None = None,
    memory: int | str | None = None,
    partitions: int | None = None,
    united: int = UNITED,
) -> Dedup:
    """Keeps one of each set of near-duplicates: what ``simidx dedup`` keeps of the documents in the order of their ids.

    By default texts are compared: a document is dropped if the Jaccard similarity of its runs of ``words`` words with
    those of
    a kept one of smaller id is at least ``similarity``, 0.8 unless given. With ``words=None`` the features of the
    pipeline are
    compared. With ``k`` fingerprints are: of each cluster within ``k`` bits the document of the smallest id is kept;
    then
    ``fingerprint_column`` may name them instead of a text. Ids must be unique, and the same whenever they are read.
    """
    if fingerprint_column is not None and k is None:
        k = 3
    if k is not None and similarity is not None:
        raise OptionError("similarity compares texts, and k compares fingerprints: choose one of the two")
    if k is None:
        if text_column is None:
            raise OptionError("name a text_column, or a fingerprint_column")
        least = 0.8 if similarity is None else similarity
        report = _by_text(df, text_column, id_column, least, words, as_pipeline(pipeline), memory, partitions, united)
    else:
        documents = df
        if fingerprint_column is None:
            if text_column is None:
                raise OptionError("name a text_column, or a fingerprint_column")
            documents = fingerprint(df.select(id_column, text_column), text_column, pipeline=pipeline)
            fingerprint_column = "fingerprint"
        found = members(documents, k, fingerprint_column, id_column, partitions, united)
        report = run(found, Dropped(wiring.ids(df, id_column)))
    report = keep(report)
    count = report.count()
    dropped = report.select(F.col("id").alias(id_column))
    if count <= BROADCAST:
        dropped = F.broadcast(dropped)
    return Dedup(df.join(dropped, id_column, "left_anti").select(*df.columns), report)


class Dropped:
    """The records of clusters but for the first of each."""

    def __init__(self, id_type: pa.DataType) -> None:
        self.schema = pa.schema([("id", id_type), ("duplicate_of", id_type), ("distance", pa.int32())])

    def __call__(self, batches: Any) -> Any:
        for batch in batches:
            rows = pa.compute.not_equal(batch.column("id"), batch.column("cluster"))
            batch = batch.filter(rows)
            bits = distances(from_arrow(batch.column("of")), from_arrow(batch.column("fingerprint")))
            columns = [batch.column("id"), batch.column("cluster"), pa.array(bits)]
            yield pa.RecordBatch.from_arrays(columns, schema=self.schema)


def _by_text(
    df: DataFrame,
    text_column: str,
    id_column: str,
    similarity: float,
    words: int | None,
    pipeline: Pipeline,
    memory: int | str | None,
    partitions: int | None,
    united: int,
) -> DataFrame:
    """The documents that are dropped."""
    wiring.texts(df, text_column)
    id_type = wiring.ids(df, id_column)
    places = wiring.parallelism(df, partitions)
    documents = df.select(id_column, text_column)
    keys = run(documents, d.SendKeys(id_column, text_column, similarity, words, pipeline, places))
    links = keep(run(shuffle(keys, places), d.ShareKeys()))
    records = run(run(documents, Nodes(id_column, text_column, id_type)), d.SendRecords("node", places))
    everything = records.unionAll(labels(links, 64, places, united))
    together = run(shuffle(everything, places), d.Members("node", 64, places))
    return run(shuffle(together, places), Judge(id_type, similarity, words, pipeline, memory))
