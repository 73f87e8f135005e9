"""Configurations of text-dedup: against a plain twin, and against what text-dedup itself found."""

from __future__ import annotations

import gzip
import hashlib
import itertools
import json
import os
import pickle
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

import simidx
from simidx.text_dedup import deduplicate, main

datasets = pytest.importorskip("datasets", reason="datasets is not installed: bindings/python/check --drop-ins")

DATA = Path(os.environ.get("SIMIDX_BOOK", Path(__file__).parents[3] / "book")).parent / "data"

#: The results of text-dedup 0.4.1 (commit 7538f3e), by `tools/text_dedup_found.py`.
FOUND: list[dict[str, Any]] = [
    json.loads(line) for line in Path(__file__).with_name("text_dedup_found.jsonl").read_text("utf-8").splitlines()
]


def config(folder: Path, source: Path, algorithm: dict[str, Any], output: dict[str, Any] | None = None) -> Path:
    """A configuration on a file of JSON lines."""
    sections = {
        "input": {"input_type": "local_files", "file_type": "json"},
        "input.read_arguments": {
            "path": "json",
            "data_files": str(source),
            "split": "train",
            "cache_dir": str(folder / "cache"),
        },
        "algorithm": {"algorithm_name": "simhash", "text_column": "text", **algorithm},
        "output": {"output_dir": str(folder / "out"), "save_clusters": True, **(output or {})},
        "debug": {"enable_profiling": False},
    }
    lines: list[str] = []
    for name, options in sections.items():
        lines += [f"[{name}]", *(f"{key} = {json.dumps(value)}" for key, value in options.items())]
    path = folder / "config.toml"
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def shipped(name: str) -> list[str]:
    """The texts that come with the project."""
    source = DATA / f"{name}.jsonl.gz"
    if not source.exists():
        pytest.skip("the documents of the project are not here")
    with gzip.open(source, "rt", encoding="utf-8") as lines:
        return [json.loads(line)["text"] for line in lines]


def lines_of(texts: list[str], path: Path) -> Path:
    """A file of JSON lines."""
    path.write_text(
        "".join(json.dumps({"id": i, "text": text}) + "\n" for i, text in enumerate(texts)), encoding="utf-8"
    )
    return path


def answer(folder: Path) -> tuple[list[int], dict[int, int]]:
    """The places of the kept documents, and the clusters."""
    kept = datasets.load_from_disk(str(folder / "out"))["__INDEX__"][:]
    return kept, pickle.loads((folder / "out" / "clusters.pickle").read_bytes())


def digest(clusters: dict[int, int]) -> str:
    """The same of equal clusters only."""
    return hashlib.sha256(json.dumps(sorted(clusters.items())).encode()).hexdigest()[:16]


@pytest.mark.parametrize("found", FOUND, ids=lambda found: f"{found['documents']} {found['setting']}")
def test_text_dedup_kept_the_same(tmp_path: Path, found: dict[str, Any]) -> None:
    source = lines_of(shipped(found["documents"]), tmp_path / "texts.jsonl")
    deduplicate(config(tmp_path, source, found["setting"]))
    kept, clusters = answer(tmp_path)
    assert (len(kept), digest(clusters)) == (found["kept"], found["clusters"])


