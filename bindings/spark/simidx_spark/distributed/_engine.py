"""Deduplication of texts over any engine that can do three things with its data."""

from __future__ import annotations

from collections import Counter
from typing import Any, Generic, Protocol, TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from simidx import InputError, Pipeline, _simidx
from simidx_spark.distributed import _similar as s
from simidx_spark.distributed._components import Links, Star, Stars, Unite
from simidx_spark.distributed._messages import MESSAGE, Batches
from simidx_spark.distributed._texts import Words

D = TypeVar("D")

#: The most bytes of a set of texts whose features or similarities are needed. A larger one is taken to have all texts.
MOST_NEEDED = 256 << 20

#: The most bytes of the names of needed texts for which the other texts are not read.
MOST_NAMED = 16 << 20

#: The most texts of a round with which others are compared where those are read, and the most bytes of each.
MOST_LEADS = 16
LEAD_BYTES = 1 << 20

#: The most links at the place of a component, unless more are asked for.
MOST_LINKS = 20_000_000

#: Texts that lead at a key in the first round; twice as many in each one after it, if pairs permit it.
LEADERS = 4

#: The most pairs of a round that a task brings, unless few leaders bring more, and the least part of the waiting texts
#: that such a round must decide on.
MOST_PAIRS = 1 << 25
LEAST_DECIDED = 1 / 16


class Engine(Protocol[D]):
    """The operations of an engine on its data, which are parts of batches."""

    def map(self, data: D, stage: Any) -> D:
        """Runs a stage on each part."""

    def by_place(self, data: list[D], places: int) -> D:
        """Brings messages of equal place to one part, which may have several places."""

    def collect(self, data: D) -> list[dict[str, Any]]:
        """Returns all rows."""

    def keep(self, data: D) -> D:
        """Computes data once, for more than one use."""


class Only:
    """Messages of some parts."""

    schema: pa.Schema = MESSAGE

    def __init__(self, *parts: int) -> None:
        self.parts: list[int] = list(parts)

    def __call__(self, batches: Batches) -> Batches:
        parts = pa.array(self.parts, pa.int32())
        for batch in batches:
            yield batch.filter(pc.is_in(batch.column("part"), parts))


class WithIds:
    """Documents that have one of these ids, except those whose texts are longer than ``longest`` bytes."""

    def __init__(self, ids: pa.Array, longest: int) -> None:
        self.ids: pa.Array = ids
        self.longest = longest
        self.schema: pa.Schema = pa.schema([("id", ids.type), ("text", pa.string())])

    def __call__(self, batches: Batches) -> Batches:
        for batch in batches:
            batch = batch.select(self.schema.names).cast(self.schema)
            is_short = pc.less_equal(pc.binary_length(batch.column("text")), self.longest)
            yield batch.filter(pc.and_(pc.is_in(batch.column("id"), self.ids), is_short))


