"""Deduplication by several processes that share a folder: the answer is that of one search over all files."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import simidx
from simidx import FileError, OptionError
from simidx_spark.distributed import _shards
from simidx_spark.distributed._messages import Batches
from simidx_spark.distributed._shards import Shards, agree
from simidx_spark.distributed._similar import Lengths

from .test_texts import documents


def start(folder: Path, shard: str, *more: str) -> subprocess.Popen[str]:
    # As if PySpark were not installed.
    code = "import sys; sys.modules['pyspark'] = None; from simidx_spark.array import main; sys.exit(main())"
    args = ["dedup", "in", "-o", "out", "--state", "state", "--shard", shard, "--report", "report.parquet", *more]
    return subprocess.Popen([sys.executable, "-c", code, *args], cwd=folder, stderr=subprocess.PIPE, text=True)


def finish(process: subprocess.Popen[str]) -> tuple[int, str]:
    _, error = process.communicate(timeout=100)
    return process.returncode, error


def write(folder: Path, texts: list[str]) -> None:
    """Writes four files of three formats."""
    (folder / "in").mkdir()
    step = -(-len(texts) // 4)
    for number in range(4):
        some = [{"n": number * step + i, "text": text} for i, text in enumerate(texts[number * step :][:step])]
        lines = "".join(json.dumps(row) + "\n" for row in some).encode()
        if number < 2:
            pq.write_table(pa.Table.from_pylist(some), folder / f"in/{number}.parquet", row_group_size=50)
        elif number == 2:
            (folder / "in/2.jsonl.gz").write_bytes(gzip.compress(lines))
        else:
            (folder / "in/3.jsonl").write_bytes(lines)


def kept(folder: Path) -> list[int]:
    rows: list[Any] = []
    for path in sorted((folder / "out").iterdir()):
        if path.suffix == ".parquet":
            rows += pq.read_table(path).to_pylist()
        else:
            data = path.read_bytes()
            rows += map(json.loads, (gzip.decompress(data) if path.suffix == ".gz" else data).splitlines())
    return [row["n"] for row in rows]


def expected(texts: list[str], keep: Literal["first", "longest"] = "first") -> list[int]:
    rows: list[int] = np.flatnonzero(simidx.dedup_texts(texts, keep=keep)).tolist()
    return rows


@pytest.mark.parametrize(("shards", "keep"), [(1, "first"), (2, "longest"), (3, "first")])
def test_shards_at_once_keep_what_one_search_keeps(
    shards: int, keep: Literal["first", "longest"], tmp_path: Path
) -> None:
    texts = documents(800, shards)
    write(tmp_path, texts)
    running = [start(tmp_path, f"{shard}/{shards}", "--keep", keep) for shard in range(shards)]
    assert [finish(process)[0] for process in running] == [0] * shards
    assert kept(tmp_path) == expected(texts, keep)
    assert pq.read_table(tmp_path / "report.parquet").num_rows == len(texts) - len(expected(texts, keep))


def test_nothing_may_be_dropped(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in/a.jsonl").write_bytes(b'{"text": "one two three four"}\n{"text": "five six seven eight"}')
    (tmp_path / "in/b.jsonl").write_bytes(b"")
    assert finish(start(tmp_path, "0/1"))[0] == 0
    for name in ("a.jsonl", "b.jsonl"):
        assert (tmp_path / "out" / name).read_bytes() == (tmp_path / "in" / name).read_bytes()
    assert pq.read_table(tmp_path / "report.parquet").num_rows == 0


def test_a_killed_shard_goes_on_where_it_stopped(tmp_path: Path) -> None:
    texts = documents(800, 7)
    write(tmp_path, texts)
    killed = start(tmp_path, "1/2")
    until = time.monotonic() + 60
    while not list(tmp_path.glob("state/*/00001-*/00003.arrow")) and time.monotonic() < until:
        # It needs the lengths of the other shard only after this step.
        time.sleep(0.05)
    killed.kill()
    finish(killed)
    done = {path: path.stat().st_ino for path in tmp_path.glob("state/*/*/*.arrow")}
    assert done
    # What a killed write leaves is not a result.
    left = next(iter(done)).parent.parent / "00002-Sign/.00001.arrow.0.partial"
    left.parent.mkdir(exist_ok=True)
    left.write_bytes(b"half")
    code, error = finish(start(tmp_path, "1/2", "--wait", "0"))
    assert code == 2
    assert "start shard 0/2 again" in error
    running = [start(tmp_path, f"{shard}/2") for shard in range(2)]
    assert [finish(process)[0] for process in running] == [0, 0]
    assert kept(tmp_path) == expected(texts)
    assert {path: path.stat().st_ino for path in done} == done
    assert not left.exists()


def test_another_input_option_or_count_is_refused(tmp_path: Path) -> None:
    write(tmp_path, documents(80, 1))
    assert finish(start(tmp_path, "0/1"))[0] == 0
    assert "with other shards:" in finish(start(tmp_path, "0/2"))[1]
    assert "with other options:" in finish(start(tmp_path, "0/1", "--similarity", "0.7"))[1]
    assert "with other output:" in finish(start(tmp_path, "0/1", "-o", "other"))[1]
    assert not (tmp_path / "other").exists()
    before = (tmp_path / "in/3.jsonl").read_bytes()
    assert "in has inputs" in finish(start(tmp_path, "0/1", "-o", "in"))[1]
    assert (tmp_path / "in/3.jsonl").read_bytes() == before
    os.utime(tmp_path / "in/3.jsonl", (1, 1))
    code, error = finish(start(tmp_path, "0/1"))
    assert code == 2
    assert "with other inputs:" in error
    assert error.count("\n") == 1
    (tmp_path / "state/manifest.json").unlink()
    assert "not empty" in finish(start(tmp_path, "0/1"))[1]


def test_results_are_those_of_one_manifest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_link(*_: Any) -> None:
        raise OSError("this file system has no hard links")

    synced: list[int] = []
    monkeypatch.setattr(os, "link", no_link)
    monkeypatch.setattr(os, "fsync", synced.append)
    first = agree(tmp_path, {"inputs": ["a"]})
    assert len(synced) == 1
    assert agree(tmp_path, {"inputs": ["a"]}) == first
    with pytest.raises(OptionError, match="with other inputs:"):
        agree(tmp_path, {"inputs": ["b"]})
    (tmp_path / "manifest.json").unlink()
    other = agree(tmp_path, {"inputs": ["b"]})
    assert first.parent == other.parent == tmp_path
    assert first != other


@pytest.mark.parametrize("text", ["", "{", "[1]", '{"inputs": ["a'])
def test_a_damaged_manifest_is_an_error(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_shards, "WRITING", 0.0)
    (tmp_path / "manifest.json").write_text(text)
    with pytest.raises(FileError, match=r"manifest\.json is damaged: delete .*, and start all shards again"):
        agree(tmp_path, {"inputs": ["a"]})


def test_a_manifest_is_read_when_it_is_whole(tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text('{"inputs": [')
    rest = threading.Timer(0.5, (tmp_path / "manifest.json").write_text, ['{"inputs": ["a"]}'])
    rest.start()
    assert agree(tmp_path, {"inputs": ["a"]}).parent == tmp_path
    rest.join()


def test_a_shard_waits_as_long_as_others_make_progress(tmp_path: Path) -> None:
    def slow() -> Batches:
        for number in range(12):
            time.sleep(0.5)
            yield pa.record_batch({"id": [number], "text": ["text"]})

    parts: Any = [[], [slow]]
    _, result = Shards(tmp_path, 0, 2, 0.0).map(parts, Lengths())
    with pytest.raises(FileError, match=r"no shard made progress for 0 s: start shard 1/2 again"):
        list(result[0]())
    other = threading.Thread(target=Shards(tmp_path, 1, 2, 0.0).map, args=(parts, Lengths()))
    other.start()
    _, result = Shards(tmp_path, 0, 2, 4.0).map(parts, Lengths())
    assert sum(batch.num_rows for batch in result[0]()) == 12
    other.join()