def plain(fingerprints: list[int], width: int, distance: int, count: int) -> dict[int, int]:
    """The clusters that buckets of dictionaries give, one fingerprint and key after the other."""
    size = -(-width // count)
    blocks = [range(start, min(start + size, width)) for start in range(0, width, size)]
    parent = list(range(len(fingerprints)))
    rank = [0] * len(fingerprints)

    def find(x: int) -> int:
        while parent[x] != x:
            x = parent[x]
        return x

    buckets: defaultdict[str, list[int]] = defaultdict(list)
    for row, value in enumerate(fingerprints):
        bits = f"{value:0{width}b}"
        for several in itertools.permutations(blocks, count - distance):
            bucket = buckets["".join(bits[i] for block in several for i in block)]
            for other in bucket:
                if other == row or (value ^ fingerprints[other]).bit_count() > distance:
                    continue
                x, y = find(row), find(other)
                if x != y and rank[x] < rank[y]:
                    parent[x] = y
                elif x != y:
                    parent[y] = x
                    rank[x] += rank[x] == rank[y]
            bucket.append(row)
    return {row: find(row) for row in range(len(parent)) if find(row) != row}


@pytest.mark.parametrize(
    ("width", "distance", "count"),
    [(64, 3, 4), (64, 3, 6), (64, 7, 8), (32, 2, 3), (64, 10, 13), (32, 7, 9), (128, 4, 6)],
)
def test_clusters_have_the_same_head(tmp_path: Path, width: int, distance: int, count: int) -> None:
    # Short texts of few words: crowds of equal and near fingerprints.
    texts = [" ".join(word * (row // 7**i % 7 + 1) for i, word in enumerate("abc")) for row in range(300)] * 2
    pipeline = simidx.Pipeline(
        f"compat-text-dedup,segment=word-runs:0,shingle=1{',hash=xxh3-128' if width == 128 else ''}", width=width
    )
    expected = plain([pipeline.fingerprint(text) for text in texts], width, distance, count)
    source = lines_of(texts, tmp_path / "texts.jsonl")
    algorithm = {"f": width, "bit_diff": distance, "num_bucket": count, "ngram_size": 1, "min_length": 0}
    deduplicate(config(tmp_path, source, algorithm))
    kept, clusters = answer(tmp_path)
    assert clusters == expected
    assert kept == [row for row in range(len(texts)) if row not in expected]


def test_columns_are_those_asked_for(tmp_path: Path) -> None:
    source = lines_of(["one two three four five"] * 3, tmp_path / "texts.jsonl")

    def columns(**output: Any) -> tuple[list[str], int]:
        deduplicate(config(tmp_path, source, {"cluster_column": "cluster"}, output))
        data = datasets.load_from_disk(str(tmp_path / "out"))
        return data.column_names, len(data)

    assert columns(save_clusters=False) == (["id", "text", "__duplicate__"], 1)
    assert columns(save_clusters=False, keep_cluster_column=True)[0] == ["id", "text", "cluster", "__duplicate__"]
    assert columns(skip_filtering=True) == (["id", "text", "__INDEX__", "cluster", "__duplicate__"], 3)


def test_minhash_drops_what_is_similar(tmp_path: Path) -> None:
    texts = ["a b c d e f g h i j", "too short", "a b c d e f g h i k", "other words are in this one here"]
    source = lines_of(texts, tmp_path / "texts.jsonl")
    algorithm = {"algorithm_name": "minhash", "num_perm": 64, "threshold": 0.7, "ngram_size": 1}
    deduplicate(config(tmp_path, source, algorithm))
    kept, clusters = answer(tmp_path)
    assert kept == [0, 3]
    assert clusters == {0: 0, 2: 0}


def test_other_configurations_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = lines_of(["a"], tmp_path / "texts.jsonl")
    refused: list[tuple[dict[str, Any], str]] = [
        ({"algorithm_name": "suffix_array"}, "answered are simhash and minhash"),
        ({"bit_dif": 3}, "no such option"),
        ({"text_column": "body"}, "no column 'body'"),
        ({"num_bucket": 3}, "greater than bit_diff"),
        ({"f": 48}, "32, 64 or 128 bits"),
        ({"bit_diff": 1, "num_bucket": 20}, "take a smaller num_bucket"),
    ]
    for algorithm, clause in refused:
        assert main(["--config", str(config(tmp_path, source, algorithm))]) == 2
        assert clause in capsys.readouterr().err
    assert main(["--config", str(tmp_path / "none.toml")]) == 2
    (tmp_path / "bad.toml").write_text("= 3")
    assert main(["--config", str(tmp_path / "bad.toml")]) == 2


def test_it_runs_as_a_module(tmp_path: Path) -> None:
    source = lines_of(["one two three four five"] * 2, tmp_path / "texts.jsonl")
    path = config(tmp_path, source, {})
    command = [sys.executable, "-m", "simidx.text_dedup", "--config", str(path)]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env={**os.environ, "HF_HUB_OFFLINE": "1"}
    )
    assert done.returncode == 0, done.stderr
    assert "2 documents, 1 written" in done.stderr


@pytest.mark.parametrize(
    ("section", "line"),
    [
        ("algorithm", 'ngram_size = "3"'),
        ("algorithm", "ngram_size = 0"),
        ("algorithm", "bit_diff = true"),
        ("algorithm", "bit_diff = -1"),
        ("algorithm", "f = 64.0"),
        ("algorithm", "jaccard_threshold = 2"),
        ("algorithm", "check_false_positive = 1"),
        ("output", "save_clusters = 'yes'"),
    ],
)
def test_values_of_options_are_checked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], section: str, line: str
) -> None:
    sections = {"algorithm": 'algorithm_name = "simhash"\ntext_column = "text"', "output": 'output_dir = "out"'}
    sections[section] += f"\n{line}"
    path = tmp_path / "config.toml"
    path.write_text("".join(f"[{name}]\n{lines}\n" for name, lines in sections.items()))
    assert main(["--config", str(path)]) == 2
    assert f"[{section}] {line.split()[0]} is " in capsys.readouterr().err


def test_what_has_no_effect_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "config.toml"
    lines = (
        '[algorithm]\nalgorithm_name = "simhash"\ntext_column = "text"\nnum_proc = 8\n[output]\noutput_dir = "out"\n'
    )
    path.write_text(lines + "clean_cache = true\n[input]\ninput_type = 'nothing'\n")
    assert main(["--config", str(path)]) == 2
    said = capsys.readouterr().err
    assert "[algorithm] without effect: num_proc\n" in said
    assert "[output] without effect: clean_cache\n" in said
    for wrong in (
        "algorithm = 5\n",
        "[algorithm]\nalgorithm_name = ['simhash']\n",
        "[algorithm]\nalgorithm_name = 3\n",
    ):
        path.write_text(wrong)
        assert main(["--config", str(path)]) == 2
