"""Deduplication of files by a job array, without Spark: ``python -m simidx_spark.array dedup INPUT... --shard I/N``."""

from __future__ import annotations

import argparse
import glob
import io
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import simidx
from simidx import Error, FileError, InputError, OptionError, Pipeline
from simidx_spark.distributed._engine import MOST_LINKS, Similar
from simidx_spark.distributed._messages import Batches
from simidx_spark.distributed._shards import Shards, agree, whole
from simidx_spark.distributed._similar import Lengths, Report
from simidx_spark.distributed._texts import Words, compared

#: Bits of an id that hold the number of a record in its file; those above hold the number of the file.
RECORD = 40

#: The help of ``--features``.
FEATURES = "words:N, or pipeline [default: words:3; with a pipeline other than web, its features]"

#: The help of ``--wait``.
WAIT = "seconds without progress of any shard after which to stop [default: 3600]"

#: Records in a batch.
BATCH = 4096


def words(features: str | None) -> Words | None:
    """Reads what texts are compared by."""
    if features is None:
        return None
    if features == "pipeline":
        return "pipeline"
    name, _, count = features.partition(":")
    if name == "words" and count.isdecimal():
        return int(count)
    raise OptionError(f"--features {features}: words:N and pipeline are possible")


def _lines(path: Path) -> Iterator[bytes]:
    with pa.input_stream(str(path), compression="detect") as stream:
        yield from (line for line in io.BufferedReader(stream) if line.strip())


class _Documents:
    """The records of an input file, which are numbered in the order of the files."""

    def __init__(self, path: Path, number: int, field: str) -> None:
        self._path, self._first, self._field = path, number << RECORD, field

    def __call__(self) -> Batches:
        at = self._first
        for texts in self._parquet() if self._path.suffix == ".parquet" else self._json():
            if texts.null_count:
                raise InputError(f"{self._path}: a record has no text in {self._field!r}")
            ids = pa.array(np.arange(at, at + len(texts), dtype=np.int64))
            at += len(texts)
            yield pa.record_batch([ids, texts], names=["id", "text"])

    def _parquet(self) -> Iterator[Any]:
        with pq.ParquetFile(self._path) as file:
            if self._field not in file.schema_arrow.names:
                raise InputError(f"{self._path} has no column {self._field!r}")
            for batch in file.iter_batches(BATCH, columns=[self._field]):
                yield batch.column(0).cast(pa.string())

    def _json(self) -> Iterator[Any]:
        texts: list[str] = []
        for number, line in enumerate(_lines(self._path), 1):
            try:
                text = json.loads(line)[self._field]
                text.encode()
            except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
                text = None
            if not isinstance(text, str):
                raise InputError(f"{self._path}: record {number} is not JSON with a text in {self._field!r}")
            texts.append(text)
            if len(texts) == BATCH:
                yield pa.array(texts, pa.string())
                texts = []
        yield pa.array(texts, pa.string())

    def copy(self, output: Path, dropped: Any) -> None:
        """Copies the records that are kept; ``dropped`` are the ids of all others, in order."""
        end = self._first + (1 << RECORD)
        mine = dropped[np.searchsorted(dropped, self._first) : np.searchsorted(dropped, end)] - self._first
        with whole(output) as partial:
            if self._path.suffix == ".parquet":
                self._copy_parquet(partial, mine)
                return
            gone = set(mine.tolist())
            codec = {".gz": "gzip", ".zst": "zstd"}.get(self._path.suffix)
            with pa.output_stream(str(partial), compression=codec) as out:
                for record, line in enumerate(_lines(self._path)):
                    if record not in gone:
                        out.write(line)

    def _copy_parquet(self, output: Path, gone: Any) -> None:
        with pq.ParquetFile(self._path) as file, pq.ParquetWriter(output, file.schema_arrow) as out:
            at = 0
            for group in range(file.num_row_groups):
                table = file.read_row_group(group)
                kept = ~np.isin(np.arange(at, at + len(table)), gone)
                at += len(table)
                out.write_table(table.filter(pa.array(kept)))


def _inputs(names: list[str]) -> list[Path]:
    """Returns the files of the inputs, in order: those of a folder or pattern by their names."""
    paths: list[Path] = []
    for name in names:
        folder = Path(name)
        found = sorted(folder.iterdir()) if folder.is_dir() else [folder]
        if not found[:1] or not folder.exists():
            found = [Path(match) for match in sorted(glob.glob(name))]
        paths += [path for path in found if path.is_file() and not path.name.startswith((".", "_"))]
        if not found:
            raise FileError(f"{name}: no such file")
    for path in paths:
        if not path.name.endswith((".parquet", ".jsonl", ".jsonl.gz", ".jsonl.zst")):
            raise OptionError(f"{path}: inputs are .parquet, .jsonl, .jsonl.gz or .jsonl.zst")
    if len({path.name for path in paths}) < len(paths):
        raise OptionError("two inputs have the same name, so their outputs would have it too")
    return paths


