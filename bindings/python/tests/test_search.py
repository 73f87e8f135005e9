"""Searches against plain ones over all fingerprints."""

from __future__ import annotations

import itertools
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import simidx
from conftest import as_array, as_ints, distance, sample


def near(values: set[int], query: int, k: int) -> list[tuple[int, int]]:
    """The matches of a query in order: distance and value."""
    found = ((distance(value, query), value) for value in values)
    return sorted((d, value) for d, value in found if d <= k)


def answers(matches: simidx.Matches) -> list[list[tuple[int, int]]]:
    """The matches of each query: distance and value."""
    values = as_ints(matches.fingerprints)
    pairs = list(zip(map(int, matches.distances), values, strict=True))
    bounds = [int(offset) for offset in matches.offsets]
    return [pairs[a:b] for a, b in itertools.pairwise(bounds)]


def test_queries_find_what_a_scan_finds(tmp_path: Path, width: int) -> None:
    values = sample(width, 1500, 1)
    index = simidx.build(tmp_path / "a.simidx", as_array(values, width))
    assert (index.width, index.k, index.record_count) == (width, 3, 1500)
    assert len(index) == len(set(values))
    queries = values[:40] + sample(width, 10, 2)
    array = as_array(queries, width)
    for k in (0, 1, 3, 7):
        expected = [near(set(values), query, k) for query in queries]
        assert answers(index.query(array, k)) == expected
        assert answers(index.query(array, k, threads=2)) == expected
        assert answers(index.join(array, k)) == expected
        assert index.contains(array, k).tolist() == [bool(e) for e in expected]
    assert answers(index.query(array)) == answers(index.query(array, 3))
    expected = [near(set(values), query, width)[:3] for query in queries]
    assert answers(index.nearest(array, 3)) == expected
    expected = [near(set(values), query, 4)[:3] for query in queries]
    assert answers(index.nearest(array, 3, max_distance=4)) == expected
    assert all(value in index for value in values[:20])
    assert as_ints(index.fingerprints()) == sorted(set(values))


def test_results_have_the_documented_types(tmp_path: Path, width: int) -> None:
    array = as_array(sample(width, 100, 3), width)
    found = simidx.build(tmp_path / "a.simidx", array).query(array)
    assert found.offsets.dtype == np.int64
    assert len(found.offsets) == 101
    assert found.distances.dtype == np.uint8
    assert found.ranks.dtype == np.int64
    assert found.ranks is found.ranks
    assert found.fingerprints.dtype == array.dtype
    assert found.fingerprints.shape[1:] == array.shape[1:]
    assert (found.query_count, found.match_count) == (100, len(found.distances))
    # They are not faiss's `lims, D, I`: ranks are not rows.
    with pytest.raises(TypeError):
        _, _, _ = found  # type: ignore[misc]
    assert found.counts.tolist() == np.diff(found.offsets).tolist()
    assert found.queries.tolist() == np.repeat(np.arange(100), found.counts).tolist()


@pytest.mark.parametrize("kind", ["number", "string", "rows"])
def test_ids_come_back(tmp_path: Path, width: int, kind: str) -> None:
    values = sample(width, 600, 4)
    ids: list[Any] = [7 * row for row in range(600)]
    given: Any = ids
    if kind == "string":
        ids = [f"döc {row}" for row in range(600)]
        given = ids
    elif kind == "rows":
        ids = list(range(600))
        given = "rows"
    index = simidx.build(tmp_path / "a.simidx", as_array(values, width), given, id_lookup=kind != "rows")
    assert index.id_kind == ("string" if kind == "string" else "number")
    queries = values[:30]
    found = index.query(as_array(queries, width))
    by_value: dict[int, list[Any]] = {}
    for value, name in zip(values, ids, strict=True):
        by_value.setdefault(value, []).append(name)
    expected = [sorted(by_value[value]) for value in as_ints(found.fingerprints)]
    assert found.ids() == expected
    pa = pytest.importorskip("pyarrow")
    assert pa.array(found.ids_arrow()).to_pylist() == expected
    one = index.query_one(queries[0])
    assert [(m.distance, m.fingerprint) for m in one] == near(set(values), queries[0], 3)
    assert [m.ids for m in one] == [sorted(by_value[m.fingerprint]) for m in one]
    of = found.of(0)
    assert [(m.fingerprint, m.distance, m.rank, m.ids) for m in of] == [
        (m.fingerprint, m.distance, m.rank, m.ids) for m in one
    ]
    assert index.query_one(one[0].hex)[0].fingerprint == one[0].fingerprint
    assert index.ids_of(queries[0]) == sorted(by_value[queries[0]])
    assert as_ints(index.fingerprints_of(ids[5])) == [values[5]]
    missing: Any = "nothing" if kind == "string" else 10**9
    assert len(index.fingerprints_of(missing)) == 0
    with pytest.raises(simidx.OptionError, match="the kind of the ids"):
        index.fingerprints_of(7 if kind == "string" else "7")


