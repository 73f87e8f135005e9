"""The output of a stage does not depend on the order of its input blocks, which a shuffle does not keep."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from simidx import Pipeline
from simidx_spark import _dedup
from simidx_spark._dedup import Dropped
from simidx_spark.distributed import (
    _against,
    _columns,
    _components,
    _engine,
    _join,
    _messages,
    _pairs,
    _segments,
    _similar,
    _store,
    _texts,
)
from simidx_spark.distributed._components import Stars
from simidx_spark.distributed._join import QUERIES, STORED

from .conftest import Program, near_values
from .test_texts import documents, write

MODULES = [
    *(_against, _columns, _components, _dedup, _engine, _join),
    *(_messages, _pairs, _segments, _similar, _store, _texts),
]

#: Places of messages.
PLACES = 4

Blocks = list[pa.RecordBatch]


def each(stage: Any, blocks: Blocks) -> Blocks:
    """The output of one task for each block."""
    return [out for block in blocks for out in stage(iter([block]))]


def rows(stage: Any, blocks: Blocks) -> list[Any]:
    """The rows that a task yields."""
    return [row for out in stage(iter(blocks)) for row in out.to_pylist()]


def orders(blocks: Blocks) -> list[Blocks]:
    """The blocks in other orders. Of messages each row is one."""
    if "part" in blocks[0].schema.names:
        blocks = [block.slice(row, 1) for block in blocks for row in range(block.num_rows)]
    mixed = list(blocks)
    random.Random(1).shuffle(mixed)
    assert len(blocks) > 2
    return [blocks[::-1], mixed]


class Tried:
    """Stages that were fed in several orders."""

    def __init__(self) -> None:
        self.names: set[str] = set()

    def reduces(self, stage: Any, blocks: Blocks) -> Blocks:
        """For a stage behind a shuffle: the same rows in the same order, byte for byte. Returns what it yields."""
        self.names.add(type(stage).__name__)
        found = rows(stage, blocks)
        assert found
        for other in orders(blocks):
            assert rows(stage, other) == found, type(stage).__name__
        return list(stage(iter(blocks)))

    def maps(self, stage: Any, blocks: Blocks) -> Blocks:
        """For a stage that takes each block, or each row, by itself: the same rows."""
        self.names.add(type(stage).__name__)
        found = sorted(map(repr, rows(stage, blocks)))
        assert found
        for other in orders(blocks):
            assert sorted(map(repr, rows(stage, other))) == found, type(stage).__name__
        return each(stage, blocks)

    def sends(self, stage: Any, blocks: Blocks, at_place: Callable[[Blocks], list[Any]]) -> Blocks:
        """For a stage that gathers rows before it sends them: what comes of them at their places is the same."""
        self.names.add(type(stage).__name__)
        found = at_place(list(stage(iter(blocks))))
        assert found
        for other in orders(blocks):
            assert at_place(list(stage(iter(other)))) == found, type(stage).__name__
        return each(stage, blocks)


class Reordering(_engine.Local):
    """An engine that gives each stage its blocks in several orders."""

    def __init__(self, tried: Tried) -> None:
        self._tried = tried

    def map(self, data: list[Blocks], stage: Any) -> list[Blocks]:
        """Runs a stage on each part."""
        self._tried.names.add(type(stage).__name__)
        # What is gathered into the same messages depends on the order; the answer does not, see `test_similar`.
        gathers = isinstance(stage, _similar._OfTexts)
        for part in [] if gathers else data:
            if sum(block.num_rows for block in part) < 3 or len(part) < 3:
                continue
            in_order = isinstance(stage, (_similar._AtPlaces, _similar.Report))
            given = rows if in_order else lambda stage, part: sorted(map(repr, rows(stage, part)))
            found = given(stage, part)
            for other in orders(part):
                assert given(stage, other) == found, type(stage).__name__
        return super().map(data, stage)


def fingerprints(values: list[int]) -> pa.Table:
    """Records, of which a tenth have the fingerprint of another one, and some have none."""
    array = _columns.to_arrow(np.array(values, dtype=np.uint64)).to_pylist()
    array += [*array[: len(array) // 10], None, None]
    return pa.table({"fingerprint": pa.array(array, pa.int64()), "id": [f"d{i:05}" for i in range(len(array))]})


def of_fingerprints(tried: Tried, tmp_path: Path) -> None:
    values = near_values(64, 2000, 4)
    table = fingerprints(values)
    blocks = table.to_batches(max_chunksize=150)
    tried.reduces(_segments.Sample("fingerprint"), blocks)
    distinct = _pairs.Distinct()
    collapsed = tried.sends(_pairs.Collapse("fingerprint", PLACES), blocks, lambda sent: rows(distinct, sent))
    packed = tried.reduces(distinct, collapsed)
    known = [row for block in packed for row in block.to_pylist() if row["count"]]
    profile = _pairs.Profile.of((row["part"], row["count"], row["varying"], row["sample"]) for row in known)
    meeting = _pairs.Meeting.of(profile, 3, PLACES)
    assert meeting is not None
    assert not meeting.sends_all
    met = tried.maps(_pairs.Send(meeting), packed)
    assert len(tried.reduces(_pairs.Find(meeting), met)) > 1
    links = tried.reduces(_pairs.Find(meeting, links=True), met)
    labels = tried.reduces(_components.Unite(64, PLACES), links)
    edges = tried.maps(_components.Links(64, PLACES), links)
    for _ in range(6):
        large = tried.reduces(_components.Star(64, PLACES, is_large=True), edges)
        edges = tried.reduces(_components.Star(64, PLACES, is_large=False), large)
    tried.reduces(Stars(64), edges)
    tried.reduces(_components.Unite(64, PLACES), edges)

    members = _components.Members("fingerprint", 64, PLACES)
    sent = tried.sends(_messages.SendRecords("fingerprint", PLACES), blocks, lambda sent: rows(members, sent + labels))
    together = tried.reduces(members, sent + labels)
    clusters = tried.reduces(_components.Together(64, pa.string()), together)
    tried.maps(Dropped(pa.string()), [piece for block in clusters for piece in pa.table(block).to_batches(500)])

    splits = _segments.Splits.of([(64, len(values), np.array(values, dtype=np.uint64).tobytes())], 3)
    build = _segments.Build(str(tmp_path), {"k": 3, "threads": 1})
    ranges = tried.sends(_segments.Range("fingerprint", "id", splits), blocks, lambda sent: rows(build, sent))
    built = [row for block in tried.reduces(build, ranges) for row in block.to_pylist()]
    _segments.commit(str(tmp_path), [row["manifest"] for row in built], {})

    listed = _segments.segments_of(str(tmp_path))
    segments = [pa.RecordBatch.from_pylist([{"name": name, "content": content}]) for name, content in listed]
    stored = tried.maps(_join.Records(str(tmp_path), 64, pa.string()), segments)
    queries = [row for row in packed if row.num_rows][:3]
    asked = [
        pa.RecordBatch.from_pylist([{"name": name, "content": content, "data": query.column("data")[0].as_py()}])
        for name, content in listed
        for query in queries
    ]
    tried.maps(_segments.Search(str(tmp_path), 64, pa.string(), 3), asked)
    spread = tried.maps(_join.Spread(PLACES), queries)
    met = each(_pairs.Send(meeting, QUERIES), queries) + each(_pairs.Send(meeting, STORED), packed)
    near = tried.reduces(_join.Meet(meeting, PLACES), met)
    sent = each(_messages.SendRecords("fingerprint", PLACES), stored) + spread + near
    # These rows are a result, which has no order.
    attach = _join.Attach(64, pa.string())
    tried.names.add("Attach")
    found, *others = (sorted(map(repr, rows(attach, blocks))) for blocks in [sent, *orders(sent)])
    assert others == [found, found]
    groups = [[listed[at], listed[(at + 1) % len(listed)]] for at in range(3)]
    merges = [
        pa.RecordBatch.from_pylist(
            [{"place": at, "names": [s.name for s in group], "contents": [s.content for s in group]}]
        )
        for at, group in enumerate(groups)
    ]
    tried.maps(_segments.Compact(str(tmp_path), {"threads": 1}), merges)
    index = [str(tmp_path / segment.name) for segment in listed]
    tried.maps(_against.NearIndex(index, "id", pa.string(), 64, pa.string(), 3), blocks)


def of_texts(tried: Tried, program: Program, tmp_path: Path) -> None:
    made = Pipeline("web")
    texts = documents(600, 3)
    ids = [f"d{i:05}" for i in range(len(texts))]
    blocks = pa.table({"id": ids, "text": texts}).to_batches(max_chunksize=40)
    prints = tried.maps(_texts.Prints("id", "text", pa.string(), made, True), blocks)

    numbered = [block.set_column(0, "id", pa.array(range(block.num_rows))) for block in blocks]
    tried.maps(_similar.Lengths(), numbered)
    table = pa.table({"id": ids, "length": [len(text.encode()) for text in texts]})
    similar: _engine.Similar[list[Blocks]] = _engine.Similar(Reordering(tried), pa.string(), 0.4, 2, made)
    lengths = [[block] for block in table.to_batches(max_chunksize=40)]
    assert similar.report([[block] for block in blocks], lengths, PLACES, False, 150)
    assert similar.report([[block] for block in blocks[:2]], lengths[:2], PLACES, True, 150)

    documents_ = [block.drop_columns(["identity"]) for block in prints]
    collapsed = each(_pairs.Collapse("fingerprint", PLACES), documents_)
    known = [row for row in rows(_pairs.Distinct(), collapsed) if row["count"]]
    profile = _pairs.Profile.of((row["part"], row["count"], row["varying"], row["sample"]) for row in known)
    meeting = _pairs.Meeting.of(profile, 8, PLACES)
    assert meeting is not None
    links = _pairs.Find(meeting, links=True)(iter(each(_pairs.Send(meeting), list(_pairs.Distinct()(iter(collapsed))))))
    labels = list(_components.Unite(64, PLACES)(links))
    near = _components.Members("fingerprint", 64, PLACES)
    together = tried.reduces(near, each(_messages.SendRecords("fingerprint", PLACES), documents_) + labels)
    tried.reduces(_components.Together(64, pa.string(), longest=True), together)

    program("build", write(tmp_path / "old.jsonl", list(zip(ids, texts, strict=True))), "-o", "old", "--sketch", "128")
    facts = (pa.string(), 64, pa.string(), 0.8, 3, made)
    tried.maps(_against.SimilarToIndex([str(tmp_path / "old")], ("id", "text"), *facts), blocks)


def test_no_stage_depends_on_the_order_of_blocks(
    tmp_path: Path, program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried = Tried()
    # Several places have the fingerprints of a round.
    monkeypatch.setattr(_pairs, "PLACE", 500)
    monkeypatch.setattr(_similar, "LEAST_TEXTS", 100)
    monkeypatch.setattr(_similar, "FOLLOWERS", 2)
    (tmp_path / "set").mkdir()
    of_fingerprints(tried, tmp_path / "set")
    of_texts(tried, program, tmp_path)
    stages = {
        name
        for module in MODULES
        for name, kind in vars(module).items()
        if isinstance(kind, type) and kind.__module__ == module.__name__ and not name.startswith("_")
        # Only what is a stage can be called.
        if any("__call__" in vars(base) for base in kind.__mro__)
    }
    assert tried.names == stages
