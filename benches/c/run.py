#!/usr/bin/env python3
"""The cost of the C library relative to the library in Rust: the same queries of the same file, in turns.

Prints a table.

    bindings/c/install target/c
    cargo build --release -p simidx --example query_many
    benches/c/run.py target/c target/release/examples/query_many

Needs a C compiler, and Python without packages.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import pathlib
import random
import statistics
import struct
import subprocess
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
DISTANCE = 3
CALLS = {0: "`simidx_query` in a loop", 1: "`simidx_query_many`, 1 thread", 2: "`simidx_query_many`, 2 threads"}


def packed(values: list[int]) -> bytes:
    """Little-endian words."""
    return struct.pack(f"<{len(values)}Q", *values)


def queries_for(rng: random.Random, values: list[int], count: int) -> list[int]:
    """Half of them members with up to three bits flipped, half random."""
    queries = [rng.getrandbits(64) for _ in range(count)]
    for place in range(0, count, 2):
        queries[place] = rng.choice(values)
        for _ in range(DISTANCE):
            queries[place] ^= 1 << rng.randrange(64)
    return queries


def build(prefix: pathlib.Path, path: str, values: list[int]) -> None:
    """Builds the index, by the C library."""
    library = ctypes.CDLL(str(prefix / "lib" / "libsimidx.so"))
    library.simidx_error_message.restype = ctypes.c_char_p
    arguments = (os.fsencode(path), packed(values), 64, ctypes.c_size_t(len(values)), DISTANCE, None)
    if library.simidx_build(*arguments):
        raise SystemExit(library.simidx_error_message().decode())


class Side:
    """A process that answers the queries when it is asked to."""

    def __init__(self, command: list[str], **more: object) -> None:
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, **more)

    def turn(self) -> tuple[float, float, int]:
        """Seconds, those of them that threads ran, and the number of matches."""
        before = self.running()
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        seconds, found = self.process.stdout.readline().split()
        return float(seconds), self.running() - before, int(found)

    def running(self) -> float:
        """Seconds that its threads have run, also those that have ended."""
        clock = ctypes.c_int()
        ctypes.CDLL(None).clock_getcpuclockid(self.process.pid, ctypes.byref(clock))
        return time.clock_gettime(clock.value)

    def close(self) -> None:
        """Ends it."""
        self.process.stdin.close()
        self.process.wait()


def main() -> None:
    """Prints a row for each call."""
    parser = argparse.ArgumentParser()
    parser.add_argument("prefix", type=pathlib.Path, help="where the C library is installed")
    parser.add_argument("rust", help="target/release/examples/query_many")
    parser.add_argument("--count", type=int, default=2_000_000)
    parser.add_argument("--queries", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=30)
    given = parser.parse_args()
    prefix = given.prefix.resolve()
    rng = random.Random(1)
    values = [rng.getrandbits(64) for _ in range(given.count)]
    queries = queries_for(rng, values, given.queries)
    with tempfile.TemporaryDirectory() as folder:
        index, asked, program = (f"{folder}/{name}" for name in ("index.simidx", "queries", "query"))
        build(prefix, index, values)
        pathlib.Path(asked).write_bytes(packed(queries))
        flags = [f"-I{prefix}/include", f"-L{prefix}/lib", "-lsimidx", f"-Wl,-rpath,{prefix}/lib"]
        subprocess.run(["cc", "-std=c99", "-O2", str(HERE / "query.c"), *flags, "-o", program], check=True)
        print(f"{given.queries:,} queries of {given.count:,} fingerprints, distance {DISTANCE}, {given.rounds} turns:\n")
        print("| | C, queries/s | Rust, queries/s | C / Rust, median | of the best turns | of processor time, median |")
        print("|---|---|---|---|---|---|")
        for threads, call in CALLS.items():
            more = [index, asked, str(DISTANCE), str(threads)]
            c, rust = Side([program, *more]), Side([given.rust, *more])
            times = []
            for turn in range(given.rounds + 3):
                (of_c, ran, found), (of_rust, of_rust_ran, expected) = c.turn(), rust.turn()
                assert found == expected, (found, expected)
                # The first turns meet blocks for the first time.
                if turn >= 3:
                    times.append((of_c, of_rust, ran, of_rust_ran))
            c.close()
            rust.close()
            rates = [f"{given.queries / statistics.median(column):,.0f}" for column in list(zip(*times))[:2]]
            ratio = statistics.median(of_rust / of_c for of_c, of_rust, *_ in times)
            best = min(of_rust for _, of_rust, *_ in times) / min(of_c for of_c, *_ in times)
            running = statistics.median(of_rust / of_c for *_, of_c, of_rust in times)
            print(f"| {call} | {rates[0]} | {rates[1]} | {ratio:.1%} | {best:.1%} | {running:.1%} |", flush=True)
    print(f"\nLoad at the end: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores.")


if __name__ == "__main__":
    main()
