"""Texts: fingerprints, similar texts, comparisons."""

from __future__ import annotations

import pickle
import random
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest

import simidx


def texts_with_versions(count: int) -> list[str]:
    """Texts of which some are versions of others, by a few words."""
    rng = random.Random(20)
    words = [f"word{number}" for number in range(500)]
    texts: list[str] = []
    for _ in range(count):
        text = rng.choices(words, k=60)
        texts.append(" ".join(text))
        if rng.random() < 0.5:
            text[rng.randrange(60)] = "other"
            texts.append(" ".join(text))
    return texts


def runs(text: str) -> set[tuple[str, ...]]:
    """The runs of three words."""
    words = text.split()
    return {tuple(words[i : i + 3]) for i in range(len(words) - 2)}


def test_similar_texts_are_those_of_all_with_all() -> None:
    texts = texts_with_versions(80)
    sets = [runs(text) for text in texts]
    expected = [
        (i, j, len(sets[i] & sets[j]) / len(sets[i] | sets[j]))
        for i in range(len(texts))
        for j in range(i + 1, len(texts))
        if len(sets[i] & sets[j]) / len(sets[i] | sets[j]) >= 0.8
    ]
    assert len(expected) > 20
    left, right, similarity = simidx.pairs_texts(texts, 0.8)
    assert list(zip(left.tolist(), right.tolist(), strict=True)) == [(i, j) for i, j, _ in expected]
    assert similarity.tolist() == pytest.approx([jaccard for _, _, jaccard in expected])
    kept = simidx.dedup_texts(texts)
    assert kept.dtype == np.bool_
    second = {j for _, j, _ in expected}
    assert np.flatnonzero(~kept).tolist() == sorted(second)
    labels = simidx.clusters_texts(texts)
    assert labels.dtype == np.int64
    partner = {j: i for i, j, _ in expected}
    assert labels.tolist() == [partner.get(row, row) for row in range(len(texts))]
    small = simidx.dedup_texts(texts, memory="64MB", threads=1)
    assert small.tolist() == kept.tolist()


@pytest.mark.parametrize("keep", ["first", "longest"])
def test_earlier_texts_come_first(keep: Literal["first", "longest"]) -> None:
    texts = texts_with_versions(60)
    random.Random(1).shuffle(texts)
    texts += ["", "?!", texts[0], "", texts[0] + " and more"]
    half = len(texts) // 2
    for old in (texts[:half], texts[:half][::-1], texts, []):
        mask = simidx.dedup_texts(texts[half:], against=old, keep=keep)
        if keep == "first":
            assert mask.tolist() == simidx.dedup_texts([*old, *texts[half:]])[len(old) :].tolist()
        for memory in (None, "1MB"):
            dropped = simidx.dropped_texts(texts[half:], against=old, keep=keep, memory=memory)
            assert dropped.row.tolist() == np.flatnonzero(~mask).tolist()
            new = texts[half:]
            for row, kept, in_against, similarity in zip(*dropped, strict=True):
                other = old[kept] if in_against else new[kept]
                assert in_against or mask[kept]
                left, right = runs(new[row]), runs(other)
                exact = len(left & right) / len(left | right) if left | right else float(new[row] == other)
                assert similarity == pytest.approx(exact)
                assert similarity >= 0.8
    table = dropped.to_pandas()
    assert list(table.columns) == ["row", "kept", "in_against", "similarity"]
    with pytest.raises(simidx.OptionError, match="keep='last'"):
        simidx.dedup_texts(texts, keep="last")  # type: ignore[arg-type]


