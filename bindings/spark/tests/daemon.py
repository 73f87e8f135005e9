"""The process of which Spark forks its Python workers, with all that these import.

    python -m spark.daemon

Otherwise each worker imports it again, and looks through all of it for garbage after each task.
"""

from __future__ import annotations

import gc

import pandas  # noqa: F401
import pyspark.worker  # noqa: F401
from pyspark.daemon import manager

from simidx_spark import _dedup, _segments, _texts  # noqa: F401

if __name__ == "__main__":
    gc.freeze()
    manager()
