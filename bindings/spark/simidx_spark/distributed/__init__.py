"""simidx on many machines: the stages of its jobs as pure functions over Arrow batches.

Each stage is a callable that takes an iterator of ``pyarrow.RecordBatch`` and yields batches with the schema in its
``schema``. It can be pickled, and keeps no state between calls. An engine runs a stage on each part of its data, and
sends the rows of a `message` to the part in their column ``place``; ``simidx_spark`` does this with Spark.

A message packs what would be a million rows into one, so a shuffle costs only its bytes.
"""

from __future__ import annotations

from simidx_spark.distributed._against import NearIndex, SimilarToIndex
from simidx_spark.distributed._columns import arrow_type, from_arrow, sort_key, to_arrow, width_of
from simidx_spark.distributed._components import LargeStar, Links, Members, SmallStar, Together, Unite
from simidx_spark.distributed._engine import Engine, Local, Only, Similar, labels
from simidx_spark.distributed._join import Attach, Meet, Records, Spread
from simidx_spark.distributed._messages import MESSAGE, SendRecords
from simidx_spark.distributed._pairs import (
    Collapse,
    Distinct,
    Find,
    Meeting,
    Profile,
    Send,
    choose_rounds,
)
from simidx_spark.distributed._segments import Build, Compact, Range, Sample, Search, Splits, sweep
from simidx_spark.distributed._texts import Decide, Prints

__all__ = [
    "MESSAGE",
    "Attach",
    "Build",
    "Collapse",
    "Compact",
    "Decide",
    "Distinct",
    "Engine",
    "Find",
    "LargeStar",
    "Links",
    "Local",
    "Meet",
    "Meeting",
    "Members",
    "NearIndex",
    "Only",
    "Prints",
    "Profile",
    "Range",
    "Records",
    "Sample",
    "Search",
    "Send",
    "SendRecords",
    "Similar",
    "SimilarToIndex",
    "SmallStar",
    "Splits",
    "Spread",
    "Together",
    "Unite",
    "arrow_type",
    "choose_rounds",
    "from_arrow",
    "labels",
    "sort_key",
    "sweep",
    "to_arrow",
    "width_of",
]
