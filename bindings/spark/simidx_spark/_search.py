"""Pairs and clusters of a DataFrame."""

from __future__ import annotations

from functools import cached_property, reduce
from typing import Any

import pyarrow as pa
from pyspark import StorageLevel
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from simidx_spark import _wiring as wiring
from simidx_spark._jobs import job, running
from simidx_spark._wiring import run, shuffle
from simidx_spark.distributed._components import Members, Together
from simidx_spark.distributed._engine import Only, WithIds, labels
from simidx_spark.distributed._messages import SendRecords
from simidx_spark.distributed._pairs import PLACE, Collapse, Distinct, Find, Meeting, Profile, Send

#: The most links from which one task finds the clusters. It takes about 70 bytes for each, so these take 1.4 GB.
UNITED = 20_000_000


class Spark:
    """Spark as the engine of `simidx_spark.distributed`, and what it has persisted."""

    def __init__(self, persisted: list[DataFrame] | None = None) -> None:
        self._persisted: list[DataFrame] = [] if persisted is None else persisted

    def map(self, data: DataFrame, stage: Any) -> DataFrame:
        """Runs a stage on each part."""
        # The rows that a filter removes do not have to pass through Python.
        if isinstance(stage, Only):
            return data.where(F.col("part").isin(stage.parts))
        if isinstance(stage, WithIds):
            ids = wiring.frame(data.sparkSession, pa.table({"id": stage.ids}))
            short = data.where(F.octet_length("text") <= stage.longest)
            return short.join(F.broadcast(ids), "id", "left_semi")
        return run(data, stage)

    def by_place(self, data: list[DataFrame], places: int) -> DataFrame:
        """Brings messages of equal place to one part."""
        return shuffle(reduce(DataFrame.unionAll, data), places)

    def collect(self, data: DataFrame) -> list[dict[str, Any]]:
        """Returns all rows."""
        return [row.asDict() for row in data.collect()]

    def keep(self, data: DataFrame) -> DataFrame:
        """Computes data once, for more than one use. Plans of plans would grow by a factor in each round."""
        of_java: Any = getattr(data, "_jdf", None)
        if of_java is None:
            # Spark Connect frees it with the DataFrame.
            return data.localCheckpoint(eager=False, storageLevel=StorageLevel.DISK_ONLY)
        self._persisted.append(data.persist(StorageLevel.DISK_ONLY))
        rows = of_java.queryExecution().toRdd()
        plain = of_java.sparkSession().internalCreateDataFrame(rows, of_java.schema(), False)
        return DataFrame(plain, data.sparkSession)

    def release(self) -> None:
        """Frees what was persisted."""
        while self._persisted:
            self._persisted.pop().unpersist()


def keep(df: DataFrame) -> DataFrame:
    """Persists a DataFrame that is used more than once on the disks of the executors, until its job is released."""
    running.get().persisted.append(df.persist(StorageLevel.DISK_ONLY))
    return df


class Near:
    """The fingerprints of a column, collapsed and persisted on first use."""

    def __init__(self, df: DataFrame, column: str, partitions: int | None) -> None:
        self.width = wiring.fingerprints(df, column)
        self.cores = wiring.parallelism(df, partitions)
        self._df = df.select(wiring.column(df, column).alias("fingerprint"))

    @cached_property
    def _distinct(self) -> DataFrame:
        sent = run(self._df, Collapse("fingerprint", self.cores))
        return keep(run(shuffle(sent, self.cores), Distinct()))

    @cached_property
    def known(self) -> list[tuple[int, int, bytes, bytes]]:
        """The profile of each part of the fingerprints: their width, number, varying bits, and a sample."""
        rows = self._distinct.where("count > 0").select("part", "count", "varying", "sample").collect()
        return [(r["part"], r["count"], bytes(r["varying"]), bytes(r["sample"])) for r in rows]

    @cached_property
    def profile(self) -> Profile:
        """The profile of all fingerprints."""
        return Profile.of(self.known)

    @property
    def places(self) -> int:
        """The number of places among which they can be divided."""
        return max(self.cores, -(-self.profile.count // PLACE))

    @property
    def packed(self) -> DataFrame:
        """The fingerprints, as messages."""
        return self._distinct.select("place", "part", "data")

    def meeting(self, k: int, profile: Profile | None = None) -> Meeting | None:
        """Returns where these fingerprints meet, or those of a profile; ``None`` if no two can be near."""
        wiring.distance(k, self.width)
        return Meeting.of(profile or self.profile, k, self.cores)

    def find(self, k: int, links: bool) -> DataFrame:
        """Finds the pairs as messages, or only enough of them to link the same fingerprints."""
        meeting = self.meeting(k)
        if meeting is None:
            none = Meeting(self.width, k, [], 0, 1)
            return run(self.packed.limit(0), Find(none, links))
        return run(shuffle(self._sent(meeting), meeting.places), Find(meeting, links))

    def _sent(self, meeting: Meeting) -> DataFrame:
        if not meeting.sends_all:
            return run(self.packed, Send(meeting))
        # Data that go to all places do not have to pass through Python.
        places = F.explode(F.sequence(F.lit(0), F.lit(meeting.places - 1)))
        return self.packed.select(places.alias("place"), "part", "data")


@job
def pairs(
    df: DataFrame, k: int = 3, *, fingerprint_column: str = "fingerprint", partitions: int | None = None
) -> DataFrame:
    """Finds all pairs of distinct fingerprints within ``k`` bits: ``left`` (the smaller), ``right``, ``distance``.

    Values are compared as unsigned numbers. The fingerprints are read at once and persisted on disk for the search,
    which runs when the pairs are read. ``partitions`` is the number of parallel tasks, by default the number of cores.
    """
    return Near(df, fingerprint_column, partitions).find(k, links=False)


def members(records: DataFrame, k: int, partitions: int | None, united: int) -> tuple[DataFrame, int]:
    """Returns the records with a near-duplicate, as messages to the places of their clusters, and their number.

    Records have the columns ``fingerprint`` and ``id``, and possibly others.
    """
    near = Near(records, "fingerprint", partitions)
    places = near.places
    links = keep(near.find(k, links=True))
    sent = run(records, SendRecords("fingerprint", places))
    labelled = labels(Spark(running.get().persisted), [links], near.width, places, united)
    everything = sent.unionAll(labelled)
    return run(shuffle(everything, places), Members("fingerprint", near.width, places)), places


@job
def clusters(
    df: DataFrame,
    k: int = 3,
    *,
    fingerprint_column: str = "fingerprint",
    id_column: str = "id",
    partitions: int | None = None,
    united: int = UNITED,
) -> DataFrame:
    """Finds the records with a near-duplicate: ``cluster``, ``fingerprint``, ``id``.

    Two records are in one cluster if steps of at most ``k`` bits link them. ``cluster`` is the smallest id of its
    records. Up to ``united`` links, one task finds the clusters; beyond that, all tasks do, in rounds.
    """
    width = wiring.fingerprints(df, fingerprint_column)
    id_type = wiring.ids(df, id_column)
    found, places = members(wiring.records(df, fingerprint_column, id_column), k, partitions, united)
    together = run(shuffle(found, places), Together(width, id_type))
    return together.select("cluster", "fingerprint", "id")
