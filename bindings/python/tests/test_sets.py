"""Pairs, clusters and what is kept, against plain twins."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import simidx
from conftest import as_array, as_ints, distance, sample


def plain_labels(values: list[int], k: int) -> list[int]:
    """The first row of the cluster of each row."""
    labels = list(range(len(values)))
    for row, value in enumerate(values):
        for other in range(row):
            if distance(value, values[other]) <= k:
                low, high = sorted((labels[row], labels[other]))
                labels = [low if label == high else label for label in labels]
    return labels


@pytest.mark.parametrize("k", [0, 1, 3, 6])
def test_pairs_are_those_of_all_with_all(width: int, k: int) -> None:
    values = sample(width, 400, 10)
    array = as_array(values, width)
    left, right, distances = simidx.pairs(array, k)
    assert left.dtype == array.dtype
    assert distances.dtype == np.uint8
    distinct = sorted(set(values))
    expected = [
        (x, y, distance(x, y)) for i, x in enumerate(distinct) for y in distinct[i + 1 :] if distance(x, y) <= k
    ]
    assert list(zip(as_ints(left), as_ints(right), map(int, distances), strict=True)) == expected
    first, second, distances = simidx.pairs(array, k, rows=True)
    assert first.dtype == second.dtype == np.int64
    rows = [(i, j, distance(values[i], values[j])) for i in range(400) for j in range(i + 1, 400)]
    expected = [row for row in rows if row[2] <= k]
    assert list(zip(first.tolist(), second.tolist(), distances.tolist(), strict=True)) == expected


@pytest.mark.parametrize("k", [0, 2, 5])
def test_clusters_are_connected_components(width: int, k: int) -> None:
    values = sample(width, 300, 11)
    labels = simidx.clusters(as_array(values, width), k)
    assert labels.dtype == np.int64
    assert labels.tolist() == plain_labels(values, k)
    kept = simidx.dedup(as_array(values, width), k)
    assert kept.dtype == np.bool_
    assert kept.tolist() == [label == row for row, label in enumerate(labels.tolist())]


def test_priority_and_other_files_decide_what_is_kept(tmp_path: Path) -> None:
    values = sample(64, 300, 12)
    array = as_array(values, 64)
    labels = np.array(plain_labels(values, 3))
    priority = np.arange(300) % 17
    kept = simidx.dedup(array, 3, priority=priority)
    for label in set(labels.tolist()):
        rows = np.flatnonzero(labels == label)
        assert np.flatnonzero(kept & (labels == label)).tolist() == [rows[np.argmax(priority[rows])]]
    seen = simidx.build(tmp_path / "seen.simidx", array[:100])
    fresh = simidx.dedup(array[100:], 3, against=seen)
    is_seen = seen.contains(array[100:], 3)
    assert is_seen.any()
    assert not fresh[is_seen].any()
    # Excluded rows are in no cluster.
    assert fresh[~is_seen].tolist() == simidx.dedup(array[100:][~is_seen], 3).tolist()
    with pytest.raises(simidx.InputError, match="priorities"):
        simidx.dedup(array, priority=[1, 2])
    wrong: list[Any] = [[0.5, 0.7], [1, -1], np.array([1, -1]), np.array([float("nan"), 1]), ["a", "b"], "rows", 5]
    for given in wrong:
        with pytest.raises(simidx.InputError, match="priority: whole numbers from 0 are expected"):
            simidx.dedup(array[:2], priority=given)


def test_too_many_pairs_are_refused() -> None:
    same = np.zeros(1000, dtype=np.uint64)
    with pytest.raises(simidx.LimitError, match="1000 pairs"):
        simidx.pairs(same, rows=True, max_pairs=1000)
    assert len(simidx.pairs(same)[0]) == 0


def test_the_number_of_threads_and_the_memory_change_nothing() -> None:
    array = as_array(sample(64, 3000, 13), 64)
    expected = [column.tolist() for column in simidx.pairs(array)]
    for threads in (1, 2, 3):
        assert [column.tolist() for column in simidx.pairs(array, threads=threads)] == expected
    assert [column.tolist() for column in simidx.pairs(array, memory="64MB")] == expected


def test_nothing_at_all() -> None:
    nothing: list[Any] = [[], np.array([], dtype=np.uint64)]
    for none in nothing:
        assert [len(column) for column in simidx.pairs(none)] == [0, 0, 0]
        assert simidx.clusters(none).tolist() == []
        assert simidx.dedup(none).tolist() == []
