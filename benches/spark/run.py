"""Spark compared with the program on the same cores: build, pairs and dedup by the number of fingerprints.

    python3 benches/spark/run.py [--counts 1000000,3000000,10000000] [--cores 2] [--times 3]

Needs the wheel of the package, PySpark and Java. Both read Parquet files of the same records from the same disk, and write
Parquet or an index. Spark has started before the clock does. The two take turns. Prints the median seconds, how much longer
Spark takes, seconds of processor time, which say something on a busy machine too, the bytes that Spark has sent between tasks
by its own count, and what `model.py` says of them.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import tempfile
from pathlib import Path

import local
import model
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq


def make(folder: Path, count: int) -> tuple[Path, Path]:
    """Fingerprints of which a fifth is near another one: with a sign for Spark, without for the program."""
    rng = np.random.default_rng(count)
    values = rng.integers(0, 2**64, count, dtype=np.uint64)
    near = rng.choice(count, count // 5, replace=False)
    copies = values[rng.integers(0, count, len(near))]
    for _ in range(3):
        copies ^= np.uint64(1) << rng.integers(0, 64, len(near), dtype=np.uint64)
    values[near] = copies
    ids = np.arange(count)
    with_sign, without = folder / f"{count}.signed.parquet", folder / f"{count}.parquet"
    rows = max(1, count // 8)
    pq.write_table(pa.table({"id": ids, "fingerprint": values.view(np.int64)}), with_sign, row_group_size=rows)
    pq.write_table(pa.table({"id": ids, "fingerprint": values}), without, row_group_size=rows)
    return with_sign, without


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--counts", default="1000000,3000000,10000000")
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--jobs", default="build,pairs,clusters,dedup")
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("--temp-dir")
    args = parser.parse_args()

    import simidx_spark as spark

    folder = Path(tempfile.mkdtemp(dir=args.temp_dir))
    session = local.session(folder, args.cores)

    # Workers start, and code is compiled, before the clock starts.
    with_sign, without = make(folder, 10_000)
    spark.pairs(session.read.parquet(str(with_sign))).count()

    columns = ["program, s", "Spark, s", "ratio", "program, CPU s", "Spark, CPU s", "shuffled, MB", "by the model, MB"]
    print(f"| fingerprints | job | {' | '.join(columns)} |")
    print(f"|---:|---|{'---:|' * len(columns)}")
    for count in map(int, args.counts.split(",")):
        with_sign, without = make(folder, count)
        df = session.read.parquet(str(with_sign))
        out = folder / "spark-out"

        def build() -> None:
            spark.build(df, out)

        def pairs() -> None:
            spark.pairs(df).write.parquet(str(out))

        def clusters() -> None:
            spark.clusters(df).write.parquet(str(out))

        def dedup() -> None:
            found = spark.dedup(df, None, fingerprint_column="fingerprint", k=3)
            found.kept.write.parquet(str(out))

        jobs = {
            "build": (build, ["build", without, "-o", folder / "one.simidx", "--ids", "number", "--force"]),
            "pairs": (pairs, ["pairs", without, "-k", 3]),
            "clusters": (clusters, ["clusters", without, "-k", 3, "--ids", "number"]),
            "dedup": (dedup, ["dedup", without, "-k", 3, "-o", folder / "kept.parquet", "--force"]),
        }
        for name in args.jobs.split(","):
            work, command = jobs[name]
            by_program: list[tuple[float, float]] = []
            by_spark: list[tuple[float, float]] = []
            for _ in range(args.times):
                shutil.rmtree(out, ignore_errors=True)
                by_program.append(local.timed(lambda command=command: local.program(folder, args.cores, *command)))
                before = local.shuffled(session)
                by_spark.append(local.timed(work))
                shuffled = (local.shuffled(session) - before) / 1e6
                spark.release()
            of_program, cpu_of_program = map(statistics.median, zip(*by_program, strict=True))
            of_spark, cpu_of_spark = map(statistics.median, zip(*by_spark, strict=True))
            # Records with their ids go to their segments.
            of_model = model.sent(count, args.cores)
            predicted = (16.0 * count if name == "build" else of_model.of(name)) / 1e6
            seconds = [of_program, of_spark, of_spark / of_program, cpu_of_program, cpu_of_spark]
            figures = [*(f"{value:.2f}" for value in seconds), f"{shuffled:.0f}", f"{predicted:.0f}"]
            print(f"| {count:,} | {name} | {' | '.join(figures)} |", flush=True)
    session.stop()
    shutil.rmtree(folder)


if __name__ == "__main__":
    main()
