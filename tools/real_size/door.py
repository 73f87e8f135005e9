"""The part of tools/real-size in the Python package; prints a JSON object.

usage: door.py FOLDER, which holds what tools/real-size has made so far. The answers have the form of `simidx query`.
"""

import json
import pathlib
import sys

import numpy as np

import simidx

folder = pathlib.Path(sys.argv[1])
fingerprints = np.fromfile(folder / "all.le", dtype="<u8")
queries = np.fromfile(folder / "queries.le", dtype="<u8")
texts = [json.loads(line)["text"] for line in (folder / "docs.jsonl").open()]


def lines(matches: simidx.Matches, queries: np.ndarray = queries) -> list[str]:
    """A line for each match."""
    asked = queries[matches.queries]
    found = zip(asked, matches.fingerprints, matches.distances)
    return [f"{query:016x}\t{match:016x}\t{distance}" for query, match, distance in found]


out: dict[str, object] = {}
for name in ["two", "six"]:
    with simidx.open(folder / f"{name}.simidx") as index:
        out[f"query {name}"] = lines(index.query(queries, 3))
        out[f"query {name} on one thread"] = lines(index.query(queries, 3, threads=1))
        out[f"join {name}"] = lines(index.join(queries, 3))
        out[f"nearest {name}"] = lines(index.nearest(queries[-10:], 5), queries[-10:])
        out[f"contains {name}"] = index.contains(queries, 3).tolist()
        index.verify()
with simidx.open([folder / "left.simidx", folder / "right.simidx"]) as index:
    out["query two files"] = lines(index.query(queries, 3))
with simidx.build(folder / "python.simidx", fingerprints, tables=6) as index:
    out["query a file of its own"] = lines(index.query(queries, 3))
pairs = simidx.pairs(fingerprints, 3)
out["pairs"] = len(pairs.left)
out["dedup"] = int(simidx.dedup(fingerprints, 3).sum())
out["clusters"] = len(np.unique(simidx.clusters(fingerprints, 3)))
out["dedup_texts"] = np.flatnonzero(simidx.dedup_texts(texts)).tolist()
with simidx.Collection.create(folder / "collected", sync="never") as collection:
    names = [str(number) for number in range(200_000)]
    collection.add_many(names, fingerprints[: len(names)])
    collection.seal()
    out["query a collection"] = lines(collection.query(queries, 3))
with simidx.open(folder / "collected") as index:
    out["query a set"] = lines(index.query(queries, 3))
json.dump(out, sys.stdout)
