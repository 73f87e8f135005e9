#!/usr/bin/env python3
"""The cost of the Python package, relative to Rust and to other packages: each table in one run, on standard output.

    run.py query RUST          `query` of 10,000 and `query_many` of Rust, in turns
    run.py build               building from an array: peak memory by the bytes of the array
    run.py peers               all within 3 bits: simidx, faiss, usearch, simhash
    run.py texts [LINES]       texts to what is kept: simidx, text-dedup, datasketch, rensa

RUST is `target/release/examples/query_many`. The interpreter that runs this needs the release wheel of simidx and the
packages; those that are missing are left out and named.
"""

from __future__ import annotations

import argparse
import gzip
import importlib
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np

import simidx

HERE = pathlib.Path(__file__).resolve().parent
DISTANCE = 3


def table(heads: list[str], rows: list[list[object]]) -> None:
    """Prints a Markdown table."""
    print("|", " | ".join(heads), "|")
    print("|" + "---|" * len(heads))
    for row in rows:
        print("|", " | ".join(str(cell) for cell in row), "|")
    print(f"\nLoad at the end: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores.\n", flush=True)


def package(name: str):
    """A package, or nothing if it is not here."""
    try:
        return importlib.import_module(name)
    except ImportError:
        print(f"{name} is not installed: left out", file=sys.stderr)
        return None


def random_fingerprints(count: int) -> np.ndarray:
    """Seeded, uniform."""
    return np.random.default_rng(1).integers(0, 2**64, count, dtype=np.uint64)


