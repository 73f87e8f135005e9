"""`dedup` as a program for ``spark-submit``: ``python -m simidx_spark dedup INPUT OUTPUT``."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

import simidx_spark as spark
from simidx import Error, FileError
from simidx_spark._dedup import SIMILARITY
from simidx_spark.array import FEATURES, words

EXAMPLES = """examples:
  python -m simidx_spark dedup 's3a://crawl/*.parquet' s3a://crawl-kept --id-field url
  spark-submit --master yarn run.py dedup docs.jsonl kept --report dropped    (run.py calls simidx_spark.__main__.main)
"""


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m simidx_spark",
        description="Near-duplicates with Apache Spark. Inputs and outputs are folders of Parquet or of JSON lines.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    help = "Keep one of each set of near-duplicate documents."
    dedup = commands.add_parser("dedup", help=help, description=help)
    dedup.add_argument("input", metavar="INPUT", help="Parquet, or JSON lines if the name ends in .jsonl or .json[.gz]")
    dedup.add_argument("output", metavar="OUTPUT", help="folder of the kept records")
    dedup.add_argument(
        "--input-format", choices=["parquet", "json"], help="format of the input, if its name does not say it"
    )
    dedup.add_argument("--id-field", default="id", metavar="NAME", help="column of the ids [default: id]")
    dedup.add_argument("--text-field", metavar="NAME", help="column of the texts [default: text]")
    dedup.add_argument("--fingerprint-field", metavar="NAME", help="column of fingerprints, to compare these instead")
    dedup.add_argument("--similarity", type=float, metavar="J", help="least Jaccard similarity of texts [default: 0.8]")
    dedup.add_argument("--features", metavar="WHAT", help=FEATURES)
    dedup.add_argument("-k", "--max-distance", type=int, metavar="K", help="compare fingerprints, within K bits")
    dedup.add_argument("--pipeline", default="web", help="how texts become features [default: web]")
    dedup.add_argument(
        "--width", type=int, default=64, choices=[32, 64, 128], help="bits of fingerprints [default: 64]"
    )
    dedup.add_argument("--against", nargs="+", metavar="INDEX", help="indexes or sets, whose documents are dropped")
    dedup.add_argument("--keep", choices=["first", "longest"], default="first", help="[default: first]")
    dedup.add_argument("--partitions", type=int, metavar="N", help="tasks of a stage [default: the cores]")
    dedup.add_argument("--report", metavar="DIR", help="folder for a row on each document that is dropped")
    dedup.add_argument("--output-format", choices=["parquet", "json"], help="format of the output, if not the input's")
    dedup.add_argument("--force", action="store_true", help="replace existing outputs")
    return parser


def _format(path: str, given: str | None) -> str:
    name = path.lower().removesuffix(".gz").removesuffix(".zst").removesuffix(".bz2")
    return given or ("json" if name.endswith((".jsonl", ".json", ".ndjson")) else "parquet")


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


def _run(session: SparkSession, args: argparse.Namespace) -> None:
    if args.report and args.report.rstrip("/") == args.output.rstrip("/"):
        raise FileError(f"{args.report} is the folder of the kept records: name another one for the report")
    if not args.force:
        _refuse_existing(session, [path for path in (args.output, args.report) if path])
    format = _format(args.input, args.input_format)
    result = spark.dedup(
        session.read.format(format).load(args.input),
        args.text_field or (None if args.fingerprint_field else "text"),
        args.id_field,
        similarity=SIMILARITY if args.similarity is None and args.features else args.similarity,
        words=words(args.features),
        pipeline=args.pipeline,
        k=args.max_distance,
        width=args.width,
        fingerprint_column=args.fingerprint_field,
        against=args.against,
        keep=args.keep,
        partitions=args.partitions,
    )

    def write(df: DataFrame, path: str) -> None:
        writer = df.write.format(args.output_format or format)
        writer.mode("overwrite" if args.force else "errorifexists").save(path)

    write(result.kept, args.output)
    if args.report:
        write(result.report, args.report)
    print(f"dropped {result.report.count()} documents", file=sys.stderr)


def _reason(trace: str) -> str:
    """Describes the cause of a Spark exception in one line: the error of the task, if there is one."""
    lines = [line.strip() for line in trace.splitlines() if line.strip()]
    of_tasks = [line for line in lines if re.match(r"(simidx\.[\w.]*|[A-Z]\w*)(Error|Exception): ", line)]
    found = of_tasks[-1].partition(": ")[2] if of_tasks else next(iter(lines), "Spark failed")
    return found or "Spark failed"


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the job and returns its exit code: 0 when it is done, 2 if it could not run."""
    args = _parser().parse_args(arguments)
    try:
        builder: Any = SparkSession.builder
        _run(builder.appName("simidx dedup").getOrCreate(), args)
    except Error as error:
        print(f"simidx: {error}", file=sys.stderr)
        return 2
    except (PySparkException, Py4JJavaError) as error:
        print(f"simidx: {_reason(str(error))}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
