"""Shared by tests and the programs that they start: the settings of a Spark on this machine, and wrapped stages."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pyspark import cloudpickle
from pyspark.sql import DataFrame, SparkSession

from simidx_spark import _dedup, _search, _segments, _wiring

PYTHONPATH = os.environ.get("PYTHONPATH", "").split(os.pathsep)

SETTINGS = {
    # Sessions are short: to compile less halves the time that the virtual machine takes.
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.connect.grpc.binding.address": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.memory": "1g",
    # Workers are forked, and have imported everything.
    "spark.executorEnv.PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[1]), *PYTHONPATH]),
    "spark.python.daemon.module": f"{__package__}.daemon",
    # Nobody reads these plans, and their texts take a tenth of the time.
    "spark.sql.ui.explainMode": "simple",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}


def start(master: str, settings: dict[str, str]) -> SparkSession:
    """A session with these settings too; with ``SIMIDX_SPARK_CONNECT`` at a server of this process."""
    is_remote = "SIMIDX_SPARK_CONNECT" in os.environ
    if is_remote:
        # The workers of the server inherit its environment.
        os.environ["PYTHONPATH"] = SETTINGS["spark.executorEnv.PYTHONPATH"]
    builder: Any = SparkSession.builder.remote(master) if is_remote else SparkSession.builder.master(master)
    for key, value in {**SETTINGS, **settings}.items():
        builder = builder.config(key, value)
    session: SparkSession = builder.appName("simidx").getOrCreate()
    if not is_remote:
        session.sparkContext.setLogLevel("FATAL")
    return session


def wrap_stages(name: str, make: Callable[[Any], Any], replace: Callable[[Any, str, Any], None] = setattr) -> None:
    """Lets all jobs run what `make`, from the module of that name, makes of a stage."""
    # Workers cannot import it.
    register: Any = cloudpickle.register_pickle_by_value
    register(sys.modules[name])

    def run(df: DataFrame, stage: Any) -> DataFrame:
        return _wiring.run(df, make(stage))

    for module in (_search, _segments, _dedup):
        replace(module, "run", run)
