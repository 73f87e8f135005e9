"""Deduplication of documents."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

import simidx
from simidx import InputError, OptionError, Pipeline, _simidx
from simidx_spark import _wiring as wiring
from simidx_spark._jobs import job as as_job
from simidx_spark._jobs import running
from simidx_spark._search import UNITED, Spark, keep, members
from simidx_spark._segments import are_sets, facts, is_empty, nearest
from simidx_spark._wiring import run, shuffle
from simidx_spark.distributed._against import NearIndex, SimilarToIndex
from simidx_spark.distributed._columns import distances, from_arrow
from simidx_spark.distributed._components import Members, Together
from simidx_spark.distributed._engine import Similar
from simidx_spark.distributed._messages import SendRecords
from simidx_spark.distributed._segments import fetched
from simidx_spark.distributed._store import Store
from simidx_spark.distributed._texts import Prints, Words, as_pipeline, compared

#: The most dropped documents whose ids are sent to all executors.
BROADCAST = 4_000_000

#: The name of the column of their ids there.
GONE = "simidx id of a dropped document"

#: The default similarity and the default distance of near-duplicates.
SIMILARITY = 0.8
DISTANCE = 3

Path = str | os.PathLike[str]


class Dedup(NamedTuple):
    """The result of `dedup`."""

    #: The rows to keep, with all their columns.
    kept: DataFrame
    #: A row for each dropped document: ``id``, ``duplicate_of``, and ``similarity`` or ``distance``. With ``against``
    #: also ``index_fingerprint`` and ``index_id``, for documents of the index, and ``estimate`` with its
    #: ``standard_error`` if texts are compared.
    report: DataFrame


class Job(NamedTuple):
    """The arguments of `dedup`, except the documents."""

    text_column: str | None
    id_column: str
    id_type: pa.DataType
    fingerprint_column: str | None
    pipeline: Pipeline
    words: Words
    partitions: int | None
    united: int
    is_longest: bool

    def text(self) -> str:
        """The column of the texts, which must exist."""
        if self.text_column is None:
            raise OptionError("name a text_column, or a fingerprint_column")
        return self.text_column


@as_job
def dedup(
    df: DataFrame,
    text_column: str | None = "text",
    id_column: str = "id",
    *,
    similarity: float | None = None,
    words: Words | None = None,
    pipeline: str | Pipeline = "web",
    k: int | None = None,
    width: int = 64,
    fingerprint_column: str | None = None,
    against: Path | Sequence[Path] | None = None,
    keep: Literal["first", "longest"] = "first",
    partitions: int | None = None,
    united: int = UNITED,
) -> Dedup:
    """Keeps one of each set of near-duplicates, as ``simidx dedup`` does for the documents in the order of their ids.

    By default texts are compared: a document is dropped if the Jaccard similarity of its runs of ``words`` words with
    those of a kept one of smaller id is at least ``similarity``, 0.8 by default. ``words="pipeline"`` compares the
    features of the pipeline instead. The default is 3, or with another ``pipeline`` than "web" its features.

    With ``k``, fingerprints of ``width`` bits are compared: of each cluster within ``k`` bits, the document with the
    smallest id is kept. In this case ``fingerprint_column`` may name them instead of a text.

    ``keep="longest"`` keeps the longest text instead of the smallest id. ``against`` names index files or sets, whose
    documents are dropped first: by their sketches if texts are compared, otherwise by their fingerprints. Sets may be
    empty.

    Ids must be unique, and the same on every read. Up to ``united`` links, one task decides; beyond that, all tasks do.
    """
    made = as_pipeline(pipeline, width)
    words = compared(words, made)
    _check(text_column, fingerprint_column, similarity, k, keep)
    # Once here, because the tasks would try several times.
    least = SIMILARITY if similarity is None else similarity
    simidx.dedup_texts(["a"], least, words=words, pipeline=made)
    if k is not None:
        wiring.distance(k, made.width if fingerprint_column is None else wiring.fingerprints(df, fingerprint_column))
    paths = _paths(against)
    if k is None:
        k = _distance(similarity, fingerprint_column, paths, words)
    job = Job(
        text_column,
        id_column,
        wiring.ids(df, id_column),
        fingerprint_column,
        made,
        words,
        partitions,
        united,
        keep == "longest",
    )
    report = _kept(_by_text(df, job, least, paths) if k is None else _by_fingerprint(df, job, k, paths))
    kept = _without(df, report, id_column)
    # The report has been counted: what it is made of is not needed any more.
    running.get().release(but=report)
    # The job holds its DataFrames, so it returns others.
    return Dedup(kept, report.select("*"))


#: The argument `keep` of `dedup` has the same name.
_kept = keep


def _check(
    text_column: str | None,
    fingerprint_column: str | None,
    similarity: float | None,
    k: int | None,
    keep: str,
) -> None:
    if similarity is not None and (k is not None or fingerprint_column is not None):
        raise OptionError("similarity compares texts, and k compares fingerprints: choose one of the two")
    if keep not in ("first", "longest"):
        raise OptionError(f"keep={keep!r}: 'first' or 'longest' is possible")
    if keep == "longest" and text_column is None:
        raise OptionError("keep='longest' needs a text_column")
    if text_column is None and fingerprint_column is None:
        raise OptionError("name a text_column, or a fingerprint_column")


def _paths(against: Path | Sequence[Path] | None) -> list[str] | None:
    """Returns the indexes that have records, or ``None`` if none are named."""
    if not against:
        return None
    given = [against] if isinstance(against, (str, os.PathLike)) else list(against)
    # Workers may have another working directory.
    paths = [Store(path).path for path in given]
    return [path for path in paths if not is_empty(path)]


def _distance(
    similarity: float | None, fingerprint_column: str | None, paths: list[str] | None, words: Words
) -> int | None:
    """Returns the distance if fingerprints are to be compared by default."""
    if similarity is not None:
        return None
    # An empty set gets segments, which have no sketches.
    if fingerprint_column is not None or paths == []:
        return DISTANCE
    if paths:
        # The first file of a set shows whether the others have to be copied from elsewhere.
        for most in (1, None):
            with simidx.open(fetched(paths, most)) as index:
                if _simidx.sketch_words(index) != words:
                    return DISTANCE
    return None


def _without(df: DataFrame, gone: DataFrame, id_column: str) -> DataFrame:
    """Returns the rows except those with these ids."""
    ids = gone.select(F.col("id").alias(GONE))
    if gone.count() <= BROADCAST:
        ids = F.broadcast(ids)
    return df.join(ids, wiring.column(df, id_column) == F.col(GONE), "left_anti")


def _together(found: DataFrame, in_index: DataFrame | None) -> DataFrame:
    """Joins the reports of documents dropped for another document and for a record of an index."""
    return found if in_index is None else found.unionByName(in_index, allowMissingColumns=True)


def _index_id(index: simidx.Index) -> pa.DataType:
    return pa.int64() if index.id_kind == "number" else pa.string()


class Dropped:
    """The records of clusters, except the first of each."""

    def __init__(self, id_type: pa.DataType) -> None:
        self.schema = pa.schema([("id", id_type), ("duplicate_of", id_type), ("distance", pa.int32())])

    def __call__(self, batches: Any) -> Any:
        for batch in batches:
            rows = pa.compute.not_equal(batch.column("id"), batch.column("cluster"))
            batch = batch.filter(rows)
            bits = distances(from_arrow(batch.column("of")), from_arrow(batch.column("fingerprint")))
            columns = [batch.column("id"), batch.column("cluster"), pa.array(bits)]
            yield pa.RecordBatch.from_arrays(columns, schema=self.schema)


def _by_fingerprint(df: DataFrame, job: Job, k: int, paths: list[str] | None) -> DataFrame:
    """Returns the documents that are dropped for others within a distance."""
    id = wiring.column(df, job.id_column).cast("string" if job.id_type == pa.string() else "bigint").alias("id")
    if job.fingerprint_column is not None:
        columns: list[Column] = [id, wiring.column(df, job.fingerprint_column).alias("fingerprint")]
        if job.is_longest:
            text = wiring.column(df, job.text())
            columns.append(F.octet_length(text).cast("bigint").alias("length"))
        width = wiring.fingerprints(df, job.fingerprint_column)
        documents, same = df.select(*columns), None
    else:
        wiring.texts(df, job.text())
        width = job.pipeline.width
        made = Prints("id", "text", job.id_type, job.pipeline, job.is_longest)
        documents = _kept(run(df.select(id, wiring.column(df, job.text()).alias("text")), made))
        same = documents.where("identity is not null").select("id", F.col("identity").alias("fingerprint"))
        documents = documents.where("identity is null").drop("identity")
    in_index = None
    if paths is not None:
        in_index = _kept(_near_index(documents.select("id", "fingerprint"), job, paths, width, k))
        documents = _without(documents, in_index, "id")
    found, places = members(documents, k, job.partitions, job.united)
    dropped = _first_kept(found, places, width, job.id_type, job.is_longest)
    if same is not None:
        dropped = dropped.unionByName(_equal(same, places, job))
    return _together(dropped, in_index)


def _first_kept(found: DataFrame, places: int, width: int, id_type: pa.DataType, is_longest: bool = False) -> DataFrame:
    return run(run(shuffle(found, places), Together(width, id_type, is_longest)), Dropped(id_type))


def _equal(same: DataFrame, places: int, job: Job) -> DataFrame:
    """Returns the documents that are dropped for equal ones, which have no features to compare."""
    sent = run(same, SendRecords("fingerprint", places))
    found = run(shuffle(sent, places), Members("fingerprint", 128, places))
    return _first_kept(found, places, 128, job.id_type)


def _near_index(documents: DataFrame, job: Job, paths: list[str], width: int, k: int) -> DataFrame:
    """Returns the documents near a record of an index, each with the nearest one."""
    if not paths:
        return run(documents.limit(0), NearIndex(paths, "id", job.id_type, width, job.id_type, k))
    if not are_sets(paths):
        with simidx.open(fetched(paths)) as index:
            _check_index(paths[0], job, width, index.width, index.pipeline)
            return run(documents, NearIndex(paths, "id", job.id_type, width, _index_id(index), k))
    # Each task searches some segments, and no machine copies them all.
    of_paths = [facts(path) for path in paths]
    for path, of in zip(paths, of_paths, strict=True):
        _check_index(path, job, width, of.width, of.pipeline)
        if of.ids != of_paths[0].ids:
            raise InputError(f"{path}: its ids are not of the same kind as those of {paths[0]}")
    found = nearest(documents, "fingerprint", paths, k, job.partitions)
    found = found.toDF(GONE, "index_fingerprint", "distance", "index_id")
    rows = documents.join(found, wiring.bits(documents, "fingerprint") == F.col(GONE))
    return rows.select("id", "index_fingerprint", "index_id", "distance")


def _check_index(path: str, job: Job, width: int, of_index: int, pipeline: str | None) -> None:
    if of_index != width:
        raise InputError(f"{path}: its fingerprints have {of_index} bits, and those of the documents {width}")
    if job.fingerprint_column is None and pipeline not in (None, job.pipeline.description):
        raise InputError(f"{path} was built with another pipeline, which `simidx info` shows: pass that one")


def _by_text(df: DataFrame, job: Job, similarity: float, paths: list[str] | None) -> DataFrame:
    """Returns the documents that are dropped for those with similar texts."""
    wiring.texts(df, job.text())
    places = wiring.parallelism(df, job.partitions)
    documents = df.select(wiring.column(df, job.id_column).alias("id"), wiring.column(df, job.text()).alias("text"))
    in_index = None
    if paths is not None:
        in_index = _kept(_similar_to_index(documents, job, similarity, paths))
        documents = _without(documents, in_index, "id")
    return _together(_by_links(documents, job, similarity, places), in_index)


def _similar_to_index(documents: DataFrame, job: Job, similarity: float, paths: list[str]) -> DataFrame:
    """Returns the documents similar to a record of an index, each with the most similar one."""
    width, index_id = job.pipeline.width, job.id_type
    if paths:
        with simidx.open(fetched(paths)) as index:
            width, index_id = index.width, _index_id(index)
    found = SimilarToIndex(paths, ("id", "text"), job.id_type, width, index_id, similarity, job.words, job.pipeline)
    return run(documents if paths else documents.limit(0), found)


def _by_links(documents: DataFrame, job: Job, similarity: float, places: int) -> DataFrame:
    """Decides where the keys, the features and the links of texts come together; see `simidx_spark.distributed`."""
    engine = Spark()
    lengths = documents.select("id", F.octet_length("text").cast("bigint").alias("length"))
    similar = Similar(engine, job.id_type, similarity, job.words, job.pipeline)
    try:
        found = _kept(similar.report(documents, lengths, places, job.is_longest, job.united))
        # What it is made of is not needed any more.
        found.count()
    finally:
        engine.release()
    return found
