"""Accepted and refused types of fingerprints and ids."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import simidx
from conftest import as_array, sample

VALUES = sample(64, 200, 30)
ARRAY = as_array(VALUES, 64)


def columns() -> list[Any]:
    """The same fingerprints in many shapes."""
    pa = pytest.importorskip("pyarrow")
    pl = pytest.importorskip("polars")
    pd = pytest.importorskip("pandas")
    strided = np.zeros(400, dtype=np.uint64)
    strided[::2] = ARRAY
    frozen = ARRAY.copy()
    frozen.setflags(write=False)
    buffer: Any = ARRAY
    odd = np.frombuffer(b"x" + ARRAY.tobytes(), dtype=np.uint8)[1:].view(np.uint64)
    return [
        ARRAY,
        frozen,
        odd,
        strided[::2],
        ARRAY[::-1][::-1],
        ARRAY.astype(">u8"),
        ARRAY.astype(object),
        VALUES,
        tuple(VALUES),
        iter(VALUES),
        list(ARRAY),
        [f"{value:016x}" for value in VALUES],
        [f"0x{value:016X}" for value in VALUES],
        np.array([f"{value:016x}" for value in VALUES]),
        pa.array(ARRAY),
        pa.chunked_array([ARRAY[:7], ARRAY[7:]]),
        pa.array(np.concatenate([ARRAY[:3], ARRAY]))[3:],
        pa.table({"fingerprint": ARRAY}),
        pa.array([f"{value:016x}" for value in VALUES]),
        pl.Series(VALUES, dtype=pl.UInt64),
        pl.DataFrame({"fingerprint": ARRAY}),
        pl.Series([f"{value:016x}" for value in VALUES]),
        pd.Series(ARRAY),
        pd.Series(VALUES, dtype="UInt64"),
        pd.Index(ARRAY),
        memoryview(buffer),
    ]


def test_all_shapes_are_the_same_fingerprints(tmp_path: Path) -> None:
    expected = simidx.clusters(ARRAY).tolist()
    index = simidx.build(tmp_path / "a.simidx", ARRAY)
    for column in columns():
        if not hasattr(column, "__next__"):
            assert index.contains(column, 0).all(), type(column)
        assert simidx.clusters(column).tolist() == expected, type(column)


def test_duckdb_is_read() -> None:
    duckdb = pytest.importorskip("duckdb")
    pa = pytest.importorskip("pyarrow")
    rows = pa.table({"fingerprint": ARRAY})
    assert rows.num_rows == 200
    relation = duckdb.sql("select fingerprint from rows")
    assert simidx.clusters(relation).tolist() == simidx.clusters(ARRAY).tolist()


def test_other_widths() -> None:
    pa = pytest.importorskip("pyarrow")
    for width in (32, 128):
        values = sample(width, 100, 31)
        array = as_array(values, width)
        expected = simidx.clusters(array).tolist()
        same: list[Any] = [[f"{value:0{width // 4}x}" for value in values]]
        if width == 32:
            same += [pa.array(array), simidx_signed(array)]
        else:
            same += [pa.array([value.to_bytes(16, "big") for value in values], pa.binary(16))]
        for column in same:
            assert simidx.clusters(column, signed=True).tolist() == expected
        assert simidx.clusters(values, width=width).tolist() == expected


def simidx_signed(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The same bits with a sign."""
    return array.view(array.dtype.name.removeprefix("u"))


def test_signs_have_to_be_said() -> None:
    pa = pytest.importorskip("pyarrow")
    signed = simidx_signed(ARRAY)
    expected = simidx.clusters(ARRAY).tolist()
    for column in (signed, pa.array(signed), signed.tolist()):
        with pytest.raises(simidx.InputError, match="signed=True"):
            simidx.clusters(column)
        assert simidx.clusters(column, signed=True).tolist() == expected


