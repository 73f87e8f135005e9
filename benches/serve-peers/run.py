#!/usr/bin/env python3
"""Compares `simidx serve` with other servers of the same records: requests a second, processor time, memory, answers.

`benches/README.md` says how to use it.
"""

import argparse
import json
import os
import platform
import random
import shutil
import statistics
import struct
import subprocess
import sys
import tempfile
import time
from datetime import date
from pathlib import Path

from contenders import CONTENDERS, DISTANCE, distance

QUERIES = 20_000
CHECKED = 2_000
WARM_UP = 1.0
INSIDE = "SIMIDX_PEERS_INSIDE"


def main():
    options = arguments()
    options.alone = in_own_network()
    server_core, load_core = cores()
    rng = random.Random(1)
    data = [rng.getrandbits(64) for _ in range(options.count)]
    queries = [query(rng, data, number) for number in range(QUERIES)]
    print(f"{options.count} uniform fingerprints of 64 bits, k = 3; half of the queries are members with up to three")
    print(f"flipped bits; {options.connections} connections; the server on one core, the load on another")
    folder = Path(tempfile.mkdtemp(prefix="simidx-peers-", dir=options.folder))
    running, answers, is_equal = [], {}, True
    try:
        for contender in CONTENDERS:
            if options.only and not any(word in contender.name for word in options.only.split(",")):
                continue
            place = folder / f"{len(running)}"
            place.mkdir()
            one = contender(place, options)
            missing = one.missing()
            if missing:
                print(f"left out: {one.name}: {missing}")
                continue
            running.append(one)
            one.start(data)
            one.pin(server_core)
            write_requests(place / "requests", one, queries)
            answers[one.name] = asked(one, options, queries[:CHECKED])
            print(f"started: {one.name}", flush=True)
        is_equal = compared(answers, queries[:CHECKED], data)
        report(options, running, measured(options, running, load_core), is_equal)
    finally:
        for one in running:
            one.stop()
        shutil.rmtree(folder, ignore_errors=True)
    return 0 if is_equal else 1


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--simidx", required=True, type=Path, help="the program")
    parser.add_argument("--replay", required=True, type=Path, help="the example `replay` of simidx-server")
    parser.add_argument("--go-simstore", type=Path, help="the server of go-simstore, `simd`; without it, it is left out")
    parser.add_argument("--count", type=int, default=1_000_000, help="fingerprints [%(default)s]")
    parser.add_argument("--seconds", type=float, default=4.0, help="of a measurement [%(default)s]")
    parser.add_argument("--rounds", type=int, default=3, help="in which each server has its turn [%(default)s]")
    parser.add_argument("--connections", type=int, default=8, help="at a time [%(default)s]")
    parser.add_argument("--only", help="parts of names of servers, separated by commas")
    parser.add_argument("--folder", type=Path, help="for files of the servers [that of the system]")
    parser.add_argument("--output", type=Path, help="file for the figures as JSON")
    options = parser.parse_args()
    for name in ("simidx", "replay", "go_simstore"):
        path = getattr(options, name)
        setattr(options, name, path and path.resolve(strict=True))
    return options


def in_own_network():
    """Starts itself anew in a network that has loopback and nothing else; whether that is so."""
    if os.environ.get(INSIDE):
        subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
        return True
    outer = ["unshare", "--net"] if os.geteuid() == 0 else ["unshare", "--map-root-user", "--net"]
    has_all = shutil.which("unshare") and shutil.which("ip")
    if has_all and subprocess.run([*outer, "true"], stderr=subprocess.DEVNULL).returncode == 0:
        os.environ[INSIDE] = "1"
        sys.stdout.flush()
        os.execvp("unshare", [*outer, sys.executable, *sys.argv])
    return False


def cores():
    available = sorted(os.sched_getaffinity(0))
    if len(available) < 2:
        sys.exit("this needs two cores, one for the server and one for the load")
    return available[0], available[1]


