"""Fingerprints of documents."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

import simidx
from simidx import InputError, Pipeline
from simidx_spark import _wiring as wiring
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
    made, version = as_pipeline(pipeline, width), simidx.__version__

    def fingerprints(texts: pa.Array) -> pa.Array:
        wiring.same_version(version)
        found = fingerprints_of(texts, made)
        return found.cast(pa.binary()) if made.width == 128 else found

    # The type annotations of PySpark lack this.
    functions: Any = F
    made_of = functions.arrow_udf(fingerprints, _TYPES[made.width])
    # Otherwise Spark computes it again for each condition on it.
    return df.withColumn(output_column, made_of.asNondeterministic()(wiring.column(df, text_column)))
