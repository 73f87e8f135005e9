"""The steps for datatrove, with its own executor, reader and filter."""

from __future__ import annotations

import gzip
import importlib
import json
import os
import re
import shutil
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import simidx

pytest.importorskip("datatrove", reason="datatrove is not installed: bindings/python/check --drop-ins")
executor: Any = importlib.import_module("datatrove.executor.local")
minhash: Any = importlib.import_module("datatrove.pipeline.dedup.minhash")
readers: Any = importlib.import_module("datatrove.pipeline.readers")
writers: Any = importlib.import_module("datatrove.pipeline.writers.jsonl")

BOOK = Path(os.environ.get("SIMIDX_BOOK", Path(__file__).parents[3] / "book"))
GUIDE = BOOK / "src" / "guides" / "python-tools.md"
STEPS = BOOK.parent / "examples" / "datatrove_steps.py"
if not STEPS.exists():
    pytest.skip("the examples are not here", allow_module_level=True)
sys.path.insert(0, str(STEPS.parent))
steps: Any = importlib.import_module(STEPS.stem)


def run(folder: Path, name: str, pipeline: list[Any], tasks: int = 1) -> None:
    """Runs steps in this process."""
    executor.LocalPipelineExecutor(
        pipeline=pipeline, tasks=tasks, workers=1, logging_dir=str(folder / "logs" / name), skip_completed=False
    ).run()


def shards(folder: Path, count: int) -> list[list[str]]:
    """Files of texts, of which some are near to others and some say nothing."""
    rng = np.random.default_rng(5)
    words = [f"word{number}" for number in range(300)]
    bases = [rng.choice(words, 80).tolist() for _ in range(40)]
    texts: list[list[str]] = []
    for shard in range(count):
        of_shard: list[str] = []
        for number in rng.permutation(40)[:25].tolist():
            text = list(bases[number])
            text[int(rng.integers(80))] = f"other{shard}"
            of_shard.append(" ".join(text))
        texts.append([*of_shard, "?!", "…", *rng.choice(words, (3, 50)).tolist()[0][:1]])
    (folder / "in").mkdir()
    for shard, of_shard in enumerate(texts):
        lines = [json.dumps({"text": text, "id": f"{shard}/{row}"}) for row, text in enumerate(of_shard)]
        (folder / "in" / f"{shard}.jsonl").write_text("\n".join(lines))
    return texts


def numbers(path: Path, columns: int = 1) -> list[tuple[int, ...]]:
    """The little-endian numbers of a file."""
    return list(struct.iter_unpack(f"<{columns}I", path.read_bytes())) if path.exists() else []


def heads(texts: list[list[str]], k: int) -> dict[int, int]:
    """The first document of the cluster of each one that says something, by hand."""
    pipeline = simidx.Pipeline("web")
    flat = [text for of_task in texts for text in of_task]
    near = np.flatnonzero(pipeline.has_features(flat)).tolist()
    labels = simidx.clusters(pipeline.fingerprints([flat[row] for row in near]), k)
    return {row: near[label] for row, label in zip(near, labels.tolist(), strict=True)}


def test_the_filter_of_datatrove_removes_what_is_near(tmp_path: Path) -> None:
    texts = shards(tmp_path, 3)
    reader = readers.JsonlReader(str(tmp_path / "in"))
    run(tmp_path, "sign", [reader, steps.SimidxSignature(str(tmp_path / "sig"), "web", k=6)], tasks=3)
    cluster = steps.SimidxCluster(
        str(tmp_path / "sig"), str(tmp_path / "remove"), 6, save_cluster_id=True, save_cluster_size=True
    )
    run(tmp_path, "cluster", [cluster])
    keep = minhash.MinhashDedupFilter(str(tmp_path / "remove"), load_cluster_ids=True, load_cluster_sizes=True)
    writer = writers.JsonlWriter(str(tmp_path / "out"), output_filename="${rank}.jsonl", compression=None)
    run(tmp_path, "filter", [reader, keep, writer], tasks=3)

    rows = [(task, row) for task, of_task in enumerate(texts) for row in range(len(of_task))]
    head = heads(texts, 6)
    kept = [place for row, place in enumerate(rows) if head.get(row, row) == row]
    assert len(kept) < len(rows) - 20

    written: list[dict[str, Any]] = []
    for path in sorted((tmp_path / "out").glob("*.jsonl")):
        written += [json.loads(line) for line in path.read_text().splitlines()]
    assert [document["id"] for document in written] == [f"{task}/{row}" for task, row in kept]
    sizes = {row: sum(other == first for other in head.values()) for row, first in head.items()}
    by_place = {place: row for row, place in enumerate(rows)}
    # The filter reads them for tasks of which it removes something.
    told = [(d["metadata"], by_place[place]) for d, place in zip(written, kept, strict=True) if place[0] > 0]
    assert len(told) > 5
    assert [facts["minhash_cluster_size"] for facts, _ in told] == [sizes.get(row, 1) for _, row in told]
    ids = [facts["minhash_cluster_id"] for facts, _ in told if facts["minhash_cluster_id"] >= 0]
    assert ids == sorted(set(ids))
    assert ids
    assert sum(len(numbers(path)) for path in (tmp_path / "remove").glob("*.remove")) == len(rows) - len(kept)


def test_the_program_of_the_guide(tmp_path: Path) -> None:
    texts = shards(tmp_path, 3)
    [program] = re.findall(r"^```python\n((?:(?!^```).)*SimidxSignature.*?)^```", GUIDE.read_text("utf-8"), re.M | re.S)
    (tmp_path / "program.py").write_text(program)
    shutil.copy(STEPS, tmp_path)
    done = subprocess.run(
        [sys.executable, "program.py"], cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    rows = [f"{task}/{row}" for task, of_task in enumerate(texts) for row in range(len(of_task))]
    head = heads(texts, 3)
    written: list[str] = []
    for path in sorted((tmp_path / "out").glob("*.jsonl.gz")):
        written += [json.loads(line)["id"] for line in gzip.decompress(path.read_bytes()).splitlines()]
    assert written == [id for row, id in enumerate(rows) if head.get(row, row) == row]
    assert len(written) < len(rows)


def test_what_an_index_has_is_removed(tmp_path: Path) -> None:
    texts = shards(tmp_path, 2)
    reader = readers.JsonlReader(str(tmp_path / "in"))
    run(tmp_path, "sign", [reader, steps.SimidxSignature(str(tmp_path / "sig"), k=6)], tasks=2)
    first = tmp_path / "sig" / "000000.simidx"
    assert simidx.open(first).record_count == 26
    run(tmp_path, "cluster", [steps.SimidxCluster(str(tmp_path / "sig"), str(tmp_path / "remove"), 6, against=first)])
    assert len(numbers(tmp_path / "remove" / "000000.remove")) == 26
    removed = numbers(tmp_path / "remove" / "000001.remove")
    assert 0 < len(removed) < len(texts[1])


def test_steps_that_lack_something_say_so(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    step = steps.SimidxCluster(str(tmp_path / "empty"), str(tmp_path / "remove"))
    with pytest.raises(FileNotFoundError, match="run SimidxSignature first"):
        step.run()
    with pytest.raises(ValueError, match="in one task"):
        step.run(world_size=2)


def test_tasks_may_be_empty(tmp_path: Path) -> None:
    steps.SimidxSignature(str(tmp_path / "sig")).run([], rank=4)
    steps.SimidxCluster(str(tmp_path / "sig"), str(tmp_path / "remove")).run()
    assert not list((tmp_path / "remove").glob("*"))
