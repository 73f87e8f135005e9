"""Jobs on a cluster that runs second attempts at slow tasks: a program of its own, since a process has one Spark.

    python -m spark.speculative_jobs MASTER FOLDER

A task of each stage waits until there is a second attempt at it. Leaves the set of segments, pairs
and clusters in the folder, and a mark for each attempt.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

import simidx_spark as on_spark

from .sessions import start, wrap_stages

#: Partitions of the input, and segments.
PARTITIONS = 4

#: Seconds that a slow task waits for a second attempt, which comes within one or two.
PATIENCE = 60.0

SETTINGS = {
    "spark.executor.memory": "512m",
    "spark.sql.shuffle.partitions": str(PARTITIONS),
    "spark.speculation": "true",
    "spark.speculation.efficiency.enabled": "false",
    "spark.speculation.interval": "20ms",
    "spark.speculation.minTaskRuntime": "0ms",
    "spark.speculation.multiplier": "1.0",
    "spark.speculation.quantile": "0.1",
}


class Slow:
    """A stage whose first attempt at one partition waits for a second one, so that both work at once."""

    def __init__(self, stage: Any, marks: Path) -> None:
        self.stage, self.marks, self.schema = stage, marks, stage.schema

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pyspark import TaskContext

        task = TaskContext.get()
        assert task is not None
        name = f"{type(self.stage).__name__}-{task.stageId()}-{task.partitionId()}"
        (self.marks / f"{name}-{task.attemptNumber()}").touch()
        if task.partitionId() == 1 and task.attemptNumber() == 0:
            end = time.monotonic() + PATIENCE
            while not (self.marks / f"{name}-1").exists() and time.monotonic() < end:
                time.sleep(0.01)
        yield from self.stage(batches)


def main(master: str, folder: Path) -> None:
    session = start(master, SETTINGS)
    marks = folder / "marks"
    marks.mkdir()
    wrap_stages(__name__, lambda stage: Slow(stage, marks))

    df = session.read.parquet(str(folder / "records.parquet")).repartition(PARTITIONS, "id")
    on_spark.build(df, folder / "set", segments=PARTITIONS)
    pairs = sorted(map(tuple, on_spark.pairs(df, 3, partitions=PARTITIONS).collect()))
    clusters = sorted(map(tuple, on_spark.clusters(df, 3, partitions=PARTITIONS).collect()))
    (folder / "found.json").write_text(json.dumps({"pairs": pairs, "clusters": clusters}))
    session.stop()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
