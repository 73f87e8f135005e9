"""A local Spark for the benches, and the program beside it."""

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


def timed(work: Callable[[], Any]) -> float:
    """Seconds that it takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start
