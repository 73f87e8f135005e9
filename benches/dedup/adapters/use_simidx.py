"""simidx: `SCRATCH/simidx` is the program; the options are those of `simidx dedup`."""

import json
import subprocess
import sys

from features import write_dropped

documents, answer, scratch, options = sys.argv[1:]
program, *options = json.loads(options)
report = f"{scratch}/dropped.jsonl"
command = [program, "dedup", documents, "-o", f"{scratch}/kept.jsonl", "--report", report, "--threads", "1", "--quiet"]
subprocess.run(command + options, check=True)
with open(report, encoding="utf-8") as file:
    write_dropped(answer, [json.loads(line)["dropped"] for line in file])
