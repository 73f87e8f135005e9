"""A build on a Spark of two executors that runs slow tasks a second time beside the first: `speculate.py FOLDER`.

Prints the segments of a set that it builds, and which second attempts have run.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark import TaskContext, cloudpickle
from pyspark.sql import DataFrame, SparkSession

from simidx import spark
from simidx.spark import _segments, _wiring


class Slow:
    """A stage of which one task waits for a second attempt when its work is done: both then say that they are done."""

    def __init__(self, stage: Any, folder: str) -> None:
        self.stage, self.folder, self.schema = stage, folder, stage.schema

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        task = TaskContext.get()
        assert task is not None
        mark = Path(self.folder) / f"{type(self.stage).__name__}-{task.partitionId()}"
        if task.attemptNumber() > 0:
            mark.touch()
        found = list(self.stage(batches))
        if task.attemptNumber() == 0 and task.partitionId() == 1:
            until = time.monotonic() + 120
            while not mark.exists() and time.monotonic() < until:
                time.sleep(0.05)
        yield from found


def main() -> None:
    folder = Path(sys.argv[1])
    settings = {
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.executor.memory": "512m",
        "spark.sql.shuffle.partitions": "3",
        "spark.speculation": "true",
        "spark.speculation.interval": "20ms",
        "spark.speculation.efficiency.enabled": "false",
        "spark.speculation.multiplier": "1.01",
        "spark.speculation.quantile": "0.3",
        "spark.speculation.minTaskRuntime": "100ms",
    }
    builder: Any = SparkSession.builder.master("local-cluster[2,1,512]")
    for key, value in settings.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    register: Any = cloudpickle.register_pickle_by_value
    register(sys.modules[__name__])
    marks = folder / "marks"
    marks.mkdir()

    def run(df: DataFrame, stage: Any) -> DataFrame:
        return _wiring.run(df, Slow(stage, str(marks)))

    df = session.read.parquet(str(folder / "records.parquet")).repartition(3)
    _segments.run = run  # type: ignore[attr-defined]
    names = spark.build(df, folder / "set", segments=3)
    print(json.dumps({"names": names, "again": sorted(os.listdir(marks))}))
    session.stop()


if __name__ == "__main__":
    main()
