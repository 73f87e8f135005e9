"""Runs a configuration of text-dedup: ``python -m simidx.text_dedup --config config.toml``.

It reads the TOML file of text-dedup 0.4.1 and writes what that writes: a data set of Hugging Face ``datasets``, and
``clusters.pickle`` if it is asked for. Needs ``datasets``: ``pip install simidx[datasets]``.

``simhash`` is answered exactly: the same fingerprints, clusters and kept documents. ``minhash`` is not: text-dedup
takes documents for similar that share a band of MinHash values; here their sets of runs of words are compared, and the
pairs whose Jaccard similarity is at least ``threshold`` count. ``bloom_filter`` and ``suffix_array`` are not answered.
"""

from __future__ import annotations

import argparse
import importlib
import os
import pickle
import re
import sys
from collections.abc import Sequence
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from simidx._errors import Error, InputError, OptionError
from simidx._sets import clusters_texts, pairs
from simidx._texts import Pipeline

__all__ = ["deduplicate", "main"]

_INDEX = "__INDEX__"
_DUPLICATE = "__duplicate__"

#: Options by name: the default of text-dedup, the type, and for numbers the least and the greatest value.
_Options = dict[str, tuple[Any, ...]]

_COMMON: _Options = {
    "algorithm_name": (None, str),
    "text_column": (None, str),
    "cluster_column": ("__CLUSTER__", str),
    "seed": (42, int, 0, 2**53 - 1),
    "min_length": (5, int, 0, 2**31),
    "check_false_positive": (False, bool),
}
_ALGORITHMS: dict[str, _Options] = {
    "simhash": {
        **_COMMON,
        "ngram_size": (3, int, 1, 64),
        "f": (64, int, 1, 128),
        "bit_diff": (3, int, 0, 128),
        "num_bucket": (4, int, 1, 128),
        "jaccard_threshold": (0.5, float, 0, 1),
    },
    "minhash": {**_COMMON, "ngram_size": (1, int, 1, 64), "threshold": (None, float, 0, 1)},
}
_OUTPUT: _Options = {
    "output_dir": (None, str),
    "skip_filtering": (False, bool),
    "save_clusters": (False, bool),
    "keep_index_column": (False, bool),
    "keep_cluster_column": (False, bool),
}
#: Options of text-dedup that have no effect here.
_NO_EFFECT = {
    "simhash": ["num_proc", "batch_size", "index_column", "signature_column"],
    "output": ["clean_cache"],
}
_NO_EFFECT["minhash"] = _NO_EFFECT["simhash"] + ["num_perm", "bands", "rows", "hash_bits", "hash_func_name"]
_NO_EFFECT["minhash"] += ["false_positive_weight", "false_negative_weight", "algo_name"]

_EXPECTED = {str: "a string", bool: "true or false", int: "an integer", float: "a number"}


def _check(place: str, value: Any, kind: type, least: float | None = None, most: float | None = None) -> None:
    kinds = (int, float) if kind is float else (kind,)
    is_of_kind = isinstance(value, kinds) and (kind is bool or not isinstance(value, bool))
    if least is None or most is None:
        expected = _EXPECTED[kind]
    else:
        expected = f"{_EXPECTED[kind]} from {least} to {most}"
        is_of_kind = is_of_kind and least <= value <= most
    if not is_of_kind:
        raise OptionError(f"{place} is {value!r}; {expected} is expected")


def _table(config: dict[str, Any], name: str) -> dict[str, Any]:
    given = config.get(name, {})
    if not isinstance(given, dict):
        raise OptionError(f"{name} is {given!r}; a section [{name}] is expected")
    return given


def _section(
    config: dict[str, Any], name: str, known: _Options, no_effect: list[str], needed: Sequence[str]
) -> dict[str, Any]:
    given = _table(config, name)
    for key, value in given.items():
        if key in known:
            _check(f"[{name}] {key}", value, *known[key][1:])
        elif key not in no_effect:
            names = ", ".join([*known, *no_effect])
            raise OptionError(f"[{name}] {key}: text-dedup has no such option; known are {names}")
    for key in needed:
        if given.get(key) is None:
            raise OptionError(f"[{name}]: {key} is missing")
    return {**{key: option[0] for key, option in known.items()}, **given}


