"""Deduplication of texts without Spark: the answer is that of one search over all, on any number of parts."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pytest

import simidx
from simidx import InputError, Pipeline
from simidx_spark.distributed import Local, Similar, _engine, _messages, _similar

from .test_texts import documents, most_similar

Rows = list[tuple[Any, Any]]
Parts = list[list[pa.RecordBatch]]


def templates(count: int, seed: int) -> list[str]:
    """Texts of few templates, in which some words differ, and copies of them."""
    chance = random.Random(seed)
    words = [f"word{i}" for i in range(90)]
    made = [[chance.choice(words) for _ in range(60)] for _ in range(3)]
    texts: list[str] = []
    for _ in range(count):
        tokens = list(chance.choice(made))
        for _ in range(chance.randrange(0, 9)):
            tokens[chance.randrange(len(tokens))] = chance.choice(words)
        texts.append(chance.choice(texts) if texts and chance.random() < 0.2 else " ".join(tokens))
    return texts


class Watched(Local):
    """An engine that shows what it gives to stages."""

    def __init__(self, see: Callable[[Any, Parts], None]) -> None:
        self._see = see

    def map(self, data: Parts, stage: Any) -> Parts:
        self._see(stage, data)
        return super().map(data, stage)


def report(
    rows: Rows,
    parts: int,
    similarity: float,
    words: Any,
    longest: bool,
    most: int = 10**6,
    engine: Local | None = None,
) -> list[Any]:
    """The report of documents that come in parts, in any order."""
    rows = random.Random(parts).sample(rows, len(rows))
    id_type = pa.string() if isinstance(rows[0][0], str) else pa.int64()
    table = pa.table({"id": pa.array([id for id, _ in rows], id_type), "text": [text for _, text in rows]})
    cuts = [table.slice(start, -(-len(rows) // parts)) for start in range(0, len(rows), -(-len(rows) // parts))]
    documents = [cut.to_batches(max_chunksize=50) for cut in cuts]
    lengths = [
        [pa.record_batch({"id": b.column("id"), "length": pa.compute.binary_length(b.column("text"))}) for b in part]
        for part in documents
    ]
    similar = Similar(engine or Local(), id_type, similarity, words, Pipeline("web"))
    found = similar.report(documents, lengths, parts, longest, most)
    return sorted((row["id"], row["duplicate_of"], round(row["similarity"], 4)) for row in Local().collect(found))


@pytest.mark.parametrize(("most", "seeds"), [(10**6, [0, 1, 2]), (0, [3])])
@pytest.mark.parametrize("keep", ["first", "longest"])
@pytest.mark.parametrize(
    ("make", "similarity", "words"), [(documents, 0.8, 3), (templates, 0.6, 2), (templates, 0.8, 3)]
)
def test_the_answer_is_that_of_one_search(
    make: Any,
    similarity: float,
    words: int,
    keep: Literal["first", "longest"],
    most: int,
    seeds: list[int],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(_similar, "LEAST_TEXTS", 20)
    for seed in seeds:
        texts = make(500, seed)
        rows: Rows = [(f"d{i:05}", text) for i, text in enumerate(texts)]
        longest = keep == "longest"
        mask = simidx.dedup_texts(texts, similarity, words=words, keep=keep)
        kept = {rows[row][0] for row in np.flatnonzero(mask).tolist()}
        expected = most_similar(rows, kept, similarity, words, longest)
        assert 10 < len(kept) < 480
        # With few leaders there are several rounds.
        # Few texts lead in the first round, and some are met where texts are read: known ones, those in sets, or all.
        for parts, leaders, named, needed in ((1, 64, 1 << 20, 1 << 20), (4, 2, 0, 1 << 20), (9, 5, 0, 0)):
            monkeypatch.setattr(_engine, "LEADERS", leaders)
            monkeypatch.setattr(_engine, "MOST_NAMED", named)
            monkeypatch.setattr(_engine, "MOST_NEEDED", needed)
            monkeypatch.setattr(_similar, "FIRST_PAIRS", 100 * leaders)
            monkeypatch.setattr(_similar, "FOLLOWERS", parts)
            monkeypatch.setattr(_similar, "HOME_LEADS", 100)
            monkeypatch.setattr(_engine, "MOST_LEADS", 4 * leaders)
            assert report(rows, parts, similarity, words, longest, most) == expected


@pytest.mark.parametrize("longest", [False, True])
def test_homes_are_even_if_parts_are_not(longest: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    # With 10 keys.
    monkeypatch.setattr(_similar, "HOME_NUMBERS", 2000 * 16)
    monkeypatch.setattr(_similar, "HOME_BYTES", 2000 * 100)
    ids = np.arange(22_000)
    # Most documents are in one part, and some of them are long.
    chance = np.random.default_rng(4)
    lengths = np.where(chance.random(len(ids)) < 0.9, 50, 1000)
    table = pa.table({"id": ids, "length": lengths})
    parts = [table.slice(0, 20_000), *(table.slice(start, 50) for start in range(20_000, 22_000, 50))]
    blocks = [block for part in parts for block in _similar.SampleOrder()(iter(part.to_batches()))]
    rows = [row for block in blocks for row in block.to_pylist()]
    order = _similar.Order.of(rows, 2, longest, 10)
    homes = order.homes_of(table)
    shares = np.bincount(homes, np.maximum(lengths / (2000 * 100), 1 / 2000))
    assert 15 < order.homes < 30
    assert len(shares) == order.homes
    assert shares.max() < 2.5


@pytest.mark.parametrize("tails", [7, 10**6])
def test_the_largest_task_does_not_grow(tails: int, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[tuple[int, str]] = []

    def see(stage: Any, data: Parts) -> None:
        sizes.append((max(sum(batch.nbytes for batch in part) for part in data), type(stage).__name__))

    monkeypatch.setattr(_similar, "HOME_NUMBERS", 500 * 21)
    monkeypatch.setattr(_similar, "FOLLOWERS", 100)
    largest: list[tuple[int, str]] = []
    for count in (2000, 8000):
        sizes.clear()
        template = " ".join(f"word{i}" for i in range(400))
        texts = [f"{template} tail {i % tails}" for i in range(count)]
        documents = pa.table({"id": range(count), "text": texts}).to_batches(max_chunksize=500)
        lengths = [pa.record_batch({"id": b.column("id"), "length": pa.compute.binary_length(b[1])}) for b in documents]
        similar = Similar(Watched(see), pa.int64(), 0.8, 3, Pipeline("web"))
        found = similar.report([[b] for b in documents], [[b] for b in lengths], 2, False, 10**6)
        assert len(Local().collect(found)) == count - 1
        largest.append(max(sizes))
    assert largest[1] < (1.5 * largest[0][0], "")
    assert largest[1] < (8000 * len(template) // 8, "")


def test_one_task_decides_on_few_links_and_open_texts_only(monkeypatch: pytest.MonkeyPatch) -> None:
    decided: list[list[int]] = []

    def see(stage: Any, data: Parts) -> None:
        if isinstance(stage, _similar.Settle):
            rows = [row for part in data for block in part for row in block.to_pylist()]
            places = len({row["place"] for row in rows})
            counts = [
                sum(len(row["data"]) for row in rows if row["part"] == part) // (8 * _similar.COLUMNS[part])
                for part in (_similar.LINKS, _similar.OPEN)
            ]
            decided.append([places, *counts])

    monkeypatch.setattr(_engine, "LEADERS", 1)
    monkeypatch.setattr(_similar, "SMALL", 1)
    monkeypatch.setattr(_similar, "LEAST_TEXTS", 20)
    rows: Rows = list(enumerate(documents(500, 1)))
    found = report(rows, 4, 0.6, 2, False, engine=Watched(see))
    assert {places for places, _, _ in decided} == {1}
    _, links, opened = decided[0]
    assert opened > 10
    decided.clear()
    assert report(rows, 4, 0.6, 2, False, links, Watched(see)) == found
    assert {places for places, _, _ in decided} == {4}


def by_rule(left: Any, right: Any, is_open: Any) -> tuple[Any, Any]:
    """Which texts are surely kept and which dropped, decided again until nothing changes."""
    kept, dropped = np.zeros(len(is_open), dtype=bool), np.zeros(len(is_open), dtype=bool)
    while True:
        before = kept.sum() + dropped.sum()
        dropped[right[kept[left]]] = True
        behind = np.zeros(len(is_open), dtype=bool)
        behind[right[~dropped[left]]] = True
        kept |= ~behind & ~dropped & ~is_open
        if kept.sum() + dropped.sum() == before:
            return kept, dropped


def test_texts_are_decided_on_in_their_order() -> None:
    for seed in range(200):
        chance = np.random.default_rng(seed)
        count = int(chance.integers(1, 60))
        pairs = np.sort(chance.integers(0, count, (int(chance.integers(0, 120)), 2)), axis=1)
        left, right = np.unique(pairs[pairs[:, 0] < pairs[:, 1]], axis=0).T
        is_open = chance.random(count) < seed % 4 / 10
        links = left << _similar.END | right
        for found, expected in zip(_similar._greedy(links, is_open), by_rule(left, right, is_open), strict=True):
            assert (found == expected).all()
    # A long chain: the naive way takes a step for each text.
    chain = np.arange(300_000)
    links = chain[:-1] << _similar.END | chain[1:]
    kept, dropped = _similar._greedy(links, np.zeros(len(chain), dtype=bool))
    assert (kept == (chain % 2 == 0)).all()
    assert (dropped == (chain % 2 == 1)).all()


def at_place(stage: Any, *messages: tuple[int, Any]) -> list[tuple[int, int, list[list[int]]]]:
    """Returns the place, the part and the rows of each message that a stage sends for the messages at place 3."""
    sent = [{"place": 3, "part": part, "data": rows.astype("<u8").tobytes()} for part, rows in messages]
    batch = pa.RecordBatch.from_pylist(sent, schema=_messages.MESSAGE)
    found = [row for block in stage(iter([batch])) for row in block.to_pylist()]
    widths = {row["part"]: _similar.COLUMNS[row["part"]] for row in found}
    return [
        (row["place"], row["part"], np.frombuffer(row["data"], "<u8").reshape(-1, widths[row["part"]]).tolist())
        for row in found
    ]


def test_links_come_in_any_order_and_more_than_once() -> None:
    for seed in range(100):
        chance = np.random.default_rng(seed)
        ends = np.sort(chance.integers(0, 12, (int(chance.integers(1, 40)), 2)), axis=1)
        ends = ends[ends[:, 0] < ends[:, 1]]
        # Ranks of several homes.
        ranks = np.sort(chance.integers(0, 3, 12).astype(np.uint64) << np.uint64(40)) + np.arange(12, dtype=np.uint64)
        similar = (0.8 + (ends.sum(axis=1) % 3) / 10).view(np.uint64)
        rows = np.column_stack([ranks[ends], similar])
        rows = rows[chance.integers(0, len(rows), 2 * len(rows))] if len(rows) else rows
        parts = [(_similar.LINKS, part) for part in np.array_split(rows, 4)]
        found = [row for _, _, rows in at_place(_similar.Settle(True), *parts) for row in rows]
        expected: list[list[int]] = []
        dropped: set[int] = set()
        distinct = sorted({tuple(row) for row in rows.tolist()})
        for rank in sorted({row[1] for row in distinct}):
            to_kept = [row for row in distinct if row[1] == rank and row[0] not in dropped]
            if to_kept:
                dropped.add(rank)
                best = max(np.uint64(row[2]).view(np.float64) for row in to_kept)
                expected += [[rank, row[0], row[2]] for row in to_kept if np.uint64(row[2]).view(np.float64) == best]
        assert sorted(found) == sorted(expected)


def test_keys_of_one_text_bring_nothing_and_copies_pass() -> None:
    copies = np.array([[7, 3], [9, 3]], dtype=np.uint64)
    for count in (0, 1, 2, 3, 4, 5, 1000):
        for several in range(min(count, 3)):
            keys = np.arange(count, dtype=np.uint64)
            keys[: several + 1] = 0
            rows = np.zeros((count, 6), dtype=np.uint64)
            rows[:, 0], rows[:, 1] = keys, np.arange(count)
            shared = _similar._shared_keys(rows)
            assert shared[:, 1].tolist() == list(range(several + 1 if several else 0))
        lonely = np.column_stack([np.arange(count), np.arange(count), *np.ones((3, count))])
        sent = at_place(_similar.Meet(4, 0.8), (_similar.COPIES, copies), (_similar.KEYS, lonely))
        assert sent == [(3, _similar.COPIES, copies.tolist())]


def test_templates_of_texts_that_are_not_similar_end(monkeypatch: pytest.MonkeyPatch) -> None:
    chance = random.Random(1)
    template = [f"word{i}" for i in range(330)]
    texts = [" ".join([*template, *(f"w{chance.random()}" for _ in range(72))]) for _ in range(150)]
    rows: Rows = list(enumerate(texts))
    assert report(rows, 2, 0.8, 3, False) == []
    monkeypatch.setattr(_engine, "MOST_PAIRS", 1000)
    with pytest.raises(InputError, match="texts wait for others with an equal key, and a round brings"):
        report(rows, 2, 0.8, 3, False)


def test_templates_of_clusters_are_decided_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_similar, "FIRST_PAIRS", 64)
    monkeypatch.setattr(_engine, "MOST_PAIRS", 13_000)
    chance = random.Random(1)
    template = [f"word{i}" for i in range(330)]
    kinds = [" ".join([*template, *(f"w{chance.random()}" for _ in range(72))]) for _ in range(30)]
    rows: Rows = [(i, f"{chance.choice(kinds)} {i}") for i in range(2000)]
    assert len(report(rows, 2, 0.8, 3, False)) == 1970


def test_long_texts_do_not_lead(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[int] = []

    def see(stage: Any, data: Parts) -> None:
        if isinstance(stage, _similar.Read):
            read.append(len(stage._leads.ranks))

    monkeypatch.setattr(_similar, "FOLLOWERS", 10)
    monkeypatch.setattr(_similar, "HOME_LEADS", 100)
    rows: Rows = [(i, f"{'word ' * 50} {'other ' * (i % 2)} tail {i}") for i in range(100)]
    found = report(rows, 2, 0.5, 2, False, engine=Watched(see))
    assert read[0] > 0
    monkeypatch.setattr(_engine, "LEAD_BYTES", 50)
    read.clear()
    assert report(rows, 2, 0.5, 2, False, engine=Watched(see)) == found
    assert set(read) == {0}


def test_large_sets_are_not_collected(monkeypatch: pytest.MonkeyPatch) -> None:
    class Collects(Local):
        def collect(self, data: Parts) -> list[dict[str, Any]]:
            rows = super().collect(data)
            sets = (_similar.NEEDED, _similar.COMPARED)
            assert all("data" not in row or row["part"] not in sets for row in rows)
            return rows

    rows: Rows = list(enumerate(documents(200, 2)))
    found = report(rows, 3, 0.8, 3, False)
    with pytest.raises(AssertionError):
        report(rows, 3, 0.8, 3, False, engine=Collects())
    monkeypatch.setattr(_engine, "MOST_NEEDED", 0)
    assert report(rows, 3, 0.8, 3, False, engine=Collects()) == found


@pytest.mark.parametrize("longest", [False, True])
@pytest.mark.parametrize("read", [_similar.Read, _engine.WithIds])
def test_documents_that_change_are_refused(read: Any, longest: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    # Leads are read before other texts.
    monkeypatch.setattr(_similar, "FOLLOWERS", 1 if read is _engine.WithIds else 1000)
    monkeypatch.setattr(_similar, "HOME_LEADS", 100)
    texts = templates(40, 4)
    changed = [f"new {text}" for text in texts]
    longer = [f"{text} {text} and more" for text in texts]
    for again in (changed, longer, [*texts[:-1], "other words"], texts[:7], []):

        class Changes(Local):
            def map(self, data: Parts, stage: Any, again: list[str] = again) -> Parts:
                if isinstance(stage, read):
                    data = [
                        [pa.record_batch({"id": pa.array(range(len(again))), "text": pa.array(again, pa.string())})]
                    ]
                return super().map(data, stage)

        with pytest.raises(InputError, match="changed between two reads"):
            report(list(enumerate(texts)), 3, 0.6, 2, longest, engine=Changes())


def test_ids_and_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match="two records have the id 7"):
        report([(7, "one two three"), (8, "four five six"), (7, "seven")], 2, 0.8, 3, False)
    # In the order of lengths, the two are far from each other.
    monkeypatch.setattr(_similar, "LEAST_TEXTS", 2)
    rows: Rows = [(i, "word " * (i + 1)) for i in range(40)]
    with pytest.raises(InputError, match="two records have the id 3: ids must be unique"):
        report([*rows, (3, "word " * 60)], 4, 0.8, 3, True)
    with pytest.raises(InputError, match="the record 50 has no text: filter rows whose text is null"):
        report([*rows, (50, None)], 4, 0.8, 3, True)
    assert report([(-5, "a b c"), (3, "a b c"), (-7, "A b c!")], 3, 0.8, 3, False) == [(-5, -7, 1.0), (3, -7, 1.0)]
    assert report([(1, "a b c")], 3, 0.8, 3, False) == []
