"""Parquet files that Spark would only read: the tasks read them by Arrow, which spares a copy of each row.

A row that Spark has read becomes one of the JVM, then one of a batch of Arrow, and then goes to Python. That takes
longer than most stages. So a DataFrame that is nothing but columns of local Parquet files is read in Python.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as T  # noqa: N812

from simidx._errors import InputError

#: Setting of a session that lets Spark read all files if it is ``false``.
SETTING = "spark.simidx.readFiles"

#: Rows and bytes of a batch, at most.
ROWS, BYTES = 1 << 17, 32 << 20

#: Bytes of the files that a task reads.
LEAST, MOST = 4 << 20, 128 << 20

#: Files whose footers are looked at before anything is read.
LOOKED_AT = 100

#: Settings under which Spark reads other columns or other files than are read here.
_STRANGE = (
    "spark.sql.caseSensitive",
    "spark.sql.files.ignoreCorruptFiles",
    "spark.sql.files.ignoreMissingFiles",
    "spark.sql.parquet.fieldId.read.enabled",
)

_TYPES: dict[type[T.DataType], pa.DataType] = {
    T.ByteType: pa.int8(),
    T.ShortType: pa.int16(),
    T.IntegerType: pa.int32(),
    T.LongType: pa.int64(),
    T.StringType: pa.string(),
    T.BinaryType: pa.binary(),
}


class Piece(NamedTuple):
    """The groups of rows of a file that begin between two bytes."""

    path: str
    start: int
    end: int


class Columns(NamedTuple):
    """Columns of Parquet files, and how the files are divided."""

    parts: list[list[Piece]]
    #: The name in the files of each column.
    sources: list[str]
    schema: pa.Schema

    def read(self, numbers: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The rows of the parts that have these numbers."""
        for batch in numbers:
            for number in batch.column(0).to_pylist():
                yield from self._part(self.parts[number])

    def read_all(self, numbers: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """All rows, for each number anew, which stands beside them in the column ``place``."""
        for batch in numbers:
            for number in batch.column(0).to_pylist():
                for part in self.parts:
                    for rows in self._part(part):
                        yield rows.append_column("place", pa.repeat(pa.scalar(number, pa.int32()), rows.num_rows))

    def row_count(self) -> int | None:
        """The number of rows, if that is quick to find out."""
        paths = {piece.path for part in self.parts for piece in part}
        try:
            return None if len(paths) > LOOKED_AT else sum(pq.read_metadata(path).num_rows for path in paths)
        except (pa.ArrowException, OSError):  # A task will say what is wrong.
            return None

    def _part(self, pieces: list[Piece]) -> Iterator[pa.RecordBatch]:
        for piece in pieces:
            try:
                yield from self._rows(piece)
            except (pa.ArrowException, OSError) as error:
                what = " ".join(str(error).split())
                raise InputError(f"{piece.path}: {what}; with {SETTING}=false Spark reads the files") from error

    def _rows(self, piece: Piece) -> Iterator[pa.RecordBatch]:
        with pq.ParquetFile(piece.path) as file:
            groups = [n for n in range(file.num_row_groups) if piece.start <= _begin(file, n) < piece.end]
            names = [_find(file.schema_arrow.names, source) for source in self.sources]
            wanted = [name for name in names if name is not None]
            for batch in file.iter_batches(_rows_of_batch(file, groups, wanted), groups, wanted, use_threads=False):
                columns = [
                    # As Spark has it, a column that is not there is null.
                    pa.nulls(batch.num_rows, field.type) if name is None else _as(batch.column(name), field.type)
                    for name, field in zip(names, self.schema, strict=True)
                ]
                rows = pa.RecordBatch.from_arrays(columns, names=self.schema.names)
                # What is repeated takes less in the file.
                step = max(1, rows.num_rows * BYTES // max(rows.nbytes, 1))
                yield from (rows.slice(start, step) for start in range(0, rows.num_rows, step))


def _rows_of_batch(file: pq.ParquetFile, groups: list[int], columns: list[str]) -> int:
    """As many rows as take `BYTES` in the file before they are compressed."""
    of_groups = [file.metadata.row_group(group) for group in groups]
    chunks = [group.column(number) for group in of_groups for number in range(group.num_columns)]
    size = int(sum(chunk.total_uncompressed_size for chunk in chunks if chunk.path_in_schema in columns))
    rows = int(sum(group.num_rows for group in of_groups))
    return max(1, min(ROWS, rows * BYTES // max(size, 1)))


def _begin(file: pq.ParquetFile, group: int) -> int:
    """The first byte of a group of rows."""
    column = file.metadata.row_group(group).column(0)
    return int(column.dictionary_page_offset or column.data_page_offset)


def _find(names: list[str], wanted: str) -> str | None:
    """A column by its name, else by one that differs in case alone."""
    alike = [name for name in names if name.lower() == wanted.lower()]
    if len(alike) > 1:
        raise pa.ArrowInvalid(f"the columns {', '.join(alike)} differ in case alone")
    return alike[0] if alike else None


def _as(column: pa.Array, type: pa.DataType) -> pa.Array:
    """A column in the type that Spark gives it."""
    if (column.type, type) in ((pa.uint64(), pa.int64()), (pa.uint32(), pa.int32())):
        # As Spark has it, the bits stay.
        return column.view(type)
    return column if column.type == type else column.cast(type)


def columns(df: DataFrame, tasks: int) -> Columns | None:
    """What a DataFrame reads if it is nothing but columns of local Parquet files, divided for so many tasks or more."""
    try:
        session = df.sparkSession
        if _setting(session, SETTING, "true") == "false" or not _is_scan(df._jdf.queryExecution().analyzed()):
            return None
        if any(_setting(session, name, "false") == "true" for name in _STRANGE):
            return None
        if session.sparkContext._jsc.hadoopConfiguration().get("parquet.crypto.factory.class") is not None:
            return None
        return _columns(df, tasks)
    except Exception:  # Spark Connect shows no plan, and another release may have another one.
        return None


def _setting(session: SparkSession, name: str, default: str) -> str:
    return str(session.conf.get(name, default)).lower()


def _name(node: Any) -> str:
    return str(node.getClass().getSimpleName())


def _is_scan(plan: Any) -> bool:
    """Whether a plan is projections of a relation. Others are not optimized just to look at them."""
    while _name(plan) in ("Project", "SubqueryAlias"):
        plan = plan.child()
    return _name(plan) == "LogicalRelation"


def _columns(df: DataFrame, tasks: int) -> Columns | None:
    plan = df._jdf.queryExecution().optimizedPlan()
    relation, expressions = plan, plan.output()
    if _name(plan) == "Project":
        relation, expressions = plan.child(), plan.projectList()
    if _name(relation) != "LogicalRelation" or relation.isStreaming():
        return None
    files = relation.relation()
    if _name(files) != "HadoopFsRelation" or not _is_parquet(files):
        return None
    sources = [_source(expressions.apply(number)) for number in range(expressions.size())]
    types = [_type(field.dataType) for field in df.schema.fields]
    if not types or any(source is None or "." in source for source in sources) or any(type is None for type in types):
        return None
    parts = _parts(list(files.location().inputFiles()), tasks)
    if parts is None:
        return None
    schema = pa.schema([(name, type) for name, type in zip(df.columns, types, strict=True)])
    return Columns(parts, [str(source) for source in sources], schema)


def _is_parquet(files: Any) -> bool:
    """Whether Spark itself reads these files, and all columns are in them. Table formats have readers of their own."""
    reader = str(files.fileFormat().getClass().getName())
    options = [str(name).lower() for name in files.options().keys().mkString("\n").splitlines()]
    return (
        reader == "org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat"
        and _name(files.location()) in ("InMemoryFileIndex", "MetadataLogFileIndex")
        and files.partitionSchema().size() == 0
        # What a table has for columns that came later.
        and "EXISTS_DEFAULT" not in str(files.schema().json())
        and not any(name.startswith(("ignore", "parquet.")) for name in options)
    )


def _source(expression: Any) -> str | None:
    """The column of the files that an expression is."""
    if _name(expression) == "Alias":
        expression = expression.child()
    return str(expression.name()) if _name(expression) == "AttributeReference" else None


def _type(type: T.DataType) -> pa.DataType | None:
    if isinstance(type, T.DecimalType) and (type.precision, type.scale) == (20, 0):
        return pa.decimal128(20, 0)
    return _TYPES.get(type.__class__)


def _parts(addresses: list[Any], tasks: int) -> list[list[Piece]] | None:
    """The files in parts of about the same number of bytes; none if one of them is not on this machine."""
    urls = [urlsplit(str(address)) for address in addresses]
    if any(url.scheme != "file" or url.netloc for url in urls):
        return None
    # Folders may have files with the footers of all others.
    paths = [path for url in urls if not os.path.basename(path := unquote(url.path)).startswith(("_", "."))]
    sizes = [os.path.getsize(path) for path in paths]
    most = min(MOST, max(LEAST, -(-sum(sizes) // max(1, tasks))))
    parts: list[list[Piece]] = []
    room = 0
    for path, size in zip(paths, sizes, strict=True):
        count = -(-size // most)
        ends = [number * size // count for number in range(1, count)]
        for start, end in zip([0, *ends], [*ends, size], strict=True):
            if end - start > room:
                parts.append([])
                room = most
            # A file may have grown when it is read.
            parts[-1].append(Piece(path, start, end if end < size else sys.maxsize))
            room -= end - start
    return parts