def _read_config(path: str | os.PathLike[str]) -> dict[str, Any]:
    try:
        toml: Any = importlib.import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
    except ImportError:
        raise InputError("reading TOML takes Python 3.11 or newer, or the package tomli") from None
    try:
        config: dict[str, Any] = toml.loads(Path(path).read_text(encoding="utf-8"))
    except toml.TOMLDecodeError as error:
        raise InputError(f"{os.fspath(path)}: {error}") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{os.fspath(path)} is not UTF-8 at byte {error.start}") from None
    name = _table(config, "algorithm").get("algorithm_name")
    if not isinstance(name, str) or name not in _ALGORITHMS:
        raise OptionError(f"[algorithm] algorithm_name is {name!r}; answered are {' and '.join(_ALGORITHMS)}")
    needed = ["text_column"] + (["threshold", "num_perm"] if name == "minhash" else [])
    options = {
        "input": _table(config, "input"),
        "algorithm": _section(config, "algorithm", _ALGORITHMS[name], _NO_EFFECT[name], needed),
        "output": _section(config, "output", _OUTPUT, _NO_EFFECT["output"], ["output_dir"]),
    }
    for section, no_effect in (("algorithm", _NO_EFFECT[name]), ("output", _NO_EFFECT["output"])):
        # algo_name is the same as algorithm_name.
        ignored = [key for key in no_effect if key in options[section] and key != "algo_name"]
        if ignored:
            print(f"simidx.text_dedup: [{section}] without effect: {', '.join(ignored)}", file=sys.stderr)
    return options


def _load(options: dict[str, Any]) -> Any:
    """Load the data set of the section ``input``."""
    try:
        datasets: Any = importlib.import_module("datasets")
    except ImportError:
        raise InputError("this takes Hugging Face datasets: pip install simidx[datasets]") from None
    kinds = {"local_files": datasets.load_dataset, "local_hf_dataset": datasets.load_from_disk}
    kind = options.get("input_type", "local_files")
    if not isinstance(kind, str) or kind not in kinds:
        raise OptionError(f"[input] input_type is {kind!r}; known are {' and '.join(kinds)}")
    arguments = options.get("read_arguments", {})
    if not isinstance(arguments, dict):
        raise OptionError(f"[input] read_arguments is {arguments!r}; a section [input.read_arguments] is expected")
    try:
        data = kinds[kind](**arguments)
    except (TypeError, ValueError) as error:
        raise InputError(f"[input.read_arguments]: {error}") from None
    if not isinstance(data, datasets.Dataset):
        raise InputError('[input]: these are several splits; name one, as in split = "train" of read_arguments')
    return data


class _Sets:
    """Disjoint sets by rank. Which member represents a set depends on the order of the unions, as in text-dedup."""

    def __init__(self) -> None:
        self.parent: dict[int, int] = {}
        self.rank: dict[int, int] = {}

    def find(self, x: int) -> int:
        root = x
        while self.parent.setdefault(root, root) != root:
            root = self.parent[root]
        while self.parent[x] != root:
            self.parent[x], x = root, self.parent[x]
        return root

    def union(self, x: int, y: int) -> None:
        x, y = self.find(x), self.find(y)
        if x == y:
            return
        of_x, of_y = self.rank.get(x, 0), self.rank.get(y, 0)
        if of_x < of_y:
            self.parent[x] = y
            return
        self.parent[y] = x
        if of_x == of_y:
            self.rank[x] = of_x + 1

    def others(self) -> dict[int, int]:
        """Return the members that do not represent their set, each with the one that does."""
        found = {x: self.find(x) for x in list(self.parent)}
        return {x: root for x, root in found.items() if x != root}


