"""Pairs and clusters of a DataFrame."""

from __future__ import annotations

import weakref
from functools import reduce
from typing import Any

from pyspark import StorageLevel
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from simidx import distributed as d
from simidx._errors import OptionError
from simidx.distributed._components import Settled, Stars
from simidx.spark import _wiring as wiring
from simidx.spark._wiring import run, shuffle

#: Fingerprints that a place of a round gets at most: 64 MiB of 64 bits.
PLACE = 1 << 23

#: Links up to which one task finds the clusters: 16 bytes each in its memory, and 40 while they are sorted.
UNITED = 200_000_000

_persisted: list[Any] = []


def keep(df: DataFrame) -> DataFrame:
    """Keeps what is used more than once, on the disks of the executors."""
    df = df.persist(StorageLevel.DISK_ONLY)
    _persisted.append(weakref.ref(df))
    _strong.append(df)
    return df


_strong: list[DataFrame] = []


def release() -> None:
    """Frees what earlier calls have kept on disk. DataFrames that they returned are then computed from the start."""
    while _strong:
        _strong.pop().unpersist()


class Near:
    """Fingerprints that have been collapsed, and the rounds in which near ones meet."""

    def __init__(self, df: DataFrame, column: str, k: int, partitions: int | None) -> None:
        self.k = k
        self.width = wiring.fingerprints(df, column)
        if not 0 <= k <= self.width:
            raise OptionError(f"k={k}: a distance is a number of bits, at most {self.width}")
        self.session = df.sparkSession
        self.cores = wiring.parallelism(df, partitions)
        sent = run(df.select(column), d.Collapse(column, self.cores))
        self.distinct = keep(run(shuffle(sent, self.cores), d.Distinct()))
        rows = self.distinct.select("part", "count", "varying", "sample").collect()
        self.profile = d.Profile.of([(r["part"], r["count"], bytes(r["varying"]), bytes(r["sample"])) for r in rows])

    def find(self, links: bool) -> DataFrame:
        """The pairs, or as few of them as link the same, as messages."""
        places = max(1, -(-self.profile.count // PLACE))
        rounds = d.choose_rounds(self.profile, self.k, max(places, self.cores)) if self.profile.count > 1 else None
        count = 0 if rounds is None else len(rounds)
        if rounds is None or not count:
            from simidx._simidx import _PairRounds

            none = d.Find(_PairRounds(self.width, self.k, []), 1, links)
            return run(self.distinct.select("place", "part", "data").limit(0), none)
        places = max(places, -(-self.cores // count))
        sent = run(self.distinct.select("place", "part", "data"), d.Send(rounds, places))
        return run(shuffle(sent, places * count), d.Find(rounds, places, links))


def pairs(
    df: DataFrame, k: int = 3, *, fingerprint_column: str = "fingerprint", partitions: int | None = None
) -> DataFrame:
    """All pairs of distinct fingerprints within ``k`` bits: ``left``, ``right``, ``distance``, the smaller on the left.

    Smaller as an unsigned number. The fingerprints are read at once, and kept on disk for the search, which runs when
    the
    pairs are read. ``partitions`` is the number of tasks that read them side by side, by default that of the cores.
    """
    return Near(df, fingerprint_column, k, partitions).find(links=False)


def labels(links: DataFrame, width: int, places: int, united: int) -> DataFrame:
    """The label of each value that links connect, at its place."""
    size = links.agg(F.sum(F.length("data"))).collect()[0][0] or 0
    if size // (width // 4) <= united:
        return run(links.repartition(1), d.Unite(width, places))
    edges = run(links, d.Links(width, places))
    before = None
    while True:
        edges = keep(_star(edges, width, places))
        rows = run(shuffle(edges, places), Stars(width)).collect()
        now = reduce(lambda at, row: (at[0] + row["count"], at[1] + row["hash"]), rows, (0, 0))
        if now == before:
            return run(shuffle(edges, places), Settled(width, places))
        before = now


def _star(edges: DataFrame, width: int, places: int) -> DataFrame:
    large = run(shuffle(edges, places), d.LargeStar(width, places))
    return run(shuffle(large, places), d.SmallStar(width, places))


def members(df: DataFrame, k: int, fingerprint_column: str, id_column: str, partitions: int | None, united: int) -> Any:
    """The records of clusters, as `simidx.distributed.Together` gives them."""
    id_type = wiring.ids(df, id_column)
    near = Near(df, fingerprint_column, k, partitions)
    places = max(near.cores, -(-near.profile.count // PLACE))
    links = keep(near.find(links=True))
    records = run(wiring.records(df, fingerprint_column, id_column), d.SendRecords("fingerprint", places))
    everything = records.unionAll(labels(links, near.width, places, united))
    of_clusters = run(shuffle(everything, places), d.Members("fingerprint", near.width, places, equals=True))
    return run(shuffle(of_clusters, places), d.Together(near.width, id_type))


def clusters(
    df: DataFrame,
    k: int = 3,
    *,
    fingerprint_column: str = "fingerprint",
    id_column: str = "id",
    partitions: int | None = None,
    united: int = UNITED,
) -> DataFrame:
    """The records that have a near-duplicate: ``cluster``, ``fingerprint``, ``id``.

    Two records are in one cluster if steps of at most ``k`` bits lead from one to the other. ``cluster`` is the
    smallest id
    of its records. Up to ``united`` links one task finds the clusters, above that all do, in rounds.
    """
    found: DataFrame = members(df, k, fingerprint_column, id_column, partitions, united)
    return found.select("cluster", "fingerprint", "id")
