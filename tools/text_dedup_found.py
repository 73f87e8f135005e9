"""The documents of `data/` that text-dedup's simhash keeps, which `simidx.text_dedup` is tested with.

Needs Python 3.12 and text-dedup 0.4.1 in an environment of its own:

    python3.12 -m venv target/text-dedup
    target/text-dedup/bin/pip install \
        'text-dedup @ git+https://github.com/ChenghaoMou/text-dedup@7538f3ec6a28e72a86de5978e58655175b46a11e' \
        bitarray==3.12.3 datasets==5.2.0 ftfy==6.3.1 numpy==2.5.5 polars==1.44.2 polars-grouper==0.6.1 regex==2026.11.15 xxhash==4.1.0
    target/text-dedup/bin/python tools/text_dedup_found.py bindings/python/tests/text_dedup_found.jsonl

Each line has a file of `data/`, what differs from text-dedup's defaults, the number of kept documents, and a digest of the
clusters. The eight runs take some minutes.
"""

import gzip
import hashlib
import json
import pathlib
import pickle
import sys
import tempfile

import datasets
from text_dedup import simhash
from text_dedup.config.base import load_config_from_toml

DATA = pathlib.Path(__file__).resolve().parent.parent / "data"

SETTINGS = [
    {},
    {"ngram_size": 1, "bit_diff": 7, "num_bucket": 8, "min_length": 0},
    {"ngram_size": 2, "bit_diff": 3, "num_bucket": 6, "check_false_positive": True, "jaccard_threshold": 0.8},
    {"f": 128, "bit_diff": 12, "num_bucket": 13, "check_false_positive": True},
]


def run(source: pathlib.Path, setting: dict[str, object], folder: pathlib.Path) -> tuple[int, str]:
    """Runs text-dedup on a file of JSON lines; the number of kept documents, and the digest of its clusters."""
    sections = {
        "input": {"input_type": "local_files", "file_type": "json"},
        "input.read_arguments": {
            "path": "json",
            "data_files": str(source),
            "split": "train",
            "cache_dir": str(folder / "cache"),
        },
        "algorithm": {"algorithm_name": "simhash", "text_column": "text", **setting},
        "output": {"output_dir": str(folder / "out"), "save_clusters": True},
        "debug": {"enable_profiling": False},
    }
    lines = []
    for name, options in sections.items():
        lines += [f"[{name}]", *(f"{key} = {json.dumps(value)}" for key, value in options.items())]
    config = folder / "config.toml"
    config.write_text("\n".join(lines), encoding="utf-8")
    loaded = load_config_from_toml(config)
    # In this process.
    loaded.algorithm.num_proc = None
    simhash.main(loaded)
    clusters = pickle.loads((folder / "out" / "clusters.pickle").read_bytes())
    digest = hashlib.sha256(json.dumps(sorted(clusters.items())).encode()).hexdigest()[:16]
    return len(datasets.load_from_disk(str(folder / "out"))), digest


def main() -> None:
    """Writes a line for each file and setting. text-dedup has standard output for itself."""
    found = []
    for name in ("en", "zh"):
        with gzip.open(DATA / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
            texts = [json.loads(line)["text"] for line in lines]
        for setting in SETTINGS:
            with tempfile.TemporaryDirectory() as made:
                folder = pathlib.Path(made)
                source = folder / "texts.jsonl"
                records = (json.dumps({"id": row, "text": text}) + "\n" for row, text in enumerate(texts))
                source.write_text("".join(records), encoding="utf-8")
                kept, clusters = run(source, setting, folder)
            found.append({"documents": name, "setting": setting, "kept": kept, "clusters": clusters})
    pathlib.Path(sys.argv[1]).write_text("".join(json.dumps(line) + "\n" for line in found), encoding="utf-8")


if __name__ == "__main__":
    main()
