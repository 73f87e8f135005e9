"""Collections: against a dictionary, under threads, and what they refuse."""

from __future__ import annotations

import concurrent.futures
import itertools
import os
import pickle
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import simidx
from conftest import Ints, as_array, as_ints, distance, sample
from simidx import Collection

Near = list[tuple[int, int, list[str]]]


def near(records: dict[str, int], query: int, k: int, but: str = "") -> Near:
    """The matches that a scan of all records finds."""
    by_value: dict[int, list[str]] = {}
    for id, value in records.items():
        if id != but and distance(value, query) <= k:
            by_value.setdefault(value, []).append(id)
    return sorted((distance(value, query), value, sorted(ids)) for value, ids in by_value.items())


def plain(found: list[simidx.Match]) -> Near:
    """Matches as the scan has them."""
    assert all(match.rank == -1 for match in found)
    return [(match.distance, match.fingerprint, match.ids) for match in found]


def of_all(found: simidx.Matches) -> list[Near]:
    """The same of many queries, by the columns."""
    columns = list(zip(found.distances.tolist(), as_ints(found.fingerprints), found.ids(), strict=True))
    offsets = found.offsets.tolist()
    return [columns[start:end] for start, end in itertools.pairwise(offsets)]


@pytest.mark.parametrize("seal_records", [50, 100_000])
def test_it_answers_as_a_scan_does(tmp_path: Path, width: int, seal_records: int) -> None:
    values, rng = sample(width, 400, 71), random.Random(71)
    records: dict[str, int] = {}
    pages = Collection(tmp_path / "pages", width=width, sync="never", seal_records=seal_records)
    assert (pages.width, pages.k, len(pages), pages.pipeline) == (width, 3, 0, None)
    for step in range(600):
        id = f"page {rng.randrange(150)}"
        if rng.random() < 0.2:
            assert pages.remove(id) == (records.pop(id, None) is not None)
        elif rng.random() < 0.1:
            chosen = [(f"page {rng.randrange(150)}", rng.choice(values)) for _ in range(20)]
            expected: list[Near] = []
            outcomes: list[str] = []
            for other, value in chosen:
                expected.append(near(records, value, 3, other))
                old = records.get(other)
                outcomes.append("new" if old is None else "unchanged" if old == value else "replaced")
                records[other] = value
            many = pages.add_many([other for other, _ in chosen], as_array([value for _, value in chosen], width))
            assert (of_all(many.matches), many.outcomes, len(many)) == (expected, outcomes, 20)
            assert as_ints(many.fingerprints) == [value for _, value in chosen]
        else:
            value = rng.choice(values)
            added = pages.add(id, value)
            assert plain(added.matches) == near(records, value, 3, id)
            old = records.get(id)
            assert added.outcome == ("new" if old is None else "unchanged" if old == value else "replaced")
            assert (added.fingerprint, added.replaced) == (value, old if added.outcome == "replaced" else None)
            records[id] = value
        if step == 300:
            pages.seal()
            pages.merge()
        if step == 400:
            pages.close()
            pages = Collection.open(tmp_path / "pages", sync="batch")
    assert len(pages) == len(records)
    assert pages.change_count > 400
    queries = values[:100]
    for k in (0, 3, 7):
        expected = [near(records, query, k) for query in queries]
        assert of_all(pages.query(as_array(queries, width), k, threads=3)) == expected
        assert [plain(pages.query_one(query, k)) for query in queries] == expected
        assert pages.contains(as_array(queries, width), k).tolist() == [bool(found) for found in expected]
    assert of_all(pages.query(as_array(queries, width))) == [near(records, query, 3) for query in queries]
    expected = [near(records, query, width)[:4] for query in queries]
    assert of_all(pages.nearest(as_array(queries, width), 4)) == expected
    assert of_all(pages.nearest(as_array(queries, width), 4, max_distance=2)) == [
        [found for found in of_query if found[0] <= 2] for of_query in expected
    ]
    assert {id: pages.get(id) for id in records} == records
    assert pages.get("page") is None
    found = pages.query(as_array(queries, width))
    assert [plain(found.of(query)) for query in range(100)] == of_all(found)
    assert set(found.ranks.tolist()) == {-1}
    pages.close()


