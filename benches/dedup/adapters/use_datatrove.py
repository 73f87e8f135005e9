"""datatrove: its four stages of MinHash deduplication, one after the other in one process.

`examples/minhash_deduplication.py`, to which the README of datatrove 0.10.1 leads ("Deduplicating data"): 14 buckets
of 8 hashes, 64 bits, runs of 5 words. The language is that of the documents, because it chooses the words.
"""

import gzip
import json
import os
import sys

from datatrove.executor.local import LocalPipelineExecutor
from datatrove.pipeline.dedup import MinhashDedupSignature
from datatrove.pipeline.dedup.minhash import (
    MinhashConfig,
    MinhashDedupBuckets,
    MinhashDedupCluster,
    MinhashDedupFilter,
)
from datatrove.pipeline.readers import JsonlReader
from datatrove.pipeline.writers.jsonl import JsonlWriter
from datatrove.utils.hashing import HashConfig
from features import write_dropped

documents, answer, scratch, options = sys.argv[1:]
options = json.loads(options)
config = MinhashConfig(
    n_grams=options["n_grams"], num_buckets=14, hashes_per_bucket=8, hash_config=HashConfig(precision=64)
)
folder, name = os.path.split(os.path.abspath(documents))
reader = JsonlReader(folder, glob_pattern=name)


def stage(name, steps, tasks=1):
    executor = LocalPipelineExecutor(
        pipeline=steps, tasks=tasks, workers=1, logging_dir=f"{scratch}/logs/{name}", skip_completed=False
    )
    executor.run()


stage(
    "signatures",
    [reader, MinhashDedupSignature(output_folder=f"{scratch}/signatures", config=config, language=options["language"])],
)
stage(
    "buckets",
    [MinhashDedupBuckets(input_folder=f"{scratch}/signatures", output_folder=f"{scratch}/buckets", config=config)],
    tasks=config.num_buckets,
)
stage(
    "clusters",
    [MinhashDedupCluster(input_folder=f"{scratch}/buckets", output_folder=f"{scratch}/remove", config=config)],
)
stage(
    "filter",
    [
        reader,
        MinhashDedupFilter(input_folder=f"{scratch}/remove", exclusion_writer=JsonlWriter(f"{scratch}/removed")),
        JsonlWriter(output_folder=f"{scratch}/kept"),
    ],
)

dropped = []
for folder, _, names in os.walk(f"{scratch}/removed"):
    for name in names:
        with gzip.open(os.path.join(folder, name), "rt", encoding="utf-8") as file:
            dropped.extend(json.loads(line)["id"] for line in file)
write_dropped(answer, dropped)
