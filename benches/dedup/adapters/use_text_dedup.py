"""text-dedup: one of its scripts by its command line, and the ids that its output lacks.

README of text-dedup 0.4.0, "Quick Examples": `python -m text_dedup.minhash --path … --split train --cache_dir …
--output … --column text --batch_size 10000`, and the same for `text_dedup.simhash`. Local JSON lines are the data set
`json` with `--data_files`. `--num_proc 1` is for one thread.
"""

import json
import os
import subprocess
import sys

import pyarrow.ipc
from features import read_documents, write_dropped

documents, answer, scratch, options = sys.argv[1:]
script, *options = json.loads(options)
# It looks for newer versions of its loader in the network otherwise.
environment = {**os.environ, "HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1", "HF_HOME": f"{scratch}/home"}
command = [sys.executable, "-m", f"text_dedup.{script}"]
command += ["--path", "json", "--data_files", documents, "--split", "train", "--cache_dir", f"{scratch}/cache"]
command += ["--output", f"{scratch}/out", "--column", "text", "--batch_size", "10000", "--num_proc", "1"]
subprocess.run(command + options, check=True, env=environment, stdout=subprocess.DEVNULL)

kept = set()
for name in sorted(os.listdir(f"{scratch}/out")):
    if name.endswith(".arrow"):
        with pyarrow.ipc.open_stream(f"{scratch}/out/{name}") as table:
            kept.update(table.read_all().column("id").to_pylist())
write_dropped(answer, [id for id, _ in read_documents(documents) if id not in kept])