def _shard(value: str) -> tuple[int, int]:
    """Reads ``I/N``, in which the first shard is 0."""
    shard, _, count = value.partition("/")
    if shard.isdecimal() and count.isdecimal() and int(shard) < int(count):
        return int(shard), int(count)
    raise argparse.ArgumentTypeError(f"{value}: expected I/N with I from 0 to N-1")


def _report(path: Path, paths: list[Path], table: pa.Table) -> None:
    names = pa.array([str(path) for path in paths], pa.string())
    made: dict[str, Any] = {}
    for column, file, record in (("id", "file", "record"), ("duplicate_of", "duplicate_of_file", "duplicate_of")):
        ids = table.column(column).to_numpy()
        made[file] = names.take(pa.array(ids >> RECORD))
        made[record] = ids & ((1 << RECORD) - 1)
    with whole(path) as partial:
        pq.write_table(pa.table({**made, "similarity": table.column("similarity")}), partial)


def _run(args: argparse.Namespace) -> None:
    paths, output, (shard, count) = _inputs(args.input), Path(args.output), args.shard
    if output.resolve() in [path.resolve().parent for path in paths]:
        raise OptionError(f"{output} has inputs, which the outputs would replace: choose another folder")
    if not (Path(args.state) / "manifest.json").exists() and output.exists() and any(output.iterdir()):
        raise FileError(f"{output} is there already and not empty")
    options = {name: getattr(args, name) for name in ("similarity", "features", "pipeline", "keep", "text_field")}
    files = [[str(path.resolve()), path.stat().st_size, path.stat().st_mtime_ns] for path in paths]
    # What the options mean is checked before they are written down.
    pipeline = Pipeline(args.pipeline)
    how = (args.similarity, compared(words(args.features), pipeline), pipeline)
    simidx.dedup_texts(["a"], how[0], words=how[1], pipeline=how[2])
    results = agree(
        Path(args.state),
        {
            "version": simidx.__version__,
            "shards": count,
            "options": options,
            "inputs": files,
            "output": str(output.resolve()),
        },
    )
    engine = Shards(results, shard, count, args.wait)
    documents = [_Documents(path, number, args.text_field) for number, path in enumerate(paths)]
    similar = Similar(engine, pa.int64(), *how)
    parts: list[Any] = [[some] for some in documents]
    found = similar.report(parts, engine.map(parts, Lengths()), count, args.keep == "longest", MOST_LINKS)
    batches = [batch for part in found for read in part for batch in read()]
    table = pa.Table.from_batches(batches, Report(pa.int64()).schema).sort_by("id")
    dropped = table.column("id").to_numpy()
    for number, some in enumerate(documents):
        if engine.owns(number):
            some.copy(output / paths[number].name, dropped)
    if args.report and shard == 0:
        _report(Path(args.report), paths, table)
    print(f"dropped {len(dropped)} documents", file=sys.stderr)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m simidx_spark.array", description="Jobs for the tasks of an array.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    help = "Keep one of each set of similar documents, as one of N processes that share a folder."
    made = commands.add_parser("dedup", help=help, description=help)
    made.add_argument("input", nargs="+", metavar="INPUT", help="files, folders or patterns: Parquet or JSON lines")
    made.add_argument("-o", "--output", required=True, metavar="DIR", help="folder of the kept records")
    made.add_argument("--state", required=True, metavar="DIR", help="folder that all shards share, to go on from")
    made.add_argument("--shard", type=_shard, default=(0, 1), metavar="I/N", help="from 0 to N-1 [default: 0/1]")
    made.add_argument("--wait", type=float, default=3600.0, metavar="S", help=WAIT)
    made.add_argument("--similarity", type=float, default=0.8, metavar="J", help="[default: 0.8]")
    made.add_argument("--features", metavar="WHAT", help=FEATURES)
    made.add_argument("--pipeline", default="web", help="how texts become features [default: web]")
    made.add_argument("--keep", choices=["first", "longest"], default="first", help="[default: first]")
    made.add_argument("--text-field", default="text", metavar="NAME", help="column of the texts [default: text]")
    made.add_argument("--report", metavar="FILE", help="Parquet with a row on each document that is dropped")
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a job and returns its exit code: 0 when it is done, 2 if it could not run."""
    try:
        _run(_parser().parse_args(arguments))
    except (Error, OSError, pa.ArrowException) as error:
        print(f"simidx: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
