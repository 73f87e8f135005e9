"""The jobs of `simidx_spark` as a program for ``spark-submit``: ``python -m simidx_spark dedup INPUT OUTPUT``."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

import simidx
import simidx_spark as spark
from simidx import Error, FileError, InputError
from simidx_spark._dedup import SIMILARITY
from simidx_spark.array import FEATURES, words
from simidx_spark.distributed._segments import fetched

EXAMPLES = """examples:
  python -m simidx_spark dedup 's3a://crawl/*.parquet' s3a://crawl-kept --id-field url
  spark-submit --master yarn run.py dedup docs.jsonl kept --report dropped    (run.py calls simidx_spark.__main__.main)
  python -m simidx_spark build fingerprints.parquet crawl.set -k 3
  python -m simidx_spark pairs fingerprints.parquet near -k 3
"""


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m simidx_spark",
        description="Near-duplicates with Apache Spark. Inputs and outputs are folders of Parquet or of JSON lines.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    def command(name: str, help: str, output: str) -> argparse.ArgumentParser:
        made = commands.add_parser(name, help=help, description=help)
        made.add_argument(
            "input", metavar="INPUT", help="Parquet, or JSON lines if the name ends in .jsonl or .json[.gz]"
        )
        made.add_argument("output", metavar="OUTPUT", help=output)
        made.add_argument(
            "--input-format",
            choices=["parquet", "json"],
            help="format of the input, if its name does not say it, as that of a folder",
        )
        made.add_argument("--id-field", default="id", metavar="NAME", help="column of the ids [default: id]")
        made.add_argument("--force", action="store_true", help="replace an existing output")
        made.add_argument("--partitions", type=int, metavar="N", help="tasks of a stage [default: the cores]")
        return made

    def fields(made: argparse.ArgumentParser, distance: int | None) -> None:
        made.add_argument("-k", "--max-distance", type=int, default=distance, metavar="K", help="distance in bits")
        made.add_argument("--text-field", metavar="NAME", help="column of the texts, to be fingerprinted")
        made.add_argument(
            "--fingerprint-field", metavar="NAME", help="column of the fingerprints [default: fingerprint]"
        )
        made.add_argument("--pipeline", default="web", help="how texts become fingerprints [default: web]")

    dedup = command("dedup", "Keep one of each set of near-duplicate documents.", "folder of the kept records")
    fields(dedup, None)
    dedup.add_argument("--similarity", type=float, metavar="J", help="least Jaccard similarity of texts [default: 0.8]")
    dedup.add_argument("--chains", action="store_true", help="drop what chains of similar documents lead to")
    dedup.add_argument(
        "--width", type=int, default=64, choices=[32, 64, 128], help="bits of fingerprints [default: 64]"
    )
    dedup.add_argument("--against", nargs="+", metavar="INDEX", help="indexes or sets, whose documents are dropped")
    dedup.add_argument("--keep", choices=["first", "longest"], default="first", help="[default: first]")
    dedup.add_argument("--features", metavar="WHAT", help=FEATURES)
    dedup.add_argument("--memory", metavar="SIZE", help="limit of each task, such as 1GiB")
    dedup.add_argument("--report", metavar="DIR", help="folder for a row on each document that is dropped")
    dedup.add_argument("--output-format", choices=["parquet", "json"], help="format of the output, if not the input's")

    fingerprint = command("fingerprint", "Add the fingerprints of texts.", "folder of the records with fingerprints")
    fingerprint.add_argument("--text-field", default="text", metavar="NAME", help="column of the texts [default: text]")
    fingerprint.add_argument("--pipeline", default="web", help="how texts become fingerprints [default: web]")
    fingerprint.add_argument("--width", type=int, default=64, choices=[32, 64, 128], help="bits [default: 64]")

    build = command("build", "Write a set of segments.", "folder of the set")
    fields(build, 3)
    build.add_argument("--segments", type=int, metavar="N", help="number of segments [default: by the records]")
    build.add_argument("--merged", metavar="FILE", help="also merge them into one file on the driver")

    pairs = command("pairs", "Find all pairs of near fingerprints.", "folder of the pairs")
    fields(pairs, 3)
    clusters = command("clusters", "Group records into clusters of near-duplicates.", "folder of the clusters")
    fields(clusters, 3)
    join = command("join", "Find the matches of queries in a set.", "folder of the matches")
    fields(join, None)
    join.add_argument("set", metavar="SET", help="folder of the set")

    sweep = commands.add_parser("sweep", help="Remove what failed tasks left in the folder of a set.")
    sweep.add_argument("set", metavar="SET", help="folder of the set")
    sweep.add_argument("--older-than", type=float, default=24.0, metavar="HOURS", help="[default: 24]")
    return parser


def _format(path: str, given: str | None) -> str:
    name = path.lower().removesuffix(".gz").removesuffix(".zst").removesuffix(".bz2")
    return given or ("json" if name.endswith((".jsonl", ".json", ".ndjson")) else "parquet")


def _read(session: SparkSession, args: argparse.Namespace) -> DataFrame:
    return session.read.format(_format(args.input, args.input_format)).load(args.input)


def _write(df: DataFrame, path: str, format: str, force: bool) -> None:
    df.write.format(format).mode("overwrite" if force else "errorifexists").save(path)


def _with_fingerprints(df: DataFrame, args: argparse.Namespace) -> tuple[DataFrame, str]:
    if args.text_field is None:
        return df, args.fingerprint_field or "fingerprint"
    return spark.fingerprint(df, args.text_field, pipeline=args.pipeline), "fingerprint"


def _refuse_existing(session: Any, paths: list[str]) -> None:
    """Refuses existing outputs before the work, not after it."""
    try:
        jvm, settings = session._jvm, session._jsc.hadoopConfiguration()
    except Exception:  # Spark Connect has neither; the writer reports it.
        return
    for path in paths:
        there = jvm.org.apache.hadoop.fs.Path(path)
        if there.getFileSystem(settings).exists(there):
            raise FileError(f"{path} is there already; --force replaces it")


def _refuse_other_pipeline(path: str, pipeline: str) -> None:
    """Refuses a pipeline that differs from that of the records in the set."""
    with simidx.open(fetched([path])) as index:
        if index.pipeline not in (None, simidx.Pipeline(pipeline).description):
            raise InputError(
                f"{path} was built with another pipeline, which `simidx info` shows: say so with --pipeline"
            )


def _run(session: SparkSession, args: argparse.Namespace) -> None:
    if not args.force and args.command != "build":
        _refuse_existing(session, [path for path in (args.output, getattr(args, "report", None)) if path])
    df = _read(session, args)
    format = _format(args.input, args.input_format)
    common = {"partitions": args.partitions}
    if args.command == "dedup":
        text = args.text_field or (None if args.fingerprint_field else "text")
        kept, report = spark.dedup(
            df,
            text,
            args.id_field,
            similarity=SIMILARITY if args.similarity is None and args.features else args.similarity,
            words=words(args.features),
            pipeline=args.pipeline,
            k=args.max_distance,
            width=args.width,
            fingerprint_column=args.fingerprint_field,
            against=args.against,
            keep=args.keep,
            chains=args.chains,
            memory=args.memory,
            **common,
        )
        _write(kept, args.output, args.output_format or format, args.force)
        if args.report:
            _write(report, args.report, args.output_format or format, args.force)
        print(f"dropped {report.count()} documents", file=sys.stderr)
        return
    if args.command == "fingerprint":
        found = spark.fingerprint(df, args.text_field, pipeline=args.pipeline, width=args.width)
        _write(found, args.output, format, args.force)
        return
    df, column = _with_fingerprints(df, args)
    if args.command == "build":
        how = {"k": args.max_distance, "segments": args.segments, "merged": args.merged, "overwrite": args.force}
        pipeline = args.pipeline if args.text_field else None
        spark.build(df, args.output, args.id_field, column, pipeline=pipeline, **how, **common)
    elif args.command == "pairs":
        found = spark.pairs(df, args.max_distance, fingerprint_column=column, **common)
        _write(found, args.output, "parquet", args.force)
    elif args.command == "clusters":
        found = spark.clusters(df, args.max_distance, fingerprint_column=column, id_column=args.id_field, **common)
        _write(found, args.output, "parquet", args.force)
    else:
        if args.text_field is not None:
            _refuse_other_pipeline(args.set, args.pipeline)
        found = spark.join(df, args.set, k=args.max_distance, fingerprint_column=column, **common)
        _write(found, args.output, "parquet", args.force)


def _reason(trace: str) -> str:
    """Describes the cause of a Spark exception in one line: the error of the task, if there is one."""
    lines = [line.strip() for line in trace.splitlines() if line.strip()]
    of_tasks = [line for line in lines if re.match(r"(simidx\.[\w.]*|[A-Z]\w*)(Error|Exception): ", line)]
    found = of_tasks[-1].partition(": ")[2] if of_tasks else next(iter(lines), "Spark failed")
    return found or "Spark failed"


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a job and returns its exit code: 0 when it is done, 2 if it could not run."""
    args = _parser().parse_args(arguments)
    try:
        if args.command == "sweep":
            for name in spark.sweep(args.set, args.older_than * 3600):
                print(name)
            return 0
        builder: Any = SparkSession.builder
        session = builder.appName(f"simidx {args.command}").getOrCreate()
        _run(session, args)
    except Error as error:
        print(f"simidx: {error}", file=sys.stderr)
        return 2
    except (PySparkException, Py4JJavaError) as error:
        print(f"simidx: {_reason(str(error))}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
