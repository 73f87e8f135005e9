"""Exact near-duplicate search over fingerprints and texts.

>>> import simidx
>>> simidx.dedup([0xFF00, 7 << 40, 0xFF01], k=3).tolist()
[True, True, False]
"""

from __future__ import annotations

from simidx._errors import (
    ClosedError,
    Error,
    FileError,
    FileMissingError,
    FormatError,
    InputError,
    InputTypeError,
    InternalError,
    LimitError,
    OptionError,
    OptionTypeError,
)
from simidx._simidx import (
    ArrowColumn,
    Comparison,
    Index,
    Match,
    Matches,
    Pipeline,
    __version__,
    build,
    clusters,
    clusters_texts,
    compare,
    dedup,
    dedup_texts,
    merge,
    open,
    pairs,
    pairs_texts,
)

__all__ = [
    "ArrowColumn",
    "ClosedError",
    "Comparison",
    "Error",
    "FileError",
    "FileMissingError",
    "FormatError",
    "Index",
    "InputError",
    "InputTypeError",
    "InternalError",
    "LimitError",
    "Match",
    "Matches",
    "OptionError",
    "OptionTypeError",
    "Pipeline",
    "__version__",
    "build",
    "clusters",
    "clusters_texts",
    "compare",
    "dedup",
    "dedup_texts",
    "merge",
    "open",
    "pairs",
    "pairs_texts",
]