class _Buckets:
    """The keys by which text-dedup puts fingerprints into buckets: some blocks of bits, in each order."""

    def __init__(self, width: int, distance: int, count: int) -> None:
        if count <= distance:
            raise OptionError(f"[algorithm] num_bucket={count} must be greater than bit_diff={distance}")
        size = -(-width // count)
        self.blocks = [(start, min(start + size, width)) for start in range(0, width, size)]
        self.width = width
        self.chosen = count - distance
        if self.chosen > len(self.blocks):
            raise OptionError(
                f"[algorithm] num_bucket={count}: {width} bits make {len(self.blocks)} blocks of {size}, "
                f"and text-dedup finds nothing by {self.chosen} of them; take a smaller num_bucket"
            )
        #: Whether all fingerprints within the distance share a key.
        self.is_complete = len(self.blocks) == count
        self.known: dict[int, list[tuple[int, int]]] = {}

    def keys(self, fingerprint: int) -> list[tuple[int, int]]:
        """Return the keys of a fingerprint, in order: each is a number of bits and their value."""
        if fingerprint not in self.known:
            parts = [
                (end - start, fingerprint >> self.width - end & (1 << end - start) - 1) for start, end in self.blocks
            ]
            keys = []
            for several in permutations(parts, self.chosen):
                bits, value = 0, 0
                for size, part in several:
                    bits, value = bits + size, value << size | part
                keys.append((bits, value))
            self.known[fingerprint] = keys
        return self.known[fingerprint]

    def first_in_common(self, a: int, b: int) -> int | None:
        """Return the number of the first key of one fingerprint that another shares."""
        others = set(self.keys(b))
        return next((number for number, key in enumerate(self.keys(a)) if key in others), None)


def _integers(values: npt.NDArray[Any]) -> list[int]:
    if values.ndim == 2:
        return [high << 64 | low for high, low in values.tolist()]
    found: list[int] = values.tolist()
    return found


def _clusters_by_simhash(texts: Any, options: dict[str, Any]) -> dict[int, int]:
    """Return the documents that do not represent their cluster, each with the one that does."""
    width = options["f"]
    name = (
        f"compat-text-dedup,segment=word-runs:{options['min_length']},shingle={options['ngram_size']},"
        f"seed={options['seed']}"
    )
    if width == 128:
        name += ",hash=xxh3-128"
    buckets = _Buckets(width, options["bit_diff"], options["num_bucket"])
    values = Pipeline(name, width=width).fingerprints(texts)
    distinct, firsts, places = np.unique(values, axis=0, return_index=True, return_inverse=True)
    places = places.reshape(-1)
    left, right, _ = pairs(distinct, options["bit_diff"], rows=True)
    near: dict[int, list[int]] = {}
    for a, b in zip(left.tolist(), right.tolist(), strict=True):
        # The later one in the data set searches for the earlier one.
        later, earlier = (a, b) if firsts[a] > firsts[b] else (b, a)
        near.setdefault(later, []).append(earlier)
    of_several = np.bincount(places, minlength=len(distinct)) > 1
    looks = np.zeros(len(distinct), np.bool_)
    looks[list(near)] = True
    first_of: list[int] = firsts.tolist()
    sets = _Sets()
    for row in np.flatnonzero((of_several | looks)[places]).tolist():
        place = int(places[row])
        if first_of[place] != row:
            # All near documents have already been united with the first one.
            sets.union(row, first_of[place])
            continue
        found = near.get(place, [])
        if len(found) > 1 or not buckets.is_complete:
            integers = _integers(distinct[[place, *found]])
            order = [buckets.first_in_common(integers[0], other) for other in integers[1:]]
            met = [(first, first_of[other]) for first, other in zip(order, found, strict=True) if first is not None]
            for _, other in sorted(met):
                sets.union(row, other)
        elif found:
            sets.union(row, first_of[found[0]])
    return sets.others()


def _runs(text: str, options: dict[str, Any]) -> set[str]:
    """Return the runs of words of a text."""
    length = options["ngram_size"]
    words = re.findall(r"\w+", text.lower())
    if len(words) < options["min_length"]:
        return set()
    count = max(len(words) - length + 1, 1)
    return {" ".join(words[start : start + length]) for start in range(count)}


def _checked(texts: Any, found: dict[int, int], options: dict[str, Any]) -> dict[int, int]:
    """Return clusters of the similar pairs of documents in one cluster; they do not depend on its representative."""
    groups: dict[int, list[int]] = {}
    for row in sorted(found):
        groups.setdefault(found[row], []).append(row)
    sets = _Sets()
    for rows in groups.values():
        all_runs = [_runs(texts[row].as_py(), options) for row in rows]
        for i, of_one in enumerate(all_runs):
            for j in range(i + 1, len(rows)):
                union = len(of_one | all_runs[j])
                similarity = len(of_one & all_runs[j]) / union if union else 1.0
                if similarity >= options["jaccard_threshold"]:
                    sets.union(rows[i], rows[j])
    return sets.others()


def _with_columns(data: Any, columns: dict[str, npt.NDArray[Any]]) -> Any:
    for name, values in columns.items():
        if name in data.column_names:
            data = data.remove_columns(name)
        data = data.add_column(name, values)
    return data


def _assigned(count: int, found: dict[int, int]) -> npt.NDArray[np.int64]:
    labels = np.arange(count, dtype=np.int64)
    if found:
        labels[list(found)] = list(found.values())
    return labels


def _simhash(data: Any, options: dict[str, Any]) -> tuple[Any, npt.NDArray[np.bool_], dict[int, int]]:
    texts = data.with_format("arrow")[:][options["text_column"]]
    found = _clusters_by_simhash(texts, options)
    dropped = np.zeros(len(data), np.bool_)
    dropped[list(found)] = True
    # As in text-dedup, the check changes the clusters, but not which documents are dropped.
    if options["check_false_positive"] and found:
        found = _checked(texts, found, options)
    labels = _assigned(len(data), found)
    data = _with_columns(data, {options["cluster_column"]: labels, _DUPLICATE: dropped})
    return data, ~dropped, found


def _minhash(data: Any, options: dict[str, Any]) -> tuple[Any, npt.NDArray[np.bool_], dict[int, int]]:
    name = f"compat-text-dedup,segment=word-runs:{options['min_length']},shingle={options['ngram_size']}"
    pipeline = Pipeline(name)
    texts = data.with_format("arrow")[:][options["text_column"]]
    is_long = pipeline.has_features(texts)
    data = data.select(np.flatnonzero(is_long))
    texts = data.with_format("arrow")[:][options["text_column"]]
    rows: npt.NDArray[np.int64] = np.flatnonzero(is_long).astype(np.int64)
    labels = rows[clusters_texts(texts, options["threshold"], words=None, pipeline=pipeline)]
    in_cluster = np.isin(labels, labels[labels != rows])
    data = _with_columns(data, {options["cluster_column"]: labels, _DUPLICATE: in_cluster})
    members = zip(rows[in_cluster].tolist(), labels[in_cluster].tolist(), strict=True)
    return data, labels == rows, dict(members)


def deduplicate(config: str | os.PathLike[str]) -> tuple[int, int]:
    """Run a configuration of text-dedup, and return the number of documents before and after."""
    options = _read_config(config)
    algorithm, output = options["algorithm"], options["output"]
    data = _load(options["input"])
    before = len(data)
    if algorithm["text_column"] not in data.column_names:
        names = ", ".join(data.column_names)
        raise InputError(f"[algorithm] text_column: there is no column {algorithm['text_column']!r}; there are {names}")
    data = _with_columns(data, {_INDEX: np.arange(before)})
    work = _simhash if algorithm["algorithm_name"] == "simhash" else _minhash
    data, is_kept, found = work(data, algorithm)
    if not output["skip_filtering"]:
        data = data.select(np.flatnonzero(is_kept))
    folder = Path(output["output_dir"])
    folder.mkdir(parents=True, exist_ok=True)
    if output["save_clusters"]:
        with (folder / "clusters.pickle").open("wb") as file:
            pickle.dump(found, file, protocol=pickle.HIGHEST_PROTOCOL)
    removed = []
    if not (output["keep_index_column"] or output["save_clusters"]):
        removed.append(_INDEX)
    if not (output["keep_cluster_column"] or output["save_clusters"]):
        removed.append(algorithm["cluster_column"])
    if removed:
        data = data.remove_columns(removed)
    data.save_to_disk(str(folder))
    return before, len(data)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the configuration of the arguments, and return the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m simidx.text_dedup", description="Run a configuration of text-dedup."
    )
    parser.add_argument("--config", default="config.toml", help="the TOML file of text-dedup (%(default)s)")
    given = parser.parse_args(arguments)
    try:
        before, after = deduplicate(given.config)
    except (Error, OSError) as error:
        print(f"simidx.text_dedup: {error}", file=sys.stderr)
        return 2
    print(f"{before} documents, {after} written", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