class Similar(Generic[D]):
    """Decides which of the documents are dropped for similar ones, and for which."""

    def __init__(
        self, engine: Engine[D], id_type: pa.DataType, similarity: float, words: Words, pipeline: Pipeline
    ) -> None:
        self._engine, self._id_type, self._similarity = engine, id_type, similarity
        self._given = {"similarity": similarity, "words": words, "pipeline": pipeline}

    def report(self, documents: D, lengths: D, cores: int, longest: bool, most: int) -> D:
        """Returns the dropped documents: ``id``, ``duplicate_of``, ``similarity``.

        ``documents`` have the columns ``id`` and ``text``, and ``lengths`` the columns ``id`` and ``length``, in bytes.
        ``most`` is the largest number of links that one task takes.
        """
        rows = self._engine.collect(self._engine.map(lengths, s.SampleOrder()))
        bands = _simidx.text_keys({"texts": ["a"], **self._given}, False)[0].shape[1]
        order = s.Order.of(rows, cores, longest, bands)
        self._places = order.homes
        if longest:
            for row in self._engine.collect(
                self._at([self._engine.map(lengths, s.SendLengths(order.homes))], s.Refuse())
            ):
                raise InputError(row["error"])
        ranked = self._kept([self._engine.map(documents, s.Sign(order, self._given))], s.Rank(longest, order.homes))
        # They are read in each round, and what else was ranked only once.
        names = self._engine.keep(self._only(ranked, s.NAMES))
        alike = self._at([self._only(ranked, s.FIRSTS)], s.Alike(order.homes, bands))
        self._most = most
        met = self._kept([alike], s.Meet(LEADERS, self._similarity))
        fates = self._at(self._links(documents, order, names, met), s.Settle(True))
        fates = self._at([fates, self._only(met, s.COPIES)], s.Resolve())
        named = self._kept([fates, names], s.Name())
        told = self._at([names, self._only(named, s.ASKED)], s.Tell())
        return self._at([told, self._only(named, s.REPORTS)], s.Report(self._id_type))

    def _links(self, documents: D, order: s.Order, names: D, met: D) -> list[D]:
        """Returns the links between similar texts, of which dropped ones need not all be there, by `_components`.

        ``met`` is the first round.
        """
        links: list[D] = []
        linked = before = 0
        leaders = LEADERS
        while True:
            sizes = self._sizes(self._only(met, s.PAIRS, s.OPEN))
            brought = max(of[s.PAIRS] for of in sizes) // _row(s.PAIRS)
            opened = sum(of[s.OPEN] for of in sizes) // _row(s.OPEN)
            is_large = 2 * brought > MOST_PAIRS
            if is_large and before and opened > (1 - LEAST_DECIDED) * before:
                raise InputError(
                    f"{opened} texts wait for others with an equal key, and a round brings {brought} pairs to one task "
                    "but hardly decides: they share a template and are not similar; raise similarity or words"
                )
            # In the first round only one text may lead at a key.
            before = opened if links else 0
            if brought or not links:
                links.append(self._verified(documents, order, names, met))
                linked += sum(of[s.LINKS] for of in self._sizes(links[-1])) // _row(s.LINKS)
            if not opened:
                return self._components(links, [], linked)
            together = self._components(links, [self._only(met, s.OPEN)], linked + opened)
            dropped = self._kept(together, s.Settle(False))
            leaders = leaders if is_large else 2 * leaders
            met = self._kept([self._only(met, s.HELD), dropped], s.Meet(leaders, self._similarity))

    def _verified(self, documents: D, order: s.Order, names: D, met: D) -> D:
        """Returns the links of the pairs of a round that are similar."""
        pairs = self._kept([self._only(met, s.PAIRS)], s.Pairs())
        leads = self._leads(documents, names, pairs)
        needed = self._kept([names, pairs], s.Needed(leads.ranks))
        named = self._only(needed, s.NAMES)
        size = sum(self._sizes(needed), Counter())
        is_small = size[s.NAMES] <= MOST_NAMED
        wanted = self._with_names(documents, self._names(named)) if is_small else documents
        sets = s.Sets({part: self._set(needed, part, size[part]) for part in (s.NEEDED, s.COMPARED)})
        read = self._engine.map(wanted, s.Read(sets, leads, order, self._given))
        lent = self._at([read, named, self._only(pairs, s.ASKED)], s.Lend(leads.ranks))
        return self._kept([lent, self._only(pairs, s.PAIRS)], s.Verify(self._similarity, leads.ranks))

    def _leads(self, documents: D, names: D, pairs: D) -> s.Leads:
        """Returns the texts with which most others are to be compared."""
        ranks = s.Leads.chosen(self._received(self._only(pairs, s.LEADS)), MOST_LEADS)
        if not len(ranks):
            return s.Leads(ranks)
        named = self._names(self._engine.map(names, s.Named(ranks)))
        rows = self._engine.collect(self._with_names(documents, named, LEAD_BYTES))
        schema = pa.schema([("id", self._id_type), ("text", pa.string())])
        return s.Leads.of(named, pa.Table.from_pylist(rows, schema=schema), self._given)

    def _set(self, needed: D, part: int, size: int) -> dict[int, bytes] | None:
        """Returns a set of texts by home; ``None``, and so all texts, if it is too large to be sent."""
        if size > MOST_NEEDED:
            return None
        return {row["place"]: bytes(row["data"]) for row in self._engine.collect(self._only(needed, part))}

    def _names(self, names: D) -> pa.Table:
        """Returns the table of all these messages with names."""
        table = self._received(names).table(s.NAMES)
        return pa.table({"id": pa.array([], self._id_type)}) if table is None else table

    def _with_names(self, documents: D, names: pa.Table, longest: int = 1 << 31) -> D:
        """Returns the documents of these names."""
        return self._engine.map(documents, WithIds(names.column("id").cast(self._id_type).combine_chunks(), longest))

    def _components(self, links: list[D], opened: list[D], rows: int) -> list[D]:
        """Returns links and open texts at the places of their components: all at one if they have few rows."""
        if rows <= self._most:
            return links + opened
        ends = [self._engine.map(some, s.Ends()) for some in links]
        of_values = labels(self._engine, ends, 64, self._places, self._most)
        by_rank = [self._engine.map(some, s.ByRank(self._places)) for some in links + opened]
        grouped = self._kept([*by_rank, of_values], s.Group(self._places))
        largest = max(of.total() for of in self._sizes(self._engine.by_place([grouped], self._places)))
        room = 24 * max(self._most, MOST_LINKS)
        if largest > room:
            raise InputError(
                f"{largest} bytes of links between similar texts come to one task, of at most {room}: raise united"
            )
        return [grouped]

    def _at(self, data: list[D], stage: Any) -> D:
        return self._engine.map(self._engine.by_place(data, self._places), stage)

    def _kept(self, data: list[D], stage: Any) -> D:
        return self._engine.keep(self._at(data, stage))

    def _only(self, data: D, *parts: int) -> D:
        return self._engine.map(data, Only(*parts))

    def _received(self, data: D) -> s.Received:
        """Collects messages."""
        got = s.Received()
        for row in self._engine.collect(data):
            got.add(row["part"], row["data"])
        return got

    def _sizes(self, data: D) -> list[Counter[int]]:
        return _sizes_of(self._engine, data)