@pytest.mark.parametrize("width", [32, 64, 128])
def test_fingerprints_of_texts(width: int) -> None:
    texts = [*texts_with_versions(10), "", "héllo wörld", "…"]
    pipeline = simidx.Pipeline("short", width=width)
    found = pipeline.fingerprints(texts)
    one = [pipeline.fingerprint(text) for text in texts]
    if width == 128:
        assert [int(high) << 64 | int(low) for high, low in found] == one
    else:
        assert found.tolist() == one
    assert pipeline.has_features(texts).tolist() == [True] * (len(texts) - 3) + [False, True, False]
    for columns in (np.array(texts), np.array(texts, dtype=object), tuple(texts), iter(texts)):
        assert pipeline.fingerprints(columns).tolist() == found.tolist()


def test_columns_of_texts() -> None:
    pa = pytest.importorskip("pyarrow")
    pl = pytest.importorskip("polars")
    pd = pytest.importorskip("pandas")
    texts = texts_with_versions(10)
    pipeline = simidx.Pipeline()
    expected = pipeline.fingerprints(texts).tolist()
    columns: list[Any] = [
        pa.array(texts),
        pa.array(texts, pa.large_string()),
        pa.array(texts, pa.string_view()),
        pa.chunked_array([texts[:3], texts[3:]]),
        pa.table({"text": texts}),
        pl.Series(texts),
        pd.Series(texts),
        pd.Series(texts, dtype=object),
        pd.Series(texts, dtype="string"),
    ]
    for column in columns:
        assert pipeline.fingerprints(column).tolist() == expected
        assert simidx.dedup_texts(column).tolist() == simidx.dedup_texts(texts).tolist()


def test_pipelines_are_values() -> None:
    pipeline = simidx.Pipeline("short,fingerprint=simhash", width=32)
    assert repr(pipeline) == 'simidx.Pipeline("short,fingerprint=simhash", width=32)'
    again = pickle.loads(pickle.dumps(pipeline))
    assert again == pipeline
    assert hash(again) == hash(pipeline)
    assert again != simidx.Pipeline("short", width=32)
    assert again != simidx.Pipeline("short,fingerprint=simhash")
    assert "web" in simidx.Pipeline.presets()
    for preset in simidx.Pipeline.presets():
        assert simidx.Pipeline(preset).width == 64
    for name in ("wbe", "short,nonsense=1", ""):
        with pytest.raises(simidx.OptionError):
            simidx.Pipeline(name)
    with pytest.raises(simidx.OptionError):
        simidx.Pipeline("compat-mfonda", width=128)
    with pytest.raises(simidx.OptionError):
        simidx.Pipeline.from_description("{}")


def test_two_texts_compared() -> None:
    found = simidx.compare("one two three", "one two four", pipeline="short")
    assert found.jaccard == 0.5
    assert found.have_features
    assert not found.equal
    assert found.fingerprints[0] == simidx.Pipeline("short").fingerprint("one two three")
    assert {text for text, _, _ in found.most_different} == {"three", "four"}
    assert "jaccard=0.5" in repr(found)
    wide = simidx.Pipeline("short", width=128)
    found = simidx.compare("one two three", "one two four", pipeline=wide)
    assert found.fingerprints[0] == wide.fingerprint("one two three")


def test_a_pipeline_says_what_is_compared() -> None:
    # The preset for code keeps operators, which are no words.
    texts = ["x += y", "x -= y"]
    assert simidx.dedup_texts(texts, words=1).tolist() == [True, False]
    assert simidx.dedup_texts(texts, pipeline="code").tolist() == [True, True]
    assert simidx.dedup_texts(texts, pipeline="code", words=1).tolist() == [True, False]
    # The default compares runs of words; the features of "web" are pairs of tokens, of which these have all in common.
    texts = ["a b a b", "a b a"]
    assert simidx.dedup_texts(texts, pipeline="web").tolist() == [True, True]
    assert simidx.dedup_texts(texts, words="pipeline").tolist() == [True, False]


