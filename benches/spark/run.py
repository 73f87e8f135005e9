"""Spark beside the program on the same cores: build, pairs and dedup by the number of fingerprints.

    python3 benches/spark/run.py [--counts 1000000,3000000,10000000] [--cores 2] [--times 3] [--rows] [--svg FILE]

Needs the wheel of the package, PySpark and Java. Both read Parquet files of the same records from the same disk, and write
Parquet or an index. Spark has started before the clock does. The two take turns. Prints the median seconds, how much longer
Spark takes, seconds of processor time, which say something on a busy machine too, the bytes that Spark has sent between tasks
by its own count, and what `model.py` says of them. With `--rows` Spark reads the files and hands their rows to Python, as it
does with everything that is not a local Parquet file.
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
    parser.add_argument("--rows", action="store_true", help="let Spark read the files")
    parser.add_argument("--svg", type=Path, help="chart of the seconds by the number of fingerprints")
    args = parser.parse_args()

    from simidx import spark

    folder = Path(tempfile.mkdtemp(dir=args.temp_dir))
    session = local.session(folder, args.cores)
    session.conf.set("spark.simidx.readFiles", str(not args.rows).lower())

    # Workers start, and code is compiled, before the clock starts.
    with_sign, without = make(folder, 10_000)
    spark.pairs(session.read.parquet(str(with_sign))).count()

    columns = ["program, s", "Spark, s", "ratio", "program, CPU s", "Spark, CPU s", "shuffled, MB", "by the model, MB"]
    print(f"| fingerprints | job | {' | '.join(columns)} |")
    print(f"|---:|---|{'---:|' * len(columns)}")
    points: dict[str, list[tuple[int, float, float]]] = {}
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
            of_model = model.sent(count, args.cores, not args.rows)
            predicted = (16.0 * count if name == "build" else of_model.of(name)) / 1e6
            points.setdefault(name, []).append((count, of_program, of_spark))
            seconds = [of_program, of_spark, of_spark / of_program, cpu_of_program, cpu_of_spark]
            figures = [*(f"{value:.2f}" for value in seconds), f"{shuffled:.0f}", f"{predicted:.0f}"]
            print(f"| {count:,} | {name} | {' | '.join(figures)} |", flush=True)
    if args.svg:
        args.svg.write_text(chart(points))
    session.stop()
    shutil.rmtree(folder)


def chart(points: dict[str, list[tuple[int, float, float]]]) -> str:
    """Seconds by the number of fingerprints, both in logarithmic scales: lines for Spark, dashes for the program."""
    width, height, left, bottom = 640, 400, 60, 40
    every = [p for of_job in points.values() for p in of_job]
    xs = np.log10([p[0] for p in every])
    ys = np.log10([s for p in every for s in p[1:]])
    low_x, high_x = xs.min(), max(xs.max(), xs.min() + 1e-9)
    low_y, high_y = np.floor(ys.min()), np.ceil(ys.max())

    def at(count: float, seconds: float) -> str:
        x = left + (np.log10(count) - low_x) / (high_x - low_x) * (width - left - 110)
        y = height - bottom - (np.log10(seconds) - low_y) / (high_y - low_y) * (height - bottom - 20)
        return f"{x:.1f},{y:.1f}"

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="12">',
        f'<rect width="{width}" height="{height}" fill="white"/>',
    ]
    for power in range(int(low_y), int(high_y) + 1):
        y = at(every[0][0], 10.0**power).split(",")[1]
        parts.append(f'<path d="M{left} {y}H{width - 110}" stroke="#ddd"/>')
        parts.append(f'<text x="{left - 8}" y="{float(y) + 4}" text-anchor="end">{10.0**power:g} s</text>')
    for count in sorted({p[0] for p in every}):
        x = at(count, 10.0**low_y).split(",")[0]
        parts.append(f'<text x="{x}" y="{height - 15}" text-anchor="middle">{count:,}</text>')
    colours = ["#0072b2", "#d55e00", "#009e73", "#cc79a7"]
    for colour, (job, of_job) in zip(colours, points.items(), strict=False):
        for column, dash in [(1, ' stroke-dasharray="4 3"'), (2, "")]:
            line = " ".join(at(p[0], p[column]) for p in of_job)
            parts.append(f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="2"{dash}/>')
        x, y = at(of_job[-1][0], of_job[-1][2]).split(",")
        parts.append(f'<text x="{float(x) + 6}" y="{float(y) + 4}" fill="{colour}">{job}</text>')
    return "\n".join([*parts, "</svg>", ""])


if __name__ == "__main__":
    main()
