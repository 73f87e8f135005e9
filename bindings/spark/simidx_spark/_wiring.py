"""Stages as operations on DataFrames, and checks of columns."""

from __future__ import annotations

import gc
import operator
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

import pyarrow as pa
from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql import types as T  # noqa: N812
from pyspark.sql.pandas.types import from_arrow_schema

import simidx
from simidx import Error, InputError, InputTypeError, OptionError, OptionTypeError
from simidx_spark._jobs import running
from simidx_spark.distributed._engine import Count

Stage = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]


def run(df: DataFrame, stage: Any) -> DataFrame:
    """Runs a stage on each partition."""
    # What is counted says more than that it is.
    if (call := running.get(None)) and not isinstance(stage, Count):
        call.stage(type(stage).__name__)
    schema: pa.Schema = _without_sizes(stage.schema)
    return df.mapInArrow(_adapted(stage, schema), from_arrow_schema(schema))


def _without_sizes(schema: pa.Schema) -> pa.Schema:
    """Removes the lengths of binary types, which the JVM does not support."""
    plain = [f.with_type(pa.binary()) if pa.types.is_fixed_size_binary(f.type) else f for f in schema]
    return pa.schema(plain)


def _adapted(stage: Stage, schema: pa.Schema) -> Stage:
    """Returns a stage whose batches have the schema of the plan."""
    version = simidx.__version__

    def adapted(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        same_version(version)
        # After the check: another release may not have it.
        from simidx_spark._wiring import freeze_once

        for batch in stage(batches):
            yield batch if batch.schema.equals(schema) else batch.cast(schema)
        freeze_once()

    # The name in plans.
    adapted.__name__ = type(stage).__name__
    return adapted


@lru_cache(maxsize=1)
def freeze_once() -> None:
    """Excludes what this worker has imported from later collections of garbage: Spark makes one after each task."""
    gc.collect()
    gc.freeze()


def same_version(version: str) -> None:
    """Refuses to run in a worker with another release than the driver."""
    if simidx.__version__ != version:
        raise Error(f"this worker has simidx {simidx.__version__}, and the driver {version}: install the same on all")


def shuffle(df: DataFrame, places: int) -> DataFrame:
    """Sends messages to the partitions of their places."""
    place = F.col("place")
    if hasattr(df, "repartitionById"):
        return df.repartitionById(places, place)
    # Before Spark 4.1 a partition is the hash of a value.
    return df.repartition(places, _of_hash(df.sparkSession, places)[place])


@lru_cache(maxsize=64)
def _of_hash(session: SparkSession, places: int) -> Column:
    """Returns an array with a number for each place, whose hash is the partition of that place."""
    # With 40 numbers a place, none is without one: the chance is below 10^-12.
    numbers = session.range(40 * places, numPartitions=1).select(F.col("id").cast("int").alias("number"))
    place = F.pmod(F.hash("number"), F.lit(places)).alias("place")
    found = numbers.groupBy(place).agg(F.min("number").alias("number")).orderBy("place").collect()
    # Spark evaluates this once, to a literal.
    return F.split(F.lit(",".join(str(row["number"]) for row in found)), ",").cast("array<int>")


def frame(session: SparkSession, table: pa.Table) -> DataFrame:
    """Returns a table of the driver as a DataFrame."""
    # Before Spark 4.0 only tables of pandas are possible.
    rows = table if hasattr(DataFrame, "toArrow") else table.to_pandas()
    return session.createDataFrame(rows, from_arrow_schema(table.schema))


def parallelism(df: DataFrame, partitions: int | None) -> int:
    """Returns the number of partitions: by default the number of cores."""
    if partitions is not None:
        if not isinstance(partitions, int) or partitions < 1:
            raise OptionError(f"partitions={partitions!r}: a number of at least 1 is expected")
        return partitions
    try:
        return max(2, int(df.sparkSession.sparkContext.defaultParallelism))
    except Exception:  # Spark Connect has no context.
        setting = str(df.sparkSession.conf.get("spark.sql.shuffle.partitions"))
        # It may be "auto".
        return int(setting) if setting.isdecimal() else 200


def refuse_columns(df: DataFrame, names: list[str]) -> None:
    """Refuses to add columns that are there already."""
    there = {name.lower() for name in df.columns}
    for name in names:
        if name.lower() in there:
            raise InputError(f"there is a column {name!r} already: rename it")


def distance(k: Any, width: int) -> None:
    """Checks a distance between fingerprints of ``width`` bits."""
    try:
        operator.index(k)
    except TypeError:
        raise OptionTypeError(f"k={k!r}: a distance is a number of bits") from None
    if not 0 <= k <= width:
        raise OptionError(f"k={k}: a distance is a number of bits, at most {width}")


def column(df: DataFrame, name: str) -> Column:
    """Returns the column of this name, which may contain dots; otherwise the column that Spark finds by the name."""
    return F.col("`" + name.replace("`", "``") + "`" if name in df.columns else name)


def _field(df: DataFrame, name: str, what: str) -> T.StructField:
    """Returns the column that Spark finds by a name: one that differs in case, or a field in a column."""
    if not isinstance(df, DataFrame):
        raise InputTypeError(f"a DataFrame of Spark is expected, and not {type(df).__name__}")
    try:
        return df.select(column(df, name)).schema.fields[0]
    except AnalysisException as error:
        if str(error).startswith("[AMBIGUOUS"):
            raise InputError(f"the column {name!r} for the {what} is there more than once") from None
        raise InputError(
            f"there is no column {name!r} for the {what}; the columns are {', '.join(df.columns)}"
        ) from None


def fingerprints(df: DataFrame, name: str) -> int:
    """Returns the width of a column of fingerprints."""
    type = _field(df, name, "fingerprints").dataType
    if isinstance(type, T.IntegerType):
        return 32
    if isinstance(type, T.LongType) or (isinstance(type, T.DecimalType) and (type.precision, type.scale) == (20, 0)):
        return 64
    if isinstance(type, T.BinaryType):
        return 128
    raise InputTypeError(
        f"column {name!r} of type {type.simpleString()}: fingerprints are bigint (or int) with the bits of "
        "unsigned numbers, decimal(20,0) as unsigned columns of Parquet are read, or binary of 16 bytes for 128 bits"
        + ("; hexadecimal strings become bigint by conv(column, 16, -10)" if isinstance(type, T.StringType) else "")
    )


def bits(df: DataFrame, name: str) -> Column:
    """Returns a column of fingerprints in the type that stages give them."""
    values = column(df, name)
    if not isinstance(_field(df, name, "fingerprints").dataType, T.DecimalType):
        return values
    half, whole = (F.lit(str(1 << power)).cast("decimal(20,0)") for power in (63, 64))
    return F.when(values >= half, values - whole).otherwise(values).cast("bigint")


def texts(df: DataFrame, name: str) -> None:
    """Checks a column of texts."""
    type = _field(df, name, "texts").dataType
    if not isinstance(type, T.StringType):
        raise InputTypeError(f"column {name!r} of type {type.simpleString()}: texts are strings")


def ids(df: DataFrame, name: str) -> pa.DataType:
    """Returns the type of ids: numbers or strings."""
    field = _field(df, name, "ids")
    type = field.dataType
    if isinstance(type, T.StringType):
        refuse_unstable(df, field.name)
        return pa.string()
    if isinstance(type, (T.ByteType, T.ShortType, T.IntegerType, T.LongType)):
        refuse_unstable(df, field.name)
        return pa.int64()
    raise InputTypeError(f"column {name!r} of type {type.simpleString()}: ids are whole numbers or strings")


def refuse_unstable(df: DataFrame, name: str) -> None:
    """Refuses ids that change when a partition is computed again."""
    try:
        of_java: Any = df._jdf
        plan = of_java.queryExecution().analyzed().toString()
    except Exception:  # Spark Connect does not show the plan.
        return
    for function in ("monotonically_increasing_id()", "rand(", "randn(", "uuid("):
        for line in plan.splitlines():
            at = line.find(function)
            if at >= 0 and f" AS {name}#" in line[at : line.find(",", at) if line.find(",", at) > 0 else None]:
                raise InputError(
                    f"column {name!r} is made by {function.rstrip('()')}(), which gives other ids when a partition is "
                    "computed again: use an id of the documents, or write the DataFrame and read it again"
                )


def records(df: DataFrame, fingerprint_column: str, id_column: str | None) -> DataFrame:
    """Returns the columns ``fingerprint`` and ``id``, or only the first."""
    columns = [column(df, fingerprint_column).alias("fingerprint")]
    if id_column is not None:
        type = "string" if ids(df, id_column) == pa.string() else "bigint"
        columns.append(column(df, id_column).cast(type).alias("id"))
    return df.select(*columns)
