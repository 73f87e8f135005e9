"""Deduplication by several processes that share a folder: the answer is that of the program for all files."""

from __future__ import annotations

import codecs
import gzip
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from simidx import FileError, InputError, OptionError
from simidx_spark import array
from simidx_spark.distributed import _shards
from simidx_spark.distributed._messages import Batches
from simidx_spark.distributed._shards import Shards, agree
from simidx_spark.distributed._similar import Lengths

from .test_texts import documents

#: Kills a process when it has written a part of the file with this name.
KILL = """
import os
replace = os.replace
def kill(partial, path):
    if str(path).endswith({name!r}):
        os.truncate(partial, 10)
        os.kill(os.getpid(), 9)
    replace(partial, path)
os.replace = kill
"""

#: The options of the program for the same answer.
PROGRAM = ["dedup", "in/[0-9as]*", "--output-dir", "expected", "--report", "expected.parquet"]


def start(
    folder: Path, shard: str, *more: str, inputs: Sequence[str] = ("in",), before: str = ""
) -> subprocess.Popen[str]:
    # As if PySpark were not installed.
    code = "import sys; sys.modules['pyspark'] = None\nfrom simidx_spark.array import main; sys.exit(main())"
    args = ["-o", "out", "--state", "state", "--shard", shard, "--report", "report.parquet", *more]
    command = [sys.executable, "-c", before + code, "dedup", *inputs, *args]
    return subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, text=True)


def finish(process: subprocess.Popen[str]) -> tuple[int, str]:
    _, error = process.communicate(timeout=100)
    return process.returncode, error


def refused(folder: Path, *more: str, inputs: Sequence[str] = ("in",)) -> str:
    """The error, of one line, with which a run ends."""
    code, error = finish(start(folder, "0/1", *more, inputs=inputs))
    assert (code, error.count("\n")) == (2, 1), error
    return error


def program(folder: Path, *more: str) -> int:
    """Runs the program, and returns its exit code."""
    command = [sys.executable, "-m", "simidx", *PROGRAM, *more]
    return subprocess.run(command, cwd=folder, capture_output=True, check=False).returncode