def test_ranks_are_places_in_order(tmp_path: Path, width: int) -> None:
    values = sorted(set(sample(width, 500, 5)))
    index = simidx.build(tmp_path / "a.simidx", as_array(values, width))
    found = index.query(as_array(values, width), 0)
    assert found.ranks.tolist() == list(range(len(values)))


def test_several_files_are_one(tmp_path: Path, width: int) -> None:
    values = sample(width, 900, 6)
    paths = [tmp_path / f"{part}.simidx" for part in range(3)]
    for part, path in enumerate(paths):
        rows = range(part, 900, 3)
        simidx.build(path, as_array([values[r] for r in rows], width), list(rows)).close()
    segments = simidx.open(paths)
    merged = simidx.merge(tmp_path / "all.simidx", paths)
    again = simidx.merge(tmp_path / "again.simidx", [segments], tables=1)
    queries = as_array(values[:60], width)
    expected = [near(set(values), value, 4) for value in values[:60]]
    for index in (segments, merged, again):
        found = index.query(queries, 4)
        assert answers(found) == expected
        assert found.ids() == merged.query(queries, 4).ids()
        assert index.record_count == 900
    assert len(again.info()["tables"]) == 1
    with pytest.raises(simidx.OptionError, match="rows"):
        simidx.merge(tmp_path / "no.simidx", merged, exclude_ids="rows")
    less = simidx.merge(tmp_path / "less.simidx", merged, exclude_ids=[0, 3], exclude_fingerprints=queries[1:2])
    assert less.record_count == 900 - len({0, 3} | {r for r in range(900) if values[r] == values[1]})
    # Places are counted on through the files.
    places = segments.query(queries, 0).ranks
    everything = np.concatenate([simidx.open(path).fingerprints() for path in paths])
    assert as_ints(everything[places]) == values[:60]


def test_an_empty_index_and_no_queries(tmp_path: Path, width: int) -> None:
    none = as_array([], width)
    index = simidx.build(tmp_path / "a.simidx", none)
    assert len(index) == 0
    assert index.query(as_array([5], width)).offsets.tolist() == [0, 0]
    found = index.query(none)
    assert found.offsets.tolist() == [0]
    assert found.ids() == []
    assert found.ranks.tolist() == []
    assert index.contains(none).tolist() == []


def test_options_of_a_build(tmp_path: Path) -> None:
    values = np.array(sample(64, 400, 7), dtype=np.uint64)
    index = simidx.build(
        tmp_path / "a.simidx",
        values,
        k=2,
        tables=3,
        memory="256MB",
        codec="gap",
        block_size=1024,
        metadata={"crawl": "2026"},
        pipeline="short",
        threads=1,
    )
    info = index.info()
    assert (index.k, info["table_count"], info["block_size"]) == (2, 3, 1024)
    assert {table["codec"] for table in info["tables"]} == {"gap"}
    assert info["metadata"] == {"crawl": "2026"}
    assert simidx.Pipeline.from_description(str(index.pipeline)) == simidx.Pipeline("short")
    assert info["record_count"] == 400
    assert info["file_bytes"] == (tmp_path / "a.simidx").stat().st_size
    with pytest.raises(simidx.OptionError, match="7"):
        simidx.build(tmp_path / "b.simidx", values, tables=7)
    assert not (tmp_path / "b.simidx").exists()