def queries_for(values: np.ndarray, count: int) -> np.ndarray:
    """Half of them members with up to three bits flipped, half random."""
    rng = np.random.default_rng(2)
    queries = rng.integers(0, 2**64, count, dtype=np.uint64)
    near = rng.choice(values, count // 2)
    for _ in range(DISTANCE):
        near ^= np.uint64(1) << rng.integers(0, 64, len(near), dtype=np.uint64)
    queries[::2][: len(near)] = near
    return queries


def processor_time(process: int) -> float:
    """Seconds that the threads of a process have run."""
    tasks = pathlib.Path(f"/proc/{process}/task").glob("*/schedstat")
    return sum(int(task.read_text().split()[0]) for task in tasks) / 1e9


def run_query(arguments: argparse.Namespace) -> None:
    """Python and Rust answer the same queries in turns."""
    with tempfile.TemporaryDirectory() as folder:
        values = random_fingerprints(arguments.count)
        path = f"{folder}/index.simidx"
        index = simidx.build(path, values, tables=arguments.tables)
        index.warm()
        queries = queries_for(values, arguments.queries)
        queries.tofile(f"{folder}/queries")
        rows = []
        for threads in (1, os.cpu_count()):
            command = [arguments.rust, path, f"{folder}/queries", str(DISTANCE), str(threads)]
            rust = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            times: list[tuple[float, float]] = []
            of_processor: list[tuple[float, float]] = []
            for turn in range(arguments.rounds + 3):
                before = processor_time(rust.pid)
                rust.stdin.write("\n")
                rust.stdin.flush()
                of_rust, count = rust.stdout.readline().split()
                after = processor_time(rust.pid)
                start, running = time.perf_counter(), time.process_time()
                found = index.query(queries, DISTANCE, threads=threads if threads == 1 else None)
                of_python, running = time.perf_counter() - start, time.process_time() - running
                assert found.match_count == int(count)
                # The first turns meet blocks for the first time.
                if turn >= 3:
                    times.append((of_python, float(of_rust)))
                    of_processor.append((running, after - before))
            rust.stdin.close()
            rust.wait()
            python, rust_time = (statistics.median(column) for column in zip(*times))
            ratio = statistics.median(rust_time / python for python, rust_time in times)
            best = min(rust_time for _, rust_time in times) / min(python for python, _ in times)
            running = statistics.median(rust_time / python for python, rust_time in of_processor)
            rates = [f"{len(queries) / seconds:,.0f}" for seconds in (python, rust_time)]
            rows.append([threads, *rates, f"{ratio:.1%}", f"{best:.1%}", f"{running:.1%}"])
        print(f"{len(queries):,} queries of {arguments.count:,} fingerprints, {arguments.tables} tables, {arguments.rounds} turns:\n")
        table(["threads", "Python, queries/s", "Rust, queries/s", "ratio, median", "of the best turns", "of processor time, median"], rows)


BUILD = """
import resource, sys, time
import numpy as np, simidx
def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
count, path, memory = int(sys.argv[1]), sys.argv[2], sys.argv[3]
values = np.empty(count, dtype=np.uint64)
rng = np.random.default_rng(1)
for start in range(0, count, 1 << 20):
    part = values[start:start + (1 << 20)]
    part[:] = rng.integers(0, 2**64, len(part), dtype=np.uint64)
before, start = peak(), time.perf_counter()
simidx.build(path, values, memory=None if memory == "none" else memory)
print(count, before, peak(), time.perf_counter() - start)
"""


def run_build(arguments: argparse.Namespace) -> None:
    """Peak memory of builds from an array, in processes of their own."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for memory in arguments.memory:
            command = [sys.executable, "-c", BUILD, str(arguments.count), f"{folder}/one.simidx", memory]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            count, before, after, seconds = (float(part) for part in done.stdout.split())
            mib = 1 << 20
            size = os.path.getsize(f"{folder}/one.simidx")
            rows.append(
                [f"{int(count):,}", memory, f"{count * 8 / mib:,.0f}", f"{(after - before) / mib:,.0f}",
                 f"{size / mib:,.0f}", f"{seconds:.1f}"]
            )
    table(["fingerprints", "`memory=`", "array, MiB", "more at the peak, MiB", "file, MiB", "seconds"], rows)


def timed(work, seconds: float = 2.0) -> tuple[object, float]:
    """The answer of work, and the least time of some runs."""
    best, answer, end = float("inf"), None, time.perf_counter() + seconds
    while True:
        start = time.perf_counter()
        answer = work()
        best = min(best, time.perf_counter() - start)
        if time.perf_counter() > end:
            return answer, best


def run_peers(arguments: argparse.Namespace) -> None:
    """All within three bits, by several packages, with one thread."""
    values = np.unique(random_fingerprints(arguments.count))
    queries = queries_for(values, 1000)
    near = np.arange(0, len(queries), 2)
    packed = values.view(np.uint8).reshape(-1, 8)
    asked = queries.view(np.uint8).reshape(-1, 8)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/one.simidx"
        expected: set[tuple[int, int]] = set()
        for tables in (2, 6):
            start = time.perf_counter()
            index = simidx.build(path, values, tables=tables)
            built = time.perf_counter() - start
            found, seconds = timed(lambda: index.query(queries, DISTANCE, threads=1))
            expected = set(zip(found.queries.tolist(), found.fingerprints.tolist()))
            assert len({query for query, _ in expected}) >= len(near)
            size = os.path.getsize(path) / len(values)
            rows.append([f"simidx, {tables} tables", f"{len(queries) / seconds:,.0f}", f"{size:.1f}", "1.000", f"{built:.1f}"])

    def add(name: str, pairs: set[tuple[int, int]], queries_done: int, seconds: float, size: object, built: float) -> None:
        wanted = {pair for pair in expected if pair[0] < queries_done}
        recall = len(pairs & wanted) / len(wanted)
        rows.append([name, f"{queries_done / seconds:,.0f}", size, f"{recall:.3f}", f"{built:.1f}"])
        print(rows[-1], file=sys.stderr, flush=True)

    if faiss := package("faiss"):
        faiss.omp_set_num_threads(1)

        def ranged(index, count: int) -> tuple[set[tuple[int, int]], float]:
            # Strictly below the radius.
            (limits, _, ids), seconds = timed(lambda: index.range_search(asked[:count], DISTANCE + 1))
            rows_of = np.repeat(np.arange(count), np.diff(limits.astype(np.int64)))
            return set(zip(rows_of.tolist(), values[ids].tolist())), seconds

        for count, bits, flips in ((4, 16, 0), (2, 32, 1)):
            index = faiss.IndexBinaryMultiHash(64, count, bits)
            index.nflip = flips
            start = time.perf_counter()
            index.add(packed)
            built = time.perf_counter() - start
            try:
                pairs, seconds = ranged(index, len(queries))
            except RuntimeError as error:
                print(f"faiss: {error}", file=sys.stderr)
                continue
            add(f"faiss IndexBinaryMultiHash {count} × {bits}, nflip {flips}", pairs, len(queries), seconds, "", built)
            size = len(faiss.serialize_index_binary(index)) / len(values)
            rows[-1][2] = f"{size:.1f}"
        index = faiss.IndexBinaryFlat(64)
        index.add(packed)
        pairs, seconds = ranged(index, 100)
        add("faiss IndexBinaryFlat", pairs, 100, seconds, "8.0", 0)
    few = min(len(values), arguments.few)
    expected = {pair for pair in expected if pair[1] in set(values[:few].tolist())}
    if usearch := package("usearch.index"):
        index = usearch.Index(ndim=64, metric="hamming", dtype="b1")
        start = time.perf_counter()
        index.add(np.arange(few), packed[:few])
        built = time.perf_counter() - start
        found, seconds = timed(lambda: index.search(asked, 10, threads=1))
        pairs = {
            (query, int(values[key]))
            for query in range(len(queries))
            for key, distance in zip(found.keys[query].tolist(), found.distances[query].tolist())
            if distance <= DISTANCE
        }
        size = index.serialized_length / few
        add(f"usearch, the 10 nearest of the first {few:,}", pairs, len(queries), seconds, f"{size:.1f}", built)
    if simhash := package("simhash"):
        start = time.perf_counter()
        objects = [(str(row), simhash.Simhash(int(value))) for row, value in enumerate(values[:few].tolist())]
        index = simhash.SimhashIndex(objects, k=DISTANCE)
        built = time.perf_counter() - start
        asked_objects = [simhash.Simhash(int(query)) for query in queries.tolist()]
        found, seconds = timed(lambda: [index.get_near_dups(query) for query in asked_objects])
        pairs = {(query, int(values[int(row)])) for query, all_rows in enumerate(found) for row in all_rows}
        add(f"simhash, of the first {few:,}", pairs, len(queries), seconds, "", built)
    print(f"{len(values):,} fingerprints, {len(queries):,} queries, distance {DISTANCE}, one thread:\n")
    table(["", "queries/s", "bytes a fingerprint", "recall", "built, s"], rows)


def words_of(text: str) -> list[str]:
    """Runs of three words."""
    words = re.findall(r"\w+", text.lower())
    return [" ".join(words[i : i + 3]) for i in range(max(len(words) - 2, 1))]


def text_dedup(texts: list[str], folder: str) -> int:
    """Runs the configuration of text-dedup's README for simhash; the number of kept documents."""
    source = pathlib.Path(folder, "texts.jsonl")
    if not source.exists():
        source.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts), encoding="utf-8")
    lines = [
        "[input]", 'input_type = "local_files"', 'file_type = "json"', "[input.read_arguments]", 'path = "json"',
        f'data_files = "{source}"', 'split = "train"', f'cache_dir = "{folder}/cache"', "[algorithm]",
        'algorithm_name = "simhash"', 'text_column = "text"', "num_proc = 1", "[output]",
        f'output_dir = "{folder}/out"', "keep_index_column = true", "[debug]",
    ]
    pathlib.Path(folder, "config.toml").write_text("\n".join(lines), encoding="utf-8")
    command = [sys.executable, "-m", "text_dedup.simhash"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, env={**os.environ, "HF_HUB_OFFLINE": "1"})
    if done.returncode != 0:
        raise RuntimeError(done.stderr[-2000:])
    import datasets

    return len(datasets.load_from_disk(f"{folder}/out"))