def write(folder: Path, texts: list[str]) -> None:
    """Writes four files of three formats, and some that are not read."""
    (folder / "in/sub").mkdir(parents=True)
    step = -(-len(texts) // 4)
    for number in range(4):
        some = [{"n": number * step + i, "text": text} for i, text in enumerate(texts[number * step :][:step])]
        lines = "".join(json.dumps(row) + "\n" for row in some).encode()
        if number < 2:
            codec = ["zstd", {"n": "none", "text": "snappy"}][number]
            pq.write_table(pa.Table.from_pylist(some), folder / f"in/{number}.parquet", 9, compression=codec)
        elif number == 2:
            (folder / "in/2.jsonl.gz").write_bytes(gzip.compress(lines))
        else:
            (folder / "in/sub/3.jsonl").write_bytes(codecs.BOM_UTF8 + lines)
    for name in ("in/_SUCCESS", "in/.hidden.jsonl", "in/sub/_temporary.jsonl", "in/sub/empty.jsonl"):
        (folder / name).write_bytes(b"" if "empty" in name else b"no records")
    (folder / "in/sub/again").symlink_to(folder / "in/sub")


def contents(path: Path) -> Any:
    """The contents of a file, and how they are compressed."""
    if path.suffix == ".parquet":
        with pq.ParquetFile(path) as file:
            groups = [file.metadata.row_group(group) for group in range(file.num_row_groups)]
            codecs = [[group.num_rows, *(group.column(n).compression for n in range(2))] for group in groups]
            return codecs, file.read().to_pylist()
    return gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()


def files(folder: Path) -> dict[str, Any]:
    return {str(path.relative_to(folder)): contents(path) for path in folder.rglob("*") if path.is_file()}


def check_answer(folder: Path, *more: str) -> None:
    """Compares all outputs with those of the program, and the report, which names the most similar kept record."""
    assert program(folder, *more) == 0
    made = files(folder / "out")
    assert made.pop(array.MARKER)
    assert made == files(folder / "expected")
    found, others = (pq.read_table(folder / name).to_pylist() for name in ("report.parquet", "expected.parquet"))
    dropped = [(row["dropped_file"], row["dropped_row"]) for row in found]
    assert dropped == [(row["dropped_file"], row["dropped_row"]) for row in others]
    for row, other in zip(found, others, strict=True):
        kept = (row["kept_file"], row["kept_row"])
        assert kept not in dropped
        assert row["similarity"] >= other["similarity"] >= 0.8
        if kept == (other["kept_file"], other["kept_row"]):
            assert row["similarity"] == other["similarity"]


@pytest.mark.parametrize(("shards", "keep"), [(1, "first"), (2, "longest"), (3, "first")])
def test_shards_at_once_answer_as_the_program(shards: int, keep: str, tmp_path: Path) -> None:
    write(tmp_path, documents(800, shards))
    running = [start(tmp_path, f"{shard}/{shards}", "--keep", keep) for shard in range(shards)]
    assert [finish(process)[0] for process in running] == [0] * shards
    check_answer(tmp_path, "--keep", keep)
    assert pq.read_table(tmp_path / "report.parquet").num_rows > 100


def test_nothing_may_be_dropped(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in/a.jsonl").write_bytes(b'{"text": "one two three four"}\n{"text": "five six seven eight"}')
    (tmp_path / "in/b.jsonl").write_bytes(b"\n")
    assert finish(start(tmp_path, "0/1"))[0] == 0
    assert (tmp_path / "out/a.jsonl").read_bytes() == (tmp_path / "in/a.jsonl").read_bytes()
    assert (tmp_path / "out/b.jsonl").read_bytes() == b""
    assert pq.read_table(tmp_path / "report.parquet").num_rows == 0


@pytest.mark.parametrize("name", ["Lengths/00003.arrow", "Sign/00001.arrow", "out/sub/3.jsonl"])
def test_a_killed_shard_goes_on_where_it_stopped(name: str, tmp_path: Path) -> None:
    write(tmp_path, documents(800, 7))
    other, killed = start(tmp_path, "0/2"), start(tmp_path, "1/2", before=KILL.format(name=name))
    assert finish(killed)[0] == -9
    assert len(list(tmp_path.rglob("*.partial"))) >= 1
    done = {path: path.stat().st_ino for path in tmp_path.glob("state/*/*/*.arrow")}
    assert done
    assert finish(start(tmp_path, "1/2"))[0] == 0
    assert finish(other)[0] == 0
    check_answer(tmp_path)
    assert {path: path.stat().st_ino for path in done} == done
    assert list(tmp_path.rglob("*.partial")) == []


def test_another_input_option_or_count_is_refused(tmp_path: Path) -> None:
    write(tmp_path, documents(80, 1))
    assert finish(start(tmp_path, "0/1"))[0] == 0
    assert "with other shards:" in finish(start(tmp_path, "0/2"))[1]
    assert "with other options:" in refused(tmp_path, "--similarity", "0.7")
    assert "with other output:" in refused(tmp_path, "-o", "other")
    assert not (tmp_path / "other").exists()
    os.utime(tmp_path / "in/sub/3.jsonl", (1, 1))
    assert "with other inputs:" in refused(tmp_path)
    os.utime(tmp_path / "in/sub/3.jsonl", (2, 2))
    assert "out belongs to a run with other inputs or options:" in refused(
        tmp_path, "--state", "another", "--report", "new"
    )
    (tmp_path / "out" / array.MARKER).unlink()
    assert "not empty" in refused(tmp_path, "--state", "third", "--report", "new")


def test_no_input_is_replaced_or_named_twice(tmp_path: Path) -> None:
    write(tmp_path, documents(80, 1))
    before = files(tmp_path / "in")
    for option in ("--output", "--state", "--report"):
        assert "lies in the input folder" in refused(tmp_path, option, "in/sub/made")
    (tmp_path / "in").rename(tmp_path / "all")
    (tmp_path / "in").mkdir()
    (tmp_path / "in/3.jsonl").write_bytes((tmp_path / "all/sub/3.jsonl").read_bytes())
    assert "is an input" in refused(tmp_path, "-o", "all/sub", inputs=["all/sub/*.jsonl"])
    assert "is an input" in refused(tmp_path, "--report", "all/2.jsonl.gz", inputs=["all/2.jsonl.gz"])
    assert "lies in the output folder" in refused(tmp_path, "--report", "out/3.jsonl")
    assert "lies in the input folder" in refused(tmp_path, "-o", "all/kept", inputs=["all/*/*.jsonl"])
    (tmp_path / "there").write_bytes(b"")
    assert "there is there already" in refused(tmp_path, "--report", "there")
    assert "is named twice" in refused(tmp_path, inputs=["in", "in/3.jsonl"])
    assert files(tmp_path / "all") == before


def test_folders_and_patterns_without_files_are_refused(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in/_SUCCESS").write_bytes(b"")
    assert "in: no such file" in refused(tmp_path)
    write(tmp_path / "all", documents(8, 1))
    assert "none/**/*.jsonl: no such file" in refused(tmp_path, inputs=["all/in", "none/**/*.jsonl"])


def test_a_pattern_matches_at_any_depth(tmp_path: Path) -> None:
    write(tmp_path, documents(80, 1))
    (tmp_path / "in/linked").symlink_to(tmp_path)
    found = array._inputs([str(tmp_path / "in/**/*.jsonl")])
    assert [path.name for path in found] == ["3.jsonl", "_temporary.jsonl", "empty.jsonl"]
    (tmp_path / "in/_SUCCESS").unlink()
    assert array._inputs([str(tmp_path / "in/**")])[2:] == [tmp_path / "in/2.jsonl.gz", *found]


@pytest.mark.parametrize(
    "line",
    [
        b'{"text": "a", "text": "b"}',
        b'{"text": "a", "n": NaN}',
        b'{"text": "a", "n": -Infinity}',
        b'{"text": null}',
        b'{"text": ["a"]}',
        b'{"text": "\\ud800"}',
        b'{"text": "\xff"}',
        b'{"other": {"text": "a"}}',
        b'[["text", "a"]]',
        codecs.BOM_UTF8 + b'{"text": "a"}',
    ],
)
def test_lines_that_the_program_refuses_are_refused(line: bytes, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    path = tmp_path / "in/a.jsonl"
    path.write_bytes(b'\n{"text": "one"}\n' + line)
    with pytest.raises(Exception, match=r"a\.jsonl:3: not a JSON object with one text in 'text'"):
        list(array._Documents(path, 0, "text")())
    assert program(tmp_path) == 2


def test_members_of_members_are_those_of_the_program(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    texts = [" ".join(f"{name}{i}" for i in range(9)) for name in "abcab"]
    lines = [
        {"a": {"b": texts[0], "c": 1}},
        {"a.b": texts[1]},
        {"a": {"b": texts[2]}, "b": texts[0]},
        {"a": {"b": texts[3], "d": {}}},
        {"a.b": texts[4], "a": 7},
    ]
    (tmp_path / "in/a.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert finish(start(tmp_path, "0/1", "--text-field", "a.b")) == (0, "dropped 2 documents\n")
    check_answer(tmp_path, "--text-field", "a.b")
    (tmp_path / "in/a.jsonl").write_text(json.dumps({"a": {"b": "x"}, "a.b": "y"}))
    assert "a.jsonl:1: not" in refused(
        tmp_path, "--text-field", "a.b", "--state", "new", "-o", "new-out", "--report", "new.parquet"
    )
    assert program(tmp_path, "--text-field", "a.b", "--force") == 2


def test_columns_without_texts_are_refused(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    table = pa.table({"n": [1], "text": ["a"], "null": pa.array([None], pa.string()), "bytes": [b"\xff"]})
    pq.write_table(table, tmp_path / "in/a.parquet")
    assert "a.parquet: column 'n' holds int64, not strings" in refused(tmp_path, "--text-field", "n")
    for name, error in [("null", "a.parquet: row 0, from 0, has no text"), ("none", "a.parquet has no columns 'none'")]:
        assert error in refused(tmp_path, "--text-field", name, "--state", name)
    assert "a.parquet: Invalid UTF8" in refused(tmp_path, "--text-field", "bytes", "--state", "bytes")


@pytest.mark.parametrize("name", ["a.parquet", "a.jsonl"])
def test_an_input_must_not_change(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    pq.write_table(pa.table({"text": ["a"]}), path)
    if name == "a.jsonl":
        path.write_text('{"text": "a"}')
    read = array._Documents(path, 0, "text")
    assert sum(batch.num_rows for batch in read()) == 1
    os.utime(path, (1, 1))
    with pytest.raises(InputError, match="has changed while it was read"):
        list(read())
    with pytest.raises(InputError, match="has changed while it was read"):
        read.copy(tmp_path / "copy", np.arange(0))
    assert sorted(file.name for file in tmp_path.iterdir()) == [name]


@pytest.mark.parametrize("codec", ["none", "snappy", "gzip", "brotli", "zstd", "lz4"])
def test_any_compression_of_parquet_is_kept(codec: str, tmp_path: Path) -> None:
    table = pa.table({"text": ["a"] * 9, "list": [[1], [], None] * 3})
    pq.write_table(table, tmp_path / "a.parquet", compression=codec, use_compliant_nested_type=False)
    array._Documents(tmp_path / "a.parquet", 0, "text").copy(tmp_path / "b.parquet", np.array([2]))
    before, copy = (pq.ParquetFile(tmp_path / name) for name in ("a.parquet", "b.parquet"))
    for column in range(2):
        found = (file.metadata.row_group(0).column(column).compression for file in (before, copy))
        assert len(set(found)) == 1
    assert copy.read().to_pylist() == table.take([0, 1, *range(3, 9)]).to_pylist()


def test_large_row_groups_are_copied_in_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = pa.table({"text": ["x" * 1000] * 100, "at": pa.array(range(100), pa.timestamp("ns"))})
    times = {"use_deprecated_int96_timestamps": True}
    pq.write_table(table, tmp_path / "a.parquet", 50, compression="gzip", **times)
    monkeypatch.setattr(array, "BATCH", 10)
    monkeypatch.setattr(array, "GROUP_BYTES", 30_000)
    dropped = np.array([*range(50), 57])
    array._Documents(tmp_path / "a.parquet", 0, "text").copy(tmp_path / "b.parquet", dropped)
    copy = pq.ParquetFile(tmp_path / "b.parquet")
    rows = [copy.metadata.row_group(group).num_rows for group in range(copy.num_row_groups)]
    assert 0 < min(rows) <= max(rows) <= 30
    assert copy.schema.column(1).physical_type == "INT96"
    assert copy.read() == table.take(np.delete(np.arange(100), dropped))


def test_results_are_those_of_one_manifest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "manifest.json"
    synced: list[int] = []
    monkeypatch.setattr(os, "fsync", synced.append)
    first = agree(path, {"inputs": ["a"]})
    assert len(synced) == 1
    assert agree(path, {"inputs": ["a"]}) == first
    with pytest.raises(OptionError, match="with other inputs:"):
        agree(path, {"inputs": ["b"]})
    path.unlink()
    assert agree(path, {"inputs": ["b"]}) != first


@pytest.mark.parametrize("text", ["", "{", "[1]", '{"inputs": ["a'])
def test_a_damaged_manifest_is_an_error(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_shards, "WRITING", 0.0)
    (tmp_path / "manifest.json").write_text(text)
    with pytest.raises(FileError, match=r"manifest\.json is damaged: delete .*, and start all shards again"):
        agree(tmp_path / "manifest.json", {"inputs": ["a"]})


def test_a_manifest_is_read_when_it_is_whole(tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text('{"inputs": [')
    rest = threading.Timer(0.5, (tmp_path / "manifest.json").write_text, ['{"inputs": ["a"]}'])
    rest.start()
    assert agree(tmp_path / "manifest.json", {"inputs": ["a"]})
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
