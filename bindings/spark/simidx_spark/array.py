"""Deduplication of files by a job array, without Spark: ``python -m simidx_spark.array dedup INPUT... --shard I/N``."""

from __future__ import annotations

import argparse
import codecs
import glob
import io
import itertools
import json
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

import simidx
from simidx import Error, FileError, InputError, OptionError, Pipeline
from simidx_spark.distributed._engine import MOST_LINKS, Similar
from simidx_spark.distributed._messages import Batches, gathered
from simidx_spark.distributed._shards import Shards, agree, whole
from simidx_spark.distributed._similar import Lengths, Report
from simidx_spark.distributed._texts import Words, compared

#: Bits of an id that hold the number of a record in its file; those above hold the number of the file.
RECORD = 40

#: The help of ``--features``.
FEATURES = "words:N, or pipeline [default: words:3; with a pipeline other than web, its features]"

#: The help of ``--text-field``.
TEXT_FIELD = "column of the texts, or member such as a.b of JSON lines [default: text]"

#: The help of ``--wait``.
WAIT = "seconds without progress of any shard after which to stop [default: 3600]"

#: The file in the folder of kept records that says of which run they are.
MARKER = ".simidx-array.json"

#: Records in a batch.
BATCH = 4096

#: The most bytes and rows of a row group, which are in memory before they are written.
GROUP_BYTES = 128 << 20
GROUP_ROWS = 1 << 20

#: Bytes of a column of a Parquet file that are read at a time.
READ = 1 << 20

