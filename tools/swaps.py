#!/usr/bin/env python3
"""The latency of a server while its files are replaced.

    tools/swaps.py target/release/simidx target/release/examples/load ONE.simidx OTHER.simidx

Starts `simidx serve` with one of two index files and lets `load`, an example of simidx-server that is pinned to the last
core, send requests at a set rate on eight connections: first alone, then while the files take turns. Prints the latencies
of both, what reloads took, the memory of the server and the generations that are open at the end. Fails if a request
did, or if an old generation stayed open. All of it is on loopback.
"""

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("simidx")
    parser.add_argument("load")
    parser.add_argument("files", nargs=2)
    parser.add_argument("--swaps", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=2.0, help="between two swaps")
    parser.add_argument("--rate", type=float, default=10_000.0, help="requests a second")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        served = Path(folder, "served.simidx")

        def put(number: int) -> None:
            fresh = Path(folder, "fresh")
            fresh.symlink_to(Path(args.files[number % 2]).resolve())
            fresh.rename(served)

        put(0)
        command = [args.simidx, "serve", str(served), "--listen", "127.0.0.1:0", "--quiet"]
        started: list[subprocess.Popen[str]] = []
        server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        try:
            assert server.stdout is not None
            address = server.stdout.readline().rpartition("//")[2].strip()

            def start(time: float) -> "subprocess.Popen[str]":
                core = ["taskset", "-c", str(max(os.sched_getaffinity(0)))]
                asked = [args.load, address, args.files[0], "get", str(time), "8", str(args.rate)]
                started.append(subprocess.Popen([*core, *asked], stdout=subprocess.PIPE, text=True))
                return started[-1]

            def report(what: str, loading: "subprocess.Popen[str]") -> None:
                out, _ = loading.communicate()
                if loading.returncode:
                    sys.exit(f"{what}: requests failed: {out}")
                status = Path(f"/proc/{server.pid}/status").read_text()
                resident = int(re.findall(r"VmRSS:\s+(\d+)", status)[0]) // 1024
                print(f"{what}: {out.strip()}; {resident} MiB in memory", flush=True)

            report("without reloads", start(10 * args.seconds))
            loading = start((args.swaps + 1) * args.seconds)
            took = []
            for number in range(args.swaps):
                put(number + 1)
                begun = time.monotonic()
                request = urllib.request.Request(f"http://{address}/-/reload", method="POST")
                with urllib.request.urlopen(request) as answer:
                    assert json.load(answer)["reloaded"][0]["changed"]
                took.append(time.monotonic() - begun)
                time.sleep(max(0.0, args.seconds - took[-1]))
            report(f"{len(took)} reloads", loading)
            print(f"a reload: median {statistics.median(took) * 1e3:.0f} ms, longest {max(took) * 1e3:.0f} ms")
            with urllib.request.urlopen(f"http://{address}/metrics") as answer:
                metrics = answer.read().decode()
            failed = [line for line in metrics.splitlines() if re.search(r'status="[45]', line)]
            generations = re.findall(r"^simidx_generations (\d+)", metrics, re.MULTILINE)
            if failed or generations != ["1"]:
                sys.exit(f"generations {generations}, failed requests {failed}")
            print("none failed; one generation is open")
        finally:
            for running in started:
                running.kill()
            server.terminate()
            server.wait()


if __name__ == "__main__":
    main()
