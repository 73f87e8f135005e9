"""simidx on Apache Spark: DataFrames in and out, for PySpark 3.5 and newer.

>>> import simidx_spark as spark  # doctest: +SKIP
>>> near = spark.pairs(df, k=3)  # doctest: +SKIP

Fingerprints of 64 bits are columns of ``bigint`` that hold the bits of unsigned numbers, those of 32 bits ``int``, and
those of 128 bits ``binary`` of 16 bytes, the highest first. The work is that of `simidx_spark.distributed`; nothing
runs on the JVM but Spark itself.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from simidx_spark._dedup import Dedup, dedup
    from simidx_spark._jobs import release
    from simidx_spark._search import clusters, pairs
    from simidx_spark._segments import build, compact, join
    from simidx_spark._texts import fingerprint, register
    from simidx_spark.distributed._segments import sweep

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

#: The modules of the public names, which are imported on first use: `simidx_spark.array` runs without PySpark.
_MODULES = {
    "_dedup": ("Dedup", "dedup"),
    "_jobs": ("release",),
    "_search": ("clusters", "pairs"),
    "_segments": ("build", "compact", "join"),
    "_texts": ("fingerprint", "register"),
    "distributed._segments": ("sweep",),
}


def __getattr__(name: str) -> Any:
    for module, names in _MODULES.items():
        if name in names:
            return getattr(import_module(f"simidx_spark.{module}"), name)
    raise AttributeError(f"module 'simidx_spark' has no attribute {name!r}")
