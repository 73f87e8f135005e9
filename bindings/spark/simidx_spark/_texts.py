"""Fingerprints of documents."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

import simidx
from simidx import InputError, Pipeline
from simidx_spark import _wiring as wiring
from simidx_spark.distributed._columns import distances_of
from simidx_spark.distributed._texts import as_pipeline, fingerprints_of

#: The type of a column of fingerprints, by their bits.
_TYPES = {32: "int", 64: "bigint", 128: "binary"}


def fingerprint(
    df: DataFrame,
    text_column: str = "text",
    *,
    pipeline: str | Pipeline = "web",
    width: int = 64,
    output_column: str = "fingerprint",
) -> DataFrame:
    """Adds the fingerprints of a column of texts; null for a text that is null or has no features.

    The other columns do not leave the JVM.
    """
    wiring.texts(df, text_column)
    if output_column.lower() in (name.lower() for name in df.columns):
        raise InputError(f"there is a column {output_column!r} already: name another output_column")
    # Otherwise Spark computes it again for each condition on it.
    made_of = _function(as_pipeline(pipeline, width)).asNondeterministic()
    return df.withColumn(output_column, made_of(wiring.column(df, text_column)))


def register(session: SparkSession, *, pipeline: str | Pipeline = "web", width: int = 64) -> None:
    """Registers functions of SQL: ``simidx_fingerprint``, ``simidx_has_features`` and ``simidx_distance``.

    ``simidx_fingerprint(text)`` is null and ``simidx_has_features(text)`` false for a text that is null or has no
    features. ``simidx_distance(a, b)`` is the number of bits in which two fingerprints of any width differ.
    """
    made = as_pipeline(pipeline, width)

    def has_features(texts: pa.Array) -> pa.Array:
        return fingerprints_of(texts, made).is_valid()

    functions: Any = F
    session.udf.register("simidx_fingerprint", _function(made))
    session.udf.register("simidx_has_features", functions.arrow_udf(has_features, "boolean"))
    session.udf.register("simidx_distance", functions.arrow_udf(distances_of, "int"))


def _function(made: Pipeline) -> Any:
    version = simidx.__version__

    def fingerprints(texts: pa.Array) -> pa.Array:
        wiring.same_version(version)
        found = fingerprints_of(texts, made)
        return found.cast(pa.binary()) if made.width == 128 else found

    # The type annotations of PySpark lack this.
    functions: Any = F
    return functions.arrow_udf(fingerprints, _TYPES[made.width])