#: The types of columns of texts.
TEXTS = [pa.string(), pa.large_string(), pa.binary(), pa.large_binary()]


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


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yields the lines that are not blank with their numbers, without the byte order mark of the file."""
    with pa.input_stream(str(path), compression="detect") as stream:
        for number, line in enumerate(io.BufferedReader(stream), 1):
            if number == 1:
                line = line.removeprefix(codecs.BOM_UTF8)
            if line.strip(b" \t\r\n\f"):
                yield number, line


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


#: Reads an object as its members, of which several may have one name.
_JSON = json.JSONDecoder(object_pairs_hook=tuple, parse_constant=_refuse_constant)


def _members(value: Any, path: str) -> Iterator[Any]:
    """Yields the members at a path: ``a.b`` is a member of this name, or the member b of a member a."""
    for name, inner in value if isinstance(value, tuple) else ():
        if name == path:
            yield inner
        elif path.startswith(f"{name}."):
            yield from _members(inner, path[len(name) + 1 :])


class _Documents:
    """The records of an input file, which are numbered in the order of the files."""

    def __init__(self, path: Path, number: int, field: str) -> None:
        self._path, self._first, self._field = path, number << RECORD, field
        self._state = _state(path)

    def _check(self) -> None:
        """Refuses a file that is not what it was at the start, for its records may have other numbers."""
        if _state(self._path) != self._state:
            raise InputError(f"{self._path} has changed while it was read: choose a new --state, and start again")

    def __call__(self) -> Batches:
        at = self._first
        for texts in self._texts():
            if texts.null_count:
                row = at - self._first + pc.index(texts.is_null(), True).as_py()
                raise InputError(f"{self._path}: row {row}, from 0, has no text in {self._field!r}")
            ids = pa.array(np.arange(at, at + len(texts), dtype=np.int64))
            at += len(texts)
            yield pa.record_batch([ids, texts], names=["id", "text"])

    def _texts(self) -> Iterator[Any]:
        try:
            yield from self._parquet() if self._path.suffix == ".parquet" else self._json()
        except (pa.ArrowException, OSError) as error:
            raise InputError(f"{self._path}: {error}") from None
        self._check()

    def _parquet(self) -> Iterator[Any]:
        with pq.ParquetFile(self._path, buffer_size=READ) as file:
            types = [field.type for field in file.schema_arrow if field.name == self._field]
            if len(types) != 1:
                raise InputError(f"{self._path} has {len(types) or 'no'} columns {self._field!r}")
            type = types[0].value_type if pa.types.is_dictionary(types[0]) else types[0]
            if type not in TEXTS:
                raise InputError(f"{self._path}: column {self._field!r} holds {type}, not strings")
            for batch in file.iter_batches(BATCH, columns=[self._field]):
                yield batch.column(self._field).cast(pa.string())

    def _json(self) -> Iterator[Any]:
        texts: list[str] = []
        for number, line in _lines(self._path):
            try:
                (text,) = _members(_JSON.decode(line.decode()), self._field)
                text.encode()
            except (ValueError, AttributeError, RecursionError):
                message = f"not a JSON object with one text in {self._field!r}"
                raise InputError(f"{self._path}:{number}: {message}") from None
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
            else:
                self._copy_lines(partial, set(mine.tolist()))
            self._check()

    def _copy_lines(self, output: Path, gone: set[int]) -> None:
        codec = {".gz": "gzip", ".zst": "zstd"}.get(self._path.suffix)
        with pa.output_stream(str(output), compression=codec) as out:
            for record, (_, line) in enumerate(_lines(self._path)):
                if record not in gone:
                    out.write(line)

    def _copy_parquet(self, output: Path, gone: Any) -> None:
        with (
            pq.ParquetFile(self._path, buffer_size=READ) as file,
            pq.ParquetWriter(output, file.schema_arrow, **_properties(file)) as out,
        ):
            at = 0
            for group in range(file.num_row_groups):
                kept = _kept(file.iter_batches(BATCH, row_groups=[group]), at, gone)
                for table in gathered(kept, GROUP_ROWS, GROUP_BYTES):
                    out.write_table(table)
                at += file.metadata.row_group(group).num_rows


def _state(path: Path) -> list[int]:
    """Returns the length of a file, and when it was changed."""
    about = path.stat()
    return [about.st_size, about.st_mtime_ns]


def _kept(batches: Batches, at: int, gone: Any) -> Batches:
    """Yields the rows that are not gone, of which the first is row ``at``."""
    for batch in batches:
        start, end = np.searchsorted(gone, [at, at + len(batch)])
        kept = np.ones(len(batch), dtype=bool)
        kept[gone[start:end] - at] = False
        at += len(batch)
        yield batch.filter(pa.array(kept))


def _properties(file: Any) -> dict[str, Any]:
    """Returns how the columns of a Parquet file are compressed, and whether its times have 96 bits, as in Spark."""
    if not file.num_row_groups:
        return {}
    group = file.metadata.row_group(0)
    columns = [group.column(number) for number in range(group.num_columns)]
    # The reader of metadata and the writer name this one differently.
    names = {"UNCOMPRESSED": "NONE"}
    used = {column.path_in_schema: names.get(column.compression, column.compression) for column in columns}
    # Lists may be written under other paths.
    one = len(set(used.values())) == 1
    has_int96 = any(column.physical_type == "INT96" for column in columns)
    return {"compression": used.popitem()[1] if one else used, "use_deprecated_int96_timestamps": has_int96}


def _files(folder: Path) -> list[Path]:
    """Returns the files that `simidx dedup` reads in a folder and its subfolders, in the order of their paths.

    They are those that are not empty, except hidden files and files whose names begin with ``_``.
    """
    found: list[Path] = []
    for path in sorted(folder.iterdir()):
        if path.name.startswith((".", "_")):
            continue
        if path.is_file():
            found.append(path)
        elif path.is_dir() and path.resolve() not in [folder.resolve(), *folder.resolve().parents]:
            found += _files(path)
    return [path for path in found if path.stat().st_size] or found


def _inputs(names: list[str]) -> list[Path]:
    """Returns the files of the inputs, in order."""
    paths: list[Path] = []
    for name in names:
        found = [Path(name)]
        if not found[0].exists():
            found = sorted({Path(match) for match in glob.glob(name, recursive=True)})
            if "**" in name:
                found = [path for path in found if not _is_linked(path, Path(name.partition("**")[0]))]
            if name.endswith("**"):
                found = [path for path in found if path.is_file()]
        files = [file for path in found for file in (_files(path) if path.is_dir() else [path])]
        if not files:
            raise FileError(f"{name}: no such file, or no files in it")
        paths += files
    for path in paths:
        if not path.name.endswith((".parquet", ".jsonl", ".jsonl.gz", ".jsonl.zst")):
            raise OptionError(f"{path}: inputs are .parquet, .jsonl, .jsonl.gz or .jsonl.zst")
    return paths


def _is_linked(path: Path, above: Path) -> bool:
    """Returns whether a link leads from a folder to a path in it. The program does not follow these either."""
    return any(folder.is_symlink() for folder in path.parents if folder != above and above in folder.parents)


def _folder(name: str) -> Path | None:
    """Returns the folder of an input in which outputs would be inputs of the next run."""
    if Path(name).exists():
        return Path(name) if Path(name).is_dir() else None
    folders = Path(name).parts[:-1]
    fixed = list(itertools.takewhile(lambda part: not glob.has_magic(part), folders))
    return Path(*fixed) if len(fixed) < len(folders) or name.endswith("**") else None


def _outputs(args: argparse.Namespace, paths: list[Path]) -> list[Path]:
    """Returns the files of kept records: the paths of the inputs below the deepest folder that holds all of them."""
    for folder in (folder.resolve() for folder in map(_folder, args.input) if folder is not None):
        for made in filter(None, (args.output, args.state, args.report)):
            if Path(made).resolve().is_relative_to(folder):
                raise OptionError(f"{made} lies in the input folder {folder}: choose a place outside")
    places = [path.parent.resolve() / path.name for path in paths]
    shared = os.path.commonpath([place.parent for place in places])
    if len(set(places)) < len(places):
        raise OptionError("an input is named twice, so its output would be written twice")
    outputs = [Path(args.output) / place.relative_to(shared) for place in places]
    inputs = {path.resolve() for path in paths}
    for output in [*outputs, *map(Path, [args.report] if args.report else [])]:
        if output.resolve() in inputs:
            raise OptionError(f"{output} is an input, and no input is replaced: choose another place")
    if args.report and Path(args.report).resolve().is_relative_to(Path(args.output).resolve()):
        raise OptionError(f"{args.report} lies in the output folder {args.output}: choose a place outside")
    return outputs


def _shard(value: str) -> tuple[int, int]:
    """Reads ``I/N``, in which the first shard is 0."""
    shard, _, count = value.partition("/")
    if shard.isdecimal() and count.isdecimal() and int(shard) < int(count):
        return int(shard), int(count)
    raise argparse.ArgumentTypeError(f"{value}: expected I/N with I from 0 to N-1")


def _report(path: Path, paths: list[Path], table: pa.Table) -> None:
    names = pa.array([str(path) for path in paths], pa.string())
    made: dict[str, Any] = {}
    for column, document in (("id", "dropped"), ("duplicate_of", "kept")):
        ids = table.column(column).to_numpy()
        made[f"{document}_file"] = names.take(pa.array(ids >> RECORD))
        made[f"{document}_row"] = ids & ((1 << RECORD) - 1)
    with whole(path) as partial:
        pq.write_table(pa.table({**made, "similarity": table.column("similarity")}), partial)


def _run(args: argparse.Namespace) -> None:
    paths, output, (shard, count) = _inputs(args.input), Path(args.output), args.shard
    outputs = _outputs(args, paths)
    marker = output / MARKER
    if not marker.exists() and output.exists() and any(output.iterdir()):
        raise FileError(f"{output} is there already and not empty")
    if args.report and Path(args.report).exists() and not (Path(args.state) / "manifest.json").exists():
        raise FileError(f"{args.report} is there already")
    options = {name: getattr(args, name) for name in ("similarity", "features", "pipeline", "keep", "text_field")}
    files = [[str(path.resolve()), *_state(path)] for path in paths]
    # What the options mean is checked before they are written down.
    pipeline = Pipeline(args.pipeline)
    how = (args.similarity, compared(words(args.features), pipeline), pipeline)
    simidx.dedup_texts(["a"], how[0], words=how[1], pipeline=how[2])
    run = agree(
        Path(args.state) / "manifest.json",
        {
            "version": simidx.__version__,
            "shards": count,
            "options": options,
            "inputs": files,
            "output": str(output.resolve()),
        },
    )
    if marker.exists():
        agree(marker, {"inputs or options": run})
    engine = Shards(Path(args.state) / run, shard, count, args.wait)
    documents = [_Documents(path, number, args.text_field) for number, path in enumerate(paths)]
    similar = Similar(engine, pa.int64(), *how)
    parts: list[Any] = [[some] for some in documents]
    found = similar.report(parts, engine.map(parts, Lengths()), count, args.keep == "longest", MOST_LINKS)
    batches = [batch for part in found for read in part for batch in read()]
    table = pa.Table.from_batches(batches, Report(pa.int64()).schema).sort_by("id")
    dropped = table.column("id").to_numpy()
    # Not before the inputs have been read, so that a run that refuses them leaves no folder.
    agree(marker, {"inputs or options": run})
    for number, some in enumerate(documents):
        if engine.owns(number):
            some.copy(outputs[number], dropped)
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
    made.add_argument("--text-field", default="text", metavar="NAME", help=TEXT_FIELD)
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