def test_matches_are_a_table(tmp_path: Path, width: int) -> None:
    pytest.importorskip("polars")
    with Collection(tmp_path / "pages", width=width) as pages:
        nothing = pages.query(as_array([7], width)).to_polars()
        pages.add_many(["a", "b", "c"], as_array([7, 7, 6], width))
        frame = pages.query(as_array([7, 0xFFFF0000], width)).to_polars()
    assert frame.schema == nothing.schema
    assert frame.drop("fingerprint").rows() == [(0, -1, 0, ["a", "b"]), (0, -1, 1, ["c"])]


def test_the_folder_is_a_set_of_index_files(tmp_path: Path) -> None:
    with Collection(tmp_path / "pages", k=2) as pages:
        pages.add_many(["a", "b"], [0xFF, 0xFE])
        pages.seal()
        index = simidx.open(pages.path)
        assert plain_ids(index.query_one(0xFF)) == [["a"], ["b"]]
        assert pages.stats()["segment_count"] == 1


def plain_ids(found: list[simidx.Match]) -> list[list[Any]]:
    """The ids of matches."""
    return [match.ids for match in found]


def test_another_working_directory_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        monkeypatch.chdir(tmp_path / name)
        with simidx.Collection("pages") as pages:
            pages.add(name, 1)
            pages.seal()
    monkeypatch.chdir(tmp_path / "one")
    pages = simidx.Collection("pages")
    monkeypatch.chdir(tmp_path / "two")
    pages.add("later", 2)
    pages.seal()
    pages.merge()
    pages.close()
    for name, later in (("one", ["later"]), ("two", [])):
        with simidx.open(tmp_path / name / "pages") as sealed:
            assert (sealed.ids_of(1), sealed.ids_of(2)) == ([name], later)


def test_the_width_is_that_of_the_pipeline(tmp_path: Path) -> None:
    pipeline = simidx.Pipeline("web", width=128)
    with simidx.Collection(tmp_path / "pages", pipeline=pipeline) as pages:
        assert pages.width == 128
    with simidx.Collection(tmp_path / "pages", pipeline=pipeline) as again:
        assert again.width == 128
    with simidx.Collection(tmp_path / "narrow", pipeline=pipeline, width=64) as narrow:
        assert narrow.width == 64


def test_texts_become_fingerprints(tmp_path: Path) -> None:
    pipeline = simidx.Pipeline("short")
    with Collection(tmp_path / "pages", pipeline=pipeline) as pages:
        texts = ["a page about otters", "A page about Otters.", "another page"]
        assert pages.add("a", text=texts[0]).fingerprint == pipeline.fingerprint(texts[0])
        many = pages.add_many(["b", "c"], texts=np.array(texts[1:], dtype=object).tolist())
        assert many.fingerprints.tolist() == pipeline.fingerprints(texts[1:]).tolist()
        assert many.matches.ids() == [["a"]]
        assert simidx.Pipeline.from_description(pages.pipeline or "") == pipeline
        with pytest.raises(simidx.InputError, match="no feature counts"):
            pages.add("d", text="…")
        with pytest.raises(simidx.InputError, match=r"texts\[1\]: no feature counts"):
            pages.add_many(["d", "e"], texts=["a text", ""])
        assert len(pages) == 3
    with Collection(tmp_path / "plain") as pages, pytest.raises(simidx.OptionError, match="records no pipeline"):
        pages.add("a", text="a text")


