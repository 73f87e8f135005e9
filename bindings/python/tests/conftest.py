"""Shared by the tests: seeded fingerprints with near ones among them, and plain versions of the searches."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

Ints = list[int]


def as_ints(array: npt.NDArray[Any]) -> Ints:
    """Fingerprints as integers, also those in two columns."""
    if array.ndim == 2:
        return [int(high) << 64 | int(low) for high, low in array]
    return [int(value) for value in array]


def as_array(values: Ints, width: int) -> npt.NDArray[Any]:
    """Integers as the array of their width."""
    if width == 128:
        rows = [[value >> 64, value & (2**64 - 1)] for value in values]
        return np.array(rows, dtype=np.uint64).reshape(-1, 2)
    return np.array(values, dtype=f"uint{width}")


def sample(width: int, count: int, seed: int) -> Ints:
    """Fingerprints of which half are near to another one, and some are equal."""
    rng = np.random.default_rng(seed)
    values: Ints = []
    while len(values) < count:
        base = int.from_bytes(rng.bytes(width // 8), "little")
        values.append(base)
        for _ in range(int(rng.integers(0, 3))):
            flipped = base
            for bit in rng.choice(width, int(rng.integers(0, 6)), replace=False):
                flipped ^= 1 << int(bit)
            values.append(flipped)
    values = values[:count]
    return [values[i] for i in rng.permutation(count)]


def distance(x: int, y: int) -> int:
    """Number of bits in which two differ."""
    return (x ^ y).bit_count()


@pytest.fixture(params=[32, 64, 128])
def width(request: pytest.FixtureRequest) -> int:
    """Each of the three widths."""
    return int(request.param)
