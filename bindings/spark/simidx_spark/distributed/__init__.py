"""simidx on many machines: the stages of its jobs as pure functions over Arrow batches.

Each stage is a callable that takes an iterator of ``pyarrow.RecordBatch`` and yields batches with the schema in its
``schema``. It can be pickled, and keeps no state between calls. An engine runs a stage on each part of its data, and
sends the rows of a `message` to the part in their column ``place``; ``simidx_spark`` does this with Spark.

A message packs what would be a million rows into one, so a shuffle costs only its bytes.
"""

from __future__ import annotations

from simidx_spark.distributed._engine import Engine, Local, Similar
from simidx_spark.distributed._pairs import Meeting, Profile, choose_rounds

__all__ = ["Engine", "Local", "Meeting", "Profile", "Similar", "choose_rounds"]