def wrong_fingerprints() -> list[Any]:
    """Values that every function refuses."""
    pa = pytest.importorskip("pyarrow")
    pl = pytest.importorskip("polars")
    pd = pytest.importorskip("pandas")
    return [
        None,
        5,
        1.5,
        "0123456789abcdef",
        b"12345678",
        object(),
        {1.5: 2},
        [None],
        [1.5],
        [float("nan")],
        [True],
        [[1]],
        ["0123"],
        ["zzzzzzzzzzzzzzzz"],
        ["0123456789abcdef", "01234567"],
        [1, "zz"],
        [2**64],
        [-1],
        np.array([1.0, np.nan]),
        np.array([1], dtype=np.float32),
        np.array([True]),
        np.array([1], dtype=np.uint8),
        np.array([1], dtype=np.uint16),
        np.array([1], dtype=np.int64),
        np.array([1 + 2j]),
        np.array(["2026-01-01"], dtype="datetime64[s]"),
        np.array([b"12345678"]),
        np.array(7, dtype=np.uint64),
        np.zeros((2, 3), dtype=np.uint64),
        np.zeros((2, 2, 2), dtype=np.uint64),
        np.zeros((4, 8), dtype=np.uint8),
        np.ma.masked_array([1, 2], mask=[False, True], dtype=np.uint64),
        np.array([None, 1]),
        pa.array([1.5]),
        pa.array([1, None], pa.uint64()),
        pa.array([1], pa.int64()),
        pa.array([True]),
        pa.array([[1]]),
        pa.array([b"123"]),
        pa.table({"a": ARRAY, "b": ARRAY}),
        pl.Series([1, None], dtype=pl.UInt64),
        pl.Series([1.5]),
        pd.Series([1, None], dtype="UInt64"),
        pd.Series([1.5]),
    ]


def test_everything_else_is_refused_with_a_remedy(tmp_path: Path) -> None:
    index = simidx.build(tmp_path / "a.simidx", ARRAY)
    for wrong in wrong_fingerprints():
        for call in (
            simidx.clusters,
            simidx.dedup,
            simidx.pairs,
            index.query,
            index.contains,
            index.nearest,
            index.join,
        ):
            with pytest.raises(simidx.InputError) as refused:
                call(wrong)
            assert len(str(refused.value)) > 20
        with pytest.raises(simidx.InputError):
            simidx.build(tmp_path / "b.simidx", wrong)
    assert not (tmp_path / "b.simidx").exists()


def test_other_widths_than_that_of_the_index_are_refused(tmp_path: Path) -> None:
    index = simidx.build(tmp_path / "a.simidx", ARRAY)
    for other in (ARRAY.astype(np.uint32), np.zeros((3, 2), dtype=np.uint64), ["01234567"]):
        with pytest.raises(simidx.InputError, match="bits"):
            index.query(other)
    ones: list[Any] = ["0123", "01234567", "\ud800", 2**64, -1, 1.5, None, [5], b"x"]
    for one in ones:
        with pytest.raises(simidx.InputError):
            index.query_one(one)
        with pytest.raises(simidx.InputError):
            _ = one in index


def test_ids_in_many_shapes(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    pl = pytest.importorskip("polars")
    pd = pytest.importorskip("pandas")
    numbers = list(range(200))
    strings = [f"d{number}" for number in numbers]
    path = tmp_path / "a.simidx"
    shapes: list[Any] = [
        numbers,
        np.arange(200),
        np.arange(200, dtype=np.uint8),
        pa.array(numbers),
        pa.array(numbers, pa.uint64()),
        pa.chunked_array([numbers[:5], numbers[5:]], pa.int32()),
        pl.Series(numbers),
        pd.Series(numbers),
        "rows",
    ]
    for ids in shapes:
        assert simidx.build(path, ARRAY, ids).ids_of(VALUES[9]) == [n for n in numbers if VALUES[n] == VALUES[9]]
    for ids in (strings, np.array(strings), pa.array(strings), pl.Series(strings), pd.Series(strings)):
        assert simidx.build(path, ARRAY, ids).ids_of(VALUES[9]) == [
            strings[n] for n in numbers if VALUES[n] == VALUES[9]
        ]
    wrong: list[Any] = [
        5,
        "names",
        [1] * 199,
        ["a"] * 201,
        [-1] * 200,
        [1.5] * 200,
        [None] * 200,
        ["a"] * 199 + [5],
        ["a"] * 199 + ["\ud800"],
        ["x" * 70_000] * 200,
        [True] * 200,
        np.zeros((200, 2), dtype=np.int64),
        np.full(200, -1),
        np.zeros(200),
        pa.array([None] * 200, pa.int64()),
        pa.array([-5] * 200),
        pa.array([1.5] * 200),
    ]
    before = path.read_bytes()
    for ids in wrong:
        with pytest.raises(simidx.InputError):
            simidx.build(path, ARRAY, ids)
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    "options",
    [
        {"k": -1},
        {"k": 200},
        {"k": "3"},
        {"k": True},
        {"k": 1.5},
        {"k": 100},
        {"tables": 7},
        {"tables": -1},
        {"memory": "much"},
        {"memory": -1},
        {"memory": 1.5},
        {"codec": "zip"},
        {"block_size": 500},
        {"width": 65},
        {"threads": -1},
        {"threads": 10**6},
        {"threads": "2"},
        {"metadata": {"": "x"}},
        {"pipeline": "wbe"},
    ],
)
def test_options_out_of_range(tmp_path: Path, options: dict[str, Any]) -> None:
    with pytest.raises(simidx.OptionError):
        simidx.build(tmp_path / "a.simidx", ARRAY, **options)
    assert list(tmp_path.iterdir()) == []