def run_texts(arguments: argparse.Namespace) -> None:
    """From texts to what is kept, tokenising included, with one thread."""
    opened = gzip.open if arguments.lines.suffix == ".gz" else open
    with opened(arguments.lines, "rt", encoding="utf-8") as lines:
        texts = [json.loads(line)["text"] for line in lines]
    texts = texts[: arguments.count] if arguments.count else texts
    rows: list[list[object]] = []

    def add(name: str, work, seconds: float = 2.0) -> None:
        try:
            kept, taken = timed(work, seconds)
        except Exception as error:
            print(f"{name}: {error}", file=sys.stderr)
            return
        rows.append([name, f"{len(texts) / taken:,.0f}", f"{taken:.2f}", kept])
        print(rows[-1], file=sys.stderr, flush=True)

    pipeline = simidx.Pipeline("compat-text-dedup")
    add("`simidx.dedup_texts`, runs of 3 words, 0.8", lambda: int(simidx.dedup_texts(texts, threads=1).sum()))
    add(
        "`Pipeline(\"compat-text-dedup\")`, `simidx.dedup`",
        lambda: int(simidx.dedup(pipeline.fingerprints(texts, threads=1), 3, threads=1).sum()),
    )
    with tempfile.TemporaryDirectory() as folder:
        if package("text_dedup"):
            add("`python -m text_dedup.simhash`, whole process", lambda: text_dedup(texts, folder), 0)
    if datasketch := package("datasketch"):

        def by_datasketch() -> int:
            index, kept = datasketch.MinHashLSH(threshold=0.8, num_perm=128), 0
            for number, text in enumerate(texts):
                sketch = datasketch.MinHash(num_perm=128)
                sketch.update_batch([run.encode() for run in words_of(text)])
                if not index.query(sketch):
                    index.insert(number, sketch)
                    kept += 1
            return kept

        add("datasketch, 128 values, runs of 3 words, 0.8", by_datasketch, 0)
    if rensa := package("rensa"):

        def by_rensa() -> int:
            index, kept = rensa.RMinHashLSH(threshold=0.8, num_perm=128, num_bands=16), 0
            for number, text in enumerate(texts):
                sketch = rensa.RMinHash(num_perm=128, seed=42)
                sketch.update(words_of(text))
                if not index.query(sketch):
                    index.insert(number, sketch)
                    kept += 1
            return kept

        add("rensa, 128 values in 16 bands, runs of 3 words", by_rensa)
    size = sum(len(text.encode()) for text in texts) / 1e6
    print(f"{len(texts):,} documents of {arguments.lines.name}, {size:.1f} MB:\n")
    table(["", "documents/s", "seconds", "kept"], rows)


def main() -> None:
    """Reads the arguments."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    query = commands.add_parser("query")
    query.add_argument("rust")
    query.add_argument("--count", type=int, default=10_000_000)
    query.add_argument("--queries", type=int, default=10_000)
    query.add_argument("--tables", type=int, default=6)
    query.add_argument("--rounds", type=int, default=31)
    query.set_defaults(run=run_query)
    build = commands.add_parser("build")
    build.add_argument("--count", type=int, default=10_000_000)
    build.add_argument("--memory", nargs="+", default=["none", "256MB"])
    build.set_defaults(run=run_build)
    peers = commands.add_parser("peers")
    peers.add_argument("--count", type=int, default=300_000)
    peers.add_argument("--few", type=int, default=30_000, help="fingerprints for those that take long to build")
    peers.set_defaults(run=run_peers)
    texts = commands.add_parser("texts")
    texts.add_argument("lines", nargs="?", type=pathlib.Path, default=HERE.parent.parent / "data" / "en.jsonl.gz")
    texts.add_argument("--count", type=int, default=0)
    texts.set_defaults(run=run_texts)
    arguments = parser.parse_args()
    arguments.run(arguments)


if __name__ == "__main__":
    main()
