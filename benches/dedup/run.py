#!/usr/bin/env python3
"""Compares tools that drop near-duplicate documents: their answers, processor time and memory.

`benches/README.md` says how to use it.
"""

import argparse
import gzip
import json
import os
import platform
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import venv
from datetime import date
from pathlib import Path
from typing import NamedTuple, Optional

from features import triples
from join import similar_pairs
from score import Truth, score

HERE = Path(__file__).resolve().parent
SIMILARITY = 0.8


class Contender(NamedTuple):
    """A tool with its options. `keeps` is what it intends: the first documents, or one of each connected component."""

    name: str
    adapter: str
    environment: Optional[str]
    keeps: str
    options: object
    large: bool = False


CONTENDERS = [
    Contender("simidx", "use_simidx", None, "first", [], large=True),
    Contender("simidx -k 3", "use_simidx", None, "components", ["-k", "3"]),
    Contender("text-dedup minhash", "use_text_dedup", "text-dedup", "components", ["minhash"]),
    Contender(
        "text-dedup minhash, 3 words, 0.8",
        "use_text_dedup",
        "text-dedup",
        "components",
        ["minhash", "--ngram", "3", "--threshold", "0.8", "--min_length", "1"],
    ),
    Contender("text-dedup simhash", "use_text_dedup", "text-dedup", "components", ["simhash"]),
    Contender("datatrove minhash", "use_datatrove", "datatrove", "components", {"n_grams": 5}),
    Contender("datatrove minhash, 3 words", "use_datatrove", "datatrove", "components", {"n_grams": 3}),
    Contender("datasketch", "use_datasketch", "datasketch", "first", {"check": False}, large=True),
    Contender("datasketch, checked", "use_datasketch", "datasketch", "first", {"check": True}, large=True),
    Contender("rensa, README", "use_rensa", "rensa", "first", {"triples": False, "check": False}, large=True),
    Contender("rensa", "use_rensa", "rensa", "first", {"triples": True, "check": False}, large=True),
    Contender("rensa, checked", "use_rensa", "rensa", "first", {"triples": True, "check": True}, large=True),
    Contender("gaoya, notebook", "use_gaoya", "gaoya", "first", {"notebook": True}),
    Contender("gaoya", "use_gaoya", "gaoya", "first", {"notebook": False}, large=True),
    Contender("FastSketchLSH, README", "use_fastsketchlsh", "fastsketchlsh", "first", {"triples": False}),
    Contender("FastSketchLSH", "use_fastsketchlsh", "fastsketchlsh", "first", {"triples": True}, large=True),
    Contender("simhash", "use_simhash", "simhash", "first", {}),
]

ONE_THREAD = {
    name: "1"
    for name in (
        "OMP_NUM_THREADS",
        "OPENBLAS_NUM_THREADS",
        "MKL_NUM_THREADS",
        "RAYON_NUM_THREADS",
        "POLARS_MAX_THREADS",
        "ARROW_NUM_THREADS",
    )
}

# Starts a program, so that the memory of this process does not count for it: a child begins with that of its parent.
STARTER = """
import json, os, resource, subprocess, sys
with open(sys.argv[2], "wb") as words:
    code = subprocess.call(sys.argv[3:], stdin=subprocess.DEVNULL, stdout=words, stderr=words)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
with open(sys.argv[1], "w") as file:
    json.dump({"code": code, "cpu": used.ru_utime + used.ru_stime, "memory": used.ru_maxrss * 1024}, file)
"""


