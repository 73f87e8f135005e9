"""Answers as tables: the columns of matches and pairs, in each library that takes them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import simidx
from conftest import as_array, as_ints, sample

pa: Any = pytest.importorskip("pyarrow")
pl: Any = pytest.importorskip("polars")
pd: Any = pytest.importorskip("pandas")


def built(folder: Path, width: int, ids: str) -> tuple[simidx.Index, npt.NDArray[Any]]:
    """An index with ids of a kind, and queries of which the last finds nothing."""
    values = sample(width, 300, 61)
    given: dict[str, Any] = {"none": None, "number": range(1000, 1300), "string": [f"row {i}" for i in range(300)]}
    index = simidx.build(folder / "a.simidx", as_array(values, width), given[ids])
    return index, as_array([*values[:50], 0x0F0F0F0F], width)


def plain(found: simidx.Matches) -> dict[str, list[Any]]:
    """The columns one by one, by what else there is."""
    offsets, ranks = found.offsets.tolist(), found.ranks.tolist()
    queries = [query for query in range(found.query_count) for _ in range(offsets[query + 1] - offsets[query])]
    values = as_ints(found.fingerprints)
    return {
        "query": queries,
        "rank": ranks,
        "fingerprint": [value.to_bytes(16, "big") for value in values] if found.fingerprints.ndim == 2 else values,
        "distance": found.distances.tolist(),
        "ids": found.ids(),
    }


@pytest.mark.parametrize("ids", ["none", "number", "string"])
def test_matches_are_a_table(tmp_path: Path, width: int, ids: str) -> None:
    index, queries = built(tmp_path, width, ids)
    found: list[simidx.Matches] = [index.query(queries, 5), index.nearest(queries, 3), index.join(queries, 5)]
    for matches in found:
        expected = plain(matches)
        assert len(expected["query"]) > 50
        if ids == "none":
            assert not any(expected.pop("ids"))
        for table in (pa.table(matches), matches.to_arrow()):
            assert table.to_pydict() == expected
            assert table.schema == pa.schema(matches)
        for frame in (pl.DataFrame(matches), matches.to_polars()):
            assert frame.to_dict(as_series=False) == expected
        frame = matches.to_pandas()
        assert {name: frame[name].tolist() for name in frame.columns} == expected
        kinds = {"distance": "uint8", "query": "int64", "rank": "int64"}
        assert {name: str(frame[name].dtype) for name in kinds} == kinds


def test_types_do_not_depend_on_what_was_found(tmp_path: Path, width: int) -> None:
    fingerprint = {32: pa.uint32(), 64: pa.uint64(), 128: pa.binary(16)}[width]
    for ids, item in (("number", pa.uint64()), ("string", pa.large_string())):
        index, queries = built(tmp_path, width, ids)
        for matches in (index.query(queries[:0]), index.query(queries[-1:], 0), index.query(queries)):
            schema = pa.table(matches).schema
            assert schema.names == ["query", "rank", "fingerprint", "distance", "ids"]
            assert schema.types[:4] == [pa.int64(), pa.int64(), fingerprint, pa.uint8()]
            assert schema.types[4].value_type == item
            assert not any(field.nullable for field in schema)
            assert matches.to_pandas().columns.tolist() == schema.names
            assert matches.to_polars().columns == schema.names


def test_what_comes_out_goes_in(tmp_path: Path, width: int) -> None:
    index, queries = built(tmp_path, width, "string")
    found = index.query(queries, 5)
    table = found.to_arrow()
    assert index.contains(table["fingerprint"], 0).all()
    assert index.contains(found.to_polars()["fingerprint"].to_arrow().cast(table["fingerprint"].type), 0).all()
    with pytest.raises(simidx.InputTypeError, match="a table with 5 columns"):
        index.query(found)


def test_a_table_outlives_its_index(tmp_path: Path) -> None:
    index, queries = built(tmp_path, 64, "string")
    found = index.query(queries, 5)
    expected, table = plain(found), found.to_arrow()
    index.close()
    del index, found
    assert table.to_pydict() == expected


def test_pairs_are_tables(width: int) -> None:
    array = as_array(sample(width, 400, 62), width)
    for pairs in (simidx.pairs(array, 5), simidx.pairs(array, 5, rows=True)):
        left, right, distance = pairs
        assert (left is pairs.left, right is pairs.right, distance is pairs.distance) == (True,) * 3
        columns = [left, right, distance]
        expected = [
            [row.astype(">u8").tobytes() for row in column] if column.ndim == 2 else column.tolist()
            for column in columns
        ]
        assert len(expected[0]) > 50
        names = ["left", "right", "distance"]
        assert pairs.to_arrow().to_pydict() == dict(zip(names, expected, strict=True))
        assert pairs.to_polars().to_dict(as_series=False) == dict(zip(names, expected, strict=True))
        frame = pairs.to_pandas()
        assert {name: frame[name].tolist() for name in frame.columns} == dict(zip(names, expected, strict=True))


def test_pairs_of_texts_are_tables() -> None:
    texts = ["one two three four five", "two three four five six", "one two three four five"]
    pairs = simidx.pairs_texts(texts, 0.2)
    expected = {"left": [0, 0, 1], "right": [1, 2, 2], "similarity": [0.5, 1.0, 0.5]}
    assert pairs.to_arrow().to_pydict() == expected
    assert pairs.to_polars().to_dict(as_series=False) == expected
    assert pairs.to_pandas().to_dict("list") == expected
    assert pairs.similarity.dtype == np.float64


def test_libraries_are_imported_when_they_are_used(tmp_path: Path) -> None:
    code = """
import sys, numpy, simidx
index = simidx.build(sys.argv[1], [1, 2, 3])
found, pairs = index.query([1]), simidx.pairs([1, 2])
loaded = lambda: [name for name in ("pandas", "polars", "pyarrow") if name in sys.modules]
assert loaded() == [], loaded()
found.to_polars(), pairs.to_polars()
assert loaded() == ["polars"], loaded()
sys.modules["pandas"] = None
try:
    found.to_pandas()
except ImportError as error:
    print(type(error).__name__)
"""
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "a.simidx")], capture_output=True, text=True, check=False
    )
    assert done.stdout == "ModuleNotFoundError\n", done.stderr
