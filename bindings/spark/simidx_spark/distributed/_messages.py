"""Messages: packed values that are sent to a place."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa

from simidx import _simidx
from simidx_spark.distributed._columns import Array, from_arrow, with_fingerprints

Batches = Iterator[pa.RecordBatch]

#: Place, part and data of messages.
Rows = Iterator[tuple[int, int, bytes]]

T = TypeVar("T")

#: Bytes of records that are collected before they are sent, whatever the number of rows.
GATHERED = 64 << 20

#: The columns of a message: its destination, the part that it belongs to there, and its packed values.
MESSAGE = pa.schema([("place", pa.int32()), ("part", pa.int32()), ("data", pa.binary())])


def rows_for(places: int) -> int:
    """Returns the number of rows that are collected before they are sent to ``places`` places: about 8,000 for each.

    A batch of messages, which engines limit by its rows, then stays well below the 2 GiB of an Arrow column.
    """
    return min(max(places, 4) << 13, 1 << 20)


def messages(rows: Iterable[tuple[int, int, bytes]]) -> Batches:
    """Yields batches of messages, of a few megabytes each."""
    places: list[int] = []
    parts: list[int] = []
    data: list[bytes] = []
    size = 0
    for place, part, bytes in rows:
        places.append(place)
        parts.append(part)
        data.append(bytes)
        size += len(bytes)
        if size >= 32 << 20:
            yield _message(places, parts, data)
            places, parts, data, size = [], [], [], 0
    if places:
        yield _message(places, parts, data)


def _message(places: list[int], parts: list[int], data: list[bytes]) -> pa.RecordBatch:
    # `pa.array` would copy data several times as it grows.
    ends = pa.array(np.cumsum([0, *map(len, data)]), pa.int32())
    packed = pa.Array.from_buffers(pa.binary(), len(data), [None, ends.buffers()[1], pa.py_buffer(b"".join(data))])
    columns = [pa.array(places, pa.int32()), pa.array(parts, pa.int32()), packed]
    return pa.RecordBatch.from_arrays(columns, schema=MESSAGE)


def received(batches: Batches) -> Iterator[tuple[int, int, Any]]:
    """Yields place, part and data of each message."""
    for batch in batches:
        places, parts, data = (batch.column(name) for name in MESSAGE.names)
        for row in range(batch.num_rows):
            yield places[row].as_py(), parts[row].as_py(), data[row].as_buffer()


def at_places(batches: Batches, read: Callable[[int, Any], T]) -> Iterator[tuple[int, list[T]]]:
    """Yields the places of messages in order, each with the values read from the part and the data of its messages."""
    places: dict[int, list[T]] = {}
    for place, part, data in received(batches):
        places.setdefault(place, []).append(read(part, data))
    for place in sorted(places):
        yield place, places.pop(place)


def records_at_places(batches: Batches) -> Iterator[tuple[int, pa.Table]]:
    """Yields the places of messages in order, each with its records."""

    # The input is freed when it is concatenated: the variables of a loop would keep it.
    def together(of: tuple[int, list[pa.Table]]) -> tuple[int, pa.Table]:
        return of[0], brought_together(of[1])

    return map(together, at_places(batches, lambda _, data: from_stream(data)))


def divided(rows: Any, ends: Array) -> Iterator[tuple[int, Any]]:
    """Yields the places that have any of these rows, each with its own: those before its end."""
    start = 0
    for place, end in enumerate(ends.tolist()):
        if end > start:
            yield place, rows[start:end]
        start = end


def gathered(batches: Batches, most: int, size: int | None = None) -> Iterator[pa.Table]:
    """Collects tables up to a number of rows, or of bytes, by default `GATHERED`."""
    size = size or GATHERED
    waiting: list[pa.RecordBatch] = []
    rows = held = 0
    for batch in batches:
        if batch.num_rows:
            waiting.append(batch)
            rows += batch.num_rows
            held += batch.nbytes
        if rows >= most or held >= size:
            yield from _halved(pa.Table.from_batches(waiting), size)
            waiting, rows, held = [], 0, 0
    if waiting:
        yield from _halved(pa.Table.from_batches(waiting), size)


def pieces(table: pa.Table, most: int) -> Iterator[pa.Table]:
    """Divides a table into pieces of at most ``most`` rows, and of `GATHERED` bytes or a single row."""
    for start in range(0, table.num_rows, most):
        yield from _halved(table.slice(start, most), GATHERED)


def _halved(table: pa.Table, size: int) -> Iterator[pa.Table]:
    """Halves a table repeatedly, until the parts have at most this many bytes or a single row."""
    if table.nbytes <= size or table.num_rows < 2:
        yield table
        return
    half = table.num_rows // 2
    yield from _halved(table.slice(0, half), size)
    yield from _halved(table.slice(half), size)


def order_by_place(places: Array, count: int) -> Array:
    """Returns the order that groups rows by place, and keeps the order of those of a place."""
    # NumPy sorts numbers of 16 bits by counting.
    order: Array = np.argsort(places.astype(np.uint16) if count <= 1 << 16 else places, kind="stable")
    return order


def by_place(table: pa.Table, places: Array, count: int) -> Iterator[tuple[int, bytes]]:
    """Yields the rows of a table for each place that has any, as Arrow streams."""
    order = order_by_place(places, count)
    table = table.take(pa.array(order)).combine_chunks()
    ends = np.searchsorted(places[order], np.arange(count), side="right")
    for place, rows in divided(table, ends):
        yield place, as_stream(rows)


def as_stream(table: pa.Table) -> bytes:
    """Returns a table as an Arrow stream."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    stream: bytes = sink.getvalue().to_pybytes()
    return stream


def from_stream(data: Any) -> pa.Table:
    """Returns the table of an Arrow stream."""
    return pa.ipc.open_stream(data).read_all()


def brought_together(streams: list[pa.Table]) -> pa.Table:
    """Concatenates the records that came to a place. Their strings may exceed 2 GiB together."""
    schema = pa.schema([f.with_type(pa.large_string()) if pa.types.is_string(f.type) else f for f in streams[0].schema])
    return pa.concat_tables([stream.cast(schema) for stream in streams])


class _Sends:
    """A stage that sends messages."""

    schema: pa.Schema = MESSAGE

    def __call__(self, batches: Batches) -> Batches:
        return messages(self._rows(batches))

    def _rows(self, batches: Batches) -> Rows:
        raise NotImplementedError


class SendRecords(_Sends):
    """Sends whole records to the place of one of their columns, which holds fingerprints or numbers.

    Records with null in that column are not sent.
    """

    def __init__(self, column: str, places: int, part: int = 0) -> None:
        self._column, self._places, self._part = column, places, part

    def _rows(self, batches: Batches) -> Rows:
        for table in gathered(batches, rows_for(self._places)):
            table = with_fingerprints(table, self._column)
            values = from_arrow(table.column(self._column))
            places = _simidx.places(values, self._places)
            for place, data in by_place(table, places, self._places):
                yield place, self._part, data
