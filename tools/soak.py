#!/usr/bin/env python3
"""A long run of `simidx serve` under mixed load: queries of all forms, documents that come and go, reloads, malformed requests
and cut connections.

    tools/soak.py target/release/simidx --minutes 20

No answer has a status that it should not have. Queries for documents find them, and name none that was deleted. At the end
the memory of the server is flat, and all acknowledged documents are there, also after the server was killed. All of it is on
loopback, in a folder that is removed.
"""

import argparse
import http.client
import json
import os
import random
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path

STATIC = 100_000
IDS_OF_THREAD = 5_000
JSON, NDJSON, BINARY = "application/json", "application/x-ndjson", "application/octet-stream"
CLOSED = (ConnectionResetError, BrokenPipeError, http.client.RemoteDisconnected)

WORDS = "river stone cloud paper engine garden winter signal harbour copper violet market lantern meadow".split()

MALFORMED = [
    b"GET /v1/query/xyz HTTP/1.1\r\nhost: localhost\r\n\r\n",
    b"GET /v1/query/" + b"f" * 33 + b" HTTP/1.1\r\nhost: localhost\r\n\r\n",
    b"GET /v1/query/ff?k=99999999999999999999 HTTP/1.1\r\nhost: localhost\r\n\r\n",
    b"GET /v1/query/ff?k=-1&k=2 HTTP/1.1\r\nhost: localhost\r\n\r\n",
    b"GET /v1/query/ff?index=%00%0a HTTP/1.1\r\nhost: localhost\r\n\r\n",
    b"GET /../../etc/passwd HTTP/1.1\r\nhost: localhost\r\n\r\n",
    b"GET /v1/ids/%ff%fe HTTP/1.1\r\nhost: localhost\r\n\r\n",
    b"GET /v1/ids/forged%0d%0a2026-01-01T00:00:00Z%20error HTTP/1.1\r\nhost: localhost\r\n\r\n",
    b"DELETE /v1/query HTTP/1.1\r\nhost: localhost\r\n\r\n",
    b"POST /v1/query HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 9\r\n\r\n{\"k\":1e99",
    b"POST /v1/query HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 4\r\n\r\n\xff\xfe{}",
    b"POST /v1/query HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/octet-stream\r\ncontent-length: 3\r\n\r\nabc",
    b"POST /v1/query HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/octet-stream\r\ncontent-length: 99999999999\r\n\r\n",
    b"POST /v1/documents HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n[]",
    b"POST /v1/documents HTTP/1.1\r\nhost: localhost\r\ncontent-type: text/csv\r\ncontent-length: 1\r\n\r\na",
    b"GET / HTTP/1.1\r\n" + b"".join(b"x-%d: y\r\n" % number for number in range(500)) + b"\r\n",
    b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\nhost: localhost\r\n\r\n",
    b"\x16\x03\x01\x00\xa5\x01\x00\x00\xa1\x03\x03",
    b"NONSENSE\r\n\r\n",
]


class Server:
    """The server, its log, and what the system says of it."""

    def __init__(self, program, folder):
        self.log = (folder / "log").open("ab")
        command = [program, "serve", "data.simidx", "--store", "store", "--listen", "127.0.0.1:0", "--log-format", "json"]
        command += ["--timeout", "5", "--idle-timeout", "5"]
        self.process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=self.log)
        self.port = int(self.process.stdout.readline().rsplit(b":", 1)[1])

    def status(self, field):
        text = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(rf"^{field}:\s+(\d+)", text, re.M).group(1))

    def open_files(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def client(self):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)

    def metric(self, name):
        client = self.client()
        client.request("GET", "/metrics")
        text = client.getresponse().read().decode()
        client.close()
        return float(re.search(rf"^{name} (\S+)", text, re.M).group(1))


class Faults:
    """The faults, the first few of each kind."""

    def __init__(self):
        self.lock, self.counts, self.first = threading.Lock(), Counter(), {}

    def add(self, kind, detail):
        with self.lock:
            self.counts[kind] += 1
            self.first.setdefault(kind, str(detail)[:500])