def test_threads_share_it(tmp_path: Path) -> None:
    # Of two near ones that are added at once, one sees the other.
    values = [value << 8 for value in range(200)]
    with Collection(tmp_path / "pages", seal_records=64) as pages:

        def add(worker: int) -> list[tuple[str, list[str]]]:
            of_thread: list[tuple[str, list[str]]] = []
            for number, value in enumerate(values):
                added = pages.add(f"{worker}/{number}", value << 20 | worker)
                of_thread.append((f"{worker}/{number}", [id for match in added.matches for id in match.ids]))
                if number % 20 == 0:
                    pages.query([value])
            return of_thread

        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            answers = dict(answer for of_thread in pool.map(add, range(2)) for answer in of_thread)
        assert len(pages) == 400
        for number in range(200):
            first, second = f"0/{number}", f"1/{number}"
            assert (second in answers[first]) != (first in answers[second])


def test_what_was_acknowledged_is_there_after_a_kill(tmp_path: Path) -> None:
    code = """
import os, sys, simidx
pages = simidx.Collection(sys.argv[1], seal_records=40)
pages.add_many([str(i) for i in range(100)], list(range(100)))
pages.add("last", 1000)
pages.remove("50")
os.kill(os.getpid(), 9)
"""
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "pages")], check=False)
    with Collection.open(tmp_path / "pages") as pages:
        assert (len(pages), pages.get("last"), pages.get("50")) == (100, 1000, None)


def test_what_is_not_closed_ends_with_the_interpreter(tmp_path: Path) -> None:
    code = """
import sys, simidx
pages = simidx.Collection(sys.argv[1], sync="batch")
pages.add("a", 1)
"""
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path / "pages")], timeout=60, check=False)
    assert done.returncode == 0
    Collection.open(tmp_path / "pages").close()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="not on this system")
def test_a_fork_cannot_use_it(tmp_path: Path) -> None:
    code = """
import os, sys, simidx
pages = simidx.Collection(sys.argv[1])
pages.add("a", 1)
child = os.fork()
if child == 0:
    try:
        pages.add("b", 2)
    except simidx.ClosedError as error:
        assert "before a fork" in str(error)
        pages.close()
        del pages
        sys.exit(7)
    os._exit(1)
_, status = os.waitpid(child, 0)
assert os.waitstatus_to_exitcode(status) == 7, status
pages.add("c", 3)
print(len(pages))
"""
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "pages")], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stdout == "2\n", done.stderr


def test_one_has_it_open(tmp_path: Path) -> None:
    pages = Collection(tmp_path / "pages")
    for open in (Collection, Collection.open, Collection.create):
        with pytest.raises(simidx.LockedError, match="open elsewhere"):
            open(tmp_path / "pages")
    pages.close()
    pages.close()
    assert pages.closed
    assert repr(pages) == "<simidx.Collection, closed>"
    Collection.open(tmp_path / "pages").close()
    calls: list[Callable[[], object]] = [
        lambda: pages.add("a", 1),
        lambda: pages.add_many(["a"], [1]),
        lambda: pages.remove("a"),
        lambda: pages.get("a"),
        lambda: pages.query([1]),
        lambda: pages.query_one(1),
        lambda: pages.nearest([1]),
        lambda: pages.contains([1]),
        pages.sync,
        pages.seal,
        pages.merge,
        pages.stats,
        lambda: len(pages),
        lambda: pages.k,
    ]
    for call in calls:
        with pytest.raises(simidx.ClosedError):
            call()


def test_what_is_given_must_be_so(tmp_path: Path) -> None:
    Collection(tmp_path / "pages", k=5, width=32, pipeline="short").close()
    Collection(tmp_path / "pages", k=5, width=32, pipeline="short").close()
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"k": 3}, "has k 5, not 3"),
        ({"width": 64}, "has width 32, not 64"),
        ({"pipeline": "web"}, "has pipeline"),
        ({"sync": "often"}, "sync='often'"),
        ({"seal_records": 0}, "at least 1"),
    ]
    for given, message in wrong:
        with pytest.raises(simidx.OptionError, match=message):
            Collection.open(tmp_path / "pages", **given)
    with pytest.raises(simidx.OptionError, match="at most 12"):
        Collection(tmp_path / "other", k=13)
    with pytest.raises(simidx.OptionError, match="32, 64 or 128"):
        Collection(tmp_path / "other", width=48)
    with pytest.raises(TypeError, match=r"Collection\(\) got an unexpected keyword argument 'keep'"):
        Collection(tmp_path / "other", keep=1)  # type: ignore[call-arg]
    assert not (tmp_path / "other").exists()
    with pytest.raises(simidx.FormatError, match="is not a collection") as refused:
        Collection.open(tmp_path)
    assert refused.value.kind == "not-simidx"
    with pytest.raises(simidx.FileMissingError, match="other: "):
        Collection.open(tmp_path / "other")
    with pytest.raises(simidx.FormatError, match="is not empty"):
        Collection.create(tmp_path / "pages")


