"""Fingerprints of documents."""

from __future__ import annotations

from collections.abc import Callable
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

#: Makes functions of columns from functions of Arrow arrays, since Spark 4.1.
_ARROW_UDF: Any = getattr(F, "arrow_udf", None)


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
    features. ``simidx_distance(a, b)`` is the number of bits in which two fingerprints differ: of any width, or before
    Spark 4.1 of ``width`` bits.
    """
    made = as_pipeline(pipeline, width)

    def has_features(texts: pa.Array) -> pa.Array:
        return fingerprints_of(texts, made).is_valid()

    def distance(a: Any, b: Any) -> int | None:
        if a is None or b is None:
            return None
        if width == 128:
            a, b = int.from_bytes(a, "big"), int.from_bytes(b, "big")
        elif width == 64 and -(1 << 31) <= min(a, b) < 0 <= max(a, b) < 1 << 31:
            # The types are not known here, and these would differ in all of the upper bits.
            raise InputError("for fingerprints of 32 bits register the functions with width=32")
        return ((int(a) ^ int(b)) & ((1 << width) - 1)).bit_count()

    distance_of = _ARROW_UDF(distances_of, "int") if _ARROW_UDF else F.udf(distance, "int")
    session.udf.register("simidx_fingerprint", _function(made))
    session.udf.register("simidx_has_features", _of_texts(has_features, "boolean"))
    session.udf.register("simidx_distance", distance_of)


def _function(made: Pipeline) -> Any:
    version = simidx.__version__

    def fingerprints(texts: pa.Array) -> pa.Array:
        wiring.same_version(version)
        found = fingerprints_of(texts, made)
        return found.cast(pa.binary()) if made.width == 128 else found

    return _of_texts(fingerprints, _TYPES[made.width])


def _of_texts(function: Callable[[pa.Array], pa.Array], type: str) -> Any:
    """Returns a function of columns, made of one from an array of texts to an array of the same length."""
    if _ARROW_UDF:
        return _ARROW_UDF(function, type)
    # Other functions get columns as Series of pandas.
    import pandas as pd

    def of_series(texts: Any) -> Any:
        found = function(pa.Array.from_pandas(texts, type=pa.string()))
        return pd.Series(pd.arrays.ArrowExtensionArray(found))

    # PySpark looks these up, and cannot find what is imported here.
    of_series.__annotations__ = {"texts": pd.Series, "return": pd.Series}
    # The type annotations of PySpark lack this.
    functions: Any = F
    return functions.pandas_udf(of_series, type)
