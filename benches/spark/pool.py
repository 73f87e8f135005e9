"""Deduplication of Parquet files without Spark: an engine of processes, whose data are lists of Arrow files.

python pool.py FOLDER INPUT.parquet… > report.csv
"""

from __future__ import annotations

import sys
import uuid
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow.csv import write_csv
from pyarrow.dataset import dataset

from simidx import Pipeline
from simidx_spark.distributed import Engine, Similar

#: For each part its files, each with the place whose messages it has; -1 for all that are in it.
Data = list[list[tuple[Path, int]]]


def run(stage: Any, folder: Path, part: list[tuple[Path, int]]) -> list[tuple[Path, int]]:
    """Runs a stage on a part, and writes a file."""

    def batches() -> Any:
        for path, place in part:
            for batch in dataset(path, format=path.suffix[1:]).to_batches():
                yield batch if place < 0 else batch.filter(pc.equal(batch.column("place"), place))

    path = folder / f"{uuid.uuid4()}.arrow"
    with pa.ipc.new_file(path, stage.schema) as writer:
        for batch in stage(batches()):
            writer.write_batch(batch)
    return [(path, -1)]


class Pool:
    """An engine of processes."""

    def __init__(self, pool: ProcessPoolExecutor, folder: Path) -> None:
        self._pool, self._folder = pool, folder

    def map(self, data: Data, stage: Any) -> Data:
        return list(self._pool.map(partial(run, stage, self._folder), data))

    def by_place(self, data: list[Data], places: int) -> Data:
        paths = [path for some in data for part in some for path, _ in part]
        return [[(path, place) for path in paths] for place in range(places)]

    def collect(self, data: Data) -> list[dict[str, Any]]:
        return [row for part in data for path, _ in part for row in pa.ipc.open_file(path).read_all().to_pylist()]

    def keep(self, data: Data) -> Data:
        return data


class Lengths:
    """The lengths of texts."""

    schema = pa.schema([("id", pa.string()), ("length", pa.int64())])

    def __call__(self, batches: Any) -> Any:
        for batch in batches:
            columns = [batch.column("id"), pc.binary_length(batch.column("text")).cast(pa.int64())]
            yield pa.RecordBatch.from_arrays(columns, schema=self.schema)


if __name__ == "__main__":
    folder, *inputs = map(Path, sys.argv[1:])
    with ProcessPoolExecutor() as workers:
        engine: Engine[Data] = Pool(workers, folder)
        documents: Data = [[(path, -1)] for path in inputs]
        similar = Similar(engine, pa.string(), 0.8, 3, Pipeline("web"))
        report = similar.report(documents, engine.map(documents, Lengths()), len(inputs), False, 10**7)
        write_csv(pa.Table.from_pylist(engine.collect(report)), sys.stdout.buffer)