def measure(command, environment, folder, seconds):
    """Runs a command in a group of processes of its own, and ends that group if it takes too long.

    Returns `cpu`, the seconds of processor time of the command and its children; `memory`, the largest resident size in
    bytes of any one of them; `error`, which is None if it succeeded; and, if it ended, `last_words`.
    """
    figures, words = folder / "figures.json", folder / "words.txt"
    starter = subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", STARTER, figures, words, *command],
        env={**os.environ, **environment},
        start_new_session=True,
    )
    try:
        starter.wait(seconds)
    except subprocess.TimeoutExpired:
        os.killpg(starter.pid, 9)
        starter.wait()
        return {"cpu": None, "memory": None, "error": f"longer than {seconds} s"}
    except BaseException:
        os.killpg(starter.pid, 9)
        raise
    if not figures.exists():
        return {"cpu": None, "memory": None, "error": "the command could not be started"}
    found = json.loads(figures.read_text())
    last, error = words.read_text(errors="replace").strip().splitlines()[-20:], None
    if found["code"] != 0:
        error = f"exit code {found['code']}: {(last or ['no word'])[-1][:300]}"
    return {"cpu": found["cpu"], "memory": found["memory"], "error": error, "last_words": last}


def read_answer(path, place):
    """The places of the documents that an adapter drops; an answer that is not a list of known ids is an error."""
    try:
        ids = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ValueError("no answer") from None
    if not isinstance(ids, list) or any(id not in place for id in ids):
        raise ValueError("an answer that is no list of ids of documents")
    if len(set(ids)) != len(ids):
        raise ValueError("an id twice in the answer")
    return {place[id] for id in ids}


def read_requirements(path):
    """The requirements of each environment: the lines after `# [NAME]`."""
    environments, lines = {}, None
    for line in path.read_text().splitlines():
        heading = re.fullmatch(r"# \[(.+)\]", line)
        if heading:
            lines = environments.setdefault(heading[1], [])
        elif line and not line.startswith("#"):
            lines.append(line)
    return environments