def test_all_records_come_out(tmp_path: Path, width: int) -> None:
    values = sample(width, 300, 77)
    array = as_array(values, width)
    kinds: list[Any] = [list(range(1000, 1300)), [f"id {row}" for row in range(300)]]
    for ids in kinds:
        first = simidx.build(tmp_path / "a.simidx", array[:200], ids[:200])
        simidx.build(tmp_path / "b.simidx", array[200:], ids[200:])
        both = simidx.open([tmp_path / "a.simidx", tmp_path / "b.simidx"])
        for index, count in ((first, 200), (both, 300)):
            found, found_ids = index.records()
            plain: Any = found_ids
            if isinstance(ids[0], str):
                plain = pytest.importorskip("pyarrow").array(found_ids).to_pylist()
            numbered = [one if isinstance(one, str) else int(one) for one in plain]
            pairs = list(zip(as_ints(found), numbered, strict=True))
            assert sorted(pairs) == sorted(zip(values[:count], ids[:count], strict=True))
            assert as_ints(found) == sorted(values[:count])
    bare = simidx.build(tmp_path / "c.simidx", array)
    found, found_ids = bare.records()
    assert as_ints(found) == sorted(set(values))
    assert found_ids is None


@pytest.mark.parametrize("kind", ["number", "string"])
def test_records_are_left_out(tmp_path: Path, width: int, kind: str) -> None:
    values = sample(width, 600, 9)
    ids: list[Any] = [row if kind == "number" else f"row {row}" for row in range(600)]
    paths = [tmp_path / f"{part}.simidx" for part in range(2)]
    for part, path in enumerate(paths):
        simidx.build(path, as_array(values[part::2], width), ids[part::2]).close()
    whole = simidx.open(paths)
    queries, expected = as_array(values[:80], width), whole.query(as_array(values[:80], width), 4).ids()
    gone = set(range(0, 600, 5))
    none = {values[1], values[2]}
    less = whole.without([ids[row] for row in gone])
    kept = [row for row in range(600) if row not in gone]
    kept_of_both = [row for row in kept if values[row] not in none]
    cases = [
        (less, kept),
        (less.without(fingerprints=as_array(sorted(none), width)), kept_of_both),
        (whole.without([ids[row] for row in gone], fingerprints=as_array(sorted(none), width)), kept_of_both),
        (whole.without([ids[0], ids[1], ids[2]], file=1), [row for row in range(600) if row != 1]),
    ]
    for index, rows in cases:
        by_value: dict[int, list[Any]] = {}
        for row in rows:
            by_value.setdefault(values[row], []).append(ids[row])
        plain = [near(set(by_value), value, 4) for value in values[:80]]
        found = index.query(queries, 4)
        assert answers(found) == plain
        assert found.ids() == [sorted(by_value[value]) for of_query in plain for _, value in of_query]
        assert answers(index.join(queries, 4)) == plain
        assert answers(index.nearest(queries, 1)) == [near(set(by_value), value, width)[:1] for value in values[:80]]
        assert index.contains(queries, 0).tolist() == [value in by_value for value in values[:80]]
        assert as_ints(index.fingerprints()) == sorted(by_value)
        assert as_ints(index.records()[0]) == sorted(values[row] for row in rows)
        assert as_ints(index.fingerprints_of(ids[0])) == ([values[0]] if 0 in rows else [])
        mask = simidx.dedup(queries, 0, against=index)
        assert not any(value in by_value for value, stays in zip(values[:80], mask.tolist(), strict=True) if stays)
        # A file that is made of it has what is left.
        merged = simidx.merge(tmp_path / "merged.simidx", index)
        assert merged.record_count == len(rows)
        assert answers(merged.query(queries, 4)) == plain
        assert repr(index).endswith(", some left out>")
        with pytest.raises(simidx.InputError, match="cannot be pickled"):
            pickle.dumps(index)
        with pytest.raises(simidx.InputError, match="is merged alone"):
            simidx.merge(tmp_path / "merged.simidx", [index, paths[0]])
    # The index that it was made of has all.
    assert whole.query(queries, 4).ids() == expected


def test_what_cannot_be_left_out_is_refused(tmp_path: Path) -> None:
    index = simidx.build(tmp_path / "a.simidx", [1, 2], [10, 20])
    wrong: list[dict[str, Any]] = [{"ids": ["10"]}, {"ids": "rows"}, {"ids": [10], "file": 1}]
    for given in wrong:
        with pytest.raises(simidx.OptionError):
            index.without(**given)
    with pytest.raises(simidx.InputError, match="32 bits"):
        index.without(fingerprints=np.ones(1, dtype=np.uint32))
    index.close()
    with pytest.raises(simidx.ClosedError):
        index.without([10])
