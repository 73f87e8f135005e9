"""Documents without near-duplicates: Spark compared with the program and with another tool, on the same cores.

    python3 benches/spark/texts.py CACHE [--counts 100000,1000000] [--cores 2] [--beside text-dedup]

Each reads the same file of JSON lines and writes what it keeps; starting it counts, but for the start of Spark. The tool is
installed into CACHE, by the requirements of `benches/dedup`, with runs of three words and a similarity of 0.8.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import local

DEDUP = Path(__file__).resolve().parent.parent / "dedup"
sys.path.insert(0, str(DEDUP))

from make_lines import documents  # noqa: E402
from run import install, read_requirements  # noqa: E402

WAYS = {
    "text-dedup": ("use_text_dedup", ["minhash", "--ngram", "3", "--threshold", "0.8", "--min_length", "1"]),
    "datatrove": ("use_datatrove", {"n_grams": 3, "language": "en"}),
}


def make(path: Path, count: int) -> None:
    with open(path, "w", encoding="utf-8") as file:
        for id, words in enumerate(documents(count, random.Random(7))):
            file.write(json.dumps({"id": id, "text": " ".join(words)}) + "\n")


def beside(name: str, python: Path, docs: Path, cores: int, scratch: Path) -> int:
    """Runs the tool, and returns how many documents it drops."""
    adapter, options = WAYS[name]
    if isinstance(options, list):
        options = [*options, "--num_proc", str(cores)]
    answer = scratch / "answer.json"
    command = [python, DEDUP / "adapters" / f"{adapter}.py", docs, answer, scratch, json.dumps(options)]
    environment = {**os.environ, "PYTHONPATH": str(DEDUP)}
    done = subprocess.run(list(map(str, command)), env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{name}: {done.stderr[-2000:]}")
    return len(json.loads(answer.read_text()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cache", type=Path, help="folder for environments, outside of the repository")
    parser.add_argument("--counts", default="100000")
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--beside", choices=[*WAYS, "none"], default="text-dedup")
    parser.add_argument("--temp-dir")
    args = parser.parse_args()
    args.cache.mkdir(parents=True, exist_ok=True)
    python = None
    if args.beside != "none":
        python, error = install(args.beside, read_requirements(DEDUP / "requirements.txt")[args.beside], args.cache)
        if python is None:
            sys.exit(f"{args.beside} {error}")
    folder = Path(tempfile.mkdtemp(dir=args.temp_dir))
    session = local.session(folder, args.cores)
    import simidx_spark as spark

    print("| documents | tool | seconds | dropped |")
    print("|---:|---|---:|---:|")
    session.range(10).selectExpr("id", "'x y z' as text").write.json(str(folder / "warm"))
    spark.dedup(session.read.json(str(folder / "warm")))[0].count()
    for count in map(int, args.counts.split(",")):
        docs, report = folder / f"{count}.jsonl", folder / "report.jsonl"
        make(docs, count)

        def by_program(docs: Path = docs, report: Path = report) -> None:
            command = ["dedup", docs, "-o", folder / "kept.jsonl", "--report", report, "--force"]
            local.program(folder, args.cores, *command)

        seconds, _ = local.timed(by_program)
        dropped = sum(1 for _ in open(report))
        print(f"| {count:,} | simidx dedup | {seconds:.1f} | {dropped:,} |", flush=True)

        def by_spark(docs: Path = docs) -> None:
            kept, found = spark.dedup(session.read.schema("id long, text string").json(str(docs)))
            kept.write.mode("overwrite").json(str(folder / "kept"))
            dropped_by_spark.append(found.count())

        dropped_by_spark: list[int] = []
        seconds, _ = local.timed(by_spark)
        print(f"| {count:,} | simidx_spark.dedup | {seconds:.1f} | {dropped_by_spark[0]:,} |", flush=True)
        spark.release()
        if python is not None:
            scratch = folder / "scratch"
            scratch.mkdir()
            found: list[int] = []
            work = lambda: found.append(beside(args.beside, python, docs, args.cores, scratch))  # noqa: B023, E731
            seconds, _ = local.timed(work)
            print(f"| {count:,} | {args.beside} minhash | {seconds:.1f} | {found[0]:,} |", flush=True)
            shutil.rmtree(scratch)
    session.stop()
    shutil.rmtree(folder)


if __name__ == "__main__":
    main()
