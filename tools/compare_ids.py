#!/usr/bin/env python3
"""The size of records of a fingerprint and an id in an index, and in other stores.

Each distinct line of FILE is the id of a record; its fingerprint is a hash of it.  Every store that
is installed (packages pyarrow, lmdb, rocksdict, marisa-trie) gets the same records, in the order
that suits it.  Prints a Markdown table: bytes a record in all and by parts, and the time to find a
record by its fingerprint and by its id, files cached, many look-ups less one.  simidx runs as a
program, which also reads the question and prints the answer; the others are called from Python.
"""

import argparse
import hashlib
import json
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections import namedtuple
from importlib import import_module, metadata


# Bytes by part; what turns fingerprints into ids, and ids into fingerprints; number of look-ups.
Store = namedtuple("Store", "name parts by_fingerprint by_id queries", defaults=(None, None, 20000))


def each(ask):
    return lambda questions: [ask(question) for question in questions]


def parquet_stores(records, folder, pa):
    pq = import_module("pyarrow.parquet")
    schema = pa.schema({"fingerprint": pa.uint64(), "id": pa.string()})
    for side, order in enumerate(("fingerprint", "id")):
        columns = zip(*sorted(records, key=lambda record: record[side]))
        table = pa.table(dict(zip(schema.names, map(list, columns))), schema)
        path = folder / f"{order}.parquet"
        encodings = ("DELTA_BINARY_PACKED", "PLAIN")[side], "DELTA_BYTE_ARRAY"
        pq.write_table(table, path, compression="zstd", compression_level=9, row_group_size=65536,
                       use_dictionary=False, column_encoding=dict(zip(schema.names, encodings)))
        data = pq.ParquetFile(path).metadata
        columns = (data.row_group(group).column(1) for group in range(data.num_row_groups))
        ids = sum(column.total_compressed_size for column in columns)
        parts = {"fingerprints and footer": path.stat().st_size - ids, "ids": ids}

        def find(wanted, column, other):
            wanted = pa.scalar(wanted, schema.field(column).type)
            return pq.read_table(path, filters=[(column, "==", wanted)])[other][0].as_py()

        yield Store(f"Parquet, zstd, sorted by {order} (pyarrow {pa.__version__})", parts,
                    each(lambda f: find(f, "fingerprint", "id")),
                    each(lambda i: find(i, "id", "fingerprint")), 20)


def sqlite_stores(records, folder, sqlite3):
    path, parts = folder / "records.sqlite", {}
    base = sqlite3.connect(path)
    base.execute("create table records (fingerprint integer, id text)")
    signed = ((f - (f >> 63 << 64), i) for f, i in records)
    base.executemany("insert into records values (?, ?)", signed)
    for part, sql in (("table", "select 1"),
                      ("index of fingerprints", "create index f on records (fingerprint)"),
                      ("index of ids", "create index i on records (id)")):
        base.execute(sql)
        base.commit()
        parts[part] = path.stat().st_size - sum(parts.values())

    def find(wanted, column, other):
        sql = f"select {other} from records where {column} = ?"
        return base.execute(sql, (wanted,)).fetchone()[0]

    yield Store(f"SQLite {sqlite3.sqlite_version}", parts,
                each(lambda f: find(f - (f >> 63 << 64), "fingerprint", "id")),
                each(lambda i: find(i, "id", "fingerprint") % 2**64))


def key_value_pairs(records):
    pairs = sorted((f.to_bytes(8, "big"), i.encode()) for f, i in records)
    return {"by fingerprint": pairs, "by id": sorted((i, f) for f, i in pairs)}


def lmdb_stores(records, folder, lmdb):
    env = lmdb.open(str(folder / "lmdb"), map_size=1 << 36, max_dbs=2, sync=False)
    parts, bases = {}, []
    for part, pairs in key_value_pairs(records).items():
        bases.append(env.open_db(part.encode()))
        with env.begin(bases[-1], write=True) as write:
            write.cursor().putmulti(pairs, append=True)
            stat = write.stat(bases[-1])
        parts[part] = stat["psize"] * sum(n for name, n in stat.items() if name.endswith("_pages"))
    get = env.begin().get
    yield Store(f"LMDB (lmdb {lmdb.__version__})", parts,
                each(lambda f: get(f.to_bytes(8, "big"), db=bases[0]).decode()),
                each(lambda i: int.from_bytes(get(i.encode(), db=bases[1]), "big")))


def rocksdb_stores(records, folder, rocksdict):
    parts, bases = {}, []
    for part, pairs in key_value_pairs(records).items():
        options = rocksdict.Options(raw_mode=True)
        options.set_compression_type(rocksdict.DBCompressionType.zstd())
        bases.append(rocksdict.Rdict(str(folder / part.replace(" ", "-")), options))
        for key, value in pairs:
            bases[-1][key] = value
        bases[-1].compact_range(None, None)
        parts[part] = sum(file["size"] for file in bases[-1].live_files())
    yield Store(f"RocksDB, zstd (rocksdict {metadata.version('rocksdict')})", parts,
                each(lambda f: bases[0][f.to_bytes(8, "big")].decode()),
                each(lambda i: int.from_bytes(bases[1][i.encode()], "big")))


