"""Deduplication by Ray of files with columns ``id`` and ``text``: python on_ray.py INPUT.parquet… > report.csv."""

from __future__ import annotations

import sys
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import ray
from pyarrow.csv import write_csv
from pyarrow.parquet import read_table

from simidx import Pipeline
from simidx_spark.distributed import Engine, Similar

#: For each part references to its tables, each with the place whose messages it has; -1 for all that are in it.
Data = list[list[tuple[Any, int]]]


@ray.remote
def run(stage: Any, part: list[tuple[Any, int]]) -> pa.Table:
    """Runs a stage on a part."""

    def batches() -> Any:
        for reference, place in part:
            table = ray.get(reference)
            yield from (table if place < 0 else table.filter(pc.equal(table.column("place"), place))).to_batches()

    return pa.Table.from_batches(stage(batches()), stage.schema)


class Ray:
    """An engine of the tasks of Ray."""

    def map(self, data: Data, stage: Any) -> Data:
        stage = ray.put(stage)
        return [[(run.remote(stage, part), -1)] for part in data]

    def by_place(self, data: list[Data], places: int) -> Data:
        references = [reference for some in data for part in some for reference, _ in part]
        return [[(reference, place) for reference in references] for place in range(places)]

    def collect(self, data: Data) -> list[dict[str, Any]]:
        return [row for part in data for reference, _ in part for row in ray.get(reference).to_pylist()]

    def keep(self, data: Data) -> Data:
        return data


if __name__ == "__main__":
    ray.init(include_dashboard=False)
    measure = ray.remote(lambda table: pa.table({"id": table["id"], "length": pc.binary_length(table["text"])}))
    documents: Data = [[(ray.remote(read_table).remote(path), -1)] for path in sys.argv[1:]]
    lengths: Data = [[(measure.remote(table), -1)] for [(table, _)] in documents]
    engine: Engine[Data] = Ray()
    similar = Similar(engine, pa.string(), 0.8, 3, Pipeline("web"))
    report = similar.report(documents, lengths, len(documents), False, 10**7)
    write_csv(pa.Table.from_pylist(engine.collect(report)), sys.stdout.buffer)
