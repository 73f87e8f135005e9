"""Clusters: connected components of pairs, by union-find in one task, or by stars if there are too many links for one.

A message of links holds the left ends of all its pairs, then the right ends. A message of labels holds values, then the
least value of each one's connected component.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from simidx import InputError, _simidx
from simidx_spark.distributed._columns import (
    Array,
    arrow_type,
    distinct_values,
    empty,
    from_arrow,
    pack,
    to_arrow,
    unpack,
)
from simidx_spark.distributed._messages import (
    Batches,
    Rows,
    _Sends,
    at_places,
    brought_together,
    by_place,
    divided,
    from_stream,
    order_by_place,
    pieces,
    received,
    records_at_places,
    rows_for,
)

#: Rows of two columns in a message.
PIECE = 1 << 18

#: Parts of messages.
RECORDS = 0
LABELS = -1


def two_columns(parts: list[Array]) -> tuple[Array, Array]:
    """Reads two columns, of which each part holds some rows, one column after the other."""
    halves = [np.split(part, 2) for part in parts]
    return np.concatenate([one for one, _ in halves]), np.concatenate([other for _, other in halves])


def _together(batches: Batches, width: int) -> tuple[Array, Array]:
    """Returns the left and the right ends of all links."""
    return two_columns([empty(width), *(unpack(data, width) for _, _, data in received(batches))])


def _send_columns(one: Array, other: Array, part: int, places: int) -> Rows:
    """Sends two columns to the places of the first."""
    of_rows = _simidx.places(one, places)
    order = order_by_place(of_rows, places)
    one, other = one[order], other[order]
    ends = np.searchsorted(of_rows[order], np.arange(places), side="right")
    for place, rows in divided(np.arange(len(one)), ends):
        for first in range(0, len(rows), PIECE):
            some = rows[first : first + PIECE]
            yield place, part, pack(np.concatenate([one[some], other[some]]))


def _send_both(left: Array, right: Array, width: int, places: int) -> Rows:
    """Sends links to the places of both their ends."""
    return _send_columns(np.concatenate([left, right]), np.concatenate([right, left]), width, places)


class _Links(_Sends):
    """A stage that takes links."""

    def __init__(self, width: int, places: int) -> None:
        self._width, self._places = width, places


class Unite(_Links):
    """Turns links into labels at the places of their values: all links in one task, or the final links of the stars."""

    def _rows(self, batches: Batches) -> Rows:
        left, right = _together(batches, self._width)
        values, least = _simidx.components(left, right)
        return _send_columns(values, least, LABELS, self._places)


class Links(_Links):
    """Sends links to the places of their ends: the first step of the stars."""

    def _rows(self, batches: Batches) -> Rows:
        for _, _, data in received(batches):
            left, right = np.split(unpack(data, self._width), 2)
            yield from _send_both(left, right, self._width, self._places)


class Star(_Links):
    """A step of "Connected Components in MapReduce and Beyond" (Kiveris et al., SoCC 2014).

    The large star links the larger neighbours of each value to the least one, and sends links to the larger ends. The
    small star links the smaller neighbours, and the value, to the least one, and sends links to both ends.
    """

    def __init__(self, width: int, places: int, is_large: bool) -> None:
        super().__init__(width, places)
        self._is_large = is_large

    def _rows(self, batches: Batches) -> Rows:
        for _, parts in at_places(batches, lambda _, data: unpack(data, self._width)):
            center, other = two_columns(parts)
            values, ranks = _ranks(np.concatenate([center, other]))
            center, other = ranks[: len(center)], ranks[len(center) :]
            least = _least(center, other)
            if self._is_large:
                linked = other > center
                larger, smaller = other[linked], least[linked]
            else:
                larger, smaller = np.concatenate([other, center]), np.concatenate([least, least])
                linked = larger != smaller
                larger, smaller = larger[linked], smaller[linked]
            larger, smaller = (values[ends] for ends in _distinct_rows(larger, smaller))
            if self._is_large:
                yield from _send_columns(larger, smaller, self._width, self._places)
            else:
                yield from _send_both(larger, smaller, self._width, self._places)


def _ranks(values: Array) -> tuple[Array, Array]:
    """Returns the distinct values in order, and the number of each value among them."""
    distinct = distinct_values(values)
    return distinct, _simidx.lookup(distinct, values)


def _least(center: Array, other: Array) -> Array:
    """Returns for each row the least of its center and all values linked with that."""
    count = int(center.max(initial=-1)) + 1
    least = np.arange(count, dtype=np.int64)
    np.minimum.at(least, center, other)
    result: Array = least[center]
    return result


def _distinct_rows(larger: Array, smaller: Array) -> tuple[Array, Array]:
    rows = distinct_values((larger << np.int64(32) | smaller).view(np.uint64)).view(np.int64)
    return rows >> np.int64(32), rows & np.int64(0xFFFFFFFF)


class Stars:
    """Tells whether the stars have converged: the number of links at each place, and a sum of their hashes."""

    schema: pa.Schema = pa.schema([("count", pa.int64()), ("hash", pa.int64())])

    def __init__(self, width: int) -> None:
        self._width = width

    def __call__(self, batches: Batches) -> Batches:
        for _, parts in at_places(batches, lambda _, data: unpack(data, self._width)):
            rows = np.unique(np.column_stack(two_columns(parts)).astype(np.uint64), axis=0)
            hashes = np.zeros(len(rows), dtype=np.uint64)
            for column in rows.T:
                hashes = (hashes ^ column) * np.uint64(0xFF51AFD7ED558CCD)
                hashes ^= hashes >> np.uint64(32)
            row = {"count": len(rows), "hash": int(hashes.sum(dtype=np.uint64).view(np.int64) >> 8)}
            yield pa.RecordBatch.from_pylist([row], schema=self.schema)


class Members(_Sends):
    """Sends the records that have a label to its place, with the label in the column ``label``.

    Records with the same value have it as a label if there is no other.
    """

    def __init__(self, column: str, width: int, places: int) -> None:
        self._column, self._width, self._places = column, width, places

    def _rows(self, batches: Batches) -> Rows:
        records: dict[int, list[pa.Table]] = {}
        labels: dict[int, list[Array]] = {}
        for place, part, data in received(batches):
            if part == LABELS:
                labels.setdefault(place, []).append(unpack(data, self._width))
            else:
                records.setdefault(place, []).append(from_stream(data))
        for place in sorted(records):
            values, least = self._labels(labels.pop(place, []))
            table = brought_together(records.pop(place))
            own = from_arrow(table.column(self._column))
            found = _simidx.lookup(values, own)
            member = found >= 0
            label = own.copy()
            label[member] = least[found[member]]
            rows = np.flatnonzero(member | _shared(own))
            rows = rows[_in_order(own[rows], table.column("id").take(pa.array(rows)))]
            label = label[rows]
            together = table.take(pa.array(rows)).append_column("label", to_arrow(label))
            of_rows = _simidx.places(label, self._places)
            start = 0
            for piece in pieces(together, rows_for(self._places)):
                end = start + piece.num_rows
                for to, bytes in by_place(piece, of_rows[start:end], self._places):
                    yield to, RECORDS, bytes
                start = end

    def _labels(self, parts: list[Array]) -> tuple[Array, Array]:
        values, least = two_columns([empty(self._width), *parts])
        # The stars repeat the label of a cluster for each place of its members.
        distinct, ranks = _ranks(values)
        labels = np.empty_like(distinct)
        labels[ranks] = least
        return distinct, labels


def _in_order(values: Array, ids: pa.ChunkedArray) -> Array:
    """Returns the order of records by their values, then by their ids, independent of the input order."""
    keys = pa.table({"value": pa.array(_ranks(values)[1]), "id": ids})
    order: Array = pc.sort_indices(keys, [("value", "ascending"), ("id", "ascending")]).to_numpy()
    return order


def _shared(values: Array) -> Array:
    """Returns whether each value is repeated."""
    distinct, ranks = _ranks(values)
    shared: Array = (np.bincount(ranks, minlength=len(distinct)) > 1)[ranks]
    return shared


class Together:
    """Returns the records of each cluster: its smallest id, the fingerprint of that, and each record's own.

    With ``longest``, the greatest ``length`` precedes the smallest id, and ids must be unique.
    """

    def __init__(self, width: int, id_type: pa.DataType, longest: bool = False) -> None:
        kind = arrow_type(width)
        self._longest = longest
        self.schema: pa.Schema = pa.schema([("cluster", id_type), ("of", kind), ("fingerprint", kind), ("id", id_type)])

    def __call__(self, batches: Batches) -> Batches:
        for _, table in records_at_places(batches):
            table = table.combine_chunks()
            yield from self._clusters(table).to_batches(max_chunksize=1 << 16)

    def _clusters(self, table: pa.Table) -> pa.Table:
        if self._longest:
            unique_ids(table.column("id"))
        # By label, then by id: the first row of a label has its smallest id. Of equal ids, the smaller bits come first.
        by_length = [("length", "descending")] if self._longest else []
        _, labels = _ranks(from_arrow(table.column("label")))
        table = table.set_column(table.column_names.index("label"), "label", pa.array(labels))
        order = [("label", "ascending"), *by_length, ("id", "ascending"), ("fingerprint", "ascending")]
        table = table.sort_by(order)
        table = table.combine_chunks()
        labels = table.column("label").to_numpy()
        firsts = np.searchsorted(labels, labels, side="left")
        ids, values = table.column("id"), table.column("fingerprint")
        heads = pa.array(firsts)
        columns = [ids.take(heads), values.take(heads), values, ids]
        return pa.table(columns, names=self.schema.names).cast(self.schema)


def check_ids(ids: pa.ChunkedArray) -> None:
    """Refuses records without an id."""
    if ids.null_count:
        raise InputError("a record has no id: filter rows whose id is null, or give them one")


def unique_ids(ids: pa.ChunkedArray) -> None:
    """Refuses an id that two records of a cluster have."""
    counts = pc.value_counts(ids)
    if len(counts) < len(ids):
        twice = next(row["values"] for row in counts.to_pylist() if row["counts"] > 1)
        raise InputError(f"two records have the id {twice!r}: ids must be unique")
