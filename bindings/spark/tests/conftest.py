"""One Spark for all tests: two cores, on this machine only. Without PySpark 3.5 or Java the tests are skipped."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pyspark = pytest.importorskip("pyspark", minversion="3.5", reason="PySpark 3.5 or newer is not here")

from pyspark.sql import DataFrame, SparkSession  # noqa: E402
from pyspark.sql import types as T  # noqa: E402, N812

from .sessions import start  # noqa: E402

Program = Callable[..., str]

#: Tests of stages, which need no Spark.
WITHOUT_JAVA = ["test_array.py", "test_order.py", "test_similar.py"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    no_java = shutil.which("java") is None and "JAVA_HOME" not in os.environ
    for item in items:
        if Path(__file__).parent in Path(item.fspath).parents:
            item.add_marker(pytest.mark.spark)
            if no_java and Path(item.fspath).name not in WITHOUT_JAVA:
                item.add_marker(pytest.mark.skip(reason="Java 17 or newer is not here"))


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    session = start("local[2, 4]", {"spark.sql.shuffle.partitions": "3"})
    yield session
    session.stop()


@pytest.fixture
def program(tmp_path: Path) -> Program:
    """Runs the program of the package, and returns what it prints."""

    def run(*args: object) -> str:
        command = [sys.executable, "-m", "simidx", *map(str, args)]
        done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


def signed(value: int, width: int) -> Any:
    """A fingerprint as Spark has it."""
    if width == 128:
        return bytearray(value.to_bytes(16, "big"))
    return value - (1 << width) if value >> (width - 1) else value


def unsigned(value: Any, width: int) -> int:
    """The fingerprint that Spark has."""
    return int.from_bytes(value, "big") if width == 128 else int(value) % (1 << width)


def hexadecimal(value: Any, width: int = 64) -> str:
    return f"{unsigned(value, width):0{width // 4}x}"


def kind(width: int) -> T.DataType:
    return {32: T.IntegerType(), 64: T.LongType(), 128: T.BinaryType()}[width]


def near_values(width: int, count: int, seed: int) -> list[int]:
    """Fingerprints with near and equal ones among them, and a crowd that agrees on most bits."""
    rng = np.random.default_rng(seed)
    crowd = int.from_bytes(rng.bytes(width // 8), "little") | 1 << (width - 1)
    values: list[int] = []
    while len(values) < count:
        base = int.from_bytes(rng.bytes(width // 8), "little")
        if rng.random() < 0.3:
            base = crowd ^ int(rng.integers(0, 1 << 12))
        values.append(base)
        for _ in range(int(rng.integers(0, 3))):
            flipped = base
            for bit in rng.choice(width, int(rng.integers(0, 5)), replace=False):
                flipped ^= 1 << int(bit)
            values.append(flipped)
    return values[:count]


def frame(spark: SparkSession, values: list[int], width: int, partitions: int, ids: str = "string") -> DataFrame:
    """Records ``id``, ``fingerprint`` of these values."""
    schema = T.StructType(
        [
            T.StructField("id", T.StringType() if ids == "string" else T.LongType()),
            T.StructField("fingerprint", kind(width)),
        ]
    )
    rows = [(f"d{i:05}" if ids == "string" else i, signed(value, width)) for i, value in enumerate(values)]
    return spark.createDataFrame(rows, schema).repartition(partitions)


def tsv(path: Path, values: list[int], width: int) -> Path:
    """The same records for the program."""
    lines = [f"{value:0{width // 4}x}\td{i:05}\n" for i, value in enumerate(values)]
    path.write_text("".join(lines))
    return path
