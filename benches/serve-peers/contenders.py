"""The servers that are compared: how each is started and filled, what it is asked, and how its answers are read."""

import json
import os
import shutil
import signal
import socket
import struct
import subprocess
import time
from pathlib import Path

DISTANCE = 3
BANDS = 4
BAND_BITS = 64 // BANDS
PATIENCE = 600


def bands(fingerprint):
    """The values of the four bands of a fingerprint: those of the paper's tables for four bands, k = 3."""
    return [fingerprint >> BAND_BITS * band & (1 << BAND_BITS) - 1 for band in range(BANDS)]


def distance(a, b):
    return bin(a ^ b).count("1")


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Contender:
    """A server. `requests` are bytes with the number of answers that each gets; the first opens a connection."""

    protocol = "http"
    name = None

    def __init__(self, folder, options):
        self.folder, self.options, self.port = folder, options, free_port()
        self.process = None

    def missing(self):
        """Why it cannot run here, if so."""
        return None

    def start(self, data):
        raise NotImplementedError

    def opening(self):
        return b"", 0

    def request(self, fingerprint):
        raise NotImplementedError

    def ids(self, answer, fingerprint):
        """The ids that an answer names."""
        raise NotImplementedError

    def launch(self, command, log="log", **more):
        out = open(self.folder / log, "wb")
        self.process = subprocess.Popen(command, stdout=out, stderr=out, cwd=self.folder, **more)

    def wait_for_port(self):
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            if self.process.poll() is not None:
                raise RuntimeError(f"{self.name} has ended: {(self.folder / 'log').read_text(errors='replace')[-2000:]}")
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return
            except OSError:
                time.sleep(0.1)
        raise RuntimeError(f"{self.name} does not listen")

    def pids(self):
        """The server and its children."""
        parents = {}
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                try:
                    parents[int(entry.name)] = int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1])
                except OSError:
                    pass
        found = [self.process.pid]
        for pid in found:
            found += [child for child, parent in parents.items() if parent == pid]
        return found

    def pin(self, core):
        for pid in self.pids():
            subprocess.run(["taskset", "-a", "-p", "-c", str(core), str(pid)], check=True, stdout=subprocess.DEVNULL)

    def processor_seconds(self):
        """Time of the processor, system included, of the server and of its children, those that have ended too."""
        ticks = 0
        for pid in self.pids():
            try:
                fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
            except OSError:
                continue
            ticks += sum(int(field) for field in fields[11:15])
        return ticks / os.sysconf("SC_CLK_TCK")

    def memory(self):
        """Bytes of memory, where what processes share counts once."""
        kib = 0
        for pid in self.pids():
            try:
                lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
            except OSError:
                continue
            kib += next(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
        return kib * 1024

    def stop(self):
        if self.process and self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
            try:
                self.process.wait(30)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()


def get(path):
    return f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode(), 1


class Simidx(Contender):
    name = "simidx"

    def start(self, data):
        index, program = self.folder / "data.simidx", self.options.simidx
        build = [program, "build", "--input", "tsv", "--width", "64", "--ids", "number", "-o", index]
        with (self.folder / "data.tsv").open("w") as out:
            out.writelines(f"{fingerprint:016x}\t{id}\n" for id, fingerprint in enumerate(data))
        build.append(self.folder / "data.tsv")
        subprocess.run(build, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        (self.folder / "data.tsv").unlink()
        listen = f"127.0.0.1:{self.port}"
        self.launch([program, "serve", index, "--threads", "1", "--listen", listen])
        self.wait_for_port()

    def request(self, fingerprint):
        return get(f"/v1/query/{fingerprint:016x}?k={DISTANCE}")

    def ids(self, answer, fingerprint):
        return {id for match in json.loads(answer)["matches"] for id in match["ids"]}


class GoSimstore(Contender):
    """It listens at all addresses, so `run.py` gives it a network of its own."""

    name = "go-simstore"
    flags = []

    def missing(self):
        if not self.options.go_simstore:
            return "--go-simstore names no program"
        if not self.options.alone:
            return "it listens at all addresses, and there is no network of its own for it here"
        return None

    def start(self, data):
        with (self.folder / "data.txt").open("w") as out:
            out.writelines(f"{id} {fingerprint:016x}\n" for id, fingerprint in enumerate(data))
        flags = ["-vptree=false", "-store", "-size", "3", "-cpus", "1", *self.flags]
        self.launch([self.options.go_simstore, "-f", "data.txt", "-p", str(self.port), *flags])
        self.wait_for_port()

    def request(self, fingerprint):
        return get(f"/search?sig={fingerprint:016x}")

    def ids(self, answer, fingerprint):
        return set(json.loads(answer) or [])


class GoSimstoreCompressed(GoSimstore):
    name = "go-simstore, compressed tables"
    flags = ["-z"]


def command(*words):
    words = [word if isinstance(word, bytes) else str(word).encode() for word in words]
    return b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in words)


def reply(answer, at=0):
    """A reply of Redis and where it ends."""
    end = answer.index(b"\r\n", at)
    kind, rest, after = answer[at : at + 1], answer[at + 1 : end], end + 2
    if kind == b":":
        return int(rest), after
    if kind == b"$":
        length = int(rest)
        return (None, after) if length < 0 else (answer[after : after + length], after + length + 2)
    if kind == b"*":
        items = []
        for _ in range(int(rest)):
            item, after = reply(answer, after)
            items.append(item)
        return items, after
    return rest, after


ENTRY = struct.Struct("<QI")

# Four tables, one for each band: the value of the band leads to the fingerprints that have it, with their ids.
NEAR = f"""#!lua name=simidx_peers
local bits = {{[0] = 0}}
for value = 1, 65535 do
  bits[value] = bits[(value - value % 2) / 2] + value % 2
end
local function differing(a, b)
  local c = bit.bxor(a, b)
  return bits[bit.band(c, 65535)] + bits[bit.rshift(c, 16)]
end
local function near(keys, args)
  local low, high = struct.unpack('<I4I4', args[1])
  local found, seen = {{}}, {{}}
  for number = 1, #keys do
    local list = redis.call('GET', keys[number])
    if list then
      for at = 1, #list, {ENTRY.size} do
        local l, h, id = struct.unpack('<I4I4I4', list, at)
        if differing(l, low) + differing(h, high) <= {DISTANCE} and not seen[id] then
          seen[id] = true
          found[#found + 1] = id
        end
      end
    end
  end
  return found
end
redis.register_function{{function_name = 'near', callback = near, flags = {{'no-writes'}}}}
"""


class Redis(Contender):
    name = "Redis, compared by a function in the server"
    protocol = "resp"

    def missing(self):
        return None if shutil.which("redis-server") else "there is no redis-server"

    def start(self, data):
        flags = ["--bind", "127.0.0.1", "--port", str(self.port), "--save", "", "--appendonly", "no"]
        self.launch(["redis-server", *flags, "--daemonize", "no"])
        self.wait_for_port()
        with socket.create_connection(("127.0.0.1", self.port), PATIENCE) as stream:
            answers = stream.makefile("rb")
            for band in range(BANDS):
                lists = {}
                for id, fingerprint in enumerate(data):
                    key = fingerprint >> BAND_BITS * band & (1 << BAND_BITS) - 1
                    lists.setdefault(key, bytearray()).extend(ENTRY.pack(fingerprint, id))
                keys = list(lists)
                for start in range(0, len(keys), 1024):
                    some = keys[start : start + 1024]
                    stream.sendall(b"".join(command("SET", self.key(band, key), bytes(lists[key])) for key in some))
                    for _ in some:
                        assert answers.readline() == b"+OK\r\n"
            stream.sendall(command("FUNCTION", "LOAD", NEAR))
            made = answers.readline()
            if not made.startswith(b"$"):
                raise RuntimeError(made.decode())

    def key(self, band, value):
        return struct.pack("<BH", band, value)

    def keys(self, fingerprint):
        return [self.key(band, value) for band, value in enumerate(bands(fingerprint))]

    def request(self, fingerprint):
        return command("FCALL", "near", BANDS, *self.keys(fingerprint), struct.pack("<Q", fingerprint)), 1

    def ids(self, answer, fingerprint):
        return set(reply(answer)[0])


class RedisLookUps(Redis):
    """The look-ups alone: the lists go to the client, which compares. Its time there is not counted."""

    name = "Redis, look-ups alone"

    def request(self, fingerprint):
        return command("MGET", *self.keys(fingerprint)), 1

    def ids(self, answer, fingerprint):
        lists = [list for list in reply(answer)[0] if list]
        entries = (entry for list in lists for entry in ENTRY.iter_unpack(list))
        return {id for other, id in entries if distance(other, fingerprint) <= DISTANCE}


def message(kind, body):
    return kind + struct.pack(">I", len(body) + 4) + body


class Postgres(Contender):
    """The paper's tables as covering indexes of the bands."""

    name = "PostgreSQL, indexed bands"
    protocol = "postgres"
    user = "bench"

    def programs(self):
        places = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: -int(path.parent.name))
        places += [Path(folder) for folder in os.environ["PATH"].split(os.pathsep)]
        has_all = (place for place in places if all((place / name).exists() for name in ("initdb", "postgres", "psql")))
        return next(has_all, None)

    def missing(self):
        return None if self.programs() else "there is no PostgreSQL server"

    def as_somebody(self, program, *args):
        """PostgreSQL refuses to run as root, so it runs as a user whom nobody else sees."""
        start = ["unshare", "--user", "--map-user=1000", "--map-group=1000"] if os.geteuid() == 0 else []
        return [*start, self.programs() / program, *args]

    def start(self, data):
        place = self.folder / "database"
        made = self.as_somebody("initdb", "-D", place, "-U", self.user, "--auth=trust", "--no-sync", "-E", "UTF8")
        subprocess.run(made, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        settings = {
            "listen_addresses": "127.0.0.1",
            "port": self.port,
            "unix_socket_directories": "",
            "shared_buffers": f"{max(128, 800 * len(data) // 1_000_000)}MB",
            "fsync": "off",
            "max_wal_size": "8GB",
            "maintenance_work_mem": "512MB",
            "autovacuum": "off",
            "jit": "off",
        }
        flags = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
        self.launch(self.as_somebody("postgres", "-D", place, *flags))
        self.wait_for_port()
        columns = "".join(
            f", b{band} int GENERATED ALWAYS AS ((fingerprint >> {BAND_BITS * band} & {(1 << BAND_BITS) - 1})::int) STORED"
            for band in range(BANDS)
        )
        self.run_sql(f"CREATE TABLE pages (id bigint, fingerprint bigint{columns})")
        lines = (f"{id}\t{signed(fingerprint)}\n" for id, fingerprint in enumerate(data))
        self.run_sql("COPY pages (id, fingerprint) FROM STDIN", "".join(lines).encode())
        for band in range(BANDS):
            self.run_sql(f"CREATE INDEX ON pages (b{band}) INCLUDE (fingerprint, id)")
        # After this the indexes alone are enough.
        self.run_sql("VACUUM ANALYZE pages")

    def run_sql(self, sql, data=b""):
        psql = [self.programs() / "psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-h", "127.0.0.1", "-p", str(self.port)]
        done = [*psql, "-U", self.user, "-d", "postgres", "-c", sql]
        subprocess.run(done, input=data, check=True, stdout=subprocess.DEVNULL)

    def opening(self):
        startup = struct.pack(">I", 196608) + f"user\0{self.user}\0database\0postgres\0\0".encode()
        one = "SELECT id FROM pages WHERE b{0} = ${1} AND bit_count((fingerprint # $1)::bit(64)) <= {2}"
        sql = " UNION ".join(one.format(band, band + 2, DISTANCE) for band in range(BANDS))
        types = struct.pack(f">H{BANDS + 1}I", BANDS + 1, 20, *[23] * BANDS)
        parse = message(b"P", b"near\0" + sql.encode() + b"\0" + types)
        return struct.pack(">I", len(startup) + 4) + startup + parse + message(b"S", b""), 2

    def request(self, fingerprint):
        values = [struct.pack(">q", signed(fingerprint)), *(struct.pack(">i", value) for value in bands(fingerprint))]
        bound = b"".join(struct.pack(">I", len(value)) + value for value in values)
        bind = b"\0near\0" + struct.pack(">HH", 1, 1) + struct.pack(">H", len(values)) + bound + struct.pack(">HH", 1, 1)
        return message(b"B", bind) + message(b"E", b"\0" + struct.pack(">I", 0)) + message(b"S", b""), 1

    def ids(self, answer, fingerprint):
        found, at = set(), 0
        while at < len(answer):
            kind, length = answer[at : at + 1], struct.unpack_from(">I", answer, at + 1)[0]
            if kind == b"D":
                found.add(struct.unpack_from(">q", answer, at + 11)[0])
            at += 1 + length
        return found


def signed(fingerprint):
    return fingerprint - (1 << 64) if fingerprint >> 63 else fingerprint


CONTENDERS = [Simidx, GoSimstoreCompressed, GoSimstore, Redis, RedisLookUps, Postgres]