def install(name, lines, cache):
    """Makes a virtual environment with these requirements, unless it is there.

    Returns its Python and None, or None and an error.
    """
    folder = cache / "venv" / re.sub(r"[^\w.-]+", "-", " ".join([name, platform.python_version(), *lines]))
    python = folder / "bin" / "python"
    ready = folder / "ready"
    if not ready.exists():
        print(f"installing {name}", file=sys.stderr, flush=True)
        shutil.rmtree(folder, ignore_errors=True)
        venv.create(folder, with_pip=True)
        done = subprocess.run(
            [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *lines],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        if done.returncode != 0:
            return None, f"could not be installed: {(done.stdout.strip().splitlines() or ['no word'])[-1][:300]}"
        ready.write_text("")
    return python, None


def pairs_of(source):
    """The file of the similar pairs of a collection."""
    return source.with_name(source.name.removesuffix(".jsonl.gz") + ".j80.tsv.gz")


class Collection:
    """Documents in a file of JSON lines, with their truth."""

    def __init__(self, name, source, cache, joins):
        self.name = name
        self.path = cache / "data" / f"{name}.jsonl"
        self.path.parent.mkdir(parents=True, exist_ok=True)
        ids, texts = [], []
        with gzip.open(source, "rt", encoding="utf-8") as packed, open(self.path, "w", encoding="utf-8") as file:
            for line in packed:
                record = json.loads(line)
                ids.append(record["id"])
                texts.append(record["text"])
                # Nothing else, so that no tool reads more than another.
                file.write(json.dumps({"id": record["id"], "text": record["text"]}, ensure_ascii=False) + "\n")
        self.set_ids(ids)
        if joins:
            pairs = [(i, j) for i, j, _ in similar_pairs([triples(text) for text in texts], SIMILARITY)]
        else:
            with gzip.open(pairs_of(source), "rt", encoding="utf-8") as file:
                next(file)
                pairs = [[self.place[id] for id in line.rstrip("\n").split("\t")[:2]] for line in file]
        self.pairs = len(pairs)
        self.truth = Truth(len(ids), pairs)
        # Chinese has its own rules for words in tools that ask for the language.
        with open(self.path, encoding="utf-8") as file:
            sample = file.read(1 << 20)
        self.language = "zh" if len(re.findall(r"[\u3400-\u9fff]", sample)) > len(sample) / 20 else "en"

    def set_ids(self, ids):
        self.place = {id: place for place, id in enumerate(ids)}
        if len(self.place) != len(ids):
            raise ValueError(f"{self.name}: an id twice")

    @classmethod
    def of_lines(cls, source, count, cache):
        """The first lines of a file, a document each; the truth is the exact join of their sets."""
        self = cls.__new__(cls)
        self.name, self.language = f"{source.stem}-{count}", "en"
        self.path = cache / "data" / f"{self.name}.jsonl"
        self.path.parent.mkdir(parents=True, exist_ok=True)
        sets = []
        with open(source, encoding="utf-8") as lines, open(self.path, "w", encoding="utf-8") as file:
            for number, line in zip(range(count), lines):
                text = line.rstrip("\n")
                sets.append(triples(text))
                file.write(json.dumps({"id": str(number), "text": text}, ensure_ascii=False) + "\n")
        self.set_ids([str(number) for number in range(len(sets))])
        pairs = [(i, j) for i, j, _ in similar_pairs(sets, SIMILARITY)]
        self.pairs = len(pairs)
        self.truth = Truth(len(sets), pairs)
        return self


def run_contender(contender, python, collection, arguments):
    """The score of a contender on a collection, the median processor time of its runs and its largest memory."""
    options = contender.options
    if contender.adapter == "use_simidx":
        options = [str(arguments.simidx), *options]
    if contender.adapter == "use_datatrove":
        options = {**options, "language": collection.language}
    runs = []
    for _ in range(arguments.runs):
        with tempfile.TemporaryDirectory(dir=arguments.cache) as folder:
            folder = Path(folder)
            scratch, answer = folder / "scratch", folder / "answer.json"
            scratch.mkdir()
            command = [str(python), str(HERE / "adapters" / f"{contender.adapter}.py")]
            command += [str(collection.path), str(answer), str(scratch), json.dumps(options)]
            if shutil.which("taskset"):
                command = ["taskset", "-c", str(arguments.cpu), *command]
            environment = {**ONE_THREAD, "PYTHONPATH": str(HERE), "PYTHONDONTWRITEBYTECODE": "1", "TMPDIR": str(folder)}
            found = measure(command, environment, folder, arguments.seconds)
            if not found["error"]:
                try:
                    found["dropped"] = read_answer(answer, collection.place)
                except ValueError as error:
                    found["error"] = str(error)
        if found["error"]:
            return {"error": found["error"], "last_words": found.get("last_words")}
        runs.append(found)
    return {
        "error": None,
        "cpu": statistics.median(found["cpu"] for found in runs),
        "cpu_runs": [round(found["cpu"], 2) for found in runs],
        "memory": max(found["memory"] for found in runs),
        "same_answers": all(found["dropped"] == runs[0]["dropped"] for found in runs),
        **score(collection.truth, runs[0]["dropped"]),
    }


def table(collection, results):
    """A Markdown table of the results on a collection, those that failed last."""
    first, excess = len(collection.truth.first_kept()), sum(collection.truth.excess().values())
    lines = [
        f"### {collection.name}",
        "",
        f"{len(collection.place)} documents, {collection.pairs} similar pairs. To drop: {first} if the first documents "
        f"are kept, {excess} if one of each component is.",
        "",
        "| tool | keeps | precision | recall | F1 | F1, other truth | dropped | lost | CPU s | MB |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for contender, found in sorted(results, key=lambda item: bool(item[1]["error"])):
        if found["error"]:
            lines.append(f"| {contender.name} | {contender.keeps} | {found['error'].replace('|', '/')} | | | | | | | |")
            continue
        other = "components" if contender.keeps == "first" else "first"
        own = found[contender.keeps]
        lines.append(
            f"| {contender.name} | {contender.keeps} | {own['precision']:.3f} | {own['recall']:.3f} | {own['f1']:.3f} "
            f"| {found[other]['f1']:.3f} | {found['dropped']} | {found['lost']} | {found['cpu']:.2f} "
            f"| {found['memory'] / 1e6:.0f} |"
        )
    return "\n".join(lines) + "\n"


def write_results(arguments, report, markdown):
    """Writes the tables and all figures, and returns the line that says under which conditions they arose."""
    loads = [entry["load"] for entry in report]
    about = f"{date.today()}, Python {platform.python_version()}, {arguments.runs} runs"
    if loads:
        about += f", load of the machine {min(loads):.0f} to {max(loads):.0f}"
    arguments.output.with_suffix(".md").write_text(about + "\n\n" + "\n".join(markdown), encoding="utf-8")
    arguments.output.with_suffix(".json").write_text(json.dumps({"about": about, "results": report}, indent=1) + "\n")
    return about


def read_arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    add = parser.add_argument
    add("cache", type=Path, help="folder for environments and copies of the data, outside of the repository")
    add("--simidx", type=Path, required=True, help="the program, built for release")
    add("--corpora", type=Path, action="append", default=[], help="folder of more NAME.jsonl.gz with NAME.j80.tsv.gz")
    add("--join", action="store_true", help="find the similar pairs by an exact join in place of NAME.j80.tsv.gz")
    add("--no-data", action="store_true", help="leave out the collections of the repository")
    add("--lines", type=Path, help="a file with a document on each line, for the contenders that are fit for many")
    add("--count", type=int, default=100_000, help="how many of these lines [100000]")
    add("--only", default="", help="regular expression: only contenders whose names match")
    add("--runs", type=int, default=3, help="runs of each contender, whose median counts [3]")
    add("--cpu", type=int, default=0, help="number of the processor that everything runs on [0]")
    add("--seconds", type=float, default=600, help="longest time of a run [600]")
    add("--output", type=Path, help="name of the results without extension [CACHE/results]")
    arguments = parser.parse_args()
    arguments.cache, arguments.simidx = arguments.cache.resolve(), arguments.simidx.resolve()
    if HERE.parent.parent in [arguments.cache, *arguments.cache.parents]:
        parser.error("the cache is to be outside of the repository")
    if not os.access(arguments.simidx, os.X_OK):
        parser.error(f"no program: {arguments.simidx}")
    arguments.output = arguments.output or arguments.cache / "results"
    return arguments


def main():
    arguments = read_arguments()
    arguments.cache.mkdir(parents=True, exist_ok=True)
    contenders = [contender for contender in CONTENDERS if re.search(arguments.only, contender.name)]
    if arguments.lines:
        contenders = [contender for contender in contenders if contender.large]
    collections = []
    if arguments.lines:
        collections.append(Collection.of_lines(arguments.lines, arguments.count, arguments.cache))
    else:
        folders = ([] if arguments.no_data else [HERE.parent.parent / "data"]) + arguments.corpora
        for folder in folders:
            for source in sorted(folder.glob("*.jsonl.gz")):
                if arguments.join or pairs_of(source).exists():
                    name = source.name.removesuffix(".jsonl.gz")
                    collections.append(Collection(name, source, arguments.cache, arguments.join))

    if not collections or not contenders:
        sys.exit("no collection, or no contender, is selected")
    environments = read_requirements(HERE / "requirements.txt")
    pythons = {None: (sys.executable, None)}
    for name in dict.fromkeys(contender.environment for contender in contenders if contender.environment):
        pythons[name] = install(name, environments[name], arguments.cache)

    report, markdown, failed = [], [], False
    for collection in collections:
        results = []
        for contender in contenders:
            python, error = pythons[contender.environment]
            load = os.getloadavg()[0]
            found = {"error": error} if error else run_contender(contender, python, collection, arguments)
            failed |= bool(found["error"])
            results.append((contender, found))
            print(collection.name, contender.name, found, file=sys.stderr, flush=True)
            report.append({"collection": collection.name, **contender._asdict(), "load": load, **found})
        markdown.append(table(collection, results))
        # Existing files stay if a later collection is interrupted.
        write_results(arguments, report, markdown)
    about = write_results(arguments, report, markdown)
    print(about + "\n\n" + "\n".join(markdown))
    # A tool that fails is in the table, and the run fails.
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
