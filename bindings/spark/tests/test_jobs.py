"""Results free the data that jobs persist, and Spark's interface and the log name the stages."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Any

import pytest
from pyspark.sql import SparkSession

import simidx
import simidx_spark as on_spark
from simidx_spark._jobs import job

from .conftest import frame, near_values

VALUES = near_values(64, 500, 5)


@pytest.fixture
def persisted(spark: SparkSession) -> Callable[[], int]:
    """The number of tables that are persisted."""
    on_spark.release()
    context: Any = spark.sparkContext
    return lambda: int(context._jsc.getPersistentRDDs().size())


def freed(persisted: Callable[[], int], left: int) -> bool:
    """Whether only this number is left soon."""
    end = time.monotonic() + 10
    while persisted() != left and time.monotonic() < end:
        time.sleep(0.05)
    return persisted() == left


def test_what_is_persisted_is_freed_with_the_result(spark: SparkSession, persisted: Callable[[], int]) -> None:
    df = frame(spark, VALUES, 64, 2)
    before = persisted()
    near, clusters = on_spark.pairs(df), on_spark.clusters(df)
    assert near.count() > 0
    assert clusters.count() > 0
    assert persisted() == before + 3
    on_spark.release(near)
    assert persisted() == before + 2
    assert near.count() > 0
    del clusters
    assert freed(persisted, before)
    with pytest.raises(simidx.OptionError):
        on_spark.clusters(df, united="no", k=65)  # type: ignore[arg-type]
    assert persisted() == before


@pytest.mark.parametrize("how", [{}, {"k": 3}, {"k": 3, "keep": "longest"}], ids=str)
def test_only_the_report_of_dedup_is_persisted(
    spark: SparkSession, persisted: Callable[[], int], how: dict[str, Any]
) -> None:
    df = spark.createDataFrame([(i, f"some words of {i // 2} texts") for i in range(9)], "id long, text string")
    before = persisted()
    kept, report = on_spark.dedup(df, **how)
    assert persisted() == before + 1
    assert sorted(row["id"] for row in kept.collect()) == [0, 2, 4, 6, 8]
    del kept
    assert report.count() == 4
    assert persisted() == before + 1
    del report
    assert freed(persisted, before)


def test_jobs_are_described_and_logged(spark: SparkSession, caplog: pytest.LogCaptureFixture) -> None:
    context: Any = spark.sparkContext
    context.setJobDescription("mine")
    with caplog.at_level(logging.INFO, "simidx_spark"):
        on_spark.clusters(frame(spark, VALUES, 64, 2))
    assert context.getLocalProperty("spark.job.description") == "mine"
    context.setJobDescription(None)
    lines = [record.getMessage() for record in caplog.records if record.name == "simidx_spark"]
    assert lines[:2] == ["clusters: Collapse", "clusters: Distinct"]
    assert lines[-1].startswith("clusters: returned after ")
    jobs = context._jsc.sc().statusStore().jobsList(context._jvm.java.util.ArrayList())
    shown = [jobs.apply(i).description() for i in range(jobs.size())]
    assert "simidx clusters: Distinct" in {text.get() for text in shown if text.isDefined()}


class StoppedContext:
    """The context of a session that ends during a call."""

    def getLocalProperty(self, name: str) -> None:  # noqa: N802
        return None

    def setLocalProperty(self, name: str, value: str | None) -> None:  # noqa: N802
        raise ConnectionRefusedError("the session has ended")


class StoppedSession:
    sparkContext = StoppedContext()  # noqa: N815


def test_the_error_of_a_call_survives_the_end_of_the_session() -> None:
    @job
    def fails(session: Any) -> None:
        raise simidx.InputError("the reason")

    with pytest.raises(simidx.InputError, match="the reason"):
        fails(StoppedSession())