def marisa_stores(records, folder, marisa_trie):
    trie, path = marisa_trie.Trie([i for _, i in records]), folder / "ids.marisa"
    trie.save(str(path))
    # The fingerprints are not counted: they are there to check answers.
    fingerprints = {trie[i]: f for f, i in records}
    yield Store(f"marisa-trie {metadata.version('marisa-trie')}, ids alone",
                {"ids": path.stat().st_size}, None, each(lambda i: fingerprints[trie[i]]))


def simidx_stores(records, folder, program):
    def run(*arguments, text=""):
        command = [program, *map(str, arguments)]
        return subprocess.run(command, input=text, text=True, stdout=-1, check=True).stdout

    source, plain, path = (folder / name for name in ("ids.tsv", "1.simidx", "2.simidx"))
    source.write_text("".join(f"{f:016x}\t{i}\n" for f, i in records), encoding="utf-8")
    for tables in (1, 4):
        build = ("build", source, "--ids", "string", "--tables", tables, "--force")
        run(*build, "-o", plain)
        run(*build, "-o", path, "--id-lookup")
        without, info = (json.loads(run("info", file, "--json")) for file in (plain, path))
        parts = {"fingerprints": info["file_bytes"] - info["id_bytes"], "ids": without["id_bytes"],
                 "id look-up": info["id_bytes"] - without["id_bytes"]}

        def by_fingerprint(fingerprints):
            lines = run("query", path, "-k", 0, text="".join(f"{f:016x}\n" for f in fingerprints))
            return [line.split("\t")[3] for line in lines.splitlines()]

        def by_id(ids):
            lines = run("query", path, "-k", 0, "--limit", 1, *(f"--id={i}" for i in ids)).splitlines()
            return [int(line[:16], 16) for line in lines]

        name = f"{run('--version').split(' (')[0]}, tables: {tables}"
        yield Store(name, parts, by_fingerprint, by_id, 5000)


def show_time(ask, questions, answers):
    """The time of a look-up, the median of three rounds; every answer is checked."""

    def seconds(count):
        start = time.perf_counter()
        assert ask(questions[:count]) == answers[:count], "a look-up is wrong"
        return time.perf_counter() - start

    more = len(questions) - 1
    rounds = ask and [(seconds(more + 1) - seconds(1)) / more * 1e6 for _ in range(3)]
    return f"{sorted(rounds)[1]:,.1f} µs" if ask else "–"


def print_row(store, records, picks):
    fingerprints, ids = map(list, zip(*picks[:store.queries]))
    parts = [f"{part} {size / len(records):.1f}" for part, size in store.parts.items()]
    print(f"| {store.name} | {sum(store.parts.values()) / len(records):.1f} | {', '.join(parts)} "
          f"| {show_time(store.by_fingerprint, fingerprints, ids)} "
          f"| {show_time(store.by_id, ids, fingerprints)} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("file", metavar="FILE", type=pathlib.Path, help="ids, one a line")
    parser.add_argument("--count", type=int, help="only the first lines")
    parser.add_argument("--simidx", default="simidx", metavar="PROGRAM")
    args = parser.parse_args()
    lines = sorted(set(args.file.read_text(encoding="utf-8").split("\n")[:args.count]) - {""})
    hashes = (hashlib.blake2b(line.encode(), digest_size=8).digest() for line in lines)
    records = list(zip((int.from_bytes(digest, "big") for digest in hashes), lines))
    picks = random.Random(1).sample(records, min(20000, len(records)))
    parts = {"fingerprints": 8 * len(records), "ids": sum(len(i.encode()) for i in lines)}
    print(f"{len(records):,} records\n\n| | bytes a record | by parts | by fingerprint | by id |")
    print("|---|---|---|---|---|")
    print_row(Store("as they are", parts), records, picks)
    for name, stores in (("pyarrow", parquet_stores), ("sqlite3", sqlite_stores),
                         ("lmdb", lmdb_stores), ("rocksdict", rocksdb_stores),
                         ("marisa_trie", marisa_stores), (args.simidx, simidx_stores)):
        try:
            tool = name if stores is simidx_stores and shutil.which(name) else import_module(name)
        except ImportError:
            print(f"skipped: {name} is not installed", file=sys.stderr)
            continue
        with tempfile.TemporaryDirectory() as folder:
            for store in stores(records, pathlib.Path(folder), tool):
                print_row(store, records, picks)


if __name__ == "__main__":
    main()
