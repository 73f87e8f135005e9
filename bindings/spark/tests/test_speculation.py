"""Second attempts at slow tasks, which Spark makes on clusters only: a cluster of two workers on this machine."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pyspark
import pytest
from pyspark.sql import SparkSession

import simidx_spark as on_spark

from .conftest import frame, near_values

VALUES = near_values(64, 3000, 13)

#: Seconds that a cluster and its jobs may take.
PATIENCE = 300.0

#: A second attempt runs on another host only, so that each worker has an address of its own.
WORKERS = ["127.0.0.2", "127.0.0.3"]


def said(log: Path, pattern: str, process: subprocess.Popen[bytes]) -> str:
    """The output of a process about itself, once there is any."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end and process.poll() is None:
        if found := re.search(pattern, log.read_text()):
            return found[1]
        time.sleep(0.1)
    raise AssertionError(log.read_text()[-2000:])


@pytest.fixture
def master(tmp_path: Path) -> Iterator[str]:
    """The address of a cluster."""
    home = os.environ.get("SPARK_HOME", os.path.dirname(pyspark.__file__))
    environment = {**os.environ, "SPARK_HOME": home, "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    started: list[subprocess.Popen[bytes]] = []

    def start(name: str, *arguments: str) -> tuple[Path, subprocess.Popen[bytes]]:
        log = tmp_path / f"{len(started)}.log"
        command = [os.path.join(home, "bin", "spark-class"), f"org.apache.spark.deploy.{name}", *arguments]
        with open(log, "wb") as out:
            started.append(subprocess.Popen(command, stdout=out, stderr=out, env=environment))
        return log, started[-1]

    common = ["--webui-port", "0"]
    try:
        log, process = start("master.Master", "--host", "127.0.0.1", "--port", "0", *common)
        address = said(log, r"Starting Spark master at (spark://\S+)", process)
        for host in WORKERS:
            work = str(tmp_path / host)
            start(
                "worker.Worker", "--host", host, "--cores", "1", "--memory", "1g", "--work-dir", work, *common, address
            )
        yield address
    finally:
        for process in started:
            process.terminate()
        for process in started:
            process.wait(PATIENCE)


@pytest.mark.slow
def test_second_attempts_leave_no_trace(spark: SparkSession, master: str, tmp_path: Path) -> None:
    df = frame(spark, VALUES, 64, 4)
    pq.write_table(df.toArrow(), tmp_path / "records.parquet")
    on_spark.build(df, tmp_path / "plain", segments=4)
    pairs = sorted(map(list, on_spark.pairs(df, 3).collect()))
    clusters = sorted(map(list, on_spark.clusters(df, 3).collect()))
    on_spark.release()
    assert len(pairs) > 1000

    jobs = [sys.executable, "-m", f"{__package__}.speculative_jobs", master, str(tmp_path)]
    folder = Path(__file__).parents[1]
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    done = subprocess.run(
        jobs, cwd=folder, env=environment, capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    assert done.returncode == 0, done.stderr[-4000:]

    # Nothing has failed, so another attempt runs next to the first.
    second = {mark.name.split("-")[0] for mark in (tmp_path / "marks").iterdir() if mark.name.endswith("-1")}
    assert {"Range", "Build", "Collapse", "Distinct", "Find"} <= second, second
    found = json.loads((tmp_path / "found.json").read_text())
    assert found["pairs"] == pairs
    assert found["clusters"] == clusters
    on_spark.sweep(tmp_path / "set", older_than=0)
    plain, others = ({f.name: f.read_bytes() for f in (tmp_path / name).iterdir()} for name in ("plain", "set"))
    assert others == plain
