"""Similar texts: decisions on them where their keys, features and links come together, never all texts at one place.

A document has a rank, which is its place in the order of decisions: in the upper bits the *home* where its name is, and
the position there. Messages carry rows of 64-bit numbers, ranks in particular, or tables with ids or features; their
``part`` says which.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from math import ceil
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from simidx import InputError, _simidx
from simidx_spark.distributed._columns import (
    Array,
    distinct_values,
    empty,
    from_arrow,
    is_among,
    pack,
    to_arrow,
    unpack,
)
from simidx_spark.distributed._components import LABELS, check_ids, two_columns, unique_ids
from simidx_spark.distributed._messages import (
    GATHERED,
    Batches,
    Rows,
    _Sends,
    as_stream,
    brought_together,
    by_place,
    divided,
    from_stream,
    gathered,
    order_by_place,
    pieces,
    received,
    rows_for,
)
from simidx_spark.distributed._texts import given_texts, nodes_of

#: Parts of messages with tables: ids with lengths, ids with what is known of their texts, names, ids with features, and
#: ranks with them.
LENGTHS, SIGNED, NAMES, READ, FEATURES, REPORTS = range(6)

#: Parts of messages with rows of numbers.
FIRSTS, KEYS, COPIES, HELD, OPEN, DROPPED, PAIRS, ASKED, LINKS, FATES, LEADS, MET = range(10, 22)

#: Parts with a set of ids: of texts whose features are needed, and of those to be compared with leads.
NEEDED, COMPARED = 30, 31

#: The numbers in a row.
COLUMNS = {
    KEYS: 5,
    COPIES: 2,
    HELD: 6,
    OPEN: 2,
    DROPPED: 1,
    PAIRS: 2,
    ASKED: 2,
    LINKS: 3,
    FATES: 3,
    LEADS: 2,
    MET: 3,
}

#: Numbers in the brief of the features of a text: a hash of two numbers, their number, and parities of two numbers.
BRIEF = 5

#: Bits of a rank that hold the position at its home.
POSITION = np.uint64(40)

#: Bits of a link, within a task that decides, that hold the number of its second text there.
END = 32

#: States of a text at a key: to be compared with those behind it, and dropped.
WAITS, GONE = 0, 2

#: The most texts of a key that are all compared in the first round.
SMALL = 16

#: The most pairs of a key in the first round, unless a single leader has more.
FIRST_PAIRS = 1 << 14

#: The least texts of a home that are to be compared with a lead, and the most leads that a home proposes.
FOLLOWERS = 1 << 10
HOME_LEADS = 8

#: Numbers in a message.
PIECE = 1 << 20

#: About the most bytes of text of a home, and the most numbers that its documents have: their ranks, briefs and keys.
HOME_BYTES = 256 << 20
HOME_NUMBERS = 1 << 22

#: The least documents of a home if there are cores without one.
LEAST_TEXTS = 256

#: Ids that each place returns to find out how to divide the order.
SAMPLE = 256


def home(ranks: Array) -> Array:
    """Returns the homes of documents."""
    return (ranks >> POSITION).astype(np.int64)


def send(part: int, to: Array, rows: Array) -> Rows:
    """Sends rows of numbers to places."""
    if not len(rows):
        return
    count = int(to.max()) + 1
    order = order_by_place(to, count)
    ends = np.searchsorted(to[order], np.arange(count), side="right")
    for place, some in divided(rows[order], ends):
        yield from send_to(place, part, some)


def send_to(place: int, part: int, rows: Array) -> Rows:
    """Sends rows of numbers to a place."""
    step = max(1, PIECE // rows.shape[1])
    for start in range(0, len(rows), step):
        yield place, part, rows[start : start + step].tobytes()


def columns(*parts: Array) -> Array:
    """Returns rows of these columns."""
    return np.column_stack([part.astype(np.uint64) for part in parts])


def unique(rows: Array) -> Array:
    """Returns distinct rows in order."""
    rows = rows[np.lexsort(rows.T[::-1])]
    starts = _starts(rows)
    return rows if len(starts) == len(rows) else rows[starts]


class Received:
    """The messages at a place, by part."""

    def __init__(self) -> None:
        self._parts: dict[int, list[Any]] = {}

    def add(self, part: int, data: Any) -> None:
        """Adds a message."""
        self._parts.setdefault(part, []).append(data)

    def raw(self, part: int) -> list[Any]:
        """Takes the data of a part."""
        return self._parts.pop(part, [])

    def rows(self, part: int, width: int | None = None, zeros: int = 0) -> Array:
        """Takes the rows of numbers of a part, each with ``zeros`` behind it."""
        width = COLUMNS[part] if width is None else width
        parts = self.raw(part)[::-1]
        rows = np.zeros((sum(map(len, parts)) // (8 * width), width + zeros), dtype=np.uint64)
        start = 0
        while parts:
            # Each message is freed when it is copied.
            some = np.frombuffer(parts.pop(), dtype="<u8").reshape(-1, width)
            rows[start : start + len(some), :width] = some
            start += len(some)
        return rows

    def distinct(self, part: int) -> Array:
        """Takes the distinct rows of numbers of a part, in order, without all repeated ones at a time."""
        parts = self.raw(part)
        rows = np.empty((0, COLUMNS[part]), dtype=np.uint64)
        while parts:
            some = Received()
            size = 0
            while parts and size <= max(rows.nbytes, GATHERED):
                size += len(parts[-1])
                some.add(part, parts.pop())
            rows = unique(np.concatenate([rows, some.rows(part)]))
        return rows

    def table(self, *parts: int) -> pa.Table | None:
        """Takes the table of parts; ``None`` if there is none."""
        streams = [from_stream(data) for part in parts for data in self.raw(part)]
        return brought_together(streams).combine_chunks() if streams else None


def all_at_places(batches: Batches) -> Iterator[tuple[int, Received]]:
    """Yields the places of messages in order, each with all that came there."""
    places: dict[int, Received] = {}
    for place, part, data in received(batches):
        places.setdefault(place, Received()).add(part, data)
    for place in sorted(places):
        yield place, places.pop(place)


class _AtPlaces(_Sends):
    """A stage behind a shuffle: it takes all that came to a place."""

    def _rows(self, batches: Batches) -> Rows:
        for place, got in all_at_places(batches):
            yield from self._at(place, got)

    def _at(self, place: int, got: Received) -> Rows:
        raise NotImplementedError


class Order:
    """The order of decisions, by the ids of documents or first by their lengths, divided among homes."""

    def __init__(self, homes: int, splits: list[Any], longest: bool) -> None:
        self.homes, self.longest, self._splits = homes, longest, splits

    @staticmethod
    def of(rows: Iterable[dict[str, Any]], cores: int, longest: bool, bands: int) -> Order:
        """Returns the order of sampled documents, each of which has a key for each band."""
        sampled: list[Any] = []
        loads: list[Array] = []
        count = 0
        for row in rows:
            count += row["count"]
            table = from_stream(row["sample"])
            sampled += _sort_keys(table, longest)
            # The share of a home of the documents of the part for which each one in the sample stands.
            load = np.maximum(table.column("length").to_numpy() / HOME_BYTES, (1 + BRIEF + bands) / HOME_NUMBERS)
            loads.append(load * (row["count"] / len(table)))
        load = np.concatenate([np.empty(0), *loads])
        homes = max(1, min(cores, count // LEAST_TEXTS), ceil(load.sum()))
        order = sorted(range(len(sampled)), key=sampled.__getitem__)
        before = np.cumsum(load[order])
        at = np.searchsorted(before[:-1], np.arange(1, homes) / homes * load.sum(), side="right")
        return Order(homes, [sampled[order[i]] for i in at.tolist()], longest)

    def homes_of(self, table: pa.Table) -> Array:
        """Returns the homes of documents."""
        ids = table.column("id")
        if not self.longest and self._splits and pa.types.is_integer(ids.type):
            homes: Array = np.searchsorted(np.array(self._splits), ids.to_numpy(), side="right")
            return homes
        keys = _sort_keys(table, self.longest)
        return np.fromiter((bisect_right(self._splits, key) for key in keys), dtype=np.int64, count=len(keys))


def _sort_keys(table: pa.Table, longest: bool) -> list[Any]:
    ids: list[Any] = table.column("id").to_pylist()
    return list(zip(pc.negate(table.column("length")).to_pylist(), ids, strict=True)) if longest else ids


class Lengths:
    """Returns the lengths of texts in bytes."""

    schema: pa.Schema = pa.schema([("id", pa.int64()), ("length", pa.int64())])

    def __call__(self, batches: Batches) -> Batches:
        for batch in batches:
            columns = [batch.column("id"), pc.binary_length(batch.column("text")).cast(pa.int64())]
            yield pa.RecordBatch.from_arrays(columns, schema=self.schema)


class SampleOrder:
    """Returns the number of documents, and a sample of ids and lengths that depends on ids only."""

    schema: pa.Schema = pa.schema([("count", pa.int64()), ("sample", pa.binary())])

    def __call__(self, batches: Batches) -> Batches:
        best: pa.Table | None = None
        count = 0
        for batch in batches:
            check_ids(batch.column("id"))
            count += batch.num_rows
            hashes = nodes_of(batch.column("id")) * np.uint64(0x9E3779B97F4A7C15)
            # A text that is null is refused later.
            lengths = pc.fill_null(batch.column("length"), 0)
            some = pa.table({"id": batch.column("id"), "length": lengths, "hash": pa.array(hashes)})
            best = some if best is None else pa.concat_tables([best, some])
            best = best.take(pc.select_k_unstable(best, SAMPLE, [("hash", "ascending"), ("id", "ascending")]))
        if best is not None and count:
            row = {"count": count, "sample": as_stream(best.drop_columns(["hash"]))}
            yield pa.RecordBatch.from_pylist([row], schema=self.schema)


class SendLengths(_Sends):
    """Sends ids and lengths to the places of the ids."""

    def __init__(self, places: int) -> None:
        self._places = places

    def _rows(self, batches: Batches) -> Rows:
        for table in gathered(batches, rows_for(self._places)):
            places = _simidx.places(nodes_of(table.column("id")), self._places)
            for place, data in by_place(table, places, self._places):
                yield place, LENGTHS, data


class Refuse:
    """Returns why documents are refused: in the order of lengths, no home sees all of an id."""

    schema: pa.Schema = pa.schema([("error", pa.string())])

    def __call__(self, batches: Batches) -> Batches:
        for _, got in all_at_places(batches):
            table = got.table(LENGTHS)
            assert table is not None
            try:
                given_texts(table.column("length"), table.column("id"))
                unique_ids(table.column("id"))
            except InputError as error:
                yield pa.RecordBatch.from_pylist([{"error": str(error)}], schema=self.schema)


class _OfTexts(_Sends):
    """A stage that reads texts."""

    def __init__(self, order: Order, given: dict[str, Any]) -> None:
        self._order = order
        self._given = {**given, "threads": 1}

    def _tables(self, batches: Batches) -> Iterator[tuple[pa.Table, Array]]:
        for table in gathered(batches, 1 << 13):
            check_ids(table.column("id"))
            texts = given_texts(table.column("text"), table.column("id"))
            table = table.append_column("length", pc.binary_length(texts))
            yield table, self._order.homes_of(table)


class Sign(_OfTexts):
    """Sends the ids of texts, with their keys and a brief of their features, to their homes."""

    def _rows(self, batches: Batches) -> Rows:
        for table, homes in self._tables(batches):
            keys, briefs, _, _ = _simidx.text_keys({"texts": table.column("text"), **self._given}, False)
            rows = np.ascontiguousarray(np.hstack([briefs, keys]))
            width = 8 * rows.shape[1]
            signs = pa.Array.from_buffers(pa.binary(width), len(rows), [None, pa.py_buffer(rows)])
            sent = table.drop_columns(["text"]).append_column("sign", signs)
            for place, data in by_place(sent, homes, self._order.homes):
                yield place, SIGNED, data


class Rank(_AtPlaces):
    """Ranks the documents of a home. Of texts with equal features there, only the first goes on."""

    def __init__(self, longest: bool, places: int) -> None:
        self._longest, self._places = longest, places

    def _at(self, place: int, got: Received) -> Rows:
        table = got.table(SIGNED)
        assert table is not None
        unique_ids(table.column("id"))
        by_length = [("length", "descending")] if self._longest else []
        table = table.sort_by([*by_length, ("id", "ascending")]).combine_chunks()
        signs = table.column("sign").combine_chunks()
        rows = np.frombuffer(signs.buffers()[1], dtype="<u8").reshape(len(table), -1)
        ranks = np.uint64(place) << POSITION | np.arange(len(table), dtype=np.uint64)
        order = np.lexsort((ranks, rows[:, 1], rows[:, 0]))
        firsts = _firsts(rows[order, :2])
        first = np.empty_like(ranks)
        first[order] = ranks[order[firsts]]
        hashes = to_arrow(np.ascontiguousarray(rows[:, 0]))
        named = [to_arrow(ranks), to_arrow(first), table.column("id"), hashes]
        names = pa.table(named, names=["rank", "first", "id", "hash"])
        for piece in pieces(names, rows_for(self._places)):
            yield place, NAMES, as_stream(piece)
        own = first == ranks
        rows = np.column_stack([ranks[own], rows[own]])
        yield from send(FIRSTS, _simidx.places(rows[:, 1], self._places), rows)


def _firsts(ordered: Array) -> Array:
    """Returns for each row the first of those that equal it, which follow each other."""
    starts = _starts(ordered)
    return np.repeat(starts, np.diff(starts, append=len(ordered)))


def _starts(ordered: Array) -> Array:
    """Returns the first of each run of equal rows."""
    is_new = np.ones(len(ordered), dtype=bool)
    is_new[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
    return np.flatnonzero(is_new)


class Alike(_AtPlaces):
    """Of texts with equal features only the first goes on, to the places of its keys. The others are its copies."""

    def __init__(self, places: int, bands: int) -> None:
        self._places, self._bands = places, bands

    def _at(self, _: int, got: Received) -> Rows:
        rows = got.rows(FIRSTS, 1 + BRIEF + self._bands)
        rows = rows[np.lexsort((rows[:, 0], rows[:, 2], rows[:, 1]))]
        firsts = _firsts(rows[:, 1:3])
        own = firsts == np.arange(len(rows))
        copies = columns(rows[~own, 0], rows[firsts[~own], 0])
        yield from send(COPIES, home(copies[:, 1]), copies)
        rows = rows[own]
        for start in range(0, len(rows), 1 << 16):
            some = rows[start : start + (1 << 16)]
            keys = some[:, 1 + BRIEF :].reshape(-1)
            to = _simidx.places(keys, self._places)
            # Rows are copied once, in the order of places: each key, with the rank and the brief of its text.
            order = order_by_place(to, self._places)
            sent = some[:, [0, 0, 3, 4, 5]][order // self._bands]
            sent[:, 0] = keys[order]
            for place, of_place in divided(sent, np.cumsum(np.bincount(to, minlength=self._places))):
                yield from send_to(place, KEYS, of_place)


def may_be_similar(one: Array, other: Array, least: float) -> Array:
    """Returns whether texts may be as similar, row by row: a bound by the number of features and their parities.

    Where parities differ, one of the texts has a feature that the other lacks.
    """
    a, b = one[:, 0].astype(np.int64), other[:, 0].astype(np.int64)
    odd = np.bitwise_count(one[:, 1] ^ other[:, 1]).astype(np.int64) + np.bitwise_count(one[:, 2] ^ other[:, 2])
    both = np.maximum(a + b - np.maximum(odd, np.abs(a - b)), 0) // 2
    result: Array = both * (1 + 1e-9) >= least * (a + b - both)
    return result


def _shared_keys(rows: Array) -> Array:
    """Returns the rows whose key other rows have, too."""
    keys = np.ascontiguousarray(rows[:, 0])
    ordered = np.sort(keys)
    shared: Array = rows[is_among(keys, ordered[1:][ordered[1:] == ordered[:-1]])]
    return shared


class Meet(_AtPlaces):
    """Compares the first texts of each key that are not dropped, the leaders, with all behind them, by their briefs.

    Texts that have not led are held for the next round, with those that may still be more similar to one of them.
    Copies pass through, so that nothing is computed twice or kept for them.
    """

    def __init__(self, leaders: int, similarity: float) -> None:
        self._leaders, self._similarity = leaders, similarity

    def _at(self, place: int, got: Received) -> Rows:
        yield from send_to(place, COPIES, unique(got.rows(COPIES)))
        # In the first round nothing is held, and later no keys come.
        rows = got.rows(HELD)
        is_first = not len(rows)
        if is_first:
            rows = _shared_keys(got.rows(KEYS, zeros=1))
        if not len(rows):
            return
        gone = got.rows(DROPPED)[:, 0]
        rows[is_among(rows[:, 1], gone), 5] = GONE
        order = np.lexsort((rows[:, 1], rows[:, 0]))
        for column in rows.T:
            column[:] = column[order]
        del order
        starts = _starts(rows[:, :1])
        ends = np.append(starts[1:], len(rows))
        group = np.repeat(np.arange(len(starts)), ends - starts)
        waits = np.flatnonzero(rows[:, 5] == WAITS)
        # The number of each among those of its group that wait. Small groups take a single round.
        of_group = group[waits]
        slot = np.arange(len(waits)) - np.searchsorted(of_group, of_group, side="left")
        sizes = ends - starts
        most = np.clip(FIRST_PAIRS // sizes, 1, self._leaders) if is_first else np.full(len(sizes), self._leaders)
        most[sizes <= SMALL] = SMALL
        leads = slot < most[of_group]
        by_slot = np.argsort(slot[leads], kind="stable")
        leaders = waits[leads][by_slot]
        yield from self._pairs(rows, leaders, ends[group[leaders]])
        # A leader has met all behind it, and is compared with those before it by them.
        left = np.zeros(len(starts), dtype=bool)
        left[of_group[~leads]] = True
        keep = left[group]
        keep[leaders] = False
        held = np.flatnonzero(keep)
        for start in range(0, len(held), PIECE):
            yield from send_to(place, HELD, rows[held[start : start + PIECE]])
        ranks = distinct_values(rows[held[rows[held, 5] == WAITS], 1])
        yield from send_to(0, OPEN, columns(ranks, np.full(len(ranks), place)))

    def _pairs(self, rows: Array, leaders: Array, ends: Array) -> Rows:
        counts = ends - leaders - 1
        cuts = np.searchsorted(np.cumsum(counts), np.arange(PIECE, counts.sum() + PIECE, PIECE)) + 1
        for some in np.split(np.arange(len(leaders)), cuts):
            count = counts[some]
            left = np.repeat(leaders[some], count)
            right = left + 1 + np.arange(len(left)) - np.repeat(np.cumsum(count) - count, count)
            near = may_be_similar(rows[left, 2:5], rows[right, 2:5], self._similarity)
            pairs = columns(rows[left[near], 1], rows[right[near], 1])
            yield from send(PAIRS, home(pairs[:, 1]), pairs)


class Pairs(_AtPlaces):
    """Takes each pair once at the home of the second, and asks the home of the first for its features.

    Counts the pairs of each first text that has many.
    """

    def _at(self, place: int, got: Received) -> Rows:
        pairs = got.distinct(PAIRS)
        yield from send_to(place, PAIRS, pairs)
        starts = _starts(pairs[:, :1])
        asked, counts = pairs[starts, 0], np.diff(starts, append=len(pairs))
        yield from send(ASKED, home(asked), columns(asked, np.full(len(asked), place)))
        many = counts >= max(FOLLOWERS, len(pairs) // HOME_LEADS)
        yield from send_to(place, LEADS, columns(asked[many], counts[many]))


class Leads(NamedTuple):
    """Texts with which many others are to be compared, where these are read: their ranks and what `text_keys` says."""

    ranks: Array
    briefs: Array = empty(64)
    ends: Array = empty(64)
    features: Array = empty(64)

    @staticmethod
    def chosen(got: Received, most: int) -> Array:
        """Returns the ranks of the texts that have most pairs, by messages of `Pairs`."""
        ranks, counts = got.rows(LEADS).T
        ranks, of = np.unique(ranks, return_inverse=True)
        counts = np.bincount(of, counts, len(ranks))
        chosen: Array = np.sort(ranks[np.argsort(-counts, kind="stable")[:most]])
        return chosen

    @staticmethod
    def of(names: pa.Table, texts: pa.Table, given: dict[str, Any]) -> Leads:
        """Returns those of the named texts that are among the given ones."""
        at = pc.index_in(names.column("id"), texts.column("id").combine_chunks())
        names, texts = names.filter(at.is_valid()), texts.take(at.drop_null())
        order = pc.sort_indices(names.column("rank"))
        names, texts = names.take(order), texts.take(order)
        _, briefs, ends, features = _simidx.text_keys({"texts": texts.column("text"), **given}, True)
        is_changed = from_arrow(names.column("hash")) != briefs[:, 0]
        if is_changed.any():
            raise _changed(names.filter(pa.array(is_changed)))
        return Leads(from_arrow(names.column("rank")), briefs, ends, features)

    def compared(
        self, briefs: Array, ends: Array, features: Array, least: float, among: Array
    ) -> tuple[Array, Array, Array]:
        """Returns the similar ones of leads and of the texts ``among`` all: rows of both, and similarities."""
        of_texts = briefs[:, 2:]
        near = [
            among & may_be_similar(np.broadcast_to(lead, of_texts.shape), of_texts, least)
            for lead in self.briefs[:, 2:]
        ]
        lead, text = (np.ascontiguousarray(at) for at in np.nonzero(near))
        all_ends = np.concatenate([self.ends, ends + len(self.features)])
        all_features = np.concatenate([self.features, features])
        found = _simidx.similarities(all_ends, all_features, lead, len(self.ranks) + text)
        similar = found >= least
        return text[similar], lead[similar], found[similar]


class Sets:
    """Sets of ids by part and home, which may seem to have others, too. A part without sets has all ids."""

    def __init__(self, sets: dict[int, dict[int, bytes] | None]) -> None:
        self._sets = sets

    def have(self, part: int, ids: pa.ChunkedArray, homes: Array) -> Array:
        """Returns whether ids are in the sets of their homes."""
        sets = self._sets[part]
        if sets is None:
            return np.ones(len(ids), dtype=bool)
        found = np.zeros(len(ids), dtype=bool)
        for place in np.unique(homes).tolist():
            if place in sets:
                bits = np.frombuffer(sets[place], dtype=np.uint8)
                rows = np.flatnonzero(homes == place)
                at = _bit_of(ids.take(pa.array(rows)), 8 * len(bits))
                found[rows] = bits[at >> 3] >> (7 - (at & 7)).astype(np.uint8) & 1
        return found


class Named(_Sends):
    """Sends the names of the texts of these ranks."""

    def __init__(self, ranks: Array) -> None:
        self._ranks = ranks

    def _rows(self, batches: Batches) -> Rows:
        for place, _, data in received(batches):
            table = from_stream(data)
            table = table.filter(pa.array(is_among(from_arrow(table.column("rank")), self._ranks)))
            if len(table):
                yield place, NAMES, as_stream(table)


class Needed(_AtPlaces):
    """Returns the names of texts that are needed, and sets of them, which may seem to have others, too.

    The features of texts are needed if they are in a pair whose first text is not one of the leads.
    """

    def __init__(self, leads: Array) -> None:
        self._leads = leads

    def _at(self, place: int, got: Received) -> Rows:
        names, pairs, asked = got.table(NAMES), got.rows(PAIRS), got.rows(ASKED)[:, 0]
        of_lead = is_among(pairs[:, 0], self._leads)
        ranks = np.concatenate([pairs[~of_lead, 1], asked[~is_among(asked, self._leads)]])
        compared = pairs[of_lead, 1]
        if names is None or not len(ranks) + len(compared):
            return
        names = names.drop_columns(["first"]).sort_by("rank")
        named = from_arrow(names.column("rank"))
        of_sets = {NEEDED: is_among(named, ranks), COMPARED: is_among(named, compared)}
        for part, is_in in of_sets.items():
            some = names.column("id").filter(pa.array(is_in))
            bits = np.zeros(16 * len(some) + 64, dtype=bool)
            bits[_bit_of(some, len(bits))] = True
            yield place, part, np.packbits(bits).tobytes()
        for piece in pieces(names.filter(pa.array(of_sets[NEEDED] | of_sets[COMPARED])), 1 << 18):
            yield place, NAMES, as_stream(piece)


def _bit_of(ids: pa.ChunkedArray | pa.Array, size: int) -> Array:
    hashes = nodes_of(ids) * np.uint64(0x9E3779B97F4A7C15)
    bits: Array = (hashes >> np.uint64(17)) % np.uint64(size // 8 * 8)
    return bits.astype(np.int64)


class Read(_OfTexts):
    """Sends what is needed of texts to their homes: features, and the leads that they are similar to."""

    def __init__(self, sets: Sets, leads: Leads, order: Order, given: dict[str, Any]) -> None:
        super().__init__(order, given)
        self._sets, self._leads = sets, leads

    def _rows(self, batches: Batches) -> Rows:
        for table, homes in self._tables(batches):
            needed, compared = (self._sets.have(part, table.column("id"), homes) for part in (NEEDED, COMPARED))
            wanted = needed | compared
            table, homes = table.filter(pa.array(wanted)), homes[wanted]
            needed, compared = needed[wanted], compared[wanted]
            if not len(table):
                continue
            _, briefs, ends, features = _simidx.text_keys({"texts": table.column("text"), **self._given}, True)
            ids, hashes = table.column("id"), to_arrow(np.ascontiguousarray(briefs[:, 0]))
            lists = pa.LargeListArray.from_arrays(np.concatenate([[0], ends]), to_arrow(features))
            lists = lists.take(pa.array(np.arange(len(table)), mask=~needed))
            read = pa.table({"id": ids, "hash": hashes, "features": lists})
            for place, data in by_place(read, homes, self._order.homes):
                yield place, READ, data
            if len(self._leads.ranks):
                least = self._given["similarity"]
                texts, leads, similar = self._leads.compared(briefs, ends, features, least, compared)
                ranks = to_arrow(self._leads.ranks[leads])
                met = pa.table({"id": ids.take(pa.array(texts)), "lead": ranks, "similarity": similar})
                for place, data in by_place(met, homes[texts], self._order.homes):
                    yield place, MET, data


class Lend(_AtPlaces):
    """Ranks the texts of which something came, and sends their features to the places that ask for them."""

    def __init__(self, leads: Array) -> None:
        self._leads = leads

    def _at(self, place: int, got: Received) -> Rows:
        names, read, met, asked = got.table(NAMES), got.table(READ), got.table(MET), got.rows(ASKED)
        asked = asked[~is_among(asked[:, 0], self._leads)]
        if names is None:
            return
        names = names.sort_by("rank")
        if read is None:
            raise _changed(names)
        read = read.take(pc.index_in(names.column("id"), read.column("id").combine_chunks()))
        same = pc.equal(names.column("hash"), read.column("hash")).fill_null(False)
        if not pc.all(same).as_py():
            raise _changed(names.filter(pc.invert(same)))
        if met is not None:
            at = pc.index_in(met.column("id"), names.column("id").combine_chunks())
            ranks = from_arrow(names.column("rank").take(at.fill_null(0)))
            similar = met.column("similarity").to_numpy().view(np.uint64)
            rows = columns(from_arrow(met.column("lead")), ranks, similar)
            yield from send_to(place, MET, unique(rows[at.is_valid().to_numpy()]))
        table = pa.table({"rank": names.column("rank"), "features": read.column("features")})
        table = table.filter(read.column("features").is_valid()).combine_chunks()
        for piece in pieces(table, 1 << 18):
            yield place, FEATURES, as_stream(piece)
        at = _simidx.lookup(from_arrow(table.column("rank")), asked[:, 0])
        to = asked[:, 1].astype(np.int64)
        for other in np.unique(to[to != place]).tolist():
            for piece in pieces(table.take(pa.array(np.sort(at[to == other]))), 1 << 18):
                yield other, FEATURES, as_stream(piece)


def _changed(names: pa.Table) -> InputError:
    id = names.column("id")[0].as_py()
    return InputError(f"the text of {id!r} changed between two reads: write the documents, and read what was written")


class Verify(_AtPlaces):
    """Links the pairs that are similar."""

    def __init__(self, similarity: float, leads: Array) -> None:
        self._similarity, self._leads = similarity, leads

    def _at(self, _: int, got: Received) -> Rows:
        pairs, table, met = unique(got.rows(PAIRS)), got.table(FEATURES), got.rows(MET)
        of_lead = is_among(pairs[:, 0], self._leads)
        # The row of a pair comes right before what a text has met: not all that are similar have an equal key.
        ordered = unique(np.concatenate([columns(*pairs[of_lead].T, np.zeros(of_lead.sum())), met]))
        is_pair = (ordered[1:, :2] == ordered[:-1, :2]).all(axis=1)
        yield from send_to(0, LINKS, ordered[1:][is_pair])
        pairs = pairs[~of_lead]
        if table is None or not len(pairs):
            return
        table = table.sort_by("rank").combine_chunks()
        ranks = from_arrow(table.column("rank"))
        lists = table.column("features").combine_chunks()
        ends = np.cumsum(pc.list_value_length(lists).to_numpy(zero_copy_only=False)).astype(np.int64)
        left, right = (_simidx.lookup(ranks, np.ascontiguousarray(side)) for side in pairs.T)
        found = _simidx.similarities(ends, from_arrow(lists.flatten()), left, right)
        near = found >= self._similarity
        links = np.column_stack([pairs[near], found[near].view(np.uint64)])
        yield from send_to(0, LINKS, links)


class Ends(_Sends):
    """Turns links into those of which components are made."""

    def _rows(self, batches: Batches) -> Rows:
        for _, _, data in received(batches):
            yield 0, 64, pack(np.frombuffer(data, dtype="<u8").reshape(-1, COLUMNS[LINKS])[:, :2].T.copy())


class ByRank(_Sends):
    """Sends links, and texts that are open, to the places of their labels."""

    def __init__(self, places: int) -> None:
        self._places = places

    def _rows(self, batches: Batches) -> Rows:
        for _, part, data in received(batches):
            rows = np.frombuffer(data, dtype="<u8").reshape(-1, COLUMNS[part])
            yield from send(part, _simidx.places(np.ascontiguousarray(rows[:, 0]), self._places), rows)


class Group(_AtPlaces):
    """Sends links, and texts that are open and linked, to the places of their connected components."""

    def __init__(self, places: int) -> None:
        self._places = places

    def _at(self, _: int, got: Received) -> Rows:
        values, least = two_columns([empty(64), *(unpack(data, 64) for data in got.raw(LABELS))])
        values, at = np.unique(values, return_index=True)
        for part in (LINKS, OPEN):
            rows = unique(got.rows(part))
            found = _simidx.lookup(values, np.ascontiguousarray(rows[:, 0]))
            rows, labels = rows[found >= 0], least[at[found[found >= 0]]]
            yield from send(part, _simidx.places(labels, self._places), rows)


class Settle(_AtPlaces):
    """Decides on linked texts in their order: one is dropped if it is similar to a kept one before it.

    Texts that have not met all before them stay open: those that are dropped are sent to the places of their keys.
    Otherwise all fates are sent home: the rank of each dropped text, the most similar kept ones, and how similar.
    """

    def __init__(self, is_last: bool) -> None:
        self._is_last = is_last

    def _at(self, _: int, got: Received) -> Rows:
        # There may be many links, and many more open texts, so both stay in their messages.
        links, opened = (
            [np.frombuffer(data, dtype="<u8").reshape(-1, COLUMNS[part]) for data in got.raw(part)]
            for part in (LINKS, OPEN)
        )
        ranks = distinct_values(
            np.concatenate([empty(64), *(distinct_values(some[:, :2].reshape(-1)) for some in links)])
        )
        ends = np.empty(sum(map(len, links)), dtype=np.int64)
        start = 0
        for some in links:
            left, right = (_simidx.lookup(ranks, np.ascontiguousarray(side)) for side in some.T[:2])
            ends[start : start + len(some)] = left << END | right
            start += len(some)
        ends.sort()
        is_open = np.zeros(len(ranks), dtype=bool)
        opened.sort(key=lambda some: some[0].tolist())
        for some in opened:
            is_open[_linked(ranks, some)[0]] = True
        kept, dropped = _greedy(ends, is_open)
        if not self._is_last:
            for some in opened:
                at, rows = _linked(ranks, some)
                gone = rows[dropped[at]]
                yield from send(DROPPED, gone[:, 1].astype(np.int64), gone[:, :1])
            return
        none = np.empty((0, COLUMNS[LINKS]), dtype=np.uint64)
        fates = np.concatenate([none, *(some[is_among(some[:, 0], ranks[kept])] for some in links)])
        # The most similar comes first: similarities are not negative, so that their bits have the same order.
        fates[:, 2] = ~fates[:, 2]
        fates = unique(fates[:, [1, 2, 0]])
        # The ids decide which of several that are as similar.
        fates = fates[fates[:, 1] == fates[_firsts(fates[:, :1]), 1]]
        yield from send(FATES, home(fates[:, 0]), columns(fates[:, 0], fates[:, 2], ~fates[:, 1]))


def _linked(ranks: Array, opened: Array) -> tuple[Array, Array]:
    """Returns the open texts that are among linked ones, and where they are."""
    at = _simidx.lookup(ranks, np.ascontiguousarray(opened[:, 0]))
    return at[at >= 0], opened[at >= 0]


def _greedy(links: Array, is_open: Array) -> tuple[Array, Array]:
    """Returns which texts are surely kept and which dropped.

    Each link holds the first of its texts in the upper bits, and comes in order.
    """
    waits, dropped = is_open.copy(), np.zeros(len(is_open), dtype=bool)
    starts = np.searchsorted(links, np.arange(len(is_open) + 1) << END)
    texts = np.flatnonzero(starts[1:] > starts[:-1])
    for text, start, end in zip(texts.tolist(), starts[texts].tolist(), starts[texts + 1].tolist(), strict=True):
        # All before it are decided. A dropped text says nothing of others.
        if not dropped[text]:
            (waits if waits[text] else dropped)[links[start:end] & (1 << END) - 1] = True
    return ~waits & ~dropped, dropped


class Resolve(_AtPlaces):
    """Sends the fates of texts to their homes, and to those of their copies."""

    def _at(self, _: int, got: Received) -> Rows:
        fates, copies = got.rows(FATES), got.rows(COPIES)
        of_copies = _fates_of(copies[:, 0], copies[:, 1], fates)
        both = unique(np.concatenate([fates, of_copies]))
        yield from send(FATES, home(both[:, 0]), both)


def _fates_of(ranks: Array, firsts: Array, fates: Array) -> Array:
    """Returns the fates of copies: those of the first ones, or to be dropped for these if they are kept."""
    fates = unique(fates)
    start, end = (np.searchsorted(fates[:, 0], firsts, side=side) for side in ("left", "right"))
    alone = start == end
    of_kept = columns(ranks[alone], firsts[alone], np.full(alone.sum(), 1.0).view(np.uint64))
    counts = end - start
    at = np.repeat(start, counts) + np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    return np.concatenate([of_kept, np.column_stack([np.repeat(ranks, counts), fates[at, 1:]])])


class Name(_AtPlaces):
    """Names the texts that are dropped, and asks for the ids of those that are kept for them."""

    def _at(self, place: int, got: Received) -> Rows:
        names, fates = got.table(NAMES), got.rows(FATES)
        if names is None:
            return
        names = names.sort_by("rank")
        ranks, firsts = from_arrow(names.column("rank")), from_arrow(names.column("first"))
        is_copy = ranks != firsts
        fates = unique(np.concatenate([fates, _fates_of(ranks[is_copy], firsts[is_copy], fates)]))
        ids = names.column("id").take(pa.array(_simidx.lookup(ranks, np.ascontiguousarray(fates[:, 0]))))
        kept = np.ascontiguousarray(fates[:, 1])
        similar = np.ascontiguousarray(fates[:, 2]).view(np.float64)
        table = pa.table({"id": ids, "rank": to_arrow(kept), "similarity": similar})
        for piece in pieces(table, 1 << 18):
            yield place, REPORTS, as_stream(piece)
        asked = distinct_values(kept)
        yield from send(ASKED, home(asked), columns(asked, np.full(len(asked), place)))


class Tell(_AtPlaces):
    """Sends ids to the places that ask for them."""

    def _at(self, _: int, got: Received) -> Rows:
        names, asked = got.table(NAMES), unique(got.rows(ASKED))
        if names is None:
            return
        names = names.sort_by("rank").select(["rank", "id"])
        at = _simidx.lookup(from_arrow(names.column("rank")), np.ascontiguousarray(asked[:, 0]))
        for other in distinct_values(asked[:, 1]).tolist():
            for piece in pieces(names.take(pa.array(at[asked[:, 1] == other])), 1 << 18):
                yield other, NAMES, as_stream(piece)


class Report:
    """Returns for each dropped text the one that it is dropped for: of equally similar ones that of the smallest id."""

    def __init__(self, id_type: pa.DataType) -> None:
        self.schema: pa.Schema = pa.schema([("id", id_type), ("duplicate_of", id_type), ("similarity", pa.float64())])

    def __call__(self, batches: Batches) -> Batches:
        for _, got in all_at_places(batches):
            names, reports = got.table(NAMES), got.table(REPORTS)
            if names is None or reports is None:
                continue
            names = names.sort_by("rank")
            at = _simidx.lookup(from_arrow(names.column("rank")), from_arrow(reports.column("rank")))
            kept = names.column("id").take(pa.array(at))
            table = pa.table([reports.column("id"), kept, reports.column("similarity")], names=self.schema.names)
            table = table.sort_by([("id", "ascending"), ("duplicate_of", "ascending")]).combine_chunks()
            ids = table.column("id")
            is_first = np.ones(len(ids), dtype=bool)
            is_first[1:] = pc.not_equal(ids[1:], ids[:-1]).to_numpy()
            yield from table.filter(pa.array(is_first)).cast(self.schema).to_batches(max_chunksize=1 << 16)
