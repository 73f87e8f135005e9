"""A local Spark for the benches, and the program to compare it with."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any


def session(folder: Path, cores: int) -> Any:
    """A Spark of this process, whose files are in a folder."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    from pyspark.sql import SparkSession

    settings = {
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": "4g",
        "spark.local.dir": str(folder / "local"),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        # As the guide advises.
        "spark.sql.execution.arrow.maxRecordsPerBatch": "100000",
    }
    builder: Any = SparkSession.builder.master(f"local[{cores}]")
    for key, value in settings.items():
        builder = builder.config(key, value)
    started = builder.getOrCreate()
    started.sparkContext.setLogLevel("ERROR")
    return started


def shuffled(session: Any) -> int:
    """Bytes that tasks have written for shuffles since Spark has started, as Spark counts them."""
    context = session.sparkContext._jsc.sc()
    context.listenerBus().waitUntilEmpty()
    return int(context.statusStore().executorSummary("driver").totalShuffleWrite())


def program(folder: Path, cores: int, *command: object) -> None:
    """Runs the program of the package."""
    given = [os.path.join(sysconfig.get_path("scripts"), "simidx"), *map(str, command)]
    with open(folder / "out", "wb") as out:
        subprocess.run([*given, "--quiet", "--threads", str(cores)], stdout=out, check=True)


def processor_seconds() -> float:
    """Seconds of processor time of this process and of all that it has started and that still run, or were waited for."""
    parents: dict[int, int] = {}
    ticks: dict[int, int] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        # The numbers of proc(5), from the third one on.
        parents[int(folder.name)] = int(fields[1])
        ticks[int(folder.name)] = sum(map(int, fields[11:15]))
    ours = {os.getpid()}
    while more := {process for process, parent in parents.items() if parent in ours} - ours:
        ours |= more
    return sum(ticks[process] for process in ours) / os.sysconf("SC_CLK_TCK")


def timed(work: Callable[[], Any]) -> tuple[float, float]:
    """Seconds that it takes, and of processor time."""
    start, before = time.perf_counter(), processor_seconds()
    work()
    return time.perf_counter() - start, processor_seconds() - before
