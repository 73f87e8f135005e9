"""Fingerprints in Arrow columns, and as arrays of unsigned numbers.

Engines on the JVM have no unsigned numbers. There, a 64-bit fingerprint is an ``int64`` with the same bits, a 32-bit
one an ``int32``, and a 128-bit one binary of 16 bytes, most significant first.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from simidx import InputError, InputTypeError, OptionError, _simidx

Array = npt.NDArray[Any]

_TYPES = {32: pa.int32(), 64: pa.int64(), 128: pa.binary(16)}
_DTYPES: dict[int, np.dtype[Any]] = {32: np.dtype("<u4"), 64: np.dtype("<u8"), 128: np.dtype("<u8")}


def arrow_type(width: int) -> pa.DataType:
    """The type of a column of fingerprints with this number of bits."""
    if width not in _TYPES:
        raise OptionError(f"width={width}: fingerprints have 32, 64 or 128 bits")
    return _TYPES[width]


def width_of(type: pa.DataType) -> int:
    """The width of the fingerprints in a column of this type."""
    if type in (pa.int32(), pa.uint32()):
        return 32
    if type in (pa.int64(), pa.uint64()) or _is_decimal(type):
        return 64
    if pa.types.is_fixed_size_binary(type) and type.byte_width == 16:
        return 128
    if pa.types.is_binary(type) or pa.types.is_large_binary(type) or pa.types.is_binary_view(type):
        return 128
    raise InputTypeError(
        f"fingerprints of type {type}: pass int64 (or int32) with the bits of unsigned numbers, "
        "decimal(20,0) as unsigned columns of Parquet are read, or binary of 16 bytes"
    )


def with_fingerprints(rows: Any, column: str) -> Any:
    """Returns the rows of a table or a batch that have a fingerprint. It is null for texts without features."""
    values = rows.column(column)
    return rows.filter(values.is_valid()) if values.null_count else rows


def _is_decimal(type: pa.DataType) -> bool:
    return bool(pa.types.is_decimal128(type) and type.precision == 20 and type.scale == 0)


def from_arrow(column: pa.Array | pa.ChunkedArray) -> Array:
    """Returns the fingerprints of a column: ``uint32``, ``uint64``, or two columns of ``uint64``, high half first."""
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    width = width_of(column.type)
    if column.null_count:
        row = int(np.flatnonzero(column.is_null().to_numpy(zero_copy_only=False))[0])
        raise InputError(f"row {row} of a batch has no fingerprint: filter rows whose fingerprint is null")
    if width == 128:
        return _from_binary(column)
    if _is_decimal(column.type):
        return _from_decimal(column)
    array = column.to_numpy(zero_copy_only=False)
    return np.ascontiguousarray(array).view(_DTYPES[width])


def distinct_values(values: Array) -> Array:
    """Returns distinct unsigned numbers in order.

    Since NumPy 2.3, `np.unique` hashes numbers, and is slow where hashes collide.
    """
    distinct, _ = _simidx.distinct(np.ascontiguousarray(values))
    return distinct


def is_among(values: Array, others: Array) -> Array:
    """Returns whether each number is one of the others."""
    found: Array = _simidx.lookup(distinct_values(others), np.ascontiguousarray(values)) >= 0
    return found


def _from_decimal(column: pa.Array) -> Array:
    data = column.buffers()[1]
    words = np.frombuffer(data, dtype="<u8").reshape(-1, 2)[column.offset : column.offset + len(column)]
    if words[:, 1].any():
        row = int(np.flatnonzero(words[:, 1])[0])
        raise InputError(f"fingerprint {column[row]} is not an unsigned number of 64 bits")
    return np.ascontiguousarray(words[:, 0])


def _from_binary(column: pa.Array) -> Array:
    if not pa.types.is_fixed_size_binary(column.type):
        lengths = np.array([len(value.as_py()) for value in column[:1]])
        try:
            if len(lengths) and lengths[0] != 16:
                raise pa.ArrowInvalid
            column = column.cast(pa.binary(16))
        except pa.ArrowInvalid:
            raise InputError("a fingerprint of binary type has not 16 bytes") from None
    data = column.buffers()[1]
    halves = np.frombuffer(data, dtype=">u8").reshape(-1, 2) if data else np.empty((0, 2), ">u8")
    return np.ascontiguousarray(halves[column.offset : column.offset + len(column)].astype("<u8"))


def to_arrow(array: Array) -> pa.Array:
    """Returns a column of fingerprints: the inverse of `from_arrow`."""
    if array.ndim == 2:
        data = array.astype(">u8").tobytes()
        return pa.Array.from_buffers(pa.binary(16), len(array), [None, pa.py_buffer(data)])
    signed = np.ascontiguousarray(array).view("i4" if array.dtype.itemsize == 4 else "i8")
    return pa.array(signed)


def width_of_array(array: Array) -> int:
    """The width of the fingerprints of an array."""
    return 128 if array.ndim == 2 else 8 * array.dtype.itemsize


def pack(array: Array) -> bytes:
    """Returns the bytes of an array of fingerprints, for a message."""
    return array.tobytes()


def unpack(data: Any, width: int) -> Array:
    """Returns the fingerprints of packed bytes."""
    array = np.frombuffer(data, dtype=_DTYPES[width])
    return array.reshape(-1, 2) if width == 128 else array


def empty(width: int) -> Array:
    """Returns an empty array of fingerprints."""
    return unpack(b"", width)


def distances(left: Array, right: Array) -> Array:
    """Returns the number of bits in which fingerprints differ, row by row."""
    counts = np.bitwise_count(left ^ right)
    return counts.sum(axis=1, dtype=np.int32) if counts.ndim == 2 else counts.astype(np.int32)


def distances_of(left: pa.Array, right: pa.Array) -> pa.Array:
    """Returns the distances between the fingerprints of two columns; null where one is null."""
    if width_of(left.type) != width_of(right.type):
        raise InputTypeError(f"fingerprints of types {left.type} and {right.type}: both must have the same width")
    both = pc.and_(left.is_valid(), right.is_valid())
    rows = both.to_numpy(zero_copy_only=False)
    found = np.zeros(len(rows), np.int32)
    found[rows] = distances(from_arrow(left.filter(both)), from_arrow(right.filter(both)))
    return pa.array(found, mask=~rows)


def as_int(array: Array, row: int) -> int:
    """Converts one fingerprint to a number."""
    if array.ndim == 2:
        return int(array[row, 0]) << 64 | int(array[row, 1])
    return int(array[row])