def test_wrong_texts_are_refused() -> None:
    pa = pytest.importorskip("pyarrow")
    wrong: list[Any] = ["one text", None, 5, ["a", None], ["a", 5], [b"a"], ["\ud800"], pa.array(["a", None])]
    wrong += [pa.array([1, 2]), pa.table({"a": ["x"], "b": ["y"]}), np.array([1.5]), object()]
    for texts in wrong:
        with pytest.raises(simidx.InputError):
            simidx.Pipeline().fingerprints(texts)
        with pytest.raises(simidx.InputError):
            simidx.dedup_texts(texts)
    for text in (None, 5, b"a", "\ud800"):
        calls: list[Callable[[Any], object]] = [
            simidx.Pipeline,
            simidx.Pipeline.from_description,
            simidx.Pipeline().fingerprint,
            partial(simidx.compare, "a"),
            lambda text: simidx.compare(text, "a"),
        ]
        message = "is not valid Unicode" if isinstance(text, str) else "a string is expected"
        for call in calls:
            with pytest.raises(simidx.InputError, match=message):
                call(text)
    for similarity in (0, -1, 1.5, float("nan")):
        with pytest.raises(simidx.OptionError):
            simidx.dedup_texts(["a"], similarity)
    with pytest.raises(simidx.OptionError):
        simidx.dedup_texts(["a"], words=0)
    assert simidx.dedup_texts([]).tolist() == []


@pytest.mark.parametrize("name", ["web", "short", "code"])
@pytest.mark.parametrize("width", [32, 64, 128])
def test_one_call_gives_fingerprints_and_features(name: str, width: int) -> None:
    pipeline = simidx.Pipeline(name, width=width)
    texts = ["", "?!", "a page about otters and what else they are about", "to be"]
    values, mask = pipeline.fingerprints_and_features(texts)
    assert values.tolist() == pipeline.fingerprints(texts).tolist()
    assert mask.tolist() == pipeline.has_features(texts).tolist()
    assert mask.any()
    assert not mask.all()


def test_excluded_fingerprints_may_be_signed(tmp_path: Path) -> None:
    values = np.array([1, 2**63 + 5], np.uint64)
    index = simidx.build(tmp_path / "a.simidx", values)
    less = simidx.merge(tmp_path / "b.simidx", index, exclude_fingerprints=values[1:].view(np.int64), signed=True)
    assert less.fingerprints().tolist() == [1]


def test_what_has_no_rows_in_an_order_is_no_column_of_texts() -> None:
    pl = pytest.importorskip("polars")
    texts = ["a b c", "a b c"]
    wrong: list[tuple[Any, str]] = [
        ({"text": texts}, "dict; pass one of its columns"),
        (set(texts), "a set has no order"),
        (frozenset(texts), "a set has no order"),
        (pl.DataFrame({"text": texts}).lazy(), "LazyFrame; it has no rows yet"),
    ]
    pipeline = simidx.Pipeline()
    calls = (
        simidx.dedup_texts,
        simidx.pairs_texts,
        simidx.clusters_texts,
        pipeline.fingerprints,
        pipeline.has_features,
    )
    for call in calls:
        for given, message in wrong:
            with pytest.raises(simidx.InputTypeError, match=message):
                call(given)
    with pytest.raises(simidx.InputTypeError, match="fingerprints: this is a dict"):
        simidx.dedup({"fingerprint": [1, 2]})


def test_wrong_options_are_said_as_they_were_given(tmp_path: Path) -> None:
    texts = ["a b c", "a b c"]
    with pytest.raises(simidx.OptionError, match=r"similarity=1.5, words=3: a Jaccard"):
        simidx.dedup_texts(texts, 1.5)
    with pytest.raises(simidx.OptionError, match=r"similarity=1.5: a Jaccard"):
        simidx.dedup_texts(texts, 1.5, words="pipeline")
    with pytest.raises(simidx.OptionTypeError, match=r"similarity='0.8': a number is expected"):
        simidx.dedup_texts(texts, "0.8")  # type: ignore[arg-type]
    with pytest.raises(simidx.FileMissingError, match=r"temp_dir='.*/missing': there is no such folder"):
        simidx.dedup_texts(texts, temp_dir=str(tmp_path / "missing"))