def test_what_cannot_be_added_is_refused(tmp_path: Path) -> None:
    pages = Collection(tmp_path / "pages", replace=False)
    pages.add("a", 1)
    with pytest.raises(simidx.IdExistsError, match='"a"'):
        pages.add("a", 2)
    assert pages.add("a", "0000000000000001").outcome == "unchanged"
    assert pages.add("signed", -1, signed=True).fingerprint == 2**64 - 1
    with pytest.raises(simidx.IdExistsError) as refused:
        pages.add_many(["b", "c", "a", "d"], [2, 3, 4, 5])
    assert refused.value.added == 2
    assert [pages.get(id) for id in "abcd"] == [1, 2, 3, None]
    wrong: list[Callable[[], object]] = [
        lambda: pages.add(5, 1),  # type: ignore[arg-type]
        lambda: pages.add("x"),
        lambda: pages.add("x", 1, text="a text"),
        lambda: pages.add("x", 1.5),  # type: ignore[arg-type]
        lambda: pages.add("x", None, text=3),  # type: ignore[arg-type]
        lambda: pages.add_many(["x"]),
        lambda: pages.add_many([1], [1]),
        lambda: pages.add_many(["x"], [1], texts=["a"]),
        lambda: pages.add_many(["x"], np.ones(1)),
        lambda: pages.remove(1),  # type: ignore[arg-type]
        lambda: pages.get(None),  # type: ignore[arg-type]
        lambda: pages.query(5),  # type: ignore[arg-type]
        lambda: pages.query([1], 2.5),  # type: ignore[arg-type]
        lambda: pickle.dumps(pages),
    ]
    for call in wrong:
        with pytest.raises(TypeError):
            call()
    surrogates: list[Callable[[], object]] = [
        lambda: pages.add("x", text="\ud800"),
        lambda: pages.add("\ud800", 1),
        lambda: pages.add_many(["x", "\ud800"], [1, 2]),
        lambda: pages.get("\ud800"),
    ]
    for call in surrogates:
        with pytest.raises(simidx.InputError, match=r"^(text|id|ids\[1\]) is not valid Unicode"):
            call()
    out_of_range: list[Callable[[], object]] = [
        lambda: pages.add("", 1),
        lambda: pages.add("x" * 70_000, 1),
        lambda: pages.add("x", 2**64),
        lambda: pages.add("x", "ff"),
        lambda: pages.add_many(["x", "y"], [1]),
        lambda: pages.query(np.ones(3, dtype=np.uint32)),
        lambda: pages.query([1], 129),
    ]
    for call in out_of_range:
        with pytest.raises(simidx.Error):
            call()
    assert len(pages.add_many([], [])) == 0
    assert len(pages) == 4
    pages.close()


def test_progress_may_stop_additions(tmp_path: Path) -> None:
    values: Ints = sample(64, 20_000, 72)
    with Collection(tmp_path / "pages", sync="never") as pages:

        def stop(stage: str, done: int, total: int) -> None:
            assert 0 <= done <= total
            raise RuntimeError(stage)

        ids = [str(row) for row in range(len(values))] * 20
        with pytest.raises(RuntimeError, match="add"):
            pages.add_many(ids, values * 20, progress=stop)
    with Collection.open(tmp_path / "pages") as pages:
        # Earlier additions exist.
        for row in range(len(pages)):
            assert pages.get(str(row)) == values[row]