class Client(threading.Thread):
    """One client with ids of its own, whose documents it knows."""

    def __init__(self, number, server, folder, end, faults):
        super().__init__(daemon=True)
        self.number, self.server, self.folder, self.end, self.faults = number, server, folder, end, faults
        self.rng = random.Random(number)
        # Fingerprints by id; ids whose last change was not answered.
        self.live, self.unknown, self.counts = {}, set(), Counter()
        self.http = server.client()

    def run(self):
        acts = [
            (30, self.one), (8, self.batch_json), (8, self.batch_lines), (8, self.batch_binary), (6, self.text),
            (6, self.nearest), (6, self.by_id), (3, self.pages), (20, self.add), (8, self.add_lines), (3, self.add_text),
            (14, self.delete), (6, self.get), (10, self.malformed), (8, self.cut), (1, self.reload),
        ]  # fmt: skip
        weights, acts = zip(*acts)
        while time.monotonic() < self.end:
            act = self.rng.choices(acts, weights)[0]
            try:
                act()
                self.counts[act.__name__] += 1
            except Exception as error:  # noqa: BLE001: a fault is reported, and the load goes on
                self.faults.add(f"{act.__name__}: {type(error).__name__}", error)
                self.http.close()

    def ask(self, method, path, body=None, kind=None, expected=(200,)):
        try:
            self.http.request(method, path, body, {"content-type": kind} if kind else {})
            response = self.http.getresponse()
            answer = response.read()
        except CLOSED:
            # An idle connection may have been closed just now; whether the request was read is not known.
            expected = (*expected, 404) if method == "DELETE" else expected
            self.http.close()
            self.http.request(method, path, body, {"content-type": kind} if kind else {})
            response = self.http.getresponse()
            answer = response.read()
        if response.status not in expected:
            raise AssertionError(f"{method} {path}: {response.status} {answer[:300]}")
        return answer

    def fingerprint(self):
        return self.rng.getrandbits(64)

    def some_id(self):
        return f"{self.number}-{self.rng.randrange(IDS_OF_THREAD)}"

    def known(self):
        """A document of its own that is there."""
        for _ in range(20):
            id = self.some_id()
            if id in self.live and id not in self.unknown:
                return id, self.live[id]
        return None

    def near(self):
        """A fingerprint to ask for, and the id that must be found, if one must."""
        known = self.known()
        if not known or self.rng.random() < 0.3:
            return self.fingerprint(), None
        id, fingerprint = known
        for bit in self.rng.sample(range(64), self.rng.randrange(4)):
            fingerprint ^= 1 << bit
        return fingerprint, id

    def must_name(self, answer, id):
        """The answer names this document, and of its own only those that are there, with their fingerprints."""
        named = {id: int(match["fingerprint"], 16) for match in answer["matches"] for id in match["ids"]}
        if id is not None and id not in named:
            raise AssertionError(f"{id} is not in {answer}")
        for id, fingerprint in named.items():
            is_known = id.startswith(f"{self.number}-") and id not in self.unknown
            if is_known and self.live.get(id) != fingerprint:
                raise AssertionError(f"{id} is {self.live.get(id)}, and in {answer}")

    def one(self):
        if self.rng.random() < 0.5:
            self.ask("GET", f"/v1/query/{self.fingerprint():016x}?k={self.rng.randrange(6)}")
        else:
            fingerprint, id = self.near()
            self.must_name(json.loads(self.ask("GET", f"/v1/query/{fingerprint:016x}?index=store")), id)

    def batch_json(self):
        asked = [self.near() for _ in range(self.rng.randrange(1, 50))]
        body = json.dumps({"fingerprints": [f"{fingerprint:x}" for fingerprint, _ in asked], "k": 3})
        results = json.loads(self.ask("POST", "/v1/query?index=store", body, JSON))["results"]
        for result, (_, id) in zip(results, asked):
            self.must_name(result, id)

    def batch_lines(self):
        asked = [self.near() for _ in range(self.rng.randrange(1, 300))]
        body = "".join(f'"{fingerprint:016x}"\n' for fingerprint, _ in asked)
        lines = self.ask("POST", "/v1/query?index=store", body, NDJSON).splitlines()
        if json.loads(lines[-1]) != {"done": True, "count": len(asked)}:
            raise AssertionError(lines[-1])
        for line, (_, id) in zip(lines, asked):
            self.must_name(json.loads(line), id)

    def batch_binary(self):
        count = self.rng.randrange(1, 2000)
        index = self.rng.choice(["default", "store"])
        body = b"".join(struct.pack("<Q", self.fingerprint()) for _ in range(count))
        answer = self.ask("POST", f"/v1/query?k=3&index={index}", body, BINARY)
        matches = sum(struct.unpack_from(f"<{count}I", answer, 4))
        if len(answer) != 4 + 4 * count + 9 * matches:
            raise AssertionError(f"{len(answer)} bytes for {count} queries and {matches} matches")

    def some_text(self):
        return " ".join(self.rng.choices(WORDS, k=self.rng.randrange(20, 400)))

    def text(self):
        self.ask("POST", "/v1/text?index=store", self.some_text(), "text/plain")

    def nearest(self):
        index = self.rng.choice(["default", "store"])
        self.ask("GET", f"/v1/nearest/{self.fingerprint():016x}?count=3&index={index}")

    def by_id(self):
        known = self.known()
        if known:
            self.ask("GET", f"/v1/ids/{known[0]}?index=store")

    def pages(self):
        path = self.rng.choice(["/", f"/?q={self.fingerprint():016x}", "/metrics", "/v1/info", "/openapi.json", "/readyz"])
        self.ask("GET", path)

    def change(self, ids, change):
        """The effect on the ids is unknown until the answer is there."""
        self.unknown.update(ids)
        change()
        self.unknown.difference_update(ids)

    def add(self):
        id, (fingerprint, near) = self.some_id(), self.near()

        def change():
            body = json.dumps({"id": id, "fingerprint": f"{fingerprint:016x}"})
            answer = json.loads(self.ask("POST", "/v1/documents", body, JSON))
            self.live[id] = fingerprint
            if near != id:
                self.must_name(answer, near)

        self.change([id], change)

    def add_lines(self):
        ids = list({self.some_id() for _ in range(self.rng.randrange(1, 400))})
        fingerprints = [self.fingerprint() for _ in ids]

        def change():
            lines = (json.dumps({"id": id, "fingerprint": f"{f:016x}"}) for id, f in zip(ids, fingerprints))
            answer = self.ask("POST", "/v1/documents", "\n".join(lines), NDJSON).splitlines()
            self.live.update(zip(ids, fingerprints))
            if json.loads(answer[-1]) != {"done": True, "count": len(ids)}:
                raise AssertionError(answer[-1])

        self.change(ids, change)

    def add_text(self):
        id = self.some_id()

        def change():
            body = json.dumps({"id": id, "text": self.some_text()})
            self.live[id] = int(json.loads(self.ask("POST", "/v1/documents", body, JSON))["fingerprint"], 16)

        self.change([id], change)

    def delete(self):
        id = self.some_id()
        if id in self.unknown:
            return

        def change():
            self.ask("DELETE", f"/v1/documents/{id}", expected=(200,) if id in self.live else (404,))
            self.live.pop(id, None)

        self.change([id], change)

    def get(self):
        id = self.some_id()
        if id not in self.unknown:
            check(self.http, id, self.live.get(id))

    def send(self, data):
        """Bytes on a connection of their own."""
        one = socket.create_connection(("127.0.0.1", self.server.port), 60)
        one.sendall(data)
        return one

    def malformed(self):
        with self.send(self.rng.choice(MALFORMED)) as one:
            answer = b""
            try:
                one.shutdown(socket.SHUT_WR)
                while piece := one.recv(65536):
                    answer += piece
            except OSError:
                # It was closed before.
                return
        if answer and not re.match(rb"HTTP/1\.[01] 4\d\d", answer):
            raise AssertionError(answer[:300])

    def cut(self):
        lines = b"".join(b'{"id":"cut-%d-%d","fingerprint":"%x"}\n' % (self.number, n, n) for n in range(100))
        head = b"POST /v1/documents HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/x-ndjson\r\ncontent-length: %d\r\n\r\n"
        add = head % len(lines) + lines
        batch = b"".join(struct.pack("<Q", self.fingerprint()) for _ in range(5000))
        query = b"POST /v1/query HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/octet-stream\r\ncontent-length: %d\r\n\r\n"
        whole = self.rng.choice([add, query % len(batch) + batch, b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n"])
        one = self.send(whole[: self.rng.randrange(1, len(whole) + 1)])
        if self.rng.random() < 0.5:
            # The reset discards the contents of the buffers.
            one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        one.close()

    def reload(self):
        if self.number == 0:
            new = self.folder / "next.simidx"
            shutil.copy(self.folder / f"{self.rng.choice('ab')}.simidx", new)
            new.rename(self.folder / "data.simidx")
            self.ask("POST", "/-/reload")


def check(client, id, expected):
    """Whether the store has this fingerprint for an id."""
    client.request("GET", f"/v1/documents/{id}")
    response = client.getresponse()
    answer = response.read()
    found = int(json.loads(answer)["fingerprint"], 16) if response.status == 200 else None
    if found != expected or response.status not in (200, 404):
        raise AssertionError(f"{id}: {response.status} {answer[:200]}, expected {expected}")


def check_all(server, clients, faults):
    """Whether all acknowledged documents are there, and no others."""
    live, http_client = 0, server.client()
    for client in clients:
        for number in range(IDS_OF_THREAD):
            id = f"{client.number}-{number}"
            if id in client.unknown:
                http_client.request("GET", f"/v1/documents/{id}")
                response = http_client.getresponse()
                response.read()
                live += response.status == 200
                continue
            live += id in client.live
            try:
                check(http_client, id, client.live.get(id))
            except AssertionError as error:
                faults.add("a document is not as it was acknowledged", error)
        for number in range(100):
            http_client.request("GET", f"/v1/documents/cut-{client.number}-{number}")
            response = http_client.getresponse()
            response.read()
            live += response.status == 200
    http_client.close()
    count = server.metric("simidx_store_records")
    if count != live:
        faults.add("the number of documents", f"{count}, not {live}")
    return live


def is_flat(what, samples, room):
    """Whether the most in the last third is about the most in the second."""
    third = len(samples) // 3
    middle, last = max(samples[third : 2 * third]), max(samples[2 * third :])
    print(f"{what}: at most {middle} in the second third, {last} in the last")
    return last <= middle * 1.1 + room


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("simidx", type=Path, help="the program")
    parser.add_argument("--minutes", type=float, default=20, help="of load [%(default)s]")
    parser.add_argument("--clients", type=int, default=4, help="at a time [%(default)s]")
    parser.add_argument("--folder", type=Path, help="for the files [that of the system]")
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="simidx-soak-", dir=options.folder))
    try:
        faults = soak(options.simidx.resolve(strict=True), folder, options)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    for kind, count in faults.counts.items():
        print(f"FAULT, {count} times: {kind}: {faults.first[kind]}")
    print("failed" if faults.counts else "passed")
    return 1 if faults.counts else 0


