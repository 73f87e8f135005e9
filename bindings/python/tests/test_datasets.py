"""Columns of fingerprints for Hugging Face data sets."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

import simidx
from simidx.datasets import Fingerprint

TEXTS = [f"some words of text number {number}" for number in range(50)] + ["", "…"]


@pytest.mark.parametrize("width", [32, 64, 128])
def test_batches_of_all_kinds(width: int) -> None:
    pa = pytest.importorskip("pyarrow")
    pl = pytest.importorskip("polars")
    pd = pytest.importorskip("pandas")
    function = Fingerprint("short", column="body", has_features="says", width=width)
    expected = simidx.Pipeline("short", width=width).fingerprints(TEXTS).tolist()
    if width == 128:
        expected = [(high << 64 | low).to_bytes(16, "big") for high, low in expected]
    mask = [True] * 50 + [False, False]
    found = pickle.loads(pickle.dumps(function))({"body": TEXTS, "more": TEXTS})
    assert list(found) == ["fingerprint", "says"]
    assert list(found["fingerprint"]) == expected
    assert found["says"].tolist() == mask
    for frame in (pa.table({"body": TEXTS}), pl.DataFrame({"body": TEXTS}), pd.DataFrame({"body": TEXTS})):
        more = function(frame)
        assert type(more) is type(frame)
        columns: Any = more.to_pydict() if isinstance(more, pa.Table) else more
        assert list(columns["fingerprint"]) == expected
        assert list(columns["says"]) == mask


def test_a_missing_column_is_named() -> None:
    with pytest.raises(KeyError, match="no column 'text'"):
        Fingerprint()({"body": TEXTS})


@pytest.mark.parametrize("processes", [None, 2])
@pytest.mark.parametrize("kind", [None, "arrow", "numpy"])
def test_a_data_set_is_mapped(kind: str | None, processes: int | None) -> None:
    datasets = pytest.importorskip("datasets", reason="datasets is not installed: bindings/python/check --drop-ins")
    data = datasets.Dataset.from_dict({"text": TEXTS})
    mapped = data.with_format(kind).map(Fingerprint("short"), batched=True, batch_size=20, num_proc=processes)
    found = mapped.with_format("arrow")[:]["fingerprint"]
    assert str(found.type) == "uint64"
    assert found.to_pylist() == simidx.Pipeline("short").fingerprints(TEXTS).tolist()
    # NumPy's format has no unsigned integers.
    signed = mapped.with_format("numpy")[:]["fingerprint"]
    assert simidx.dedup(signed, signed=True).tolist() == simidx.dedup(found).tolist()
    assert mapped.with_format(None)["text"][:] == TEXTS
