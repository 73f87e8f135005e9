"""simidx on Apache Spark: DataFrames in and out, for PySpark 4.1 and newer.

>>> import simidx_spark as spark  # doctest: +SKIP
>>> near = spark.pairs(df, k=3)  # doctest: +SKIP

Fingerprints of 64 bits are columns of ``bigint`` that hold the bits of unsigned numbers, those of 32 bits ``int``, and
those of 128 bits ``binary`` of 16 bytes, the highest first. The work is that of `simidx_spark.distributed`; nothing
runs on the JVM but Spark itself.
"""

from __future__ import annotations

from simidx_spark._dedup import Dedup, dedup
from simidx_spark._jobs import release
from simidx_spark._search import clusters, pairs
from simidx_spark._segments import build, compact, join, sweep
from simidx_spark._texts import fingerprint, register

__all__ = [
    "Dedup",
    "build",
    "clusters",
    "compact",
    "dedup",
    "fingerprint",
    "join",
    "pairs",
    "register",
    "release",
    "sweep",
]