def query(rng, data, number):
    """A member with up to three flipped bits, or something else."""
    if number % 2:
        return rng.getrandbits(64)
    flipped = rng.choice(data)
    for bit in rng.sample(range(64), number // 2 % 4):
        flipped ^= 1 << bit
    return flipped


def write_requests(path, one, queries):
    with path.open("wb") as out:
        for request, answers in [one.opening(), *map(one.request, queries)]:
            out.write(struct.pack("<II", len(request), answers) + request)


def replay_command(one, options, *rest, core=None):
    pinned = ["taskset", "-c", str(core)] if core is not None else []
    address = f"127.0.0.1:{one.port}"
    return [*pinned, options.replay, address, one.protocol, one.folder / "requests", *map(str, rest)]


def replay(*args, **more):
    return subprocess.run(replay_command(*args, **more), check=True, stdout=subprocess.PIPE).stdout


def memory_under_load(one, options, core):
    """The memory of the server and its children while they answer: some servers have a child for each connection."""
    command = replay_command(one, options, 2 * WARM_UP, options.connections, core=core)
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as load:
        time.sleep(1.8 * WARM_UP)
        memory = one.memory()
    if load.returncode:
        raise RuntimeError(f"{one.name}: the load failed")
    return memory


def asked(one, options, queries):
    """The ids that it names for each query."""
    replay(one, options, "answers", one.folder / "answers")
    answers, at, all_ids = (one.folder / "answers").read_bytes(), 0, []
    for fingerprint in queries:
        (length,) = struct.unpack_from("<I", answers, at)
        all_ids.append(one.ids(answers[at + 4 : at + 4 + length], fingerprint))
        at += 4 + length
    return all_ids


def compared(answers, queries, data):
    """Whether all name the same ids, of which each is near its query."""
    (first, expected), *others = answers.items()
    is_equal = True
    for query, ids in zip(queries, expected):
        assert all(distance(data[id], query) <= DISTANCE for id in ids), f"{first}: {query:016x}: {ids}"
    for name, found in others:
        different = sum(a != b for a, b in zip(expected, found))
        if different:
            is_equal = False
            print(f"{name} answers {different} of {len(found)} queries otherwise than {first}")
    matches = sum(map(len, expected))
    print(f"answers to {len(expected)} queries with {matches} matches: {'equal' if is_equal else 'NOT EQUAL'}")
    return is_equal


def measured(options, running, core):
    """For each server the figures of all rounds."""
    figures = {one.name: [] for one in running}
    for _ in range(options.rounds):
        for one in running:
            replay(one, options, WARM_UP, options.connections, core=core)
            before = one.processor_seconds()
            figure = json.loads(replay(one, options, options.seconds, options.connections, core=core))
            figure["processor_us"] = (one.processor_seconds() - before) * 1e6 / figure["requests"]
            figure["per_second"] = figure["requests"] / figure["seconds"]
            figure["memory"] = memory_under_load(one, options, core)
            figures[one.name].append(figure)
    return figures


def report(options, running, figures, is_equal):
    keys = ("per_second", "processor_us", "p50_us", "p99_us", "memory")
    medians = {name: {key: statistics.median(f[key] for f in all) for key in keys} for name, all in figures.items()}
    first = medians[running[0].name]
    print(f"\n{date.today()}, {platform.machine()}, medians of {options.rounds} rounds\n")
    print("| server | requests/s | processor time | p50 | p99 | memory | beside simidx: processor time, memory |")
    print("|---|---|---|---|---|---|---|")
    for name, m in medians.items():
        cost, room = m["processor_us"] / first["processor_us"], m["memory"] / first["memory"]
        print(
            f"| {name} | {m['per_second']:,.0f} | {m['processor_us']:.1f} µs | {m['p50_us']:,.0f} µs | {m['p99_us']:,.0f} µs"
            f" | {m['memory'] / 1e6:,.0f} MB | {cost:.1f}, {room:.1f} |"
        )
    if options.output:
        result = {"count": options.count, "equal": is_equal, "rounds": figures}
        options.output.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    sys.exit(main())