class Count:
    """The bytes of messages in a part of the data, by the part that the messages belong to."""

    schema: pa.Schema = pa.schema([("parts", pa.list_(pa.int32())), ("bytes", pa.list_(pa.int64()))])

    def __call__(self, batches: Batches) -> Batches:
        sizes: Counter[int] = Counter()
        for batch in batches:
            lengths = pc.binary_length(batch.column("data"))
            for part, size in zip(batch.column("part").to_pylist(), lengths.to_pylist(), strict=True):
                sizes[part] += size
        row = {"parts": list(sizes), "bytes": list(sizes.values())}
        yield pa.RecordBatch.from_pylist([row], schema=self.schema)


def _sizes_of(engine: Engine[D], data: D) -> list[Counter[int]]:
    """Returns the bytes of messages in each part of the data, by the part that the messages belong to."""
    rows = engine.collect(engine.map(data, Count()))
    # Spark before 4.0 runs no stage on a shuffle without rows.
    return [Counter(dict(zip(row["parts"], row["bytes"], strict=True))) for row in rows] or [Counter()]


def _row(part: int) -> int:
    """Returns the bytes of a row of numbers."""
    return 8 * s.COLUMNS[part]


def labels(engine: Engine[D], links: list[D], width: int, places: int, united: int) -> D:
    """Returns the label of each linked value, at its place. One task unites up to ``united`` links."""
    size = sum(of.total() for some in links for of in _sizes_of(engine, some))
    if size // (width // 4) <= united:
        return engine.map(engine.by_place(links, 1), Unite(width, places))
    edges = [engine.map(some, Links(width, places)) for some in links]
    before = None
    while True:
        large = engine.map(engine.by_place(edges, places), Star(width, places, is_large=True))
        edges = [engine.keep(engine.map(engine.by_place([large], places), Star(width, places, is_large=False)))]
        rows = engine.collect(engine.map(engine.by_place(edges, places), Stars(width)))
        now = (sum(row["count"] for row in rows), sum(row["hash"] for row in rows))
        if now == before:
            return engine.map(engine.by_place(edges, places), Unite(width, places))
        before = now


class Local:
    """An engine in this process: data are lists of parts."""

    def map(self, data: list[list[pa.RecordBatch]], stage: Any) -> list[list[pa.RecordBatch]]:
        """Runs a stage on each part."""
        return [list(stage(iter(part))) for part in data]

    def by_place(self, data: list[list[list[pa.RecordBatch]]], places: int) -> list[list[pa.RecordBatch]]:
        """Brings messages of equal place to one part."""
        parts: list[list[pa.RecordBatch]] = [[] for _ in range(places)]
        for batch in (batch for some in data for part in some for batch in part):
            for place in pc.unique(batch.column("place")).to_pylist():
                parts[place].append(batch.filter(pc.equal(batch.column("place"), place)))
        return parts

    def collect(self, data: list[list[pa.RecordBatch]]) -> list[dict[str, Any]]:
        """Returns all rows."""
        return [row for part in data for batch in part for row in batch.to_pylist()]

    def keep(self, data: list[list[pa.RecordBatch]]) -> list[list[pa.RecordBatch]]:
        """Returns data as they are."""
        return data