def soak(program, folder, options):
    faults, rng = Faults(), random.Random(99)
    for name in "ab":
        lines = "".join(f"{rng.getrandbits(64):016x}\t{id}\n" for id in range(STATIC)).encode()
        build = [program, "build", "-", "--input", "tsv", "--ids", "number", "-o", folder / f"{name}.simidx", "--quiet"]
        subprocess.run(build, input=lines, check=True)
    shutil.copy(folder / "a.simidx", folder / "data.simidx")
    server = Server(program, folder)
    try:
        files = server.open_files()
        end = time.monotonic() + options.minutes * 60
        clients = [Client(number, server, folder, end, faults) for number in range(options.clients)]
        for client in clients:
            client.start()
        memory, threads = [], []
        while any(client.is_alive() for client in clients):
            time.sleep(0.5)
            if server.process.poll() is not None:
                faults.add("the server ended", server.process.returncode)
                return faults
            memory.append(server.status("RssAnon") // 1024)
            threads.append(server.status("Threads"))
        for client in clients:
            client.http.close()
        counts = sum((client.counts for client in clients), Counter())
        print(f"{sum(counts.values())} requests: {dict(counts)}")
        for what, samples, room in [("MiB of memory", memory, 16), ("threads", threads, 8)]:
            if not is_flat(what, samples, room):
                faults.add(f"{what} grew", samples[:: max(1, len(samples) // 60)])
        # Connections that were cut are closed by now, or soon.
        patience = time.monotonic() + 30
        while server.open_files() > files + 20 and time.monotonic() < patience:
            time.sleep(0.5)
        print(f"open files: {files} before, {server.open_files()} after")
        if server.open_files() > files + 20:
            faults.add("open files", server.open_files())
        print(f"{check_all(server, clients, faults)} documents at the end")
        server.process.send_signal(signal.SIGKILL)
        server.process.wait()
        server = Server(program, folder)
        print(f"{check_all(server, clients, faults)} documents after the server was killed")
        server.process.send_signal(signal.SIGTERM)
        if server.process.wait(60) != 0:
            faults.add("exit code", server.process.returncode)
    finally:
        if server.process.poll() is None:
            server.process.kill()
            server.process.wait()
    lines = (folder / "log").read_text(errors="replace").splitlines()
    for line in lines:
        if not line.startswith("{") or "panicked" in line:
            faults.add("the log", line)
    print(f"{len(lines)} lines of log")
    return faults


if __name__ == "__main__":
    sys.exit(main())