def test_too_little_memory(tmp_path: Path) -> None:
    with pytest.raises(simidx.Error, match="memory"):
        simidx.build(tmp_path / "a.simidx", ARRAY, memory=1000)


def test_the_hints_for_packed_bits_give_the_numbers_of_the_hexadecimal_strings() -> None:
    """An image hash prints its first bit as the highest one."""
    bits = np.random.default_rng(5).random((50, 64)) < 0.5
    hexadecimal = [
        "".join(f"{int(''.join(str(int(b)) for b in row[i : i + 4]), 2):x}" for i in range(0, 64, 4)) for row in bits
    ]
    packed = np.packbits(bits, axis=1)
    assert packed.view(">u8").astype("uint64")[:, 0].tolist() == [int(text, 16) for text in hexadecimal]
    for array, start in ((bits, "numpy.packbits(array, axis=1)"), (packed, "array")):
        with pytest.raises(simidx.InputTypeError) as caught:
            simidx.dedup(array)
        hint = str(caught.value).split(" by ")[1]
        assert hint.startswith(start)
        found = eval(hint, {"numpy": np, "array": array})
        assert simidx.clusters(found).tolist() == simidx.clusters(hexadecimal).tolist()
        assert found.tolist() == [int(text, 16) for text in hexadecimal]


def test_values_that_are_not_there_are_refused(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    rows = pa.array([{"f": 1}, None, {"f": 3}], pa.struct([("f", pa.uint64())]))
    with pytest.raises(simidx.InputError, match="row 1 is null"):
        simidx.clusters(rows)
    masked = np.ma.masked_array([10, 20, 30], mask=[False, True, False])
    for refused in (masked, {"a", "b", "c"}, {"a": 1, "b": 2, "c": 3}):
        with pytest.raises(simidx.InputTypeError, match="ids: "):
            simidx.build(tmp_path / "a.simidx", [1, 2, 3], ids=refused)
        with pytest.raises(simidx.InputTypeError, match="priority: "):
            simidx.dedup([1, 2, 3], priority=refused)


def test_columns_that_arrow_cannot_convert_are_lists(tmp_path: Path) -> None:
    pd = pytest.importorskip("pandas")
    pa = pytest.importorskip("pyarrow")
    large = pd.Series([2**63 + 1, 2**63 + 1], dtype=object)
    assert simidx.clusters(large).tolist() == [0, 0]
    with simidx.build(tmp_path / "a.simidx", [1, 2], ids=large) as index:
        assert index.ids_of(1) == [2**63 + 1]
    with pytest.raises(simidx.InputError, match="some ids are numbers"):
        simidx.build(tmp_path / "b.simidx", [1, 2], ids=pd.Series(["a", 1], dtype=object))
    assert simidx.clusters(list(pa.array([1, 1], pa.uint64()))).tolist() == [0, 0]
    assert simidx.clusters([-5, -5], width=128, signed=True).tolist() == [0, 0]


def test_a_column_of_nulls() -> None:
    pl = pytest.importorskip("polars")
    assert simidx.dedup_texts(pl.Series([])).tolist() == []
    assert simidx.dedup(pl.Series([])).tolist() == []
    with pytest.raises(simidx.InputError, match="row 0 is null"):
        simidx.dedup_texts(pl.Series([None, None]))
